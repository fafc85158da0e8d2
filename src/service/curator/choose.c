/* curator/choose.c - which cells are released (docs/privacy.md, "Release by levels"): the grid's by sampled
 * counts, then one level of public cells after the other by what is left.  All records of a released cell
 * leave, sampled or not; those that go on toss fresh coins, or are counted under fresh noise. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>

static fre_status append(curator_run *r, const curator_cell *c, fre_err *err)
{
    fre_status st = fre_grow((void **)&r->released, &r->cap_released, r->n_released + 1,
                             sizeof *r->released);

    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory for the released cells");
    r->released[r->n_released++] = *c;
    return FRE_OK;
}

_Static_assert(CURATOR_NONE == FRE_AGGREGATE_NOWHERE, "a text's row, to both modules");

/* Texts whose cell is released are in that row; of[i * stride]: where text i's cell stands. */
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

/* ---- one level ------------------------------------------------------------------------------------ */

/* Records of text i that a level takes: where nobody is named, their coins fall now. */
static fre_status weigh(const curator_run *r, uint64_t *weight, size_t i, uint32_t level,
                        const fre_plan_level *l)
{
    const uint64_t counted = r->text_counted[i * (r->plan.request.n_levels + 1) + level];
    const uint8_t row[FRE_COIN_ID_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16),
                                            (uint8_t)(i >> 24)};
    fre_rng coins;
    fre_status st;

    *weight = counted;
    if (curator_has_users(r->opts) || counted == 0)
        return FRE_OK;
    st = fre_aggregate_coins(&coins, &r->coins, level, NULL,
                             r->npy ? row : fre_map_key(&r->texts, (uint32_t)i));
    if (st != FRE_OK)
        return st;
    *weight = fre_aggregate_level_weight(counted, l, &coins);
    fre_rng_wipe(&coins);
    return FRE_OK;
}

static fre_status count_level(curator_run *r, uint64_t *count, const uint32_t *of, size_t stride,
                              uint32_t level, fre_err *err)
{
    const fre_plan_level l = curator_plan_level(r, level);

    for (size_t i = 0; i < r->n_texts; i++) {
        fre_status st;

        if (!fre_aggregate_goes_on(r->text_row[i]) || r->text_cell[i] == CURATOR_NONE)
            continue;
        st = weigh(r, &r->text_weight[i], i, level, &l);
        if (st != FRE_OK)
            return fre_fail(err, st, "the coins cannot be tossed: %s", fre_status_text(st));
        count[of[i * stride]] += r->text_weight[i];
    }
    return FRE_OK;
}

/* Empty cells too: a public cell's count is noisy whether or not anybody is in it. */
static fre_status release_level(curator_run *r, const uint64_t *count, size_t cells, uint32_t level,
                                fre_err *err)
{
    const fre_plan_level l = curator_plan_level(r, level);
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < cells; i++) {
        curator_cell c = {.level = level, .cell = (uint32_t)i, .exact = count[i]};

        if (fre_aggregate_level_released(&c.count, count[i], &l, &r->counts))
            st = append(r, &c, err);
    }
    return st;
}

static int by_name(const void *a, const void *b, void *run)
{
    const curator_run *r = run;

    return memcmp(fre_map_key(&r->cells, ((const curator_cell *)a)->cell),
                  fre_map_key(&r->cells, ((const curator_cell *)b)->cell), FRE_CELL_BYTES);
}

/* The grid's cells are numbered as they came; released, they stand in the order of their names, so that
 * nothing depends on the order of the input. */
static void number_released(curator_run *r, uint32_t *row, size_t first, uint32_t level)
{
    if (level == 0 && r->n_released > 1)
        qsort_r(r->released, r->n_released, sizeof *r->released, by_name, r);
    for (size_t i = first; i < r->n_released; i++) {
        r->released[i].at = (uint32_t)i;
        row[r->released[i].cell] = (uint32_t)i;
    }
}

static fre_status count_here(curator_run *r, uint64_t **count, size_t cells, const uint32_t *of,
                             size_t stride, uint32_t level, fre_err *err)
{
    *count = calloc(cells + 1, sizeof **count);
    if (!*count)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the cells of a level");
    if (!r->parts)
        return count_level(r, *count, of, stride, level, err);
    curator_counts_of_parts(r, *count);
    return FRE_OK;
}

static fre_status choose_level(curator_run *r, uint32_t level, fre_err *err)
{
    const size_t first = r->n_released, n_levels = r->plan.request.n_levels;
    const uint32_t *of = level == 0 ? r->text_cell : r->text_public + (level - 1);
    const size_t stride = level == 0 ? 1 : n_levels;
    uint64_t *count = NULL;
    uint32_t *row = NULL;
    size_t cells;
    fre_status st = FRE_OK;

    if (r->parts && level != fre_partial_task_view(r->parts)->stage)
        st = curator_ask(r, level, err);
    if (st == FRE_OK && r->parts && level == 0)
        st = curator_grid_of_parts(r, &count, err);
    cells = level == 0 ? r->cells.n : (size_t)curator_sketch(r, level)->codebook.cells;
    if (st == FRE_OK && !count)
        st = count_here(r, &count, cells, of, stride, level, err);
    if (st != FRE_OK)
        goto out;
    row = rows_of(cells);
    st = row ? release_level(r, count, cells, level, err)
             : fre_fail(err, FRE_E_NOMEM, "out of memory for the cells of a level");
    if (st == FRE_OK) {
        number_released(r, row, first, level);
        assign(r, row, of, stride);
    }
out:
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
    const uint32_t n_levels = (uint32_t)r->plan.request.n_levels;
    fre_status st;

    r->text_row = rows_of(r->n_texts);
    if (!r->text_row)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for %zu texts", r->n_texts);
    st = FRE_OK;
    for (uint32_t i = r->plan.request.no_grid ? 1 : 0; st == FRE_OK && i <= n_levels; i++) {
        fre_progress_update(r->opts->progress, "counting", i, n_levels);
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : choose_level(r, i, err);
    }
    if (st == FRE_OK && r->parts && r->n_released > 0)
        st = curator_ask(r, FRE_PARTIAL_SUMS, err);
    return st == FRE_OK ? shuffle(r, err) : st;
}
