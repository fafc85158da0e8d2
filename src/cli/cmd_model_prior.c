/* cmd_model_prior.c - mean and covariance of the embeddings of public text. */
#include "public_text.h"

#include <fre/embed.h>
#include <fre/linalg.h>
#include <fre/prior.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {
    {.name = "INPUT",
     .help = "public " CLI_TEXT_FILES "; or "
             "their embeddings in a .npy file with its sidecar"},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"), CLI_STATISTICS_OUTPUT("prior"), CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,       CLI_HEADING("Model"),           CLI_EMBEDDER,
};

typedef struct job {
    cli *c;
    const char *source; /* borrowed */
    fre_embedder *embedder;
    fre_prior_sums *sums;
    fre_overlap_set *marks; /* of what it is made of */
    fre_prior_card card;
    fre_prior *prior;
    fre_outfile *out;
    float *rows;
    uint32_t dim;
    bool is_npy;
} job;

/* Rows of zeros, of texts without a token that the embedder knows, are left out. */
static fre_status add_rows(const job *j, float *rows, size_t n, fre_err *err)
{
    size_t kept = 0;
    fre_status st;

    for (size_t i = 0; i < n; i++)
        if (!fre_is_zero_row(rows + i * j->dim, j->dim)) {
            memmove(rows + kept * j->dim, rows + i * j->dim, j->dim * sizeof *rows);
            kept++;
        }
    st = fre_prior_sums_add(j->sums, rows, kept);

    for (size_t i = 0; st == FRE_OK && i < n && j->is_npy; i++)
        st = fre_overlap_add_row(j->marks, rows + i * j->dim, j->dim);
    return st == FRE_OK ? st : fre_fail(err, st, "the sums of the embeddings cannot be made");
}

static fre_status add_texts(void *ctx, const char *const *text, const size_t *len, size_t n,
                            fre_err *err)
{
    job *j = ctx;
    fre_status st = fre_embed_texts(j->embedder, j->rows, text, len, n, err);

    return st == FRE_OK ? add_rows(j, j->rows, n, err) : st;
}

static fre_status add_embeddings(void *ctx, float *rows, size_t n, fre_err *err)
{
    return add_rows(ctx, rows, n, err);
}

/* ---- the run ---------------------------------------------------------------------------------- */

static fre_status prepare(job *j, fre_err *err)
{
    fre_embedder_opts opts = {.path = cli_text(j->c, "embedder"), .threads = j->c->threads};
    fre_status st = FRE_OK;

    st = cli_open_statistics(j->c, &j->out, &j->source, err);
    if (st == FRE_OK)
        st = fre_embedder_new(&j->embedder, &opts, err);
    if (st != FRE_OK)
        return st;
    j->dim = fre_embedder_info(j->embedder)->dim;
    j->rows = malloc((size_t)CLI_CHUNK_TEXTS * j->dim * sizeof *j->rows);
    if (!j->rows || fre_prior_sums_new(&j->sums, j->dim, j->c->threads) != FRE_OK ||
        fre_overlap_set_new(&j->marks) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the sums");
    return FRE_OK;
}

static fre_status report(const job *j, fre_err *err)
{
    const fre_prior_info *info = fre_prior_info_view(j->prior);
    const float *mean = fre_prior_mean(j->prior), *value = fre_prior_eigenvalues(j->prior);
    double norm2 = 0, spread = 0;

    for (uint32_t i = 0; i < j->dim; i++) {
        norm2 += (double)mean[i] * (double)mean[i];
        spread += (double)value[i];
    }
    cli_progress_end();
    if (j->c->json)
        return cli_json_print(json_pack("{s:s, s:I, s:I, s:s, s:s, s:f, s:f, s:f, s:f}", "output",
                                        cli_text(j->c, "output"), "rows", (json_int_t)info->rows,
                                        "dimension", (json_int_t)j->dim, "embedder", info->embedder,
                                        "source", info->source, "mean_norm_squared", norm2,
                                        "variance", spread, "largest_eigenvalue", (double)value[0],
                                        "smallest_eigenvalue", (double)value[j->dim - 1]),
                              err);
    if (!j->c->quiet)
        cli_fold(stderr, 4,
                 "%" PRIu32 " embeddings of dimension %" PRIu32
                 "; squared norm of the mean %.3f, variance %.3f, eigenvalues %.3g to %.3g",
                 info->rows, j->dim, norm2, spread, (double)value[0], (double)value[j->dim - 1]);
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    job made = {.c = c}, *j = &made;
    fre_input *in = NULL;
    fre_status st = prepare(j, err);

    if (st != FRE_OK)
        goto out;
    st = cli_open_public(&in, &j->card, c, err);
    if (st != FRE_OK)
        goto out;
    j->is_npy = fre_input_is_npy(in, NULL);
    st = j->is_npy ? cli_read_rows(c, in, j->embedder, add_embeddings, j, err)
                   : cli_read_chunks(c, in, j->marks, add_texts, j, err);
    if (st != FRE_OK)
        goto out;
    st = fre_prior_make(&j->prior, j->sums, fre_embedder_info(j->embedder), j->source, err);
    if (st != FRE_OK)
        goto out;
    st = cli_card(&j->card, c, j->marks, j->is_npy, err);
    if (st != FRE_OK)
        goto out;
    st = fre_prior_set_card(j->prior, &j->card);
    if (st != FRE_OK)
        goto out;
    st = fre_prior_write(j->prior, fre_outfile_stream(j->out), err);
    if (st != FRE_OK)
        goto out;
    st = fre_outfile_commit(j->out, err);
    if (st != FRE_OK)
        goto out;
    st = report(j, err);
out:
    fre_prior_card_wipe(&j->card);
    fre_overlap_set_free(j->marks);
    fre_prior_free(j->prior);
    fre_prior_sums_free(j->sums);
    fre_embedder_free(j->embedder);
    fre_outfile_free(j->out);
    free(j->rows);
    return st;
}

const cli_command cli_cmd_model_prior = {
    .name = "model prior",
    .summary = "make the statistics of public text that denoise embeddings",
    .about = "Embeds public texts and writes the mean and covariance of their embeddings. With "
             "them 'synthesize' and 'invert' tell noise from what texts look like. Public means "
             "public: the file is used and passed on without any protection, so no private text "
             "may go into it. It keeps which texts it was made of, as hashes, and 'synthesize' "
             "refuses one that was made of its input.",
    .example = CLI_PROGRAM " model prior public.jsonl.gz --source \"public requests, CC0\" \\\n"
                           "    -o my-embedder.prior.gguf --embedder my-embedder.q8_0.gguf",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
