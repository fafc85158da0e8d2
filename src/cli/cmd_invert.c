/* cmd_invert.c - embeddings -> texts, one JSON object a row. */
#include "search_args.h"

#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/invert.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_ROWS 64u /* results reach the file this often */

static const cli_positional positional[] = {
    {.name = "X.npy", .help = "embeddings, such as those of embed or a release's centroids.npy"},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_FILE("output", "FILE", .letter = 'o', .required = true,
             .help = "JSON lines, in order: text, similarity, distance; - for standard output"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
    CLI_HEADING("Noise"),
    CLI_NUMBER("noise-std", "S", fre_inverter_param_noise_std,
               .help = "standard deviation of the noise on each coordinate of every row"),
    CLI_FILE("noise-std-file", "S.npy",
             .help = "the same, one number a row, in place of --noise-std"),
    CLI_HEADING("Models and sampling"),
    CLI_EMBEDDER,
    CLI_INVERTER(""),
    CLI_COUNT("samples", "N", fre_inverter_param_samples,
              .help = "candidates drawn for a row (default: the number it was tuned with)"),
    CLI_NUMBER("temperature", "T", fre_inverter_param_temperature,
               .help = "of the sampling (default: the value it was tuned with)"),
    CLI_HEADING("Search"),
    CLI_SEARCH_ARGS,
    CLI_FILE("trace", "FILE",
             .help = "JSON lines: for each row what the search did, by round and kind of edit"),
};

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
    {"samples", "inverter", "search",
     "is about an inverter's decoder, which --inverter search does without: leave out one of them"},
    {"temperature", "inverter", "search",
     "is about an inverter's decoder, which --inverter search does without: leave out one of them"},
};

typedef struct job {
    cli *c;
    fre_npy *x, *noise; /* noise: NULL without a file */
    fre_embedder *embedder;
    fre_inverter *inverter;
    fre_outfile *out, *trace; /* trace: NULL without --trace */
    float *rows;
    size_t n, dim, first; /* first row of the chunk at work */
    size_t texts;         /* rows put into words */
    double similarity;    /* their sum */
} job;

/* ---- trace -------------------------------------------------------------------------------------------- */

static json_t *reals(const double *x, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(a, cli_json_real(x[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static json_t *gains(const fre_invert_trace *t)
{
    json_t *o = json_object();

    for (size_t i = 0; i < t->kinds; i++) {
        const fre_invert_gain *g = &t->gain[i];

        if (g->embedded > 0 &&
            json_object_set_new(o, g->kind,
                                json_pack("{s:I, s:I, s:o}", "embedded", (json_int_t)g->embedded,
                                          "improved", (json_int_t)g->improved, "gain",
                                          cli_json_real(g->gain))) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

static fre_status write_trace(void *ctx, const fre_invert_trace *t, fre_err *err)
{
    job *j = ctx;
    json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "row",
                          (json_int_t)(j->first + t->row), "embeddings", (json_int_t)t->embedded,
                          "draws", (json_int_t)t->drawn, "language_model_tokens",
                          (json_int_t)t->lm_tokens, "score", reals(t->score, t->rounds), "distance",
                          reals(t->distance, t->rounds), "kinds", gains(t));

    return cli_json_line(fre_outfile_stream(j->trace), o, cli_text(j->c, "trace"), err);
}

/* ---- inputs ------------------------------------------------------------------------------------------- */

static fre_status check_origin(const job *j, fre_err *err)
{
    const fre_model_info *info = fre_embedder_info(j->embedder);
    char hash[2 * FRE_HASH_BYTES + 1];

    if (j->dim != info->dim)
        return fre_fail(err, FRE_E_DATA,
                        "the embeddings have dimension %zu, but the embedder makes %" PRIu32
                        "; name the one they come from with --embedder FILE",
                        j->dim, info->dim);
    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (fre_npy_has_meta(j->x) && fre_npy_meta_view(j->x)->sha256[0] &&
        strcmp(fre_npy_meta_view(j->x)->sha256, hash) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "the embeddings were made by another embedder, as their sidecar says; "
                        "name its file with --embedder FILE");
    return FRE_OK;
}

static fre_status open_noise(job *j, fre_err *err)
{
    const char *path = cli_text(j->c, "noise-std-file");
    fre_status st;

    if (!path)
        return FRE_OK;
    if (cli_given(j->c, "noise-std"))
        return fre_fail(err, FRE_E_USAGE, "give --noise-std or --noise-std-file, not both");
    st = fre_npy_open_numbers(&j->noise, path, err);
    if (st != FRE_OK)
        return st;
    if (fre_npy_rows(j->noise) != j->n)
        return fre_fail(err, FRE_E_DATA,
                        "--noise-std-file must hold one number for each of the %zu rows, not %zu",
                        j->n, fre_npy_rows(j->noise));
    return FRE_OK;
}

static fre_status noise_of(const job *j, double *out, size_t row, fre_err *err)
{
    float s;
    fre_status st;

    if (!j->noise) {
        *out = cli_number(j->c, "noise-std");
        return FRE_OK;
    }
    st = fre_npy_row(j->noise, &s, row, err);
    if (st != FRE_OK)
        return st;
    if (!(s >= 0.0f) || isinf(s))
        return fre_fail(err, FRE_E_DATA, "--noise-std-file: row %zu must be a number of at least 0",
                        row + 1);
    *out = (double)s;
    return FRE_OK;
}

static fre_status check_outputs(const cli *c, fre_err *err)
{
    const char *output = cli_text(c, "output"), *trace = cli_text(c, "trace");

    if (c->json && strcmp(output, "-") == 0)
        return fre_fail(err, FRE_E_USAGE, "--json and --output - cannot share standard output");
    if (c->json && trace && strcmp(trace, "-") == 0)
        return fre_fail(err, FRE_E_USAGE, "--json and --trace - cannot share standard output");
    if (trace && strcmp(trace, output) == 0)
        return fre_fail(err, FRE_E_USAGE, "--trace and --output must be two files");
    return FRE_OK;
}

static fre_status open_trace(job *j, fre_err *err)
{
    const char *path = cli_text(j->c, "trace");
    fre_status st;

    if (!path)
        return FRE_OK;
    st = cli_refuse_inputs(j->c, j->c->positional[0], "trace", err);
    return st == FRE_OK ? fre_outfile_open(&j->trace, path, cli_flag(j->c, "force"), err) : st;
}

static fre_status prepare(job *j, fre_err *err)
{
    fre_embedder_opts embedder = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_inverter_opts inverter = {.path = cli_text(j->c, "inverter"),
                                  .threads = j->c->threads,
                                  .samples = (uint32_t)cli_whole(j->c, "samples"),
                                  .temperature = cli_number(j->c, "temperature"),
                                  .search = cli_search_opts(j->c),
                                  .progress = &j->c->progress,
                                  .trace = cli_given(j->c, "trace") ? write_trace : NULL,
                                  .trace_ctx = j};
    fre_status st;

    if (!fre_inverter_writes_text(inverter.path))
        return fre_fail(
            err, FRE_E_USAGE,
            "--inverter none leaves nothing to invert with; name a GGUF file or search");
    st = check_outputs(j->c, err);
    if (st != FRE_OK)
        return st;
    st = fre_npy_open(&j->x, j->c->positional[0], err);
    if (st != FRE_OK)
        return st;
    j->n = fre_npy_rows(j->x);
    j->dim = fre_npy_dim(j->x);
    st = open_noise(j, err);
    if (st != FRE_OK)
        return st;
    st = cli_refuse_inputs(j->c, j->c->positional[0], "output", err);
    if (st != FRE_OK)
        return st;
    st = fre_outfile_open(&j->out, cli_text(j->c, "output"), cli_flag(j->c, "force"), err);
    if (st != FRE_OK)
        return st;
    st = open_trace(j, err);
    if (st != FRE_OK)
        return st;
    st = fre_embedder_new(&j->embedder, &embedder, err);
    if (st != FRE_OK)
        return st;
    st = check_origin(j, err);
    if (st != FRE_OK)
        return st;
    st = fre_inverter_new(&j->inverter, j->embedder, &inverter, err);
    if (st != FRE_OK)
        return st;
    j->rows = calloc((size_t)CHUNK_ROWS * j->dim, sizeof *j->rows);
    return j->rows ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory for rows");
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static fre_status write_row(job *j, const fre_inversion *v, fre_err *err)
{
    const bool has = v->text != NULL;
    json_t *o = json_pack("{s:s?, s:s*, s:o, s:o}", "text", v->text, "unreadable", v->unreadable,
                          "similarity", has ? cli_json_real(v->similarity) : json_null(),
                          "distance", has ? cli_json_real(v->distance) : json_null());

    j->texts += has;
    j->similarity += has ? v->similarity : 0;
    return cli_json_line(fre_outfile_stream(j->out), o, cli_text(j->c, "output"), err);
}

/* Rows done inside a chunk, as rows of the whole file. */
typedef struct shifted {
    const fre_progress *whole;
    size_t first, n;
} shifted;

static void shift_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    const shifted *s = ctx;
    (void)total;
    fre_progress_update(s->whole, phase, s->first + done, s->n);
}

static fre_status read_chunk(job *j, double *noise, size_t first, size_t n, fre_err *err)
{
    for (size_t i = 0; i < n; i++) {
        float *row = j->rows + i * j->dim;
        fre_status st = fre_npy_row(j->x, row, first + i, err);
        if (st == FRE_OK)
            st = noise_of(j, &noise[i], first + i, err);
        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

static fre_status invert_chunk(job *j, size_t first, size_t n, fre_err *err)
{
    shifted shift = {.whole = &j->c->progress, .first = first, .n = j->n};
    fre_progress progress = {.update = shift_progress, .ctx = &shift};
    fre_inversion result[CHUNK_ROWS];
    double noise[CHUNK_ROWS] = {0.0};
    fre_status st = read_chunk(j, noise, first, n, err);

    if (st != FRE_OK)
        return st;
    memset(result, 0, sizeof result);
    j->first = first;
    st = fre_invert(j->inverter, result, j->rows, noise, n, &progress, err);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < n && st == FRE_OK; i++)
        st = write_row(j, &result[i], err);
    for (size_t i = 0; i < n; i++)
        fre_inversion_wipe(&result[i]);
    return st;
}

static fre_status report(const job *j, fre_err *err)
{
    const double mean = j->texts > 0 ? j->similarity / (double)j->texts : (double)NAN;

    cli_progress_end();
    if (j->c->json)
        return cli_json_print(json_pack("{s:s, s:I, s:I, s:o}", "output", cli_text(j->c, "output"),
                                        "rows", (json_int_t)j->n, "unreadable",
                                        (json_int_t)(j->n - j->texts), "mean_similarity",
                                        cli_json_real(mean)),
                              err);
    if (j->c->quiet)
        return FRE_OK;
    if (j->texts > 0)
        cli_fold(stderr, 4, "%zu text%s, mean similarity %.3f", j->texts, cli_plural(j->texts),
                 mean);
    else
        fputs(j->n > 0 ? "no texts\n" : "no rows, no texts\n", stderr);
    if (j->texts < j->n)
        cli_fold(stderr, 4, "%zu row%s without a text; the file says why", j->n - j->texts,
                 cli_plural(j->n - j->texts));
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    job j = {.c = c};
    fre_status st;

    (void)umask(077); /* as private as the embeddings that come in */
    st = prepare(&j, err);

    for (size_t first = 0; st == FRE_OK && first < j.n; first += CHUNK_ROWS) {
        size_t n = j.n - first < CHUNK_ROWS ? j.n - first : CHUNK_ROWS;
        st = fre_interrupted() ? FRE_E_INTERRUPTED : invert_chunk(&j, first, n, err);
    }
    if (st == FRE_OK)
        st = fre_outfile_commit(j.out, err);
    if (st == FRE_OK && j.trace)
        st = fre_outfile_commit(j.trace, err);
    if (st == FRE_OK)
        st = report(&j, err);
    fre_outfile_free(j.out);
    fre_outfile_free(j.trace);
    fre_inverter_free(j.inverter);
    fre_embedder_free(j.embedder);
    fre_npy_free(j.noise);
    fre_npy_free(j.x);
    free(j.rows);
    return st;
}

const cli_command cli_cmd_invert = {
    .name = "invert",
    .summary = "turn embeddings into texts",
    .about = "Writes for each embedding the text that explains it best, given how noisy it is. "
             "The embeddings go in as they are; their norm carries information.",
    .example = CLI_PROGRAM " invert release/centroids.npy --noise-std 0.01 -o texts.jsonl",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
