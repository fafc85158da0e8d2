/* partial/partial.c - a part, and what parts add up to: integers, so in any order. */
#include "partial_private.h"

#include <stdlib.h>
#include <string.h>

fre_status partial_out_of_memory(fre_status st, fre_err *err)
{
    return fre_fail(err, st, "%s for the counts of parts", fre_status_text(st));
}

/* ---- life ----------------------------------------------------------------------------------------- */

static fre_status make_tables(fre_partial *p)
{
    const fre_partial_task *t = &p->task;
    const bool sums = t->stage == FRE_PARTIAL_SUMS;

    fre_map_init(&p->grid, FRE_CELL_BYTES);
    p->width = sums ? t->terms.dim : 0;
    p->in_grid = t->stage == 0;
    if (!p->in_grid) {
        p->n_slot_of =
            sums ? t->n_released : (size_t)t->terms.level[t->stage].sketch.codebook.cells;
        p->slot_of = malloc((p->n_slot_of + 1) * sizeof *p->slot_of);
        if (!p->slot_of)
            return FRE_E_NOMEM;
        memset(p->slot_of, 0xff, (p->n_slot_of + 1) * sizeof *p->slot_of); /* FRE_MAP_NONE */
    }
    p->has_survey = t->stage == fre_partial_first_stage(&t->terms);
    return p->has_survey ? partial_survey_init(&p->survey, t->terms.salt) : FRE_OK;
}

fre_status fre_partial_new(fre_partial **out, fre_bytes task, fre_err *err)
{
    fre_partial *p = calloc(1, sizeof *p);
    fre_sha256 h;
    fre_status st;

    if (!p)
        return partial_out_of_memory(FRE_E_NOMEM, err);
    st = fre_partial_task_decode(&p->task, task, err);
    if (st != FRE_OK) {
        free(p);
        return st;
    }
    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, task.p, task.n);
    fre_sha256_end(p->task_hash, &h);
    st = make_tables(p);
    if (st != FRE_OK) {
        fre_partial_free(p);
        return partial_out_of_memory(st, err);
    }
    *out = p;
    return FRE_OK;
}

void fre_partial_free(fre_partial *p)
{
    if (!p)
        return;
    fre_map_wipe(&p->grid);
    fre_wipe_free(p->slot_of, p->slot_of ? p->n_slot_of * sizeof *p->slot_of : 0);
    fre_wipe_free(p->cell, p->cap_cell * sizeof *p->cell);
    fre_wipe_free(p->count, p->cap_count * sizeof *p->count);
    fre_wipe_free(p->sum, p->cap_sum * sizeof *p->sum);
    free(p->part);
    partial_survey_wipe(&p->survey);
    fre_partial_task_wipe(&p->task);
    fre_wipe(p, sizeof *p);
    free(p);
}

/* ---- views ---------------------------------------------------------------------------------------- */

const fre_partial_task *fre_partial_task_view(const fre_partial *p)
{
    return &p->task;
}

const fre_partial_survey *fre_partial_survey_view(const fre_partial *p)
{
    return p->has_survey ? &p->survey : NULL;
}

fre_partial_survey *partial_survey_of(fre_partial *p)
{
    return p->has_survey ? &p->survey : NULL;
}

size_t fre_partial_cells(const fre_partial *p)
{
    return p->n;
}

uint64_t fre_partial_cell_view(const fre_partial *p, size_t i, fre_partial_cell *cell,
                               const int64_t **sum)
{
    *cell = (fre_partial_cell){.level = p->task.stage};
    if (p->in_grid)
        memcpy(cell->name, fre_map_key(&p->grid, (uint32_t)i), sizeof cell->name);
    else
        cell->cell = p->cell[i];
    *sum = p->width > 0 ? p->sum + i * p->width : NULL;
    return p->count[i];
}

/* ---- slots ---------------------------------------------------------------------------------------- */

fre_status partial_make_room(fre_partial *p, size_t more)
{
    const size_t n = p->n + more;
    fre_status st = fre_grow((void **)&p->count, &p->cap_count, n, sizeof *p->count);

    if (st == FRE_OK && p->width > 0)
        st = fre_grow((void **)&p->sum, &p->cap_sum, n * p->width, sizeof *p->sum);
    if (st != FRE_OK)
        return st;
    return p->in_grid ? fre_map_reserve(&p->grid, more)
                      : fre_grow((void **)&p->cell, &p->cap_cell, n, sizeof *p->cell);
}

uint32_t partial_find_slot(const fre_partial *p, const uint8_t *name, uint32_t cell)
{
    return p->in_grid ? fre_map_find(&p->grid, name) : p->slot_of[cell];
}

fre_status partial_slot(fre_partial *p, uint32_t *slot, const uint8_t *name, uint32_t cell)
{
    bool added;
    fre_status st = FRE_OK;

    *slot = partial_find_slot(p, name, cell);
    if (*slot != FRE_MAP_NONE)
        return FRE_OK;
    st = partial_make_room(p, 1);
    if (st == FRE_OK && p->in_grid)
        st = fre_map_put(&p->grid, slot, &added, name);
    if (st != FRE_OK)
        return st;
    if (!p->in_grid) {
        *slot = p->slot_of[cell] = (uint32_t)p->n;
        p->cell[*slot] = cell;
    }
    p->n++;
    return FRE_OK;
}

fre_status partial_count(fre_partial *p, uint32_t slot, uint64_t more)
{
    if (more > FRE_PARTIAL_COUNT_MAX - p->count[slot])
        return FRE_E_LIMIT;
    p->count[slot] += more;
    return FRE_OK;
}

int64_t *partial_sums(fre_partial *p, uint32_t slot)
{
    return p->sum + slot * p->width;
}
