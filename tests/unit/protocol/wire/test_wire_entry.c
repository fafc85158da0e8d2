/* Entries: ids and proofs by an independent computation, seals that bind what they must, and the rules of
 * the messages that carry them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire_sample_two.h"

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

static void start(sample *s)
{
    sample_init(s);
}

/* By OpenSSL, where the code uses libsodium. */
static void ids_and_proofs(void **state)
{
    static const char id_label[] = "\x09" "fre/id/v2", proof_label[] = "\x0c" "fre/proof/v2";
    uint8_t text[128], hash[32];
    fre_place place;
    fre_report_id id;
    fre_oprf_output key;
    fre_vouching proof;
    unsigned n = 32;
    fre_tag tag;
    sample s;

    (void)state;
    start(&s);
    sample_fill(place.b, sizeof place.b, 3);
    sample_fill(key.b, sizeof key.b, 4);
    sample_fill(tag.b, sizeof tag.b, 5);
    memcpy(text, id_label, 10);
    memcpy(text + 10, s.w.id.b, 32);
    memcpy(text + 42, place.b, 16);
    assert_int_equal(EVP_Digest(text, 58, hash, NULL, EVP_sha256(), NULL), 1);
    fre_place_id(&id, &s.w, &place);
    assert_memory_equal(id.b, hash, sizeof id.b);
    memcpy(text, proof_label, 13);
    memcpy(text + 13, s.w.id.b, 32);
    memcpy(text + 45, tag.b, 32);
    assert_non_null(HMAC(EVP_sha256(), key.b, sizeof key.b, text, 77, hash, &n));
    fre_vouching_make(&proof, &s.w, &key, &tag);
    assert_memory_equal(proof.b, hash, sizeof proof.b);
}

static void seeds_open_in_their_place_alone(void **state)
{
    const fre_hpke_sk ephemeral = {{9}};
    fre_share_seed seed, back = {{0}};
    fre_sealed_entry_seed sealed;
    fre_place place = {.cell = 0}, other_place = {.cell = 0}, opened;
    fre_report_id id, other_id;
    fre_tag tag, other_tag;
    sample s, t;
    fre_collection c;

    (void)state;
    start(&s);
    sample_fill(seed.b, sizeof seed.b, 1);
    sample_fill(place.b, sizeof place.b, 2);
    sample_fill(other_place.b, sizeof other_place.b, 7);
    sample_fill(tag.b, sizeof tag.b, 3);
    other_tag = tag;
    other_tag.b[31] ^= 1;
    fre_place_id(&id, &s.w, &place);
    fre_place_id(&other_id, &s.w, &other_place);
    assert_int_equal(fre_entry_seed_seal_with(&sealed, &s.w, &tag, &id, &seed, &place, &ephemeral),
                     FRE_OK);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed), FRE_OK);
    assert_memory_equal(back.b, seed.b, sizeof seed.b);
    assert_memory_equal(opened.b, place.b, sizeof place.b);
    memset(&back, 0x5a, sizeof back);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &other_tag, &id, &sealed),
                     FRE_E_REFUSED);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &other_id, &sealed),
                     FRE_E_REFUSED);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.syn, &tag, &id, &sealed),
                     FRE_E_REFUSED);
    c = sample_collection(&t);
    c.end++;
    sample_init_from(&t, &c);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &t.w, &t.tag, &tag, &id, &sealed),
                     FRE_E_REFUSED);
    /* S_syn seals a seed of its own under somebody's id, whose place it does not know. */
    assert_int_equal(
        fre_entry_seed_seal_with(&sealed, &s.w, &tag, &id, &seed, &other_place, &ephemeral),
        FRE_OK);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed),
                     FRE_E_REFUSED);
    for (size_t i = 0; i < sizeof back.b; i++)
        assert_int_equal(back.b[i], 0x5a);
}

/* What a message of a type has, comes back; what it hasn't, is zero. */
static void one_comes_back(sample *s, fre_wire_type type, bool proof, bool share)
{
    const size_t bytes = share ? fre_wire_share_bytes(&s->w) : 0;
    const fre_entry zero = {.packed = {.n = 0}};
    fre_buf message, plain;
    fre_bytes sealed, junk;
    fre_entry m, none;

    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&plain, SAMPLE_MAX);
    sample_entry(s, type, &message);
    assert_int_equal(message.n, FRE_WIRE_HEAD_BYTES + fre_entry_sealed_bytes(&s->w, type));
    assert_int_equal(fre_entry_split(&sealed, &s->w, type, sample_view(&message), NULL), FRE_OK);
    assert_int_equal(fre_entry_open(&m, &plain, &s->w, type, &s->syn, sealed, NULL), FRE_OK);
    assert_int_equal(m.tag.b[0], proof ? 0x10 : 0);
    assert_int_equal(plain.n, 16u + (proof ? 48u : 0u) + (share ? 84u : 0u) + bytes);
    assert_int_equal(memcmp(&m.proof, &zero.proof, sizeof m.proof) != 0, proof);
    assert_int_equal(memcmp(&m.seed, &zero.seed, sizeof m.seed) != 0, share);
    assert_int_equal(m.packed.n, bytes);
    if (share)
        assert_int_equal(m.packed.p[0], 0x42);
    for (size_t i = FRE_WIRE_HEAD_BYTES; i < message.n; i++) {
        message.p[i] ^= 0x10;
        memset(&none, 0x5a, sizeof none);
        assert_int_equal(fre_entry_open(&none, &plain, &s->w, type, &s->syn, sealed, NULL),
                         FRE_E_REFUSED);
        assert_int_equal(((const uint8_t *)&none)[0], 0x5a);
        message.p[i] ^= 0x10;
    }
    assert_int_equal(fre_entry_open(&none, &plain, &s->w, type, &s->tag, sealed, NULL),
                     FRE_E_REFUSED);
    junk = (fre_bytes){sealed.p, sealed.n - 1};
    assert_int_equal(fre_entry_open(&none, &plain, &s->w, type, &s->syn, junk, NULL), FRE_E_DATA);
    message.n--;
    assert_int_equal(fre_entry_split(&sealed, &s->w, type, sample_view(&message), NULL),
                     FRE_E_DATA);
    s->w.share_bits = 0;
    assert_int_equal(fre_entry_split(&sealed, &s->w, type, sample_view(&message), NULL),
                     share ? FRE_E_STATE : FRE_E_DATA);
    assert_int_equal(fre_entry_sealed_bytes(&s->w, type) == 0, share);
    fre_buf_wipe(&message);
    fre_buf_wipe(&plain);
}

static void start_one(sample *s)
{
    fre_collection c = sample_collection(s);

    c.one_contact = true;
    c.dropout = 0;
    c.shares_close = c.tags_close;
    sample_init_from(s, &c);
}

static void entries_come_back(void **state)
{
    sample s;

    (void)state;
    start_one(&s);
    one_comes_back(&s, FRE_WIRE_ENTRY, true, true);
    start(&s);
    one_comes_back(&s, FRE_WIRE_ENTRY, true, false);
    start(&s);
    one_comes_back(&s, FRE_WIRE_ANSWER, false, true);
}

/* With one contact nobody answers; no other message is an entry. */
static void other_types_are_refused(void **state)
{
    const fre_hpke_sk ephemeral = {{9}};
    fre_buf message;
    fre_bytes sealed;
    fre_entry m = {.packed = {.n = 0}};
    sample s;

    (void)state;
    start_one(&s);
    fre_buf_init(&message, SAMPLE_MAX);
    assert_int_equal(fre_entry_sealed_bytes(&s.w, FRE_WIRE_ANSWER), 0);
    assert_int_equal(fre_entry_seal_with(&message, &s.w, FRE_WIRE_ANSWER, &m, &ephemeral),
                     FRE_E_ARG);
    assert_int_equal(fre_entry_split(&sealed, &s.w, FRE_WIRE_ANSWER, sealed, NULL), FRE_E_ARG);
    assert_int_equal(fre_entry_sealed_bytes(&s.w, FRE_WIRE_MIXED), 0);
    assert_int_equal(message.n, 0);
}

/* With two contacts a seed opens under its list alone. */
/* The cell comes back if the collection has it; a grid's cells have no index. */
static void cells_are_of_the_collection(void **state)
{
    static const struct {
        uint32_t cell;
        bool public;
        fre_status want;
    } cases[] = {{0, false, FRE_OK},          {1, false, FRE_E_REFUSED},
                 {0, true, FRE_OK},           {4095, true, FRE_OK},
                 {4096, true, FRE_E_REFUSED}, {UINT32_MAX, true, FRE_E_REFUSED}};
    const fre_hpke_sk ephemeral = {{9}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fre_share_seed seed, back;
        fre_place place = {.cell = cases[i].cell}, opened = {.cell = 77};
        fre_sealed_entry_seed sealed;
        fre_report_id id;
        fre_tag tag;
        sample s;
        fre_collection c = sample_collection(&s);

        if (cases[i].public)
            sample_public_cells(&c);
        sample_init_from(&s, &c);
        sample_fill(seed.b, sizeof seed.b, 1);
        sample_fill(place.b, sizeof place.b, 2);
        sample_fill(tag.b, sizeof tag.b, 3);
        fre_place_id(&id, &s.w, &place);
        assert_int_equal(
            fre_entry_seed_seal_with(&sealed, &s.w, &tag, &id, &seed, &place, &ephemeral), FRE_OK);
        assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed),
                         cases[i].want);
        assert_int_equal(opened.cell, cases[i].want == FRE_OK ? cases[i].cell : 77);
    }
}

static void seeds_are_of_one_list(void **state)
{
    const fre_hpke_sk ephemeral = {{9}};
    fre_share_seed seed, back;
    fre_sealed_entry_seed sealed;
    fre_place place = {.cell = 0}, opened;
    fre_report_id id;
    fre_tag tag;
    sample s;

    (void)state;
    start(&s);
    sample_fill(s.w.list, sizeof s.w.list, 8);
    sample_fill(seed.b, sizeof seed.b, 1);
    sample_fill(place.b, sizeof place.b, 2);
    sample_fill(tag.b, sizeof tag.b, 3);
    fre_place_id(&id, &s.w, &place);
    assert_int_equal(fre_entry_seed_seal_with(&sealed, &s.w, &tag, &id, &seed, &place, &ephemeral),
                     FRE_OK);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed), FRE_OK);
    s.w.list[31] ^= 1;
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed),
                     FRE_E_REFUSED);
    /* Whoever did not answer has zeros there: no seed at all. */
    memset(&sealed, 0, sizeof sealed);
    assert_int_equal(fre_entry_seed_open(&back, &opened, &s.w, &s.tag, &tag, &id, &sealed),
                     FRE_E_REFUSED);
}

/* Each of both signatures counts. */
static void lists_have_two_signatures(void **state)
{
    fre_buf list, out;
    fre_list m;
    sample s;

    (void)state;
    start(&s);
    fre_buf_init(&list, SAMPLE_MAX);
    fre_buf_init(&out, SAMPLE_MAX);
    sample_list(&s, &list);
    assert_int_equal(fre_listed_encode(&out, &s.w, sample_view(&list), &s.issuer_sk), FRE_OK);
    assert_int_equal(fre_listed_decode(&m, &s.w, sample_view(&out), NULL), FRE_OK);
    assert_true(m.n > 0);
    for (size_t i = 0; i < out.n; i++) {
        out.p[i] ^= 4;
        assert_int_not_equal(fre_listed_decode(&m, &s.w, sample_view(&out), NULL), FRE_OK);
        out.p[i] ^= 4;
    }
    fre_buf_wipe(&out);
    /* S_syn in the issuer's name. */
    assert_int_equal(fre_listed_encode(&out, &s.w, sample_view(&list), &s.syn_sk), FRE_OK);
    assert_int_equal(fre_listed_decode(&m, &s.w, sample_view(&out), NULL), FRE_E_REFUSED);
    fre_buf_wipe(&out);
    /* The issuer without S_syn. */
    list.p[list.n - 1] ^= 1;
    assert_int_equal(fre_listed_encode(&out, &s.w, sample_view(&list), &s.issuer_sk), FRE_E_DATA);
    {
        uint8_t *body = malloc(4 + list.n);

        assert_non_null(body);
        for (unsigned i = 0; i < 4; i++)
            body[i] = (uint8_t)(list.n >> (24 - 8 * i));
        memcpy(body + 4, list.p, list.n);
        sample_sign(&s, FRE_WIRE_LISTED, (fre_bytes){body, 4 + list.n}, &out);
        assert_int_equal(fre_listed_decode(&m, &s.w, sample_view(&out), NULL), FRE_E_REFUSED);
        free(body);
    }
    fre_buf_wipe(&out);
    fre_buf_wipe(&list);
}

/* A part that is not the last has at least a thousand entries. */
static void short_parts_are_refused(void **state)
{
    const fre_wire_type type = FRE_WIRE_COLLECTED;
    fre_batch m = {.part = {0, 2}, .n = FRE_BATCH_PART_MIN};
    fre_batch back;
    uint8_t *bytes;
    size_t each;
    fre_buf out;
    sample s;

    (void)state;
    start(&s);
    each = fre_entry_sealed_bytes(&s.w, FRE_WIRE_ENTRY);
    bytes = calloc(m.n, each);
    assert_non_null(bytes);
    fre_buf_init(&out, FRE_WIRE_MESSAGE_MAX);
    m.sealed = (fre_bytes){bytes, m.n * each};
    assert_int_equal(fre_batch_encode(&out, &s.w, type, &m, &s.relay_sk), FRE_OK);
    assert_int_equal(fre_batch_decode(&back, &s.w, type, sample_view(&out), NULL), FRE_OK);
    assert_int_equal(back.n, m.n);
    out.n = 0;
    m.n--;
    m.sealed.n -= each;
    assert_int_equal(fre_batch_encode(&out, &s.w, type, &m, &s.relay_sk), FRE_E_ARG);
    m.part.index = 1;
    assert_int_equal(fre_batch_encode(&out, &s.w, type, &m, &s.relay_sk), FRE_OK);
    assert_int_equal(fre_batch_decode(&back, &s.w, type, sample_view(&out), NULL), FRE_OK);
    fre_buf_wipe(&out);
    /* The same, made by a relay that keeps no rule: index 0 of 2 in a body of its own. */
    {
        uint8_t body[8 + 2 + 4] = {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0};

        sample_sign(&s, type, (fre_bytes){body, sizeof body}, &out);
        assert_int_equal(fre_batch_decode(&back, &s.w, type, sample_view(&out), NULL), FRE_E_DATA);
    }
    fre_buf_wipe(&out);
    free(bytes);
}

/* Seeds for other than exactly the vouched members; another part's vouching. */
static void unseal_is_exact(void **state)
{
    fre_sealed_entry_seed seed[3];
    fre_unseal m = {.part = {0, 1}, .n = 2, .seed = seed}, back;
    fre_buf inner, out;
    sample s;

    (void)state;
    start(&s);
    memset(seed, 0, sizeof seed);
    fre_buf_init(&inner, SAMPLE_MAX);
    fre_buf_init(&out, SAMPLE_MAX);
    sample_message_two(&s, FRE_WIRE_VOUCHED, &inner);
    m.vouched = sample_view(&inner);
    assert_int_equal(fre_unseal_encode(&out, &s.w, &m, &s.syn_sk), FRE_E_DATA);
    m.n = 3;
    m.part.count = 2;
    assert_int_equal(fre_unseal_encode(&out, &s.w, &m, &s.syn_sk), FRE_E_DATA);
    m.part.count = 1;
    assert_int_equal(fre_unseal_encode(&out, &s.w, &m, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_unseal_decode(&back, &s.w, sample_view(&out), NULL), FRE_OK);
    assert_int_equal(back.n, 3);
    /* What the issuer signed is looked at again, whoever signs around it. */
    inner.p[inner.n - 1] ^= 1;
    {
        uint8_t *body = malloc(8 + 4 + inner.n + 4 + sizeof seed), *p = body;
        const uint8_t part[8] = {0, 0, 0, 0, 0, 0, 0, 1}, count[4] = {0, 0, 0, 3};
        const uint8_t length[4] = {0, 0, (uint8_t)(inner.n >> 8), (uint8_t)inner.n};

        assert_non_null(body);
        memcpy(p, part, 8);
        memcpy(p + 8, length, 4);
        memcpy(p + 12, inner.p, inner.n);
        memcpy(p + 12 + inner.n, count, 4);
        memcpy(p + 16 + inner.n, seed, sizeof seed);
        out.n = 0;
        sample_sign(&s, FRE_WIRE_UNSEAL, (fre_bytes){body, 16 + inner.n + sizeof seed}, &out);
        assert_int_equal(fre_unseal_decode(&back, &s.w, sample_view(&out), NULL), FRE_E_REFUSED);
        free(body);
    }
    fre_buf_wipe(&inner);
    fre_buf_wipe(&out);
}

/* Whatever is collected travels: no part is longer than a message may be, none but the last is short, all
 * entries are in one. */
static void parts_hold_whatever_comes(void **state)
{
    static const uint64_t numbers[] = {0,     1,     999,   1000,  11650,   16384,  16385,
                                       22520, 32767, 45039, 49151, 1000000, 4000000};
    static const uint32_t dims[] = {12, 384, 768, 1536, 8192};
    sample s;

    (void)state;
    start(&s);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (uint32_t bits = 8; bits <= 32; bits += 3)
            for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
                const uint64_t n = numbers[k];
                uint64_t parts;
                size_t each;

                s.w.c.dim = dims[d];
                assert_int_equal(fre_wire_set_share_bits(&s.w, bits), FRE_OK);
                each = fre_entry_sealed_bytes(&s.w, FRE_WIRE_ENTRY);
                parts = fre_batch_parts(&s.w, FRE_WIRE_MIXED, n);
                assert_in_range(parts, 1, 65536);
                assert_int_equal(fre_batch_first(&s.w, FRE_WIRE_MIXED, n, 0), 0);
                assert_int_equal(fre_batch_first(&s.w, FRE_WIRE_MIXED, n, parts), n);
                for (uint64_t i = 0; i < parts; i++) {
                    const uint64_t in = fre_batch_first(&s.w, FRE_WIRE_MIXED, n, i + 1) -
                                        fre_batch_first(&s.w, FRE_WIRE_MIXED, n, i);

                    assert_true(i + 1 == parts || in >= FRE_BATCH_PART_MIN);
                    assert_true(in * each + 1024 < FRE_WIRE_MESSAGE_MAX);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_hold_whatever_comes),
        cmocka_unit_test(ids_and_proofs),
        cmocka_unit_test(seeds_open_in_their_place_alone),
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(short_parts_are_refused),
        cmocka_unit_test(unseal_is_exact),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(seeds_are_of_one_list),
        cmocka_unit_test(cells_are_of_the_collection),
        cmocka_unit_test(lists_have_two_signatures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
