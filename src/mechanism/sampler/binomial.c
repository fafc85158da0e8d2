/* sampler/binomial.c - heads among many tosses, exactly. */
#include <fre/sampler.h>

#include <string.h>

#define ROOM 1024u /* bytes of random bits at once */

/* Heads among n fair tosses, a bit each. */
static uint64_t fair_heads(fre_rng *r, uint64_t n)
{
    uint64_t heads = 0, word[ROOM / 8];

    while (n > 0) {
        const uint64_t bits = n < 8 * ROOM ? n : 8 * ROOM;
        const size_t words = (size_t)((bits + 63) / 64);

        fre_rng_bytes(r, word, words * sizeof *word);
        if (bits % 64 != 0)
            word[words - 1] &= (UINT64_C(1) << bits % 64) - 1;
        for (size_t i = 0; i < words; i++)
            heads += (uint64_t)__builtin_popcountll(word[i]);
        n -= bits;
    }
    fre_wipe(word, sizeof word);
    return heads;
}

/* Each toss is a uniform number of 32 digits; it is below p32 at the first digit where the two differ. */
uint64_t fre_sample_binomial(fre_rng *r, uint64_t n, uint64_t p32)
{
    uint64_t below = 0, tied = n;

    if (p32 >= FRE_P_ONE)
        return n;
    for (unsigned digit = 32; digit-- > 0 && tied > 0;) {
        const uint64_t ones = fair_heads(r, tied);

        if (p32 >> digit & 1) {
            below += tied - ones;
            tied = ones;
        } else {
            tied -= ones;
        }
    }
    return below;
}
