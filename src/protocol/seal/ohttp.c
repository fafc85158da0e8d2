/* ohttp.c - encapsulated requests and responses of Oblivious HTTP (RFC 9458 section 4). */
#include "seal_private.h"

#include <stdlib.h>

#define HEADER_BYTES 7u /* id || KEM || KDF || AEAD */

static const char request_label[] = "message/bhttp request";
static const char response_label[] = "message/bhttp response";

void fre_ohttp_key_wipe(fre_ohttp_key *k)
{
    if (k)
        fre_wipe(k, sizeof *k);
}

void fre_ohttp_exchange_wipe(fre_ohttp_exchange *x)
{
    if (x)
        fre_wipe(x, sizeof *x);
}

/* info = label || 0 || header; sizeof counts the label's NUL. */
#define INFO_BYTES (sizeof request_label + HEADER_BYTES)

static void make_info(uint8_t out[INFO_BYTES], const uint8_t header[HEADER_BYTES])
{
    memcpy(out, request_label, sizeof request_label);
    memcpy(out + sizeof request_label, header, HEADER_BYTES);
}

/* ---- request ------------------------------------------------------------------------------- */

fre_status fre_ohttp_request_seal_with(fre_ohttp_exchange *x, fre_buf *out,
                                       const fre_ohttp_config *c, fre_hpke_aead aead,
                                       fre_bytes request, const fre_hpke_sk *ephemeral)
{
    uint8_t info[INFO_BYTES], header[HEADER_BYTES];
    fre_ohttp_exchange fresh;
    uint8_t *message = NULL;
    size_t n;
    fre_status st;

    if (!x || !out || !c || !seal_offers(c, (unsigned)aead) || (request.n > 0 && !request.p))
        return FRE_E_ARG;
    if (request.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    header[0] = c->id;
    seal_put16(header + 1, SEAL_KEM);
    seal_put16(header + 3, SEAL_KDF);
    seal_put16(header + 5, (unsigned)aead);
    make_info(info, header);
    st = fre_hpke_setup_sender_with(&fresh.ctx, &fresh.enc, aead, &c->pk,
                                    seal_view(info, sizeof info), ephemeral);
    if (st != FRE_OK)
        return st;
    n = request.n + FRE_OHTTP_REQUEST_OVERHEAD;
    message = malloc(n);
    st = FRE_E_NOMEM;
    if (!message)
        goto out;
    memcpy(message, header, HEADER_BYTES);
    memcpy(message + HEADER_BYTES, fresh.enc.b, sizeof fresh.enc.b);
    st = fre_hpke_seal(&fresh.ctx, message + HEADER_BYTES + sizeof fresh.enc.b, seal_view(NULL, 0),
                       request);
    if (st == FRE_OK)
        st = fre_buf_append(out, message, n);
    if (st == FRE_OK)
        *x = fresh;
out:
    free(message);
    fre_ohttp_exchange_wipe(&fresh);
    return st;
}

fre_status fre_ohttp_request_seal(fre_ohttp_exchange *x, fre_buf *out, const fre_ohttp_config *c,
                                  fre_hpke_aead aead, fre_bytes request, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, ephemeral.b, sizeof ephemeral.b);
    st = fre_ohttp_request_seal_with(x, out, c, aead, request, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

/* An encapsulated request in its parts. */
typedef struct fre_ohttp_parts {
    uint8_t header[HEADER_BYTES];
    uint8_t id;
    uint16_t kem, kdf, aead;
    fre_hpke_enc enc;
    fre_bytes ct;
} fre_ohttp_parts;

static bool split_parts(fre_ohttp_parts *out, fre_bytes in)
{
    fre_bytes header = {0}, enc = {0};

    if (!seal_read(&in, &header, HEADER_BYTES) || !seal_read(&in, &enc, sizeof out->enc.b) ||
        in.n < FRE_HPKE_TAG_BYTES)
        return false;
    memcpy(out->header, header.p, HEADER_BYTES);
    memcpy(out->enc.b, enc.p, sizeof out->enc.b);
    out->ct = in;
    return seal_read_u8(&header, &out->id) && seal_read_u16(&header, &out->kem) &&
           seal_read_u16(&header, &out->kdf) && seal_read_u16(&header, &out->aead);
}

static const fre_ohttp_key *find_key(const fre_ohttp_key *keys, size_t n, const fre_ohttp_parts *p)
{
    if (p->kem != SEAL_KEM || p->kdf != SEAL_KDF)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (keys[i].config.id == p->id && seal_offers(&keys[i].config, p->aead))
            return &keys[i];
    }
    return NULL;
}

/* Decrypts into memory of its own, which is wiped, and appends. */
static fre_status open_into(fre_buf *out, fre_hpke_ctx *ctx, fre_bytes ct)
{
    uint8_t *text = malloc(ct.n + 1);
    fre_status st = FRE_E_NOMEM;

    if (!text)
        return st;
    st = fre_hpke_open(ctx, text, seal_view(NULL, 0), ct);
    if (st == FRE_OK)
        st = fre_buf_append(out, text, ct.n - FRE_HPKE_TAG_BYTES);
    fre_wipe_free(text, ct.n + 1);
    return st;
}

fre_status fre_ohttp_request_open(fre_ohttp_exchange *x, fre_buf *out, const fre_ohttp_key *keys,
                                  size_t n, fre_bytes sealed)
{
    uint8_t info[INFO_BYTES];
    const fre_ohttp_key *key;
    fre_ohttp_exchange fresh;
    fre_ohttp_parts parts;
    fre_status st;

    if (!x || !out || (n > 0 && !keys) || (sealed.n > 0 && !sealed.p))
        return FRE_E_ARG;
    if (sealed.n > FRE_SEAL_MAX + FRE_OHTTP_REQUEST_OVERHEAD)
        return FRE_E_LIMIT;
    if (!split_parts(&parts, sealed))
        return FRE_E_DATA;
    key = find_key(keys, n, &parts);
    if (!key)
        return FRE_E_KEY;
    make_info(info, parts.header);
    fresh.enc = parts.enc;
    st = fre_hpke_setup_recipient(&fresh.ctx, (fre_hpke_aead)parts.aead, &key->pair, &fresh.enc,
                                  seal_view(info, sizeof info));
    if (st != FRE_OK)
        return st;
    st = open_into(out, &fresh.ctx, parts.ct);
    if (st == FRE_OK)
        *x = fresh;
    fre_ohttp_exchange_wipe(&fresh);
    return st;
}

/* ---- response ------------------------------------------------------------------------------ */

size_t fre_ohttp_nonce_bytes(const fre_ohttp_exchange *x)
{
    size_t key = x ? seal_aead_key_bytes(x->ctx.aead) : 0;

    /* max(Nn, Nk), and both keys are longer than a nonce. */
    return key;
}

/* Key and nonce of the response (section 4.4). */
static fre_status derive(uint8_t key[32], uint8_t nonce[SEAL_NONCE_BYTES],
                         const fre_ohttp_exchange *x, fre_bytes response_nonce)
{
    uint8_t secret[FRE_OHTTP_NONCE_MAX], prk[SEAL_HASH_BYTES];
    uint8_t salt[FRE_HPKE_ENC_BYTES + FRE_OHTTP_NONCE_MAX];
    const fre_bytes ikm = seal_view(secret, response_nonce.n);
    const fre_bytes key_label = seal_text("key"), nonce_label = seal_text("nonce");
    fre_status st = fre_hpke_export(&x->ctx, secret, response_nonce.n, seal_text(response_label));

    if (st != FRE_OK)
        return st;
    memcpy(salt, x->enc.b, sizeof x->enc.b);
    memcpy(salt + sizeof x->enc.b, response_nonce.p, response_nonce.n);
    seal_extract(prk, seal_view(salt, sizeof x->enc.b + response_nonce.n), &ikm, 1);
    seal_expand(key, seal_aead_key_bytes(x->ctx.aead), prk, &key_label, 1);
    seal_expand(nonce, SEAL_NONCE_BYTES, prk, &nonce_label, 1);
    fre_wipe(secret, sizeof secret);
    fre_wipe(prk, sizeof prk);
    return FRE_OK;
}

fre_status fre_ohttp_response_seal_with(const fre_ohttp_exchange *x, fre_buf *out,
                                        fre_bytes response, fre_bytes nonce)
{
    uint8_t key[32], iv[SEAL_NONCE_BYTES];
    uint8_t *message = NULL;
    size_t n;
    fre_status st;

    if (!x || !out || !nonce.p || (response.n > 0 && !response.p))
        return FRE_E_ARG;
    if (x->ctx.sender || fre_ohttp_nonce_bytes(x) == 0)
        return FRE_E_STATE;
    if (nonce.n != fre_ohttp_nonce_bytes(x))
        return FRE_E_ARG;
    if (response.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    st = derive(key, iv, x, nonce);
    if (st != FRE_OK)
        return st;
    n = nonce.n + response.n + FRE_HPKE_TAG_BYTES;
    message = malloc(n);
    st = FRE_E_NOMEM;
    if (!message)
        goto out;
    memcpy(message, nonce.p, nonce.n);
    st = seal_aead_seal(x->ctx.aead, message + nonce.n, key, iv, seal_view(NULL, 0), response);
    if (st == FRE_OK)
        st = fre_buf_append(out, message, n);
out:
    free(message);
    fre_wipe(key, sizeof key);
    fre_wipe(iv, sizeof iv);
    return st;
}

fre_status fre_ohttp_response_seal(const fre_ohttp_exchange *x, fre_buf *out, fre_bytes response,
                                   fre_rng *r)
{
    uint8_t nonce[FRE_OHTTP_NONCE_MAX];

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, nonce, sizeof nonce);
    return fre_ohttp_response_seal_with(x, out, response,
                                        seal_view(nonce, fre_ohttp_nonce_bytes(x)));
}

fre_status fre_ohttp_response_open(const fre_ohttp_exchange *x, fre_buf *out, fre_bytes sealed)
{
    uint8_t key[32], iv[SEAL_NONCE_BYTES];
    uint8_t *text = NULL;
    fre_bytes nonce;
    fre_status st;

    if (!x || !out || (sealed.n > 0 && !sealed.p))
        return FRE_E_ARG;
    if (!x->ctx.sender || fre_ohttp_nonce_bytes(x) == 0)
        return FRE_E_STATE;
    if (sealed.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    if (!seal_read(&sealed, &nonce, fre_ohttp_nonce_bytes(x)) || sealed.n < FRE_HPKE_TAG_BYTES)
        return FRE_E_DATA;
    st = derive(key, iv, x, nonce);
    if (st != FRE_OK)
        return st;
    text = malloc(sealed.n);
    st = FRE_E_NOMEM;
    if (!text)
        goto out;
    st = seal_aead_open(x->ctx.aead, text, key, iv, seal_view(NULL, 0), sealed);
    if (st == FRE_OK)
        st = fre_buf_append(out, text, sealed.n - FRE_HPKE_TAG_BYTES);
out:
    fre_wipe_free(text, sealed.n);
    fre_wipe(key, sizeof key);
    fre_wipe(iv, sizeof iv);
    return st;
}
