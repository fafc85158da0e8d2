/* Sealed messages: bytes from anywhere are refused and nothing is written; the same bytes, sealed
 * by us, come back, and with one bit changed they are refused. */
#include <fre/seal.h>

#include <stdlib.h>
#include <string.h>

#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static fre_ohttp_key key;
static fre_sign_sk sign_sk;
static fre_sign_pk sign_pk;
static fre_rng rng;

static void prepare(void)
{
    static const uint8_t seed[32] = {1};
    static bool done;

    if (done)
        return;
    done = true;
    must(fre_rng_init_seeded(&rng, seed, "fuzz") == FRE_OK);
    must(fre_hpke_keygen(&key.pair, &rng) == FRE_OK);
    key.config = (fre_ohttp_config){.pk = key.pair.pk,
                                    .id = 1,
                                    .aeads = 2,
                                    .aead = {FRE_HPKE_AES_128_GCM, FRE_HPKE_CHACHA20_POLY1305}};
    must(fre_sign_keygen(&sign_sk, &sign_pk, &rng) == FRE_OK);
}

/* No input that was not made with the keys can be genuine. */
static void refused(fre_status st)
{
    must(st == FRE_E_DATA || st == FRE_E_KEY || st == FRE_E_REFUSED);
}

static void foreign(fre_bytes in, fre_hpke_aead aead)
{
    fre_ohttp_exchange x;
    fre_signature sig;
    uint8_t *out = malloc(in.n + 1);
    fre_buf b;

    must(out != NULL);
    memset(out, 0xa5, in.n + 1);
    memset(&x, 0xa5, sizeof x);
    fre_buf_init(&b, FRE_SEAL_MAX);
    refused(fre_hpke_open_once(out, aead, &key.pair, (fre_bytes){.n = 0}, (fre_bytes){.n = 0}, in));
    must_be_untouched(out, in.n + 1);
    refused(fre_ohttp_request_open(&x, &b, &key, 1, in));
    must_be_untouched(&x, sizeof x);
    if (in.n >= sizeof sig.b) {
        memcpy(sig.b, in.p, sizeof sig.b);
        refused(fre_sign_verify(&sign_pk, &sig, "fuzz",
                                (fre_bytes){.p = in.p + sizeof sig.b, .n = in.n - sizeof sig.b}));
    }
    must(b.n == 0);
    free(out);
}

static void own(fre_bytes in, fre_hpke_aead aead)
{
    fre_ohttp_exchange client, gateway;
    fre_buf request, response, got;

    fre_buf_init(&request, FRE_SEAL_MAX);
    fre_buf_init(&response, FRE_SEAL_MAX);
    fre_buf_init(&got, FRE_SEAL_MAX);
    must(fre_ohttp_request_seal(&client, &request, &key.config, aead, in, &rng) == FRE_OK);
    must(fre_ohttp_request_open(&gateway, &got, &key, 1,
                                (fre_bytes){.p = request.p, .n = request.n}) == FRE_OK);
    must(got.n == in.n && (in.n == 0 || memcmp(got.p, in.p, in.n) == 0));
    must(fre_ohttp_response_seal(&gateway, &response, in, &rng) == FRE_OK);
    got.n = 0;
    refused(fre_ohttp_response_open(&client, &got, in));
    response.p[(in.n * 7) % response.n] ^= 0x10;
    refused(fre_ohttp_response_open(&client, &got, (fre_bytes){.p = response.p, .n = response.n}));
    response.p[(in.n * 7) % response.n] ^= 0x10;
    must(got.n == 0);
    must(fre_ohttp_response_open(&client, &got, (fre_bytes){.p = response.p, .n = response.n}) ==
         FRE_OK);
    must(got.n == in.n && (in.n == 0 || memcmp(got.p, in.p, in.n) == 0));
    fre_buf_wipe(&request);
    fre_buf_wipe(&response);
    fre_buf_wipe(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const fre_bytes in = {.p = data, .n = n};
    const fre_hpke_aead aead = n % 2 ? FRE_HPKE_AES_128_GCM : FRE_HPKE_CHACHA20_POLY1305;

    prepare();
    foreign(in, aead);
    own(in, aead);
    return 0;
}
