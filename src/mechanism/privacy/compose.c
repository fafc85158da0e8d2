/* A user in several cells (docs/privacy.md, "Several records a user").  Psi(D), the composed delta
 * of c cells whose replaced points are all at distance D, grows with D; then
 *   delta <= Psi(split) + c (N/tau) sup_{D > split} pi(D) (Psi(D) - Psi(split)).
 * One cell's cost curve may not be composed: the cells share the projection. */
#include "compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "joint.h"
#include "privacy_private.h"

#define TOLERANCE 0.05 /* of the far members' part, in certificates */
#define UNIT 0.001     /* the shortest piece, in ln mu */
#define BEGIN 256      /* units of the first pieces */
#define PIECES_MAX 400
#define SAME 1e-12 /* shifts nearer than that differ by less than the margin of what follows */

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

static fre_pld_cell cell_of(const fre_mechanism *m, double mu)
{
    return (fre_pld_cell){.p = rate(m), .tau = (double)m->tau, .mu = mu, .adjacency = m->adjacency};
}

static fre_status losses(fre_pld *out, const fre_mechanism *m, double mu, double reach,
                         double least, fre_pld_grade grade, fre_err *err)
{
    const fre_pld_cell cell = cell_of(m, mu);

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
        members[i] = exp(log_members(m, fmax(exp(t->log_mu + i * t->step) * m->sigma - slip,
                                             0.5 * m->sketch.grid.cell_edge)));
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

fre_status fre_compose_split(double *split, const fre_mechanism *m, double epsilon, fre_err *err)
{
    fre_compose_table t;
    fre_status st = tabulate_distances(&t, m, epsilon, err);

    if (st != FRE_OK)
        return st;
    (void)best_estimate(split, &t, m, epsilon);
    fre_compose_wipe(&t);
    return FRE_OK;
}

/* ---- what is remembered ------------------------------------------------------------------- */

static void wipe(fre_compose_kept *io)
{
    fre_pld_wipe(&io->losses[0]);
    fre_pld_wipe(&io->losses[1]);
}

void fre_compose_forget(fre_compose_memory *io)
{
    size_t i;

    for (i = 0; i < io->n; i++) {
        wipe(&io->at[i]);
    }
    io->n = io->next = 0;
}

/* Entries are of one rate, threshold and number of cells, for epsilons up to one reach. */
static void remember_for(fre_compose_memory *io, const fre_mechanism *m, double epsilon)
{
    const bool same = io->p32 == m->p32 && io->tau == m->tau && io->cells == m->cells_per_user &&
                      io->adjacency == m->adjacency && epsilon <= io->reach;

    if (same)
        return;
    fre_compose_forget(io);
    io->p32 = m->p32;
    io->tau = m->tau;
    io->cells = m->cells_per_user;
    io->adjacency = m->adjacency;
    io->reach = fmax(io->reach, epsilon);
}

/* Where these losses are kept: those of the same shift and grade, a free place, or the oldest. */
static fre_compose_kept *place_of(fre_compose_memory *io, double mu, fre_pld_grade grade)
{
    size_t i;

    for (i = 0; i < io->n; i++) {
        if (fabs(io->at[i].mu - mu) <= SAME * mu && io->at[i].grade == grade)
            return &io->at[i];
    }
    if (io->n < FRE_COMPOSE_KEPT)
        return &io->at[io->n];
    io->next = (io->next + 1) % FRE_COMPOSE_KEPT;
    return &io->at[io->next];
}

static fre_status fill(fre_compose_kept *io, const fre_compose_memory *memory,
                       const fre_mechanism *m, fre_err *err)
{
    const fre_pld_cell cell = cell_of(m, io->mu);

    if (!memory->behind)
        return losses(&io->losses[0], m, io->mu, memory->reach, io->least, io->grade, err);
    return fre_levels_product(io->losses, &cell, memory->behind, m->cells_per_user, memory->reach,
                              io->least, io->grade, err);
}

/* Psi at mu; chances below `least` need not be followed. */
static fre_status psi_at(double *out, fre_compose_memory *io, const fre_mechanism *m, double mu,
                         double epsilon, double least, fre_pld_grade grade, fre_err *err)
{
    fre_compose_kept *k = place_of(io, mu, grade);
    const bool known = k < io->at + io->n && fabs(k->mu - mu) <= SAME * mu && k->grade == grade;

    if (!known || k->least > fmax(least, FRE_PLD_LEAST)) {
        const double deeper = fmax((known ? 1e-3 : 0.1) * least, FRE_PLD_LEAST);
        fre_compose_kept made = {.mu = mu, .least = deeper, .grade = grade};
        fre_status st = fill(&made, io, m, err);

        if (st != FRE_OK)
            return st;
        if (k < io->at + io->n) {
            wipe(k);
        } else
            io->n++;
        *k = made;
    }
    *out = fre_pld_delta(&k->losses[io->removed], epsilon);
    return FRE_OK;
}

/* ---- certificates ------------------------------------------------------------------------- */

/* Far members by pieces of mu = near e^(j UNIT), j = from..to; where Psi at the upper end is not known
 * it is 1. */
typedef struct piece {
    int from, to;
    bool known;
    double bound;
} piece;

typedef struct proof {
    fre_compose_memory *memory;
    const fre_mechanism *m;
    double epsilon, mu; /* at the split */
    double near;        /* Psi there, as it is charged */
    double top;         /* the largest cost seen */
    size_t n;
    piece at[PIECES_MAX];
} proof;

static double members_at(const proof *w, int j)
{
    const fre_mechanism *m = w->m;
    double slip = m->lattice_step * sqrt((double)m->dim);

    return exp(log_members(m, w->mu * exp(j * UNIT) * m->sigma - slip));
}

static double cost(double members, double psi, double near)
{
    return members * fmax(psi - near, 0);
}

/* Psi at a node, and with it a cost that is really there. */
static fre_status look(double *psi, proof *w, int j, fre_err *err)
{
    double members = members_at(w, j), scale = fmax(w->top, 1e-3 * w->near) / members;
    fre_status st = psi_at(psi, w->memory, w->m, w->mu * exp(j * UNIT), w->epsilon,
                           1e-3 * scale / w->m->cells_per_user, FRE_PLD_COARSE, err);

    if (st == FRE_OK)
        w->top = fmax(w->top, cost(members, *psi, w->near));
    return st;
}

static size_t largest(const proof *w)
{
    size_t i, at = 0;

    for (i = 1; i < w->n; i++)
        at = w->at[i].bound > w->at[at].bound ? i : at;
    return at;
}

/* The piece's bound comes down: by Psi at its upper end, or by halves. */
static fre_status refine(proof *w, piece *io, fre_err *err)
{
    int mid = (io->from + io->to) / 2;
    piece upper = {mid, io->to, io->known, 0};
    fre_status st;
    double psi;

    st = look(&psi, w, io->known ? mid : io->to, err);
    if (st != FRE_OK)
        return st;
    if (io->known) {
        upper.bound = io->bound * members_at(w, mid) / members_at(w, io->from);
        w->at[w->n++] = upper;
        io->to = mid;
    }
    io->known = true;
    io->bound = cost(members_at(w, io->from), psi, w->near);
    return FRE_OK;
}

/* On each piece pi at its lower end times what Psi adds at its upper end; the piece with the
 * largest bound is refined until that is what has been seen, but for the tolerance. */
static fre_status far_part(double *out, proof *w, fre_err *err)
{
    double most = fre_joint_diameter(w->m);
    int last = (int)ceil(log(shift(w->m, most) / w->mu) / UNIT), j;
    fre_status st = FRE_OK;

    for (j = 0; j < last && w->n < PIECES_MAX / 2; j += BEGIN) {
        const bool end = j + BEGIN >= last || w->n + 1 == PIECES_MAX / 2;

        w->at[w->n++] =
            (piece){j, end ? last : j + BEGIN, false, cost(members_at(w, j), 1, w->near)};
    }
    for (;;) {
        piece *p = &w->at[largest(w)];

        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        *out = p->bound * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
        if (p->bound <= fmax(w->top * (1 + TOLERANCE), 1e-3 * w->near) || w->n == PIECES_MAX ||
            (p->known && p->to - p->from < 2))
            return FRE_OK;
        st = refine(w, p, err);
        if (st != FRE_OK)
            return st;
    }
}

fre_status fre_compose_near(double *out, const fre_mechanism *m, double epsilon, double split,
                            fre_compose_memory *memory, fre_err *err)
{
    remember_for(memory, m, epsilon);
    return psi_at(out, memory, m, shift(m, split), epsilon, memory->least, FRE_PLD_FINE, err);
}

fre_status fre_compose_at_split(fre_account *io, const fre_mechanism *m, double epsilon,
                                double split, fre_compose_memory *memory, fre_err *err)
{
    proof *w = calloc(1, sizeof *w);
    double far = 0, total, near = 0;
    fre_status st;

    if (!w)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the losses of {max_cells_per_user}");
    *w = (proof){.memory = memory, .m = m, .epsilon = epsilon, .mu = shift(m, split)};
    st = fre_compose_near(&near, m, epsilon, split, memory, err);
    w->near = near;
    if (st == FRE_OK && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC &&
        fre_joint_diameter(m) > split)
        st = far_part(&far, w, err);
    free(w);
    if (st != FRE_OK)
        return st;
    total = near + far;
    io->epsilon = epsilon;
    io->split = split;
    io->by_pld = true;
    io->delta_released = total > 1 ? near / total : near;
    io->delta_far = total > 1 ? 1 - near / total : far;
    io->delta_unreleased = 0;
    io->delta = fmin(1, total);
    return FRE_OK;
}

fre_status fre_compose_improve(fre_account *io, const fre_mechanism *m, double epsilon, bool best,
                               fre_err *err)
{
    fre_compose_memory memory = {.n = 0};
    fre_account a = *io;
    double split = io->split;
    fre_status st = FRE_OK;

    if (best && m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        st = fre_compose_split(&split, m, epsilon, err);
    if (st == FRE_OK)
        st = fre_compose_at_split(&a, m, epsilon, split, &memory, err);
    fre_compose_forget(&memory);
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
    fre_account a = {.worst_cell = m->tau - 1, .split = fre_joint_diameter(m), .by_pld = true};
    fre_pld d;
    fre_status st =
        losses(&d, m, shift(m, a.split), most, 1e-6 * delta / m->cells_per_user, FRE_PLD_FINE, err);

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

/* A target, and the range in which epsilon is sought. */
typedef struct wanted {
    double delta, least, most;
} wanted;

/* Estimates lead, certified accounts decide: a few steps of false position on ln delta, which falls
 * with epsilon. */
static fre_status settle_epsilon(fre_account *out, const fre_mechanism *m, const wanted *w,
                                 double split, double epsilon, fre_compose_memory *memory,
                                 fre_err *err)
{
    double slope = -2, x = 0, y = 0;
    fre_account a = {.worst_cell = m->tau - 1}, best = {.epsilon = HUGE_VAL};
    int i;

    for (i = 0; i < 12; i++) {
        fre_status st = fre_compose_at_split(&a, m, epsilon, split, memory, err);
        double excess;

        if (st != FRE_OK)
            return st;
        if (a.delta <= w->delta && a.epsilon < best.epsilon)
            best = a;
        excess = log(a.delta / w->delta);
        if (excess <= 0 && (excess > -0.005 || epsilon <= w->least))
            break;
        if (i > 0 && fabs(epsilon - x) > 1e-9)
            slope = fmin(-0.05, (excess - y) / (epsilon - x));
        x = epsilon;
        y = excess;
        epsilon = fmin(w->most, fmax(w->least, epsilon - (excess + 0.002) / slope));
    }
    if (isinf(best.epsilon))
        return FRE_E_INFEASIBLE;
    *out = best;
    return FRE_OK;
}

fre_status fre_compose_epsilon(fre_account *out, const fre_mechanism *m, double delta, double least,
                               double most, fre_err *err)
{
    fre_compose_memory memory = {.reach = most, .least = 1e-6 * delta / m->cells_per_user};
    double split = 0, epsilon;
    fre_compose_table t;
    fre_status st;

    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return epsilon_of_worst_case(out, m, delta, least, most, err);
    st = tabulate_distances(&t, m, most, err);
    if (st != FRE_OK)
        return st;
    epsilon = estimated_epsilon(&split, &t, m, delta, least, most);
    fre_compose_wipe(&t);
    st = settle_epsilon(out, m, &(wanted){delta, least, most}, split, epsilon, &memory, err);
    fre_compose_forget(&memory);
    return st;
}
