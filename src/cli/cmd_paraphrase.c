/* cmd_paraphrase.c - texts -> other texts that say the same, beside each in its JSON line. */
#include "corpus_args.h"
#include "json_line.h"
#include "paraphrase_args.h"
#include "search_args.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES ((size_t)64 << 20)

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = "texts: a .jsonl file, - for standard input, or a release's folder, whose centroids "
             "are then used too"},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_FILE("output", "FILE", .letter = 'o', .required = true,
             .help = "the lines of INPUT, in order, each with a list \"paraphrases\"; - for "
                     "standard output"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
    CLI_HEADING("Paraphrases"),
    CLI_COUNT("paraphrases", "N", fre_paraphrase_param_paraphrases,
              .help = "of each text, at most"),
    CLI_PARAPHRASE_TEMPERATURE,
    CLI_PARAPHRASE_DISTANCE,
    CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,
    CLI_FILE("centroids", "X.npy",
             .help = "the noisy vector behind each text, a row a line; a line's \"noise_norm\" is "
                     "the norm of its noise"),
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_FILE("inverter", "FILE",
             .help = "GGUF file whose decoder writes candidates, or none (default: the bundled "
                     "one)"),
    CLI_FILE("language-model", "FILE", .preset = "none",
             .help = "GGUF file that writes candidates too and says how natural all of them are; "
                     "default: the one obtained by " FRE_LM_SCRIPT "; none"),
    CLI_STATISTICS_ARGS,
    {.name = "seed",
     .metavar = "N",
     .kind = CLI_U64,
     .preset = "0",
     .help = "other numbers, other samples"},
};

static const cli_rule rules[] = {
    {"prior", "inverter", "none",
     "is about the inverter, which --inverter none leaves out: leave out one of them"},
    {"bridge", "inverter", "none",
     "is about the inverter, which --inverter none leaves out: leave out one of them"},
};

typedef struct line {
    char *json; /* without its line end, owned */
    size_t len;
} line;

typedef struct job {
    cli *c;
    fre_corpus *corpus;
    char *path, *centroid_path; /* owned; path: of the texts, for messages */
    fre_npy *centroids;         /* NULL: none */
    fre_embedder *embedder;
    fre_lm *lm; /* NULL: none */
    fre_inverter *inverter;
    fre_paraphraser *paraphraser;
    fre_paraphrase_stream *stream;
    fre_outfile *out;
    float *row;                      /* the centroid of the line that is read */
    line line[FRE_PARAPHRASE_BATCH]; /* line i at i % FRE_PARAPHRASE_BATCH, until it is written */
    size_t read, written;            /* lines */
} job;

/* ---- input -------------------------------------------------------------------------------------------- */

static char *beside(const char *folder, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static fre_status find_input(job *j, fre_err *err)
{
    const char *input = j->c->positional[0], *centroids = cli_text(j->c, "centroids");
    struct stat st;

    if (stat(input, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (centroids)
            return fre_fail(err, FRE_E_USAGE,
                            "a release's folder has its own centroids: leave out --centroids");
        j->path = beside(input, "synthetic.jsonl");
        j->centroid_path = beside(input, "centroids.npy");
        if (!j->centroid_path)
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
    } else {
        j->path = strdup(input);
        j->centroid_path = centroids ? strdup(centroids) : NULL;
    }
    if (!j->path || (centroids && !j->centroid_path))
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    return FRE_OK;
}

static fre_status open_texts(job *j, fre_err *err)
{
    fre_corpus_about about;
    fre_corpus_opts o;
    fre_status st = cli_corpus_opts(&o, j->c, err);

    o.keep_json = o.empty_ok = true;
    /* A row of centroids is a line; and a line is not lost unless that is asked for. */
    if (j->centroid_path || !cli_given(j->c, "invalid"))
        o.invalid = FRE_CORPUS_INVALID_FAIL;
    if (st == FRE_OK)
        st = fre_corpus_open(&j->corpus, j->path, &o, err);
    if (st != FRE_OK)
        return st;
    fre_corpus_get_about(j->corpus, &about);
    return strstr(about.format, "JSON") || about.is_empty
               ? FRE_OK
               : fre_fail(err, FRE_E_DATA,
                          "%.400s: is %s, and paraphrases go into JSON objects: write one object a "
                          "line, its text under \"%.40s\"",
                          j->path, about.format, cli_text(j->c, "text-field"));
}

static fre_status open_centroids(job *j, fre_err *err)
{
    fre_status st;

    if (!j->centroid_path)
        return FRE_OK;
    st = fre_npy_open(&j->centroids, j->centroid_path, err);
    if (st == FRE_OK)
        st = fre_embedder_check_rows(j->embedder, j->centroids, j->centroid_path, err);
    if (st != FRE_OK)
        return st;
    j->row = calloc(fre_npy_dim(j->centroids), sizeof *j->row);
    return j->row ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory for centroids");
}

/* ---- models ------------------------------------------------------------------------------------------- */

static bool is_none(const char *name)
{
    return name && strcmp(name, "none") == 0;
}

static fre_status open_writers(job *j, fre_err *err)
{
    const cli *c = j->c;
    const char *name = cli_text(c, "language-model");
    const fre_lm_opts lm = {.path = strcmp(name, "default") != 0 ? name : NULL,
                            .threads = c->threads,
                            .parts = FRE_LM_WHOLE};
    const fre_inverter_opts inverter = {
        .path = cli_text(c, "inverter"),
        .threads = c->threads,
        .search = {.prior = cli_text(c, "prior"), .bridge = cli_text(c, "bridge")}};
    fre_status st = FRE_OK;

    if (is_none(name) && is_none(inverter.path))
        return fre_fail(err, FRE_E_USAGE,
                        "nothing is left to write paraphrases: give --language-model, or leave out "
                        "--inverter none");
    if (!is_none(inverter.path))
        st = fre_inverter_new(&j->inverter, j->embedder, &inverter, err);
    return st == FRE_OK && !is_none(name) ? fre_lm_open(&j->lm, &lm, err) : st;
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static fre_status read_noise(const job *j, double *norm, const fre_record *rec, fre_err *err)
{
    fre_json_want noise = {.name = "noise_norm"};
    char number[64];
    size_t at = 0;

    (void)fre_json_scan((uint8_t *)rec->json, rec->json_len, &noise, 1, &at);
    if (noise.kind == FRE_JSON_ABSENT)
        return FRE_OK;
    (void)snprintf(number, sizeof number, "%.*s", (int)(noise.n < 63 ? noise.n : 63),
                   noise.p ? (const char *)noise.p : "");
    if (noise.kind != FRE_JSON_NUMBER || number[0] == '-')
        return fre_fail(err, FRE_E_DATA,
                        "%.400s: line %" PRIu64 ": \"noise_norm\" must be a number of at least 0",
                        j->path, rec->line);
    *norm = strtod(number, NULL);
    return FRE_OK;
}

/* A release's line that nobody could put into words: it has no paraphrases either. */
static bool is_unreadable(const fre_record *rec)
{
    fre_json_want why = {.name = "unreadable"};
    size_t at = 0;

    if (rec->json)
        (void)fre_json_scan((uint8_t *)rec->json, rec->json_len, &why, 1, &at);
    return why.kind == FRE_JSON_STRING;
}

static fre_status check_line(const job *j, const fre_record *rec, fre_err *err)
{
    if (!rec->text && !is_unreadable(rec))
        return fre_fail(err, FRE_E_DATA,
                        "%.400s: line %" PRIu64
                        ": \"%.80s\" is null: a release made with --inverter none has no "
                        "texts; make them from its centroids.npy with fre-e2t invert",
                        j->path, rec->line, cli_text(j->c, "text-field"));
    if (!rec->json)
        return fre_fail(err, FRE_E_DATA,
                        "%.400s: line %" PRIu64
                        ": a string, which has no place for paraphrases; write each text as an "
                        "object on a line of its own: {\"%.40s\": \"...\"}",
                        j->path, rec->line, cli_text(j->c, "text-field"));
    return FRE_OK;
}

/* The object on one line: line breaks stand between its parts only. */
static fre_status keep_line(job *j, const fre_record *rec, fre_err *err)
{
    line *l = &j->line[j->read++ % FRE_PARAPHRASE_BATCH];

    l->json = strndup(rec->json, rec->json_len);
    if (!l->json)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a text");
    l->len = rec->json_len;
    for (size_t i = 0; i < l->len; i++)
        if (l->json[i] == '\n' || l->json[i] == '\r')
            l->json[i] = ' ';
    return FRE_OK;
}

static fre_status read_centroid(job *j, fre_paraphrase_source *source, size_t i, double noise_norm,
                                fre_err *err)
{
    fre_status st;

    if (!j->centroids)
        return FRE_OK;
    if (i >= fre_npy_rows(j->centroids))
        return fre_fail(err, FRE_E_DATA, "there are more texts than rows (%zu) in %.300s",
                        fre_npy_rows(j->centroids), j->centroid_path);
    st = fre_npy_row(j->centroids, j->row, i, err);
    if (st != FRE_OK)
        return st;
    source->centroid = j->row;
    source->noise_std = noise_norm / sqrt((double)fre_npy_dim(j->centroids));
    return FRE_OK;
}

static fre_status add_line(job *j, const fre_record *rec, fre_err *err)
{
    fre_paraphrase_source source = {.text = rec->text ? rec->text : "",
                                    .len = rec->text ? rec->text_len : 0};
    double noise_norm = 0;
    fre_status st = check_line(j, rec, err);

    if (st != FRE_OK)
        return st;
    st = read_noise(j, &noise_norm, rec, err);
    if (st != FRE_OK)
        return st;
    st = read_centroid(j, &source, j->read, noise_norm, err);
    if (st != FRE_OK)
        return st;
    st = keep_line(j, rec, err);
    return st == FRE_OK ? fre_paraphrase_stream_add(j->stream, &source, err) : st;
}

/* A fre_paraphrases_fn: results reach the file as they are made. */
static fre_status write_line(void *ctx, const fre_paraphrases *p, fre_err *err)
{
    job *j = ctx;
    line *l = &j->line[j->written++ % FRE_PARAPHRASE_BATCH];
    FILE *f = fre_outfile_stream(j->out);
    json_t *list = json_array();
    char *value = NULL;
    fre_buf b;
    fre_status st = FRE_E_NOMEM;
    int bad = 0;

    fre_buf_init(&b, 2 * LINE_MAX_BYTES);
    for (size_t i = 0; list && i < p->n; i++)
        bad |= json_array_append_new(list, json_string(p->text[i]));
    if (list && !bad)
        value = json_dumps(list, JSON_COMPACT);
    if (value)
        st = cli_json_line_set(&b, l->json, l->len, "paraphrases", value);
    if (st != FRE_OK)
        st = fre_fail(err, st, "a line cannot be written: %s", fre_status_text(st));
    else
        cli_print_line(f, (const char *)b.p, b.n);
    if (st == FRE_OK && ferror(f))
        st = fre_fail(err, FRE_E_IO, "cannot write %s: %s", cli_text(j->c, "output"),
                      strerror(errno));
    json_decref(list);
    free(value);
    fre_buf_wipe(&b);
    free(l->json);
    l->json = NULL;
    return st;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static fre_status prepare(job *j, fre_err *err)
{
    const cli *c = j->c;
    const fre_embedder_opts embedder = {.path = cli_text(c, "embedder"), .threads = c->threads};
    fre_paraphraser_opts o = cli_paraphrase_opts(c);
    fre_status st;

    if (c->json && strcmp(cli_text(c, "output"), "-") == 0)
        return fre_fail(err, FRE_E_USAGE, "--json and --output - cannot share standard output");
    st = find_input(j, err);
    if (st != FRE_OK)
        return st;
    st = open_texts(j, err);
    if (st != FRE_OK)
        return st;
    st = cli_refuse_inputs(c, j->path, "output", err);
    if (st != FRE_OK)
        return st;
    if (j->centroid_path)
        st = cli_refuse_inputs(c, j->centroid_path, "output", err);
    if (st != FRE_OK)
        return st;
    st = fre_outfile_open(&j->out, cli_text(c, "output"), cli_flag(c, "force"), err);
    if (st != FRE_OK)
        return st;
    st = fre_embedder_new(&j->embedder, &embedder, err);
    if (st != FRE_OK)
        return st;
    st = open_centroids(j, err);
    if (st != FRE_OK)
        return st;
    st = open_writers(j, err);
    if (st != FRE_OK)
        return st;
    o.seed = cli_whole(c, "seed");
    o.embedder = j->embedder;
    o.lm = j->lm;
    o.inverter = j->inverter;
    st = fre_paraphraser_new(&j->paraphraser, &o, err);
    return st == FRE_OK ? fre_paraphrase_stream_new(&j->stream, j->paraphraser, write_line, j,
                                                    &c->progress, err)
                        : st;
}

static void expect(job *j)
{
    fre_corpus_stats stats;

    fre_corpus_get_stats(j->corpus, &stats);
    fre_paraphrase_stream_expect(j->stream, fre_corpus_expected(&stats));
}

static fre_status vary_all(job *j, fre_err *err)
{
    fre_record rec;
    fre_status st;
    bool more;

    while ((st = fre_corpus_next(j->corpus, &more, &rec, err)) == FRE_OK && more) {
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        expect(j);
        st = add_line(j, &rec, err);
        if (st != FRE_OK)
            return st;
    }
    if (st != FRE_OK)
        return st;
    expect(j);
    st = fre_paraphrase_stream_flush(j->stream, err);
    if (st == FRE_OK && j->centroids && j->read < fre_npy_rows(j->centroids))
        return fre_fail(err, FRE_E_DATA, "%.300s has %zu rows, but there are %zu texts",
                        j->centroid_path, fre_npy_rows(j->centroids), j->read);
    return st;
}

static fre_status report(const job *j, fre_err *err)
{
    fre_paraphrase_summary s;

    fre_paraphrase_stream_summary(j->stream, &s);
    cli_progress_end();
    cli_print_corpus(j->c, j->corpus);
    if (s.too_long > 0)
        cli_warn(j->c, "%" PRIu64 " texts are longer than %u bytes and have no paraphrases",
                 s.too_long, FRE_PARAPHRASE_TEXT_MAX);
    if (j->c->json)
        return cli_json_print(
            json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I}", "output",
                      cli_text(j->c, "output"), "language_model",
                      j->lm ? fre_lm_info(j->lm)->name : NULL, "texts", (json_int_t)s.texts,
                      "paraphrases", (json_int_t)s.paraphrases, "texts_without",
                      (json_int_t)s.without, "candidates", (json_int_t)s.drawn, "distinct",
                      (json_int_t)s.distinct, "near", (json_int_t)s.near),
            err);
    if (!j->c->quiet)
        cli_fold(stderr, 4,
                 "%" PRIu64 " text%s, %" PRIu64 " paraphrase%s; texts without any: %" PRIu64 "\n"
                 "%" PRIu64 " candidate%s, %" PRIu64 " different, %" PRIu64 " near enough",
                 s.texts, cli_plural(s.texts), s.paraphrases, cli_plural(s.paraphrases), s.without,
                 s.drawn, cli_plural(s.drawn), s.distinct, s.near);
    return FRE_OK;
}

static void wipe(job *j)
{
    for (size_t i = 0; i < FRE_PARAPHRASE_BATCH; i++)
        free(j->line[i].json);
    fre_paraphrase_stream_free(j->stream);
    fre_paraphraser_free(j->paraphraser);
    fre_inverter_free(j->inverter);
    fre_lm_free(j->lm);
    fre_embedder_free(j->embedder);
    fre_npy_free(j->centroids);
    fre_outfile_free(j->out);
    fre_corpus_free(j->corpus);
    free(j->row);
    free(j->path);
    free(j->centroid_path);
}

static fre_status run(cli *c, fre_err *err)
{
    job j = {.c = c};
    fre_status st;

    (void)umask(077); /* as private as the texts that come in */
    st = prepare(&j, err);
    if (st != FRE_OK)
        goto out;
    st = vary_all(&j, err);
    if (st != FRE_OK)
        goto out;
    st = fre_outfile_commit(j.out, err);
    if (st == FRE_OK)
        st = report(&j, err);
out:
    wipe(&j);
    return st;
}

const cli_command cli_cmd_paraphrase = {
    .name = "paraphrase",
    .summary = "add texts that say the same in other words",
    .about =
        "Writes INPUT's lines again, each with a list of paraphrases of its text: sampled from a "
        "language model or from the inverter, without repetitions, and near the text and its "
        "centroid. This comes after a release and costs no privacy. A line that cannot be used "
        "ends "
        "the run, since none may be lost; --invalid skip leaves such lines out.",
    .example = CLI_PROGRAM " paraphrase release -o varied.jsonl --paraphrases 10",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
