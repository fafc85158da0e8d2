/* Coins exp(-rational), truncated discrete Laplace, discrete Gaussian: exact by enumeration of
 * what their coins do, and against their laws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assert_num.h"
#include "law.h"
#include "sampler_private.h"

#define SURE 0u           /* a word that is below every ratio tested here */
#define NEVER 0xffffffffu /* and one that is below none */

/* ---- ratio coins --------------------------------------------------------------------------- */

/* The next 32 binary digits of num/den and what is left, one bit at a time. */
static uint32_t digits(fre_wide *num, fre_wide den)
{
    uint32_t out = 0;

    for (int i = 0; i < 32; i++) {
        *num *= 2;
        out = out << 1 | (*num >= den);
        *num -= *num >= den ? den : 0;
    }
    return out;
}

static bool ratio_of(fre_wide num, fre_wide den, uint32_t w0, uint32_t w1, uint32_t w2,
                     size_t *used)
{
    const uint32_t words[3] = {w0, w1, w2};
    fre_rng r;
    bool heads;

    law_scripted(&r, words, 3);
    heads = fre_sample_ratio(&r, num, den);
    *used = 3 - r.left / 4;
    return heads;
}

/* A coin is "uniform real below num/den": it must turn where the digits of num/den say. */
static void check_ratio(fre_wide num, fre_wide den)
{
    fre_wide rest = num;
    const uint32_t a = digits(&rest, den);
    const bool more = rest != 0;
    const uint32_t b = digits(&rest, den);
    size_t used;

    if (a > 0) {
        assert_true(ratio_of(num, den, a - 1, NEVER, NEVER, &used));
        assert_int_equal(used, 1);
    }
    if (a < NEVER) {
        assert_false(ratio_of(num, den, a + 1, 0, 0, &used));
        assert_int_equal(used, 1);
    }
    if (!more) {
        assert_false(ratio_of(num, den, a, 0, 0, &used));
        return;
    }
    if (b > 0)
        assert_true(ratio_of(num, den, a, b - 1, NEVER, &used));
    if (b < NEVER)
        assert_false(ratio_of(num, den, a, b + 1, 0, &used));
    assert_int_equal(used, 2);
}

static void ratio_turns_at_its_digits(void **state)
{
    const fre_wide big = (fre_wide)1 << 96;
    size_t used;

    (void)state;
    for (uint64_t den = 1; den <= 40; den++)
        for (uint64_t num = 1; num < den; num++)
            check_ratio(num, den);
    assert_true(ratio_of(7, 7, NEVER, NEVER, NEVER, &used));
    assert_int_equal(used, 0);
    assert_false(ratio_of(0, 7, 0, 0, 0, &used));
    assert_int_equal(used, 0);
    check_ratio(1, UINT32_MAX);
    check_ratio(UINT32_MAX - 1u, UINT32_MAX);
    check_ratio(12345, (fre_wide)1 << 32);
    check_ratio(UINT32_MAX, ((fre_wide)1 << 32) + 1);
    check_ratio(big / 3, big);
    check_ratio(big - 1, big);
    check_ratio(big - 12345, big - 7);
}

/* ---- exp(-rational) ------------------------------------------------------------------------ */

/* Probability of heads by the tree of the run's coins: coin k shows 1/k and then num/den, and a
 * run ends at its first tails, so that `runs` of them show all of the tree but 1/runs!. */
static double exp_by_enumeration(uint64_t num, uint64_t den)
{
    const double g = (double)num / (double)den;
    double reach = 1, heads = 0;
    uint32_t words[64];

    memset(words, 0, sizeof words);
    for (uint32_t coins = 0; coins < 40; coins++) {
        /* coin 0 is num/den (k = 1); 2k-3 is 1/k and 2k-2 is num/den, k = 2, 3, ... */
        const double p = coins % 2 == 0 ? g : 2.0 / (coins + 3);
        fre_rng r;
        bool is;

        words[coins] = NEVER;
        law_scripted(&r, words, 64);
        is = fre_sample_bernoulli_exp(&r, num, den);
        assert_int_equal(64 - r.left / 4, coins + 1); /* nothing but this path was looked at */
        heads += is ? reach * (1 - p) : 0;
        reach *= p;
        words[coins] = SURE;
    }
    return heads;
}

static void exp_small_rationals_by_enumeration(void **state)
{
    (void)state;
    for (uint64_t den = 2; den <= 24; den++)
        for (uint64_t num = 1; num < den; num++)
            assert_close(exp_by_enumeration(num, den), exp(-(double)num / (double)den), 1e-15, 0);
    assert_close(exp_by_enumeration(1, UINT64_C(1) << 31), exp(-0x1p-31), 1e-15, 0);
}

static double exp_rate(fre_rng *r, uint64_t num, uint64_t den, int n)
{
    double heads = 0;

    for (int i = 0; i < n; i++)
        heads += fre_sample_bernoulli_exp(r, num, den) ? 1 : 0;
    return heads / n;
}

static void exp_rates(void **state)
{
    const uint64_t cases[][2] = {{1, 1},       {3, 2},      {5, 1},
                                 {355, 113},   {2, 1},      {UINT64_C(1) << 31, UINT64_C(1) << 32},
                                 {1000, 1001}, {1001, 1000}};
    fre_rng r;

    (void)state;
    law_seeded(&r, 11);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double p = exp(-(double)cases[i][0] / (double)cases[i][1]), n = 300000;

        assert_close(exp_rate(&r, cases[i][0], cases[i][1], (int)n), p,
                     5 * sqrt(p * (1 - p) / n) + 1e-12, 0);
    }
    assert_close(exp_rate(&r, 0, 1, 1000), 1, 0, 0);
    assert_close(exp_rate(&r, 0, UINT64_C(1) << 32, 1000), 1, 0, 0);
    /* The largest arguments end, and exp(-2^16) is not seen. */
    assert_close(exp_rate(&r, UINT64_C(1) << 48, UINT64_C(1) << 32, 10000), 0, 0, 0);
    assert_close(exp_rate(&r, UINT64_C(1) << 48, 1, 10000), 0, 0, 0);
}

/* ---- discrete Laplace ---------------------------------------------------------------------- */

/* Words that make u + tv of it: u below t, the coin that keeps it, v heads of exp(-1) and the tails
 * after them, the sign. */
static size_t put_laplace(uint32_t *w, uint64_t t, uint64_t magnitude, bool negative)
{
    const uint32_t u = (uint32_t)(magnitude % t);
    size_t n = 0;

    if (t > 1) {
        w[n++] = u;
        w[n++] = 0;
    }
    if (u != 0)
        w[n++] = NEVER; /* a run of length 0 */
    for (uint64_t v = 0; v < magnitude / t; v++) {
        w[n++] = SURE; /* a run of length 2: 1, then 1/2, not 1/3 */
        w[n++] = NEVER;
    }
    w[n++] = NEVER;
    w[n++] = negative;
    return n;
}

/* What the coins, exact by the above, are made into. */
static void laplace_by_its_coins(void **state)
{
    const uint64_t scales[] = {1, 2, 3, 4, 7, 8}, steps[] = {1, 2, 3, 5};
    uint32_t w[256];
    fre_rng r;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 4; j++)
            for (uint64_t x = 0; x < 60; x++)
                for (int negative = 0; negative < 2; negative++) {
                    const int64_t m = (int64_t)(x / steps[j]);
                    const size_t n = put_laplace(w, scales[i], x, negative != 0);
                    const size_t next = put_laplace(w + n, scales[i], 55, false);
                    int64_t y;

                    law_scripted(&r, w, n + next);
                    y = fre_sample_discrete_laplace(&r, steps[j], scales[i]);
                    if (m == 0 && negative)
                        assert_int_equal(y, 55 / steps[j]); /* -0 is refused */
                    else
                        assert_int_equal(y, negative ? -m : m);
                    assert_int_equal(r.left, m == 0 && negative ? 0 : 4 * next);
                }
}

/* ---- truncated shifted discrete Laplace ---------------------------------------------------- */

/* lambda > gamma: the place comes from one number, its coin from the run above.  After a refusal
 * the next place is gamma, whose coin is exp(0). */
static double tsdlap_acceptance(uint64_t lambda16, uint32_t gamma, uint32_t place)
{
    const uint32_t distance = place > gamma ? place - gamma : gamma - place;
    const double g = distance * 65536.0 / (double)lambda16;
    double reach = 1, kept = 0;
    uint32_t words[64];

    for (uint32_t coins = 0; coins < 40; coins++) {
        fre_rng r;
        const double p = coins % 2 == 0 ? g : 2.0 / (coins + 3);
        uint32_t u;

        memset(words, 0, sizeof words);
        words[0] = place;
        words[2 + coins] = NEVER;
        words[3 + coins] = gamma;
        law_scripted(&r, words, 64);
        u = fre_sample_tsdlap(&r, lambda16, gamma);
        assert_true(u == place || u == gamma);
        kept += u == place ? reach * (1 - p) : 0;
        reach *= p;
    }
    return kept;
}

static void tsdlap_flat_by_enumeration(void **state)
{
    const uint64_t lambdas[] = {3 * FRE_TSDLAP_ONE + 1, 7 * FRE_TSDLAP_ONE, 1000 * FRE_TSDLAP_ONE,
                                UINT64_C(1) << 32};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (uint32_t place = 0; place <= 6; place++)
            if (place != 3)
                assert_close(tsdlap_acceptance(lambdas[i], 3, place),
                             exp(-fabs(place - 3.0) * 65536 / (double)lambdas[i]), 1e-14, 0);
}

static double tsdlap_misfit(uint8_t seed, uint64_t lambda16, uint32_t gamma, double believed)
{
    const size_t n = 2 * (size_t)gamma + 1;
    double *seen = calloc(2 * n, sizeof *seen), *mass = seen + n, out;
    fre_rng r;

    assert_non_null(seen);
    law_seeded(&r, seed);
    for (size_t i = 0; i < n; i++)
        mass[i] = exp(-fabs((double)i - gamma) / believed);
    for (int i = 0; i < 200000; i++) {
        uint32_t u = fre_sample_tsdlap(&r, lambda16, gamma);

        assert_true(u < n);
        seen[u] += 1;
    }
    out = law_misfit(seen, mass, n);
    free(seen);
    return out;
}

static void tsdlap_laws(void **state)
{
    const struct {
        uint64_t lambda16;
        uint32_t gamma;
    } cases[] = {{FRE_TSDLAP_ONE, 1},
                 {FRE_TSDLAP_ONE / 2, 1},
                 {FRE_TSDLAP_ONE, 40},
                 {FRE_TSDLAP_ONE + 1, 1},
                 {3 * FRE_TSDLAP_ONE, 20},
                 {5 * FRE_TSDLAP_ONE, 3},
                 {20 * FRE_TSDLAP_ONE, 21},
                 {20 * FRE_TSDLAP_ONE, 19},
                 {UINT64_C(1) << 32, 4},
                 {FRE_TSDLAP_ONE * 7 / 3, 60},
                 {123456789, 50}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(tsdlap_misfit((uint8_t)(20 + i), cases[i].lambda16, cases[i].gamma,
                                  (double)cases[i].lambda16 / 65536) <= 1);
    /* The test can fail: lambda 4 per cent off. */
    assert_true(tsdlap_misfit(31, 10 * FRE_TSDLAP_ONE, 60, 10.4) > 1);
    assert_true(tsdlap_misfit(32, 100 * FRE_TSDLAP_ONE, 60, 120) > 1);
}

static void tsdlap_limits(void **state)
{
    const uint64_t far = UINT64_C(1) << 32;
    double sum = 0, square = 0;
    fre_rng r;

    (void)state;
    law_seeded(&r, 33);
    for (int i = 0; i < 1000; i++) {
        uint32_t u;

        assert_int_equal(fre_sample_tsdlap(&r, far, 0), 0);
        assert_int_equal(fre_sample_tsdlap(&r, 1, 0), 0);
        assert_int_equal(fre_sample_tsdlap(&r, 1, 1), 1);
        assert_int_equal(fre_sample_tsdlap(&r, 1, FRE_TSDLAP_GAMMA_MAX), FRE_TSDLAP_GAMMA_MAX);
        assert_true(fre_sample_tsdlap(&r, far, 1) <= 2);
        u = fre_sample_tsdlap(&r, far, FRE_TSDLAP_GAMMA_MAX);
        assert_true(u <= 2 * FRE_TSDLAP_GAMMA_MAX);
    }
    /* lambda = 2^16 far from its cuts: mean 0 and variance 2 lambda^2. */
    for (int i = 0; i < 100000; i++) {
        double x =
            (double)fre_sample_tsdlap(&r, far, FRE_TSDLAP_GAMMA_MAX) - (double)FRE_TSDLAP_GAMMA_MAX;

        sum += x / 65536;
        square += x / 65536 * x / 65536;
    }
    assert_close(sum / 1e5, 0, 5 * sqrt(2 / 1e5), 0);
    assert_close(square / 1e5, 2, 5 * sqrt(20 / 1e5), 0);
}

/* ---- discrete Gaussian --------------------------------------------------------------------- */

/* Probability that a draw y of the Laplace law is kept, by the tree of the run's coins as above;
 * after a refusal the next one, `other`, is kept at once. */
static double gaussian_acceptance(uint64_t var16, uint64_t t, int64_t y, double g)
{
    const int64_t other = y == 1 ? 0 : 1;
    const uint64_t magnitude = (uint64_t)(y < 0 ? -y : y);
    double reach = 1, kept = 0;

    for (uint32_t coins = 0; coins < 40; coins++) {
        const double p = coins % 2 == 0 ? g : 2.0 / (coins + 3);
        uint32_t w[256] = {SURE};
        size_t n = put_laplace(w, t, magnitude, y < 0);
        int64_t out;
        fre_rng r;

        n += coins;
        w[n++] = NEVER;
        n += put_laplace(w + n, t, (uint64_t)other, false);
        w[n++] = NEVER;
        law_scripted(&r, w, n);
        out = fre_sample_discrete_gaussian(&r, var16);
        assert_true(out == y || out == other);
        kept += out == y ? reach * (1 - p) : 0;
        reach *= p;
    }
    return kept;
}

static void gaussian_acceptance_by_enumeration(void **state)
{
    const struct {
        uint64_t var16, t;
        int64_t y[6];
    } cases[] = {{65536, 2, {0, 1, -1, 1, 0, -1}},
                 {4 * 65536, 3, {0, 1, -2, 3, 4, -4}},
                 {147457, 2, {0, 1, -2, 2, 3, -3}},
                 {225 * 65536, 16, {0, -1, 7, 20, 30, -35}},
                 {FRE_VARIANCE_MAX, 1025, {0, 1024, -1025, 1, -2000, 2300}}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t j = 0; j < 6; j++) {
            const double s = (double)cases[i].var16 / 65536;
            const double gap = fabs((double)cases[i].y[j]) - s / (double)cases[i].t;
            const double g = gap * gap / (2 * s);

            assert_true(g < 1);
            assert_close(gaussian_acceptance(cases[i].var16, cases[i].t, cases[i].y[j], g), exp(-g),
                         1e-13, 0);
        }
}

static double gaussian_misfit(uint8_t seed, uint64_t var16, double believed)
{
    enum { DRAWS = 200000 };
    const double deviation = sqrt((double)var16 / 65536);
    const int64_t half = (int64_t)(8 * deviation) + 2;
    const size_t n = 2 * (size_t)half + 1;
    double *seen = calloc(2 * n, sizeof *seen), *mass = seen + n, out;
    fre_rng r;

    assert_non_null(seen);
    law_seeded(&r, seed);
    for (size_t i = 0; i < n; i++) {
        double x = (double)i - (double)half;

        mass[i] = exp(-x * x / (2 * believed));
    }
    for (int i = 0; i < DRAWS; i++) {
        int64_t x = fre_sample_discrete_gaussian(&r, var16);

        assert_true(x >= -half && x <= half); /* beyond eight deviations: 1e-10 for all draws */
        seen[x + half] += 1;
    }
    out = law_misfit(seen, mass, n);
    free(seen);
    return out;
}

static void gaussian_laws(void **state)
{
    const uint64_t variances[] = {1,
                                  1000,
                                  6554,
                                  32768,
                                  65536,
                                  65537,
                                  4 * 65536,
                                  147457,
                                  225 * 65536,
                                  15000001,
                                  10000 * (uint64_t)65536,
                                  FRE_VARIANCE_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++)
        assert_true(
            gaussian_misfit((uint8_t)(40 + i), variances[i], (double)variances[i] / 65536) <= 1);
    /* The test can fail: a variance 5 per cent off. */
    assert_true(gaussian_misfit(60, 4 * 65536, 4.2) > 1);
    assert_true(gaussian_misfit(61, 225 * 65536, 225 * 1.05) > 1);
}

/* Mean, variance and fourth moment of the law itself, by summation. */
static void gaussian_moments(void **state)
{
    enum { DRAWS = 400000 };
    const uint64_t variances[] = {20000, 65536, 9 * 65536, 400 * 65536};
    fre_rng r;

    (void)state;
    law_seeded(&r, 62);
    for (size_t i = 0; i < 4; i++) {
        const double s = (double)variances[i] / 65536, n = DRAWS;
        double m[9] = {0}, whole = 0, m1 = 0, m2 = 0, m3 = 0, m4 = 0, up = 0, down = 0;

        for (int x = -400; x <= 400; x++) {
            const double w = exp(-x * (double)x / (2 * s));

            whole += w;
            for (int j = 2; j <= 8; j += 2)
                m[j] += w * pow(x, j);
        }
        for (int j = 2; j <= 8; j += 2)
            m[j] /= whole;
        for (int j = 0; j < DRAWS; j++) {
            const double x = (double)fre_sample_discrete_gaussian(&r, variances[i]);

            m1 += x / n;
            m2 += x * x / n;
            m3 += x * x * x / n;
            m4 += x * x * x * x / n;
            up += x > 1.5 * sqrt(s) ? 1 : 0;
            down += x < -1.5 * sqrt(s) ? 1 : 0;
        }
        assert_close(m1, 0, 5 * sqrt(m[2] / n), 0);
        assert_close(m2, m[2], 5 * sqrt((m[4] - m[2] * m[2]) / n), 0);
        assert_close(m3, 0, 5 * sqrt(m[6] / n), 0);
        assert_close(m4, m[4], 5 * sqrt((m[8] - m[4] * m[4]) / n), 0);
        assert_close(up - down, 0, 5 * sqrt(up + down), 0);
        assert_true(up + down > 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratio_turns_at_its_digits),
        cmocka_unit_test(exp_small_rationals_by_enumeration),
        cmocka_unit_test(exp_rates),
        cmocka_unit_test(laplace_by_its_coins),
        cmocka_unit_test(tsdlap_flat_by_enumeration),
        cmocka_unit_test(tsdlap_laws),
        cmocka_unit_test(tsdlap_limits),
        cmocka_unit_test(gaussian_acceptance_by_enumeration),
        cmocka_unit_test(gaussian_laws),
        cmocka_unit_test(gaussian_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
