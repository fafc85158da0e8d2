/* Centres of rows: clusters that are plain to see are found, each round lowers the distances, and the
 * threads change no bit. */
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

#define D 12u
#define K 8u
#define N 2000u

static float row[N * D], truth[K * D];

static void make(double spread)
{
    mix = 9;
    for (size_t i = 0; i < K * D; i++)
        truth[i] = (float)mix_gauss();
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < D; k++)
            row[i * D + k] = truth[i % K * D + k] + (float)(spread * mix_gauss());
}

static void find(float *centre, size_t k, size_t n, uint32_t rounds, uint32_t threads,
                 bool spherical)
{
    const uint8_t seed[FRE_SEED_BYTES] = {3};
    fre_rng rng;
    fre_kmeans_opts o = {.rounds = rounds, .threads = threads, .spherical = spherical, .rng = &rng};

    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    assert_int_equal(fre_kmeans(centre, k, (fre_rows){row, n}, D, &o), FRE_OK);
    fre_rng_wipe(&rng);
}

static double error_of(const float *centre, size_t k)
{
    static uint32_t index[N];
    static double dist[N];
    double sum = 0;

    assert_int_equal(fre_nearest(index, dist, (fre_rows){row, N}, (fre_rows){centre, k}, D, 1, 1),
                     FRE_OK);
    for (size_t i = 0; i < N; i++)
        sum += dist[i] * dist[i] / N;
    return sum;
}

static void plain_clusters_are_found(void **state)
{
    float centre[4 * K * D];

    (void)state;
    make(0.05);
    find(centre, 4 * K, N, 20, 2, false); /* enough that no cluster begins without a centre */
    assert_true(error_of(centre, 4 * K) < 0.05 * 0.05 * D);
    for (size_t j = 0; j < K; j++) {
        double near = 1;

        for (size_t i = 0; i < 4 * K; i++)
            near = fmin(near, fre_dist2(centre + i * D, truth + j * D, D));
        assert_true(near < 0.02);
    }
}

/* One centre for all is the mean. */
static void one_centre_is_the_mean(void **state)
{
    float centre[D];

    (void)state;
    make(1);
    find(centre, 1, N, 3, 1, false);
    for (size_t k = 0; k < D; k++) {
        double sum = 0;

        for (size_t i = 0; i < N; i++)
            sum += (double)row[i * D + k];
        assert_true(fabs(sum / N - (double)centre[k]) < 1e-6);
    }
    find(centre, 1, N, 3, 1, true);
    assert_true(fabs(fre_norm(centre, D) - 1) < 1e-6);
}

static void rounds_lower_the_distances(void **state)
{
    double before = (double)INFINITY;
    float centre[20 * D];

    (void)state;
    make(1);
    for (uint32_t rounds = 1; rounds <= 16; rounds *= 2) {
        double now;

        find(centre, 20, N, rounds, 1, false);
        now = error_of(centre, 20);
        assert_true(now < before);
        before = now;
    }
}

static void threads_do_not_matter(void **state)
{
    float first[50 * D], centre[50 * D];

    (void)state;
    make(1);
    find(first, 50, N, 5, 1, true);
    for (uint32_t threads = 2; threads <= 5; threads++) {
        find(centre, 50, N, 5, threads, true);
        assert_memory_equal(centre, first, sizeof centre);
    }
}

/* Equal rows: centres that lose all of theirs take the rows that are farthest off. */
static void empty_centres_move(void **state)
{
    float centre[4 * D];
    double found = 0;

    (void)state;
    make(0);
    memcpy(row + D, row, D * sizeof *row);
    for (size_t i = 2; i < 40; i++)
        memcpy(row + i * D, row, D * sizeof *row);
    for (size_t k = 0; k < D; k++)
        row[39 * D + k] += 3;
    find(centre, 4, 40, 6, 1, false);
    for (size_t j = 0; j < 4; j++)
        found += fre_dist2(centre + j * D, row + 39 * D, D) < 1e-9;
    assert_true(found > 0);
}

static void wrong_arguments_are_refused(void **state)
{
    const uint8_t seed[FRE_SEED_BYTES] = {3};
    fre_rng rng;
    fre_kmeans_opts o = {.rounds = 1, .threads = 1, .rng = &rng};
    float centre[D];

    (void)state;
    make(1);
    assert_int_equal(fre_rng_init_seeded(&rng, seed, "test"), FRE_OK);
    assert_int_equal(fre_kmeans(centre, 0, (fre_rows){row, N}, D, &o), FRE_E_ARG);
    assert_int_equal(fre_kmeans(centre, 3, (fre_rows){row, 2}, D, &o), FRE_E_ARG);
    o.rounds = 0;
    assert_int_equal(fre_kmeans(centre, 1, (fre_rows){row, N}, D, &o), FRE_E_ARG);
    o.rounds = 1;
    fre_interrupt_set();
    assert_int_equal(fre_kmeans(centre, 1, (fre_rows){row, N}, D, &o), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    fre_rng_wipe(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_clusters_are_found),   cmocka_unit_test(one_centre_is_the_mean),
        cmocka_unit_test(rounds_lower_the_distances), cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(empty_centres_move),         cmocka_unit_test(wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
