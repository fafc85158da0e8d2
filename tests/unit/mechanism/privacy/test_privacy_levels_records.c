/* Levels for several records a user, and records in place of others, against the laws of small worlds: their
 * losses are enumerated or integrated here, rounded down, and composed, without the accountant's functions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"

static double account(const fre_level *l, size_t n, uint32_t cells, fre_adjacency adjacency,
                      double eps)
{
    const fre_levels m = {.level = l, .n = n, .adjacency = adjacency, .cells_per_user = cells};
    fre_levels_account a;

    assert_int_equal(fre_levels_delta(&a, &m, eps, NULL), FRE_OK);
    assert_close(a.delta, adjacency == FRE_ADJACENCY_REPLACE ? a.addition + a.removal
                                                             : fmax(a.addition, a.removal),
                 1e-12, 0);
    return a.delta;
}

/* ---- losses of one record in one world ------------------------------------------------------ */

#define STEP 0.0005
#define MOST 20000 /* losses from -MOST STEP to MOST STEP */

/* ln(with/without) rounded down, under the law with the record; and up to its sign the same turned round. */
typedef struct law {
    double with[2 * MOST + 1], without[2 * MOST + 1];
} law;

/* q: chance with the record, p: without. */
static void put(double *mass, double q, double loss)
{
    double k = floor(loss / STEP);

    if (k < -MOST || !(q > 0))
        return;
    mass[(ptrdiff_t)fmin(k, MOST) + MOST] += q;
}

static void outcome(law *w, double q, double p)
{
    put(w->with, q, q > 0 && p > 0 ? log(q / p) : HUGE_VAL);
    put(w->without, p, q > 0 && p > 0 ? log(p / q) : HUGE_VAL);
}

static double below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* A released cell of a noisy level whose count's noise must reach a: the sum's shift is one more coordinate. */
static void released_noisy(law *w, double a, double m0, double m1, double q, double p)
{
    const double h = 0.05;

    for (double z = fmax(a, -7); z < 7 + m0; z += h) {
        const double qz = q * (below(z + h - m0) - below(z - m0)), pz = p * (below(z + h) - below(z));

        for (double y = -7; y < 7 + m1; y += h)
            outcome(w, qz * (below(y + h - m1) - below(y - m1)), pz * (below(y + h) - below(y)));
    }
}

static void noisy_world(law *w, const fre_level *l, size_t n, const double *a)
{
    double q = 1, p = 1;

    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < n; i++) {
        const double m0 = 1 / l[i].count_sigma;

        released_noisy(w, a[i], m0, l[i].shift / l[i].sigma, q, p);
        q *= below(a[i] - m0);
        p *= below(a[i]);
    }
    outcome(w, q, p);
}

static double binomial(unsigned n, unsigned c, double p)
{
    return exp(lgamma(n + 1) - lgamma(c + 1) - lgamma(n - c + 1) + c * log(p) + (n - c) * log1p(-p));
}

/* Counts alone: the shift is too short to tell. */
static void sampled_world(law *w, const fre_level *l, size_t n, const unsigned *others)
{
    double q = 1, p = 1;

    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < n; i++) {
        const double rate = (double)l[i].p32 / 4294967296.0;
        double less_q = 0, less_p = 0;

        for (unsigned c = 0; c <= others[i] + 1; c++) {
            const double without = c <= others[i] ? binomial(others[i], c, rate) : 0;
            const double with = (1 - rate) * without +
                                (c > 0 ? rate * binomial(others[i], c - 1, rate) : 0);

            if (c >= l[i].tau) {
                outcome(w, q * with, p * without);
            } else {
                less_q += with;
                less_p += without;
            }
        }
        q *= less_q;
        p *= less_p;
    }
    outcome(w, q, p);
}

/* sum over i, j of a_i b_j (1 - e^(eps - l_i - l_j))+: two records, each in a world of its own.  The last
 * place is an infinite loss. */
static double composed(const double *a, const double *b, double eps)
{
    static double from[2 * MOST + 2], discounted[2 * MOST + 2]; /* of b, from a place on */
    double sum = 0;

    from[2 * MOST + 1] = discounted[2 * MOST + 1] = 0;
    for (ptrdiff_t j = 2 * MOST; j >= 0; j--) {
        from[j] = from[j + 1] + b[j];
        discounted[j] =
            discounted[j + 1] + (j == 2 * MOST ? 0 : b[j] * exp(-(double)(j - MOST) * STEP));
    }
    for (ptrdiff_t i = 0; i < 2 * MOST; i++) {
        const double need = eps - (double)(i - MOST) * STEP;
        const double place = fmin(2 * MOST, fmax(0, ceil(need / STEP) + MOST));

        sum += a[i] * (from[(size_t)place] - exp(need) * discounted[(size_t)place]);
    }
    return sum + a[2 * MOST] * from[0];
}

/* ---- noisy counts ------------------------------------------------------------------------------ */

static void test_noisy(void **state)
{
    static const double at[] = {-9, -1.5, -0.5, 0.5, 1.5, 12};
    const fre_level l[] = {{FRE_COUNTS_NOISY, 0, 0, 5, 3, 0.6}, {FRE_COUNTS_NOISY, 0, 0, 4, 4, 0.6}};
    const double eps = 1.2;
    law *w = malloc(sizeof *w);
    double worst = 0, replaced = 0, claim, claim_replaced;

    (void)state;
    assert_non_null(w);
    claim = account(l, 2, 2, FRE_ADJACENCY_ADD_REMOVE, eps);
    claim_replaced = account(l, 2, 1, FRE_ADJACENCY_REPLACE, eps);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            noisy_world(w, l, 2, (double[]){at[i], at[k]});
            worst = fmax(worst, fmax(composed(w->with, w->with, eps),
                                     composed(w->without, w->without, eps)));
            replaced = fmax(replaced, composed(w->with, w->without, eps));
        }
    assert_true(worst <= claim);
    assert_true(worst >= 0.85 * claim);
    assert_true(replaced <= claim_replaced);
    assert_true(replaced > 0.01 * claim_replaced); /* the division of epsilon costs much of it */
    free(w);
}

/* Of one level the claim is known in closed form. */
static void test_one_level(void **state)
{
    static const uint32_t cells[] = {2, 3, 7, 20, 150};
    const fre_level l = {FRE_COUNTS_NOISY, 0, 0, 20, 12, 0.6};
    const double m0 = 1. / 20, m1 = 0.6 / 12;

    (void)state;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        for (double eps = 0.3; eps < 3; eps *= 2) {
            const double mu = hypot(m0, m1) * sqrt(cells[i]);
            const double exact = below(mu / 2 - eps / mu) - exp(eps) * below(-mu / 2 - eps / mu);
            const double claim = account(&l, 1, cells[i], FRE_ADJACENCY_ADD_REMOVE, eps);

            if (exact < 1e-12)
                continue; /* the closed form cancels */
            assert_true(claim >= exact * (1 - 1e-9));
            assert_true(claim <= exact * 1.05);
        }
}

/* Replaced records of one level: in cells of their own, or two in one. */
static void test_one_level_replaced(void **state)
{
    const fre_level sums = {FRE_COUNTS_NOISY, 0, 0, 30, 1, 0.6};
    const fre_level counts = {FRE_COUNTS_NOISY, 0, 0, 2, 20, 0.6};

    (void)state;
    assert_close(account(&sums, 1, 1, FRE_ADJACENCY_REPLACE, 2), fre_gauss_delta(2, 1.2), 0, 1e-6);
    assert_close(account(&counts, 1, 1, FRE_ADJACENCY_REPLACE, 2),
                 fre_gauss_delta(2, sqrt(2) * hypot(0.5, 0.03)), 0, 1e-6);
    assert_close(account(&counts, 1, 4, FRE_ADJACENCY_REPLACE, 2),
                 fre_gauss_delta(2, sqrt(8) * hypot(0.5, 0.03)), 0, 1e-6);
}

/* ---- sampled counts ---------------------------------------------------------------------------- */

static void test_sampled(void **state)
{
    const fre_level l[] = {{FRE_COUNTS_SAMPLED, (uint64_t)1 << 31, 12, 0, 1, 1e-9},
                           {FRE_COUNTS_SAMPLED, (uint64_t)1 << 30, 8, 0, 1, 1e-9}};
    law *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (double eps = 0.5; eps < 5; eps += 0.75) {
        const double claim = account(l, 2, 2, FRE_ADJACENCY_ADD_REMOVE, eps);
        const double claim_replaced = account(l, 2, 1, FRE_ADJACENCY_REPLACE, eps);
        double worst = 0, replaced = 0;

        for (unsigned a = 5; a < 60; a += a < 20 ? 3 : 8)
            for (unsigned b = 5; b < 60; b += b < 20 ? 3 : 8) {
                sampled_world(w, l, 2, (unsigned[]){a, b});
                worst = fmax(worst, fmax(composed(w->with, w->with, eps),
                                         composed(w->without, w->without, eps)));
                replaced = fmax(replaced, composed(w->with, w->without, eps));
            }
        assert_true(worst <= claim);
        assert_true(worst >= 0.4 * claim); /* a curve of suprema: no one cell has them all */
        assert_true(replaced <= claim_replaced);
    }
    free(w);
}

/* ---- a grid first ------------------------------------------------------------------------------ */

static fre_mechanism grid_for(uint32_t cells, fre_adjacency adjacency)
{
    fre_plan_request r;
    fre_plan p;

    fre_plan_request_init(&r);
    r.epsilon = 3;
    r.delta = 1e-6;
    r.threshold = 60;
    r.population = 1000000;
    r.cells_per_user = cells;
    r.adjacency = adjacency;
    assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK);
    return p.mechanism;
}

/* With a level behind that tells nothing, the account is that of the grid alone; with one that does, it is more
 * than either and less than both at half the epsilon. */
static void test_grid(void **state)
{
    const fre_level nothing = {FRE_COUNTS_NOISY, 0, 0, 1e6, 1e6, 0.6},
                    much = {FRE_COUNTS_NOISY, 0, 0, 9, 2, 0.6};
    const fre_mechanism m = grid_for(3, FRE_ADJACENCY_ADD_REMOVE);
    fre_levels all = {.grid = &m, .level = &nothing, .n = 1, .cells_per_user = 3};
    fre_levels_account a, b;
    fre_account alone;

    (void)state;
    assert_int_equal(fre_joint_delta(&alone, &m, 3, NULL), FRE_OK);
    assert_int_equal(fre_levels_delta(&a, &all, 3, NULL), FRE_OK);
    assert_true(a.delta >= 0.9 * alone.delta && a.delta <= 1.05 * alone.delta);
    assert_true(a.split > 0 && a.removal < 1e-3 * a.addition);
    all.level = &much;
    assert_int_equal(fre_levels_delta(&b, &all, 3, NULL), FRE_OK);
    assert_true(b.addition > a.addition && b.removal > a.removal);
    assert_true(b.delta >= account(&much, 1, 3, FRE_ADJACENCY_ADD_REMOVE, 3));
    all = (fre_levels){.grid = &m, .cells_per_user = 3};
    assert_int_equal(fre_levels_delta(&a, &all, 3, NULL), FRE_OK);
    assert_close(a.delta, alone.delta, 1e-9, 0);
}

/* Worst case: records as far apart as embeddings can be.  The least epsilon is more than the planned one, and a
 * delta at it is within the target; at one per cent less it is not. */
static void test_worst_case(void **state)
{
    const fre_level behind = {FRE_COUNTS_NOISY, 0, 0, 9, 2, 0.6};

    (void)state;
    for (uint32_t cells = 1; cells <= 2; cells++) {
        fre_mechanism m = grid_for(cells, FRE_ADJACENCY_ADD_REMOVE), alone;
        const fre_levels all = {.grid = &m, .level = &behind, .n = 1, .cells_per_user = cells};
        fre_levels_account a, less;
        fre_account one;

        m.sensitivity = FRE_SENSITIVITY_WORST_CASE;
        alone = m;
        assert_int_equal(fre_joint_epsilon(&one, &alone, 1e-6, NULL), FRE_OK);
        assert_int_equal(fre_levels_epsilon(&a, &all, 1e-6, NULL), FRE_OK);
        assert_true(a.delta <= 1e-6);
        assert_close(a.split, 2 * m.norm_bound, 0, cells == 1 ? 1e-9 : 0);
        assert_true(a.epsilon >= 0.98 * one.epsilon && one.epsilon > 3);
        assert_int_equal(fre_levels_delta(&less, &all, 0.99 * a.epsilon, NULL), FRE_OK);
        assert_true(less.delta > 1e-6);
    }
}

/* Replacement with a grid: as the joint accountant has it where nothing follows, but for the division. */
static void test_grid_replaced(void **state)
{
    const fre_level nothing = {FRE_COUNTS_NOISY, 0, 0, 1e6, 1e6, 0.6};
    const fre_mechanism m = grid_for(1, FRE_ADJACENCY_REPLACE);
    const fre_levels all = {
        .grid = &m, .level = &nothing, .n = 1, .adjacency = FRE_ADJACENCY_REPLACE};
    fre_levels_account a;
    fre_account alone;

    (void)state;
    assert_int_equal(fre_joint_delta(&alone, &m, 3, NULL), FRE_OK);
    assert_int_equal(fre_levels_delta(&a, &all, 3, NULL), FRE_OK);
    assert_true(a.delta >= 0.97 * alone.delta && a.delta <= 3 * alone.delta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noisy),      cmocka_unit_test(test_one_level),
        cmocka_unit_test(test_sampled),    cmocka_unit_test(test_one_level_replaced),
        cmocka_unit_test(test_grid),       cmocka_unit_test(test_grid_replaced),
        cmocka_unit_test(test_worst_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
