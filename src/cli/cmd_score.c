/* cmd_score.c - how natural texts read: negative log-likelihood under a language model. */
#include "corpus_args.h"

#include <fre/lm.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_TEXTS 8192u
#define CHUNK_BYTES ((size_t)64 << 20) /* of texts, so that long ones do not pile up */
#define SYNTHETIC "synthetic.jsonl"
#define NATURAL 6.0 /* the paper reports the share of texts up to here */

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = "texts: .txt, .jsonl, .csv or .tsv, also .gz or .zst; - for standard input; or a "
             "release's folder"},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_FILE("output", "FILE", .letter = 'o',
             .help = "JSON lines, one a text in order: text, tokens, nll, perplexity; - for "
                     "standard output"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
    CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,
    CLI_HEADING("Model"),
    CLI_FILE("language-model", "FILE", .preset = "default",
             .help = "GGUF file of a causal language model; default: SmolLM2-135M-Instruct, "
                     "obtained by " FRE_LM_SCRIPT),
    CLI_WHOLE("max-tokens", "N", 2, 1u << 20,
              .help = "cut longer texts, and count them (default: 1024, or the model's context)"),
};

typedef struct chunk {
    fre_buf bytes;
    size_t n;
    size_t at[CHUNK_TEXTS], len[CHUNK_TEXTS];
    const char *text[CHUNK_TEXTS];
    fre_lm_score score[CHUNK_TEXTS];
} chunk;

typedef struct job {
    cli *c;
    char path[4096];    /* of the texts */
    fre_corpus *corpus; /* NULL, as the model: a release without cells, where nothing is scored */
    fre_lm *lm;
    fre_outfile *out; /* NULL without --output */
    chunk *chunk;
    double *nll; /* of the texts of two tokens or more */
    size_t n, room;
    uint64_t texts, tokens, cut;
    uint64_t before, expected; /* texts before the chunk, and in all as far as is known */
} job;

/* ---- a chunk of texts --------------------------------------------------------------------------------- */

static void on_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    const job *j = ctx;

    (void)phase;
    fre_progress_update(&j->c->progress, "scoring", j->before + done,
                        j->expected > j->before + total ? j->expected : j->before + total);
}

static fre_status write_text(const job *j, size_t i, fre_err *err)
{
    const fre_lm_score *s = &j->chunk->score[i];
    double nll = fre_lm_nll(s);
    json_t *o = json_pack("{s:s%, s:I, s:o, s:o}", "text", j->chunk->text[i], j->chunk->len[i],
                          "tokens", (json_int_t)s->tokens, "nll", cli_json_real(nll), "perplexity",
                          cli_json_real(exp(nll)));

    return cli_json_line(fre_outfile_stream(j->out), o, cli_text(j->c, "output"), err);
}

static fre_status keep_nll(job *j, double nll)
{
    if (j->n == j->room) {
        size_t room = j->room ? 2 * j->room : CHUNK_TEXTS;
        double *p = realloc(j->nll, room * sizeof *p);

        if (!p)
            return FRE_E_NOMEM;
        j->nll = p;
        j->room = room;
    }
    j->nll[j->n++] = nll;
    return FRE_OK;
}

static fre_status flush(job *j, fre_err *err)
{
    chunk *k = j->chunk;
    const fre_progress progress = {on_progress, j};
    fre_status st;

    for (size_t i = 0; i < k->n; i++)
        k->text[i] = (const char *)k->bytes.p + k->at[i];
    st = fre_lm_score_texts(j->lm, k->score, k->text, k->len, k->n, &progress, err);
    for (size_t i = 0; i < k->n && st == FRE_OK; i++) {
        j->tokens += k->score[i].tokens;
        j->cut += k->score[i].cut;
        if (k->score[i].tokens >= 2 && keep_nll(j, fre_lm_nll(&k->score[i])) != FRE_OK)
            st = fre_fail(err, FRE_E_NOMEM, "out of memory for the numbers of the texts");
        if (st == FRE_OK && j->out)
            st = write_text(j, i, err);
    }
    j->texts += k->n;
    k->n = 0;
    k->bytes.n = 0;
    return st;
}

static fre_status score_all(job *j, fre_err *err)
{
    chunk *k = j->chunk;
    fre_record rec;
    bool more = j->corpus != NULL;

    while (more) {
        fre_status st = fre_corpus_next(j->corpus, &more, &rec, err);

        if (st == FRE_OK && more) {
            k->at[k->n] = k->bytes.n;
            k->len[k->n++] = rec.text_len;
            st = fre_buf_append(&k->bytes, rec.text, rec.text_len);
            if (st != FRE_OK)
                (void)fre_fail(err, st, "out of memory while reading texts");
        }
        if (st == FRE_OK && fre_interrupted())
            st = FRE_E_INTERRUPTED;
        if (st == FRE_OK && (!more || k->n == CHUNK_TEXTS || k->bytes.n >= CHUNK_BYTES)) {
            fre_corpus_stats stats;

            fre_corpus_get_stats(j->corpus, &stats);
            j->before = j->texts;
            j->expected = more ? fre_corpus_expected(&stats) : stats.records;
            st = flush(j, err);
        }
        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

/* ---- the summary -------------------------------------------------------------------------------------- */

typedef struct summary {
    double median, perplexity, mean, natural; /* NaN without a text of two tokens */
} summary;

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static summary summarise(job *j)
{
    summary s = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    double sum = 0, natural = 0, low, high;

    if (j->n == 0)
        return s;
    qsort(j->nll, j->n, sizeof *j->nll, by_value);
    for (size_t i = 0; i < j->n; i++) {
        sum += j->nll[i];
        natural += j->nll[i] <= NATURAL;
    }
    low = j->nll[(j->n - 1) / 2];
    high = j->nll[j->n / 2];
    s.median = (low + high) / 2;
    s.perplexity = (exp(low) + exp(high)) / 2;
    s.mean = sum / (double)j->n;
    s.natural = natural / (double)j->n;
    return s;
}

static fre_status print_json(const job *j, const summary *s, fre_err *err)
{
    const fre_model_info *info = j->lm ? fre_lm_info(j->lm) : NULL;
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_corpus_stats in = {.records = 0};
    json_t *o;

    if (j->corpus)
        fre_corpus_get_stats(j->corpus, &in);
    if (info)
        fre_hex(hex, info->sha256, FRE_HASH_BYTES);
    o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "texts", (json_int_t)j->texts, "scored",
                  (json_int_t)j->n, "left_out", (json_int_t)(j->texts - j->n), "cut",
                  (json_int_t)j->cut, "empty", (json_int_t)in.empty, "invalid",
                  (json_int_t)in.invalid, "tokens", (json_int_t)j->tokens);
    if (o &&
        json_object_update_new(
            o, json_pack("{s:o, s:o, s:o, s:o, s:s?, s:s?}", "median_nll", cli_json_real(s->median),
                         "median_perplexity", cli_json_real(s->perplexity), "mean_nll",
                         cli_json_real(s->mean), "share_nll_at_most_6", cli_json_real(s->natural),
                         "language_model", info ? info->name : NULL, "language_model_sha256",
                         info ? hex : NULL)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return cli_json_print(o, err);
}

static void print_number(FILE *f, const char *what, double x, int digits, const char *unit)
{
    if (isfinite(x))
        cli_fold(f, 4, "  %-24s %8.*f%s", what, digits, x, unit);
}

/* On standard error where standard output has the lines. */
static void print_summary(const job *j, const summary *s, FILE *f)
{
    if (j->lm) {
        cli_fold(f, 4, "language model: %s", fre_lm_info(j->lm)->name);
    }
    cli_fold(f, 4,
             "texts: %" PRIu64 "; left out, of fewer than two tokens: %" PRIu64 "; cut: %" PRIu64,
             j->texts, j->texts - j->n, j->cut);
    if (j->n == 0)
        return;
    fputc('\n', f);
    print_number(f, "median NLL a token", s->median, 2, " nats");
    print_number(f, "median perplexity", s->perplexity, 1, "");
    print_number(f, "mean NLL a token", s->mean, 2, " nats");
    print_number(f, "texts of NLL at most 6", 100 * s->natural, 1, " %");
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static bool is_synthetic(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, SYNTHETIC) == 0;
}

/* A release's texts lie in its folder.  They may be none at all, which is no fault. */
static fre_status open_corpus(job *j, fre_err *err)
{
    fre_corpus_about about;
    fre_corpus_opts opts;
    const char *path = j->c->positional[0];
    struct stat info;
    fre_status st;
    const bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);

    if (snprintf(j->path, sizeof j->path, "%s%s", path, is_folder ? "/" SYNTHETIC : "") >=
        (int)sizeof j->path)
        return fre_fail(err, FRE_E_USAGE, "INPUT is too long a path");
    if (is_folder && stat(j->path, &info) != 0)
        return fre_fail(err, FRE_E_NOINPUT,
                        "'%.200s' is a folder, but not a release: it has no " SYNTHETIC, path);
    st = cli_corpus_opts(&opts, j->c, err);
    opts.empty_ok = is_synthetic(j->path);
    opts.null_text = true; /* a line that nobody could put into words, wherever it lies */
    if (st == FRE_OK)
        st = fre_corpus_open(&j->corpus, j->path, &opts, err);
    if (st != FRE_OK)
        return st;
    fre_corpus_get_about(j->corpus, &about);
    if (about.is_empty) {
        fre_corpus_free(j->corpus);
        j->corpus = NULL;
    }
    return FRE_OK;
}

static fre_status prepare(job *j, fre_err *err)
{
    const char *output = cli_text(j->c, "output");
    const char *model = cli_text(j->c, "language-model");
    fre_lm_opts lm = {.path = strcmp(model, "default") == 0 ? NULL : model,
                      .threads = j->c->threads,
                      .max_tokens = (uint32_t)cli_whole(j->c, "max-tokens"),
                      .parts = FRE_LM_REST};
    fre_status st = FRE_OK;

    if (output && j->c->json && strcmp(output, "-") == 0)
        return fre_fail(err, FRE_E_USAGE, "--json and --output - cannot share standard output");
    st = open_corpus(j, err);
    if (st == FRE_OK && output) {
        (void)umask(077); /* as private as the texts */
        st = cli_refuse_inputs(j->c, j->path, "output", err);
        if (st == FRE_OK)
            st = fre_outfile_open(&j->out, output, cli_flag(j->c, "force"), err);
    }
    if (st == FRE_OK && j->corpus)
        st = fre_lm_open(&j->lm, &lm, err);
    if (st == FRE_E_ARG) /* --max-tokens beyond the model's context */
        st = FRE_E_USAGE;
    if (st != FRE_OK)
        return st;
    j->chunk = calloc(1, sizeof *j->chunk);
    if (!j->chunk)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a chunk of texts");
    fre_buf_init(&j->chunk->bytes, CHUNK_BYTES + FRE_CORPUS_TEXT_MAX);
    return FRE_OK;
}

static fre_status report(job *j, fre_err *err)
{
    const summary s = summarise(j);
    const char *output = cli_text(j->c, "output");
    bool lines = output && strcmp(output, "-") == 0;

    cli_progress_end();
    if (!j->corpus)
        cli_warn(j->c, "the release has no cells, so there is nothing to score");
    else if (j->n == 0)
        cli_warn(j->c, "no text has two tokens or more, so there is nothing to average");
    if (j->cut > 0)
        cli_warn(j->c, "%" PRIu64 " texts were cut; raise --max-tokens to read all of them",
                 j->cut);
    cli_print_corpus(j->c, j->corpus);
    if (j->c->json)
        return print_json(j, &s, err);
    if (!lines || !j->c->quiet)
        print_summary(j, &s, lines ? stderr : stdout);
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    job j = {.c = c};
    fre_status st = prepare(&j, err);

    if (st == FRE_OK)
        st = score_all(&j, err);
    if (st == FRE_OK && j.out)
        st = fre_outfile_commit(j.out, err);
    if (st == FRE_OK)
        st = report(&j, err);
    fre_outfile_free(j.out);
    fre_lm_free(j.lm);
    fre_corpus_free(j.corpus);
    if (j.chunk)
        fre_buf_wipe(&j.chunk->bytes);
    free(j.chunk);
    free(j.nll);
    return st;
}

const cli_command cli_cmd_score = {
    .name = "score",
    .summary = "how natural texts read to a language model",
    .about = "Negative log-likelihood (NLL) of each text under a language model, the mean over "
             "its tokens but the first, each given those before it, in nats; perplexity is its "
             "exponential. Lower reads more natural. Texts of fewer than two tokens are left out. "
             "A text's number does not depend on the texts beside it. To judge a release, compare "
             "it with the originals: score both. The numbers of the originals are not private.",
    .example = CLI_PROGRAM " score release -o per-text.jsonl",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
