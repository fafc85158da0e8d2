/* Exact coins: Bernoulli by comparing a uniform integer with a numerator (Canonne, Kamath,
 * Steinke 2020, section 5). */
#include <fre/sampler.h>

bool fre_sample_coin(fre_rng *r, uint64_t p32)
{
    /* A 32-bit word is uniform on 0..2^32-1, so exactly p32 of its values are below p32. */
    return fre_rng_u32(r) < p32;
}

bool fre_sample_bernoulli(fre_rng *r, uint64_t num, uint64_t den)
{
    return fre_rng_below(r, den) < num;
}
