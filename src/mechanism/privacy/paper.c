/* The paper's accountant, reproduced exactly: [Fre-E2T, CalibrateNoise] with either Gaussian
 * conversion. */
#include <math.h>
#include <string.h>

#include "paper.h"
#include "planning.h"
#include "special.h"

#define BUDGET_FACTOR_MAX 256

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

/* What is kept of a share's delta, so that rounding up its parts does not exceed it. */
static double reserve(const fre_paper_share *s)
{
    return 4 * (FRE_PRIVACY_MARGIN * s->delta + FRE_PRIVACY_TINY);
}

/* CalibrateNoise at one v; false when a budget is exhausted. */
static bool calibrate(fre_plan *p, const fre_paper_share *s, double v)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;

    p->v = v;
    p->epsilon_fre = -v * s->records * log1p(-rate);
    p->delta_fre = fre_paper_counts_delta(rate, (double)p->mechanism.tau, v, s->records);
    p->epsilon_agg = s->epsilon - p->epsilon_fre;
    p->delta_agg = s->delta - p->delta_fre - p->delta_sens;
    if (!(p->epsilon_agg > 0) || !(p->delta_agg > reserve(s)))
        return false;
    return fre_paper_multiplier(&p->multiplier, p->request.gaussian, p->epsilon_agg,
                                p->delta_agg - reserve(s), s->records) == FRE_OK;
}

/* The v asked for, or the whole v >= 1 with the least noise. */
static bool calibrate_best(fre_plan *p, const fre_paper_share *s)
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
static double sensitivity(fre_plan *p, uint32_t records)
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
    p->delta_sens = records * fre_collision(m->proj, m->cell_edge, delta);
    return delta;
}

static fre_status exhausted(const fre_plan *p, const fre_paper_share *s, fre_err *err)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE, u = fmax(p->u, 0.1);
    const char *fewer = p->request.cells_per_user > 1 ? "lower --max-cells-per-user, " : "";

    if (p->delta_sens >= s->delta) {
        while (s->records * pow(fre_collision_f(2 / u), p->mechanism.proj) > s->delta / 10 &&
               u < 1e6)
            u *= 1.02;
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the paper's accountant: the sensitivity bound alone fails with "
                        "probability %.3g, more than --delta %.3g allows: %sraise "
                        "--sensitivity-ratio to %.2f",
                        s->factor * p->delta_sens, p->request.delta, fewer, u + 0.005);
    }
    return fre_fail(err, FRE_E_INFEASIBLE,
                    "the paper's accountant: --epsilon %.6g and --delta %.3g leave nothing for "
                    "the noise at --sampling-rate %.6g and --threshold %llu: raise --threshold "
                    "or --epsilon, %schoose another --budget-factor, or use --accountant joint",
                    p->request.epsilon, p->request.delta, rate,
                    (unsigned long long)p->request.threshold, fewer);
}

static void account(fre_plan *p, const fre_paper_share *s, double mu)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;
    double noise = fre_paper_sums_delta(p->request.gaussian, p->epsilon_agg, mu, s->records);
    fre_account *a = &p->account;

    a->epsilon = p->request.epsilon;
    a->delta_released = fre_privacy_round_up(s->factor * (p->delta_fre + noise));
    a->delta_far = p->delta_sens > 0 ? fre_privacy_round_up(s->factor * p->delta_sens) : 0;
    a->delta_unreleased = 0;
    a->delta = fmin(1, a->delta_released + a->delta_far);
    a->worst_cell = (uint64_t)ceil((double)p->mechanism.tau / -expm1((p->v + 1) * log1p(-rate)));
}

static void warn(fre_plan *p)
{
    if (p->mechanism.sensitivity == FRE_SENSITIVITY_PROBABILISTIC)
        fre_plan_warn(p, "The paper's accountant charges the sensitivity bound's failure for one "
                         "pair of records, although any member of a cell may be the one "
                         "exchanged.");
    fre_plan_warn(p, "The paper rejects records by the norm of their embedding, a test for a "
                     "bound on distances; no record is rejected here.");
    fre_plan_warn(p, "The paper's theorem on semantic support does not hold as printed; nothing "
                     "is claimed from it.");
}

/* delta_agg is met with a little to spare where sigma is rounded up. */
static fre_status plan_at(fre_plan *p, uint32_t k, double rate, fre_err *err)
{
    fre_paper_share s = fre_paper_share_of(&p->request);
    fre_mechanism *m = &p->mechanism;
    double delta;

    m->p32 = fre_p32(rate);
    m->tau = fre_tau(m->p32, p->request.threshold);
    m->proj = k;
    m->cell_edge = fre_plan_cell_edge(&p->request, k);
    delta = sensitivity(p, s.records);
    if (p->delta_sens >= s.delta || !calibrate_best(p, &s))
        return exhausted(p, &s, err);
    p->account.split = delta;
    m->sigma = p->multiplier * delta;
    fre_plan_set_lattice(p, m->sigma);
    m->sigma = p->multiplier * (delta + m->lattice_step * sqrt((double)m->dim));
    fre_plan_round_sigma(p);
    account(p, &s, (delta + m->lattice_step * sqrt((double)m->dim)) / m->sigma);
    return FRE_OK;
}

fre_status fre_plan_paper(fre_plan *p, fre_err *err)
{
    double rate = p->request.sampling_rate;
    uint32_t k = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_LEAST;
    uint32_t last = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_MOST;
    fre_plan best;
    fre_status st = FRE_E_INFEASIBLE;
    fre_err why;

    if (p->request.records == FRE_PAPER_BESPOKE &&
        p->request.cells_per_user > FRE_PAPER_RECORDS_MAX)
        return fre_fail(err, FRE_E_USAGE,
                        "--multi-record bespoke is computed for at most %u records a user: lower "
                        "--max-cells-per-user, or use --multi-record cap",
                        FRE_PAPER_RECORDS_MAX);
    if (rate <= 0) {
        fre_paper_share s = fre_paper_share_of(&p->request);

        rate = paper_rate(s.epsilon / s.records);
    }
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
