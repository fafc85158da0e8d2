/* statement.c - signed statements: Ed25519 (RFC 8032) over a labelled message. */
#include "seal_private.h"

#include <sodium.h>
#include <stdlib.h>

fre_status fre_sign_keygen_with(fre_sign_sk *sk, fre_sign_pk *pk, const uint8_t seed[32])
{
    fre_sign_sk s;
    fre_sign_pk p;

    if (!sk || !pk || !seed)
        return FRE_E_ARG;
    if (sodium_init() < 0 || crypto_sign_seed_keypair(p.b, s.b, seed) != 0)
        return FRE_E_INTERNAL;
    FRE_DECLASSIFY(&p, sizeof p); /* public: the public half */
    FRE_DECLASSIFY(s.b + 32, 32); /* public: the same, as libsodium keeps it */
    *sk = s;
    *pk = p;
    fre_sign_sk_wipe(&s);
    return FRE_OK;
}

fre_status fre_sign_keygen(fre_sign_sk *sk, fre_sign_pk *pk, fre_rng *r)
{
    uint8_t seed[32];
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, seed, sizeof seed);
    st = fre_sign_keygen_with(sk, pk, seed);
    fre_wipe(seed, sizeof seed);
    return st;
}

void fre_sign_sk_wipe(fre_sign_sk *sk)
{
    if (sk)
        fre_wipe(sk, sizeof *sk);
}

/* u8 length || label || u64 length || bytes; the caller frees. */
static fre_status frame(uint8_t **out, size_t *n, const char *label, fre_bytes bytes)
{
    size_t label_n = label ? strnlen(label, FRE_SIGN_LABEL_MAX + 1) : 0;
    uint8_t *p;

    if (label_n < 1 || label_n > FRE_SIGN_LABEL_MAX || (bytes.n > 0 && !bytes.p))
        return FRE_E_ARG;
    if (bytes.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    *n = 1 + label_n + 8 + bytes.n;
    p = malloc(*n);
    if (!p)
        return FRE_E_NOMEM;
    *out = p;
    *p++ = (uint8_t)label_n;
    memcpy(p, label, label_n);
    p += label_n;
    for (unsigned i = 0; i < 8; i++)
        *p++ = (uint8_t)((uint64_t)bytes.n >> (56 - 8 * i));
    if (bytes.n > 0)
        memcpy(p, bytes.p, bytes.n);
    return FRE_OK;
}

fre_status fre_sign_statement(fre_signature *out, const fre_sign_sk *sk, const char *label,
                              fre_bytes bytes)
{
    fre_signature sig;
    uint8_t *message = NULL;
    size_t n = 0;
    fre_status st;

    if (!out || !sk)
        return FRE_E_ARG;
    st = frame(&message, &n, label, bytes);
    if (st != FRE_OK)
        return st;
    if (sodium_init() < 0 || crypto_sign_detached(sig.b, NULL, message, n, sk->b) != 0) {
        st = FRE_E_INTERNAL;
    } else {
        FRE_DECLASSIFY(&sig, sizeof sig); /* public: what is published */
        *out = sig;
    }
    fre_wipe_free(message, n);
    return st;
}

fre_status fre_sign_verify(const fre_sign_pk *pk, const fre_signature *sig, const char *label,
                           fre_bytes bytes)
{
    uint8_t *message = NULL;
    size_t n = 0;
    fre_status st;

    if (!pk || !sig)
        return FRE_E_ARG;
    st = frame(&message, &n, label, bytes);
    if (st != FRE_OK)
        return st;
    if (sodium_init() < 0)
        st = FRE_E_INTERNAL;
    else if (crypto_sign_verify_detached(sig->b, message, n, pk->b) != 0)
        st = FRE_E_REFUSED;
    fre_wipe_free(message, n);
    return st;
}
