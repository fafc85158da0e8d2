/* Inner loops for AVX-512: the virtual vector is one register. */
#if defined(__x86_64__)
#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f")))
#define KERNELS fre_kernels_avx512
#define KERNELS_NAME "avx512"
#define COLUMNS 4u

typedef __m512 v16;

#define V static inline __attribute__((always_inline)) KERNEL
V v16 v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
V void v_store(float *p, v16 a)
{
    _mm512_storeu_ps(p, a);
}
V v16 v_set(float x)
{
    return _mm512_set1_ps(x);
}
V v16 v_add(v16 a, v16 b)
{
    return _mm512_add_ps(a, b);
}
V v16 v_sub(v16 a, v16 b)
{
    return _mm512_sub_ps(a, b);
}
V v16 v_mul(v16 a, v16 b)
{
    return _mm512_mul_ps(a, b);
}
V v16 v_div(v16 a, v16 b)
{
    return _mm512_div_ps(a, b);
}
V v16 v_max(v16 a, v16 b)
{
    return _mm512_max_ps(a, b);
}
V v16 v_fma(v16 a, v16 b, v16 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
V v16 v_pow2(v16 n)
{
    __m512i i = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));

    return _mm512_castsi512_ps(_mm512_slli_epi32(i, 23));
}

#include "kernels_body.h"
#else
typedef int fre_kernels_avx512_not_built;
#endif
