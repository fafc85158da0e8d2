/* partial/encode.c - a part in bytes: one slice of it, or all; docs/formats.md has them. */
#include "partial_private.h"

#include <stdlib.h>
#include <string.h>

/* What is written: a slice, and its cells. */
typedef struct piece {
    uint32_t index, of;
    const uint32_t *slot; /* in the order of the cells */
    size_t n;
} piece;

typedef struct named {
    const uint8_t *name;
    uint32_t slot;
} named;

static int by_name(const void *a, const void *b)
{
    return memcmp(((const named *)a)->name, ((const named *)b)->name, FRE_CELL_BYTES);
}

static fre_status order_grid(uint32_t *slot, const fre_partial *p)
{
    named *order = malloc((p->n + 1) * sizeof *order);

    if (!order)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < p->n; i++)
        order[i] = (named){fre_map_key(&p->grid, (uint32_t)i), (uint32_t)i};
    qsort(order, p->n, sizeof *order, by_name);
    for (size_t i = 0; i < p->n; i++)
        slot[i] = order[i].slot;
    free(order);
    return FRE_OK;
}

/* *slot: n of them, in the order of their cells; owned. */
static fre_status in_order(uint32_t **slot, const fre_partial *p)
{
    size_t n = 0;
    fre_status st = FRE_OK;

    *slot = malloc((p->n + 1) * sizeof **slot);
    if (!*slot)
        return FRE_E_NOMEM;
    if (p->in_grid)
        st = order_grid(*slot, p);
    else
        for (size_t i = 0; i < p->n_slot_of; i++)
            if (p->slot_of[i] != FRE_MAP_NONE)
                (*slot)[n++] = p->slot_of[i];
    if (st == FRE_OK)
        return st;
    free(*slot);
    *slot = NULL;
    return st;
}

static void put_cell(fre_out *o, const fre_partial *p, uint32_t slot)
{
    if (p->in_grid)
        fre_out_put(o, fre_map_key(&p->grid, slot), FRE_CELL_BYTES);
    else
        fre_out_uint(o, p->cell[slot], 4);
    fre_out_uint(o, p->count[slot], 8);
    for (size_t k = 0; k < p->width; k++)
        fre_out_uint(o, (uint64_t)p->sum[slot * p->width + k], 8);
}

/* All but the checksum. */
static void put_piece(fre_out *o, const fre_partial *p, const piece *what)
{
    fre_out_put(o, PARTIAL_MAGIC, PARTIAL_MAGIC_BYTES);
    fre_out_put(o, p->task_hash, sizeof p->task_hash);
    fre_out_uint(o, what->index, 4);
    fre_out_uint(o, what->of, 4);
    fre_out_uint(o, p->closed, 1);
    fre_out_uint(o, p->left_out, 8);
    fre_out_uint(o, p->n_parts, 4);
    for (size_t i = 0; i < p->n_parts; i++) {
        fre_out_uint(o, p->part[i].number, 8);
        fre_out_uint(o, p->part[i].check, 8);
    }
    if (p->has_survey && what->index == 0)
        partial_survey_put(o, &p->survey);
    fre_out_uint(o, what->n, 4);
    for (size_t i = 0; o->st == FRE_OK && i < what->n; i++)
        put_cell(o, p, what->slot[i]);
}

fre_status fre_partial_encode(fre_buf *out, const fre_partial *p)
{
    fre_out o = fre_out_begin(out);
    piece all = {.index = 0, .of = 1, .n = p->n};
    uint32_t *slot = NULL;

    if (p->n_slices == 1 && p->of > 1) {
        all.index = partial_first_slice(p);
        all.of = p->of;
    } else if (p->of == 0 || p->n_slices < p->of) {
        return FRE_E_ARG;
    }
    o.st = in_order(&slot, p);
    all.slot = slot;
    put_piece(&o, p, &all);
    free(slot);
    return partial_end(&o);
}

/* ---- slices of a worker's part -------------------------------------------------------------------- */

static uint32_t slice_of_slot(const fre_partial *p, uint32_t slot, uint32_t of)
{
    return p->in_grid ? partial_slice(p, fre_map_key(&p->grid, slot), 0, of)
                      : partial_slice(p, NULL, p->cell[slot], of);
}

static fre_status put_slices(fre_buf *out, uint32_t slices, const fre_partial *p,
                             const uint32_t *slot)
{
    size_t from = 0;

    for (uint32_t i = 0; i < slices; i++) {
        fre_out o = fre_out_begin(&out[i]);
        size_t to = from;
        fre_status st;

        while (to < p->n && slice_of_slot(p, slot[to], slices) == i)
            to++;
        put_piece(&o, p, &(piece){i, slices, slot + from, to - from});
        st = fre_out_end(&o);
        if (st != FRE_OK)
            return st;
        from = to;
    }
    return FRE_OK;
}

/* The part's check, of what all slices are without it, goes into each. */
static fre_status sign_slices(fre_buf *out, uint32_t slices)
{
    uint8_t check[FRE_HASH_BYTES];
    fre_status st = FRE_OK;
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    for (uint32_t i = 0; i < slices; i++)
        fre_sha256_add(&h, out[i].p, out[i].n);
    fre_sha256_end(check, &h);
    for (uint32_t i = 0; st == FRE_OK && i < slices; i++) {
        fre_out o = {.b = &out[i], .start = 0, .st = FRE_OK};

        memcpy(out[i].p + PARTIAL_CHECK_AT, check, PARTIAL_CHECK_BYTES);
        st = partial_end(&o);
    }
    return st;
}

fre_status partial_cut(fre_buf *out, uint32_t slices, const fre_partial *p)
{
    uint32_t *slot = NULL;
    fre_status st = in_order(&slot, p);

    if (st == FRE_OK)
        st = put_slices(out, slices, p, slot);
    if (st == FRE_OK)
        st = sign_slices(out, slices);
    free(slot);
    for (uint32_t i = 0; st != FRE_OK && i < slices; i++)
        fre_buf_wipe(&out[i]);
    return st;
}
