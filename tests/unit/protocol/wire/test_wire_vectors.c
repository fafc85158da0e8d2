/* The worked example of docs/wire.md: one collection from the first message to the last, with every
 * random number fixed.  What the code makes must be tests/vectors/wire.json and stand in the
 * document.  With FRE_WIRE_VECTORS=FILE in the environment the vectors are written there first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire_sample.h"

#include <cmocka.h>
#include <jansson.h>

#define VECTORS FRE_SOURCE_DIR "/tests/vectors/wire.json"
#define DOCUMENT FRE_SOURCE_DIR "/docs/wire.md"
#define FILE_MAX (1u << 20)

static json_t *made;

static void note(const char *name, fre_bytes b)
{
    char *hex = malloc(2 * b.n + 1);

    assert_non_null(hex);
    fre_hex(hex, b.p, b.n);
    assert_null(json_object_get(made, name));
    assert_int_equal(json_object_set_new(made, name, json_string(hex)), 0);
    free(hex);
}

#define NOTE(name, object) note(name, (fre_bytes){(object), sizeof(object)})

/* Notes the bytes and empties the buffer. */
static void note_buf(const char *name, fre_buf *b)
{
    note(name, sample_view(b));
    b->n = 0;
}

static fre_hpke_sk secret(uint8_t byte)
{
    fre_hpke_sk sk;

    memset(sk.b, byte, sizeof sk.b);
    return sk;
}

/* Small: twelve coordinates, so that the example can be printed. */
static void make_collection(sample *s, fre_buf *b)
{
    fre_collection c = sample_collection(s);
    uint8_t seed[32];

    c.dim = 12;
    sample_init_from(s, &c);
    s->w.share_bits = 0;
    NOTE("oprf_sk", s->oprf.b);
    NOTE("tag_seal_sk", s->tag.sk.b);
    NOTE("syn_seal_sk", s->syn.sk.b);
    memset(seed, 0x21, sizeof seed);
    NOTE("tag_sign_seed", seed);
    memset(seed, 0x22, sizeof seed);
    NOTE("syn_sign_seed", seed);
    memset(seed, 0x23, sizeof seed);
    NOTE("relay_sign_seed", seed);
    assert_int_equal(fre_collection_encode(b, &s->w.c, NULL), FRE_OK);
    note_buf("collection", b);
    NOTE("collection_id", s->w.id.b);
}

/* The same with public cells in place of the grid. */
static void make_public_collection(const sample *s, fre_buf *b)
{
    fre_collection c = s->w.c;
    fre_collection_id id;

    sample_public_cells(&c);
    assert_int_equal(fre_collection_encode(b, &c, NULL), FRE_OK);
    note_buf("collection_of_public_cells", b);
    assert_int_equal(fre_collection_identify(&id, &c, NULL), FRE_OK);
    NOTE("id_of_public_cells", id.b);
}

static fre_tag make_tag(const sample *s, fre_buf *b)
{
    const fre_hpke_sk ephemeral = secret(0x41);
    fre_oprf_element blinded, evaluated;
    fre_oprf_nonce nonce = {{9}};
    fre_oprf_blind blind;
    fre_oprf_output out;
    fre_oprf_proof proof;
    fre_ohttp_exchange client, server;
    uint8_t cell[32], scalar[32] = {7}, response_nonce[16];
    fre_bytes input = {cell, sizeof cell};
    fre_tag tag;

    sample_fill(cell, sizeof cell, 0x40);
    sample_fill(response_nonce, sizeof response_nonce, 0x42);
    NOTE("cell", cell);
    NOTE("blind", scalar);
    NOTE("proof_nonce", nonce.b);
    NOTE("request_ephemeral_sk", ephemeral.b);
    NOTE("response_nonce", response_nonce);
    assert_int_equal(fre_oprf_blind_decode(&blind, (fre_bytes){scalar, 32}), FRE_OK);
    assert_int_equal(fre_oprf_blind_input_with(&blinded, input, &blind), FRE_OK);
    assert_int_equal(fre_tag_request_encode(b, &s->w, &blinded), FRE_OK);
    {
        fre_buf sealed, inside;

        fre_buf_init(&sealed, SAMPLE_MAX);
        fre_buf_init(&inside, SAMPLE_MAX);
        assert_int_equal(fre_exchange_ask_with(&client, &sealed, &s->w, FRE_WIRE_TAG_REQUEST,
                                               sample_view(b), &ephemeral),
                         FRE_OK);
        note_buf("tag_request", b);
        assert_int_equal(fre_exchange_open(&server, &inside, &s->w, FRE_WIRE_TAG_REQUEST, &s->tag,
                                           sample_view(&sealed), NULL),
                         FRE_OK);
        note_buf("tag_request_sealed", &sealed);
        assert_int_equal(fre_oprf_evaluate_elements(&evaluated, &s->oprf, &blinded, 1), FRE_OK);
        assert_int_equal(fre_oprf_prove_with(&proof, &s->oprf, &blinded, &evaluated, 1, &nonce),
                         FRE_OK);
        assert_int_equal(fre_tag_response_encode(b, &s->w, &evaluated, &proof), FRE_OK);
        assert_int_equal(fre_exchange_answer_with(&server, &sealed, &s->w, sample_view(b),
                                                  (fre_bytes){response_nonce, 16}),
                         FRE_OK);
        note_buf("tag_response", b);
        note_buf("tag_response_sealed", &sealed);
        fre_buf_wipe(&sealed);
        fre_buf_wipe(&inside);
    }
    assert_int_equal(fre_oprf_finalize(&out, &s->w.c.oprf_pk,
                                       &(fre_oprf_request){&input, &blind, &blinded, 1}, &evaluated,
                                       1, &proof),
                     FRE_OK);
    memcpy(tag.b, out.b, sizeof tag.b);
    NOTE("tag", tag.b);
    return tag;
}

static void make_list(sample *s, const fre_tag *tag, fre_buf *b)
{
    const fre_closed closed = {.time = s->w.c.tags_close, .evaluations = 81234};
    const fre_list_entry entry = {.tag = *tag, .count = 128};
    fre_list l;

    assert_int_equal(fre_closed_encode(b, &s->w, &closed, &s->tag_sk), FRE_OK);
    note_buf("closed", b);
    assert_int_equal(fre_list_encode(b, &s->w, &entry, 1, &s->syn_sk), FRE_OK);
    note("list", sample_view(b));
    assert_int_equal(fre_list_decode(&l, &s->w, sample_view(b), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&s->w, &l, NULL), FRE_OK);
    b->n = 0;
}

static void make_shares(const sample *s)
{
    uint8_t packed[64], bits[1] = {(uint8_t)s->w.share_bits};
    const size_t n = fre_wire_share_bytes(&s->w);
    const uint32_t padded = fre_hadamard_dim(s->w.c.dim);
    uint32_t share[16], mask[16] = {0};
    fre_share_expander *e;
    fre_share_seed seed;

    NOTE("share_bits", bits);
    sample_fill(seed.b, sizeof seed.b, 0x63);
    NOTE("share_seed", seed.b);
    assert_true(n <= sizeof packed && padded <= 16);
    assert_int_equal(fre_share_expander_new(&e, padded, s->w.share_bits), FRE_OK);
    assert_int_equal(fre_share_expander_add(e, mask, &seed), FRE_OK);
    fre_share_expander_free(e);
    assert_int_equal(fre_share_pack(packed, n, mask, padded, s->w.share_bits), FRE_OK);
    note("seed_expanded", (fre_bytes){packed, n});
    /* The shared numbers are 0, 1, ... */
    for (uint32_t i = 0; i < padded; i++)
        share[i] = i - mask[i];
    assert_int_equal(fre_share_pack(packed, n, share, padded, s->w.share_bits), FRE_OK);
    note("share_packed", (fre_bytes){packed, n});
}

static void make_end(const sample *s, fre_buf *b)
{
    static const char text[] = "NOT PRIVATE: an example";
    float centroid[12];
    const fre_release_cell cell = {.count = 128, .centroid = centroid};
    const fre_release_part release = {.part = {0, 1},
                                      .time = s->w.c.shares_close + 60,
                                      .statement = {(const uint8_t *)text, sizeof text - 1},
                                      .n = 1};
    const fre_cancel cancel = {
        .by = FRE_ROLE_TAG, .reason = FRE_CANCEL_KEY_LOST, .time = s->w.c.open + 1};

    for (unsigned i = 0; i < 12; i++)
        centroid[i] = (float)i / 8 - 0.5f;
    assert_int_equal(fre_release_part_encode(b, &s->w, &release, &cell, &s->syn_sk), FRE_OK);
    note_buf("release", b);
    assert_int_equal(fre_cancel_encode(b, &s->w, &cancel, &s->tag_sk), FRE_OK);
    note_buf("cancel", b);
    assert_int_equal(fre_rejection_encode(b, FRE_REJECTED_EXPIRED), FRE_OK);
    note_buf("rejection", b);
    assert_int_equal(fre_receipt_encode(b), FRE_OK);
    note_buf("receipt", b);
}

/* ---- places, entries and what servers say of them ---------------------------------------------- */

/* Bytes that were noted before, appended. */
static void noted(const char *name, fre_buf *out)
{
    const char *hex = json_string_value(json_object_get(made, name));
    const size_t n = strlen(hex) / 2;
    uint8_t *bytes = malloc(n);

    assert_non_null(bytes);
    assert_true(fre_unhex(bytes, n, hex));
    assert_int_equal(fre_buf_append(out, bytes, n), FRE_OK);
    free(bytes);
}

/* Its own keys, and the place of one entry at the issuer. */
static void make_place(const sample *s, fre_entry *m, fre_place *place, fre_buf *b)
{
    uint8_t scalar[32] = {11}, seed[32];
    fre_oprf_element blinded, evaluated;
    fre_oprf_nonce nonce = {{13}};
    fre_oprf_blind blind;
    fre_oprf_output key;
    fre_oprf_proof proof;

    memset(seed, 0x24, sizeof seed);
    NOTE("issuer_oprf_sk", s->issuer_oprf.b);
    NOTE("issuer_seal_sk", s->issuer.sk.b);
    NOTE("issuer_sign_seed", seed);
    sample_fill(place->b, sizeof place->b, 0x90);
    fre_place_id(&m->id, &s->w, place);
    NOTE("place", place->b);
    NOTE("entry_id", m->id.b);
    NOTE("issue_blind", scalar);
    NOTE("issue_proof_nonce", nonce.b);
    assert_int_equal(fre_oprf_blind_decode(&blind, (fre_bytes){scalar, 32}), FRE_OK);
    assert_int_equal(
        fre_oprf_blind_input_with(&blinded, (fre_bytes){m->id.b, sizeof m->id.b}, &blind), FRE_OK);
    assert_int_equal(
        fre_issue_request_encode(b, &s->w, (fre_bytes){(const uint8_t *)"ticket", 6}, &blinded),
        FRE_OK);
    note_buf("issue_request", b);
    assert_int_equal(fre_oprf_evaluate_elements(&evaluated, &s->issuer_oprf, &blinded, 1), FRE_OK);
    assert_int_equal(fre_oprf_prove_with(&proof, &s->issuer_oprf, &blinded, &evaluated, 1, &nonce),
                     FRE_OK);
    assert_int_equal(fre_issue_response_encode(b, &s->w, &evaluated, &proof), FRE_OK);
    note_buf("issue_response", b);
    assert_int_equal(fre_oprf_evaluate(&key, &s->issuer_oprf, (fre_bytes){m->id.b, sizeof m->id.b}),
                     FRE_OK);
    NOTE("place_key", key.b);
    fre_vouching_make(&m->proof, &s->w, &key, &m->tag);
    NOTE("entry_proof", m->proof.b);
}

static void make_carried(const sample *s, fre_buf *b)
{
    fre_carry carry = {.what = FRE_WIRE_TAG_REQUEST};
    fre_admitted admitted;
    fre_buf bytes;

    fre_buf_init(&bytes, SAMPLE_MAX);
    sample_fill(carry.token.b, sizeof carry.token.b, 0xa0);
    NOTE("token", carry.token.b);
    noted("tag_request_sealed", &bytes);
    carry.bytes = sample_view(&bytes);
    assert_int_equal(fre_carry_encode(b, &s->w, &carry), FRE_OK);
    note_buf("carry", b);
    bytes.n = 0;
    noted("tag_response_sealed", &bytes); /* answers have one size */
    admitted = (fre_admitted){.token = carry.token, .answer = sample_view(&bytes)};
    assert_int_equal(fre_admitted_encode(b, &s->w, &admitted), FRE_OK);
    note_buf("admitted", b);
    fre_buf_wipe(&bytes);
}

static void make_entry(const sample *s, fre_entry *m, const fre_place *place, fre_buf *packed,
                       fre_buf *b)
{
    const fre_hpke_sk seed_key = secret(0x63), entry_key = secret(0x64);
    fre_share_seed seed;
    fre_entry answer;

    sample_fill(seed.b, sizeof seed.b, 0x63); /* share_seed */
    noted("share_packed", packed);
    m->packed = sample_view(packed);
    NOTE("entry_seed_ephemeral_sk", seed_key.b);
    NOTE("entry_ephemeral_sk", entry_key.b);
    assert_int_equal(
        fre_entry_seed_seal_with(&m->seed, &s->w, &m->tag, &m->id, &seed, place, &seed_key),
        FRE_OK);
    NOTE("sealed_entry_seed", m->seed.b);
    assert_int_equal(fre_entry_seal_with(b, &s->w, FRE_WIRE_ENTRY, m, &entry_key), FRE_OK);
    note_buf("entry", b);
    answer = *m;
    fre_answer_name(&answer.id, &s->w, &m->id, &m->proof);
    NOTE("answer_name", answer.id.b);
    assert_int_equal(fre_entry_seal_with(b, &s->w, FRE_WIRE_ANSWER, &answer, &entry_key), FRE_OK);
    note_buf("answer", b);
}

/* The same place under the same terms with one contact. */
static void make_entry_of_one(const sample *s, const fre_entry *of, const fre_place *place,
                              fre_buf *b)
{
    const fre_hpke_sk seed_key = secret(0x65), entry_key = secret(0x66);
    fre_collection c = s->w.c;
    fre_oprf_output key;
    fre_share_seed seed;
    fre_entry m = *of;
    fre_wire w;

    c.one_contact = true;
    c.dropout = 0;
    c.shares_close = c.tags_close;
    assert_int_equal(fre_wire_init(&w, &c, NULL), FRE_OK);
    assert_int_equal(fre_wire_set_share_bits(&w, s->w.share_bits), FRE_OK);
    NOTE("one_collection_id", w.id.b);
    fre_place_id(&m.id, &w, place);
    NOTE("one_entry_id", m.id.b);
    assert_int_equal(fre_oprf_evaluate(&key, &s->issuer_oprf, (fre_bytes){m.id.b, sizeof m.id.b}),
                     FRE_OK);
    NOTE("one_place_key", key.b);
    fre_vouching_make(&m.proof, &w, &key, &m.tag);
    NOTE("one_entry_proof", m.proof.b);
    sample_fill(seed.b, sizeof seed.b, 0x63); /* share_seed */
    assert_int_equal(
        fre_entry_seed_seal_with(&m.seed, &w, &m.tag, &m.id, &seed, place, &seed_key), FRE_OK);
    NOTE("one_entry_seed_ephemeral_sk", seed_key.b);
    NOTE("one_entry_ephemeral_sk", entry_key.b);
    NOTE("one_sealed_entry_seed", m.seed.b);
    assert_int_equal(fre_entry_seal_with(b, &w, FRE_WIRE_ENTRY, &m, &entry_key), FRE_OK);
    note_buf("one_entry", b);
}

static void make_batches(const sample *s, fre_buf *b)
{
    fre_batch m = {.part = {0, 1}, .n = 1};
    fre_buf entry, closed;

    fre_buf_init(&entry, SAMPLE_MAX);
    fre_buf_init(&closed, SAMPLE_MAX);
    noted("entry", &entry);
    noted("closed", &closed);
    m.sealed = (fre_bytes){entry.p + FRE_WIRE_HEAD_BYTES, entry.n - FRE_WIRE_HEAD_BYTES};
    assert_int_equal(fre_batch_encode(b, &s->w, FRE_WIRE_COLLECTED, &m, &s->relay_sk), FRE_OK);
    note_buf("collected", b);
    m.closed = sample_view(&closed);
    assert_int_equal(fre_batch_encode(b, &s->w, FRE_WIRE_MIXED, &m, &s->tag_sk), FRE_OK);
    note_buf("mixed", b);
    m.closed.n = entry.n = 0;
    noted("answer", &entry);
    m.sealed = (fre_bytes){entry.p + FRE_WIRE_HEAD_BYTES, entry.n - FRE_WIRE_HEAD_BYTES};
    assert_int_equal(fre_batch_encode(b, &s->w, FRE_WIRE_GATHERED, &m, &s->relay_sk), FRE_OK);
    note_buf("gathered", b);
    fre_buf_wipe(&entry);
    fre_buf_wipe(&closed);
}

static void make_listed(const sample *s, fre_buf *b)
{
    fre_buf list;

    fre_buf_init(&list, SAMPLE_MAX);
    noted("list", &list);
    assert_int_equal(fre_listed_encode(b, &s->w, sample_view(&list), &s->issuer_sk), FRE_OK);
    note_buf("listed", b);
    fre_buf_wipe(&list);
}

static void make_members(const sample *s, const fre_entry *e, fre_buf *b)
{
    const fre_part part = {0, 1};
    const fre_vouch_member member = {.id = e->id, .proof = e->proof};
    const fre_vouch_set asked = {.tag = e->tag, .n = 1, .member = &member};
    const fre_vouched_set kept = {.tag = e->tag, .n = 1, .id = &e->id};
    fre_unseal unseal = {.part = part, .n = 1, .seed = &e->seed};
    fre_summed_set sum = {.tag = e->tag, .n = 1, .id = &e->id};
    fre_mark mark = {.kind = FRE_MARK_SUM};
    fre_buf vouched, packed;

    fre_buf_init(&vouched, SAMPLE_MAX);
    fre_buf_init(&packed, SAMPLE_MAX);
    assert_int_equal(fre_vouch_encode(b, &s->w, part, &asked, 1, &s->syn_sk), FRE_OK);
    note_buf("vouch", b);
    assert_int_equal(fre_vouched_encode(b, &s->w, part, &kept, 1, &s->issuer_sk), FRE_OK);
    note_buf("vouched", b);
    noted("vouched", &vouched);
    unseal.vouched = sample_view(&vouched);
    assert_int_equal(fre_unseal_encode(b, &s->w, &unseal, &s->syn_sk), FRE_OK);
    note_buf("unseal", b);
    noted("seed_expanded", &packed);
    sum.packed = sample_view(&packed);
    assert_int_equal(fre_summed_encode(b, &s->w, part, &sum, 1, &s->tag_sk), FRE_OK);
    note_buf("summed", b);
    sample_fill(mark.hash, sizeof mark.hash, 0xb0);
    assert_int_equal(fre_mark_encode(b, &s->w, FRE_WIRE_MARK, &mark, &s->tag_sk), FRE_OK);
    note_buf("mark", b);
    assert_int_equal(fre_mark_encode(b, &s->w, FRE_WIRE_MARKED, &mark, &s->relay_sk), FRE_OK);
    note_buf("marked", b);
    fre_buf_wipe(&vouched);
    fre_buf_wipe(&packed);
}

static void make_entries(const sample *s, const fre_tag *tag, fre_buf *b)
{
    fre_entry m = {.tag = *tag};
    fre_place place = {.cell = 0};
    fre_buf packed;

    fre_buf_init(&packed, SAMPLE_MAX);
    make_place(s, &m, &place, b);
    make_carried(s, b);
    make_entry(s, &m, &place, &packed, b);
    make_listed(s, b);
    make_batches(s, b);
    make_members(s, &m, b);
    make_entry_of_one(s, &m, &place, b);
    fre_buf_wipe(&packed);
}

static void make_masks(const sample *s, fre_buf *b)
{
    fre_mask m = {.key = FRE_MASK_TAG_OPRF, .by = FRE_ROLE_TAG};
    uint8_t masked[sizeof s->oprf.b];
    fre_sha256 h;

    sample_fill(m.b, sizeof m.b, 0x10);
    for (size_t i = 0; i < sizeof masked; i++)
        masked[i] = s->oprf.b[i] ^ m.b[i];
    NOTE("masked_oprf_sk", masked);
    assert_int_equal(fre_mask_encode(b, &s->w, FRE_WIRE_MASK_PUT, &m, &s->tag_sk), FRE_OK);
    note_buf("mask_put", b);
    fre_sha256_begin(&h, (fre_bytes){m.b, sizeof m.b});
    fre_sha256_end(m.b, &h);
    sample_fill(m.b + FRE_HASH_BYTES, FRE_HASH_BYTES, 0x50);
    assert_int_equal(fre_mask_encode(b, &s->w, FRE_WIRE_MASK_GET, &m, &s->tag_sk), FRE_OK);
    note_buf("mask_get", b);
    memset(m.b + FRE_HASH_BYTES, 0, FRE_HASH_BYTES);
    assert_int_equal(fre_mask_encode(b, &s->w, FRE_WIRE_MASK_WIPE, &m, &s->tag_sk), FRE_OK);
    note_buf("mask_wipe", b);
}

/* Ten ids under a seed, each with its third. */
static void make_split(const sample *s)
{
    fre_report_id id[10];
    fre_split_seed seed;
    uint8_t third[10];

    for (uint32_t i = 0; i < 10; i++)
        sample_fill(id[i].b, sizeof id[i].b, (uint8_t)(17 * i));
    sample_fill(seed.b, sizeof seed.b, 0x70);
    assert_int_equal(fre_split_ids(third, &s->w, &seed, id, 10), FRE_OK);
    NOTE("split_seed", seed.b);
    note("split_ids", (fre_bytes){(const uint8_t *)id, sizeof id});
    NOTE("split_thirds", third);
}

static int make_all(void **state)
{
    sample s;
    fre_buf b;
    fre_tag tag;
    const char *path = getenv("FRE_WIRE_VECTORS");

    (void)state;
    made = json_object();
    assert_non_null(made);
    fre_buf_init(&b, SAMPLE_MAX);
    make_collection(&s, &b);
    tag = make_tag(&s, &b);
    make_list(&s, &tag, &b);
    make_shares(&s);
    make_end(&s, &b);
    make_entries(&s, &tag, &b);
    make_public_collection(&s, &b);
    make_split(&s);
    make_masks(&s, &b);
    fre_buf_wipe(&b);
    if (path)
        assert_int_equal(json_dump_file(made, path, JSON_INDENT(1)), 0);
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    json_decref(made);
    return 0;
}

static void code_makes_the_vectors(void **state)
{
    json_error_t where;
    json_t *stored = json_load_file(VECTORS, 0, &where);
    const char *name;
    json_t *value;

    (void)state;
    assert_non_null(stored);
    json_object_foreach(made, name, value)
    {
        const json_t *is = json_object_get(stored, name);

        if (!is || strcmp(json_string_value(is), json_string_value(value)) != 0)
            fail_msg("%s is %s", name, json_string_value(value));
    }
    assert_int_equal(json_object_size(stored), json_object_size(made));
    json_decref(stored);
}

/* The document without any white space holds name=hex for each. */
static void document_quotes_the_vectors(void **state)
{
    char *text = malloc(FILE_MAX + 1);
    FILE *f = fopen(DOCUMENT, "rb");
    size_t n, to = 0;
    const char *name;
    json_t *value;

    (void)state;
    assert_non_null(f);
    assert_non_null(text);
    n = fread(text, 1, FILE_MAX, f);
    (void)fclose(f);
    for (size_t i = 0; i < n; i++) {
        if (text[i] != ' ' && text[i] != '\n')
            text[to++] = text[i];
    }
    text[to] = '\0';
    json_object_foreach(made, name, value)
    {
        char *line = malloc(strlen(name) + strlen(json_string_value(value)) + 2);

        assert_non_null(line);
        (void)sprintf(line, "%s=%s", name, json_string_value(value));
        if (!strstr(text, line))
            fail_msg("docs/wire.md does not say %s", line);
        free(line);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_makes_the_vectors),
        cmocka_unit_test(document_quotes_the_vectors),
    };

    return cmocka_run_group_tests(tests, make_all, forget_all);
}
