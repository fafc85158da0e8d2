/* Special functions of the accountants against values computed with 60 digits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"
#include "privacy_private.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void log_phi(void **state)
{
    static const double v[][2] = {
        {-1e4, -50000010.1292789152},  {-300, -45006.6227321186634},
        {-37.5, -707.668989317507191}, {-20, -203.917155371097264},
        {-12.1, -76.6238612425132356}, {-11.9, -74.2074180512482917},
        {-8.1, -35.8305028908014718},  {-7.9, -34.206228170981716},
        {-3, -6.60772622151034954},    {-1e-9, -0.693147181357829871},
        {0, -0.693147180559945309},    {0.5, -0.368946415288656393},
        {6, -9.86587645524375732e-10}, {20, -2.75362411860623e-89},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(v); i++)
        assert_close(fre_log_phi(v[i][0]), v[i][1], 0, 1e-13);
    assert_close(fre_log_phi(-HUGE_VAL), -HUGE_VAL, 0, 0);
    assert_close(fre_log_phi(HUGE_VAL), 0, 0, 0);
}

static void gauss_delta(void **state)
{
    static const double v[][3] = {
        {0, 0.01, 0.00398940618148164468},
        {0.001, 0.001, 0.0000833571321252084935},
        {-0.001, 0.0001, 0.000999500166625008353},
        {-3, 0.5, 0.9502129316490682},
        {0.5, 0.3, 0.00757348058546319772},
        {4, 0.9, 5.51059088681481281e-6},
        {20, 3, 4.22475461676941009e-8},
        {50, 12, 0.959382954337133873},
        {12, 0.4, 2.58148013667878899e-197},
        {60, 2.2, 2.10107800007966411e-152},
        {2, 40, 1},
        {-40, 1, 1},
        {1e-6, 1e-5, 3.5093550667078482e-6},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(v); i++) {
        double got = fre_gauss_delta(v[i][0], v[i][1]);

        assert_close(got, v[i][2], 0, 1e-9);
        assert_true(got >= v[i][2] * (1 - 1e-12));
    }
    assert_close(fre_gauss_delta(HUGE_VAL, 1), 0, 0, 0);
    assert_close(fre_gauss_delta(-HUGE_VAL, 1), 1, 0, 0);
    assert_close(fre_gauss_delta(1, 0), 0, 0, 0);
    assert_close(fre_gauss_delta(-1, 0), 1 - exp(-1), 0, 1e-15);
    assert_close(fre_gauss_delta(1, HUGE_VAL), 1, 0, 0);
    assert_true(isnan(fre_gauss_delta((double)NAN, 1)));
    assert_true(isnan(fre_gauss_delta(1, -1)));
}

/* G falls with epsilon and grows with mu, through every branch. */
static void gauss_delta_is_monotone(void **state)
{
    double e, mu;

    (void)state;
    for (mu = 1e-4; mu < 50; mu *= 1.7) {
        double last = 1;

        for (e = -6; e < 55; e += 0.37) {
            double d = fre_gauss_delta(e, mu);

            assert_true(d >= 0 && d <= last * (1 + 1e-14));
            assert_true(fre_gauss_delta(e, mu * 1.01) >= d * (1 - 1e-14));
            last = d;
        }
    }
}

static void log_binomial(void **state)
{
    static const double v[][4] = {
        {100, 30, 0.3, -2.44433456453297287},     {10, 3, 0.75, -5.77961500241253112},
        {1e6, 300100, 0.3, -7.07027346911870087}, {20000, 16500, 0.8, -45.2755302195883639},
        {15, 15, 0.5, -10.3972077083991796},      {17, 1, 0.01, -1.93276221558789833},
        {17, 0, 0.01, -0.170855709509524504},     {4e9, 1000, 2.5e-7, -4.3728993810262812},
        {200, 5, 0.9, -427.877179844974559},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(v); i++)
        assert_close(fre_privacy_log_binomial(v[i][0], v[i][1], v[i][2]), v[i][3], 0, 2e-12);
    assert_close(fre_privacy_log_binomial(5, 6, 0.5), -HUGE_VAL, 0, 0);
    assert_close(fre_privacy_log_binomial(5, -1, 0.5), -HUGE_VAL, 0, 0);
}

/* Masses of a whole distribution, by another route: Pascal's rule for p = 3/8. */
static void log_binomial_sums_to_one(void **state)
{
    double row[41] = {1};
    int n, j;

    (void)state;
    for (n = 1; n <= 40; n++) {
        for (j = n; j > 0; j--)
            row[j] = row[j] * 0.625 + row[j - 1] * 0.375;
        row[0] *= 0.625;
        for (j = 0; j <= n; j++)
            assert_close(exp(fre_privacy_log_binomial(n, j, 0.375)), row[j], 0, 1e-12);
    }
}

static void collision(void **state)
{
    double d, last = 1;

    (void)state;
    for (d = 0.01; d < 100; d *= 1.1) {
        double now = fre_collision(&(fre_sketch_grid){20, 0.2236}, d);

        assert_true(now > 0 && now < last);
        last = now;
    }
    assert_close(fre_collision(&(fre_sketch_grid){20, 0.2236}, 0), 1, 0, 0);
    /* f(nu) = nu/sqrt(2 pi) (1 - nu^2/12 + nu^4/120 - ...): the two branches agree. */
    assert_close(fre_collision_f(1e-9), 1e-9 * 0.39894228040143267794, 0, 1e-15);
    assert_close(fre_collision_f(1e-4), 1e-4 * 0.39894228040143267794 * (1 - 1e-8 / 12), 0, 1e-14);
    assert_close(fre_collision_f(HUGE_VAL), 1, 0, 0);
    assert_true(isnan(fre_collision_f(-1)));
}

static void zcdp_delta(void **state)
{
    double e, alpha;

    (void)state;
    /* The infimum is below the bound at every alpha of a grid, and close to the least. */
    for (e = -2; e < 12; e += 0.5) {
        double rho = 0.7, least = 1, d = fre_zcdp_delta(rho, e);

        for (alpha = 1.0005; alpha < 40; alpha *= 1.0005) {
            double b =
                exp((alpha - 1) * (alpha * rho - e)) / (alpha - 1) * pow(1 - 1 / alpha, alpha);

            least = fmin(least, b);
        }
        assert_true(d <= least * (1 + 1e-12));
        assert_close(d, least, 0, 1e-4);
    }
    assert_close(fre_zcdp_delta(0, 1), 0, 0, 0);
    assert_close(fre_zcdp_delta(1e6, 1), 1, 0, 0);
    assert_true(fre_zcdp_delta(0.5, 1) >= fre_gauss_delta(1, 1));
}

static void multiplier(void **state)
{
    double s = -7, e;

    (void)state;
    for (e = 0.01; e < 50; e *= 2.3) {
        assert_int_equal(fre_gauss_multiplier(&s, e, 1e-6, FRE_GAUSSIAN_ANALYTIC), FRE_OK);
        assert_true(fre_gauss_delta(e, 1 / s) <= 1e-6);
        assert_true(fre_gauss_delta(e, 1 / (s * (1 - 1e-9))) > 1e-6);
        assert_int_equal(fre_gauss_multiplier(&s, e, 1e-30, FRE_GAUSSIAN_ZCDP), FRE_OK);
        assert_true(fre_zcdp_delta(0.5 / (s * s), e) <= 1e-30);
        assert_true(fre_zcdp_delta(0.5 / (s * s) * (1 + 1e-8), e) > 1e-30);
    }
    s = -7;
    assert_int_equal(fre_gauss_multiplier(&s, -1, 1e-6, FRE_GAUSSIAN_ANALYTIC), FRE_E_ARG);
    assert_int_equal(fre_gauss_multiplier(&s, 1, 0, FRE_GAUSSIAN_ANALYTIC), FRE_E_ARG);
    assert_int_equal(fre_gauss_multiplier(&s, 1, 1, FRE_GAUSSIAN_ANALYTIC), FRE_E_ARG);
    assert_int_equal(fre_gauss_multiplier(&s, (double)NAN, 0.1, FRE_GAUSSIAN_ZCDP), FRE_E_ARG);
    assert_close(s, -7, 0, 0);
}

static void rates(void **state)
{
    uint64_t t;

    (void)state;
    assert_int_equal(fre_p32(0), 0);
    assert_int_equal(fre_p32(1), FRE_P_ONE);
    assert_int_equal(fre_p32(0.5), FRE_P_ONE / 2);
    assert_int_equal(fre_p32(0.3), 1288490188); /* .3 2^32 = 1288490188.8 */
    assert_int_equal(fre_p32(1e-10), 0);
    assert_int_equal(fre_p32(-0.1), 0);
    assert_int_equal(fre_p32(1.1), 0);
    assert_int_equal(fre_p32((double)NAN), 0);
    assert_int_equal(fre_tau(fre_p32(0.3), 100), 30);
    assert_int_equal(fre_tau(fre_p32(0.5), 100), 50);
    assert_int_equal(fre_tau(fre_p32(0.5), 101), 51);
    assert_int_equal(fre_tau(fre_p32(0.29), 100), 29);
    assert_int_equal(fre_tau(0, 100), 1);
    assert_int_equal(fre_tau(1, 1), 1);
    for (t = 1; t < 1000; t += 7)
        assert_int_equal(fre_tau(FRE_P_ONE, t), t);
    assert_true(fre_tau(FRE_P_ONE, UINT64_MAX) == UINT64_MAX);
    assert_true(fre_tau(FRE_P_ONE / 2, UINT64_C(1) << 60) == UINT64_C(1) << 59);
    assert_true(fre_tau(FRE_P_ONE / 2 + 1, UINT64_C(1) << 40) == (UINT64_C(1) << 39) + 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_phi),
        cmocka_unit_test(gauss_delta),
        cmocka_unit_test(gauss_delta_is_monotone),
        cmocka_unit_test(log_binomial),
        cmocka_unit_test(log_binomial_sums_to_one),
        cmocka_unit_test(collision),
        cmocka_unit_test(zcdp_delta),
        cmocka_unit_test(multiplier),
        cmocka_unit_test(rates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
