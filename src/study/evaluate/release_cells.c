/* evaluate/release_cells.c - the cell level of a release, and what it stands beside. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_grid(const fre_release *r, size_t i)
{
    return r->level[r->cell[i].level].sketch.kind == FRE_SKETCH_GRID;
}

/* The release's own cells. */
static fre_status own_cells(evaluate_run *r, const fre_sketch *s)
{
    const fre_release *from = &r->release;
    const size_t d = from->grid.dim;
    fre_cell *name = malloc((from->n + 1) * sizeof *name);
    float *centroid = malloc((from->n * d + 1) * sizeof *centroid);
    fre_status st = name && centroid ? FRE_OK : FRE_E_NOMEM;
    size_t n = 0;

    for (size_t i = 0; st == FRE_OK && i < from->n; i++) {
        if (!is_of_grid(from, i))
            continue;
        name[n] = from->cell_name[i];
        memcpy(centroid + n++ * d, from->centroid + i * d, d * sizeof *centroid);
    }
    if (st == FRE_OK)
        st = fre_evaluate_cells(&r->e->cell, s, &r->base->originals, r->e->threshold, name,
                                centroid, n, r->base->opts->threads);
    free(name);
    free(centroid);
    return st;
}

/* The cells of `from` that hold so many, beside those of `beside`. */
static fre_status beside(fre_cell_scores *out, const evaluate_run *r, const fre_sketch *s,
                         const fre_originals *from, uint64_t least, const fre_originals *beside,
                         uint64_t threshold)
{
    const uint32_t threads = r->base->opts->threads;
    fre_cell *name = NULL;
    float *mean = NULL;
    size_t n = 0;
    fre_status st = evaluate_heavy_cells(&name, &mean, &n, s, from, least, threads);

    if (st == FRE_OK)
        st = fre_evaluate_cells(out, s, beside, threshold, name, mean, n, threads);
    free(name);
    free(mean);
    return st;
}

/* Half of the records are in each, so half of the threshold makes a frequent cell. */
static fre_status halves(evaluate_run *r, const fre_sketch *s)
{
    const fre_originals *o = &r->base->originals;
    const uint64_t threshold = r->e->threshold / 2 + r->e->threshold % 2;
    uint64_t *first = malloc((o->n + 1) * sizeof *first);
    const fre_originals one = {o->x, first, o->n, o->d},
                        other = {o->x, r->halves.other, o->n, o->d};
    fre_status st;

    if (!first)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < o->n; i++)
        first[i] = o->weight[i] - r->halves.other[i];
    st = beside(&r->e->cell_reference[FRE_EVALUATE_REFERENCE(FRE_SET_HALVES)], r, s, &one,
                threshold, &other, threshold);
    free(first);
    return st;
}

static fre_status unrelated(evaluate_run *r, const fre_sketch *s)
{
    const evaluate_set *set = &r->set[FRE_SET_UNRELATED];
    uint64_t *weight = malloc((set->n + 1) * sizeof *weight);
    const fre_originals texts = {set->x, weight, set->n, r->base->originals.d};
    fre_status st;

    if (!weight)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < set->n; i++)
        weight[i] = 1;
    st = beside(&r->e->cell_reference[FRE_EVALUATE_REFERENCE(FRE_SET_UNRELATED)], r, s, &texts, 1,
                &r->base->originals, r->e->threshold);
    free(weight);
    return st;
}

fre_status evaluate_release_cells(evaluate_run *r)
{
    const fre_release *from = &r->release;
    fre_sketch *s = NULL;
    fre_status st;

    if ((from->n > 0 && !from->cell_name) || from->level[0].sketch.kind != FRE_SKETCH_GRID)
        return FRE_OK; /* the release does not name its cells, or has no grid: no cell level */
    st = fre_sketch_new(&s, &from->grid);
    if (st == FRE_OK)
        st = own_cells(r, s);
    if (st == FRE_OK && r->e->has[FRE_SET_HALVES])
        st = halves(r, s);
    if (st == FRE_OK && r->e->has[FRE_SET_UNRELATED])
        st = unrelated(r, s);
    fre_sketch_free(s);
    r->e->has_cell = st == FRE_OK;
    if (st != FRE_E_DATA)
        return st;
    evaluate_leave_out(r->e, "cell", "an embedding of the originals lies far outside the release's grid, so "
                                     "that it has no cell there; is it of the release's embedder?");
    return FRE_OK;
}
