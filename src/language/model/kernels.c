/* Which inner loops this processor can run. */
#include "kernels.h"

#include <fre/core.h>

#include <string.h>

/* Best first. */
static const fre_kernels *available(size_t i)
{
    size_t n = 0;

#if defined(__x86_64__)
    if (fre_cpu_has(FRE_CPU_AVX512F) && n++ == i)
        return &fre_kernels_avx512;
    if (fre_cpu_has(FRE_CPU_AVX2_FMA) && n++ == i)
        return &fre_kernels_avx2;
#endif
    return n == i ? &fre_kernels_generic : NULL;
}

const fre_kernels *fre_kernels_pick(void)
{
    const fre_kernels *k = available(0);

#if !defined(__FP_FAST_FMAF)
    if (k == &fre_kernels_generic)
        return NULL;
#endif
    return k;
}

const fre_kernels *fre_kernels_named(const char *name)
{
    const fre_kernels *k;

    for (size_t i = 0; (k = available(i)) != NULL; i++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}
