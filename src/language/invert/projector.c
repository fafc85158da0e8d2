/* Projector: x = [e sqrt(d), (ln(max(std, 5e-4)) + 5) / 2],
 * y = W2 silu(W1 x + b1) + b2 + W0 x; y is `rows` rows of `width` floats (model card of the
 * default inverter). */
#include "invert_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define NOISE_FLOOR 5e-4 /* the smallest noise level that was told apart in training */
#define ROWS_MAX 64u
#define WIDTH_MAX 8192u

static fre_status read_shape(inv_projector *p, fre_err *err)
{
    fre_status st = fre_tensors_u32(p->tensors, &p->dim,
                                    INV_PROJECTOR_ARCHITECTURE ".input_embedding_length", err);

    if (st == FRE_OK)
        st =
            fre_tensors_u32(p->tensors, &p->rows, INV_PROJECTOR_ARCHITECTURE ".prefix_length", err);
    if (st == FRE_OK)
        st = fre_tensors_u32(p->tensors, &p->width, INV_PROJECTOR_ARCHITECTURE ".embedding_length",
                             err);
    if (st == FRE_OK)
        st = fre_tensors_u32(p->tensors, &p->hidden, INV_PROJECTOR_ARCHITECTURE ".hidden_length",
                             err);
    if (st != FRE_OK)
        return st;
    if (p->dim == 0 || p->dim > WIDTH_MAX || p->width == 0 || p->width > WIDTH_MAX ||
        p->hidden == 0 || p->hidden > WIDTH_MAX || p->rows == 0 || p->rows > ROWS_MAX)
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter's projector states impossible sizes; download it again");
    return FRE_OK;
}

fre_status inv_projector_open(inv_projector *p, const char *path, fre_err *err)
{
    inv_projector q = {0};
    size_t out_len;
    fre_status st = fre_tensors_open(&q.tensors, path, INV_PROJECTOR_ARCHITECTURE, err);

    if (st == FRE_OK)
        st = read_shape(&q, err);
    if (st != FRE_OK)
        goto out;
    out_len = (size_t)q.rows * q.width;
    st = fre_tensors_get(q.tensors, &q.w0, "w0.weight", out_len, q.dim + 1u, err);
    if (st == FRE_OK)
        st = fre_tensors_get(q.tensors, &q.w1, "w1.weight", q.hidden, q.dim + 1u, err);
    if (st == FRE_OK)
        st = fre_tensors_get(q.tensors, &q.b1, "w1.bias", 1, q.hidden, err);
    if (st == FRE_OK)
        st = fre_tensors_get(q.tensors, &q.w2, "w2.weight", out_len, q.hidden, err);
    if (st == FRE_OK)
        st = fre_tensors_get(q.tensors, &q.b2, "w2.bias", 1, out_len, err);
    if (st != FRE_OK)
        goto out;
    *p = q;
    q.tensors = NULL;
out:
    fre_tensors_free(q.tensors);
    return st;
}

void inv_projector_wipe(inv_projector *p)
{
    fre_tensors_free(p->tensors);
    memset(p, 0, sizeof *p);
}

fre_status inv_projector_run(const inv_projector *p, float *out, const float *mu, double noise_std)
{
    const size_t in_len = p->dim + 1u, out_len = (size_t)p->rows * p->width;
    const float scale = sqrtf((float)p->dim);
    float *x = malloc((in_len + p->hidden) * sizeof *x);
    float *h = x ? x + in_len : NULL;

    if (!x)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < p->dim; i++)
        x[i] = mu[i] * scale;
    x[p->dim] = (float)((log(fmax(noise_std, NOISE_FLOOR)) + 5.0) / 2.0);
    for (size_t i = 0; i < p->hidden; i++) {
        double a = fre_dot(p->w1 + i * in_len, x, in_len) + (double)p->b1[i];

        h[i] = (float)(a / (1.0 + exp(-a))); /* silu */
    }
    for (size_t i = 0; i < out_len; i++)
        out[i] = (float)(fre_dot(p->w2 + i * p->hidden, h, p->hidden) +
                         fre_dot(p->w0 + i * in_len, x, in_len) + (double)p->b2[i]);
    free(x);
    return FRE_OK;
}
