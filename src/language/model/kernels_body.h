/* The inner loops of kernels.h over a virtual vector of sixteen floats.  A file that includes this
 * defines the vector: type v16 and v_load, v_store, v_set, v_add, v_sub, v_mul, v_div, v_fma,
 * v_max, v_pow2 (2 to the power of an integral float), KERNEL (function attributes), COLUMNS
 * (vectors of a panel that one tile holds in registers) and KERNELS (name of the table).
 *
 * Order of every sum: products in the order of the inner index by fused multiply-add; sums over
 * a row in sixteen partial sums, then those in index order. */
#ifndef KERNELS
#error "include this from the file of one instruction set"
#endif

#include "kernels.h"

#include <math.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define INLINE static inline __attribute__((always_inline)) KERNEL

/* Instrumented, the one loop that nearly all the time goes to is ten times slower: under
 * AddressSanitizer it is not, and what it may touch is looked at before it starts. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))
static void touch(const float *p, size_t n)
{
    const volatile char *bad = __asan_region_is_poisoned((void *)(uintptr_t)p, n * sizeof *p);

    if (bad)
        (void)*bad; /* which is reported as any other access */
}
#else
#define UNCHECKED
#define touch(p, n) ((void)0)
#endif

#define ROWS 6u      /* rows of a tile: 6 x COLUMNS sums stay in registers */
#define BLOCK_K 128u /* inner products a block: a block of a panel is 32 KiB, one L1 cache */

/* rows x COLUMNS sums over kn products.  first: start from the bias instead of from c. */
INLINE UNCHECKED void tile(const unsigned rows, float *c, size_t n, const float *a, size_t k,
                           size_t kn, const float *b, const float *bias, bool first)
{
    v16 sum[ROWS][COLUMNS];

    UNROLL
    for (unsigned i = 0; i < rows; i++) {
        UNROLL
        for (unsigned j = 0; j < COLUMNS; j++)
            sum[i][j] = v_load((first ? bias : c + i * n) + j * KERNEL_LANES);
    }
    for (size_t l = 0; l < kn; l++) {
        v16 w[COLUMNS];

        UNROLL
        for (unsigned j = 0; j < COLUMNS; j++)
            w[j] = v_load(b + l * KERNEL_PANEL + j * KERNEL_LANES);
        UNROLL
        for (unsigned i = 0; i < rows; i++) {
            v16 x = v_set(a[i * k + l]);

            UNROLL
            for (unsigned j = 0; j < COLUMNS; j++)
                sum[i][j] = v_fma(x, w[j], sum[i][j]);
        }
    }
    UNROLL
    for (unsigned i = 0; i < rows; i++) {
        UNROLL
        for (unsigned j = 0; j < COLUMNS; j++)
            v_store(c + i * n + j * KERNEL_LANES, sum[i][j]);
    }
}

/* All m rows against one block of one column group of a panel. */
KERNEL UNCHECKED static void strip(float *c, size_t n, const float *a, size_t m, size_t k,
                                   size_t kn, const float *b, const float *bias, bool first)
{
    size_t i = 0;

    for (; i + ROWS <= m; i += ROWS)
        tile(ROWS, c + i * n, n, a + i * k, k, kn, b, bias, first);
    c += i * n;
    a += i * k;
    switch (m - i) {
    case 5:
        tile(5, c, n, a, k, kn, b, bias, first);
        break;
    case 4:
        tile(4, c, n, a, k, kn, b, bias, first);
        break;
    case 3:
        tile(3, c, n, a, k, kn, b, bias, first);
        break;
    case 2:
        tile(2, c, n, a, k, kn, b, bias, first);
        break;
    case 1:
        tile(1, c, n, a, k, kn, b, bias, first);
        break;
    default:
        break;
    }
}

KERNEL static void matmul(float *c, const float *a, size_t m, size_t k, size_t n,
                          const float *packed, const float *bias)
{
    touch(c, m * n);
    touch(a, m * k);
    touch(packed, k * n);
    touch(bias, n);
    for (size_t panel = 0; panel < n; panel += KERNEL_PANEL) {
        for (size_t l = 0; l < k; l += BLOCK_K) {
            size_t kn = k - l < BLOCK_K ? k - l : BLOCK_K;
            const float *block = packed + panel * k + l * KERNEL_PANEL;

            for (size_t j = 0; j < KERNEL_PANEL; j += COLUMNS * KERNEL_LANES)
                strip(c + panel + j, n, a + l, m, k, kn, block + j, bias + panel + j, l == 0);
        }
    }
}

INLINE float sum_lanes(v16 v)
{
    float x[KERNEL_LANES], s = 0.0f;

    v_store(x, v);
    for (unsigned i = 0; i < KERNEL_LANES; i++)
        s += x[i];
    return s;
}

INLINE float max_lanes(v16 v)
{
    float x[KERNEL_LANES], s;

    v_store(x, v);
    s = x[0];
    for (unsigned i = 1; i < KERNEL_LANES; i++)
        s = x[i] > s ? x[i] : s;
    return s;
}

KERNEL static void norm(float *x, const float *add, size_t rows, size_t dim, const float *weight,
                        const float *bias, float eps)
{
    for (size_t r = 0; r < rows; r++, x += dim) {
        v16 sum = v_set(0.0f), squares = v_set(0.0f), mean, scale;

        for (size_t i = 0; i < dim; i += KERNEL_LANES) {
            v16 v = v_load(x + i);

            if (add) {
                v = v_add(v, v_load(add + r * dim + i));
                v_store(x + i, v);
            }
            sum = v_add(sum, v);
        }
        mean = v_set(sum_lanes(sum) / (float)dim);
        for (size_t i = 0; i < dim; i += KERNEL_LANES) {
            v16 d = v_sub(v_load(x + i), mean);

            squares = v_fma(d, d, squares);
        }
        scale = v_set(1.0f / sqrtf(sum_lanes(squares) / (float)dim + eps));
        for (size_t i = 0; i < dim; i += KERNEL_LANES) {
            v16 d = v_mul(v_sub(v_load(x + i), mean), scale);

            v_store(x + i, v_fma(d, v_load(weight + i), v_load(bias + i)));
        }
    }
}

/* e^x for x <= 0 to two units in the last place: the reduction and polynomial of Cephes' expf
 * (S. L. Moshier).  Below -87 the result is e^-87. */
INLINE v16 v_exp(v16 x)
{
    const v16 magic = v_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    v16 n, r, p;

    x = v_max(x, v_set(-87.0f));
    n = v_sub(v_add(v_mul(x, v_set(1.44269504f)), magic), magic);
    r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_fma(p, v_mul(r, r), v_add(r, v_set(1.0f)));
    return v_mul(p, v_pow2(n));
}

/* x Phi(x) = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2, erfc by Abramowitz and Stegun 7.1.26
 * (absolute error below 1.5e-7). */
KERNEL static void gelu(float *x, size_t n)
{
    const v16 one = v_set(1.0f), zero = v_set(0.0f);

    for (size_t i = 0; i < n; i += KERNEL_LANES) {
        v16 v = v_load(x + i);
        v16 size = v_max(v, v_sub(zero, v));
        v16 z = v_mul(size, v_set(0.70710678f));
        v16 t = v_div(one, v_fma(z, v_set(0.3275911f), one));
        v16 p = v_set(1.061405429f);

        p = v_fma(p, t, v_set(-1.453152027f));
        p = v_fma(p, t, v_set(1.421413741f));
        p = v_fma(p, t, v_set(-0.284496736f));
        p = v_fma(p, t, v_set(0.254829592f));
        p = v_mul(v_mul(p, t), v_exp(v_sub(zero, v_mul(z, z))));
        v_store(x + i, v_sub(v_max(v, zero), v_mul(v_mul(size, v_set(0.5f)), p)));
    }
}

/* p[j] -> e^(p[j] - max p) for j < len and 0 up to padded; returns the inverse of their sum. */
INLINE float soften(float *p, size_t len, size_t padded)
{
    v16 high = v_set(-INFINITY), sum = v_set(0.0f), top;

    for (size_t j = len; j < padded; j++)
        p[j] = -INFINITY;
    for (size_t j = 0; j < padded; j += KERNEL_LANES)
        high = v_max(high, v_load(p + j));
    top = v_set(max_lanes(high));
    for (size_t j = 0; j < padded; j += KERNEL_LANES)
        v_store(p + j, v_exp(v_sub(v_load(p + j), top)));
    for (size_t j = len; j < padded; j++)
        p[j] = 0.0f;
    for (size_t j = 0; j < padded; j += KERNEL_LANES)
        sum = v_add(sum, v_load(p + j));
    return 1.0f / sum_lanes(sum);
}

/* Weights of one query over the len keys in kt (head_dim x padded, keys along the row). */
INLINE float weigh(float *p, const float *q, const float *kt, size_t len, size_t padded,
                   size_t head_dim, float scale)
{
    for (size_t j = 0; j < padded; j += KERNEL_LANES) {
        v16 s = v_set(0.0f);

        for (size_t d = 0; d < head_dim; d++)
            s = v_fma(v_set(q[d]), v_load(kt + d * padded + j), s);
        v_store(p + j, v_mul(s, v_set(scale)));
    }
    return soften(p, len, padded);
}

KERNEL static void attend(float *out, size_t out_stride, const float *q, const float *k,
                          const float *v, size_t stride, size_t len, size_t head_dim, float scale,
                          float *room)
{
    size_t padded = (len + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
    float *kt = room, *p = room + head_dim * padded;

    for (size_t d = 0; d < head_dim; d++)
        for (size_t j = 0; j < padded; j++)
            kt[d * padded + j] = j < len ? k[j * stride + d] : 0.0f;
    for (size_t i = 0; i < len; i++) {
        float inverse = weigh(p, q + i * stride, kt, len, padded, head_dim, scale);

        for (size_t d = 0; d < head_dim; d += KERNEL_LANES) {
            v16 s = v_set(0.0f);

            for (size_t j = 0; j < len; j++)
                s = v_fma(v_set(p[j]), v_load(v + j * stride + d), s);
            v_store(out + i * out_stride + d, v_mul(s, v_set(inverse)));
        }
    }
}

KERNEL static void rms(float *y, const float *x, size_t rows, size_t dim, const float *weight,
                       float eps)
{
    for (size_t r = 0; r < rows; r++, x += dim, y += dim) {
        v16 squares = v_set(0.0f), scale;

        for (size_t i = 0; i < dim; i += KERNEL_LANES)
            squares = v_fma(v_load(x + i), v_load(x + i), squares);
        scale = v_set(1.0f / sqrtf(sum_lanes(squares) / (float)dim + eps));
        for (size_t i = 0; i < dim; i += KERNEL_LANES)
            v_store(y + i, v_mul(v_mul(v_load(x + i), scale), v_load(weight + i)));
    }
}

/* silu(x) = x / (1 + e^-x), with the exponential of -|x| only. */
KERNEL static void swiglu(float *x, const float *y, size_t n)
{
    const v16 one = v_set(1.0f), zero = v_set(0.0f);

    for (size_t i = 0; i < n; i += KERNEL_LANES) {
        v16 v = v_load(x + i), minus = v_sub(zero, v);
        v16 e = v_exp(v_sub(zero, v_max(v, minus)));      /* e^-|x| */
        v16 top = v_exp(v_sub(zero, v_max(minus, zero))); /* e^min(x, 0) */

        v_store(x + i, v_mul(v_mul(v, v_div(top, v_add(one, e))), v_load(y + i)));
    }
}

/* Sum of the lanes by halves: shorter than sum_lanes where one is needed for every key. */
INLINE float fold_lanes(v16 v)
{
    float x[KERNEL_LANES];

    v_store(x, v);
    UNROLL
    for (unsigned i = 0; i < 8; i++)
        x[i] += x[i + 8];
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        x[i] += x[i + 4];
    return (x[0] + x[2]) + (x[1] + x[3]);
}

KERNEL static void recall(float *out, const float *q, const float *const *k, const float *const *v,
                          size_t at, size_t n, size_t head_dim, float scale, float *room)
{
    size_t padded = (n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
    float inverse;

    for (size_t j = 0; j < n; j++) {
        v16 s = v_set(0.0f);

        for (size_t d = 0; d < head_dim; d += KERNEL_LANES)
            s = v_fma(v_load(q + d), v_load(k[j] + at + d), s);
        room[j] = fold_lanes(s) * scale;
    }
    inverse = soften(room, n, padded);
    for (size_t d = 0; d < head_dim; d += KERNEL_LANES) {
        v16 s = v_set(0.0f);

        for (size_t j = 0; j < n; j++)
            s = v_fma(v_set(room[j]), v_load(v[j] + at + d), s);
        v_store(out + d, v_mul(s, v_set(inverse)));
    }
}

KERNEL static float spread(float *top, const float *x, size_t n)
{
    v16 high = v_load(x), sum = v_set(0.0f), odd = v_set(0.0f), t;
    float not_finite;

    for (size_t i = 0; i < n; i += KERNEL_LANES) {
        v16 v = v_load(x + i);

        high = v_max(high, v);
        odd = v_fma(v, v_set(0.0f), odd); /* a maximum would lose a NaN */
    }
    *top = max_lanes(high);
    t = v_set(*top);
    for (size_t i = 0; i < n; i += KERNEL_LANES)
        sum = v_add(sum, v_exp(v_sub(v_load(x + i), t)));
    not_finite = sum_lanes(odd); /* 0 or NaN */
    *top += not_finite;
    return sum_lanes(sum) + not_finite;
}

const fre_kernels KERNELS = {.name = KERNELS_NAME,
                             .matmul = matmul,
                             .norm = norm,
                             .rms = rms,
                             .gelu = gelu,
                             .swiglu = swiglu,
                             .attend = attend,
                             .recall = recall,
                             .spread = spread};
