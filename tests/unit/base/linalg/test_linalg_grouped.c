/* The search in two steps: against its definition written out, also where scores in float cannot tell, and
 * whatever the threads and the cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

#define D 40u
#define GROUPS 13u
#define ROWS 330u
#define QUERIES 1500u

static uint32_t size[GROUPS];
static float row[ROWS * D], query[QUERIES * D];

/* spread: of the rows in a group; small: their scores are all alike in float. */
static void make(double spread, double scale)
{
    uint32_t left = ROWS;

    mix = 5;
    for (size_t g = 0, at = 0; g < GROUPS; g++) {
        float centre[D];

        size[g] = g + 1 < GROUPS ? 1 + (uint32_t)(mix_next() % 45) : left;
        size[g] = size[g] > left - (GROUPS - 1 - g) ? left - (GROUPS - 1 - (uint32_t)g) : size[g];
        left -= size[g];
        for (size_t i = 0; i < D; i++)
            centre[i] = (float)(scale * mix_gauss());
        for (uint32_t j = 0; j < size[g]; j++, at++)
            for (size_t i = 0; i < D; i++)
                row[at * D + i] = centre[i] + (float)(scale * spread * mix_gauss());
    }
    assert_int_equal(left, 0);
    for (size_t i = 0; i < QUERIES * D; i++)
        query[i] = (float)(scale * mix_gauss());
}

/* As fre/linalg.h says it. */
static uint32_t slow(const float *q, size_t probes)
{
    double best = (double)INFINITY;
    bool taken[GROUPS] = {false};
    float mean[GROUPS][D];
    uint32_t found = 0;

    for (size_t g = 0, at = 0; g < GROUPS; at += size[g], g++)
        for (size_t i = 0; i < D; i++) {
            double sum = 0;

            for (uint32_t j = 0; j < size[g]; j++)
                sum += (double)row[(at + j) * D + i];
            mean[g][i] = (float)(sum / size[g]);
        }
    for (size_t k = 0; k < probes; k++) {
        size_t near = GROUPS;

        for (size_t g = 0; g < GROUPS; g++)
            if (!taken[g] &&
                (near == GROUPS || fre_dist2(q, mean[g], D) < fre_dist2(q, mean[near], D)))
                near = g;
        taken[near] = true;
    }
    for (size_t g = 0, at = 0; g < GROUPS; at += size[g], g++)
        for (uint32_t j = 0; taken[g] && j < size[g]; j++)
            if (fre_dist2(q, row + (at + j) * D, D) < best) {
                best = fre_dist2(q, row + (at + j) * D, D);
                found = (uint32_t)(at + j);
            }
    return found;
}

static fre_grouped *open_grouped(size_t probes)
{
    fre_grouped *g = NULL;

    assert_int_equal(fre_grouped_new(&g, (fre_rows){row, ROWS}, D, size, GROUPS, probes), FRE_OK);
    return g;
}

static void compare(size_t probes)
{
    static uint32_t index[QUERIES];
    static double dist2[QUERIES];
    double exact;
    fre_grouped *g = open_grouped(probes);

    assert_int_equal(fre_grouped_nearest(g, index, dist2, (fre_rows){query, QUERIES}, 2), FRE_OK);
    for (size_t i = 0; i < QUERIES; i++) {
        assert_int_equal(index[i], slow(query + i * D, probes));
        exact = fre_dist2(query + i * D, row + index[i] * D, D);
        assert_memory_equal(&dist2[i], &exact, sizeof exact);
    }
    fre_grouped_free(g);
}

static void follows_its_definition(void **state)
{
    static const size_t probes[] = {1, 2, 5, GROUPS};

    (void)state;
    make(0.7, 1);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        compare(probes[i]);
}

/* Rows that differ by less than a float product's rounding, equal ones, and numbers whose squares are
 * no floats. */
static void where_scores_do_not_tell(void **state)
{
    (void)state;
    make(3e-7, 1);
    compare(3);
    make(0.5, 1);
    for (size_t j = 1; j < ROWS; j += 3)
        memcpy(row + j * D, row + (j - 1) * D, D * sizeof *row);
    compare(2);
    make(0.5, 1e25);
    compare(4);
    make(0.5, 1e-25);
    compare(4);
}

static void cuts_and_threads_do_not_matter(void **state)
{
    static const size_t cut[] = {1, 7, 100, 1023, QUERIES};
    static uint32_t first[QUERIES], index[QUERIES];
    fre_grouped *g;

    (void)state;
    make(0.7, 1);
    g = open_grouped(3);
    assert_int_equal(fre_grouped_nearest(g, first, NULL, (fre_rows){query, QUERIES}, 1), FRE_OK);
    for (size_t c = 0; c < sizeof cut / sizeof *cut; c++) {
        memset(index, 0xff, sizeof index);
        for (size_t at = 0; at < QUERIES; at += cut[c]) {
            const size_t n = QUERIES - at < cut[c] ? QUERIES - at : cut[c];

            assert_int_equal(fre_grouped_nearest(g, index + at, NULL, (fre_rows){query + at * D, n},
                                                 1 + (uint32_t)c),
                             FRE_OK);
        }
        assert_memory_equal(index, first, sizeof index);
    }
    fre_grouped_free(g);
}

static void wrong_arguments_are_refused(void **state)
{
    fre_grouped *g = NULL;
    uint32_t wrong[GROUPS], index;

    (void)state;
    make(0.7, 1);
    memcpy(wrong, size, sizeof wrong);
    wrong[0]++;
    assert_int_equal(fre_grouped_new(&g, (fre_rows){row, ROWS}, D, wrong, GROUPS, 1), FRE_E_ARG);
    assert_int_equal(fre_grouped_new(&g, (fre_rows){row, ROWS}, D, size, GROUPS, 0), FRE_E_ARG);
    assert_int_equal(fre_grouped_new(&g, (fre_rows){row, ROWS}, D, size, GROUPS, GROUPS + 1),
                     FRE_E_ARG);
    wrong[0] = 0;
    assert_int_equal(fre_grouped_new(&g, (fre_rows){row, ROWS}, D, wrong, GROUPS, 1), FRE_E_ARG);
    assert_null(g);
    g = open_grouped(1);
    assert_int_equal(fre_grouped_nearest(g, &index, NULL, (fre_rows){query, 1}, 0), FRE_E_ARG);
    fre_grouped_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_its_definition),
        cmocka_unit_test(where_scores_do_not_tell),
        cmocka_unit_test(cuts_and_threads_do_not_matter),
        cmocka_unit_test(wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
