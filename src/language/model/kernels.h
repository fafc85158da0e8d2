/* The inner loops of the encoder (bert.h) and the decoder (causal.h) of our own, once for each
 * instruction set, all with the same results to the bit (docs/decisions): every number is a chain
 * of fused multiply-adds in the order of the inner index, and a sum over a row has sixteen partial
 * sums whatever the width of the processor's vectors. */
#ifndef FRE_MODEL_KERNELS_H
#define FRE_MODEL_KERNELS_H

#include <fre/core.h>

#define KERNEL_LANES 16u /* the virtual vector */
#define KERNEL_PANEL 64u /* outputs whose weights lie together */

/* Sizes of rows are multiples of KERNEL_LANES.
 *   matmul: c (m x n) = a (m x k) times packed weights (k x n, see weights.h) plus bias; n is a
 *           multiple of KERNEL_PANEL
 *   norm:   x += add (NULL: nothing), then LayerNorm of each row with weight and bias
 *   rms:    y = RMSNorm of each row of x with weight
 *   gelu:   x -> x Phi(x)
 *   swiglu: x -> silu(x) y
 *   attend: a whole sequence of len rows, one head: out = softmax(q k^T scale) v; q, k, v are rows
 *           of `stride` floats; room: len rounded up to KERNEL_LANES times (head_dim + 1) floats
 *   recall: one row, one head: out = softmax(q k^T scale) v over the n rows at k[i], v[i] (offset
 *           by `at` floats); room: n rounded up to KERNEL_LANES floats
 *   spread: the largest of n numbers into *top and sum e^(x - *top); both NaN if an x is not finite;
 *           n is at most a few thousand, for the sum has sixteen partial sums in float */
typedef struct fre_kernels {
    const char *name;
    void (*matmul)(float *c, const float *a, size_t m, size_t k, size_t n, const float *packed,
                   const float *bias);
    void (*norm)(float *x, const float *add, size_t rows, size_t dim, const float *weight,
                 const float *bias, float eps);
    void (*rms)(float *y, const float *x, size_t rows, size_t dim, const float *weight, float eps);
    void (*gelu)(float *x, size_t n);
    void (*swiglu)(float *x, const float *y, size_t n);
    void (*attend)(float *out, size_t out_stride, const float *q, const float *k, const float *v,
                   size_t stride, size_t len, size_t head_dim, float scale, float *room);
    void (*recall)(float *out, const float *q, const float *const *k, const float *const *v,
                   size_t at, size_t n, size_t head_dim, float scale, float *room);
    float (*spread)(float *top, const float *x, size_t n);
} fre_kernels;

extern const fre_kernels fre_kernels_generic;
#if defined(__x86_64__)
extern const fre_kernels fre_kernels_avx2, fre_kernels_avx512;
#endif
/* The fastest set for this processor; NULL: it has no fused multiply-add and the set in plain C
 * would be far slower than llama.cpp. */
const fre_kernels *fre_kernels_pick(void);
/* A set by its name; NULL: this processor or this build does not have it. */
const fre_kernels *fre_kernels_named(const char *name);

#endif
