/* evaluate/members.c - which released cell each original is in: the curator's own rule (curator/choose.c),
 * read from what the release says of its cells. */
#include "evaluate_private.h"

#include <fre/aggregate.h>
#include <fre/linalg.h>

#include <stdlib.h>
#include <string.h>

#define ROWS 1024u

static bool is_grid(const fre_release *r, size_t level)
{
    return r->level[level].sketch.kind == FRE_SKETCH_GRID;
}

bool evaluate_names_cells(const fre_release *r)
{
    return r->n == 0 || r->cell_name != NULL;
}

bool evaluate_has_public_cells(const fre_release *r)
{
    return r->n_levels > 0 && !is_grid(r, r->n_levels - 1);
}

/* A released cell of the grid. */
typedef struct named {
    fre_cell name;
    uint32_t cell; /* in the release */
} named;

static int compare_named(const void *a, const void *b)
{
    return memcmp(&((const named *)a)->name, &((const named *)b)->name, sizeof(fre_cell));
}

typedef struct places {
    const fre_release *r;
    const fre_codebook *codebook;
    const fre_originals *o;
    fre_sketch *sketch; /* NULL: no level is of the grid */
    named *named;       /* of the grid, by name */
    size_t n_named;
    uint32_t in_codebook[FRE_LEVELS_MAX + 1]; /* level of the codebook that a level is */
    uint32_t *released[FRE_LEVELS_MAX + 1]; /* of each public cell of a level: the released cell */
    uint32_t *member;
} places;

/* ---- what is released ---------------------------------------------------------------------------- */

static fre_status find_level(places *p, size_t level, fre_err *err)
{
    const uint32_t at = fre_codebook_find(p->codebook, p->r->level[level].name);

    if (at == fre_codebook_info_view(p->codebook)->n_levels)
        return fre_fail(err, FRE_E_DATA,
                        "the codebook has no level '%s', which the release has: name the one that "
                        "it was made with, {codebook}",
                        p->r->level[level].name);
    p->in_codebook[level] = at;
    return FRE_OK;
}

static fre_status note_level(places *p, size_t level, fre_err *err)
{
    fre_status st = find_level(p, level, err);
    size_t cells;

    if (st != FRE_OK)
        return st;
    cells = fre_codebook_level_view(p->codebook, p->in_codebook[level])->cells;
    p->released[level] = malloc(cells * sizeof *p->released[level]);
    if (!p->released[level])
        return evaluate_no_memory(err);
    memset(p->released[level], 0xff, cells * sizeof *p->released[level]); /* FRE_RELEASE_NONE */
    for (size_t i = 0; i < p->r->n; i++) {
        const fre_released_cell *c = &p->r->cell[i];

        if (c->level != level)
            continue;
        if (c->centre >= cells)
            return fre_fail(err, FRE_E_DATA,
                            "the release has a cell that level %s of the codebook lacks",
                            p->r->level[level].name);
        p->released[level][c->centre] = (uint32_t)i;
    }
    return FRE_OK;
}

static fre_status note_grid(places *p, size_t level, fre_err *err)
{
    fre_status st = fre_sketch_new(&p->sketch, &p->r->grid);

    if (st == FRE_OK) {
        p->named = malloc((p->r->n + 1) * sizeof *p->named);
        st = p->named ? FRE_OK : FRE_E_NOMEM;
    }
    for (size_t i = 0; st == FRE_OK && i < p->r->n; i++)
        if (p->r->cell[i].level == level)
            p->named[p->n_named++] = (named){p->r->cell_name[i], (uint32_t)i};
    if (st != FRE_OK)
        return evaluate_with_text(err, st);
    qsort(p->named, p->n_named, sizeof *p->named, compare_named);
    return FRE_OK;
}

static fre_status note_released(places *p, fre_err *err)
{
    const uint8_t *file = p->r->level[p->r->n_levels - 1].sketch.codebook.sha256;
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_status st = FRE_OK;

    if (!evaluate_names_cells(p->r))
        return fre_fail(err, FRE_E_DATA, "the release does not name its cells");
    if (evaluate_has_public_cells(p->r) &&
        (!p->codebook ||
         memcmp(file, fre_codebook_info_view(p->codebook)->sha256, FRE_HASH_BYTES) != 0)) {
        fre_hex(hex, file, FRE_HASH_BYTES);
        return fre_fail(err, FRE_E_DATA,
                        "the release was made with another codebook (sha256 %.12s...): name that, "
                        "{codebook}",
                        hex);
    }
    for (size_t i = 0; st == FRE_OK && i < p->r->n_levels; i++)
        st = is_grid(p->r, i) ? note_grid(p, i, err) : note_level(p, i, err);
    return st;
}

/* ---- where an original is -------------------------------------------------------------------------- */

static fre_status place_row(const places *p, uint32_t *member, const float *x,
                            const uint32_t *public_cell)
{
    fre_status st = FRE_OK;

    for (size_t l = 0; st == FRE_OK && *member == FRE_RELEASE_NONE && l < p->r->n_levels; l++) {
        if (p->released[l]) {
            *member = p->released[l][public_cell[p->in_codebook[l]]];
        } else {
            named key = {.cell = 0};
            const named *hit;

            st = fre_sketch_cell(p->sketch, &key.name, x, p->o->d);
            hit = st == FRE_OK ? bsearch(&key, p->named, p->n_named, sizeof key, compare_named)
                               : NULL;
            *member = hit ? hit->cell : FRE_RELEASE_NONE;
        }
    }
    return st == FRE_E_LIMIT ? FRE_E_DATA : st;
}

/* Embeddings longer than the norm bound are cut to it before they have a cell. */
static fre_status place_block(void *ctx, uint64_t b)
{
    const places *p = ctx;
    const size_t d = p->o->d, from = (size_t)b * ROWS;
    const size_t n = p->o->n - from < ROWS ? p->o->n - from : ROWS;
    const size_t n_levels = p->codebook ? fre_codebook_info_view(p->codebook)->n_levels : 0;
    float *x = malloc(n * d * sizeof *x);
    uint32_t *cell = malloc((n * n_levels + 1) * sizeof *cell);
    fre_status st = !x || !cell ? FRE_E_NOMEM : fre_interrupted() ? FRE_E_INTERRUPTED : FRE_OK;

    if (st == FRE_OK)
        memcpy(x, p->o->x + from * d, n * d * sizeof *x);
    for (size_t i = 0; st == FRE_OK && p->r->norm_bound > 0 && i < n; i++)
        st = fre_aggregate_clip(x + i * d, d, p->r->norm_bound) ? FRE_OK : FRE_E_DATA;
    if (st == FRE_OK && p->codebook)
        st = fre_codebook_cells(p->codebook, cell, x, n, 1);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        if (p->o->weight[from + i] > 0)
            st = place_row(p, &p->member[from + i], x + i * d, cell + i * n_levels);
    fre_wipe_free(x, n * d * sizeof *x);
    fre_wipe_free(cell, (n * n_levels + 1) * sizeof *cell);
    return st;
}

fre_status fre_evaluate_members(uint32_t *member, const fre_release *r,
                                const fre_codebook *codebook, const fre_originals *o,
                                uint32_t threads, fre_err *err)
{
    places p = {.r = r, .codebook = codebook, .o = o, .member = member};
    fre_status st;

    if (!member || !r || !o || r->n_levels == 0 || o->d != r->grid.dim || threads == 0)
        return fre_fail(err, FRE_E_ARG, "members need a release and originals of its dimension");
    st = note_released(&p, err);
    if (st == FRE_OK) {
        memset(member, 0xff, o->n * sizeof *member); /* FRE_RELEASE_NONE */
        st = fre_parallel(threads, (o->n + ROWS - 1) / ROWS, place_block, &p);
        if (st == FRE_E_DATA)
            st = fre_fail(err, st,
                          "an original has no cell: a number that is none, or far beyond "
                          "the grid");
        else if (st != FRE_OK)
            st = evaluate_with_text(err, st);
    }
    for (size_t i = 0; i < r->n_levels; i++)
        free(p.released[i]);
    free(p.named);
    fre_sketch_free(p.sketch);
    return st;
}
