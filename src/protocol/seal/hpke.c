/* hpke.c - Hybrid Public Key Encryption, base mode (RFC 9180), with the RFC's names.  X25519 is
 * libsodium's: it works on fixed arrays, in constant time, and refuses an all-zero result. */
#include "seal_private.h"

#include <sodium.h>

static const char version[] = "HPKE-v1";
static const uint8_t kem_suite[5] = {'K', 'E', 'M', 0x00, 0x20};

/* suite_id of section 5.1: "HPKE" || kem || kdf || aead. */
static void suite_id(uint8_t out[10], unsigned aead)
{
    memcpy(out, "HPKE", 4);
    seal_put16(out + 4, SEAL_KEM);
    seal_put16(out + 6, SEAL_KDF);
    seal_put16(out + 8, aead);
}

static void labeled_extract(uint8_t prk[SEAL_HASH_BYTES], fre_bytes suite, fre_bytes salt,
                            const char *label, fre_bytes ikm)
{
    const fre_bytes parts[] = {seal_text(version), suite, seal_text(label), ikm};

    seal_extract(prk, salt, parts, 4);
}

static void labeled_expand(uint8_t *out, size_t n, fre_bytes suite,
                           const uint8_t prk[SEAL_HASH_BYTES], const char *label, fre_bytes info)
{
    uint8_t length[2];
    const fre_bytes parts[] = {seal_view(length, 2), seal_text(version), suite, seal_text(label),
                               info};

    seal_put16(length, (unsigned)n);
    seal_expand(out, n, prk, parts, 5);
}

/* The KEM's shared secret from either side's Diffie-Hellman value (section 4.1). */
static fre_status shared_secret(uint8_t out[32], const uint8_t sk[32], const uint8_t theirs[32],
                                const fre_hpke_enc *enc, const fre_hpke_pk *recipient)
{
    const fre_bytes suite = seal_view(kem_suite, sizeof kem_suite);
    uint8_t dh[32], prk[SEAL_HASH_BYTES], context[64];
    /* Nonzero: a point of small order, for which everybody knows the result (section 7.1.4). */
    int bad = crypto_scalarmult_curve25519(dh, sk, theirs);

    FRE_DECLASSIFY(&bad, sizeof bad); /* public: a property of the point that was sent */
    if (bad != 0) {
        fre_wipe(dh, sizeof dh);
        return FRE_E_REFUSED;
    }
    memcpy(context, enc->b, 32);
    memcpy(context + 32, recipient->b, 32);
    labeled_extract(prk, suite, seal_view(NULL, 0), "eae_prk", seal_view(dh, sizeof dh));
    labeled_expand(out, 32, suite, prk, "shared_secret", seal_view(context, sizeof context));
    fre_wipe(dh, sizeof dh);
    fre_wipe(prk, sizeof prk);
    return FRE_OK;
}

/* KeySchedule of section 5.1, mode_base: no pre-shared key. */
static void key_schedule(fre_hpke_ctx *out, bool sender, unsigned aead, const uint8_t secret_in[32],
                         fre_bytes info)
{
    uint8_t id[10], context[1 + 2 * SEAL_HASH_BYTES] = {0x00 /* mode_base */};
    uint8_t secret[SEAL_HASH_BYTES];
    const fre_bytes suite = seal_view(id, sizeof id);
    const fre_bytes nothing = seal_view(NULL, 0);
    const fre_bytes ks = seal_view(context, sizeof context);

    suite_id(id, aead);
    labeled_extract(context + 1, suite, nothing, "psk_id_hash", nothing);
    labeled_extract(context + 1 + SEAL_HASH_BYTES, suite, nothing, "info_hash", info);
    labeled_extract(secret, suite, seal_view(secret_in, 32), "secret", nothing);
    *out = (fre_hpke_ctx){.aead = (uint16_t)aead, .sender = sender};
    labeled_expand(out->key, seal_aead_key_bytes(aead), suite, secret, "key", ks);
    labeled_expand(out->base_nonce, SEAL_NONCE_BYTES, suite, secret, "base_nonce", ks);
    labeled_expand(out->exporter, sizeof out->exporter, suite, secret, "exp", ks);
    fre_wipe(secret, sizeof secret);
}

/* ---- keys --------------------------------------------------------------------------------- */

fre_status fre_hpke_keypair_from(fre_hpke_keypair *out, const fre_hpke_sk *sk)
{
    fre_hpke_pk pk;

    if (!out || !sk)
        return FRE_E_ARG;
    if (sodium_init() < 0 || crypto_scalarmult_curve25519_base(pk.b, sk->b) != 0)
        return FRE_E_INTERNAL;
    FRE_DECLASSIFY(&pk, sizeof pk); /* public: the public half */
    out->sk = *sk;
    out->pk = pk;
    return FRE_OK;
}

fre_status fre_hpke_keygen(fre_hpke_keypair *out, fre_rng *r)
{
    fre_hpke_sk sk;
    fre_status st;

    if (!out || !r)
        return FRE_E_ARG;
    fre_rng_bytes(r, sk.b, sizeof sk.b);
    st = fre_hpke_keypair_from(out, &sk);
    fre_hpke_sk_wipe(&sk);
    return st;
}

void fre_hpke_sk_wipe(fre_hpke_sk *sk)
{
    if (sk)
        fre_wipe(sk, sizeof *sk);
}

void fre_hpke_keypair_wipe(fre_hpke_keypair *pair)
{
    if (pair)
        fre_wipe(pair, sizeof *pair);
}

void fre_hpke_ctx_wipe(fre_hpke_ctx *ctx)
{
    if (ctx)
        fre_wipe(ctx, sizeof *ctx);
}

/* ---- contexts ----------------------------------------------------------------------------- */

static fre_status check_setup(fre_hpke_aead aead, fre_bytes info)
{
    if (seal_aead_key_bytes((unsigned)aead) == 0 || (info.n > 0 && !info.p))
        return FRE_E_ARG;
    return info.n > FRE_SEAL_MAX ? FRE_E_LIMIT : FRE_OK;
}

fre_status fre_hpke_setup_sender_with(fre_hpke_ctx *ctx, fre_hpke_enc *enc, fre_hpke_aead aead,
                                      const fre_hpke_pk *to, fre_bytes info,
                                      const fre_hpke_sk *ephemeral)
{
    fre_hpke_keypair own;
    fre_hpke_enc e;
    uint8_t shared[32];
    fre_status st;

    if (!ctx || !enc || !to || !ephemeral)
        return FRE_E_ARG;
    st = check_setup(aead, info);
    if (st == FRE_OK)
        st = fre_hpke_keypair_from(&own, ephemeral);
    if (st != FRE_OK)
        return st;
    memcpy(e.b, own.pk.b, sizeof e.b);
    st = shared_secret(shared, own.sk.b, to->b, &e, to);
    if (st == FRE_OK) {
        key_schedule(ctx, true, (unsigned)aead, shared, info);
        *enc = e;
        fre_wipe(shared, sizeof shared);
    }
    fre_hpke_keypair_wipe(&own);
    return st;
}

fre_status fre_hpke_setup_sender(fre_hpke_ctx *ctx, fre_hpke_enc *enc, fre_hpke_aead aead,
                                 const fre_hpke_pk *to, fre_bytes info, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, ephemeral.b, sizeof ephemeral.b);
    st = fre_hpke_setup_sender_with(ctx, enc, aead, to, info, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

fre_status fre_hpke_setup_recipient(fre_hpke_ctx *ctx, fre_hpke_aead aead,
                                    const fre_hpke_keypair *self, const fre_hpke_enc *enc,
                                    fre_bytes info)
{
    uint8_t shared[32];
    fre_status st;

    if (!ctx || !self || !enc)
        return FRE_E_ARG;
    st = check_setup(aead, info);
    if (st != FRE_OK)
        return st;
    if (sodium_init() < 0)
        return FRE_E_INTERNAL;
    st = shared_secret(shared, self->sk.b, enc->b, enc, &self->pk);
    if (st != FRE_OK)
        return st;
    key_schedule(ctx, false, (unsigned)aead, shared, info);
    fre_wipe(shared, sizeof shared);
    return FRE_OK;
}

/* nonce = base_nonce XOR seq, as twelve bytes, big endian. */
static void nonce_of(uint8_t out[SEAL_NONCE_BYTES], const fre_hpke_ctx *ctx)
{
    memcpy(out, ctx->base_nonce, SEAL_NONCE_BYTES);
    for (unsigned i = 0; i < 8; i++)
        out[SEAL_NONCE_BYTES - 1 - i] ^= (uint8_t)(ctx->seq >> (8 * i));
}

static bool absent(fre_bytes b)
{
    return b.n > 0 && !b.p;
}

fre_status fre_hpke_seal(fre_hpke_ctx *ctx, uint8_t *out, fre_bytes aad, fre_bytes pt)
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    fre_status st;

    if (!ctx || !out || absent(aad) || absent(pt))
        return FRE_E_ARG;
    if (!ctx->sender || seal_aead_key_bytes(ctx->aead) == 0)
        return FRE_E_STATE;
    if (ctx->seq == UINT64_MAX)
        return FRE_E_LIMIT;
    nonce_of(nonce, ctx);
    st = seal_aead_seal(ctx->aead, out, ctx->key, nonce, aad, pt);
    if (st == FRE_OK)
        ctx->seq++;
    return st;
}

fre_status fre_hpke_open(fre_hpke_ctx *ctx, uint8_t *out, fre_bytes aad, fre_bytes ct)
{
    uint8_t nonce[SEAL_NONCE_BYTES];
    fre_status st;

    if (!ctx || absent(aad) || absent(ct) || (ct.n > FRE_HPKE_TAG_BYTES && !out))
        return FRE_E_ARG;
    if (ctx->sender || seal_aead_key_bytes(ctx->aead) == 0)
        return FRE_E_STATE;
    if (ctx->seq == UINT64_MAX)
        return FRE_E_LIMIT;
    nonce_of(nonce, ctx);
    st = seal_aead_open(ctx->aead, out, ctx->key, nonce, aad, ct);
    if (st == FRE_OK)
        ctx->seq++;
    return st;
}

fre_status fre_hpke_export(const fre_hpke_ctx *ctx, uint8_t *out, size_t n,
                           fre_bytes exporter_context)
{
    uint8_t id[10];

    if (!ctx || !out || n == 0 || n > FRE_HPKE_EXPORT_MAX || absent(exporter_context))
        return FRE_E_ARG;
    if (seal_aead_key_bytes(ctx->aead) == 0)
        return FRE_E_STATE;
    if (exporter_context.n > FRE_SEAL_MAX)
        return FRE_E_LIMIT;
    suite_id(id, ctx->aead);
    labeled_expand(out, n, seal_view(id, sizeof id), ctx->exporter, "sec", exporter_context);
    return FRE_OK;
}

/* ---- single messages ------------------------------------------------------------------------ */

fre_status fre_hpke_seal_once_with(uint8_t *out, fre_hpke_aead aead, const fre_hpke_pk *to,
                                   fre_bytes info, fre_bytes aad, fre_bytes pt,
                                   const fre_hpke_sk *ephemeral)
{
    fre_hpke_ctx ctx;
    fre_hpke_enc enc;
    fre_status st;

    if (!out)
        return FRE_E_ARG;
    st = fre_hpke_setup_sender_with(&ctx, &enc, aead, to, info, ephemeral);
    if (st != FRE_OK)
        return st;
    st = fre_hpke_seal(&ctx, out + FRE_HPKE_ENC_BYTES, aad, pt);
    if (st == FRE_OK)
        memcpy(out, enc.b, sizeof enc.b);
    fre_hpke_ctx_wipe(&ctx);
    return st;
}

fre_status fre_hpke_seal_once(uint8_t *out, fre_hpke_aead aead, const fre_hpke_pk *to,
                              fre_bytes info, fre_bytes aad, fre_bytes pt, fre_rng *r)
{
    fre_hpke_sk ephemeral;
    fre_status st;

    if (!r)
        return FRE_E_ARG;
    fre_rng_bytes(r, ephemeral.b, sizeof ephemeral.b);
    st = fre_hpke_seal_once_with(out, aead, to, info, aad, pt, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    return st;
}

fre_status fre_hpke_open_once(uint8_t *out, fre_hpke_aead aead, const fre_hpke_keypair *self,
                              fre_bytes info, fre_bytes aad, fre_bytes sealed)
{
    fre_hpke_ctx ctx;
    fre_hpke_enc enc;
    fre_bytes head;
    fre_status st;

    if (absent(sealed))
        return FRE_E_ARG;
    if (sealed.n < FRE_HPKE_OVERHEAD || !seal_read(&sealed, &head, sizeof enc.b))
        return FRE_E_DATA;
    memcpy(enc.b, head.p, sizeof enc.b);
    st = fre_hpke_setup_recipient(&ctx, aead, self, &enc, info);
    if (st != FRE_OK)
        return st;
    st = fre_hpke_open(&ctx, out, aad, sealed);
    fre_hpke_ctx_wipe(&ctx);
    return st;
}
