/* The log of collections: its tree against the definition, its file against whoever changes it, and what clients
 * and witnesses refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "witness_private.h"

#include <stdio.h>

#define NOW 1800000000
#define DAY 86400

typedef struct keys {
    fre_sign_sk log, witness[3];
    fre_sign_pk log_pk, witness_pk[3];
} keys;

static keys k;

static int make_keys(void **state)
{
    uint8_t seed[32] = {1};

    (void)state;
    must(fre_sign_keygen_with(&k.log, &k.log_pk, seed) == FRE_OK);
    for (uint8_t i = 0; i < 3; i++) {
        seed[0] = (uint8_t)(2 + i);
        must(fre_sign_keygen_with(&k.witness[i], &k.witness_pk[i], seed) == FRE_OK);
    }
    return 0;
}

static fre_collection_id id_of(uint8_t i)
{
    fre_collection_id id;

    memset(id.b, i, sizeof id.b);
    return id;
}

static fre_log_entry entry_of(uint8_t i, fre_log_kind kind)
{
    fre_log_entry e = {.kind = kind, .collection = id_of(i)};

    memset(e.hash, kind == FRE_LOG_COLLECTION ? i : 100 + i, sizeof e.hash);
    return e;
}

static void add(fre_log *l, uint8_t i, fre_log_kind kind)
{
    const fre_log_entry e = entry_of(i, kind);

    must(fre_log_append(l, &e, NULL) == FRE_OK);
}

static fre_log *empty(void)
{
    fre_log *l = NULL;

    must(fre_log_new(&l, &k.log_pk, NULL) == FRE_OK);
    return l;
}

static void head(fre_log *l, int64_t time, unsigned witnesses)
{
    must(fre_log_sign(l, &k.log, time, NULL) == FRE_OK);
    for (unsigned i = 0; i < witnesses; i++)
        must(fre_log_witness(l, &k.witness[i], NULL, NULL) == FRE_OK);
}

/* Collections 1 to 3, the first of them closed; two heads, the last with two witnesses. */
static fre_log *example(void)
{
    fre_log *l = empty();

    add(l, 1, FRE_LOG_COLLECTION);
    add(l, 2, FRE_LOG_COLLECTION);
    head(l, NOW - 2 * DAY, 3);
    add(l, 1, FRE_LOG_CLOSED);
    add(l, 3, FRE_LOG_COLLECTION);
    head(l, NOW - 100, 2);
    return l;
}

static fre_log_trust trust(size_t need)
{
    return (fre_log_trust){
        .witness = k.witness_pk, .n = 3, .need = need, .now = NOW, .max_age = DAY};
}

static fre_status ask(const fre_log *l, uint8_t i, const fre_log_trust *t, const char *why)
{
    const fre_collection_id id = id_of(i);
    fre_log_head out;
    fre_err err = {.text = ""};
    const fre_status st = fre_log_trusts(&out, l, &id, t, &err);

    if (why && !strstr(err.text, why)) {
        (void)fprintf(stderr, "said: %s\n", err.text);
        fail();
    }
    return st;
}

/* ---- the tree ------------------------------------------------------------------------------------- */

static void node(uint8_t out[32], uint8_t (*leaf)[32], size_t n)
{
    uint8_t left[32], right[32];
    const uint8_t mark = 1;
    size_t half = 1;
    fre_sha256 h;

    if (n == 1) {
        memcpy(out, leaf[0], 32);
        return;
    }
    while (2 * half < n)
        half *= 2;
    node(left, leaf, half);
    node(right, leaf + half, n - half);
    fre_sha256_begin(&h, (fre_bytes){&mark, 1});
    fre_sha256_add(&h, left, 32);
    fre_sha256_add(&h, right, 32);
    fre_sha256_end(out, &h);
}

static fre_log_entry leaf_entry(uint8_t i)
{
    fre_log_entry e = {.kind = (fre_log_kind)(1 + i % 4), .collection = id_of(i)};

    memset(e.hash, 255 - i, sizeof e.hash);
    return e;
}

/* The recursion of RFC 9162, section 2.1.1. */
static void the_tree_is_that_of_the_rfc(void **state)
{
    static uint8_t leaf[200][32];
    uint8_t expected[32], got[32];
    log_tree t = {.n = 0};

    (void)state;
    for (uint8_t n = 1; n < 200; n++) {
        const fre_log_entry e = leaf_entry((uint8_t)(n - 1));
        log_tree one = {.n = 0};

        log_tree_add(&one, &e);
        memcpy(leaf[n - 1], one.node[0], 32);
        log_tree_add(&t, &e);
        log_tree_root(got, &t);
        node(expected, leaf, n);
        assert_memory_equal(got, expected, 32);
    }
}

/* Made with Python's hashlib, from the header's words. */
static void roots_that_others_made(void **state)
{
    static const struct {
        unsigned n;
        const char *root;
    } known[] = {{0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                 {1, "865c34143e3dc5f0648ea7dd8f05878664ab2e68308b85e0663a918c109a60ee"},
                 {2, "c07280acd8da9cc552e695e0af14787960a734c0902b4713079c0d4160a9305d"},
                 {3, "2d40139fc014b06c134dc73fecb8029bf3da31b112b1a695003f0c3ac165123b"},
                 {7, "58ec2110e658151a8d053e2d5fc4dc52a02956ce156a9cf95ec0869b642d1aec"},
                 {8, "80ec867c74e0764c32473c9b36f8bd4ce8020996155286fd41c39b8979c0ee6c"},
                 {100, "a9e591e2337a10810b23e9de31bcfbb5d2e31cca8e6fb0e9b9ce364ba34283d3"}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t root[32];
        char hex[65];
        log_tree t = {.n = 0};

        for (uint8_t j = 0; j < known[i].n; j++) {
            const fre_log_entry e = leaf_entry(j);

            log_tree_add(&t, &e);
        }
        log_tree_root(root, &t);
        fre_hex(hex, root, 32);
        assert_string_equal(hex, known[i].root);
    }
}

/* ---- the file ------------------------------------------------------------------------------------- */

static void file_of(fre_buf *out, const fre_log *l)
{
    fre_buf_init(out, LOG_FILE_MAX);
    must(fre_log_write(out, l, NULL) == FRE_OK);
}

static fre_status read_bytes(fre_log **out, const fre_buf *b, fre_err *err)
{
    return fre_log_read(out, (fre_bytes){b->p, b->n}, &k.log_pk, err);
}

static void a_file_comes_back(void **state)
{
    fre_log *l = example(), *again = NULL;
    fre_log_head a, b;
    fre_buf file, second;

    (void)state;
    head(l, NOW - 100, 3); /* the same size and time once more */
    file_of(&file, l);
    assert_int_equal(read_bytes(&again, &file, NULL), FRE_OK);
    assert_int_equal(fre_log_entries(again), 4);
    assert_int_equal(fre_log_entry_view(again, 2)->kind, FRE_LOG_CLOSED);
    assert_null(fre_log_entry_view(again, 4));
    assert_true(fre_log_last_head(l, &a) && fre_log_last_head(again, &b));
    assert_memory_equal(a.root, b.root, 32);
    file_of(&second, again);
    assert_int_equal(file.n, second.n);
    assert_memory_equal(file.p, second.p, file.n);
    fre_buf_wipe(&file);
    fre_buf_wipe(&second);
    fre_log_free(l);
    fre_log_free(again);
}

/* Each bit of it. */
static void a_file_that_was_changed(void **state)
{
    fre_log *l = example(), *again = NULL;
    fre_buf file;

    (void)state;
    file_of(&file, l);
    for (size_t i = 0; i < file.n; i++)
        for (unsigned bit = 0; bit < 8; bit += 1 + (unsigned)(i % 3)) {
            file.p[i] ^= (uint8_t)(1u << bit);
            if (read_bytes(&again, &file, NULL) == FRE_OK) {
                (void)fprintf(stderr, "byte %zu bit %u\n", i, bit);
                fail();
            }
            file.p[i] ^= (uint8_t)(1u << bit);
        }
    fre_buf_wipe(&file);
    fre_log_free(l);
}

/* Cut behind any byte it is refused, or shorter by whole lines: then it is an older log, and who saw the newer
 * one notices. */
static void a_file_that_was_cut(void **state)
{
    fre_log *l = example(), *again = NULL;
    fre_log_head seen;
    fre_log_trust t = trust(2);
    size_t whole = 0;
    fre_buf file;
    fre_err err;

    (void)state;
    assert_true(fre_log_last_head(l, &seen));
    t.seen = &seen;
    file_of(&file, l);
    assert_int_equal(ask(l, 3, &t, NULL), FRE_OK);
    for (size_t n = file.n - 1; n > 0; n--) {
        const fre_bytes part = {file.p, n};
        const fre_status st = fre_log_read(&again, part, &k.log_pk, &err);

        assert_int_equal(st == FRE_OK, file.p[n - 1] == '\n');
        if (st != FRE_OK)
            continue;
        assert_int_not_equal(ask(again, 3, &t, NULL), FRE_OK);
        fre_log_free(again);
        whole++;
    }
    assert_int_equal(whole, 11);
    fre_buf_wipe(&file);
    fre_log_free(l);
}

static void files_that_are_none(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {{"", "line 1"},
               {"{}\n", "no log"},
               {"[]\n", "line 1 of the log"},
               {"{\"format\": \"fre-e2t log\", \"version\": 2, \"key\": \"00\"}\n", "version 2"},
               {"{\"format\": \"fre-e2t log\", \"version\": 1, \"key\": \"00\"}\n", "line"},
               {"{\"format\": \"fre-e2t log\", \"version\": 1, \"key\": 5}\n", "line"}};
    fre_log *l = NULL, *other = example();
    fre_buf file;
    fre_err err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fre_bytes in = {(const uint8_t *)bad[i].text, strlen(bad[i].text)};

        err.text[0] = '\0';
        assert_int_equal(fre_log_read(&l, in, &k.log_pk, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, bad[i].why));
    }
    file_of(&file, other);
    assert_int_equal(fre_log_read(&l, (fre_bytes){file.p, file.n}, &k.witness_pk[0], &err),
                     FRE_E_KEY);
    assert_int_equal(fre_log_read(&l, (fre_bytes){file.p, LOG_FILE_MAX + 1}, &k.log_pk, &err),
                     FRE_E_LIMIT);
    assert_null(l);
    fre_buf_wipe(&file);
    fre_log_free(other);
}

/* ---- rules ---------------------------------------------------------------------------------------- */

static void what_cannot_be_added(void **state)
{
    fre_log *l = example();
    fre_log_entry e = entry_of(1, FRE_LOG_COLLECTION);
    fre_log_head none;
    fre_log *fresh = empty();

    (void)state;
    assert_int_equal(fre_log_append(l, &e, NULL), FRE_E_REFUSED); /* twice */
    e = entry_of(1, FRE_LOG_CLOSED);
    e.hash[0] ^= 1;
    assert_int_equal(fre_log_append(l, &e, NULL), FRE_E_REFUSED); /* closed otherwise */
    e = entry_of(9, FRE_LOG_RELEASE);
    assert_int_equal(fre_log_append(l, &e, NULL), FRE_E_REFUSED); /* of nothing */
    e = entry_of(9, FRE_LOG_COLLECTION);
    e.hash[31] ^= 1;
    assert_int_equal(fre_log_append(l, &e, NULL), FRE_E_REFUSED); /* not its id */
    e.kind = (fre_log_kind)9;
    assert_int_equal(fre_log_append(l, &e, NULL), FRE_E_ARG);
    assert_int_equal(fre_log_entries(l), 4);
    assert_int_equal(fre_log_sign(l, &k.witness[0], NOW, NULL), FRE_E_KEY);
    assert_int_equal(fre_log_sign(l, &k.log, NOW - DAY, NULL), FRE_E_DATA); /* back in time */
    assert_int_equal(fre_log_witness(l, &k.log, NULL, NULL), FRE_E_KEY);
    assert_int_equal(fre_log_witness(l, &k.witness[0], NULL, NULL), FRE_E_DATA); /* twice */
    assert_false(fre_log_last_head(fresh, &none));
    assert_int_equal(fre_log_witness(fresh, &k.witness[0], NULL, NULL), FRE_E_REFUSED);
    fre_log_free(l);
    fre_log_free(fresh);
}

static void whom_a_client_trusts(void **state)
{
    fre_log *l = example();
    fre_log_trust t = trust(2);
    fre_sign_pk same[2] = {k.witness_pk[0], k.witness_pk[0]};

    (void)state;
    assert_int_equal(ask(l, 3, &t, NULL), FRE_OK);
    assert_int_equal(ask(l, 2, &t, NULL), FRE_OK);
    assert_int_equal(ask(l, 1, &t, "is over"), FRE_E_REFUSED);
    assert_int_equal(ask(l, 4, &t, "not in the log"), FRE_E_REFUSED);
    t.need =
        3; /* the second head has two; the first is two days old, and has not the third collection */
    assert_int_equal(ask(l, 3, &t, "too few witnesses"), FRE_E_REFUSED);
    assert_int_equal(ask(l, 2, &t, "too old"), FRE_E_REFUSED);
    t.need = 1;
    t.witness = &k.witness_pk[2]; /* who signed only the first */
    t.n = 1;
    assert_int_equal(ask(l, 3, &t, "too few witnesses"), FRE_E_REFUSED);
    t = trust(2);
    t.now = NOW + 2 * DAY;
    assert_int_equal(ask(l, 3, &t, "too old"), FRE_E_REFUSED);
    t.now = NOW - 2 * DAY;
    assert_int_equal(ask(l, 3, &t, "clock"), FRE_E_REFUSED);
    t = trust(4);
    assert_int_equal(ask(l, 3, &t, NULL), FRE_E_ARG);
    t = trust(0);
    assert_int_equal(ask(l, 3, &t, NULL), FRE_E_ARG);
    t = trust(2);
    t.witness = same;
    t.n = 2;
    assert_int_equal(ask(l, 3, &t, NULL), FRE_E_ARG);
    same[1] = k.log_pk;
    assert_int_equal(ask(l, 3, &t, NULL), FRE_E_ARG);
    fre_log_free(l);
}

/* Two logs under one key: whoever saw one does not take or sign the other. */
static void a_log_that_forks(void **state)
{
    fre_log *l = example(), *other = empty();
    fre_log_head seen;
    fre_log_trust t = trust(1);

    (void)state;
    add(other, 1, FRE_LOG_COLLECTION);
    add(other, 5, FRE_LOG_COLLECTION); /* in place of 2 */
    add(other, 1, FRE_LOG_CLOSED);
    add(other, 3, FRE_LOG_COLLECTION);
    add(other, 6, FRE_LOG_COLLECTION);
    assert_int_equal(fre_log_sign(other, &k.log, NOW, NULL), FRE_OK);
    assert_true(fre_log_last_head(l, &seen));
    assert_int_equal(fre_log_witness(other, &k.witness[0], &seen, NULL), FRE_E_REFUSED);
    assert_int_equal(fre_log_witness(other, &k.witness[0], NULL, NULL), FRE_OK); /* its first */
    t.seen = &seen;
    assert_int_equal(ask(other, 3, &t, "not the one of before"), FRE_E_REFUSED);
    t.seen = NULL;
    assert_int_equal(ask(other, 3, &t, NULL), FRE_OK); /* who never saw the other can't know */
    add(l, 6, FRE_LOG_COLLECTION);
    assert_int_equal(fre_log_sign(l, &k.log, NOW, NULL), FRE_OK);
    assert_int_equal(fre_log_witness(l, &k.witness[0], &seen, NULL), FRE_OK);
    t.seen = &seen;
    assert_int_equal(ask(l, 6, &t, NULL), FRE_OK);
    fre_log_free(l);
    fre_log_free(other);
}

/* The log is as long as what was seen, but what witnesses signed of it is not. */
static void a_head_from_before(void **state)
{
    fre_log *l = example();
    fre_log_head seen;
    fre_log_trust t = trust(3);

    (void)state;
    assert_true(fre_log_last_head(l, &seen));
    t.seen = &seen;
    t.max_age = 9 * DAY;
    assert_int_equal(ask(l, 2, &t, "too few witnesses"), FRE_E_REFUSED);
    fre_log_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_that_of_the_rfc),
        cmocka_unit_test(roots_that_others_made),
        cmocka_unit_test(a_file_comes_back),
        cmocka_unit_test(a_file_that_was_changed),
        cmocka_unit_test(a_file_that_was_cut),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(what_cannot_be_added),
        cmocka_unit_test(whom_a_client_trusts),
        cmocka_unit_test(a_log_that_forks),
        cmocka_unit_test(a_head_from_before),
    };

    return cmocka_run_group_tests(tests, make_keys, NULL);
}
