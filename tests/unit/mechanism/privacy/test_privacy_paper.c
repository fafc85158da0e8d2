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
#include "long_tests.h"
#include "plan_of.h"

static fre_plan_request request(double epsilon, double p, double v)
{
    fre_plan_request r;

    fre_plan_request_init(&r);
    r.epsilon = epsilon;
    r.delta = 1e-6;
    r.population = 1000000;
    r.proj = 20;
    r.accountant = FRE_ACCOUNTANT_PAPER;
    r.sampling_rate = p;
    r.budget_factor = v;
    return r;
}

static void refused(const fre_plan_request *r, fre_status st, const char *words)
{
    static fre_plan p, before;
    fre_err err = {.text = ""};

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
    static const double rates[] = {0.2, 0.35, 0.6}, taus[] = {3, 8, 16}, vs[] = {1, 2.5, 5};
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

/* The number after these words in the refusal; 0: none. */
static double proposed(const fre_plan_request *r, const char *words)
{
    fre_plan p;
    fre_err err = {.text = ""};
    const char *at;

    assert_int_equal(fre_plan_make(&p, r, &err), FRE_E_INFEASIBLE);
    at = strstr(err.text, words);
    return at ? strtod(at + strlen(words), NULL) : 0;
}

/* Every number that a refusal proposes does, the rest unchanged. */
static void proposals_work(void **state)
{
    static const double at[][3] = {{1, 0.3, 1}, {8, 0.1, 3}, {2, 0, 0}, {0.5, 0, 0}, {3, 0.4, 6}};
    int i, thresholds = 0, epsilons = 0;

    (void)state;
    for (i = 0; i < 5; i++) {
        fre_plan_request r = request(at[i][0], at[i][1], at[i][2]), change;
        double threshold, epsilon;

        r.threshold = i == 4 ? 80 : 40;
        r.cells_per_user = i == 2 ? 2 : 1;
        threshold = proposed(&r, "raise {threshold} to ");
        epsilon = proposed(&r, "raise {epsilon} to ");
        assert_true(threshold > 0 || epsilon > r.epsilon);
        if (threshold > 0) {
            change = r;
            change.threshold = (uint64_t)threshold;
            assert_true(plan_of(&change).account.delta <= r.delta);
            thresholds++;
        }
        if (epsilon > 0) {
            change = r;
            change.epsilon = epsilon;
            assert_true(plan_of(&change).account.delta <= r.delta);
            epsilons++;
        }
    }
    assert_true(thresholds >= 3 && epsilons >= 2);
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
    s = out.counts + out.sums + m * fre_collision(&mech->sketch.grid, p->account.split);
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
    for (m = 2; m <= (long_tests() ? 3u : 2u); m++) {
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
        assert_close(factor * (group.delta_fre + group.delta_sens + group.delta_agg), 1e-6, 0,
                     1e-9);
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
    refused(&r, FRE_E_USAGE, "lower {max_cells_per_user}");
    r.cells_per_user = 64;
    refused(&r, FRE_E_INFEASIBLE, "lower {max_cells_per_user}"); /* 64 v ln(1/.7) > 50 */
    r.records = FRE_PAPER_GROUP;
    refused(&r, FRE_E_INFEASIBLE, "lower {max_cells_per_user}");
    r = request(50, 0.02, 2); /* and 64 are possible */
    r.threshold = 100000;
    r.cells_per_user = 64;
    r.records = FRE_PAPER_BESPOKE;
    assert_true(plan_of(&r).account.delta <= r.delta);
}

/* ---- padding of unreleased tags ------------------------------------------------------------ */

static fre_plan_request distributed(double epsilon, double p, double v)
{
    fre_plan_request r = request(epsilon, p, v);

    r.dist.on = true;
    r.dist.cover = true; /* what the protocol's defaults are; the paper has none of it */
    r.dist.curious = 1;
    r.dist.dropout = 0.1;
    return r;
}

static double unre_epsilon(double p, double lambda)
{
    return log(1 + p * (exp(2 / lambda) - 1));
}

static double unre_delta(double p, double lambda, double gamma)
{
    return p / 2 * exp(-(gamma - 2) / lambda);
}

/* lambda and gamma are the least that do, and released and unreleased cells count as printed. */
static void padding_is_the_least(void **state)
{
    static const double epsilons[] = {2, 4, 8, 16, 50}, rates[] = {0.2, 0.3, 0.5, 0.6, 0.8};
    static const double vs[] = {5, 4, 4, 3, 3};
    int i;

    (void)state;
    for (i = 0; i < 5; i++) {
        fre_plan_request r = distributed(epsilons[i], rates[i], vs[i]);
        fre_plan p = plan_of(&r), curator;
        const fre_distributed *d = &p.mechanism.dist;
        double rate = rate_of(&p), tau = (double)p.mechanism.tau;

        assert_close(d->lambda * 65536, round(d->lambda * 65536), 0, 0);
        assert_close(p.epsilon_unre, unre_epsilon(rate, d->lambda), 0, 1e-12);
        assert_true(p.epsilon_unre <= r.epsilon);
        assert_true(unre_epsilon(rate, d->lambda - 0x1p-16) > r.epsilon);
        assert_close(p.delta_unre, unre_delta(rate, d->lambda, d->gamma), 0, 1e-12);
        assert_true(p.delta_unre <= r.delta);
        assert_true(unre_delta(rate, d->lambda, d->gamma - 1.0) > r.delta);
        assert_close(p.expected_dummies, d->gamma * tau * (tau - 1) / 2, 0, 1e-12);
        assert_close(p.epsilon_fre + p.epsilon_agg, r.epsilon, 0, 1e-12);
        assert_close(p.account.delta,
                     fmax(p.account.delta_released + p.account.delta_far, p.delta_unre), 0, 1e-8);
        assert_true(p.account.delta <= r.delta);
        assert_close(p.account.delta_unreleased, p.delta_unre, 0, 1e-8);
        assert_close(p.sigma_local, p.mechanism.sigma / sqrt(tau), 0, 1e-12);
        /* the paper's protocol is what is planned */
        assert_true(d->on && !d->cover && d->curious == 0 && d->dropout <= 0);
        assert_close(fre_sigma_local(&p.mechanism, p.mechanism.tau), p.sigma_local, 0, 1e-12);
        r.dist.on = false;
        curator = plan_of(&r);
        assert_close(p.mechanism.sigma, curator.mechanism.sigma, 0, 1e-3); /* less the lattice */
        assert_true(curator.epsilon_unre <= 0 && curator.expected_dummies <= 0);
    }
}

/* H_g between a pair of padded numbers and the same moved by one, down and up, by enumeration of
 * all pairs. */
static double pair_hockey(double lambda, int gamma, double g)
{
    double sum = 0;
    int u, w;

    for (u = -1; u <= 2 * gamma + 1; u++) {
        for (w = -1; w <= 2 * gamma + 1; w++)
            sum += fmax(0, fre_tsdlap_mass(lambda, (uint32_t)gamma, u) *
                                   fre_tsdlap_mass(lambda, (uint32_t)gamma, w) -
                               g * fre_tsdlap_mass(lambda, (uint32_t)gamma, u + 1) *
                                   fre_tsdlap_mass(lambda, (uint32_t)gamma, w - 1));
    }
    return sum;
}

/* The printed (eps_unre, delta_unre) against the exact padding under the secret coin. */
static void printed_padding_holds(void **state)
{
    static const double lambdas[] = {0.2, 0.5, 0.9, 1.5, 4, 30, 2000};
    static const int gammas[] = {2, 3, 5, 9, 14};
    int i;

    (void)state;
    for (i = 0; i < 35; i++) {
        double lambda = lambdas[i % 7], p = 0.4, gamma = gammas[i / 7];
        double epsilon = unre_epsilon(p, lambda), delta = unre_delta(p, lambda, gamma);
        /* a little above epsilon, so that rounding does not count what is at it */
        double exact = p * pair_hockey(lambda, (int)gamma, (1 + 1e-12) * exp(2 / lambda));
        double ours = p * fre_two_cell_delta(log1p(expm1(epsilon) / p), lambda, (uint32_t)gamma);

        assert_true(exact <= delta);
        assert_true(exact > 0);
        assert_close(ours, exact, 1e-14, 1e-6);
        /* not for less: a slightly smaller epsilon costs much more delta */
        assert_true(pair_hockey(lambda, (int)gamma, exp(1.5 / lambda)) > exact / p);
    }
    /* why a plan never pads with fewer than two */
    assert_true(0.4 * fre_two_cell_delta(2 / 2000.0, 2000, 1) > unre_delta(0.4, 2000, 1));
}

#define GRID 40

static double two_moved(double lambda, int gamma, int u, int w, int by)
{
    return fre_tsdlap_mass(lambda, (uint32_t)gamma, u + by) *
           fre_tsdlap_mass(lambda, (uint32_t)gamma, w - by);
}

/* Two records of a user with a coin each move the same two numbers: within the group bound. */
static void padding_of_two_records(void **state)
{
    static const double lambdas[] = {0.5, 0.8, 1.3, 2};
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        double lambda = lambdas[i], p = 0.4, gamma = 12, e = unre_epsilon(p, lambda);
        double g = exp(2 * e), bound = (1 + exp(e)) * unre_delta(p, lambda, gamma);
        double added = 0, removed = 0;
        int u, w;

        for (u = -2; u < GRID; u++) {
            for (w = -2; w < GRID; w++) {
                double without = two_moved(lambda, (int)gamma, u, w, 0);
                double with = (1 - p) * (1 - p) * without +
                              2 * p * (1 - p) * two_moved(lambda, (int)gamma, u, w, 1) +
                              p * p * two_moved(lambda, (int)gamma, u, w, 2);

                added += fmax(0, with - g * without);
                removed += fmax(0, without - g * with);
            }
        }
        assert_true(added <= bound && removed <= bound);
        assert_true(added > 0);
    }
}

/* Several records and bounded DP, where every share of the target reaches the padding too. */
static void padding_for_several_records(void **state)
{
    static const fre_paper_records kinds[] = {FRE_PAPER_CAP, FRE_PAPER_GROUP, FRE_PAPER_BESPOKE};
    int i;

    (void)state;
    for (i = 0; i < 6; i++) {
        fre_plan_request r = distributed(16, 0.2, 3);
        double epsilon = 16, delta = 1e-6, m = 2, one, factor;
        fre_plan p;

        if (!long_tests() && i != 0 && i < 4) /* each kind, adjacency and noise once */
            continue;
        r.threshold = 400;
        r.sensitivity_ratio = 3;
        r.cells_per_user = 2;
        r.records = kinds[i % 3];
        if (i / 3) {
            r.adjacency = FRE_ADJACENCY_REPLACE;
            epsilon = 8;
            delta /= 1 + exp(8);
        }
        r.noise = i % 2 ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
        p = plan_of(&r);
        one = unre_epsilon(rate_of(&p), p.mechanism.dist.lambda);
        assert_true(m * one <= epsilon);
        assert_close(m * one, epsilon, 0, 1e-3);
        /* the target's share is a share of the group factor at epsilon / 2, bespoke at one */
        factor = r.records == FRE_PAPER_CAP     ? m
                 : r.records == FRE_PAPER_GROUP ? 1 + exp(epsilon / 2)
                                                : 1 + exp(one);
        assert_true(factor *
                        unre_delta(rate_of(&p), p.mechanism.dist.lambda, p.mechanism.dist.gamma) <=
                    delta);
        assert_true(factor * unre_delta(rate_of(&p), p.mechanism.dist.lambda,
                                        p.mechanism.dist.gamma - 1.0) >
                    delta);
        assert_true(p.account.delta <= r.delta);
        assert_close(p.account.delta, r.delta, 0, 1e-3);
    }
}

static void dummies_are_bounded(void **state)
{
    fre_plan_request r = distributed(8, 0.5, 4);
    fre_plan p = plan_of(&r);
    double need = p.expected_dummies, offered;
    fre_err err = {.text = ""};

    (void)state;
    r.max_dummies = need;
    assert_close(plan_of(&r).expected_dummies, need, 0, 0);
    r.max_dummies = need - 1;
    refused(&r, FRE_E_INFEASIBLE, "more than {max_dummies}");
    assert_int_equal(fre_plan_make(&p, &r, &err), FRE_E_INFEASIBLE);
    assert_non_null(strstr(err.text, "raise {max_dummies} to "));
    offered = strtod(strstr(err.text, "raise {max_dummies} to ") + 23, NULL);
    assert_true(offered >= need && offered < 1.02 * need);
    r.max_dummies = offered;
    assert_true(plan_of(&r).account.delta <= r.delta);
}

static void padding_as_asked(void **state)
{
    fre_plan_request r = distributed(8, 0.5, 4);
    fre_plan p = plan_of(&r);

    (void)state;
    r.dist.lambda = p.mechanism.dist.lambda + 0.5;
    assert_true(plan_of(&r).mechanism.dist.gamma > p.mechanism.dist.gamma);
    r.dist.gamma = 40;
    assert_int_equal(plan_of(&r).mechanism.dist.gamma, 40);
    r.dist.gamma = 3;
    refused(&r, FRE_E_INFEASIBLE, "raise gamma");
    r.dist.gamma = 0;
    r.dist.lambda = p.mechanism.dist.lambda / 2;
    refused(&r, FRE_E_INFEASIBLE, "raise lambda");
}

static void distributed_refusals(void **state)
{
    fre_plan_request r = distributed(50, 0.5, 4);

    (void)state;
    r.threshold = 2;
    r.delta = 0.3;
    refused(&r, FRE_E_INFEASIBLE,
            "threshold of at least 2 on sampled counts: raise {threshold} to 5");
    r.threshold = 5; /* 3 has two sampled counts, but leaves nothing for the noise */
    assert_true(plan_of(&r).account.delta <= r.delta);
    r = distributed(8, 0.5, 4);
    r.dist.phi = 1;
    refused(&r, FRE_E_USAGE, "phi");
    r.dist.phi = NAN;
    refused(&r, FRE_E_USAGE, "phi");
    r = request(8, 0.5, 4);
    r.noise = FRE_NOISE_DISCRETE;
    refused(&r, FRE_E_USAGE, "{distributed}");
}

/* ---- discrete noise ------------------------------------------------------------------------ */

/* The printed theorem, summand by summand. */
static double printed_rho(double split, double local, double beta, double d, double tau, double phi)
{
    double sure = pow(split + beta * sqrt(d), 2), sum = 0, j, delta2;
    double likely = split * split + beta * beta * d / 4 +
                    sqrt(2 * log(1 / phi)) * beta * (split + beta / 2 * sqrt(d));

    delta2 = fmin(sure, likely);
    for (j = 1; j <= tau - 1; j++)
        sum += exp(-2 * M_PI * M_PI * pow(local / beta, 2) * j / (j + 1));
    return fmin(delta2 / (2 * tau * local * local) + 10 * sum * d,
                0.5 * pow(sqrt(delta2) / (sqrt(tau) * local) + 10 * sum * sqrt(d), 2));
}

static void discrete_noise_as_printed(void **state)
{
    static const double phis[] = {0, 1e-10, 1e-4};
    static const uint32_t dims[] = {384, 1000, 16}; /* 1000 is padded to 1024 */
    int i;

    (void)state;
    for (i = 0; i < 3; i++) {
        fre_plan_request r = distributed(i % 2 ? 8 : 4, 0.3, 3);
        double d = i == 1 ? 1024 : dims[i], phi = phis[i], local, beta;
        double kappa;
        uint64_t j;
        fre_plan p, continuous;

        r.dim = dims[i];
        r.noise = FRE_NOISE_DISCRETE;
        r.dist.phi = phi;
        p = plan_of(&r);
        local = p.mechanism.sigma / sqrt((double)p.mechanism.tau);
        beta = fmin(local / 2, 0.2 * p.account.split / sqrt(d));
        assert_close(p.mechanism.dist.phi, phi > 0 ? phi : 1e-10, 0, 0);
        assert_close(p.sigma_local, local, 0, 1e-12);
        assert_close(p.ddg.rho,
                     printed_rho(p.account.split, local, beta, d, (double)p.mechanism.tau,
                                 p.mechanism.dist.phi),
                     0, 1e-9);
        for (kappa = 0, j = 1; j < p.mechanism.tau; j++)
            kappa +=
                10 * exp(-2 * M_PI * M_PI * pow(local / beta, 2) * (double)j / (double)(j + 1));
        assert_close(p.ddg.kappa, kappa, 1e-300, 1e-9);
        assert_true(p.request.gaussian == FRE_GAUSSIAN_ZCDP);
        assert_true(p.mechanism.noise == FRE_NOISE_DISCRETE);
        assert_true(fre_zcdp_delta(p.ddg.rho, p.epsilon_agg) <= p.delta_agg);
        local *= 1 - 1e-4;
        beta = fmin(local / 2, 0.2 * p.account.split / sqrt(d));
        assert_true(fre_zcdp_delta(printed_rho(p.account.split, local, beta, d,
                                               (double)p.mechanism.tau, p.mechanism.dist.phi),
                                   p.epsilon_agg) > p.delta_agg);
        /* rounding costs a few per cent over the continuous noise of the same conversion */
        r.noise = FRE_NOISE_CONTINUOUS;
        r.gaussian = FRE_GAUSSIAN_ZCDP;
        continuous = plan_of(&r);
        assert_true(p.mechanism.sigma > continuous.mechanism.sigma);
        assert_true(p.mechanism.sigma < (d > 100 ? 1.06 : 1.25) * continuous.mechanism.sigma);
        assert_close(p.multiplier * p.account.split, p.mechanism.sigma, 0, 1e-12);
    }
}

/* What the joint accountant says of the paper's distributed plans: lambda is the least for epsilon,
 * so that it certifies that epsilon and, but for rounding of lambda, none below. */
static void joint_accountant_of_distributed_plans(void **state)
{
    static const double at[][3] = {{2, 0.2, 5}, {4, 0.3, 4}, {8, 0.5, 4}, {16, 0.6, 3}};
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        fre_plan_request r = distributed(at[i][0], at[i][1], at[i][2]);
        fre_plan p;
        fre_account a;

        r.noise = i % 2 ? FRE_NOISE_CONTINUOUS : FRE_NOISE_DISCRETE;
        p = plan_of(&r);
        assert_true(p.joint_epsilon <= r.epsilon);
        assert_true(p.joint_epsilon >= 0.999 * r.epsilon);
        assert_int_equal(fre_joint_delta(&a, &p.mechanism, r.epsilon, NULL), FRE_OK);
        assert_true(a.delta <= r.delta && a.delta_unreleased > 0);
        assert_int_equal(fre_joint_delta(&a, &p.mechanism, 0.99 * r.epsilon, NULL), FRE_OK);
        assert_true(a.delta > r.delta);
    }
}

#define SUPPORT 120 /* -SUPPORT..SUPPORT */
#define VALUES (2 * SUPPORT + 1)

/* Law of the sum of n discrete Gaussians of deviation s. */
static void sum_law(double out[VALUES], double s, int n)
{
    static double one[VALUES], next[VALUES];
    double all = 0;
    int i, j, k;

    for (i = 0; i < VALUES; i++) {
        one[i] = exp(-0.5 * pow((i - SUPPORT) / s, 2));
        all += one[i];
    }
    for (i = 0; i < VALUES; i++)
        out[i] = one[i] /= all;
    for (k = 1; k < n; k++) {
        memset(next, 0, sizeof next);
        for (i = 0; i < VALUES; i++) {
            for (j = 0; j < VALUES; j++) {
                if (i + j >= SUPPORT && i + j - SUPPORT < VALUES)
                    next[i + j - SUPPORT] += out[i] * one[j];
            }
        }
        memcpy(out, next, sizeof next);
    }
}

/* rho against the Renyi divergences of the sum itself, where kappa is felt and where it isn't. */
static void rho_bounds_renyi_divergences(void **state)
{
    static const double deviations[] = {0.45, 0.6, 0.8, 1.2, 2};
    static double law[VALUES];
    int i, a, n, shift;

    (void)state;
    for (i = 0; i < 15; i++) {
        double s = deviations[i % 5], sharpest = 0;
        fre_ddg ddg;

        n = 2 + i / 5;
        sum_law(law, s, n);
        fre_ddg_account(&ddg, 1, s * sqrt(n), s, 1, 1, (uint64_t)n, 0);
        for (shift = 1; shift <= 2; shift++) {
            double plain = shift * shift / (2 * n * s * s);
            double rho = fmin(plain + ddg.kappa, 0.5 * pow(shift / (s * sqrt(n)) + ddg.kappa, 2));

            for (a = 0; a < 4; a++) {
                static const double orders[] = {1.01, 2, 4, 8};
                double sum = 0, divergence;
                int x;

                /* as far as the masses are far above rounding and truncation */
                for (x = shift; x < VALUES; x++) {
                    if (law[x] > 1e-250 && law[x - shift] > 1e-250)
                        sum += exp(orders[a] * log(law[x - shift]) + (1 - orders[a]) * log(law[x]));
                }
                divergence = log(sum) / (orders[a] - 1);
                assert_true(divergence <= rho * orders[a] * (1 + 1e-9));
                sharpest = fmax(sharpest, divergence / (plain * orders[a]));
            }
        }
        assert_true(sharpest > 0.97);
    }
}

/* Chance that random rounding of a vector of length `split` exceeds Delta_2, by all 2^d cases. */
static void rounding_exceeds_its_bound_with_phi(void **state)
{
    enum { D = 10 };
    uint64_t seed = 7;
    int i, j, c;

    (void)state;
    for (i = 0; i < 60; i++) {
        double phi = i % 3 == 0 ? 0.5 : i % 3 == 1 ? 0.1 : 0.01, v[D], norm = 0, exceeds = 0;
        fre_ddg ddg;

        for (j = 0; j < D; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            v[j] = ((double)(seed >> 11) / 9007199254740992.0 - 0.5) * (i % 5 + 0.2);
            norm += v[j] * v[j];
        }
        fre_ddg_account(&ddg, sqrt(norm), 10, 1, 1, D, 5, phi);
        for (c = 0; c < 1 << D; c++) {
            double chance = 1, length = 0;

            for (j = 0; j < D; j++) {
                double low = floor(v[j]), up = v[j] - low;

                chance *= c >> j & 1 ? up : 1 - up;
                low += c >> j & 1;
                length += low * low;
            }
            exceeds += sqrt(length) > ddg.delta2 * (1 + 1e-12) ? chance : 0;
        }
        assert_true(exceeds <= ddg.phi);
        assert_true(ddg.delta2 >= sqrt(norm) && ddg.delta2 <= sqrt(norm) + sqrt(D));
    }
}

/* Whatever is asked for ends, with a plan that keeps its target or with a refusal that says why. */
static void extremes_end(void **state)
{
    static const double epsilons[] = {1e-6, 0.5, 20, 50}, deltas[] = {1e-300, 1e-30, 1e-6, 0.9};
    static const uint64_t thresholds[] = {1, 3, 1000, 1000000000000};
    static const double rates[] = {1e-9, 0.05, 0.999999, 0};
    static const fre_paper_records kinds[] = {FRE_PAPER_CAP, FRE_PAPER_GROUP, FRE_PAPER_BESPOKE};
    int n, plans = 0;

    (void)state;
    for (n = 0; n < 90; n += long_tests() ? 1 : 4) { /* both keep to no pattern */
        int i = 101 * n % 1021;                      /* spread over all combinations */
        fre_plan_request r = request(epsilons[i % 4], rates[i / 4 % 4], 0);
        fre_err err = {.text = ""};
        fre_plan p;

        r.delta = deltas[i / 16 % 4];
        r.threshold = thresholds[i / 64 % 4];
        r.records = kinds[i % 3];
        r.cells_per_user = i % 7 ? 1 : 64;
        r.adjacency = i % 5 ? FRE_ADJACENCY_ADD_REMOVE : FRE_ADJACENCY_REPLACE;
        r.sensitivity = i % 2 ? FRE_SENSITIVITY_WORST_CASE : FRE_SENSITIVITY_PROBABILISTIC;
        r.dist.on = i / 256 % 2;
        r.noise = r.dist.on && i / 512 ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
        if (fre_plan_make(&p, &r, &err) != FRE_OK) {
            assert_true(strlen(err.text) > 20);
            continue;
        }
        plans++;
        assert_true(p.account.delta <= r.delta && p.account.delta > 0);
        assert_true(p.mechanism.sigma > 0 && isfinite(p.mechanism.sigma));
        assert_true(!r.dist.on || (p.sigma_local > 0 && p.expected_dummies >= 1));
        assert_true(p.joint_epsilon > 0);
    }
    assert_in_range(plans, long_tests() ? 5 : 2, 85);
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

static void distributed_faults_are_named(void **state)
{
    fre_plan_request r = distributed(8, 0.3, 3);
    fre_plan p = plan_of(&r);

    (void)state;
    assert_true(warns(&p, "for one pair") && warns(&p, "by the norm") &&
                warns(&p, "semantic support"));
    assert_true(warns(&p, "sqrt(c/tau)"));
    assert_true(warns(&p, "lifts a cell to the threshold"));
    assert_true(warns(&p, "no claim is made against it"));
    assert_true(warns(&p, "no cover messages"));
    assert_false(warns(&p, "phi"));
    assert_false(warns(&p, "{multi_record} group"));
    r.noise = FRE_NOISE_DISCRETE;
    r.cells_per_user = 2;
    r.epsilon = 16;
    r.threshold = 200;
    p = plan_of(&r);
    assert_true(warns(&p, "phi"));
    assert_true(warns(&p, "{multi_record} group"));
    assert_true(p.n_warnings < FRE_PLAN_WARNINGS_MAX);
    r.records = FRE_PAPER_GROUP;
    r.sensitivity_ratio = 3;
    p = plan_of(&r);
    assert_false(warns(&p, "{multi_record} group"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_bounded),
        cmocka_unit_test(counts_beyond_their_mean_are_not_bounded),
        cmocka_unit_test(low_rates_exhaust_delta),
        cmocka_unit_test(proposals_work),
        cmocka_unit_test(bespoke_by_partitions),
        cmocka_unit_test(group_and_cap_as_printed),
        cmocka_unit_test(bounded_as_printed),
        cmocka_unit_test(records_that_cannot_be),
        cmocka_unit_test(padding_is_the_least),
        cmocka_unit_test(printed_padding_holds),
        cmocka_unit_test(padding_of_two_records),
        cmocka_unit_test(padding_for_several_records),
        cmocka_unit_test(dummies_are_bounded),
        cmocka_unit_test(padding_as_asked),
        cmocka_unit_test(distributed_refusals),
        cmocka_unit_test(discrete_noise_as_printed),
        cmocka_unit_test(joint_accountant_of_distributed_plans),
        cmocka_unit_test(rho_bounds_renyi_divergences),
        cmocka_unit_test(rounding_exceeds_its_bound_with_phi),
        cmocka_unit_test(extremes_end),
        cmocka_unit_test(curator_faults_are_named),
        cmocka_unit_test(distributed_faults_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
