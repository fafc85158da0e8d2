/* cmd_score.c - how natural texts read: negative log-likelihood under a language model. */
#include "corpus_args.h"

#include <fre/lm.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define SYNTHETIC "synthetic.jsonl"

static const cli_positional positional[] = {
    {.name = "INPUT", .help = CLI_TEXT_FILES "; or a release's folder"},
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
    CLI_COUNT("max-tokens", "N", fre_lm_param_max_tokens,
              .help = "cut longer texts, and count them (default: 1024, or the model's context)"),
};

typedef struct job {
    cli *c;
    char path[4096];    /* of the texts */
    fre_corpus *corpus; /* NULL, as the model: a release without cells, where nothing is scored */
    fre_lm *lm;
    fre_outfile *out; /* NULL without --output */
    fre_lm_scorer *scorer; /* NULL as the model is */
} job;

static fre_status write_text(void *ctx, const char *text, size_t len, const fre_lm_score *score,
                             fre_err *err)
{
    const job *j = ctx;
    const double nll = fre_lm_nll(score);
    json_t *o =
        json_pack("{s:s%, s:I, s:o, s:o}", "text", text, len, "tokens", (json_int_t)score->tokens,
                  "nll", cli_json_real(nll), "perplexity", cli_json_real(exp(nll)));

    return cli_json_line(fre_outfile_stream(j->out), o, cli_text(j->c, "output"), err);
}

static fre_status score_all(job *j, fre_err *err)
{
    fre_corpus_stats stats;
    fre_record rec;
    fre_status st;
    bool more;

    if (!j->corpus)
        return FRE_OK;
    while ((st = fre_corpus_next(j->corpus, &more, &rec, err)) == FRE_OK && more) {
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        fre_corpus_get_stats(j->corpus, &stats);
        fre_lm_scorer_expect(j->scorer, fre_corpus_expected(&stats));
        st = fre_lm_scorer_add(j->scorer, rec.text, rec.text_len, err);
        if (st != FRE_OK)
            return st;
    }
    if (st != FRE_OK)
        return st;
    fre_corpus_get_stats(j->corpus, &stats);
    fre_lm_scorer_expect(j->scorer, stats.records);
    return fre_lm_scorer_flush(j->scorer, err);
}

/* ---- the summary -------------------------------------------------------------------------------------- */

static fre_status print_json(const job *j, const fre_lm_summary *s, fre_err *err)
{
    const fre_model_info *info = j->lm ? fre_lm_info(j->lm) : NULL;
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_corpus_stats in = {.records = 0};
    json_t *o;

    if (j->corpus)
        fre_corpus_get_stats(j->corpus, &in);
    if (info)
        fre_hex(hex, info->sha256, FRE_HASH_BYTES);
    o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "texts", (json_int_t)s->texts, "scored",
                  (json_int_t)s->scored, "left_out", (json_int_t)(s->texts - s->scored), "cut",
                  (json_int_t)s->cut, "empty", (json_int_t)in.empty, "invalid",
                  (json_int_t)in.invalid, "tokens", (json_int_t)s->tokens);
    if (o && json_object_update_new(o, json_pack("{s:o, s:o, s:o, s:o, s:s?, s:s?}", "median_nll",
                                                 cli_json_real(s->median_nll), "median_perplexity",
                                                 cli_json_real(s->median_perplexity), "mean_nll",
                                                 cli_json_real(s->mean_nll), "share_nll_at_most_6",
                                                 cli_json_real(s->natural), "language_model",
                                                 info ? info->name : NULL, "language_model_sha256",
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
static void print_summary(const job *j, const fre_lm_summary *s, FILE *f)
{
    if (j->lm) {
        cli_fold(f, 4, "language model: %s", fre_lm_info(j->lm)->name);
    }
    cli_fold(f, 4,
             "texts: %" PRIu64 "; left out, of fewer than two tokens: %" PRIu64 "; cut: %" PRIu64,
             s->texts, s->texts - s->scored, s->cut);
    if (s->scored == 0)
        return;
    fputc('\n', f);
    print_number(f, "median NLL a token", s->median_nll, 2, " nats");
    print_number(f, "median perplexity", s->median_perplexity, 1, "");
    print_number(f, "mean NLL a token", s->mean_nll, 2, " nats");
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
    return j->lm ? fre_lm_scorer_new(&j->scorer, j->lm, output ? write_text : NULL, j,
                                     &j->c->progress, err)
                 : FRE_OK;
}

static fre_status report(job *j, fre_err *err)
{
    fre_lm_summary s = {.texts = 0};
    const char *output = cli_text(j->c, "output");
    bool lines = output && strcmp(output, "-") == 0;

    s.median_nll = s.median_perplexity = s.mean_nll = s.natural = (double)NAN;
    if (j->scorer)
        fre_lm_scorer_summary(j->scorer, &s);

    cli_progress_end();
    if (!j->corpus)
        cli_warn(j->c, "the release has no cells, so there is nothing to score");
    else if (s.scored == 0)
        cli_warn(j->c, "no text has two tokens or more, so there is nothing to average");
    if (s.cut > 0)
        cli_warn(j->c, "%" PRIu64 " texts were cut; raise --max-tokens to read all of them", s.cut);
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
    fre_lm_scorer_free(j.scorer);
    fre_lm_free(j.lm);
    fre_corpus_free(j.corpus);
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
