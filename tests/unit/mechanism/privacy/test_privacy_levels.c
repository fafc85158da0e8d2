/* tests/unit/mechanism/privacy/test_privacy_levels.c - release by levels against vectors, and against
 * the laws themselves, integrated here without the accountant's functions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <fre/privacy.h>

#include "assert_num.h"

/* ---- vectors ------------------------------------------------------------------------------ */

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    assert_true(json_is_number(v));
    return json_number_value(v);
}

static size_t read_levels(fre_level *out, const json_t *levels)
{
    size_t i, n = json_array_size(levels);

    assert_in_range(n, 1, FRE_LEVELS_MAX);
    memset(out, 0, n * sizeof *out);
    for (i = 0; i < n; i++) {
        const json_t *l = json_array_get(levels, i);

        if (json_object_get(l, "p")) {
            out[i].counts = FRE_COUNTS_SAMPLED;
            out[i].p32 = fre_p32(number(l, "p"));
            out[i].tau = (uint64_t)number(l, "tau");
            out[i].sigma = number(l, "sigma");
            out[i].shift = number(l, "sens");
        } else {
            out[i].counts = FRE_COUNTS_NOISY;
            out[i].count_sigma = number(l, "count_sigma");
            out[i].sigma = number(l, "sum_sigma");
            out[i].shift = number(l, "radius");
        }
    }
    return n;
}

static fre_status delta_of(fre_levels_account *out, const fre_mechanism *grid,
                           const fre_level *level, size_t n, double epsilon, fre_err *err)
{
    return fre_levels_delta(out, &(fre_levels){.grid = grid, .level = level, .n = n}, epsilon, err);
}

/* below, above: how far the product may be from the file, as tests/vectors/README.md explains. */
static void check_vectors(const char *path, size_t cases, double below, double above)
{
    json_t *file = json_load_file(path, 0, NULL);
    const json_t *list = json_object_get(file, "cases");
    size_t i;

    assert_int_equal(json_array_size(list), cases);
    for (i = 0; i < cases; i++) {
        const json_t *c = json_array_get(list, i);
        double add = number(c, "delta_addition"), remove = number(c, "delta_removal");
        fre_level level[FRE_LEVELS_MAX];
        size_t n = read_levels(level, json_object_get(c, "levels"));
        fre_levels_account a;

        assert_int_equal(delta_of(&a, NULL, level, n, number(c, "epsilon"), NULL), FRE_OK);
        assert_true(a.addition >= add * (1 - below));
        assert_true(a.addition <= add * (1 + above));
        assert_true(a.removal <= remove * (1 + above) + 1e-280);
        if (level[0].counts == FRE_COUNTS_NOISY)
            assert_true(a.removal >= remove * (1 - below));
        assert_close(a.delta, fmax(a.addition, a.removal), 0, 0);
    }
    json_decref(file);
}

static void test_vectors(void **state)
{
    (void)state;
    check_vectors(FRE_SOURCE_DIR "/tests/vectors/levels.json", 16, 0.01, 0.005);
    check_vectors(FRE_SOURCE_DIR "/tests/vectors/noisy.json", 10, 0.035, 0.001);
}

/* ---- the law of noisy levels at given thresholds ------------------------------------------ */

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

static double below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* Hockey stick of N(mu, 1) against N(0, 1) at factor t, by the point where the densities cross. */
static double stick(double t, double mu)
{
    double x = log(t) / mu + mu / 2;

    return fmax(0, below(mu - x) - t * below(-x));
}

/* int_{z >= a} of (v q(z, s) - t w p(z, s))+, q of the law with the record; midpoint rule. */
static double shown(double a, double m0, double m1, double v, double w, double t, bool add)
{
    double step = 0.004, z, sum = 0;

    for (z = a + step / 2; z < fmax(a, 0) + 14; z += step) {
        double with = v * density(z - m0), without = w * density(z);

        sum += step * (add ? with * stick(t * without / with, m1)
                           : without * stick(t * with / without, m1));
    }
    return sum;
}

/* H_t of the whole view of two levels, their thresholds a[i] deviations above the other records. */
static double noisy_law(const fre_level l[2], const double a[2], double eps, bool add)
{
    double t = exp(eps), v = 1, w = 1, sum = 0;
    int i;

    for (i = 0; i < 2; i++) {
        double m0 = 1 / l[i].count_sigma, m1 = l[i].shift / l[i].sigma;

        sum += shown(a[i], m0, m1, v, w, t, add);
        v *= below(a[i] - m0);
        w *= below(a[i]);
    }
    return sum + fmax(0, add ? v - t * w : w - t * v);
}

static void check_noisy(const fre_level l[2], double eps)
{
    double most[2] = {0, 0}, a[2];
    fre_levels_account whole;
    int i, j, add;

    assert_int_equal(delta_of(&whole, NULL, l, 2, eps, NULL), FRE_OK);
    for (i = 0; i <= 24; i++) {
        for (j = 0; j <= 24; j++) {
            a[0] = -6 + 0.5 * i;
            a[1] = -6 + 0.5 * j;
            for (add = 0; add < 2; add++) {
                double h = noisy_law(l, a, eps, add);

                assert_true(h <= (add ? whole.addition : whole.removal) * (1 + 1e-6));
                most[add] = fmax(most[add], h);
            }
        }
    }
    assert_true(whole.removal <= most[0] * 1.02);
    assert_true(whole.addition <= most[1] * 1.02);
}

static void test_noisy_laws(void **state)
{
    const fre_level even[2] = {{FRE_COUNTS_NOISY, 0, 0, 5, 1.4, 0.9},
                               {FRE_COUNTS_NOISY, 0, 0, 5.5, 1.2, 0.6}};
    const fre_level uneven[2] = {{FRE_COUNTS_NOISY, 0, 0, 0.9, 3, 0.5},
                                 {FRE_COUNTS_NOISY, 0, 0, 3, 0.4, 0.6}};

    (void)state;
    check_noisy(even, 1);
    check_noisy(uneven, 2);
}

/* ---- the law of sampled levels at given numbers of others --------------------------------- */

static double mass(int n, int j, double p)
{
    if (j < 0 || j > n)
        return 0;
    return exp(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(p) + (n - j) * log1p(-p));
}

/* H_t of the whole view of two levels: P_c = a_c N(0,1), with the record (1-p) P_c + p a_{c-1} N(mu,1). */
static double sampled_law(const fre_level l[2], const int n[2], double eps, bool add)
{
    double t = exp(eps), v = 1, w = 1, sum = 0;
    int i, c;

    for (i = 0; i < 2; i++) {
        double p = (double)l[i].p32 / 0x1p32, mu = l[i].shift / l[i].sigma, with = 0, without = 0;

        for (c = 0; c <= n[i] + 1; c++) {
            double a = mass(n[i], c, p), before = p * mass(n[i], c - 1, p);

            if (c < (int)l[i].tau) {
                without += a;
                with += (1 - p) * a + before;
                continue;
            }
            if (a + before > 1e-18) {
                double s, step = 0.01;

                for (s = -9 + step / 2; s < 9 + mu; s += step) {
                    double p0 = w * a * density(s);
                    double q = v * ((1 - p) * a * density(s) + before * density(s - mu));

                    sum += step * fmax(0, add ? q - t * p0 : p0 - t * q);
                }
            }
        }
        v *= with;
        w *= without;
    }
    return sum + fmax(0, add ? v - t * w : w - t * v);
}

static void check_sampled(const fre_level l[2], double eps, int step)
{
    double most[2] = {0, 0};
    fre_levels_account whole;
    int n[2], add;

    assert_int_equal(delta_of(&whole, NULL, l, 2, eps, NULL), FRE_OK);
    for (n[0] = (int)l[0].tau - 2; n[0] < 5 * (int)l[0].tau; n[0] += step) {
        for (n[1] = (int)l[1].tau - 2; n[1] < 5 * (int)l[1].tau; n[1] += step) {
            for (add = 0; add < 2; add++) {
                double h = sampled_law(l, n, eps, add);

                assert_true(h <= (add ? whole.addition : whole.removal) * (1 + 1e-5) + 1e-15);
                most[add] = fmax(most[add], h);
            }
        }
    }
    assert_true(whole.addition <= most[1] * 1.02);
    assert_true(whole.removal <= most[0] * 1.02 + 1e-15);
}

static void test_sampled_laws(void **state)
{
    const fre_level cheap[2] = {{FRE_COUNTS_SAMPLED, (uint64_t)1 << 30, 6, 0, 2.5, 1},
                                {FRE_COUNTS_SAMPLED, (uint64_t)1 << 31, 4, 0, 2, 1.2}};

    (void)state;
    check_sampled(cheap, 1, 1);   /* above ln 1/(1-p) of both: removal is free */
    check_sampled(cheap, 0.4, 1); /* below it for the second */
    check_sampled(cheap, 0.1, 1); /* below it for both */
}

/* ---- the whole ---------------------------------------------------------------------------- */

static fre_mechanism grid(void)
{
    fre_plan_request r;
    fre_plan p;

    fre_plan_request_init(&r);
    r.epsilon = 2;
    r.delta = 1e-7;
    r.threshold = 50;
    r.population = 1000000;
    assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK);
    return p.mechanism;
}

/* A grid with nothing behind it is what the joint accountant says; a level behind it costs more, but
 * far less than its own epsilon on top. */
static void test_grid(void **state)
{
    const fre_level behind = {FRE_COUNTS_NOISY, 0, 0, 12, 3, 0.6};
    fre_mechanism m = grid();
    fre_levels_account alone, both, back;
    fre_account a;

    (void)state;
    assert_int_equal(fre_joint_delta(&a, &m, 2, NULL), FRE_OK);
    assert_int_equal(delta_of(&alone, &m, NULL, 0, 2, NULL), FRE_OK);
    assert_close(alone.addition, a.delta, 0, 1e-3);
    assert_true(alone.removal < 1e-280);
    assert_close(alone.split, a.split, 0, 0);
    assert_int_equal(delta_of(&both, &m, &behind, 1, 2, NULL), FRE_OK);
    assert_int_equal(delta_of(&back, NULL, &behind, 1, 2, NULL), FRE_OK);
    assert_true(both.addition >= alone.addition && both.removal > alone.removal);
    assert_true(both.delta >= back.delta);
    assert_true(both.delta < alone.delta + 2 * back.delta + 1e-9);
}

static void refused(const fre_mechanism *m, const fre_level *l, size_t n, double eps,
                    fre_status expected, const char *field)
{
    fre_levels_account a = {.delta = 7};
    fre_err err = {0};

    assert_int_equal(delta_of(&a, m, l, n, eps, &err), expected);
    assert_close(a.delta, 7, 0, 0);
    assert_non_null(strstr(err.text, field));
}

static void test_refusals(void **state)
{
    const fre_level good = {FRE_COUNTS_NOISY, 0, 0, 12, 3, 0.6};
    const fre_level sampled = {FRE_COUNTS_SAMPLED, (uint64_t)1 << 31, 20, 0, 3, 1.2};
    fre_level many[FRE_LEVELS_MAX + 1], l;
    fre_mechanism m = grid();
    size_t i;

    (void)state;
    for (i = 0; i <= FRE_LEVELS_MAX; i++)
        many[i] = good;
    refused(NULL, NULL, 0, 1, FRE_E_USAGE, "levels");
    refused(NULL, many, FRE_LEVELS_MAX + 1, 1, FRE_E_USAGE, "levels");
    refused(NULL, &good, 1, 0, FRE_E_USAGE, "{epsilon}");
    refused(NULL, &good, 1, (double)NAN, FRE_E_USAGE, "{epsilon}");
    refused(NULL, &good, 1, 51, FRE_E_USAGE, "{epsilon}");
    l = good, l.sigma = 0;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "{sigma}");
    l = good, l.sigma = (double)NAN;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "{sigma}");
    l = good, l.shift = -1;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "{radius}");
    l = good, l.count_sigma = 0;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "sigma of counts");
    l = sampled, l.p32 = FRE_P_ONE;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "{sampling_rate}");
    l = sampled, l.tau = 16385;
    refused(NULL, &l, 1, 1, FRE_E_USAGE, "{tau}");
    m = grid(), m.p32 = FRE_P_ONE;
    refused(&m, &good, 1, 2, FRE_E_INFEASIBLE, "{sampling_rate}");
    m = grid();
    refused(&m, &good, 1, 0.01, FRE_E_INFEASIBLE, "{epsilon}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_noisy_laws),
        cmocka_unit_test(test_sampled_laws), cmocka_unit_test(test_grid),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("privacy_levels", tests, NULL, NULL);
}
