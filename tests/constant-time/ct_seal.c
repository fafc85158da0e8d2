/* Sealed messages with their secrets poisoned: keys, the ephemeral key and what is sealed. */
#include "ct.h"

#include <fre/seal.h>

#define TEXT_BYTES 40u

typedef struct sealed {
    fre_hpke_keypair pair;
    fre_hpke_sk ephemeral;
    fre_sign_sk sign_sk;
    fre_sign_pk sign_pk;
    uint8_t text[TEXT_BYTES];
    uint8_t message[TEXT_BYTES + FRE_HPKE_OVERHEAD];
    fre_rng rng;
} sealed;

static const fre_bytes none = {NULL, 0};

static void ok(fre_status st)
{
    ct_require(st == FRE_OK, fre_status_text(st));
}

/* A right message, nothing poisoned yet. */
static void make(sealed *x, fre_hpke_aead aead)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};

    ok(fre_rng_init_seeded(&x->rng, seed, "constant-time/seal"));
    ok(fre_hpke_keygen(&x->pair, &x->rng));
    ok(fre_sign_keygen(&x->sign_sk, &x->sign_pk, &x->rng));
    fre_rng_bytes(&x->rng, x->ephemeral.b, sizeof x->ephemeral.b);
    fre_rng_bytes(&x->rng, x->text, sizeof x->text);
    ok(fre_hpke_seal_once_with(x->message, aead, &x->pair.pk, none, none,
                               (fre_bytes){x->text, sizeof x->text}, &x->ephemeral));
}

static void seal(fre_hpke_aead aead)
{
    uint8_t out[TEXT_BYTES + FRE_HPKE_OVERHEAD];
    sealed x;

    make(&x, aead);
    ct_poison(x.text, sizeof x.text);
    ct_poison(x.ephemeral.b, sizeof x.ephemeral.b);
    ok(fre_hpke_seal_once_with(out, aead, &x.pair.pk, none, none,
                               (fre_bytes){x.text, sizeof x.text}, &x.ephemeral));
    ct_require(!ct_is_secret(out, sizeof out), "the sealed message should be public");
    ct_require(memcmp(out, x.message, sizeof out) == 0, "the sealed message is wrong");
}

static void seal_aes(void)
{
    seal(FRE_HPKE_AES_128_GCM);
}

static void seal_chacha(void)
{
    seal(FRE_HPKE_CHACHA20_POLY1305);
}

static void open_message(fre_hpke_aead aead)
{
    uint8_t out[TEXT_BYTES];
    sealed x;

    make(&x, aead);
    ct_poison(x.pair.sk.b, sizeof x.pair.sk.b);
    ok(fre_hpke_open_once(out, aead, &x.pair, none, none,
                          (fre_bytes){x.message, sizeof x.message}));
    ct_require(ct_is_secret(out, sizeof out), "the opened message should be secret");
    ct_unpoison(out, sizeof out);
    ct_require(memcmp(out, x.text, sizeof out) == 0, "the opened message is wrong");
}

static void open_aes(void)
{
    open_message(FRE_HPKE_AES_128_GCM);
}

static void open_chacha(void)
{
    open_message(FRE_HPKE_CHACHA20_POLY1305);
}

static void open_refused(void)
{
    const fre_hpke_aead aeads[] = {FRE_HPKE_AES_128_GCM, FRE_HPKE_CHACHA20_POLY1305};

    for (size_t i = 0; i < 2; i++) {
        uint8_t out[TEXT_BYTES];
        sealed x;

        make(&x, aeads[i]);
        x.message[sizeof x.message - 1] ^= 1;
        ct_poison(x.pair.sk.b, sizeof x.pair.sk.b);
        ct_require(fre_hpke_open_once(out, aeads[i], &x.pair, none, none,
                                      (fre_bytes){x.message, sizeof x.message}) == FRE_E_REFUSED,
                   "a changed message should be refused");
    }
}

static void small_order(void)
{
    fre_hpke_ctx ctx;
    fre_hpke_enc enc = {.b = {1}};
    sealed x;

    make(&x, FRE_HPKE_AES_128_GCM);
    ct_poison(x.pair.sk.b, sizeof x.pair.sk.b);
    ct_require(fre_hpke_setup_recipient(&ctx, FRE_HPKE_AES_128_GCM, &x.pair, &enc, none) ==
                   FRE_E_REFUSED,
               "a point of small order should be refused");
}

static void oblivious(void)
{
    const fre_hpke_aead aead = FRE_HPKE_CHACHA20_POLY1305;
    fre_ohttp_exchange client, gateway;
    fre_ohttp_key key;
    fre_buf request, response, got;
    sealed x;

    make(&x, aead);
    fre_buf_init(&request, 1000);
    fre_buf_init(&response, 1000);
    fre_buf_init(&got, 1000);
    key.pair = x.pair;
    key.config = (fre_ohttp_config){.pk = x.pair.pk, .id = 3, .aeads = 1, .aead = {aead}};
    ct_poison(x.text, sizeof x.text);
    ct_poison(x.ephemeral.b, sizeof x.ephemeral.b);
    ct_poison(key.pair.sk.b, sizeof key.pair.sk.b);
    ok(fre_ohttp_request_seal_with(&client, &request, &key.config, aead,
                                   (fre_bytes){x.text, sizeof x.text}, &x.ephemeral));
    ct_require(!ct_is_secret(request.p, request.n), "the sealed request should be public");
    ok(fre_ohttp_request_open(&gateway, &got, &key, 1, (fre_bytes){request.p, request.n}));
    ct_require(ct_is_secret(got.p, got.n), "the request should be secret");
    ok(fre_ohttp_response_seal(&gateway, &response, (fre_bytes){x.text, sizeof x.text}, &x.rng));
    ct_require(!ct_is_secret(response.p, response.n), "the sealed response should be public");
    got.n = 0;
    ok(fre_ohttp_response_open(&client, &got, (fre_bytes){response.p, response.n}));
    ct_require(ct_is_secret(got.p, got.n), "the response should be secret");
    fre_buf_wipe(&request);
    fre_buf_wipe(&response);
    fre_buf_wipe(&got);
}

static void keys(void)
{
    fre_hpke_keypair pair;
    sealed x;

    make(&x, FRE_HPKE_AES_128_GCM);
    ct_poison(x.ephemeral.b, sizeof x.ephemeral.b);
    ok(fre_hpke_keypair_from(&pair, &x.ephemeral));
    ct_require(ct_is_secret(&pair.sk, sizeof pair.sk), "the key should be secret");
    ct_require(!ct_is_secret(&pair.pk, sizeof pair.pk), "its public half should be public");
}

static void sign(void)
{
    uint8_t seed[32] = {5};
    fre_signature sig;
    fre_sign_sk sk;
    fre_sign_pk pk;

    ct_poison(seed, sizeof seed);
    ok(fre_sign_keygen_with(&sk, &pk, seed));
    ct_require(ct_is_secret(&sk, sizeof sk), "the key should be secret");
    ct_require(!ct_is_secret(&pk, sizeof pk), "its public half should be public");
    ok(fre_sign_statement(&sig, &sk, "label", (fre_bytes){seed, 0}));
    ct_require(!ct_is_secret(&sig, sizeof sig), "the signature should be public");
    ok(fre_sign_verify(&pk, &sig, "label", none));
}

/* ---- controls ---------------------------------------------------------------------------- */

static void leaky_compare(void)
{
    sealed x;

    make(&x, FRE_HPKE_AES_128_GCM);
    ct_poison(x.pair.sk.b, sizeof x.pair.sk.b);
    if (memcmp(x.pair.sk.b, x.ephemeral.b, sizeof x.ephemeral.b) == 0)
        exit(2);
}

/* Opens, then looks at what was opened: the suppression must not reach so far. */
static void leaky_use(void)
{
    uint8_t out[TEXT_BYTES];
    volatile unsigned odd = 0;
    sealed x;

    make(&x, FRE_HPKE_AES_128_GCM);
    ct_poison(x.pair.sk.b, sizeof x.pair.sk.b);
    ok(fre_hpke_open_once(out, FRE_HPKE_AES_128_GCM, &x.pair, none, none,
                          (fre_bytes){x.message, sizeof x.message}));
    if (out[0] & 1)
        odd++;
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: comparison with an early exit", leaky_compare, true},
        {"control: a branch on what was opened", leaky_use, true},
        {"seal, AES-128-GCM", seal_aes, false},
        {"seal, ChaCha20-Poly1305", seal_chacha, false},
        {"open, AES-128-GCM", open_aes, false},
        {"open, ChaCha20-Poly1305", open_chacha, false},
        {"open, refused", open_refused, false},
        {"open, key of small order", small_order, false},
        {"oblivious request and response", oblivious, false},
        {"keys", keys, false},
        {"sign", sign, false},
    };

    return ct_main("seal", cases, sizeof cases / sizeof *cases);
}
