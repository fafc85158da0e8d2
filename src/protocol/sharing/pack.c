/* pack.c - residues of b bits, packed one after the other, least significant bit first.
 *
 * Eight residues fill exactly b bytes.  Within a group, residue i starts at bit b i mod 8 of byte
 * b i / 8, so with b <= 32 it lies in the 8 bytes from there on.  The loops are compiled once for
 * each b, where all of these are constants. */
#include "sharing_private.h"

#define GROUP 8u
#define WINDOW 8u /* bytes read at once */
#define INLINE static inline __attribute__((always_inline))

size_t sharing_packed_bytes(size_t n, uint32_t bits)
{
    if (n == 0 || n > SHARING_WORDS_MAX || !sharing_bits_fit(bits))
        return 0;
    return (n * bits + 7) / 8;
}

INLINE uint64_t window(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Reads up to WINDOW bytes beyond the group's b.  The bits above a residue are the next one's:
 * they stay, since words count modulo 2^b. */
INLINE void add_group(uint32_t *sum, const uint8_t *p, const uint32_t bits)
{
    for (uint32_t i = 0; i < GROUP; i++)
        sum[i] += (uint32_t)(window(p + bits * i / 8) >> (bits * i % 8));
}

INLINE void add_groups(uint32_t *sum, size_t groups, const uint8_t *p, const uint32_t bits)
{
    for (size_t g = 0; g < groups; g++)
        add_group(sum + GROUP * g, p + bits * g, bits);
}

/* clang-format off */
#define EACH_BITS(X)                                                                               \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)  \
    X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
/* clang-format on */

static void add_all(uint32_t *sum, size_t groups, const uint8_t *p, uint32_t bits)
{
    switch (bits) {
#define X(b)                                                                                       \
    case b:                                                                                        \
        add_groups(sum, groups, p, b);                                                             \
        break;
        EACH_BITS(X)
#undef X
    default:
        break;
    }
}

/* The last whole group and what follows it go through a copy with room behind it: every other
 * group's windows end within the next one, which has b >= 8 bytes. */
void sharing_add(uint32_t *sum, size_t n, uint32_t bits, const uint8_t *p)
{
    const size_t whole = n >= 2 * GROUP ? n / GROUP - 1 : 0, left = n - whole * GROUP;
    uint32_t last[2 * GROUP] = {0};                        /* SECRET */
    uint8_t rest[2 * FRE_SHARING_BITS_MAX + WINDOW] = {0}; /* SECRET */

    add_all(sum, whole, p, bits);
    memcpy(rest, p + whole * bits, sharing_packed_bytes(n, bits) - whole * bits);
    add_all(last, (left + GROUP - 1) / GROUP, rest, bits);
    for (size_t i = 0; i < left; i++)
        sum[whole * GROUP + i] += last[i];
    fre_wipe(last, sizeof last);
    fre_wipe(rest, sizeof rest);
}

void sharing_pack(uint8_t *out, const uint32_t *word, size_t n, uint32_t bits)
{
    const uint32_t mask = sharing_mask(bits);
    uint64_t waiting = 0; /* below 2^(7 + 32) */
    uint32_t have = 0;

    for (size_t i = 0; i < n; i++) {
        waiting |= (uint64_t)(word[i] & mask) << have;
        for (have += bits; have >= 8; have -= 8) {
            *out++ = (uint8_t)waiting;
            waiting >>= 8;
        }
    }
    if (have > 0)
        *out = (uint8_t)waiting;
}

fre_status fre_share_add(uint32_t *sum, size_t n, uint32_t bits, fre_bytes packed)
{
    const size_t bytes = sharing_packed_bytes(n, bits);

    if (!sum || bytes == 0)
        return FRE_E_ARG;
    if (packed.n != bytes)
        return FRE_E_DATA;
    /* 8 bytes - n bits = 0..7 bits of the last byte hold nothing. */
    if (packed.p[bytes - 1] >> (8 - (8 * bytes - n * bits)) != 0)
        return FRE_E_DATA;
    sharing_add(sum, n, bits, packed.p);
    return FRE_OK;
}

void fre_share_combine(uint32_t *sum, const uint32_t *other, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += other[i];
}

void fre_share_add_noise(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *r)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += (uint32_t)fre_sample_discrete_gaussian(r, cell->var16);
}

fre_status fre_share_pack(uint8_t *out, size_t out_bytes, const uint32_t *sum, size_t n,
                          uint32_t bits)
{
    const size_t bytes = sharing_packed_bytes(n, bits);

    if (!out || !sum || bytes == 0 || out_bytes != bytes)
        return FRE_E_ARG;
    sharing_pack(out, sum, n, bits);
    return FRE_OK;
}
