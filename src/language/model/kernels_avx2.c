/* Inner loops for AVX2 with FMA: the virtual vector is two registers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,fma")))
#define KERNELS fre_kernels_avx2
#define KERNELS_NAME "avx2"
#define COLUMNS 1u

typedef struct v16 {
    __m256 lo, hi;
} v16;

#define V static inline __attribute__((always_inline)) KERNEL
V v16 v_load(const float *p)
{
    return (v16){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
V void v_store(float *p, v16 a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
V v16 v_set(float x)
{
    return (v16){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
V v16 v_add(v16 a, v16 b)
{
    return (v16){_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
V v16 v_sub(v16 a, v16 b)
{
    return (v16){_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
V v16 v_mul(v16 a, v16 b)
{
    return (v16){_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
V v16 v_div(v16 a, v16 b)
{
    return (v16){_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
V v16 v_max(v16 a, v16 b)
{
    return (v16){_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
V v16 v_fma(v16 a, v16 b, v16 c)
{
    return (v16){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
V __m256 pow2_half(__m256 n)
{
    __m256i i = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));

    return _mm256_castsi256_ps(_mm256_slli_epi32(i, 23));
}
V v16 v_pow2(v16 n)
{
    return (v16){pow2_half(n.lo), pow2_half(n.hi)};
}

#include "kernels_body.h"
#else
typedef int fre_kernels_avx2_not_built;
#endif
