/* HPKE: the RFC's vectors, every way to be wrong, and the promise that failure writes nothing. */
#include "seal_private.h"
#include "seal_vectors.h"

static const fre_hpke_aead aeads[] = {FRE_HPKE_AES_128_GCM, FRE_HPKE_CHACHA20_POLY1305};

static fre_rng rng_of(const char *label)
{
    static const uint8_t seed[32] = {5};
    fre_rng r;

    assert_int_equal(fre_rng_init_seeded(&r, seed, label), FRE_OK);
    return r;
}

/* ---- RFC 5869 -------------------------------------------------------------------------------- */

static void hkdf_follows_rfc_5869(void **state)
{
    /* Appendix A.1, and A.3 with neither salt nor info. */
    static const struct {
        const char *salt, *info, *prk, *okm;
    } cases[] = {
        {"000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
         "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
         "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
        {"-", "-", "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
         "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
    };
    uint8_t ikm[22], prk[32], okm[42];

    (void)state;
    memset(ikm, 0x0b, sizeof ikm);
    for (size_t i = 0; i < 2; i++) {
        const hex_bytes salt = unhex(cases[i].salt), info = unhex(cases[i].info);
        const hex_bytes want_prk = unhex(cases[i].prk), want = unhex(cases[i].okm);
        /* In pieces, as the module uses it. */
        const fre_bytes pieces[2] = {view(ikm, 9), view(ikm + 9, sizeof ikm - 9)};
        const fre_bytes whole = bytes_of(&info);

        seal_extract(prk, bytes_of(&salt), pieces, 2);
        assert_memory_equal(prk, want_prk.b, sizeof prk);
        seal_expand(okm, sizeof okm, prk, &whole, 1);
        assert_memory_equal(okm, want.b, sizeof okm);
    }
}

/* ---- RFC 9180 -------------------------------------------------------------------------------- */

typedef struct vector_pair {
    fre_hpke_ctx s, r;
} vector_pair;

static void open_vector(vector_pair *v, const vector_line *l)
{
    const fre_hpke_aead aead = (fre_hpke_aead)strtol(l->word[1], NULL, 10);
    const hex_bytes info = unhex(l->word[2]), ske = unhex(l->word[3]), skr = unhex(l->word[4]);
    const hex_bytes pkr = unhex(l->word[5]), want_enc = unhex(l->word[6]);
    const hex_bytes key = unhex(l->word[7]), nonce = unhex(l->word[8]), exp = unhex(l->word[9]);
    fre_hpke_sk sk, ephemeral;
    fre_hpke_keypair pair;
    fre_hpke_enc enc;

    memcpy(sk.b, skr.b, sizeof sk.b);
    memcpy(ephemeral.b, ske.b, sizeof ephemeral.b);
    assert_int_equal(fre_hpke_keypair_from(&pair, &sk), FRE_OK);
    assert_memory_equal(pair.pk.b, pkr.b, 32);
    assert_int_equal(
        fre_hpke_setup_sender_with(&v->s, &enc, aead, &pair.pk, bytes_of(&info), &ephemeral),
        FRE_OK);
    assert_memory_equal(enc.b, want_enc.b, sizeof enc.b);
    assert_int_equal(fre_hpke_setup_recipient(&v->r, aead, &pair, &enc, bytes_of(&info)), FRE_OK);
    assert_memory_equal(v->s.key, key.b, key.n);
    assert_memory_equal(v->s.base_nonce, nonce.b, nonce.n);
    assert_memory_equal(v->s.exporter, exp.b, exp.n);
    assert_memory_equal(v->r.key, key.b, key.n);
    assert_memory_equal(v->r.base_nonce, nonce.b, nonce.n);
    assert_memory_equal(v->r.exporter, exp.b, exp.n);
}

/* Both contexts to sequence number seq by real messages. */
static void advance(vector_pair *v, uint64_t seq)
{
    uint8_t ct[1 + FRE_HPKE_TAG_BYTES], pt[1];

    while (v->s.seq < seq) {
        assert_int_equal(fre_hpke_seal(&v->s, ct, text("a"), text("b")), FRE_OK);
        assert_int_equal(fre_hpke_open(&v->r, pt, text("a"), view(ct, sizeof ct)), FRE_OK);
        assert_int_equal(pt[0], 'b');
    }
    assert_int_equal(v->r.seq, seq);
}

static void seal_vector(vector_pair *v, const vector_line *l)
{
    const hex_bytes aad = unhex(l->word[2]), pt = unhex(l->word[3]), ct = unhex(l->word[4]);
    uint8_t out[TEST_BYTES];

    advance(v, strtoull(l->word[1], NULL, 10));
    assert_int_equal(fre_hpke_seal(&v->s, out, bytes_of(&aad), bytes_of(&pt)), FRE_OK);
    assert_bytes(view(out, pt.n + FRE_HPKE_TAG_BYTES), bytes_of(&ct));
    assert_int_equal(fre_hpke_open(&v->r, out, bytes_of(&aad), bytes_of(&ct)), FRE_OK);
    assert_bytes(view(out, ct.n - FRE_HPKE_TAG_BYTES), bytes_of(&pt));
}

static void export_vector(const vector_pair *v, const vector_line *l)
{
    const hex_bytes context = unhex(l->word[1]), want = unhex(l->word[3]);
    uint8_t out[TEST_BYTES];

    assert_int_equal(strtoul(l->word[2], NULL, 10), want.n);
    assert_int_equal(fre_hpke_export(&v->s, out, want.n, bytes_of(&context)), FRE_OK);
    assert_memory_equal(out, want.b, want.n);
    assert_int_equal(fre_hpke_export(&v->r, out, want.n, bytes_of(&context)), FRE_OK);
    assert_memory_equal(out, want.b, want.n);
}

static void hpke_follows_rfc_9180(void **state)
{
    static const char *const kinds[] = {"hpke", "seal", "export", NULL};
    FILE *f = vectors_open();
    vector_pair v;
    vector_line l;
    unsigned seen[3] = {0};

    (void)state;
    while (vectors_next(f, &l, kinds)) {
        if (strcmp(l.word[0], "hpke") == 0) {
            open_vector(&v, &l);
            seen[0]++;
        } else if (strcmp(l.word[0], "seal") == 0) {
            seal_vector(&v, &l);
            seen[1]++;
        } else {
            export_vector(&v, &l);
            seen[2]++;
        }
    }
    (void)fclose(f);
    assert_int_equal(seen[0], 2);
    assert_int_equal(seen[1], 12);
    assert_int_equal(seen[2], 6);
}

/* ---- round trips --------------------------------------------------------------------------- */

static void every_length_comes_back(void **state)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 31, 1000, 100000};
    fre_rng r = rng_of("lengths");
    fre_hpke_keypair pair;

    (void)state;
    assert_int_equal(fre_hpke_keygen(&pair, &r), FRE_OK);
    for (size_t a = 0; a < 2; a++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            size_t n = lengths[i];
            uint8_t *pt = malloc(n + 1), *sealed = malloc(n + FRE_HPKE_OVERHEAD + 1);

            assert_true(pt && sealed);
            fre_rng_bytes(&r, pt, n);
            mark(sealed, n + FRE_HPKE_OVERHEAD + 1);
            assert_int_equal(fre_hpke_seal_once(sealed, aeads[a], &pair.pk, text("info"),
                                                view(pt, n / 2), view(pt, n), &r),
                             FRE_OK);
            assert_untouched(sealed + n + FRE_HPKE_OVERHEAD, 1);
            if (n >= 16) /* not by chance: 2^-128 */
                assert_memory_not_equal(sealed + FRE_HPKE_ENC_BYTES, pt, n);
            {
                uint8_t *back = malloc(n + 1);

                assert_non_null(back);
                mark(back, n + 1);
                assert_int_equal(fre_hpke_open_once(back, aeads[a], &pair, text("info"),
                                                    view(pt, n / 2),
                                                    view(sealed, n + FRE_HPKE_OVERHEAD)),
                                 FRE_OK);
                assert_bytes(view(back, n), view(pt, n));
                assert_untouched(back + n, 1);
                free(back);
            }
            free(pt);
            free(sealed);
        }
    }
}

static void fresh_keys_every_time(void **state)
{
    fre_rng r = rng_of("fresh");
    fre_hpke_keypair a, b;
    uint8_t one[FRE_HPKE_OVERHEAD], two[FRE_HPKE_OVERHEAD];

    (void)state;
    assert_int_equal(fre_hpke_keygen(&a, &r), FRE_OK);
    assert_int_equal(fre_hpke_keygen(&b, &r), FRE_OK);
    assert_memory_not_equal(a.pk.b, b.pk.b, 32);
    assert_int_equal(fre_hpke_seal_once(one, aeads[0], &a.pk, text(""), text(""), text(""), &r),
                     FRE_OK);
    assert_int_equal(fre_hpke_seal_once(two, aeads[0], &a.pk, text(""), text(""), text(""), &r),
                     FRE_OK);
    assert_memory_not_equal(one, two, FRE_HPKE_ENC_BYTES);
    fre_hpke_keypair_wipe(&a);
    fre_hpke_sk_wipe(&b.sk);
    for (size_t i = 0; i < sizeof a; i++)
        assert_int_equal(((const uint8_t *)&a)[i], 0);
    for (size_t i = 0; i < sizeof b.sk; i++)
        assert_int_equal(b.sk.b[i], 0);
    fre_hpke_keypair_wipe(NULL);
    fre_hpke_sk_wipe(NULL);
    fre_hpke_ctx_wipe(NULL);
}

/* ---- what must be refused -------------------------------------------------------------------- */

#define SECRET_TEXT "twenty bytes of text"
#define SECRET_BYTES 20u

typedef struct sealed_case {
    fre_hpke_keypair pair, other;
    uint8_t sealed[FRE_HPKE_OVERHEAD + SECRET_BYTES];
} sealed_case;

static sealed_case make_case(fre_hpke_aead aead)
{
    fre_rng r = rng_of("refused");
    sealed_case c;

    assert_int_equal(fre_hpke_keygen(&c.pair, &r), FRE_OK);
    assert_int_equal(fre_hpke_keygen(&c.other, &r), FRE_OK);
    assert_int_equal(fre_hpke_seal_once(c.sealed, aead, &c.pair.pk, text("info"), text("aad"),
                                        text(SECRET_TEXT), &r),
                     FRE_OK);
    return c;
}

static void check_refused(fre_status want, fre_hpke_aead aead, const fre_hpke_keypair *pair,
                          fre_bytes info, fre_bytes aad, fre_bytes sealed)
{
    uint8_t out[SECRET_BYTES];

    mark(out, sizeof out);
    assert_int_equal(fre_hpke_open_once(out, aead, pair, info, aad, sealed), want);
    assert_untouched(out, sizeof out);
}

static void any_change_is_refused(void **state)
{
    (void)state;
    for (size_t a = 0; a < 2; a++) {
        const fre_hpke_aead aead = aeads[a];
        sealed_case c = make_case(aead);
        const fre_bytes whole = view(c.sealed, sizeof c.sealed);
        fre_hpke_keypair mixed = c.pair;

        check_refused(FRE_E_REFUSED, aead, &c.other, text("info"), text("aad"), whole);
        check_refused(FRE_E_REFUSED, aead, &c.pair, text("infO"), text("aad"), whole);
        check_refused(FRE_E_REFUSED, aead, &c.pair, text(""), text("aad"), whole);
        check_refused(FRE_E_REFUSED, aead, &c.pair, text("info"), text("aae"), whole);
        check_refused(FRE_E_REFUSED, aead, &c.pair, text("info"), text(""), whole);
        check_refused(FRE_E_REFUSED, aeads[1 - a], &c.pair, text("info"), text("aad"), whole);
        mixed.pk = c.other.pk; /* the key's own half is part of the secret */
        check_refused(FRE_E_REFUSED, aead, &mixed, text("info"), text("aad"), whole);
        for (size_t n = 0; n < sizeof c.sealed; n++)
            check_refused(n < FRE_HPKE_OVERHEAD ? FRE_E_DATA : FRE_E_REFUSED, aead, &c.pair,
                          text("info"), text("aad"), view(c.sealed, n));
        for (size_t bit = 0; bit < 8 * sizeof c.sealed; bit++) {
            c.sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
            check_refused(FRE_E_REFUSED, aead, &c.pair, text("info"), text("aad"), whole);
            c.sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void messages_open_in_order_only(void **state)
{
    fre_rng r = rng_of("order");
    fre_hpke_keypair pair;
    fre_hpke_ctx s, t;
    fre_hpke_enc enc;
    uint8_t ct[2][1 + FRE_HPKE_TAG_BYTES], out = 0xa5;

    (void)state;
    assert_int_equal(fre_hpke_keygen(&pair, &r), FRE_OK);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], &pair.pk, text(""), &r), FRE_OK);
    assert_int_equal(fre_hpke_setup_recipient(&t, aeads[0], &pair, &enc, text("")), FRE_OK);
    assert_int_equal(fre_hpke_seal(&s, ct[0], text(""), text("0")), FRE_OK);
    assert_int_equal(fre_hpke_seal(&s, ct[1], text(""), text("1")), FRE_OK);
    assert_int_equal(fre_hpke_open(&t, &out, text(""), view(ct[1], sizeof ct[1])), FRE_E_REFUSED);
    assert_int_equal(out, 0xa5);
    /* A refusal does not move the number. */
    assert_int_equal(fre_hpke_open(&t, &out, text(""), view(ct[0], sizeof ct[0])), FRE_OK);
    assert_int_equal(out, '0');
    assert_int_equal(fre_hpke_open(&t, &out, text(""), view(ct[0], sizeof ct[0])), FRE_E_REFUSED);
    assert_int_equal(fre_hpke_open(&t, &out, text(""), view(ct[1], sizeof ct[1])), FRE_OK);
    assert_int_equal(out, '1');
}

static void small_order_is_refused(void **state)
{
    fre_rng r = rng_of("small");
    fre_hpke_keypair pair;
    fre_hpke_ctx ctx;
    fre_hpke_enc enc, bad_enc;
    fre_hpke_pk bad;
    uint8_t sealed[FRE_HPKE_OVERHEAD];

    (void)state;
    assert_int_equal(fre_hpke_keygen(&pair, &r), FRE_OK);
    mark(&ctx, sizeof ctx);
    mark(&enc, sizeof enc);
    mark(sealed, sizeof sealed);
    for (size_t i = 0; i < 2 * (sizeof small_order / sizeof small_order[0]); i++) {
        assert_true(fre_unhex(bad.b, sizeof bad.b, small_order[i / 2]));
        bad.b[31] = (uint8_t)(bad.b[31] | (i % 2 ? 0x80 : 0));
        memcpy(bad_enc.b, bad.b, sizeof bad_enc.b);
        assert_int_equal(fre_hpke_setup_sender(&ctx, &enc, aeads[0], &bad, text(""), &r),
                         FRE_E_REFUSED);
        assert_int_equal(fre_hpke_setup_recipient(&ctx, aeads[0], &pair, &bad_enc, text("")),
                         FRE_E_REFUSED);
        assert_int_equal(
            fre_hpke_seal_once(sealed, aeads[0], &bad, text(""), text(""), text(""), &r),
            FRE_E_REFUSED);
    }
    assert_untouched(&ctx, sizeof ctx);
    assert_untouched(&enc, sizeof enc);
    assert_untouched(sealed, sizeof sealed);
}

static void contexts_have_one_direction(void **state)
{
    fre_rng r = rng_of("roles");
    fre_hpke_keypair pair;
    fre_hpke_ctx s, t, none = {.seq = 0};
    fre_hpke_enc enc;
    uint8_t out[64];

    (void)state;
    mark(out, sizeof out);
    assert_int_equal(fre_hpke_keygen(&pair, &r), FRE_OK);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[1], &pair.pk, text(""), &r), FRE_OK);
    assert_int_equal(fre_hpke_setup_recipient(&t, aeads[1], &pair, &enc, text("")), FRE_OK);
    assert_int_equal(fre_hpke_seal(&t, out, text(""), text("")), FRE_E_STATE);
    assert_int_equal(fre_hpke_open(&s, out, text(""), view(enc.b, 32)), FRE_E_STATE);
    assert_int_equal(fre_hpke_open(&none, out, text(""), view(enc.b, 32)), FRE_E_STATE);
    none.sender = true;
    assert_int_equal(fre_hpke_seal(&none, out, text(""), text("")), FRE_E_STATE);
    assert_int_equal(fre_hpke_export(&none, out, 32, text("")), FRE_E_STATE);
    s.seq = t.seq = UINT64_MAX - 1;
    assert_int_equal(fre_hpke_seal(&s, out, text(""), text("")), FRE_OK);
    assert_int_equal(fre_hpke_open(&t, NULL, text(""), view(out, FRE_HPKE_TAG_BYTES)), FRE_OK);
    mark(out, sizeof out);
    assert_int_equal(fre_hpke_seal(&s, out, text(""), text("")), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_open(&t, out, text(""), view(enc.b, 32)), FRE_E_LIMIT);
    assert_untouched(out, sizeof out);
    fre_hpke_ctx_wipe(&s);
    for (size_t i = 0; i < sizeof s; i++)
        assert_int_equal(((const uint8_t *)&s)[i], 0);
    assert_int_equal(fre_hpke_seal(&s, out, text(""), text("")), FRE_E_STATE);
}

static void arguments_are_checked(void **state)
{
    static uint8_t out[FRE_HPKE_EXPORT_MAX + 1];
    fre_rng r = rng_of("arguments");
    fre_hpke_keypair pair;
    fre_hpke_ctx s, t;
    fre_hpke_enc enc;
    const fre_bytes huge = view(out, (size_t)FRE_SEAL_MAX + 1), lost = view(NULL, 3);

    (void)state;
    assert_int_equal(fre_hpke_keygen(NULL, &r), FRE_E_ARG);
    assert_int_equal(fre_hpke_keygen(&pair, NULL), FRE_E_ARG);
    assert_int_equal(fre_hpke_keygen(&pair, &r), FRE_OK);
    assert_int_equal(fre_hpke_keypair_from(NULL, &pair.sk), FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, (fre_hpke_aead)2, &pair.pk, text(""), &r),
                     FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], &pair.pk, text(""), NULL),
                     FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], NULL, text(""), &r), FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], &pair.pk, lost, &r), FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], &pair.pk, huge, &r), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_setup_sender(&s, &enc, aeads[0], &pair.pk, text(""), &r), FRE_OK);
    assert_int_equal(fre_hpke_setup_recipient(&t, (fre_hpke_aead)0xffff, &pair, &enc, text("")),
                     FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_recipient(&t, aeads[0], NULL, &enc, text("")), FRE_E_ARG);
    assert_int_equal(fre_hpke_setup_recipient(&t, aeads[0], &pair, &enc, huge), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_setup_recipient(&t, aeads[0], &pair, &enc, text("")), FRE_OK);
    assert_int_equal(fre_hpke_seal(&s, NULL, text(""), text("")), FRE_E_ARG);
    assert_int_equal(fre_hpke_seal(&s, out, lost, text("")), FRE_E_ARG);
    assert_int_equal(fre_hpke_seal(&s, out, text(""), lost), FRE_E_ARG);
    assert_int_equal(fre_hpke_seal(&s, out, text(""), huge), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_seal(&s, out, huge, text("")), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_open(&t, out, text(""), view(out, 15)), FRE_E_DATA);
    assert_int_equal(fre_hpke_open(&t, out, huge, view(out, 16)), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_open(&t, NULL, text(""), view(out, 17)), FRE_E_ARG);
    assert_int_equal(fre_hpke_export(&s, out, 0, text("")), FRE_E_ARG);
    mark(out, sizeof out);
    assert_int_equal(fre_hpke_export(&s, out, FRE_HPKE_EXPORT_MAX + 1, text("")), FRE_E_ARG);
    assert_untouched(out, sizeof out);
    assert_int_equal(fre_hpke_export(&s, out, FRE_HPKE_EXPORT_MAX, text("")), FRE_OK);
    assert_untouched(out + FRE_HPKE_EXPORT_MAX, 1);
    assert_int_equal(s.seq, 0);
    assert_int_equal(t.seq, 0);
    assert_int_equal(fre_hpke_export(&s, out, 32, huge), FRE_E_LIMIT);
    assert_int_equal(fre_hpke_export(&s, out, 32, lost), FRE_E_ARG);
    mark(out, sizeof out);
    assert_int_equal(fre_hpke_seal_once(NULL, aeads[0], &pair.pk, text(""), text(""), text(""), &r),
                     FRE_E_ARG);
    assert_int_equal(
        fre_hpke_seal_once(out, aeads[0], &pair.pk, text(""), text(""), text(""), NULL), FRE_E_ARG);
    assert_int_equal(fre_hpke_seal_once(out, aeads[0], &pair.pk, text(""), text(""), huge, &r),
                     FRE_E_LIMIT);
    assert_int_equal(fre_hpke_open_once(out, aeads[0], &pair, text(""), text(""), lost), FRE_E_ARG);
    assert_int_equal(
        fre_hpke_open_once(out, (fre_hpke_aead)2, &pair, text(""), text(""), view(out, 48)),
        FRE_E_ARG);
    assert_untouched(out, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hkdf_follows_rfc_5869),   cmocka_unit_test(hpke_follows_rfc_9180),
        cmocka_unit_test(every_length_comes_back), cmocka_unit_test(fresh_keys_every_time),
        cmocka_unit_test(any_change_is_refused),   cmocka_unit_test(messages_open_in_order_only),
        cmocka_unit_test(small_order_is_refused),  cmocka_unit_test(contexts_have_one_direction),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
