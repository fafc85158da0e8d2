/* cmd_model_bridge.c - the way from one embedder's embeddings to another's, over public text. */
#include "public_text.h"

#include <fre/bridge.h>
#include <fre/embed.h>
#include <fre/linalg.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {
    {.name = "INPUT", .help = "public " CLI_TEXT_FILES},
};

static const cli_arg args[] = {
    CLI_HEADING("Output"),
    CLI_STATISTICS_OUTPUT("bridge"),
    CLI_HEADING("Input"),
    CLI_CORPUS_ARGS,
    CLI_HEADING("Models"),
    CLI_FILE("embedder", "FILE", .required = true, .help = "GGUF file: where the bridge begins"),
    CLI_FILE("to", "FILE",
             .help = "GGUF file of the embedder that the inverter was made for (default: the "
                     "bundled all-MiniLM-L6-v2)"),
};

/* Share of the variance left, up to which it helps: it did at .48, and search alone was nearer at .74
 * (decision 0010). */
#define CARRIES 0.65

typedef struct job {
    cli *c;
    const char *source; /* borrowed */
    fre_embedder *from, *to;
    fre_prior_sums *sums;
    fre_overlap_set *marks; /* of what it is made of */
    fre_prior_card card;
    fre_bridge *bridge;
    fre_outfile *out;
    float *x, *y, *both; /* of a chunk */
    uint32_t from_dim, to_dim;
} job;

static fre_status add_texts(void *ctx, const char *const *text, const size_t *len, size_t n,
                            fre_err *err)
{
    job *j = ctx;
    const size_t a = j->from_dim, b = j->to_dim;
    size_t kept = 0; /* pairs; a text that one of them knows nothing of makes none */
    fre_status st = fre_embed_texts(j->from, j->x, text, len, n, err);

    if (st == FRE_OK)
        st = fre_embed_texts(j->to, j->y, text, len, n, err);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < n; i++) {
        if (fre_is_zero_row(j->x + i * a, a) || fre_is_zero_row(j->y + i * b, b))
            continue;
        memcpy(j->both + kept * (a + b), j->x + i * a, a * sizeof *j->x);
        memcpy(j->both + kept * (a + b) + a, j->y + i * b, b * sizeof *j->y);
        kept++;
    }
    st = fre_prior_sums_add(j->sums, j->both, kept);
    return st == FRE_OK ? st : fre_fail(err, st, "the sums of the embeddings cannot be made");
}

static fre_status open_embedder(fre_embedder **out, uint32_t *dim, const cli *c, const char *arg,
                                fre_err *err)
{
    const fre_embedder_opts opts = {.path = cli_text(c, arg), .threads = c->threads};
    fre_status st = fre_embedder_new(out, &opts, err);

    if (st == FRE_OK)
        *dim = fre_embedder_info(*out)->dim;
    return st;
}

static fre_status prepare(job *j, fre_err *err)
{
    size_t rows;
    fre_status st;

    st = cli_open_statistics(j->c, &j->out, &j->source, err);
    if (st == FRE_OK)
        st = open_embedder(&j->from, &j->from_dim, j->c, "embedder", err);
    if (st == FRE_OK)
        st = open_embedder(&j->to, &j->to_dim, j->c, "to", err);
    if (st != FRE_OK)
        return st;
    if (memcmp(fre_embedder_info(j->from)->sha256, fre_embedder_info(j->to)->sha256,
               FRE_HASH_BYTES) == 0)
        return fre_fail(
            err, FRE_E_USAGE,
            "--embedder is the embedder that the bridge would lead to: an inverter made "
            "for it needs none");
    rows = (size_t)CLI_CHUNK_TEXTS * ((size_t)j->from_dim + j->to_dim);
    j->both = malloc(2 * rows * sizeof *j->both);
    j->x = j->both ? j->both + rows : NULL;
    j->y = j->both ? j->x + (size_t)CLI_CHUNK_TEXTS * j->from_dim : NULL;
    if (!j->both ||
        fre_prior_sums_new(&j->sums, j->from_dim + j->to_dim, j->c->threads) != FRE_OK ||
        fre_overlap_set_new(&j->marks) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the sums");
    return FRE_OK;
}

static fre_status report(const job *j, fre_err *err)
{
    const fre_bridge_info *i = fre_bridge_info_view(j->bridge);

    cli_progress_end();
    if (j->c->json)
        return cli_json_print(json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:f, s:f}", "output",
                                        cli_text(j->c, "output"), "rows", (json_int_t)i->rows,
                                        "dimension", (json_int_t)i->from.dim, "to_dimension",
                                        (json_int_t)i->to.dim, "embedder", i->from.embedder,
                                        "to_embedder", i->to.embedder, "source", i->source,
                                        "variance", i->variance, "variance_left", i->left),
                              err);
    if (!j->c->quiet)
        cli_fold(stderr, 4,
                 "%" PRIu32 " texts; %" PRIu32 " to %" PRIu32
                 " dimensions: a text's embedding beyond is known to %.2f, its distance from the "
                 "mean being %.2f",
                 i->rows, i->from.dim, i->to.dim, sqrt(i->left), sqrt(i->variance));
    if (i->left > CARRIES * i->variance)
        cli_warn(j->c, "that is little: the two embedders see different things in these texts, and "
                       "--inverter search may find nearer ones than the inverter does");
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
    st = cli_read_chunks(c, in, j->marks, add_texts, j, err);
    if (st != FRE_OK)
        goto out;
    st = fre_bridge_make(&j->bridge, j->sums, fre_embedder_info(j->from), fre_embedder_info(j->to),
                         j->source, err);
    if (st != FRE_OK)
        goto out;
    st = cli_card(&j->card, c, j->marks, false, err);
    if (st != FRE_OK)
        goto out;
    st = fre_bridge_set_card(j->bridge, &j->card);
    if (st != FRE_OK)
        goto out;
    st = fre_bridge_write(j->bridge, fre_outfile_stream(j->out), err);
    if (st != FRE_OK)
        goto out;
    st = fre_outfile_commit(j->out, err);
    if (st != FRE_OK)
        goto out;
    st = report(j, err);
out:
    fre_prior_card_wipe(&j->card);
    fre_overlap_set_free(j->marks);
    fre_bridge_free(j->bridge);
    fre_prior_sums_free(j->sums);
    fre_embedder_free(j->from);
    fre_embedder_free(j->to);
    fre_outfile_free(j->out);
    free(j->both);
    return st;
}

const cli_command cli_cmd_model_bridge = {
    .name = "model bridge",
    .summary = "let the inverter serve an embedder that it was not made for",
    .about = "Embeds public texts with two embedders and writes how the embeddings of one follow "
             "from those of the other. Over such a bridge 'synthesize', 'invert' and 'paraphrase' "
             "use the trained inverter with any embedder; it needs four texts for each dimension "
             "of both, and is better with more, and with texts like those of your users. Public "
             "means public: the file is used and passed on without any protection, so no private "
             "text may go into it. It keeps which texts it was made of, as hashes.",
    .example = CLI_PROGRAM " model bridge public.jsonl.gz --source \"public requests, CC0\" \\\n"
                           "    --embedder my-embedder.q8_0.gguf -o my-embedder.bridge.gguf",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
