/* curator/choose.c - which cells are released (docs/privacy.md, "Release by levels"): the grid's by sampled
 * counts, then one level of public cells after the other by what is left.  All records of a released cell
 * leave, sampled or not; those that go on toss fresh coins, or are counted under fresh noise. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>

static fre_status append(curator_run *r, uint32_t level, size_t cell, uint64_t count, fre_err *err)
{
    fre_status st = fre_grow((void **)&r->released, &r->cap_released, r->n_released + 1,
                             sizeof *r->released);

    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the released cells");
    r->released[r->n_released++] = (curator_cell){level, (uint32_t)cell, count};
    return FRE_OK;
}

_Static_assert(CURATOR_NONE == FRE_AGGREGATE_NOWHERE, "a text's row, to both modules");

/* Texts whose cell is released are in that row; of[i]: where text i's cell stands. */
static void assign(curator_run *r, const uint32_t *row_of, const uint32_t *of, size_t stride)
{
    for (size_t i = 0; i < r->n_texts; i++)
        if (fre_aggregate_goes_on(r->text_row[i]) && r->text_cell[i] != CURATOR_NONE)
            r->text_row[i] = row_of[of[i * stride]];
}

static uint32_t *rows_of(size_t cells)
{
    uint32_t *row = malloc((cells + 1) * sizeof *row);

    if (row)
        memset(row, 0xff, (cells + 1) * sizeof *row); /* CURATOR_NONE */
    return row;
}

static fre_status choose_grid(curator_run *r, fre_err *err)
{
    uint32_t *row = rows_of(r->cells.n);
    fre_status st = row ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory for the cells");

    for (size_t i = 0; st == FRE_OK && i < r->cells.n; i++) {
        if (!fre_aggregate_released(r->cell_count[i], r->plan.mechanism.tau))
            continue;
        row[i] = (uint32_t)r->n_released;
        st = append(r, 0, i, r->cell_count[i], err);
    }
    if (st == FRE_OK)
        assign(r, row, r->text_cell, 1);
    if (row)
        fre_wipe_free(row, (r->cells.n + 1) * sizeof *row);
    return st;
}

/* ---- public cells ------------------------------------------------------------------------------ */

static void count_level(curator_run *r, uint64_t *count, size_t at)
{
    const size_t n_levels = r->plan.request.n_levels;

    for (size_t i = 0; i < r->n_texts; i++) {
        if (!fre_aggregate_goes_on(r->text_row[i]) || r->text_cell[i] == CURATOR_NONE)
            continue;
        r->text_weight[i] = fre_aggregate_level_weight(r->text_counted[i * n_levels + at],
                                                       &r->plan.level[at], &r->coins);
        count[r->text_public[i * n_levels + at]] += r->text_weight[i];
    }
}

/* Empty cells too: a public cell's count is noisy whether or not anybody is in it. */
static fre_status release_level(curator_run *r, uint32_t *row, const uint64_t *count, size_t at,
                                fre_err *err)
{
    const fre_plan_level *l = &r->plan.level[at];
    const uint64_t cells = curator_sketch(r, (uint32_t)at + 1)->codebook.cells;
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < cells; i++) {
        uint64_t shown;

        if (!fre_aggregate_level_released(&shown, count[i], l, &r->counts))
            continue;
        row[i] = (uint32_t)r->n_released;
        st = append(r, (uint32_t)at + 1, i, shown, err);
    }
    return st;
}

static fre_status choose_level(curator_run *r, size_t at, fre_err *err)
{
    const size_t cells = (size_t)curator_sketch(r, (uint32_t)at + 1)->codebook.cells;
    uint64_t *count = calloc(cells, sizeof *count);
    uint32_t *row = rows_of(cells);
    fre_status st = count && row ? FRE_OK
                                 : fre_fail(err, FRE_E_NOMEM, "out of memory for the cells of a "
                                                              "level");

    if (st == FRE_OK) {
        count_level(r, count, at);
        st = release_level(r, row, count, at, err);
    }
    if (st == FRE_OK)
        assign(r, row, r->text_public + at, r->plan.request.n_levels);
    if (count)
        fre_wipe_free(count, cells * sizeof *count);
    if (row)
        fre_wipe_free(row, (cells + 1) * sizeof *row);
    return st;
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Fisher-Yates over the released cells: the order of the input, and of levels, is not published. */
static fre_status shuffle(curator_run *r, fre_err *err)
{
    uint32_t *at = rows_of(r->n_released); /* where a cell goes */
    curator_cell *old = malloc((r->n_released + 1) * sizeof *old);
    uint32_t *order = malloc((r->n_released + 1) * sizeof *order);
    const size_t n = r->n_released;
    fre_status st = at && old && order ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st != FRE_OK)
        goto out;
    for (size_t i = 0; i < n; i++) {
        old[i] = r->released[i];
        order[i] = (uint32_t)i;
    }
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)fre_rng_below(&r->order, i);
        const uint32_t t = order[i - 1];

        order[i - 1] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++) {
        r->released[i] = old[order[i]];
        at[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < r->n_texts; i++)
        if (r->text_row[i] != CURATOR_NONE)
            r->text_row[i] = at[r->text_row[i]];
out:
    free(at);
    free(old);
    free(order);
    return st;
}

fre_status curator_choose(curator_run *r, fre_err *err)
{
    fre_status st;

    r->text_row = rows_of(r->n_texts);
    if (!r->text_row)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for %zu texts", r->n_texts);
    st = r->sketch ? choose_grid(r, err) : FRE_OK;
    for (size_t i = 0; st == FRE_OK && i < r->plan.request.n_levels; i++) {
        fre_progress_update(r->opts->progress, "counting", i, r->plan.request.n_levels);
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : choose_level(r, i, err);
    }
    return st == FRE_OK ? shuffle(r, err) : st;
}
