/* How embeddings of public text lie about the centres of their cells.
 *
 * The levels' covariances have nearly the same directions (docs/decisions/0020), so they share
 * eigenvectors, those of the mean over the levels, and each has its own variances along them. */
#include "codebook_private.h"

#include <math.h>
#include <stdlib.h>

#define SPREAD_MIN 1e-6f /* the least variance, as a share of the mean one */

typedef struct learner {
    const fre_codebook *c;
    fre_rows rows;
    const uint32_t *cell; /* rows.n x n_levels */
    uint32_t threads;
    float *offset; /* rows.n x dim, of the level at hand */
    double *mean, *cov, *direction, *spare;
    float *vector, *value;
} learner;

static void take_offsets(const learner *w, uint32_t level)
{
    const size_t d = w->c->info.dim, levels = w->c->info.n_levels;

    for (size_t i = 0; i < w->rows.n; i++) {
        float *offset = w->offset + i * d;

        fre_codebook_centre(w->c, level, w->cell[i * levels + level], offset);
        for (size_t k = 0; k < d; k++)
            offset[k] = w->rows.x[i * d + k] - offset[k];
    }
}

/* Second moments about the centres, over all levels: cov. */
static fre_status sum_up(const learner *w)
{
    const size_t d = w->c->info.dim;
    fre_prior_sums *s = NULL;
    double n;
    fre_status st = fre_prior_sums_new(&s, (uint32_t)d, w->threads);

    for (uint32_t l = 0; l < w->c->info.n_levels && st == FRE_OK; l++) {
        take_offsets(w, l);
        st = fre_prior_sums_add(s, w->offset, w->rows.n);
    }
    if (st == FRE_OK)
        st = fre_prior_sums_moments(s, w->mean, w->cov);
    n = st == FRE_OK ? (double)fre_prior_sums_rows(s) : 1;
    for (size_t i = 0; st == FRE_OK && i < d * d; i++)
        w->cov[i] = w->cov[i] * (n - 1) / n + w->mean[i / d] * w->mean[i % d];
    fre_prior_sums_free(s);
    return st;
}

/* Mean square of a level's offsets along each direction. */
static fre_status variances(const learner *w, uint32_t level)
{
    const size_t d = w->c->info.dim, n = w->rows.n;
    float *to = w->value + level * d, *along = malloc(n * d * sizeof *along);
    double all = 0;
    fre_status st = FRE_E_NOMEM;

    if (!along)
        return st;
    take_offsets(w, level);
    st = fre_products(along, w->offset, n, w->vector, d, d, w->threads);
    for (size_t k = 0; k < d && st == FRE_OK; k++) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += (double)along[i * d + k] * (double)along[i * d + k];
        to[k] = (float)(sum / (double)n);
        all += sum / (double)n / (double)d;
    }
    for (size_t k = 0; k < d && st == FRE_OK; k++)
        to[k] = fmaxf(to[k], fmaxf(SPREAD_MIN * (float)all, SPREAD_MIN * SPREAD_MIN));
    free(along);
    return st;
}

static fre_status learn(const learner *w)
{
    const size_t d = w->c->info.dim;
    fre_status st = sum_up(w);

    if (st == FRE_OK)
        st = fre_eigen_symmetric(w->spare, w->direction, w->cov, d);
    for (size_t i = 0; st == FRE_OK && i < d * d; i++)
        w->vector[i] = (float)w->direction[i];
    for (uint32_t l = 0; l < w->c->info.n_levels && st == FRE_OK; l++)
        st = variances(w, l);
    return st;
}

fre_status codebook_learn_within(fre_codebook *c, fre_rows rows, const uint32_t *cell,
                                 uint32_t threads)
{
    const size_t d = c->info.dim;
    double *sums = malloc((2 * d + 2) * d * sizeof *sums);
    float *numbers = malloc((rows.n + d + c->info.n_levels) * d * sizeof *numbers);
    fre_status st = FRE_E_NOMEM;

    if (sums && numbers) {
        const learner w = {.c = c,
                           .rows = rows,
                           .cell = cell,
                           .threads = threads,
                           .mean = sums,
                           .spare = sums + d,
                           .cov = sums + 2 * d,
                           .direction = sums + (2 + d) * d,
                           .vector = numbers,
                           .value = numbers + d * d,
                           .offset = numbers + (d + c->info.n_levels) * d};

        st = learn(&w);
        if (st == FRE_OK)
            st = codebook_set_within(c, w.vector, w.value);
    }
    free(sums);
    free(numbers);
    return st;
}
