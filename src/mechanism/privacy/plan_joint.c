/* The joint accountant's plan: of what the search proposes, the least noise that is certified. */
#include <math.h>

#include "approach.h"
#include "plan.h"

/* Account of the mechanism with this sigma, written to p.  A curator's is rounded to its lattice;
 * users derive their share from sigma, and the protocol the quantisation from that. */
static fre_status certify(fre_plan *p, double sigma, double split, fre_compose_memory *memory,
                          fre_err *err)
{
    fre_mechanism *m = &p->mechanism;

    m->sigma = fmax(sigma, FRE_PLAN_SIGMA_TINY);
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

/* The search's estimates are coarse.  Steps to where the estimated delta is just below what padding
 * and slips leave of the target; the split is the best one there. */
static void adjust(fre_choice *c, const fre_plan *p)
{
    const fre_plan_request *r = &p->request;
    fre_joint_place at = FRE_JOINT_NOWHERE;
    fre_approach by = FRE_APPROACH;
    fre_mechanism m = p->mechanism;
    double delta, room, floor = FRE_PLAN_SIGMA_LEAST * m.sketch.grid.cell_edge;
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
        c->sigma = fmax(exp(fre_approach_step(&by, log(c->sigma), delta, -0.003)), floor);
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
    const double floor =
        fmax(FRE_PLAN_SIGMA_LEAST * p->mechanism.sketch.grid.cell_edge, FRE_PLAN_SIGMA_TINY);
    fre_plan at = *p, best = *p;
    fre_approach by = FRE_APPROACH;
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
        log_sigma = fmax(log(floor), fre_approach_step(&by, log_sigma, log(at.account.delta),
                                             log((close + most) / 2 * want)));
    }
    if (isinf(least))
        return FRE_E_INFEASIBLE;
    *p = best;
    return FRE_OK;
}

static void choose(fre_plan *p, const fre_choice *c)
{
    p->mechanism.p32 = c->p32;
    p->mechanism.tau = fre_tau(c->p32, p->request.threshold);
    p->mechanism.dist = c->dist;
    p->mechanism.sketch.grid = fre_plan_grid(&p->request, c->proj);
}

/* The noise of what was chosen: at the best split, or in default of that at the diameter. */
static fre_status settle(fre_plan *p, fre_choice *c, fre_err *err)
{
    fre_compose_memory memory = {.reach = p->request.epsilon,
                                 .least = 1e-6 * p->request.delta / p->request.cells_per_user};
    fre_status st = FRE_E_INFEASIBLE;

    choose(p, c);
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
            return st;
        st = FRE_OK;
    }
    if (st == FRE_OK)
        *p = at;
    return st;
}
