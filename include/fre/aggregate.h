/** fre/aggregate.h - the steps that decide privacy, in one place: a record's coin, the predicate that
 * releases a cell, sums on the lattice beta Z^d, their noise, the mean, and the padding of the
 * distributed mode (which records count: fre/contribution.h).  The curator runs them, the audit attacks them.
 *
 * No file, no model, no clock; sums are integers, so neither the order of the records nor the
 * number of threads changes a bit.  Coins, sums before noise, noise and padding are SECRET; each
 * kind of draw has a stream of its own.  Source: [Fre-E2T, Alg. 1, 2]; docs/privacy.md, sec. 1.
 */
#ifndef FRE_AGGREGATE_H
#define FRE_AGGREGATE_H

#include <fre/core.h>
#include <fre/privacy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Does a record take part?  True with probability exactly p32 / 2^32, once a record. */
FRE_API bool fre_aggregate_coin(fre_rng *coins, uint64_t p32);

/** Of the coins of one release.  SECRET: whoever has it knows every coin. */
typedef struct fre_coin_key {
    uint8_t b[FRE_SEED_BYTES];
} fre_coin_key;
#define FRE_COIN_ID_BYTES 16u /* of a user or a text: a keyed hash */
/** The coins of a text at a level, by name: the first of them is its user's; user NULL: of the records of this
 * text that nobody is named for, in any order.  What else is there changes none of them.  user, text:
 * FRE_COIN_ID_BYTES.  FRE_E_INTERNAL: no cryptography. */
FRE_API FRE_MUST_CHECK fre_status fre_aggregate_coins(fre_rng *out, const fre_coin_key *key,
                                                      uint32_t level, const uint8_t *user,
                                                      const uint8_t *text);

/** Is a cell released?  The one predicate, which the accountants assume: count >= tau. */
FRE_API bool fre_aggregate_released(uint64_t count, uint64_t tau);

/** A count on the lattice of FRE_COUNT_STEP, 2^-FRE_COUNT_BITS, with an exactly rounded Gaussian of
 * standard deviation sigma_lattice steps, in steps; 0: none (no
 * privacy).  count below 2^40. */
FRE_API int64_t fre_aggregate_noisy_count(uint64_t count, fre_rng *counts, uint64_t sigma_lattice);
/** Is a cell of this noisy count released?  threshold: T, at least 1. */
FRE_API bool fre_aggregate_noisy_released(int64_t noisy, uint64_t threshold);
/** What is published of it: the nearest integer, at least 1. */
FRE_API uint64_t fre_aggregate_published_count(int64_t noisy);

/** The row of a record that is in no released cell yet. */
#define FRE_AGGREGATE_NOWHERE UINT32_MAX
/** Is a record in this row there for the next level?  All records of a released cell leave. */
FRE_API bool fre_aggregate_goes_on(uint32_t row);
/** How many of a public cell's records a level counts: all of them under noise, else the heads
 * among as many fresh coins. */
FRE_API uint64_t fre_aggregate_level_weight(uint64_t records, const fre_plan_level *l,
                                            fre_rng *coins);
/** Is a public cell of this count, which may be 0, released?  *shown: the count that is published
 * if so.  Draws of counts, once a cell, where they are noisy. */
FRE_API bool fre_aggregate_level_released(uint64_t *shown, uint64_t count, const fre_plan_level *l,
                                          fre_rng *counts);

/** x becomes its offset from a cell's centre, cut to length radius. */
FRE_API void fre_aggregate_offset(float *x, const float *centre, size_t dim, double radius);
/** The centroid of a cell from the mean of its records' offsets, in place: times gain >= 1, which undoes what the
 * cut did to typical ones, no longer than radius, from the centre. */
FRE_API void fre_aggregate_from_centre(float *mean, const float *centre, size_t dim, double gain,
                                       double radius);

/** Scale x, float[dim], onto the sphere of radius bound if it is longer: x is of bounded norm then (to
 * a rounding that fre_aggregate_add takes care of), and no two points are further apart than before.
 * False, and x unchanged: x holds a NaN or an infinity. */
FRE_API FRE_MUST_CHECK bool fre_aggregate_clip(float *x, size_t dim, double bound);

/** Where embeddings are rounded to, and how many of them a sum holds at most. */
typedef struct fre_aggregate_lattice {
    double step;       /**< beta > 0, embedding units */
    double norm_bound; /**< B > 0: a longer embedding is scaled onto that sphere */
    uint64_t points;   /**< added to one sum at most */
} fre_aggregate_lattice;

/** Clip x to the norm bound, round it to the nearest point of the lattice, add it `times` times.
 * sum: int64[dim] in units of beta; x: float[dim], finite.
 * FRE_E_DATA: a coordinate so large that a sum of `points` of them, and noise, could pass 2^62;
 * the sum is unchanged then. */
FRE_API FRE_MUST_CHECK fre_status fre_aggregate_add(int64_t *sum, const float *x, size_t dim,
                                                    uint64_t times, const fre_aggregate_lattice *l);

/** The same for a record of a cell, whatever kind it is: centre NULL: of the grid; else its offset from it,
 * cut to l->norm_bound.  norm_bound: of embeddings.  x is spent.  As fre_aggregate_add; FRE_E_ARG: x holds a
 * NaN or an infinity (a public cell). */
FRE_API FRE_MUST_CHECK fre_status fre_aggregate_add_record(int64_t *sum, float *x, size_t dim,
                                                           uint64_t times, const float *centre,
                                                           double norm_bound,
                                                           const fre_aggregate_lattice *l);

/** Add an exactly rounded Gaussian of standard deviation sigma_lattice * beta to each coordinate;
 * 0: none (no privacy). */
FRE_API void fre_aggregate_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma_lattice);

/** mean[j] = sum[j] * beta / count; count >= 1. */
FRE_API void fre_aggregate_mean(float *mean, const int64_t *sum, size_t dim, double step,
                                uint64_t count);

/** Numbers of dummy tags: tags[m-1], m = 1..tau-1, unique random tags that appear m times each, by
 * TSDLap(lambda, gamma) of d.  [Fre-E2T, Alg. 2]
 * FRE_E_ARG: tau < 2, or a lambda that the sampler cannot draw with exactly: it must be a multiple
 * of 2^-16 from 2^-16 to 2^16; gamma at most FRE_TSDLAP_GAMMA_MAX. */
FRE_API FRE_MUST_CHECK fre_status fre_aggregate_padding(uint32_t *tags, uint64_t tau,
                                                        fre_rng *padding, const fre_distributed *d);
/** Dummies in all that this can give, 2 gamma tags of each multiplicity: gamma tau (tau - 1);
 * UINT64_MAX: as many or more. */
FRE_API uint64_t fre_aggregate_padding_most(uint64_t tau, const fre_distributed *d);

#ifdef __cplusplus
}
#endif
#endif /* FRE_AGGREGATE_H */
