/* The VOPRF: the RFCs' known answers through the code that clients and servers run, and laws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/oprf.h>

#include "oprf_private.h"
#include "oprf_tools.h"
#include "oprf_vectors.h"

static void xmd_has_the_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof xmd_vectors / sizeof *xmd_vectors; i++) {
        const xmd_vector *v = &xmd_vectors[i];
        uint8_t expect[128], out[128], fill[512];
        const size_t n = unhex(expect, sizeof expect, v->out);
        const fre_bytes part[2] = {text(v->start), {fill, v->times}};

        memset(fill, v->fill, sizeof fill);
        assert_int_equal(fre_oprf_expand(out, n, part, 2, text(xmd_dst)), FRE_OK);
        assert_memory_equal(out, expect, n);
    }
}

static void xmd_keeps_its_limits(void **state)
{
    static uint8_t out[255 * 64 + 1], dst[256];
    const fre_bytes part = text("abc");

    (void)state;
    memset(out, 0x11, sizeof out);
    assert_int_equal(fre_oprf_expand(out, 0, &part, 1, (fre_bytes){dst, 5}), FRE_E_ARG);
    assert_int_equal(fre_oprf_expand(out, sizeof out, &part, 1, (fre_bytes){dst, 5}), FRE_E_ARG);
    assert_int_equal(fre_oprf_expand(out, 64, &part, 1, (fre_bytes){dst, 256}), FRE_E_ARG);
    assert_true(all_bytes_are(out, 0x11, sizeof out));
    assert_int_equal(fre_oprf_expand(out, sizeof out - 1, &part, 1, (fre_bytes){dst, 255}), FRE_OK);
    assert_int_equal(out[sizeof out - 1], 0x11);
}

static void derive_rfc_key(fre_oprf_key *key)
{
    uint8_t seed[FRE_OPRF_SEED_BYTES], info[64];
    size_t n;

    (void)unhex(seed, sizeof seed, rfc_seed);
    n = unhex(info, sizeof info, rfc_info);
    assert_int_equal(fre_oprf_key_derive(key, seed, (fre_bytes){info, n}), FRE_OK);
}

static void keys_have_the_known_answers(void **state)
{
    fre_oprf_key key, again;
    uint8_t expect[32];

    (void)state;
    derive_rfc_key(&key);
    (void)unhex(expect, 32, rfc_key);
    assert_memory_equal(key.b, expect, 32);
    assert_int_equal(fre_oprf_key_decode(&again, (fre_bytes){expect, 32}), FRE_OK);
    assert_memory_equal(&again, &key, sizeof key);
    (void)unhex(expect, 32, rfc_public);
    assert_memory_equal(key.pub.b, expect, 32);
    /* The mode is in the hash: neither of the others derives this key. */
    (void)unhex(expect, 32, oprf_mode_key);
    assert_memory_not_equal(key.b, expect, 32);
    (void)unhex(expect, 32, poprf_mode_key);
    assert_memory_not_equal(key.b, expect, 32);
}

/* One vector through every function of both sides. */
static void check_vector(const rfc_vector *v, const fre_oprf_key *key)
{
    uint8_t bytes[64], input_bytes[2][64];
    fre_bytes input[2];
    fre_oprf_blind blind[2];
    fre_oprf_element blinded[2], evaluated[2];
    fre_oprf_nonce nonce;
    fre_oprf_proof proof, decoded;
    fre_oprf_output out[2], alone;

    for (size_t i = 0; i < v->n; i++) {
        input[i].p = input_bytes[i];
        input[i].n = unhex(input_bytes[i], sizeof input_bytes[i], v->item[i].input);
        (void)unhex(bytes, 32, v->item[i].blind);
        assert_int_equal(fre_oprf_blind_decode(&blind[i], (fre_bytes){bytes, 32}), FRE_OK);
        assert_int_equal(fre_oprf_blind_input_with(&blinded[i], input[i], &blind[i]), FRE_OK);
        (void)unhex(bytes, 32, v->item[i].blinded);
        assert_memory_equal(blinded[i].b, bytes, 32);
    }
    assert_int_equal(fre_oprf_evaluate_elements(evaluated, key, blinded, v->n), FRE_OK);
    for (size_t i = 0; i < v->n; i++) {
        (void)unhex(bytes, 32, v->item[i].evaluated);
        assert_memory_equal(evaluated[i].b, bytes, 32);
    }
    (void)unhex(nonce.b, 32, v->nonce);
    assert_int_equal(fre_oprf_prove_with(&proof, key, blinded, evaluated, v->n, &nonce), FRE_OK);
    (void)unhex(bytes, 64, v->proof);
    assert_memory_equal(proof.b, bytes, 64);
    assert_int_equal(fre_oprf_proof_decode(&decoded, (fre_bytes){bytes, 64}), FRE_OK);
    assert_int_equal(fre_oprf_verify(&key->pub, blinded, v->n, evaluated, v->n, &decoded), FRE_OK);
    assert_int_equal(fre_oprf_finalize(out, &key->pub,
                                       &(fre_oprf_request){input, blind, blinded, v->n}, evaluated,
                                       v->n, &decoded),
                     FRE_OK);
    for (size_t i = 0; i < v->n; i++) {
        (void)unhex(bytes, 64, v->item[i].output);
        assert_memory_equal(out[i].b, bytes, 64);
        assert_int_equal(fre_oprf_evaluate(&alone, key, input[i]), FRE_OK);
        assert_memory_equal(alone.b, bytes, 64);
    }
}

static void exchanges_have_the_known_answers(void **state)
{
    fre_oprf_key key;

    (void)state;
    derive_rfc_key(&key);
    for (size_t i = 0; i < sizeof rfc_vectors / sizeof *rfc_vectors; i++)
        check_vector(&rfc_vectors[i], &key);
}

/* The other modes' key and answers are no use here: another hash to the group, another proof. */
static void the_mode_is_bound(void **state)
{
    uint8_t bytes[64], zero = 0;
    fre_oprf_key key;
    fre_oprf_public pk;
    fre_oprf_element blinded, evaluated;
    fre_oprf_proof proof;
    fre_oprf_output out;

    (void)state;
    (void)unhex(bytes, 32, oprf_mode_key);
    assert_int_equal(fre_oprf_key_decode(&key, (fre_bytes){bytes, 32}), FRE_OK);
    assert_int_equal(fre_oprf_evaluate(&out, &key, (fre_bytes){&zero, 1}), FRE_OK);
    (void)unhex(bytes, 64, oprf_mode_output);
    assert_memory_not_equal(out.b, bytes, 64);

    (void)unhex(bytes, 32, poprf_mode_public);
    assert_int_equal(fre_oprf_public_decode(&pk, (fre_bytes){bytes, 32}), FRE_OK);
    (void)unhex(bytes, 32, poprf_mode_blinded);
    assert_int_equal(fre_oprf_element_decode(&blinded, (fre_bytes){bytes, 32}), FRE_OK);
    (void)unhex(bytes, 32, poprf_mode_evaluated);
    assert_int_equal(fre_oprf_element_decode(&evaluated, (fre_bytes){bytes, 32}), FRE_OK);
    (void)unhex(bytes, 64, poprf_mode_proof);
    assert_int_equal(fre_oprf_proof_decode(&proof, (fre_bytes){bytes, 64}), FRE_OK);
    assert_int_equal(fre_oprf_verify(&pk, &blinded, 1, &evaluated, 1, &proof), FRE_E_PROOF);
}

/* finalize(evaluate(blind x)) = F(k, x), whatever the blind; another key or input: another F. */
static void client_and_server_agree(void **state)
{
    fre_oprf_output out[BATCH], alone, first = {{0}};
    exchange x;

    (void)state;
    for (uint8_t seed = 1; seed <= 20; seed++) {
        exchange_make(&x, seed);
        assert_int_equal(exchange_finalize(out, &x), FRE_OK);
        for (size_t i = 0; i < BATCH; i++) {
            assert_int_equal(fre_oprf_evaluate(&alone, &x.key, x.input[i]), FRE_OK);
            assert_memory_equal(&out[i], &alone, sizeof alone);
        }
        assert_memory_not_equal(&out[0], &out[2], sizeof *out);
        assert_memory_not_equal(&out[0], &first, sizeof first);
        first = out[0];
    }
}

/* The same input blinded twice shows nothing in common, and ends in the same result. */
static void blinds_hide_the_input(void **state)
{
    const fre_bytes input[2] = {text("the same"), text("the same")};
    fre_oprf_key key;
    fre_oprf_blind blind[2];
    fre_oprf_element blinded[2], evaluated[2];
    fre_oprf_proof proof;
    fre_oprf_output out[2];
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init(&r), FRE_OK);
    assert_int_equal(fre_oprf_key_generate(&key, &r), FRE_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fre_oprf_blind_input(&blind[i], &blinded[i], input[i], &r), FRE_OK);
    assert_memory_not_equal(&blind[0], &blind[1], sizeof *blind);
    assert_memory_not_equal(&blinded[0], &blinded[1], sizeof *blinded);
    assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &key, blinded, 2, &r), FRE_OK);
    assert_int_equal(fre_oprf_finalize(out, &key.pub, &(fre_oprf_request){input, blind, blinded, 2},
                                       evaluated, 2, &proof),
                     FRE_OK);
    assert_memory_equal(&out[0], &out[1], sizeof *out);
    fre_rng_wipe(&r);
}

/* A retry with the stored blind is the same message; two proofs of one batch differ. */
static void randomness_is_where_it_belongs(void **state)
{
    fre_oprf_element again, evaluated[BATCH];
    fre_oprf_proof proof;
    exchange x;
    fre_rng r;

    (void)state;
    exchange_make(&x, 1);
    assert_int_equal(fre_oprf_blind_input_with(&again, x.input[0], &x.blind[0]), FRE_OK);
    assert_memory_equal(&again, &x.blinded[0], sizeof again);
    seeded(&r, 77);
    assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &x.key, x.blinded, BATCH, &r),
                     FRE_OK);
    assert_memory_equal(evaluated, x.evaluated, sizeof evaluated);
    assert_memory_not_equal(&proof, &x.proof, sizeof proof);
    assert_int_equal(fre_oprf_verify(&x.key.pub, x.blinded, BATCH, evaluated, BATCH, &proof),
                     FRE_OK);
    /* The two halves are the whole: the same draw makes the same proof. */
    {
        fre_oprf_proof halves;

        seeded(&r, 77);
        assert_int_equal(fre_oprf_prove(&halves, &x.key, x.blinded, evaluated, BATCH, &r), FRE_OK);
        assert_memory_equal(&halves, &proof, sizeof proof);
        assert_int_equal(fre_oprf_prove(&halves, &x.key, x.blinded, evaluated, BATCH, NULL),
                         FRE_E_ARG);
    }
    /* In place, too. */
    assert_int_equal(fre_oprf_blind_evaluate(x.blinded, &proof, &x.key, x.blinded, BATCH, &r),
                     FRE_OK);
    assert_memory_equal(x.blinded, x.evaluated, sizeof x.blinded);
}

static void check_batch(size_t n, fre_status expect)
{
    static fre_oprf_element blinded[FRE_OPRF_BATCH_MAX + 1], evaluated[FRE_OPRF_BATCH_MAX + 1];
    static fre_oprf_blind blind[FRE_OPRF_BATCH_MAX + 1];
    static fre_oprf_output out[FRE_OPRF_BATCH_MAX + 1];
    static fre_bytes input[FRE_OPRF_BATCH_MAX + 1];
    fre_oprf_proof proof = {{0}};
    fre_oprf_key key;
    fre_rng r;

    seeded(&r, 5);
    assert_int_equal(fre_oprf_key_generate(&key, &r), FRE_OK);
    for (size_t i = 0; i < n; i++) {
        input[i] = text("one of many");
        assert_int_equal(fre_oprf_blind_input(&blind[i], &blinded[i], input[i], &r), FRE_OK);
    }
    assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &key, blinded, n, &r), expect);
    assert_int_equal(fre_oprf_evaluate_elements(evaluated, &key, blinded, n), expect);
    assert_int_equal(fre_oprf_finalize(out, &key.pub, &(fre_oprf_request){input, blind, blinded, n},
                                       evaluated, n, &proof),
                     expect);
    if (expect != FRE_OK)
        assert_true(all_bytes_are(evaluated, 0, sizeof evaluated) &&
                    all_bytes_are(out, 0, sizeof out) && all_bytes_are(&proof, 0, sizeof proof));
    memset(evaluated, 0, sizeof evaluated);
    memset(out, 0, sizeof out);
}

static void batches_have_limits(void **state)
{
    (void)state;
    check_batch(0, FRE_E_ARG);
    check_batch(FRE_OPRF_BATCH_MAX + 1, FRE_E_LIMIT);
    check_batch(1, FRE_OK);
    check_batch(FRE_OPRF_BATCH_MAX, FRE_OK);
}

static void inputs_have_limits(void **state)
{
    static uint8_t big[FRE_OPRF_INPUT_MAX + 1];
    const fre_bytes most = {big, FRE_OPRF_INPUT_MAX}, more = {big, sizeof big}, none = {NULL, 1};
    const uint8_t seed[FRE_OPRF_SEED_BYTES] = {1};
    fre_oprf_element blinded;
    fre_oprf_output out, before;
    fre_oprf_blind blind;
    fre_oprf_key key;
    exchange x;
    fre_rng r;

    (void)state;
    seeded(&r, 6);
    exchange_make(&x, 1);
    assert_int_equal(fre_oprf_blind_input(&blind, &blinded, most, &r), FRE_OK);
    assert_int_equal(fre_oprf_blind_input(&blind, &blinded, more, &r), FRE_E_LIMIT);
    assert_int_equal(fre_oprf_blind_input(&blind, &blinded, none, &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate(&out, &x.key, most), FRE_OK);
    before = out;
    assert_int_equal(fre_oprf_evaluate(&out, &x.key, more), FRE_E_LIMIT);
    assert_int_equal(fre_oprf_evaluate(&out, &x.key, none), FRE_E_ARG);
    assert_memory_equal(&out, &before, sizeof out);
    assert_int_equal(fre_oprf_key_derive(&key, seed, most), FRE_OK);
    assert_int_equal(fre_oprf_key_derive(&key, seed, more), FRE_E_LIMIT);
    assert_int_equal(fre_oprf_key_derive(&key, seed, none), FRE_E_ARG);
    x.input[1] = more;
    assert_int_equal(exchange_finalize((fre_oprf_output[BATCH]){{{0}}}, &x), FRE_E_LIMIT);
    x.input[1] = none;
    assert_int_equal(exchange_finalize((fre_oprf_output[BATCH]){{{0}}}, &x), FRE_E_ARG);
}

static void wiped_secrets_do_nothing(void **state)
{
    fre_oprf_output out[BATCH];
    fre_oprf_nonce nonce = {{3}};
    fre_oprf_element e;
    fre_oprf_proof proof;
    exchange x;
    fre_rng r;

    (void)state;
    seeded(&r, 7);
    exchange_make(&x, 1);
    memset(out, 0x22, sizeof out);
    fre_oprf_output_wipe(&out[0]);
    assert_true(all_bytes_are(&out[0], 0, sizeof out[0]) && out[1].b[0] == 0x22);
    fre_oprf_nonce_wipe(&nonce);
    assert_true(all_bytes_are(&nonce, 0, sizeof nonce));
    assert_int_equal(fre_oprf_prove_with(&proof, &x.key, x.blinded, x.evaluated, BATCH, &nonce),
                     FRE_E_ARG);

    fre_oprf_blind_wipe(&x.blind[1]);
    assert_true(all_bytes_are(&x.blind[1], 0, sizeof x.blind[1]));
    assert_int_equal(exchange_finalize(out, &x), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_input_with(&e, x.input[1], &x.blind[1]), FRE_E_ARG);

    fre_oprf_key_wipe(&x.key);
    assert_true(all_bytes_are(&x.key, 0, sizeof x.key));
    nonce.b[0] = 3;
    assert_int_equal(fre_oprf_evaluate_elements(&e, &x.key, x.blinded, 1), FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(&proof, &x.key, x.blinded, x.evaluated, 1, &nonce),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_evaluate(&e, &proof, &x.key, x.blinded, 1, &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate(out, &x.key, x.input[0]), FRE_E_ARG);

    fre_oprf_key_wipe(NULL);
    fre_oprf_blind_wipe(NULL);
    fre_oprf_nonce_wipe(NULL);
    fre_oprf_output_wipe(NULL);
}

static void missing_arguments_are_refused(void **state)
{
    const uint8_t seed[FRE_OPRF_SEED_BYTES] = {1};
    const fre_oprf_nonce nonce = {{3}};
    fre_oprf_output out[BATCH];
    fre_oprf_proof p;
    exchange x;
    fre_rng r;

    (void)state;
    seeded(&r, 8);
    exchange_make(&x, 1);
    assert_int_equal(fre_oprf_key_generate(NULL, &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_key_generate(&x.key, NULL), FRE_E_ARG);
    assert_int_equal(fre_oprf_key_derive(NULL, seed, text("")), FRE_E_ARG);
    assert_int_equal(fre_oprf_key_derive(&x.key, NULL, text("")), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_input(NULL, x.blinded, text(""), &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_input(x.blind, NULL, text(""), &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_input(x.blind, x.blinded, text(""), NULL), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_input_with(x.blinded, text(""), NULL), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate_elements(NULL, &x.key, x.blinded, 1), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate_elements(x.evaluated, NULL, x.blinded, 1), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate_elements(x.evaluated, &x.key, NULL, 1), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_evaluate(NULL, &p, &x.key, x.blinded, 1, &r), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_evaluate(x.evaluated, NULL, &x.key, x.blinded, 1, &r),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_evaluate(x.evaluated, &p, &x.key, x.blinded, 1, NULL),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(NULL, &x.key, x.blinded, x.evaluated, 1, &nonce),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(&p, NULL, x.blinded, x.evaluated, 1, &nonce), FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(&p, &x.key, NULL, x.evaluated, 1, &nonce), FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(&p, &x.key, x.blinded, NULL, 1, &nonce), FRE_E_ARG);
    assert_int_equal(fre_oprf_prove_with(&p, &x.key, x.blinded, x.evaluated, 1, NULL), FRE_E_ARG);
    assert_int_equal(fre_oprf_verify(NULL, x.blinded, 1, x.evaluated, 1, &x.proof), FRE_E_ARG);
    assert_int_equal(fre_oprf_verify(&x.key.pub, NULL, 1, x.evaluated, 1, &x.proof), FRE_E_ARG);
    assert_int_equal(fre_oprf_verify(&x.key.pub, x.blinded, 1, NULL, 1, &x.proof), FRE_E_ARG);
    assert_int_equal(fre_oprf_verify(&x.key.pub, x.blinded, 1, x.evaluated, 1, NULL), FRE_E_ARG);
    assert_int_equal(fre_oprf_finalize(out, &x.key.pub, NULL, x.evaluated, BATCH, &x.proof),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_finalize(NULL, &x.key.pub,
                                       &(fre_oprf_request){x.input, x.blind, x.blinded, BATCH},
                                       x.evaluated, BATCH, &x.proof),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_finalize(out, &x.key.pub,
                                       &(fre_oprf_request){NULL, x.blind, x.blinded, BATCH},
                                       x.evaluated, BATCH, &x.proof),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_finalize(out, &x.key.pub,
                                       &(fre_oprf_request){x.input, NULL, x.blinded, BATCH},
                                       x.evaluated, BATCH, &x.proof),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_finalize(out, NULL,
                                       &(fre_oprf_request){x.input, x.blind, x.blinded, BATCH},
                                       x.evaluated, BATCH, &x.proof),
                     FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate(NULL, &x.key, text("")), FRE_E_ARG);
    assert_int_equal(fre_oprf_evaluate(out, NULL, text("")), FRE_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xmd_has_the_known_answers),
        cmocka_unit_test(xmd_keeps_its_limits),
        cmocka_unit_test(keys_have_the_known_answers),
        cmocka_unit_test(exchanges_have_the_known_answers),
        cmocka_unit_test(the_mode_is_bound),
        cmocka_unit_test(client_and_server_agree),
        cmocka_unit_test(blinds_hide_the_input),
        cmocka_unit_test(randomness_is_where_it_belongs),
        cmocka_unit_test(batches_have_limits),
        cmocka_unit_test(inputs_have_limits),
        cmocka_unit_test(wiped_secrets_do_nothing),
        cmocka_unit_test(missing_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
