/* The planner: from a target to a mechanism whose account, recomputed for the mechanism exactly
 * as it will run, is within the target. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compose.h"
#include "joint.h"
#include "planning.h"

void fre_plan_request_init(fre_plan_request *r)
{
    memset(r, 0, sizeof *r);
    r->threshold = 100;
    r->radius = 0.5;
    r->population = 10000000;
    r->proj = 40; /* docs/decisions/0004-projection-dimension.md */
    r->cell_scale = 1;
    r->accountant = FRE_ACCOUNTANT_JOINT;
    r->adjacency = FRE_ADJACENCY_ADD_REMOVE;
    r->gaussian = FRE_GAUSSIAN_ANALYTIC;
    r->sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    r->norm_bound = 1;
    r->sensitivity_ratio = 2.4;
    r->dim = 384;
    r->cells_per_user = 1;
    r->dist.cover = true;
    r->dist.curious = 1;
    r->dist.dropout = 0.1;
}

/* ---- delta against the population ---------------------------------------------------------- */

/* The double nearest to 1/(10 N): ten times a population is below 2^53, so exact. */
static double delta_rule(uint64_t users)
{
    return 1 / (10 * (double)(users > 0 ? users : 1));
}

#define DEFAULT_USERS_MIN 100u /* delta .001: near .01 a sampled record could be shown outright */

double fre_default_delta(uint64_t users)
{
    const uint64_t n = users > DEFAULT_USERS_MIN ? users : DEFAULT_USERS_MIN;
    const double nearest = delta_rule(n);

    /* fma has one rounding, which keeps the sign of nearest * 10 N - 1 */
    return fma(nearest, 10 * (double)n, -1) > 0 ? nextafter(nearest, 0) : nearest;
}

const char *fre_delta_warning(double delta, uint64_t users)
{
    if (delta <= delta_rule(users))
        return NULL;
    return "delta is above 1/(10 N), N being the population: the promise about epsilon may fail "
           "for "
           "some of the users; lower it ({delta} auto is 1/(10 N)).";
}

/* ---- checks ------------------------------------------------------------------------------- */

typedef struct range {
    const char *param;
    double value, lo, hi;
    bool open; /* lo itself is refused */
} range;

static fre_status check_ranges(const range *f, size_t n, fre_err *err)
{
    size_t i;

    for (i = 0; i < n; i++) {
        bool low = f[i].open ? !(f[i].value > f[i].lo) : !(f[i].value >= f[i].lo);

        if (low || !(f[i].value <= f[i].hi))
            return fre_fail(err, FRE_E_USAGE, "%s must be %s %g and at most %g", f[i].param,
                            f[i].open ? "a number above" : "a number from", f[i].lo, f[i].hi);
    }
    return FRE_OK;
}

static fre_status check_request(const fre_plan_request *r, fre_err *err)
{
    const range fields[] = {
        {"{epsilon}", isinf(r->epsilon) && r->epsilon > 0 ? 1 : r->epsilon, 0,
         FRE_PRIVACY_EPSILON_MAX, true},
        {"{delta}", r->delta, 0, 1, true},
        {"{threshold}", (double)r->threshold, 1, (double)FRE_PRIVACY_POPULATION_MAX, false},
        {"{radius}", r->radius, 0, 1e12, true},
        {"{population}", (double)r->population, 1, (double)FRE_PRIVACY_POPULATION_MAX, false},
        {"{projection_dim}", r->proj > 0 ? r->proj : 1, 1, FRE_PRIVACY_K_MAX, false},
        {"{cell_scale}", r->cell_scale, 0, 1e6, true},
        {"{cell_edge}", r->cell_edge, 0, 1e12, false},
        {"{sampling_rate}", r->sampling_rate, 0, 1, false},
        {"{budget_factor}", r->budget_factor > 0 || isnan(r->budget_factor) ? r->budget_factor : 1,
         1, 256, false},
        {"{sensitivity_ratio}", r->sensitivity_ratio, 0, 1e6, true},
        {"{max_cells_per_user}", r->cells_per_user, 1, FRE_PRIVACY_CELLS_MAX, false},
        {"the norm bound", r->norm_bound, 0, 1e12, true},
        {"the embedding dimension", r->dim, 1, 1 << 20, false},
        {"{max_dummies}", r->max_dummies, 0, 1e18, false},
        {"{dropout}", r->dist.on ? r->dist.dropout : 0, 0, 1 - 0x1p-20, false},
        {"{curious_users}", r->dist.on ? r->dist.curious : 0, 0, (double)FRE_PRIVACY_POPULATION_MAX,
         false},
    };
    fre_status st = check_ranges(fields, sizeof fields / sizeof fields[0], err);

    if (st != FRE_OK)
        return st;
    if (!(r->delta < 1))
        return fre_fail(err, FRE_E_USAGE, "{delta} must be below 1");
    if (r->noise == FRE_NOISE_DISCRETE && !r->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise} discrete is made of the users' own shares: it needs "
                        "{distributed}, since a curator's noise is continuous and exactly rounded");
    if (r->dist.on && r->dist.one_shot && r->dist.dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{one_shot} asks for no second answer that could stay out: leave out "
                        "{dropout}");
    if (isinf(r->epsilon))
        return FRE_OK;
    if (r->sampling_rate >= 1)
        return fre_fail(err, FRE_E_USAGE,
                        "{sampling_rate} 1 gives no privacy, since the released counts would be "
                        "exact: choose a rate below 1, or auto");
    if (r->sampling_rate > 0 && fre_p32(r->sampling_rate) == 0)
        return fre_fail(err, FRE_E_USAGE, "{sampling_rate} must be at least 2^-32");
    return FRE_OK;
}

/* ---- shared parts ------------------------------------------------------------------------- */

/* Rounding that goes too far is a small share of what may go wrong; Delta_2 grows with the root of
 * the logarithm only. */
static double rounding_share(double delta)
{
    return fmin(1e-10, 1e-3 * delta);
}

void fre_plan_mechanism(fre_mechanism *m, const fre_plan_request *r)
{
    memset(m, 0, sizeof *m);
    m->population = r->population * r->cells_per_user;
    m->adjacency = r->adjacency;
    m->sensitivity = r->sensitivity;
    m->norm_bound = r->norm_bound;
    m->dim = r->dim;
    m->cells_per_user = r->cells_per_user;
    m->noise = r->noise;
    if (!r->dist.on)
        return;
    m->dist = r->dist;
    if (m->noise == FRE_NOISE_DISCRETE && m->dist.phi <= 0)
        m->dist.phi = rounding_share(r->delta);
}

double fre_plan_cell_edge(const fre_plan_request *r, uint32_t k)
{
    if (r->cell_edge > 0)
        return r->cell_edge;
    return r->cell_scale * 2 * r->radius / sqrt((double)k);
}

/* For radii so small that sigma or its lattice step would underflow; more noise is never wrong. */
#define SIGMA_LEAST 1e-100

void fre_plan_set_lattice(fre_plan *p, double sigma)
{
    int exponent;

    (void)frexp(fmax(sigma, SIGMA_LEAST), &exponent); /* in [2^(exponent-1), 2^exponent) */
    p->mechanism.lattice_step = ldexp(1, exponent - 1 - 20);
}

void fre_plan_round_sigma(fre_plan *p)
{
    /* Exact: both are doubles that differ by a power of two, the quotient is below 2^22. */
    double units = ceil(fmax(p->mechanism.sigma, SIGMA_LEAST) / p->mechanism.lattice_step);

    p->sigma_lattice = (uint64_t)units;
    p->mechanism.sigma = units * p->mechanism.lattice_step;
}

void fre_plan_warn(fre_plan *p, const char *sentence)
{
    if (p->n_warnings < FRE_PLAN_WARNINGS_MAX)
        p->warnings[p->n_warnings++] = sentence;
}

/* ---- the joint accountant's plan ---------------------------------------------------------- */

static bool feasible_with(const fre_plan_request *r, double threshold, double epsilon)
{
    fre_plan_request try = *r;

    try.threshold = (uint64_t)threshold;
    try.epsilon = epsilon;
    return fre_search_feasible(&try);
}

/* Least threshold and epsilon that could reach the target, the rest unchanged; 0: none found.
 * Doubled until one does, then by small steps from the last that did not. */
static void suggest(const fre_plan_request *r, double *threshold, double *epsilon)
{
    const double t0 = (double)r->threshold, e0 = fmax(r->epsilon, 1e-3);
    double t = t0, e = e0, up;

    *threshold = *epsilon = 0;
    while (t < 1e6 && !feasible_with(r, fmin(2 * t, 1e6), r->epsilon))
        t *= 2;
    for (up = fre_advice_nice(t * 1.05, true); t < 1e6 && up < 1e6 && *threshold <= 0;
         up = fre_advice_nice(up * 1.15, true)) {
        if (feasible_with(r, up, r->epsilon))
            *threshold = up;
    }
    while (e < FRE_PRIVACY_EPSILON_MAX &&
           !feasible_with(r, t0, fmin(2 * e, FRE_PRIVACY_EPSILON_MAX)))
        e *= 2;
    for (up = fre_advice_nice(e * 1.02, true);
         e < FRE_PRIVACY_EPSILON_MAX && up <= FRE_PRIVACY_EPSILON_MAX && *epsilon <= 0;
         up = fre_advice_nice(up * 1.06, true)) {
        if (feasible_with(r, t0, up))
            *epsilon = up;
    }
}

/* Dummies alone are in the way: the bound and the threshold that would do. */
static fre_status too_many_dummies(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request try = *r;
    fre_advice advice = {.request = r};
    double lo = r->max_dummies, hi = fmax(2 * lo, 1), t;
    char why[120];
    int i;

    for (try.max_dummies = hi; !fre_search_feasible(&try) && hi < 1e17; try.max_dummies = hi) {
        lo = hi;
        hi *= 4;
    }
    for (i = 0; i < 12 && hi > 1.02 * lo; i++) {
        try.max_dummies = sqrt(fmax(lo, 0.1) * hi);
        if (fre_search_feasible(&try))
            hi = try.max_dummies;
        else
            lo = try.max_dummies;
    }
    (void)fre_advice_add(&advice, FRE_LEVER_DUMMIES, fre_advice_nice(hi, true));
    for (t = floor(0.95 * (double)r->threshold); t >= 2 && !feasible_with(r, t, r->epsilon);)
        t = floor(0.95 * t);
    if (t >= 2)
        (void)fre_advice_add(&advice, FRE_LEVER_LESS_THRESHOLD, t);
    (void)snprintf(why, sizeof why,
                   "the dummy reports that hide unreleased tags exceed {max_dummies} %.6g",
                   r->max_dummies);
    return fre_advice_fail(&advice, err, why, "raise it, or lower {threshold}");
}

/* Greatest epsilon at which the table sampler's distance from the exact law, which counts
 * e^epsilon times, stays a small share of delta; without discrete noise any. */
static double table_limit(const fre_plan_request *r)
{
    fre_mechanism m;
    fre_joint_step s = {.eps = 0};

    fre_plan_mechanism(&m, r);
    if (m.noise != FRE_NOISE_DISCRETE)
        return HUGE_VAL;
    return log(0.05 * r->delta / fre_joint_table_gap(&m, &s));
}

static fre_status table_too_coarse(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    fre_mechanism m;
    fre_joint_step s = {.eps = r->epsilon};

    fre_plan_mechanism(&m, r);
    (void)fre_advice_add(&advice, FRE_LEVER_LESS_EPSILON, floor(10 * table_limit(r)) / 10);
    (void)fre_advice_add(&advice, FRE_LEVER_DELTA,
                         fre_advice_nice(40 * fre_joint_table_gap(&m, &s), true));
    return fre_advice_fail(&advice, err,
                           "users' noise is exact to 2^-100 only, too little at this {epsilon} and "
                           "{delta}",
                           "raise {delta} and lower {epsilon}");
}

/* Fewer cells a user, or curious users: half as many, until it does. */
static void fewer(fre_advice *io, const fre_plan_request *r, fre_lever lever, uint32_t now,
                  uint32_t least)
{
    fre_plan_request try = *r;
    uint32_t n;

    for (n = now / 2; n >= least && n > 0; n /= 2) {
        if (lever == FRE_LEVER_CELLS)
            try.cells_per_user = n;
        else
            try.dist.curious = n;
        if (fre_search_feasible(&try)) {
            (void)fre_advice_add(io, lever, n);
            return;
        }
    }
}

/* The threshold, epsilon or whatever else would do. */
static fre_status counts_exceed(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    double threshold, epsilon;
    char why[200];

    suggest(r, &threshold, &epsilon);
    if (threshold <= 0 && epsilon <= 0 && r->sampling_rate <= 0 &&
        fre_search_too_rare(r, fre_p32(fre_search_greatest(r)))) {
        (void)snprintf(why, sizeof why,
                       "{delta} %.6g alone would allow publishing a sampled record outright at "
                       "every sampling rate",
                       r->delta);
        (void)fre_advice_add(&advice, FRE_LEVER_LESS_DELTA, fre_default_delta(r->population));
        return fre_advice_fail(&advice, err, why,
                               "lower {delta} to at most 1/(10 N), N being the population, and "
                               "below 0.01");
    }
    (void)fre_advice_add(&advice, FRE_LEVER_THRESHOLD, threshold);
    (void)fre_advice_add(&advice, FRE_LEVER_EPSILON, epsilon);
    if (r->dist.on && r->dist.curious > 1)
        fewer(&advice, r, FRE_LEVER_CURIOUS, r->dist.curious, 1);
    if (advice.n == 0 && r->cells_per_user > 1)
        fewer(&advice, r, FRE_LEVER_CELLS, r->cells_per_user, 1);
    (void)snprintf(why, sizeof why,
                   "the counts alone exceed {epsilon} %.6g, {delta} %.3g with {threshold} %llu%s",
                   r->epsilon, r->delta, (unsigned long long)r->threshold,
                   r->sampling_rate > 0 ? " at this {sampling_rate}" : " at every sampling rate");
    if (r->noise == FRE_NOISE_DISCRETE && fre_search_feasible(r))
        (void)snprintf(why, sizeof why,
                       "one user's noise would be more than %.0f lattice steps, which nobody can "
                       "draw",
                       FRE_JOINT_STEPS_MAX);
    return fre_advice_fail(&advice, err, why,
                           r->sampling_rate > 0 ? "leave out {sampling_rate}, or raise {threshold} "
                                                  "and {epsilon}"
                                                : "raise {threshold} and {epsilon}, or {delta}");
}

/* Adding or removing a record costs ln(1/(1-p)) whatever else is done. */
static fre_status below_coin(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    uint64_t p32 = fre_p32(r->sampling_rate);
    double least = fre_joint_epsilon_floor(p32, r->adjacency, r->cells_per_user);
    double most = fre_search_greatest(r);
    char why[200], asked[FRE_DIGITS_BYTES], floor_of[FRE_DIGITS_BYTES], p[FRE_DIGITS_BYTES];

    (void)fre_advice_add(&advice, FRE_LEVER_RATE, fre_advice_nice(most, false));
    (void)fre_advice_add(&advice, FRE_LEVER_EPSILON, fre_advice_nice(least, true));
    (void)snprintf(why, sizeof why,
                   "{epsilon} %s is below ln(1/(1-p)) = %s, the least that removing a record "
                   "costs at {sampling_rate} %s",
                   fre_digits_down(asked, 6, r->epsilon), fre_digits_up(floor_of, 6, least),
                   fre_digits_up(p, 6, r->sampling_rate));
    return fre_advice_fail(&advice, err, why, "lower {sampling_rate} and raise {threshold}");
}

static fre_status infeasible(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request free_of_bound = *r;
    fre_joint_step s;

    if (!err)
        return FRE_E_INFEASIBLE;
    if (r->sampling_rate > 0 &&
        fre_joint_step_init(&s, fre_p32(r->sampling_rate), r->epsilon, r->adjacency,
                            r->cells_per_user, r->dist.on, NULL) != FRE_OK)
        return below_coin(r, err);
    if (r->epsilon > table_limit(r))
        return table_too_coarse(r, err);
    free_of_bound.max_dummies = 0;
    if (r->dist.on && r->max_dummies > 0 && !fre_search_feasible(r) &&
        fre_search_feasible(&free_of_bound))
        return too_many_dummies(r, err);
    return counts_exceed(r, err);
}

/* Account of the mechanism with this sigma, written to p.  A curator's is rounded to its lattice;
 * users derive their share from sigma, and the protocol the quantisation from that. */
static fre_status certify(fre_plan *p, double sigma, double split, fre_compose_memory *memory,
                          fre_err *err)
{
    fre_mechanism *m = &p->mechanism;

    m->sigma = fmax(sigma, SIGMA_LEAST);
    if (!m->dist.on) {
        fre_plan_set_lattice(p, sigma);
        fre_plan_round_sigma(p);
    }
    /* Composed losses are remembered by shift: keep that. */
    if (memory && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        split = fmin(split / sigma * m->sigma - m->lattice_step * sqrt((double)m->dim),
                     2 * m->norm_bound);
    if (!memory)
        return fre_joint_delta_at_split(&p->account, m, p->request.epsilon, split, err);
    p->account.worst_cell = m->tau - 1;
    return fre_compose_at_split(&p->account, m, p->request.epsilon, split, memory, err);
}

/* The way to the ln sigma at which ln delta is the aim.  delta falls about thirty times as fast as sigma
 * grows: steps by the last two points' slope, then longer and longer ones as long as all lead the same way; once
 * there is a bracket, which is halved now and then, within that. */
typedef struct approach {
    double x, y, slope;
    double little, enough; /* the bracket; infinite: not yet */
    double longest;
    int steps;
} approach;
#define APPROACH ((approach){.slope = -30, .little = -HUGE_VAL, .enough = HUGE_VAL, .longest = 0.2})

static bool bracketed(const approach *a)
{
    return !isinf(a->little) && !isinf(a->enough);
}

static double step_to(approach *a, double x, double y, double aim)
{
    double to;

    if (a->steps++ > 0 && fabs(x - a->x) > 1e-6)
        a->slope = fmax(-3000, fmin(-5, (y - a->y) / (x - a->x)));
    a->x = x;
    a->y = y;
    if (y > aim)
        a->little = fmax(a->little, x);
    else
        a->enough = fmin(a->enough, x);
    to = x + fmax(-a->longest, fmin(a->longest, (aim - y) / a->slope));
    if (!bracketed(a)) {
        if (a->steps > 5) {
            a->longest *= 2;
            to = x + copysign(a->longest, to - x);
        }
        return to;
    }
    if (a->steps % 4 == 0 || !(to > a->little && to < a->enough))
        to = (a->little + a->enough) / 2;
    return to;
}

/* The search's estimates are coarse.  Steps to where the estimated delta is just below what padding
 * and slips leave of the target; the split is the best one there. */
static void adjust(fre_choice *c, const fre_plan *p)
{
    const fre_plan_request *r = &p->request;
    fre_joint_place at = FRE_JOINT_NOWHERE;
    approach by = APPROACH;
    fre_mechanism m = p->mechanism;
    double delta, room, floor = FRE_PLAN_SIGMA_LEAST * m.cell_edge;
    fre_joint_step s;
    int i;

    if (r->sensitivity != FRE_SENSITIVITY_PROBABILISTIC ||
        fre_joint_step_init(&s, c->p32, r->epsilon, r->adjacency, r->cells_per_user, r->dist.on,
                            NULL) != FRE_OK)
        return;
    room = r->delta - s.weight * (s.scale * fre_joint_padding(&m.dist, s.eps) +
                                  fre_joint_table_gap(&m, &s) + m.dist.phi);
    for (i = 0; i < 16; i++) {
        m.sigma = c->sigma;
        c->split = fre_joint_best_split(&m, &s, &at, &delta);
        delta = log(delta / room);
        /* NaN: settle_sigma says what is wrong. */
        if (!(fabs(delta) > 0.01) || (delta < 0 && c->sigma <= floor))
            return;
        c->sigma = fmax(exp(step_to(&by, log(c->sigma), delta, -0.003)), floor);
    }
}

/* Least sigma near the estimate whose certified delta meets the target, within .6 per cent of
 * delta, a few ten-thousandths of sigma. */
static fre_status settle_sigma(fre_plan *p, const fre_choice *c, fre_compose_memory *memory,
                               fre_err *err)
{
    /* A little is left for whoever recomputes the account at another split. */
    double close = c->composed ? 0.981 : 0.985, most = 0.995;
    bool scaled = c->composed && p->request.sensitivity == FRE_SENSITIVITY_PROBABILISTIC;
    double want = p->request.delta, log_sigma = log(c->sigma), least = HUGE_VAL;
    const double floor = fmax(FRE_PLAN_SIGMA_LEAST * p->mechanism.cell_edge, SIGMA_LEAST);
    fre_plan at = *p, best = *p;
    approach by = APPROACH;
    int i;

    for (i = 0; i < 40 && !(at.account.delta <= most * want && at.account.delta > close * want);
         i++) {
        double split = scaled ? c->split * exp(log_sigma) / c->sigma : c->split;
        fre_status st = certify(&at, exp(log_sigma), split, c->composed ? memory : NULL, err);

        if (st != FRE_OK)
            return st;
        if (at.account.delta <= want && at.mechanism.sigma < least) {
            best = at;
            least = at.mechanism.sigma;
        }
        /* Where delta has a step there, or noise hardly matters, that is good enough. */
        if (!isinf(least) && (i >= 12 || by.enough - by.little < 1e-4 || least <= floor))
            break;
        log_sigma = fmax(log(floor), step_to(&by, log_sigma, log(at.account.delta),
                                             log((close + most) / 2 * want)));
    }
    if (isinf(least))
        return FRE_E_INFEASIBLE;
    *p = best;
    return FRE_OK;
}

void fre_plan_choose(fre_plan *p, const fre_choice *c)
{
    p->mechanism.p32 = c->p32;
    p->mechanism.tau = fre_tau(c->p32, p->request.threshold);
    p->mechanism.dist = c->dist;
    p->mechanism.proj = c->proj;
    p->mechanism.cell_edge = fre_plan_cell_edge(&p->request, c->proj);
}

/* The noise of what was chosen: at the best split, or in default of that at the diameter. */
static fre_status settle(fre_plan *p, fre_choice *c, fre_err *err)
{
    fre_compose_memory memory = {.reach = p->request.epsilon,
                                 .least = 1e-6 * p->request.delta / p->request.cells_per_user};
    fre_status st = FRE_E_INFEASIBLE;

    fre_plan_choose(p, c);
    if (!fre_plan_counts_hold(p, c->composed ? &memory : NULL)) {
        fre_compose_forget(&memory);
        return st;
    }
    if (!c->composed)
        adjust(c, p);
    st = settle_sigma(p, c, &memory, err);
    if (st == FRE_OK && fre_joint_steps(&p->mechanism, p->account.split) > FRE_JOINT_STEPS_MAX)
        st = FRE_E_INFEASIBLE;
    if (st == FRE_E_INFEASIBLE && fre_plan_nobody_far(p, c->composed ? &memory : NULL))
        st = FRE_OK;
    fre_compose_forget(&memory);
    return st;
}

fre_status fre_plan_joint(fre_plan *p, fre_err *err)
{
    fre_plan at = *p;
    fre_choice c;
    fre_status st = FRE_E_INFEASIBLE;

    if (fre_search_all(&c, &at))
        st = settle(&at, &c, err);
    if (st == FRE_E_INFEASIBLE) {
        at = *p;
        if (!fre_plan_spare(&at) || !fre_plan_nobody_far(&at, NULL))
            return infeasible(&p->request, err);
        st = FRE_OK;
    }
    if (st == FRE_OK)
        *p = at;
    return st;
}

/* ---- all together ------------------------------------------------------------------------- */

/* epsilon = infinity: everybody counts and nothing is added. */
static void plan_without_privacy(fre_plan *p)
{
    const fre_plan_request *r = &p->request;

    p->mechanism.p32 = r->sampling_rate > 0 ? fre_p32(r->sampling_rate) : FRE_P_ONE;
    if (p->mechanism.p32 == 0)
        p->mechanism.p32 = 1;
    p->mechanism.tau = fre_tau(p->mechanism.p32, r->threshold);
    p->mechanism.proj = r->proj > 0 ? r->proj : 20;
    p->mechanism.cell_edge = fre_plan_cell_edge(r, p->mechanism.proj);
    p->mechanism.lattice_step = 0x1p-20;
    p->account.epsilon = p->joint_epsilon = p->worst_case_epsilon = HUGE_VAL;
    p->account.delta = p->account.delta_released = 1;
    fre_plan_warn(p, "NOT PRIVATE: epsilon is infinite, no noise is added.");
}

static double epsilon_of(const fre_plan *p, fre_sensitivity kind)
{
    fre_mechanism m = p->mechanism;
    fre_account a;

    m.sensitivity = kind;
    return fre_joint_epsilon(&a, &m, p->request.delta, NULL) == FRE_OK ? a.epsilon : HUGE_VAL;
}

static void common_warnings(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    const char *weak = fre_delta_warning(p->request.delta, p->request.population);

    if (weak)
        fre_plan_warn(p, weak);
    if (p->request.population < p->request.threshold)
        fre_plan_warn(p, "The population bound is below the threshold: no cell can hold enough "
                         "users, and nothing can be released; lower {threshold}.");
    if (p->request.epsilon > 10)
        fre_plan_warn(p, "epsilon is above 10: the guarantee is weak.");
    if (m->sigma * sqrt((double)m->dim) > (double)m->tau * p->request.norm_bound)
        fre_plan_warn(p, "The noise of the smallest released centroid is longer than an "
                         "embedding: raise {threshold} or {epsilon}.");
    if ((double)m->p32 / (double)FRE_P_ONE * m->cells_per_user <= 100 * p->request.delta)
        fre_plan_warn(p, "The sampling rate is so low that delta alone would allow publishing a "
                         "sampled record outright: raise {sampling_rate} or lower {delta}.");
    if (m->tau < 5)
        fre_plan_warn(p, "The threshold on sampled counts is below 5: centroids are averages of "
                         "very few records.");
}

static void fill_distributed(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    double beta;

    p->expected_dummies = fre_expected_dummies(m);
    if (p->request.accountant == FRE_ACCOUNTANT_JOINT) {
        p->sigma_local = fre_sigma_local(m, m->tau);
        if (m->noise == FRE_NOISE_DISCRETE)
            fre_joint_ddg(&p->ddg, &beta, m, p->account.split);
    }
    if (p->expected_dummies > (double)p->request.population)
        fre_plan_warn(p, "There will be more dummy reports than users: lower {threshold} or raise "
                         "{epsilon}, or bound them by {max_dummies}.");
    if (m->noise == FRE_NOISE_CONTINUOUS)
        fre_plan_warn(p, "Continuous noise is an idealisation in the distributed mode, where users "
                         "add discrete noise: plan with {noise} discrete before a collection.");
}

/* The request, checked, and what it fixes of the mechanism. */
static fre_status begin(fre_plan *p, const fre_plan_request *r, fre_err *err)
{
    fre_status st;

    memset(p, 0, sizeof *p);
    p->request = *r;
    if (fpclassify(r->delta) == FP_ZERO)
        p->request.delta = fre_default_delta(r->population);
    st = check_request(&p->request, err);
    if (st == FRE_OK)
        fre_plan_mechanism(&p->mechanism, &p->request);
    return st;
}

bool fre_plan_tried(const fre_plan_request *r)
{
    fre_plan p;

    if (begin(&p, r, NULL) != FRE_OK)
        return false;
    return r->accountant == FRE_ACCOUNTANT_PAPER ? fre_plan_paper(&p, NULL) == FRE_OK
                                                 : fre_plan_spare(&p);
}

fre_status fre_plan_make(fre_plan *out, const fre_plan_request *r, fre_err *err)
{
    fre_plan p;
    fre_status st = begin(&p, r, err);

    if (st != FRE_OK)
        return st;
    if (isinf(r->epsilon)) {
        plan_without_privacy(&p);
        *out = p;
        return FRE_OK;
    }
    st = r->accountant == FRE_ACCOUNTANT_PAPER ? fre_plan_paper(&p, err) : fre_plan_joint(&p, err);
    if (st != FRE_OK)
        return st;
    p.joint_epsilon = r->epsilon;
    if (r->accountant == FRE_ACCOUNTANT_PAPER)
        p.joint_epsilon = epsilon_of(&p, r->sensitivity);
    p.worst_case_epsilon = r->sensitivity == FRE_SENSITIVITY_WORST_CASE
                               ? p.joint_epsilon
                               : epsilon_of(&p, FRE_SENSITIVITY_WORST_CASE);
    if (r->dist.on)
        fill_distributed(&p);
    common_warnings(&p);
    *out = p;
    return FRE_OK;
}
