/* Sums in thirds under attack: an audit has to pass thirds that have all of the noise each, told where the
 * record is or not, and to catch whoever makes less of it, or cuts where clients' noise is not enough. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "assert_num.h"
#include "audit_private.h"
#include "audit_run.h"
#include "long_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 15000 /* for what hardly shows ... */
#define FEW 4000   /* ... and what shows at once */
#define FIRST_THIRD 2u /* of server_noise */

static fre_mechanism with_splits(fre_mechanism m)
{
    m.tau = 5;
    m.sigma = .8; /* a third of it is more than zCDP gives away */
    m.dist.splits = true;
    return m;
}

/* ---- noise of servers ---------------------------------------------------------------------------- */

/* As if a cell's variance were shared out among its thirds. */
static void a_third_of_it(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                          unsigned server, unsigned which)
{
    fre_share_cell less = *cell;

    (void)server;
    less.var16 /= which >= FIRST_THIRD ? 3 : 1;
    fre_share_add_noise(sum, n, &less, noise);
}

/* S_tag's in thirds from `from` on is that of the third before. */
static _Thread_local fre_rng before;

static void again_from(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                       unsigned server, unsigned which, unsigned from)
{
    const unsigned third = which < FIRST_THIRD ? 0 : (which - FIRST_THIRD) % AUDIT_SUMS_MAX;
    fre_rng copy;

    if (server != 0) {
        fre_share_add_noise(sum, n, cell, noise);
        return;
    }
    if (third < from)
        before = *noise;
    copy = before;
    fre_share_add_noise(sum, n, cell, &copy);
    (void)fre_rng_u64(noise);
}

static void one_for_all(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned which)
{
    again_from(sum, n, cell, noise, server, which, 1);
}

static void same_in_two(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned which)
{
    again_from(sum, n, cell, noise, server, which, 2);
}

/* S_tag's is in the first third alone. */
static void first_alone(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                        unsigned server, unsigned which)
{
    if (server == 1 || which <= FIRST_THIRD || which == FIRST_THIRD + AUDIT_SUMS_MAX)
        fre_share_add_noise(sum, n, cell, noise);
}

static fre_audit_steps with_noise(void (*noise)(uint32_t *, size_t, const fre_share_cell *,
                                                fre_rng *, unsigned, unsigned))
{
    fre_audit_steps s = *fre_audit_real_steps();

    s.server_noise = noise;
    return s;
}

static void each_third_has_all_the_noise(void **state)
{
    const fre_mechanism m = with_splits(audit_of_servers());
    fre_audit_opts o = audit_claim(&m, RUNS);
    const fre_audit_steps third = with_noise(a_third_of_it), all = with_noise(one_for_all),
                          two = with_noise(same_in_two), first = with_noise(first_alone);

    (void)state;
    audit_passes(&o, "thirds, servers' noise");
    audit_caught(o, &third, "a third of the noise in each", "in thirds, seen by S_tag, told");
    o.runs = FEW;
    audit_caught(o, &all, "one noise for all thirds", "in thirds, seen by S_syn, not told");
    audit_caught(o, &two, "the same noise in two thirds", "in thirds, seen by S_syn, not told");
    audit_caught(o, &first, "noise in the first third alone", "in thirds, seen by S_syn, not told");
}

/* ---- noise of clients ---------------------------------------------------------------------------- */

/* By those of a cell, not of a third. */
static uint32_t from_tau_on(const fre_mechanism *m, uint64_t count)
{
    return m->dist.splits && count >= m->tau ? 3 : 1;
}

static void clients_of_a_third_pay_for_it(void **state)
{
    fre_audit_steps early = *fre_audit_real_steps();

    (void)state;
    early.sums = from_tau_on;
    for (int one = 0; one < 2; one++) {
        fre_mechanism m = with_splits(audit_of_clients(one == 1));
        fre_audit_opts o = audit_claim(&m, FEW);

        audit_passes(&o, one ? "thirds, clients' noise, one contact"
                             : "thirds, clients' noise, two contacts");
        m.sigma = .7;
        m.dist.curious = 0;
        m.dist.dropout = 0; /* who answers beyond those who are needed adds noise */
        o = audit_claim(&m, RUNS);
        audit_caught(o, &early, "thirds of a third of tau", "the account's worst");
    }
}

/* ---- the law ------------------------------------------------------------------------------------- */

/* Of a ratio of likelihoods the mean under the other input is 1: which a wrong law would miss. */
static void the_law_is_that_of_the_runs(void **state)
{
    enum { N = 8000 };
    const fre_mechanism m = with_splits(audit_of_servers());
    const fre_audit_opts o = audit_claim(&m, RUNS);
    audit_trace *t = calloc(N, sizeof *t);
    audit_scenarios g;
    unsigned seen = 0;
    double split;

    (void)state;
    assert_non_null(t);
    assert_int_equal(audit_scenarios_choose(&g, &split, &o, NULL), FRE_OK);
    for (uint32_t i = 0; i < g.n; i++) {
        audit_setup s;

        if (!strstr(g.at[i].name, "thirds"))
            continue;
        assert_int_equal(audit_setup_init(&s, &o, &g.at[i], split, i, NULL), FRE_OK);
        for (unsigned w = 0; w < 2; w++) {
            double sum = 0, squares = 0;

            assert_int_equal(audit_simulate(t, N, &s, w, 0), FRE_OK);
            for (int k = 0; k < N; k++) {
                const double ratio = exp(w == 0 ? t[k].llr : -t[k].llr);

                sum += ratio;
                squares += ratio * ratio;
            }
            assert_true(fabs(sum / N - 1) < 5 * sqrt(squares) / N);
        }
        audit_setup_wipe(&s);
        seen++;
    }
    assert_int_equal(seen, 4);
    free(t);
}

/* ---- drawn at random ------------------------------------------------------------------------------ */

static void accounts_hold(void **state)
{
    const uint8_t seed[FRE_SEED_BYTES] = {8};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "accounts"), FRE_OK);
    for (int i = 0; i < (long_tests() ? 24 : 4); i++) {
        fre_mechanism m = i % 3 == 0 ? audit_of_servers() : audit_of_clients(i % 3 == 1);
        fre_audit_opts o;

        m.p32 = FRE_P_ONE / 10 * (3 + fre_rng_below(&r, 5));
        m.tau = 3 + fre_rng_below(&r, 5);
        m.sigma = .4 + .1 * (double)fre_rng_below(&r, 8);
        m.dim = 1 + (uint32_t)fre_rng_below(&r, 9);
        m.lattice_step = 0; /* the protocol's */
        m.dist.splits = true;
        m.dist.curious = (uint32_t)fre_rng_below(&r, 2);
        m.adjacency = i % 4 == 3 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        o = audit_claim(&m, 2000);
        audit_passes(&o, "thirds, drawn at random");
    }
    fre_rng_wipe(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_third_has_all_the_noise),
        cmocka_unit_test(clients_of_a_third_pay_for_it),
        cmocka_unit_test(the_law_is_that_of_the_runs),
        cmocka_unit_test(accounts_hold),
    };

    return cmocka_run_group_tests_name("audit of splits", tests, NULL, NULL);
}
