/* cmd_collection_show.c - collection show, collection check: terms for people, and whether they hold. */
#include "collection_files.h"

#include "release.h"

static const cli_positional positional[] = {CLI_TERMS_POSITIONAL};

/* ---- show -------------------------------------------------------------------------------------- */

static fre_status print(const fre_collection *c, const fre_plan *plan, fre_err *err)
{
    fre_collection_id id;
    fre_buf text;
    fre_status st = fre_collection_identify(&id, c, err);

    if (st != FRE_OK)
        return st;
    fre_buf_init(&text, 1u << 20);
    st = fre_plan_statement(&text, plan, true);
    if (st == FRE_OK)
        st = fre_buf_append(&text, "", 1);
    if (st == FRE_OK) {
        cli_print_terms(c, &id, plan);
        cli_heading(stdout, "Privacy statement");
        cli_print_statement((const char *)text.p);
        cli_print_warnings(stdout, plan->warnings, plan->n_warnings);
    }
    fre_buf_wipe(&text);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory");
}

static fre_status run_show(cli *c, fre_err *err)
{
    fre_collection terms;
    fre_plan plan;
    fre_status st = fre_terms_read(&terms, c->positional[0], err);

    if (st == FRE_OK)
        st = fre_collection_plan(&plan, &terms, err);
    if (st != FRE_OK)
        return st;
    return c->json ? cli_json_print(cli_terms_json(&terms, &plan), err) : print(&terms, &plan, err);
}

const cli_command cli_cmd_collection_show = {
    .name = "collection show",
    .summary = "show what a collection asks, of whom, when, and what it promises",
    .about = "Shows a collection's terms: its id, what is asked of users, who runs the four roles, "
             "when, and the privacy statement that its release will carry. Terms that do not keep "
             "their claim are refused.",
    .example = CLI_PROGRAM " collection show terms.json",
    .positional = positional,
    .n_positional = 1,
    .run = run_show,
};

/* ---- check ------------------------------------------------------------------------------------- */

static const cli_arg check_args[] = {CLI_SECRET(), CLI_ONCE};
static const cli_rule check_rules[] = {
    {"once", "secret", CLI_LEFT_OUT, "belongs to --secret"},
};

static fre_status check_keys(const cli *c, const fre_collection *terms, fre_err *err)
{
    fre_keys *k = NULL;
    fre_status st;

    if (!cli_given(c, "secret"))
        return FRE_OK;
    st = fre_keys_open(&k, cli_text(c, "secret"), cli_text(c, "once"), err);
    if (st == FRE_OK)
        st = fre_keys_check(k, terms, err);
    fre_keys_free(k);
    return st;
}

static fre_status say(const cli *c, const fre_collection_id *id, const fre_account *a, fre_err *err)
{
    const bool keys = cli_given(c, "secret");
    char hex[2 * sizeof id->b + 1], epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];

    fre_hex(hex, id->b, sizeof id->b);
    if (c->json)
        return cli_json_print(json_pack("{s:s, s:o, s:o, s:b}", "id", hex, "epsilon",
                                        cli_json_real(a->epsilon), "delta", cli_json_real(a->delta),
                                        "keys_checked", (int)keys),
                              err);
    if (c->quiet)
        return FRE_OK;
    cli_heading(stdout, "Collection");
    cli_print_path(hex);
    cli_fold(stdout, 2, "The terms are well formed and keep their claim: epsilon %s, delta %s.",
             fre_digits_up(epsilon, 6, a->epsilon), fre_digits_up(delta, 4, a->delta));
    if (keys)
        cli_note(stdout, "Keys, address, contribution and the four commitments are those of this "
                         "role.");
    return FRE_OK;
}

static fre_status run_check(cli *c, fre_err *err)
{
    fre_collection_id id;
    fre_collection terms;
    fre_account a;
    fre_status st = fre_terms_read(&terms, c->positional[0], err);

    if (st == FRE_OK)
        st = fre_collection_check(&a, &terms, err);
    if (st == FRE_OK)
        st = check_keys(c, &terms, err);
    if (st != FRE_OK)
        return st;
    st = fre_collection_identify(&id, &terms, err);
    return st == FRE_OK ? say(c, &id, &a, err) : st;
}

const cli_command cli_cmd_collection_check = {
    .name = "collection check",
    .summary = "check a collection's terms before they are served",
    .about =
        "Checks that terms are well formed and keep their claim, by the joint accountant. With "
        "--secret also that they hold this role's own keys, address and contribution, and the four "
        "commitments that its operator was shown. An operator does this before it serves terms "
        "that somebody else made; the server does it again.\n\nExit codes: 0 they hold; 65 they "
        "are malformed; 77 they do not keep their claim, or are not what this operator agreed to.",
    .example = CLI_PROGRAM " collection check terms.json --secret keys/relay-1a2b3c4d.secret.json",
    .positional = positional,
    .n_positional = 1,
    .args = check_args,
    .n_args = sizeof check_args / sizeof check_args[0],
    .rules = check_rules,
    .n_rules = sizeof check_rules / sizeof check_rules[0],
    .run = run_check,
};
