/* The joint accountant against independent recomputations: numerical integration of the two
 * mixture densities themselves (not of the formula), exhaustive n, and laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/core.h>
#include <fre/privacy.h>

#include "assert_num.h"
#include "binomial.h"
#include "long_tests.h"
#include "heavy.h"
#include "pld.h"
#include "seeded.h"

/* ---- mixtures by integration ---------------------------------------------------------------
 * A view: with weight w[c] the released pair (c, sum) where sum ~ a mixture of normals, and with
 * weight `hidden` nothing. */

static double density(double s, double mean, double sigma)
{
    double z = (s - mean) / sigma;

    return exp(-0.5 * z * z) / (sigma * 2.50662827463100050242);
}

/* Density of the view "cell without x" or "with x sampled" at (c, s), n others at 0 of which
 * `away` sit at `where` and the record itself at `shift` (present: it is one of the c). */
typedef struct cell {
    int n, away, tau;
    double where, shift, p, sigma;
} cell;

/* The mixture at one count: weight[a] for a of the away among the sampled. */
#define AWAY_MAX 4
typedef struct slice {
    double weight[AWAY_MAX], mean[AWAY_MAX];
} slice;

static slice slice_of(const cell *v, bool present, int c)
{
    int others = present ? c - 1 : c, near = v->n - v->away, a;
    double ways = 0;
    slice s;

    memset(&s, 0, sizeof s);
    if (others < 0 || others > v->n)
        return s;
    for (a = 0; a <= v->away && a <= others; a++) { /* hypergeometric */
        if (others - a > near)
            continue;
        s.weight[a] = binomial(v->away, a, 0.5) * binomial(near, others - a, 0.5);
        s.mean[a] = a * v->where + (present ? v->shift : 0);
        ways += s.weight[a];
    }
    for (a = 0; a < AWAY_MAX; a++)
        s.weight[a] *= binomial(v->n, others, v->p) / ways;
    return s;
}

static double view(const slice *v, double s, double sigma)
{
    double sum = 0;
    int a;

    for (a = 0; a < AWAY_MAX; a++) {
        if (v->weight[a] > 0)
            sum += v->weight[a] * density(s, v->mean[a], sigma);
    }
    return sum;
}

static double hidden(const cell *v, bool present)
{
    double sum = 0;
    int c;

    for (c = 0; c < v->tau; c++)
        sum += present ? (c > 0 ? binomial(v->n, c - 1, v->p) : 0) : binomial(v->n, c, v->p);
    return sum;
}

/* Hockey stick between (1-a) P + a Q and (1-b) P + b Q' at factor e, where Q' may hold another
 * record than Q; midpoint rule over a wide range. */
static double hockey(const cell *v, const cell *other, double a, double b, double e)
{
    double lo = -9 * v->sigma, hi = 9 * v->sigma, step, total = 0, h;
    int c, i, steps = 4000;

    lo += fmin(0, fmin(v->where * v->away, fmin(v->shift, other->shift) + v->where * v->away));
    hi += fmax(0, fmax(v->where * v->away, fmax(v->shift, other->shift) + v->where * v->away));
    step = (hi - lo) / steps;
    for (c = v->tau; c <= v->n + 1; c++) {
        slice without = slice_of(v, false, c), x = slice_of(v, true, c);
        slice y = slice_of(other, true, c);

        for (i = 0; i < steps; i++) {
            double s = lo + (i + 0.5) * step, p = view(&without, s, v->sigma);
            double d = (1 - a) * p - e * (1 - b) * p;

            d += a > 0 ? a * view(&x, s, v->sigma) : 0;
            d -= b > 0 ? e * b * view(&y, s, v->sigma) : 0;

            total += d > 0 ? d * step : 0;
        }
    }
    h = (1 - a) * hidden(v, false) + a * hidden(v, true) -
        e * ((1 - b) * hidden(v, false) + b * hidden(other, true));
    return total + (h > 0 ? h : 0);
}

/* heavy(n) is an equality for n copies of one point at distance Delta. */
static void heavy_is_the_hockey_stick(void **state)
{
    static const struct {
        int n, tau;
        double p, sigma, eps, shift;
    } v[] = {
        {5, 3, 0.5, 1.0, 0.7, 1.2},  {12, 3, 0.3, 1.2, 1.5, 1.2}, {20, 12, 0.6, 0.8, 2.0, 1.0},
        {11, 12, 0.6, 2.0, 1, 0.5},  {40, 20, 0.7, 1.5, 1, 1.3},  {3, 1, 0.2, 1.0, 0.5, 1.0},
        {30, 5, 0.1, 0.7, 2.5, 1.0}, {60, 40, 0.8, 3, 0.4, 1.2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof v / sizeof v[0]; i++) {
        cell c = {v[i].n, 0, v[i].tau, 0, v[i].shift, v[i].p, v[i].sigma};
        fre_heavy h;

        fre_heavy_init(&h, v[i].eps, v[i].p, v[i].tau, v[i].shift / v[i].sigma);
        assert_close(fre_heavy_at(&h, v[i].n), hockey(&c, &c, 1, 0, exp(v[i].eps)), 0, 2e-5);
    }
}

/* A mechanism without far members, accounted in the worst case: 2B = shift. */
static fre_mechanism plain(const cell *c, fre_adjacency adjacency)
{
    fre_mechanism m = {.p32 = fre_p32(c->p),
                       .tau = (uint64_t)c->tau,
                       .sigma = c->sigma,
                       .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                       .norm_bound = c->shift / 2,
                       .adjacency = adjacency,
                       .cells_per_user = 1};

    return m;
}

/* Whole mechanism, coin included, in both directions, on random small cells. */
static void adding_and_removing_are_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 1, "test/privacy");
    for (i = 0; i < 60; i++) {
        cell c = {1 + (int)fre_rng_below(&r, 12),
                  0,
                  1 + (int)fre_rng_below(&r, 6),
                  0,
                  uniform(&r, 0.1, 2),
                  uniform(&r, 0.05, 0.95),
                  uniform(&r, 0.3, 3)};
        fre_mechanism m;
        fre_account a;
        double eps;

        c.p = (double)fre_p32(c.p) / 4294967296.0;
        eps = -log1p(-c.p) + uniform(&r, 0.001, 3);
        m = plain(&c, FRE_ADJACENCY_ADD_REMOVE);
        assert_int_equal(fre_joint_delta(&a, &m, eps, NULL), FRE_OK);
        assert_true(a.delta >= hockey(&c, &c, c.p, 0, exp(eps)) * (1 - 1e-4));
        assert_true(a.delta >= hockey(&c, &c, 0, c.p, exp(eps)) * (1 - 1e-4) - 1e-12);
    }
    fre_rng_wipe(&r);
}

/* Equality where the cell is the worst one: delta = p H of the mixtures at its own n. */
static void delta_is_attained(void **state)
{
    cell c = {0, 0, 8, 0, 1.0, 0.5, 1.1};
    fre_mechanism m = plain(&c, FRE_ADJACENCY_ADD_REMOVE);
    fre_account a;

    (void)state;
    assert_int_equal(fre_joint_delta(&a, &m, 2.0, NULL), FRE_OK);
    c.n = (int)a.worst_cell;
    assert_close(a.delta, hockey(&c, &c, c.p, 0, exp(2.0)), 0, 2e-4);
}

/* Replacement of x by y in one cell (anywhere within the sensitivity of the rest). */
static void replacing_is_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 2, "test/privacy");
    for (i = 0; i < 60; i++) {
        cell x = {1 + (int)fre_rng_below(&r, 10),
                  0,
                  1 + (int)fre_rng_below(&r, 5),
                  0,
                  uniform(&r, 0.1, 2),
                  uniform(&r, 0.05, 0.95),
                  uniform(&r, 0.3, 3)};
        cell y;
        fre_mechanism m;
        fre_account a;
        double eps = uniform(&r, 0.05, 3);

        x.p = (double)fre_p32(x.p) / 4294967296.0;
        y = x;
        y.shift = -x.shift;
        m = plain(&x, FRE_ADJACENCY_REPLACE);
        assert_int_equal(fre_joint_delta(&a, &m, eps, NULL), FRE_OK);
        assert_true(a.delta >= hockey(&x, &y, x.p, x.p, exp(eps)) * (1 - 1e-4));
        y.shift = 0;
        assert_true(a.delta >= hockey(&x, &y, x.p, x.p, exp(eps)) * (1 - 1e-4));
        assert_true(a.delta >= hockey(&y, &x, x.p, x.p, exp(eps)) * (1 - 1e-4));
    }
    fre_rng_wipe(&r);
}

/* Replacement across cells, counts alone (sigma so large that sums tell nothing): x leaves a cell
 * of n others, y enters one of m others. */
static void replacing_across_cells_is_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 3, "test/privacy");
    for (i = 0; i < 200; i++) {
        int n = (int)fre_rng_below(&r, 12), m = (int)fre_rng_below(&r, 12), c, d;
        int tau = 1 + (int)fre_rng_below(&r, 6);
        double p = (double)fre_p32(uniform(&r, 0.05, 0.95)) / 4294967296.0;
        double eps = uniform(&r, 0.05, 3), total = 0, left[16], right[16], lp[16], rp[16];
        cell x = {n, 0, tau, 0, 1, p, 1e9};
        fre_mechanism mech = plain(&x, FRE_ADJACENCY_REPLACE);
        fre_account a;

        memset(left, 0, sizeof left);
        memset(right, 0, sizeof right);
        memset(lp, 0, sizeof lp);
        memset(rp, 0, sizeof rp);
        for (c = 0; c <= 13; c++) { /* counts below tau collapse into entry 0 */
            int k = c < tau ? 0 : c;

            left[k] += c <= n ? binomial(n, c, p) : 0;
            right[k] += c <= m ? binomial(m, c, p) : 0;
            lp[k] += c > 0 && c <= n + 1 ? binomial(n, c - 1, p) : 0;
            rp[k] += c > 0 && c <= m + 1 ? binomial(m, c - 1, p) : 0;
        }
        for (c = 0; c <= 13; c++) {
            for (d = 0; d <= 13; d++) {
                double with_x = ((1 - p) * left[c] + p * lp[c]) * right[d];
                double with_y = left[c] * ((1 - p) * right[d] + p * rp[d]);

                total += fmax(0, with_x - exp(eps) * with_y);
            }
        }
        assert_int_equal(fre_joint_delta(&a, &mech, eps, NULL), FRE_OK);
        assert_true(a.delta >= total * (1 - 1e-9));
    }
    fre_rng_wipe(&r);
}

/* Far members: `away` of the n others lie beyond the split.  Conditioned on the projection the
 * bound is heavy at the split plus away/n <= away/tau. */
static void far_members_are_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 4, "test/privacy");
    for (i = 0; i < 60; i++) {
        cell c = {2 + (int)fre_rng_below(&r, 8),
                  0,
                  1 + (int)fre_rng_below(&r, 3),
                  0,
                  uniform(&r, 0.1, 1.5),
                  uniform(&r, 0.1, 0.9),
                  uniform(&r, 0.4, 2)};
        double eps = uniform(&r, 0.2, 2.5), amplified;
        fre_heavy h;

        c.away = (int)fre_rng_below(&r, 3);
        c.where = uniform(&r, -8, 8);
        if (c.away > c.n)
            c.away = c.n;
        amplified = log1p(expm1(eps) / c.p);
        fre_heavy_init(&h, amplified, c.p, c.tau, c.shift / c.sigma);
        assert_true(c.p * (fre_heavy_at(&h, c.n) + fmin(1, (double)c.away / c.tau)) >=
                    hockey(&c, &c, c.p, 0, exp(eps)) * (1 - 1e-4));
    }
    fre_rng_wipe(&r);
}

/* ---- the supremum ------------------------------------------------------------------------- */

static void supremum_holds_over_every_n(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 5, "test/privacy");
    for (i = 0; i < 150; i++) {
        double tau = 1 + (double)fre_rng_below(&r, 40), p = uniform(&r, 0.05, 0.97), n, top = 0;
        double at = -1, bound;
        fre_heavy h;

        fre_heavy_init(&h, uniform(&r, 0, 6), p, tau, uniform(&r, 0.05, 3));
        for (n = 0; n < (tau + 80) / p; n++)
            top = fmax(top, fre_heavy_at(&h, n));
        bound = fre_heavy_supremum(&h, &at);
        assert_true(bound >= top);
        assert_close(bound, top, 1e-280, 2e-4);
        assert_close(fre_heavy_at(&h, at), top, 1e-280, 2e-4);
    }
    fre_rng_wipe(&r);
}

/* Step by step: heavy(n+1) <= heavy(n) + p Pr[Bin(n,p) = tau-2] G(...). */
static void supremum_growth_law(void **state)
{
    fre_heavy h;
    int n;

    (void)state;
    fre_heavy_init(&h, 1.3, 0.4, 9, 0.8);
    for (n = 8; n < 120; n++) {
        double g = fre_gauss_delta(1.3 - log(8 * 0.6 / ((n - 8 + 1) * 0.4)), 0.8);

        assert_true(fre_heavy_at(&h, n + 1) <=
                    fre_heavy_at(&h, n) + 0.4 * binomial(n, 7, 0.4) * g + 1e-15);
    }
}

static void supremum_for_large_thresholds(void **state)
{
    double at = -1, small, large;
    fre_heavy h;

    (void)state;
    fre_heavy_init(&h, 1.5, 0.5, 5000, 0.4);
    small = fre_heavy_supremum(&h, &at);
    assert_true(small >= fre_heavy_at(&h, at));
    assert_close(small, fre_heavy_at(&h, at), 0, 2e-2);
    fre_heavy_init(&h, 1.5, 0.5, 1e12, 0.4); /* accounted as the largest that is summed */
    large = fre_heavy_supremum(&h, &at);
    assert_true(large < small);
    assert_true(large > fre_gauss_delta(1.5, 0.4)); /* the limit of ever more records */
}

static void heavy_falls_with_tau(void **state)
{
    double tau;
    fre_heavy a, b;

    (void)state;
    for (tau = 1; tau < 60; tau++) {
        fre_heavy_init(&a, 2, 0.5, tau, 0.7);
        fre_heavy_init(&b, 2, 0.5, tau + 1, 0.7);
        assert_true(fre_heavy_at(&b, 90) <= fre_heavy_at(&a, 90));
    }
}

/* ---- the public calls --------------------------------------------------------------------- */

static fre_mechanism usual(void)
{
    fre_mechanism m = {.p32 = fre_p32(0.5),
                       .tau = 50,
                       .sigma = 0.9,
                       .population = 1000000,
                       .sketch.grid.proj = 20,
                       .sketch.grid.cell_edge = 0.22360679774997896,
                       .norm_bound = 1,
                       .dim = 384,
                       .lattice_step = 0x1p-21,
                       .cells_per_user = 1};

    return m;
}

static void split_is_optimised(void **state)
{
    fre_mechanism m = usual();
    fre_account best, at;
    double s;

    (void)state;
    assert_int_equal(fre_joint_delta(&best, &m, 8, NULL), FRE_OK);
    for (s = 0.8; s < 2.5; s *= 1.01) {
        assert_int_equal(fre_joint_delta_at_split(&at, &m, 8, s, NULL), FRE_OK);
        assert_true(at.delta >= best.delta * (1 - 1e-3));
        assert_close(at.split, s, 0, 1e-15);
    }
}

static double delta_of(const fre_mechanism *m, double eps)
{
    fre_account a = {.delta = -1};

    assert_int_equal(fre_joint_delta(&a, m, eps, NULL), FRE_OK);
    assert_true(a.delta > 0 && a.delta <= 1);
    assert_close(a.delta, a.delta_released + a.delta_far + a.delta_unreleased, 0, 1e-12);
    return a.delta;
}

static void delta_is_monotone(void **state)
{
    const double slack = 1 - 5e-4; /* the bounds' own tolerance */
    fre_mechanism m = usual(), w;
    double eps, last;

    (void)state;
    for (eps = 1, last = 1; eps < 50; eps *= 1.3) {
        double d = delta_of(&m, eps);

        assert_true(d * slack <= last);
        last = d;
    }
    w = m;
    for (w.sigma = 0.2, last = 1; w.sigma < 20; w.sigma *= 1.5) {
        double d = delta_of(&w, 6);

        assert_true(d * slack <= last);
        last = d;
    }
    w = m;
    for (w.population = 10, last = 0; w.population < 100000000000; w.population *= 50) {
        double d = delta_of(&w, 8);

        assert_true(d >= last * slack);
        last = d;
    }
    w = m;
    w.lattice_step = 0x1p-6;
    assert_true(delta_of(&w, 8) > delta_of(&m, 8) * 1.1);
    w.lattice_step = 0;
    assert_true(delta_of(&w, 8) <= delta_of(&m, 8) / slack);
}

/* ---- far members at what they cost ---------------------------------------------------------
 * A world in one dimension with one random direction and offset: `near` copies of one text at 0,
 * `away` of another at `where`, the record at `shift`.  Which of them share the record's cell
 * depends on the draw; what is told is then a mixture. */

typedef struct shares {
    double both, near, away; /* chances that these are in the record's cell */
} shares;

static shares draw_cells(const cell *c, double edge)
{
    const int draws = 4000, places = 40;
    shares out = {0, 0, 0};
    int i, j;

    for (i = 0; i < draws; i++) { /* the direction: midpoints of a wide grid */
        double g = -9 + 18 * (i + 0.5) / draws, weight = density(g, 0, 1) * 18 / draws / places;

        for (j = 0; j < places; j++) {
            double at = edge * (j + 0.5) / places; /* the record's place in its cell */
            double near = at - g * c->shift, away = at + g * (c->where - c->shift);
            bool in_near = near >= 0 && near < edge, in_away = away >= 0 && away < edge;

            out.both += in_near && in_away ? weight : 0;
            out.near += in_near && !in_away ? weight : 0;
            out.away += in_away && !in_near ? weight : 0;
        }
    }
    return out;
}

static double truth_of(const cell *c, const shares *s, double eps)
{
    cell near = *c, away = *c;

    near.n = c->n - c->away;
    near.away = 0;
    away.n = c->away;
    away.away = 0;
    away.shift = c->shift - c->where;
    return s->both * hockey(c, c, c->p, 0, exp(eps)) +
           s->near * hockey(&near, &near, c->p, 0, exp(eps)) +
           s->away * hockey(&away, &away, c->p, 0, exp(eps));
}

static void cost_of_far_members_is_covered(void **state)
{
    double tightest = 0;
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 8, "test/privacy");
    for (i = 0; i < 300; i++) {
        cell c = {
            2 + (int)fre_rng_below(&r, 8), 0,
            1 + (int)fre_rng_below(&r, 4), 0,
            uniform(&r, 0.02, 1),          (double)fre_p32(uniform(&r, 0.1, 0.9)) / 4294967296.0,
            uniform(&r, 0.3, 1.5)};
        double edge = exp(uniform(&r, -3, 1.5)), eps = uniform(&r, 0.01, 2) - log1p(-c.p), truth;
        fre_mechanism m;
        fre_account a;
        shares s;

        c.away = (int)fre_rng_below(&r, 4);
        c.away = c.away > c.n ? c.n : c.away;
        c.where = uniform(&r, -3, 3);
        s = draw_cells(&c, edge);
        truth = truth_of(&c, &s, eps);
        m = plain(&c, i % 3 ? FRE_ADJACENCY_ADD_REMOVE : FRE_ADJACENCY_REPLACE);
        m.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
        m.norm_bound = fmax(c.shift, fabs(c.where - c.shift)) / 2;
        m.population = (uint64_t)c.n;
        m.sketch.grid.proj = 1;
        m.sketch.grid.cell_edge = edge;
        assert_int_equal(fre_joint_delta(&a, &m, eps, NULL), FRE_OK);
        assert_true(a.delta >= truth * (1 - 2e-3));
        if (truth > 1e-12)
            tightest = fmax(tightest, truth / a.delta);
        assert_int_equal(
            fre_joint_delta_at_split(&a, &m, eps, uniform(&r, 0.1, 1) * 2 * m.norm_bound, NULL),
            FRE_OK);
        assert_true(a.delta >= truth * (1 - 2e-3));
    }
    assert_true(tightest > 0.5); /* the bound is worth something */
    fre_rng_wipe(&r);
}

/* Several cells share one projection, so that costs may not be composed as if they did not: five cells
 * of 111 copies each, at the diameter but for a little, told 8.8e-6 where composed costs claim less. */
static void cells_share_the_projection(void **state)
{
    fre_mechanism m = {.p32 = fre_p32(0.7),
                       .tau = 50,
                       .sigma = 1.4033,
                       .population = 555,
                       .sketch.grid.proj = 1,
                       .sketch.grid.cell_edge = 0.004428,
                       .norm_bound = 1,
                       .cells_per_user = 5};
    double split;
    fre_account a;

    (void)state;
    assert_int_equal(fre_joint_delta(&a, &m, 7.2656, NULL), FRE_OK);
    assert_true(a.delta >= 8.8e-6);
    for (split = 0.01; split < 2; split *= 3) {
        assert_int_equal(fre_joint_delta_at_split(&a, &m, 7.2656, split, NULL), FRE_OK);
        assert_true(a.delta >= 8.8e-6);
    }
}

/* Composed delta of three cells whose replaced points are all `distance` away; test_privacy_pld multiplies
 * such cells out. */
static double psi(const fre_mechanism *m, double distance, double eps, fre_pld_grade grade)
{
    const fre_pld_cell what = {.p = (double)m->p32 / 4294967296.0,
                               .tau = (double)m->tau,
                               .mu = (distance + m->lattice_step * sqrt((double)m->dim)) / m->sigma,
                               .adjacency = m->adjacency};
    fre_pld losses;
    double d;

    assert_int_equal(fre_pld_compose(&losses, &what, 3, eps, FRE_PLD_LEAST, grade, NULL), FRE_OK);
    d = fre_pld_delta(&losses, eps);
    fre_pld_wipe(&losses);
    return d;
}

/* What far members at a distance add, by the chance that two points share a cell. */
static double composed_cost(const fre_mechanism *m, double distance, double near, double eps)
{
    double nu = sqrt((double)m->sketch.grid.proj) * m->sketch.grid.cell_edge / distance;
    double f = erf(nu / sqrt(2)) - sqrt(2 / M_PI) / nu * (1 - exp(-nu * nu / 2));

    return 3 * (double)m->population / (double)m->tau * pow(f, m->sketch.grid.proj) *
           (psi(m, distance, eps, FRE_PLD_COARSE) - near);
}

/* Far part of three cells: the largest cost of a grid, at most five per cent above (and .5 for what
 * lies between the grid's distances), or a thousandth of the rest. */
static void check_composed(const fre_account *a, const fre_mechanism *m)
{
    double near = psi(m, a->split, a->epsilon, FRE_PLD_FINE), top = 0, at = 0, d, step;
    int side;

    assert_close(a->delta_released, near, 0, 1e-12);
    for (d = a->split * 1.05; d < 2; d *= 1.2) {
        double v = composed_cost(m, d, near, a->epsilon);

        if (v > top) {
            top = v;
            at = d;
        }
    }
    for (step = 0.06; step > 5e-3; step /= 2.5) {
        for (side = -1; side <= 1; side += 2) {
            double v;

            while ((d = at * exp(side * step)) > a->split && d < 2 &&
                   (v = composed_cost(m, d, near, a->epsilon)) > top) {
                top = v;
                at = d;
            }
        }
    }
    assert_true(a->delta_far >= top * (1 - 1e-6));
    assert_true(a->delta_far <= fmax(top * 1.055, 1e-3 * near));
}

/* c cells: never more than c times a cell's delta at epsilon/c; far members add up.  Records beyond
 * counting are the caller's N. */
static void cells_compose(void **state)
{
    fre_mechanism one = usual(), three = usual();
    fre_account a, b;

    (void)state;
    one.lattice_step = three.lattice_step = 0;
    three.cells_per_user = 3;
    assert_int_equal(fre_joint_delta_at_split(&a, &one, 4, 1.2, NULL), FRE_OK);
    assert_int_equal(fre_joint_delta_at_split(&b, &three, 12, 1.2, NULL), FRE_OK);
    assert_true(b.by_pld && !a.by_pld);
    assert_true(b.delta_released < 0.1 * 3 * a.delta_released);
    assert_close(b.delta, b.delta_released + b.delta_far, 0, 1e-12);
    check_composed(&b, &three);
    assert_int_equal(fre_joint_delta_at_split(&b, &three, 12, 0.6, NULL), FRE_OK);
    assert_true(b.delta_far > b.delta_released); /* so that the five per cent count */
    check_composed(&b, &three);
    /* nothing to compose where counts are exact */
    three.p32 = FRE_P_ONE;
    assert_int_equal(fre_joint_delta_at_split(&b, &three, 12, 1.2, NULL), FRE_OK);
    assert_false(b.by_pld);
    assert_close(b.delta, 1, 0, 0);
}

/* The best split of the composed account is no worse than others; epsilon inverts delta. */
static void composed_accounts_agree(void **state)
{
    fre_mechanism m = usual();
    fre_account best, at, back;
    double split;
    int i;

    (void)state;
    m.cells_per_user = 3;
    for (i = 0; i < 4; i++) {
        m.adjacency = i % 2 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        m.sensitivity = i < 2 ? FRE_SENSITIVITY_PROBABILISTIC : FRE_SENSITIVITY_WORST_CASE;
        assert_int_equal(fre_joint_delta(&best, &m, 8, NULL), FRE_OK);
        assert_true(best.by_pld);
        if (m.sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
            check_composed(&best, &m);
        for (split = 0.7 * best.split; split < 1.5 * best.split;
             split *= long_tests() ? 1.2 : 1.5) {
            assert_int_equal(fre_joint_delta_at_split(&at, &m, 8, split, NULL), FRE_OK);
            assert_true(at.delta >= best.delta * (1 - 0.05)); /* the certificates' own tolerance */
        }
        assert_int_equal(fre_joint_epsilon(&back, &m, best.delta, NULL), FRE_OK);
        assert_true(back.by_pld && back.delta <= best.delta);
        assert_close(back.epsilon, 8, 0, 5e-3);
    }
    /* below what removing three records costs at least */
    m.adjacency = FRE_ADJACENCY_ADD_REMOVE;
    back.delta = -7;
    assert_int_equal(fre_joint_delta(&back, &m, 2.9 * -log1p(-(double)m.p32 / 4294967296.0), NULL),
                     FRE_E_INFEASIBLE);
    assert_close(back.delta, -7, 0, 0);
}

static void epsilon_inverts_delta(void **state)
{
    static const double targets[] = {1e-3, 1e-5, 1e-6, 1e-9, 1e-12};
    fre_mechanism m = usual();
    fre_account a, below;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_int_equal(fre_joint_epsilon(&a, &m, targets[i], NULL), FRE_OK);
        assert_true(a.delta <= targets[i]);
        assert_int_equal(fre_joint_delta(&below, &m, a.epsilon * 0.999, NULL), FRE_OK);
        assert_true(below.delta > targets[i]);
    }
}

/* Where even the least epsilon has a smaller delta than asked for, that epsilon is the answer. */
static void epsilon_has_a_floor(void **state)
{
    fre_mechanism m = usual();
    fre_account a;

    (void)state;
    m.sigma = 1e4;
    assert_int_equal(fre_joint_epsilon(&a, &m, 0.4, NULL), FRE_OK);
    assert_close(a.epsilon, log(2), 0, 1e-12);
    /* The double below ln 2, where removing costs 1 - e^epsilon (1 - p) = 2e-17 whatever the noise. */
    m.sigma = 1000;
    m.tau = 20000;
    assert_int_equal(fre_joint_delta(&a, &m, 0.6931471805599453, NULL), FRE_E_INFEASIBLE);
    m = usual();
    m.sigma = 1e4;
    m.adjacency = FRE_ADJACENCY_REPLACE;
    assert_int_equal(fre_joint_epsilon(&a, &m, 0.6, NULL), FRE_OK);
    assert_true(a.epsilon < 1e-3 && a.delta <= 0.6);
}

/* Hardly any noise and very many others: both parts are near 1, and are one chance together. */
static void parts_are_one_chance(void **state)
{
    fre_mechanism m = usual();
    fre_account a;

    (void)state;
    m.p32 = fre_p32(.06894);
    m.tau = 30;
    m.sigma = .0364;
    m.population = 1000000000000;
    m.sketch.grid.proj = 1;
    m.sketch.grid.cell_edge = 1;
    m.norm_bound = 20;
    assert_int_equal(fre_joint_delta_at_split(&a, &m, .0990, 1, NULL), FRE_OK);
    assert_true(a.delta > .06894 * .99 && a.delta < .06894 * 1.001);
}

static void extremes_end(void **state)
{
    static const double sigmas[] = {1e-9, 1e-3, 1, 1e3, 1e12};
    static const double rates[] = {1e-9, 1e-3, 0.3, 0.999, 1};
    static const uint64_t taus[] = {1, 2, 1000, 100000, 1000000000000};
    static const double epsilons[] = {1e-9, 0.1, 7, 50};
    size_t i, j, k, l;

    (void)state;
    for (i = 0; i < 5; i++) {
        for (j = 0; j < 5; j++) {
            for (k = 0; k < 5; k++) {
                for (l = 0; l < 4; l++) {
                    fre_mechanism m = usual();
                    fre_account a = {.delta = -1};

                    if (!long_tests() && (i + j + k + l) % 3 != 0)
                        continue;
                    m.sigma = sigmas[i];
                    m.p32 = fre_p32(rates[j]);
                    m.tau = taus[k];
                    m.adjacency = l % 2 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
                    if (fre_joint_delta_at_split(&a, &m, epsilons[l], 1.2, NULL) == FRE_OK)
                        assert_true(a.delta > 0 && a.delta <= 1);
                    else
                        assert_close(a.delta, -1, 0, 0);
                }
            }
        }
    }
}

/* ---- refusals ----------------------------------------------------------------------------- */

static void refused(const fre_mechanism *m, double eps, double split, fre_status st,
                    const char *words)
{
    fre_account a, before;
    fre_err err = {.text = ""};

    memset(&a, 0x5a, sizeof a);
    before = a;
    assert_int_equal(fre_joint_delta_at_split(&a, m, eps, split, &err), st);
    assert_non_null(strstr(err.text, words));
    assert_memory_equal(&a, &before, sizeof a);
    assert_int_equal(fre_joint_delta_at_split(&a, m, eps, split, NULL), st);
}

static void bad_input_is_refused(void **state)
{
    fre_mechanism m = usual(), good = usual();
    fre_account a, before;
    fre_err err = {.text = ""};

    (void)state;
    refused(&good, 0, 1, FRE_E_USAGE, "{epsilon}");
    refused(&good, -1, 1, FRE_E_USAGE, "{epsilon}");
    refused(&good, 50.1, 1, FRE_E_USAGE, "{epsilon}");
    refused(&good, (double)NAN, 1, FRE_E_USAGE, "{epsilon}");
    refused(&good, 4, 0, FRE_E_USAGE, "{split}");
    refused(&good, 4, (double)NAN, FRE_E_USAGE, "{split}");
    refused(&good, 0.5, 1, FRE_E_INFEASIBLE, "{sampling_rate} to 0.39346");
    m.p32 = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{sampling_rate}");
    m.p32 = FRE_P_ONE + 1;
    refused(&m, 4, 1, FRE_E_USAGE, "{sampling_rate}");
    m = good;
    m.tau = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{tau}");
    m = good;
    m.sigma = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{sigma}");
    m.sigma = (double)NAN;
    refused(&m, 4, 1, FRE_E_USAGE, "{sigma}");
    m = good;
    m.population = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{population}");
    m = good;
    m.sketch.grid.proj = 65;
    refused(&m, 4, 1, FRE_E_USAGE, "{projection_dim}");
    m = good;
    m.sketch.grid.cell_edge = -1;
    refused(&m, 4, 1, FRE_E_USAGE, "{cell_edge}");
    m = good;
    m.cells_per_user = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{max_cells_per_user}");
    m = good;
    m.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    m.norm_bound = 0;
    refused(&m, 4, 1, FRE_E_USAGE, "{norm_bound}");
    m = good;
    m.lattice_step = -1;
    refused(&m, 4, 1, FRE_E_USAGE, "lattice");

    memset(&a, 0x5a, sizeof a);
    before = a;
    assert_int_equal(fre_joint_epsilon(&a, &good, 0, &err), FRE_E_USAGE);
    assert_non_null(strstr(err.text, "{delta}"));
    assert_int_equal(fre_joint_epsilon(&a, &good, 1, &err), FRE_E_USAGE);
    m = good;
    m.sigma = 0.01;
    assert_int_equal(fre_joint_epsilon(&a, &m, 1e-6, &err), FRE_E_INFEASIBLE);
    assert_non_null(strstr(err.text, "raise {sigma}"));
    m.p32 = FRE_P_ONE;
    assert_int_equal(fre_joint_epsilon(&a, &m, 1e-6, &err), FRE_E_INFEASIBLE);
    assert_non_null(strstr(err.text, "{sampling_rate}"));
    assert_memory_equal(&a, &before, sizeof a);
}

/* Sampling everybody releases exact counts: no epsilon helps. */
static void rate_one_hides_nothing(void **state)
{
    fre_mechanism m = usual();
    fre_account a;

    (void)state;
    m.p32 = FRE_P_ONE;
    assert_int_equal(fre_joint_delta(&a, &m, 10, NULL), FRE_OK);
    assert_close(a.delta, 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heavy_is_the_hockey_stick),
        cmocka_unit_test(adding_and_removing_are_covered),
        cmocka_unit_test(delta_is_attained),
        cmocka_unit_test(replacing_is_covered),
        cmocka_unit_test(replacing_across_cells_is_covered),
        cmocka_unit_test(far_members_are_covered),
        cmocka_unit_test(cost_of_far_members_is_covered),
        cmocka_unit_test(cells_share_the_projection),
        cmocka_unit_test(supremum_holds_over_every_n),
        cmocka_unit_test(supremum_growth_law),
        cmocka_unit_test(supremum_for_large_thresholds),
        cmocka_unit_test(heavy_falls_with_tau),
        cmocka_unit_test(split_is_optimised),
        cmocka_unit_test(delta_is_monotone),
        cmocka_unit_test(cells_compose),
        cmocka_unit_test(composed_accounts_agree),
        cmocka_unit_test(epsilon_inverts_delta),
        cmocka_unit_test(epsilon_has_a_floor),
        cmocka_unit_test(parts_are_one_chance),
        cmocka_unit_test(extremes_end),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(rate_one_hides_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
