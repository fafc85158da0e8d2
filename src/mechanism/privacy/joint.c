/* The joint accountant: delta(eps) = p [ sup_n heavy(n) + min(1, (N/tau) pi(split)) + padding ]
 * (docs/privacy.md). */
#include "joint.h"

#include <float.h>
#include <math.h>

#include <fre/linalg.h>

#include "compose.h"
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
    return -log1p(-rate(p32)) * cells;
}

fre_status fre_joint_step_init(fre_joint_step *s, uint64_t p32, double epsilon,
                               fre_adjacency adjacency, uint32_t cells, bool group, fre_err *err)
{
    double p = rate(p32), eps = epsilon / cells;
    double least = fre_joint_epsilon_floor(p32, adjacency, cells);
    double odds;

    if (adjacency == FRE_ADJACENCY_ADD_REMOVE && p32 < FRE_P_ONE && epsilon < least)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "--epsilon %.6g is below ln(1/(1-p)) = %.6g, the least that removing a "
                        "record costs at --sampling-rate %.6g: lower --sampling-rate to %.6g "
                        "or raise --epsilon to %.6g",
                        epsilon, least, p, floor(-expm1(-eps) * 1e6) / 1e6,
                        ceil(least * 1e4) / 1e4);
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

/* heavy at a split; curve: where that of discrete noise is put, with so many nodes.  Nearest
 * lattice points of two embeddings at distance split are at most beta sqrt(d) farther apart. */
static void heavy_init(fre_heavy *h, fre_curve *curve, const fre_mechanism *m,
                       const fre_joint_step *s, double split, size_t nodes)
{
    double reach = split + m->lattice_step * sqrt((double)m->dim), beta;
    bool discrete = m->noise == FRE_NOISE_DISCRETE;
    fre_ddg g;

    if (discrete) {
        fre_joint_ddg(&g, &beta, m, split);
        reach = g.delta2;
    }
    fre_heavy_init(h, s->eps, s->p, fre_joint_tau(m), reach / m->sigma);
    if (discrete) {
        fre_curve_init(curve, g.rho, s->eps, nodes);
        h->curve = curve;
    }
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
                        "--tau must be at least 2 in the distributed mode, where a tag's report "
                        "would be opened as it comes in otherwise");
    if (d->curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE,
                        "--curious-users must be below the threshold on sampled counts, %llu",
                        (unsigned long long)m->tau);
    if (!(d->dropout >= 0) || !(d->dropout < 1))
        return fre_fail(err, FRE_E_USAGE, "--dropout must be a number from 0 and below 1");
    if (d->one_shot && d->dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--one-shot has no second answer to wait for: leave out --dropout");
    if (!(d->lambda > 0) || !(d->lambda <= 1e6))
        return fre_fail(err, FRE_E_USAGE, "--lambda must be a number above 0 and at most 1e6");
    if (fre_sigma_local(m, m->tau) <= 0)
        return fre_fail(err, FRE_E_USAGE,
                        "of %llu answers to the smallest released cell none is left to carry "
                        "noise: lower --curious-users or --dropout",
                        (unsigned long long)fre_answers_needed(m, m->tau));
    if (m->noise == FRE_NOISE_DISCRETE && (m->dim < 1 || m->dim > 1u << 20))
        return fre_fail(err, FRE_E_USAGE, "--dimension must be at least 1 for discrete noise");
    if (!(d->phi >= 0) || !(d->phi < 1))
        return fre_fail(err, FRE_E_USAGE, "the rounding's failure must be from 0 and below 1");
    return FRE_OK;
}

static fre_status check_mechanism(const fre_mechanism *m, fre_err *err)
{
    fre_status st;

    if (m->p32 < 1 || m->p32 > FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE, "--sampling-rate must be above 0 and at most 1");
    if (m->tau < 1 || m->tau > FRE_PRIVACY_POPULATION_MAX)
        return fre_fail(err, FRE_E_USAGE, "--tau must be at least 1 and at most 1e12");
    if ((st = check_positive(m->sigma, "--sigma", err)) != FRE_OK)
        return st;
    if (m->cells_per_user < 1 || m->cells_per_user > FRE_PRIVACY_CELLS_MAX)
        return fre_fail(err, FRE_E_USAGE, "--max-cells-per-user must be in 1..%u",
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
        return fre_fail(err, FRE_E_USAGE, "--population must be at least 1 and at most 1e12");
    if (m->proj < 1 || m->proj > FRE_PRIVACY_K_MAX)
        return fre_fail(err, FRE_E_USAGE, "--projection-dim must be in 1..%u", FRE_PRIVACY_K_MAX);
    return check_positive(m->cell_edge, "--cell-edge", err);
}

static fre_status check_epsilon(double epsilon, fre_err *err)
{
    if (!(epsilon > 0) || !(epsilon <= FRE_PRIVACY_EPSILON_MAX))
        return fre_fail(err, FRE_E_USAGE, "--epsilon must be a number above 0 and at most %g",
                        FRE_PRIVACY_EPSILON_MAX);
    return FRE_OK;
}

/* ---- delta at a split --------------------------------------------------------------------- */

/* sup_n heavy(n) at the amplified epsilon; *n: where. */
static double released(const fre_mechanism *m, const fre_joint_step *s, double split, double *n)
{
    fre_curve curve;
    fre_heavy h;

    *n = fre_joint_tau(m) - 1;
    if (m->p32 >= FRE_P_ONE)
        return 1; /* the count itself tells: G = 1 at c = n + 1 */
    heavy_init(&h, &curve, m, s, split, FRE_CURVE_NODES);
    *n = -1;
    return fre_heavy_supremum(&h, n);
}

static double part(double weight, double chance)
{
    return weight * chance * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
}

static void account_at(fre_account *out, const fre_mechanism *m, const fre_joint_step *s,
                       double epsilon, double split)
{
    double n, far = 0, heavy = released(m, s, split, &n), total;

    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        far = exp(fmin(0, fre_joint_log_far(m, split))) + FRE_PRIVACY_TINY;
    far += rounding_slip(m, split) + fre_joint_table_gap(m, s);
    out->epsilon = epsilon;
    out->split = split;
    out->worst_cell = (uint64_t)n;
    out->by_pld = false;
    out->delta_released = part(s->weight, s->excess + s->scale * heavy);
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

fre_status fre_joint_delta_at_split(fre_account *out, const fre_mechanism *m, double epsilon,
                                    double split, fre_err *err)
{
    fre_joint_step s;
    fre_account a;
    fre_status st;

    if ((st = check_mechanism(m, err)) != FRE_OK || (st = check_epsilon(epsilon, err)) != FRE_OK)
        return st;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        split = 2 * m->norm_bound;
    if ((st = check_positive(split, "--split", err)) != FRE_OK)
        return st;
    st = step_of(&s, m, epsilon, err);
    if (st != FRE_OK)
        return st;
    account_at(&a, m, &s, epsilon, split);
    if (fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, false, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}

/* ---- the split ---------------------------------------------------------------------------- */

/* Split at which the far members' chance has this logarithm; the chance falls with it. */
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

/* heavy at its peak, estimated. */
static double peak(const fre_mechanism *m, const fre_joint_step *s, double split, size_t nodes,
                   double *n)
{
    fre_curve curve;
    fre_heavy h;

    heavy_init(&h, &curve, m, s, split, nodes);
    return fre_heavy_peak(&h, n);
}

/* What the choice of a split weighs: heavy against the far members. */
typedef struct balance {
    const fre_mechanism *m;
    const fre_joint_step *s;
    double *n; /* the worst n so far, where the next search starts */
    size_t nodes;
    double heavy, far;
} balance;

static double weigh(void *ctx, double log_split)
{
    balance *b = ctx;
    double log_far = fre_joint_log_far(b->m, exp(log_split));

    b->heavy = b->s->scale * peak(b->m, b->s, exp(log_split), b->nodes, b->n);
    b->far = log_far < 0 ? exp(log_far) : 1;
    return b->heavy + b->far;
}

/* Least weight between lo and hi by golden section; *least: the weight. */
static double settle_split(balance *w, double lo, double hi, double width, double *least)
{
    const fre_bracket g = fre_privacy_narrow(weigh, w, lo, hi, width);

    *least = g.at_a < g.at_b ? g.at_a : g.at_b;
    return g.at_a < g.at_b ? g.a : g.b;
}

/* heavy grows with the split and the far members' chance falls, so their sum is least close to
 * where they cross: bisection to the crossing, golden section around it.  Any split gives a
 * valid delta, so an imperfect optimum costs noise, never privacy.  Discrete noise: the place is
 * found by a coarse curve first. */
double fre_joint_best_split(const fre_mechanism *m, const fre_joint_step *s, double *n,
                            double *delta)
{
    bool discrete = m->noise == FRE_NOISE_DISCRETE;
    balance w = {.m = m, .s = s, .n = n, .nodes = FRE_CURVE_COARSE};
    double lo = log(fre_joint_split_at(m, 0)), hi = log(fre_joint_split_at(m, -690));
    double beyond = fmax(0.2, 4.6 / m->proj), best, least; /* far / 100: heavy may be flat */

    while (hi - lo > 0.05) {
        double mid = (lo + hi) / 2;

        (void)weigh(&w, mid);
        if (w.far > w.heavy)
            lo = mid;
        else
            hi = mid;
    }
    best = settle_split(&w, lo - 0.2, hi + beyond, discrete ? 0.02 : 2e-4, &least);
    if (discrete) {
        w.nodes = FRE_CURVE_NODES;
        best = settle_split(&w, best - 0.1, best + 0.1, 0.01, &least);
    }
    *delta = s->weight * (s->excess + least);
    return exp(best);
}

static double chosen_split(const fre_mechanism *m, const fre_joint_step *s, double *n,
                           double *delta)
{
    double split = 2 * m->norm_bound;

    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC && m->p32 < FRE_P_ONE)
        return fre_joint_best_split(m, s, n, delta);
    if (!(m->norm_bound > 0))
        split = m->cell_edge;
    *delta = 1;
    if (m->p32 < FRE_P_ONE)
        *delta = s->weight * (s->excess + s->scale * peak(m, s, split, FRE_CURVE_NODES, n));
    return split;
}

fre_status fre_joint_delta(fre_account *out, const fre_mechanism *m, double epsilon, fre_err *err)
{
    fre_joint_step s;
    fre_account a;
    fre_status st;
    double n = -1, delta;

    if ((st = check_mechanism(m, err)) != FRE_OK || (st = check_epsilon(epsilon, err)) != FRE_OK)
        return st;
    st = step_of(&s, m, epsilon, err);
    if (st != FRE_OK)
        return st;
    account_at(&a, m, &s, epsilon, chosen_split(m, &s, &n, &delta));
    if (fre_composes(m))
        st = fre_compose_improve(&a, m, epsilon, true, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}

/* ---- epsilon ------------------------------------------------------------------------------ */

/* ln(estimated delta / target) at epsilon. */
static double excess_at(const fre_mechanism *m, double epsilon, double target, double *n)
{
    fre_joint_step s;
    double delta = 1;

    if (step_of(&s, m, epsilon, NULL) == FRE_OK) {
        double split = chosen_split(m, &s, n, &delta);

        delta += s.weight * (s.scale * fre_joint_padding(&m->dist, s.eps) +
                             fre_joint_table_gap(m, &s) + rounding_slip(m, split));
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
                     double *n)
{
    double best = hi, ratio = pow(hi / fmax(lo, 1e-3 * hi), 1.0 / 16), x;
    int i, round;

    *at = HUGE_VAL;
    for (round = 0; round < 3 && *at > 0; round++) {
        double from = round ? best / pow(ratio, 4) : hi / pow(ratio, 16);

        for (x = from, i = 0; i <= (round ? 8 : 16) && *at > 0; i++, x *= ratio) {
            double here = x >= lo && x <= hi ? excess_at(m, x, target, n) : HUGE_VAL;

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
static double search_end(double *at_hi, const fre_mechanism *m, double lo, double target, double *n)
{
    double hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, 1e-3 * target);

    *at_hi = excess_at(m, hi, target, n);
    if (*at_hi <= 0 || !m->dist.on)
        return hi;
    hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, target);
    return lowest(at_hi, m, lo, hi, target, n);
}

/* Root of excess_at by the Illinois method, which keeps a bracket. */
static double estimate_epsilon(const fre_mechanism *m, double lo, double target)
{
    double n = -1, at_lo, at_hi, hi;
    int i, side = 0;

    at_lo = excess_at(m, lo, target, &n);
    if (at_lo <= 0)
        return lo;
    hi = search_end(&at_hi, m, lo, target, &n);
    for (i = 0; i < 60 && at_hi < 0 && hi - lo > 1e-6 * hi; i++) {
        double mid = i % 4 == 3 ? (lo + hi) / 2 : lo + (hi - lo) * at_lo / (at_lo - at_hi);
        double at = excess_at(m, mid, target, &n);

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

fre_status fre_joint_epsilon(fre_account *out, const fre_mechanism *m, double delta, fre_err *err)
{
    fre_account a;
    fre_status st;
    double epsilon, least, step = 2e-6;

    if ((st = check_mechanism(m, err)) != FRE_OK)
        return st;
    if (!(delta > 0) || !(delta < 1))
        return fre_fail(err, FRE_E_USAGE, "--delta must be a number above 0 and below 1");
    least = fre_joint_epsilon_floor(m->p32, m->adjacency, m->cells_per_user);
    least = least > 1e-9 ? least : 1e-9;
    if (m->p32 == FRE_P_ONE || least > FRE_PRIVACY_EPSILON_MAX)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no epsilon up to %g reaches delta %g at --sampling-rate %.6g: lower it",
                        FRE_PRIVACY_EPSILON_MAX, delta, rate(m->p32));
    epsilon = estimate_epsilon(m, least, delta);
    if (fre_composes(m)) {
        st = fre_compose_epsilon(out, m, delta, least, epsilon, err);
        if (st != FRE_E_INFEASIBLE)
            return st;
    }
    for (;;) {
        st = fre_joint_delta(&a, m, epsilon, err);
        if (st != FRE_OK)
            return st;
        if (a.delta <= delta)
            break;
        if (epsilon >= FRE_PRIVACY_EPSILON_MAX)
            return fre_fail(err, FRE_E_INFEASIBLE,
                            "no epsilon up to %g reaches delta %g (at %g it is %.3g): raise "
                            "--sigma or --tau, or lower --sampling-rate",
                            FRE_PRIVACY_EPSILON_MAX, delta, FRE_PRIVACY_EPSILON_MAX, a.delta);
        epsilon = fmin(FRE_PRIVACY_EPSILON_MAX, epsilon * (1 + step));
        step *= 2;
    }
    *out = a;
    return FRE_OK;
}
