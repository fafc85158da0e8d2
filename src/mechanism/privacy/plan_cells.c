/* The plan for a user in several cells.  The search goes by composed estimates (pld.h); the result
 * is certified.
 *
 * At a rate p the composed losses fix mu for what the far members leave of delta, and their share
 * fixes the split; sigma = split/mu. */
#include <math.h>

#include "compose.h"
#include "joint.h"
#include "planning.h"
#include "pld.h"

typedef struct target {
    const fre_plan *p;
    fre_mechanism m; /* p32 and tau set; proj and cell_edge change with k */
    double share;    /* of delta that the far members get */
} target;

/* ln of the composed delta at a shift; an estimate. */
static double log_delta(const target *t, double log_mu)
{
    const fre_pld_cell cell = {.p = (double)t->m.p32 / (double)FRE_P_ONE,
                               .tau = (double)t->m.tau,
                               .mu = exp(log_mu),
                               .adjacency = t->m.adjacency};
    const fre_plan_request *r = &t->p->request;
    double epsilon = r->epsilon, least = 1e-6 * r->delta / r->cells_per_user, delta = 1;
    fre_pld d;

    if (fre_pld_compose(&d, &cell, t->m.cells_per_user, epsilon, least, false, NULL) == FRE_OK) {
        delta = fre_pld_delta(&d, epsilon);
        fre_pld_wipe(&d);
    }
    return log(delta);
}

/* ln mu at which the composed delta is its share of the target, by the secant method from a guess
 * and a slope; every step is kept within a factor of e.  false: the counts alone exceed it. */
static bool solve_mu(double *log_mu, double *slope, const target *t)
{
    double want = log(t->p->request.delta * (1 - t->share)), x = *log_mu;
    double at = log_delta(t, x) - want;
    int i;

    for (i = 0; i < 14 && fabs(at) > 0.02; i++) {
        double step = fmax(-1, fmin(1, -at / *slope)), before = at;

        x += step;
        if (x < -12)
            return false;
        at = log_delta(t, x) - want;
        if (fabs(step) > 1e-9)
            *slope = fmax(0.5, (at - before) / step);
    }
    *log_mu = x;
    return fabs(at) <= 0.05;
}

/* The projection with the least split, and its sigma. */
static void best_projection(fre_choice *out, target *t, double log_mu)
{
    const fre_plan_request *r = &t->p->request;
    uint32_t k = r->proj > 0 ? r->proj : FRE_PLAN_K_LEAST, last = r->proj > 0 ? k : FRE_PLAN_K_MOST;
    double split;

    *out = (fre_choice){.p32 = t->m.p32, .proj = r->proj > 0 ? r->proj : 20, .split = HUGE_VAL};
    for (; k <= last; k++) {
        t->m.proj = k;
        t->m.cell_edge = fre_plan_cell_edge(r, k);
        split = fre_compose_split(&t->m, r->delta, t->share);
        if (split < out->split) {
            out->split = split;
            out->proj = k;
        }
    }
    if (r->sensitivity == FRE_SENSITIVITY_WORST_CASE && r->proj == 0)
        out->proj = 20; /* k plays no part */
    out->sigma = out->split / exp(log_mu);
}

typedef struct search {
    const fre_plan *p;
    fre_choice best;
    double best_slope;
    double log_mu, slope; /* of the last rate, where the next one starts */
    bool found;
} search;

static void try_share(search *s, uint64_t p32, double share)
{
    target t = {.p = s->p, .m = s->p->mechanism, .share = share};
    double log_mu = s->log_mu, slope = s->slope;
    fre_choice at;

    if (s->p->request.sensitivity == FRE_SENSITIVITY_WORST_CASE)
        t.share = 0;
    t.m.p32 = p32;
    t.m.tau = fre_tau(p32, s->p->request.threshold);
    if (!solve_mu(&log_mu, &slope, &t))
        return;
    s->log_mu = log_mu;
    s->slope = slope;
    best_projection(&at, &t, log_mu);
    if (at.sigma < 1e9 &&
        (!s->found || at.sigma / (double)at.p32 < s->best.sigma / (double)s->best.p32)) {
        s->best = at;
        s->best_slope = slope;
        s->found = true;
    }
}

static void try_rate(search *s, double rate, double greatest)
{
    const fre_plan_request *r = &s->p->request;
    uint64_t p32;

    if (!(rate > 0) || rate > greatest)
        return;
    p32 = fre_search_snap(rate, greatest, r->threshold);
    if (p32 >= 1 && p32 < FRE_P_ONE && !fre_search_too_rare(r, p32))
        try_share(s, p32, 0.4);
}

static bool search_all(fre_choice *out, double *slope, const fre_plan *p)
{
    static const double shares[] = {0.2, 0.3, 0.55};
    search s = {.p = p, .log_mu = -1, .slope = 10};
    double greatest = fre_search_greatest(&p->request), step = 0.2 * greatest;
    size_t i;
    int halvings;

    if (p->request.sampling_rate > 0)
        try_share(&s, fre_p32(p->request.sampling_rate), 0.4);
    else {
        for (i = 1; i <= 5; i++)
            try_rate(&s, (double)i * step * (1 - 1e-9), greatest);
        for (halvings = 0; halvings < 2 && s.found; halvings++) {
            double at = (double)s.best.p32 / (double)FRE_P_ONE;

            step /= 2;
            try_rate(&s, at - step, greatest);
            try_rate(&s, at + step, greatest);
        }
    }
    for (i = 0; i < 3 && s.found && p->request.sensitivity == FRE_SENSITIVITY_PROBABILISTIC; i++)
        try_share(&s, s.best.p32, shares[i]);
    if (s.found) {
        *out = s.best;
        *slope = s.best_slope;
    }
    return s.found;
}

/* ---- the plan ----------------------------------------------------------------------------- */

/* Least sigma near the estimate whose certified delta meets the target.  ln delta is nearly linear
 * in ln sigma, so that a few steps by its slope end within a per cent. */
static fre_status settle(fre_plan *p, const fre_choice *c, double slope, fre_err *err)
{
    double sigma = c->sigma, want = p->request.delta, aim = log(0.997 * want);
    fre_plan at = *p, best = *p;
    int i;

    best.mechanism.sigma = HUGE_VAL;
    for (i = 0; i < 10; i++) {
        fre_status st = fre_plan_certify(&at, sigma, c->split, err);
        double delta = at.account.delta;

        if (st != FRE_OK)
            return st;
        if (delta <= want && at.mechanism.sigma < best.mechanism.sigma)
            best = at;
        if (delta <= want && delta >= 0.992 * want)
            break;
        sigma *= exp(fmax(-0.5, fmin(0.5, (log(delta) - aim) / slope)));
    }
    if (isinf(best.mechanism.sigma))
        return FRE_E_INFEASIBLE;
    *p = best;
    return FRE_OK;
}

fre_status fre_plan_cells(fre_plan *p, fre_err *err)
{
    fre_plan at = *p;
    fre_choice c;
    double slope;
    fre_status st;

    if (!search_all(&c, &slope, p))
        return FRE_E_INFEASIBLE;
    fre_plan_choose(&at, &c);
    st = settle(&at, &c, slope, err);
    if (st == FRE_OK)
        *p = at;
    return st;
}
