/* RFC 9380 sec. 5.3.1 (expand_message_xmd, SHA-512) and what RFC 9497 sec. 4.1 makes of it for
 * ristretto255: HashToGroup, HashToScalar, and DeriveKeyPair's hash. */
#include "oprf_private.h"

#include <sodium.h>
#include <string.h>

#define SHA512_BLOCK_BYTES 128u
#define EXPAND_BLOCKS_MAX 255u
#define DST_MAX 255u
#define UNIFORM_BYTES 64u /* both maps take 64 uniform bytes */

static const char group_dst[] = "HashToGroup-" FRE_OPRF_CONTEXT;
static const char scalar_dst[] = "HashToScalar-" FRE_OPRF_CONTEXT;
static const char key_dst[] = "DeriveKeyPair" FRE_OPRF_CONTEXT;

void fre_oprf_u16(uint8_t out[2], size_t n)
{
    out[0] = (uint8_t)(n >> 8);
    out[1] = (uint8_t)n;
}

static void update(crypto_hash_sha512_state *h, const fre_bytes *part, size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++)
        if (part[i].n > 0)
            (void)crypto_hash_sha512_update(h, part[i].p, part[i].n);
}

void fre_oprf_sha512(uint8_t out[FRE_OPRF_HASH_BYTES], const fre_bytes *part, size_t n_parts)
{
    crypto_hash_sha512_state h;

    (void)crypto_hash_sha512_init(&h);
    update(&h, part, n_parts);
    (void)crypto_hash_sha512_final(&h, out);
    fre_wipe(&h, sizeof h);
}

/* b_0 = H(Z_pad || msg || I2OSP(n, 2) || I2OSP(0, 1) || DST_prime). */
static void first_block(uint8_t b0[FRE_OPRF_HASH_BYTES], const fre_bytes *part, size_t n_parts,
                        size_t n, const fre_bytes dst_prime[2])
{
    static const uint8_t pad[SHA512_BLOCK_BYTES];
    uint8_t length_zero[3] = {0};
    crypto_hash_sha512_state h;

    fre_oprf_u16(length_zero, n);
    (void)crypto_hash_sha512_init(&h);
    (void)crypto_hash_sha512_update(&h, pad, sizeof pad);
    update(&h, part, n_parts);
    (void)crypto_hash_sha512_update(&h, length_zero, sizeof length_zero);
    update(&h, dst_prime, 2);
    (void)crypto_hash_sha512_final(&h, b0);
    fre_wipe(&h, sizeof h);
}

fre_status fre_oprf_expand(uint8_t *out, size_t n, const fre_bytes *part, size_t n_parts,
                           fre_bytes dst)
{
    const uint8_t dst_length = (uint8_t)dst.n;
    const fre_bytes dst_prime[2] = {dst, {&dst_length, 1}};
    uint8_t b0[FRE_OPRF_HASH_BYTES], mixed[FRE_OPRF_HASH_BYTES], b[FRE_OPRF_HASH_BYTES] = {0};

    if (n == 0 || n > (size_t)EXPAND_BLOCKS_MAX * sizeof b || dst.n > DST_MAX)
        return FRE_E_ARG;
    first_block(b0, part, n_parts, n, dst_prime);
    for (size_t i = 1, at = 0; at < n; i++, at += sizeof b) {
        /* b_i = H((b_0 xor b_(i-1)) || I2OSP(i, 1) || DST_prime), and b_1 of b_0 alone. */
        const uint8_t index = (uint8_t)i;
        const fre_bytes in[4] = {{mixed, sizeof mixed}, {&index, 1}, dst_prime[0], dst_prime[1]};

        for (size_t j = 0; j < sizeof mixed; j++)
            mixed[j] = (uint8_t)(b0[j] ^ b[j]);
        fre_oprf_sha512(b, in, 4);
        memcpy(out + at, b, n - at < sizeof b ? n - at : sizeof b);
    }
    fre_wipe(b0, sizeof b0);
    fre_wipe(mixed, sizeof mixed);
    fre_wipe(b, sizeof b);
    return FRE_OK;
}

static fre_bytes tag(const char *dst, size_t size)
{
    return (fre_bytes){(const uint8_t *)dst, size - 1};
}

fre_status fre_oprf_hash_to_group(uint8_t out[FRE_OPRF_ELEMENT_BYTES], fre_bytes input)
{
    uint8_t uniform[UNIFORM_BYTES], any = 0;
    fre_status st;

    st = fre_oprf_expand(uniform, sizeof uniform, &input, 1, tag(group_dst, sizeof group_dst));
    if (st != FRE_OK)
        return st;
    (void)crypto_core_ristretto255_from_hash(out, uniform);
    fre_wipe(uniform, sizeof uniform);
    for (size_t i = 0; i < FRE_OPRF_ELEMENT_BYTES; i++)
        any |= out[i];
    FRE_DECLASSIFY(&any, sizeof any); /* public: nobody can make this byte 0 */
    return any != 0 ? FRE_OK : FRE_E_INTERNAL;
}

static fre_status hash_to_scalar(uint8_t out[FRE_OPRF_SCALAR_BYTES], const fre_bytes *part,
                                 size_t n_parts, fre_bytes dst)
{
    uint8_t uniform[UNIFORM_BYTES];
    fre_status st = fre_oprf_expand(uniform, sizeof uniform, part, n_parts, dst);

    if (st != FRE_OK)
        return st;
    crypto_core_ristretto255_scalar_reduce(out, uniform);
    fre_wipe(uniform, sizeof uniform);
    return FRE_OK;
}

fre_status fre_oprf_hash_to_scalar(uint8_t out[FRE_OPRF_SCALAR_BYTES], const fre_bytes *part,
                                   size_t n_parts)
{
    return hash_to_scalar(out, part, n_parts, tag(scalar_dst, sizeof scalar_dst));
}

fre_status fre_oprf_hash_to_key(uint8_t out[FRE_OPRF_SCALAR_BYTES], const fre_bytes *part,
                                size_t n_parts)
{
    return hash_to_scalar(out, part, n_parts, tag(key_dst, sizeof key_dst));
}
