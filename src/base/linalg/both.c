/* both.c - nearest distances of two sets of rows, both ways in one pass over their products.
 *
 * A pair is looked at exactly (fre_dist2) unless its float product, with the bound on its error, puts it
 * further than the nearest found so far of either of its rows; so the result is the exact one. */
#include "linalg_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LANES FRE_TILE_COLUMNS
#define SCALE_MAX 1e30 /* squares beyond tell nothing in float */

/* What one thread has. */
typedef struct worker {
    float *product; /* of a block */
    double *to_a;   /* of each row of b, squared, over the blocks that the thread took */
    float *reach;   /* |b_j|^2/2 - to_a[j]/2, panels padded with infinity */
} worker;

typedef struct both {
    double *to_b;
    fre_rows a, b;
    size_t d, rows, columns, panels;
    const float *packed; /* all of b */
    const float *half;   /* |b_j|^2/2, padded with infinity */
    double longest;      /* of b */
    double relative, absolute;
    uint64_t blocks;
    atomic_uint_fast64_t next;
    worker *worker;
} both;

/* A row of a and its products with `width` rows of b from `first` on. */
typedef struct strip {
    const float *x, *product;
    double least; /* |a_i|^2/2 less what floats may be wrong by */
    size_t first, width;
} strip;

/* Half of ||a - b||^2 is half_a + half_b - product: the product, the halves and the difference round. */
static double slack_of(const both *s, double norm)
{
    const double scale = (norm + s->longest) * (norm + s->longest);

    if (!(scale < SCALE_MAX))
        return (double)INFINITY;
    return s->relative * norm * s->longest + s->absolute + 0x1p-21 * scale + 0x1p-120;
}

static void look(const both *s, worker *w, double *to_b, const strip *p, size_t j)
{
    const double d2 = fre_dist2(p->x, s->b.x + j * s->d, s->d);

    if (d2 < *to_b)
        *to_b = d2;
    if (d2 < w->to_a[j]) {
        w->to_a[j] = d2;
        w->reach[j] = (float)((double)s->half[j] - d2 / 2.0);
    }
}

/* Sixteen columns: the largest product less the half, and less the reach. */
static void largest(float out[2], const float *product, const float *half, const float *reach)
{
    float near[LANES], far[LANES];

    for (size_t j = 0; j < LANES; j++) {
        near[j] = product[j] - half[j];
        far[j] = product[j] - reach[j];
    }
    for (size_t n = LANES / 2; n > 0; n /= 2)
        for (size_t j = 0; j < n; j++) {
            near[j] = near[j] > near[j + n] ? near[j] : near[j + n];
            far[j] = far[j] > far[j + n] ? far[j] : far[j + n];
        }
    out[0] = near[0];
    out[1] = far[0];
}

/* product is padded to whole panels with what the kernel made of zeros. */
static void scan(const both *s, worker *w, double *to_b, const strip *p)
{
    for (size_t at = 0; at < p->width; at += LANES) {
        const size_t first = p->first + at;
        const size_t n = p->width - at < LANES ? p->width - at : LANES;
        float most[2];

        largest(most, p->product + at, s->half + first, w->reach + first);
        /* Not a number, or infinite slack: looked at. */
        if ((double)most[0] < p->least - *to_b / 2.0 && (double)most[1] < p->least)
            continue;
        for (size_t j = 0; j < n; j++) {
            const float product = p->product[at + j];

            if (!((double)(product - s->half[first + j]) < p->least - *to_b / 2.0) ||
                !((double)(product - w->reach[first + j]) < p->least))
                look(s, w, to_b, p, first + j);
        }
    }
}

static void do_block(const both *s, worker *w, uint64_t block)
{
    const size_t top = (size_t)block * s->rows, d = s->d;
    const size_t height = s->a.n - top < s->rows ? s->a.n - top : s->rows;
    double norm2[FRE_BLOCK_ROWS], slack[FRE_BLOCK_ROWS];

    for (size_t i = 0; i < height; i++) {
        const float *x = s->a.x + (top + i) * d;

        norm2[i] = fre_dot(x, x, d);
        slack[i] = slack_of(s, sqrt(norm2[i]));
    }
    for (size_t first = 0; first < s->b.n; first += s->columns) {
        const size_t width = s->b.n - first < s->columns ? s->b.n - first : s->columns;
        const size_t padded = (width + LANES - 1) / LANES * LANES;

        fre_linalg_block(w->product, s->columns, s->a.x + top * d, height, s->packed + first * d,
                         padded, d);
        for (size_t i = 0; i < height; i++) {
            const strip p = {s->a.x + (top + i) * d, w->product + i * s->columns,
                             norm2[i] / 2.0 - slack[i], first, width};

            scan(s, w, &s->to_b[top + i], &p);
        }
    }
}

static fre_status work(void *ctx, uint64_t w)
{
    both *s = ctx;

    for (;;) {
        const uint64_t block = atomic_fetch_add(&s->next, 1);

        if (block >= s->blocks)
            return FRE_OK;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        do_block(s, &s->worker[w], block);
    }
}

/* half, longest, packed: of b. */
static fre_status prepare(both *s, float *packed, float *half)
{
    const size_t padded = s->panels * LANES;

    if (!packed || !half)
        return FRE_E_NOMEM;
    fre_linalg_pack(packed, s->b.x, s->b.n, s->d);
    for (size_t j = 0; j < padded; j++) {
        const double n2 =
            j < s->b.n ? fre_dot(s->b.x + j * s->d, s->b.x + j * s->d, s->d) : (double)INFINITY;

        half[j] = (float)(n2 / 2.0);
        if (j < s->b.n && !(sqrt(n2) <= s->longest))
            s->longest = sqrt(n2);
    }
    s->packed = packed;
    s->half = half;
    return FRE_OK;
}

static fre_status worker_new(worker *w, const both *s, const double *to_a)
{
    const size_t padded = s->panels * LANES;

    w->product = fre_linalg_floats(s->rows * s->columns);
    w->to_a = malloc(padded * sizeof *w->to_a);
    w->reach = malloc(padded * sizeof *w->reach);
    if (!w->product || !w->to_a || !w->reach)
        return FRE_E_NOMEM;
    memcpy(w->to_a, to_a, s->b.n * sizeof *to_a);
    for (size_t j = 0; j < padded; j++)
        w->reach[j] = j < s->b.n ? (float)((double)s->half[j] - to_a[j] / 2.0) : (float)INFINITY;
    return FRE_OK;
}

static void workers_free(worker *w, size_t n)
{
    for (size_t i = 0; w && i < n; i++) {
        free(w[i].product);
        free(w[i].to_a);
        free(w[i].reach);
    }
    free(w);
}

/* The work itself, with everything there. */
static fre_status run(both *s, double *to_a, uint32_t threads)
{
    fre_status st = FRE_OK;

    s->worker = calloc(threads, sizeof *s->worker);
    if (!s->worker)
        return FRE_E_NOMEM;
    for (uint32_t w = 0; st == FRE_OK && w < threads; w++)
        st = worker_new(&s->worker[w], s, to_a);
    if (st == FRE_OK)
        st = fre_parallel(threads, threads, work, s);
    for (uint32_t w = 0; st == FRE_OK && w < threads; w++)
        for (size_t j = 0; j < s->b.n; j++)
            to_a[j] = fmin(to_a[j], s->worker[w].to_a[j]);
    workers_free(s->worker, threads);
    return st;
}

fre_status fre_nearest_both(double *to_b, double *to_a, fre_rows a, fre_rows b, size_t d,
                            uint32_t threads)
{
    both s = {.to_b = to_b, .a = a, .b = b, .d = d};
    float *packed, *half;
    fre_status st;

    if (!to_b || !to_a || !a.x || !b.x || d == 0 || threads == 0)
        return FRE_E_ARG;
    if (a.n == 0 || b.n == 0)
        return FRE_OK;
    /* Few rows: smaller blocks, so that every thread has one. */
    s.rows = (a.n - 1) / threads + 1;
    s.rows = s.rows > FRE_BLOCK_ROWS ? FRE_BLOCK_ROWS : s.rows;
    s.blocks = (a.n - 1) / s.rows + 1;
    if (threads > s.blocks)
        threads = (uint32_t)s.blocks;
    s.columns = fre_linalg_block_columns(d);
    s.panels = (b.n - 1) / LANES + 1;
    s.relative = fre_linalg_relative(d);
    s.absolute = fre_linalg_absolute(d);
    packed = fre_linalg_floats(fre_linalg_packed_floats(b.n, d));
    half = fre_linalg_floats(s.panels * LANES);
    st = prepare(&s, packed, half);
    if (st == FRE_OK)
        st = run(&s, to_a, threads);
    free(packed);
    free(half);
    return st;
}
