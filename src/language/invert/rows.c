/* rows.c - see rows.h. */
#include "rows.h"

#include <math.h>
#include <stdlib.h>

#include <fre/linalg.h>

#define BLOCK_ROWS 512u
#define SPREAD_ROWS 4096u

const char *inv_rows_text(const inv_rows *r, size_t i, size_t *len)
{
    *len = (size_t)(r->at[i + 1] - r->at[i]);
    return r->text + r->at[i];
}

void inv_rows_get(const inv_rows *r, float *out, size_t i)
{
    const int8_t *q = r->q + i * r->dim;

    for (uint32_t j = 0; j < r->dim; j++)
        out[j] = r->scale[i] * (float)q[j];
}

fre_status inv_rows_spread(const inv_rows *r, double *out)
{
    const size_t n = r->n < SPREAD_ROWS ? r->n : SPREAD_ROWS;
    float *x = malloc(r->dim * sizeof *x);
    double *mean = calloc(r->dim, sizeof *mean), sum = 0;
    fre_status st = x && mean ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        inv_rows_get(r, x, i);
        sum += (double)r->norm2[i] / (double)n;
        for (uint32_t j = 0; j < r->dim; j++)
            mean[j] += (double)x[j] / (double)n;
    }
    for (uint32_t j = 0; st == FRE_OK && j < r->dim; j++)
        sum -= mean[j] * mean[j];
    if (st == FRE_OK)
        *out = sum;
    free(x);
    free(mean);
    return st;
}

typedef struct hit {
    float far; /* ||x||^2 - 2 <x, query>: the distance but for a constant */
    uint32_t id;
} hit;

typedef struct nearest_job {
    const inv_rows *r;
    const float *query;
    size_t nq, k, jobs;
    hit *best; /* jobs x nq x k, each sorted */
} nearest_job;

static bool nearer(hit a, hit b)
{
    return a.far < b.far || (a.far <= b.far && a.id < b.id);
}

/* Into a sorted list of *n <= k. */
static void keep_hit(hit *list, size_t *n, size_t k, hit h)
{
    size_t at;

    if (*n == k && !nearer(h, list[k - 1]))
        return;
    at = *n < k ? (*n)++ : k - 1;
    for (; at > 0 && nearer(h, list[at - 1]); at--)
        list[at] = list[at - 1];
    list[at] = h;
}

static fre_status nearest_range(void *ctx, uint64_t job)
{
    const nearest_job *j = ctx;
    const inv_rows *r = j->r;
    const size_t first = r->n * job / j->jobs, end = r->n * (job + 1) / j->jobs;
    float *x = malloc(BLOCK_ROWS * (size_t)r->dim * sizeof *x);
    float *dot = malloc(j->nq * BLOCK_ROWS * sizeof *dot);
    size_t *n = calloc(j->nq, sizeof *n);
    fre_status st = x && dot && n ? FRE_OK : FRE_E_NOMEM;

    for (size_t at = first; at < end && st == FRE_OK; at += BLOCK_ROWS) {
        const size_t m = end - at < BLOCK_ROWS ? end - at : BLOCK_ROWS;

        for (size_t i = 0; i < m; i++)
            inv_rows_get(r, x + i * r->dim, at + i);
        st = fre_interrupted() ? FRE_E_INTERRUPTED
                               : fre_products(dot, j->query, j->nq, x, m, r->dim, 1);
        for (size_t q = 0; q < j->nq && st == FRE_OK; q++)
            for (size_t i = 0; i < m; i++)
                keep_hit(
                    j->best + (job * j->nq + q) * j->k, &n[q], j->k,
                    (hit){.far = r->norm2[at + i] - 2 * dot[q * m + i], .id = (uint32_t)(at + i)});
    }
    for (size_t q = 0; q < j->nq && st == FRE_OK; q++)
        for (; n[q] < j->k; n[q]++) /* fewer rows than k in this range */
            j->best[(job * j->nq + q) * j->k + n[q]] =
                (hit){.far = (float)INFINITY, .id = UINT32_MAX};
    free(x);
    free(dot);
    free(n);
    return st;
}

fre_status inv_rows_nearest(const inv_rows *r, uint32_t *id, const float *query, size_t nq,
                            size_t k, uint32_t threads)
{
    nearest_job j = {.r = r, .query = query, .nq = nq, .k = k, .jobs = threads};
    hit *all;
    fre_status st;

    if (nq == 0)
        return FRE_OK;
    j.best = malloc(j.jobs * nq * k * sizeof *j.best);
    all = malloc(k * sizeof *all);
    st = j.best && all ? fre_parallel(threads, threads, nearest_range, &j) : FRE_E_NOMEM;
    for (size_t q = 0; q < nq && st == FRE_OK; q++) {
        size_t n = 0;

        for (size_t t = 0; t < j.jobs; t++)
            for (size_t i = 0; i < k; i++)
                keep_hit(all, &n, k, j.best[(t * nq + q) * k + i]);
        for (size_t i = 0; i < k; i++)
            id[q * k + i] = all[i].id;
    }
    free(j.best);
    free(all);
    return st;
}
