/* kernels.c - the inner loops, compiled for each instruction set.
 *
 * A tile is a few rows of a times sixteen columns of b, held in registers; the columns are packed
 * k-major so that one load serves all rows (Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication", 2008, without its outer loops, which small d does not need).  A lane is a
 * column: nothing is added across lanes, and an element's sum runs over k whatever the tile. */
#include "linalg_private.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define LANES FRE_TILE_COLUMNS

INLINE double add_lanes(double s[LANES])
{
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++)
            s[i] += s[i + half];
    }
    return s[0];
}

#define SET portable
#define TARGET
#define WIDTH 4
#define ROWS 2
#include "kernels_set.h"

#if defined(__x86_64__)

#define SET avx2
#define TARGET __attribute__((target("avx2")))
#define WIDTH 8
#define ROWS 6
#include "kernels_set.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f")))
#define WIDTH 16
#define ROWS 12
#include "kernels_set.h"

#endif

const fre_kernels *fre_linalg_kernels(size_t index)
{
#if defined(__x86_64__)
    if (fre_cpu_has(FRE_CPU_AVX512F) && index-- == 0)
        return &kernels_avx512;
    if (fre_cpu_has(FRE_CPU_AVX2) && index-- == 0)
        return &kernels_avx2;
#endif
    return index == 0 ? &kernels_portable : NULL;
}
