/* aggregate/padding.c - dummies that hide how many tags have a given multiplicity, [Fre-E2T, Alg. 2,
 * padding]. */
#include <fre/aggregate.h>

#include <math.h>

/* lambda as the sampler takes it; 0 where it is not on its grid. */
static uint64_t on_grid(double lambda)
{
    const double scaled = lambda * (double)FRE_TSDLAP_ONE;

    if (!(scaled >= 1) || !(scaled <= 0x1p32) || scaled > floor(scaled))
        return 0;
    return (uint64_t)scaled;
}

fre_status fre_aggregate_padding(uint32_t *tags, uint64_t tau, fre_rng *padding,
                                 const fre_distributed *d)
{
    const uint64_t lambda16 = on_grid(d->lambda);

    if (tau < 2 || lambda16 == 0 || d->gamma > FRE_TSDLAP_GAMMA_MAX)
        return FRE_E_ARG;
    for (uint64_t m = 1; m < tau; m++)
        tags[m - 1] = fre_sample_tsdlap(padding, lambda16, d->gamma);
    return FRE_OK;
}

/* TSDLap ends at 2 gamma; the sum of 1..tau-1 is half of this. */
uint64_t fre_aggregate_padding_most(uint64_t tau, const fre_distributed *d)
{
    const uint64_t twice = tau <= UINT32_MAX ? tau * (tau - (tau > 0)) : UINT64_MAX;

    return d->gamma > 0 && twice > UINT64_MAX / d->gamma ? UINT64_MAX : twice * d->gamma;
}
