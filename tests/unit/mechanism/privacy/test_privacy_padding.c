/* Padding of unreleased tags and the users' own noise, against enumeration and direct sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/core.h>
#include <fre/privacy.h>

#include "assert_num.h"
#include "seeded.h"

/* ---- one number of tags ------------------------------------------------------------------- */

/* f(u) from the definition. */
static double mass(double lambda, int gamma, int u)
{
    double all = 0;
    int v;

    for (v = 0; v <= 2 * gamma; v++)
        all += exp(-abs(v - gamma) / lambda);
    return u < 0 || u > 2 * gamma ? 0 : exp(-abs(u - gamma) / lambda) / all;
}

static void masses_are_the_definition(void **state)
{
    static const double lambdas[] = {0.01, 0.3, 1, 7.5, 1e9};
    int g, u;
    size_t i;

    (void)state;
    for (i = 0; i < 5; i++) {
        for (g = 0; g < 30; g++) {
            double sum = 0;

            for (u = -2; u <= 2 * g + 2; u++) {
                double f = fre_tsdlap_mass(lambdas[i], (uint32_t)g, u);

                assert_close(f, mass(lambdas[i], g, u), 0, 1e-12);
                sum += f;
            }
            assert_close(sum, 1, 0, 1e-12);
        }
    }
    assert_true(isnan(fre_tsdlap_mass(0, 3, 1)));
    assert_true(isnan(fre_tsdlap_mass((double)NAN, 3, 1)));
}

/* ---- products by enumeration --------------------------------------------------------------- */

/* Hockey stick of independent numbers, each moved by step[i] (of either sign). */
static double enumerate(double eps, size_t n, const double *lambda, const uint32_t *gamma,
                        const int *step)
{
    int u[3] = {-3, -3, -3};
    double total = 0;
    size_t i;

    for (;;) {
        double a = 1, b = 1;

        for (i = 0; i < n; i++) {
            a *= mass(lambda[i], (int)gamma[i], u[i] - step[i]);
            b *= mass(lambda[i], (int)gamma[i], u[i]);
        }
        total += fmax(0, a - exp(eps) * b);
        for (i = 0; i < n && ++u[i] > 2 * (int)gamma[i] + 3; i++)
            u[i] = -3;
        if (i == n)
            return total;
    }
}

static void products_are_enumerated(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 1, "test/padding");
    for (i = 0; i < 150; i++) {
        size_t n = fre_rng_below(&r, 4), j;
        double lambda[3], eps = uniform(&r, -2, 6);
        uint32_t gamma[3], shift[3];
        int there[3], back[3];

        for (j = 0; j < 3; j++) {
            lambda[j] = uniform(&r, 0.2, 4);
            gamma[j] = (uint32_t)fre_rng_below(&r, 5);
            shift[j] = (uint32_t)fre_rng_below(&r, 3);
            there[j] = (int)shift[j];
            back[j] = fre_rng_below(&r, 2) ? there[j] : -there[j];
        }
        assert_close(fre_padding_delta(eps, n, lambda, gamma, shift),
                     enumerate(eps, n, lambda, gamma, there), 1e-12, 1e-8);
        assert_close(fre_padding_delta(eps, n, lambda, gamma, shift),
                     enumerate(eps, n, lambda, gamma, back), 1e-12, 1e-8);
    }
    fre_rng_wipe(&r);
}

static void cells_are_products(void **state)
{
    const double l[3] = {1.1, 1.1, 1.1};
    const uint32_t g[3] = {4, 4, 4};
    const int one[3] = {1, 1, 1}, two[2] = {2, 1};
    double eps;

    (void)state;
    for (eps = 0; eps < 5; eps += 0.31) {
        assert_close(fre_two_cell_delta(eps, 1.1, 4), enumerate(eps, 2, l, g, one), 1e-13, 1e-8);
        assert_close(fre_cover_delta(eps, 1.1, 4),
                     fmax(enumerate(eps, 3, l, g, one), enumerate(eps, 2, l, g, two)), 1e-13, 1e-8);
        assert_true(fre_cover_delta(eps, 1.1, 4) >= fre_two_cell_delta(eps, 1.1, 4));
    }
}

/* More padding is never worse where the ratios alone stay within eps, and a wide one vanishes. */
static void padding_vanishes(void **state)
{
    double last = 1;
    uint32_t gamma;

    (void)state;
    for (gamma = 0; gamma < 4000; gamma = gamma * 3 / 2 + 1) {
        double t = fre_cover_delta(3, 1.01, gamma);

        assert_true(t > 0 && t <= last);
        last = t;
    }
    assert_true(last < 1e-280);
    assert_close(fre_cover_delta(3, 1.01, 0), 1, 0, 1e-12);
    assert_close(fre_cover_delta(HUGE_VAL, 1, 5), fre_cover_delta(100, 1, 5), 0, 1e-9);
    assert_close(fre_cover_delta(-HUGE_VAL, 1, 5), 1, 0, 1e-9);
    assert_true(isnan(fre_cover_delta((double)NAN, 1, 5)));
    assert_true(isnan(fre_cover_delta(1, -1, 5)));
    assert_true(fre_two_cell_delta(2, 1e12, UINT32_MAX) > 0);
}

/* ---- the users' noise --------------------------------------------------------------------- */

static void account_is_the_theorem(void **state)
{
    const double split = 0.6, sigma = 1.3, local = 0.2, beta = 0.01, phi = 1e-9;
    double likely = split * split + beta * beta * 384 / 4 +
                    sqrt(2 * log(1e9)) * beta * (split + beta / 2 * sqrt(384));
    double kappa = 0, ratio = 0.35;
    fre_ddg a, b;
    int j;

    (void)state;
    fre_ddg_account(&a, split, sigma, local, beta, 384, 50, phi);
    assert_close(a.delta2, sqrt(likely), 0, 1e-12);
    assert_close(a.phi, phi, 0, 0);
    assert_true(a.delta2 < split + beta * sqrt(384));
    assert_close(a.rho, likely / (2 * sigma * sigma), 0, 1e-9); /* kappa vanishes */
    fre_ddg_account(&a, split, sigma, local, beta, 384, 50, 0);
    assert_close(a.delta2, split + beta * sqrt(384), 0, 1e-12);
    assert_close(a.phi, 0, 0, 0);
    fre_ddg_account(&a, split, sigma, local, 1e-6, 4, 50, 1e-300); /* the sure bound is less */
    assert_close(a.delta2, split + 2e-6, 0, 1e-15);
    assert_close(a.phi, 0, 0, 0);
    /* coarse noise: kappa by its sum, and its bound for many users */
    for (j = 1; j < 4000; j++)
        kappa += 10 * exp(-2 * M_PI * M_PI * ratio * ratio * j / (j + 1));
    fre_ddg_account(&a, split, sigma, ratio * beta, beta, 384, 4000, phi);
    assert_true(a.kappa >= kappa);
    assert_close(a.kappa, kappa, 0, 3e-3);
    assert_close(a.rho,
                 fmin(likely / (2 * sigma * sigma) + 384 * a.kappa,
                      pow(sqrt(likely) / sigma + a.kappa * sqrt(384), 2) / 2),
                 0, 1e-12);
    fre_ddg_account(&b, split, sigma, ratio * beta, beta, 384, UINT64_C(1) << 40, phi);
    assert_true(b.kappa > a.kappa);
    fre_ddg_account(&a, split, sigma, 2 * beta, beta, 384, UINT64_C(1) << 40, phi);
    assert_true(a.kappa < 1e-15); /* the protocol's rule, whatever the number of users */
    fre_ddg_account(&a, split, sigma, 2 * beta, beta, 384, 1, phi);
    assert_close(a.kappa, 0, 0, 0);
}

static fre_mechanism distributed(void)
{
    fre_mechanism m = {.tau = 80, .sigma = 1.5, .dim = 384, .dist = {.on = true, .gamma = 7}};

    return m;
}

/* Whatever the count, honest answers carry at least sigma together. */
static void shares_add_up(void **state)
{
    fre_mechanism m = distributed();
    uint64_t c;

    (void)state;
    m.dist.dropout = 0.1;
    m.dist.curious = 3;
    assert_int_equal(fre_answers_needed(&m, 80), 72);
    assert_int_equal(fre_answers_needed(&m, 70), 63);
    assert_int_equal(fre_answers_needed(&m, 81), 73);
    assert_close(fre_sigma_local(&m, 80), 1.5 / sqrt(69), 0, 1e-15);
    for (c = 80; c < 2000; c++) {
        uint64_t answers = fre_answers_needed(&m, c);
        double honest = (double)(answers - m.dist.curious);

        assert_true((double)answers >= 0.9 * (double)c - 1e-9);
        assert_true(honest * pow(fre_sigma_local(&m, c), 2) >= 2.25 * (1 - 1e-12));
        assert_true(fre_sigma_local(&m, c) <= fre_sigma_local(&m, 80));
    }
    m.dist.splits = true;
    for (c = 80; c < 2000; c++) {
        const bool cut = fre_answers_needed(&m, c) >= 3 * m.tau;
        const double honest = (double)(fre_sum_answers(&m, c) - m.dist.curious);

        assert_int_equal(fre_cell_sums(&m, c), cut ? 3 : 1);
        assert_true(!cut || fre_sum_answers(&m, c) >= m.tau);
        assert_true(honest * pow(fre_sigma_local(&m, c), 2) >= 2.25 * (1 - 1e-12));
        assert_true(fre_sigma_local(&m, c) <= fre_sigma_local(&m, 80));
    }
    assert_close(fre_sigma_local(&m, 266), 1.5 / sqrt(77), 0, 1e-15); /* 240 are needed */
    assert_close(fre_sigma_local(&m, 265), 1.5 / sqrt(236), 0, 1e-15);
    m.dist.splits = false;
    assert_int_equal(fre_cell_sums(&m, 1000), 1);
    m.dist.curious = 72;
    assert_close(fre_sigma_local(&m, 80), 0, 0, 0);
    m.dist.one_contact = true;
    m.dist.dropout = 0;
    m.dist.curious = 1;
    assert_close(fre_sigma_local(&m, 80), 1.5 / sqrt(79), 0, 1e-15);
    assert_close(fre_sigma_local(&m, 8000), 1.5 / sqrt(79), 0, 1e-15);
    m.dist.curious = 80;
    assert_close(fre_sigma_local(&m, 80), 0, 0, 0);
}

static void rules_of_the_protocol(void **state)
{
    fre_mechanism m = distributed();

    (void)state;
    assert_close(fre_quantisation(0.01, 0.6, 384), 0.005, 0, 1e-15);
    assert_close(fre_quantisation(0.1, 0.6, 384), 0.12 / sqrt(384), 0, 1e-15);
    assert_close(fre_quantisation(0.1, 0.6, 385), 0.12 / sqrt(512), 0, 1e-15);
    assert_close(fre_expected_dummies(&m), 80 * 79 / 2 * 7, 0, 0);
    m.dist.on = false;
    assert_close(fre_expected_dummies(&m), 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_are_the_definition), cmocka_unit_test(products_are_enumerated),
        cmocka_unit_test(cells_are_products),        cmocka_unit_test(padding_vanishes),
        cmocka_unit_test(account_is_the_theorem),    cmocka_unit_test(shares_add_up),
        cmocka_unit_test(rules_of_the_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
