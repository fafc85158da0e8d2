/* The joint accountant's distributed terms against the whole view of S_syn, built and compared
 * outcome by outcome: padded numbers of tags, released counts, sums with noise. */
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
#include "curve.h"
#include "heavy.h"
#include "joint.h"
#include "seeded.h"

/* ---- the whole view ------------------------------------------------------------------------
 * One cell of n users besides x's, every one with the same text at 0 and a coin of its own; x's
 * text lies at `shift`.  With cover messages everybody who is not sampled sends a tag of its own,
 * x's user too.  An outcome is either the padded numbers of tags of each multiplicity below tau,
 * or these and a released count with its noisy sum. */

#define TAU_MOST 4
#define SINGLES 24 /* numbers of single tags, padding included */
#define TAGS 8     /* numbers of tags of any other multiplicity */
#define COUNTS 12
#define GRID 240

typedef struct world {
    int n, tau, gamma;
    double p, sigma, shift, lambda;
    bool cover;
} world;

typedef struct view {
    double unreleased[SINGLES][TAGS][TAGS];
    double released[COUNTS][SINGLES][GRID];
} view;

static double dummies(const world *w, int u)
{
    double all = 0;
    int v;

    for (v = 0; v <= 2 * w->gamma; v++)
        all += exp(-abs(v - w->gamma) / w->lambda);
    return u < 0 || u > 2 * w->gamma ? 0 : exp(-abs(u - w->gamma) / w->lambda) / all;
}

static void add_unreleased(view *v, const world *w, double weight, int count, int singles)
{
    int tags[TAU_MOST] = {0, singles, 0, 0}, a, b, c;

    if (count > 0)
        tags[count]++;
    for (a = 0; a < SINGLES; a++) {
        for (b = 0; b < (w->tau > 2 ? TAGS : 1); b++) {
            for (c = 0; c < (w->tau > 3 ? TAGS : 1); c++)
                v->unreleased[a][b][c] += weight * dummies(w, a - tags[1]) *
                                          (w->tau > 2 ? dummies(w, b - tags[2]) : 1) *
                                          (w->tau > 3 ? dummies(w, c - tags[3]) : 1);
        }
    }
}

static void add_released(view *v, const world *w, double weight, int count, int singles,
                         double mean)
{
    double reach = 2 + 8 * w->sigma, width = 2 * reach / GRID;
    int a, i;

    for (i = 0; i < GRID; i++) {
        double z = (-reach + (i + 0.5) * width - mean) / w->sigma;
        double mass = weight * exp(-z * z / 2) * width / (w->sigma * 2.50662827463100050242);

        for (a = 0; a < SINGLES; a++)
            v->released[count][a][i] += mass * dummies(w, a - singles);
    }
}

/* Adds `weight` times the view in which x is sampled or not, its text at `shift`. */
static void add_view(view *v, const world *w, double weight, bool sampled, double shift)
{
    int others;

    for (others = 0; others <= w->n; others++) {
        double mass = weight * binomial(w->n, others, w->p);
        int count = others + (sampled ? 1 : 0);
        int singles = w->cover ? w->n + 1 - count : 0;

        if (count < w->tau)
            add_unreleased(v, w, mass, count, singles);
        else
            add_released(v, w, mass, count, singles, sampled ? shift : 0);
    }
}

static double exceeds(const double *a, const double *b, size_t n, double factor)
{
    double total = 0;
    size_t i;

    for (i = 0; i < n; i++)
        total += fmax(0, a[i] - factor * b[i]);
    return total;
}

static double unreleased_stick(const view *a, const view *b, double factor)
{
    return exceeds(&a->unreleased[0][0][0], &b->unreleased[0][0][0], SINGLES * TAGS * TAGS, factor);
}

static double released_stick(const view *a, const view *b, double factor)
{
    return exceeds(&a->released[0][0][0], &b->released[0][0][0], COUNTS * SINGLES * GRID, factor);
}

static double stick(const view *a, const view *b, double factor)
{
    return unreleased_stick(a, b, factor) + released_stick(a, b, factor);
}

static view view_a, view_b; /* too large for the stack */

static world random_world(fre_rng *r, bool cover)
{
    world w = {.n = (int)fre_rng_below(r, 9),
               .tau = 2 + (int)fre_rng_below(r, 3),
               .gamma = 1 + (int)fre_rng_below(r, 3),
               .p = (double)fre_p32(uniform(r, 0.05, 0.95)) / 4294967296.0,
               .sigma = uniform(r, 0.3, 2),
               .shift = uniform(r, 0.2, 2),
               .lambda = uniform(r, 0.3, 2),
               .cover = cover};

    return w;
}

static fre_mechanism mechanism_of(const world *w, fre_adjacency adjacency)
{
    fre_mechanism m = {
        .p32 = fre_p32(w->p),
        .tau = (uint64_t)w->tau,
        .sigma = w->sigma,
        .sensitivity = FRE_SENSITIVITY_WORST_CASE,
        .norm_bound = w->shift / 2,
        .adjacency = adjacency,
        .cells_per_user = 1,
        .dist = {.on = true, .cover = w->cover, .lambda = w->lambda, .gamma = (uint32_t)w->gamma}};

    return m;
}

/* P and Q themselves.  At the same released count they hold the same number of single tags with
 * cover messages, since everybody sends one report: one cover message of x's own more means one
 * of the others fewer.  So the released part is heavy(n) exactly, with and without them. */
static void parts_are_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 1, "test/distributed");
    for (i = 0; i < 60; i++) {
        world w = random_world(&r, i % 2);
        fre_mechanism m = mechanism_of(&w, FRE_ADJACENCY_ADD_REMOVE);
        double eps = uniform(&r, 0, 4);
        fre_heavy h;

        memset(&view_a, 0, sizeof view_a);
        memset(&view_b, 0, sizeof view_b);
        add_view(&view_a, &w, 1, true, w.shift);
        add_view(&view_b, &w, 1, false, 0);
        fre_heavy_init(&h, eps, w.p, w.tau, w.shift / w.sigma);
        assert_close(released_stick(&view_a, &view_b, exp(eps)), fre_heavy_at(&h, w.n), 1e-7, 2e-3);
        assert_true(unreleased_stick(&view_a, &view_b, exp(eps)) <=
                    fre_joint_padding(&m.dist, eps) * (1 + 1e-9));
    }
    fre_rng_wipe(&r);
}

/* Both bounds on padding are attained where the others' coins are all but certain. */
static void padding_is_attained(void **state)
{
    double eps;
    int cover;

    (void)state;
    for (cover = 0; cover < 2; cover++) {
        for (eps = 0; eps < 4; eps += 0.7) {
            world w = {.n = 1 + cover,
                       .tau = 4,
                       .gamma = 3,
                       .p = 0.999999,
                       .sigma = 1,
                       .shift = 1,
                       .lambda = 0.9,
                       .cover = cover};
            const double l[3] = {0.9, 0.9, 0.9};
            const uint32_t g[3] = {3, 3, 3}, one[3] = {1, 1, 1};

            memset(&view_a, 0, sizeof view_a);
            memset(&view_b, 0, sizeof view_b);
            add_view(&view_a, &w, 1, true, 1);
            add_view(&view_b, &w, 1, false, 0);
            assert_close(unreleased_stick(&view_a, &view_b, exp(eps)),
                         fre_padding_delta(eps, 2 + (size_t)cover, l, g, one), 1e-5, 1e-4);
        }
    }
}

/* The mechanism with its coin, in both directions, and one text in place of another. */
static void mechanism_is_covered(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 2, "test/distributed");
    for (i = 0; i < 40; i++) {
        world w = random_world(&r, i % 2);
        fre_mechanism m =
            mechanism_of(&w, i % 4 < 2 ? FRE_ADJACENCY_ADD_REMOVE : FRE_ADJACENCY_REPLACE);
        double eps = uniform(&r, 0.01, 3);
        fre_account a;

        if (m.adjacency == FRE_ADJACENCY_ADD_REMOVE)
            eps -= log1p(-w.p);
        assert_int_equal(fre_joint_delta(&a, &m, eps, NULL), FRE_OK);
        memset(&view_a, 0, sizeof view_a);
        memset(&view_b, 0, sizeof view_b);
        add_view(&view_a, &w, 1 - w.p, false, 0);
        add_view(&view_a, &w, w.p, true, w.shift);
        if (m.adjacency == FRE_ADJACENCY_REPLACE) {
            add_view(&view_b, &w, 1 - w.p, false, 0);
            add_view(&view_b, &w, w.p, true, -w.shift);
        } else {
            add_view(&view_b, &w, 1, false, 0);
        }
        assert_true(a.delta >= stick(&view_a, &view_b, exp(eps)) * (1 - 2e-3));
        assert_true(a.delta >= stick(&view_b, &view_a, exp(eps)) * (1 - 2e-3));
    }
    fre_rng_wipe(&r);
}

/* ---- the curve of discrete noise ---------------------------------------------------------- */

/* Hockey stick of one discrete Gaussian moved by `step`, by its definition. */
static double discrete_stick(double eps, double sigma, int step)
{
    int reach = (int)(40 * sigma) + step, x;
    double all = 0, total = 0;

    for (x = -reach; x <= reach; x++)
        all += exp(-(double)x * x / (2 * sigma * sigma));
    for (x = -reach; x <= reach; x++) {
        double y = x - step;
        double a = exp(-y * y / (2 * sigma * sigma)), b = exp(-(double)x * x / (2 * sigma * sigma));

        total += fmax(0, a - exp(eps) * b);
    }
    return total / all;
}

static void curve_is_above_discrete_noise(void **state)
{
    static const double sigmas[] = {0.6, 1, 3, 9};
    size_t i;
    int step;

    (void)state;
    for (i = 0; i < 4; i++) {
        for (step = 1; step <= 4; step++) {
            double mu = step / sigmas[i], eps;
            fre_curve c;

            fre_curve_init(&c, mu * mu / 2, 3, FRE_CURVE_NODES);
            for (eps = -16; eps < 40; eps += 0.0573) {
                double d = fre_curve_at(&c, eps), conversion = fre_zcdp_delta(mu * mu / 2, eps);

                assert_true(d >= discrete_stick(eps, sigmas[i], step) * (1 - 1e-12) - 1e-290);
                assert_true(d >= fre_gauss_delta(eps, mu) * (1 - 1e-9) - 1e-290);
                if (eps < 0)
                    conversion = fmin(conversion,
                                      1 - exp(eps) + exp(eps) * fre_zcdp_delta(mu * mu / 2, -eps));
                /* where it is not so steep that its nodes lie far apart */
                if (eps > -12 && eps < 30 * mu * mu && eps < 32.9)
                    assert_true(d <= conversion * 1.02 + 1e-290);
            }
        }
    }
}

static void curve_is_convex_and_falls(void **state)
{
    static const double rhos[] = {1e-6, 0.01, 0.3, 2, 40};
    size_t i;

    (void)state;
    for (i = 0; i < 5; i++) {
        double a = 0, b = exp(-15), at_a = 1, at_b, eps;
        fre_curve c;

        fre_curve_init(&c, rhos[i], 10, FRE_CURVE_NODES);
        at_b = fre_curve_at(&c, -15);
        for (eps = -14.99; eps < 50; eps += 0.0113) {
            double t = exp(eps), d = fre_curve_at(&c, eps);

            assert_true(d <= at_b && d >= 0);
            /* slope into b <= slope out of it, but for rounding */
            assert_true((d - at_b) / (t - b) >=
                        (at_b - at_a) / (b - a) * (1 + 1e-6) - 1e-9 * at_b / (t - b));
            a = b;
            at_a = at_b;
            b = t;
            at_b = d;
        }
    }
}

/* heavy's certificate holds with the curve, too. */
static void supremum_holds_with_a_curve(void **state)
{
    fre_rng r;
    int i;

    (void)state;
    seeded(&r, 3, "test/distributed");
    for (i = 0; i < 40; i++) {
        double tau = 1 + (double)fre_rng_below(&r, 30), p = uniform(&r, 0.05, 0.97), n, top = 0;
        double at = -1, mu = uniform(&r, 0.1, 2), eps = uniform(&r, 0, 6), bound;
        fre_curve c;
        fre_heavy h;

        fre_curve_init(&c, mu * mu / 2, eps, FRE_CURVE_NODES);
        fre_heavy_init(&h, eps, p, tau, mu);
        for (n = 0; n < (tau + 80) / p; n += 7)
            top = fmax(top, fre_heavy_at(&h, n));
        bound = fre_heavy_supremum(&h, &at);
        h.curve = &c;
        at = -1;
        assert_true(fre_heavy_supremum(&h, &at) >= bound * (1 - 2e-4)); /* no less than G's */
        for (n = 0; n < (tau + 80) / p; n++)
            top = fmax(top, fre_heavy_at(&h, n));
        bound = fre_heavy_supremum(&h, &at);
        assert_true(bound >= top);
        assert_close(bound, top, 1e-280, 3e-4);
    }
    fre_rng_wipe(&r);
}

/* ---- discrete noise, whole ---------------------------------------------------------------- */

#define LATTICE 401

/* Sum of `users` discrete Gaussians of standard deviation s, about the middle. */
static void noise_of(double out[LATTICE], int users, double s)
{
    double one[LATTICE], next[LATTICE], all = 0;
    int i, j, k, mid = LATTICE / 2;

    for (i = 0; i < LATTICE; i++) {
        one[i] = exp(-(double)(i - mid) * (i - mid) / (2 * s * s));
        all += one[i];
    }
    for (i = 0; i < LATTICE; i++)
        out[i] = one[i] /= all;
    for (k = 1; k < users; k++) {
        memset(next, 0, sizeof next);
        for (i = 0; i < LATTICE; i++) {
            for (j = mid - 60; j <= mid + 60; j++) {
                if (i + j - mid >= 0 && i + j - mid < LATTICE)
                    next[i + j - mid] += out[i] * one[j];
            }
        }
        memcpy(out, next, sizeof next);
    }
}

/* n copies at 0 and x at a lattice point, one coordinate; users' shares as the mechanism says,
 * the fewest answers that open a tag, of which the curious participants' carry nothing. */
static double discrete_view(const fre_mechanism *m, int n, int step, double p, double factor)
{
    double total = 0, noise[LATTICE];
    int c, i, w = (int)m->dist.curious;

    for (c = (int)m->tau; c <= n + w + 1; c++) {
        double with = binomial(n, c - w - 1, p), without = binomial(n, c - w, p);
        int honest = m->dist.server_noise ? 1 : (int)fre_answers_needed(m, (uint64_t)c) - w;

        noise_of(noise, honest, fre_sigma_local(m, (uint64_t)c) / m->lattice_step);
        for (i = step; i < LATTICE; i++)
            total += fmax(0, with * noise[i - step] - factor * without * noise[i]);
    }
    return total;
}

static void discrete_noise_is_covered(void **state)
{
    static const struct {
        int n, tau, step, curious;
        double p, sigma, dropout;
        bool one_contact, servers;
    } v[] = {
        {8, 4, 3, 0, 0.5, 6, 0, false, false},   {8, 4, 3, 1, 0.5, 6, 0, false, false},
        {8, 4, 3, 2, 0.5, 6, 0, true, false},    {10, 6, 4, 1, 0.7, 9, 0.3, false, false},
        {6, 5, 2, 0, 0.4, 7, 0.2, false, false}, {5, 2, 2, 1, 0.3, 8, 0, true, false},
        {8, 4, 3, 0, 0.5, 6, 0, true, true},     {10, 6, 4, 2, 0.7, 9, 0, true, true},
        {5, 2, 2, 1, 0.3, 8, 0, true, true},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof v / sizeof v[0]; i++) {
        double p = (double)fre_p32(v[i].p) / 4294967296.0, eps = 0.6 - log1p(-p), truth;
        fre_mechanism m = {.p32 = fre_p32(p),
                           .tau = (uint64_t)v[i].tau,
                           .sigma = v[i].sigma,
                           .population = (uint64_t)(v[i].n + v[i].curious + 1),
                           .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                           .norm_bound = v[i].step / 2.0,
                           .dim = 1,
                           .lattice_step = 1,
                           .noise = FRE_NOISE_DISCRETE,
                           .cells_per_user = 1,
                           .dist = {.on = true,
                                    .cover = v[i].one_contact,
                                    .one_contact = v[i].one_contact,
                                    .server_noise = v[i].servers,
                                    .curious = (uint32_t)v[i].curious,
                                    .dropout = v[i].dropout,
                                    .lambda = 5,
                                    .gamma = 200}};
        fre_account a;

        assert_int_equal(fre_joint_delta(&a, &m, eps, NULL), FRE_OK);
        truth = p * discrete_view(&m, v[i].n, v[i].step, p, 1 + expm1(eps) / p);
        assert_true(a.delta_released >= truth);
        assert_true(truth > 1e-4);
    }
}

/* ---- what the machines do, whole: rounded at random, summed, noise on top ------------------------ */

/* One coordinate, lattice step 1: c of n members at `from`, and with the record c - 1 of them and itself at
 * `to`, each rounded at random to a neighbour; then noise of `honest` draws of deviation s. */
typedef struct rounded {
    int n, tau, curious;
    double from, to, p;
    bool servers;
} rounded;

static void add_rounded(double law[LATTICE], double at)
{
    const double low = floor(at), up = at - low;
    double next[LATTICE] = {0};

    for (int i = 0; i < LATTICE; i++) {
        const int j = i + (int)low;

        if (j >= 0 && j + 1 < LATTICE) {
            next[j] += law[i] * (1 - up);
            next[j + 1] += law[i] * up;
        }
    }
    memcpy(law, next, sizeof next);
}

/* The record, or a member in its place; what the others add is the same in both. */
static void sum_of(double out[LATTICE], const double noise[LATTICE], const rounded *v, int members,
                   double last)
{
    memcpy(out, noise, LATTICE * sizeof *out);
    for (int i = 1; i < members; i++)
        add_rounded(out, v->from);
    add_rounded(out, last);
}

/* p times the hockey stick of the view with the record against that without, to somebody who knows w members
 * and, of servers' noise, the other server's. */
static double rounded_truth(const rounded *v, const fre_mechanism *m, double epsilon)
{
    const double factor = 1 + expm1(epsilon) / v->p;
    double total = 0, noise[LATTICE], with[LATTICE], without[LATTICE];

    for (int c = v->tau; c <= v->n + v->curious + 1; c++) {
        const int others = c - v->curious; /* sampled, the record among them */
        const double a = binomial(v->n, others - 1, v->p), b = binomial(v->n, others, v->p);

        if (m->sigma > 0) {
            noise_of(noise, v->servers ? 1 : others, fre_sigma_local(m, (uint64_t)c));
        } else {
            memset(noise, 0, sizeof noise);
            noise[LATTICE / 2] = 1;
        }
        sum_of(with, noise, v, others, v->to);
        sum_of(without, noise, v, others, v->from);
        for (int i = 0; i < LATTICE; i++)
            total += fmax(0, a * with[i] - factor * b * without[i]);
    }
    return v->p * total;
}

static fre_mechanism rounding(const rounded *v, double sigma)
{
    return (fre_mechanism){.p32 = fre_p32(v->p),
                           .tau = (uint64_t)v->tau,
                           .sigma = sigma,
                           .population = (uint64_t)(v->n + v->curious + 1),
                           .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                           .norm_bound = fabs(v->to - v->from) / 2,
                           .dim = 1,
                           .lattice_step = 1,
                           .noise = FRE_NOISE_DISCRETE,
                           .cells_per_user = 1,
                           .dist = {.on = true,
                                    .cover = true,
                                    .one_contact = true,
                                    .server_noise = v->servers,
                                    .curious = (uint32_t)v->curious,
                                    .lambda = 5,
                                    .gamma = 200}};
}

static double claimed(const fre_mechanism *m, double epsilon)
{
    fre_account a = {.delta = -1};

    assert_int_equal(fre_joint_delta(&a, m, epsilon, NULL), FRE_OK);
    return a.delta_released;
}

static void rounded_sums_are_covered(void **state)
{
    static const rounded v[] = {
        {8, 4, 0, 0, 2.5, 0.5, true},     {8, 4, 0, 0.5, 1, 0.5, true},
        {10, 5, 2, 0.25, 3.5, 0.6, true}, {6, 3, 1, 0.9, 1.1, 0.4, true},
        {8, 4, 0, 0, 2.5, 0.5, false},    {10, 5, 2, 0.25, 3.5, 0.6, false},
        {6, 3, 1, 0.5, 0.75, 0.4, false}, {12, 6, 3, 0, 1.5, 0.7, false},
    };
    static const double sigma[] = {4, 8}, more[] = {0.2, 1.2};

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        for (size_t k = 0; k < 2; k++)
            for (size_t j = 0; j < 2; j++) {
                const fre_mechanism m = rounding(&v[i], sigma[k]);
                const double epsilon = more[j] - log1p(-v[i].p);

                if (!v[i].servers && fre_sigma_local(&m, m.tau) < 1.5)
                    continue; /* too few steps for kappa to be small */
                assert_true(claimed(&m, epsilon) >= rounded_truth(&v[i], &m, epsilon));
            }
}

/* Each of these is a mechanism that its claim does not cover, so a claim that leaves it out is refuted. */
static void defects_are_not_covered(void **state)
{
    const rounded servers = {8, 4, 0, 0, 3, 0.5, true}, curious = {1, 4, 3, 0, 3, 0.5, true},
                  clients = {1, 4, 3, 0, 3, 0.5, false};
    const double epsilon = 0.6 - log1p(-0.5);
    fre_mechanism m = rounding(&servers, 6), without;

    (void)state;
    /* The other server adds none, and one's own noise is known. */
    without = m;
    without.sigma = 0;
    assert_true(rounded_truth(&servers, &without, epsilon) > claimed(&m, epsilon));
    /* w ignored: participants know their coins, and of their own noise what they added. */
    for (int i = 0; i < 2; i++) {
        const rounded *v = i == 0 ? &curious : &clients;

        m = rounding(v, 6);
        without = m;
        without.dist.curious = 0;
        assert_true(rounded_truth(v, &without, epsilon) > claimed(&without, epsilon));
        assert_true(rounded_truth(v, &m, epsilon) <= claimed(&m, epsilon));
    }
}

/* ---- the account's parts ------------------------------------------------------------------ */

static fre_mechanism usual(void)
{
    fre_mechanism m = {.p32 = fre_p32(0.5),
                       .tau = 50,
                       .sigma = 1.2,
                       .population = 1000000,
                       .sketch.grid.proj = 20,
                       .sketch.grid.cell_edge = 0.22360679774997896,
                       .norm_bound = 1,
                       .dim = 384,
                       .cells_per_user = 1,
                       .noise = FRE_NOISE_DISCRETE,
                       .dist = {.on = true,
                                .cover = true,
                                .curious = 1,
                                .dropout = 0.1,
                                .lambda = 0.5,
                                .gamma = 12,
                                .phi = 1e-10}};

    return m;
}

static fre_account account(const fre_mechanism *m, double eps)
{
    fre_account a = {.delta = -1};
    fre_err err = {.text = ""};

    if (fre_joint_delta(&a, m, eps, &err) != FRE_OK)
        print_error("%s\n", err.text);
    assert_true(a.delta > 0 && a.delta <= 1);
    assert_close(a.delta, a.delta_released + a.delta_far + a.delta_unreleased, 0, 1e-12);
    return a;
}

/* w participants who pool what they know: as if the threshold were lower by w. */
/* Noise far below the lattice of what it hides: the bound is 1 at every epsilon, however many nodes
 * of a curve were computed one from the other. */
static void no_noise_is_no_privacy(void **state)
{
    fre_curve c;
    double rho, eps;

    (void)state;
    for (rho = 1e3; rho < 1e12; rho *= 7) {
        fre_curve_init(&c, rho, 20, FRE_CURVE_NODES);
        for (eps = -12; eps < 40; eps += 0.25)
            assert_true(fre_curve_at(&c, eps) > 1 - 1e-9);
    }
}

static void curious_users_lower_the_threshold(void **state)
{
    fre_mechanism m = usual(), known = usual();
    fre_account a, b;

    (void)state;
    m.noise = known.noise = FRE_NOISE_CONTINUOUS;
    m.dist.curious = 7;
    known.dist.curious = 0;
    known.tau = 43;
    assert_int_equal(fre_joint_delta_at_split(&a, &m, 8, 1.2, NULL), FRE_OK);
    assert_int_equal(fre_joint_delta_at_split(&b, &known, 8, 1.2, NULL), FRE_OK);
    assert_close(a.delta_released, b.delta_released, 0, 1e-12);
    assert_close(a.delta_far, b.delta_far, 0, 1e-12);
    assert_close(a.delta_unreleased, b.delta_unreleased, 0, 1e-12);
    known.tau = 50;
    assert_int_equal(fre_joint_delta_at_split(&b, &known, 8, 1.2, NULL), FRE_OK);
    assert_true(a.delta_released > b.delta_released && a.delta_far > b.delta_far);
}

/* Rounding and the table sampler are charged among the far members. */
static void slips_are_charged(void **state)
{
    fre_mechanism m = usual(), plain = usual();
    fre_account a, b;
    double p = 0.5, gap;

    (void)state;
    plain.noise = FRE_NOISE_CONTINUOUS;
    m.dist.phi = 1e-7;
    assert_int_equal(fre_joint_delta_at_split(&a, &m, 8, 1.2, NULL), FRE_OK);
    assert_int_equal(fre_joint_delta_at_split(&b, &plain, 8, 1.2, NULL), FRE_OK);
    assert_close(a.delta_far - b.delta_far, p * 1e-7, 0, 1e-6);
    assert_true(a.delta_released > b.delta_released);
    m.dist.phi = 0; /* the sure bound */
    m.population = 1000000000000;
    m.sketch.grid.proj = 64;
    m.sketch.grid.cell_edge = 1e-3;
    assert_int_equal(fre_joint_delta_at_split(&a, &m, 20, 1.2, NULL), FRE_OK);
    gap = p * (2 + expm1(20) / p) * 1e12 * 384 * exp2(-100);
    assert_close(a.delta_far, gap, 0, 1e-3);
}

/* All records of a user move the same numbers of tags: group privacy. */
static void several_records_are_a_group(void **state)
{
    fre_mechanism one = usual(), three = usual();
    fre_account a, b;
    double factor = 1 + exp(4) + exp(8);

    (void)state;
    one.sigma = three.sigma = 4;
    one.sketch.grid.proj = three.sketch.grid.proj = 40;
    one.dist.gamma = three.dist.gamma = 40;
    one.dist.lambda = three.dist.lambda = 1;
    three.cells_per_user = 3;
    assert_int_equal(fre_joint_delta_at_split(&a, &one, 4, 1.2, NULL), FRE_OK);
    assert_int_equal(fre_joint_delta_at_split(&b, &three, 12, 1.2, NULL), FRE_OK);
    assert_close(b.delta_released, factor * a.delta_released, 0, 1e-9);
    assert_close(b.delta_far, factor * a.delta_far, 0, 1e-9);
    assert_close(b.delta_unreleased, factor * a.delta_unreleased, 0, 1e-9);
}

/* More noise, a higher threshold, more padding, fewer curious users never raise delta. */
static void delta_is_monotone(void **state)
{
    const double slack = 1 - 5e-4; /* the bounds' own tolerance */
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        fre_mechanism m = usual(), w;
        double last;

        if (!long_tests() && i % 2 == i / 2)
            continue;
        m.dist.cover = i > 0;
        m.dist.one_contact = i / 2;
        m.dist.server_noise = i == 3;
        m.dist.dropout = i / 2 ? 0 : 0.1;
        for (w = m, last = 1; w.sigma < 30; w.sigma *= 1.7) {
            double d = account(&w, 6).delta;

            assert_true(d * slack <= last);
            last = d;
        }
        for (w = m, w.tau = 4, last = 1; w.tau < 400; w.tau = w.tau * 3 / 2) {
            double d = account(&w, 6).delta;

            assert_true(d * slack <= last);
            last = d;
        }
        for (w = m, w.dist.gamma = 0, last = 1; w.dist.gamma < 60; w.dist.gamma += 5) {
            double d = account(&w, 6).delta;

            assert_true(d * slack <= last);
            last = d;
        }
        for (w = m, w.dist.curious = 0, last = 0; w.dist.curious < 40; w.dist.curious += 6) {
            double d = account(&w, 6).delta;

            assert_true(d >= last * slack);
            last = d;
        }
    }
}

static void epsilon_inverts_delta(void **state)
{
    static const double targets[] = {1e-3, 1e-6, 1e-8};
    fre_mechanism m = usual();
    fre_account a, below;
    size_t i;

    (void)state;
    m.dist.gamma = 40;
    for (i = 0; i < 3; i++) {
        m.adjacency = i == 1 ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
        assert_int_equal(fre_joint_epsilon(&a, &m, targets[i], NULL), FRE_OK);
        assert_true(a.delta <= targets[i]);
        assert_int_equal(fre_joint_delta(&below, &m, a.epsilon * 0.998, NULL), FRE_OK);
        assert_true(below.delta > targets[i]);
    }
}

/* Where the table sampler's distance leaves a narrow range only, an epsilon in it is found. */
static void epsilon_is_found_below_the_tables_limit(void **state)
{
    fre_mechanism m = usual();
    fre_account a;

    (void)state;
    m.dist.gamma = 40;
    m.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    m.sigma = 0.44;
    assert_int_equal(fre_joint_delta(&a, &m, 50, NULL), FRE_OK);
    assert_true(a.delta > 0.01);
    assert_int_equal(fre_joint_epsilon(&a, &m, 1e-6, NULL), FRE_OK);
    assert_true(a.delta <= 1e-6 && a.epsilon > 30 && a.epsilon < 36);
}

/* Where counts alone take more than half of delta, nothing is left for the table's distance. */
static void epsilon_is_found_where_counts_take_most(void **state)
{
    fre_mechanism m = usual();
    double target;
    fre_account a;

    (void)state;
    m.tau = 25;
    m.sigma = 0.412;
    m.population = 100;
    m.sketch.grid.proj = 64;
    m.sketch.grid.cell_edge = 0.125;
    m.dist.dropout = 0;
    m.dist.gamma = 60;
    for (target = 6.2e-8; target < 2e-6; target *= long_tests() ? 1.2 : 2.2) {
        assert_int_equal(fre_joint_epsilon(&a, &m, target, NULL), FRE_OK);
        assert_true(a.delta <= target && a.epsilon < 15);
    }
}

/* A group's delta grows with epsilon in the end: the least epsilon lies before that. */
static void epsilon_of_a_group_is_found(void **state)
{
    fre_mechanism m = usual();
    fre_account a, b;

    (void)state;
    m.cells_per_user = 3;
    m.sigma = 6;
    m.dist.lambda = 1;
    m.dist.gamma = 60;
    assert_int_equal(fre_joint_delta(&a, &m, 8, NULL), FRE_OK);
    assert_int_equal(fre_joint_delta(&b, &m, 50, NULL), FRE_OK);
    assert_true(a.delta < 0.01 * b.delta);
    assert_int_equal(fre_joint_epsilon(&b, &m, a.delta * 1.001, NULL), FRE_OK);
    assert_true(b.delta <= a.delta * 1.001 && b.epsilon > 7 && b.epsilon < 8.001);
}

/* Too small an epsilon for a replacement's factor: everything at factor 1. */
static void small_epsilons_of_a_replacement(void **state)
{
    fre_mechanism m = usual();
    fre_account a;
    double p = 0.5, g = (1 - p) * expm1(0.2) / p;

    (void)state;
    m.adjacency = FRE_ADJACENCY_REPLACE;
    a = account(&m, 0.2);
    assert_close(a.delta_unreleased, p * g * fre_cover_delta(0, 0.5, 12), 0, 1e-8);
    assert_true(a.delta_released >= p * (1 - g));
}

static void refused(const fre_mechanism *m, const char *words)
{
    fre_account a, before;
    fre_err err = {.text = ""};

    memset(&a, 0x5a, sizeof a);
    before = a;
    assert_int_equal(fre_joint_delta_at_split(&a, m, 8, 1.2, &err), FRE_E_USAGE);
    if (!strstr(err.text, words))
        print_error("\"%s\" lacks \"%s\"\n", err.text, words);
    assert_non_null(strstr(err.text, words));
    assert_memory_equal(&a, &before, sizeof a);
}

static void bad_input_is_refused(void **state)
{
    fre_mechanism m = usual();

    (void)state;
    m.tau = 1;
    refused(&m, "{tau} must be at least 2 in the distributed mode");
    m = usual();
    m.dist.curious = 50;
    refused(&m, "{curious_users} must be below the threshold on sampled counts, 50");
    m.dist.curious = 46; /* of 45 answers */
    refused(&m, "none is left to carry noise");
    m = usual();
    m.dist.dropout = 1;
    refused(&m, "{dropout} must be a number of at least 0 and below 1");
    m.dist.dropout = (double)NAN;
    refused(&m, "{dropout}");
    m = usual();
    m.dist.one_contact = true;
    refused(&m, "with {contacts} one there is no second answer to wait for");
    m = usual();
    m.dist.one_contact = true;
    m.dist.cover = false;
    m.dist.dropout = 0;
    refused(&m, "with {contacts} one everybody sends, sampled or not: leave out {cover} off");
    m = usual();
    m.dist.server_noise = true;
    refused(&m, "{noise_by} servers needs {contacts} one: with two, users add the noise");
    m = usual();
    m.dist.lambda = 0;
    refused(&m, "{lambda} must be a number above 0");
    m.dist.lambda = (double)NAN;
    refused(&m, "{lambda}");
    m = usual();
    m.dim = 0;
    refused(&m, "{dimension}");
    m = usual();
    m.dist.phi = 1;
    refused(&m, "{phi}");
    m = usual();
    m.dist = (fre_distributed){.on = false};
    refused(&m, "discrete noise is made of many users' shares");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_covered),
        cmocka_unit_test(padding_is_attained),
        cmocka_unit_test(mechanism_is_covered),
        cmocka_unit_test(curve_is_above_discrete_noise),
        cmocka_unit_test(curve_is_convex_and_falls),
        cmocka_unit_test(supremum_holds_with_a_curve),
        cmocka_unit_test(discrete_noise_is_covered),
        cmocka_unit_test(rounded_sums_are_covered),
        cmocka_unit_test(defects_are_not_covered),
        cmocka_unit_test(no_noise_is_no_privacy),
        cmocka_unit_test(curious_users_lower_the_threshold),
        cmocka_unit_test(slips_are_charged),
        cmocka_unit_test(several_records_are_a_group),
        cmocka_unit_test(delta_is_monotone),
        cmocka_unit_test(epsilon_inverts_delta),
        cmocka_unit_test(epsilon_is_found_below_the_tables_limit),
        cmocka_unit_test(epsilon_is_found_where_counts_take_most),
        cmocka_unit_test(epsilon_of_a_group_is_found),
        cmocka_unit_test(small_epsilons_of_a_replacement),
        cmocka_unit_test(bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
