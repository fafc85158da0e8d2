#include "mix.h"

#include <math.h>

uint64_t mix = 1;

uint64_t mix_next(void)
{
    uint64_t z = mix += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double mix_real(void)
{
    return (double)(mix_next() >> 11) * 0x1p-53;
}

double mix_gauss(void)
{
    const double u = 1.0 - mix_real(), v = mix_real();

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
