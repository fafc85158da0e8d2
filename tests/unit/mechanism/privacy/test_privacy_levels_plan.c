/* The plan of a release by levels: what was planned is accounted again, and is the least that holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"

static fre_plan_request asked(const char *list, double epsilon, uint64_t threshold,
                              fre_counts counts)
{
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = epsilon;
    r.delta = 1e-7;
    r.threshold = threshold;
    r.population = 1000000;
    assert_int_equal(fre_plan_request_levels(&r, list, 0.6, counts, NULL), FRE_OK);
    return r;
}

static double again(const fre_plan *p, double factor)
{
    fre_level room[FRE_LEVELS_MAX];
    fre_levels all = fre_plan_levels_of(p, room);
    fre_mechanism grid = p->mechanism;
    fre_levels_account a = {.delta = 1};
    size_t i;

    grid.sigma *= factor;
    for (i = 0; i < all.n; i++) {
        room[i].sigma *= factor;
        room[i].count_sigma *= factor;
    }
    all.grid = all.grid ? &grid : NULL;
    assert_int_equal(fre_levels_delta(&a, &all, p->request.epsilon, NULL), FRE_OK);
    return a.delta;
}

/* delta of the plan's mechanism where the grid's records are as far apart as can be. */
static double worst_delta(const fre_plan *p, double epsilon)
{
    fre_level room[FRE_LEVELS_MAX];
    fre_mechanism grid = p->mechanism;
    fre_levels all = fre_plan_levels_of(p, room);
    fre_levels_account a;

    grid.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    all.grid = &grid;
    assert_int_equal(fre_levels_delta(&a, &all, epsilon, NULL), FRE_OK);
    return a.delta;
}

/* What a plan says beside its claim. */
static void check_beside(const fre_plan *p)
{
    const fre_plan_request *r = &p->request;
    double empty = 0;

    for (size_t i = 0; i < r->n_levels; i++)
        if (r->level[i].counts == FRE_COUNTS_NOISY)
            empty += (double)r->level[i].sketch.codebook.cells / 2 *
                     erfc((double)p->level[i].level.tau / p->level[i].level.count_sigma / sqrt(2));
    assert_close(p->empty_cells, empty, 1e-300, 1e-9);
    if (r->no_grid) {
        assert_true(!(fabs(p->worst_case_epsilon - r->epsilon) > 0));
        return;
    }
    assert_true(p->worst_case_epsilon > r->epsilon);
    if (r->sensitivity == FRE_SENSITIVITY_WORST_CASE || isinf(p->worst_case_epsilon))
        return;
    assert_true(worst_delta(p, p->worst_case_epsilon) <= r->delta);
    assert_true(worst_delta(p, 0.97 * p->worst_case_epsilon) > r->delta);
}

static void check_plan(const fre_plan_request *r)
{
    fre_plan p;
    size_t i;

    assert_int_equal(fre_plan_make(&p, r, NULL), FRE_OK);
    assert_true(again(&p, 1) <= r->delta);
    assert_close(again(&p, 1), p.account.delta, 1e-12, 0);
    assert_true(again(&p, 0.995) > r->delta);
    check_beside(&p);
    for (i = 0; i < r->n_levels; i++) {
        const fre_plan_level *l = &p.level[i];
        const double root = sqrt((double)r->dim);

        assert_int_equal(l->level.counts, r->level[i].counts);
        assert_close(l->level.sigma, (double)l->sigma_lattice * l->lattice_step, 0, 0);
        if (l->level.counts == FRE_COUNTS_SAMPLED) {
            assert_true(l->level.shift >=
                        2 * r->level[i].sketch.codebook.radius + l->lattice_step * root);
            assert_true(l->level.tau == fre_tau(l->level.p32, r->threshold));
            continue;
        }
        assert_true(l->level.shift >=
                    r->level[i].sketch.codebook.radius + l->lattice_step * root / 2);
        assert_close(l->level.count_sigma, (double)l->count_sigma_lattice * FRE_COUNT_STEP, 0, 0);
        assert_true(l->level.tau >= r->threshold);
        assert_true((double)l->level.tau >=
                    l->level.count_sigma *
                        sqrt(2 * log((double)r->level[i].sketch.codebook.cells)));
    }
}

static void test_plans(void **state)
{
    fre_plan_request r;

    (void)state;
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), check_plan(&r);
    r = asked("4096x64,4096x8,8192,4096,2048,1024,256", 4, 50, FRE_COUNTS_NOISY), check_plan(&r);
    r = asked("4096x8,1024", 1, 50, FRE_COUNTS_NOISY), check_plan(&r);
    r = asked("grid,4096x8,1024", 2, 50, FRE_COUNTS_NOISY), check_plan(&r);
    r = asked("auto", 4, 100, FRE_COUNTS_NOISY), check_plan(&r);
    r = asked("grid,1024", 4, 100, FRE_COUNTS_SAMPLED), check_plan(&r);
    r = asked("4096,256", 2, 100, FRE_COUNTS_SAMPLED), check_plan(&r);
}

static void test_plans_of_records(void **state)
{
    fre_plan_request r;

    (void)state;
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.cells_per_user = 5, check_plan(&r);
    r = asked("4096x8,1024,256", 2, 50, FRE_COUNTS_NOISY), r.cells_per_user = 3, check_plan(&r);
    r = asked("4096,256", 2, 100, FRE_COUNTS_SAMPLED), r.cells_per_user = 2, check_plan(&r);
    r = asked("1024", 1, 50, FRE_COUNTS_NOISY), r.adjacency = FRE_ADJACENCY_REPLACE, check_plan(&r);
    r = asked("4096x8,1024", 4, 50, FRE_COUNTS_NOISY), r.adjacency = FRE_ADJACENCY_REPLACE;
    check_plan(&r);
    r.cells_per_user = 2, check_plan(&r);
    r = asked("grid,1024", 4, 100, FRE_COUNTS_NOISY), r.cells_per_user = 2, check_plan(&r);
}

/* One level of noisy counts is one Gaussian mechanism (docs/privacy.md). */
static void test_one_level(void **state)
{
    const fre_plan_request r = asked("1024", 4, 50, FRE_COUNTS_NOISY);
    const fre_level *l;
    fre_plan p;
    double mu;

    (void)state;
    assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK);
    l = &p.level[0].level;
    mu = hypot(1 / l->count_sigma, l->shift / l->sigma);
    assert_close(fre_gauss_delta(4, mu), p.account.delta, 0.03, 0);
    assert_true(l->sigma / r.level[0].sketch.codebook.radius <
                1.45); /* sampled counts need 3.5 at p = 1 */
}

static void test_without_noise(void **state)
{
    fre_plan_request r = asked("grid,4096x8,1024", 1, 50, FRE_COUNTS_NOISY);
    fre_plan p;

    (void)state;
    r.epsilon = HUGE_VAL;
    assert_int_equal(fre_plan_make(&p, &r, NULL), FRE_OK);
    assert_int_equal(p.level[1].sigma_lattice, 0);
    assert_int_equal(p.level[1].count_sigma_lattice, 0);
    assert_int_equal(p.level[1].level.tau, 50);
}

static void refused_list(const char *list, const char *says)
{
    fre_plan_request r;
    fre_err err = {0};

    fre_plan_request_init(&r);
    assert_int_equal(fre_plan_request_levels(&r, list, 0.6, FRE_COUNTS_NOISY, &err), FRE_E_USAGE);
    assert_non_null(strstr(err.text, says));
    assert_int_equal(r.n_levels, 0);
}

/* A threshold at which exact counts cannot be had: "auto" goes without the grid and says so, a list that names it
 * is refused. */
static void test_grid_if_possible(void **state)
{
    const fre_plan_request is_auto = asked("auto", 4, 20, FRE_COUNTS_NOISY);
    const fre_plan_request named = asked("grid,1024", 4, 20, FRE_COUNTS_NOISY);
    fre_plan p;

    (void)state;
    assert_int_equal(fre_plan_make(&p, &named, NULL), FRE_E_INFEASIBLE);
    assert_int_equal(fre_plan_make(&p, &is_auto, NULL), FRE_OK);
    assert_true(p.request.no_grid && p.request.n_levels == 7 && !is_auto.no_grid);
    assert_true(p.n_warnings > 0 && strstr(p.warnings[0], "The grid is left out"));
    assert_true(again(&p, 1) <= is_auto.delta);
    assert_true(again(&p, 0.995) > is_auto.delta);
}

static void test_lists(void **state)
{
    fre_plan_request r;

    (void)state;
    fre_plan_request_init(&r);
    assert_int_equal(fre_plan_request_levels(&r, "grid", 0.6, FRE_COUNTS_NOISY, NULL), FRE_OK);
    assert_true(!r.no_grid && r.n_levels == 0);
    assert_int_equal(fre_plan_request_levels(&r, "auto", 0.6, FRE_COUNTS_NOISY, NULL), FRE_OK);
    assert_true(!r.no_grid && r.n_levels == 7 && r.level[0].sketch.codebook.cells == 4096 * 64);
    assert_string_equal(r.level[1].name, "4096x8");
    assert_int_equal(fre_plan_request_levels(&r, "16", 0.6, FRE_COUNTS_NOISY, NULL), FRE_OK);
    assert_true(r.no_grid && r.n_levels == 1);
    fre_plan_request_init(&r);
    refused_list("", "''");
    refused_list("16,", "''");
    refused_list("256,1024", "fine to coarse");
    refused_list("256,256", "'256'");
    refused_list("256,grid", "'grid'");
    refused_list("grid,grid", "'grid'");
    refused_list("0", "'0'");
    refused_list("-4", "'-4'");
    refused_list("1024 ", "'1024 '");
    refused_list("4x0", "'4x0'");
    refused_list("4x", "'4x'");
    refused_list("1e3", "'1e3'");
    refused_list("4096x8x2", "'4096x8x2'");
    refused_list("99999999999999999999999", "'999");
    refused_list("65536x65536", "'65536x");
    refused_list("13,12,11,10,9,8,7,6,5,4,3,2,1", "at most 12");
}

static void refused(const fre_plan_request *r, fre_status st, const char *says)
{
    fre_plan p = {.n_warnings = 77};
    fre_err err = {0};

    assert_int_equal(fre_plan_make(&p, r, &err), st);
    assert_non_null(strstr(err.text, says));
    assert_int_equal(p.n_warnings, 77);
}

static void test_refusals(void **state)
{
    fre_plan_request r = asked("grid,1024", 4, 50, FRE_COUNTS_NOISY);

    (void)state;
    r.accountant = FRE_ACCOUNTANT_PAPER;
    refused(&r, FRE_E_USAGE, "{accountant}");
    r = asked("grid,1024", 4, 50, FRE_COUNTS_NOISY), r.dist.on = true;
    refused(&r, FRE_E_USAGE, "{levels}: the distributed mode releases one level");
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.level[0].sketch.codebook.radius = 0;
    refused(&r, FRE_E_USAGE, "radius of level 1");
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.level[0].sketch.codebook.radius = (double)NAN;
    refused(&r, FRE_E_USAGE, "radius of level 1");
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.level[0].sketch.codebook.cells = 0;
    refused(&r, FRE_E_USAGE, "cells");
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.n_levels = 0;
    refused(&r, FRE_E_USAGE, "{levels}");
    r = asked("1024", 4, 50, FRE_COUNTS_NOISY), r.n_levels = FRE_LEVELS_MAX + 1;
    refused(&r, FRE_E_USAGE, "{levels}");
}

static void test_interrupted(void **state)
{
    const fre_plan_request r = asked("1024,256", 4, 100, FRE_COUNTS_NOISY);
    fre_plan p = {.n_warnings = 77};
    fre_level room[FRE_LEVELS_MAX];
    fre_levels all;
    fre_levels_account a;
    fre_err err;

    (void)state;
    fre_interrupt_set();
    assert_int_equal(fre_plan_make(&p, &r, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(p.n_warnings, 77); /* nothing is written */
    assert_int_equal(fre_plan_make(&p, &r, &err), FRE_OK);
    all = fre_plan_levels_of(&p, room);
    fre_interrupt_set();
    assert_int_equal(fre_levels_epsilon(&a, &all, 1e-7, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(fre_levels_epsilon(&a, &all, 1e-7, &err), FRE_OK);
}

/* The grid's losses of a user in many cells take a second to compose. */
static void test_interrupted_composition(void **state)
{
    fre_plan_request r;
    fre_plan p = {.n_warnings = 77};
    fre_err err;

    (void)state;
    fre_plan_request_init(&r);
    r.epsilon = 4;
    r.cells_per_user = 20;
    fre_interrupt_set();
    assert_int_equal(fre_plan_make(&p, &r, &err), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_int_equal(p.n_warnings, 77); /* nothing is written */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_plans_of_records),
        cmocka_unit_test(test_one_level),
        cmocka_unit_test(test_without_noise),
        cmocka_unit_test(test_grid_if_possible),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_interrupted_composition),
        cmocka_unit_test(test_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
