/* curator/aggregate.c - pass two, [Fre-E2T, Alg. 1, lines "heavy" to "centroid"]: the released cells'
 * integer sums on the lattice beta Z^d, one exactly rounded Gaussian a coordinate, divided by the count.  Integer addition is associative, so neither the order of the
 * records nor the number of threads can change a bit. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>

#define SUMS_BYTES (256u << 20) /* cells are summed in blocks of at most this much memory */

typedef struct block {
    int64_t *sum;    /* n x dim, lattice units.  SECRET until the noise is in */
    float *centre;   /* room for one cell's */
    size_t first, n; /* released cells first .. first + n - 1 */
} block;

/* The lattice that sums of a cell lie on, and how far a record may go. */
static fre_aggregate_lattice lattice_of(const curator_run *r, const curator_cell *c)
{
    const fre_mechanism *m = &r->plan.mechanism;

    return (fre_aggregate_lattice){
        c->level == 0 ? m->lattice_step : r->plan.level[c->level - 1].lattice_step,
        fre_sketch_reach(curator_sketch(r, c->level), m->norm_bound), r->contributed};
}

static void centre_of(const curator_run *r, float *out, const curator_cell *c)
{
    fre_codebook_centre(r->codebook, curator_sketch(r, c->level)->codebook.level, c->cell, out);
}

/* Of what the ingest clipped, the unclipped: fre_aggregate_add clips once more.  x: is spent. */
static fre_status add_row(const curator_run *r, block *b, float *x, size_t text, fre_err *err)
{
    const uint64_t times = r->text_weight[text];
    const uint32_t row = r->text_row[text];
    const curator_cell *c;
    fre_aggregate_lattice lattice;
    fre_status st;

    if (row == CURATOR_NONE || row < b->first || row - b->first >= b->n || times == 0)
        return FRE_OK;
    c = &r->released[row];
    lattice = lattice_of(r, c);
    if (c->level > 0)
        centre_of(r, b->centre, c);
    st = fre_aggregate_add_record(b->sum + (row - b->first) * r->dim, x, r->dim, times,
                                  c->level > 0 ? b->centre : NULL, r->plan.mechanism.norm_bound,
                                  &lattice);
    if (st == FRE_E_ARG)
        return fre_fail(err, FRE_E_INTERNAL, "an embedding is not finite");
    return st == FRE_OK
               ? st
               : fre_fail(err, st,
                          "an embedding's coordinate is too large for exact sums: scale the "
                          "embeddings or raise {radius}");
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
        const curator_cell *c = &r->released[b->first + i];
        const fre_aggregate_lattice lattice = lattice_of(r, c);
        float *out = r->centroid + (b->first + i) * r->dim;
        int64_t *sum = b->sum + i * r->dim;

        if (!r->no_noise)
            fre_aggregate_noise(sum, r->dim, &r->noise,
                                c->level == 0 ? r->plan.sigma_lattice
                                              : r->plan.level[c->level - 1].sigma_lattice);
        fre_aggregate_mean(out, sum, r->dim, lattice.step, c->count);
        if (c->level == 0)
            continue;
        centre_of(r, b->centre, c);
        fre_aggregate_from_centre(out, b->centre, r->dim,
                                  curator_sketch(r, c->level)->codebook.gain, lattice.norm_bound);
    }
}

static fre_status sum_block(curator_run *r, block *b, fre_err *err)
{
    fre_status st;

    memset(b->sum, 0, b->n * r->dim * sizeof *b->sum);
    st = r->parts   ? curator_sums_of_parts(r, b->sum, b->first, b->n, err)
         : r->spool ? pass_spool(r, b, err)
                    : pass_rows(r, b, err);
    if (st == FRE_OK)
        release_block(r, b);
    return st;
}

fre_status curator_aggregate(curator_run *r, fre_err *err)
{
    const size_t row_bytes = r->dim * sizeof(int64_t);
    size_t per_block = SUMS_BYTES / row_bytes;
    block b = {0};
    fre_status st = curator_choose(r, err);

    if (st != FRE_OK || r->n_released == 0)
        return st;
    r->centroid = calloc(r->n_released * r->dim, sizeof *r->centroid);
    if (!r->centroid)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for %zu released cells", r->n_released);
    per_block = per_block < r->n_released ? per_block : r->n_released;
    b.sum = calloc(per_block, row_bytes);
    b.centre = calloc(r->dim, sizeof *b.centre);
    if (!b.sum || !b.centre) {
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
    free(b.centre);
    return st;
}
