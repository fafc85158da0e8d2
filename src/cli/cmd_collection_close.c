/* cmd_collection_close.c - collection cancel, collection close: the ends of a collection. */
#include "collection_files.h"
#include "collection_parts.h"

#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {CLI_TERMS_POSITIONAL};

/* ---- cancel ------------------------------------------------------------------------------------ */

static const cli_arg cancel_args[] = {
    CLI_SECRET(.required = true),
    CLI_FILE("output", "FILE", .letter = 'o',
             .help = "file for the signed message (default: TERMS.cancel, which a running server "
                     "of this role looks for beside its terms)"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
};

/* Whether somebody else's terms are meant shows as a signature that does not hold. */
static fre_status sign_cancel(fre_buf *out, const fre_wire *w, const fre_keys *k, fre_err *err)
{
    const fre_half *h = fre_keys_half(k);
    const fre_cancel m = {.by = h->role, .reason = FRE_CANCEL_OPERATOR, .time = fre_clock_unix()};
    fre_cancel back;
    fre_status st = fre_cancel_encode(out, w, &m, &fre_keys_server(k)->sign);

    if (st != FRE_OK)
        return fre_fail(err, st, "the message cannot be made: %s", fre_status_text(st));
    return fre_cancel_decode(&back, w, (fre_bytes){out->p, out->n}, NULL) == FRE_OK
               ? FRE_OK
               : fre_fail(err, FRE_E_REFUSED,
                          "the terms have another key of the role %s: this is not its collection",
                          fre_role_name(h->role));
}

static fre_status cancel_with(const cli *c, const fre_wire *w, const fre_keys *k, const char *path,
                              fre_err *err)
{
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, 1u << 16);
    st = sign_cancel(&message, w, k, err);
    if (st == FRE_OK)
        st = cli_write_text(path, (fre_bytes){message.p, message.n}, cli_flag(c, "force"), err);
    fre_buf_wipe(&message);
    return st;
}

static fre_status say_cancelled(const cli *c, const char *path, fre_err *err)
{
    if (strcmp(path, "-") == 0)
        return FRE_OK;
    if (c->json)
        return cli_json_print(json_pack("{s:s}", "cancel", path), err);
    if (c->quiet)
        return FRE_OK;
    cli_note(stdout, "The collection is cancelled as soon as one of its servers sees this file "
                     "beside its terms. What was sent is spent all the same.");
    cli_print_path(path);
    return FRE_OK;
}

static fre_status run_cancel(cli *c, fre_err *err)
{
    fre_collection terms;
    fre_keys *k = NULL;
    fre_wire w;
    char *own = NULL;
    const char *path = cli_text(c, "output");
    fre_status st = fre_terms_read(&terms, c->positional[0], err);

    if (st == FRE_OK)
        st = fre_wire_init(&w, &terms, err);
    if (st == FRE_OK)
        st = fre_keys_open(&k, cli_text(c, "secret"), NULL, err);
    if (st != FRE_OK)
        return st;
    if (!path && asprintf(&own, "%s.cancel", c->positional[0]) < 0)
        own = NULL;
    path = path ? path : own;
    st = path ? cancel_with(c, &w, k, path, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (st == FRE_OK)
        st = say_cancelled(c, path, err);
    fre_keys_free(k);
    free(own);
    return st;
}

const cli_command cli_cmd_collection_cancel = {
    .name = "collection cancel",
    .summary = "void a collection, as the operator of one of its roles",
    .about =
        "Signs the message that makes a collection void. Any of the four roles can do this at any "
        "time: nothing is released, and every role forgets what it holds. The server of this role "
        "takes the file that is made beside its terms, and tells the others; where it is lost, "
        "the operator of another role cancels. Clients' coins stay spent.",
    .example = CLI_PROGRAM " collection cancel terms.json --secret keys/relay-1a2b3c4d.secret.json",
    .positional = positional,
    .n_positional = 1,
    .args = cancel_args,
    .n_args = sizeof cancel_args / sizeof cancel_args[0],
    .run = run_cancel,
};

/* ---- close ------------------------------------------------------------------------------------- */

static const cli_arg close_args[] = {
    CLI_SECRET(.required = true),
    CLI_ONCE,
    {.name = "from",
     .metavar = "DIR|URL",
     .kind = CLI_STRING,
     .help = "before the end: where the release is (default: the relay of the terms)"},
    CLI_FILE("cancel", "FILE", .help = "before the end: the signed message that cancelled it"),
};

static fre_status is_cancelled(const fre_wire *w, const char *path, fre_err *err)
{
    fre_cancel m;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, 1u << 16);
    st = fre_file_read(&b, path, err);
    if (st == FRE_OK && fre_cancel_decode(&m, w, (fre_bytes){b.p, b.n}, NULL) != FRE_OK)
        st = fre_fail(err, FRE_E_REFUSED, "'%.300s' does not cancel this collection", path);
    fre_buf_wipe(&b);
    return st;
}

static fre_status is_released(const cli *c, const fre_wire *w, fre_err *err)
{
    fre_err why = {.text = ""};
    cli_parts parts = {.n = 0};
    fre_status st = cli_parts_read(&parts, &w->c, cli_text(c, "from"), &why);
    char end[CLI_TIME_BYTES];

    cli_parts_wipe(&parts);
    return st == FRE_OK
               ? st
               : fre_fail(err, FRE_E_REFUSED,
                          "the collection goes on until %s and is not known to be released or "
                          "cancelled (%.280s): its keys are needed",
                          cli_time_text(end, w->c.end), why.text);
}

/* After its end, once it was released, or cancelled. */
static fre_status is_over(const cli *c, const fre_wire *w, fre_role role, fre_err *err)
{
    if (fre_clock_unix() > w->c.end)
        return FRE_OK;
    if (cli_given(c, "cancel"))
        return is_cancelled(w, cli_text(c, "cancel"), err);
    if (role == FRE_ROLE_RELAY)
        return fre_fail(err, FRE_E_REFUSED,
                        "the relay serves the release until the collection's end: its keys are "
                        "needed until then");
    return is_released(c, w, err);
}

static void note_erased(void *ctx, const char *path)
{
    json_t *list = ctx;

    (void)json_array_append_new(list, json_string(path));
}

static fre_status erase(const cli *c, fre_keys *k, fre_err *err)
{
    json_t *list = json_array();
    fre_status st;

    if (!list)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = fre_keys_erase(k, note_erased, list, err);
    if (st == FRE_OK && c->json)
        return cli_json_print(json_pack("{s:o}", "erased", list), err);
    if (!c->json && !c->quiet) {
        for (size_t i = 0; i < json_array_size(list); i++) {
            if (i == 0)
                cli_heading(stdout, "Erased");
            cli_print_path(json_string_value(json_array_get(list, i)));
        }
    }
    json_decref(list);
    return st;
}

static fre_status close_with(const cli *c, const fre_wire *w, fre_keys *k, fre_err *err)
{
    fre_status st = fre_keys_check(k, &w->c, err);

    if (st == FRE_OK)
        st = is_over(c, w, fre_keys_half(k)->role, err);
    return st == FRE_OK ? erase(c, k, err) : st;
}

static fre_status run_close(cli *c, fre_err *err)
{
    fre_collection terms;
    fre_keys *k = NULL;
    fre_wire w;
    fre_status st = fre_terms_read(&terms, c->positional[0], err);

    if (st == FRE_OK)
        st = fre_wire_init(&w, &terms, err);
    if (st == FRE_OK)
        st = fre_keys_open(&k, cli_text(c, "secret"), cli_text(c, "once"), err);
    if (st != FRE_OK)
        return st;
    st = close_with(c, &w, k, err);
    fre_keys_free(k);
    return st;
}

const cli_command cli_cmd_collection_close = {
    .name = "collection close",
    .summary = "erase a role's keys, once its collection is over",
    .about =
        "Erases the secret files of a role: after the collection's end, or before it once it was "
        "released (which is looked up at the relay, or --from) or cancelled (--cancel). Refuses "
        "before, since a server that restarts would have lost its collection. Public files stay. "
        "What a file system, a disk or a backup has copied is not reached.",
    .example = CLI_PROGRAM " collection close terms.json --secret keys/issuer-1a2b3c4d.secret.json",
    .positional = positional,
    .n_positional = 1,
    .args = close_args,
    .n_args = sizeof close_args / sizeof close_args[0],
    .run = run_close,
};
