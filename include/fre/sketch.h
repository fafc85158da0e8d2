/** fre/sketch.h - embedding -> cell (the paper's bucket) behind one specification.
 *
 * A fre_sketch_spec says which cells a level has, of either kind, and everything that has levels carries
 * that one value: a plan's request and its mechanism, what is released, and terms that several parties
 * agree on.  Whatever depends on the kind alone is a function of it below.  The seed of a grid and the
 * dimension are not in it: a plan is made before the seed is drawn, and one dimension serves all levels.
 *
 * Kind `codebook`: the cell is a public centre c_j, and a record enters its sum as clip(x - c_j, R).  Which
 * one an embedding has is the codebook's own search (codebook.h: fre_codebook_sketch_open makes a fre_sketch
 * of a level, for those who know no codebooks; fre_codebook_cells finds all levels at once).
 *
 * Kind `grid`, the paper's: y_i = <g_i, x>/sqrt(k), c_i = floor((y_i + b_i)/L), i = 0..k-1,
 * g_i ~ N(0, I_d) and b_i ~ U[0, L) expanded from one public 32-byte seed with integers only:
 * from fre_rng_init_seeded(seed, "fre/grid/v1") first g_0,0 g_0,1 ... g_k-1,d-1, each
 * fre_sample_rounded_gaussian(2^24) / 2^24, then b_0 ... b_k-1, each fre_rng_u32 / 2^32 * L.
 * Sums in double, in index order, no contraction: (params, x) gives the same cell on every
 * platform (tests/vectors/sketch.txt).  [Fre-E2T] subtracts the offset, which is the same law.
 * Two points at distance D share a cell with probability fre_collision(grid, D)
 * (privacy.h).  Source: Datar, Immorlica, Indyk, Mirrokni 2004; [Fre-E2T, sec. 3].
 * Secrecy: x and the cell are SECRET.  Threads: a fre_sketch is immutable.
 */
#ifndef FRE_SKETCH_H
#define FRE_SKETCH_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_SKETCH_DIM_MAX 8192u
#define FRE_SKETCH_PROJ_MAX 64u
#define FRE_CELL_BYTES 32u

typedef enum fre_sketch_kind { FRE_SKETCH_GRID = 0, FRE_SKETCH_CODEBOOK } fre_sketch_kind;

typedef struct fre_sketch_grid {
    uint32_t proj;    /**< k, 1..FRE_SKETCH_PROJ_MAX */
    double cell_edge; /**< L > 0, finite, embedding units; default 2r/sqrt(k) */
} fre_sketch_grid;

/** One level of a public codebook. */
typedef struct fre_sketch_codebook {
    uint8_t
        sha256[FRE_HASH_BYTES]; /**< of its file; zeros: a plan that was made without the file */
    uint32_t level;             /**< index of the level in the file; 0 where the hash is */
    uint64_t cells;             /**< K >= 1 */
    double radius;              /**< R > 0: offsets from a centre are cut to it, embedding units */
    double gain;                /**< >= 1: undoes what that does to a mean, as public text has it; 1
                                     where the hash is zero */
} fre_sketch_codebook;

/** Which cells a level has.  All zero: a grid of which nothing is known yet. */
typedef struct fre_sketch_spec {
    fre_sketch_kind kind;
    union {
        fre_sketch_grid grid;
        fre_sketch_codebook codebook;
    };
} fre_sketch_spec;

/** How far from the origin a record's part of its cell's sum may lie: the bound on embeddings' norms,
 * or R.  Two records of a cell are at most twice that apart, whatever the cell. */
FRE_API double fre_sketch_reach(const fre_sketch_spec *s, double norm_bound);
/** Of a public codebook whose file is known?  Then its sha256, else NULL. */
FRE_API const uint8_t *fre_sketch_file(const fre_sketch_spec *s);

/** A grid as it is laid. */
typedef struct fre_sketch_params {
    uint8_t seed[32]; /**< public, drawn independently of the texts */
    uint32_t dim;     /**< d, 1..FRE_SKETCH_DIM_MAX */
    fre_sketch_grid grid;
} fre_sketch_params;

/** BLAKE2b-256("fre/cell/v1" || seed || k || c), integers little-endian.  SECRET. */
typedef struct fre_cell {
    uint8_t bytes[FRE_CELL_BYTES];
} fre_cell;

typedef struct fre_sketch fre_sketch;

/** Expand a grid: O(k d) once.  FRE_E_ARG: a field out of range; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_new(fre_sketch **out, const fre_sketch_params *p);
FRE_API void fre_sketch_free(fre_sketch *s);
/** Of a grid; NULL: public cells. */
FRE_API const fre_sketch_params *fre_sketch_params_view(const fre_sketch *s);
FRE_API const fre_sketch_spec *fre_sketch_spec_view(const fre_sketch *s);
FRE_API uint32_t fre_sketch_dim(const fre_sketch *s);

/** Who knows the centres of public cells; any thread may call. */
typedef struct fre_sketch_centres {
    const void *ctx; /**< borrowed while the sketch lives */
    /** The cell of x at a level, dim finite floats.  FRE_E_NOMEM. */
    fre_status (*nearest)(const void *ctx, uint32_t level, uint32_t *cell, const float *x);
    /** dim floats; cell is one of the level's. */
    void (*centre)(const void *ctx, uint32_t level, uint32_t cell, float *out);
} fre_sketch_centres;
/** One level of public cells.  FRE_E_ARG: spec of another kind, dim out of range; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_new_public(fre_sketch **out,
                                                        const fre_sketch_spec *spec, uint32_t dim,
                                                        const fre_sketch_centres *of);
/** Index of the public cell of x, n = dim floats.  FRE_E_ARG: a grid, another n, a NaN or an infinity. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_nearest(const fre_sketch *s, uint32_t *cell,
                                                     const float *x, size_t n);
/** Its centre, dim floats.  FRE_E_ARG: a grid, or no such cell. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_centre(const fre_sketch *s, float *out, uint32_t cell);

/** Cell of one embedding; a grid: O(k d), no allocation.  x: n floats, n = d.
 * FRE_E_ARG: n != d, or x holds a NaN or an infinity.
 * FRE_E_LIMIT: a coordinate beyond int32 (embedding and L in different units?). */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_cell(const fre_sketch *s, fre_cell *out,
                                                  const float *x, size_t n);
/** Name of cell `cell` of a level of a public codebook: BLAKE2b-256("fre/public-cell/v1" || SHA-256 of
 * the codebook's file || level || cell), integers little-endian.  FRE_E_ARG: of another kind, or
 * cell >= K. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_public_cell(fre_cell *out, const fre_sketch_spec *s,
                                                         uint32_t cell);
/** The integer coordinates themselves (k int32), for tests and studies. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_coords(const fre_sketch *s, int32_t *out,
                                                    const float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SKETCH_H */
