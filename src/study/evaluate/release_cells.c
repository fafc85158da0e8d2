/* evaluate/release_cells.c - the cell level of a release. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_grid(const fre_release *r, size_t i)
{
    return r->level[r->cell[i].level].sketch.kind == FRE_SKETCH_GRID;
}

fre_status evaluate_release_cells(fre_evaluation *e, const fre_release *from,
                                  const fre_originals *originals, uint32_t threads)
{
    const size_t d = from->grid.dim;
    fre_cell *name = NULL;
    float *centroid = NULL;
    fre_sketch *s = NULL;
    size_t n = 0;
    fre_status st;

    if ((from->n > 0 && !from->cell_name) || from->level[0].sketch.kind != FRE_SKETCH_GRID)
        return FRE_OK; /* the release does not name its cells, or has no grid: no cell level */
    name = malloc((from->n + 1) * sizeof *name);
    centroid = malloc((from->n * d + 1) * sizeof *centroid);
    st = name && centroid ? fre_sketch_new(&s, &from->grid) : FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < from->n; i++) {
        if (!is_of_grid(from, i))
            continue;
        name[n] = from->cell_name[i];
        memcpy(centroid + n++ * d, from->centroid + i * d, d * sizeof *centroid);
    }
    if (st == FRE_OK)
        st = fre_evaluate_cells(&e->cell, s, originals, e->threshold, name, centroid, n, threads);
    fre_sketch_free(s);
    free(name);
    free(centroid);
    e->has_cell = st == FRE_OK;
    return st;
}
