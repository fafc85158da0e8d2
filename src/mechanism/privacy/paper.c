/* The paper's accountant, reproduced exactly: [Fre-E2T, CalibrateNoise] with either Gaussian
 * conversion, cap of c cells (c eps, c delta) and bounded DP (2 eps, (1 + e^eps) delta). */
#include <math.h>
#include <string.h>

#include "planning.h"
#include "special.h"

#define BUDGET_FACTOR_MAX 256

/* D(a || b) of two coins. */
static double divergence(double a, double b)
{
    double d = a > 0 ? a * log(a / b) : 0;

    return a < 1 ? d + (1 - a) * log((1 - a) / (1 - b)) : d;
}

double fre_paper_group_delta(double p, double tau, double v, uint32_t l)
{
    double q = -expm1((v + 1) * log1p(-p));
    double m = tau / q + l - 1.0;

    return exp(-m * divergence(tau / m, p));
}

/* One cell's share of the target. */
typedef struct share {
    double epsilon, delta;
    double factor; /* total delta over a cell's */
} share;

static share share_of(const fre_plan_request *r)
{
    double c = r->cells_per_user;
    share s = {r->epsilon / c, r->delta / c, c};

    if (r->adjacency == FRE_ADJACENCY_REPLACE) {
        s.factor = c * (1 + exp(r->epsilon / 2));
        s.epsilon = r->epsilon / 2 / c;
        s.delta = r->delta / s.factor;
    }
    return s;
}

/* The paper's rate for its epsilons: .3, .5, .6 at 4, 8, 16; .2 at 2, which its sigma of 5.69
 * there implies; .15 from 1 down, where little else is feasible.  Linear in log2 between. */
static double paper_rate(double epsilon)
{
    static const double at[5] = {0.15, 0.2, 0.3, 0.5, 0.6};
    double x = log2(epsilon);
    int i;

    if (x <= 0)
        return at[0];
    if (x >= 4)
        return at[4];
    i = (int)x;
    return at[i] + (at[i + 1] - at[i]) * (x - i);
}

/* CalibrateNoise at one v; false when a budget is exhausted. */
static bool calibrate(fre_plan *p, const share *s, double v)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;

    p->v = v;
    p->epsilon_fre = -v * log1p(-rate);
    p->delta_fre = fre_paper_group_delta(rate, (double)p->mechanism.tau, v, 1);
    p->epsilon_agg = s->epsilon - p->epsilon_fre;
    p->delta_agg = s->delta - p->delta_fre - p->delta_sens;
    if (!(p->epsilon_agg > 0) || !(p->delta_agg > 0))
        return false;
    return fre_gauss_multiplier(&p->multiplier, p->epsilon_agg, p->delta_agg,
                                p->request.gaussian) == FRE_OK;
}

/* The v asked for, or the whole v >= 1 with the least noise. */
static bool calibrate_best(fre_plan *p, const share *s)
{
    double least = HUGE_VAL, best = 0;
    int v;

    if (p->request.budget_factor > 0)
        return calibrate(p, s, p->request.budget_factor);
    for (v = 1; v <= BUDGET_FACTOR_MAX; v++) {
        if (calibrate(p, s, v) && p->multiplier < least) {
            least = p->multiplier;
            best = v;
        }
        if (p->epsilon_agg <= 0)
            break;
    }
    return best > 0 && calibrate(p, s, best);
}

/* Sensitivity u r; for cells of another edge, r is the radius that their edge is made for, so
 * that delta_sens = f(2/u)^k as in the paper's table of edges. */
static double sensitivity(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    double delta;

    p->u = p->request.sensitivity_ratio;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE) {
        p->delta_sens = 0;
        delta = 2 * m->norm_bound;
        p->u = delta / p->request.radius;
        return delta;
    }
    delta = p->u * sqrt((double)m->proj) * m->cell_edge / 2;
    p->delta_sens = fre_collision(m->proj, m->cell_edge, delta);
    return delta;
}

static fre_status exhausted(const fre_plan *p, const share *s, fre_err *err)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE, u = fmax(p->u, 0.1);

    if (p->delta_sens >= s->delta) {
        while (pow(fre_collision_f(2 / u), p->mechanism.proj) > s->delta / 10 && u < 1e6)
            u *= 1.02;
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the paper's accountant: the sensitivity bound alone fails with "
                        "probability %.3g, more than --delta %.3g allows: raise "
                        "--sensitivity-ratio to %.2f",
                        p->delta_sens, p->request.delta, u + 0.005);
    }
    return fre_fail(err, FRE_E_INFEASIBLE,
                    "the paper's accountant: --epsilon %.6g and --delta %.3g leave nothing for "
                    "the noise at --sampling-rate %.6g and --threshold %llu: raise --threshold "
                    "or --epsilon, choose another --budget-factor, or use --accountant joint",
                    p->request.epsilon, p->request.delta, rate,
                    (unsigned long long)p->request.threshold);
}

static void account(fre_plan *p, const share *s, double reach)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;
    double mu = reach / p->mechanism.sigma, noise;

    noise = p->request.gaussian == FRE_GAUSSIAN_ZCDP ? fre_zcdp_delta(mu * mu / 2, p->epsilon_agg)
                                                     : fre_gauss_delta(p->epsilon_agg, mu);
    p->account.epsilon = p->request.epsilon;
    p->account.delta_released = s->factor * (p->delta_fre + noise);
    p->account.delta_far = s->factor * p->delta_sens;
    p->account.delta_unreleased = 0;
    p->account.delta = p->account.delta_released + p->account.delta_far;
    p->account.worst_cell =
        (uint64_t)ceil((double)p->mechanism.tau / -expm1((p->v + 1) * log1p(-rate)));
}

static void warn(fre_plan *p)
{
    fre_plan_warn(p, "The paper's accountant charges the sensitivity bound's failure for one pair "
                     "of records, although any member of a cell may be the one exchanged.");
    fre_plan_warn(p, "The paper rejects records by the norm of their embedding, a test for a "
                     "bound on distances; no record is rejected here.");
    fre_plan_warn(p, "The paper's theorem on semantic support does not hold as printed; nothing "
                     "is claimed from it.");
}

/* delta_agg is met with a little to spare where sigma is rounded up. */
static fre_status plan_at(fre_plan *p, uint32_t k, double rate, fre_err *err)
{
    share s = share_of(&p->request);
    fre_mechanism *m = &p->mechanism;
    double delta;

    m->p32 = fre_p32(rate);
    m->tau = fre_tau(m->p32, p->request.threshold);
    m->proj = k;
    m->cell_edge = fre_plan_cell_edge(&p->request, k);
    delta = sensitivity(p);
    if (p->delta_sens >= s.delta || !calibrate_best(p, &s))
        return exhausted(p, &s, err);
    p->account.split = delta;
    m->sigma = p->multiplier * delta;
    fre_plan_set_lattice(p, m->sigma);
    m->sigma = p->multiplier * (delta + m->lattice_step * sqrt((double)m->dim));
    fre_plan_round_sigma(p);
    account(p, &s, delta + m->lattice_step * sqrt((double)m->dim));
    return FRE_OK;
}

fre_status fre_plan_paper(fre_plan *p, fre_err *err)
{
    double rate =
        p->request.sampling_rate > 0 ? p->request.sampling_rate : paper_rate(p->request.epsilon);
    uint32_t k = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_LEAST;
    uint32_t last = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_MOST;
    fre_plan best;
    fre_status st = FRE_E_INFEASIBLE;
    fre_err why;

    memset(&best, 0, sizeof best);
    for (; k <= last; k++) {
        fre_plan at = *p;

        if (plan_at(&at, k, rate, &why) != FRE_OK)
            continue;
        if (st != FRE_OK || at.mechanism.sigma < best.mechanism.sigma)
            best = at;
        st = FRE_OK;
    }
    if (st != FRE_OK)
        return fre_fail(err, st, "%s", why.text);
    *p = best;
    warn(p);
    return FRE_OK;
}
