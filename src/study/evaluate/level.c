/* Scores of a synthetic set, [Fre-E2T, equations for Prec, Rec and Dist]. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096u

double evaluate_f1(double precision, double recall)
{
    if (isnan(recall))
        return (double)NAN;
    if (isnan(precision) || precision + recall <= 0.0)
        return 0.0; /* nothing synthetic, or nothing right */
    return 2.0 * precision * recall / (precision + recall);
}

/* What is known about one reference set while its blocks go by. */
typedef struct reference {
    double *nearest; /* for each synthetic row the nearest reference row so far */
    uint64_t weight, reached;
} reference;

typedef struct level_work {
    const float *synthetic;
    size_t m;
    const fre_originals *o;
    const bool *is_frequent;
    double reach;
    uint32_t threads;
    float *block;
    uint64_t *weight;
    uint32_t *index;
    double *dist;
} level_work;

static fre_status add_block(level_work *w, reference *r, size_t rows)
{
    fre_status st;

    for (size_t i = 0; i < rows; i++)
        r->weight += w->weight[i];
    if (w->m == 0)
        return FRE_OK;
    st = fre_nearest(w->index, w->dist, (fre_rows){w->synthetic, w->m}, (fre_rows){w->block, rows},
                     w->o->d, 1, w->threads);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < w->m; i++)
        r->nearest[i] = fmin(r->nearest[i], w->dist[i]);
    st = fre_nearest(w->index, w->dist, (fre_rows){w->block, rows}, (fre_rows){w->synthetic, w->m},
                     w->o->d, 1, w->threads);
    if (st != FRE_OK)
        return st;
    for (size_t i = 0; i < rows; i++)
        if (w->dist[i] <= w->reach)
            r->reached += w->weight[i];
    return FRE_OK;
}

/* All originals that are (or are not) frequent, block by block. */
static fre_status sweep(level_work *w, reference *r, bool frequent)
{
    const fre_originals *o = w->o;
    fre_status st = FRE_OK;
    size_t rows = 0;

    for (size_t i = 0; st == FRE_OK && i < o->n; i++) {
        if (w->is_frequent[i] != frequent)
            continue;
        memcpy(w->block + rows * o->d, o->x + i * o->d, o->d * sizeof *o->x);
        w->weight[rows++] = o->weight[i];
        if (rows < BLOCK)
            continue;
        st = fre_interrupted() ? FRE_E_INTERRUPTED : add_block(w, r, rows);
        rows = 0;
    }
    if (st == FRE_OK && rows > 0)
        st = add_block(w, r, rows);
    return st;
}

static fre_scores score(const level_work *w, const reference *r)
{
    fre_scores s = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    uint64_t hits = 0;
    double sum = 0.0;

    if (r->weight == 0)
        return s;
    for (size_t i = 0; i < w->m; i++) {
        hits += r->nearest[i] <= w->reach;
        sum += r->nearest[i];
    }
    if (w->m > 0) {
        s.precision = (double)hits / (double)w->m;
        s.l2 = sum / (double)w->m;
    }
    s.recall = (double)r->reached / (double)r->weight;
    s.f1 = evaluate_f1(s.precision, s.recall);
    return s;
}

static fre_status level_alloc(level_work *w, reference *r)
{
    size_t longest = w->m > BLOCK ? w->m : BLOCK;

    w->block = calloc((size_t)BLOCK * w->o->d, sizeof *w->block);
    w->weight = calloc(BLOCK, sizeof *w->weight);
    w->index = calloc(longest, sizeof *w->index);
    w->dist = calloc(longest, sizeof *w->dist);
    r->nearest = calloc(longest, sizeof *r->nearest);
    if (!w->block || !w->weight || !w->index || !w->dist || !r->nearest)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < w->m; i++)
        r->nearest[i] = (double)INFINITY;
    return FRE_OK;
}

fre_status fre_evaluate_level(fre_level_scores *out, const float *synthetic, size_t m,
                              const fre_originals *o, const bool *is_frequent, double reach,
                              uint32_t threads, const fre_progress *progress)
{
    level_work w = {synthetic, m, o, is_frequent, reach, threads, NULL, NULL, NULL, NULL};
    reference r = {0};
    fre_level_scores s;
    fre_status st;

    if (!out || !o || o->d == 0 || (m && !synthetic) || (o->n && !is_frequent) || isnan(reach) ||
        reach < 0.0 || threads == 0)
        return FRE_E_ARG;
    st = level_alloc(&w, &r);
    if (st != FRE_OK)
        goto out;
    fre_progress_update(progress, "scoring", 0, 2);
    st = sweep(&w, &r, true);
    if (st != FRE_OK)
        goto out;
    s.frequent = score(&w, &r);
    fre_progress_update(progress, "scoring", 1, 2);
    st = sweep(&w, &r, false); /* together with the first sweep: all of them */
    if (st != FRE_OK)
        goto out;
    s.all = score(&w, &r);
    fre_progress_update(progress, "scoring", 2, 2);
    *out = s;
out:
    free(w.block);
    free(w.weight);
    free(w.index);
    free(w.dist);
    free(r.nearest);
    return st;
}
