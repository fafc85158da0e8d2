/* Samplers: exact laws by chi-square and moments, exhaustive coins, scripted digits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/sampler.h>

#include "assert_num.h"
#include "law.h"

/* Upper tail of the standard normal. */
static double tail(double x)
{
    return 0.5 * erfc(x / sqrt(2.0));
}

/* Pr[lo <= round(scale Z) <= hi], from the tail on the bin's own side. */
static double bin_mass(double scale, double lo, double hi)
{
    double a = (lo - 0.5) / scale, b = (hi + 0.5) / scale;

    return a >= 0 ? tail(a) - tail(b) : tail(-b) - tail(-a);
}

/* Chi-square over `bins` bins of `width` integers centred at 0, outer bins open-ended. */
static double chi_square(uint8_t seed, uint64_t scale, int bins, int64_t width, int draws)
{
    fre_rng r;
    double *seen = calloc((size_t)bins, sizeof *seen);
    double chi = 0, s = (double)scale, w = (double)width;
    int i;

    assert_non_null(seen);
    law_seeded(&r, seed);
    for (i = 0; i < draws; i++) {
        int64_t z = fre_sample_rounded_gaussian(&r, scale);
        int64_t at = z + (width * bins) / 2;
        int64_t b = at < 0 ? 0 : at / width;

        seen[b >= bins ? bins - 1 : b] += 1;
    }
    for (i = 0; i < bins; i++) {
        double lo = i == 0 ? -100 * s : (double)((int64_t)i * width - (width * bins) / 2);
        double hi =
            i == bins - 1 ? 100 * s : (double)((int64_t)i * width - (width * bins) / 2) + w - 1;
        double expect = draws * bin_mass(s, lo, hi);

        chi += (seen[i] - expect) * (seen[i] - expect) / expect;
    }
    free(seen);
    fre_rng_wipe(&r);
    return chi;
}

/* The 1 - 1e-6 quantile of chi-square is below dof + 4.76 sqrt(2 dof) + 16. */
static void check_law(uint64_t scale, int bins, int64_t width)
{
    double dof = bins - 1;
    double limit = dof + 4.76 * sqrt(2 * dof) + 16;

    assert_true(chi_square(1, scale, bins, width, 400000) < limit);
    assert_true(chi_square(2, scale, bins, width, 400000) < limit);
}

static void gaussian_small_scales(void **state)
{
    (void)state;
    check_law(1, 9, 1);
    check_law(2, 15, 1);
    check_law(3, 21, 1);
}

static void gaussian_large_scales(void **state)
{
    (void)state;
    check_law(1000, 61, 121);
    check_law(1557, 41, 301);
    check_law(FRE_SAMPLER_SCALE_MAX, 31, (int64_t)(FRE_SAMPLER_SCALE_MAX / 4) + 1);
}

/* A law with the wrong scale or centre must not pass the same test. */
static void gaussian_test_has_power(void **state)
{
    double chi = 0, dof = 60;
    int i;

    (void)state;
    for (i = -30; i <= 30; i++) {
        double lo = i * 121.0 - 60, hi = i * 121.0 + 60;
        double is = bin_mass(1010, lo, hi), ought = bin_mass(1000, lo, hi);

        chi += 400000 * (is - ought) * (is - ought) / ought;
    }
    assert_true(chi + dof > dof + 4.76 * sqrt(2 * dof) + 16);
}

static void gaussian_moments(void **state)
{
    enum { DRAWS = 1000000 };
    const double scale = 4096;
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, n = DRAWS;
    fre_rng r;
    int i;

    (void)state;
    law_seeded(&r, 3);
    for (i = 0; i < DRAWS; i++) {
        double z = (double)fre_sample_rounded_gaussian(&r, 4096) / scale;

        m1 += z;
        m2 += z * z;
        m3 += z * z * z;
        m4 += z * z * z * z;
    }
    /* Five standard errors; rounding adds 1/(12 scale^2) to the variance. */
    assert_close(m1 / n, 0, 5 / sqrt(n), 0);
    assert_close(m2 / n, 1, 5 * sqrt(2 / n), 0);
    assert_close(m3 / n, 0, 5 * sqrt(15 / n), 0);
    assert_close(m4 / n, 3, 5 * sqrt(96 / n), 0);
    fre_rng_wipe(&r);
}

static void gaussian_repeats_with_its_seed(void **state)
{
    fre_rng a, b, c;
    int i, same = 0;

    (void)state;
    law_seeded(&a, 4);
    law_seeded(&b, 4);
    law_seeded(&c, 5);
    for (i = 0; i < 1000; i++) {
        int64_t z = fre_sample_rounded_gaussian(&a, 1u << 20);

        assert_true(z == fre_sample_rounded_gaussian(&b, 1u << 20));
        same += z == fre_sample_rounded_gaussian(&c, 1u << 20);
    }
    assert_true(same < 5);
}

/* k = 0 (a run of length one), x = the given digits, accepted at once, positive sign. */
static int64_t scripted_draw(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint64_t scale)
{
    const uint32_t digits[4] = {x0, x1, x2, x3};
    uint32_t words[9] = {0x10, 0x20, x0, UINT32_MAX, 0, 0, 0, 0, 0};
    fre_rng r;

    memcpy(words + 4, digits + 1, 3 * sizeof digits[0]);
    law_scripted(&r, words, 9);
    return fre_sample_rounded_gaussian(&r, scale);
}

/* 3x rounds up beyond x = 1/6 = .2aaaa...: later digits decide where the first 64 cannot. */
static void gaussian_rounds_by_later_digits(void **state)
{
    const uint32_t a = 0xaaaaaaaa;

    (void)state;
    assert_int_equal(scripted_draw(0x2aaaaaaa, a, a, a + 1, 3), 1);
    assert_int_equal(scripted_draw(0x2aaaaaaa, a, a, a - 1, 3), 0);
    assert_int_equal(scripted_draw(0x2aaaaaaa, a, a + 1, 0, 3), 1);
    assert_int_equal(scripted_draw(0x2aaaaaaa, a, a - 1, 0, 3), 0);
    assert_int_equal(scripted_draw(0x2aaaaaaa, a + 1, 0, 0, 3), 1);
    assert_int_equal(scripted_draw(0x2aaaaaaa, a - 1, 0, 0, 3), 0);
    assert_int_equal(scripted_draw(0xffffffff, 0xffffffff, 0, 0, 1), 1);
    assert_int_equal(scripted_draw(0x7fffffff, 0xffffffff, 0, 0, 1), 0);
    assert_int_equal(scripted_draw(0x80000000, 0, 0, 0, 1), 1);
    /* floor of the largest scale: (2^48)(x0 2^-32 + ...) keeps 16 bits of the second word. */
    assert_int_equal(scripted_draw(0x00000001, 0x00017fff, 0, 0, FRE_SAMPLER_SCALE_MAX), 65537);
    assert_int_equal(scripted_draw(0x00000001, 0x00018000, 0, 0, FRE_SAMPLER_SCALE_MAX), 65538);
}

static void pitfall_21_coins_turn_at_whole_numbers(void **state)
{
    const uint32_t words[6] = {0, 0, 1, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    fre_rng r;
    int i;

    (void)state;
    law_seeded(&r, 6);
    for (i = 0; i < 10000; i++) {
        assert_false(fre_sample_coin(&r, 0));
        assert_true(fre_sample_coin(&r, FRE_P_ONE));
    }
    law_scripted(&r, words, 6);
    assert_false(fre_sample_coin(&r, 0));
    assert_true(fre_sample_coin(&r, 1));
    assert_false(fre_sample_coin(&r, 1));
    assert_false(fre_sample_coin(&r, UINT32_MAX));
    assert_true(fre_sample_coin(&r, FRE_P_ONE));
    assert_false(fre_sample_coin(&r, 0x80000000u));
}

static void coin_rate(void **state)
{
    const double rates[] = {0.1, 0.3, 0.5, 0.8, 0.999};
    const double n = 400000;
    fre_rng r;
    size_t i;

    (void)state;
    law_seeded(&r, 7);
    for (i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint64_t p32 = (uint64_t)(rates[i] * 4294967296.0);
        double heads = 0;
        int j;

        for (j = 0; j < (int)n; j++)
            heads += fre_sample_coin(&r, p32) ? 1 : 0;
        assert_close(heads / n, rates[i], 5 * sqrt(rates[i] * (1 - rates[i]) / n), 0);
    }
}

/* Every rational with a denominator up to 12: certain cases exactly, the others by frequency. */
static void bernoulli_small_rationals(void **state)
{
    const double n = 20000;
    fre_rng r;
    uint64_t num, den;

    (void)state;
    law_seeded(&r, 8);
    for (den = 1; den <= 12; den++) {
        for (num = 0; num <= den; num++) {
            double p = (double)num / (double)den, heads = 0;
            int j;

            for (j = 0; j < (int)n; j++)
                heads += fre_sample_bernoulli(&r, num, den) ? 1 : 0;
            assert_close(heads / n, p, 5 * sqrt(p * (1 - p) / n), 0);
        }
    }
    assert_true(fre_sample_bernoulli(&r, UINT64_MAX, UINT64_MAX));
    assert_false(fre_sample_bernoulli(&r, 0, UINT64_MAX));
}

/* Against products, and where a digit decides: p32 of one digit, of all, none and more than there are. */
static void binomial_law(void **state)
{
    const uint64_t rates[] = {1, FRE_P_ONE / 2, FRE_P_ONE / 3, FRE_P_ONE - 1, FRE_P_ONE / 10};
    fre_rng r;

    (void)state;
    law_seeded(&r, 12);
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
        const double p = (double)rates[k] * 0x1p-32;
        double seen[14] = {0}, mass[14], choose = 1;

        for (int j = 0; j <= 13; j++) {
            mass[j] = choose * pow(p, j) * pow(1 - p, 13 - j);
            choose *= (13.0 - j) / (j + 1);
        }
        for (int i = 0; i < 40000; i++)
            seen[fre_sample_binomial(&r, 13, rates[k])] += 1;
        assert_true(law_misfit(seen, mass, 14) <= 1);
    }
    assert_int_equal(fre_sample_binomial(&r, 1000, 0), 0);
    assert_int_equal(fre_sample_binomial(&r, 1000, FRE_P_ONE), 1000);
    assert_int_equal(fre_sample_binomial(&r, 0, FRE_P_ONE / 2), 0);
    /* many at once: more bits than are drawn at a time */
    assert_close((double)fre_sample_binomial(&r, 1000003, FRE_P_ONE / 5), 1000003 / 5.0,
                 5 * sqrt(1000003 * 0.16), 0);
    fre_rng_wipe(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_small_scales),
        cmocka_unit_test(gaussian_large_scales),
        cmocka_unit_test(gaussian_test_has_power),
        cmocka_unit_test(gaussian_moments),
        cmocka_unit_test(gaussian_repeats_with_its_seed),
        cmocka_unit_test(gaussian_rounds_by_later_digits),
        cmocka_unit_test(pitfall_21_coins_turn_at_whole_numbers),
        cmocka_unit_test(coin_rate),
        cmocka_unit_test(bernoulli_small_rationals),
        cmocka_unit_test(binomial_law),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
