/* sealed.c - rows as a database sees them.
 *
 *   id      BLAKE2b-128 of  table (1)  key, under one key
 *   sealed  version (1) = 1  nonce (24)  XChaCha20-Poly1305 of  table (1)  bytes of key (2)  key  value
 *           under another, which binds version, machine and id as well */
#include "store_private.h"

#include <sodium.h>

#define VERSION 1u
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define MAC crypto_aead_xchacha20poly1305_ietf_ABYTES
#define HEAD (1 + NONCE)
#define INNER 3u
#define KEY_MAX 255u /* of a row: kinds, numbers, hashes */

fre_status store_keys_make(store_keys **out, const uint8_t key[FRE_STORE_KEY_BYTES])
{
    store_keys *k;

    if (sodium_init() < 0)
        return FRE_E_INTERNAL;
    k = sodium_malloc(sizeof *k);
    if (!k)
        return FRE_E_NOMEM;
    (void)crypto_kdf_derive_from_key(k->id, sizeof k->id, 1, "frestore", key);
    (void)crypto_kdf_derive_from_key(k->row, sizeof k->row, 2, "frestore", key);
    *out = k;
    return FRE_OK;
}

void store_keys_free(store_keys *k)
{
    sodium_free(k); /* wipes */
}

void store_row_id(uint8_t id[STORE_ID_BYTES], const store_keys *k, const fre_row *row)
{
    crypto_generichash_state h;

    (void)crypto_generichash_init(&h, k->id, sizeof k->id, STORE_ID_BYTES);
    (void)crypto_generichash_update(&h, &row->table, 1);
    (void)crypto_generichash_update(&h, row->key.p, row->key.n);
    (void)crypto_generichash_final(&h, id, STORE_ID_BYTES);
    fre_wipe(&h, sizeof h);
}

static void bind(uint8_t out[1 + STORE_MACHINE_BYTES + STORE_ID_BYTES], const fre_store *s,
                 const uint8_t id[STORE_ID_BYTES])
{
    out[0] = VERSION;
    memcpy(out + 1, s->machine, STORE_MACHINE_BYTES);
    memcpy(out + 1 + STORE_MACHINE_BYTES, id, STORE_ID_BYTES);
}

fre_status store_row_seal(fre_buf *out, const fre_store *s, const uint8_t id[STORE_ID_BYTES],
                          const fre_row *row)
{
    const size_t n = INNER + row->key.n + row->value.n;
    uint8_t bound[1 + STORE_MACHINE_BYTES + STORE_ID_BYTES], *p;
    fre_status st = row->key.n <= KEY_MAX ? fre_buf_reserve(out, HEAD + n + MAC) : FRE_E_ARG;

    if (st != FRE_OK)
        return st;
    p = out->p + out->n;
    out->n += HEAD + n + MAC;
    p[0] = VERSION;
    randombytes_buf(p + 1, NONCE);
    p[HEAD] = row->table;
    p[HEAD + 1] = 0;
    p[HEAD + 2] = (uint8_t)row->key.n;
    if (row->key.n > 0)
        memcpy(p + HEAD + INNER, row->key.p, row->key.n);
    if (row->value.n > 0)
        memcpy(p + HEAD + INNER + row->key.n, row->value.p, row->value.n);
    bind(bound, s, id);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        p + HEAD, NULL, p + HEAD, n, bound, sizeof bound, NULL, p + 1, s->keys->row); /* in place */
    return FRE_OK;
}

fre_status store_row_open(fre_row *row, fre_buf *plain, const fre_store *s, fre_bytes id,
                          fre_bytes sealed)
{
    uint8_t bound[1 + STORE_MACHINE_BYTES + STORE_ID_BYTES], expected[STORE_ID_BYTES];
    unsigned long long n;
    size_t key;
    fre_status st;

    fre_buf_wipe(plain);
    if (id.n != STORE_ID_BYTES || sealed.n < HEAD + INNER + MAC || sealed.p[0] != VERSION)
        return FRE_E_DATA;
    bind(bound, s, id.p);
    st = fre_buf_append(plain, sealed.p + HEAD, sealed.n - HEAD);
    if (st != FRE_OK)
        return st;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain->p, &n, NULL, plain->p, plain->n, bound,
                                                   sizeof bound, sealed.p + 1, s->keys->row) != 0)
        return FRE_E_DATA;
    key = plain->p[2];
    if (plain->p[1] != 0 || key > n - INNER)
        return FRE_E_DATA;
    *row = (fre_row){.table = plain->p[0],
                     .key = {plain->p + INNER, key},
                     .value = {plain->p + INNER + key, (size_t)n - INNER - key}};
    store_row_id(expected, s->keys, row);
    return memcmp(expected, id.p, sizeof expected) == 0 ? FRE_OK : FRE_E_DATA;
}
