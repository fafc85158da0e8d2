/* cmd_collection_new.c - collection new: terms from a plan, four halves and four contributions. */
#include "collection_files.h"
#include "plan_args.h"

#include <fre/codebook.h>

#include <string.h>

static const char *const aeads[] = {"aes-128-gcm", "chacha20-poly1305", NULL};

static const cli_positional positional[] = {CLI_HALVES};

#define TIME(flag, usual, text)                                                                    \
    {                                                                                              \
        .name = (flag), .metavar = "TIME", .kind = CLI_STRING, .preset = (usual), .help = (text)   \
    }

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("output", "FILE", .letter = 'o', .required = true, .help = "file for the terms"),
    CLI_FILE("contribution", "FILE", .repeats = true, .required = true,
             .help = "a role's contribution, ROLE-X.contribution.json; given four times"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .required = true,
               .help = "privacy budget epsilon"),
    CLI_BUDGET_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "texts of a user, each in a cell of its own"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
    CLI_HEADING("When: 2027-01-31T18:00:00Z, or +36h, +7d after the time before"),
    TIME("open", "+1h", "users are admitted from here, after now"),
    TIME("exchange-close", "+1d", "... until here"),
    TIME("tags-close", "+1d", "entries are taken until here"),
    TIME("shares-close", NULL, "--contacts two: answers are taken until here (default: +1d)"),
    TIME("end", "+3d", "everything is forgotten that was not published"),
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_FILE("codebook", "FILE",
             .help = "of public cells (default, where --levels has some: the one beside the "
                     "embedder)"),
    CLI_HEADING("Collection"),
    CLI_COUNT("batch-min", "N", fre_config_param_batch_min,
              .help = "entries without which nothing is counted"),
    CLI_CHOICE("aead", "NAME", aeads, .preset = "aes-128-gcm",
               .help = "cipher of everything that is sealed"),
    CLI_COLLECTION_ARGS("one", "1", "0.1"),
    CLI_MAX_DUMMIES,
    CLI_HEADING("Mechanism"),
    CLI_MECHANISM_ARGS,
};

static const cli_rule rules[] = {
    {"shares-close", "contacts", "one", "belongs to --contacts two: with one nobody answers"},
    {"codebook", "levels", "grid", "has the public cells of --levels: add that"},
};

/* ---- when --------------------------------------------------------------------------------------- */

static fre_status read_times(fre_collection_parts *p, const cli *c, fre_err *err)
{
    const bool two = cli_choice(c, "contacts") == 1;
    const char *answers = cli_given(c, "shares-close") ? cli_text(c, "shares-close") : "+1d";
    fre_status st = cli_time(&p->open, "open", cli_text(c, "open"), fre_clock_unix(), err);

    if (st == FRE_OK)
        st = cli_time(&p->exchange_close, "exchange-close", cli_text(c, "exchange-close"), p->open,
                      err);
    if (st == FRE_OK)
        st = cli_time(&p->tags_close, "tags-close", cli_text(c, "tags-close"), p->exchange_close,
                      err);
    p->shares_close = p->tags_close;
    if (st == FRE_OK && two)
        st = cli_time(&p->shares_close, "shares-close", answers, p->tags_close, err);
    return st == FRE_OK ? cli_time(&p->end, "end", cli_text(c, "end"), p->shares_close, err) : st;
}

static fre_status check_times(const fre_collection_parts *p, const cli *c, fre_err *err)
{
    const bool two = cli_choice(c, "contacts") == 1;
    const char *late = p->exchange_close <= p->open              ? "exchange-close"
                       : p->tags_close <= p->exchange_close      ? "tags-close"
                       : two && p->shares_close <= p->tags_close ? "shares-close"
                       : p->end <= p->shares_close               ? "end"
                                                                 : NULL;

    if (late)
        return fre_fail(err, FRE_E_USAGE, "--%s must be later than the time before it", late);
    if (p->open <= fre_clock_unix())
        return fre_fail(err, FRE_E_USAGE, "--open must be later than now");
    return FRE_OK;
}

/* ---- models ------------------------------------------------------------------------------------- */

/* The one level of public cells, as its codebook has it. */
static fre_status set_cells(fre_plan_request *r, const cli *c, const fre_embedder *e, fre_err *err)
{
    fre_codebook *b = NULL;
    uint32_t at;
    fre_status st;

    if (r->n_levels == 0)
        return FRE_OK;
    st = fre_codebook_open_for(&b, cli_text(c, "codebook"), fre_embedder_path(e),
                               fre_embedder_info(e), err);
    if (st != FRE_OK)
        return st;
    if (!b)
        return fre_fail(err, FRE_E_NOINPUT,
                        "there is no codebook beside the embedder: name one, --codebook");
    at = fre_codebook_find(b, r->level[0].name);
    if (at == fre_codebook_info_view(b)->n_levels)
        st = fre_fail(err, FRE_E_USAGE, "--levels: the codebook has no level '%s'",
                      r->level[0].name);
    else
        r->level[0].sketch = fre_codebook_sketch(b, at);
    fre_codebook_free(b);
    return st;
}

static fre_status read_models(fre_plan_request *r, uint8_t hash[FRE_HASH_BYTES], const cli *c,
                              fre_err *err)
{
    const fre_embedder_opts o = {.path = cli_text(c, "embedder"), .threads = c->threads};
    fre_embedder *e = NULL;
    fre_status st = fre_embedder_new(&e, &o, err);

    if (st != FRE_OK)
        return st;
    r->dim = fre_embedder_info(e)->dim;
    memcpy(hash, fre_embedder_info(e)->sha256, FRE_HASH_BYTES);
    st = set_cells(r, c, e, err);
    fre_embedder_free(e);
    return st;
}

/* ---- who ---------------------------------------------------------------------------------------- */

static fre_status read_parties(fre_collection_parts *p, fre_half half[FRE_CONTRIBUTORS],
                               const cli *c, fre_err *err)
{
    fre_reveal reveal[FRE_CONTRIBUTORS];
    fre_status st = cli_read_halves(half, c, err);

    if (st != FRE_OK)
        return st;
    if (c->n_list != FRE_CONTRIBUTORS)
        return fre_fail(err, FRE_E_USAGE,
                        "--contribution is to be given four times, once for each role");
    for (size_t i = 0; st == FRE_OK && i < FRE_CONTRIBUTORS; i++)
        st = fre_reveal_read(&reveal[i], c->list[i], err);
    return st == FRE_OK ? fre_collection_gather(p, half, reveal, err) : st;
}

/* ---- the terms ---------------------------------------------------------------------------------- */

static fre_status plan_for(fre_plan *out, uint8_t embedder[FRE_HASH_BYTES], const cli *c,
                           fre_err *err)
{
    fre_plan_request r;
    fre_status st = cli_collection_request(&r, c, err);

    if (st == FRE_OK && (r.n_levels > 1 || (r.n_levels == 1 && !r.no_grid)))
        st = fre_fail(err, FRE_E_USAGE,
                      "--levels: a collection releases one level, the grid or public cells: name "
                      "one");
    if (st == FRE_OK)
        st = read_models(&r, embedder, c, err);
    return st == FRE_OK ? fre_plan_make(out, &r, err) : st;
}

static fre_status write_terms(const fre_collection *terms, const cli *c, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_collection_to_json(&text, terms, err);
    if (st == FRE_OK)
        st = cli_write_text(cli_text(c, "output"), (fre_bytes){text.p, text.n},
                            cli_flag(c, "force"), err);
    fre_buf_wipe(&text);
    return st;
}

static fre_status say(const cli *c, const fre_collection *terms, const fre_plan *plan, fre_err *err)
{
    fre_collection_id id;
    fre_status st;

    if (strcmp(cli_text(c, "output"), "-") == 0)
        return FRE_OK;
    if (c->json)
        return cli_json_print(cli_terms_json(terms, plan), err);
    if (c->quiet)
        return FRE_OK;
    st = fre_collection_identify(&id, terms, err);
    if (st != FRE_OK)
        return st;
    cli_print_terms(terms, &id, plan);
    cli_print_warnings(stdout, plan->warnings, plan->n_warnings);
    if (plan->n_warnings > 0)
        putchar('\n');
    cli_note(stdout, "Give the terms to all four operators, who check them (collection check):");
    cli_print_path(cli_text(c, "output"));
    return FRE_OK;
}

static fre_status make(fre_collection *terms, fre_plan *plan, const cli *c, fre_err *err)
{
    fre_half half[FRE_CONTRIBUTORS];
    fre_collection_parts p = {.batch_min = cli_whole(c, "batch-min"),
                              .aead = cli_choice(c, "aead") ? FRE_HPKE_CHACHA20_POLY1305
                                                            : FRE_HPKE_AES_128_GCM};
    fre_status st = read_times(&p, c, err);

    if (st == FRE_OK)
        st = check_times(&p, c, err);
    if (st == FRE_OK)
        st = read_parties(&p, half, c, err);
    if (st == FRE_OK)
        st = plan_for(plan, p.embedder, c, err);
    return st == FRE_OK ? fre_collection_from_plan(terms, plan, &p, err) : st;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_collection terms;
    fre_plan plan;
    fre_status st = make(&terms, &plan, c, err);

    if (st == FRE_OK)
        st = write_terms(&terms, c, err);
    return st == FRE_OK ? say(c, &terms, &plan, err) : st;
}

const cli_command cli_cmd_collection_new = {
    .name = "collection new",
    .summary = "make the terms of a collection",
    .about =
        "Makes the public terms of a collection: its plan, computed as plan --distributed does, "
        "the "
        "keys and addresses of the four roles from their halves, seeds from their contributions, "
        "and the times. The terms' hash is the collection's id. Anybody may run this; the "
        "operators check what they get.",
    .example =
        CLI_PROGRAM " collection new r.half.json t.half.json s.half.json i.half.json \\\n"
                    "    --contribution r.contribution.json --contribution t.contribution.json \\\n"
                    "    --contribution s.contribution.json --contribution i.contribution.json \\\n"
                    "    --epsilon 4 --population 100000 -o terms.json",
    .positional = positional,
    .n_positional = sizeof positional / sizeof positional[0],
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
