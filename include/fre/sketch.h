/** fre/sketch.h - embedding -> cell (the paper's bucket) behind one interface.
 *
 * Kind `grid`, the paper's: y_i = <g_i, x>/sqrt(k), c_i = floor((y_i + b_i)/L), i = 0..k-1,
 * g_i ~ N(0, I_d) and b_i ~ U[0, L) expanded from one public 32-byte seed with integers only:
 * from fre_rng_init_seeded(seed, "fre/grid/v1") first g_0,0 g_0,1 ... g_k-1,d-1, each
 * fre_sample_rounded_gaussian(2^24) / 2^24, then b_0 ... b_k-1, each fre_rng_u32 / 2^32 * L.
 * Sums in double, in index order, no contraction: (params, x) gives the same cell on every
 * platform (tests/vectors/sketch.txt).  [Fre-E2T] subtracts the offset, which is the same law.
 * Two points at distance D share a cell with probability fre_collision(k, L, D)
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

typedef struct fre_sketch_params {
    uint8_t seed[32]; /**< public, drawn independently of the texts */
    uint32_t dim;     /**< d, 1..FRE_SKETCH_DIM_MAX */
    uint32_t proj;    /**< k, 1..FRE_SKETCH_PROJ_MAX */
    double cell_edge; /**< L > 0, finite; default 2r/sqrt(k) */
} fre_sketch_params;

/** BLAKE2b-256("fre/cell/v1" || seed || k || c), integers little-endian.  SECRET. */
typedef struct fre_cell {
    uint8_t bytes[FRE_CELL_BYTES];
} fre_cell;

typedef struct fre_sketch fre_sketch;

/** Expand a grid: O(k d) once.  FRE_E_ARG: a field out of range; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_new(fre_sketch **out, const fre_sketch_params *p);
FRE_API void fre_sketch_free(fre_sketch *s);
FRE_API const fre_sketch_params *fre_sketch_params_view(const fre_sketch *s);

/** Cell of one embedding, O(k d), no allocation.  x: n floats, n = d.
 * FRE_E_ARG: n != d, or x holds a NaN or an infinity.
 * FRE_E_LIMIT: a coordinate beyond int32 (embedding and L in different units?). */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_cell(const fre_sketch *s, fre_cell *out,
                                                  const float *x, size_t n);
/** Name of cell `cell` of a level of a public codebook: BLAKE2b-256("fre/public-cell/v1" || SHA-256 of
 * the codebook's file || level || cell), integers little-endian. */
FRE_API void fre_sketch_public_cell(fre_cell *out, const uint8_t codebook[32], uint32_t level,
                                    uint32_t cell);
/** The integer coordinates themselves (k int32), for tests and studies. */
FRE_API FRE_MUST_CHECK fre_status fre_sketch_coords(const fre_sketch *s, int32_t *out,
                                                    const float *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SKETCH_H */
