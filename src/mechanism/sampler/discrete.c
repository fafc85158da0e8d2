/* Exact discrete Gaussian: Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential
 * privacy", algorithm 3. */
#include "sampler_private.h"

/* floor(sqrt(n)), n <= 2^20. */
static uint64_t root(uint64_t n)
{
    uint64_t x = 0;

    for (uint64_t bit = 1u << 10; bit != 0; bit >>= 1)
        if ((x | bit) * (x | bit) <= n)
            x |= bit;
    return x;
}

int64_t fre_sample_discrete_gaussian(fre_rng *r, uint64_t var16)
{
    /* A discrete Laplace draw y of scale t, floor(sqrt(s)) + 1, is kept with probability
     * exp(-(|y| - s/t)^2/(2s)); with s = var16/2^16 the exponent is
     * (2^16 |y| t - var16)^2 / (2^17 var16 t^2), whose denominator is below 2^74. */
    const uint64_t t = root(var16 >> 16) + 1;
    const fre_wide den = ((fre_wide)var16 << 17) * t * t;
    int64_t y;
    uint64_t scaled, gap;

    do {
        y = fre_sample_discrete_laplace(r, 1, t);
        scaled = ((uint64_t)(y < 0 ? -y : y) * t) << 16; /* |y| <= 2^20 t + t: below 2^58 */
        gap = scaled > var16 ? scaled - var16 : var16 - scaled;
    } while (!fre_sample_ratio_exp(r, (fre_wide)gap * gap, den));
    return y;
}
