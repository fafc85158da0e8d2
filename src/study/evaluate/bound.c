/* evaluate/bound.c - what is proved of rare originals and released centroids (docs/privacy.md, section 5), to be
 * set beside what is measured. */
#include "evaluate_private.h"

#include <fre/privacy.h>

#include <math.h>
#include <stdlib.h>

static int compare_count(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Of a release whose cells are all of its grid, with exact counts of sampled records. */
static bool has_bound(const fre_release *r)
{
    return r->n > 0 && r->is_private && r->n_levels == 1 &&
           r->level[0].sketch.kind == FRE_SKETCH_GRID && r->sampling_rate > 0.0 && r->sigma > 0.0 &&
           r->tau > 0 && r->records_max > 0;
}

/* The cells' bounds and that of pairs, added up; count: n, sorted. */
static fre_status find_one(double *whole, double *cell, fre_ssp_query *q, const uint64_t *count,
                           size_t n)
{
    fre_ssp_bound b;
    double sum;
    fre_status st;

    q->count = count[0];
    st = fre_ssp(&b, q, NULL);
    if (st != FRE_OK)
        return st;
    *cell = b.cell < 1.0 ? b.cell : (double)NAN;
    sum = b.pairs;
    for (size_t i = 0, e; sum < 1.0 && i < n; i = e) {
        for (e = i; e < n && count[e] == count[i]; e++)
            ;
        q->count = count[i];
        st = fre_ssp(&b, q, NULL);
        if (st != FRE_OK)
            return st;
        sum += (double)(e - i) * b.cell;
    }
    *whole = sum < 1.0 ? nextafter(sum, 1.0) : (double)NAN;
    return FRE_OK;
}

fre_status evaluate_bound_find(evaluate_run *r)
{
    const fre_release *from = &r->release;
    fre_evaluation *e = r->e;
    uint64_t *count;
    fre_status st = FRE_OK;

    for (size_t t = 0; t < FRE_EVALUATE_RARE; t++)
        for (size_t k = 0; k < FRE_EVALUATE_PSIS; k++)
            e->ssp_bound[t][k] = e->ssp_bound_cell[t][k] = (double)NAN;
    if (!has_bound(from)) {
        if (from->n > 0)
            evaluate_leave_out(
                e, "ssp.bound",
                "there is a bound for exact counts of a private release's grid alone");
        return FRE_OK;
    }
    count = malloc(from->n * sizeof *count);
    if (!count)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < from->n; i++)
        count[i] = from->cell[i].count;
    qsort(count, from->n, sizeof *count, compare_count);
    for (size_t t = 0; t < FRE_EVALUATE_RARE && count[0] >= from->tau; t++)
        for (size_t k = 0; st == FRE_OK && k < 10; k++) { /* psi up to 1 */
            fre_ssp_query q = {.sampling_rate = from->sampling_rate,
                               .radius = e->radius,
                               .psi = (double)(k + 1) / 10.0,
                               .sigma = from->sigma,
                               .dim = from->grid.dim,
                               .neighbours = evaluate_rare_below(t) - 1,
                               .tau = from->tau,
                               .grid = from->grid.grid,
                               .population = from->records_max,
                               .cells = 1};

            st = find_one(&e->ssp_bound[t][k], &e->ssp_bound_cell[t][k], &q, count, from->n);
        }
    free(count);
    return st;
}
