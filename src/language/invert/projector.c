/* Projector: embedding and noise level to the rows that a decoder reads before its text.
 *
 * x = [e sqrt(d), (ln(max(std, 5e-4)) + 5) / 2], rows = W2 silu(W1 x + b1) + b2 + W0 x, where e is the
 * embedding as it was seen, or its mean given what was seen (key `input`).  A corrector has the same
 * form over [h sqrt(d), (e - h) sqrt(d), noise level], h the embedding of a hypothesis (model card of
 * the default inverter). */
#include "projector.h"

#include <fre/embed.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>
#include <fre/prior.h>

#define NOISE_FLOOR 5e-4 /* the smallest noise level that was told apart in training */
#define ROWS_MAX 64u
#define WIDTH_MAX 8192u
#define KEY(name) INV_PROJECTOR_ARCHITECTURE "." name

static bool fits(uint32_t n, uint32_t most)
{
    return n > 0 && n <= most;
}

static bool has_corrector(const fre_tensors *t)
{
    uint32_t rows = 0;

    return fre_tensors_u32(t, &rows, KEY("corrector_prefix_length"), NULL) == FRE_OK;
}

static fre_status read_shape(inv_projector *p, fre_err *err)
{
    const fre_tensors *t = p->tensors;
    fre_status st = fre_tensors_u32(t, &p->dim, KEY("input_embedding_length"), err);

    if (st != FRE_OK)
        return st;
    st = fre_tensors_u32(t, &p->rows, KEY("prefix_length"), err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_u32(t, &p->width, KEY("embedding_length"), err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_u32(t, &p->first.hidden, KEY("hidden_length"), err);
    if (st == FRE_OK && has_corrector(t)) {
        st = fre_tensors_u32(t, &p->corrector_rows, KEY("corrector_prefix_length"), err);
        if (st == FRE_OK)
            st = fre_tensors_u32(t, &p->corrector.hidden, KEY("corrector_hidden_length"), err);
        if (st == FRE_OK &&
            (!fits(p->corrector_rows, ROWS_MAX) || !fits(p->corrector.hidden, WIDTH_MAX)))
            st = fre_fail(err, FRE_E_MODEL,
                          "the inverter's projector states impossible sizes of its corrector; "
                          "download it again");
    }
    if (st != FRE_OK)
        return st;
    if (!fits(p->dim, WIDTH_MAX) || !fits(p->width, WIDTH_MAX) ||
        !fits(p->first.hidden, WIDTH_MAX) || !fits(p->rows, ROWS_MAX))
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter's projector states impossible sizes; download it again");
    return FRE_OK;
}

static fre_status read_input(inv_projector *p, const char *path, fre_err *err)
{
    const char *input = fre_tensors_text(p->tensors, KEY("input"));

    p->posterior_mean = strcmp(input, "posterior-mean") == 0;
    if (p->posterior_mean || input[0] == '\0' || strcmp(input, "raw") == 0)
        return FRE_OK;
    return fre_fail(err, FRE_E_MODEL,
                    "%s wants input \"%.40s\", which this version does not know; use a newer "
                    "version or another inverter",
                    path, input);
}

/* Tensors w0.weight, w1.weight, w1.bias, w2.weight, w2.bias (letter w). */
static fre_status read_net(inv_net *net, const fre_tensors *t, char letter, uint32_t in,
                           uint32_t out, fre_err *err)
{
    static const char *const part[] = {"0.weight", "1.weight", "1.bias", "2.weight", "2.bias"};
    const float **to[] = {&net->w0, &net->w1, &net->b1, &net->w2, &net->b2};
    const size_t rows[] = {out, net->hidden, 1, out, 1};
    const size_t cols[] = {in, in, net->hidden, net->hidden, out};
    fre_status st = FRE_OK;

    net->in = in;
    net->out = out;
    for (size_t i = 0; i < sizeof part / sizeof *part && st == FRE_OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%c%s", letter, part[i]);
        st = fre_tensors_get(t, to[i], name, rows[i], cols[i], err);
    }
    return st;
}

fre_status inv_projector_open(inv_projector *p, const char *path, fre_err *err)
{
    inv_projector q = {0};
    fre_status st = fre_tensors_open(&q.tensors, path, INV_PROJECTOR_ARCHITECTURE, err);

    if (st != FRE_OK)
        goto out;
    st = read_shape(&q, err);
    if (st != FRE_OK)
        goto out;
    st = read_input(&q, path, err);
    if (st != FRE_OK)
        goto out;
    st = read_net(&q.first, q.tensors, 'w', q.dim + 1, q.rows * q.width, err);
    if (st == FRE_OK && q.corrector_rows > 0)
        st = read_net(&q.corrector, q.tensors, 'c', 2 * q.dim + 1, q.corrector_rows * q.width, err);
    if (st != FRE_OK)
        goto out;
    *p = q;
    q.tensors = NULL; /* handed over */
out:
    fre_tensors_free(q.tensors);
    return st;
}

void inv_projector_wipe(inv_projector *p)
{
    fre_tensors_free(p->tensors);
    memset(p, 0, sizeof *p);
}

static fre_status check_decoder(const inv_projector *p, const fre_model_info *decoder, fre_err *err)
{
    const char *want = fre_tensors_text(p->tensors, KEY("decoder_sha256"));
    char is[2 * FRE_HASH_BYTES + 1];

    if (p->width != decoder->dim)
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter's projector makes rows of %u numbers and its decoder reads "
                        "rows of %u; put the projector that belongs to the decoder beside it",
                        p->width, decoder->dim);
    fre_hex(is, decoder->sha256, FRE_HASH_BYTES);
    if (want[0] != '\0' && strcmp(want, is) != 0)
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter's projector was made for another decoder (SHA-256 %.12s..., "
                        "not %.12s...); put the projector that belongs to the decoder beside it",
                        want, is);
    return FRE_OK;
}

static fre_status check_prior(const inv_projector *p, const fre_prior *prior, fre_err *err)
{
    const char *want = fre_tensors_text(p->tensors, KEY("prior_sha256"));
    char is[2 * FRE_HASH_BYTES + 1];

    if (!p->posterior_mean)
        return FRE_OK;
    if (!prior)
        return fre_fail(err, FRE_E_MODEL,
                        "this inverter reads embeddings denoised by the prior it was trained with, "
                        "and none was found or given; name it with {prior} FILE");
    fre_hex(is, fre_prior_info_view(prior)->sha256, FRE_HASH_BYTES);
    if (want[0] != '\0' && strcmp(want, is) != 0)
        return fre_fail(err, FRE_E_MODEL,
                        "this inverter was trained with another prior (SHA-256 %.12s..., not "
                        "%.12s...); name that one with {prior} FILE",
                        want, is);
    return FRE_OK;
}

fre_status inv_projector_fit(inv_projector *p, uint32_t embedder_dim, const fre_model_info *decoder,
                             const fre_prior *prior, fre_err *err)
{
    fre_status st;

    if (p->dim != embedder_dim)
        return fre_fail(
            err, FRE_E_MODEL,
            "the inverter was made for embeddings of %u dimensions and the embedder "
            "gives %u; use the embedder it was made for (default: %s), a bridge between them "
            "(model bridge), {inverter} search or {inverter} none",
            p->dim, embedder_dim, FRE_EMBEDDER_DEFAULT);
    st = check_decoder(p, decoder, err);
    if (st == FRE_OK)
        st = check_prior(p, prior, err);
    p->prior = prior;
    return st;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* out = W2 silu(W1 x + b1) + b2 + W0 x; h: room for the hidden numbers. */
static void run_net(const inv_net *n, float *out, const float *x, float *h)
{
    for (size_t i = 0; i < n->hidden; i++) {
        double a = fre_dot(n->w1 + i * n->in, x, n->in) + (double)n->b1[i];

        h[i] = (float)(a / (1.0 + exp(-a))); /* silu */
    }
    for (size_t i = 0; i < n->out; i++)
        out[i] = (float)(fre_dot(n->w2 + i * n->hidden, h, n->hidden) +
                         fre_dot(n->w0 + i * n->in, x, n->in) + (double)n->b2[i]);
}

static float noise_level(double noise_std)
{
    return (float)((log(fmax(noise_std, NOISE_FLOOR)) + 5.0) / 2.0);
}

/* What the networks read as the embedding. */
static fre_status target_of(const inv_projector *p, float *out, const float *mu, double noise_std)
{
    if (p->posterior_mean && p->prior)
        return fre_prior_posterior_mean(p->prior, out, mu, noise_std);
    memcpy(out, mu, p->dim * sizeof *out);
    return FRE_OK;
}

/* x: the embedding, with room for what else the network needs. */
static void run_first(const inv_projector *p, float *out, float *x, double noise_std)
{
    const float scale = sqrtf((float)p->dim);

    for (size_t i = 0; i < p->dim; i++)
        x[i] *= scale;
    x[p->dim] = noise_level(noise_std);
    run_net(&p->first, out, x, x + p->first.in);
}

static float *room_first(const inv_projector *p)
{
    return malloc(((size_t)p->first.in + p->first.hidden) * sizeof(float));
}

fre_status inv_projector_run(const inv_projector *p, float *out, const float *mu, double noise_std)
{
    float *x = room_first(p);
    fre_status st = x ? target_of(p, x, mu, noise_std) : FRE_E_NOMEM;

    if (st == FRE_OK)
        run_first(p, out, x, noise_std);
    free(x);
    return st;
}

fre_status inv_projector_run_known(const inv_projector *p, float *out, const float *known,
                                   double noise_std)
{
    float *x = room_first(p);

    if (!x)
        return FRE_E_NOMEM;
    memcpy(x, known, p->dim * sizeof *x);
    run_first(p, out, x, noise_std);
    free(x);
    return FRE_OK;
}

fre_status inv_corrector_run(const inv_projector *p, float *out, const float *mu, double noise_std,
                             const float *hypothesis)
{
    const float scale = sqrtf((float)p->dim);
    const size_t d = p->dim;
    float *x = malloc(((size_t)p->corrector.in + p->corrector.hidden) * sizeof *x);
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    st = target_of(p, x + d, mu, noise_std);
    for (size_t i = 0; i < d; i++) {
        x[d + i] = (x[d + i] - hypothesis[i]) * scale;
        x[i] = hypothesis[i] * scale;
    }
    x[2 * d] = noise_level(noise_std);
    if (st == FRE_OK)
        run_net(&p->corrector, out, x, x + p->corrector.in);
    free(x);
    return st;
}
