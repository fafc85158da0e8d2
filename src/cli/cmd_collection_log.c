/* cmd_collection_log.c - collection log: a public log of collections, its heads, its witnesses. */
#include "collection_files.h"
#include "collection_parts.h"
#include "file_lock.h"
#include "log_trust.h"

#include <fre/witness.h>

#include <inttypes.h>
#include <string.h>

#define LOG_BYTES_MAX (64u << 20)

static const char *const actions[] = {"new", "add", "sign", "witness", "check", NULL};
enum { NEW, ADD, SIGN, WITNESS, CHECK };

static const cli_positional positional[] = {
    {.name = "ACTION",
     .help = "new: an empty log; add: a collection, or what became of it; sign: a head of all "
             "entries; witness: a signature under the last head; check: the whole file",
     .choices = actions},
    {.name = "LOG", .help = "the log's file"},
};

static const cli_arg args[] = {
    CLI_FILE("key", "FILE", .help = "the log's public key, log-X.key.json (all but sign)"),
    CLI_FILE("secret", "FILE",
             .help = "sign: the log's secret file; witness: the witness's, which remembers the "
                     "last head that it signed"),
    CLI_FILE("terms", "FILE",
             .help = "add: the collection that is entered, or that the rest is about; check: may a "
                     "client take part in it?"),
    CLI_FILE("closed", "FILE", .help = "add: the tagging server's signed closed statement"),
    CLI_FILE("list", "FILE", .help = "add: the list of a collection with two contacts"),
    {.name = "release",
     .metavar = "DIR|URL",
     .kind = CLI_STRING,
     .help = "add: the release's parts: a folder (release-0, ...) or the relay's address"},
    CLI_LOG_TRUST_ARGS("check: "),
};

/* ---- files ------------------------------------------------------------------------------------- */

static fre_status needs(const cli *c, const char *flag, fre_err *err)
{
    return cli_given(c, flag) ? FRE_OK
                              : fre_fail(err, FRE_E_USAGE, "%s needs --%s", c->positional[0], flag);
}

static fre_status log_key(fre_sign_pk *out, const cli *c, fre_err *err)
{
    fre_status st = needs(c, "key", err);

    return st == FRE_OK ? cli_log_key(out, cli_text(c, "key"), FRE_SIGNER_LOG, err) : st;
}

static fre_status read_log(fre_log **out, const cli *c, const fre_sign_pk *key, fre_err *err)
{
    fre_err why = {.text = ""};
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, LOG_BYTES_MAX);
    st = fre_file_read(&text, c->positional[1], err);
    if (st == FRE_OK) {
        st = fre_log_read(out, (fre_bytes){text.p, text.n}, key, &why);
        if (st != FRE_OK)
            (void)fre_fail(err, st, "'%.200s': %.280s", c->positional[1],
                           why.text[0] ? why.text : fre_status_text(st));
    }
    fre_buf_wipe(&text);
    return st;
}

static fre_status write_log(const fre_log *l, const cli *c, bool force, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, LOG_BYTES_MAX);
    st = fre_log_write(&text, l, err);
    if (st == FRE_OK)
        st = cli_write_text(c->positional[1], (fre_bytes){text.p, text.n}, force, err);
    fre_buf_wipe(&text);
    return st;
}

/* ---- results ----------------------------------------------------------------------------------- */

static json_t *head_json(const fre_log *l)
{
    char root[2 * FRE_HASH_BYTES + 1];
    fre_log_head h;

    if (!fre_log_last_head(l, &h))
        return json_null();
    fre_hex(root, h.root, FRE_HASH_BYTES);
    return json_pack("{s:I, s:s, s:I}", "size", (json_int_t)h.size, "root", root, "time",
                     (json_int_t)h.time);
}

static fre_status say(const cli *c, const fre_log *l, fre_err *err)
{
    const uint64_t n = fre_log_entries(l);
    char time[CLI_TIME_BYTES];
    fre_log_head h;

    if (c->json)
        return cli_json_print(
            json_pack("{s:I, s:o}", "entries", (json_int_t)n, "head", head_json(l)), err);
    if (c->quiet)
        return FRE_OK;
    cli_fold(stdout, 2, "%" PRIu64 " entr%s", n, n == 1 ? "y" : "ies");
    if (fre_log_last_head(l, &h))
        cli_fold(stdout, 2, "last head: of %" PRIu64 ", at %s", h.size,
                 cli_time_text(time, h.time));
    else
        cli_fold(stdout, 2, "no head yet: sign one");
    return FRE_OK;
}

static fre_status finish(const fre_log *l, const cli *c, fre_err *err)
{
    const fre_status st = write_log(l, c, true, err);

    return st == FRE_OK ? say(c, l, err) : st;
}

/* ---- new, sign, witness ------------------------------------------------------------------------ */

static fre_status run_new(const cli *c, fre_err *err)
{
    fre_sign_pk key;
    fre_log *l = NULL;
    fre_status st = log_key(&key, c, err);

    if (st == FRE_OK)
        st = fre_log_new(&l, &key, err);
    if (st == FRE_OK)
        st = write_log(l, c, false, err);
    if (st == FRE_OK)
        st = say(c, l, err);
    fre_log_free(l);
    return st;
}

static fre_status signer_of(fre_signer *out, const cli *c, fre_signer_kind kind, fre_err *err)
{
    fre_status st = needs(c, "secret", err);

    if (st == FRE_OK)
        st = fre_signer_read(out, cli_text(c, "secret"), err);
    return st == FRE_OK && out->kind != kind
               ? fre_fail(err, FRE_E_DATA,
                          "'%.300s' is of the other kind: a log signs, a witness "
                          "witnesses",
                          cli_text(c, "secret"))
               : st;
}

static fre_status run_sign(const cli *c, fre_err *err)
{
    fre_signer s;
    fre_log *l = NULL;
    fre_status st = signer_of(&s, c, FRE_SIGNER_LOG, err);

    if (st != FRE_OK)
        return st;
    st = read_log(&l, c, &s.pk, err);
    if (st == FRE_OK)
        st = fre_log_sign(l, &s.sk, fre_clock_unix(), err);
    fre_signer_wipe(&s);
    if (st == FRE_OK)
        st = finish(l, c, err);
    fre_log_free(l);
    return st;
}

/* What is signed is remembered before the signature leaves. */
static fre_status sign_as_witness(fre_log *l, fre_signer *s, const cli *c, fre_err *err)
{
    fre_status st = fre_log_witness(l, &s->sk, s->has_seen ? &s->seen : NULL, err);

    if (st != FRE_OK)
        return st;
    s->has_seen = fre_log_last_head(l, &s->seen);
    return fre_signer_keep(s, cli_text(c, "secret"), err);
}

static fre_status run_witness(const cli *c, fre_err *err)
{
    fre_sign_pk key;
    fre_signer s;
    fre_log *l = NULL;
    fre_status st = log_key(&key, c, err);

    if (st == FRE_OK)
        st = signer_of(&s, c, FRE_SIGNER_WITNESS, err);
    if (st != FRE_OK)
        return st;
    st = read_log(&l, c, &key, err);
    if (st == FRE_OK)
        st = sign_as_witness(l, &s, c, err);
    fre_signer_wipe(&s);
    if (st == FRE_OK)
        st = finish(l, c, err);
    fre_log_free(l);
    return st;
}

/* ---- add --------------------------------------------------------------------------------------- */

static void hash_of(uint8_t out[FRE_HASH_BYTES], const fre_buf *b)
{
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){b->p, b->n});
    fre_sha256_end(out, &h);
}

/* A message in a file, whose signatures hold. */
static fre_status add_message(fre_log_entry *e, fre_wire *w, const char *path, fre_err *err)
{
    fre_closed closed;
    fre_list list;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    st = fre_file_read(&b, path, err);
    if (st == FRE_OK && (e->kind == FRE_LOG_CLOSED
                             ? fre_closed_decode(&closed, w, (fre_bytes){b.p, b.n}, NULL)
                             : fre_listed_decode(&list, w, (fre_bytes){b.p, b.n}, NULL)) != FRE_OK)
        st = fre_fail(err, FRE_E_REFUSED, "'%.300s' is no such statement of this collection", path);
    if (st == FRE_OK)
        hash_of(e->hash, &b);
    fre_buf_wipe(&b);
    return st;
}

static fre_status add_release(fre_log_entry *e, const fre_wire *w, const char *from, fre_err *err)
{
    cli_parts parts = {.n = 0};
    fre_status st = cli_parts_read(&parts, &w->c, from, err);

    if (st == FRE_OK)
        cli_parts_hash(e->hash, &parts);
    cli_parts_wipe(&parts);
    return st;
}

static fre_status entry_of(fre_log_entry *e, const cli *c, fre_err *err)
{
    const bool closed = cli_given(c, "closed"), list = cli_given(c, "list"),
               release = cli_given(c, "release");
    fre_collection terms;
    fre_wire w;
    fre_status st = needs(c, "terms", err);

    if (closed + list + release > 1)
        return fre_fail(err, FRE_E_USAGE, "add one of --closed, --list and --release at a time");
    if (st == FRE_OK)
        st = fre_terms_read(&terms, cli_text(c, "terms"), err);
    if (st == FRE_OK)
        st = fre_wire_init(&w, &terms, err);
    if (st != FRE_OK)
        return st;
    *e = (fre_log_entry){.kind = closed    ? FRE_LOG_CLOSED
                                 : list    ? FRE_LOG_LIST
                                 : release ? FRE_LOG_RELEASE
                                           : FRE_LOG_COLLECTION,
                         .collection = w.id};
    if (release)
        return add_release(e, &w, cli_text(c, "release"), err);
    if (closed || list)
        return add_message(e, &w, cli_text(c, closed ? "closed" : "list"), err);
    memcpy(e->hash, w.id.b, sizeof e->hash);
    return fre_collection_check(NULL, &terms, err);
}

static fre_status run_add(const cli *c, fre_err *err)
{
    fre_sign_pk key;
    fre_log_entry e;
    fre_log *l = NULL;
    fre_status st = log_key(&key, c, err);

    if (st == FRE_OK)
        st = entry_of(&e, c, err);
    if (st == FRE_OK)
        st = read_log(&l, c, &key, err);
    if (st != FRE_OK)
        return st;
    st = fre_log_append(l, &e, err);
    if (st == FRE_OK)
        st = finish(l, c, err);
    fre_log_free(l);
    return st;
}

/* ---- check ------------------------------------------------------------------------------------- */

static fre_status check_terms(const fre_log *l, const cli *c, fre_err *err)
{
    fre_sign_pk witness[CLI_LIST_MAX];
    fre_collection terms;
    fre_collection_id id;
    fre_log_trust t;
    fre_log_head head;
    fre_status st;

    if (!cli_given(c, "terms"))
        return FRE_OK;
    st = needs(c, "witness-key", err);
    if (st == FRE_OK)
        st = cli_log_trust(&t, witness, c, err);
    if (st == FRE_OK)
        st = fre_terms_read(&terms, cli_text(c, "terms"), err);
    if (st == FRE_OK)
        st = fre_collection_identify(&id, &terms, err);
    return st == FRE_OK ? fre_log_trusts(&head, l, &id, &t, err) : st;
}

static fre_status run_check(const cli *c, fre_err *err)
{
    fre_sign_pk key;
    fre_log *l = NULL;
    fre_status st = log_key(&key, c, err);

    if (st == FRE_OK)
        st = read_log(&l, c, &key, err);
    if (st != FRE_OK)
        return st;
    st = check_terms(l, c, err);
    if (st == FRE_OK)
        st = say(c, l, err);
    if (st == FRE_OK && cli_given(c, "terms") && !c->json && !c->quiet)
        cli_note(stdout, "The collection is in the log under a head that enough witnesses signed, "
                         "and it is not over.");
    fre_log_free(l);
    return st;
}

/* ---- run --------------------------------------------------------------------------------------- */

/* Whoever changes a file has it alone from before it is read until the new one is in its place: a log, or the head
 * that a witness remembers, under which two at once would sign two pasts. */
static fre_status lock(int *log, int *secret, const cli *c, size_t action, fre_err *err)
{
    fre_status st = FRE_OK;

    if (action == NEW || action == CHECK)
        return FRE_OK;
    if (action == WITNESS && cli_given(c, "secret"))
        st = cli_file_lock(secret, cli_text(c, "secret"), err);
    return st == FRE_OK ? cli_file_lock(log, c->positional[1], err) : st;
}

static fre_status run(cli *c, fre_err *err)
{
    static fre_status (*const act[])(const cli *c, fre_err *err) = {[NEW] = run_new,
                                                                    [ADD] = run_add,
                                                                    [SIGN] = run_sign,
                                                                    [WITNESS] = run_witness,
                                                                    [CHECK] = run_check};
    int log = -1, secret = -1;
    size_t i = 0;
    fre_status st;

    while (strcmp(actions[i], c->positional[0]) != 0)
        i++;
    st = lock(&log, &secret, c, i, err);
    if (st == FRE_OK)
        st = act[i](c, err);
    cli_file_unlock(log);
    cli_file_unlock(secret);
    return st;
}

const cli_command cli_cmd_collection_log = {
    .name = "collection log",
    .summary = "keep, sign, witness and check a public log of collections",
    .about =
        "A log of collections tells clients that everybody was given the same terms. Its operator "
        "adds each collection and what became of it, and signs heads; witnesses, who are others, "
        "sign a head if the log begins with the one that they signed before; a client takes part "
        "in a collection if enough witnesses that it knows have signed a recent head above it. "
        "Keys are made by collection keygen log and collection keygen witness.",
    .example = CLI_PROGRAM " collection log new log.jsonl --key log-1a2b3c4d.key.json\n" CLI_PROGRAM
                           " collection log add log.jsonl --key log-1a2b3c4d.key.json \\\n"
                           "    --terms terms.json\n" CLI_PROGRAM
                           " collection log sign log.jsonl --secret keys/log-1a2b3c4d.secret.json",
    .positional = positional,
    .n_positional = sizeof positional / sizeof positional[0],
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
