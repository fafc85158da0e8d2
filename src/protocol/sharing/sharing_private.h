/* sharing_private.h - what the files of sharing use of each other. */
#ifndef FRE_SHARING_PRIVATE_H
#define FRE_SHARING_PRIVATE_H

#include <fre/sharing.h>

#include <fre/linalg.h>

#include <string.h>

/* Words of a rotated vector at most: fre_hadamard_dim(FRE_SHARING_DIM_MAX) and what lies below. */
#define SHARING_WORDS_MAX (UINT32_C(1) << 14)

struct fre_rotation {
    uint32_t dim, padded;
    double scale;  /* 1/sqrt(D) */
    double sign[]; /* D times +-1 */
};

static inline bool sharing_bits_fit(uint32_t bits)
{
    return bits >= FRE_SHARING_BITS_MIN && bits <= FRE_SHARING_BITS_MAX;
}

/* Bits of a residue that count. */
static inline uint32_t sharing_mask(uint32_t bits)
{
    return UINT32_MAX >> (32 - bits);
}

/* 0 for an n or bits out of range. */
size_t sharing_packed_bytes(size_t n, uint32_t bits);

/* ---- pack.c ---------------------------------------------------------------------------------- */

/* sum[i] += residue i of n; exactly the right number of bytes at p. */
void sharing_add(uint32_t *sum, size_t n, uint32_t bits, const uint8_t *p);
/* Words' lower bits to exactly the right number of bytes. */
void sharing_pack(uint8_t *out, const uint32_t *word, size_t n, uint32_t bits);

/* ---- expand.c -------------------------------------------------------------------------------- */

/* n bytes of AES-128-CTR. */
FRE_MUST_CHECK fre_status sharing_keystream(uint8_t *out, size_t n, const uint8_t key[16],
                                            const uint8_t counter[16]);

/* ---- rotate.c -------------------------------------------------------------------------------- */

/* H y or H^T y without the factor 1/sqrt(n); n = 2^m or 12 2^m. */
void sharing_hadamard(double *y, size_t n, bool transposed);

/* ---- share.c --------------------------------------------------------------------------------- */

/* q = random rounding of y modulo 2^32, n words; |y| < 2^53. */
void sharing_round(uint32_t *q, const double *y, size_t n, fre_rng *r);
/* y = H D_xi x / beta with x scaled down to the norm bound. */
FRE_MUST_CHECK fre_status sharing_rotated(double *y, const fre_rotation *rot,
                                          const fre_share_cell *cell, const float *x);

/* ---- open.c ---------------------------------------------------------------------------------- */

/* Signed number of a residue. */
int64_t sharing_lift(uint32_t word, uint32_t bits);
/* Largest magnitude that the guard lets pass. */
int64_t sharing_guard(uint32_t bits);

#endif
