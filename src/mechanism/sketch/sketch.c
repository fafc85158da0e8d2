/* Names of cells, of either kind; see sketch.h. */
#include <fre/sketch.h>

#include "sketch_private.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define CELL_LABEL "fre/cell/v1"
#define PUBLIC_LABEL "fre/public-cell/v1"

fre_status fre_sketch_new(fre_sketch **out, const fre_sketch_params *p)
{
    fre_sketch *s = NULL;
    fre_status st;

    if (!out || !p || p->dim == 0 || p->dim > FRE_SKETCH_DIM_MAX || p->grid.proj == 0 ||
        p->grid.proj > FRE_SKETCH_PROJ_MAX || !isfinite(p->grid.cell_edge) ||
        p->grid.cell_edge <= 0.0)
        return FRE_E_ARG;
    s = calloc(1, sizeof *s);
    if (!s)
        return FRE_E_NOMEM;
    s->spec.grid = p->grid;
    s->dim = p->dim;
    s->params = *p;
    st = fre_grid_init(&s->grid, p);
    if (st != FRE_OK)
        goto out;
    *out = s;
    s = NULL; /* handed over */
out:
    fre_sketch_free(s);
    return st;
}

void fre_sketch_free(fre_sketch *s)
{
    if (!s)
        return;
    if (s->spec.kind == FRE_SKETCH_GRID)
        fre_grid_wipe(&s->grid);
    free(s);
}

const fre_sketch_params *fre_sketch_params_view(const fre_sketch *s)
{
    return s->spec.kind == FRE_SKETCH_GRID ? &s->params : NULL;
}

const fre_sketch_spec *fre_sketch_spec_view(const fre_sketch *s)
{
    return &s->spec;
}

uint32_t fre_sketch_dim(const fre_sketch *s)
{
    return s->dim;
}

fre_status fre_sketch_coords(const fre_sketch *s, int32_t *out, const float *x, size_t n)
{
    if (!s || !out || !x || n != s->dim || s->spec.kind != FRE_SKETCH_GRID)
        return FRE_E_ARG;
    return fre_grid_coords(&s->grid, out, x);
}

static uint8_t *put_le32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        *p++ = (uint8_t)(v >> (8 * i));
    return p;
}

static fre_status grid_cell(const fre_sketch *s, fre_cell *out, const float *x, size_t n)
{
    uint8_t message[sizeof CELL_LABEL - 1 + 32 + 4 + 4 * FRE_SKETCH_PROJ_MAX]; /* SECRET */
    int32_t c[FRE_SKETCH_PROJ_MAX];                                            /* SECRET */
    uint8_t *p = message;
    fre_status st;

    st = fre_sketch_coords(s, c, x, n);
    if (st != FRE_OK)
        return st;
    memcpy(p, CELL_LABEL, sizeof CELL_LABEL - 1);
    p += sizeof CELL_LABEL - 1;
    memcpy(p, s->params.seed, sizeof s->params.seed);
    p = put_le32(p + sizeof s->params.seed, s->params.grid.proj);
    for (uint32_t i = 0; i < s->params.grid.proj; i++)
        p = put_le32(p, (uint32_t)c[i]);
    if (crypto_generichash(out->bytes, sizeof out->bytes, message, (size_t)(p - message), NULL, 0))
        st = FRE_E_INTERNAL; /* only for lengths it cannot have */
    fre_wipe(message, sizeof message);
    fre_wipe(c, sizeof c);
    return st;
}

fre_status fre_sketch_cell(const fre_sketch *s, fre_cell *out, const float *x, size_t n)
{
    uint32_t cell; /* SECRET */
    fre_status st;

    if (!s || !out)
        return FRE_E_ARG;
    if (s->spec.kind == FRE_SKETCH_GRID)
        return grid_cell(s, out, x, n);
    st = fre_sketch_nearest(s, &cell, x, n);
    if (st == FRE_OK)
        st = fre_sketch_public_cell(out, &s->spec, cell);
    fre_wipe(&cell, sizeof cell);
    return st;
}

/* ---- public cells ---------------------------------------------------------------------------- */

fre_status fre_sketch_new_public(fre_sketch **out, const fre_sketch_spec *spec, uint32_t dim,
                                 const fre_sketch_centres *of)
{
    fre_sketch *s;

    if (!out || !spec || !of || !of->nearest || !of->centre || dim == 0 ||
        dim > FRE_SKETCH_DIM_MAX || spec->kind != FRE_SKETCH_CODEBOOK)
        return FRE_E_ARG;
    s = calloc(1, sizeof *s);
    if (!s)
        return FRE_E_NOMEM;
    s->spec = *spec;
    s->dim = dim;
    s->of = *of;
    *out = s;
    return FRE_OK;
}

fre_status fre_sketch_nearest(const fre_sketch *s, uint32_t *cell, const float *x, size_t n)
{
    uint32_t at = 0; /* SECRET */
    fre_status st;

    if (!s || !cell || !x || n != s->dim || s->spec.kind != FRE_SKETCH_CODEBOOK)
        return FRE_E_ARG;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return FRE_E_ARG;
    st = s->of.nearest(s->of.ctx, s->spec.codebook.level, &at, x);
    if (st == FRE_OK && at >= s->spec.codebook.cells)
        st = FRE_E_INTERNAL;
    if (st == FRE_OK)
        *cell = at;
    fre_wipe(&at, sizeof at);
    return st;
}

fre_status fre_sketch_centre(const fre_sketch *s, float *out, uint32_t cell)
{
    if (!s || !out || s->spec.kind != FRE_SKETCH_CODEBOOK || cell >= s->spec.codebook.cells)
        return FRE_E_ARG;
    s->of.centre(s->of.ctx, s->spec.codebook.level, cell, out);
    return FRE_OK;
}

fre_status fre_sketch_public_cell(fre_cell *out, const fre_sketch_spec *s, uint32_t cell)
{
    const fre_sketch_codebook *c = &s->codebook;
    uint8_t message[sizeof PUBLIC_LABEL - 1 + 32 + 4 + 4];
    uint8_t *p = message + sizeof PUBLIC_LABEL - 1;

    if (s->kind != FRE_SKETCH_CODEBOOK || cell >= c->cells)
        return FRE_E_ARG;
    memcpy(message, PUBLIC_LABEL, sizeof PUBLIC_LABEL - 1);
    memcpy(p, c->sha256, sizeof c->sha256);
    p = put_le32(p + sizeof c->sha256, c->level);
    (void)put_le32(p, cell);
    /* Fails only for lengths it cannot have. */
    (void)crypto_generichash(out->bytes, sizeof out->bytes, message, sizeof message, NULL, 0);
    return FRE_OK;
}
