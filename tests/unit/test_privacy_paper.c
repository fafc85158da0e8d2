/* The paper's accountant: its bounds against the exact laws they stand for, several records a
 * user by enumeration of partitions, bounded DP, warnings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/privacy.h>

#include "assert_num.h"

static fre_plan_request request(double epsilon, double p, double v)
{
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = epsilon;
    r.population = 1000000;
    r.proj = 20;
    r.accountant = FRE_ACCOUNTANT_PAPER;
    r.sampling_rate = p;
    r.budget_factor = v;
    return r;
}

static fre_plan plan_of(const fre_plan_request *r)
{
    fre_plan p;
    fre_err err = {""};
    fre_status st = fre_plan_make(&p, r, &err);

    if (st != FRE_OK)
        print_error("%s\n", err.text);
    assert_int_equal(st, FRE_OK);
    return p;
}

static void refused(const fre_plan_request *r, fre_status st, const char *words)
{
    static fre_plan p, before;
    fre_err err = {""};

    memset(&p, 0x5a, sizeof p);
    memcpy(&before, &p, sizeof p);
    assert_int_equal(fre_plan_make(&p, r, &err), st);
    if (!strstr(err.text, words))
        print_error("'%s' lacks '%s'\n", err.text, words);
    assert_non_null(strstr(err.text, words));
    assert_memory_equal(&p, &before, sizeof p); /* written on success only */
}

static double rate_of(const fre_plan *p)
{
    return (double)p->mechanism.p32 / 4294967296.0;
}

static double log_mass(double n, double j, double p)
{
    return j < 0 || j > n ? -HUGE_VAL
                          : lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(p) +
                                (n - j) * log1p(-p);
}

/* ---- the released counts ------------------------------------------------------------------ */

/* Pr[Bin(n, p) >= at]. */
static double tail(double n, double p, double at)
{
    double sum = 0, j;

    for (j = ceil(at); j <= n; j++)
        sum += exp(log_mass(n, j, p));
    return sum;
}

/* H_g between the released counts of n and of n - l copies of one text, either way round; all
 * counts below tau are one outcome. */
static double counts_hockey(double n, uint32_t l, double p, double tau, double g, bool added)
{
    double from = added ? n : n - l, to = added ? n - l : n, below_from = 1, below_to = 1;
    double sum = 0, j;

    for (j = tau; j <= n; j++) {
        double a = exp(log_mass(from, j, p)), b = exp(log_mass(to, j, p));

        below_from -= a;
        below_to -= b;
        sum += fmax(0, a - g * b);
    }
    return sum + fmax(0, below_from - g * below_to);
}

/* delta_l bounds Pr[Bin(n, p) >= max(tau, q (n - l + 1))] for every n [Fre-E2T, app. Extensions],
 * and the counts are (l eps_fre, delta_l)-private; it isn't vacuous either. */
static void counts_are_bounded(void **state)
{
    static const double rates[] = {0.2, 0.35, 0.6}, taus[] = {3, 9, 24}, vs[] = {1, 2.5, 5};
    int i;

    (void)state;
    for (i = 0; i < 27; i++) {
        double p = rates[i % 3], tau = taus[i / 3 % 3], v = vs[i / 9];
        double q = 1 - pow(1 - p, v + 1), n;
        uint32_t l;

        for (l = 1; l <= 5; l++) {
            double bound = fre_paper_group_delta(p, tau, v, l), most = 0;
            double g = pow(1 - p, -v * l);

            assert_true(bound > 0 && bound <= 1);
            for (n = l; n <= 3 * tau / p + 20; n++) {
                most = fmax(most, tail(n, p, fmax(tau, q * (n - l + 1))));
                assert_true(counts_hockey(n, l, p, tau, g, true) <= bound * (1 + 1e-9) + 1e-14);
                assert_true(counts_hockey(n, l, p, tau, g, false) <= bound * (1 + 1e-9) + 1e-14);
            }
            assert_true(most <= bound * (1 + 1e-9));
            assert_true(most >= bound / 400);
        }
    }
}

static void counts_beyond_their_mean_are_not_bounded(void **state)
{
    double q = 1 - pow(0.4, 3); /* p = .6, v = 2 */
    uint32_t l, seen = 0;

    (void)state;
    for (l = 1; l <= 40; l++) {
        double m = 6 / q + l - 1, bound = fre_paper_group_delta(0.6, 6, 2, l);

        if (0.6 * m >= 6) {
            assert_close(bound, 1, 0, 0);
            seen++;
        }
        assert_true(tail(floor(m), 0.6, 6) <= bound);
        if (l > 1)
            assert_true(bound >= fre_paper_group_delta(0.6, 6, 2, l - 1));
    }
    assert_true(seen > 10);
}

/* The paper: at p <= .1 the counts alone exceed delta for every v <= 5. */
static void low_rates_exhaust_delta(void **state)
{
    int v;

    (void)state;
    for (v = 1; v <= 5; v++) {
        fre_plan_request r = request(8, 0.1, v);

        assert_true(fre_paper_group_delta(0.1, 10, v, 1) >= 4e-5);
        refused(&r, FRE_E_INFEASIBLE, "the paper's accountant");
    }
}

/* ---- several records ---------------------------------------------------------------------- */

typedef struct worst {
    double counts, sums;
} worst;

/* Every partition of `left` records into parts of at most `largest`. */
static void partitions(const worst *of, uint32_t left, uint32_t largest, worst so_far, worst *out)
{
    uint32_t l;

    if (left == 0) {
        out->counts = fmax(out->counts, so_far.counts);
        out->sums = fmax(out->sums, so_far.sums);
    }
    for (l = 1; l <= largest && l <= left; l++) {
        worst w = {so_far.counts + of[l].counts, so_far.sums + of[l].sums};

        partitions(of, left - l, l, w, out);
    }
}

/* delta of m records by the printed formulas, at the plan's sigma times `scale`. */
static double bespoke_delta(const fre_plan *p, uint32_t m, double scale)
{
    const fre_mechanism *mech = &p->mechanism;
    double rate = rate_of(p), reach = p->account.split + mech->lattice_step * sqrt(mech->dim);
    double e = p->request.epsilon, s;
    worst of[32] = {{0, 0}}, out = {0, 0};
    uint32_t l;

    if (mech->adjacency == FRE_ADJACENCY_REPLACE)
        e /= 2;
    e -= m * p->v * log(1 / (1 - rate));
    for (l = 1; l <= m; l++) {
        double mu = l * reach / (mech->sigma * scale);

        of[l].counts = fre_paper_group_delta(rate, (double)mech->tau, p->v, l);
        of[l].sums = p->request.gaussian == FRE_GAUSSIAN_ZCDP
                         ? fre_zcdp_delta(mu * mu / 2, l * e / m)
                         : fre_gauss_delta(l * e / m, mu);
    }
    partitions(of, m, m, (worst){0, 0}, &out);
    s = out.counts + out.sums +
        m * fre_collision(mech->proj, mech->cell_edge, p->account.split);
    return mech->adjacency == FRE_ADJACENCY_REPLACE ? (1 + exp(p->request.epsilon / 2)) * s : s;
}

static void bespoke_by_partitions(void **state)
{
    static const struct {
        double epsilon, delta, p, v;
        uint64_t threshold;
        uint32_t m;
        fre_gaussian gaussian;
        fre_adjacency adjacency;
    } at[] = {
        {8, 1e-6, 0.3, 3, 100, 1, FRE_GAUSSIAN_ANALYTIC, FRE_ADJACENCY_ADD_REMOVE},
        {8, 1e-6, 0.3, 4, 200, 2, FRE_GAUSSIAN_ANALYTIC, FRE_ADJACENCY_ADD_REMOVE},
        {8, 1e-6, 0.2, 3, 300, 5, FRE_GAUSSIAN_ZCDP, FRE_ADJACENCY_ADD_REMOVE},
        {16, 1e-5, 0.2, 3, 400, 12, FRE_GAUSSIAN_ANALYTIC, FRE_ADJACENCY_ADD_REMOVE},
        {24, 1e-6, 0.2, 3, 400, 9, FRE_GAUSSIAN_ANALYTIC, FRE_ADJACENCY_REPLACE},
        /* delta so large that records spread over cells are worse than all in one */
        {0.8, 0.6, 0.1, 1, 1000, 4, FRE_GAUSSIAN_ANALYTIC, FRE_ADJACENCY_ADD_REMOVE},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof at / sizeof at[0]; i++) {
        fre_plan_request r = request(at[i].epsilon, at[i].p, at[i].v);
        fre_plan p;
        uint32_t m = at[i].m;
        double rate;

        r.delta = at[i].delta;
        r.sensitivity_ratio = 3.6; /* bounded DP leaves a record's delta_sens little */
        r.threshold = at[i].threshold;
        r.cells_per_user = m;
        r.records = FRE_PAPER_BESPOKE;
        r.gaussian = at[i].gaussian;
        r.adjacency = at[i].adjacency;
        p = plan_of(&r);
        rate = rate_of(&p);
        assert_true(p.account.delta <= r.delta);
        assert_true(p.account.delta >= bespoke_delta(&p, m, 1) * (1 - 1e-12));
        assert_close(p.account.delta, bespoke_delta(&p, m, 1), 0, 1e-8);
        assert_true(bespoke_delta(&p, m, 1 - 1e-3) > r.delta); /* no more noise than needed */
        assert_close(p.epsilon_fre, m * p.v * -log1p(-rate), 0, 1e-12);
        assert_close(p.epsilon_fre + p.epsilon_agg,
                     r.epsilon / (r.adjacency == FRE_ADJACENCY_REPLACE ? 2 : 1), 0, 1e-12);
    }
}

/* Group privacy and the cap as printed, from the theorem for one record. */
static void group_and_cap_as_printed(void **state)
{
    uint32_t m;

    (void)state;
    for (m = 1; m <= 4; m++) {
        fre_plan_request r = request(16, 0.2, 3);
        fre_plan cap, group, one;
        double e, factor;

        r.cells_per_user = m;
        r.threshold = 400;
        r.sensitivity_ratio = 3.4; /* group privacy leaves a record's delta_sens little */
        r.records = FRE_PAPER_CAP;
        cap = plan_of(&r);
        r.records = FRE_PAPER_GROUP;
        group = plan_of(&r);
        e = group.epsilon_fre + group.epsilon_agg;
        factor = expm1(m * e) / expm1(e);
        assert_close(m * e, 16, 0, 1e-12);
        assert_close(factor * (group.delta_fre + group.delta_sens + group.delta_agg), 1e-6, 0, 1e-9);
        assert_close(m * (cap.epsilon_fre + cap.epsilon_agg), 16, 0, 1e-12);
        assert_close(m * (cap.delta_fre + cap.delta_sens + cap.delta_agg), 1e-6, 0, 1e-9);
        assert_true(group.account.delta <= 1e-6 && cap.account.delta <= 1e-6);
        assert_close(group.account.delta, 1e-6, 0, 1e-3);
        assert_close(cap.account.delta, 1e-6, 0, 1e-3);
        assert_true(group.mechanism.sigma >= cap.mechanism.sigma);
        /* the same mechanism as one record's at that share */
        r.cells_per_user = 1;
        r.epsilon = 16.0 / m;
        r.delta = 1e-6 / m;
        one = plan_of(&r);
        assert_close(one.mechanism.sigma, cap.mechanism.sigma, 0, 1e-6);
        r.delta = 1e-6 / factor;
        one = plan_of(&r);
        assert_close(one.mechanism.sigma, group.mechanism.sigma, 0, 1e-6);
    }
}

/* (2 eps, (1 + e^eps) delta), on top of several records. */
static void bounded_as_printed(void **state)
{
    static const fre_paper_records kinds[] = {FRE_PAPER_CAP, FRE_PAPER_GROUP, FRE_PAPER_BESPOKE};
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        fre_plan_request r = request(12, 0.2, 3);
        fre_plan replace, add;

        r.threshold = 400;
        r.cells_per_user = 2;
        r.records = kinds[i];
        r.adjacency = FRE_ADJACENCY_REPLACE;
        replace = plan_of(&r);
        r.adjacency = FRE_ADJACENCY_ADD_REMOVE;
        r.epsilon = 6;
        r.delta = 1e-6 / (1 + exp(6));
        add = plan_of(&r);
        assert_close(replace.mechanism.sigma, add.mechanism.sigma, 0, 1e-6);
        assert_true(replace.account.delta <= 1e-6);
        assert_close(replace.account.delta, (1 + exp(6)) * add.account.delta, 0, 1e-6);
    }
}

static void records_that_cannot_be(void **state)
{
    fre_plan_request r = request(8, 0.3, 3);

    (void)state;
    r.cells_per_user = 65;
    r.records = FRE_PAPER_BESPOKE;
    refused(&r, FRE_E_USAGE, "lower --max-cells-per-user");
    r.cells_per_user = 64;
    refused(&r, FRE_E_INFEASIBLE, "lower --max-cells-per-user");
    r.records = FRE_PAPER_GROUP;
    refused(&r, FRE_E_INFEASIBLE, "lower --max-cells-per-user");
    r = request(50, 0.02, 2); /* and 64 are possible */
    r.threshold = 100000;
    r.cells_per_user = 64;
    r.records = FRE_PAPER_BESPOKE;
    assert_true(plan_of(&r).account.delta <= r.delta);
}

/* ---- warnings ----------------------------------------------------------------------------- */

static bool warns(const fre_plan *p, const char *words)
{
    size_t i;

    for (i = 0; i < p->n_warnings; i++) {
        if (strstr(p->warnings[i], words))
            return true;
    }
    return false;
}

static void curator_faults_are_named(void **state)
{
    fre_plan_request r = request(8, 0.5, 4);
    fre_plan p = plan_of(&r);

    (void)state;
    assert_true(warns(&p, "for one pair"));
    assert_true(warns(&p, "by the norm"));
    assert_true(warns(&p, "semantic support"));
    assert_false(warns(&p, "relay"));
    r.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    p = plan_of(&r);
    assert_false(warns(&p, "for one pair"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_bounded),
        cmocka_unit_test(counts_beyond_their_mean_are_not_bounded),
        cmocka_unit_test(low_rates_exhaust_delta),
        cmocka_unit_test(bespoke_by_partitions),
        cmocka_unit_test(group_and_cap_as_printed),
        cmocka_unit_test(bounded_as_printed),
        cmocka_unit_test(records_that_cannot_be),
        cmocka_unit_test(curator_faults_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
