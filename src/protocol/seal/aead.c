/* aead.c - AES-128-GCM and ChaCha20-Poly1305 (RFC 8439) over OpenSSL's EVP. */
#include "seal_private.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

size_t seal_aead_key_bytes(unsigned aead)
{
    switch (aead) {
    case FRE_HPKE_AES_128_GCM:
        return 16;
    case FRE_HPKE_CHACHA20_POLY1305:
        return 32;
    default:
        return 0;
    }
}

static const EVP_CIPHER *cipher_of(unsigned aead)
{
    return aead == FRE_HPKE_AES_128_GCM ? EVP_aes_128_gcm() : EVP_chacha20_poly1305();
}

static bool fits(fre_bytes aad, fre_bytes text)
{
    /* EVP's lengths are int. */
    return aad.n <= FRE_SEAL_MAX && text.n <= FRE_SEAL_MAX + FRE_HPKE_TAG_BYTES;
}

static bool encrypt(EVP_CIPHER_CTX *x, unsigned aead, uint8_t *out, const uint8_t *key,
                    const uint8_t *nonce, fre_bytes aad, fre_bytes pt)
{
    int n = 0;

    return EVP_EncryptInit_ex(x, cipher_of(aead), NULL, key, nonce) == 1 &&
           (aad.n == 0 || EVP_EncryptUpdate(x, NULL, &n, aad.p, (int)aad.n) == 1) &&
           (pt.n == 0 || EVP_EncryptUpdate(x, out, &n, pt.p, (int)pt.n) == 1) &&
           EVP_EncryptFinal_ex(x, out + pt.n, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, FRE_HPKE_TAG_BYTES, out + pt.n) == 1;
}

fre_status seal_aead_seal(unsigned aead, uint8_t *out, const uint8_t *key,
                          const uint8_t nonce[SEAL_NONCE_BYTES], fre_bytes aad, fre_bytes pt)
{
    EVP_CIPHER_CTX *x = NULL;
    uint8_t *ct = NULL;
    size_t ct_n = 0;
    fre_status st = FRE_E_NOMEM;

    if (!fits(aad, pt) || pt.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    ct_n = pt.n + FRE_HPKE_TAG_BYTES;
    (void)ERR_set_mark();
    x = EVP_CIPHER_CTX_new();
    ct = malloc(ct_n);
    if (!x || !ct)
        goto out;
    st = encrypt(x, aead, ct, key, nonce, aad, pt) ? FRE_OK : FRE_E_INTERNAL;
    if (st == FRE_OK) {
        FRE_DECLASSIFY(ct, ct_n); /* public: what is sent */
        memcpy(out, ct, ct_n);
    }
out:
    free(ct);
    EVP_CIPHER_CTX_free(x);
    (void)ERR_pop_to_mark();
    return st;
}

/* FRE_E_INTERNAL: the library failed before it came to judge. */
static fre_status decrypt(EVP_CIPHER_CTX *x, unsigned aead, uint8_t *out, const uint8_t *key,
                          const uint8_t *nonce, fre_bytes aad, fre_bytes ct)
{
    uint8_t tag[FRE_HPKE_TAG_BYTES];
    size_t pt_n = ct.n - sizeof tag;
    int n = 0;

    memcpy(tag, ct.p + pt_n, sizeof tag);
    if (EVP_DecryptInit_ex(x, cipher_of(aead), NULL, key, nonce) != 1 ||
        EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) != 1 ||
        (aad.n > 0 && EVP_DecryptUpdate(x, NULL, &n, aad.p, (int)aad.n) != 1) ||
        (pt_n > 0 && EVP_DecryptUpdate(x, out, &n, ct.p, (int)pt_n) != 1))
        return FRE_E_INTERNAL;
    return EVP_DecryptFinal_ex(x, out + pt_n, &n) == 1 ? FRE_OK : FRE_E_REFUSED;
}

fre_status seal_aead_open(unsigned aead, uint8_t *out, const uint8_t *key,
                          const uint8_t nonce[SEAL_NONCE_BYTES], fre_bytes aad, fre_bytes ct)
{
    EVP_CIPHER_CTX *x = NULL;
    uint8_t *pt = NULL;
    fre_status st = FRE_E_NOMEM;

    if (ct.n < FRE_HPKE_TAG_BYTES)
        return FRE_E_DATA;
    if (!fits(aad, ct))
        return FRE_E_LIMIT;
    (void)ERR_set_mark();
    x = EVP_CIPHER_CTX_new();
    /* EVP hands out text before it has seen the tag: nothing of it may reach the caller. */
    pt = malloc(ct.n);
    if (!x || !pt)
        goto out;
    st = decrypt(x, aead, pt, key, nonce, aad, ct);
    if (st == FRE_OK && ct.n > FRE_HPKE_TAG_BYTES)
        memcpy(out, pt, ct.n - FRE_HPKE_TAG_BYTES);
out:
    fre_wipe_free(pt, ct.n);
    EVP_CIPHER_CTX_free(x);
    (void)ERR_pop_to_mark();
    return st;
}
