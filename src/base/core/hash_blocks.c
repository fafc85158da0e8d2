/* hash_blocks.c - SHA-256 of whole blocks by the processor's own instructions (Intel, "SHA Extensions",
 * 2013), where it has them: model files of some ten MB are hashed at every start.  Between calls the
 * state is libsodium's, which also does what is left and all of it elsewhere. */
#include "core_private.h"

#if defined __x86_64__

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,sse4.1")))
#define SHA_BIT (1u << 29) /* of ebx in leaf 7 */

static const uint32_t constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static bool can(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA_BIT);
}

/* One block: four rounds a step, and the words of the step four later. */
TARGET static void one_block(__m128i *abef, __m128i *cdgh, const uint8_t *p)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i was[2] = {*abef, *cdgh};
    __m128i w[4];

    for (size_t i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)),
                                big_endian);
    for (size_t i = 0; i < 16; i++) {
        const __m128i now = w[i % 4], next = w[(i + 1) % 4], last = w[(i + 3) % 4];
        const __m128i k =
            _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(const void *)(constant + 4 * i)));

        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, k);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(k, 0x0e));
        w[i % 4] = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, w[(i + 2) % 4], 4)),
            last);
    }
    *abef = _mm_add_epi32(*abef, was[0]);
    *cdgh = _mm_add_epi32(*cdgh, was[1]);
}

/* The instructions take the words a..h as two vectors, from the highest lane: a b e f and c d g h. */
TARGET static void all_blocks(uint32_t s[8], const uint8_t *p, size_t blocks)
{
    __m128i abef = _mm_set_epi32((int)s[0], (int)s[1], (int)s[4], (int)s[5]);
    __m128i cdgh = _mm_set_epi32((int)s[2], (int)s[3], (int)s[6], (int)s[7]);
    uint32_t out[8];

    for (size_t i = 0; i < blocks; i++)
        one_block(&abef, &cdgh, p + 64 * i);
    _mm_storeu_si128((__m128i *)(void *)out, abef);
    _mm_storeu_si128((__m128i *)(void *)(out + 4), cdgh);
    s[0] = out[3], s[1] = out[2], s[4] = out[1], s[5] = out[0];
    s[2] = out[7], s[3] = out[6], s[6] = out[5], s[7] = out[4];
}

size_t core_hash_blocks(uint32_t state[8], const uint8_t *p, size_t n)
{
    const size_t blocks = n / 64;

    if (blocks < 16 || !can()) /* asking the processor takes as long as a few */
        return 0;
    all_blocks(state, p, blocks);
    return 64 * blocks;
}

#else

size_t core_hash_blocks(uint32_t state[8], const uint8_t *p, size_t n)
{
    (void)state, (void)p, (void)n;
    return 0;
}

#endif
