/* server/agreement.c - the terms of a collection, and what all roles derive from them. */
#include "server_private.h"

#include <math.h>

/* Two contacts: they follow from the list; here only, whether one cell of everybody can be held. */
static fre_status share_bits(uint32_t *out, fre_agreement *a, fre_err *err)
{
    fre_status st;

    if (!a->w.c.one_contact)
        return fre_share_bits(out, &a->m, a->w.c.split,
                              a->m.population > a->m.tau ? a->m.population : a->m.tau, 1, err);
    st = fre_wire_derive_share_bits(&a->w, NULL, err);
    *out = a->w.share_bits;
    return st;
}

static fre_status lay_grid(fre_agreement *a)
{
    const fre_collection *c = &a->w.c;
    fre_sketch_params grid = {.dim = c->dim, .grid = c->sketch.grid};
    fre_status st;

    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
    st = fre_sketch_new(&a->grid, &grid);
    a->cells = a->grid;
    return st;
}

static fre_status derive(fre_agreement *a, fre_err *err)
{
    const fre_collection *c = &a->w.c;
    uint32_t bits;
    fre_status st;

    fre_collection_mechanism(&a->m, c);
    st = share_bits(&bits, a, err);
    if (st == FRE_OK)
        st = fre_share_cell_init(&a->cell, &a->m, c->split, c->tau, bits, err);
    if (st != FRE_OK)
        return st == FRE_E_USAGE ? FRE_E_DATA : st; /* not the caller's terms */
    if (c->one_contact && !c->server_noise)
        st = fre_gaussian_table_new(&a->table, a->cell.var16);
    if (st != FRE_OK)
        return st;
    st = c->sketch.kind == FRE_SKETCH_GRID ? lay_grid(a) : FRE_OK;
    return st == FRE_OK ? fre_rotation_new(&a->rotation, c->dim, c->sign_seed) : st;
}

fre_status server_agree(fre_agreement **out, const fre_collection *c, fre_err *err)
{
    fre_agreement *a;
    fre_status st;

    if (c->curious % c->cells_per_user != 0)
        return fre_fail(err, FRE_E_DATA,
                        "collection: curious counts places: it must be a multiple of "
                        "cells_per_user, since one participant has so many");
    a = calloc(1, sizeof *a);
    if (!a)
        return FRE_E_NOMEM;
    st = fre_wire_init(&a->w, c, err);
    if (st == FRE_OK)
        st = derive(a, err);
    if (st == FRE_OK)
        *out = a;
    else
        fre_agreement_free(a);
    return st;
}

fre_status fre_agreement_new(fre_agreement **out, const fre_collection *c, fre_err *err)
{
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = fre_collection_check(NULL, c, err);
    return st == FRE_OK ? server_agree(out, c, err) : st;
}

void fre_agreement_free(fre_agreement *a)
{
    if (!a)
        return;
    fre_sketch_free(a->grid);
    fre_rotation_free(a->rotation);
    fre_gaussian_table_free(a->table);
    fre_wipe_free(a, sizeof *a);
}

static bool is_same(const fre_sketch_codebook *a, const fre_sketch_codebook *b)
{
    return memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0 && a->level == b->level &&
           a->cells == b->cells && !(fabs(a->radius - b->radius) > 0) &&
           !(fabs(a->gain - b->gain) > 0);
}

fre_status fre_agreement_set_cells(fre_agreement *a, const fre_sketch *cells, fre_err *err)
{
    const fre_sketch_spec *want, *is;

    if (!a || !cells)
        return FRE_E_ARG;
    want = &a->w.c.sketch;
    is = fre_sketch_spec_view(cells);
    if (want->kind != FRE_SKETCH_CODEBOOK || is->kind != FRE_SKETCH_CODEBOOK)
        return fre_fail(err, FRE_E_DATA,
                        "collection: a codebook is for those whose sketch is a codebook's");
    if (!is_same(&want->codebook, &is->codebook) || fre_sketch_dim(cells) != a->w.c.dim)
        return fre_fail(err, FRE_E_DATA,
                        "collection: this is not its codebook: file, level, radius, gain and "
                        "dimension must be those of the terms");
    a->cells = cells;
    return FRE_OK;
}

fre_status server_need_cells(const fre_agreement *a, fre_err *err)
{
    return a->cells ? FRE_OK
                    : fre_fail(err, FRE_E_STATE,
                               "collection: its codebook is not there: open the file whose "
                               "SHA-256 the terms name");
}

const fre_wire *fre_agreement_wire(const fre_agreement *a)
{
    return &a->w;
}

void fre_agreement_rehearse(fre_agreement *a, const uint8_t *seed, bool exact)
{
    a->exact = exact;
    a->seeded = seed != NULL;
    if (seed)
        memcpy(a->seed, seed, sizeof a->seed);
}
