/* ohttp_config.c - key configurations of Oblivious HTTP (RFC 9458 section 3). */
#include "seal_private.h"

bool seal_offers(const fre_ohttp_config *c, unsigned aead)
{
    for (unsigned i = 0; i < c->aeads && i < FRE_OHTTP_AEADS_MAX; i++) {
        if ((unsigned)c->aead[i] == aead)
            return true;
    }
    return false;
}

static fre_status check(const fre_ohttp_config *c)
{
    if (c->aeads < 1 || c->aeads > FRE_OHTTP_AEADS_MAX)
        return FRE_E_ARG;
    for (unsigned i = 0; i < c->aeads; i++) {
        if (seal_aead_key_bytes((unsigned)c->aead[i]) == 0 ||
            (i > 0 && c->aead[i] == c->aead[i - 1]))
            return FRE_E_ARG;
    }
    return FRE_OK;
}

/* id || KEM || key || length of the suites || (KDF || AEAD)... */
#define CONFIG_MAX (1u + 2 + 32 + 2 + 4 * FRE_OHTTP_AEADS_MAX)

static size_t write_config(uint8_t out[CONFIG_MAX], const fre_ohttp_config *c)
{
    uint8_t *p = out;

    *p++ = c->id;
    seal_put16(p, SEAL_KEM);
    memcpy(p + 2, c->pk.b, sizeof c->pk.b);
    p += 2 + sizeof c->pk.b;
    seal_put16(p, 4u * c->aeads);
    p += 2;
    for (unsigned i = 0; i < c->aeads; i++, p += 4) {
        seal_put16(p, SEAL_KDF);
        seal_put16(p + 2, (unsigned)c->aead[i]);
    }
    return (size_t)(p - out);
}

fre_status fre_ohttp_config_encode(fre_buf *out, const fre_ohttp_config *c)
{
    uint8_t bytes[CONFIG_MAX];
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = check(c);
    return st == FRE_OK ? fre_buf_append(out, bytes, write_config(bytes, c)) : st;
}

/* The pairs of which we have both; the rest are skipped, and so are repetitions. */
static fre_status read_suites(fre_ohttp_config *c, fre_bytes in)
{
    if (in.n == 0 || in.n % 4 != 0)
        return FRE_E_DATA;
    while (in.n > 0) {
        uint16_t kdf, aead;

        if (!seal_read_u16(&in, &kdf) || !seal_read_u16(&in, &aead))
            return FRE_E_DATA;
        /* Two AEADs exist here, so aead[] has room for every different one. */
        if (kdf == SEAL_KDF && seal_aead_key_bytes(aead) > 0 && !seal_offers(c, aead))
            c->aead[c->aeads++] = (fre_hpke_aead)aead;
    }
    return c->aeads > 0 ? FRE_OK : FRE_E_KEY;
}

fre_status fre_ohttp_config_decode(fre_ohttp_config *out, fre_bytes in)
{
    fre_ohttp_config c = {.aeads = 0};
    fre_bytes pk;
    uint16_t kem, n;
    fre_status st;

    if (!out || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n > FRE_OHTTP_CONFIG_BYTES_MAX)
        return FRE_E_LIMIT;
    if (!seal_read_u8(&in, &c.id) || !seal_read_u16(&in, &kem))
        return FRE_E_DATA;
    if (kem != SEAL_KEM)
        return FRE_E_KEY; /* the length of its key is unknown, and with it the rest */
    if (!seal_read(&in, &pk, sizeof c.pk.b) || !seal_read_u16(&in, &n) || n != in.n)
        return FRE_E_DATA;
    memcpy(c.pk.b, pk.p, sizeof c.pk.b);
    st = read_suites(&c, in);
    if (st == FRE_OK)
        *out = c;
    return st;
}

fre_status fre_ohttp_configs_encode(fre_buf *out, const fre_ohttp_config *c, size_t n)
{
    uint8_t bytes[FRE_OHTTP_CONFIGS_MAX * (2 + CONFIG_MAX)];
    size_t at = 0;

    if (!out || !c || n < 1 || n > FRE_OHTTP_CONFIGS_MAX)
        return FRE_E_ARG;
    for (size_t i = 0; i < n; i++) {
        fre_status st = check(&c[i]);
        size_t len;

        if (st != FRE_OK)
            return st;
        len = write_config(bytes + at + 2, &c[i]);
        seal_put16(bytes + at, (unsigned)len);
        at += 2 + len;
    }
    return fre_buf_append(out, bytes, at);
}

fre_status fre_ohttp_configs_decode(fre_ohttp_config out[FRE_OHTTP_CONFIGS_MAX], size_t *n,
                                    fre_bytes in)
{
    fre_ohttp_config list[FRE_OHTTP_CONFIGS_MAX];
    size_t usable = 0;

    if (!out || !n || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n > FRE_OHTTP_CONFIG_BYTES_MAX)
        return FRE_E_LIMIT;
    if (in.n == 0)
        return FRE_E_DATA;
    while (in.n > 0) {
        fre_ohttp_config c;
        fre_bytes one;
        uint16_t len;
        fre_status st;

        if (!seal_read_u16(&in, &len) || !seal_read(&in, &one, len))
            return FRE_E_DATA;
        st = fre_ohttp_config_decode(&c, one);
        if (st == FRE_E_KEY)
            continue;
        if (st != FRE_OK)
            return st;
        if (usable == FRE_OHTTP_CONFIGS_MAX)
            return FRE_E_LIMIT;
        list[usable++] = c;
    }
    if (usable == 0)
        return FRE_E_KEY;
    memcpy(out, list, usable * sizeof list[0]);
    *n = usable;
    return FRE_OK;
}
