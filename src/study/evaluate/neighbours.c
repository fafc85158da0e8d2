/* evaluate/neighbours.c - how many originals lie near each, [Fre-E2T, sec. "semantic support"]: all pairs of
 * rows by blocks of float products, counted exactly. */
#include <fre/evaluate.h>

#include <fre/linalg.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BLOCK 512u

typedef struct count_job {
    const fre_originals *o;
    double radius;
    double *half; /* ||x_i||^2/2 - r^2/4: x_i and x_j are within r iff <x_i,x_j> >= half_i+half_j */
    double *length;          /* ||x_i|| */
    double rounding;         /* |float product - product| <= rounding * ||x_i|| ||x_j|| */
    _Atomic uint64_t *found; /* originals near a row so far */
    size_t first; /* row block of this sweep; job b pairs it with the b-th block from there on */
} count_job;

static size_t block_end(const fre_originals *o, size_t from)
{
    return o->n - from < BLOCK ? o->n : from + BLOCK;
}

static bool is_near(const count_job *c, size_t i, size_t j, float product)
{
    const float *x = c->o->x;
    size_t d = c->o->d;
    double lengths = c->length[i] * c->length[j];
    double gap = (double)product - (c->half[i] + c->half[j]);
    /* Lengths whose product floats cannot hold: always the exact way. */
    double slack = lengths < 1e30 ? c->rounding * lengths : (double)INFINITY;

    if (gap > slack)
        return true;
    if (gap < -slack)
        return false;
    return sqrt(fre_dist2(x + i * d, x + j * d, d)) <= c->radius;
}

/* Saturating, so that no sum of weights can wrap. */
static void add(_Atomic uint64_t *found, uint64_t weight)
{
    uint64_t old = atomic_load_explicit(found, memory_order_relaxed), sum;

    do
        sum = weight < UINT64_MAX - old ? old + weight : UINT64_MAX;
    while (!atomic_compare_exchange_weak_explicit(found, &old, sum, memory_order_relaxed,
                                                  memory_order_relaxed));
}

/* Integers are added in any order: the outcome is the same whatever the threads. */
static fre_status count_block(void *ctx, uint64_t b)
{
    const count_job *c = ctx;
    const fre_originals *o = c->o;
    size_t i0 = c->first, i1 = block_end(o, i0);
    size_t j0 = i0 + (size_t)b * BLOCK, j1 = block_end(o, j0);
    float *product;
    fre_status st;

    product = malloc((i1 - i0) * (j1 - j0) * sizeof *product);
    if (!product)
        return FRE_E_NOMEM;
    st = fre_products(product, o->x + i0 * o->d, i1 - i0, o->x + j0 * o->d, j1 - j0, o->d, 1);
    for (size_t i = i0; st == FRE_OK && i < i1; i++)
        for (size_t j = b == 0 ? i + 1 : j0; j < j1; j++)
            if (is_near(c, i, j, product[(i - i0) * (j1 - j0) + (j - j0)])) {
                add(&c->found[i], o->weight[j]);
                add(&c->found[j], o->weight[i]);
            }
    free(product);
    return st;
}

static fre_status prepare(count_job *c)
{
    const fre_originals *o = c->o;

    c->half = calloc(o->n, sizeof *c->half);
    c->length = calloc(o->n, sizeof *c->length);
    c->found = calloc(o->n, sizeof *c->found);
    if (!c->half || !c->length || !c->found)
        return FRE_E_NOMEM;
    /* Twice the textbook gamma_d = d u / (1 - d u), u = 2^-24 (Higham 2002, sec. 3.1). */
    c->rounding = 2.0 * ((double)o->d + 8.0) * 0x1p-24;
    for (size_t i = 0; i < o->n; i++) {
        double norm = fre_norm(o->x + i * o->d, o->d);
        c->length[i] = norm;
        c->half[i] = norm * norm / 2.0 - c->radius * c->radius / 4.0;
        atomic_init(&c->found[i], o->weight[i]);
    }
    return FRE_OK;
}

fre_status fre_evaluate_neighbours(uint64_t *neighbours, const fre_originals *o, double radius,
                                   uint32_t threads, const fre_progress *progress)
{
    count_job c = {.o = o, .radius = radius};
    fre_status st;

    if (!neighbours || !o || o->d == 0 || !isfinite(radius) || radius <= 0.0 || threads == 0)
        return FRE_E_ARG;
    if (o->n == 0)
        return FRE_OK;
    st = prepare(&c);
    for (c.first = 0; st == FRE_OK && c.first < o->n; c.first += BLOCK) {
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
        else
            st = fre_parallel(threads, (o->n - c.first + BLOCK - 1) / BLOCK, count_block, &c);
        /* The work left shrinks as the square of the rows left. */
        fre_progress_update(progress, "counting neighbours",
                            (uint64_t)block_end(o, c.first) * (2 * o->n - block_end(o, c.first)),
                            (uint64_t)o->n * o->n);
    }
    for (size_t i = 0; st == FRE_OK && i < o->n; i++)
        neighbours[i] = atomic_load(&c.found[i]);
    free(c.half);
    free(c.length);
    free(c.found);
    return st;
}
