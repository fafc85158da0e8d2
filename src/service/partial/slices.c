/* partial/slices.c - into what parts are cut, and what is left of a slice once all parts are in it. */
#include "partial_private.h"

#include <inttypes.h>

/* ---- slices --------------------------------------------------------------------------------------- */

#define SLICES_BEST 512u                /* more make the driver wait */
#define SLICE_BYTES ((double)(1 << 24)) /* that one is sent, of all parts */

uint32_t fre_partial_slices(const fre_partial_task *t, size_t parts)
{
    const uint32_t most = parts == 0 ? 1 : parts < SLICES_BEST ? (uint32_t)parts : SLICES_BEST;
    double cells, bytes = 4 + 8, want;

    if (t->stage == 0)
        return most;
    if (t->stage == FRE_PARTIAL_SUMS) {
        cells = (double)t->n_released;
        bytes += 8.0 * t->terms.dim;
    } else {
        cells = (double)t->terms.level[t->stage].sketch.codebook.cells;
    }
    want = 1 + (double)parts * cells * bytes / SLICE_BYTES;
    return want < most ? (uint32_t)want : most;
}

uint32_t partial_slice(const fre_partial *p, const uint8_t *name, uint32_t cell, uint32_t of)
{
    uint64_t at = 0;

    if (!p->in_grid)
        return (uint32_t)((uint64_t)cell * of / p->n_slot_of);
    for (unsigned i = 0; i < 4; i++)
        at = at << 8 | name[i];
    return (uint32_t)(at * of >> 32);
}

bool partial_has_slice(const fre_partial *p, uint32_t slice)
{
    return p->slice[slice / 8] >> slice % 8 & 1;
}

void partial_set_slice(fre_partial *p, uint32_t slice, uint32_t of)
{
    p->n_slices += !partial_has_slice(p, slice);
    p->slice[slice / 8] |= (uint8_t)(1u << slice % 8);
    p->of = of;
}

uint32_t partial_first_slice(const fre_partial *p)
{
    uint32_t i = 0;

    while (!partial_has_slice(p, i))
        i++;
    return i;
}

fre_status fre_partial_check_whole(const fre_partial *p, fre_err *err)
{
    if (p->of == 0)
        return fre_fail(err, FRE_E_NOINPUT,
                        "the workers have no record: give at least one text, and add their parts");
    return p->n_slices == p->of
               ? FRE_OK
               : fre_fail(err, FRE_E_DATA,
                          "%" PRIu32 " of %" PRIu32 " slices of a stage are missing: "
                          "add each once",
                          p->of - p->n_slices, p->of);
}

fre_status partial_set_part(fre_partial *p, uint64_t part)
{
    const fre_status st = fre_grow((void **)&p->part, &p->cap_part, 1, sizeof *p->part);

    if (st != FRE_OK)
        return st;
    p->part[0] = (partial_part){.number = part};
    p->n_parts = 1;
    partial_set_slice(p, 0, 1);
    return FRE_OK;
}

/* ---- close ---------------------------------------------------------------------------------------- */

bool partial_prunes(const fre_partial *p, uint64_t *tau)
{
    const fre_partial_task *t = &p->task;

    if (t->stage == FRE_PARTIAL_SUMS || t->terms.level[t->stage].counts != FRE_COUNTS_SAMPLED)
        return false;
    *tau = t->terms.level[t->stage].tau;
    return true;
}

/* Names of the cells that stay, in the order of their slots. */
static fre_status keep_names(fre_map *kept, const fre_partial *p, uint64_t tau)
{
    size_t n = 0;
    uint32_t index;
    bool added;
    fre_status st;

    for (size_t i = 0; i < p->n; i++)
        n += fre_aggregate_released(p->count[i], tau);
    st = fre_map_reserve(kept, n);
    for (size_t i = 0; st == FRE_OK && i < p->n; i++)
        if (fre_aggregate_released(p->count[i], tau))
            st = fre_map_put(kept, &index, &added, fre_map_key(&p->grid, (uint32_t)i));
    return st;
}

static void keep_counts(fre_partial *p, uint64_t tau)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        const bool stays = fre_aggregate_released(p->count[i], tau);

        if (!p->in_grid)
            p->slot_of[p->cell[i]] = stays ? (uint32_t)n : FRE_MAP_NONE;
        if (!stays)
            continue;
        p->count[n] = p->count[i];
        if (!p->in_grid)
            p->cell[n] = p->cell[i];
        n++;
    }
    fre_wipe(p->count + n, (p->n - n) * sizeof *p->count);
    p->left_out = p->n - n;
    p->n = n;
}

fre_status fre_partial_close(fre_partial *p, size_t parts, fre_err *err)
{
    fre_map kept;
    uint64_t tau;
    fre_status st;

    if (p->closed)
        return fre_fail(err, FRE_E_ARG, "what parts add up to is closed already");
    if (p->n_parts != parts || p->of == 0)
        return fre_fail(
            err, FRE_E_DATA,
            "%zu parts of a stage were made, and %zu are here: run this again, and keep what "
            "the workers read where it is",
            parts, p->n_parts);
    if (partial_prunes(p, &tau)) {
        fre_map_init(&kept, FRE_CELL_BYTES);
        st = p->in_grid ? keep_names(&kept, p, tau) : FRE_OK;
        if (st != FRE_OK) {
            fre_map_wipe(&kept);
            return partial_out_of_memory(st, err);
        }
        keep_counts(p, tau);
        fre_map_wipe(&p->grid);
        p->grid = kept;
    }
    p->closed = true;
    return FRE_OK;
}

uint64_t fre_partial_left_out(const fre_partial *p)
{
    return p->left_out;
}
