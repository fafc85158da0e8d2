/* The whole table against each draw: additions and shifts only, so that neither the instructions
 * nor the addresses depend on what was drawn.
 *
 * Words have 63 bits, so the top bit of a difference a - b - borrow is 1 exactly if a < b + borrow.
 * Loops over lanes and draws have constant bounds: compilers turn them into vector operations, as
 * wide as the function's target has them. */
#include "sampler_private.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES FRE_TABLE_LANES
#define TOGETHER 2u /* draws that share a load of the table */

INLINE void scan(const fre_gaussian_table *t, const uint64_t *u, uint64_t *above,
                 const size_t draws)
{
    uint64_t count[TOGETHER][LANES] = {{0}};

    for (size_t b = 0; b < t->blocks; b++) {
        const fre_table_block *entry = &t->block[b];

        for (size_t d = 0; d < draws; d++) {
            const uint64_t low = u[2 * d], high = u[2 * d + 1];

            for (size_t i = 0; i < LANES; i++) {
                uint64_t borrow = (low - entry->low[i]) >> FRE_TABLE_WORD_BITS;

                count[d][i] += (high - entry->high[i] - borrow) >> FRE_TABLE_WORD_BITS;
            }
        }
    }
    for (size_t d = 0; d < draws; d++) {
        above[d] = 0;
        for (size_t i = 0; i < LANES; i++)
            above[d] += count[d][i];
    }
    fre_wipe(count, sizeof count);
}

INLINE void scan_all(const fre_gaussian_table *t, const uint64_t *u, uint64_t *above, size_t n)
{
    size_t at = 0;

    for (; n - at >= TOGETHER; at += TOGETHER)
        scan(t, u + 2 * at, above + at, TOGETHER);
    for (; at < n; at++)
        scan(t, u + 2 * at, above + at, 1);
}

static void scan_portable(const fre_gaussian_table *t, const uint64_t *u, uint64_t *above, size_t n)
{
    scan_all(t, u, above, n);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static void scan_avx2(const fre_gaussian_table *t,
                                                      const uint64_t *u, uint64_t *above, size_t n)
{
    scan_all(t, u, above, n);
}

#endif

fre_table_kernel *fre_table_kernel_at(size_t index)
{
#if defined(__x86_64__)
    if (fre_cpu_has(FRE_CPU_AVX2) && index-- == 0)
        return scan_avx2;
#endif
    return index == 0 ? scan_portable : NULL;
}
