/* Inside seal: byte views, the bounded cursor, HKDF-SHA256 and the two AEADs. */
#ifndef FRE_SEAL_PRIVATE_H
#define FRE_SEAL_PRIVATE_H

#include <fre/seal.h>

#include <string.h>

#define SEAL_KEM 0x0020u
#define SEAL_KDF 0x0001u
#define SEAL_NONCE_BYTES 12u

static inline fre_bytes seal_view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

static inline fre_bytes seal_text(const char *s)
{
    return (fre_bytes){.p = (const uint8_t *)s, .n = strlen(s)};
}

static inline void seal_put16(uint8_t out[2], unsigned v)
{
    out[0] = (uint8_t)(v >> 8);
    out[1] = (uint8_t)v;
}

/* Reads n bytes off the front of c; false and no change when there are fewer. */
FRE_MUST_CHECK static inline bool seal_read(fre_bytes *c, fre_bytes *out, size_t n)
{
    if (n > c->n)
        return false;
    *out = seal_view(c->p, n);
    if (n > 0)
        *c = seal_view(c->p + n, c->n - n);
    return true;
}

FRE_MUST_CHECK static inline bool seal_read_u8(fre_bytes *c, uint8_t *out)
{
    fre_bytes b;

    if (!seal_read(c, &b, 1))
        return false;
    *out = b.p[0];
    return true;
}

FRE_MUST_CHECK static inline bool seal_read_u16(fre_bytes *c, uint16_t *out)
{
    fre_bytes b;

    if (!seal_read(c, &b, 2))
        return false;
    *out = (uint16_t)(b.p[0] << 8 | b.p[1]);
    return true;
}

/* ---- ohttp_config.c ----------------------------------------------------------------------- */

bool seal_offers(const fre_ohttp_config *c, unsigned aead);

/* ---- kdf.c: HKDF-SHA256 (RFC 5869) over messages in pieces ---------------------------------- */

#define SEAL_HASH_BYTES 32u

void seal_extract(uint8_t prk[SEAL_HASH_BYTES], fre_bytes salt, const fre_bytes *ikm, size_t n);
/* len <= FRE_HPKE_EXPORT_MAX. */
void seal_expand(uint8_t *out, size_t len, const uint8_t prk[SEAL_HASH_BYTES],
                 const fre_bytes *info, size_t n);

/* ---- aead.c ------------------------------------------------------------------------------------ */

/* Nk of an AEAD of ours: 16 or 32; 0 for any other. */
size_t seal_aead_key_bytes(unsigned aead);
/* out: pt.n + FRE_HPKE_TAG_BYTES bytes, on success only. */
FRE_MUST_CHECK fre_status seal_aead_seal(unsigned aead, uint8_t *out, const uint8_t *key,
                                         const uint8_t nonce[SEAL_NONCE_BYTES], fre_bytes aad,
                                         fre_bytes pt);
/* out: ct.n - FRE_HPKE_TAG_BYTES bytes, on success only. */
FRE_MUST_CHECK fre_status seal_aead_open(unsigned aead, uint8_t *out, const uint8_t *key,
                                         const uint8_t nonce[SEAL_NONCE_BYTES], fre_bytes aad,
                                         fre_bytes ct);

/* ---- bhttp_rules.c: what both directions of binary HTTP hold a message to (RFC 9292, with RFC 9110
 * and RFC 9113) ------------------------------------------------------------------------------- */

/* FRE_OK; FRE_E_DATA: not a method, scheme, authority or path; FRE_E_LIMIT: too long. */
FRE_MUST_CHECK fre_status bhttp_check_target(const fre_bhttp *m);
/* The same of one field line. */
FRE_MUST_CHECK fre_status bhttp_check_field(const fre_bhttp_field *f);

#endif /* FRE_SEAL_PRIVATE_H */
