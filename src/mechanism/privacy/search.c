/* The planner's search, by estimates: it only proposes (p, k, split, sigma); the plan is then
 * certified for the exact mechanism.
 *
 * heavy depends on a distance in units of sigma, mu, and on neither k nor sigma, so it is tabulated once a
 * rate over mu and n.  A choice of mu for the split fixes what heavy takes; sigma is the least at which
 * the far members, at larger mu, cost no more than what is left. */
#include <math.h>

#include "compose.h"
#include "heavy.h"
#include "joint.h"
#include "plan.h"
#include "privacy_private.h"

#define SHIFTS FRE_COMPOSE_NODES /* values of mu ... */
#define SHIFT_STEP 0.1           /* ... evenly spaced in ln mu */
#define SPLITS 12                /* the first of them serve as splits */
#define SIZES 16                 /* numbers n of members: some from tau on ... */
#define SIZES_CLOSE 5 /* ... and these at the peak of the counts alone, which can be narrow */

typedef struct rate_table {
    fre_mechanism m; /* proj and cell_edge change with k */
    fre_joint_step step;
    double room;                     /* for heavy and far together */
    double log_mu;                   /* ln of the first mu */
    double peak[SHIFTS];             /* sup_n heavy(n; mu) */
    double log_cost[SPLITS][SHIFTS]; /* ln sup_n (heavy(n; mu) - heavy(n; split))/n */
} rate_table;

/* ---- heavy, tabulated --------------------------------------------------------------------- */

static void heavy_of(fre_heavy *h, const rate_table *t, double log_mu)
{
    fre_heavy_init(h, t->step.eps, t->step.p, fre_joint_tau(&t->m), exp(log_mu));
    h->tolerance = FRE_HEAVY_ESTIMATE;
    h->rho = t->m.noise == FRE_NOISE_DISCRETE ? exp(2 * log_mu) / 2 : 0;
}

/* ln mu at which heavy alone takes all the room, from below, by bisection between powers; *peak: the n where
 * it does. */
static double greatest_shift(double *peak, const rate_table *t)
{
    double lo = -20, hi = 10, n = -1;
    fre_heavy h;

    while (hi - lo > 0.01) {
        double mid = (lo + hi) / 2;

        heavy_of(&h, t, mid);
        if (fre_heavy_peak(&h, &n) < t->room)
            lo = mid;
        else
            hi = mid;
    }
    *peak = n;
    return lo;
}

static void choose_sizes(double size[SIZES], const fre_heavy *h, double peak)
{
    static const double beside[SIZES_CLOSE] = {-1, 0, 1, 2, 4};
    double last = fre_heavy_far_n(h), step = fmax(1, floor(0.05 * sqrt(h->tau) / h->p));
    int j, even = SIZES - SIZES_CLOSE;

    for (j = 0; j < even; j++)
        size[j] = ceil(h->tau + (last - h->tau) * j * j / ((even - 1) * (even - 1)));
    for (j = 0; j < SIZES_CLOSE; j++)
        size[even + j] = fmax(h->tau, peak + beside[j] * step);
}

static void tabulate(rate_table *t)
{
    double heavy[SHIFTS][SIZES], size[SIZES], n = -1, peak;
    int i, j, k;
    fre_heavy h;

    t->log_mu = greatest_shift(&peak, t) - (SPLITS - 1) * SHIFT_STEP;
    heavy_of(&h, t, t->log_mu);
    choose_sizes(size, &h, peak);
    for (i = 0; i < SHIFTS; i++) {
        heavy_of(&h, t, t->log_mu + i * SHIFT_STEP);
        for (j = 0; j < SIZES; j++)
            heavy[i][j] = fre_heavy_at(&h, size[j]);
        t->peak[i] = i < SPLITS ? fre_heavy_peak(&h, &n) : 1;
    }
    for (i = 0; i < SPLITS; i++) {
        for (k = 0; k < SHIFTS; k++) {
            double most = 0;

            for (j = 0; j < SIZES; j++)
                most = fmax(most, (heavy[k][j] - heavy[i][j]) / size[j]);
            t->log_cost[i][k] = log(most + FRE_PRIVACY_TINY);
        }
    }
}

/* ---- several cells a user ----------------------------------------------------------------- */

/* Do the counts alone exceed the target: of one cell, which is cheap to tell, or of all? */
static bool counts_exceed(const fre_pld_cell *cell, uint32_t cells, const fre_plan_request *r,
                          double least)
{
    fre_pld_cell alone = *cell;
    bool exceed = true;
    fre_pld d;

    alone.mu = 0;
    if (fre_pld_compose(&d, &alone, 1, r->epsilon, least, FRE_PLD_ESTIMATE, NULL) != FRE_OK)
        return true;
    exceed = fre_pld_delta(&d, r->epsilon) > r->delta;
    fre_pld_wipe(&d);
    if (exceed ||
        fre_pld_compose(&d, &alone, cells, r->epsilon, least, FRE_PLD_ESTIMATE, NULL) != FRE_OK)
        return true;
    exceed = fre_pld_delta(&d, r->epsilon) > r->delta;
    fre_pld_wipe(&d);
    return exceed;
}

/* ln mu at which the composed delta is the whole target, from estimates; NaN: the counts alone exceed it. */
static double composed_shift(const fre_mechanism *m, const fre_plan_request *r, double least)
{
    fre_pld_cell cell = {
        .p = (double)m->p32 / (double)FRE_P_ONE, .tau = (double)m->tau, .adjacency = m->adjacency};
    double x = -1, slope = 10, before = 0, last = 0;
    int i;

    if (counts_exceed(&cell, m->cells_per_user, r, least))
        return (double)NAN;
    for (i = 0; i < 14 && x > -8; i++) {
        double excess = 1;
        fre_pld d;

        cell.mu = exp(x);
        if (fre_pld_compose(&d, &cell, m->cells_per_user, r->epsilon, least, FRE_PLD_ESTIMATE,
                            NULL) == FRE_OK) {
            excess = log(fre_pld_delta(&d, r->epsilon) / r->delta);
            fre_pld_wipe(&d);
        }
        if (fabs(excess) < 0.05)
            return x;
        if (i > 0 && fabs(x - last) > 1e-9)
            slope = fmax(0.5, (excess - before) / (x - last));
        last = x;
        before = excess;
        x += fmax(-1, fmin(1, -excess / slope));
    }
    return (double)NAN;
}

/* The same table from composed losses: Psi in place of heavy. */
static bool compose_init(rate_table *t, const fre_plan *p, uint64_t p32)
{
    const fre_plan_request *r = &p->request;
    double psi[SHIFTS], least = 1e-6 * r->delta / r->cells_per_user, most;
    fre_compose_table c;
    int i, k;

    t->m = p->mechanism;
    t->m.p32 = p32;
    t->m.tau = fre_tau(p32, r->threshold);
    if (fre_joint_step_init(&t->step, p32, r->epsilon, r->adjacency, r->cells_per_user, false,
                            NULL) != FRE_OK)
        return false;
    most = composed_shift(&t->m, r, least);
    t->log_mu = most - (SPLITS - 1) * SHIFT_STEP;
    t->room = r->delta;
    if (isnan(most) ||
        fre_compose_tabulate(&c, &t->m, t->log_mu, SHIFT_STEP, r->epsilon, least, NULL) != FRE_OK)
        return false;
    fre_compose_psi(psi, &c, r->epsilon);
    fre_compose_wipe(&c);
    for (i = 0; i < SHIFTS; i++) {
        t->peak[i] = psi[i];
        for (k = 0; k < SHIFTS && i < SPLITS; k++)
            t->log_cost[i][k] = log(
                fmax(psi[k] - psi[i], 0) * r->cells_per_user / (double)t->m.tau + FRE_PRIVACY_TINY);
    }
    return true;
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
    h.tolerance = FRE_HEAVY_ESTIMATE;
    *base = fre_heavy_peak(&h, &n);
    slips = m->noise == FRE_NOISE_DISCRETE ? m->dist.phi + fre_joint_table_gap(m, s) : 0;
    return (r->delta / s->weight - s->excess - slips) / s->scale - *base -
           fre_joint_padding(&m->dist, s->eps);
}

static bool table_init(rate_table *t, const fre_plan *p, uint64_t p32)
{
    double base = 0;

    t->m = p->mechanism;
    t->room = room_at(&t->m, &t->step, &base, &p->request, p32);
    if (!(t->room > 1e-3 * base) || !(t->room > 0))
        return false;
    t->room += base;
    tabulate(t);
    return true;
}

/* ln of what rounding adds to a distance: 4 % at the protocol's quantisation. */
static double rounding(const fre_mechanism *m)
{
    return m->noise == FRE_NOISE_DISCRETE ? 0.042 : 0;
}

/* ln of the far members' cost at the i-th split: the largest of the nodes beyond it, with the top of
 * the parabola through it and its neighbours. */
static double log_far(const rate_table *t, int i, double log_sigma)
{
    double most = log(fre_joint_diameter(&t->m)), v[SHIFTS], top = -HUGE_VAL, bend;
    int k, at = i;

    for (k = i; k < SHIFTS; k++) {
        double x = t->log_mu + k * SHIFT_STEP + log_sigma - rounding(&t->m);

        v[k] = x <= most ? t->log_cost[i][k] + log((double)t->m.population) +
                               fre_privacy_log_collision(&t->m.sketch.grid, exp(x))
                         : -HUGE_VAL;
        if (k > i && v[k] > top) {
            top = v[k];
            at = k;
        }
    }
    if (at <= i + 1 || at + 1 >= SHIFTS || isinf(v[at + 1]))
        return top;
    bend = v[at - 1] - 2 * v[at] + v[at + 1];
    return bend < -1e-9 ? top - (v[at + 1] - v[at - 1]) * (v[at + 1] - v[at - 1]) / (8 * bend)
                        : top;
}

/* ln of the least sigma at the i-th split. */
static double log_sigma(const rate_table *t, int i)
{
    double left = t->room - t->peak[i], mu = t->log_mu + i * SHIFT_STEP;
    double lo = log(FRE_PLAN_SIGMA_LEAST * t->m.sketch.grid.cell_edge), hi;

    hi = fmin(log(fre_joint_diameter(&t->m)) + rounding(&t->m) - mu, 40); /* nobody is far */
    if (!(left > 0))
        return hi;
    while (hi - lo > 1e-4) {
        double mid = (lo + hi) / 2;

        if (log_far(t, i, mid) > log(left))
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* The split with the least sigma: sigma has one valley over the splits. */
static void best_share(fre_choice *out, const rate_table *t)
{
    double least = HUGE_VAL;
    int i, at = 0;

    for (i = SPLITS - 1; i >= 0; i--) {
        double s = log_sigma(t, i);

        if (s > least + 1e-3)
            break;
        at = s < least ? i : at;
        least = fmin(s, least);
    }
    out->sigma = exp(least);
    out->split = exp(t->log_mu + at * SHIFT_STEP + least - rounding(&t->m));
}

bool fre_search_rate(fre_choice *out, const fre_plan *p, uint64_t p32, uint32_t proj)
{
    bool worst = p->request.sensitivity == FRE_SENSITIVITY_WORST_CASE;
    uint32_t k = proj > 0 ? proj : FRE_PLAN_K_LEAST, last = proj > 0 ? proj : FRE_PLAN_K_MOST;
    rate_table t;
    fre_choice best = {.p32 = p32, .proj = k, .sigma = HUGE_VAL};

    best.composed =
        p->request.cells_per_user > 1 && !p->request.dist.on && compose_init(&t, p, p32);
    if (!best.composed && !table_init(&t, p, p32))
        return false;
    best.dist = t.m.dist;
    if (worst) { /* nothing but heavy, and k plays no part: the paper's when it is open */
        best.proj = proj > 0 ? proj : 20;
        best.split = 2 * p->request.norm_bound;
        best.sigma = best.split * exp(rounding(&t.m) - t.log_mu - (SPLITS - 1) * SHIFT_STEP);
        *out = best;
        return true;
    }
    for (; k <= last; k++) {
        fre_choice at = best;

        at.proj = k;
        t.m.sketch.grid = fre_plan_grid(&p->request, k);
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
    /* The best rate hardly depends on k. */
    uint32_t proj = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_MOST;
    fre_choice at;
    uint64_t p32;

    if (!(rate > 0) || rate > greatest)
        return found;
    p32 = fre_search_snap(rate, greatest, p->request.threshold);
    if (fre_search_too_rare(&p->request, p32) || !fre_search_rate(&at, p, p32, proj))
        return found;
    if (!found || score(&at) < score(best))
        *best = at;
    return true;
}

bool fre_search_all(fre_choice *out, const fre_plan *p)
{
    bool several = p->request.cells_per_user > 1 && !p->request.dist.on; /* takes longer a rate */
    int parts = several ? 5 : 10, halvings = several ? 2 : 4, i;
    double greatest = fre_search_greatest(&p->request), step = greatest / parts;
    fre_choice best = {.p32 = 0};
    bool found = false;

    if (p->request.sampling_rate > 0)
        return fre_search_rate(out, p, fre_p32(p->request.sampling_rate), p->request.proj);
    if (!several) {
        found = try_rate(&best, found, p, 0.02 * greatest, greatest);
        found = try_rate(&best, found, p, 0.05 * greatest, greatest);
    }
    for (i = 1; i <= parts; i++)
        found = try_rate(&best, found, p, i * step * (1 - 1e-9), greatest);
    for (i = 8; i <= 32 && !found; i *= 2) /* where fre_search_feasible looks, too */
        found = try_rate(&best, found, p, greatest / i, greatest);
    for (i = 0; i < halvings && found; i++) {
        double at = (double)best.p32 / (double)FRE_P_ONE;

        step /= 2;
        found = try_rate(&best, found, p, at - step, greatest);
        found = try_rate(&best, found, p, at + step, greatest);
    }
    if (found && p->request.proj == 0)
        found = fre_search_rate(&best, p, best.p32, 0);
    if (found)
        *out = best;
    return found;
}

/* The greatest rate first, then every tenth of it, then an eighth and less. */
bool fre_search_spare(fre_mechanism *out, const fre_plan_request *r)
{
    double greatest = fre_search_greatest(r);
    int i;

    for (i = 0; i <= 12; i++) {
        double rate = i < 10 ? greatest * (10 - i) / 10 * (1 - 1e-9) : greatest / (8 << (i - 10));
        uint64_t p32 = fre_search_snap(rate, greatest, r->threshold);
        fre_joint_step s;
        double base = 0, room;

        if (r->sampling_rate > 0)
            p32 = fre_p32(r->sampling_rate);
        else if (fre_search_too_rare(r, p32))
            continue;
        fre_plan_mechanism(out, r);
        room = room_at(out, &s, &base, r, p32);
        if (room > base && room > 0)
            return true;
        if (r->sampling_rate > 0)
            return false;
    }
    return false;
}

bool fre_search_feasible(const fre_plan_request *r)
{
    fre_mechanism m;

    return fre_search_spare(&m, r);
}
