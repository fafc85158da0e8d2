/* The estimate. */
#include "bridge_private.h"

#include <math.h>
#include <stdlib.h>

#include <fre/linalg.h>

fre_bridge *bridge_new(uint32_t from_dim, uint32_t to_dim)
{
    const size_t a = from_dim, b = to_dim;
    fre_bridge *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->mean = malloc((a + a + a * a + b + a * b) * sizeof *g->mean);
    g->size2 = malloc(a * sizeof *g->size2);
    if (!g->mean || !g->size2) {
        fre_bridge_free(g);
        return NULL;
    }
    g->value = g->mean + a;
    g->vector = g->value + a;
    g->to_mean = g->vector + a * a;
    g->map = g->to_mean + b;
    g->info.from.dim = from_dim;
    g->info.to.dim = to_dim;
    return g;
}

void fre_bridge_free(fre_bridge *b)
{
    if (!b)
        return;
    fre_prior_card_wipe(&b->info.card);
    free(b->mean);
    free(b->size2);
    free(b);
}

const fre_bridge_info *fre_bridge_info_view(const fre_bridge *b)
{
    return &b->info;
}

double bridge_explained(const fre_bridge *b, double s2)
{
    double sum = 0;

    for (uint32_t k = 0; k < b->info.from.dim; k++)
        sum += b->size2[k] / ((double)b->value[k] + s2);
    return sum;
}

/* What is not explained, enlarged by what that leaves out: with n texts a regression on a numbers
 * seems better by 1 - a/n than it is, and is worse by 1 + a/n on other texts.  n >= 4 a. */
static double left_of(const fre_bridge *b, double s2)
{
    const double a = b->info.from.dim, n = b->info.rows;
    const double left = (b->info.variance - bridge_explained(b, s2)) * (n + a) / (n - a);

    return fmin(fmax(left, BRIDGE_LEFT_MIN * b->info.variance), b->info.variance);
}

void bridge_complete(fre_bridge *b)
{
    const size_t to = b->info.to.dim;

    b->info.spread = 0;
    for (uint32_t k = 0; k < b->info.from.dim; k++) {
        const double size = fre_norm(b->map + k * to, to);

        b->size2[k] = size * size;
        b->info.spread += (double)b->value[k];
    }
    b->info.left = left_of(b, 0);
}

fre_status fre_bridge_prior(const fre_bridge *b, fre_prior **out, fre_err *err)
{
    return fre_prior_new(out, b->info.from.dim, b->mean, b->value, b->vector, err);
}

fre_status fre_bridge_estimate(const fre_bridge *b, float *out, double *left, const float *mu,
                               double noise_std)
{
    const size_t from = b->info.from.dim, to = b->info.to.dim;
    const double s2 = noise_std * noise_std;
    float *away;
    double *sum;

    if (!(noise_std >= 0) || !isfinite(noise_std))
        return FRE_E_ARG;
    sum = calloc(to + from, sizeof *sum);
    if (!sum)
        return FRE_E_NOMEM;
    away = (float *)(void *)(sum + to);
    for (size_t i = 0; i < from; i++)
        away[i] = mu[i] - b->mean[i];
    for (size_t k = 0; k < from; k++) {
        const float *row = b->map + k * to;
        const double along = fre_dot(b->vector + k * from, away, from) / ((double)b->value[k] + s2);

        for (size_t i = 0; i < to; i++)
            sum[i] += along * (double)row[i];
    }
    for (size_t i = 0; i < to; i++)
        out[i] = (float)((double)b->to_mean[i] + sum[i]);
    if (left)
        *left = left_of(b, s2);
    free(sum);
    return FRE_OK;
}
