/* evaluate/mauve.c - MAUVE (Pillutla et al., NeurIPS 2021) over embeddings: two sets as histograms over the
 * k-means clusters of both, and the area under their divergence curve. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIXTURES 25u
#define SCALE 5.0 /* their c */
#define BUCKETS_MAX 500u
#define ROUNDS 10u
#define LEAST 20u /* rows on each side */

/* ---- the area --------------------------------------------------------------------------------------- */

typedef struct point {
    double x, y;
} point;

static int by_x(const void *a, const void *b)
{
    const point *p = a, *q = b;

    return p->x < q->x || p->x > q->x ? (p->x > q->x) - (p->x < q->x)
                                      : (p->y < q->y) - (p->y > q->y);
}

/* KL(p || share p + (1 - share) q), over their sums. */
static double divergence(const uint64_t *p, double p_sum, const uint64_t *q, double q_sum,
                         double share, size_t k)
{
    double sum = 0.0;

    for (size_t i = 0; i < k; i++) {
        const double a = (double)p[i] / p_sum, b = (double)q[i] / q_sum;

        if (p[i] > 0)
            sum += a * log(a / (share * a + (1.0 - share) * b));
    }
    return sum;
}

double evaluate_mauve_area(const uint64_t *p, const uint64_t *q, size_t k)
{
    point curve[MIXTURES + 2] = {{0.0, 1.0}, {1.0, 0.0}};
    double p_sum = 0.0, q_sum = 0.0, area = 0.0;

    for (size_t i = 0; i < k; i++) {
        p_sum += (double)p[i];
        q_sum += (double)q[i];
    }
    for (size_t i = 0; i < MIXTURES; i++) {
        const double share = 1e-6 + (1.0 - 2e-6) * (double)i / (double)(MIXTURES - 1);

        curve[i + 2].x = exp(-SCALE * divergence(q, q_sum, p, p_sum, 1.0 - share, k));
        curve[i + 2].y = exp(-SCALE * divergence(p, p_sum, q, q_sum, share, k));
    }
    qsort(curve, MIXTURES + 2, sizeof *curve, by_x);
    for (size_t i = 1; i < MIXTURES + 2; i++)
        area += (curve[i].x - curve[i - 1].x) * (curve[i].y + curve[i - 1].y) / 2.0;
    return area;
}

/* ---- two sets ---------------------------------------------------------------------------------------- */

/* rows: n of each side, one after the other. */
static fre_status compare(double *out, const float *rows, size_t n, size_t d, size_t k,
                          uint32_t threads, fre_rng *rng)
{
    const fre_kmeans_opts o = {.rounds = ROUNDS, .threads = threads, .rng = rng};
    float *centre = malloc(k * d * sizeof *centre);
    uint32_t *at = malloc(2 * n * sizeof *at);
    uint64_t *count = calloc(2 * k, sizeof *count);
    fre_status st = centre && at && count ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fre_kmeans(centre, k, (fre_rows){rows, 2 * n}, d, &o);
    if (st == FRE_OK)
        st = fre_nearest(at, NULL, (fre_rows){rows, 2 * n}, (fre_rows){centre, k}, d, 1, threads);
    for (size_t i = 0; st == FRE_OK && i < 2 * n; i++)
        count[(i < n ? 0 : k) + at[i]]++;
    if (st == FRE_OK)
        *out = evaluate_mauve_area(count, count + k, k);
    free(centre);
    free(at);
    free(count);
    return st;
}

size_t evaluate_mauve_buckets(size_t n)
{
    const size_t k = (n + 5) / 10;

    return k < 2 ? 2 : k > BUCKETS_MAX ? BUCKETS_MAX : k;
}

/* n of a list's rows of x, drawn; row NULL: of all rows 0..all - 1. */
static fre_status draw_rows(float *out, const float *x, const uint32_t *row, size_t all, size_t n,
                            size_t d, fre_rng *rng)
{
    uint32_t *list = malloc((all + 1) * sizeof *list);

    if (!list)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < all; i++)
        list[i] = row ? row[i] : (uint32_t)i;
    evaluate_draw(list, all, n, rng);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * d, x + list[i] * d, d * sizeof *out);
    free(list);
    return FRE_OK;
}

/* real: records of the half that the halves' set was not drawn from, by their rows. */
static fre_status one_seed(double *out, const evaluate_base *b, const evaluate_set *s,
                           const evaluate_half *real, size_t n, uint64_t seed)
{
    const size_t d = b->originals.d;
    float *rows = malloc(2 * n * d * sizeof *rows);
    fre_rng rng;
    fre_status st = rows ? evaluate_rng(&rng, "evaluate/mauve", seed) : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(rows);
        return st;
    }
    st = draw_rows(rows, b->originals.x, real->row, real->n, n, d, &rng);
    if (st == FRE_OK)
        st = draw_rows(rows + n * d, s->x, NULL, s->n, n, d, &rng);
    if (st == FRE_OK)
        st = compare(out, rows, n, d, evaluate_mauve_buckets(n), b->opts->threads, &rng);
    fre_rng_wipe(&rng);
    fre_wipe_free(rows, 2 * n * d * sizeof *rows);
    return st;
}

fre_status evaluate_mauve_find(fre_mauve *out, const evaluate_base *b, const evaluate_set *s,
                               const evaluate_half *real, size_t size)
{
    fre_mauve m = {.mean = (double)NAN, .sd = (double)NAN};
    double sum = 0.0, squares = 0.0;
    fre_status st = FRE_OK;

    size = size < s->n ? size : s->n;
    size = size < real->n ? size : real->n;
    if (size < LEAST) {
        *out = m;
        return FRE_OK;
    }
    m.size = size;
    for (size_t i = 0; st == FRE_OK && i < FRE_EVALUATE_SEEDS; i++) {
        st = one_seed(&m.seed[i], b, s, real, size, i);
        sum += m.seed[i];
    }
    m.mean = sum / FRE_EVALUATE_SEEDS;
    for (size_t i = 0; i < FRE_EVALUATE_SEEDS; i++)
        squares += (m.seed[i] - m.mean) * (m.seed[i] - m.mean);
    m.sd = sqrt(squares / (FRE_EVALUATE_SEEDS - 1));
    if (st == FRE_OK)
        *out = m;
    return st;
}
