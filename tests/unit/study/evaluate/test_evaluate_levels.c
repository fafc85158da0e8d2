/* evaluate level by level: a small release made by hand, of which every number is known; who is a
 * member; what is refused. */
#include <fre/evaluate.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "evaluate_private.h"

/* Levels grid, 4, 3.  Released: the grid's cell of original 0; centre 0 of "4"; centres 0 and 1 of "3", the
 * second by its noise alone. */
typedef struct by_hand {
    fre_codebook *codebook;
    fre_release release;
    fre_released_cell cell[4];
    fre_cell name[4];
    float centroid[8];
    fre_originals originals;
    fre_labels labels;
    uint32_t member[7];
} by_hand;

enum { A, B, C }; /* labels */

/* Original 4 is longer than the norm bound: cut to it, it lies at centre 0 of "3", as it is at 1.
 * 5 is in no released cell, 6 is no text. */
static const float original[] = {0.6f, 0.8f, 0,     0.9f,  0.1f,  0.9f, 0.9f,
                                 0,    1.5f, -3.0f, -0.9f, -0.1f, 0,    0};
static const uint64_t weight[] = {3, 2, 2, 4, 1, 1, 0};
static const fre_label_pair pairs[] = {{3, B, 2}, {0, A, 3}, {4, C, 1}, {1, A, 2},
                                       {2, B, 1}, {3, A, 2}, {2, A, 1}, {5, C, 1}};

static void make_codebook(fre_codebook **out)
{
    static const float four[] = {0, 1, 1, 0, 0, -1, -1, 0}, three[] = {0.5f, 0, 0, -4, -1, 0};
    static const uint32_t group4[] = {4}, group3[] = {3};
    const fre_codebook_base base[] = {{four, 4, group4, 1}, {three, 3, group3, 1}};
    const fre_codebook_spec level[] = {
        {.base = 0, .codes = 1, .radius = 0.6, .gain = 1, .spread = 1},
        {.base = 1, .codes = 1, .radius = 0.6, .gain = 1, .spread = 1}};
    const fre_codebook_parts parts = {
        .dim = 2, .probes = 8, .base = base, .n_bases = 2, .level = level, .n_levels = 2};
    fre_err err;

    assert_int_equal(fre_codebook_new(out, &parts, &err), FRE_OK);
}

static void make_release(by_hand *h)
{
    static const float centroid[] = {0.6f, 0.9f, 0.6f, 0.2f, 0.45f, 0.65f, 0, -4};
    fre_sketch *s = NULL;

    h->release.grid = (fre_sketch_params){.seed = {5}, .dim = 2, .grid = {3, 0.1}};
    h->release.norm_bound = 1;
    h->release.n_levels = 3;
    memcpy(h->release.level[0].name, "grid", 5);
    memcpy(h->release.level[1].name, "4", 2);
    memcpy(h->release.level[2].name, "3", 2);
    h->release.level[0].sketch.grid = h->release.grid.grid;
    h->release.level[1].sketch = fre_codebook_sketch(h->codebook, 0);
    h->release.level[2].sketch = fre_codebook_sketch(h->codebook, 1);
    h->release.n = 4;
    h->release.cell = h->cell;
    h->release.cell_name = h->name;
    h->release.centroid = h->centroid;
    memcpy(h->centroid, centroid, sizeof centroid);
    h->cell[0] = (fre_released_cell){.level = 0, .centre = FRE_RELEASE_NONE, .noise_norm = 0.1};
    h->cell[1] = (fre_released_cell){.level = 1, .centre = 0, .noise_norm = 0.2};
    h->cell[2] = (fre_released_cell){.level = 2, .centre = 0, .noise_norm = 0.4};
    h->cell[3] = (fre_released_cell){.level = 2, .centre = 1, .noise_norm = 0.6};
    assert_int_equal(fre_sketch_new(&s, &h->release.grid), FRE_OK);
    assert_int_equal(fre_sketch_cell(s, &h->name[0], original, 2), FRE_OK);
    fre_sketch_free(s);
}

static int setup(void **state)
{
    by_hand *h = calloc(1, sizeof *h);

    assert_non_null(h);
    make_codebook(&h->codebook);
    make_release(h);
    h->originals = (fre_originals){original, weight, 7, 2};
    h->labels = (fre_labels){.n = 3, .pair = pairs, .n_pairs = sizeof pairs / sizeof *pairs};
    *state = h;
    return 0;
}

static int teardown(void **state)
{
    by_hand *h = *state;

    fre_codebook_free(h->codebook);
    free(h);
    return 0;
}

static fre_status find_members(by_hand *h, fre_err *err)
{
    return fre_evaluate_members(h->member, &h->release, h->codebook, &h->originals, 2, err);
}

static void test_members(void **state)
{
    by_hand *h = *state;
    const uint32_t none = FRE_RELEASE_NONE, want[] = {0, 1, 1, 2, 2, none, none};
    fre_err err;

    assert_int_equal(find_members(h, &err), FRE_OK);
    assert_memory_equal(h->member, want, sizeof want);
    h->release.norm_bound = 0; /* not said: as they are */
    assert_int_equal(find_members(h, &err), FRE_OK);
    assert_int_equal(h->member[4], 3);
    /* What a finer level doesn't release goes on to the next. */
    h->release.norm_bound = 1;
    h->cell[1].centre = 3;
    assert_int_equal(find_members(h, &err), FRE_OK);
    assert_int_equal(h->member[1], 2);
    assert_int_equal(h->member[5], 1);
}

static void test_member_refusals(void **state)
{
    by_hand *h = *state;
    fre_codebook *of_release = h->codebook;
    fre_err err;

    h->release.level[2].sketch.codebook.sha256[0] = 16;
    assert_int_equal(find_members(h, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the release was made with another codebook (sha256 "
                                  "100000000000...): name that, {codebook}");
    h->release.level[2].sketch.codebook.sha256[0] = 0;
    h->codebook = NULL;
    assert_int_equal(find_members(h, &err), FRE_E_DATA);
    h->codebook = of_release;
    h->cell[2].centre = 3;
    assert_int_equal(find_members(h, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the release has a cell that level 3 of the codebook lacks");
    h->release.level[2].name[0] = '2';
    assert_int_equal(find_members(h, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the codebook has no level '2', which the release has: name the "
                                  "one that it was made with, {codebook}");
    h->release.cell_name = NULL;
    assert_int_equal(find_members(h, &err), FRE_E_DATA);
    assert_string_equal(err.text, "the release does not name its cells");
}

/* ---- the numbers ------------------------------------------------------------------------------------ */

static const float text[] = {0.3f, -1.5f, 0.5f, 0.6f, 0.6f, 0.2f};
static const uint32_t text_cell[] = {3, 0, 1};
static const uint8_t exact[] = {0, FRE_EXACT_ANY | FRE_EXACT_ANY_FOLDED | FRE_EXACT_FREQUENT,
                                FRE_EXACT_ANY_FOLDED};
static const bool frequent[] = {true, false, false, false, false, false, false};

static void run(by_hand *h, fre_level_evaluation out[4], bool with_labels)
{
    const fre_by_level in = {.release = &h->release,
                             .originals = &h->originals,
                             .member = h->member,
                             .is_frequent = frequent,
                             .labels = with_labels ? &h->labels : NULL,
                             .text = text,
                             .text_cell = text_cell,
                             .exact = exact,
                             .n_texts = 3,
                             .threshold = 5,
                             .reach = 0.25,
                             .threads = 2};
    fre_err err;

    assert_int_equal(find_members(h, &err), FRE_OK);
    assert_int_equal(fre_evaluate_by_level(out, &in), FRE_OK);
}

static void is_near(double got, double want)
{
    assert_close(got, want, 1e-6, 0);
}

static void test_levels(void **state)
{
    const double at1 = sqrt(0.55 * 0.55 + 0.7 * 0.7), at2 = sqrt(0.57 * 0.57 + 1.25 * 1.25);
    const double text0 = sqrt(0.05);
    fre_level_evaluation e[4];

    run(*state, e, false);
    assert_string_equal(e[0].name, "grid");
    assert_string_equal(e[2].name, "3");
    assert_string_equal(e[3].name, "all");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(e[i].cells, i == 2 ? 2 : 1);
    assert_int_equal(e[3].cells, 4);
    assert_int_equal(e[2].empty, 1);
    assert_int_equal(e[3].empty, 1);
    assert_int_equal(e[1].rare, 1); /* 4 of 5 */
    assert_int_equal(e[2].rare, 0);
    assert_int_equal(e[3].rare, 2);
    is_near(e[0].covered, 3.0 / 13);
    is_near(e[1].covered, 4.0 / 13);
    is_near(e[2].covered, 5.0 / 13);
    is_near(e[3].covered, 12.0 / 13);
    is_near(e[0].centroid_l2, 0.1);
    is_near(e[1].centroid_l2, at1);
    is_near(e[2].centroid_l2, at2); /* the empty one has no mean */
    is_near(e[3].centroid_l2, (0.1 + at1 + at2) / 3);
    is_near(e[2].noise_norm, 0.5);
    is_near(e[3].noise_norm, 1.3 / 4);
    is_near(e[0].text_l2, text0);
    is_near(e[1].text_l2, at1);
    assert_true(isnan(e[2].text_l2));
    is_near(e[3].text_l2, (text0 + at1) / 2);
    is_near(e[0].member_l2, 0.1);
    is_near(e[1].member_l2, (sqrt(0.36 + 0.49) + sqrt(0.25 + 0.49)) / 2);
    is_near(e[2].member_l2, (4 * sqrt(0.625) + sqrt(1.05 * 1.05 + 3.65 * 3.65)) / 5);
    is_near(e[3].member_l2, (3 * e[0].member_l2 + 4 * e[1].member_l2 + 5 * e[2].member_l2) / 12);
    assert_int_equal(e[2].texts, 1);
    assert_int_equal(e[3].texts, 3);
}

static void test_texts(void **state)
{
    fre_level_evaluation e[4];

    run(*state, e, false);
    is_near(e[0].text.frequent.precision, 1);
    is_near(e[0].text.frequent.recall, 1);
    is_near(e[1].text.frequent.precision, 0);
    is_near(e[1].text.frequent.f1, 0);
    is_near(e[3].text.frequent.precision, 1.0 / 3);
    is_near(e[3].text.frequent.f1, 0.5);
    is_near(e[0].text.all.recall, 3.0 / 13);
    is_near(e[0].exact.frequent, 1);
    is_near(e[0].exact.frequent_folded, 0);
    is_near(e[1].exact.any, 0);
    is_near(e[1].exact.any_folded, 1);
    is_near(e[3].exact.any_folded, 2.0 / 3);
    is_near(e[3].exact.any, 1.0 / 3);
}

/* Cells by label: AAA; AAAB; AABBC, of which none is more than half; none. */
static void test_labels(void **state)
{
    fre_level_evaluation e[4];

    run(*state, e, true);
    assert_int_equal(e[3].labels.cells, 3);
    assert_int_equal(e[3].labels.majority, 2);
    assert_int_equal(e[3].labels.hit, 1);          /* A, twice */
    assert_int_equal(e[3].labels.frequent_hit, 1); /* A: 8 records */
    assert_int_equal(e[2].labels.hit, 0);
    is_near(e[3].labels.precision, 2.0 / 3);
    is_near(e[3].labels.recall, 1.0 / 3);
    is_near(e[2].labels.precision, 0);
    is_near(e[0].labels.purity, 1);
    is_near(e[1].labels.purity, 3.0 / 4);
    is_near(e[2].labels.purity, 2.0 / 5);
    is_near(e[3].labels.purity, 8.0 / 12);
    /* Means of the labels: A (.4625, .6375), B (.6333, .3), C (.3, -1.55). */
    is_near(e[0].labels.nearest_text, 1);
    is_near(e[1].labels.nearest_text, 0);
    assert_true(isnan(e[2].labels.nearest_text));
    is_near(e[3].labels.nearest_text, 0.5);
    is_near(e[1].labels.nearest_centroid, 0);
    is_near(e[3].labels.nearest_centroid, 2.0 / 3);
    is_near(e[1].labels.nearest_mean, 1);
    is_near(e[2].labels.nearest_mean, 0);
    is_near(e[3].labels.nearest_mean, 2.0 / 3);
}

/* Labels of what isn't there, and records without a label, count nowhere. */
static void test_reading_labels(void **state)
{
    by_hand *h = *state;
    evaluate_labels l;
    fre_labels v;
    fre_err err;

    assert_int_equal(evaluate_labels_init(&l), FRE_OK);
    assert_int_equal(evaluate_labels_add(&l, 6, "of a blank", 10, &err), FRE_OK);
    assert_int_equal(evaluate_labels_add(&l, 3, "b", 1, &err), FRE_OK);
    assert_int_equal(evaluate_labels_add(&l, 0, "", 0, &err), FRE_OK);
    assert_int_equal(evaluate_labels_add(&l, 3, "b", 1, &err), FRE_OK);
    assert_int_equal(evaluate_labels_add(&l, 3, "a", 1, &err), FRE_OK);
    assert_int_equal(evaluate_labels_view(&l, &v, &h->originals), FRE_OK);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.n_pairs, 2);
    assert_int_equal(v.pair[0].row, 3);
    assert_int_equal(v.pair[0].label, 0);
    assert_int_equal(v.pair[0].count, 2);
    assert_int_equal(v.pair[1].label, 1);
    evaluate_labels_wipe(&l);
}

static void test_too_many_labels(void **state)
{
    evaluate_labels l;
    fre_err err;
    fre_status st = FRE_OK;
    char name[16];

    (void)state;
    assert_int_equal(evaluate_labels_init(&l), FRE_OK);
    for (size_t i = 0; i < EVALUATE_LABELS_MAX; i++) {
        const int len = snprintf(name, sizeof name, "%zu", i);

        assert_int_equal(evaluate_labels_add(&l, i, name, (size_t)len, &err), FRE_OK);
    }
    st = evaluate_labels_add(&l, 0, "one more", 8, &err);
    assert_int_equal(st, FRE_E_DATA);
    assert_non_null(strstr(err.text, "more than 65536 different labels"));
    evaluate_labels_wipe(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_members, setup, teardown),
        cmocka_unit_test_setup_teardown(test_member_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_levels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_labels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reading_labels, setup, teardown),
        cmocka_unit_test(test_too_many_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
