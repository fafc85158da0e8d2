/* cmd_model_codebook.c - public centres of embeddings, from fine to coarse. */
#include "codebook_output.h"
#include "kept_rows.h"
#include "public_text.h"

#include <fre/codebook.h>
#include <fre/embed.h>
#include <fre/linalg.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS "4096x64,4096x8,8192,4096,2048,1024,256"

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = "public " CLI_TEXT_FILES "; or "
             "their embeddings in a .npy file with its sidecar"},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_STATISTICS_OUTPUT("codebook"),
    {.name = "resume",
     .kind = CLI_FLAG,
     .help = "keep the embeddings of texts beside FILE until it is made, and go on from them"},
    CLI_HEADING("Codebook"),
    {.name = "levels",
     .metavar = "LIST",
     .kind = CLI_STRING,
     .preset = LEVELS,
     .help = "from fine to coarse, or from coarse to fine: how many centres, and with xM how many "
             "residual codes to each"},
    CLI_NUMBER("radius", "R", fre_codebook_param_radius,
               .help = "an embedding's offset from its centre is clipped to this length"),
    CLI_COUNT("rows", "N", fre_codebook_param_rows,
              .help = "of more texts, so many are drawn at random and kept in memory"),
    CLI_FILE("medoids", "FILE",
             .help =
                 "texts of which each cell keeps the one nearest to its centre, which are passed "
                 "on with the file; or none (default: INPUT's, if it holds texts)"),
    {.name = "seed",
     .metavar = "N",
     .kind = CLI_U64,
     .preset = "0",
     .help = "other numbers, other centres to begin with"},
    CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,
    CLI_HEADING("Model"),
    CLI_EMBEDDER,
};

/* A random sample in random order, of rows and where they are wanted of their texts. */
typedef struct sample {
    float *row;
    char **text; /* NULL: not wanted */
    size_t n, most;
    uint64_t seen;
    fre_rng rng;
} sample;

typedef struct job {
    cli *c;
    const char *source; /* borrowed */
    fre_embedder *embedder;
    cli_kept *kept;         /* NULL: not asked for */
    fre_overlap_set *marks; /* of what it is made of */
    fre_prior_card card;
    fre_codebook *codebook;
    fre_outfile *out;
    fre_codebook_size level[FRE_CODEBOOK_LEVELS_MAX];
    fre_codebook_make_opts opts;
    sample learn, medoids;
    sample *into;       /* of the file that is read */
    float *rows;        /* of a chunk of texts */
    const char *others; /* --medoids, a file; NULL: none, or the input */
    uint32_t dim;
    bool is_npy;
} job;

/* ---- the sample --------------------------------------------------------------------------------------- */

static fre_status sample_init(sample *s, const job *j, const char *label, bool texts)
{
    s->most = (size_t)cli_whole(j->c, "rows");
    s->row = malloc(s->most * j->dim * sizeof *s->row);
    s->text = texts ? calloc(s->most, sizeof *s->text) : NULL;
    if (!s->row || (texts && !s->text))
        return FRE_E_NOMEM;
    return fre_rng_init_seeded(&s->rng, j->opts.seed, label);
}

static void sample_wipe(sample *s)
{
    for (size_t i = 0; s->text && i < s->n; i++)
        free(s->text[i]);
    free(s->text);
    free(s->row);
    fre_rng_wipe(&s->rng);
}

/* Row at place i, with its text. */
static fre_status place(sample *s, size_t i, const float *row, const char *text, size_t len,
                        size_t dim)
{
    char *copy = NULL;

    if (s->text) {
        copy = malloc(len + 1);
        if (!copy)
            return FRE_E_NOMEM;
        memcpy(copy, text, len);
        copy[len] = '\0';
        free(s->text[i]);
        s->text[i] = copy;
    }
    memcpy(s->row + i * dim, row, dim * sizeof *row);
    return FRE_OK;
}

/* Vitter's reservoir (ACM TOMS 11, 1985), which while it fills is a shuffle. */
static fre_status sample_add(sample *s, const float *row, const char *text, size_t len, size_t dim)
{
    const size_t at = (size_t)fre_rng_below(&s->rng, ++s->seen);

    if (s->seen > s->most)
        return at < s->most ? place(s, at, row, text, len, dim) : FRE_OK;
    if (at < s->n) {
        memcpy(s->row + s->n * dim, s->row + at * dim, dim * sizeof *row);
        if (s->text) {
            s->text[s->n] = s->text[at];
            s->text[at] = NULL;
        }
    }
    s->n++;
    return place(s, at, row, text, len, dim);
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* Rows of zeros, of texts without a token that the embedder knows, are left out. */
static fre_status add_texts(void *ctx, const char *const *text, const size_t *len, size_t n,
                            fre_err *err)
{
    job *j = ctx;
    fre_status st = j->kept ? cli_kept_embed(j->kept, j->rows, text, len, n, err)
                            : fre_embed_texts(j->embedder, j->rows, text, len, n, err);

    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < n && st == FRE_OK; i++)
        if (!fre_is_zero_row(j->rows + i * j->dim, j->dim))
            st = sample_add(j->into, j->rows + i * j->dim, text[i], len[i], j->dim);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory for the texts");
}

static fre_status add_rows(void *ctx, float *rows, size_t n, fre_err *err)
{
    job *j = ctx;
    fre_status st = FRE_OK;

    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        const float *row = rows + i * j->dim;

        if (fre_is_zero_row(row, j->dim))
            continue;
        st = sample_add(j->into, row, NULL, 0, j->dim);
        if (st == FRE_OK)
            st = fre_overlap_add_row(j->marks, row, j->dim);
    }
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory for the embeddings");
}

static fre_status read_input(job *j, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = cli_open_public(&in, &j->card, j->c, err);
    bool own;

    if (st != FRE_OK)
        return st;
    j->is_npy = fre_input_is_npy(in, NULL);
    own = !j->is_npy && !cli_given(j->c, "medoids");
    st = sample_init(&j->learn, j, "texts", own);
    if (st != FRE_OK) {
        fre_input_free(in);
        return fre_fail(err, st, "out of memory for the texts; keep fewer by --rows");
    }
    j->into = &j->learn;
    return j->is_npy ? cli_read_rows(j->c, in, j->embedder, add_rows, j, err)
                     : cli_read_chunks(j->c, in, j->marks, add_texts, j, err);
}

/* The marks of texts mean nothing among those of rows. */
static fre_status read_medoids(job *j, fre_err *err)
{
    fre_overlap_set *rest = NULL;
    fre_input *in = NULL;
    fre_status st;

    if (!j->others)
        return FRE_OK;
    st = fre_input_open(&in, j->others, false, err);
    if (st != FRE_OK)
        return st;
    if (sample_init(&j->medoids, j, "medoids", true) != FRE_OK ||
        fre_overlap_set_new(&rest) != FRE_OK) {
        fre_input_free(in);
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the texts; keep fewer by --rows");
    }
    j->into = &j->medoids;
    st = cli_read_chunks(j->c, in, j->is_npy ? rest : j->marks, add_texts, j, err);
    fre_overlap_set_free(rest);
    return st;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* A whole number above 0 at *s, which moves on; 0: none. */
static uint32_t take_number(const char **s)
{
    uint64_t n = 0;

    for (; **s >= '0' && **s <= '9' && n <= UINT32_MAX; (*s)++)
        n = 10 * n + (uint64_t)(**s - '0');
    return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static uint64_t cells_of(const fre_codebook_size *s)
{
    return (uint64_t)s->centres * s->codes;
}

/* Fine to coarse, as the library wants them, of a list that begins with its coarsest. */
static void turn_round(fre_codebook_size *level, size_t n)
{
    for (size_t i = 0; cells_of(&level[0]) < cells_of(&level[n - 1]) && i < n / 2; i++) {
        const fre_codebook_size other = level[i];

        level[i] = level[n - 1 - i];
        level[n - 1 - i] = other;
    }
}

static fre_status parse_levels(job *j, fre_err *err)
{
    const char *s = cli_text(j->c, "levels");
    char echo[CLI_ECHO_BYTES];
    size_t n = 0;
    bool good = true;

    for (; good && n < FRE_CODEBOOK_LEVELS_MAX; n++) {
        fre_codebook_size *level = &j->level[n];

        level->centres = take_number(&s);
        level->codes = 1;
        if (*s == 'x') {
            s++;
            level->codes = take_number(&s);
            good = level->codes > 1;
        }
        good = good && level->centres > 0 && (*s == ',' || !*s);
        if (!good || !*s++)
            break;
    }
    if (!good || n == FRE_CODEBOOK_LEVELS_MAX)
        return fre_fail(err, FRE_E_USAGE,
                        "--levels must be given as up to %u levels such as %s, not %s",
                        FRE_CODEBOOK_LEVELS_MAX, LEVELS, cli_echo(echo, cli_text(j->c, "levels")));
    j->opts.level = j->level;
    j->opts.n_levels = n + 1;
    turn_round(j->level, j->opts.n_levels);
    return FRE_OK;
}

static fre_status prepare(job *j, fre_err *err)
{
    const uint64_t seed = cli_whole(j->c, "seed");
    const fre_embedder_opts opts = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_status st = parse_levels(j, err);

    if (st != FRE_OK)
        return st;
    memcpy(j->opts.seed, &seed, sizeof seed);
    j->opts.radius = cli_number(j->c, "radius");
    j->opts.rounds = FRE_CODEBOOK_ROUNDS;
    j->opts.threads = j->c->threads;
    j->opts.progress = &j->c->progress;
    if (cli_given(j->c, "medoids") && strcmp(cli_text(j->c, "medoids"), "none") != 0)
        j->others = cli_text(j->c, "medoids");
    st = cli_open_statistics(j->c, &j->out, &j->source, err);
    if (st == FRE_OK)
        st = fre_embedder_new(&j->embedder, &opts, err);
    if (st != FRE_OK)
        return st;
    j->dim = fre_embedder_info(j->embedder)->dim;
    j->rows = malloc((size_t)CLI_CHUNK_TEXTS * j->dim * sizeof *j->rows);
    if (!j->rows || fre_overlap_set_new(&j->marks) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a chunk of texts");
    return cli_flag(j->c, "resume")
               ? cli_kept_open(&j->kept, j->embedder, cli_text(j->c, "output"), err)
               : FRE_OK;
}

static fre_status make(job *j, fre_err *err)
{
    const sample *s = j->others ? &j->medoids : &j->learn;
    fre_status st = fre_codebook_make(&j->codebook, (fre_rows){j->learn.row, j->learn.n}, &j->opts,
                                      fre_embedder_info(j->embedder), j->source, err);

    if (st == FRE_OK && s->text)
        st = fre_codebook_set_medoids(j->codebook, (fre_rows){s->row, s->n},
                                      (const char *const *)s->text, j->c->threads, err);
    if (st != FRE_OK)
        return st;
    st = cli_card(&j->card, j->c, j->marks, j->is_npy, err);
    if (st != FRE_OK)
        return st;
    st = fre_codebook_set_card(j->codebook, &j->card);
    if (st != FRE_OK)
        return st;
    st = fre_codebook_write(j->codebook, fre_outfile_stream(j->out), err);
    return st == FRE_OK ? fre_outfile_commit(j->out, err) : st;
}

static fre_status report(const job *j, fre_err *err)
{
    const fre_codebook_info *info = fre_codebook_info_view(j->codebook);

    cli_progress_end();
    if (j->c->json)
        return cli_json_print(json_pack("{s:s, s:I, s:I, s:s, s:s, s:o}", "output",
                                        cli_text(j->c, "output"), "rows", (json_int_t)info->rows,
                                        "dimension", (json_int_t)j->dim, "embedder", info->embedder,
                                        "source", info->source, "levels",
                                        cli_codebook_levels_json(j->codebook)),
                              err);
    if (!j->c->quiet) {
        cli_fold(stderr, 4, "%" PRIu32 " embeddings of dimension %" PRIu32, info->rows, j->dim);
        cli_codebook_levels_print(stderr, j->codebook);
    }
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    job made = {.c = c}, *j = &made;
    fre_status st = prepare(j, err);

    if (st == FRE_OK)
        st = read_input(j, err);
    if (st == FRE_OK)
        st = read_medoids(j, err);
    if (st != FRE_OK)
        goto out;
    st = make(j, err);
    if (st != FRE_OK)
        goto out;
    st = report(j, err);
out:
    fre_prior_card_wipe(&j->card);
    fre_overlap_set_free(j->marks);
    fre_codebook_free(j->codebook);
    cli_kept_free(j->kept, st == FRE_OK);
    fre_embedder_free(j->embedder);
    fre_outfile_free(j->out);
    sample_wipe(&j->learn);
    sample_wipe(&j->medoids);
    free(j->rows);
    return st;
}

const cli_command cli_cmd_model_codebook = {
    .name = "model codebook",
    .summary = "make public cells that texts about the same thing share",
    .about =
        "Embeds public texts and writes centres of their embeddings, on several levels from fine "
        "to coarse: public cells by which texts that nobody repeats word for word are still "
        "counted together. Public means public: the file is used and passed on without any "
        "protection, so no private text may go into it. It keeps which texts it was made of, as "
        "hashes, and for each cell one of them, word for word, unless --medoids says otherwise.",
    .example = CLI_PROGRAM " model codebook public.jsonl.gz --source \"public requests, CC0\" \\\n"
                           "    -o my-embedder.codebook.gguf --embedder my-embedder.q8_0.gguf",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
