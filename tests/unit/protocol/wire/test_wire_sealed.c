/* Exchanges: the whole way of a tag through the VOPRF inside Oblivious HTTP, of one size, every byte
 * bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "wire_sample.h"

#include <cmocka.h>

#include "wire_private.h"
#include "seeded.h"

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
        cmocka_unit_test(tags_through_oblivious_http),
        cmocka_unit_test(exchanges_refuse),
        cmocka_unit_test(pitfall_18_a_request_carries_no_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
