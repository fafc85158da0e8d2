/* Every message: there and back, each byte missing, added or changed, with the signature that it
 * had and with a fresh one, and the rules that only a signer can break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_sample.h"

#include <math.h>

#include <cmocka.h>

/* On the heap, exactly as long, so that a sanitizer sees a read past the end. */
static fre_status recode_copy(const sample *s, fre_wire_type type, fre_bytes in, fre_buf *out)
{
    uint8_t *copy = malloc(in.n > 0 ? in.n : 1);
    fre_err err = {.text = ""};
    fre_status st;

    assert_non_null(copy);
    if (in.n > 0)
        memcpy(copy, in.p, in.n);
    st = sample_recoders[type](s, (fre_bytes){in.n > 0 ? copy : NULL, in.n}, out, &err);
    free(copy);
    if (st != FRE_OK) {
        assert_int_equal(out->n, 0);
        assert_true(st == FRE_E_DATA || st == FRE_E_REFUSED || st == FRE_E_KEY);
        assert_true(err.text[0] != '\0');
    }
    return st;
}

static void must_refuse(const sample *s, fre_wire_type type, fre_bytes in)
{
    fre_buf out;

    fre_buf_init(&out, SAMPLE_MAX);
    assert_int_not_equal(recode_copy(s, type, in, &out), FRE_OK);
    fre_buf_wipe(&out);
}

/* Refused, or read as exactly these bytes. */
static bool refuse_or_repeat(const sample *s, fre_wire_type type, fre_bytes in)
{
    fre_buf out;
    bool ok;

    fre_buf_init(&out, SAMPLE_MAX);
    ok = recode_copy(s, type, in, &out) == FRE_OK;
    if (ok) {
        assert_int_equal(out.n, in.n);
        assert_memory_equal(out.p, in.p, in.n);
    }
    fre_buf_wipe(&out);
    return ok;
}

static void change_bytes(const sample *s, fre_wire_type type, fre_buf *m)
{
    for (size_t i = 0; i < m->n; i++) {
        uint8_t was = m->p[i];

        m->p[i] = (uint8_t)(was ^ (1u << (i % 8)));
        if (sample_is_signed(type) || i < 2)
            must_refuse(s, type, sample_view(m));
        else
            (void)refuse_or_repeat(s, type, sample_view(m));
        m->p[i] = was;
    }
}

/* Bodies that the right key has signed. */
static void change_body(const sample *s, fre_wire_type type, fre_bytes body)
{
    uint8_t *copy = malloc(body.n + 1);
    fre_buf m;
    size_t accepted = 0;

    assert_non_null(copy);
    fre_buf_init(&m, SAMPLE_MAX);
    for (size_t n = 0; n <= body.n + 1; n++) {
        memcpy(copy, body.p, body.n);
        copy[body.n] = 0;
        sample_sign(s, type, (fre_bytes){copy, n}, &m);
        if (n != body.n)
            must_refuse(s, type, sample_view(&m));
        else
            assert_true(refuse_or_repeat(s, type, sample_view(&m)));
        fre_buf_wipe(&m);
        if (n == 200 && body.n > 400)
            n = body.n - 200; /* the middle of long ones is like the rest */
    }
    for (size_t i = 0; i < body.n && i < 400; i++) {
        memcpy(copy, body.p, body.n);
        copy[i] ^= (uint8_t)(1u << (i % 8));
        sample_sign(s, type, (fre_bytes){copy, body.n}, &m);
        accepted += refuse_or_repeat(s, type, sample_view(&m));
        fre_buf_wipe(&m);
    }
    assert_true(accepted > 0 || type == FRE_WIRE_LISTED);
    /* tags and times may be any, but in a message that is signed inside */
    free(copy);
}

static bool has_id(unsigned t)
{
    return t < FRE_WIRE_REJECTION || t > FRE_WIRE_COLLECTION;
}

static void messages_are_exact(void **state)
{
    sample s;

    (void)state;
    sample_init(&s);
    for (unsigned t = 1; t < SAMPLE_TYPES; t++) {
        fre_wire_type type = (fre_wire_type)t, found;
        fre_collection_id id;
        fre_buf m;

        if (!sample_recoders[t])
            continue;
        fre_buf_init(&m, SAMPLE_MAX);
        sample_message(&s, type, &m);
        assert_true(refuse_or_repeat(&s, type, sample_view(&m)));
        assert_int_equal(fre_wire_peek(&found, &id, sample_view(&m)), FRE_OK);
        assert_int_equal(found, type);
        if (has_id(t))
            assert_memory_equal(id.b, s.w.id.b, sizeof id.b);
        for (size_t n = 0; n < m.n; n++)
            must_refuse(&s, type, (fre_bytes){m.p, n});
        assert_int_equal(fre_buf_append(&m, "", 1), FRE_OK);
        must_refuse(&s, type, sample_view(&m));
        m.n--;
        change_bytes(&s, type, &m);
        if (sample_is_signed(type))
            change_body(&s, type,
                        (fre_bytes){m.p + FRE_WIRE_HEAD_BYTES,
                                    m.n - FRE_WIRE_HEAD_BYTES - FRE_WIRE_SIGNATURE_BYTES});
        /* Nobody else's message is taken for this one. */
        for (unsigned u = 1; u < SAMPLE_TYPES; u++) {
            if (u != t && sample_recoders[u])
                must_refuse(&s, (fre_wire_type)u, sample_view(&m));
        }
        fre_buf_wipe(&m);
    }
}

static void other_collections_and_keys(void **state)
{
    sample s, other;
    fre_collection c;

    (void)state;
    sample_init(&s);
    c = sample_collection(&other);
    c.end++;
    sample_init_from(&other, &c);
    for (unsigned t = 1; t < SAMPLE_TYPES; t++) {
        fre_buf m, out;
        fre_wire_type type = (fre_wire_type)t;

        if (!sample_recoders[t] || !has_id(t))
            continue;
        fre_buf_init(&m, SAMPLE_MAX);
        fre_buf_init(&out, SAMPLE_MAX);
        sample_message(&other, type, &m);
        assert_int_equal(recode_copy(&s, type, sample_view(&m), &out), FRE_E_KEY);
        /* With the id put right the signature is that of another statement. */
        memcpy(m.p + 2, s.w.id.b, sizeof s.w.id.b);
        if (sample_is_signed(type))
            assert_int_equal(recode_copy(&s, type, sample_view(&m), &out), FRE_E_REFUSED);
        fre_buf_wipe(&m);
        fre_buf_wipe(&out);
    }
}

/* A key signs only what its role may say. */
static void roles_are_kept_apart(void **state)
{
    sample s, mixed;

    (void)state;
    sample_init(&s);
    for (unsigned t = 1; t < SAMPLE_TYPES; t++) {
        fre_wire_type type = (fre_wire_type)t;
        fre_buf m, out;

        if (!sample_is_signed(type) || type == FRE_WIRE_UNSEAL || type == FRE_WIRE_MIXED ||
            type == FRE_WIRE_LISTED)
            continue; /* the last three hold signed messages, which would not be made */
        mixed = s;
        mixed.tag_sk = s.syn_sk;
        mixed.syn_sk = s.relay_sk;
        mixed.relay_sk = s.issuer_sk;
        mixed.issuer_sk = s.tag_sk;
        fre_buf_init(&m, SAMPLE_MAX);
        fre_buf_init(&out, SAMPLE_MAX);
        sample_message(&mixed, type, &m);
        assert_int_equal(recode_copy(&s, type, sample_view(&m), &out), FRE_E_REFUSED);
        fre_buf_wipe(&m);
        fre_buf_wipe(&out);
    }
}

static void cancels_by_every_role(void **state)
{
    sample s;
    const fre_sign_sk *sk[5];

    (void)state;
    sample_init(&s);
    sk[FRE_ROLE_TAG] = &s.tag_sk;
    sk[FRE_ROLE_SYN] = &s.syn_sk;
    sk[FRE_ROLE_RELAY] = &s.relay_sk;
    sk[FRE_ROLE_ISSUER] = &s.issuer_sk;
    for (unsigned by = 1; by <= 4; by++) {
        for (unsigned signer = 1; signer <= 4; signer++) {
            const fre_cancel m = {
                .by = (fre_role)by, .reason = FRE_CANCEL_KEY_LOST, .time = 1900000001};
            fre_cancel back;
            fre_buf b;

            fre_buf_init(&b, SAMPLE_MAX);
            assert_int_equal(fre_cancel_encode(&b, &s.w, &m, sk[signer]), FRE_OK);
            assert_int_equal(fre_cancel_decode(&back, &s.w, sample_view(&b), NULL),
                             by == signer ? FRE_OK : FRE_E_REFUSED);
            fre_buf_wipe(&b);
        }
    }
}

/* ---- random messages --------------------------------------------------------------------------- */

static fre_part some_part(fre_rng *r)
{
    static const uint32_t counts[] = {1, 2, 127, 128, 129, 255, 256, 257, 65535, 65536};
    uint32_t n = counts[fre_rng_below(r, sizeof counts / sizeof counts[0])];

    return (fre_part){.index = (uint32_t)fre_rng_below(r, n), .count = n};
}

/* Numbers around the ends of bytes, and any other. */
static uint32_t some_number(fre_rng *r, uint32_t least, uint32_t most)
{
    static const uint32_t edges[] = {127,   128,   255,   256,        257,
                                     65535, 65536, 65537, UINT32_MAX, UINT32_MAX - 1};
    uint32_t v = edges[fre_rng_below(r, sizeof edges / sizeof edges[0])];

    if (v < least || v > most)
        v = least + (uint32_t)fre_rng_below(r, (uint64_t)most - least + 1);
    return v;
}

static void random_numbers(const sample *s, fre_rng *r)
{
    uint32_t tau = (uint32_t)s->w.c.tau, users = (uint32_t)s->w.c.users;
    const fre_closed closed = {.time = some_number(r, 1, UINT32_MAX),
                               .evaluations = some_number(r, 0, users)};
    const fre_list_entry entry = {.count = some_number(r, tau, users)};
    static float x[384];
    fre_release_cell cell = {.count = some_number(r, tau, users), .centroid = x}, cell_back;
    fre_release_part release = {
        .part = some_part(r), .time = some_number(r, 1, UINT32_MAX), .n = 1};
    fre_release_part release_back;
    fre_closed closed_back;
    fre_list list;
    float y[384];
    fre_buf b;

    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_closed_encode(&b, &s->w, &closed, &s->tag_sk), FRE_OK);
    assert_int_equal(fre_closed_decode(&closed_back, &s->w, sample_view(&b), NULL), FRE_OK);
    assert_true(closed.time == closed_back.time && closed.evaluations == closed_back.evaluations);
    b.n = 0;
    assert_int_equal(fre_list_encode(&b, &s->w, &entry, 1, &s->syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&list, &s->w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_list_at(&list, 0).count, entry.count);
    b.n = 0;
    for (unsigned i = 0; i < 384; i++)
        x[i] = (float)(int32_t)fre_rng_u32(r) * 0x1p-31f;
    assert_int_equal(fre_release_part_encode(&b, &s->w, &release, &cell, &s->syn_sk), FRE_OK);
    assert_int_equal(fre_release_part_decode(&release_back, &s->w, sample_view(&b), NULL), FRE_OK);
    assert_true(release_back.time == release.time && release_back.n == 1);
    assert_true(release_back.part.index == release.part.index);
    fre_release_part_at(&cell_back, y, &release_back, 0);
    assert_true(cell_back.count == cell.count);
    assert_memory_equal(cell_back.centroid, x, sizeof x);
    fre_buf_wipe(&b);
}

static void random_messages_come_back(void **state)
{
    const uint8_t seed[32] = {3};
    sample s;
    fre_collection c = sample_collection(&s);
    fre_rng r;

    (void)state;
    c.users = UINT32_MAX;
    sample_init_from(&s, &c);
    assert_int_equal(fre_rng_init_seeded(&r, seed, "test/wire"), FRE_OK);
    for (int i = 0; i < 200; i++) {
        random_numbers(&s, &r);
    }
    fre_rng_wipe(&r);
}

/* ---- rules ------------------------------------------------------------------------------------- */

static fre_list_entry entry(uint8_t tag, uint32_t count)
{
    fre_list_entry e = {.count = count};

    memset(e.tag.b, tag, sizeof e.tag.b);
    return e;
}

/* A list with these entries, signed: by the encoder where it takes them, by hand where not. */
static void check_list(const sample *s, const fre_list_entry *e, uint32_t n, bool fine)
{
    uint8_t body[4 + 36 * 4];
    fre_buf made, signed_list;
    fre_list l;

    body[0] = body[1] = body[2] = 0;
    body[3] = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(body + 4 + 36 * i, e[i].tag.b, 32);
        for (unsigned j = 0; j < 4; j++)
            body[4 + 36 * i + 32 + j] = (uint8_t)(e[i].count >> (24 - 8 * j));
    }
    fre_buf_init(&made, SAMPLE_MAX);
    fre_buf_init(&signed_list, SAMPLE_MAX);
    sample_sign(s, FRE_WIRE_LIST, (fre_bytes){body, 4 + 36 * n}, &signed_list);
    assert_int_equal(fre_list_encode(&made, &s->w, e, n, &s->syn_sk), fine ? FRE_OK : FRE_E_ARG);
    assert_int_equal(fre_list_decode(&l, &s->w, sample_view(&signed_list), NULL),
                     fine ? FRE_OK : FRE_E_DATA);
    if (fine) {
        assert_int_equal(made.n, signed_list.n);
        assert_memory_equal(made.p, signed_list.p, made.n);
    } else {
        assert_int_equal(made.n, 0);
    }
    fre_buf_wipe(&made);
    fre_buf_wipe(&signed_list);
}

static void lists_keep_their_rules(void **state)
{
    sample s;
    uint32_t tau;

    (void)state;
    sample_init(&s);
    tau = (uint32_t)s.w.c.tau;
    check_list(&s, NULL, 0, true);
    check_list(&s, (fre_list_entry[]){entry(1, tau), entry(2, tau)}, 2, true);
    check_list(&s, (fre_list_entry[]){entry(1, tau - 1)}, 1, false);
    check_list(&s, (fre_list_entry[]){entry(1, tau), entry(2, tau - 1)}, 2, false);
    check_list(&s, (fre_list_entry[]){entry(2, tau), entry(1, tau)}, 2, false);
    check_list(&s, (fre_list_entry[]){entry(1, tau), entry(1, tau)}, 2, false);
    /* All counts together cannot pass the number of reports. */
    check_list(&s, (fre_list_entry[]){entry(1, 100000)}, 1, true);
    check_list(&s, (fre_list_entry[]){entry(1, 100001)}, 1, false);
    check_list(&s, (fre_list_entry[]){entry(1, 50000), entry(2, 50000)}, 2, true);
    check_list(&s, (fre_list_entry[]){entry(1, 50000), entry(2, 50001)}, 2, false);
    check_list(&s, (fre_list_entry[]){entry(1, UINT32_MAX), entry(2, UINT32_MAX)}, 2, false);
}

static void lists_are_searched(void **state)
{
    enum { N = 300 };
    static fre_list_entry e[N];
    sample s;
    fre_buf b;
    fre_list l;

    (void)state;
    sample_init(&s);
    for (unsigned i = 0; i < N; i++) {
        e[i] = entry(0, 82 + i % 7);
        e[i].tag.b[0] = (uint8_t)(i / 2);
        e[i].tag.b[31] = (uint8_t)(i % 2);
    }
    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(&b, &s.w, e, N, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &s.w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_list_largest(&l), 88);
    for (unsigned i = 0; i < N; i++) {
        fre_tag absent = e[i].tag;
        uint32_t count = 7;

        assert_true(fre_list_find(&l, &e[i].tag, &count));
        assert_int_equal(count, e[i].count);
        assert_int_equal(fre_list_scan(&l, &e[i].tag), e[i].count);
        absent.b[15] = 1;
        assert_false(fre_list_find(&l, &absent, &count));
        assert_int_equal(count, e[i].count);
        assert_int_equal(fre_list_scan(&l, &absent), 0);
    }
    fre_buf_wipe(&b);
    assert_int_equal(fre_list_encode(&b, &s.w, NULL, 0, &s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &s.w, sample_view(&b), NULL), FRE_OK);
    assert_int_equal(fre_list_largest(&l), 0);
    assert_int_equal(fre_list_scan(&l, &e[0].tag), 0);
    fre_buf_wipe(&b);
}

static void encoders_refuse(void **state)
{
    sample s;
    fre_buf b;
    fre_tag tag[2];
    fre_report_id id[2];
    fre_vouched_set set[2];
    float x[384] = {0};
    fre_release_cell cell = {.count = 82, .centroid = x};
    fre_release_part r = {.part = {0, 1}, .time = 1, .n = 1};

    (void)state;
    sample_init(&s);
    fre_buf_init(&b, SAMPLE_MAX);
    assert_int_equal(fre_buf_append(&b, "before", 6), FRE_OK);
    sample_tags(tag, 2);
    memset(id, 0, sizeof id);
    set[0] = (fre_vouched_set){.tag = tag[0], .n = 2, .id = id};
    set[1] = (fre_vouched_set){.tag = tag[0], .n = 1, .id = id};
#define IDS(part, n) fre_vouched_encode(&b, &s.w, part, set, n, &s.issuer_sk)
    assert_int_equal(IDS(((fre_part){0, 1}), 1), FRE_E_ARG); /* one id twice */
    id[1].b[15] = 1;
    assert_int_equal(IDS(((fre_part){0, 1}), 2), FRE_E_ARG); /* one tag twice */
    set[1].tag = tag[1];
    assert_int_equal(IDS(((fre_part){1, 1}), 2), FRE_E_ARG);
    assert_int_equal(IDS(((fre_part){0, FRE_WIRE_PARTS_MAX + 1}), 2), FRE_E_ARG);
    set[1].n = 0;
    assert_int_equal(IDS(((fre_part){0, 1}), 2), FRE_E_ARG);
#undef IDS
    cell.count = 81; /* below tau */
    assert_int_equal(fre_release_part_encode(&b, &s.w, &r, &cell, &s.syn_sk), FRE_E_ARG);
    cell.count = 82;
    x[383] = NAN;
    assert_int_equal(fre_release_part_encode(&b, &s.w, &r, &cell, &s.syn_sk), FRE_E_ARG);
    x[383] = INFINITY;
    assert_int_equal(fre_release_part_encode(&b, &s.w, &r, &cell, &s.syn_sk), FRE_E_ARG);
    assert_int_equal(fre_release_part_encode(&b, &s.w, &r, &cell, NULL), FRE_E_ARG);
    assert_int_equal(fre_rejection_encode(&b, (fre_rejection)0), FRE_E_ARG);
    assert_int_equal(fre_rejection_encode(&b, (fre_rejection)FRE_REJECTIONS), FRE_E_ARG);
    assert_int_equal(b.n, 6);
    assert_memory_equal(b.p, "before", 6);
    fre_buf_wipe(&b);
    /* A buffer too small is left as it was. */
    fre_buf_init(&b, 100);
    assert_int_equal(fre_closed_encode(&b, &s.w, &(fre_closed){.time = 1}, &s.tag_sk), FRE_E_LIMIT);
    assert_int_equal(b.n, 0);
    fre_buf_wipe(&b);
}

static void shares_need_their_size(void **state)
{
    sample s;
    fre_buf b, m;
    fre_tag_sets sums;

    (void)state;
    sample_init(&s);
    fre_buf_init(&b, SAMPLE_MAX);
    fre_buf_init(&m, SAMPLE_MAX);
    sample_message(&s, FRE_WIRE_SUMMED, &m);
    s.w.share_bits = 0;
    assert_int_equal(fre_wire_share_bytes(&s.w), 0);
    assert_int_equal(fre_entry_sealed_bytes(&s.w, FRE_WIRE_ANSWER), 0);
    assert_int_equal(fre_summed_decode(&sums, &s.w, sample_view(&m), NULL), FRE_E_STATE);
    assert_int_equal(fre_summed_encode(&b, &s.w, (fre_part){0, 1}, NULL, 0, &s.tag_sk),
                     FRE_E_STATE);
    assert_int_equal(fre_wire_set_share_bits(&s.w, 7), FRE_E_ARG);
    assert_int_equal(fre_wire_set_share_bits(&s.w, 33), FRE_E_ARG);
    assert_int_equal(fre_wire_set_share_bits(&s.w, 16), FRE_OK);
    assert_int_equal(fre_summed_decode(&sums, &s.w, sample_view(&m), NULL), FRE_E_DATA);
    fre_buf_wipe(&b);
    fre_buf_wipe(&m);
}

/* With splits a tag's sums are one share, or seed and three; without, one. */
static void sums_are_one_or_three(void **state)
{
    sample s;
    fre_buf b;
    fre_tag_sets sums;
    uint8_t packed[16 + 4 * 4 * 384] = {0};
    fre_report_id id = {{1}};
    fre_summed_set set = {.n = 1, .id = &id, .packed = {packed, 0}};

    (void)state;
    sample_init(&s);
    fre_buf_init(&b, SAMPLE_MAX);
    for (unsigned splits = 0; splits < 2; splits++) {
        s.w.c.splits = splits == 1;
        assert_int_equal(fre_wire_sums_bytes(&s.w, 1), fre_wire_share_bytes(&s.w));
        assert_int_equal(fre_wire_sums_bytes(&s.w, 3), 16 + 3 * fre_wire_share_bytes(&s.w));
        for (size_t n = 0; n <= 16 + 3 * fre_wire_share_bytes(&s.w) + 1; n++) {
            const bool is = n == 0 || n == fre_wire_share_bytes(&s.w) ||
                            (splits == 1 && n == 16 + 3 * fre_wire_share_bytes(&s.w));

            set.packed.n = n;
            assert_int_equal(fre_summed_encode(&b, &s.w, (fre_part){0, 1}, &set, 1, &s.tag_sk),
                             is ? FRE_OK : FRE_E_ARG);
            if (is && n > 0) { /* what one kind of terms allows is read under it alone */
                assert_int_equal(fre_summed_decode(&sums, &s.w, sample_view(&b), NULL), FRE_OK);
                s.w.c.splits = false;
                assert_int_equal(fre_summed_decode(&sums, &s.w, sample_view(&b), NULL),
                                 n == fre_wire_share_bytes(&s.w) ? FRE_OK : FRE_E_DATA);
                s.w.c.splits = splits == 1;
            }
            fre_buf_wipe(&b);
        }
    }
}

/* Each third has its number whatever the ids; another seed is another cut. */
static void ids_are_cut_in_thirds(void **state)
{
    static fre_report_id id[200];
    const fre_split_seed seed[2] = {{{1}}, {{2}}};
    uint8_t third[200], other[200];
    sample s;

    (void)state;
    sample_init(&s);
    for (size_t i = 0; i < 200; i++)
        id[i].b[i % 16] = (uint8_t)(1 + i);
    for (size_t n = 0; n <= 200; n++) {
        size_t in[3] = {0}, same = 0;

        assert_int_equal(fre_split_ids(third, &s.w, &seed[0], id, n), FRE_OK);
        assert_int_equal(fre_split_ids(other, &s.w, &seed[1], id, n), FRE_OK);
        for (size_t i = 0; i < n; i++) {
            assert_true(third[i] < 3);
            in[third[i]]++;
            same += third[i] == other[i];
        }
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(in[k], n / 3 + (k < n % 3));
        assert_true(n < 100 || (same > n / 6 && same < n / 2));
    }
    assert_int_equal(fre_split_ids(NULL, &s.w, &seed[0], id, 1), FRE_E_ARG);
    assert_int_equal(fre_split_ids(third, NULL, &seed[0], id, 1), FRE_E_ARG);
}

static void peeks(void **state)
{
    uint8_t b[FRE_WIRE_HEAD_BYTES] = {FRE_WIRE_VERSION, FRE_WIRE_ENTRY};
    fre_wire_type type = FRE_WIRE_LIST;
    fre_collection_id id;

    (void)state;
    memset(&id, 0xa5, sizeof id);
    assert_int_equal(fre_wire_peek(&type, &id, (fre_bytes){b, sizeof b - 1}), FRE_E_DATA);
    assert_int_equal(fre_wire_peek(&type, &id, (fre_bytes){b, FRE_WIRE_MESSAGE_MAX + 1}),
                     FRE_E_LIMIT);
    for (unsigned version = 0; version < 256; version++) {
        b[0] = (uint8_t)version;
        assert_int_equal(fre_wire_peek(&type, &id, (fre_bytes){b, sizeof b}),
                         version == FRE_WIRE_VERSION ? FRE_OK : FRE_E_DATA);
    }
    b[0] = FRE_WIRE_VERSION;
    for (unsigned t = 0; t < 256; t++) {
        const bool is =
            t < SAMPLE_TYPES && (sample_recoders[t] || t == FRE_WIRE_ENTRY || t == FRE_WIRE_ANSWER);

        b[1] = (uint8_t)t;
        assert_int_equal(fre_wire_peek(&type, &id, (fre_bytes){b, sizeof b}),
                         is ? FRE_OK : FRE_E_DATA);
    }
}

static void rejections_have_names(void **state)
{
    (void)state;
    for (unsigned i = 1; i < FRE_REJECTIONS; i++) {
        assert_string_not_equal(fre_rejection_text((fre_rejection)i), "unknown");
        for (unsigned j = 1; j < i; j++)
            assert_string_not_equal(fre_rejection_text((fre_rejection)i),
                                    fre_rejection_text((fre_rejection)j));
    }
    assert_string_equal(fre_rejection_text((fre_rejection)FRE_REJECTIONS), "unknown");
    assert_int_equal(fre_rejection_of(FRE_E_DATA), FRE_REJECTED_MALFORMED);
    assert_int_equal(fre_rejection_of(FRE_E_KEY), FRE_REJECTED_COLLECTION);
    assert_int_equal(fre_rejection_of(FRE_E_REFUSED), FRE_REJECTED_UNAUTHENTIC);
    assert_int_equal(fre_rejection_of(FRE_E_PROOF), FRE_REJECTED_PROOF);
    assert_int_equal(fre_rejection_of(FRE_E_LIMIT), FRE_REJECTED_SIZE);
    assert_int_equal(fre_rejection_of(FRE_E_NOMEM), FRE_REJECTED_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_exact),        cmocka_unit_test(other_collections_and_keys),
        cmocka_unit_test(roles_are_kept_apart),      cmocka_unit_test(cancels_by_every_role),
        cmocka_unit_test(lists_keep_their_rules),    cmocka_unit_test(lists_are_searched),
        cmocka_unit_test(encoders_refuse),           cmocka_unit_test(shares_need_their_size),
        cmocka_unit_test(sums_are_one_or_three),     cmocka_unit_test(ids_are_cut_in_thirds),
        cmocka_unit_test(random_messages_come_back), cmocka_unit_test(peeks),
        cmocka_unit_test(rejections_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
