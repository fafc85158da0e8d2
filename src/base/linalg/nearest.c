/* nearest.c - exact nearest rows.
 *
 * ||q - b||^2 = ||q||^2 + ||b||^2 - 2 <q, b> with the product in float is only used to rule rows
 * out: with a bound on its error it gives a lower bound of the distance, and a row is looked at
 * exactly (fre_dist2) unless that lower bound is above the k-th distance found so far.  So the
 * result is the exact one, by (distance, index), and cancellation costs time at most. */
#include "linalg_private.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    uint32_t *index;
    double *dist;
    const float *query, *base;
    size_t nq, nb, d, k;
    size_t rows, columns; /* of a block of queries and of base rows */
    const double *base_norm2;
    double relative, absolute; /* error bound of a float product: relative * |q||b| + absolute */
    uint64_t blocks;
    atomic_uint_fast64_t next;
    float *scratch; /* a worker: packed columns, then products */
    double *found;  /* a worker: k squared distances for each row of a block */
    size_t packed_floats, scratch_floats;
} search;

/* Inserts row j at squared distance d2 into the n <= k sorted entries; a tie goes after, and rows
 * come in increasing order, so ties keep the lower index. */
static size_t insert(uint32_t *index, double *found, size_t n, size_t k, uint32_t j, double d2)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (found[mid] <= d2)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == k)
        return n;
    if (n < k)
        n++;
    memmove(found + low + 1, found + low, (n - 1 - low) * sizeof *found);
    memmove(index + low + 1, index + low, (n - 1 - low) * sizeof *index);
    found[low] = d2;
    index[low] = j;
    return n;
}

/* Products of one query with base rows first..first+width-1. */
typedef struct columns {
    const float *products;
    size_t first, width;
} columns;

static size_t scan(const search *s, const float *query, double norm2, columns c, uint32_t *index,
                   double *found, size_t n)
{
    double norm = sqrt(norm2);

    for (size_t j = 0; j < c.width; j++) {
        double other2 = s->base_norm2[c.first + j];
        double error = s->relative * norm * sqrt(other2) + s->absolute;
        double least = norm2 + other2 - 2 * ((double)c.products[j] + error);

        /* The factor covers the roundings of this line and of the two norms. */
        least -= 1e-13 * (norm2 + other2);
        /* Infinite or NaN: the float product overflowed and says nothing. */
        if (n == s->k && least > found[n - 1] && least < DBL_MAX)
            continue;
        n = insert(index, found, n, s->k, (uint32_t)(c.first + j),
                   fre_dist2(query, s->base + (c.first + j) * s->d, s->d));
    }
    return n;
}

static void search_block(const search *s, uint64_t block, uint64_t w)
{
    size_t top = (size_t)block * s->rows;
    size_t height = s->nq - top < s->rows ? s->nq - top : s->rows;
    float *packed = s->scratch + w * s->scratch_floats;
    float *products = packed + s->packed_floats;
    double *found = s->found + w * s->rows * s->k;
    size_t n[FRE_BLOCK_ROWS] = {0};
    double norm2[FRE_BLOCK_ROWS];

    for (size_t i = 0; i < height; i++) {
        const float *query = s->query + (top + i) * s->d;

        norm2[i] = fre_dot(query, query, s->d);
    }
    for (size_t first = 0; first < s->nb; first += s->columns) {
        size_t width = s->nb - first < s->columns ? s->nb - first : s->columns;

        fre_linalg_pack(packed, s->base + first * s->d, width, s->d);
        fre_linalg_block(products, s->columns, s->query + top * s->d, height, packed, width, s->d);
        for (size_t i = 0; i < height; i++)
            n[i] = scan(s, s->query + (top + i) * s->d, norm2[i],
                        (columns){products + i * s->columns, first, width},
                        s->index + (top + i) * s->k, found + i * s->k, n[i]);
    }
    for (size_t i = 0; s->dist && i < height * s->k; i++)
        s->dist[top * s->k + i] = sqrt(found[i]);
}

static fre_status search_worker(void *ctx, uint64_t w)
{
    search *s = ctx;

    for (;;) {
        uint64_t block = atomic_fetch_add(&s->next, 1);

        if (block >= s->blocks)
            return FRE_OK;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        search_block(s, block, w);
    }
}

fre_status fre_nearest(uint32_t *index, double *dist, fre_rows query, fre_rows base, size_t d,
                       size_t k, uint32_t threads)
{
    const size_t nq = query.n, nb = base.n;
    search s = {.index = index,
                .dist = dist,
                .query = query.x,
                .base = base.x,
                .nq = nq,
                .nb = nb,
                .d = d,
                .k = k};
    double *norm2 = NULL;
    fre_status st = FRE_E_NOMEM;

    if (!index || !query.x || !base.x || k == 0 || k > nb || nb > UINT32_MAX || threads == 0)
        return FRE_E_ARG;
    if (nq == 0)
        return FRE_OK;
    /* Few queries: smaller blocks, so that every thread has one. */
    s.rows = (nq - 1) / threads + 1;
    s.rows = s.rows > FRE_BLOCK_ROWS ? FRE_BLOCK_ROWS : s.rows;
    s.blocks = (nq - 1) / s.rows + 1;
    if (threads > s.blocks)
        threads = (uint32_t)s.blocks;
    s.columns = fre_linalg_block_columns(d);
    s.packed_floats = fre_linalg_packed_floats(s.columns, d);
    s.scratch_floats = s.packed_floats + s.rows * s.columns;
    s.relative = fre_linalg_relative(d);
    s.absolute = fre_linalg_absolute(d);
    norm2 = calloc(nb, sizeof *norm2);
    s.scratch = fre_linalg_floats(s.scratch_floats * threads);
    if (k <= SIZE_MAX / s.rows / threads)
        s.found = calloc(s.rows * k * threads, sizeof *s.found);
    if (!norm2 || !s.scratch || !s.found)
        goto out;
    for (size_t j = 0; j < nb; j++)
        norm2[j] = fre_dot(base.x + j * d, base.x + j * d, d);
    s.base_norm2 = norm2;
    st = fre_parallel(threads, threads, search_worker, &s);
out:
    free(norm2);
    free(s.scratch);
    free(s.found);
    return st;
}
