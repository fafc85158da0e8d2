/* The VOPRF with its secrets poisoned: the client's input and blind, the server's key and nonce. */
#include "ct.h"

#include <fre/oprf.h>

#include <sodium.h>

#define BATCH 2u

static const char input_text[] = "a cell that nobody else may see";

typedef struct exchange {
    fre_oprf_key key;
    uint8_t text[BATCH][sizeof input_text];
    fre_bytes input[BATCH];
    fre_oprf_blind blind[BATCH];
    fre_oprf_element blinded[BATCH], evaluated[BATCH];
    fre_oprf_proof proof;
    fre_rng rng;
} exchange;

static void ok(fre_status st)
{
    ct_require(st == FRE_OK, fre_status_text(st));
}

/* A right exchange, nothing poisoned yet. */
static void make(exchange *x)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};

    ok(fre_rng_init_seeded(&x->rng, seed, "constant-time/oprf"));
    ok(fre_oprf_key_generate(&x->key, &x->rng));
    for (size_t i = 0; i < BATCH; i++) {
        memcpy(x->text[i], input_text, sizeof input_text);
        x->input[i] = (fre_bytes){x->text[i], sizeof input_text};
        ok(fre_oprf_blind_input(&x->blind[i], &x->blinded[i], x->input[i], &x->rng));
    }
    ok(fre_oprf_blind_evaluate(x->evaluated, &x->proof, &x->key, x->blinded, BATCH, &x->rng));
}

static void poison_rng(fre_rng *r)
{
    ct_poison(r->key, sizeof r->key);
    ct_poison(r->block, sizeof r->block);
}

static void blind(void)
{
    fre_oprf_blind r;
    fre_oprf_element e;
    exchange x;

    make(&x);
    ct_poison(x.text, sizeof x.text);
    poison_rng(&x.rng);
    ok(fre_oprf_blind_input(&r, &e, x.input[0], &x.rng));
    ct_require(ct_is_secret(&r, sizeof r), "the blind should be secret");
    ct_require(!ct_is_secret(&e, sizeof e), "the blinded element should be public");
}

static void evaluate(void)
{
    fre_oprf_element e[BATCH];
    exchange x;

    make(&x);
    ct_poison(x.key.b, sizeof x.key.b);
    ok(fre_oprf_evaluate_elements(e, &x.key, x.blinded, BATCH));
    ct_require(!ct_is_secret(e, sizeof e), "the evaluated elements should be public");
    ct_require(memcmp(e, x.evaluated, sizeof e) == 0, "the evaluated elements are wrong");
}

static void prove(void)
{
    fre_oprf_proof p;
    exchange x;

    make(&x);
    ct_poison(x.key.b, sizeof x.key.b);
    poison_rng(&x.rng);
    ok(fre_oprf_prove(&p, &x.key, x.blinded, x.evaluated, BATCH, &x.rng));
    ct_require(!ct_is_secret(&p, sizeof p), "the proof should be public");
    ok(fre_oprf_verify(&x.key.pub, x.blinded, BATCH, x.evaluated, BATCH, &p));
}

static void finalize(void)
{
    fre_oprf_output out[BATCH];
    exchange x;

    make(&x);
    ct_poison(x.text, sizeof x.text);
    ct_poison(x.blind, sizeof x.blind);
    ok(fre_oprf_finalize(out, &x.key.pub, &(fre_oprf_request){x.input, x.blind, x.blinded, BATCH},
                         x.evaluated, BATCH, &x.proof));
    ct_require(ct_is_secret(out, sizeof out), "the output should be secret");
}

/* The verdict on a proof is public, the rest not even after a wrong one. */
static void finalize_refused(void)
{
    fre_oprf_output out[BATCH];
    exchange x;

    make(&x);
    x.proof.b[0] ^= 1;
    ct_poison(x.text, sizeof x.text);
    ct_poison(x.blind, sizeof x.blind);
    ct_require(fre_oprf_finalize(out, &x.key.pub,
                                 &(fre_oprf_request){x.input, x.blind, x.blinded, BATCH},
                                 x.evaluated, BATCH, &x.proof) == FRE_E_PROOF,
               "a wrong proof should be refused");
}

static void server_alone(void)
{
    fre_oprf_output out;
    exchange x;

    make(&x);
    ct_poison(x.text, sizeof x.text);
    ct_poison(x.key.b, sizeof x.key.b);
    ok(fre_oprf_evaluate(&out, &x.key, x.input[0]));
    ct_require(ct_is_secret(&out, sizeof out), "the output should be secret");
}

static void keys(void)
{
    uint8_t seed[FRE_OPRF_SEED_BYTES] = {7};
    fre_oprf_key key, again;
    exchange x;

    make(&x);
    ct_poison(seed, sizeof seed);
    ok(fre_oprf_key_derive(&key, seed, (fre_bytes){NULL, 0}));
    ct_require(ct_is_secret(key.b, sizeof key.b), "the key should be secret");
    ct_require(!ct_is_secret(&key.pub, sizeof key.pub), "its public half should be public");
    ok(fre_oprf_key_decode(&again, (fre_bytes){key.b, sizeof key.b}));
    poison_rng(&x.rng);
    ok(fre_oprf_key_generate(&again, &x.rng));
    ct_require(ct_is_secret(again.b, sizeof again.b), "the key should be secret");
}

/* ---- controls ---------------------------------------------------------------------------- */

static void leaky_compare(void)
{
    exchange x;

    make(&x);
    ct_poison(&x.blind[0], sizeof x.blind[0]);
    if (memcmp(&x.blind[0], &x.blind[1], sizeof x.blind[0]) == 0)
        exit(2);
}

static void leaky_index(void)
{
    static const uint8_t table[256] = {1};
    volatile uint8_t sink;
    exchange x;

    make(&x);
    ct_poison(x.key.b, sizeof x.key.b);
    sink = table[x.key.b[0]];
    (void)sink;
}

/* Double and add, skipping the zero bits of k: nothing that is forgiven to libsodium hides it. */
static void leaky_multiply(void)
{
    uint8_t sum[32] = {0}, power[32];
    exchange x;

    make(&x);
    memcpy(power, x.blinded[0].b, 32);
    ct_poison(x.key.b, sizeof x.key.b);
    for (size_t bit = 0; bit < 256; bit++) {
        if ((x.key.b[bit / 8] >> (bit % 8)) & 1)
            ct_require(crypto_core_ristretto255_add(sum, sum, power) == 0, "no sum");
        ct_require(crypto_core_ristretto255_add(power, power, power) == 0, "no sum");
    }
    ct_unpoison(sum, sizeof sum);
    ct_require(memcmp(sum, x.evaluated[0].b, 32) == 0, "the leaky product is wrong");
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: comparison with an early exit", leaky_compare, true},
        {"control: table indexed by the key", leaky_index, true},
        {"control: product that skips zero bits", leaky_multiply, true},
        {"blind", blind, false},
        {"evaluate", evaluate, false},
        {"prove", prove, false},
        {"finalize", finalize, false},
        {"finalize, proof refused", finalize_refused, false},
        {"evaluate by the server alone", server_alone, false},
        {"keys: derive, decode, generate", keys, false},
    };

    return ct_main("oprf", cases, sizeof cases / sizeof *cases);
}
