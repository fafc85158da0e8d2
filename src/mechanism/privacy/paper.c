/* The paper's accountant, reproduced exactly: [Fre-E2T, CalibrateNoise] with either Gaussian
 * conversion. */
#include <math.h>
#include <string.h>

#include "paper.h"
#include "plan.h"
#include "privacy_private.h"

#define PHI 1e-10 /* failure of the bound on random rounding */

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

/* What one v leaves for the noise; false: nothing. */
static bool budgets(fre_plan *p, const fre_paper_share *s, double v)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;

    p->v = v;
    p->epsilon_fre = -v * s->records * log1p(-rate);
    p->delta_fre = fre_paper_counts_delta(rate, (double)p->mechanism.tau, v, s->records);
    p->epsilon_agg = s->epsilon - p->epsilon_fre;
    p->delta_agg = s->delta - p->delta_fre - p->delta_sens;
    return p->epsilon_agg > 0 && p->delta_agg > reserve(s);
}

/* CalibrateNoise at one v. */
static bool calibrate(fre_plan *p, const fre_paper_share *s, double v)
{
    return budgets(p, s, v) &&
           fre_paper_multiplier(&p->multiplier, p->request.gaussian, p->epsilon_agg,
                                p->delta_agg - reserve(s), s->records) == FRE_OK;
}

/* The v asked for, or the whole v >= 1 with the least noise. */
static bool calibrate_best(fre_plan *p, const fre_paper_share *s)
{
    double least = HUGE_VAL, best = 0;
    int v;

    if (p->request.budget_factor > 0)
        return calibrate(p, s, p->request.budget_factor);
    for (v = 1; v <= fre_param_budget_factor.highest; v++) {
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
    delta = p->u * sqrt((double)m->sketch.grid.proj) * m->sketch.grid.cell_edge / 2;
    p->delta_sens = records * fre_collision(&m->sketch.grid, delta);
    return delta;
}

static void set_rate(fre_plan *p, const fre_paper_share *s)
{
    double asked = p->request.sampling_rate;

    p->mechanism.p32 = fre_p32(asked > 0 ? asked : paper_rate(s->epsilon / s->records));
    p->mechanism.tau = fre_tau(p->mechanism.p32, p->request.threshold);
}

bool fre_paper_leaves_room(const fre_plan *p, double epsilon, double threshold)
{
    fre_plan at = *p;
    fre_paper_share s;
    double v = at.request.budget_factor;

    at.request.epsilon = epsilon;
    at.request.threshold = (uint64_t)threshold;
    s = fre_paper_share_of(&at.request);
    set_rate(&at, &s);
    if (v > 0)
        return budgets(&at, &s, v) && at.delta_agg > s.delta / 10;
    for (v = 1; v <= fre_param_budget_factor.highest; v++) {
        if (budgets(&at, &s, v) && at.delta_agg > s.delta / 10)
            return true;
        if (at.epsilon_agg <= 0)
            break;
    }
    return false;
}

static void account(fre_plan *p, const fre_paper_share *s, double mu)
{
    double rate = (double)p->mechanism.p32 / (double)FRE_P_ONE;
    double noise = fre_paper_sums_delta(p->request.gaussian, p->epsilon_agg, mu, s->records);
    fre_account *a = &p->account;

    a->epsilon = p->request.epsilon;
    a->delta_released = fre_privacy_round_up(s->factor * (p->delta_fre + noise));
    a->delta_far = p->delta_sens > 0 ? fre_privacy_round_up(s->factor * p->delta_sens) : 0;
    a->delta_unreleased =
        p->mechanism.dist.on ? fre_privacy_round_up(s->factor * p->delta_unre) : 0;
    a->delta = fmin(1, fmax(a->delta_released + a->delta_far, a->delta_unreleased));
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

static void warn_distributed(fre_plan *p)
{
    fre_plan_warn(p, "The paper's users add noise for the smallest released cell, so that a cell "
                     "of c reports gets sqrt(c/tau) times as much, although c is public.");
    fre_plan_warn(p, "The paper takes the greater of what released and unreleased cells cost, "
                     "although a record that lifts a cell to the threshold costs both.");
    fre_plan_warn(p, "The paper's relay learns who was sampled and who answers: no claim is made "
                     "against it.");
    fre_plan_warn(p, "The paper has no cover messages and counts neither curious participants nor "
                     "users who drop out; this plan has none of them.");
    if (p->mechanism.noise == FRE_NOISE_DISCRETE && p->ddg.phi > 0)
        fre_plan_warn(p, "The paper charges nothing for the chance phi that random rounding moves "
                         "a sum farther than its bound.");
    if (p->request.records == FRE_PAPER_CAP && p->request.cells_per_user > 1)
        fre_plan_warn(p, "The paper's cap composes cells, although all of a user's records move "
                         "the same numbers of unreleased tags: use {multi_record} group.");
}

/* The paper's protocol: no cover messages, everybody honest, everybody answers. */
static void fill_distributed(fre_plan *p)
{
    const fre_distributed *asked = &p->request.dist;

    p->mechanism.noise = p->request.noise;
    p->mechanism.dist = (fre_distributed){
        .on = true,
        .phi = asked->phi > 0 ? asked->phi : PHI,
    };
}

/* sigma for the multiplier, and the account of it; delta_agg is met with a little to spare where
 * sigma is rounded up. */
static fre_paper_obstacle settle(fre_plan *p, const fre_paper_share *s, double delta)
{
    fre_mechanism *m = &p->mechanism;
    double reach = delta;

    if (m->noise == FRE_NOISE_DISCRETE) {
        if (!fre_paper_discrete(p, delta, p->multiplier))
            return FRE_PAPER_DISCRETE_NOISE;
        p->multiplier = m->sigma / delta;
        account(p, s, sqrt(2 * p->ddg.rho));
        return FRE_PAPER_NO_OBSTACLE;
    }
    m->sigma = p->multiplier * delta;
    if (m->dist.on) {
        p->sigma_local = m->sigma / sqrt((double)m->tau);
    } else {
        fre_plan_set_lattice(p, m->sigma);
        reach += m->lattice_step * sqrt((double)m->dim);
        m->sigma = p->multiplier * reach;
        fre_plan_round_sigma(p);
    }
    account(p, s, reach / m->sigma);
    return FRE_PAPER_NO_OBSTACLE;
}

/* The plan with this projection; on failure as far as it came. */
static fre_paper_obstacle plan_at(fre_plan *p, uint32_t k)
{
    fre_paper_share s = fre_paper_share_of(&p->request);
    fre_mechanism *m = &p->mechanism;
    fre_paper_obstacle padding = FRE_PAPER_NO_OBSTACLE;
    double delta;

    set_rate(p, &s);
    m->sketch.grid = fre_plan_grid(&p->request, k);
    if (m->dist.on && m->tau < 2)
        return FRE_PAPER_THRESHOLD;
    delta = sensitivity(p, s.records);
    if (p->delta_sens >= s.delta)
        return FRE_PAPER_SENSITIVITY;
    if (!calibrate_best(p, &s))
        return FRE_PAPER_COUNTS;
    p->account.split = delta;
    if (m->dist.on)
        padding = fre_paper_padding(p, &s);
    return padding != FRE_PAPER_NO_OBSTACLE ? padding : settle(p, &s, delta);
}

/* Combinations that no search can mend. */
static fre_status check(const fre_plan_request *r, fre_err *err)
{
    if (r->records == FRE_PAPER_BESPOKE && r->cells_per_user > FRE_PAPER_RECORDS_MAX)
        return fre_fail(err, FRE_E_USAGE,
                        "{multi_record} bespoke is computed for at most %u records a user: lower "
                        "{max_cells_per_user}, or use {multi_record} cap",
                        FRE_PAPER_RECORDS_MAX);
    return fre_param_check(&fre_param_phi, r->dist.phi, err);
}

fre_status fre_plan_paper(fre_plan *p, fre_paper_refusal *why, fre_err *err)
{
    uint32_t k = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_LEAST;
    uint32_t last = p->request.proj > 0 ? p->request.proj : FRE_PLAN_K_MOST;
    fre_plan best;
    fre_status st = check(&p->request, err);

    if (st != FRE_OK)
        return st;
    if (p->request.dist.on)
        fill_distributed(p);
    if (p->request.noise == FRE_NOISE_DISCRETE)
        p->request.gaussian = FRE_GAUSSIAN_ZCDP; /* the theorem's only conversion */
    memset(&best, 0, sizeof best);
    for (st = FRE_E_INFEASIBLE; k <= last; k++) {
        why->at = *p;
        why->obstacle = plan_at(&why->at, k);
        if (why->obstacle != FRE_PAPER_NO_OBSTACLE)
            continue;
        if (st != FRE_OK || why->at.mechanism.sigma < best.mechanism.sigma)
            best = why->at;
        st = FRE_OK;
    }
    if (st != FRE_OK)
        return st;
    *p = best;
    warn(p);
    if (p->mechanism.dist.on)
        warn_distributed(p);
    return FRE_OK;
}
