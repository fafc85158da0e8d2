/** fre/sharing.h - a client's embedding as two additive shares, and back from sums of shares to a
 * noisy centroid [Fre-E2T, Alg. 2; distributed discrete Gaussian, A_client and A_server].
 *
 * With D = fre_hadamard_dim(d), H the orthonormal Hadamard matrix of order D, signs xi, a cell's
 * step beta and b bits of the collection, the client of embedding x computes
 *     q = round_at_random(H D_xi x / beta),  z = q + noise  (mod 2^b),
 * the share of S_tag is a seed, that of S_syn is z - PRG(seed) (mod 2^b).  Each server adds up its
 * shares of a cell; both sums together are the sum of the z, which is lifted to signed numbers,
 * turned back, multiplied by beta and divided by the number of answers.
 *
 * Packed residues: residue i is the b bits from bit b i on, bit k being bit k mod 8 (the least
 * significant first) of byte k/8; ceil(D b / 8) bytes, bits beyond the last residue are 0.
 * PRG(seed): the same reading of the keystream of AES-128-CTR, key = seed, first counter block 0.
 * Signs: bit i of the keystream of AES-128-CTR, key = first half of the collection's sign seed,
 * first counter block = its second half; a set bit is -1.
 *
 * All numbers that parties must agree on come from +, -, *, / and square roots of doubles alone,
 * which IEEE 754 rounds the same way everywhere; residues and noise are integers.
 *
 * What is assumed of clients: embeddings of norm at most B that do not depend on the signs.  A
 * dishonest one can shift the centroid of the one cell it answers for by as much as it likes, or
 * spoil that cell by reaching the guard; it learns nothing by it.  No proof of a norm is made.
 */
#ifndef FRE_SHARING_H
#define FRE_SHARING_H

#include <fre/core.h>
#include <fre/privacy.h>
#include <fre/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_SHARING_DIM_MAX 8192u /* d */
#define FRE_SHARING_BITS_MIN 8u   /* b */
#define FRE_SHARING_BITS_MAX 32u
#define FRE_SIGN_SEED_BYTES 32u
#define FRE_SHARE_SEED_BYTES 16u

/* ---- rotation ------------------------------------------------------------------------------ */

/** H D_xi for one dimension and sign seed: order 2^n, or 12 2^n as the product of Paley's matrix of
 * order 12 (quadratic residues mod 11) and Sylvester's of order 2^n.  Immutable. */
typedef struct fre_rotation fre_rotation;

/** dim in 1..FRE_SHARING_DIM_MAX, else FRE_E_ARG; FRE_E_NOMEM; FRE_E_INTERNAL: no AES.  Owned by
 * the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_rotation_new(fre_rotation **out, uint32_t dim,
                                                   const uint8_t sign_seed[FRE_SIGN_SEED_BYTES]);
/** NULL is allowed. */
FRE_API void fre_rotation_free(fre_rotation *r);
/** D = fre_hadamard_dim(dim). */
FRE_API uint32_t fre_rotation_padded(const fre_rotation *r);
/** out = H D_xi x, padded with zeros to D entries; x: dim entries.  Same bits on every platform;
 * time depends on D alone. */
FRE_API void fre_rotation_apply(const fre_rotation *r, double *out, const float *x);
/** The inverse: y, D entries, is overwritten with D_xi H^T y, of which the first dim count. */
FRE_API void fre_rotation_undo(const fre_rotation *r, double *y);

/* ---- parameters ---------------------------------------------------------------------------- */

/** What everybody derives from the collection and the public count of one cell. */
typedef struct fre_share_cell {
    uint32_t dim, padded;    /**< d, D */
    uint32_t bits;           /**< b */
    uint64_t count;          /**< the cell's published count */
    uint64_t answers_needed; /**< of a sum: fre_sum_answers */
    double norm_bound;       /**< B, or R of public cells, whose offsets are what is shared */
    double sigma_local;      /**< one user's noise, or one server's, embedding units */
    double beta;             /**< the lattice step */
    /** That noise in steps, variance times 2^16, rounded up: at least (sigma_local/beta)^2,
     * and above it by what rounding of rotated embeddings to doubles could take away. */
    uint64_t var16;
} fre_share_cell;

/** Parameters of a cell of this count; one contact: but for count itself the same for all counts, so
 * that clients, who do not know it, take tau.  m: distributed, discrete noise, with dim and
 * norm_bound; split: the plan's Delta (fre_account.split), > 0; bits: of the collection.
 * FRE_E_USAGE: a field out of range.  FRE_E_LIMIT: noise of more than 2^10 steps. */
FRE_API FRE_MUST_CHECK fre_status fre_share_cell_init(fre_share_cell *out, const fre_mechanism *m,
                                                      double split, uint64_t count, uint32_t bits,
                                                      fre_err *err);
/** b for a whole collection: the least in FRE_SHARING_BITS_MIN..FRE_SHARING_BITS_MAX with which,
 * whatever honest clients hold, any of `cells` sums over cells of tau <= count <= largest leaves
 * the guarded range (fre_share_open) with probability at most 2^-40 altogether.  Two-phase: largest
 * and cells are those of the published list, with splits three for each.  One contact: shares leave
 * before counts are known, so largest is the collection's bound on one cell's reports (N where it has
 * none) and cells is N/tau.  FRE_E_USAGE: a field out of range.  FRE_E_LIMIT: 32 bits do not suffice. */
FRE_API FRE_MUST_CHECK fre_status fre_share_bits(uint32_t *out, const fre_mechanism *m,
                                                 double split, uint64_t largest, uint64_t cells,
                                                 fre_err *err);
/** ceil(D bits / 8) for embeddings of dim entries; 0 for a dim or bits out of range. */
FRE_API size_t fre_share_bytes(uint32_t dim, uint32_t bits);

/* ---- a client's share ---------------------------------------------------------------------- */

/** S_tag's share. */
typedef struct fre_share_seed {
    uint8_t b[FRE_SHARE_SEED_BYTES]; /* SECRET */
} fre_share_seed;
FRE_API void fre_share_seed_wipe(fre_share_seed *s);

/** Where the integers that are added come from: n draws into out. */
typedef struct fre_share_noise {
    void (*draw)(const void *ctx, fre_rng *r, int32_t *out, size_t n);
    const void *ctx;
} fre_share_noise;
/** Draws from a table (borrowed), which must have been made for the cell's var16. */
FRE_API fre_share_noise fre_share_table_noise(const fre_gaussian_table *t);

/** Both shares of x (dim entries; longer vectors are scaled down to norm B).  packed:
 * fre_share_bytes(dim, bits) bytes.  The noise is drawn from a table made here for the cell.
 * Constant time: neither instructions nor addresses depend on x, noise or seed.
 * FRE_E_ARG: sizes that do not agree.  FRE_E_DATA: x holds a NaN or an infinity (that verdict is
 * treated as public).  FRE_E_NOMEM, FRE_E_INTERNAL. */
FRE_API FRE_MUST_CHECK fre_status fre_share_make(uint8_t *packed, size_t packed_bytes,
                                                 fre_share_seed *seed, const fre_rotation *rot,
                                                 const fre_share_cell *cell, const float *x,
                                                 fre_rng *r);
/** The same with the noise of `noise`; NULL adds none, and such a share PROTECTS NOTHING: it is
 * there for tests of exact sums.  Whoever makes many shares keeps one table a var16. */
FRE_API FRE_MUST_CHECK fre_status fre_share_make_with(uint8_t *packed, size_t packed_bytes,
                                                      fre_share_seed *seed, const fre_rotation *rot,
                                                      const fre_share_cell *cell, const float *x,
                                                      const fre_share_noise *noise, fre_rng *r);
/** Two shares of nothing that look like any other: independent and uniform.  For messages of
 * clients who have none to send.  FRE_E_ARG: dim, bits or packed_bytes do not agree. */
FRE_API FRE_MUST_CHECK fre_status fre_share_random(uint8_t *packed, size_t packed_bytes,
                                                   fre_share_seed *seed, uint32_t dim,
                                                   uint32_t bits, fre_rng *r);

/* ---- sums ---------------------------------------------------------------------------------- */

/* A sum is an array of n = D words; word i counts modulo 2^bits (its higher bits are noise of the
 * additions, which fre_share_pack and fre_share_open ignore).  Start from zeros.  Additions
 * commute, so that any split over threads or rows of a store gives the same. */

/** sum[i] += residue i.  FRE_E_DATA: not exactly ceil(n bits / 8) bytes, or a bit is set beyond the
 * last residue; sum is unchanged then.  FRE_E_ARG: bits or n = 0 out of range. */
FRE_API FRE_MUST_CHECK fre_status fre_share_add(uint32_t *sum, size_t n, uint32_t bits,
                                                fre_bytes packed);
/** sum[i] += other[i]. */
FRE_API void fre_share_combine(uint32_t *sum, const uint32_t *other, size_t n);
/** sum[i] += one server's noise, a discrete Gaussian of the cell's var16, exact: what each server adds
 * once to the sum of a cell whose users add none.  Its time depends on the draws. */
FRE_API void fre_share_add_noise(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *r);
/** Packed residues of sum; out_bytes must be ceil(n bits / 8), else FRE_E_ARG. */
FRE_API FRE_MUST_CHECK fre_status fre_share_pack(uint8_t *out, size_t out_bytes,
                                                 const uint32_t *sum, size_t n, uint32_t bits);

/** Expands seeds; holds one keystream, wiped at the end.  One thread at a time. */
typedef struct fre_share_expander fre_share_expander;
/** For residues of n words of `bits` bits; n in 1..2^14.  Owned by the caller. */
FRE_API FRE_MUST_CHECK fre_status fre_share_expander_new(fre_share_expander **out, size_t n,
                                                         uint32_t bits);
FRE_API void fre_share_expander_free(fre_share_expander *e);
/** sum[i] += PRG(seed)[i]; unchanged on failure (FRE_E_INTERNAL: the cipher failed). */
FRE_API FRE_MUST_CHECK fre_status fre_share_expander_add(fre_share_expander *e, uint32_t *sum,
                                                         const fre_share_seed *seed);

/** Centroid (dim entries) from the sum of both servers' sums over the same `answers` reports.
 * FRE_E_ARG: sizes that do not agree, or more answers than the cell's count.  FRE_E_REFUSED: fewer
 * answers than the cell needs.  FRE_E_DATA: the guard: a lifted sum lies in the outer eighth of
 * -2^(b-1)..2^(b-1)-1, where honest shares do not come (fre_share_bits), while a share that was
 * not made as above, or added by one server only, gets past with probability (7/8)^D. */
FRE_API FRE_MUST_CHECK fre_status fre_share_open(float *centroid, const fre_rotation *rot,
                                                 const fre_share_cell *cell, const uint32_t *sum,
                                                 size_t n, uint64_t answers, fre_err *err);

/** Splits: the geometric median of the centroids of a cell's thirds, as many as could be opened: of 3; of 2
 * their middle; of 1 itself.  centroid: n rows of dim entries.  One of three that is wrong moves it by no
 * more than 1.155 times the larger distance of the other two from the truth [Minsker 2015, lemma 2.1]. */
FRE_API void fre_share_median(float *out, const float *centroid, size_t n, uint32_t dim);

/** Two contacts: rounds it to multiples of the least power of two that is at least 8 beta / answers_needed,
 * coordinate by coordinate.  Without it the lattice of the sums, which has steps of beta / answers, tells
 * how many answered, and so to whoever keeps one back that it counted. */
FRE_API void fre_share_hide_answers(float *centroid, const fre_share_cell *cell);
/** That power of two. */
FRE_API double fre_share_hidden_step(const fre_share_cell *cell);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SHARING_H */
