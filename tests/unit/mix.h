/* Repeatable numbers for tests: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).  Set `mix` to start a
 * sequence. */
#ifndef FRE_TESTS_MIX_H
#define FRE_TESTS_MIX_H

#include <math.h>
#include <stdint.h>

static uint64_t mix = 1;

static inline uint64_t mix_next(void)
{
    uint64_t z = mix += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform on [0, 1). */
static inline double mix_real(void)
{
    return (double)(mix_next() >> 11) * 0x1p-53;
}

/* Standard normal (Box and Muller, 1958). */
static inline double mix_gauss(void)
{
    const double u = 1.0 - mix_real(), v = mix_real();

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

#endif /* FRE_TESTS_MIX_H */
