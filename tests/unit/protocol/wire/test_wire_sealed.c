/* What clients send: one size for each kind, nothing readable by others, every byte bound, and the
 * whole way of a tag through the VOPRF inside Oblivious HTTP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "wire_sample.h"

#include <cmocka.h>

#include "wire_private.h"
#include "seeded.h"

static void one_contact(sample *s)
{
    fre_collection c = sample_collection(s);

    c.one_contact = true;
    c.dropout = 0;
    c.shares_close = c.tags_close;
    sample_init_from(s, &c);
}

static fre_contribution contribution(const sample *s, uint8_t *packed, uint8_t first)
{
    fre_contribution m = {.null = false};

    sample_fill(m.id.b, sizeof m.id.b, first);
    sample_fill(m.tag.b, sizeof m.tag.b, (uint8_t)(first + 1));
    sample_fill(m.seed.b, sizeof m.seed.b, (uint8_t)(first + 2));
    sample_fill(packed, fre_wire_share_bytes(&s->w), (uint8_t)(first + 3));
    m.packed = (fre_bytes){packed, fre_wire_share_bytes(&s->w)};
    return m;
}

static fre_bytes sealed_of(const sample *s, fre_wire_type type, const fre_buf *m)
{
    fre_bytes sealed = {NULL, 0};

    assert_int_equal(fre_contribution_split(&sealed, NULL, &s->w, type, sample_view(m), NULL),
                     FRE_OK);
    assert_int_equal(sealed.n, fre_wire_sealed_bytes(&s->w, type));
    assert_int_equal(
        sealed.n + FRE_WIRE_HEAD_BYTES + (fre_contribution_has_seed(&s->w, type) ? 16 : 0), m->n);
    return sealed;
}

static void there_and_back(const sample *s, fre_wire_type type, bool with_share)
{
    uint8_t packed[2048];
    fre_contribution m = contribution(s, packed, 3), back;
    fre_buf out, plain;
    fre_rng r;

    seeded(&r, 1, "test/wire");
    fre_buf_init(&out, SAMPLE_MAX);
    fre_buf_init(&plain, SAMPLE_MAX);
    assert_int_equal(fre_contribution_seal(&out, &s->w, type, &m, &r), FRE_OK);
    assert_int_equal(
        fre_contribution_open(&back, &plain, &s->w, type, &s->syn, sealed_of(s, type, &out), NULL),
        FRE_OK);
    assert_false(back.null);
    assert_memory_equal(back.id.b, m.id.b, sizeof m.id.b);
    assert_memory_equal(back.tag.b, m.tag.b, sizeof m.tag.b);
    assert_int_equal(back.packed.n, with_share ? m.packed.n : 0);
    if (with_share) {
        assert_memory_equal(back.seed.b, m.seed.b, sizeof m.seed.b);
        assert_memory_equal(back.packed.p, packed, m.packed.n);
    }
    fre_buf_wipe(&out);
    fre_buf_wipe(&plain);
    fre_rng_wipe(&r);
}

static void contributions_come_back(void **state)
{
    sample s;

    (void)state;
    sample_init(&s);
    there_and_back(&s, FRE_WIRE_REPORT, false);
    there_and_back(&s, FRE_WIRE_SHARE, true);
    one_contact(&s);
    there_and_back(&s, FRE_WIRE_REPORT, true);
}

/* A null share and a share: one size, and nothing but the recipient's key tells them apart. */
static void nulls_look_like_shares(void **state)
{
    sample s;
    uint8_t packed[2048];
    fre_contribution m, null = {.null = true}, back;
    fre_buf a, b, plain;
    fre_rng r;

    (void)state;
    sample_init(&s);
    seeded(&r, 2, "test/wire");
    fre_buf_init(&a, SAMPLE_MAX);
    fre_buf_init(&b, SAMPLE_MAX);
    fre_buf_init(&plain, SAMPLE_MAX);
    m = contribution(&s, packed, 0);
    assert_int_equal(fre_contribution_seal(&a, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_OK);
    assert_int_equal(fre_contribution_seal(&b, &s.w, FRE_WIRE_SHARE, &null, &r), FRE_OK);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, FRE_WIRE_HEAD_BYTES);
    assert_int_equal(fre_contribution_open(&back, &plain, &s.w, FRE_WIRE_SHARE, &s.syn,
                                           sealed_of(&s, FRE_WIRE_SHARE, &b), NULL),
                     FRE_OK);
    assert_true(back.null);
    assert_int_equal(back.packed.n, 0);
    assert_int_equal(fre_contribution_seal(&a, &s.w, FRE_WIRE_REPORT, &null, &r), FRE_E_ARG);
    /* With everything filled in, null hides it all. */
    m.null = true;
    a.n = b.n = 0;
    assert_int_equal(fre_contribution_seal(&a, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_OK);
    assert_int_equal(fre_contribution_open(&back, &plain, &s.w, FRE_WIRE_SHARE, &s.syn,
                                           sealed_of(&s, FRE_WIRE_SHARE, &a), NULL),
                     FRE_OK);
    assert_true(back.null);
    assert_memory_not_equal(plain.p + 1, m.id.b, sizeof m.id.b);
    assert_memory_not_equal(plain.p + 17, m.tag.b, sizeof m.tag.b);
    assert_memory_not_equal(plain.p + 49, m.seed.b, sizeof m.seed.b);
    assert_memory_not_equal(plain.p + 113, m.packed.p, m.packed.n);
    fre_buf_wipe(&a);
    fre_buf_wipe(&b);
    fre_buf_wipe(&plain);
    fre_rng_wipe(&r);
}

static void must_not_open(const sample *s, fre_wire_type type, const fre_hpke_keypair *key,
                          fre_bytes sealed, fre_status want)
{
    fre_contribution back;
    fre_buf plain;
    fre_err err = {.text = ""};

    memset(&back, 0xa5, sizeof back);
    fre_buf_init(&plain, SAMPLE_MAX);
    assert_int_equal(fre_contribution_open(&back, &plain, &s->w, type, key, sealed, &err), want);
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(((const uint8_t *)&back)[i], 0xa5);
    assert_int_equal(plain.n, 0);
    assert_true(err.text[0] != '\0');
    fre_buf_wipe(&plain);
}

static void seals_bind_everything(void **state)
{
    sample s, other;
    fre_collection c;
    uint8_t packed[2048];
    fre_contribution m;
    fre_buf out;
    fre_bytes sealed;
    fre_rng r;

    (void)state;
    sample_init(&s);
    c = sample_collection(&other);
    c.end++;
    sample_init_from(&other, &c);
    seeded(&r, 3, "test/wire");
    m = contribution(&s, packed, 9);
    fre_buf_init(&out, SAMPLE_MAX);
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_REPORT, &m, &r), FRE_OK);
    sealed = sealed_of(&s, FRE_WIRE_REPORT, &out);
    must_not_open(&s, FRE_WIRE_REPORT, &s.tag, sealed, FRE_E_REFUSED);
    must_not_open(&other, FRE_WIRE_REPORT, &s.syn, sealed, FRE_E_REFUSED);
    must_not_open(&s, FRE_WIRE_SHARE, &s.syn, sealed, FRE_E_DATA);
    for (size_t n = 0; n < sealed.n; n++)
        must_not_open(&s, FRE_WIRE_REPORT, &s.syn, (fre_bytes){sealed.p, n}, FRE_E_DATA);
    for (size_t i = 0; i < out.n; i++) {
        fre_bytes again;
        fre_err err;

        out.p[i] ^= 0x80; /* bit 255 of the encapsulated key too: its bytes are bound */
        if (i < FRE_WIRE_HEAD_BYTES) {
            assert_int_equal(fre_contribution_split(&again, NULL, &s.w, FRE_WIRE_REPORT,
                                                    sample_view(&out), &err),
                             i < 2 ? FRE_E_DATA : FRE_E_KEY);
        } else {
            must_not_open(&s, FRE_WIRE_REPORT, &s.syn, sealed, FRE_E_REFUSED);
        }
        out.p[i] ^= 0x80;
    }
    fre_buf_wipe(&out);
    fre_rng_wipe(&r);
}

static void splits_are_exact(void **state)
{
    sample s;
    uint8_t packed[2048];
    fre_contribution m;
    fre_bytes sealed = {NULL, 77};
    fre_buf out;
    fre_rng r;

    (void)state;
    sample_init(&s);
    seeded(&r, 4, "test/wire");
    m = contribution(&s, packed, 1);
    fre_buf_init(&out, SAMPLE_MAX);
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_OK);
    for (size_t n = 0; n < out.n; n++)
        assert_int_equal(fre_contribution_split(&sealed, NULL, &s.w, FRE_WIRE_SHARE,
                                                (fre_bytes){out.p, n}, NULL),
                         FRE_E_DATA);
    assert_int_equal(fre_buf_append(&out, "", 1), FRE_OK);
    assert_int_equal(
        fre_contribution_split(&sealed, NULL, &s.w, FRE_WIRE_SHARE, sample_view(&out), NULL),
        FRE_E_DATA);
    assert_int_equal(
        fre_contribution_split(&sealed, NULL, &s.w, FRE_WIRE_REPORT, sample_view(&out), NULL),
        FRE_E_DATA);
    assert_int_equal(sealed.n, 77);
    fre_buf_wipe(&out);
    /* Sizes that are not known, or not right. */
    m.packed.n--;
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_E_ARG);
    s.w.share_bits = 0;
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_E_STATE);
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_LIST, &m, &r), FRE_E_ARG);
    one_contact(&s);
    assert_int_equal(fre_contribution_seal(&out, &s.w, FRE_WIRE_SHARE, &m, &r), FRE_E_STATE);
    assert_int_equal(out.n, 0);
    fre_rng_wipe(&r);
}

/* Plaintexts that only their sender can spoil. */
static void plaintexts_are_exact(void **state)
{
    static const fre_wire_type types[] = {FRE_WIRE_REPORT, FRE_WIRE_SHARE};
    sample s;
    uint8_t plain[4096];

    (void)state;
    sample_init(&s);
    sample_fill(plain, sizeof plain, 1);
    for (size_t i = 0; i < 2; i++) {
        size_t right = wire_plain_bytes(&s.w, types[i]);

        for (unsigned kind = 0; kind < (i == 1 ? 256u : 1u); kind++) {
            fre_contribution m;

            plain[0] = (uint8_t)kind;
            assert_int_equal(wire_plain_decode(&m, &s.w, types[i], (fre_bytes){plain, right}, NULL),
                             kind <= 1 ? FRE_OK : FRE_E_DATA);
        }
        plain[0] = 0;
        for (size_t n = 0; n <= right + 1; n++) {
            fre_contribution m;

            plain[0] = (uint8_t)(n % 2);
            assert_int_equal(wire_plain_decode(&m, &s.w, types[i], (fre_bytes){plain, n}, NULL),
                             n == right ? FRE_OK : FRE_E_DATA);
        }
    }
}

static void seeds_are_bound_to_their_report(void **state)
{
    sample s, other;
    fre_collection c;
    fre_tag tag[2];
    fre_report_id id[2];
    fre_share_seed seed, back;
    fre_sealed_seed sealed;
    fre_rng r;

    (void)state;
    sample_init(&s);
    c = sample_collection(&other);
    c.gamma++;
    sample_init_from(&other, &c);
    seeded(&r, 5, "test/wire");
    sample_tags(tag, 2);
    sample_fill(id[0].b, sizeof id[0].b, 1);
    sample_fill(id[1].b, sizeof id[1].b, 2);
    sample_fill(seed.b, sizeof seed.b, 3);
    assert_int_equal(fre_seed_seal(&sealed, &s.w, &tag[0], &id[0], &seed, &r), FRE_OK);
    assert_int_equal(fre_seed_open(&back, &s.w, &s.tag, &tag[0], &id[0], &sealed), FRE_OK);
    assert_memory_equal(back.b, seed.b, sizeof seed.b);
#define REFUSED(w, key, tag, id)                                                                   \
    assert_int_equal(fre_seed_open(&back, w, key, tag, id, &sealed), FRE_E_REFUSED)
    memset(back.b, 0xa5, sizeof back.b);
    REFUSED(&s.w, &s.syn, &tag[0], &id[0]);
    REFUSED(&s.w, &s.tag, &tag[1], &id[0]);
    REFUSED(&s.w, &s.tag, &tag[0], &id[1]);
    REFUSED(&other.w, &s.tag, &tag[0], &id[0]);
    for (size_t i = 0; i < sizeof sealed.b; i++) {
        sealed.b[i] ^= 1;
        REFUSED(&s.w, &s.tag, &tag[0], &id[0]);
        sealed.b[i] ^= 1;
    }
#undef REFUSED
    for (size_t i = 0; i < sizeof back.b; i++)
        assert_int_equal(back.b[i], 0xa5);
    fre_rng_wipe(&r);
}

/* ---- tags -------------------------------------------------------------------------------------- */

/* A client's whole way to its tags, for every AEAD and number of cells. */
static void tags_through_oblivious_http(void **state)
{
    static const uint32_t cells[] = {1, 2, 7, 64};
    static const fre_hpke_aead aeads[] = {FRE_HPKE_AES_128_GCM, FRE_HPKE_CHACHA20_POLY1305};

    (void)state;
    for (size_t k = 0; k < 8; k++) {
        fre_oprf_element sent[64], got[64], evaluated[64], answer[64];
        fre_oprf_blind blind[64];
        fre_oprf_output out[64], want;
        fre_oprf_proof proof, got_proof;
        fre_bytes input[64];
        uint8_t cell[64][32];
        fre_ohttp_exchange client, server;
        fre_buf message, request, inside, response, read;
        size_t sizes[2] = {0, 0};
        sample s;
        fre_collection c = sample_collection(&s);
        uint32_t n;
        fre_rng r;

        c.cells_per_user = n = cells[k % 4];
        c.aead = aeads[k / 4];
        sample_init_from(&s, &c);
        seeded(&r, (uint8_t)(10 + k), "test/wire");
        fre_buf_init(&message, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        fre_buf_init(&inside, SAMPLE_MAX);
        fre_buf_init(&response, SAMPLE_MAX);
        fre_buf_init(&read, SAMPLE_MAX);
        for (uint32_t i = 0; i < n; i++) {
            sample_fill(cell[i], 32, (uint8_t)i);
            input[i] = (fre_bytes){cell[i], 32};
            assert_int_equal(fre_oprf_blind_input(&blind[i], &sent[i], input[i], &r), FRE_OK);
        }
        assert_int_equal(fre_tag_request_encode(&message, &s.w, sent), FRE_OK);
        assert_int_equal(fre_exchange_ask(&client, &request, &s.w, FRE_WIRE_TAG_REQUEST,
                                          sample_view(&message), &r),
                         FRE_OK);
        /* S_tag */
        assert_int_equal(fre_exchange_open(&server, &inside, &s.w, FRE_WIRE_TAG_REQUEST, &s.tag,
                                           sample_view(&request), NULL),
                         FRE_OK);
        assert_int_equal(fre_tag_request_decode(got, &s.w, sample_view(&inside), NULL), FRE_OK);
        assert_int_equal(fre_oprf_blind_evaluate(evaluated, &proof, &s.oprf, got, n, &r), FRE_OK);
        message.n = 0;
        assert_int_equal(fre_tag_response_encode(&message, &s.w, evaluated, &proof), FRE_OK);
        /* A rejection has the size of an answer. */
        for (unsigned rejected = 0; rejected < 2; rejected++) {
            const uint8_t no[3] = {FRE_WIRE_VERSION, FRE_WIRE_REJECTION, FRE_REJECTED_EXPIRED};

            response.n = read.n = 0;
            assert_int_equal(fre_exchange_answer(
                                 &server, &response, &s.w,
                                 rejected ? (fre_bytes){no, sizeof no} : sample_view(&message), &r),
                             FRE_OK);
            sizes[rejected] = response.n;
            assert_int_equal(fre_exchange_read(&client, &read, &s.w, sample_view(&response), NULL),
                             FRE_OK);
            if (rejected) {
                fre_rejection why;

                assert_int_equal(fre_rejection_decode(&why, sample_view(&read), NULL), FRE_OK);
                assert_int_equal(why, FRE_REJECTED_EXPIRED);
                continue;
            }
            assert_int_equal(
                fre_tag_response_decode(answer, &got_proof, &s.w, sample_view(&read), NULL),
                FRE_OK);
            assert_int_equal(fre_oprf_finalize(out, &s.w.c.oprf_pk,
                                               &(fre_oprf_request){input, blind, sent, n}, answer,
                                               n, &got_proof),
                             FRE_OK);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(fre_oprf_evaluate(&want, &s.oprf, input[i]), FRE_OK);
                assert_memory_equal(out[i].b, want.b, sizeof want.b);
            }
        }
        assert_int_equal(sizes[0], sizes[1]);
        fre_buf_wipe(&message);
        fre_buf_wipe(&request);
        fre_buf_wipe(&inside);
        fre_buf_wipe(&response);
        fre_buf_wipe(&read);
        fre_rng_wipe(&r);
    }
}

static void exchanges_refuse(void **state)
{
    sample s;
    fre_ohttp_exchange client, server;
    fre_buf request, response, out;
    const uint8_t junk[66] = {1, 1};
    fre_rng r;

    (void)state;
    sample_init(&s);
    seeded(&r, 30, "test/wire");
    fre_buf_init(&request, SAMPLE_MAX);
    fre_buf_init(&response, SAMPLE_MAX);
    fre_buf_init(&out, SAMPLE_MAX);
    /* The longest request is the collection's own; a shorter one is padded to it. */
    assert_int_equal(
        fre_exchange_ask(&client, &request, &s.w, FRE_WIRE_TAG_REQUEST, (fre_bytes){junk, 69}, &r),
        FRE_E_ARG);
    assert_int_equal(
        fre_exchange_ask(&client, &request, &s.w, FRE_WIRE_TAG_REQUEST, (fre_bytes){junk, 66}, &r),
        FRE_OK);
    for (size_t n = 0; n < request.n; n++)
        assert_int_equal(fre_exchange_open(&server, &out, &s.w, FRE_WIRE_TAG_REQUEST, &s.tag,
                                           (fre_bytes){request.p, n}, NULL),
                         FRE_E_DATA);
    for (size_t i = 0; i < request.n; i++) {
        request.p[i] ^= 0x10;
        assert_int_equal(fre_exchange_open(&server, &out, &s.w, FRE_WIRE_TAG_REQUEST, &s.tag,
                                           sample_view(&request), NULL),
                         FRE_E_REFUSED);
        request.p[i] ^= 0x10;
    }
    assert_int_equal(fre_exchange_open(&server, &out, &s.w, FRE_WIRE_TAG_REQUEST, &s.syn,
                                       sample_view(&request), NULL),
                     FRE_E_REFUSED);
    assert_int_equal(out.n, 0);
    assert_int_equal(fre_exchange_open(&server, &out, &s.w, FRE_WIRE_TAG_REQUEST, &s.tag,
                                       sample_view(&request), NULL),
                     FRE_OK);
    assert_int_equal(out.n, 66);
    assert_int_equal(
        fre_exchange_answer(&server, &response, &s.w, (fre_bytes){junk, sizeof junk}, &r), FRE_OK);
    out.n = 0;
    for (size_t i = 0; i < response.n; i++) {
        response.p[i] ^= 0x10;
        assert_int_equal(fre_exchange_read(&client, &out, &s.w, sample_view(&response), NULL),
                         FRE_E_REFUSED);
        response.p[i] ^= 0x10;
    }
    assert_int_equal(
        fre_exchange_read(&client, &out, &s.w, (fre_bytes){response.p, response.n - 1}, NULL),
        FRE_E_DATA);
    assert_int_equal(out.n, 0);
    fre_buf_wipe(&request);
    fre_buf_wipe(&response);
    fre_buf_wipe(&out);
    fre_rng_wipe(&r);
}

/* Sealed with the right key, but the HTTP request in it is another. */
static void pitfall_18_a_request_carries_no_field(void **state)
{
    static const char *const paths[] = {"/tags", "/tag", "/tags/", "/tags?x"};
    static const char *const methods[] = {"POST", "GET"};
    sample s;
    fre_rng r;

    (void)state;
    sample_init(&s);
    seeded(&r, 31, "test/wire");
    for (size_t i = 0; i < 16; i++) {
        const uint8_t content[40] = {1};
        const char *path = paths[i % 4], *method = methods[i / 4 % 2];
        fre_bhttp m = {.kind = FRE_BHTTP_REQUEST,
                       .method = {(const uint8_t *)method, strlen(method)},
                       .scheme = {(const uint8_t *)"https", 5},
                       .path = {(const uint8_t *)path, strlen(path)},
                       .content = {content, sizeof content}};
        fre_ohttp_config config;
        fre_ohttp_exchange x;
        fre_buf plain, request, out;
        bool fine = i == 0;

        if (i >= 8) {
            m.header.n = 1;
            m.header.at[0].name = (fre_bytes){(const uint8_t *)"x", 1};
            m.header.at[0].value = (fre_bytes){(const uint8_t *)"y", 1};
        }
        fre_buf_init(&plain, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        fre_buf_init(&out, SAMPLE_MAX);
        fre_collection_ohttp_config(&config, &s.w.c, FRE_WIRE_TAG_REQUEST);
        /* 1 + 5 + 6 + 1 + 6 + 1 + 2 + 68 bytes are a request of this collection. */
        assert_int_equal(fre_bhttp_encode(&plain, &m, 90), FRE_OK);
        assert_int_equal(
            fre_ohttp_request_seal(&x, &request, &config, s.w.c.aead, sample_view(&plain), &r),
            FRE_OK);
        assert_int_equal(fre_exchange_open(&x, &out, &s.w, FRE_WIRE_TAG_REQUEST, &s.tag,
                                           sample_view(&request), NULL),
                         fine ? FRE_OK : FRE_E_DATA);
        assert_int_equal(out.n, fine ? sizeof content : 0);
        fre_buf_wipe(&plain);
        fre_buf_wipe(&request);
        fre_buf_wipe(&out);
    }
    fre_rng_wipe(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contributions_come_back),
        cmocka_unit_test(nulls_look_like_shares),
        cmocka_unit_test(seals_bind_everything),
        cmocka_unit_test(splits_are_exact),
        cmocka_unit_test(plaintexts_are_exact),
        cmocka_unit_test(seeds_are_bound_to_their_report),
        cmocka_unit_test(tags_through_oblivious_http),
        cmocka_unit_test(exchanges_refuse),
        cmocka_unit_test(pitfall_18_a_request_carries_no_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
