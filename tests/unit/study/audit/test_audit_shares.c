/* tests/unit/study/audit/test_audit_shares.c
 * the distributed mode with discrete noise: an audit has to pass the sums
 * as clients and servers make them, and to catch what is wrong with one
 * party's part of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "assert_num.h"
#include "audit_run.h"
#include "long_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- servers' noise -------------------------------------------------------------------------- */

static void noise_times(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        uint64_t part)
{
    fre_share_cell less = *cell;

    less.var16 /= part;
    fre_share_add_noise(sum, n, &less, noise);
}

static void half_of_tag(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned which)
{
    (void)which;
    noise_times(sum, n, cell, noise, server == 0 ? 4 : 1);
}

static void half_of_syn(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned which)
{
    (void)which;
    noise_times(sum, n, cell, noise, server == 1 ? 4 : 1);
}

/* S_tag's noise is counted for what it sees itself as well, so that S_syn adds none. */
static void counted_twice(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                          unsigned server, unsigned which)
{
    (void)which;
    if (server == 0)
        fre_share_add_noise(sum, n, cell, noise);
}

/* Each adds half of the variance, as if the other's half counted for what it sees too. */
static void shared_out(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                       unsigned server, unsigned which)
{
    (void)server;
    (void)which;
    noise_times(sum, n, cell, noise, 2);
}

/* S_tag's of a run's second cell is that of its first. */
static _Thread_local fre_rng kept;

static void kept_between_cells(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                               unsigned server, unsigned which)
{
    fre_rng copy;

    if (server == 0 && which == 0)
        kept = *noise;
    copy = kept;
    fre_share_add_noise(sum, n, cell, server == 0 && which == 1 ? &copy : noise);
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
    const fre_mechanism m = audit_of_servers();
    const fre_audit_opts o = audit_claim(&m, 15000);
    const fre_audit_steps tag = with_noise(half_of_tag), syn = with_noise(half_of_syn),
                          twice = with_noise(counted_twice), keeps = with_noise(kept_between_cells);
    fre_audit_steps coin = *fre_audit_real_steps();

    (void)state;
    coin.coin = no_coin;
    audit_passes(&o, "servers' noise");
    audit_caught(o, &tag, "half of S_tag's noise", "seen by S_syn");
    audit_caught(o, &syn, "half of S_syn's noise", "seen by S_tag");
    audit_caught(o, &twice, "noise counted twice", "seen by S_tag");
    audit_caught(o, &keeps, "noise kept between cells", "seen by S_syn");
    audit_caught(o, &coin, "no coin", "seen by");
}

/* A deficit of sqrt 2 is what zCDP gives away at chances that few runs can measure. */
static void half_the_variance_is_noticed(void **state)
{
    const fre_audit_steps halves = with_noise(shared_out);
    fre_mechanism m = audit_of_servers();
    fre_audit_opts o;

    (void)state;
    if (!long_tests())
        skip();
    m.p32 = FRE_P_ONE / 10 * 3;
    m.tau = 6;
    m.dim = 1;
    o = audit_claim(&m, 400000);
    audit_passes(&o, "servers' noise, many runs");
    audit_caught(o, &halves, "both add half the variance", "seen by");
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* A lattice coarser than the split: a third of a step becomes a whole one in a third of the runs. */
static void rounding_is_paid_for(void **state)
{
    fre_mechanism m = audit_of_servers(), coarse;
    fre_audit_opts o;

    (void)state;
    m.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    m.sketch.grid = (fre_sketch_grid){.proj = 20, .cell_edge = 1};
    m.norm_bound = 2;
    m.sigma = 1;
    m.dim = 1;
    coarse = m;
    coarse.lattice_step = 3;
    o = audit_claim(&coarse, 15000);
    audit_passes(&o, "a coarse lattice that is accounted for");
    o = audit_claim(&m, 15000);
    audit_passes(&o, "a fine lattice");
    o.claimed = &m;
    o.mechanism = coarse;
    audit_caught(o, NULL, "the bound on rounding ignored", "between lattice points");
}

/* ---- several records ------------------------------------------------------------------------- */

static void a_user_is_attacked_in_all_cells(void **state)
{
    const fre_mechanism one = audit_of_servers();
    fre_mechanism two = one;
    fre_audit_opts o;

    (void)state;
    two.cells_per_user = 2;
    two.sigma = 2.2;
    o = audit_claim(&two, 15000);
    audit_passes(&o, "two cells a user");
    o = audit_claim(&one, 15000);
    o.claimed = &one;
    o.mechanism.cells_per_user = 8;
    audit_caught(o, NULL, "c ignored", "8 records of one user");
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
        const fre_mechanism m = audit_of_clients(one == 1);
        const fre_audit_opts o = audit_claim(&m, 10000);

        audit_passes(&o, one ? "clients' noise, one contact" : "clients' noise, two contacts");
        weak.share = one ? a_sixteenth : an_eighth;
        audit_caught(o, &weak, "most clients add none", "added to");
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
    fre_mechanism m = audit_of_servers();
    fre_audit_steps longer = *fre_audit_real_steps();
    fre_audit_opts o;

    (void)state;
    m.sketch = (fre_sketch_spec){.kind = FRE_SKETCH_CODEBOOK,
                                 .codebook = {.cells = 64, .radius = .5, .gain = 1}};
    m.norm_bound = 1;
    o = audit_claim(&m, 10000);
    longer.offset = uncut;
    longer.share = unbounded_share;
    audit_passes(&o, "public cells");
    audit_caught(o, &longer, "offsets are not cut", "seen by");
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
        fre_mechanism m = i % 3 == 0 ? audit_of_servers() : audit_of_clients(i % 3 == 1);
        fre_audit_opts o;

        m.p32 = FRE_P_ONE / 10 * (3 + fre_rng_below(&r, 5));
        m.tau = 4 + fre_rng_below(&r, 6);
        m.sigma = .4 + .1 * (double)fre_rng_below(&r, 8);
        m.dim = 1 + (uint32_t)fre_rng_below(&r, 9);
        m.lattice_step = 0; /* the protocol's */
        m.dist.cover = m.dist.one_contact || i % 2 == 0; /* off only with two contacts */
        m.dist.curious = (uint32_t)fre_rng_below(&r, 2);
        m.adjacency = i % 4 == 3 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        o = audit_claim(&m, 3000);
        audit_passes(&o, "drawn at random");
    }
    fre_rng_wipe(&r);
}

/* The same seed, the same audit, whatever the threads. */
static void threads_change_nothing(void **state)
{
    const fre_mechanism m = audit_of_clients(false);
    fre_audit_opts o = audit_claim(&m, 2000);
    fre_audit *a = audit_run(&o), *b;

    (void)state;
    o.threads = 1;
    b = audit_run(&o);
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
