/* ristretto255 (RFC 9496) over libsodium: which bytes are elements and scalars, and products. */
#include "oprf_private.h"

#include <sodium.h>
#include <string.h>

/* 2^252 + 27742317777372353535851937790883648493. */
static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
                                  0xa2, 0xde, 0xf9, 0xde, 0x14, 0,    0,    0,    0,    0,    0,
                                  0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};

/* 2^255 - 19. */
static const uint8_t field[32] = {0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};

/* 1 if 0 < x < bound as little-endian numbers, else 0: the borrow of x - bound, and any bit. */
static uint32_t is_between(const uint8_t x[32], const uint8_t bound[32])
{
    uint32_t borrow = 0, any = 0;

    for (size_t i = 0; i < 32; i++) {
        borrow = ((uint32_t)x[i] - bound[i] - borrow) >> 31;
        any |= x[i];
    }
    return borrow & ((any + 255) >> 8);
}

bool fre_oprf_scalar_is_valid(const uint8_t s[FRE_OPRF_SCALAR_BYTES])
{
    uint32_t valid = is_between(s, order);

    FRE_DECLASSIFY(&valid, sizeof valid); /* public: a bad scalar ends the call */
    return valid != 0;
}

bool fre_oprf_element_is_canonical(const uint8_t e[FRE_OPRF_ELEMENT_BYTES])
{
    return (is_between(e, field) & ~(uint32_t)e[0] & 1) != 0;
}

void fre_oprf_scalar_draw(uint8_t out[FRE_OPRF_SCALAR_BYTES], fre_rng *r)
{
    uint8_t wide[64];

    /* 512 bits modulo the order: within 2^-259 of uniform, and no rejection to be timed. */
    do {
        fre_rng_bytes(r, wide, sizeof wide);
        crypto_core_ristretto255_scalar_reduce(out, wide);
    } while (!fre_oprf_scalar_is_valid(out));
    fre_wipe(wide, sizeof wide);
}

bool fre_oprf_multiply(uint8_t out[FRE_OPRF_ELEMENT_BYTES], const uint8_t s[FRE_OPRF_SCALAR_BYTES],
                       const uint8_t e[FRE_OPRF_ELEMENT_BYTES])
{
    int bad = crypto_scalarmult_ristretto255(out, s, e);

    FRE_DECLASSIFY(&bad, sizeof bad); /* public: whether the peer sent an element */
    return bad == 0;
}

bool fre_oprf_multiply_base(uint8_t out[FRE_OPRF_ELEMENT_BYTES],
                            const uint8_t s[FRE_OPRF_SCALAR_BYTES])
{
    int bad = crypto_scalarmult_ristretto255_base(out, s);

    FRE_DECLASSIFY(&bad, sizeof bad); /* public: never, as s is neither 0 nor the order */
    return bad == 0;
}

/* ---- from bytes -------------------------------------------------------------------------- */

static bool element_is_valid(fre_bytes in)
{
    return in.p && in.n == FRE_OPRF_ELEMENT_BYTES && fre_oprf_element_is_canonical(in.p) &&
           crypto_core_ristretto255_is_valid_point(in.p) == 1;
}

fre_status fre_oprf_element_decode(fre_oprf_element *out, fre_bytes in)
{
    if (!out)
        return FRE_E_ARG;
    if (!element_is_valid(in))
        return FRE_E_DATA;
    memcpy(out->b, in.p, sizeof out->b);
    return FRE_OK;
}

fre_status fre_oprf_public_decode(fre_oprf_public *out, fre_bytes in)
{
    if (!out)
        return FRE_E_ARG;
    if (!element_is_valid(in))
        return FRE_E_DATA;
    memcpy(out->b, in.p, sizeof out->b);
    return FRE_OK;
}

fre_status fre_oprf_proof_decode(fre_oprf_proof *out, fre_bytes in)
{
    if (!out)
        return FRE_E_ARG;
    if (!in.p || in.n != FRE_OPRF_PROOF_BYTES || !fre_oprf_scalar_is_valid(in.p) ||
        !fre_oprf_scalar_is_valid(in.p + FRE_OPRF_SCALAR_BYTES))
        return FRE_E_DATA;
    memcpy(out->b, in.p, sizeof out->b);
    return FRE_OK;
}

fre_status fre_oprf_blind_decode(fre_oprf_blind *out, fre_bytes in)
{
    if (!out)
        return FRE_E_ARG;
    if (!in.p || in.n != FRE_OPRF_SCALAR_BYTES || !fre_oprf_scalar_is_valid(in.p))
        return FRE_E_DATA;
    memcpy(out->b, in.p, sizeof out->b);
    return FRE_OK;
}

/* ---- secrets, wiped ---------------------------------------------------------------------- */

void fre_oprf_key_wipe(fre_oprf_key *k)
{
    if (k)
        fre_wipe(k, sizeof *k);
}

void fre_oprf_blind_wipe(fre_oprf_blind *r)
{
    if (r)
        fre_wipe(r, sizeof *r);
}

void fre_oprf_nonce_wipe(fre_oprf_nonce *r)
{
    if (r)
        fre_wipe(r, sizeof *r);
}

void fre_oprf_output_wipe(fre_oprf_output *o)
{
    if (o)
        fre_wipe(o, sizeof *o);
}
