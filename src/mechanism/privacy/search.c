/* The planner's search, by estimates: it only proposes (p, k, split, sigma); the plan is then
 * certified for the exact mechanism.
 *
 * At a rate p the budget delta/weight is divided between heavy, which fixes mu, and the far
 * members, which fix the split; sigma = split/mu.  mu does not depend on k, so it is tabulated
 * once a rate over the share given to heavy and interpolated. */
#include <math.h>

#include "heavy.h"
#include "joint.h"
#include "planning.h"
#include "special.h"

#define NODES 6

typedef struct rate_table {
    fre_mechanism m; /* proj and cell_edge change with k */
    fre_joint_step step;
    double room;             /* budget of heavy and far together, above heavy at mu = 0 */
    double log_share[NODES]; /* ln of the share of room that heavy gets */
    double log_mu[NODES];
} rate_table;

/* ---- mu of a given heavy ------------------------------------------------------------------ */

static double log_heavy(const rate_table *t, double log_mu, double *n)
{
    fre_curve curve;
    fre_heavy h;

    fre_heavy_init(&h, t->step.eps, t->step.p, fre_joint_tau(&t->m), exp(log_mu));
    if (t->m.noise == FRE_NOISE_DISCRETE) {
        fre_curve_init(&curve, exp(2 * log_mu) / 2, t->step.eps, FRE_CURVE_COARSE);
        h.curve = &curve;
    }
    return log(fre_heavy_peak(&h, n) + 1e-300);
}

/* ln mu with ln heavy(mu) = log_target, by the Illinois method from a guess. */
static double solve_mu(const rate_table *t, double log_target, double guess, double *n)
{
    double lo = guess - 0.2, hi = guess + 0.2;
    double at_lo = log_heavy(t, lo, n) - log_target, at_hi = log_heavy(t, hi, n) - log_target;
    int i, side = 0;

    while (at_lo > 0 && lo > -20) {
        hi = lo;
        at_hi = at_lo;
        lo -= 0.7;
        at_lo = log_heavy(t, lo, n) - log_target;
    }
    while (at_hi < 0 && hi < 10) {
        lo = hi;
        at_lo = at_hi;
        hi += 0.7;
        at_hi = log_heavy(t, hi, n) - log_target;
    }
    for (i = 0; i < 40 && hi - lo > 1e-5 && at_lo < 0 && at_hi > 0; i++) {
        double mid = i % 5 == 4 ? (lo + hi) / 2 : lo + (hi - lo) * at_lo / (at_lo - at_hi);
        double at = log_heavy(t, mid, n) - log_target;

        if (fabs(at) < 1e-4)
            return mid;
        if (at < 0) {
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
    return lo;
}

/* ---- one rate ----------------------------------------------------------------------------- */

/* Room left for heavy (above its value at mu = 0) and far members; <= 0: none. */
static double room_at(fre_mechanism *m, fre_joint_step *s, double *base, const fre_plan_request *r,
                      uint64_t p32)
{
    fre_heavy h;
    double n = -1, slips;

    m->p32 = p32;
    m->tau = fre_tau(p32, r->threshold);
    if (p32 < 1 || p32 >= FRE_P_ONE ||
        fre_joint_step_init(s, p32, r->epsilon, r->adjacency, r->cells_per_user, r->dist.on,
                            NULL) != FRE_OK)
        return -1;
    if (m->dist.on && !fre_plan_padding(&m->dist, r, s, m->tau))
        return -1;
    fre_heavy_init(&h, s->eps, s->p, fre_joint_tau(m), 0);
    *base = fre_heavy_peak(&h, &n);
    slips = m->noise == FRE_NOISE_DISCRETE ? m->dist.phi + fre_joint_table_gap(m, s) : 0;
    return (r->delta / s->weight - s->excess - slips) / s->scale - *base -
           fre_joint_padding(&m->dist, s->eps);
}

static bool table_init(rate_table *t, const fre_plan *p, uint64_t p32)
{
    static const double shares[NODES] = {0.02, 0.1, 0.3, 0.6, 0.85, 0.98};
    double base = 0, n = -1, guess = 0;
    int i;

    t->m = p->mechanism;
    t->room = room_at(&t->m, &t->step, &base, &p->request, p32);
    if (!(t->room > 1e-3 * base) || !(t->room > 0))
        return false;
    for (i = NODES - 1; i >= 0; i--) {
        t->log_share[i] = log(shares[i]);
        t->log_mu[i] = solve_mu(t, log(base + t->room * shares[i]), guess, &n);
        guess = t->log_mu[i];
    }
    return true;
}

static double interpolate_mu(const rate_table *t, double log_share)
{
    double sum = 0;
    int i, j;

    for (i = 0; i < NODES; i++) {
        double w = t->log_mu[i];

        for (j = 0; j < NODES; j++) {
            if (j != i)
                w *= (log_share - t->log_share[j]) / (t->log_share[i] - t->log_share[j]);
        }
        sum += w;
    }
    return sum;
}

/* ln of what rounding adds to a split: 4 % at the protocol's quantisation. */
static double rounding(const fre_mechanism *m)
{
    return m->noise == FRE_NOISE_DISCRETE ? 0.042 : 0;
}

/* ln sigma when heavy gets exp(log_share) of the room. */
static double log_sigma(const rate_table *t, double log_share, double *log_split)
{
    double far = t->step.scale * t->room * -expm1(log_share);

    *log_split = log(fre_joint_split_at(&t->m, log(far)));
    return *log_split + rounding(&t->m) - interpolate_mu(t, log_share);
}

static double weigh(void *ctx, double log_share)
{
    double split;

    return log_sigma(ctx, log_share, &split);
}

static void best_share(fre_choice *out, rate_table *t)
{
    const fre_bracket g =
        fre_privacy_narrow(weigh, t, t->log_share[0], t->log_share[NODES - 1], 0.02);
    double split;

    out->sigma = exp(log_sigma(t, (g.lo + g.hi) / 2, &split));
    out->split = exp(split);
}

bool fre_search_rate(fre_choice *out, const fre_plan *p, uint64_t p32)
{
    uint32_t k = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_LEAST;
    uint32_t last = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_MOST;
    rate_table t;
    fre_choice best = {.p32 = p32, .proj = k, .sigma = HUGE_VAL};

    if (!table_init(&t, p, p32))
        return false;
    best.dist = t.m.dist;
    if (p->request.sensitivity == FRE_SENSITIVITY_WORST_CASE) {
        /* Nothing but heavy, and k plays no part: the default when it is open. */
        best.proj = p->request.proj > 0 ? p->request.proj : 20;
        best.split = 2 * p->request.norm_bound;
        best.sigma = best.split * exp(rounding(&t.m) - t.log_mu[NODES - 1]);
        *out = best;
        return true;
    }
    for (; k <= last; k++) {
        fre_choice at = {.p32 = p32, .proj = k, .dist = t.m.dist};

        t.m.proj = k;
        t.m.cell_edge = fre_plan_cell_edge(&p->request, k);
        best_share(&at, &t);
        if (at.sigma < best.sigma)
            best = at;
    }
    *out = best;
    return best.sigma < 1e9;
}

/* ---- all rates ---------------------------------------------------------------------------- */

double fre_search_greatest(const fre_plan_request *r)
{
    if (r->adjacency == FRE_ADJACENCY_REPLACE)
        return 1 - 0x1p-32;
    return -expm1(-r->epsilon / r->cells_per_user); /* eps >= ln(1/(1-p)) */
}

uint64_t fre_search_snap(double p, double greatest, uint64_t threshold)
{
    uint64_t p32 = fre_p32(p), tau = fre_tau(p32, threshold), up;

    up = fre_p32(fmin((double)tau / (double)threshold, greatest));
    return fre_tau(up, threshold) == tau ? up : p32;
}

static double score(const fre_choice *c)
{
    return c->sigma / (double)c->p32;
}

/* Sampling so rare that delta alone would let a sampled record be published outright: formally
 * private, and of no use to anyone.  An open rate never goes there. */
bool fre_search_too_rare(const fre_plan_request *r, uint64_t p32)
{
    return (double)p32 / (double)FRE_P_ONE * r->cells_per_user <= 100 * r->delta;
}

static bool try_rate(fre_choice *best, bool found, const fre_plan *p, double rate, double greatest)
{
    fre_choice at;
    uint64_t p32;

    if (!(rate > 0) || rate > greatest)
        return found;
    p32 = fre_search_snap(rate, greatest, p->request.threshold);
    if (fre_search_too_rare(&p->request, p32) || !fre_search_rate(&at, p, p32))
        return found;
    if (!found || score(&at) < score(best))
        *best = at;
    return true;
}

bool fre_search_all(fre_choice *out, const fre_plan *p)
{
    double greatest = fre_search_greatest(&p->request), step = 0.1 * greatest;
    fre_choice best = {.p32 = 0};
    bool found = false;
    int i;

    if (p->request.sampling_rate > 0)
        return fre_search_rate(out, p, fre_p32(p->request.sampling_rate));
    found = try_rate(&best, found, p, 0.02 * greatest, greatest);
    found = try_rate(&best, found, p, 0.05 * greatest, greatest);
    for (i = 1; i <= 10; i++)
        found = try_rate(&best, found, p, i * step * (1 - 1e-9), greatest);
    for (i = 8; i <= 32 && !found; i *= 2) /* where fre_search_feasible looks, too */
        found = try_rate(&best, found, p, greatest / i, greatest);
    for (i = 0; i < 4 && found; i++) {
        double at = (double)best.p32 / (double)FRE_P_ONE;

        step /= 2;
        found = try_rate(&best, found, p, at - step, greatest);
        found = try_rate(&best, found, p, at + step, greatest);
    }
    if (found)
        *out = best;
    return found;
}

bool fre_search_feasible(const fre_plan_request *r)
{
    double greatest = fre_search_greatest(r);
    int i;

    for (i = 0; i <= 12; i++) {
        double rate = i < 10 ? greatest * (10 - i) / 10 * (1 - 1e-9) : greatest / (8 << (i - 10));
        uint64_t p32 = fre_search_snap(rate, greatest, r->threshold);
        fre_mechanism m;
        fre_joint_step s;
        double base = 0, room;

        if (r->sampling_rate > 0)
            p32 = fre_p32(r->sampling_rate);
        else if (fre_search_too_rare(r, p32))
            continue;
        fre_plan_mechanism(&m, r);
        room = room_at(&m, &s, &base, r, p32);
        if (room > base && room > 0)
            return true;
        if (r->sampling_rate > 0)
            return false;
    }
    return false;
}
