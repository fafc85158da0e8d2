/* sampler_internal.h - what the samplers share, and what their tests look into. */
#ifndef FRE_SAMPLER_INTERNAL_H
#define FRE_SAMPLER_INTERNAL_H

#include <fre/sampler.h>

__extension__ typedef unsigned __int128 fre_wide;

/* True with probability exactly num/den; num <= den, 1 <= den <= 2^96. */
bool fre_sample_ratio(fre_rng *r, fre_wide num, fre_wide den);

/* True with probability exactly exp(-num/den); 1 <= den <= 2^96. */
bool fre_sample_ratio_exp(fre_rng *r, fre_wide num, fre_wide den);

/* Discrete Laplace, Pr[x] ~ exp(-|x| s/t), exact; 1 <= s, t <= 2^32.  |x| < 2^53. */
int64_t fre_sample_discrete_laplace(fre_rng *r, uint64_t s, uint64_t t);

#endif
