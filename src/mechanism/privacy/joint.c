/* The joint accountant: delta(eps) = p [ sup_n heavy(n) + far(split) + padding ] (docs/privacy.md). */
#include "joint.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <fre/linalg.h>

#include "compose.h"
#include "far.h"
#include "heavy.h"
#include "special.h"

static double rate(uint64_t p32)
{
    return (double)p32 / (double)FRE_P_ONE;
}

double fre_joint_epsilon_floor(uint64_t p32, fre_adjacency adjacency, uint32_t cells)
{
    if (adjacency == FRE_ADJACENCY_REPLACE)
        return 0;
    return -log1p(-rate(p32)) * cells * (1 + 4 * DBL_EPSILON); /* up: below it no delta is small */
}

#define DIGITS 5

/* Epsilon and rate that would do, each alone and as it is printed; what does not is left out. */
static fre_status below_floor(uint64_t p32, double epsilon, uint32_t cells, fre_err *err)
{
    double least = fre_joint_epsilon_floor(p32, FRE_ADJACENCY_ADD_REMOVE, cells);
    double most = -expm1(-epsilon / cells);
    char up[FRE_DIGITS_BYTES], down[FRE_DIGITS_BYTES], asked[FRE_DIGITS_BYTES], p[FRE_DIGITS_BYTES],
        advice[120] = "lower {sampling_rate}";
    size_t n = 0;

    fre_digits_up(up, DIGITS, least);
    fre_digits_down(down, DIGITS, most);
    if (fre_p32(strtod(down, NULL)) > 0 &&
        fre_joint_epsilon_floor(fre_p32(strtod(down, NULL)), FRE_ADJACENCY_ADD_REMOVE, cells) <=
            epsilon)
        n = (size_t)snprintf(advice, sizeof advice, "lower {sampling_rate} to %s", down);
    if (strtod(up, NULL) <= FRE_PRIVACY_EPSILON_MAX)
        (void)snprintf(advice + n, sizeof advice - n, "%sraise {epsilon} to %s",
                       n > 0 ? " or " : "", up);
    return fre_fail(err, FRE_E_INFEASIBLE,
                    "{epsilon} %s is below ln(1/(1-p)) = %s, the least that removing a record "
                    "costs at {sampling_rate} %s: %s",
                    fre_digits_down(asked, 6, epsilon), fre_digits_up(up, 6, least),
                    fre_digits_up(p, 6, rate(p32)), advice);
}

fre_status fre_joint_step_init(fre_joint_step *s, uint64_t p32, double epsilon,
                               fre_adjacency adjacency, uint32_t cells, bool group, fre_err *err)
{
    double p = rate(p32), eps = epsilon / cells;
    double least = fre_joint_epsilon_floor(p32, adjacency, cells);
    double odds;

    if (adjacency == FRE_ADJACENCY_ADD_REMOVE && p32 < FRE_P_ONE && epsilon < least)
        return below_floor(p32, epsilon, cells, err);
    s->p = p;
    s->weight = p * (group ? expm1(epsilon) / expm1(eps) : cells);
    s->excess = 0;
    s->scale = 1;
    if (adjacency == FRE_ADJACENCY_ADD_REMOVE) {
        s->eps = log1p(expm1(eps) / p);
        return FRE_OK;
    }
    /* Q - g P <= (1-g) Q + g (Q - P) for g < 1. */
    odds = (1 - p) * expm1(eps) / p * (1 - 8 * DBL_EPSILON); /* down, so that 1 - odds is up */
    s->eps = odds > 1 ? log(odds) : 0;
    s->excess = odds < 1 ? 1 - odds : 0;
    s->scale = odds < 1 ? odds : 1;
    return FRE_OK;
}

double fre_joint_tau(const fre_mechanism *m)
{
    return (double)(m->dist.on ? m->tau - m->dist.curious : m->tau);
}

double fre_joint_log_far(const fre_mechanism *m, double split)
{
    return log((double)m->population / fre_joint_tau(m)) +
           fre_privacy_log_collision(m->proj, m->cell_edge, split);
}

/* ---- the distributed mode ----------------------------------------------------------------- */

/* One record moves the padded numbers of tags of two multiplicities, and with cover messages
 * that of single tags as well, where it sends its own while it is not sampled. */
double fre_joint_padding(const fre_distributed *d, double eps)
{
    if (!d->on)
        return 0;
    return d->cover ? fre_cover_delta(eps, d->lambda, d->gamma)
                    : fre_two_cell_delta(eps, d->lambda, d->gamma);
}

/* The quantisation is largest at count tau, and Delta_2 grows with it; the ratio of a user's
 * noise to it is least at the largest count, and never below 2 by the protocol's rule. */
void fre_joint_ddg(fre_ddg *out, double *beta, const fre_mechanism *m, double split)
{
    uint64_t users = m->population > m->tau ? m->population : m->tau;
    double local = fre_sigma_local(m, m->tau);

    *beta = m->lattice_step > 0 ? m->lattice_step : fre_quantisation(local, split, m->dim);
    local = m->lattice_step > 0 ? fre_sigma_local(m, users) : 2 * *beta;
    fre_ddg_account(out, split, m->sigma, local, *beta, fre_hadamard_dim(m->dim), users,
                    m->dist.phi);
}

/* Both laws of up to N d draws are off by at most 2^-100 each: (1 + e^eps) N d 2^-100. */
double fre_joint_table_gap(const fre_mechanism *m, const fre_joint_step *s)
{
    double draws = (double)m->population * fre_hadamard_dim(m->dim);

    if (m->noise != FRE_NOISE_DISCRETE)
        return 0;
    return exp(log1p(exp(s->eps)) + log(draws) - 100 * M_LN2);
}

/* The chance that rounding of discrete noise goes farther than accounted. */
static double rounding_slip(const fre_mechanism *m, double split)
{
    double beta;
    fre_ddg g;

    if (m->noise != FRE_NOISE_DISCRETE)
        return 0;
    fre_joint_ddg(&g, &beta, m, split);
    return g.phi;
}

void fre_joint_noise_init(fre_joint_noise *out, const fre_mechanism *m, double split)
{
    out->m = m;
    out->beta = 0;
    if (m->noise == FRE_NOISE_DISCRETE)
        fre_joint_ddg(&out->at_split, &out->beta, m, split);
}

/* Nearest lattice points of two embeddings at a distance are at most beta sqrt(d) farther apart.
 * Discrete: where the sure bound on rounding serves at the split, it serves everywhere, so that
 * one phi is charged for all members or none. */
void fre_joint_heavy(fre_heavy *h, fre_curve *curve, const fre_joint_noise *noise,
                     const fre_joint_step *s, double distance, size_t nodes)
{
    const fre_mechanism *m = noise->m;
    double reach = distance + m->lattice_step * sqrt((double)m->dim);
    bool discrete = m->noise == FRE_NOISE_DISCRETE;
    fre_ddg g = noise->at_split;

    if (discrete) {
        fre_ddg_move(&g, distance, m->sigma, noise->beta, fre_hadamard_dim(m->dim), g.phi);
        reach = g.delta2;
    }
    fre_heavy_init(h, s->eps, s->p, fre_joint_tau(m), reach / m->sigma);
    if (nodes == 0) {
        h->tolerance = FRE_HEAVY_ESTIMATE;
        h->rho = discrete ? g.rho : 0;
    } else if (discrete) {
        fre_curve_init(curve, g.rho, s->eps, nodes);
        h->curve = curve;
    }
}

double fre_joint_diameter(const fre_mechanism *m)
{
    return m->norm_bound > 0 ? 2 * m->norm_bound : HUGE_VAL;
}

/* ---- checks ------------------------------------------------------------------------------- */

static fre_status check_positive(double x, const char *flag, fre_err *err)
{
    if (!(x > 0) || !(x <= 1e12))
        return fre_fail(err, FRE_E_USAGE, "%s must be a number above 0 and at most 1e12", flag);
    return FRE_OK;
}

static fre_status check_distributed(const fre_mechanism *m, fre_err *err)
{
    const fre_distributed *d = &m->dist;

    if (m->tau < 2)
        return fre_fail(err, FRE_E_USAGE,
                        "{tau} must be at least 2 in the distributed mode, where a tag's report "
                        "would be opened as it comes in otherwise");
    if (d->curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE,
                        "{curious_users} must be below the threshold on sampled counts, %llu",
                        (unsigned long long)m->tau);
    if (!(d->dropout >= 0) || !(d->dropout < 1))
        return fre_fail(err, FRE_E_USAGE, "{dropout} must be a number from 0 and below 1");
    if (d->one_shot && d->dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{one_shot} has no second answer to wait for: leave out {dropout}");
    if (!(d->lambda > 0) || !(d->lambda <= 1e6))
        return fre_fail(err, FRE_E_USAGE, "{lambda} must be a number above 0 and at most 1e6");
    if (fre_sigma_local(m, m->tau) <= 0)
        return fre_fail(err, FRE_E_USAGE,
                        "of %llu answers to the smallest released cell none is left to carry "
                        "noise: lower {curious_users} or {dropout}",
                        (unsigned long long)fre_answers_needed(m, m->tau));
    if (m->noise == FRE_NOISE_DISCRETE && (m->dim < 1 || m->dim > 1u << 20))
        return fre_fail(err, FRE_E_USAGE, "{dimension} must be at least 1 for discrete noise");
    if (!(d->phi >= 0) || !(d->phi < 1))
        return fre_fail(err, FRE_E_USAGE, "the rounding's failure must be from 0 and below 1");
    return FRE_OK;
}

static fre_status check_mechanism(const fre_mechanism *m, fre_err *err)
{
    fre_status st;

    if (m->p32 < 1 || m->p32 > FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE, "{sampling_rate} must be above 0 and at most 1");
    if (m->tau < 1 || m->tau > FRE_PRIVACY_POPULATION_MAX)
        return fre_fail(err, FRE_E_USAGE, "{tau} must be at least 1 and at most 1e12");
    if ((st = check_positive(m->sigma, "{sigma}", err)) != FRE_OK)
        return st;
    if (m->cells_per_user < 1 || m->cells_per_user > FRE_PRIVACY_CELLS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{max_cells_per_user} must be in 1..%u",
                        FRE_PRIVACY_CELLS_MAX);
    if (!(m->lattice_step >= 0) || !(m->lattice_step <= 1e12))
        return fre_fail(err, FRE_E_USAGE, "the lattice step must be a number from 0 to 1e12");
    if (m->noise == FRE_NOISE_DISCRETE && !m->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "discrete noise is made of many users' shares: use it in the distributed "
                        "mode");
    if (m->dist.on && (st = check_distributed(m, err)) != FRE_OK)
        return st;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return check_positive(m->norm_bound, "the norm bound", err);
    if (m->population < 1 || m->population > FRE_PRIVACY_POPULATION_MAX * FRE_PRIVACY_CELLS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{population} must be at least 1 and at most 1e12");
    if (m->proj < 1 || m->proj > FRE_PRIVACY_K_MAX)
        return fre_fail(err, FRE_E_USAGE, "{projection_dim} must be in 1..%u", FRE_PRIVACY_K_MAX);
    return check_positive(m->cell_edge, "{cell_edge}", err);
}

static fre_status check_epsilon(double epsilon, fre_err *err)
{
    if (!(epsilon > 0) || !(epsilon <= FRE_PRIVACY_EPSILON_MAX))
        return fre_fail(err, FRE_E_USAGE, "{epsilon} must be a number above 0 and at most %g",
                        FRE_PRIVACY_EPSILON_MAX);
    return FRE_OK;
}

/* ---- delta at a split --------------------------------------------------------------------- */

static double part(double weight, double chance)
{
    return weight * chance * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
}

/* Parts 1 and 2 at the amplified epsilon. */
typedef struct parts {
    double heavy, far;
    double n; /* where heavy is largest */
} parts;

static parts parts_at(const fre_mechanism *m, const fre_joint_step *s, double split,
                      fre_joint_place *at)
{
    parts out = {.heavy = 1, .n = fre_joint_tau(m) - 1};
    fre_joint_noise noise;
    fre_curve curve;
    fre_heavy h;

    if (m->p32 >= FRE_P_ONE)
        return out; /* the count itself tells: G = 1 at c = n + 1 */
    fre_joint_noise_init(&noise, m, split);
    fre_joint_heavy(&h, &curve, &noise, s, split, FRE_CURVE_NODES);
    out.n = at->n;
    out.heavy = fre_heavy_supremum(&h, &out.n);
    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        out.far = fre_far_supremum(&noise, s, &h, out.heavy, split, at);
    out.far = fmin(out.far, fmax(0, 1 - out.heavy)); /* a probability together */
    return out;
}

static void account_at(fre_account *out, const fre_mechanism *m, const fre_joint_step *s,
                       double epsilon, double split, fre_joint_place *at)
{
    parts b = parts_at(m, s, split, at);
    double slips = rounding_slip(m, split) + fre_joint_table_gap(m, s), total;
    double far = s->scale * b.far + slips;

    out->epsilon = epsilon;
    out->split = split;
    out->worst_cell = (uint64_t)b.n;
    out->by_pld = false;
    out->delta_released = part(s->weight, s->excess + s->scale * b.heavy);
    out->delta_far = far > 0 ? part(s->weight, far) : 0;
    out->delta_unreleased =
        m->dist.on ? part(s->weight, s->scale * fre_joint_padding(&m->dist, s->eps)) : 0;
    total = out->delta_released + out->delta_far + out->delta_unreleased;
    if (total > 1) { /* the parts still add up */
        out->delta_released /= total;
        out->delta_unreleased /= total;
        out->delta_far = 1 - out->delta_released - out->delta_unreleased;
        total = 1;
    }
    out->delta = total;
}

static fre_status step_of(fre_joint_step *s, const fre_mechanism *m, double epsilon, fre_err *err)
{
    return fre_joint_step_init(s, m->p32, epsilon, m->adjacency, m->cells_per_user, m->dist.on,
                               err);
}

/* By basic composition. */
static fre_status basic(fre_account *out, const fre_mechanism *m, double epsilon, double split,
                        fre_err *err)
{
    fre_joint_place at = FRE_JOINT_NOWHERE;
    fre_joint_step s;
    fre_status st;

    if ((st = check_mechanism(m, err)) != FRE_OK || (st = check_epsilon(epsilon, err)) != FRE_OK)
        return st;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        split = 2 * m->norm_bound;
    if ((st = check_positive(split, "{split}", err)) != FRE_OK)
        return st;
    st = step_of(&s, m, epsilon, err);
    if (st == FRE_OK)
        account_at(out, m, &s, epsilon, split, &at);
    return st;
}

fre_status fre_joint_basic_delta(fre_account *out, const fre_mechanism *m, double epsilon,
                                 fre_err *err)
{
    return basic(out, m, epsilon, 2 * m->norm_bound, err);
}

fre_status fre_joint_delta_at_split(fre_account *out, const fre_mechanism *m, double epsilon,
                                    double split, fre_err *err)
{
    fre_account a;
    fre_status st = basic(&a, m, epsilon, split, err);

    if (st == FRE_OK && fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, false, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}

/* ---- the split ---------------------------------------------------------------------------- */

double fre_joint_split_at(const fre_mechanism *m, double log_far)
{
    double lo = log(m->cell_edge) - 20, hi = log(m->cell_edge) + 60;
    int i;

    for (i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;

        if (fre_joint_log_far(m, exp(mid)) > log_far)
            lo = mid;
        else
            hi = mid;
    }
    return hi < log(1e12) ? exp(hi) : 1e12;
}

#define CONTINUOUS_BELOW 0.4 /* in ln: how far below the crossing the best split can lie */
#define DISCRETE_BELOW 1.0
#define STEPS_MOST 700 /* of one user's noise by choice ... */
#define STEPS_FORCED                                                                               \
    0.97 * FRE_JOINT_STEPS_MAX /* ... and at all: what follows moves sigma a little */

/* What the choice of a split weighs: heavy against the far members. */
typedef struct balance {
    const fre_mechanism *m;
    const fre_joint_step *s;
    fre_joint_place *at;
    double base; /* heavy of the counts alone */
    double heavy, far;
} balance;

static double weigh(void *ctx, double log_split)
{
    balance *b = ctx;
    double split = exp(log_split);
    fre_joint_noise noise;
    fre_heavy h;

    fre_joint_noise_init(&noise, b->m, split);
    fre_joint_heavy(&h, NULL, &noise, b->s, split, 0);
    b->heavy = fre_heavy_peak(&h, &b->at->n);
    b->far = b->m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC
                 ? fre_far_peak(&noise, b->s, split, b->at)
                 : 0;
    return b->heavy + b->far;
}

/* heavy of the counts alone, which no split takes away. */
static double counts_alone(const fre_mechanism *m, const fre_joint_step *s)
{
    double n = -1;
    fre_heavy h;

    fre_heavy_init(&h, s->eps, s->p, fre_joint_tau(m), 0);
    h.tolerance = FRE_HEAVY_ESTIMATE;
    return fre_heavy_peak(&h, &n);
}

/* Do the far members cost more than what the shift adds to the counts? */
static bool too_short(balance *w, double log_split)
{
    (void)weigh(w, log_split);
    return w->far > w->heavy - w->base;
}

static void narrow_crossing(balance *w, double *lo, double *hi, double width)
{
    while (*hi - *lo > width) {
        double mid = (*lo + *hi) / 2;

        if (too_short(w, mid))
            *lo = mid;
        else
            *hi = mid;
    }
}

/* A narrow bracket of where the two cross, from the last split where there is one. */
static void cross(balance *w, double *lo, double *hi)
{
    double least = fmin(log(fre_joint_split_at(w->m, 0)), *hi) - 3, step = 0.1;
    double x = w->at->split > 0 ? fmax(least, fmin(log(w->at->split), *hi)) : *hi;

    if (!(w->at->split > 0))
        *lo = least;
    else if (too_short(w, x)) {
        for (*lo = x; *lo + step < *hi && too_short(w, *lo + step); step *= 2)
            *lo += step;
        *hi = fmin(*hi, *lo + step);
    } else {
        for (*hi = x; *hi - step > least && !too_short(w, *hi - step); step *= 2)
            *hi -= step;
        *lo = fmax(least, *hi - step);
    }
    narrow_crossing(w, lo, hi, 0.06);
}

double fre_joint_steps(const fre_mechanism *m, double split)
{
    if (m->noise != FRE_NOISE_DISCRETE || m->lattice_step > 0)
        return 0;
    return fre_sigma_local(m, m->tau) / fre_quantisation(HUGE_VAL, split, m->dim);
}

/* How far below the crossing a split may lie.  Users' embeddings are rounded more finely the shorter it is,
 * which can pay for long; but one user's noise must not be too many steps of that, even where the split has
 * to be above (then it is negative). */
static double below_crossing(const fre_mechanism *m, double crossing)
{
    double steps = fre_joint_steps(m, exp(crossing));

    if (!(steps > 0))
        return CONTINUOUS_BELOW;
    return fmin(fmax(CONTINUOUS_BELOW, fmin(DISCRETE_BELOW, log(STEPS_MOST / steps))),
                log(STEPS_FORCED / steps));
}

/* heavy grows with the split and the far members' cost falls, so their sum is least close to where
 * they cross: bisection to the crossing, golden section around it.  At the diameter nobody is far.
 * Any split gives a valid delta, so an imperfect optimum costs noise, never privacy. */
double fre_joint_best_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                            double *delta)
{
    balance w = {.m = m, .s = s, .at = at, .base = counts_alone(m, s)};
    double most = fmin(log(fre_joint_diameter(m)), log(fre_joint_split_at(m, -690)));
    double lo = 0, hi = most, below, least, best;
    fre_bracket g;

    cross(&w, &lo, &hi);
    below = fmax(below_crossing(m, lo), lo - most);
    g = fre_privacy_narrow(weigh, &w, lo - below, fmin(fmax(hi, lo - below) + 0.1, most), 0.004);
    least = fmin(g.at_a, g.at_b);
    best = g.at_a < g.at_b ? g.a : g.b;
    if (g.lo <
        lo - below + 0.02) { /* the shorter the better: from wherever one began, to the same end */
        narrow_crossing(&w, &lo, &hi, 0.004);
        best = fmin(hi - below_crossing(m, hi), most);
        least = weigh(&w, best);
    }
    if (g.hi > most - 0.01) {
        double end = weigh(&w, most);

        best = end < least ? most : best;
        least = fmin(end, least);
    }
    at->split = best < most ? exp(best) : fmin(exp(most), fre_joint_diameter(m));
    *delta = s->weight * (s->excess + s->scale * least);
    return at->split;
}

static double chosen_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                           double *delta)
{
    double split = m->norm_bound > 0 ? 2 * m->norm_bound : m->cell_edge;

    *delta = 1;
    if (m->p32 >= FRE_P_ONE)
        return split;
    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        split = fre_joint_best_split(m, s, at, delta);
    else {
        balance w = {.m = m, .s = s, .at = at};

        *delta = s->weight * (s->excess + s->scale * weigh(&w, log(split)));
    }
    return split;
}

fre_status fre_joint_delta(fre_account *out, const fre_mechanism *m, double epsilon, fre_err *err)
{
    fre_joint_place at = FRE_JOINT_NOWHERE;
    fre_joint_step s;
    fre_account a;
    fre_status st;
    double split, delta;

    if ((st = check_mechanism(m, err)) != FRE_OK || (st = check_epsilon(epsilon, err)) != FRE_OK)
        return st;
    st = step_of(&s, m, epsilon, err);
    if (st != FRE_OK)
        return st;
    split = chosen_split(m, &s, &at, &delta);
    account_at(&a, m, &s, epsilon, split, &at);
    if (fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, true, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}

/* ---- epsilon ------------------------------------------------------------------------------ */

/* ln(estimated delta / target) at epsilon. */
static double excess_at(const fre_mechanism *m, double epsilon, double target, fre_joint_place *at)
{
    fre_joint_step s;
    double delta = 1, least, rest;

    if (step_of(&s, m, epsilon, NULL) == FRE_OK) {
        rest =
            s.weight * (s.scale * fre_joint_padding(&m->dist, s.eps) + fre_joint_table_gap(m, &s));
        least = rest + s.weight * (s.excess + s.scale * counts_alone(m, &s));
        if (least > 1.05 * target) /* no split takes that away */
            return log(least) - log(target);
        rest += s.weight * rounding_slip(m, chosen_split(m, &s, at, &delta));
        delta += rest;
    }
    return log(delta + FRE_PRIVACY_TINY) - log(target);
}

/* Greatest epsilon at which the table sampler's distance, which counts e^epsilon times, takes at
 * most a share of the target. */
static double useful_epsilon(const fre_mechanism *m, double lo, double hi, double target)
{
    fre_joint_step s;

    while (0.99 * hi > lo && step_of(&s, m, hi, NULL) == FRE_OK &&
           s.weight * fre_joint_table_gap(m, &s) > target)
        hi *= 0.99;
    return hi;
}

/* Least excess over epsilon, sought by steps that shrink around the best so far; stops at the first
 * that is none. */
static double lowest(double *at, const fre_mechanism *m, double lo, double hi, double target,
                     fre_joint_place *place)
{
    double best = hi, ratio = pow(hi / fmax(lo, 1e-3 * hi), 1.0 / 16), x;
    int i, round;

    *at = HUGE_VAL;
    for (round = 0; round < 3 && *at > 0; round++) {
        double from = round ? best / pow(ratio, 4) : hi / pow(ratio, 16);

        for (x = from, i = 0; i <= (round ? 8 : 16) && *at > 0; i++, x *= ratio) {
            double here = x >= lo && x <= hi ? excess_at(m, x, target, place) : HUGE_VAL;

            if (here < *at) {
                *at = here;
                best = x;
            }
        }
        ratio = pow(ratio, 0.25);
    }
    return best;
}

/* An upper end for the search, and the excess there.  Users' noise: delta falls with epsilon and
 * then grows again, by the table sampler's distance and by a group's factor. */
static double search_end(double *at_hi, const fre_mechanism *m, double lo, double target,
                         fre_joint_place *place)
{
    double hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, 1e-3 * target);

    *at_hi = excess_at(m, hi, target, place);
    if (*at_hi <= 0 || !m->dist.on)
        return hi;
    hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, target);
    return lowest(at_hi, m, lo, hi, target, place);
}

/* Root of excess_at by the Illinois method, which keeps a bracket; infinite: there is none. */
static double estimate_epsilon(const fre_mechanism *m, double lo, double target)
{
    fre_joint_place place = FRE_JOINT_NOWHERE;
    double at_lo, at_hi, hi;
    int i, side = 0;

    at_lo = excess_at(m, lo, target, &place);
    if (at_lo <= 0)
        return lo;
    hi = search_end(&at_hi, m, lo, target, &place);
    if (at_hi > 0.01) /* and estimates are never far above */
        return HUGE_VAL;
    for (i = 0; i < 60 && at_hi < 0 && hi - lo > 1e-6 * hi; i++) {
        double mid = i % 4 == 3 ? (lo + hi) / 2 : lo + (hi - lo) * at_lo / (at_lo - at_hi);
        double at = excess_at(m, mid, target, &place);

        if (at > 0) {
            lo = mid;
            at_lo = at;
            at_hi = side < 0 ? at_hi / 2 : at_hi;
            side = -1;
        } else {
            hi = mid;
            at_hi = at;
            at_lo = side > 0 ? at_lo / 2 : at_lo;
            side = 1;
        }
    }
    return hi;
}

/* From an estimate up to an epsilon whose certified delta is within the target. */
static fre_status raise_epsilon(fre_account *out, const fre_mechanism *m, double target,
                                double epsilon, fre_err *err)
{
    double step = 1e-4;

    for (;;) {
        fre_status st;

        if (isinf(epsilon) || (epsilon >= FRE_PRIVACY_EPSILON_MAX && step > 1e-4))
            return fre_fail(
                err, FRE_E_INFEASIBLE,
                "no {epsilon} up to %g reaches {delta} %.6g: raise {sigma} or {tau}, or "
                "lower {sampling_rate}",
                FRE_PRIVACY_EPSILON_MAX, target);
        st = fre_joint_delta(out, m, epsilon, err);
        if (st != FRE_OK || out->delta <= target)
            return st;
        epsilon = fmin(FRE_PRIVACY_EPSILON_MAX, epsilon * (1 + step));
        step *= 2;
    }
}

/* Then, at its split, down to where delta is the target but for half a per cent: bisection, since
 * delta falls with epsilon there. */
static fre_status settle_epsilon(fre_account *out, const fre_mechanism *m, double target,
                                 double least, double epsilon, fre_err *err)
{
    fre_status st = raise_epsilon(out, m, target, epsilon, err);
    double lo = least, step = 1e-3, split = out->split;
    fre_account a;

    while (st == FRE_OK && out->delta < 0.995 * target && out->epsilon - lo > 1e-5 * out->epsilon) {
        double at = fmax((lo + out->epsilon) / 2, out->epsilon * (1 - step));

        if (fre_joint_delta_at_split(&a, m, at, split, NULL) == FRE_OK && a.delta <= target)
            *out = a;
        else
            lo = at;
        step = fmin(0.3, 2 * step);
    }
    return st;
}

fre_status fre_joint_epsilon(fre_account *out, const fre_mechanism *m, double delta, fre_err *err)
{
    fre_account a;
    fre_status st;
    double epsilon, least;

    if ((st = check_mechanism(m, err)) != FRE_OK)
        return st;
    if (!(delta > 0) || !(delta < 1))
        return fre_fail(err, FRE_E_USAGE, "{delta} must be a number above 0 and below 1");
    least = fre_joint_epsilon_floor(m->p32, m->adjacency, m->cells_per_user);
    least = least > 1e-9 ? least : 1e-9;
    if (m->p32 == FRE_P_ONE || least > FRE_PRIVACY_EPSILON_MAX)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no epsilon up to %g reaches delta %g at {sampling_rate} %.6g: lower it",
                        FRE_PRIVACY_EPSILON_MAX, delta, rate(m->p32));
    epsilon = estimate_epsilon(m, least, delta);
    if (fre_composes(m)) {
        st = fre_compose_epsilon(out, m, delta, least, fmin(epsilon, FRE_PRIVACY_EPSILON_MAX), err);
        if (st != FRE_E_INFEASIBLE)
            return st;
    }
    st = settle_epsilon(&a, m, delta, least, epsilon, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}
