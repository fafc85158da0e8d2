/** fre/sampler.h - exact samplers: integer arithmetic on CSPRNG output, no floating point.
 *
 * Sources: Canonne, Kamath, Steinke 2020 (CKS20: Bernoulli, discrete Laplace, discrete Gaussian);
 * Karney 2016 (exact normal deviates, algorithm N).  Decision: the samplers are a module of their
 * own above sketch and privacy because the projection is drawn with them too (docs/decisions).
 * Draws are SECRET; all but the coin and the table take a time that depends on them.
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

/** Heads among n tosses of fre_sample_coin(p32), exact: n uniform numbers are compared with p32 digit by
 * digit, all at once, which takes 2 n random bits.  n below 2^40. */
FRE_API uint64_t fre_sample_binomial(fre_rng *r, uint64_t n, uint64_t p32);

/** round(scale * Z), Z an exact standard normal deviate, ties impossible; scale in
 * 1..FRE_SAMPLER_SCALE_MAX.  Digits of Z are drawn until the rounding is certain. */
FRE_API int64_t fre_sample_rounded_gaussian(fre_rng *r, uint64_t scale);

/** True with probability exactly exp(-num/den); num <= 2^48, 1 <= den <= 2^32.  [CKS20, alg. 1] */
FRE_API bool fre_sample_bernoulli_exp(fre_rng *r, uint64_t num, uint64_t den);

#define FRE_TSDLAP_ONE (UINT64_C(1) << 16) /* lambda is a multiple of 2^-16 */
#define FRE_TSDLAP_GAMMA_MAX (UINT32_C(1) << 24)

/** Truncated shifted discrete Laplace on 0..2 gamma: Pr[u] ~ exp(-|u - gamma|/lambda), exact;
 * lambda = lambda16 / 2^16, lambda16 in 1..2^32; gamma <= FRE_TSDLAP_GAMMA_MAX.  A few tries
 * suffice whatever the two.  [Fre-E2T, def. TSDLap; CKS20, alg. 2] */
FRE_API uint32_t fre_sample_tsdlap(fre_rng *r, uint64_t lambda16, uint32_t gamma);

#define FRE_VARIANCE_ONE (UINT64_C(1) << 16) /* a discrete variance is a multiple of 2^-16 */
#define FRE_VARIANCE_MAX (UINT64_C(1) << 36) /* 2^20: a deviation of 2^10 */

/** Discrete Gaussian on the integers, Pr[x] ~ exp(-x^2/(2 s)), s = var16 / 2^16, exact; var16 in
 * 1..FRE_VARIANCE_MAX.  Its time depends on the draw.  [CKS20, alg. 3] */
FRE_API int64_t fre_sample_discrete_gaussian(fre_rng *r, uint64_t var16);

/** The same law from a table, in constant time: the sequence of instructions and addresses depends
 * on the variance and n alone.  Total variation from the exact law at most FRE_TABLE_DISTANCE a
 * draw, which the accountant charges to delta.  Built with integers only (3 milliseconds and
 * 200 KiB at the largest variance, 3 KiB at a deviation of 15); immutable, any number of threads
 * may draw, each from its own stream. */
typedef struct fre_gaussian_table fre_gaussian_table;
#define FRE_TABLE_DISTANCE 0x1p-100

/** FRE_E_ARG: out NULL or var16 outside 1..FRE_VARIANCE_MAX; FRE_E_NOMEM.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_gaussian_table_new(fre_gaussian_table **out, uint64_t var16);
/** NULL is allowed. */
FRE_API void fre_gaussian_table_free(fre_gaussian_table *t);
/** n draws into out, each from the next 16 bytes of the stream. */
FRE_API void fre_gaussian_table_draw(const fre_gaussian_table *t, fre_rng *r, int32_t *out,
                                     size_t n);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SAMPLER_H */
