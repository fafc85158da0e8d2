/* tests/unit/study/audit/test_audit_levels.c
 * releases by levels: the sound mechanism passes, with both kinds of counts and with a grid, and each
 * defect that is put in is refuted at the same parameters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/audit.h>

#include "assert_num.h"
#include "audit_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- plans ----------------------------------------------------------------------------------- */

/* What is claimed: `list` at these numbers, by the planner. */
static fre_plan plan(const char *list, fre_counts counts, double epsilon, double delta,
                     uint64_t threshold)
{
    fre_plan_request r;
    fre_plan p;
    fre_err err = {.text = ""};

    fre_plan_request_init(&r);
    r.epsilon = epsilon;
    r.delta = delta;
    r.threshold = threshold;
    r.population = 100000;
    r.dim = 2;
    if (fre_plan_request_levels(&r, list, .6, counts, &err) != FRE_OK ||
        fre_plan_make(&p, &r, &err) != FRE_OK)
        fail_msg("%s", err.text);
    return p;
}

/* Of the plan, as it runs. */
static fre_audit_opts claim(const fre_plan *p, uint64_t runs)
{
    return (fre_audit_opts){.mechanism = p->mechanism,
                            .levels = p,
                            .epsilon = p->request.epsilon,
                            .delta = p->request.delta,
                            .split = p->account.split,
                            .runs = runs,
                            .confidence = .999,
                            .threads = 1, /* defects remember things */
                            .seeded = true,
                            .seed = {42}};
}

static void passes(const fre_audit_opts *o)
{
    fre_audit *a = audit_run(o);
    const fre_audit_scenario *s = &a->scenario[a->curve_worst];

    print_message("sound: %.3f of %.3f; delta %.4f of %.4f\n", a->epsilon_lower, a->epsilon,
                  s->curve_lower, s->curve_claimed);
    assert_true(a->curve);
    assert_false(a->refuted);
    fre_audit_free(a);
}

/* Levels of a run lie behind each other, so a lower address begins another run; each
 * audit has its own. */
static struct {
    const fre_plan_level *at;
    unsigned level;
    uint64_t ticks;
} levels_seen;

static void caught(fre_audit_opts o, fre_audit_steps steps, const char *what)
{
    const fre_audit_scenario *s;
    fre_audit *a;

    memset(&levels_seen, 0, sizeof levels_seen);
    o.steps = &steps;
    a = audit_run(&o);
    s = &a->scenario[a->curve_worst];
    print_message("%s: %.3f of %.3f by \"%s\"; delta %.4f of %.4f at %.3f by \"%s\"\n", what,
                  a->epsilon_lower, a->epsilon, a->scenario[a->worst].name, s->curve_lower,
                  s->curve_claimed, s->curve_epsilon, s->name);
    assert_true(a->refuted);
    fre_audit_free(a);
}

static fre_audit_steps real(void)
{
    return *fre_audit_real_steps();
}

/* ---- what is drawn comes again at the next level ---------------------------------------------- */

static void see(const fre_plan_level *l)
{
    if (l == levels_seen.at)
        return;
    levels_seen.level = !levels_seen.at || l < levels_seen.at ? 0 : levels_seen.level + 1;
    levels_seen.at = l;
    levels_seen.ticks++;
}

typedef struct stream {
    fre_rng begin, now;
    uint64_t ticks;
} stream;

static stream coins_again, counts_again, noise_again;

/* The first level's stream; behind it that stream from its beginning. */
static fre_rng *again(stream *s, fre_rng *r)
{
    const bool new = s->ticks != levels_seen.ticks;

    s->ticks = levels_seen.ticks;
    if (new && levels_seen.level == 0)
        s->begin = *r;
    else if (new)
        s->now = s->begin;
    return levels_seen.level == 0 ? r : &s->now;
}

static uint64_t kept_coins(uint64_t records, const fre_plan_level *l, fre_rng *coins)
{
    see(l);
    return fre_aggregate_level_weight(records, l, again(&coins_again, coins));
}

static bool kept_counts(uint64_t *shown, uint64_t count, const fre_plan_level *l, fre_rng *counts)
{
    see(l);
    return fre_aggregate_level_released(shown, count, l, again(&counts_again, counts));
}

static bool watch(uint64_t *shown, uint64_t count, const fre_plan_level *l, fre_rng *counts)
{
    see(l);
    return fre_aggregate_level_released(shown, count, l, counts);
}

static void kept_noise(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma)
{
    fre_aggregate_noise(sum, dim, again(&noise_again, noise), sigma);
}

/* ---- other defects --------------------------------------------------------------------------- */

static bool stays(uint32_t row)
{
    (void)row;
    return true;
}

static bool occupied_only(uint64_t *shown, uint64_t count, const fre_plan_level *l, fre_rng *counts)
{
    return fre_aggregate_level_released(shown, count, l, counts) && count > 0;
}

static void offset_to_norm_bound(float *x, const float *centre, size_t dim, double radius)
{
    (void)radius;
    fre_aggregate_offset(x, centre, dim, 1);
}

static fre_status add_to_norm_bound(int64_t *sum, const float *x, size_t dim, uint64_t times,
                                    const fre_aggregate_lattice *l)
{
    const fre_aggregate_lattice wide = {.step = l->step, .norm_bound = 1, .points = l->points};

    return fre_aggregate_add(sum, x, dim, times, &wide);
}

/* A claim that looks at records that are added alone. */
static fre_status addition_only(fre_levels_account *out, const fre_levels *m, double epsilon,
                                fre_err *err)
{
    const fre_status st = fre_levels_delta(out, m, epsilon, err);

    out->removal = out->addition;
    return st;
}

/* A claim by which a cell that isn't released tells nothing: the costliest level is all. */
static fre_status costliest(fre_levels_account *out, const fre_levels *m, double epsilon,
                            fre_err *err)
{
    fre_levels_account one, most = {.epsilon = epsilon};
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < m->n; i++) {
        st = fre_levels_delta(&one, &(fre_levels){.level = &m->level[i], .n = 1}, epsilon, err);
        most.addition = fmax(most.addition, one.addition);
        most.removal = fmax(most.removal, one.removal);
    }
    *out = most;
    return st;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static unsigned looked_at;

static bool release_to_an_impatient_user(uint64_t *shown, uint64_t count, const fre_plan_level *l,
                                         fre_rng *counts)
{
    looked_at++;
    fre_interrupt_set();
    return fre_aggregate_level_released(shown, count, l, counts);
}

/* No further run begins of the five hundred of a chunk. */
static void a_signal_stops_it_within_a_chunk(void **state)
{
    const fre_plan two = plan("4,2", FRE_COUNTS_NOISY, 3, 1e-4, 5);
    fre_audit_steps s = real();
    fre_audit_opts o = claim(&two, 20000);
    fre_audit *a = NULL;

    (void)state;
    s.level_released = release_to_an_impatient_user;
    o.steps = &s;
    assert_int_equal(fre_audit_run(&a, &o, NULL), FRE_E_INTERRUPTED);
    fre_interrupt_clear();
    assert_null(a);
    assert_in_range(looked_at, 1, 4 + 2); /* its cells */
}

static void noisy_counts(void **state)
{
    const fre_plan two = plan("4,2", FRE_COUNTS_NOISY, 3, 1e-4, 5);
    const fre_plan three = plan("4,2,1", FRE_COUNTS_NOISY, 3, 1e-4, 5);
    fre_plan halved = two;
    fre_audit_steps s;
    fre_audit_opts o = claim(&two, 20000), h;

    (void)state;
    passes(&o);
    h = claim(&three, 5000);
    passes(&h);
    s = real(), s.level_released = occupied_only;
    caught(o, s, "only occupied cells get noise");
    s = real(), s.goes_on = stays;
    caught(o, s, "records of a released cell stay on");
    s = real(), s.level_released = watch, s.noise = kept_noise;
    caught(o, s, "noise kept between levels");
    s = real(), s.level_released = kept_counts;
    caught(o, s, "noise of counts kept between levels");
    s = real(), s.offset = offset_to_norm_bound, s.add = add_to_norm_bound;
    caught(o, s, "offsets cut at the norm bound");
    h = o, h.levels = &halved, h.claimed_levels = &two;
    for (size_t i = 0; i < 2; i++)
        halved.level[i].count_sigma_lattice /= 2, halved.level[i].level.count_sigma /= 2;
    caught(h, real(), "noise of counts halved");
}

static void sampled_counts(void **state)
{
    const fre_plan two = plan("4,2", FRE_COUNTS_SAMPLED, 3, 1e-3, 40);
    const fre_plan three = plan("4,2,1", FRE_COUNTS_SAMPLED, 3, 1e-3, 40);
    fre_audit_opts o = claim(&two, 20000), h;
    fre_audit_steps s;

    (void)state;
    passes(&o);
    h = claim(&three, 5000);
    passes(&h);
    s = real(), s.level_weight = kept_coins;
    caught(o, s, "coins kept between levels");
    s = real(), s.goes_on = stays;
    caught(o, s, "sampled records of a released cell stay on");
}

static void after_a_grid(void **state)
{
    const fre_plan mixed = plan("grid,4,2", FRE_COUNTS_NOISY, 3, 1e-3, 40);
    fre_audit_opts o = claim(&mixed, 5000);
    fre_audit_steps s = real();

    (void)state;
    passes(&o);
    s.goes_on = stays;
    o.runs = 20000;
    caught(o, s, "records of a released grid cell stay on");
}

/* Four levels that tell much by what they don't release: little noise on counts, much on sums. */
static fre_plan telling_counts(void)
{
    fre_plan p = plan("8,6,4,2", FRE_COUNTS_NOISY, 3, 1e-4, 5);
    fre_level level[4];
    fre_levels_account a;

    for (size_t i = 0; i < 4; i++) {
        fre_plan_level *l = &p.level[i];

        l->count_sigma_lattice = 1u << FRE_COUNT_BITS;
        l->sigma_lattice *= 4;
        l->level.tau = 5;
        l->level.count_sigma = 1;
        l->level.sigma *= 4;
        level[i] = l->level;
    }
    p.request.epsilon = 6;
    assert_int_equal(fre_levels_delta(&a, &(fre_levels){.level = level, .n = 4}, 6, NULL), FRE_OK);
    p.request.delta = a.delta;
    return p;
}

/* Accounts that forget something. */
static void accounts_are_attacked(void **state)
{
    const fre_plan four = telling_counts();
    const fre_audit_opts o = claim(&four, 20000);
    fre_audit_steps s = real();

    (void)state;
    passes(&o);
    s.account = addition_only;
    caught(o, s, "removal ignored");
    s.account = costliest;
    caught(o, s, "what isn't released left out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_stops_it_within_a_chunk),
        cmocka_unit_test(noisy_counts),
        cmocka_unit_test(sampled_counts),
        cmocka_unit_test(after_a_grid),
        cmocka_unit_test(accounts_are_attacked),
    };

    return cmocka_run_group_tests_name("audit by levels", tests, NULL, NULL);
}
