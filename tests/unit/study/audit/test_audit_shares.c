/* tests/unit/study/audit/test_audit_shares.c
 * the distributed mode with discrete noise: an audit has to pass the sums
 * as clients and servers make them, and to catch what is wrong with one
 * party's part of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fre/audit.h>

#include "assert_num.h"
#include "long_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON 2 /* above 2 ln 2, what two records at p = .5 cost */
#define SPLIT 1

static fre_audit *run(const fre_audit_opts *o)
{
    fre_audit *a = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_audit_run(&a, o, &err);

    if (st != FRE_OK)
        print_error("%s\n", err.text);
    assert_int_equal(st, FRE_OK);
    for (size_t i = 0; i < a->n && getenv("AUDIT_VERBOSE"); i++)
        print_message("  %-60s %.3f; delta %.5f of %.5f at %.2f%s\n", a->scenario[i].name,
                      a->scenario[i].epsilon_lower, a->scenario[i].curve_lower,
                      a->scenario[i].curve_claimed, a->scenario[i].curve_epsilon,
                      a->scenario[i].curve_backward ? ", back" : "");
    return a;
}

static void passes(const fre_audit_opts *o, const char *what)
{
    fre_audit *a = run(o);

    print_message("sound, %s: %.3f of %.3f at delta %.3g\n", what, a->epsilon_lower, a->epsilon,
                  a->delta);
    assert_false(a->refuted);
    assert_true(a->curve);
    assert_true(a->shares.beta > 0);
    for (size_t i = 0; i < a->n; i++)
        assert_true(a->scenario[i].curve_lower <= a->scenario[i].curve_claimed);
    fre_audit_free(a);
}

/* By a scenario whose name has `by` in it. */
static void caught(fre_audit_opts o, const fre_audit_steps *steps, const char *what, const char *by)
{
    bool found = false;
    fre_audit *a;

    o.steps = steps;
    a = run(&o);
    print_message("%s: %.3f of %.3f; delta %.4f of %.4f, %s\n", what, a->epsilon_lower, a->epsilon,
                  a->scenario[a->curve_worst].curve_lower,
                  a->scenario[a->curve_worst].curve_claimed, a->scenario[a->curve_worst].name);
    assert_true(a->refuted);
    for (size_t i = 0; i < a->n; i++) {
        const fre_audit_scenario *s = &a->scenario[i];

        found = found || (strstr(s->name, by) && (s->epsilon_lower > a->epsilon ||
                                                  s->curve_lower > s->curve_claimed));
    }
    assert_true(found);
    fre_audit_free(a);
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

static fre_mechanism servers(void)
{
    return (fre_mechanism){.p32 = FRE_P_ONE / 2,
                           .tau = 10,
                           .sigma = 1.1,
                           .population = 1000,
                           .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                           .norm_bound = .5,
                           .dim = 4,
                           .lattice_step = .01, /* the protocol's costs a quarter in so few dimensions */
                           .cells_per_user = 1,
                           .noise = FRE_NOISE_DISCRETE,
                           .dist = {.on = true,
                                    .cover = true,
                                    .one_contact = true,
                                    .server_noise = true,
                                    .lambda = 2,
                                    .gamma = 20,
                                    .phi = 1e-10}};
}

static fre_mechanism clients(bool one_contact)
{
    fre_mechanism m = servers();

    m.dist.server_noise = false;
    m.dist.one_contact = one_contact;
    m.dist.curious = 1;
    m.dist.dropout = one_contact ? 0 : .1;
    return m;
}

/* At the delta that its own account gives. */
static fre_audit_opts claim(const fre_mechanism *m, uint64_t runs)
{
    fre_audit_opts o = {.mechanism = *m,
                        .epsilon = EPSILON,
                        .split = SPLIT,
                        .runs = runs,
                        .confidence = .999,
                        .threads = 2,
                        .seeded = true,
                        .seed = {17}};
    fre_account a;
    fre_err err = {.text = ""};

    if (fre_joint_delta_at_split(&a, m, EPSILON, SPLIT, &err) != FRE_OK)
        print_error("%s\n", err.text);
    o.delta = a.delta;
    assert_true(a.delta > 0 && a.delta < 1);
    return o;
}

/* ---- servers' noise -------------------------------------------------------------------------- */

static void noise_times(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        uint64_t part)
{
    fre_share_cell less = *cell;

    less.var16 /= part;
    fre_share_add_noise(sum, n, &less, noise);
}

static void half_of_tag(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned released)
{
    (void)released;
    noise_times(sum, n, cell, noise, server == 0 ? 4 : 1);
}

static void half_of_syn(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned released)
{
    (void)released;
    noise_times(sum, n, cell, noise, server == 1 ? 4 : 1);
}

/* S_tag's noise is counted for what it sees itself as well, so that S_syn adds none. */
static void counted_twice(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                          unsigned server, unsigned released)
{
    (void)released;
    if (server == 0)
        fre_share_add_noise(sum, n, cell, noise);
}

/* Each adds half of the variance, as if the other's half counted for what it sees too. */
static void shared_out(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                       unsigned server, unsigned released)
{
    (void)server;
    (void)released;
    noise_times(sum, n, cell, noise, 2);
}

/* S_tag's of a run's second cell is that of its first. */
static _Thread_local fre_rng kept;

static void kept_between_cells(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                               unsigned server, unsigned released)
{
    fre_rng copy;

    if (server == 0 && released == 0)
        kept = *noise;
    copy = kept;
    fre_share_add_noise(sum, n, cell, server == 0 && released == 1 ? &copy : noise);
}

static bool no_coin(fre_rng *coins, uint64_t p32, uint64_t record)
{
    (void)coins;
    (void)p32;
    (void)record;
    return true;
}

static fre_audit_steps with_noise(void (*noise)(uint32_t *, size_t, const fre_share_cell *,
                                                fre_rng *, unsigned, unsigned))
{
    fre_audit_steps s = *fre_audit_real_steps();

    s.server_noise = noise;
    return s;
}

static void each_server_pays_alone(void **state)
{
    const fre_mechanism m = servers();
    const fre_audit_opts o = claim(&m, 15000);
    const fre_audit_steps tag = with_noise(half_of_tag), syn = with_noise(half_of_syn),
                          twice = with_noise(counted_twice), keeps = with_noise(kept_between_cells);
    fre_audit_steps coin = *fre_audit_real_steps();

    (void)state;
    coin.coin = no_coin;
    passes(&o, "servers' noise");
    caught(o, &tag, "half of S_tag's noise", "seen by S_syn");
    caught(o, &syn, "half of S_syn's noise", "seen by S_tag");
    caught(o, &twice, "noise counted twice", "seen by S_tag");
    caught(o, &keeps, "noise kept between cells", "seen by S_syn");
    caught(o, &coin, "no coin", "seen by");
}

/* A deficit of sqrt 2 is what zCDP gives away at chances that few runs can measure. */
static void half_the_variance_is_noticed(void **state)
{
    const fre_audit_steps halves = with_noise(shared_out);
    fre_mechanism m = servers();
    fre_audit_opts o;

    (void)state;
    if (!long_tests())
        skip();
    m.p32 = FRE_P_ONE / 10 * 3;
    m.tau = 6;
    m.dim = 1;
    o = claim(&m, 400000);
    passes(&o, "servers' noise, many runs");
    caught(o, &halves, "both add half the variance", "seen by");
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* A lattice coarser than the split: a third of a step becomes a whole one in a third of the runs. */
static void rounding_is_paid_for(void **state)
{
    fre_mechanism m = servers(), coarse;
    fre_audit_opts o;

    (void)state;
    m.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    m.sketch.grid = (fre_sketch_grid){.proj = 20, .cell_edge = 1};
    m.norm_bound = 2;
    m.sigma = 1;
    m.dim = 1;
    coarse = m;
    coarse.lattice_step = 3;
    o = claim(&coarse, 15000);
    passes(&o, "a coarse lattice that is accounted for");
    o = claim(&m, 15000);
    passes(&o, "a fine lattice");
    o.claimed = &m;
    o.mechanism = coarse;
    caught(o, NULL, "the bound on rounding ignored", "between lattice points");
}

/* ---- several records ------------------------------------------------------------------------- */

static void a_user_is_attacked_in_all_cells(void **state)
{
    const fre_mechanism one = servers();
    fre_mechanism two = one;
    fre_audit_opts o;

    (void)state;
    two.cells_per_user = 2;
    two.sigma = 2.2;
    o = claim(&two, 15000);
    passes(&o, "two cells a user");
    o = claim(&one, 15000);
    o.claimed = &one;
    o.mechanism.cells_per_user = 8;
    caught(o, NULL, "c ignored", "8 records of one user");
}

/* ---- clients' noise -------------------------------------------------------------------------- */

/* Seven of eight clients add none, or fifteen of sixteen: with one contact larger cells have more noise. */
static fre_status some_share(uint32_t of, uint8_t *packed, size_t packed_bytes,
                             fre_share_seed *seed, const fre_rotation *rot,
                             const fre_share_cell *cell, const float *x,
                             const fre_share_noise *noise, fre_rng *r)
{
    return fre_share_make_with(packed, packed_bytes, seed, rot, cell, x,
                               fre_rng_below(r, of) == 0 ? noise : NULL, r);
}

static fre_status an_eighth(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                            const fre_rotation *rot, const fre_share_cell *cell, const float *x,
                            const fre_share_noise *noise, fre_rng *r)
{
    return some_share(8, packed, packed_bytes, seed, rot, cell, x, noise, r);
}

static fre_status a_sixteenth(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                              const fre_rotation *rot, const fre_share_cell *cell, const float *x,
                              const fre_share_noise *noise, fre_rng *r)
{
    return some_share(16, packed, packed_bytes, seed, rot, cell, x, noise, r);
}

static void clients_pay_together(void **state)
{
    fre_audit_steps weak = *fre_audit_real_steps();

    (void)state;
    for (int one = 0; one < 2; one++) {
        const fre_mechanism m = clients(one == 1);
        const fre_audit_opts o = claim(&m, 10000);

        passes(&o, one ? "clients' noise, one contact" : "clients' noise, two contacts");
        weak.share = one ? a_sixteenth : an_eighth;
        caught(o, &weak, "most clients add none", "added to");
    }
}

/* ---- public cells ---------------------------------------------------------------------------- */

static void uncut(float *x, const float *centre, size_t dim, double radius)
{
    fre_aggregate_offset(x, centre, dim, 8 * radius);
}

/* Without the client's own cut and the share's. */
static fre_status unbounded_share(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                                  const fre_rotation *rot, const fre_share_cell *cell,
                                  const float *x, const fre_share_noise *noise, fre_rng *r)
{
    fre_share_cell wide = *cell;

    wide.norm_bound *= 8;
    return fre_share_make_with(packed, packed_bytes, seed, rot, &wide, x, noise, r);
}

static void public_cells_are_attacked_at_their_radius(void **state)
{
    fre_mechanism m = servers();
    fre_audit_steps longer = *fre_audit_real_steps();
    fre_audit_opts o;

    (void)state;
    m.sketch = (fre_sketch_spec){.kind = FRE_SKETCH_CODEBOOK,
                                 .codebook = {.cells = 64, .radius = .5, .gain = 1}};
    m.norm_bound = 1;
    o = claim(&m, 10000);
    longer.offset = uncut;
    longer.share = unbounded_share;
    passes(&o, "public cells");
    caught(o, &longer, "offsets are not cut", "seen by");
}

/* ---- drawn at random ------------------------------------------------------------------------- */

/* Whoever adds the noise, with few steps of it or many, in dimensions that are padded or not. */
static void accounts_hold(void **state)
{
    const uint8_t seed[FRE_SEED_BYTES] = {6};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "accounts"), FRE_OK);
    for (int i = 0; i < (long_tests() ? 24 : 6); i++) {
        fre_mechanism m = i % 3 == 0 ? servers() : clients(i % 3 == 1);
        fre_audit_opts o;

        m.p32 = FRE_P_ONE / 10 * (3 + fre_rng_below(&r, 5));
        m.tau = 4 + fre_rng_below(&r, 6);
        m.sigma = .4 + .1 * (double)fre_rng_below(&r, 8);
        m.dim = 1 + (uint32_t)fre_rng_below(&r, 9);
        m.lattice_step = 0; /* the protocol's */
        m.dist.cover = m.dist.one_contact || i % 2 == 0; /* off only with two contacts */
        m.dist.curious = (uint32_t)fre_rng_below(&r, 2);
        m.adjacency = i % 4 == 3 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        o = claim(&m, 3000);
        passes(&o, "drawn at random");
    }
    fre_rng_wipe(&r);
}

/* The same seed, the same audit, whatever the threads. */
static void threads_change_nothing(void **state)
{
    const fre_mechanism m = clients(false);
    fre_audit_opts o = claim(&m, 2000);
    fre_audit *a = run(&o), *b;

    (void)state;
    o.threads = 1;
    b = run(&o);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_close(a->scenario[i].epsilon_lower, b->scenario[i].epsilon_lower, 0, 0);
        assert_close(a->scenario[i].curve_lower, b->scenario[i].curve_lower, 0, 0);
    }
    fre_audit_free(a);
    fre_audit_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_pays_alone),
        cmocka_unit_test(half_the_variance_is_noticed),
        cmocka_unit_test(rounding_is_paid_for),
        cmocka_unit_test(a_user_is_attacked_in_all_cells),
        cmocka_unit_test(clients_pay_together),
        cmocka_unit_test(public_cells_are_attacked_at_their_radius),
        cmocka_unit_test(accounts_hold),
        cmocka_unit_test(threads_change_nothing),
    };

    return cmocka_run_group_tests_name("audit of shares", tests, NULL, NULL);
}
