/* Signed statements: an independent computation's signatures, labels that keep apart, and every
 * way to be wrong. */
#include "seal_vectors.h"

#define LABEL "fre-e2t/test/v1"

typedef struct signer {
    fre_sign_sk sk;
    fre_sign_pk pk;
} signer;

static signer make_signer(uint8_t first)
{
    uint8_t seed[32] = {first};
    signer s;

    assert_int_equal(fre_sign_keygen_with(&s.sk, &s.pk, seed), FRE_OK);
    return s;
}

static void signatures_follow_the_vectors(void **state)
{
    static const char *const kinds[] = {"sign", NULL};
    FILE *f = vectors_open();
    vector_line l;
    unsigned seen = 0;

    (void)state;
    while (vectors_next(f, &l, kinds)) {
        const hex_bytes seed = unhex(l.word[1]), pk = unhex(l.word[2]);
        const hex_bytes bytes = unhex(l.word[4]), sig = unhex(l.word[5]);
        signer s;
        fre_signature out;

        assert_int_equal(fre_sign_keygen_with(&s.sk, &s.pk, seed.b), FRE_OK);
        assert_memory_equal(s.pk.b, pk.b, 32);
        assert_int_equal(fre_sign_statement(&out, &s.sk, l.word[3], bytes_of(&bytes)), FRE_OK);
        assert_memory_equal(out.b, sig.b, 64);
        assert_int_equal(fre_sign_verify(&s.pk, &out, l.word[3], bytes_of(&bytes)), FRE_OK);
        seen++;
    }
    (void)fclose(f);
    assert_int_equal(seen, 2);
}

static void any_change_is_refused(void **state)
{
    const signer s = make_signer(1), other = make_signer(2);
    uint8_t bytes[33] = "bytes that somebody stands for";
    const fre_bytes whole = view(bytes, sizeof bytes);
    fre_signature sig;
    fre_sign_pk pk = s.pk;

    (void)state;
    assert_int_equal(fre_sign_statement(&sig, &s.sk, LABEL, whole), FRE_OK);
    assert_int_equal(fre_sign_verify(&s.pk, &sig, LABEL, whole), FRE_OK);
    assert_int_equal(fre_sign_verify(&other.pk, &sig, LABEL, whole), FRE_E_REFUSED);
    for (size_t bit = 0; bit < 8 * sizeof sig.b; bit++) {
        sig.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(fre_sign_verify(&s.pk, &sig, LABEL, whole), FRE_E_REFUSED);
        sig.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof pk.b; bit++) {
        pk.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(fre_sign_verify(&pk, &sig, LABEL, whole), FRE_E_REFUSED);
        pk.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(fre_sign_verify(&s.pk, &sig, LABEL, whole), FRE_E_REFUSED);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t n = 0; n < sizeof bytes; n++)
        assert_int_equal(fre_sign_verify(&s.pk, &sig, LABEL, view(bytes, n)), FRE_E_REFUSED);
}

static void labels_keep_statements_apart(void **state)
{
    const signer s = make_signer(3);
    static const struct {
        const char *label, *bytes;
    } said[] = {{"ab", "cd"}, {"a", "bcd"}, {"abc", "d"}, {"ab", "cde"}, {"ab", ""}, {"b", "cd"}};
    const size_t n = sizeof said / sizeof said[0];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        fre_signature sig;

        assert_int_equal(fre_sign_statement(&sig, &s.sk, said[i].label, text(said[i].bytes)),
                         FRE_OK);
        for (size_t j = 0; j < n; j++)
            assert_int_equal(fre_sign_verify(&s.pk, &sig, said[j].label, text(said[j].bytes)),
                             i == j ? FRE_OK : FRE_E_REFUSED);
    }
}

/* S + L verifies under a lenient reading of RFC 8032, so a statement would have two signatures. */
static void one_signature_only(void **state)
{
    static const char order[] = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    const signer s = make_signer(4);
    uint8_t l[32];
    fre_signature sig;
    unsigned carry = 0;

    (void)state;
    assert_true(fre_unhex(l, sizeof l, order));
    assert_int_equal(fre_sign_statement(&sig, &s.sk, LABEL, text("x")), FRE_OK);
    for (size_t i = 0; i < sizeof l; i++) {
        carry += (unsigned)sig.b[32 + i] + l[i];
        sig.b[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    assert_int_equal(carry, 0);
    assert_int_equal(fre_sign_verify(&s.pk, &sig, LABEL, text("x")), FRE_E_REFUSED);
}

/* Under a key of small order a signature of zeros would fit any statement. */
static void weak_keys_are_refused(void **state)
{
    static const char *const weak[] = {
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof weak / sizeof weak[0]); i++) {
        fre_sign_pk pk;
        fre_signature sig = {.b = {1}}; /* R the identity, S zero */

        assert_true(fre_unhex(pk.b, sizeof pk.b, weak[i / 2]));
        pk.b[31] = (uint8_t)(pk.b[31] | (i % 2 ? 0x80 : 0));
        assert_int_equal(fre_sign_verify(&pk, &sig, LABEL, text("x")), FRE_E_REFUSED);
        memcpy(sig.b, pk.b, sizeof pk.b);
        assert_int_equal(fre_sign_verify(&pk, &sig, LABEL, text("x")), FRE_E_REFUSED);
    }
}

static void arguments_are_checked(void **state)
{
    static const uint8_t seed[32] = {9};
    char label[FRE_SIGN_LABEL_MAX + 2];
    signer s;
    fre_signature sig;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "keys"), FRE_OK);
    assert_int_equal(fre_sign_keygen(&s.sk, &s.pk, NULL), FRE_E_ARG);
    assert_int_equal(fre_sign_keygen(NULL, &s.pk, &r), FRE_E_ARG);
    assert_int_equal(fre_sign_keygen(&s.sk, &s.pk, &r), FRE_OK);
    memset(label, 'a', sizeof label);
    label[sizeof label - 1] = '\0';
    mark(&sig, sizeof sig);
    assert_int_equal(fre_sign_statement(&sig, &s.sk, label, text("x")), FRE_E_ARG);
    assert_int_equal(fre_sign_statement(&sig, &s.sk, "", text("x")), FRE_E_ARG);
    assert_int_equal(fre_sign_statement(&sig, &s.sk, NULL, text("x")), FRE_E_ARG);
    assert_int_equal(fre_sign_statement(&sig, NULL, LABEL, text("x")), FRE_E_ARG);
    assert_int_equal(fre_sign_statement(&sig, &s.sk, LABEL, view(NULL, 1)), FRE_E_ARG);
    assert_int_equal(fre_sign_statement(&sig, &s.sk, LABEL, view(label, FRE_SEAL_MAX + 1u)),
                     FRE_E_LIMIT);
    assert_untouched(&sig, sizeof sig);
    label[FRE_SIGN_LABEL_MAX] = '\0';
    assert_int_equal(fre_sign_statement(&sig, &s.sk, label, text("x")), FRE_OK);
    assert_int_equal(fre_sign_verify(&s.pk, &sig, label, text("x")), FRE_OK);
    assert_int_equal(fre_sign_verify(&s.pk, &sig, "", text("x")), FRE_E_ARG);
    assert_int_equal(fre_sign_verify(NULL, &sig, label, text("x")), FRE_E_ARG);
    fre_sign_sk_wipe(&s.sk);
    fre_sign_sk_wipe(NULL);
    for (size_t i = 0; i < sizeof s.sk.b; i++)
        assert_int_equal(s.sk.b[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_follow_the_vectors), cmocka_unit_test(any_change_is_refused),
        cmocka_unit_test(labels_keep_statements_apart),  cmocka_unit_test(one_signature_only),
        cmocka_unit_test(weak_keys_are_refused),         cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
