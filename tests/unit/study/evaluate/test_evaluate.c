/* The numbers of evaluate: frequent originals, scores and cells against plain double loops over
 * all pairs, the boundaries, and what is undefined. */
#include <fre/evaluate.h>
#include <fre/linalg.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "evaluate_private.h"

typedef struct data {
    float *x;
    uint64_t *weight;
    size_t n, d;
} data;

/* Clusters of unequal width, so that counts fall on both sides of any threshold. */
static data make_data(uint64_t seed, size_t n, size_t d)
{
    data a = {calloc(n * d, sizeof(float)), calloc(n, sizeof(uint64_t)), n, d};
    uint8_t key[32] = {0};
    fre_rng r;

    memcpy(key, &seed, sizeof seed);
    assert_int_equal(fre_rng_init_seeded(&r, key, "test/evaluate"), FRE_OK);
    for (size_t i = 0; i < n; i++) {
        uint32_t cluster = (uint32_t)fre_rng_below(&r, 12);
        a.weight[i] = 1 + fre_rng_below(&r, 5);
        for (size_t j = 0; j < d; j++) {
            double noise = (double)fre_rng_u32(&r) / 4294967296.0 - 0.5;
            double centre = (double)((cluster * 7 + j * 3) % 11) / 11.0 - 0.5;
            a.x[i * d + j] = (float)(centre + noise * 0.05 * (double)(cluster + 1));
        }
    }
    fre_rng_wipe(&r);
    return a;
}

static void free_data(data *a)
{
    free(a->x);
    free(a->weight);
}

static fre_originals view(const data *a)
{
    return (fre_originals){a->x, a->weight, a->n, a->d};
}

static double distance(const float *a, const float *b, size_t d)
{
    double s = 0.0;

    for (size_t j = 0; j < d; j++)
        s += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sqrt(s);
}

/* ---- frequent ------------------------------------------------------------------------------- */

/* untouched on failure */
static fre_status frequent(bool *out, const fre_originals *o, double r, uint64_t t,
                           uint32_t threads)
{
    uint64_t *n = calloc(o->n + 1, sizeof *n);
    const fre_status st = fre_evaluate_neighbours(n, o, r, threads, NULL);

    for (size_t i = 0; st == FRE_OK && i < o->n; i++)
        out[i] = n[i] >= t;
    free(n);
    return st;
}

static void check_frequent(const data *a, double r, uint64_t t, size_t *count)
{
    fre_originals o = view(a);
    uint64_t *got = calloc(a->n, sizeof *got), *again = calloc(a->n, sizeof *again);

    *count = 0;
    assert_int_equal(fre_evaluate_neighbours(got, &o, r, 1, NULL), FRE_OK);
    assert_int_equal(fre_evaluate_neighbours(again, &o, r, 3, NULL), FRE_OK);
    for (size_t i = 0; i < a->n; i++) {
        uint64_t support = 0;
        for (size_t j = 0; j < a->n; j++)
            if (distance(a->x + i * a->d, a->x + j * a->d, a->d) <= r)
                support += a->weight[j];
        assert_int_equal(got[i], support);
        assert_int_equal(again[i], got[i]);
        *count += got[i] >= t;
    }
    free(got);
    free(again);
}

static void test_frequent_random(void **state)
{
    data a = make_data(1, 1300, 19); /* three blocks, the last one partial */
    size_t some, few;

    (void)state;
    check_frequent(&a, 0.4, 100, &some);
    check_frequent(&a, 0.25, 60, &few);
    assert_in_range(some, 100, 1200); /* or the test would show nothing */
    assert_in_range(few, 20, 1200);
    free_data(&a);
    a = make_data(7, 700, 300); /* looked at by their first numbers first */
    check_frequent(&a, 2.3, 100, &some);
    check_frequent(&a, 0.9, 100, &few);
    assert_in_range(some, 50, 690);
    assert_in_range(few, 10, 690);
    free_data(&a);
}

/* 1000 away from the origin a float product is off by more than the whole radius squared. */
static void test_frequent_boundary(void **state)
{
    const float far = 1000.0f;
    const float x[] = {far, 0, far + 0.5f, 0, nextafterf(far + 0.5f, 2000.0f), 0, far, -0.5f};
    const uint64_t one[] = {1, 1, 1, 1};
    const fre_originals o = {x, one, 4, 2};
    bool f[4];

    (void)state;
    /* within .5 of row 0: itself, row 1 exactly, row 3 exactly, not row 2 */
    assert_int_equal(frequent(f, &o, 0.5, 3, 1), FRE_OK);
    assert_true(f[0] && f[1] && !f[2] && !f[3]);
    assert_int_equal(frequent(f, &o, 0.5, 4, 1), FRE_OK);
    assert_false(f[0] || f[1] || f[2] || f[3]);
}

static void test_frequent_weights(void **state)
{
    const float x[] = {0.0f, 10.0f, 10.1f, 20.0f, 20.1f, 3e20f, 3e20f};
    const uint64_t w[] = {100, 40, 60, 99, 0, UINT64_MAX, UINT64_MAX};
    const fre_originals o = {x, w, 7, 1};
    const bool want[] = {true, true, true, false, false, true, true};
    bool f[7];

    (void)state;
    assert_int_equal(frequent(f, &o, 0.5, 100, 2), FRE_OK);
    assert_memory_equal(f, want, sizeof want);
}

static void test_frequent_refusals(void **state)
{
    const float x[] = {0.0f};
    const uint64_t w[] = {1};
    fre_originals o = {x, w, 1, 1};
    bool f[1] = {true};

    (void)state;
    assert_int_equal(frequent(f, &o, 0.0, 1, 1), FRE_E_ARG);
    assert_int_equal(frequent(f, &o, (double)NAN, 1, 1), FRE_E_ARG);
    assert_int_equal(frequent(f, &o, 0.5, 1, 0), FRE_E_ARG);
    fre_interrupt_set();
    assert_int_equal(frequent(f, &o, 0.5, 2, 1), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_true(f[0]); /* untouched */
    o.n = 0;
    assert_int_equal(frequent(f, &o, 0.5, 2, 1), FRE_OK);
}

/* Texts are many and each is short: an interruption is looked for at each. */
static void test_texts_interrupted(void **state)
{
    const char *text[] = {"turn off the lights", "play a song"};
    size_t len[] = {19, 11};
    const evaluate_set set = {.text = text, .len = len, .n = 2};
    evaluate_words w = {.n = 0}, none = {.n = 0};
    fre_diversity d;

    (void)state;
    assert_int_equal(evaluate_words_read(&w, &set), FRE_OK);
    fre_interrupt_set();
    assert_int_equal(evaluate_words_read(&none, &set), FRE_E_INTERRUPTED);
    assert_int_equal(evaluate_diversity_find(&d, &set, &w), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(none.word);
    evaluate_words_wipe(&w);
}

/* ---- precision, recall, F1, L2 --------------------------------------------------------------- */

static fre_scores plain_scores(const float *s, size_t m, const data *a, const bool *in,
                               double reach)
{
    double near = 0.0, sum = 0.0, reached = 0.0, weight = 0.0;
    fre_scores r;

    for (size_t i = 0; i < m; i++) {
        double best = (double)INFINITY;
        for (size_t j = 0; j < a->n; j++)
            if (in[j])
                best = fmin(best, distance(s + i * a->d, a->x + j * a->d, a->d));
        near += best <= reach;
        sum += best;
    }
    for (size_t j = 0; j < a->n; j++) {
        double best = (double)INFINITY;
        if (!in[j])
            continue;
        for (size_t i = 0; i < m; i++)
            best = fmin(best, distance(s + i * a->d, a->x + j * a->d, a->d));
        weight += (double)a->weight[j];
        reached += best <= reach ? (double)a->weight[j] : 0.0;
    }
    r.precision = near / (double)m;
    r.recall = reached / weight;
    r.f1 = 2.0 / (1.0 / r.precision + 1.0 / r.recall);
    r.l2 = sum / (double)m;
    return r;
}

static void assert_scores(const fre_scores *got, const fre_scores *want)
{
    assert_close(got->precision, want->precision, 1e-12, 0.0);
    assert_close(got->recall, want->recall, 1e-12, 0.0);
    assert_close(got->f1, want->f1, 1e-12, 0.0);
    assert_close(got->l2, want->l2, 1e-9, 0.0);
}

static void test_level_random(void **state)
{
    data a = make_data(2, 9000, 7), s = make_data(3, 60, 7); /* more than two blocks of 4096 */
    fre_originals o = view(&a);
    bool *in = calloc(a.n, sizeof *in), *all = calloc(a.n, sizeof *all);
    fre_level_scores got, again;
    fre_scores want;

    (void)state;
    for (size_t i = 0; i < a.n; i++) {
        in[i] = a.x[i * a.d] < 0.1f && i % 5 != 0;
        all[i] = true;
    }
    assert_int_equal(fre_evaluate_level(&got, s.x, s.n, &o, in, 0.2, 2), FRE_OK);
    want = plain_scores(s.x, s.n, &a, in, 0.2);
    assert_true(want.precision > 0.1 && want.precision < 0.9);
    assert_true(want.recall > 0.1 && want.recall < 0.9);
    assert_scores(&got.frequent, &want);
    want = plain_scores(s.x, s.n, &a, all, 0.2);
    assert_scores(&got.all, &want);
    assert_int_equal(fre_evaluate_level(&again, s.x, s.n, &o, in, 0.2, 1), FRE_OK);
    assert_memory_equal(&again, &got, sizeof got);
    free(in);
    free(all);
    free_data(&a);
    free_data(&s);
}

/* By hand: originals 0 (x3, frequent), 1 (frequent), 5; synthetic .75, 6, 9; reach .75. */
static void test_level_by_hand(void **state)
{
    const float x[] = {0.0f, 1.0f, 5.0f}, s[] = {0.75f, 6.0f, 9.0f};
    const uint64_t w[] = {3, 1, 1};
    const bool in[] = {true, true, false};
    const fre_originals o = {x, w, 3, 1};
    fre_level_scores r;

    (void)state;
    assert_int_equal(fre_evaluate_level(&r, s, 3, &o, in, 0.75, 1), FRE_OK);
    assert_close(r.frequent.precision, 1.0 / 3.0, 1e-15, 0.0);
    assert_close(r.frequent.recall, 1.0, 0.0, 0.0); /* row 0 at exactly .75 */
    assert_close(r.frequent.f1, 0.5, 1e-15, 0.0);
    assert_close(r.frequent.l2, (0.25 + 5.0 + 8.0) / 3.0, 1e-12, 0.0);
    assert_close(r.all.precision, 1.0 / 3.0, 1e-15, 0.0);
    assert_close(r.all.recall, 0.8, 1e-15, 0.0); /* 4 of 5 texts */
    assert_close(r.all.l2, (0.25 + 1.0 + 4.0) / 3.0, 1e-12, 0.0);
    assert_int_equal(fre_evaluate_level(&r, s, 3, &o, in, 0.7499999, 1), FRE_OK);
    assert_close(r.frequent.recall, 0.25, 0.0, 0.0);
    assert_int_equal(fre_evaluate_level(&r, s + 2, 1, &o, in, 0.75, 1), FRE_OK);
    assert_close(r.all.precision, 0.0, 0.0, 0.0);
    assert_close(r.all.f1, 0.0, 0.0, 0.0);
}

static void test_level_undefined(void **state)
{
    const float x[] = {0.0f, 1.0f}, s[] = {0.5f};
    const uint64_t w[] = {1, 1};
    const bool none[] = {false, false};
    fre_originals o = {x, w, 2, 1};
    fre_level_scores r;

    (void)state;
    assert_int_equal(fre_evaluate_level(&r, s, 1, &o, none, 0.75, 1), FRE_OK);
    assert_true(isnan(r.frequent.precision) && isnan(r.frequent.recall));
    assert_true(isnan(r.frequent.f1) && isnan(r.frequent.l2));
    assert_close(r.all.f1, 1.0, 0.0, 0.0);
    assert_int_equal(fre_evaluate_level(&r, NULL, 0, &o, none, 0.75, 1), FRE_OK);
    assert_true(isnan(r.all.precision) && isnan(r.all.l2));
    assert_close(r.all.recall, 0.0, 0.0, 0.0);
    assert_close(r.all.f1, 0.0, 0.0, 0.0);
    r.all.f1 = 7.0;
    assert_int_equal(fre_evaluate_level(&r, s, 1, &o, none, -1.0, 1), FRE_E_ARG);
    assert_int_equal(fre_evaluate_level(&r, s, 1, &o, none, 0.75, 0), FRE_E_ARG);
    assert_int_equal(fre_evaluate_level(&r, NULL, 1, &o, none, 0.75, 1), FRE_E_ARG);
    assert_close(r.all.f1, 7.0, 0.0, 0.0);
}

/* ---- cells ------------------------------------------------------------------------------------ */

static fre_sketch *make_sketch(uint32_t dim)
{
    const fre_sketch_params p = {.seed = {5}, .dim = dim, .grid.proj = 3, .grid.cell_edge = 0.5};
    fre_sketch *s = NULL;

    assert_int_equal(fre_sketch_new(&s, &p), FRE_OK);
    return s;
}

/* Row i's cell: total weight, and its mean. */
static uint64_t plain_cell(const data *a, const fre_cell *cell, size_t i, double *mean)
{
    uint64_t total = 0;

    memset(mean, 0, a->d * sizeof *mean);
    for (size_t j = 0; j < a->n; j++) {
        if (memcmp(&cell[i], &cell[j], sizeof cell[i]) != 0)
            continue;
        total += a->weight[j];
        for (size_t c = 0; c < a->d; c++)
            mean[c] += (double)a->weight[j] * (double)a->x[j * a->d + c];
    }
    for (size_t c = 0; c < a->d; c++)
        mean[c] /= (double)total;
    return total;
}

static void test_cells(void **state)
{
    enum { N = 2500, D = 6, T = 80, M = 24 };
    data a = make_data(4, N, D);
    fre_originals o = view(&a);
    fre_sketch *s = make_sketch(D);
    fre_cell *cell = calloc(N, sizeof *cell), released[M];
    float centroid[M * D];
    double mean[D];
    uint64_t occupied = 0, frequent = 0, right = 0, m = 0;
    fre_cell_scores r;

    (void)state;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(fre_sketch_cell(s, &cell[i], a.x + i * D, D), FRE_OK);
    for (size_t i = 0; i < N; i++) {
        bool seen = false;
        uint64_t total;
        for (size_t j = 0; j < i && !seen; j++)
            seen = memcmp(&cell[i], &cell[j], sizeof cell[i]) == 0;
        if (seen)
            continue;
        total = plain_cell(&a, cell, i, mean);
        frequent += total >= T;
        if (m < M - 1 && occupied % 2 == 0) { /* release every other cell, .25 off its mean */
            released[m] = cell[i];
            for (size_t c = 0; c < D; c++)
                centroid[m * D + c] = (float)(mean[c] + (c == m % D ? 0.25 : 0.0));
            right += total >= T;
            m++;
        }
        occupied++;
    }
    memset(&released[m], 0xee, sizeof released[m]); /* and one that nobody is in */
    memset(centroid + m * D, 0, D * sizeof *centroid);
    m++;
    assert_int_equal(fre_evaluate_cells(&r, s, &o, T, released, centroid, m, 2), FRE_OK);
    assert_true(right > 0 && right < m - 1 && frequent > right);
    assert_int_equal(r.released, m);
    assert_int_equal(r.occupied, occupied);
    assert_int_equal(r.frequent, frequent);
    assert_int_equal(r.frequent_released, right);
    assert_close(r.scores.frequent.precision, (double)right / (double)m, 1e-15, 0.0);
    assert_close(r.scores.frequent.recall, (double)right / (double)frequent, 1e-15, 0.0);
    assert_close(r.scores.all.precision, (double)(m - 1) / (double)m, 1e-15, 0.0);
    assert_close(r.scores.all.recall, (double)(m - 1) / (double)occupied, 1e-15, 0.0);
    assert_close(r.scores.frequent.l2, 0.25, 1e-6, 0.0);
    assert_close(r.scores.all.l2, 0.25, 1e-6, 0.0);
    fre_sketch_free(s);
    free(cell);
    free_data(&a);
}

static void test_cells_edges(void **state)
{
    const float x[] = {0.1f, 0.2f}, wild[] = {1e20f, 0.0f};
    const uint64_t w[] = {5};
    fre_originals o = {x, w, 1, 2};
    fre_sketch *s = make_sketch(2);
    fre_cell_scores r = {.released = 99};

    (void)state;
    o.x = wild;
    assert_int_equal(fre_evaluate_cells(&r, s, &o, 5, NULL, NULL, 0, 1), FRE_E_DATA);
    o.x = x;
    o.d = 1;
    assert_int_equal(fre_evaluate_cells(&r, s, &o, 5, NULL, NULL, 0, 1), FRE_E_ARG);
    o.d = 2;
    assert_int_equal(fre_evaluate_cells(&r, s, &o, 0, NULL, NULL, 0, 1), FRE_E_ARG);
    assert_int_equal(r.released, 99);
    assert_int_equal(fre_evaluate_cells(&r, s, &o, 5, NULL, NULL, 0, 1), FRE_OK);
    assert_true(r.occupied == 1 && r.frequent == 1 && r.released == 0);
    assert_true(isnan(r.scores.frequent.precision));
    assert_close(r.scores.frequent.recall, 0.0, 0.0, 0.0);
    assert_int_equal(fre_evaluate_cells(&r, s, &o, 6, NULL, NULL, 0, 1), FRE_OK);
    assert_int_equal(r.frequent, 0);
    assert_true(isnan(r.scores.frequent.recall) && isnan(r.scores.frequent.f1));
    fre_sketch_free(s);
}

/* ---- distinct strings ------------------------------------------------------------------------------------ */

static void test_distinct(void **state)
{
    evaluate_distinct t;
    char text[32];
    size_t at;

    (void)state;
    assert_int_equal(evaluate_distinct_init(&t, false), FRE_OK);
    assert_true(evaluate_distinct_find(&t, "x", 1) == EVALUATE_DISTINCT_NONE);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 5000; i += 1 + round) {
            int n = snprintf(text, sizeof text, "text %u", i);
            assert_int_equal(evaluate_distinct_add(&t, &at, text, (size_t)n), FRE_OK);
            assert_int_equal(at, i); /* order of first appearance */
        }
    assert_int_equal(t.n, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "text %u", i);
        assert_int_equal(evaluate_distinct_find(&t, text, (size_t)n), i);
        assert_string_equal(evaluate_distinct_text(&t, i), text);
        assert_int_equal(t.weight[i], 1 + (i % 2 == 0) + (i % 3 == 0));
    }
    assert_true(evaluate_distinct_find(&t, "text 5000", 9) == EVALUATE_DISTINCT_NONE);
    assert_int_equal(evaluate_distinct_add(&t, &at, "a\0b", 3), FRE_OK);
    assert_int_equal(evaluate_distinct_add(&t, &at, "a\0c", 3), FRE_OK);
    assert_int_equal(evaluate_distinct_add(&t, &at, "", 0), FRE_OK);
    assert_int_equal(t.n, 5003);
    evaluate_distinct_wipe(&t);
}

static void test_distinct_rows(void **state)
{
    const float rows[][2] = {{1, 2}, {3, 4}, {1, 2}, {5, 6}};
    evaluate_distinct t;
    size_t at;

    (void)state;
    assert_int_equal(evaluate_distinct_init(&t, true), FRE_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(evaluate_distinct_add(&t, &at, rows[i], sizeof rows[i]), FRE_OK);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.weight[0], 2);
    assert_memory_equal(t.arena, rows[0], sizeof rows[0]); /* packed: usable as an array */
    assert_memory_equal(t.arena + 8, rows[1], sizeof rows[1]);
    assert_memory_equal(t.arena + 16, rows[3], sizeof rows[3]);
    evaluate_distinct_wipe(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frequent_random),
        cmocka_unit_test(test_frequent_boundary),
        cmocka_unit_test(test_frequent_weights),
        cmocka_unit_test(test_texts_interrupted),
        cmocka_unit_test(test_frequent_refusals),
        cmocka_unit_test(test_level_random),
        cmocka_unit_test(test_level_by_hand),
        cmocka_unit_test(test_level_undefined),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_cells_edges),
        cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_distinct_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
