/* server/agreement.c - the terms of a collection, and what all roles derive from them. */
#include "server_private.h"

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

static fre_status derive(fre_agreement *a, fre_err *err)
{
    const fre_collection *c = &a->w.c;
    fre_sketch_params grid = {.dim = c->dim, .grid = {c->proj, c->cell_edge}};
    uint32_t bits;
    fre_status st;

    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
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
    st = fre_sketch_new(&a->grid, &grid);
    return st == FRE_OK ? fre_rotation_new(&a->rotation, c->dim, c->sign_seed) : st;
}

fre_status server_agree(fre_agreement **out, const fre_collection *c, fre_err *err)
{
    fre_agreement *a;
    fre_status st;

    if (c->one_contact && !c->cover)
        return fre_fail(err, FRE_E_DATA, "collection: cover must be on with one contact");
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
