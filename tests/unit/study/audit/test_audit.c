/* tests/unit/study/audit/test_audit.c
 * an audit has to pass the sound mechanism and to catch every defect that
 * is put into it, at the same parameters and with the same seeds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/audit.h>

#include "assert_num.h"
#include "audit_run.h"
#include "long_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.3 /* by which a defect has to be over the claim */

static void passes(const fre_audit_opts *o)
{
    fre_audit *a = audit_run(o);

    print_message("sound: %.3f of %.3f at delta %.3g\n", a->epsilon_lower, a->epsilon, a->delta);
    assert_false(a->refuted);
    assert_true(a->epsilon_lower <= o->epsilon);
    assert_true(a->curve);
    assert_false(a->curve_refuted);
    for (size_t i = 0; i < a->n; i++) {
        assert_true(a->scenario[i].curve_epsilon > 0);
        assert_true(a->scenario[i].curve_lower <= a->scenario[i].curve_claimed);
    }
    fre_audit_free(a);
}

static void caught_by(fre_audit_opts o, const fre_audit_steps *steps, const char *what,
                      double margin)
{
    fre_audit *a;

    o.steps = steps;
    a = audit_run(&o);
    print_message("%s: %.3f of %.3f, %s\n", what, a->epsilon_lower, a->epsilon,
                  a->scenario[a->worst].name);
    assert_true(a->refuted);
    assert_true(a->epsilon_lower > o.epsilon + margin);
    fre_audit_free(a);
}

/* By the curve, whether or not the claim's epsilon shows it as well. */
static void caught_by_curve(fre_audit_opts o, const fre_mechanism *runs, const char *what)
{
    const fre_mechanism claimed = o.mechanism;
    const fre_audit_scenario *s;
    fre_audit *a;

    o.claimed = &claimed;
    o.mechanism = *runs;
    a = audit_run(&o);
    s = &a->scenario[a->curve_worst];
    print_message("%s: delta %.4f of %.4f at epsilon %.3f, %s%s\n", what, s->curve_lower,
                  s->curve_claimed, s->curve_epsilon, s->name, s->curve_backward ? ", back" : "");
    assert_true(a->refuted && a->curve_refuted);
    assert_true(s->curve_lower > s->curve_claimed);
    fre_audit_free(a);
}

static void caught(fre_audit_opts o, const fre_audit_steps *steps, const char *what)
{
    caught_by(o, steps, what, MARGIN);
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

/* The claim is the account's, to the last digit that is printed. */
static fre_audit_opts claim(const fre_mechanism *m, double epsilon, double split)
{
    fre_audit_opts o = {.mechanism = *m,
                        .epsilon = epsilon,
                        .split = split,
                        .runs = 10000,
                        .confidence = .999,
                        .threads = 2,
                        .seeded = true,
                        .seed = {42}};
    fre_account a;

    assert_int_equal(fre_joint_delta_at_split(&a, m, epsilon, split, NULL), FRE_OK);
    o.delta = a.delta;
    return o;
}

/* Noise decides: a large threshold, so that counts tell little. */
static fre_audit_opts noisy(fre_adjacency adjacency)
{
    const fre_mechanism m = {.p32 = FRE_P_ONE / 2,
                             .tau = 20,
                             .sigma = 1,
                             .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                             .adjacency = adjacency,
                             .norm_bound = .5,
                             .dim = 8,
                             .lattice_step = 0x1p-20,
                             .cells_per_user = 1};

    return claim(&m, 1.5, 1);
}

/* Counts decide: p^tau is just below delta, p^(tau-1) far above. */
static fre_audit_opts counting(void)
{
    const fre_mechanism m = {.p32 = FRE_P_ONE * 3 / 10,
                             .tau = 4,
                             .sigma = 2,
                             .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                             .norm_bound = .5,
                             .dim = 4,
                             .lattice_step = 0x1p-20,
                             .cells_per_user = 1};

    fre_audit_opts o = claim(&m, 3, 1);

    o.runs = 40000;
    return o;
}

/* Tags of unreleased cells in S_syn's view; the claim is that of the parts, heavy + T. */
static fre_audit_opts distributed(bool cover, double epsilon, double sigma, double lambda)
{
    fre_mechanism m = {.p32 = FRE_P_ONE / 2,
                       .tau = 6,
                       .sigma = sigma,
                       .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                       .norm_bound = .5,
                       .dim = 4,
                       .lattice_step = 0x1p-20,
                       .cells_per_user = 1};
    fre_audit_opts o = claim(&m, epsilon, 1);
    const double hat = log1p(expm1(o.epsilon) / .5);

    m.dist = (fre_distributed){.on = true, .cover = cover, .lambda = lambda, .gamma = 10};
    o.mechanism = m;
    o.delta += .5 * (cover ? fre_cover_delta(hat, m.dist.lambda, m.dist.gamma)
                           : fre_two_cell_delta(hat, m.dist.lambda, m.dist.gamma));
    return o;
}

/* ---- defects --------------------------------------------------------------------------------- */

static void half_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    fre_aggregate_noise(sum, dim, noise, sigma / 2);
}

/* The same stream again for every cell of every run. */
static void fixed_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};
    fre_rng fixed;

    (void)noise;
    assert_int_equal(fre_rng_init_seeded(&fixed, seed, "noise"), FRE_OK);
    fre_aggregate_noise(sum, dim, &fixed, sigma);
    fre_rng_wipe(&fixed);
}

/* Fresh for every run, but all its cells get the same. */
static _Thread_local fre_rng first_noise;
static _Thread_local bool run_begins;

static bool coin_that_begins_a_run(fre_rng *coins, uint64_t p32, uint64_t record)
{
    run_begins = run_begins || record == 0;
    return fre_sample_coin(coins, p32);
}

static void shared_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    fre_rng copy;

    if (run_begins) {
        first_noise = *noise;
        (void)fre_rng_u64(noise);
    }
    run_begins = false;
    copy = first_noise;
    fre_aggregate_noise(sum, dim, &copy, sigma);
}

static bool one_fewer(uint64_t count, uint64_t tau)
{
    return count + 1 >= tau;
}

/* Two records after each other share a coin. */
static bool coin_for_two(fre_rng *coins, uint64_t p32, uint64_t record)
{
    fre_rng copy = *coins;

    return record % 2 == 0 ? fre_sample_coin(&copy, p32) : fre_sample_coin(coins, p32);
}

/* One coin for the whole run. */
static bool one_coin(fre_rng *coins, uint64_t p32, uint64_t record)
{
    fre_rng copy;

    if (record == 0)
        (void)fre_rng_u32(coins);
    copy = *coins;
    return fre_sample_coin(&copy, p32);
}

static fre_status no_dummies(uint32_t *tags, uint64_t tau, fre_rng *padding,
                             const fre_distributed *d)
{
    (void)padding;
    (void)d;
    memset(tags, 0, (size_t)(tau - 1) * sizeof *tags);
    return FRE_OK;
}

/* Multiplicity 2 is forgotten. */
static fre_status few_dummies(uint32_t *tags, uint64_t tau, fre_rng *padding,
                              const fre_distributed *d)
{
    const fre_status st = fre_aggregate_padding(tags, tau, padding, d);

    tags[1] = 0;
    return st;
}

/* Who has a text and isn't sampled stays silent; only who has none sends a cover. */
static bool silent(const fre_distributed *d, bool has_text)
{
    return d->cover && !has_text;
}

static fre_audit_steps with(fre_audit_steps change)
{
    fre_audit_steps s = *fre_audit_real_steps();

    s.coin = change.coin ? change.coin : s.coin;
    s.released = change.released ? change.released : s.released;
    s.noise = change.noise ? change.noise : s.noise;
    s.padding = change.padding ? change.padding : s.padding;
    s.cover = change.cover ? change.cover : s.cover;
    s.fold = change.fold ? change.fold : s.fold;
    s.clip = change.clip ? change.clip : s.clip;
    s.takes = change.takes ? change.takes : s.takes;
    s.add = change.add ? change.add : s.add;
    return s;
}

/* ---- curator --------------------------------------------------------------------------------- */

static void noise_defects_are_caught(void **state)
{
    const fre_audit_opts o = noisy(FRE_ADJACENCY_ADD_REMOVE);
    const fre_audit_steps half = with((fre_audit_steps){.noise = half_noise});
    const fre_audit_steps fixed = with((fre_audit_steps){.noise = fixed_noise});
    const fre_audit_steps shared =
        with((fre_audit_steps){.coin = coin_that_begins_a_run, .noise = shared_noise});

    (void)state;
    passes(&o);
    caught(o, &half, "sigma halved");
    caught(o, &fixed, "noise from a fixed stream");
    caught(o, &shared, "noise shared by cells");
}

static void small_defects_are_caught(void **state)
{
    fre_audit_opts o = noisy(FRE_ADJACENCY_ADD_REMOVE);
    fre_mechanism m;

    (void)state;
    o.runs = 100000;
    m = o.mechanism;
    m.sigma *= .9;
    caught_by_curve(o, &m, "nine tenths of the noise");
    m = o.mechanism;
    m.tau = 10;
    caught_by_curve(o, &m, "a threshold of 10 for 20");
    if (!long_tests())
        return;
    m = o.mechanism;
    m.p32 = FRE_P_ONE / 10 * 6;
    caught_by_curve(o, &m, "coins of .6 for .5");
    o = noisy(FRE_ADJACENCY_REPLACE);
    o.runs = 100000;
    m = o.mechanism;
    m.sigma *= .7;
    caught_by_curve(o, &m, "replaced, seven tenths of the noise");
}

/* A mechanism of which nobody says what it was planned as: the claim's own noise is found. */
static void missing_noise_is_found(void **state)
{
    fre_audit_opts o = noisy(FRE_ADJACENCY_ADD_REMOVE);
    fre_audit *a;

    (void)state;
    o.runs = 100000;
    if (long_tests())
        passes(&o);
    o.mechanism.sigma *= .9;
    a = audit_run(&o);
    assert_true(a->epsilon_lower <= o.epsilon);
    assert_true(a->refuted && a->curve_refuted);
    fre_audit_free(a);
}

/* Noise whose law along the record's direction looks sound, or nearly so. */
static void repeated_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    int64_t z = fre_sample_rounded_gaussian(noise, sigma);

    for (size_t j = 0; j < dim; j++)
        sum[j] += z;
}

static void paired_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    int64_t z = 0;

    for (size_t j = 0; j < dim; j++) {
        z = j % 2 ? -z : fre_sample_rounded_gaussian(noise, sigma);
        sum[j] += z;
    }
}

static void all_but_one(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    fre_aggregate_noise(sum + 1, dim - 1, noise, sigma);
}

static void coarse_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    for (size_t j = 0; j < dim; j++)
        sum[j] += 1024 * fre_sample_rounded_gaussian(noise, sigma / 1024);
}

static void clipped_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    const int64_t most = 2 * (int64_t)sigma;

    for (size_t j = 0; j < dim; j++) {
        const int64_t z = fre_sample_rounded_gaussian(noise, sigma);

        sum[j] += z > most ? most : z < -most ? -most : z;
    }
}

static void one_sided_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    for (size_t j = 0; j < dim; j++) {
        const int64_t z = fre_sample_rounded_gaussian(noise, sigma);

        sum[j] += z < 0 ? -z : z;
    }
}

static void regular_noise_is_caught(void **state)
{
    static void (*const noise[])(int64_t *, size_t, fre_rng *, uint64_t) = {
        repeated_noise, paired_noise, all_but_one, coarse_noise, clipped_noise, one_sided_noise};
    static const char *const what[] = {"one draw for all coordinates",
                                       "pairs that cancel",
                                       "a coordinate without noise",
                                       "coarse noise",
                                       "clipped noise",
                                       "noise of one sign"};
    fre_audit_opts o = noisy(FRE_ADJACENCY_ADD_REMOVE);
    fre_mechanism m = o.mechanism;

    (void)state;
    m.dim = 48;
    o = claim(&m, 1.5, 1);
    o.runs = 4000;
    passes(&o);
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++) {
        const fre_audit_steps steps = with((fre_audit_steps){.noise = noise[i]});

        caught(o, &steps, what[i]);
    }
}

static void counting_defects_are_caught(void **state)
{
    const fre_audit_opts o = counting();
    const fre_audit_steps early = with((fre_audit_steps){.released = one_fewer});
    const fre_audit_steps two = with((fre_audit_steps){.coin = coin_for_two});
    const fre_audit_steps one = with((fre_audit_steps){.coin = one_coin});

    (void)state;
    passes(&o);
    caught(o, &early, "threshold off by one");
    caught(o, &two, "coin for two");
    caught(o, &one, "one coin");
}

/* ---- intake ---------------------------------------------------------------------------------- */

static fre_status no_fold(char **out, const char *name, size_t len, fre_fold how)
{
    (void)how;
    return fre_fold_text(out, name, len, FRE_FOLD_NONE);
}

static bool one_more(uint32_t *held, uint32_t most, uint32_t text)
{
    static uint32_t wider[2]; /* of the one user there is; audits take in on one thread */

    if (held[0] == FRE_MAP_NONE)
        wider[0] = wider[1] = FRE_MAP_NONE;
    held[0] = text;
    return fre_contribution_counts(wider, most + 1, text);
}

static bool all_count(uint32_t *held, uint32_t most, uint32_t text)
{
    (void)held;
    (void)most;
    (void)text;
    return true;
}

static bool no_clip(float *x, size_t dim, double bound)
{
    return fre_aggregate_clip(x, dim, bound * 1e6);
}

static fre_status add_unclipped(int64_t *sum, const float *x, size_t dim, uint64_t times,
                                const fre_aggregate_lattice *l)
{
    const fre_aggregate_lattice wide = {.step = l->step, .norm_bound = 1e6, .points = l->points};

    return fre_aggregate_add(sum, x, dim, times, &wide);
}

static void refuted(fre_audit_opts o, const fre_audit_steps *steps, const char *what)
{
    fre_audit *a;

    o.steps = steps;
    a = audit_run(&o);
    print_message("%s: %.3f of %.3f, delta %.4f of %.4f; %s\n", what, a->epsilon_lower, a->epsilon,
                  a->scenario[a->curve_worst].curve_lower,
                  a->scenario[a->curve_worst].curve_claimed, a->scenario[a->worst].name);
    assert_true(a->refuted);
    assert_non_null(strstr(a->scenario[a->curve_refuted ? a->curve_worst : a->worst].name, "odd"));
    fre_audit_free(a);
}

/* What is done to records before the coins: each left out in turn. */
static void intake_defects_are_caught(void **state)
{
    const fre_audit_opts o = noisy(FRE_ADJACENCY_ADD_REMOVE);
    const fre_audit_steps fold = with((fre_audit_steps){.fold = no_fold});
    const fre_audit_steps cap = with((fre_audit_steps){.takes = one_more});
    const fre_audit_steps all = with((fre_audit_steps){.takes = all_count});
    const fre_audit_steps clip = with((fre_audit_steps){.clip = no_clip, .add = add_unclipped});

    (void)state;
    passes(&o);
    refuted(o, &fold, "names are not folded");
    refuted(o, &cap, "one record more than the cap");
    refuted(o, &all, "copies and all others count");
    refuted(o, &clip, "norms are not bounded");
}

/* Far members share a cell by chance: a claim that pays for them holds, one that doesn't falls. */
static void far_members_count(void **state)
{
    const fre_mechanism m = {.p32 = FRE_P_ONE / 2,
                             .tau = 12,
                             .sigma = .3,
                             .population = 209,
                             .sketch.grid.proj = 1,
                             .sketch.grid.cell_edge = .1,
                             .norm_bound = 1,
                             .dim = 8,
                             .lattice_step = 0x1p-20,
                             .cells_per_user = 1};
    fre_audit_opts o = claim(&m, 2, .3);
    fre_account a;

    (void)state;
    passes(&o);
    assert_int_equal(fre_joint_delta_at_split(&a, &m, o.epsilon, o.split, NULL), FRE_OK);
    assert_true(a.delta_released < .1 * a.delta_far);
    o.delta = a.delta_released;
    o.runs = 30000;
    caught(o, NULL, "far members forgotten");
}

static void replacement_is_attacked(void **state)
{
    const fre_audit_opts o = noisy(FRE_ADJACENCY_REPLACE);
    const fre_audit_steps half = with((fre_audit_steps){.noise = half_noise});
    const fre_audit_steps none = with((fre_audit_steps){.padding = no_dummies});
    fre_audit_opts d = distributed(true, 2.3, .5, 1.0625);

    (void)state;
    passes(&o);
    caught(o, &half, "replaced, sigma halved");
    d.mechanism.adjacency = FRE_ADJACENCY_REPLACE;
    caught(d, &none, "replaced, dummies left out");
}

/* ---- distributed ----------------------------------------------------------------------------- */

static void padding_defects_are_caught(void **state)
{
    const fre_audit_steps none = with((fre_audit_steps){.padding = no_dummies});
    const fre_audit_steps few = with((fre_audit_steps){.padding = few_dummies});

    (void)state;
    for (int cover = 0; cover < 2; cover++) {
        const fre_audit_opts o = distributed(cover == 1, 2.3, .5, 1.0625);

        passes(&o);
        caught(o, &none, "dummies left out");
        caught(o, &few, "dummies of multiplicity 2 left out");
    }
}

/* With covers the number of reports is fixed: what the record's cover adds to the singles in one
 * input, its tag takes from another member's in the other, and a released count has told that
 * already.  So heavy + T holds although single tags are padded like all others.  Where members who
 * are not sampled keep silent, the record's own cover gives it away in released cells too. */
static void silent_members_are_caught(void **state)
{
    fre_audit_opts o = distributed(true, 3, .5, .8203125);
    const fre_audit_steps s = with((fre_audit_steps){.cover = silent});

    (void)state;
    o.mechanism.dim = 1;
    passes(&o);
    o.runs = 70000; /* .54 above the claim is the best that any test could show */
    caught_by(o, &s, "silent members", .05);
}

/* ---- the accountant -------------------------------------------------------------------------- */

/* Mechanisms drawn at random, each at the claim that its account makes. */
static void accounts_hold(void **state)
{
    const uint8_t seed[FRE_SEED_BYTES] = {5};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "accounts"), FRE_OK);
    for (int i = 0; i < 12; i++) {
        const fre_mechanism m = {
            .p32 = FRE_P_ONE / 10 * (2 + fre_rng_below(&r, 7)),
            .tau = 3 + fre_rng_below(&r, 8),
            .sigma = .3 + .1 * (double)fre_rng_below(&r, 10),
            .population = 1000000,
            .sketch.grid.proj = 20,
            .sketch.grid.cell_edge = .2,
            .norm_bound = 1,
            .adjacency = i % 3 == 2 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE,
            .dim = 2,
            .lattice_step = 0x1p-20,
            .cells_per_user = 1,
            .dist = {.on = i % 2 == 1,
                     .cover = i % 4 == 1,
                     .curious = i % 2 == 1 ? (uint32_t)fre_rng_below(&r, 2) : 0,
                     .lambda = i % 2 == 1 ? .5 + .125 * (double)fre_rng_below(&r, 8) : 0,
                     .gamma = i % 2 == 1 ? 4 + (uint32_t)fre_rng_below(&r, 8) : 0}};
        fre_audit_opts o = claim(&m, 1.75 + .25 * (double)fre_rng_below(&r, 5), .9);

        o.runs = 3000;
        assert_true(o.delta < 1);
        passes(&o);
    }
    fre_rng_wipe(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intake_defects_are_caught),
        cmocka_unit_test(noise_defects_are_caught),
        cmocka_unit_test(regular_noise_is_caught),
        cmocka_unit_test(small_defects_are_caught),
        cmocka_unit_test(missing_noise_is_found),
        cmocka_unit_test(counting_defects_are_caught),
        cmocka_unit_test(far_members_count),
        cmocka_unit_test(replacement_is_attacked),
        cmocka_unit_test(padding_defects_are_caught),
        cmocka_unit_test(silent_members_are_caught),
        cmocka_unit_test(accounts_hold),
    };

    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
