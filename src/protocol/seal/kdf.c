/* kdf.c - HKDF-SHA256 (RFC 5869) over HMAC-SHA256; messages come in pieces, so that no secret is
 * copied together first. */
#include "seal_private.h"

#include <sodium.h>

static void update(crypto_auth_hmacsha256_state *state, const fre_bytes *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (parts[i].n > 0)
            (void)crypto_auth_hmacsha256_update(state, parts[i].p, parts[i].n);
    }
}

void seal_extract(uint8_t prk[SEAL_HASH_BYTES], fre_bytes salt, const fre_bytes *ikm, size_t n)
{
    crypto_auth_hmacsha256_state state;

    /* No salt: a key of length zero, which HMAC pads to the same as 32 zero bytes. */
    (void)crypto_auth_hmacsha256_init(&state, salt.n > 0 ? salt.p : (const uint8_t *)"", salt.n);
    update(&state, ikm, n);
    (void)crypto_auth_hmacsha256_final(&state, prk);
    fre_wipe(&state, sizeof state);
}

void seal_expand(uint8_t *out, size_t len, const uint8_t prk[SEAL_HASH_BYTES],
                 const fre_bytes *info, size_t n)
{
    uint8_t t[SEAL_HASH_BYTES];
    crypto_auth_hmacsha256_state state;

    /* T(i) = HMAC(prk, T(i-1) || info || i), T(0) empty; 255 blocks at most. */
    for (uint8_t i = 1; len > 0; i++) {
        size_t step = len < SEAL_HASH_BYTES ? len : SEAL_HASH_BYTES;

        (void)crypto_auth_hmacsha256_init(&state, prk, SEAL_HASH_BYTES);
        if (i > 1)
            (void)crypto_auth_hmacsha256_update(&state, t, SEAL_HASH_BYTES);
        update(&state, info, n);
        (void)crypto_auth_hmacsha256_update(&state, &i, 1);
        (void)crypto_auth_hmacsha256_final(&state, t);
        memcpy(out, t, step);
        out += step;
        len -= step;
    }
    fre_wipe(&state, sizeof state);
    fre_wipe(t, sizeof t);
}
