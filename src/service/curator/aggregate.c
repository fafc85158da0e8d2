/* curator/aggregate.c - pass two, [Fre-E2T, Alg. 1, lines "heavy" to "centroid"]: the cells with
 * sampled count >= tau, their integer sums on the lattice beta Z^d, one exactly rounded Gaussian a
 * coordinate, divided by the count.  Integer addition is associative, so neither the order of the
 * records nor the number of threads can change a bit. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_BYTES (256u << 20) /* cells are summed in blocks of at most this much memory */

typedef struct block {
    int64_t *sum;      /* n x dim, lattice units.  SECRET until the noise is in */
    uint32_t *of_cell; /* cell -> row of this block, or CURATOR_NONE */
    size_t first, n;   /* released cells first .. first + n - 1 */
} block;

static fre_status choose_cells(curator_run *r, fre_err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < r->cells.n; i++)
        n += fre_aggregate_released(r->cell_count[i], r->plan.mechanism.tau);
    r->released = calloc(n ? n : 1, sizeof *r->released);
    r->centroid = calloc(n ? n * r->dim : 1, sizeof *r->centroid);
    if (!r->released || !r->centroid)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for %zu released cells", n);
    for (size_t i = 0; i < r->cells.n; i++)
        if (fre_aggregate_released(r->cell_count[i], r->plan.mechanism.tau))
            r->released[r->n_released++] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) { /* Fisher-Yates: input order is private */
        const size_t j = (size_t)fre_rng_below(&r->order, i);
        const uint32_t t = r->released[i - 1];

        r->released[i - 1] = r->released[j];
        r->released[j] = t;
    }
    return FRE_OK;
}

/* Of what the ingest clipped, the unclipped: fre_aggregate_add clips once more. */
static fre_status add_row(const curator_run *r, block *b, const float *x, size_t text, fre_err *err)
{
    const fre_aggregate_lattice lattice = {.step = r->plan.mechanism.lattice_step,
                                           .norm_bound = r->plan.mechanism.norm_bound,
                                           .points = r->contributed};
    const uint64_t times = r->text_sampled[text];
    uint32_t row;

    if (times == 0) /* a blank text, in no cell, among others */
        return FRE_OK;
    row = b->of_cell[r->text_cell[text]];
    if (row == CURATOR_NONE)
        return FRE_OK;
    if (fre_aggregate_add(b->sum + (size_t)row * r->dim, x, r->dim, times, &lattice) != FRE_OK)
        return fre_fail(err, FRE_E_DATA,
                        "an embedding's coordinate is too large for exact sums: scale the "
                        "embeddings or raise {radius}");
    return FRE_OK;
}

static fre_status pass_spool(curator_run *r, block *b, fre_err *err)
{
    float *x = calloc(r->dim, sizeof *x);
    fre_status st =
        x ? fre_spool_rewind(r->spool, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st == FRE_OK)
        st = fre_spool_next(r->spool, r->spool_record, err); /* the header */
    for (size_t i = 0; st == FRE_OK && i < r->n_texts; i++) {
        if ((i & 1023) == 0 && fre_interrupted())
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        else
            st = fre_spool_next(r->spool, r->spool_record, err);
        if (st != FRE_OK)
            break;
        memcpy(x, r->spool_record + CURATOR_KEY_BYTES, r->dim * sizeof *x);
        st = add_row(r, b, x, i, err);
    }
    if (x)
        fre_wipe(x, r->dim * sizeof *x);
    free(x);
    return st;
}

#define PASS_ROWS 1024u

static fre_status pass_rows(curator_run *r, block *b, fre_err *err)
{
    float *x = calloc(PASS_ROWS * (size_t)r->dim, sizeof *x);
    fre_status st = x ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t from = 0; st == FRE_OK && from < r->n_texts; from += PASS_ROWS) {
        const size_t n = r->n_texts - from < PASS_ROWS ? r->n_texts - from : PASS_ROWS;

        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : curator_rows(r, x, from, n, err);
        for (size_t i = 0; st == FRE_OK && i < n; i++)
            st = add_row(r, b, x + i * r->dim, from + i, err);
        fre_progress_update(r->opts->progress, "summing", from + n, r->n_texts);
    }
    if (x)
        fre_wipe(x, PASS_ROWS * (size_t)r->dim * sizeof *x);
    free(x);
    return st;
}

static void release_block(curator_run *r, block *b)
{
    for (size_t i = 0; i < b->n; i++) {
        int64_t *sum = b->sum + i * r->dim;

        if (!r->no_noise)
            fre_aggregate_noise(sum, r->dim, &r->noise, r->plan.sigma_lattice);
        fre_aggregate_mean(r->centroid + (b->first + i) * r->dim, sum, r->dim,
                           r->plan.mechanism.lattice_step,
                           r->cell_count[r->released[b->first + i]]);
    }
}

static fre_status sum_block(curator_run *r, block *b, fre_err *err)
{
    fre_status st;

    memset(b->of_cell, 0xff, r->cells.n * sizeof *b->of_cell); /* CURATOR_NONE */
    memset(b->sum, 0, b->n * r->dim * sizeof *b->sum);
    for (size_t i = 0; i < b->n; i++)
        b->of_cell[r->released[b->first + i]] = (uint32_t)i;
    st = r->spool ? pass_spool(r, b, err) : pass_rows(r, b, err);
    if (st == FRE_OK)
        release_block(r, b);
    return st;
}

fre_status curator_aggregate(curator_run *r, fre_err *err)
{
    const size_t row_bytes = r->dim * sizeof(int64_t);
    size_t per_block = SUMS_BYTES / row_bytes;
    block b = {0};
    fre_status st = choose_cells(r, err);

    if (st != FRE_OK || r->n_released == 0)
        return st;
    per_block = per_block < r->n_released ? per_block : r->n_released;
    b.sum = calloc(per_block, row_bytes);
    b.of_cell = calloc(r->cells.n, sizeof *b.of_cell);
    if (!b.sum || !b.of_cell) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for the sums of %zu cells", per_block);
        goto out;
    }
    for (b.first = 0; st == FRE_OK && b.first < r->n_released; b.first += b.n) {
        b.n = r->n_released - b.first < per_block ? r->n_released - b.first : per_block;
        st = sum_block(r, &b, err);
    }
out:
    if (b.sum)
        fre_wipe(b.sum, per_block * row_bytes);
    free(b.sum);
    free(b.of_cell);
    return st;
}
