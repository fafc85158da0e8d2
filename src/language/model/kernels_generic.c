/* Inner loops in plain C: the virtual vector is an array, and fmaf is one rounding by the
 * standard.  Fast where the compiler has a fused instruction (__FP_FAST_FMAF), else only a
 * reference for the tests. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KERNEL
#define KERNELS fre_kernels_generic
#define KERNELS_NAME "generic"
#define COLUMNS 1u

typedef struct v16 {
    float x[16];
} v16;

#define V static inline
#define EACH(expression)                                                                           \
    v16 r;                                                                                         \
    for (int i = 0; i < 16; i++)                                                                   \
        r.x[i] = (expression);                                                                     \
    return r

V v16 v_load(const float *p)
{
    EACH(p[i]);
}
V void v_store(float *p, v16 a)
{
    memcpy(p, a.x, sizeof a.x);
}
V v16 v_set(float x)
{
    EACH(x);
}
V v16 v_add(v16 a, v16 b)
{
    EACH(a.x[i] + b.x[i]);
}
V v16 v_sub(v16 a, v16 b)
{
    EACH(a.x[i] - b.x[i]);
}
V v16 v_mul(v16 a, v16 b)
{
    EACH(a.x[i] * b.x[i]);
}
V v16 v_div(v16 a, v16 b)
{
    EACH(a.x[i] / b.x[i]);
}
V v16 v_max(v16 a, v16 b)
{
    EACH(a.x[i] > b.x[i] ? a.x[i] : b.x[i]);
}
V v16 v_fma(v16 a, v16 b, v16 c)
{
    EACH(fmaf(a.x[i], b.x[i], c.x[i]));
}
V float pow2_one(float n)
{
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}
V v16 v_pow2(v16 n)
{
    EACH(pow2_one(n.x[i]));
}

#include "kernels_body.h"
