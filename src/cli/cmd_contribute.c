/* cmd_contribute.c - a device's part in a collection. */
#include "corpus_args.h"
#include "log_trust.h"

#include <fre/codebook.h>
#include <fre/config.h>
#include <fre/contribute.h>
#include <fre/embed.h>
#include <fre/serve.h>

#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = CLI_TEXT_FILES "; of its records the first ones, as many as a user has places "
                            "(default: standard input; not read when the state has begun)",
     .optional = true},
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("collection", "FILE|URL", .required = true,
             .help =
                 "the terms, or an address of theirs, which has their id; from somebody you trust "
                 "(collection show tells what they say)"),
    CLI_FILE("state", "FILE", .required = true,
             .help =
                 "what must not be forgotten on the way; made if it is missing, one a collection"),
    {.name = "once",
     .kind = CLI_FLAG,
     .help = "do what is due now and end (exit 75 until all is said), for devices that sleep"},
    CLI_HEADING("Who you are"),
    CLI_FILE("ticket", "FILE", .help = "what the issuer is shown, in hexadecimal digits"),
    {.name = "name",
     .metavar = "NAME",
     .kind = CLI_STRING,
     .help = "with --ticket-key: the name that is enrolled with the issuer"},
    CLI_FILE("ticket-key", "FILE", .help = "its key, 64 hexadecimal digits, readable by you alone"),
    CLI_HEADING("The log of collections"),
    CLI_FILE("log-key", "FILE",
             .help = "take part only if the relay's log of collections, whose public key this is, "
                     "has the terms, under a head that witnesses signed, and is not over"),
    CLI_FILE("log-head", "FILE",
             .help = "where the last head that was trusted is kept; a log that does not go on "
                     "from it is refused"),
    CLI_LOG_TRUST_ARGS("with --log-key: "),
    CLI_HEADING("Network"),
    {.name = "proxy",
     .metavar = "URL",
     .kind = CLI_STRING,
     .help = "socks5h://HOST:PORT, such as Tor's socks5h://127.0.0.1:9050"},
    CLI_HEADING("Input"),
    {.name = "no-text",
     .kind = CLI_FLAG,
     .help = "take part without a text, which nobody can tell from one with a text"},
    CLI_CORPUS_ARGS,
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_FILE("codebook", "FILE",
             .help = "GGUF file with the public cells, where the terms have such"),
};

static const cli_rule rules[] = {
    {.flag = "name", .other = "ticket-key", .is = CLI_LEFT_OUT, .sentence = "needs --ticket-key"},
    {.flag = "ticket-key", .other = "name", .is = CLI_LEFT_OUT, .sentence = "needs --name"},
    {.flag = "ticket",
     .other = "name",
     .is = CLI_GIVEN,
     .sentence = "is made from --name: leave one out"},
    {.flag = "log-key",
     .other = "witness-key",
     .is = CLI_LEFT_OUT,
     .sentence = "needs --witness-key: the log's own signature says nothing"},
    {.flag = "witness-key", .other = "log-key", .is = CLI_LEFT_OUT, .sentence = "needs --log-key"},
    {.flag = "log-head", .other = "log-key", .is = CLI_LEFT_OUT, .sentence = "needs --log-key"},
    {.flag = "no-text",
     .other = "INPUT",
     .is = CLI_GIVEN,
     .sentence = "leaves no use for an INPUT"},
};

typedef struct job {
    cli *c;
    fre_collection terms;
    fre_agreement *agreement;
    fre_codebook *codebook;
    fre_sketch *cells;
    float *x; /* SECRET */
    uint32_t n;
    uint8_t ticket[FRE_WIRE_CREDENTIALS_MAX]; /* SECRET until it is used */
    size_t ticket_bytes;
} job;

/* ---- who it is -------------------------------------------------------------------------------------- */

/* A file's only line of hexadecimal digits. */
static fre_status read_hex(uint8_t *out, size_t max, size_t *n, const char *path, fre_err *err)
{
    char text[2 * FRE_WIRE_CREDENTIALS_MAX + 1];
    fre_buf b;
    fre_status st;
    size_t len;

    fre_buf_init(&b, 4096);
    st = fre_private_read(&b, path, err);
    len = 0;
    while (len < b.n && b.p[len] > ' ')
        len++;
    if (st == FRE_OK && (len == 0 || len % 2 != 0 || len > 2 * max))
        st =
            fre_fail(err, FRE_E_DATA, "%s: up to %zu hexadecimal digits are wanted", path, 2 * max);
    if (st == FRE_OK) {
        memcpy(text, b.p, len);
        text[len] = 0;
        *n = len / 2;
        if (!fre_unhex(out, *n, text))
            st = fre_fail(err, FRE_E_DATA, "%s: these are no hexadecimal digits", path);
        fre_wipe(text, sizeof text);
    }
    fre_buf_wipe(&b);
    return st;
}

static fre_status make_ticket(job *j, fre_err *err)
{
    const fre_wire *w = fre_agreement_wire(j->agreement);
    uint8_t key[FRE_TICKET_KEY_BYTES];
    size_t n;
    fre_status st;

    if (cli_text(j->c, "ticket"))
        return read_hex(j->ticket, sizeof j->ticket, &j->ticket_bytes, cli_text(j->c, "ticket"),
                        err);
    if (!cli_text(j->c, "ticket-key"))
        return FRE_OK; /* an issuer may admit whoever comes; most refuse */
    st = read_hex(key, sizeof key, &n, cli_text(j->c, "ticket-key"), err);
    if (st == FRE_OK && n != sizeof key)
        st = fre_fail(err, FRE_E_DATA, "--ticket-key: a key has 64 hexadecimal digits");
    if (st == FRE_OK)
        st = fre_ticket_make(j->ticket, &j->ticket_bytes, key, &w->id, cli_text(j->c, "name"), err);
    fre_wipe(key, sizeof key);
    return st;
}

/* ---- texts -------------------------------------------------------------------------------------------- */

static fre_status open_embedder(fre_embedder **out, const job *j, fre_err *err)
{
    const fre_embedder_opts o = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_status st = fre_embedder_new(out, &o, err);

    if (st != FRE_OK)
        return st;
    if (memcmp(fre_embedder_info(*out)->sha256, j->terms.embedder, FRE_HASH_BYTES) != 0)
        return fre_fail(
            err, FRE_E_MODEL,
            "the collection embeds texts with another model: name its file, {embedder}");
    return FRE_OK;
}

static fre_status embed_first(job *j, fre_corpus *corpus, fre_embedder *e, fre_err *err)
{
    fre_status st = FRE_OK;
    fre_record rec;
    bool more = true;

    while (j->n < j->terms.cells_per_user &&
           (st = fre_corpus_next(corpus, &more, &rec, err)) == FRE_OK && more) {
        st = fre_embed_texts(e, j->x + (size_t)j->n * j->terms.dim, &rec.text, &rec.text_len, 1,
                             err);
        if (st != FRE_OK)
            return st;
        j->n++;
    }
    return st;
}

static fre_status open_input(fre_corpus **out, const job *j, fre_err *err)
{
    const char *input = j->c->positional[0] ? j->c->positional[0] : "-";
    fre_corpus_opts o;
    const fre_status st = cli_corpus_opts(&o, j->c, err);

    return st == FRE_OK ? fre_corpus_open(out, input, &o, err) : st;
}

static fre_status read_texts(job *j, fre_err *err)
{
    fre_corpus *corpus = NULL;
    fre_embedder *e = NULL;
    fre_status st;

    if (cli_flag(j->c, "no-text"))
        return FRE_OK;
    j->x = calloc(j->terms.cells_per_user, j->terms.dim * sizeof *j->x);
    if (!j->x)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = open_input(&corpus, j, err);
    if (st == FRE_OK)
        st = open_embedder(&e, j, err);
    if (st == FRE_OK)
        st = embed_first(j, corpus, e, err);
    if (st == FRE_OK && j->n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "there is no text; take part without one by --no-text");
    fre_corpus_free(corpus);
    fre_embedder_free(e);
    return st;
}

/* ---- terms --------------------------------------------------------------------------------------------- */

static fre_status open_cells(job *j, fre_err *err)
{
    fre_status st;

    if (j->terms.sketch.kind != FRE_SKETCH_CODEBOOK)
        return FRE_OK;
    if (!cli_text(j->c, "codebook"))
        return fre_fail(err, FRE_E_NOINPUT,
                        "the collection has public cells: name their file, {codebook}");
    st = fre_codebook_open_level(&j->codebook, &j->cells, cli_text(j->c, "codebook"),
                                 j->terms.sketch.codebook.level, err);
    return st == FRE_OK ? fre_agreement_set_cells(j->agreement, j->cells, err) : st;
}

/* What an address gave is beside the state, so that the relay hears of this device once before its time. */
static fre_status read_terms(job *j, fre_err *err)
{
    const char *from = cli_text(j->c, "collection");
    char *kept = NULL;
    fre_status st;

    if (strncmp(from, "https://", 8) != 0 && strncmp(from, "http://", 7) != 0)
        return fre_terms_read(&j->terms, from, err);
    if (asprintf(&kept, "%s.terms", cli_text(j->c, "state")) < 0)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = fre_contribute_fetch_terms(&j->terms, from, kept, cli_text(j->c, "proxy"), err);
    free(kept);
    return st;
}

/* Whether they keep their claim is checked before anything else. */
static fre_status open_terms(job *j, fre_err *err)
{
    fre_status st = read_terms(j, err);

    if (st == FRE_OK)
        st = fre_agreement_new(&j->agreement, &j->terms, err);
    return st == FRE_OK ? open_cells(j, err) : st;
}

/* ---- the log of collections --------------------------------------------------------------------------------- */

#define LOG_BYTES_MAX (64u << 20)

static fre_status fetch_log(fre_log **out, const job *j, const fre_sign_pk *key, fre_err *err)
{
    fre_err why = {.text = ""};
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, LOG_BYTES_MAX);
    st = fre_contribute_fetch_log(&text, &j->terms, cli_text(j->c, "proxy"), err);
    if (st == FRE_OK) {
        st = fre_log_read(out, (fre_bytes){text.p, text.n}, key, &why);
        if (st != FRE_OK)
            (void)fre_fail(err, st, "the relay's log of collections: %.400s",
                           why.text[0] ? why.text : fre_status_text(st));
    }
    fre_buf_wipe(&text);
    return st;
}

/* The head that says so is kept before anything is contributed under it. */
static fre_status trust_log(const job *j, const fre_log *l, const fre_sign_pk *key, fre_err *err)
{
    const char *kept = cli_text(j->c, "log-head");
    fre_sign_pk witness[CLI_LIST_MAX];
    fre_log_head seen, head;
    fre_log_trust t;
    bool there = false;
    fre_status st = cli_log_trust(&t, witness, j->c, err);

    if (st == FRE_OK && kept)
        st = fre_log_head_read(&seen, &there, key, kept, err);
    t.seen = there ? &seen : NULL;
    if (st == FRE_OK)
        st = fre_log_trusts(&head, l, &fre_agreement_wire(j->agreement)->id, &t, err);
    return st == FRE_OK && kept ? fre_log_head_keep(&head, key, kept, err) : st;
}

static fre_status check_log(const job *j, fre_err *err)
{
    fre_log *l = NULL;
    fre_sign_pk key;
    fre_status st;

    if (!cli_text(j->c, "log-key"))
        return FRE_OK;
    st = cli_log_key(&key, cli_text(j->c, "log-key"), FRE_SIGNER_LOG, err);
    if (st == FRE_OK)
        st = fetch_log(&l, j, &key, err);
    if (st == FRE_OK)
        st = trust_log(j, l, &key, err);
    fre_log_free(l);
    return st;
}

static void say(void *ctx, const char *what)
{
    const cli *c = ctx;

    fre_progress_update(&c->progress, what, 0, 0);
}

/* What it has to say is in the state, or is found out now. */
static fre_status prepare(job *j, fre_err *err)
{
    bool begun = false;
    fre_status st = fre_contribute_has_begun(&begun, cli_text(j->c, "state"),
                                             &fre_agreement_wire(j->agreement)->id, err);

    if (st != FRE_OK || begun)
        return st;
    st = check_log(j, err);
    if (st == FRE_OK)
        st = make_ticket(j, err);
    return st == FRE_OK ? read_texts(j, err) : st;
}

static fre_status contribute(job *j, fre_err *err)
{
    const fre_contribute_opts o = {.terms = j->agreement,
                                   .state = cli_text(j->c, "state"),
                                   .x = j->x,
                                   .n = j->n,
                                   .credentials = {j->ticket, j->ticket_bytes},
                                   .proxy = cli_text(j->c, "proxy"),
                                   .once = cli_flag(j->c, "once"),
                                   .said = say,
                                   .ctx = j->c};
    bool already = false;
    const fre_status st = fre_contribute(&already, &o, err);

    cli_progress_end();
    if (st == FRE_OK && j->c->json)
        return cli_json_print(json_pack("{s:b, s:b}", "taken", 1, "already", (int)already), err);
    if (st == FRE_OK && !j->c->quiet)
        cli_fold(stdout, 4, "%s",
                 already ? "Everything had been taken already; nothing was sent."
                         : "Everything was taken; the state keeps no more than that.");
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    job j = {.c = c};
    fre_status st = open_terms(&j, err);

    if (st == FRE_OK)
        st = prepare(&j, err);
    if (st == FRE_OK)
        st = contribute(&j, err);
    fre_wipe_free(j.x, (size_t)j.terms.cells_per_user * j.terms.dim * sizeof *j.x);
    fre_wipe(j.ticket, sizeof j.ticket);
    fre_agreement_free(j.agreement);
    fre_sketch_free(j.cells);
    fre_codebook_free(j.codebook);
    return st;
}

const cli_command cli_cmd_contribute = {
    .name = "contribute",
    .summary = "take part in a collection, as a user's device",
    .about =
        "Checks that the terms keep their claim, embeds the text here, tosses the coins, and "
        "speaks "
        "to the relay alone, at times that it draws. What was drawn is in the state before "
        "anything "
        "leaves, so that it may be interrupted and run again at any time; when all is said the "
        "state is wiped but for that. With --log-key it looks into the public log of collections "
        "first, and takes no part in what is not there, is over, or is not signed by the "
        "witnesses.\n\n"
        "Exit codes: 0 everything was taken, now or before · 75 not all is said yet, or another "
        "process has the state · 77 not admitted, cancelled, too late, not in the log, or another "
        "relay's key · 65 "
        "terms that do not keep their claim, or a server with another key · 74 the state could not "
        "be written.",
    .example = "echo 'cancel my subscription' | " CLI_PROGRAM
               " contribute --collection terms.json \\\n    --state mine.state --name kim "
               "--ticket-key kim.key",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
