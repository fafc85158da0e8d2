/* report/near.c - nearest neighbours among the centroids. */
#include "report_private.h"

#include <fre/linalg.h>

#include <stdlib.h>

/* Without itself, which is among its nearest unless as many others lie at the very same point. */
static void leave_out(report_near *near, size_t i, const uint32_t *index, const double *distance)
{
    size_t kept = 0;

    for (size_t j = 0; j <= near->k && kept < near->k; j++) {
        if (index[j] == i)
            continue;
        near->index[i * near->k + kept] = index[j];
        near->distance[i * near->k + kept++] = distance[j];
    }
}

fre_status report_near_find(report_near *out, const fre_release *r, uint32_t threads)
{
    const fre_rows rows = {.x = r->centroid, .n = r->n};
    report_near near = {.n = r->n,
                        .k = r->n < 2              ? 0
                             : r->n <= REPORT_NEAR ? r->n - 1
                                                   : REPORT_NEAR};
    const size_t with_itself = near.k + 1;
    uint32_t *index = calloc(r->n * with_itself + 1, sizeof *index);
    double *distance = calloc(r->n * with_itself + 1, sizeof *distance);
    fre_status st = FRE_OK;

    near.index = calloc(near.n * near.k + 1, sizeof *near.index);
    near.distance = calloc(near.n * near.k + 1, sizeof *near.distance);
    if (!index || !distance || !near.index || !near.distance)
        st = FRE_E_NOMEM;
    if (st == FRE_OK && near.k > 0)
        st = fre_nearest(index, distance, rows, rows, r->grid.dim, with_itself, threads);
    for (size_t i = 0; st == FRE_OK && near.k > 0 && i < near.n; i++)
        leave_out(&near, i, index + i * with_itself, distance + i * with_itself);
    free(index);
    free(distance);
    if (st != FRE_OK) {
        report_near_wipe(&near);
        return st;
    }
    *out = near;
    return FRE_OK;
}

void report_near_wipe(report_near *near)
{
    free(near->index);
    free(near->distance);
    *near = (report_near){.n = 0};
}
