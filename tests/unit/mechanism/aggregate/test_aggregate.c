/* tests/unit/mechanism/aggregate/test_aggregate.c
 * sums against an independent computation, the predicate at its edge,
 * coins, noise and padding against their laws, refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/linalg.h>
#include <fre/aggregate.h>

#include "assert_num.h"

#include <math.h>
#include <string.h>

#define D 24u

static const uint8_t seed[FRE_SEED_BYTES] = {7};

static void released_from_tau_on(void **state)
{
    (void)state;
    for (uint64_t tau = 1; tau < 40; tau++) {
        for (uint64_t c = 0; c < 80; c++)
            assert_int_equal(fre_aggregate_released(c, tau), c + 1 > tau);
    }
    assert_true(fre_aggregate_released(UINT64_MAX, UINT64_MAX));
    assert_false(fre_aggregate_released(UINT64_MAX - 1, UINT64_MAX));
}

static void coins_have_their_rate(void **state)
{
    const uint64_t rates[] = {0, 1, UINT64_C(3) << 30, FRE_P_ONE};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "coins"), FRE_OK);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const double p = (double)rates[i] / (double)FRE_P_ONE, n = 100000;
        double heads = 0;

        for (int j = 0; j < (int)n; j++)
            heads += fre_aggregate_coin(&r, rates[i]);
        /* five and a half standard deviations: 4e-8 */
        assert_true(fabs(heads - n * p) <= 5.5 * sqrt(n * p * (1 - p)) + 5e-3);
    }
    fre_rng_wipe(&r);
}

/* First coins of many names, and later ones of a name, have their rate too; each repeats, and user, text, level
 * and key all matter. */
static void named_coins_have_their_rate(void **state)
{
    const uint64_t p32 = UINT64_C(3) << 30;
    const double n = 100000, off = 5.5 * sqrt(n * .75 * .25);
    double first = 0, later = 0, agree = 0;

    (void)state;
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        uint8_t user[FRE_COIN_ID_BYTES] = {0}, text[FRE_COIN_ID_BYTES] = {0};
        fre_coin_key key = {.b = {1}};
        fre_rng r;
        bool heads, other;

        memcpy(user, &i, sizeof i);
        assert_int_equal(fre_aggregate_coins(&r, &key, 0, user, text), FRE_OK);
        heads = fre_aggregate_coin(&r, p32);
        first += heads;
        assert_int_equal(fre_aggregate_coins(&r, &key, 0, user, text), FRE_OK);
        assert_int_equal(fre_aggregate_coin(&r, p32), heads);
        (void)fre_aggregate_coin(&r, p32);
        later += fre_aggregate_coin(&r, p32);
        memcpy(text, &i, i % 4 == 3 ? sizeof i : 0);
        text[15] = i % 4 == 0;
        key.b[31] = i % 4 == 1;
        assert_int_equal(fre_aggregate_coins(&r, &key, i % 4 == 2, i % 4 == 3 ? NULL : user, text),
                         FRE_OK);
        other = fre_aggregate_coin(&r, p32);
        agree += other == heads;
    }
    assert_true(fabs(first - n * .75) < off);
    assert_true(fabs(later - n * .75) < off);
    assert_true(fabs(agree - n * .625) < 5.5 * sqrt(n * .625 * .375)); /* .75^2 + .25^2 */
}

/* A record of a public cell is its offset, cut twice; of the grid it is itself. */
static void records_are_added_by_their_kind(void **state)
{
    const fre_aggregate_lattice l = {.step = 0x1p-10, .norm_bound = .5, .points = 10};
    const float centre[2] = {.6f, 0};
    float x[2] = {2, 0}, y[2] = {NAN, 0};
    int64_t sum[2] = {0, 0};

    (void)state;
    assert_int_equal(fre_aggregate_add_record(sum, x, 2, 2, centre, 1, &l), FRE_OK);
    assert_int_equal(sum[0], 2 * lrint(.4 * 1024)); /* cut to 1, which is .4 from the centre */
    x[0] = .25f;
    x[1] = 0;
    assert_int_equal(fre_aggregate_add_record(sum, x, 2, 1, NULL, 1, &l), FRE_OK);
    assert_int_equal(sum[0], 2 * lrint(.4 * 1024) + 256);
    assert_int_equal(fre_aggregate_add_record(sum, y, 2, 1, centre, 1, &l), FRE_E_ARG);
    assert_int_equal(sum[0], 2 * lrint(.4 * 1024) + 256);
}

/* Points on a coarse lattice: half-way cases, both signs, several copies. */
static void sums_are_nearest_lattice_points(void **state)
{
    const fre_aggregate_lattice l = {.step = .125, .norm_bound = 100, .points = 1000};
    const float x[4] = {.3f, -.3f, 1.0f, -.05f};
    const int64_t expected[4] = {2, -2, 8, 0};
    int64_t sum[4] = {0, 1, 2, 3};

    (void)state;
    assert_int_equal(fre_aggregate_add(sum, x, 4, 3, &l), FRE_OK);
    for (int j = 0; j < 4; j++)
        assert_int_equal(sum[j], j + 3 * expected[j]);
    assert_int_equal(fre_aggregate_add(sum, x, 4, 0, &l), FRE_OK);
    assert_int_equal(sum[0], 6);
}

/* A longer embedding lands on the sphere of the bound, in its own direction, and not above. */
static void norms_are_clipped(void **state)
{
    const fre_aggregate_lattice l = {.step = 0x1p-40, .norm_bound = 1, .points = 10};
    float x[D];
    int64_t sum[D] = {0};
    double norm = 0, dot = 0;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "clip"), FRE_OK);
    for (size_t j = 0; j < D; j++)
        x[j] = (float)fre_sample_rounded_gaussian(&r, 1u << 20) / 1e5f;
    assert_true(fre_norm(x, D) > 2);
    assert_int_equal(fre_aggregate_add(sum, x, D, 1, &l), FRE_OK);
    for (size_t j = 0; j < D; j++) {
        const double y = (double)sum[j] * l.step;

        norm += y * y;
        dot += y * (double)x[j];
    }
    assert_close(sqrt(norm), 1, 1e-10, 0);
    assert_true(sqrt(norm) <= 1 + l.step * sqrt(D) / 2);
    assert_close(dot / sqrt(norm) / fre_norm(x, D), 1, 1e-12, 0);
    fre_rng_wipe(&r);
}

static void too_large_a_coordinate_is_refused(void **state)
{
    const fre_aggregate_lattice l = {.step = 1, .norm_bound = 1e30, .points = 1023};
    float x[3] = {1, 0x1p51f, 2};
    int64_t sum[3] = {5, 6, 7};

    (void)state;
    assert_int_equal(fre_aggregate_add(sum, x, 3, 1, &l), FRE_E_DATA); /* 2^51 * 1024 = 2^61 */
    assert_int_equal(sum[0], 5);
    assert_int_equal(sum[2], 7);
    x[1] = 0x1.fffffep50f;
    assert_int_equal(fre_aggregate_add(sum, x, 3, 1023, &l), FRE_OK);
    assert_true(sum[1] < INT64_C(1) << 61);
    x[1] = NAN;
    assert_int_equal(fre_aggregate_add(sum, x, 3, 1, &l), FRE_E_DATA);
}

static void noise_has_its_variance_in_every_coordinate(void **state)
{
    const uint64_t scale = 1000;
    const int n = 20000;
    double first[4] = {0}, second[4] = {0}, cross = 0;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "noise"), FRE_OK);
    for (int i = 0; i < n; i++) {
        int64_t sum[4] = {10, 20, 30, 40};

        fre_aggregate_noise(sum, 4, &r, scale);
        for (int j = 0; j < 4; j++) {
            const double z = ((double)sum[j] - 10 * (j + 1)) / (double)scale;

            first[j] += z;
            second[j] += z * z;
        }
        cross += ((double)sum[0] - 10) * ((double)sum[1] - 20) / 1e6;
    }
    for (int j = 0; j < 4; j++) {
        assert_true(fabs(first[j]) < 5.5 * sqrt(n));
        assert_true(fabs(second[j] - n) < 5.5 * sqrt(2.0 * n));
    }
    assert_true(fabs(cross) < 5.5 * sqrt(n));
    fre_rng_wipe(&r);
}

static void no_noise_draws_nothing(void **state)
{
    int64_t sum[2] = {3, 4};
    fre_rng a, b;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&a, seed, "none"), FRE_OK);
    assert_int_equal(fre_rng_init_seeded(&b, seed, "none"), FRE_OK);
    fre_aggregate_noise(sum, 2, &a, 0);
    assert_int_equal(sum[0], 3);
    assert_int_equal(fre_rng_u64(&a), fre_rng_u64(&b));
    fre_rng_wipe(&a);
    fre_rng_wipe(&b);
}

static void means_divide(void **state)
{
    const int64_t sum[3] = {-8, 0, 12};
    float mean[3];

    (void)state;
    fre_aggregate_mean(mean, sum, 3, .5, 4);
    assert_close((double)mean[0], -1.0, 0, 0);
    assert_close((double)mean[1], 0.0, 0, 0);
    assert_close((double)mean[2], 1.5, 0, 0);
}

static void padding_has_its_law_for_each_multiplicity(void **state)
{
    enum { N = 20000, GAMMA = 4, TAU = 4 };
    const fre_distributed d = {.on = true, .lambda = 1.5, .gamma = GAMMA};
    double seen[TAU - 1][2 * GAMMA + 1] = {{0}}, cross = 0, variance = 0;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "padding"), FRE_OK);
    for (int i = 0; i < N; i++) {
        uint32_t tags[TAU - 1];

        assert_int_equal(fre_aggregate_padding(tags, TAU, &r, &d), FRE_OK);
        for (int m = 0; m < TAU - 1; m++) {
            assert_true(tags[m] <= 2 * GAMMA);
            seen[m][tags[m]]++;
        }
        cross += ((double)tags[0] - GAMMA) * ((double)tags[1] - GAMMA);
    }
    for (int m = 0; m < TAU - 1; m++) {
        double chi = 0;

        for (int u = 0; u <= 2 * GAMMA; u++) {
            const double e = N * fre_tsdlap_mass(d.lambda, GAMMA, u);

            chi += (seen[m][u] - e) * (seen[m][u] - e) / e;
        }
        assert_true(chi < 50); /* 8 degrees of freedom: 4e-8 */
    }
    for (int u = 0; u <= 2 * GAMMA; u++)
        variance += (u - GAMMA) * (u - GAMMA) * fre_tsdlap_mass(d.lambda, GAMMA, u);
    assert_true(fabs(cross) < 5.5 * variance * sqrt(N));
    fre_rng_wipe(&r);
}

/* Where every draw is the largest there are as many dummies as there can be. */
static void padding_has_a_most(void **state)
{
    const uint64_t large[] = {UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1000000000000), UINT64_MAX};
    fre_distributed d = {.on = true, .lambda = 65536, .gamma = 3};

    (void)state;
    for (uint64_t tau = 0; tau < 200; tau++) {
        uint64_t sum = 0;

        for (uint64_t m = 1; m < tau; m++)
            sum += m * 2 * d.gamma;
        assert_int_equal(fre_aggregate_padding_most(tau, &d), sum);
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        d.gamma = FRE_TSDLAP_GAMMA_MAX;
        assert_true(fre_aggregate_padding_most(large[i], &d) == UINT64_MAX);
        d.gamma = 0;
        assert_int_equal(fre_aggregate_padding_most(large[i], &d), 0);
    }
}

static void padding_refuses_what_it_cannot_draw(void **state)
{
    const double bad[] = {0, -1, NAN, INFINITY, 1. / 3, 0x1p-17, 65537};
    uint32_t tags[3] = {7, 8, 9};
    fre_distributed d = {.on = true, .lambda = 1, .gamma = 2};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "refused"), FRE_OK);
    assert_int_equal(fre_aggregate_padding(tags, 1, &r, &d), FRE_E_ARG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        d.lambda = bad[i];
        assert_int_equal(fre_aggregate_padding(tags, 4, &r, &d), FRE_E_ARG);
    }
    d.lambda = 0x1p-16;
    d.gamma = FRE_TSDLAP_GAMMA_MAX + 1;
    assert_int_equal(fre_aggregate_padding(tags, 4, &r, &d), FRE_E_ARG);
    assert_int_equal(tags[0], 7);
    d.gamma = 5; /* so narrow that it always draws gamma */
    assert_int_equal(fre_aggregate_padding(tags, 4, &r, &d), FRE_OK);
    assert_int_equal(tags[0], 5);
    assert_int_equal(tags[2], 5);
    fre_rng_wipe(&r);
}

/* ---- levels of public cells -------------------------------------------------------------------- */

static void noisy_counts_have_their_law(void **state)
{
    const uint64_t scale = 5u << FRE_COUNT_BITS; /* sigma 5 */
    const double n = 40000;
    double sum = 0, squares = 0;
    uint64_t released = 0;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "counts"), FRE_OK);
    for (double i = 0; i < n; i++) {
        const int64_t c = fre_aggregate_noisy_count(47, &r, scale);
        const double x = ldexp((double)c, -(int)FRE_COUNT_BITS) - 47;

        sum += x;
        squares += x * x;
        released += fre_aggregate_noisy_released(c, 50);
    }
    assert_close(sum / n, 0, 6 * 5 / sqrt(n), 0);
    assert_close(squares / n, 25, 6 * 25 * sqrt(2 / n), 0);
    assert_close((double)released / n, 0.5 * erfc(3 / 5.0 / sqrt(2)), 6 * 0.5 / sqrt(n), 0);
    fre_rng_wipe(&r);
}

static void noisy_counts_at_their_edges(void **state)
{
    const int64_t one = (int64_t)1 << FRE_COUNT_BITS;
    fre_rng r;
    fre_rng untouched;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "counts"), FRE_OK);
    untouched = r;
    assert_int_equal(fre_aggregate_noisy_count(1000000, &r, 0), 1000000 * one);
    assert_memory_equal(&r, &untouched, sizeof r);
    assert_true(fre_aggregate_noisy_released(50 * one, 50));
    assert_false(fre_aggregate_noisy_released(50 * one - 1, 50));
    assert_false(fre_aggregate_noisy_released(-one, 1));
    assert_int_equal(fre_aggregate_published_count(50 * one + one / 2), 51);
    assert_int_equal(fre_aggregate_published_count(50 * one + one / 2 - 1), 50);
    assert_int_equal(fre_aggregate_published_count(-7 * one), 1);
    assert_int_equal(fre_aggregate_published_count(one / 3), 1);
    fre_rng_wipe(&r);
}

/* What the accountant takes for certain: no record moves a sum by more than R + beta sqrt(d)/2, whatever
 * the embedding and the centre. */
static void offsets_never_exceed_their_radius(void **state)
{
    const double radius = 0.6, step = ldexp(1, -14), most = radius / step + sqrt(D) / 2 + 1e-6;
    const fre_aggregate_lattice l = {step, radius, 10};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "offsets"), FRE_OK);
    for (size_t i = 0; i < 20000; i++) {
        float x[D], centre[D];
        int64_t sum[D] = {0};
        const double size = i % 5 == 0 ? 1e30 : i % 5 == 1 ? radius : 1;
        double norm = 0;

        for (size_t j = 0; j < D; j++) {
            x[j] = (float)(size * ((double)fre_rng_u32(&r) / 4294967296.0 - 0.5));
            centre[j] = i % 5 < 2 ? 0 : (float)((double)fre_rng_u32(&r) / 4294967296.0 - 0.5);
        }
        if (i % 5 == 1)
            for (size_t j = 0; j < D; j++)
                x[j] = (float)((double)x[j] * radius / fre_norm(x, D));
        fre_aggregate_offset(x, centre, D, radius);
        assert_int_equal(fre_aggregate_add(sum, x, D, 1, &l), FRE_OK);
        for (size_t j = 0; j < D; j++)
            norm += (double)sum[j] * (double)sum[j];
        assert_true(sqrt(norm) <= most);
    }
    fre_rng_wipe(&r);
}

static void offsets_lead_back_to_their_place(void **state)
{
    const float centre[3] = {1, 2, 3}, near[3] = {1.1f, 2, 2.8f};
    float x[3], far[3] = {5, 2, 3};

    (void)state;
    memcpy(x, near, sizeof x);
    fre_aggregate_offset(x, centre, 3, 0.6);
    assert_close(x[0], 0.1, 1e-6, 0);
    assert_close(x[2], -0.2, 1e-6, 0);
    fre_aggregate_from_centre(x, centre, 3, 1, 0.6);
    assert_close(x[0], 1.1, 1e-6, 0);
    assert_close(x[2], 2.8, 1e-6, 0);
    fre_aggregate_offset(far, centre, 3, 0.6);
    assert_close(far[0], 0.6, 1e-6, 0);
    fre_aggregate_from_centre(far, centre, 3, 1.5,
                              0.6); /* the gain goes no further than the radius */
    assert_close(far[0], 1.6, 1e-6, 0);
    memcpy(x, near, sizeof x);
    fre_aggregate_offset(x, centre, 3, 0.6);
    fre_aggregate_from_centre(x, centre, 3, 1.5, 0.6);
    assert_close(x[0], 1.15, 1e-6, 0);
}

/* Exact counts toss a fresh coin a record and draw nothing else; noisy ones count all and draw once a
 * cell, the empty one's too. */
static void levels_count_and_release(void **state)
{
    const fre_plan_level sampled = {
        .level = {.counts = FRE_COUNTS_SAMPLED, .p32 = FRE_P_ONE / 4, .tau = 50}};
    const fre_plan_level noisy = {
        .level = {.counts = FRE_COUNTS_NOISY, .p32 = FRE_P_ONE / 4, .tau = 1},
        .count_sigma_lattice = 1u << FRE_COUNT_BITS};
    fre_rng r, before;
    uint64_t shown, spurious = 0;
    double heads;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "levels"), FRE_OK);
    heads = (double)fre_aggregate_level_weight(100000, &sampled, &r);
    assert_true(fabs(heads - 25000) < 5 * sqrt(100000 * .25 * .75));
    assert_int_not_equal(fre_aggregate_level_weight(100000, &sampled, &r), (uint64_t)heads);
    before = r;
    assert_int_equal(fre_aggregate_level_weight(77, &noisy, &r), 77);
    assert_true(fre_aggregate_level_released(&shown, 50, &sampled, &r));
    assert_int_equal(shown, 50);
    assert_false(fre_aggregate_level_released(&shown, 49, &sampled, &r));
    assert_memory_equal(&r, &before, sizeof r);
    for (int i = 0; i < 10000; i++) {
        const bool released = fre_aggregate_level_released(&shown, 0, &noisy, &r);

        spurious += released;
        assert_true(!released || shown >= 1);
    }
    assert_true(fabs((double)spurious - 10000 * .158655) < 5 * sqrt(10000 * .158655 * .84));
    assert_true(fre_aggregate_goes_on(FRE_AGGREGATE_NOWHERE));
    assert_false(fre_aggregate_goes_on(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_from_tau_on),
        cmocka_unit_test(coins_have_their_rate),
        cmocka_unit_test(named_coins_have_their_rate),
        cmocka_unit_test(records_are_added_by_their_kind),
        cmocka_unit_test(sums_are_nearest_lattice_points),
        cmocka_unit_test(norms_are_clipped),
        cmocka_unit_test(too_large_a_coordinate_is_refused),
        cmocka_unit_test(noise_has_its_variance_in_every_coordinate),
        cmocka_unit_test(no_noise_draws_nothing),
        cmocka_unit_test(means_divide),
        cmocka_unit_test(noisy_counts_have_their_law),
        cmocka_unit_test(noisy_counts_at_their_edges),
        cmocka_unit_test(offsets_never_exceed_their_radius),
        cmocka_unit_test(offsets_lead_back_to_their_place),
        cmocka_unit_test(levels_count_and_release),
        cmocka_unit_test(padding_has_its_law_for_each_multiplicity),
        cmocka_unit_test(padding_has_a_most),
        cmocka_unit_test(padding_refuses_what_it_cannot_draw),
    };

    return cmocka_run_group_tests_name("aggregate", tests, NULL, NULL);
}
