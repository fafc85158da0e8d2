/* expand.c - a seed's residues: the keystream of AES-128-CTR (NIST SP 800-38A), read as packed
 * residues are. */
#include "sharing_private.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct fre_share_expander {
    EVP_CIPHER_CTX *aes;
    size_t n, bytes;
    uint32_t bits;
    uint8_t stream[]; /* SECRET */
};

/* out is overwritten with the keystream: zeros, encrypted. */
static bool keystream(EVP_CIPHER_CTX *aes, uint8_t *out, size_t n, const uint8_t key[16],
                      const uint8_t counter[16])
{
    int done = 0;

    memset(out, 0, n);
    return EVP_EncryptInit_ex(aes, NULL, NULL, key, counter) == 1 &&
           EVP_EncryptUpdate(aes, out, &done, out, (int)n) == 1 && (size_t)done == n;
}

static EVP_CIPHER_CTX *new_aes(void)
{
    EVP_CIPHER_CTX *aes = EVP_CIPHER_CTX_new();

    if (aes && EVP_EncryptInit_ex(aes, EVP_aes_128_ctr(), NULL, NULL, NULL) != 1) {
        EVP_CIPHER_CTX_free(aes);
        aes = NULL;
    }
    return aes;
}

fre_status sharing_keystream(uint8_t *out, size_t n, const uint8_t key[16],
                             const uint8_t counter[16])
{
    EVP_CIPHER_CTX *aes;
    fre_status st;

    (void)ERR_set_mark();
    aes = new_aes();
    st = aes && keystream(aes, out, n, key, counter) ? FRE_OK : FRE_E_INTERNAL;
    EVP_CIPHER_CTX_free(aes);
    (void)ERR_pop_to_mark();
    return st;
}

fre_status fre_share_expander_new(fre_share_expander **out, size_t n, uint32_t bits)
{
    const size_t bytes = sharing_packed_bytes(n, bits);
    fre_share_expander *e;

    if (!out || bytes == 0)
        return FRE_E_ARG;
    e = calloc(1, sizeof *e + bytes);
    if (!e)
        return FRE_E_NOMEM;
    e->n = n;
    e->bits = bits;
    e->bytes = bytes;
    (void)ERR_set_mark();
    e->aes = new_aes();
    (void)ERR_pop_to_mark();
    if (!e->aes) {
        free(e);
        return FRE_E_INTERNAL;
    }
    *out = e;
    return FRE_OK;
}

void fre_share_expander_free(fre_share_expander *e)
{
    if (!e)
        return;
    EVP_CIPHER_CTX_free(e->aes);
    fre_wipe(e->stream, e->bytes);
    free(e);
}

fre_status fre_share_expander_add(fre_share_expander *e, uint32_t *sum, const fre_share_seed *seed)
{
    static const uint8_t zero[16];
    bool good;

    if (!e || !sum || !seed)
        return FRE_E_ARG;
    (void)ERR_set_mark();
    good = keystream(e->aes, e->stream, e->bytes, seed->b, zero);
    (void)ERR_pop_to_mark();
    if (!good)
        return FRE_E_INTERNAL;
    sharing_add(sum, e->n, e->bits, e->stream);
    return FRE_OK;
}
