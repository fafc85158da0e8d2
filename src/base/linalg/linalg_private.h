/* linalg_private.h - the kernels, one set for each instruction set, and the block product that
 * fre_products and fre_nearest share.
 *
 * Same bits everywhere.  Every sum below fixes its own order: elements are added in index order
 * within each lane, lanes and blocks are combined in one written order, and no multiply-add is
 * fused (-ffp-contract=off).  Wider registers only do more of the same lanes at once, so SSE2, AVX2,
 * AVX-512 and other processors agree to the bit; tests compare with a scalar loop. */
#ifndef FRE_LINALG_PRIVATE_H
#define FRE_LINALG_PRIVATE_H

#include <fre/linalg.h>

#define FRE_TILE_COLUMNS 16u
#define FRE_TILE_ROWS_MAX 12u
/* Terms of a product that are summed in one go before they join the total: bounds the rounding
 * error by about (64 + d/64) units instead of d. */
#define FRE_SUM_BLOCK 64u

typedef struct fre_kernels {
    const char *name;
    double (*dot)(const float *x, const float *y, size_t n);
    double (*dist2)(const float *x, const float *y, size_t n);
    /* out[i * 16 + j] = <a[i], column j of the panel> for tile_rows rows of d floats; the panel
     * holds 16 columns, k-major. */
    void (*tile)(float *out, const float *const *a, const float *panel, size_t d);
    size_t tile_rows;
} fre_kernels;

/* The sets this processor can run, best first; NULL after the last.  Index 0 is what is used. */
const fre_kernels *fre_linalg_kernels(size_t index);

/* Columns of b packed for the tile: panels of 16 columns, k-major, padded with zeros. */
size_t fre_linalg_packed_floats(size_t columns, size_t d);
void fre_linalg_pack(float *packed, const float *b, size_t columns, size_t d);
/* out[i * stride + j] = <a_i, b_j> for `rows` rows of a and the packed columns. */
void fre_linalg_block(float *out, size_t stride, const float *a, size_t rows, const float *packed,
                      size_t columns, size_t d);
/* Columns a block should have so that its packed form stays in the second-level cache. */
size_t fre_linalg_block_columns(size_t d);

/* |float product of x and y - <x, y>| <= relative * |x||y| + absolute. */
double fre_linalg_relative(size_t d);
double fre_linalg_absolute(size_t d);

#define FRE_BLOCK_ROWS 240u

/* 64-byte aligned floats; free().  NULL: out of memory or an overflowing size. */
float *fre_linalg_floats(size_t n);

#endif /* FRE_LINALG_PRIVATE_H */
