/* A user in several cells: delta <= H(composed cells) + c p far, the first from the losses of one
 * cell whose replaced point is at most `split` away, the second for all others (docs/privacy.md,
 * "Several records a user"). */
#include "compose.h"

#include <math.h>

#include "joint.h"
#include "pld.h"
#include "special.h"

static double rate(const fre_mechanism *m)
{
    return (double)m->p32 / (double)FRE_P_ONE;
}

bool fre_composes(const fre_mechanism *m)
{
    return m->cells_per_user > 1 && !m->dist.on && m->p32 < FRE_P_ONE;
}

static fre_status losses(fre_pld *out, const fre_mechanism *m, double split, double reach,
                         double least, bool certified, fre_err *err)
{
    /* Nearest lattice points may be beta sqrt(d) farther apart. */
    double reached = split + m->lattice_step * sqrt((double)m->dim);
    const fre_pld_cell cell = {
        .p = rate(m), .tau = (double)m->tau, .mu = reached / m->sigma, .adjacency = m->adjacency};

    return fre_pld_compose(out, &cell, m->cells_per_user, reach, least, certified, err);
}

static double far_part(const fre_mechanism *m, double split)
{
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return 0;
    return m->cells_per_user * rate(m) * exp(fmin(0, fre_joint_log_far(m, split))) *
               (1 + FRE_PRIVACY_MARGIN) +
           FRE_PRIVACY_TINY;
}

static void fill(fre_account *io, const fre_pld *d, const fre_mechanism *m, double epsilon,
                 double split)
{
    double released = fre_pld_delta(d, epsilon), far = far_part(m, split), total = released + far;

    io->epsilon = epsilon;
    io->split = split;
    io->by_pld = true;
    io->delta_released = total > 1 ? released / total : released;
    io->delta_far = total > 1 ? 1 - released / total : far;
    io->delta_unreleased = 0;
    io->delta = fmin(1, total);
}

fre_status fre_compose_at_split(fre_account *io, const fre_mechanism *m, double epsilon,
                                double split, bool certified, fre_err *err)
{
    fre_pld d;
    fre_status st = losses(&d, m, split, epsilon, FRE_PLD_LEAST, certified, err);

    if (st != FRE_OK)
        return st;
    fill(io, &d, m, epsilon, split);
    fre_pld_wipe(&d);
    return FRE_OK;
}

double fre_compose_split(const fre_mechanism *m, double delta, double share)
{
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return 2 * m->norm_bound;
    return fre_joint_split_at(m, log(fmin(1, share * delta / (m->cells_per_user * rate(m)))));
}

/* Shares of delta that the far members may take: the best is flat. */
static const double shares[] = {0.1, 0.3, 0.6};
#define N_SHARES (sizeof shares / sizeof shares[0])

/* Where an estimate is looked for. */
typedef struct balance {
    const fre_mechanism *m;
    double epsilon;
    fre_account at; /* the last one */
    fre_status st;
    fre_err *err;
} balance;

static double weigh(void *ctx, double log_split)
{
    balance *b = ctx;

    if (b->st == FRE_OK)
        b->st = fre_compose_at_split(&b->at, b->m, b->epsilon, exp(log_split), false, b->err);
    return b->at.delta;
}

/* A larger split means a larger shift and rarer far members: their sum is least close to where the
 * two cross.  Bisection to the crossing, golden section around it. */
static fre_status better_split(double *split, const fre_mechanism *m, double epsilon, fre_err *err)
{
    balance w = {.m = m, .epsilon = epsilon, .st = FRE_OK, .err = err};
    double lo = log(fre_joint_split_at(m, 0)), hi = log(fre_joint_split_at(m, -690));
    fre_bracket g;

    while (hi - lo > 0.03 && w.st == FRE_OK) {
        double mid = (lo + hi) / 2;

        (void)weigh(&w, mid);
        if (w.at.delta_far > w.at.delta_released)
            lo = mid;
        else
            hi = mid;
    }
    g = fre_privacy_narrow(weigh, &w, lo - 0.03, hi + 0.03, 0.004);
    *split = exp(g.at_a < g.at_b ? g.a : g.b);
    return w.st;
}

fre_status fre_compose_improve(fre_account *io, const fre_mechanism *m, double epsilon, bool best,
                               fre_err *err)
{
    fre_account a = *io;
    double split = io->split;
    fre_status st = FRE_OK;

    if (best && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        st = better_split(&split, m, epsilon, err);
    if (st == FRE_OK)
        st = fre_compose_at_split(&a, m, epsilon, split, true, err);
    if (st == FRE_OK && a.delta < io->delta)
        *io = a;
    return st;
}

/* Least epsilon in least..most with delta within the target; most if there is none. */
static double solve(const fre_pld *d, double far, double delta, double least, double most)
{
    double lo = least, hi = most;
    int i;

    if (fre_pld_delta(d, lo) + far <= delta)
        return lo;
    for (i = 0; i < 50 && hi - lo > 1e-7 * hi; i++) {
        double mid = (lo + hi) / 2;

        if (fre_pld_delta(d, mid) + far <= delta)
            hi = mid;
        else
            lo = mid;
    }
    return hi;
}

fre_status fre_compose_epsilon(fre_account *out, const fre_mechanism *m, double delta, double least,
                               double most, fre_err *err)
{
    bool worst = m->sensitivity == FRE_SENSITIVITY_WORST_CASE;
    double best = most, split = fre_compose_split(m, delta, shares[1]), far;
    double least_chance = 1e-6 * delta / m->cells_per_user;
    fre_account a = {.worst_cell = m->tau - 1};
    fre_status st = FRE_OK;
    fre_pld d;
    size_t i;

    for (i = 0; i < N_SHARES && !worst && st == FRE_OK; i++) {
        double at = fre_compose_split(m, delta, shares[i]), epsilon;

        st = losses(&d, m, at, most, least_chance, false, err);
        if (st != FRE_OK)
            break;
        epsilon = solve(&d, far_part(m, at), delta, least, most);
        fre_pld_wipe(&d);
        if (epsilon < best) {
            best = epsilon;
            split = at;
        }
    }
    if (st == FRE_OK)
        st = losses(&d, m, split, most, least_chance, true, err);
    if (st != FRE_OK)
        return st;
    far = far_part(m, split);
    fill(&a, &d, m, solve(&d, far, delta, least, most), split);
    fre_pld_wipe(&d);
    if (a.delta > delta)
        return FRE_E_INFEASIBLE;
    *out = a;
    return FRE_OK;
}
