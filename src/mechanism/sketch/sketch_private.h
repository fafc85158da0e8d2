/* The grid kind: y = <g, x>/sqrt(k) and c = floor((y + b)/L), [Fre-E2T, sec. 3.1, step 1]. */
#ifndef FRE_SKETCH_PRIVATE_H
#define FRE_SKETCH_PRIVATE_H

#include <fre/sketch.h>

/* Lanes are doubles that belong to different projections; a group is summed in one sweep over x
 * and fits the sixteen vector registers of the oldest x86-64 and of ARMv8. */
#define FRE_GRID_GROUP_LANES 24u
#define FRE_GRID_LANES_MAX (FRE_SKETCH_PROJ_MAX + FRE_GRID_GROUP_LANES)

typedef struct fre_grid {
    uint32_t dim, proj;
    uint32_t group_lanes; /* lanes a group, even */
    uint32_t groups;
    double cell_edge, root_proj;
    double offset[FRE_SKETCH_PROJ_MAX]; /* b_i in [0, L) */
    double *matrix; /* group-major, then coordinate j of x, then lane; g_i,j a multiple of 2^-24 */
} fre_grid;

FRE_MUST_CHECK fre_status fre_grid_init(fre_grid *g, const fre_sketch_params *p);
void fre_grid_wipe(fre_grid *g);

struct fre_sketch {
    fre_sketch_spec spec;
    uint32_t dim;
    fre_sketch_params params; /* of a grid, and the grid */
    fre_grid grid;
    fre_sketch_centres of; /* of public cells */
};

/* Coordinates of one finite x of g->dim floats; c has g->proj places and is written on success. */
FRE_MUST_CHECK fre_status fre_grid_coords(const fre_grid *g, int32_t *c, const float *x);

/* Entry g_i,j of the expanded projection. */
double fre_grid_entry(const fre_grid *g, uint32_t i, uint32_t j);

#endif
