/* A user in several cells (docs/privacy.md, "Several records a user").  Psi(D), the composed delta
 * of c cells whose replaced points are all at distance D, grows with D; then
 *   delta <= Psi(split) + c (N/tau) sup_{D > split} pi(D) (Psi(D) - Psi(split)).
 * One cell's cost curve may not be composed: the cells share the projection. */
#include "compose.h"

#include <math.h>
#include <string.h>

#include "joint.h"
#include "special.h"

#define TOLERANCE 0.1 /* of the far members' part, in certificates */
#define SHORTEST 0.02  /* of a piece, in ln D */
#define PIECES_MAX 400

static double rate(const fre_mechanism *m)
{
    return (double)m->p32 / (double)FRE_P_ONE;
}

bool fre_composes(const fre_mechanism *m)
{
    return m->cells_per_user > 1 && !m->dist.on && m->p32 < FRE_P_ONE;
}

/* Shift of two records at a distance; nearest lattice points may be beta sqrt(d) farther apart. */
static double shift(const fre_mechanism *m, double distance)
{
    return (distance + m->lattice_step * sqrt((double)m->dim)) / m->sigma;
}

static fre_status losses(fre_pld *out, const fre_mechanism *m, double mu, double reach,
                         double least, fre_pld_grade grade, fre_err *err)
{
    const fre_pld_cell cell = {
        .p = rate(m), .tau = (double)m->tau, .mu = mu, .adjacency = m->adjacency};

    return fre_pld_compose(out, &cell, m->cells_per_user, reach, least, grade, err);
}

/* ln(c (N/tau) pi(D)). */
static double log_members(const fre_mechanism *m, double distance)
{
    return log(m->cells_per_user) + fre_joint_log_far(m, distance);
}

/* ---- estimates ---------------------------------------------------------------------------- */

fre_status fre_compose_tabulate(fre_compose_table *out, const fre_mechanism *m, double log_mu,
                                double step, double reach, double least, fre_err *err)
{
    fre_status st = FRE_OK;
    size_t i;

    memset(out, 0, sizeof *out);
    out->log_mu = log_mu;
    out->step = step;
    for (i = 0; i < sizeof out->at / sizeof out->at[0] && st == FRE_OK; i++)
        st = losses(&out->at[i], m, exp(log_mu + 3 * (double)i * step), reach, least,
                    FRE_PLD_ESTIMATE, err);
    if (st != FRE_OK)
        fre_compose_wipe(out);
    return st;
}

void fre_compose_psi(double psi[FRE_COMPOSE_NODES], const fre_compose_table *t, double epsilon)
{
    double y[FRE_COMPOSE_NODES / 3 + 1];
    int i, last = FRE_COMPOSE_NODES / 3;

    for (i = 0; i <= last; i++)
        y[i] = log(fre_pld_delta(&t->at[i], epsilon));
    for (i = 0; i < FRE_COMPOSE_NODES; i++) { /* the parabola through three neighbours */
        int at = i / 3 < 1 ? 1 : i / 3 > last - 1 ? last - 1 : (i + 1) / 3;
        double u;

        at = at > last - 1 ? last - 1 : at;
        u = i / 3.0 - at;
        psi[i] = exp(fmin(0, y[at] + u * (y[at + 1] - y[at - 1]) / 2 +
                                 u * u * (y[at + 1] - 2 * y[at] + y[at - 1]) / 2));
    }
}

void fre_compose_wipe(fre_compose_table *t)
{
    size_t i;

    for (i = 0; i < sizeof t->at / sizeof t->at[0]; i++)
        fre_pld_wipe(&t->at[i]);
}

/* A table over the distances that matter: from where half of all pairs share a cell to where far members
 * no longer count, or the diameter. */
static fre_status tabulate_distances(fre_compose_table *out, const fre_mechanism *m, double reach,
                                     fre_err *err)
{
    double lo = fre_joint_split_at(m, log((double)m->population / (double)m->tau) - M_LN2);
    double hi = fmin(fre_joint_diameter(m), fre_joint_split_at(m, -90));
    double step = log(fmax(hi / lo, 1.01)) / (FRE_COMPOSE_NODES - 1);

    return fre_compose_tabulate(out, m, log(shift(m, lo)), step, reach, FRE_PLD_LEAST, err);
}

/* Least estimate over the table's distances as splits; *split: which, *worst: the far member that
 * costs most there. */
static double best_estimate(double *split, const fre_compose_table *t, const fre_mechanism *m,
                            double epsilon)
{
    double psi[FRE_COMPOSE_NODES], members[FRE_COMPOSE_NODES], least = HUGE_VAL;
    double slip = m->lattice_step * sqrt((double)m->dim);
    int i, k;

    fre_compose_psi(psi, t, epsilon);
    for (i = 0; i < FRE_COMPOSE_NODES; i++)
        members[i] = exp(log_members(
            m, fmax(exp(t->log_mu + i * t->step) * m->sigma - slip, 0.5 * m->cell_edge)));
    for (i = 0; i < FRE_COMPOSE_NODES; i++) {
        double far = 0;

        for (k = i + 1; k < FRE_COMPOSE_NODES; k++)
            far = fmax(far, members[k] * (psi[k] - psi[i]));
        if (psi[i] + far < least) {
            least = psi[i] + far;
            *split = fmin(exp(t->log_mu + i * t->step) * m->sigma - slip, fre_joint_diameter(m));
        }
    }
    return least;
}

static fre_status better_split(double *split, const fre_mechanism *m, double epsilon, fre_err *err)
{
    fre_compose_table t;
    fre_status st = tabulate_distances(&t, m, epsilon, err);

    if (st != FRE_OK)
        return st;
    (void)best_estimate(split, &t, m, epsilon);
    fre_compose_wipe(&t);
    return FRE_OK;
}

/* ---- certificates ------------------------------------------------------------------------- */

typedef struct psi_query {
    const fre_mechanism *m;
    double epsilon, split;
    double near; /* Psi at the split, as it is charged */
} psi_query;

/* Psi, whatever is below 1e-3 of `scale` left to its bound. */
static fre_status psi_at(double *out, const psi_query *q, double distance, double scale,
                         fre_pld_grade grade, fre_err *err)
{
    fre_pld d;
    fre_status st =
        losses(&d, q->m, shift(q->m, distance), q->epsilon,
               fmax(1e-3 * scale / q->m->cells_per_user, FRE_PLD_LEAST), grade, err);

    if (st != FRE_OK)
        return st;
    *out = fre_pld_delta(&d, q->epsilon);
    fre_pld_wipe(&d);
    return FRE_OK;
}

/* The far members' part, estimated by climbing. */
static fre_status far_peak(double *out, const psi_query *q, fre_err *err)
{
    double most = fre_joint_diameter(q->m), x = q->split, top = -HUGE_VAL, step = 0.15, near, psi;
    fre_status st = psi_at(&near, q, q->split, 0, FRE_PLD_ESTIMATE, err);
    int side = 1, stuck = 0;

    while (st == FRE_OK && step > 0.02) {
        double next = fmin(x * exp(side * step), most), v;

        st = psi_at(&psi, q, next, isinf(top) ? 0 : exp(top - log_members(q->m, next)), FRE_PLD_ESTIMATE, err);
        if (st != FRE_OK)
            break;
        v = psi > near ? log_members(q->m, next) + log(psi - near) : -HUGE_VAL;
        if (next > q->split && v > top) {
            top = v;
            x = next;
            stuck = 0;
        } else {
            side = -side;
            step = ++stuck % 2 == 0 ? step / 2.5 : step;
        }
    }
    *out = exp(fmin(0, top));
    return st;
}

/* Piece by piece to the diameter, as for one cell (far.c); peak: the estimate. */
static fre_status far_part(double *out, const psi_query *q, double peak, fre_err *err)
{
    double most = fre_joint_diameter(q->m), distance = q->split, step = 0.05, goal = peak, psi;
    fre_status st = FRE_OK;
    int i;

    *out = 0;
    if (q->m->sensitivity == FRE_SENSITIVITY_WORST_CASE || !(most > distance))
        return FRE_OK;
    goal = fmax(goal * (1 + TOLERANCE), 1e-3 * q->near) + FRE_PRIVACY_TINY;
    for (i = 0; st == FRE_OK && i < PIECES_MAX && goal < 1 && distance < most; i++) {
        double members = exp(log_members(q->m, distance)), v;
        double next = fmin(distance * exp(step), most);

        if (members * (1 - q->near) <= goal) /* Psi is at most 1 */
            break;
        st = psi_at(&psi, q, next, goal / members, FRE_PLD_COARSE, err);
        v = members * (psi - q->near);
        if (v > goal && step > SHORTEST) {
            step = fmax(SHORTEST, step / 2);
            continue;
        }
        goal = fmax(goal, v);
        distance = next;
        step *= 1.6;
    }
    *out = i < PIECES_MAX ? goal : 1;
    *out = *out * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
    return st;
}

fre_status fre_compose_at_split(fre_account *io, const fre_mechanism *m, double epsilon,
                                double split, fre_err *err)
{
    psi_query q = {.m = m, .epsilon = epsilon, .split = split};
    double peak = 0, far = 0, total;
    fre_status st = FRE_OK;

    if (m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC && fre_joint_diameter(m) > split)
        st = far_peak(&peak, &q, err);
    if (st == FRE_OK)
        st = psi_at(&q.near, &q, split, 1e-2 * peak, FRE_PLD_FINE, err);
    if (st == FRE_OK)
        st = far_part(&far, &q, peak, err);
    if (st != FRE_OK)
        return st;
    total = q.near + far;
    io->epsilon = epsilon;
    io->split = split;
    io->by_pld = true;
    io->delta_released = total > 1 ? q.near / total : q.near;
    io->delta_far = total > 1 ? 1 - q.near / total : far;
    io->delta_unreleased = 0;
    io->delta = fmin(1, total);
    return FRE_OK;
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
        st = fre_compose_at_split(&a, m, epsilon, split, err);
    if (st == FRE_OK && a.delta < io->delta)
        *io = a;
    return st;
}

/* ---- epsilon ------------------------------------------------------------------------------ */

/* Least epsilon in least..most whose estimate is within delta; most if there is none. */
static double estimated_epsilon(double *split, const fre_compose_table *t, const fre_mechanism *m,
                                double delta, double least, double most)
{
    double lo = least, hi = most;

    if (best_estimate(split, t, m, lo) <= delta)
        return lo;
    while (hi - lo > 1e-5 * hi) {
        double mid = (lo + hi) / 2;

        if (best_estimate(split, t, m, mid) <= delta)
            hi = mid;
        else
            lo = mid;
    }
    (void)best_estimate(split, t, m, hi);
    return hi;
}

/* Nobody is far: one distribution of losses serves every epsilon. */
static fre_status epsilon_of_worst_case(fre_account *out, const fre_mechanism *m, double delta,
                                        double least, double most, fre_err *err)
{
    double lo = least, hi = most;
    fre_account a = {.worst_cell = m->tau - 1, .split = 2 * m->norm_bound, .by_pld = true};
    fre_pld d;
    fre_status st = losses(&d, m, shift(m, a.split), most, 1e-6 * delta / m->cells_per_user,
                           FRE_PLD_FINE, err);

    if (st != FRE_OK)
        return st;
    if (fre_pld_delta(&d, lo) <= delta)
        hi = lo;
    while (hi - lo > 1e-7 * hi) {
        double mid = (lo + hi) / 2;

        if (fre_pld_delta(&d, mid) <= delta)
            hi = mid;
        else
            lo = mid;
    }
    a.epsilon = hi;
    a.delta = a.delta_released = fre_pld_delta(&d, hi);
    fre_pld_wipe(&d);
    if (a.delta > delta)
        return FRE_E_INFEASIBLE;
    *out = a;
    return FRE_OK;
}

/* Estimates lead, certified accounts decide: a few steps of false position on ln delta, which falls
 * with epsilon. */
fre_status fre_compose_epsilon(fre_account *out, const fre_mechanism *m, double delta, double least,
                               double most, fre_err *err)
{
    double split = 0, epsilon, slope = -2, x = 0, y = 0;
    fre_account a = {.worst_cell = m->tau - 1}, best = {.epsilon = HUGE_VAL};
    fre_compose_table t;
    fre_status st;
    int i;

    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return epsilon_of_worst_case(out, m, delta, least, most, err);
    st = tabulate_distances(&t, m, most, err);
    if (st != FRE_OK)
        return st;
    epsilon = estimated_epsilon(&split, &t, m, delta, least, most);
    fre_compose_wipe(&t);
    for (i = 0; i < 8; i++) {
        double excess;

        st = fre_compose_at_split(&a, m, epsilon, split, err);
        if (st != FRE_OK)
            return st;
        if (a.delta <= delta && a.epsilon < best.epsilon)
            best = a;
        excess = log(a.delta / delta);
        if (excess <= 0 && (excess > -0.01 || epsilon <= least))
            break;
        if (i > 0 && fabs(epsilon - x) > 1e-9)
            slope = fmin(-0.05, (excess - y) / (epsilon - x));
        x = epsilon;
        y = excess;
        epsilon = fmin(most, fmax(least, epsilon - (excess + 0.005) / slope));
    }
    if (isinf(best.epsilon))
        return FRE_E_INFEASIBLE;
    *out = best;
    return FRE_OK;
}
