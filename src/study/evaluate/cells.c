/* Released cells against the noiseless ones. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1024u

/* A row and its cell.  SECRET. */
typedef struct placed {
    fre_cell cell;
    size_t row;
} placed;

typedef struct place_job {
    const fre_sketch *s;
    const fre_originals *o;
    placed *placed;
} place_job;

static fre_status place_block(void *ctx, uint64_t b)
{
    const place_job *p = ctx;
    size_t from = (size_t)b * BLOCK, to = p->o->n - from < BLOCK ? p->o->n : from + BLOCK;
    fre_status st = fre_interrupted() ? FRE_E_INTERRUPTED : FRE_OK;

    for (size_t i = from; st == FRE_OK && i < to; i++) {
        p->placed[i].row = i;
        st = fre_sketch_cell(p->s, &p->placed[i].cell, p->o->x + i * p->o->d, p->o->d);
        if (st == FRE_E_LIMIT)
            st = FRE_E_DATA;
    }
    return st;
}

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int c = memcmp(&x->cell, &y->cell, sizeof x->cell);

    return c != 0 ? c : (x->row > y->row) - (x->row < y->row);
}

static int compare_cell(const void *key, const void *b)
{
    return memcmp(key, &((const placed *)b)->cell, sizeof(fre_cell));
}

/* The run of rows that share the cell of p[i] ends at the returned index. */
static size_t run_end(const placed *p, size_t n, size_t i)
{
    size_t e = i + 1;

    while (e < n && memcmp(&p[e].cell, &p[i].cell, sizeof p[i].cell) == 0)
        e++;
    return e;
}

static uint64_t run_weight(const fre_originals *o, const placed *p, size_t from, size_t to)
{
    uint64_t w = 0;

    for (size_t i = from; i < to; i++)
        w += o->weight[p[i].row];
    return w;
}

/* The rows from..to-1 added up, each by its weight, in row order. */
static void add_up(double *sum, const fre_originals *o, const placed *p, size_t from, size_t to)
{
    memset(sum, 0, o->d * sizeof *sum);
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < o->d; j++)
            sum[j] += (double)o->weight[p[i].row] * (double)o->x[p[i].row * o->d + j];
}

/* Distance between a centroid and the mean of the rows from..to-1. */
static double distance_to_mean(const fre_originals *o, const placed *p, size_t from, size_t to,
                               const float *centroid, double *mean)
{
    double weight = (double)run_weight(o, p, from, to), sum = 0.0;

    add_up(mean, o, p, from, to);
    for (size_t j = 0; j < o->d; j++) {
        double e = mean[j] / weight - (double)centroid[j];
        sum += e * e;
    }
    return sqrt(sum);
}

/* *out: the originals by their cells, o->n, to be freed. */
static fre_status place_all(placed **out, const fre_sketch *s, const fre_originals *o,
                            uint32_t threads)
{
    place_job job = {s, o, calloc(o->n + 1, sizeof *job.placed)};
    const fre_status st = job.placed
                              ? fre_parallel(threads, (o->n + BLOCK - 1) / BLOCK, place_block, &job)
                              : FRE_E_NOMEM;

    if (st != FRE_OK) {
        free(job.placed);
        return st;
    }
    qsort(job.placed, o->n, sizeof *job.placed, compare_placed);
    *out = job.placed;
    return FRE_OK;
}

static fre_scores cell_score(uint64_t right, uint64_t released, uint64_t wanted, double l2_sum)
{
    fre_scores s = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};

    if (wanted == 0)
        return s;
    if (released > 0)
        s.precision = (double)right / (double)released;
    s.recall = (double)right / (double)wanted;
    s.f1 = evaluate_f1(s.precision, s.recall);
    if (right > 0)
        s.l2 = l2_sum / (double)right;
    return s;
}

typedef struct match_sums {
    uint64_t occupied;
    double l2_frequent, l2_all;
} match_sums;

/* Adds one released cell to the counts and sums. */
static void match_cell(fre_cell_scores *r, match_sums *sums, const fre_originals *o,
                       const placed *p, uint64_t threshold, const fre_cell *cell,
                       const float *centroid, double *mean)
{
    const placed *hit = bsearch(cell, p, o->n, sizeof *hit, compare_cell);
    size_t from, to;
    double distance;

    if (!hit)
        return;
    from = (size_t)(hit - p);
    while (from > 0 && compare_cell(cell, &p[from - 1]) == 0)
        from--;
    to = run_end(p, o->n, from);
    if (run_weight(o, p, from, to) == 0)
        return;
    distance = distance_to_mean(o, p, from, to, centroid, mean);
    sums->occupied++;
    sums->l2_all += distance;
    if (run_weight(o, p, from, to) >= threshold) {
        r->frequent_released++;
        sums->l2_frequent += distance;
    }
}

fre_status fre_evaluate_cells(fre_cell_scores *out, const fre_sketch *s, const fre_originals *o,
                              uint64_t threshold, const fre_cell *cell, const float *centroid,
                              size_t m, uint32_t threads)
{
    fre_cell_scores r = {.released = m};
    match_sums sums = {0, 0.0, 0.0};
    placed *p = NULL;
    double *mean = NULL;
    fre_status st;

    if (!out || !s || !o || threshold == 0 || (m && (!cell || !centroid)) || threads == 0 ||
        fre_sketch_params_view(s)->dim != o->d)
        return FRE_E_ARG;
    mean = calloc(o->d, sizeof *mean);
    st = mean ? place_all(&p, s, o, threads) : FRE_E_NOMEM;
    if (st != FRE_OK)
        goto out;
    for (size_t i = 0, e; i < o->n; i = e) {
        e = run_end(p, o->n, i);
        r.occupied += run_weight(o, p, i, e) > 0;
        r.frequent += run_weight(o, p, i, e) >= threshold;
    }
    for (size_t c = 0; c < m; c++)
        match_cell(&r, &sums, o, p, threshold, &cell[c], centroid + c * o->d, mean);
    r.scores.frequent = cell_score(r.frequent_released, m, r.frequent, sums.l2_frequent);
    r.scores.all = cell_score(sums.occupied, m, r.occupied, sums.l2_all);
    *out = r;
out:
    free(p);
    free(mean);
    return st;
}

fre_status evaluate_heavy_cells(fre_cell **cell, float **mean, size_t *n, const fre_sketch *s,
                                const fre_originals *o, uint64_t threshold, uint32_t threads)
{
    placed *p = NULL;
    double *sum = calloc(o->d, sizeof *sum);
    fre_cell *name = NULL;
    float *x = NULL;
    size_t heavy = 0;
    fre_status st = sum ? place_all(&p, s, o, threads) : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    for (size_t i = 0, e; i < o->n; i = e) {
        e = run_end(p, o->n, i);
        heavy += run_weight(o, p, i, e) >= threshold;
    }
    name = malloc((heavy + 1) * sizeof *name);
    x = malloc((heavy * o->d + 1) * sizeof *x);
    st = name && x ? FRE_OK : FRE_E_NOMEM;
    heavy = 0;
    for (size_t i = 0, e; st == FRE_OK && i < o->n; i = e) {
        uint64_t weight;

        e = run_end(p, o->n, i);
        weight = run_weight(o, p, i, e);
        if (weight < threshold)
            continue;
        add_up(sum, o, p, i, e);
        for (size_t j = 0; j < o->d; j++)
            x[heavy * o->d + j] = (float)(sum[j] / (double)weight);
        name[heavy++] = p[i].cell;
    }
out:
    free(p);
    free(sum);
    if (st != FRE_OK) {
        free(name);
        free(x);
        return st;
    }
    *cell = name;
    *mean = x;
    *n = heavy;
    return FRE_OK;
}
