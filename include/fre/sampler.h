/** fre/sampler.h - exact samplers: integer arithmetic on CSPRNG output, no floating point.
 *
 * Sources: Canonne, Kamath, Steinke 2020 (Bernoulli by comparison); Karney 2016 (exact normal
 * deviates, algorithm N).  Decision: the samplers are a module of their own above sketch and
 * privacy because the projection is drawn with them too (docs/decisions).  Draws are SECRET.
 */
#ifndef FRE_SAMPLER_H
#define FRE_SAMPLER_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_P_ONE (UINT64_C(1) << 32) /* a probability is a multiple of 2^-32 */
#define FRE_SAMPLER_SCALE_MAX (UINT64_C(1) << 48)

/** True with probability exactly p32 / 2^32; p32 in 0..2^32. */
FRE_API bool fre_sample_coin(fre_rng *r, uint64_t p32);

/** Pr = exactly num/den; 0 <= num <= den, den >= 1. */
FRE_API bool fre_sample_bernoulli(fre_rng *r, uint64_t num, uint64_t den);

/** round(scale * Z), Z an exact standard normal deviate, ties impossible; scale in
 * 1..FRE_SAMPLER_SCALE_MAX.  Digits of Z are drawn until the rounding is certain. */
FRE_API int64_t fre_sample_rounded_gaussian(fre_rng *r, uint64_t scale);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SAMPLER_H */
