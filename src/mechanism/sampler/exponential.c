/* Exact coins of probability exp(-rational), and the discrete Laplace laws made with them:
 * Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential privacy", algorithms 1
 * and 2. */
#include "sampler_private.h"

/* Successes of the coin exp(-1) in a row; the bound keeps X below in 53 bits and is never reached
 * (probability exp(-2^20)). */
#define GEOMETRIC_MAX (UINT32_C(1) << 20)

bool fre_sample_ratio(fre_rng *r, fre_wide num, fre_wide den)
{
    /* A uniform real is below num/den?  Its digits are drawn one word at a time and compared with
     * those of num/den, which long division yields; the first that differ decide. */
    if (num == den)
        return true;
    while (num != 0) {
        uint32_t digit = fre_rng_u32(r);
        fre_wide expect;

        if (den >> 32 == 0) {
            uint64_t rest = (uint64_t)num << 32; /* num < den < 2^32 */

            expect = rest / (uint64_t)den;
            num = rest % (uint64_t)den;
        } else {
            num <<= 32; /* num < den <= 2^96 */
            expect = num / den;
            num %= den;
        }
        if (digit != expect)
            return digit < expect;
    }
    return false; /* all digits left of num/den are 0 */
}

/* Algorithm 1 for num <= den: a run of coins of probability g/1, g/2, g/3, ... has length >= k with
 * probability g^k/k!, so its length is even with probability exp(-g), g = num/den.  A coin g/k is
 * the two coins 1/k and g. */
static bool exp_below_one(fre_rng *r, fre_wide num, fre_wide den)
{
    uint32_t k = 1;

    while (fre_sample_ratio(r, 1, k) && fre_sample_ratio(r, num, den))
        k++;
    return (k & 1) != 0;
}

bool fre_sample_ratio_exp(fre_rng *r, fre_wide num, fre_wide den)
{
    for (; num > den; num -= den)
        if (!exp_below_one(r, 1, 1))
            return false;
    return exp_below_one(r, num, den);
}

bool fre_sample_bernoulli_exp(fre_rng *r, uint64_t num, uint64_t den)
{
    return fre_sample_ratio_exp(r, num, den);
}

/* Algorithm 2.  X = U + tV has Pr[X] ~ exp(-X/t): U uniform on 0..t-1 kept with probability
 * exp(-U/t), V geometric.  Then floor(X/s) has Pr ~ exp(-s/t) per step; of the two signs of zero
 * one is refused. */
int64_t fre_sample_discrete_laplace(fre_rng *r, uint64_t s, uint64_t t)
{
    for (;;) {
        uint64_t u = fre_rng_below(r, t), v = 0, magnitude;
        bool negative;

        if (!fre_sample_ratio_exp(r, u, t))
            continue;
        while (v < GEOMETRIC_MAX && exp_below_one(r, 1, 1))
            v++;
        magnitude = (u + t * v) / s; /* u + tv < 2^32 (2^20 + 1) */
        negative = (fre_rng_u32(r) & 1) != 0;
        if (magnitude == 0 && negative)
            continue;
        return negative ? -(int64_t)magnitude : (int64_t)magnitude;
    }
}

/* The law of x = u - gamma on -gamma..gamma is the discrete Laplace law given |x| <= gamma.  Where
 * lambda is above gamma that event is rare, and uniform x kept with probability exp(-|x|/lambda),
 * more than exp(-1), yield the same law. */
uint32_t fre_sample_tsdlap(fre_rng *r, uint64_t lambda16, uint32_t gamma)
{
    const int64_t bound = (int64_t)gamma;
    int64_t x;

    if (lambda16 > (uint64_t)gamma << 16) {
        uint64_t distance;

        do {
            x = (int64_t)fre_rng_below(r, 2 * (uint64_t)gamma + 1) - bound;
            distance = (uint64_t)(x < 0 ? -x : x);
        } while (!fre_sample_ratio_exp(r, (fre_wide)distance << 16, lambda16));
    } else {
        do {
            x = fre_sample_discrete_laplace(r, FRE_TSDLAP_ONE, lambda16);
        } while (x < -bound || x > bound);
    }
    return (uint32_t)(x + bound);
}
