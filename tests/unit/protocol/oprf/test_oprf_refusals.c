/* The VOPRF's refusals: what is no element, scalar or proof, and every way to falsify an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include <fre/oprf.h>

#include "oprf_private.h"
#include "oprf_tools.h"
#include "oprf_vectors.h"

#define UNTOUCHED 0x5a

/* The order of the group and the field's prime, little-endian. */
static const char order_hex[] = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
static const char prime_hex[] = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";

/* x += n, little-endian. */
static void add_small(uint8_t x[32], unsigned n)
{
    for (size_t i = 0; i < 32; i++) {
        n += x[i];
        x[i] = (uint8_t)n;
        n >>= 8;
    }
}

/* Every place where a peer's element enters. */
static void element_is_refused(const uint8_t e[32])
{
    fre_oprf_element out, element;
    fre_oprf_public pk;
    fre_oprf_output result[BATCH];
    fre_oprf_proof proof;
    exchange x;
    fre_rng r;

    exchange_make(&x, 2);
    seeded(&r, 9);
    memset(&out, UNTOUCHED, sizeof out);
    memset(&pk, UNTOUCHED, sizeof pk);
    memset(&proof, UNTOUCHED, sizeof proof);
    memset(result, UNTOUCHED, sizeof result);
    memcpy(element.b, e, 32);
    assert_int_equal(fre_oprf_element_decode(&out, (fre_bytes){e, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_public_decode(&pk, (fre_bytes){e, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_evaluate_elements(&out, &x.key, &element, 1), FRE_E_DATA);
    assert_int_equal(fre_oprf_blind_evaluate(&out, &proof, &x.key, &element, 1, &r), FRE_E_DATA);
    assert_true(all_bytes_are(&out, UNTOUCHED, sizeof out));
    assert_true(all_bytes_are(&pk, UNTOUCHED, sizeof pk));
    assert_true(all_bytes_are(&proof, UNTOUCHED, sizeof proof));
    for (size_t i = 0; i < BATCH; i++) {
        exchange bad = x;

        bad.evaluated[i] = element;
        assert_int_equal(exchange_finalize(result, &bad), FRE_E_DATA);
        bad = x;
        bad.blinded[i] = element;
        assert_int_equal(exchange_finalize(result, &bad), FRE_E_DATA);
        assert_int_equal(fre_oprf_evaluate_elements(bad.evaluated, &bad.key, bad.blinded, BATCH),
                         FRE_E_DATA);
        assert_memory_equal(bad.evaluated, x.evaluated, sizeof x.evaluated);
    }
    memcpy(x.key.pub.b, e, 32);
    assert_int_equal(exchange_finalize(result, &x), FRE_E_DATA);
    assert_true(all_bytes_are(result, UNTOUCHED, sizeof result));
}

/* libsodium 1.0.18's own verdict on the same bytes, which is why we have a decoder. */
static void sodium_says(const uint8_t e[32], int verdict)
{
    if (strcmp(sodium_version_string(), "1.0.18") == 0)
        assert_int_equal(crypto_core_ristretto255_is_valid_point(e), verdict);
}

static void pitfall_11_identity_is_refused(void **state)
{
    const uint8_t zero[32] = {0};

    (void)state;
    sodium_says(zero, 1);
    element_is_refused(zero);
}

static void pitfall_12_bit_255_is_refused(void **state)
{
    uint8_t high_zero[32] = {0};
    exchange x;

    (void)state;
    exchange_make(&x, 3);
    for (size_t i = 0; i < BATCH; i++) {
        x.blinded[i].b[31] |= 0x80;
        sodium_says(x.blinded[i].b, 1);
        element_is_refused(x.blinded[i].b);
    }
    high_zero[31] = 0x80;
    element_is_refused(high_zero);
}

/* p + 0 ... p + 18 = 2^255 - 1: other names of the numbers 0 ... 18. */
static void unreduced_field_elements_are_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 19; i++) {
        uint8_t e[32];

        (void)unhex(e, 32, prime_hex);
        add_small(e, i);
        assert_false(fre_oprf_element_is_canonical(e));
        sodium_says(e, 0);
        element_is_refused(e);
    }
}

static void odd_elements_are_refused(void **state)
{
    uint8_t one[32] = {1};
    exchange x;

    (void)state;
    exchange_make(&x, 4);
    element_is_refused(one);
    /* p - e, the negative of an element's number. */
    for (size_t i = 0; i < BATCH; i++) {
        uint8_t p[32];
        int borrow = 0;

        (void)unhex(p, 32, prime_hex);
        for (size_t j = 0; j < 32; j++) {
            const int d = p[j] - x.blinded[i].b[j] - borrow;

            p[j] = (uint8_t)d;
            borrow = d < 0;
        }
        assert_int_equal(p[0] & 1, 1);
        element_is_refused(p);
    }
}

static void numbers_without_a_root_are_refused(void **state)
{
    size_t elements = 0;

    (void)state;
    for (size_t i = 0; i < sizeof small_encodings - 1; i++) {
        const uint8_t e[32] = {(uint8_t)(2 * i)};
        const bool fine = i > 0 && small_encodings[i] == '1';
        fre_oprf_element out;

        elements += fine;
        assert_int_equal(fre_oprf_element_decode(&out, (fre_bytes){e, 32}),
                         fine ? FRE_OK : FRE_E_DATA);
        if (fine)
            assert_memory_equal(out.b, e, 32);
    }
    assert_true(elements > 20);
    element_is_refused((const uint8_t[32]){2}); /* through every entrance */
}

static void other_lengths_are_refused(void **state)
{
    uint8_t bytes[66];
    fre_oprf_element e;
    fre_oprf_public pk;
    fre_oprf_proof p;
    fre_oprf_key k;
    fre_oprf_blind b;
    exchange x;

    (void)state;
    exchange_make(&x, 5);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        memset(bytes, 1, sizeof bytes); /* valid scalars, whatever their number */
        assert_int_equal(fre_oprf_proof_decode(&p, (fre_bytes){bytes, n}),
                         n == 64 ? FRE_OK : FRE_E_DATA);
        assert_int_equal(fre_oprf_key_decode(&k, (fre_bytes){bytes, n}),
                         n == 32 ? FRE_OK : FRE_E_DATA);
        assert_int_equal(fre_oprf_blind_decode(&b, (fre_bytes){bytes, n}),
                         n == 32 ? FRE_OK : FRE_E_DATA);
        memcpy(bytes, x.blinded[0].b, 32);
        assert_int_equal(fre_oprf_element_decode(&e, (fre_bytes){bytes, n}),
                         n == 32 ? FRE_OK : FRE_E_DATA);
        assert_int_equal(fre_oprf_public_decode(&pk, (fre_bytes){bytes, n}),
                         n == 32 ? FRE_OK : FRE_E_DATA);
    }
    assert_int_equal(fre_oprf_element_decode(&e, (fre_bytes){NULL, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_public_decode(&pk, (fre_bytes){NULL, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_proof_decode(&p, (fre_bytes){NULL, 64}), FRE_E_DATA);
    assert_int_equal(fre_oprf_key_decode(&k, (fre_bytes){NULL, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_blind_decode(&b, (fre_bytes){NULL, 32}), FRE_E_DATA);
    assert_int_equal(fre_oprf_element_decode(NULL, (fre_bytes){bytes, 32}), FRE_E_ARG);
    assert_int_equal(fre_oprf_public_decode(NULL, (fre_bytes){bytes, 32}), FRE_E_ARG);
    assert_int_equal(fre_oprf_proof_decode(NULL, (fre_bytes){bytes, 64}), FRE_E_ARG);
    assert_int_equal(fre_oprf_key_decode(NULL, (fre_bytes){bytes, 32}), FRE_E_ARG);
    assert_int_equal(fre_oprf_blind_decode(NULL, (fre_bytes){bytes, 32}), FRE_E_ARG);
}

/* Every place where a scalar enters. */
static void scalar_is(const uint8_t s[32], bool valid)
{
    const fre_status from_peer = valid ? FRE_OK : FRE_E_DATA, ours = valid ? FRE_OK : FRE_E_ARG;
    fre_oprf_nonce nonce;
    fre_oprf_element e;
    fre_oprf_blind blind;
    fre_oprf_proof proof;
    fre_oprf_key key;
    uint8_t two[64];
    exchange x;

    exchange_make(&x, 6);
    memcpy(nonce.b, s, 32);
    memset(&key, UNTOUCHED, sizeof key);
    memset(&blind, UNTOUCHED, sizeof blind);
    memset(&proof, UNTOUCHED, sizeof proof);
    memset(&e, UNTOUCHED, sizeof e);
    assert_int_equal(fre_oprf_scalar_is_valid(s), valid);
    assert_int_equal(fre_oprf_key_decode(&key, (fre_bytes){s, 32}), from_peer);
    assert_int_equal(fre_oprf_blind_decode(&blind, (fre_bytes){s, 32}), from_peer);
    assert_int_equal(fre_oprf_blind_input_with(&e, text("x"), (const fre_oprf_blind *)&nonce),
                     ours);
    assert_int_equal(fre_oprf_prove_with(&proof, &x.key, x.blinded, x.evaluated, BATCH, &nonce),
                     ours);
    if (valid)
        return;
    for (size_t half = 0; half < 64; half += 32) {
        const exchange good = x;

        memcpy(two, x.proof.b, 64);
        memcpy(two + half, s, 32);
        assert_int_equal(fre_oprf_proof_decode(&proof, (fre_bytes){two, 64}), FRE_E_DATA);
        memcpy(x.proof.b, two, 64);
        assert_int_equal(
            fre_oprf_verify(&x.key.pub, x.blinded, BATCH, x.evaluated, BATCH, &x.proof),
            FRE_E_DATA);
        x = good;
    }
    assert_true(all_bytes_are(&key, UNTOUCHED, sizeof key));
    assert_true(all_bytes_are(&blind, UNTOUCHED, sizeof blind));
    assert_true(all_bytes_are(&proof, UNTOUCHED, sizeof proof));
    assert_true(all_bytes_are(&e, UNTOUCHED, sizeof e));
}

static void pitfall_11_scalars_from_one_to_the_order(void **state)
{
    uint8_t s[32] = {0};

    (void)state;
    scalar_is(s, false);
    s[0] = 1;
    scalar_is(s, true);
    (void)unhex(s, 32, order_hex);
    scalar_is(s, false);
    s[0]--;
    scalar_is(s, true);
    s[0] += 2;
    scalar_is(s, false);
    /* The order plus each power of two: the borrow from every byte. */
    for (unsigned bit = 0; bit < 256; bit++) {
        unsigned carry = 1u << (bit % 8);

        (void)unhex(s, 32, order_hex);
        for (size_t i = bit / 8; i < 32; i++) {
            carry += s[i];
            s[i] = (uint8_t)carry;
            carry >>= 8;
        }
        assert_false(fre_oprf_scalar_is_valid(s));
    }
    for (unsigned bit = 0; bit < 256; bit++) {
        memset(s, 0, 32);
        s[bit / 8] = (uint8_t)(1u << (bit % 8));
        assert_int_equal(fre_oprf_scalar_is_valid(s), bit <= 252);
    }
    memset(s, 0xff, 32);
    scalar_is(s, false);
}

/* What libsodium 1.0.18 makes of a scalar that we refuse: order + 1 is 1, and bit 255 is nothing. */
static void libsodium_takes_any_scalar(void **state)
{
    uint8_t s[32], product[32];
    exchange x;

    (void)state;
    if (strcmp(sodium_version_string(), "1.0.18") != 0)
        skip();
    exchange_make(&x, 14);
    (void)unhex(s, 32, order_hex);
    s[0]++;
    scalar_is(s, false);
    assert_int_equal(crypto_scalarmult_ristretto255(product, s, x.blinded[0].b), 0);
    assert_memory_equal(product, x.blinded[0].b, 32);
    memset(s, 0, 32);
    s[0] = 1;
    s[31] = 0x80;
    scalar_is(s, false);
    assert_int_equal(crypto_scalarmult_ristretto255(product, s, x.blinded[0].b), 0);
    assert_memory_equal(product, x.blinded[0].b, 32);
}

/* A scalar with its order added is the same exponent under another name; libsodium multiplies by
 * it without a word, so that a proof could be changed and still verify. */
static void proofs_have_one_name(void **state)
{
    exchange x;

    (void)state;
    for (size_t half = 0; half < 64; half += 32) {
        uint8_t order[32];
        unsigned carry = 0;

        exchange_make(&x, 7);
        (void)unhex(order, 32, order_hex);
        for (size_t i = 0; i < 32; i++) {
            carry += (unsigned)x.proof.b[half + i] + order[i];
            x.proof.b[half + i] = (uint8_t)carry;
            carry >>= 8;
        }
        assert_int_equal(
            fre_oprf_verify(&x.key.pub, x.blinded, BATCH, x.evaluated, BATCH, &x.proof),
            FRE_E_DATA);
    }
}

/* Each bit of each public byte of an exchange: refused, and no output appears. */
static void pitfall_10_every_bit_counts(void **state)
{
    fre_oprf_output out[1];
    exchange x, bad;
    struct {
        uint8_t *p;
        size_t n;
    } field[4] = {
        {bad.proof.b, 64}, {bad.key.pub.b, 32}, {bad.blinded[0].b, 32}, {bad.evaluated[0].b, 32}};

    (void)state;
    exchange_make(&x, 8);
    {
        fre_rng r;

        seeded(&r, 8);
        assert_int_equal(fre_oprf_blind_evaluate(x.evaluated, &x.proof, &x.key, x.blinded, 1, &r),
                         FRE_OK);
    }
    memset(out, UNTOUCHED, sizeof out);
    for (size_t f = 0; f < 4; f++) {
        for (size_t bit = 0; bit < 8 * field[f].n; bit++) {
            fre_status st;

            bad = x;
            field[f].p[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            st = fre_oprf_finalize(out, &bad.key.pub,
                                   &(fre_oprf_request){bad.input, bad.blind, bad.blinded, 1},
                                   bad.evaluated, 1, &bad.proof);
            assert_true(st == FRE_E_PROOF || st == FRE_E_DATA);
        }
    }
    assert_true(all_bytes_are(out, UNTOUCHED, sizeof out));
    assert_int_equal(fre_oprf_finalize(out, &x.key.pub,
                                       &(fre_oprf_request){x.input, x.blind, x.blinded, 1},
                                       x.evaluated, 1, &x.proof),
                     FRE_OK);
    assert_false(all_bytes_are(out, UNTOUCHED, sizeof out));
}

static void proof_fails(const exchange *x)
{
    fre_oprf_output out[BATCH];

    memset(out, UNTOUCHED, sizeof out);
    assert_int_equal(
        fre_oprf_verify(&x->key.pub, x->blinded, BATCH, x->evaluated, BATCH, &x->proof),
        FRE_E_PROOF);
    assert_int_equal(exchange_finalize(out, x), FRE_E_PROOF);
    assert_true(all_bytes_are(out, UNTOUCHED, sizeof out));
}

static void swap(fre_oprf_element *a, fre_oprf_element *b)
{
    const fre_oprf_element t = *a;

    *a = *b;
    *b = t;
}

/* Well-formed answers that are not the answer. */
static void pitfall_10_false_answers_are_refused(void **state)
{
    exchange x, other, bad;
    uint8_t c[32];

    (void)state;
    exchange_make(&x, 10);
    exchange_make(&other, 11);
    for (size_t i = 0; i < BATCH; i++) {
        bad = x; /* one element evaluated with another key: a marked client */
        assert_int_equal(
            fre_oprf_evaluate_elements(&bad.evaluated[i], &other.key, &x.blinded[i], 1), FRE_OK);
        proof_fails(&bad);
        bad = x; /* order of the answers alone */
        swap(&bad.evaluated[i], &bad.evaluated[(i + 1) % BATCH]);
        proof_fails(&bad);
        bad = x; /* order of the questions alone */
        swap(&bad.blinded[i], &bad.blinded[(i + 1) % BATCH]);
        proof_fails(&bad);
        bad = x; /* of both: each pair is right, but the proof names places */
        swap(&bad.evaluated[i], &bad.evaluated[(i + 1) % BATCH]);
        swap(&bad.blinded[i], &bad.blinded[(i + 1) % BATCH]);
        proof_fails(&bad);
        bad = x; /* the answer to someone else's question */
        bad.evaluated[i] = other.evaluated[i];
        proof_fails(&bad);
        bad = x; /* an echo */
        bad.evaluated[i] = x.blinded[i];
        proof_fails(&bad);
    }
    bad = x; /* another batch's proof */
    bad.proof = other.proof;
    proof_fails(&bad);
    bad = x; /* another key */
    bad.key.pub = other.key.pub;
    proof_fails(&bad);
    bad = other; /* all by another key, but the committed public half */
    bad.key.pub = x.key.pub;
    proof_fails(&bad);
    bad = x; /* c and s exchanged */
    memcpy(c, bad.proof.b, 32);
    memcpy(bad.proof.b, bad.proof.b + 32, 32);
    memcpy(bad.proof.b + 32, c, 32);
    proof_fails(&bad);
}

/* A key pair whose halves do not belong together proves nothing to anybody. */
static void keys_derived_with_another_info_are_others(void **state)
{
    const uint8_t seed[FRE_OPRF_SEED_BYTES] = {9};
    fre_oprf_key a, b;
    fre_oprf_proof proof;
    fre_oprf_element evaluated[BATCH];
    exchange x;
    fre_rng r;

    (void)state;
    exchange_make(&x, 12);
    seeded(&r, 12);
    assert_int_equal(fre_oprf_key_derive(&a, seed, text("collection 1")), FRE_OK);
    assert_int_equal(fre_oprf_key_derive(&b, seed, text("collection 2")), FRE_OK);
    assert_memory_not_equal(a.b, b.b, 32);
    assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &a, x.blinded, BATCH, &r), FRE_OK);
    assert_int_equal(fre_oprf_verify(&a.pub, x.blinded, BATCH, evaluated, BATCH, &proof), FRE_OK);
    assert_int_equal(fre_oprf_verify(&b.pub, x.blinded, BATCH, evaluated, BATCH, &proof),
                     FRE_E_PROOF);
    a.pub = b.pub;
    assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &a, x.blinded, BATCH, &r), FRE_OK);
    assert_int_equal(fre_oprf_verify(&b.pub, x.blinded, BATCH, evaluated, BATCH, &proof),
                     FRE_E_PROOF);
}

/* Longer, shorter and empty lists; a proof covers the whole batch and nothing less. */
static void lists_must_match(void **state)
{
    fre_oprf_output out[BATCH];
    exchange x;

    (void)state;
    exchange_make(&x, 13);
    memset(out, UNTOUCHED, sizeof out);
    for (size_t n = 0; n <= BATCH; n++) {
        for (size_t m = 0; m <= BATCH; m++) {
            const fre_status expect = n == 0      ? FRE_E_ARG
                                      : n != m    ? FRE_E_DATA
                                      : n < BATCH ? FRE_E_PROOF
                                                  : FRE_OK;

            assert_int_equal(fre_oprf_verify(&x.key.pub, x.blinded, n, x.evaluated, m, &x.proof),
                             expect);
            if (expect == FRE_OK)
                continue;
            assert_int_equal(fre_oprf_finalize(out, &x.key.pub,
                                               &(fre_oprf_request){x.input, x.blind, x.blinded, n},
                                               x.evaluated, m, &x.proof),
                             expect);
        }
    }
    assert_true(all_bytes_are(out, UNTOUCHED, sizeof out));
    assert_int_equal(fre_oprf_verify(&x.key.pub, x.blinded, FRE_OPRF_BATCH_MAX + 1, x.evaluated,
                                     BATCH, &x.proof),
                     FRE_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_11_identity_is_refused),
        cmocka_unit_test(pitfall_12_bit_255_is_refused),
        cmocka_unit_test(unreduced_field_elements_are_refused),
        cmocka_unit_test(odd_elements_are_refused),
        cmocka_unit_test(numbers_without_a_root_are_refused),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(pitfall_11_scalars_from_one_to_the_order),
        cmocka_unit_test(libsodium_takes_any_scalar),
        cmocka_unit_test(proofs_have_one_name),
        cmocka_unit_test(pitfall_10_every_bit_counts),
        cmocka_unit_test(pitfall_10_false_answers_are_refused),
        cmocka_unit_test(keys_derived_with_another_info_are_others),
        cmocka_unit_test(lists_must_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
