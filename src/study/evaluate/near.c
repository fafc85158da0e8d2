/* evaluate/near.c - distances between a set and the originals, and the scores that follow from them
 * [Fre-E2T, equations for Prec, Rec and Dist]. */
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

/* ---- distances ------------------------------------------------------------------------------ */

typedef struct sweep {
    evaluate_near *out; /* squares until all are found */
    fre_rows set;
    const fre_originals *o;
    uint32_t threads;
    float *block;  /* originals of one kind, ... */
    uint32_t *row; /* ... which they are, ... */
    size_t rows;   /* ... and how many */
    double *dist2; /* of each to the set */
} sweep;

static fre_status take_block(sweep *s, double *nearest)
{
    const fre_rows block = {s->block, s->rows};
    fre_status st;

    for (size_t i = 0; i < s->rows; i++)
        s->dist2[i] = (double)INFINITY;
    st = fre_nearest_both(nearest, s->dist2, s->set, block, s->o->d, s->threads);
    for (size_t i = 0; st == FRE_OK && i < s->rows; i++)
        s->out->of_original[s->row[i]] = s->dist2[i];
    s->rows = 0;
    return st;
}

/* All originals that are (or are not) frequent, block by block. */
static fre_status take_kind(sweep *s, double *nearest, const bool *is_frequent, bool frequent)
{
    const fre_originals *o = s->o;
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < o->n; i++) {
        if (o->weight[i] == 0 || is_frequent[i] != frequent)
            continue;
        memcpy(s->block + s->rows * o->d, o->x + i * o->d, o->d * sizeof *o->x);
        s->row[s->rows++] = (uint32_t)i;
        if (s->rows == BLOCK)
            st = fre_interrupted() ? FRE_E_INTERRUPTED : take_block(s, nearest);
    }
    return st == FRE_OK && s->rows > 0 ? take_block(s, nearest) : st;
}

static void take_roots(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = sqrt(x[i]);
}

static double *infinities(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);

    for (size_t i = 0; x && i < n; i++)
        x[i] = (double)INFINITY;
    return x;
}

void evaluate_near_wipe(evaluate_near *n)
{
    free(n->of_original);
    free(n->to_frequent);
    free(n->to_infrequent);
    *n = (evaluate_near){.m = 0};
}

fre_status evaluate_near_find(evaluate_near *out, fre_rows set, const fre_originals *o,
                              const bool *is_frequent, uint32_t threads)
{
    evaluate_near n = {infinities(o->n), infinities(set.n), infinities(set.n), set.n};
    sweep s = {.out = &n, .set = set, .o = o, .threads = threads};
    fre_status st;

    s.block = malloc((size_t)BLOCK * o->d * sizeof *s.block);
    s.row = malloc(BLOCK * sizeof *s.row);
    s.dist2 = malloc(BLOCK * sizeof *s.dist2);
    st = n.of_original && n.to_frequent && n.to_infrequent && s.block && s.row && s.dist2
             ? FRE_OK
             : FRE_E_NOMEM;
    if (st == FRE_OK && set.n > 0)
        st = take_kind(&s, n.to_frequent, is_frequent, true);
    if (st == FRE_OK && set.n > 0)
        st = take_kind(&s, n.to_infrequent, is_frequent, false);
    if (s.block)
        fre_wipe(s.block, (size_t)BLOCK * o->d * sizeof *s.block);
    free(s.block);
    free(s.row);
    free(s.dist2);
    if (st == FRE_OK) {
        take_roots(n.of_original, o->n);
        take_roots(n.to_frequent, n.m);
        take_roots(n.to_infrequent, n.m);
        *out = n;
    } else {
        evaluate_near_wipe(&n);
    }
    return st;
}

/* ---- scores --------------------------------------------------------------------------------- */

/* Against the frequent originals, or (frequent false) against all. */
static fre_scores score(const evaluate_near *n, const fre_originals *o, const bool *is_frequent,
                        bool frequent, double reach)
{
    fre_scores s = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    uint64_t weight = 0, reached = 0, hits = 0;
    double sum = 0.0;

    for (size_t i = 0; i < o->n; i++) {
        if (frequent && !is_frequent[i])
            continue;
        weight += o->weight[i];
        if (n->of_original[i] <= reach)
            reached += o->weight[i];
    }
    if (weight == 0)
        return s;
    for (size_t i = 0; i < n->m; i++) {
        const double nearest =
            frequent ? n->to_frequent[i] : fmin(n->to_frequent[i], n->to_infrequent[i]);

        hits += nearest <= reach;
        sum += nearest;
    }
    if (n->m > 0) {
        s.precision = (double)hits / (double)n->m;
        s.l2 = sum / (double)n->m;
    }
    s.recall = (double)reached / (double)weight;
    s.f1 = evaluate_f1(s.precision, s.recall);
    return s;
}

fre_level_scores evaluate_near_scores(const evaluate_near *n, const fre_originals *o,
                                      const bool *is_frequent, double reach)
{
    return (fre_level_scores){score(n, o, is_frequent, true, reach),
                              score(n, o, is_frequent, false, reach)};
}

fre_status fre_evaluate_level(fre_level_scores *out, const float *synthetic, size_t m,
                              const fre_originals *o, const bool *is_frequent, double reach,
                              uint32_t threads)
{
    evaluate_near n;
    fre_status st;

    if (!out || !o || o->d == 0 || (m && !synthetic) || (o->n && !is_frequent) || threads == 0 ||
        isnan(reach) || reach < 0.0)
        return FRE_E_ARG;
    st = evaluate_near_find(&n, (fre_rows){synthetic, m}, o, is_frequent, threads);
    if (st != FRE_OK)
        return st;
    *out = evaluate_near_scores(&n, o, is_frequent, reach);
    evaluate_near_wipe(&n);
    return FRE_OK;
}
