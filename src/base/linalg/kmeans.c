/* kmeans.c - centres of rows by Lloyd's rounds.
 *
 * Each row goes to its nearest centre exactly (fre_grouped_nearest), and a centre's sum is taken by one
 * thread over its rows in their order, so nothing depends on the threads. */
#include "linalg_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 16384u /* rows between two looks at the interruption */

typedef struct means {
    float *centre;
    size_t k, d;
    fre_rows rows;
    const fre_kmeans_opts *o;
    uint32_t *member, *before; /* of each row, now and in the round before */
    double *dist2;             /* of each row to its centre */
    uint32_t *order;           /* rows by their centre */
    size_t *start;             /* k + 1, of a centre in order */
} means;

/* k distinct rows: the first of a shuffle. */
static void draw_centres(const means *m)
{
    for (size_t i = 0; i < m->rows.n; i++)
        m->order[i] = (uint32_t)i;
    for (size_t i = 0; i < m->k; i++) {
        const size_t j = i + (size_t)fre_rng_below(m->o->rng, m->rows.n - i);
        const uint32_t row = m->order[j];

        m->order[j] = m->order[i];
        m->order[i] = row;
        memcpy(m->centre + i * m->d, m->rows.x + row * m->d, m->d * sizeof *m->centre);
        if (m->o->spherical)
            (void)fre_normalise(m->centre + i * m->d, m->d);
    }
}

static fre_status assign(const means *m, uint32_t round)
{
    const uint32_t all = (uint32_t)m->k;
    const size_t n = m->rows.n;
    fre_grouped *g = NULL;
    fre_status st = fre_grouped_new(&g, (fre_rows){m->centre, m->k}, m->d, &all, 1, 1);

    for (size_t at = 0; at < n && st == FRE_OK; at += SLICE) {
        const fre_rows slice = {m->rows.x + at * m->d, n - at < SLICE ? n - at : SLICE};

        fre_progress_update(m->o->progress, m->o->phase, (uint64_t)round * n + at,
                            (uint64_t)m->o->rounds * n);
        st = fre_grouped_nearest(g, m->member + at, m->dist2 + at, slice, m->o->threads);
        if (st == FRE_OK && fre_interrupted())
            st = FRE_E_INTERRUPTED;
    }
    fre_grouped_free(g);
    return st;
}

static void sort_by_centre(const means *m)
{
    memset(m->start, 0, (m->k + 1) * sizeof *m->start);
    for (size_t i = 0; i < m->rows.n; i++)
        m->start[m->member[i] + 1]++;
    for (size_t j = 0; j < m->k; j++)
        m->start[j + 1] += m->start[j];
    for (size_t i = 0; i < m->rows.n; i++)
        m->order[m->start[m->member[i]]++] = (uint32_t)i;
    for (size_t j = m->k; j > 0; j--) /* each start ran on to the next one */
        m->start[j] = m->start[j - 1];
    m->start[0] = 0;
}

static fre_status move_centre(void *ctx, uint64_t j)
{
    const means *m = ctx;
    const size_t n = m->start[j + 1] - m->start[j], d = m->d;
    float *centre = m->centre + j * d;
    double *sum;

    if (n == 0)
        return FRE_OK;
    sum = calloc(d, sizeof *sum);
    if (!sum)
        return FRE_E_NOMEM;
    for (size_t i = m->start[j]; i < m->start[j + 1]; i++)
        for (size_t k = 0; k < d; k++)
            sum[k] += (double)m->rows.x[m->order[i] * d + k];
    for (size_t k = 0; k < d; k++)
        centre[k] = (float)(sum[k] / (double)n);
    if (m->o->spherical)
        (void)fre_normalise(centre, d);
    free(sum);
    return FRE_OK;
}

/* The row farthest from its centre, the first of equals, counts as moved. */
static void move_empty(const means *m, size_t j)
{
    size_t far = 0;

    for (size_t i = 1; i < m->rows.n; i++)
        if (m->dist2[i] > m->dist2[far])
            far = i;
    m->dist2[far] = 0;
    memcpy(m->centre + j * m->d, m->rows.x + far * m->d, m->d * sizeof *m->centre);
    if (m->o->spherical)
        (void)fre_normalise(m->centre + j * m->d, m->d);
}

static fre_status lloyd(means *m)
{
    const size_t bytes = m->rows.n * sizeof *m->member;

    draw_centres(m);
    for (uint32_t round = 0; round < m->o->rounds; round++) {
        fre_status st = assign(m, round);

        if (st != FRE_OK)
            return st;
        if (round > 0 && memcmp(m->member, m->before, bytes) == 0)
            return FRE_OK;
        memcpy(m->before, m->member, bytes);
        sort_by_centre(m);
        st = fre_parallel(m->o->threads, m->k, move_centre, m);
        if (st != FRE_OK)
            return st;
        for (size_t j = 0; j < m->k; j++)
            if (m->start[j] == m->start[j + 1])
                move_empty(m, j);
    }
    return FRE_OK;
}

fre_status fre_kmeans(float *centre, size_t k, fre_rows rows, size_t d, const fre_kmeans_opts *o)
{
    means m = {.centre = centre, .k = k, .d = d, .rows = rows, .o = o};
    fre_status st = FRE_E_NOMEM;

    if (!centre || !rows.x || !o || !o->rng || d == 0 || k == 0 || k > rows.n ||
        rows.n > UINT32_MAX || o->rounds == 0 || o->threads == 0)
        return FRE_E_ARG;
    m.member = calloc(rows.n, sizeof *m.member);
    m.before = calloc(rows.n, sizeof *m.before);
    m.dist2 = calloc(rows.n, sizeof *m.dist2);
    m.order = calloc(rows.n, sizeof *m.order);
    m.start = calloc(k + 1, sizeof *m.start);
    if (m.member && m.before && m.dist2 && m.order && m.start)
        st = lloyd(&m);
    free(m.member);
    free(m.before);
    free(m.dist2);
    free(m.order);
    free(m.start);
    return st;
}
