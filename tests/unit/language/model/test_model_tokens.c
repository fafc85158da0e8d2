/* Tokens of the bundled embedder against the reference's (tests/vectors/tokenizer.json): chosen
 * texts, Unicode block by block and whole, 10,000 random strings; and other vocabularies. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <utf8proc.h>

#include <fre/model.h>

#include "wordpiece.h"

#define MODELS FRE_SOURCE_DIR "/models/"
#define VECTORS FRE_SOURCE_DIR "/tests/vectors/tokenizer.json"
#define IDS 4096u
#define TEXT_BYTES 16384u

static fre_model *model;
static json_t *vectors;

static int set_up(void **state)
{
    fre_err err = {.text = ""};

    (void)state;
    vectors = json_load_file(VECTORS, JSON_ALLOW_NUL, NULL);
    if (!vectors)
        return -1;
    return fre_model_open(&model, MODELS "all-minilm-l6-v2.q8_0.gguf", FRE_MODEL_EMBEDDER, &err);
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(vectors);
    fre_model_free(model);
    return 0;
}

static size_t tokens(int32_t ids[IDS], const char *text, size_t len)
{
    size_t n = IDS;

    assert_int_equal(fre_model_tokenize(model, ids, &n, text, len, true), FRE_OK);
    assert_true(n <= IDS);
    return n;
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_on(uint64_t h, const char *text, size_t len)
{
    int32_t ids[IDS];
    const size_t n = tokens(ids, text, len);

    for (size_t i = 0; i < n; i++)
        for (uint32_t shift = 0; shift < 32; shift += 8)
            h = (h ^ ((uint32_t)ids[i] >> shift & 255u)) * UINT64_C(0x100000001b3);
    return h;
}

static size_t put(char *out, uint32_t c)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)out);
}

/* Code points one after the other; returns their bytes. */
static size_t put_all(char *out, const uint32_t *c, size_t n)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++)
        len += put(out + len, c[i]);
    return len;
}

static uint64_t hash_of(const json_t *hex)
{
    uint64_t h = 0;

    assert_int_equal(sscanf(json_string_value(hex), "%16" SCNx64, &h), 1);
    return h;
}

static void chosen_texts(void **state)
{
    json_t *all = json_object_get(vectors, "texts"), *one;
    size_t i, j;

    (void)state;
    assert_true(json_array_size(all) > 30);
    json_array_foreach(all, i, one)
    {
        const json_t *text = json_object_get(one, "text");
        json_t *want = json_object_get(one, "ids"), *id;
        int32_t ids[IDS];
        const size_t n = tokens(ids, json_string_value(text), json_string_length(text));

        if (n != json_array_size(want))
            fail_msg("text %zu: %zu tokens, not %zu", i, n, json_array_size(want));
        json_array_foreach(want, j, id) if (ids[j] != (int32_t)json_integer_value(id))
            fail_msg("text %zu: token %zu is %" PRId32 ", not %" PRId64, i, j, ids[j],
                     (int64_t)json_integer_value(id));
    }
}

static void unicode_by_blocks(void **state)
{
    json_t *all = json_object_get(vectors, "blocks"), *one;
    size_t i, bad = 0;

    (void)state;
    assert_true(json_array_size(all) >= 40);
    json_array_foreach(all, i, one)
    {
        const uint32_t first = (uint32_t)json_integer_value(json_object_get(one, "first"));
        const uint32_t last = (uint32_t)json_integer_value(json_object_get(one, "last"));
        uint64_t h = HASH_START;
        char text[64];

        for (uint32_t c = first; c <= last; c++) {
            const uint32_t among[] = {'X', c, 0x323, 0x302e, c, 'y'};

            if (c >= 0xd800 && c <= 0xdfff)
                continue;
            h = hash_on(h, text, put(text, c));
            h = hash_on(h, text, put_all(text, among, 6));
        }
        if (h != hash_of(json_object_get(one, "hash"))) {
            print_error("block %s differs\n", json_string_value(json_object_get(one, "name")));
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static void all_of_unicode(void **state)
{
    const json_t *all = json_object_get(vectors, "all");
    const uint32_t step = (uint32_t)json_integer_value(json_object_get(all, "step"));
    json_t *hashes = json_object_get(all, "hash"), *want;
    size_t i, bad = 0;

    (void)state;
    assert_int_equal(json_array_size(hashes) * step, 0x110000);
    json_array_foreach(hashes, i, want)
    {
        uint64_t h = HASH_START;
        char text[64];

        for (uint32_t c = (uint32_t)i * step; c < ((uint32_t)i + 1) * step; c++) {
            const uint32_t around[] = {'a', c, ' ', c, 'b'};

            if (c < 0xd800 || c > 0xdfff)
                h = hash_on(h, text, put_all(text, around, 5));
        }
        if (h != hash_of(want)) {
            print_error("U+%04X and the next %u differ\n", (uint32_t)i * step, step - 1);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

/* SplitMix64, as in the vectors' program. */
static uint64_t below(uint64_t *s, uint64_t n)
{
    uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static size_t random_text(char out[TEXT_BYTES], uint64_t seed, const json_t *parts, uint64_t most)
{
    const size_t pieces = 1 + (size_t)below(&seed, most);
    size_t len = 0;

    for (size_t i = 0; i < pieces; i++) {
        json_t *part = json_array_get(parts, (size_t)below(&seed, json_array_size(parts)));
        const uint64_t first = (uint64_t)json_integer_value(json_array_get(part, 0));
        const uint64_t last = (uint64_t)json_integer_value(json_array_get(part, 1));
        const uint64_t run = (uint64_t)json_integer_value(json_array_get(part, 2));

        for (uint64_t left = 1 + below(&seed, run); left > 0; left--) {
            assert_true(len + 4 <= TEXT_BYTES);
            len += put(out + len, (uint32_t)(first + below(&seed, last - first + 1)));
        }
    }
    return len;
}

static void random_strings(void **state)
{
    const json_t *all = json_object_get(vectors, "random");
    const json_t *parts = json_object_get(all, "parts"), *lines = json_object_get(all, "hash");
    const size_t n = (size_t)json_integer_value(json_object_get(all, "strings"));
    const uint64_t pieces = (uint64_t)json_integer_value(json_object_get(all, "pieces"));
    const size_t on_line = json_string_length(json_array_get(lines, 0)) / 8;
    static char text[TEXT_BYTES];
    size_t bad = 0;

    (void)state;
    assert_int_equal(n, 10000);
    for (size_t i = 0; i < n; i++) {
        const size_t len = random_text(text, i, parts, pieces);
        const char *line = json_string_value(json_array_get(lines, i / on_line));
        uint32_t want = 0;

        assert_int_equal(sscanf(line + i % on_line * 8, "%8" SCNx32, &want), 1);
        if (hash_on(HASH_START, text, len) >> 32 != want) {
            print_error("string %zu differs\n", i);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

/* The written part of a text that is too long ends in the closing token. */
static void cut_tokens_are_closed(void **state)
{
    const char text[] = "a b c d e f";
    int32_t all[IDS], some[5] = {0};
    size_t n = 5, whole = tokens(all, text, strlen(text));

    (void)state;
    assert_int_equal(fre_model_tokenize(model, some, &n, text, strlen(text), true), FRE_OK);
    assert_int_equal(n, whole);
    assert_memory_equal(some, all, 4 * sizeof *some);
    assert_int_equal(some[4], all[whole - 1]);
    n = 0;
    assert_int_equal(fre_model_tokenize(model, NULL, &n, text, strlen(text), false), FRE_OK);
    assert_int_equal(n, whole - 2);
}

/* ---- other vocabularies ---------------------------------------------------------------------- */

static const char *spelling(const void *ctx, int32_t id)
{
    return ((const char *const *)ctx)[id];
}

static bool in_brackets(const void *ctx, int32_t id)
{
    return spelling(ctx, id)[0] == '[';
}

static void check_tokens(const fre_wordpiece *w, const char *text, const char *want)
{
    int32_t ids[64];
    size_t n = 64, at = 0;
    char got[256] = "";

    assert_int_equal(fre_wordpiece_run(w, ids, &n, text, strlen(text), false), FRE_OK);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%" PRId32, i ? " " : "", ids[i]);
    assert_string_equal(got, want);
}

static fre_wordpiece *vocabulary(const char *const *word, uint32_t n, fre_wordpiece_opts o)
{
    fre_wordpiece *w = NULL;

    o.n = n;
    o.unknown = -1;
    assert_int_equal(fre_wordpiece_new(&w, &o, spelling, in_brackets, word), FRE_OK);
    return w;
}

/* Capitals in the vocabulary, and what the file says of its normaliser, decide the case. */
static void case_follows_the_model(void **state)
{
    const char *const cased[] = {"[UNK]", "\u2581A", "b", "\u2581a", "\u2581e", "\u2581\u00e9"};
    const char *const plain[] = {"[UNK]", "\u2581a", "b", "\u2581e", "\u2581\u00e9"};
    fre_wordpiece *w = vocabulary(cased, 6, (fre_wordpiece_opts){0});

    (void)state;
    check_tokens(w, "A Ab ab \u00e9", "1 1 2 3 2 5");
    fre_wordpiece_free(w);
    w = vocabulary(cased, 6, (fre_wordpiece_opts){.has_lower = true, .lower = true});
    check_tokens(w, "A Ab ab \u00e9", "3 3 2 3 2 4");
    fre_wordpiece_free(w);
    w = vocabulary(plain, 5, (fre_wordpiece_opts){0});
    check_tokens(w, "A AB \u00c9", "1 1 2 3");
    fre_wordpiece_free(w);
    w = vocabulary(plain, 5, (fre_wordpiece_opts){.has_strip = true});
    check_tokens(w, "A AB \u00c9", "1 1 2 4");
    fre_wordpiece_free(w);
    w = vocabulary(plain, 5, (fre_wordpiece_opts){.has_lower = true});
    check_tokens(w, "A a e\u0301", "0 1 0");
    fre_wordpiece_free(w);
}

/* U+2581 opens a word in GGUF's spelling; in the midst of one it is a character like others. */
static void space_mark_is_a_character(void **state)
{
    const char *const word[] = {"[UNK]", "\u2581a", "\u2581b", "b", "\u2581\u2581"};
    fre_wordpiece *w = vocabulary(word, 5, (fre_wordpiece_opts){0});

    (void)state;
    check_tokens(w, "ab a b", "1 3 1 2");
    check_tokens(w, "a\u2581b", "0");
    check_tokens(w, "\u2581 \u2581b", "4 4 3");
    fre_wordpiece_free(w);
}

static void vocabulary_needs_an_unknown_token(void **state)
{
    const char *const word[] = {"[CLS]", "\u2581a"};
    const fre_wordpiece_opts o = {.n = 2, .unknown = -1};
    fre_wordpiece *w = NULL;

    (void)state;
    assert_int_equal(fre_wordpiece_new(&w, &o, spelling, in_brackets, word), FRE_E_MODEL);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_texts),
        cmocka_unit_test(unicode_by_blocks),
        cmocka_unit_test(all_of_unicode),
        cmocka_unit_test(random_strings),
        cmocka_unit_test(cut_tokens_are_closed),
        cmocka_unit_test(case_follows_the_model),
        cmocka_unit_test(space_mark_is_a_character),
        cmocka_unit_test(vocabulary_needs_an_unknown_token),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
