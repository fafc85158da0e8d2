/* tests/unit/study/audit/test_audit_bound.c
 * the audit's statistics: the incomplete beta function against sums,
 * intervals against their definition, bounds on epsilon against known ones, likelihood ratios
 * against what every ratio must fulfil; refusals and repeatability. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "audit_private.h"

#include "assert_num.h"

#include <math.h>
#include <string.h>

static const uint8_t seed[FRE_SEED_BYTES] = {9};

/* Pr[Bin(n, p) >= k], added up. */
static double tail(uint64_t k, uint64_t n, double p)
{
    double sum = 0;

    for (uint64_t j = k; j <= n; j++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)j + 1) - lgamma((double)(n - j) + 1) +
                   (double)j * log(p) + (double)(n - j) * log1p(-p));
    return sum;
}

static void beta_is_the_binomial_tail(void **state)
{
    const double p[] = {1e-6, .01, .3, .5, .77, .999};
    const uint64_t n[] = {1, 2, 7, 40, 600};

    (void)state;
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        for (size_t j = 0; j < sizeof n / sizeof *n; j++) {
            for (uint64_t k = 1; k <= n[j]; k += 1 + n[j] / 9)
                assert_close(audit_incomplete_beta((double)k, (double)(n[j] - k) + 1, p[i]),
                             tail(k, n[j], p[i]), 1e-13, 1e-9);
        }
    }
    assert_close(audit_incomplete_beta(3, 4, 0), 0, 0, 0);
    assert_close(audit_incomplete_beta(3, 4, 1), 1, 0, 0);
}

static void intervals_are_those_of_clopper_and_pearson(void **state)
{
    const double alpha[] = {.05, 1e-4, 1e-9};
    const uint64_t n = 300, k[] = {0, 1, 2, 30, 150, 298, 299, 300};

    (void)state;
    for (size_t a = 0; a < 3; a++) {
        for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
            const double low = audit_at_least(k[i], n, alpha[a]);
            const double high = audit_at_most(k[i], n, alpha[a]);

            assert_true(low <= (double)k[i] / (double)n && high >= (double)k[i] / (double)n);
            if (k[i] == 0)
                assert_close(low, 0, 0, 0);
            else
                assert_close(tail(k[i], n, low), alpha[a], 0, 1e-6);
            if (k[i] == n)
                assert_close(high, 1, 0, 0);
            else /* Pr[Bin <= k] = Pr[n - Bin >= n - k] */
                /* close to 1 the bound is rounded, upwards */
                assert_close(tail(n - k[i], n, 1 - high), alpha[a], 0, k[i] < n - 2 ? 1e-6 : .05);
        }
    }
    /* nothing seen: 1 - alpha^(1/n) */
    assert_close(audit_at_most(0, 100000, 1e-4), -expm1(log(1e-4) / 1e5), 0, 1e-9);
    assert_close(audit_at_least(100000, 100000, 1e-4), exp(log(1e-4) / 1e5), 0, 1e-12);
}

/* Scores of a mechanism that randomises one bit: 1 with chance p0 or p1. */
static void draw_bits(double *score, size_t n, double p, const char *label)
{
    fre_rng r;

    assert_int_equal(fre_rng_init_seeded(&r, seed, label), FRE_OK);
    for (size_t i = 0; i < n; i++)
        score[i] = fre_sample_coin(&r, fre_p32(p)) ? 1 : -1;
    fre_rng_wipe(&r);
}

static audit_scores scores_of_bits(double p0, double p1)
{
    enum { N = 60000 };
    static double score[2][N];

    draw_bits(score[0], N, p0, "zero");
    draw_bits(score[1], N, p1, "one");
    return audit_scores_sort(score[0], score[1], 0, N / 3, N);
}

static double epsilon_of_bits(double p0, double p1, double delta)
{
    const audit_scores s = scores_of_bits(p0, p1);

    return audit_epsilon(&s, delta, 1e-8);
}

static void bounds_approach_the_truth_from_below(void **state)
{
    const double cases[][3] = {{.2, .6, 0},  {.2, .6, .1},  {.01, .3, 0},
                               {.5, .55, 0}, {.3, .9, .05}, {1e-3, .02, 1e-3}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double truth = log((cases[i][1] - cases[i][2]) / cases[i][0]);
        const double shown = epsilon_of_bits(cases[i][0], cases[i][1], cases[i][2]);

        assert_true(shown < truth);
        assert_true(shown > .3 * truth);
    }
    /* nothing to see: never above 0, never below */
    assert_close(epsilon_of_bits(.3, .3, 0), 0, 0, 0);
    assert_close(epsilon_of_bits(.6, .3, 0), 0, .0, 0);
    assert_close(epsilon_of_bits(.3, .6, .7), 0, .0, 0);
    /* apart for certain: as much as the number of runs can show */
    assert_close(epsilon_of_bits(0, 1, 0), log(1 / (-log(1e-8) / 40000)), 0, .01);
}

/* ---- likelihood ratios ----------------------------------------------------------------------- */

static fre_audit_opts small(bool on, bool cover, uint32_t curious)
{
    return (fre_audit_opts){
        .mechanism =
            {.p32 = FRE_P_ONE / 10 * 4,
             .tau = 4 + curious,
             .sigma = 1,
             .sensitivity = FRE_SENSITIVITY_WORST_CASE,
             .norm_bound = 1,
             .dim = 3,
             .lattice_step = 0x1p-20,
             .cells_per_user = 1,
             .dist = {.on = on, .cover = cover, .curious = curious, .lambda = 1.5, .gamma = 30}},
        .epsilon = 2,
        .delta = .01,
        .runs = 20000,
        .confidence = .999,
        .threads = 2,
        .seeded = true,
        .seed = {3}};
}

/* Pr[view | V'] / Pr[view | V] has under V the mean that is the chance under V' of what is possible
 * under V, whether its law is right or not in any other way; and the other way round. */
static void check_ratio(const fre_audit_opts *o, const audit_scenario *plan, double possible)
{
    enum { N = 20000 };
    static audit_trace trace[2][N];
    audit_setup s;
    double mean = 0, square = 0, inverse = 0, inverse_square = 0;

    assert_int_equal(audit_setup_init(&s, o, plan, 1, 0, NULL), FRE_OK);
    for (unsigned w = 0; w < 2; w++)
        assert_int_equal(audit_simulate(trace[w], N, &s, w, 0), FRE_OK);
    for (size_t i = 0; i < N; i++) {
        const double ratio = exp(trace[0][i].llr), back = exp(-trace[1][i].llr);

        mean += ratio / N;
        square += ratio * ratio / N;
        inverse += back / N;
        inverse_square += back * back / N;
    }
    assert_true(fabs(mean - possible) < 5.5 * sqrt((square - mean * mean) / N) + 1e-3);
    assert_true(fabs(inverse - 1) < 5.5 * sqrt((inverse_square - inverse * inverse) / N) + 1e-3);
    assert_true(square > mean * mean + 1e-6); /* the inputs do differ */
    audit_setup_wipe(&s);
}

static void ratios_have_mean_one(void **state)
{
    (void)state;
    for (uint32_t curious = 0; curious < 3; curious++) {
        for (unsigned mode = 0; mode < 3; mode++) {
            const fre_audit_opts o = small(mode > 0, mode == 2, mode > 0 ? curious : 0);
            audit_scenario p = {.others = {16, 0},
                                .position = -.4,
                                .extra = {{.cell = AUDIT_NOWHERE}, {.cell = 0, .position = .3}}};

            check_ratio(&o, &p, 1); /* added */
            p.extra[0] = (audit_extra){.cell = 1, .position = .3};
            if (mode == 0)
                p.others[1] = 16;
            check_ratio(&o, &p, 1); /* moved */
            p.extra[0] = (audit_extra){.cell = 0, .position = -.9};
            p.others[1] = 0;
            check_ratio(&o, &p, 1); /* turned */
            if (mode > 0) {
                p.others[0] = 3; /* never seen but among the tags */
                p.extra[0] = (audit_extra){.cell = AUDIT_NOWHERE};
                check_ratio(&o, &p, 1 - pow(.4, 4)); /* all four sampled: in V' only */
            }
        }
    }
}

/* Whole vectors of sums, of servers' noise or clients', from everybody or not; on lattice points and between. */
static void ratios_of_shares_have_mean_one(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < 4; mode++) {
        fre_audit_opts o = small(true, true, mode == 1 ? 0 : 1);
        fre_mechanism *m = &o.mechanism;
        audit_scenario p = {.others = {16, 0},
                            .position = -.5,
                            .viewer = mode == 0 ? AUDIT_TAG : AUDIT_SYN,
                            .extra = {{.cell = AUDIT_NOWHERE}, {.cell = 0, .position = .5}}};

        m->noise = FRE_NOISE_DISCRETE;
        m->population = 1000;
        m->lattice_step = mode == 1 ? .8 : 0; /* coarse */
        m->dist.one_contact = mode < 3;
        m->dist.server_noise = mode < 2;
        m->dist.dropout = mode == 3 ? .3 : 0;
        m->dist.phi = 1e-10;
        check_ratio(&o, &p, 1);
        p.between = true;
        check_ratio(&o, &p, 1);
        p.between = false;
        p.extra[0] = (audit_extra){.cell = 0, .position = -.9};
        check_ratio(&o, &p, 1); /* turned */
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static void the_same_seed_gives_the_same_audit(void **state)
{
    fre_audit_opts o = small(true, true, 1);
    fre_audit *a, *b, *c;

    (void)state;
    o.runs = 3300; /* not a multiple of a chunk */
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_OK);
    o.threads = 3;
    assert_int_equal(fre_audit_run(&b, &o, NULL), FRE_OK);
    o.seed[0] ^= 1;
    assert_int_equal(fre_audit_run(&c, &o, NULL), FRE_OK);
    assert_int_equal(a->n, b->n);
    assert_true(a->n >= 5);
    for (size_t i = 0; i < a->n; i++) {
        assert_close(a->scenario[i].epsilon_lower, b->scenario[i].epsilon_lower, 0, 0);
        assert_string_equal(a->scenario[i].name, b->scenario[i].name);
        assert_true(a->scenario[i].epsilon_lower >= 0);
        assert_true(a->scenario[i].epsilon_lower <= a->epsilon_lower);
    }
    assert_close(a->scenario[a->worst].epsilon_lower, a->epsilon_lower, 0, 0);
    assert_true(fabs(a->epsilon_lower - c->epsilon_lower) > 1e-9);
    fre_audit_free(a);
    fre_audit_free(b);
    fre_audit_free(c);
    fre_audit_free(NULL);
}

static void refused(fre_audit_opts o, const char *flag)
{
    fre_audit *a = (fre_audit *)&o;
    fre_err err = {.text = ""};

    assert_int_equal(fre_audit_run(&a, &o, &err), FRE_E_USAGE);
    assert_ptr_equal(a, &o);
    if (!strstr(err.text, flag))
        fail_msg("'%s' lacks '%s'", err.text, flag);
}

static void bad_numbers_are_refused(void **state)
{
    const fre_audit_opts o = small(true, true, 0);
    fre_audit_opts x;

    (void)state;
#define REFUSED(field, value, flag) (x = o, x.field = (value), refused(x, flag))
    REFUSED(epsilon, 0, "{epsilon}");
    REFUSED(epsilon, NAN, "{epsilon}");
    REFUSED(epsilon, 51, "{epsilon}");
    REFUSED(delta, 0, "{delta}");
    REFUSED(delta, 1, "{delta}");
    REFUSED(delta, NAN, "{delta}");
    REFUSED(runs, FRE_AUDIT_RUNS_MIN - 1, "{runs}");
    REFUSED(runs, FRE_AUDIT_RUNS_MAX + 1, "{runs}");
    REFUSED(confidence, 0, "{confidence}");
    REFUSED(confidence, 1, "{confidence}");
    REFUSED(split, -1, "{split}");
    REFUSED(split, NAN, "{split}");
    REFUSED(mechanism.p32, 0, "{sampling_rate}");
    REFUSED(mechanism.sigma, 0, "{sigma}");
    REFUSED(mechanism.sigma, NAN, "{sigma}");
    REFUSED(mechanism.sigma, 1e-9, "{sigma}");
    REFUSED(mechanism.tau, 1, "{tau}");
    REFUSED(mechanism.tau, 0, "threshold");
    REFUSED(mechanism.dim, 0, "{dimension}");
    REFUSED(mechanism.dist.curious, 4, "{curious_users}");
    REFUSED(mechanism.dist.lambda, 1. / 3, "{lambda}");
    REFUSED(mechanism.dist.lambda, 0, "{lambda}");
    REFUSED(others, FRE_AUDIT_MEMBERS_MAX + 1, "members");
#undef REFUSED
}

/* No input may have more records than the claim is for. */
static void the_population_is_kept(void **state)
{
    fre_audit_opts o = small(false, false, 0);
    fre_audit *a;

    (void)state;
    o.mechanism.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    o.mechanism.sketch.grid.proj = 20;
    o.mechanism.sketch.grid.cell_edge = .2;
    o.mechanism.population = 1000;
    o.runs = FRE_AUDIT_RUNS_MIN;
    o.split = .5;
    o.others = 9;
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_OK);
    assert_int_equal(a->n, 5);
    fre_audit_free(a);
    o.mechanism.population = 4;
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_OK);
    assert_int_equal(a->n, 2); /* 3 others (the worst there can be), 2 others */
    assert_string_equal(a->scenario[0].name, "added to 3 copies (the account's worst)");
    fre_audit_free(a);
    o.mechanism.adjacency = FRE_ADJACENCY_REPLACE;
    o.mechanism.population = 1;
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_OK);
    assert_int_equal(a->n, 2); /* the record alone, there or elsewhere */
    fre_audit_free(a);
    o.mechanism.population = 0;
    refused(o, "{population}");
}

static void a_signal_stops_it(void **state)
{
    const fre_audit_opts o = small(false, false, 0);
    fre_audit *a = NULL;

    (void)state;
    fre_interrupt_set();
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(a);
}

static unsigned tossed;

static bool coin_of_an_impatient_user(fre_rng *coins, uint64_t p32, uint64_t record)
{
    (void)record;
    tossed++;
    fre_interrupt_set();
    return fre_aggregate_coin(coins, p32);
}

/* A run takes a millisecond and a chunk has five hundred: no further run begins. */
static void a_signal_stops_it_within_a_chunk(void **state)
{
    fre_audit_steps steps = *fre_audit_real_steps();
    fre_audit_opts o = small(false, false, 0);
    fre_audit *a = NULL;

    (void)state;
    steps.coin = coin_of_an_impatient_user;
    o.steps = &steps;
    o.threads = 1;
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(a);
    assert_in_range(tossed, 1, 20); /* members of a cell of which four are shown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beta_is_the_binomial_tail),
        cmocka_unit_test(intervals_are_those_of_clopper_and_pearson),
        cmocka_unit_test(bounds_approach_the_truth_from_below),
        cmocka_unit_test(ratios_have_mean_one),
        cmocka_unit_test(ratios_of_shares_have_mean_one),
        cmocka_unit_test(the_same_seed_gives_the_same_audit),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(the_population_is_kept),
        cmocka_unit_test(a_signal_stops_it),
        cmocka_unit_test(a_signal_stops_it_within_a_chunk),
    };

    return cmocka_run_group_tests_name("audit-bound", tests, NULL, NULL);
}
