/* sampler_private.h - what the samplers share, and what their tests look into. */
#ifndef FRE_SAMPLER_PRIVATE_H
#define FRE_SAMPLER_PRIVATE_H

#include <fre/sampler.h>

__extension__ typedef unsigned __int128 fre_wide;

/* True with probability exactly num/den; num <= den, 1 <= den <= 2^96. */
bool fre_sample_ratio(fre_rng *r, fre_wide num, fre_wide den);

/* True with probability exactly exp(-num/den); 1 <= den <= 2^96. */
bool fre_sample_ratio_exp(fre_rng *r, fre_wide num, fre_wide den);

/* Discrete Laplace, Pr[x] ~ exp(-|x| s/t), exact; 1 <= s, t <= 2^32.  |x| < 2^53. */
int64_t fre_sample_discrete_laplace(fre_rng *r, uint64_t s, uint64_t t);

/* A threshold and a draw have 126 bits, in two words of 63 so that the top bit of a difference of
 * words is its sign. */
#define FRE_TABLE_WORD_BITS 63u
#define FRE_TABLE_WORD_MASK (UINT64_MAX >> 1)
#define FRE_TABLE_LANES 8u
#define FRE_TABLE_ENTRIES_MAX (1u << 14)

/* Lanes beside each other, so that a compiler compares several at once. */
typedef struct fre_table_block {
    uint64_t low[FRE_TABLE_LANES];
    uint64_t high[FRE_TABLE_LANES];
} fre_table_block;

/* Public: it follows from the variance.  Threshold m is floor(2^126 Pr[|X| <= m]), m = 0..n-1, and
 * |X| <= n; what fills the last block is 0, which no draw is below. */
struct fre_gaussian_table {
    uint32_t n;
    uint32_t blocks;
    fre_table_block block[];
};

/* How many of the table's thresholds are above the draw, for each of `n` draws of two words:
 * kernels for the instruction sets of this machine, the best one first, then NULL.  Constant
 * time. */
typedef void fre_table_kernel(const fre_gaussian_table *t, const uint64_t *u, uint64_t *above,
                              size_t n);
fre_table_kernel *fre_table_kernel_at(size_t index);

#endif
