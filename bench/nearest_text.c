/* Which of many texts' embeddings lies nearest to each query: the baseline of the inversion table.
 *
 *     build/release/bench/nearest_text PUBLIC.npy QUERIES.npy
 *
 * A line a query: row of PUBLIC.npy (counted from 0) and distance. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <fre/corpus.h>
#include <fre/linalg.h>

typedef struct rows {
    float *x;
    size_t n, dim;
} rows;

static fre_status load(rows *r, const char *path, fre_err *err)
{
    fre_npy *f = NULL;
    fre_status st = fre_npy_open(&f, path, err);

    if (st != FRE_OK)
        return st;
    r->n = fre_npy_rows(f);
    r->dim = fre_npy_dim(f);
    r->x = malloc((r->n * r->dim + 1) * sizeof *r->x);
    if (!r->x)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for %zu rows", r->n);
    for (size_t i = 0; i < r->n && st == FRE_OK; i++)
        st = fre_npy_row(f, r->x + i * r->dim, i, err);
    fre_npy_free(f);
    return st;
}

int main(int argc, char **argv)
{
    rows base = {.n = 0}, query = {.n = 0};
    uint32_t *index = NULL;
    double *dist = NULL;
    fre_err err = {.text = ""};
    fre_status st;

    if (argc != 3) {
        fprintf(stderr, "usage: nearest_text PUBLIC.npy QUERIES.npy\n");
        return 64;
    }
    st = load(&base, argv[1], &err);
    if (st == FRE_OK)
        st = load(&query, argv[2], &err);
    if (st == FRE_OK && (base.dim != query.dim || base.n == 0))
        st = fre_fail(&err, FRE_E_DATA, "the two files have rows of different lengths, or none");
    if (st == FRE_OK) {
        index = malloc((query.n + 1) * sizeof *index);
        dist = malloc((query.n + 1) * sizeof *dist);
        st = index && dist ? fre_nearest(index, dist, (fre_rows){query.x, query.n},
                                         (fre_rows){base.x, base.n}, base.dim, 1, fre_cpu_count())
                           : FRE_E_NOMEM;
    }
    for (size_t i = 0; st == FRE_OK && i < query.n; i++)
        printf("%" PRIu32 " %.6f\n", index[i], dist[i]);
    if (st != FRE_OK)
        fprintf(stderr, "nearest_text: %s\n", err.text[0] ? err.text : fre_status_text(st));
    free(index);
    free(dist);
    free(base.x);
    free(query.x);
    return fre_status_exit_code(st);
}
