/* Expansion and evaluation of the seeded grid.  Datar, Immorlica, Indyk, Mirrokni, SoCG 2004;
 * [Fre-E2T, Alg. 1, step 1]. */
#include "sketch_private.h"

#include <fre/sampler.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID_LABEL "fre/grid/v1"
#define GRID_SCALE (UINT64_C(1) << 24)

/* Two doubles: what SSE2 and NEON both have.  Wider vectors would give the same bits, since a
 * lane never meets its neighbours. */
typedef double lanes __attribute__((vector_size(16)));
#define LANES_PER_VECTOR 2u

/* Where (projection i, coordinate j) lives. */
static size_t entry_index(const fre_grid *g, uint32_t i, uint32_t j)
{
    size_t group = i / g->group_lanes;

    return (group * g->dim + j) * g->group_lanes + i % g->group_lanes;
}

double fre_grid_entry(const fre_grid *g, uint32_t i, uint32_t j)
{
    return g->matrix[entry_index(g, i, j)];
}

/* Integers only: g_i,j on 2^-24 row by row, then the offsets on 2^-32 L, from one stream. */
static void expand(fre_grid *g, fre_rng *rng)
{
    for (uint32_t i = 0; i < g->proj; i++)
        for (uint32_t j = 0; j < g->dim; j++)
            g->matrix[entry_index(g, i, j)] =
                (double)fre_sample_rounded_gaussian(rng, GRID_SCALE) / (double)GRID_SCALE;
    for (uint32_t i = 0; i < g->proj; i++)
        g->offset[i] = (double)fre_rng_u32(rng) / 4294967296.0 * g->cell_edge;
}

fre_status fre_grid_init(fre_grid *g, const fre_sketch_params *p)
{
    fre_grid t = {.dim = p->dim, .proj = p->grid.proj, .cell_edge = p->grid.cell_edge};
    fre_rng rng;
    fre_status st;
    uint32_t padded;
    size_t bytes;

    /* Even groups of equal width: k = 30 is two sweeps of 16 lanes, not 24 and 6. */
    padded = (p->grid.proj + LANES_PER_VECTOR - 1) / LANES_PER_VECTOR * LANES_PER_VECTOR;
    t.groups = (padded + FRE_GRID_GROUP_LANES - 1) / FRE_GRID_GROUP_LANES;
    t.group_lanes = (padded / LANES_PER_VECTOR + t.groups - 1) / t.groups * LANES_PER_VECTOR;
    t.root_proj = sqrt((double)p->grid.proj);
    bytes = (size_t)t.groups * t.dim * t.group_lanes * sizeof *t.matrix;
    t.matrix = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!t.matrix)
        return FRE_E_NOMEM;
    memset(t.matrix, 0, bytes); /* lanes beyond k stay zero */
    st = fre_rng_init_seeded(&rng, p->seed, GRID_LABEL);
    if (st != FRE_OK) {
        free(t.matrix);
        return st;
    }
    expand(&t, &rng);
    fre_rng_wipe(&rng);
    *g = t;
    return FRE_OK;
}

void fre_grid_wipe(fre_grid *g)
{
    free(g->matrix);
    memset(g, 0, sizeof *g);
}

/* y_l = sum over j = 0, 1, ... of x_j g_l,j, one rounding an addition: the products are exact,
 * 24 bits of a float times at most 28 of a multiple of 2^-24.  n is a constant after inlining, so
 * the sums live in registers. */
static inline __attribute__((always_inline)) void sweep_n(double *y, const double *matrix,
                                                          const float *x, size_t d, size_t n)
{
    lanes sum[FRE_GRID_GROUP_LANES / LANES_PER_VECTOR] = {{0.0, 0.0}};

    for (size_t j = 0; j < d; j++) {
        lanes v = {(double)x[j], (double)x[j]};
#pragma GCC unroll 12
        for (size_t l = 0; l < n; l++) {
            lanes m;
            memcpy(&m, matrix + (j * n + l) * LANES_PER_VECTOR, sizeof m);
            sum[l] += v * m;
        }
    }
    memcpy(y, sum, n * sizeof sum[0]);
}

static void sweep(double *y, const double *matrix, const float *x, size_t d, uint32_t vectors)
{
    switch (vectors) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        sweep_n(y, matrix, x, d, n);                                                               \
        break
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
        CASE(9);
        CASE(10);
        CASE(11);
#undef CASE
    default:
        sweep_n(y, matrix, x, d, FRE_GRID_GROUP_LANES / LANES_PER_VECTOR);
        break;
    }
}

fre_status fre_grid_coords(const fre_grid *g, int32_t *c, const float *x)
{
    double y[FRE_GRID_LANES_MAX]; /* SECRET */
    fre_status st = FRE_OK;
    bool finite = true, fits = true;

    for (uint32_t group = 0; group < g->groups; group++)
        sweep(y + (size_t)group * g->group_lanes,
              g->matrix + (size_t)group * g->dim * g->group_lanes, x, g->dim,
              g->group_lanes / LANES_PER_VECTOR);
    for (uint32_t i = 0; i < g->proj; i++) {
        /* A NaN or an infinity in x reaches every sum, and no finite float can overflow one. */
        finite = finite && isfinite(y[i]);
        y[i] = floor((y[i] / g->root_proj + g->offset[i]) / g->cell_edge);
        fits = fits && y[i] >= (double)INT32_MIN && y[i] <= (double)INT32_MAX;
    }
    if (!finite)
        st = FRE_E_ARG;
    else if (!fits)
        st = FRE_E_LIMIT;
    if (st == FRE_OK)
        for (uint32_t i = 0; i < g->proj; i++)
            c[i] = (int32_t)y[i];
    fre_wipe(y, sizeof y);
    return st;
}
