/* The promises of fre/overlap.h and fre/fold.h: copies, parts and mixtures of a collection are found
 * in whole and by sketch, other texts with common phrases are not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/fold.h>
#include <fre/overlap.h>

#include "temp_dir.h"

/* Texts number first .. first + n - 1 of some kind, between two marks as other files have them. */
static void add(fre_overlap_set *s, const char *kind, size_t first, size_t n, const char *mark)
{
    char text[128];

    for (size_t i = first; i < first + n; i++) {
        (void)snprintf(text, sizeof text, "%s%s wants to know about number %zu%s", mark, kind, i,
                       mark);
        assert_int_equal(fre_overlap_add_text(s, text, strlen(text)), FRE_OK);
    }
}

static fre_overlap_set *set_of(const char *kind, size_t first, size_t n, const char *mark)
{
    fre_overlap_set *s;

    assert_int_equal(fre_overlap_set_new(&s), FRE_OK);
    add(s, kind, first, n, mark);
    return s;
}

static fre_overlap_set *sketch_of(fre_overlap_set *s)
{
    fre_overlap_set *small;
    float *x;
    size_t n;

    assert_int_equal(fre_overlap_sketch(s, &x, &n), FRE_OK);
    assert_true(n <= FRE_OVERLAP_SKETCH_MAX);
    assert_int_equal(fre_overlap_set_of_sketch(&small, x, n), FRE_OK);
    free(x);
    return small;
}

/* The verdict on whole sets and on the public one's sketch is the same. */
static bool too_much(fre_overlap_set *public_set, fre_overlap_set *private_set)
{
    fre_overlap_set *small = sketch_of(public_set);
    fre_overlap whole, sample;

    assert_int_equal(fre_overlap_compare(&whole, public_set, private_set), FRE_OK);
    assert_int_equal(fre_overlap_compare(&sample, small, private_set), FRE_OK);
    assert_int_equal(fre_overlap_is_too_much(&whole), fre_overlap_is_too_much(&sample));
    fre_overlap_set_free(small);
    return fre_overlap_is_too_much(&whole);
}

static void test_counts(void **state)
{
    fre_overlap_set *a = set_of("Anna", 0, 300, ""), *b = set_of("anna", 200, 300, " ?! ");
    fre_overlap o;

    (void)state;
    assert_int_equal(fre_overlap_add_text(a, "\xf0\x9f\x91\x8d", 4),
                     FRE_OK); /* no word: as it is */
    assert_int_equal(fre_overlap_add_text(b, "\xf0\x9f\x91\x8d", 4), FRE_OK);
    assert_int_equal(fre_overlap_add_text(b, "\xf0\x9f\x9a\x97", 4), FRE_OK);
    add(b, "anna", 200, 300, ""); /* again: distinct texts count */
    assert_int_equal(fre_overlap_compare(&o, a, b), FRE_OK);
    assert_int_equal(o.of_public, 301);
    assert_int_equal(o.of_private, 302);
    assert_int_equal(o.both, 101);
    fre_overlap_set_free(a);
    fre_overlap_set_free(b);
}

static void test_copies_parts_and_mixtures(void **state)
{
    fre_overlap_set *input = set_of("Anna", 0, 3000, "");
    fre_overlap_set *copy = set_of("ANNA", 0, 3000, "\"");
    fre_overlap_set *part = set_of("Anna", 40, 60, "");
    fre_overlap_set *mixed = set_of("Somebody", 0, 60000, "");

    (void)state;
    assert_true(too_much(input, input));
    assert_true(too_much(copy, input));
    assert_true(too_much(part, input));
    assert_true(too_much(input, part)); /* a subset of the corpus is synthesised from */
    assert_false(too_much(mixed, input));
    add(mixed, "Anna", 0, 3000, ""); /* the private file amid much public text */
    assert_true(too_much(mixed, input));
    fre_overlap_set_free(input);
    fre_overlap_set_free(copy);
    fre_overlap_set_free(part);
    fre_overlap_set_free(mixed);
}

static void test_common_phrases_are_none(void **state)
{
    static const char *const common[] = {"hello", "thank you", "how are you",     "good morning",
                                         "yes",   "no",        "what time is it", "help",
                                         "ok",    "stop"};
    fre_overlap_set *a = set_of("Anna", 0, 1000, ""), *b = set_of("Ben", 0, 30000, "");

    (void)state;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        assert_int_equal(fre_overlap_add_text(a, common[i], strlen(common[i])), FRE_OK);
        assert_int_equal(fre_overlap_add_text(b, common[i], strlen(common[i])), FRE_OK);
    }
    assert_false(too_much(a, b));
    assert_false(too_much(b, a));
    fre_overlap_set_free(a);
    fre_overlap_set_free(b);
}

static void test_edges(void **state)
{
    fre_overlap o = {.of_public = 1000, .of_private = 400, .both = 19};
    fre_overlap_set *one, *none;

    (void)state;
    assert_false(fre_overlap_is_too_much(&o)); /* below 5 % of 400 */
    o.both = 20;
    assert_true(fre_overlap_is_too_much(&o));
    o = (fre_overlap){.of_public = 9, .of_private = 400, .both = 4};
    assert_false(fre_overlap_is_too_much(&o)); /* few, and less than half of the public ones */
    o.of_public = 8;
    assert_true(fre_overlap_is_too_much(&o));
    assert_int_equal(fre_overlap_set_new(&none), FRE_OK);
    one = set_of("Anna", 0, 1, "");
    assert_int_equal(fre_overlap_compare(&o, none, one), FRE_OK);
    assert_int_equal(o.both, 0);
    assert_false(fre_overlap_is_too_much(&o));
    assert_int_equal(fre_overlap_compare(&o, NULL, one), FRE_E_ARG);
    fre_overlap_set_free(one);
    fre_overlap_set_free(none);
}

static void test_damaged_sketches(void **state)
{
    const float bad[][2] = {{-1, 0}, {0.5f, 0}, {0, 16777216.0f}, {0, NAN}};
    fre_overlap_set *s = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(fre_overlap_set_of_sketch(&s, bad[i], 1), FRE_E_DATA);
    assert_int_equal(fre_overlap_set_of_sketch(&s, bad[0], FRE_OVERLAP_SKETCH_MAX + 1), FRE_E_DATA);
    assert_null(s);
}

static void test_rows(void **state)
{
    const float x[3][3] = {{1, 2, 3}, {1, 2, 2.9f}, {2, 4, 6.000001f}};
    fre_overlap_set *a, *b;
    fre_overlap o;

    (void)state;
    assert_int_equal(fre_overlap_set_new(&a), FRE_OK);
    assert_int_equal(fre_overlap_set_new(&b), FRE_OK);
    assert_int_equal(fre_overlap_add_row(a, x[0], 3), FRE_OK);
    assert_int_equal(fre_overlap_add_row(b, x[1], 3), FRE_OK);
    assert_int_equal(fre_overlap_compare(&o, a, b), FRE_OK);
    assert_int_equal(o.both, 0);
    assert_int_equal(fre_overlap_add_row(b, x[2], 3), FRE_OK);
    assert_int_equal(fre_overlap_compare(&o, a, b), FRE_OK);
    assert_int_equal(o.both, 1);
    fre_overlap_set_free(a);
    fre_overlap_set_free(b);
}

static void test_corpora(void **state)
{
    fre_overlap_set *s;
    fre_err err = {.text = ""};
    static const char text[] = "{\"text\": \"One.\"}\n{\"text\": \"one\"}\n{\"text\": \"two\"}\n";
    fre_corpus *corpus = NULL;

    (void)state;
    assert_int_equal(fre_corpus_open_memory(
                         &corpus, (fre_bytes){(const uint8_t *)text, sizeof text - 1}, NULL, &err),
                     FRE_OK);
    assert_int_equal(fre_overlap_set_new(&s), FRE_OK);
    assert_int_equal(fre_overlap_add_corpus(s, corpus, &err), FRE_OK);
    {
        fre_overlap o;

        assert_int_equal(fre_overlap_compare(&o, s, s), FRE_OK);
        assert_int_equal(o.both, 2);
    }
    fre_overlap_set_free(s);
    fre_corpus_free(corpus);
}

static void folds(const char *text, fre_fold how, const char *want)
{
    char *out = NULL;

    assert_int_equal(fre_fold_text(&out, text, strlen(text), how), FRE_OK);
    assert_string_equal(out, want);
    free(out);
}

static void test_fold(void **state)
{
    const char composed[] = "Jos\xc3\xa9", apart[] = "Jose\xcc\x81";
    char *out = NULL;

    (void)state;
    folds(apart, FRE_FOLD_NFC, composed);
    folds(composed, FRE_FOLD_NFC, composed);
    folds(apart, FRE_FOLD_NONE, apart);
    folds(apart, FRE_FOLD_CASE, "jos\xc3\xa9");
    folds("STRASSE", FRE_FOLD_CASE, "strasse");
    folds("Stra\xc3\x9f"
          "e",
          FRE_FOLD_CASE, "strasse");
    assert_int_equal(fre_fold_text(&out, "\xff", 1, FRE_FOLD_NFC), FRE_E_DATA);
    assert_int_equal(fre_fold_words(&out, "Don't PANIC!", 12), FRE_OK);
    assert_string_equal(out, "dont panic");
    free(out);
}

static void says_again(const char *text, size_t expected)
{
    size_t n = 99;

    assert_int_equal(fre_fold_said_again(&n, text, strlen(text)), FRE_OK);
    assert_int_equal(n, expected);
}

static void test_said_again(void **state)
{
    size_t n;

    (void)state;
    says_again("", 0);
    says_again("?", 0);
    says_again("Where is my card", 0);
    says_again("A card, credit CARD; cards", 1); /* "cards" has five bytes, "card" four */
    says_again("I reserved a reservation for a reserve", 2);
    says_again("the one or the one", 0); /* short */
    says_again("check the cheese", 0);
    says_again("oil change \xc3\x89t\xc3\xa9 \xc3\xa9t\xc3\xa9", 1);
    assert_int_equal(fre_fold_said_again(&n, "\xff", 1), FRE_E_DATA);
}

/* Of both: as if all had been added to one set, and as far as a sample of either reaches. */
static void test_both(void **state)
{
    fre_overlap_set *a = set_of("one", 0, 6000, ""), *b = set_of("one", 4000, 6000, ""),
                    *all = set_of("one", 0, 10000, ""), *small = sketch_of(b), *both, *more;
    fre_overlap o;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fre_overlap_set_of_both(&both, a, i == 0 ? b : small), FRE_OK);
        assert_int_equal(fre_overlap_compare(&o, both, all), FRE_OK);
        assert_int_equal(o.both, o.of_public);
        assert_int_equal(o.both, o.of_private);
        assert_true(o.both > 4000 && o.both <= FRE_OVERLAP_SKETCH_MAX);
        assert_int_equal(fre_overlap_set_of_both(&more, both, b), FRE_OK);
        assert_int_equal(fre_overlap_compare(&o, more, both), FRE_OK);
        assert_int_equal(o.both, o.of_public);
        fre_overlap_set_free(more);
        fre_overlap_set_free(both);
    }
    fre_overlap_set_free(a);
    fre_overlap_set_free(b);
    fre_overlap_set_free(all);
    fre_overlap_set_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_copies_parts_and_mixtures),
        cmocka_unit_test(test_common_phrases_are_none),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_damaged_sketches),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_corpora),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_said_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
