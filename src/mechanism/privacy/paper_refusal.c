/* Why the paper's accountant finds no plan, and what to change. */
#include <math.h>
#include <stdio.h>

#include "paper.h"
#include "plan.h"

/* The proposals that work, each with the rest unchanged. */
static fre_status counts_exceed(const fre_plan *p, fre_err *err)
{
    const fre_plan_request *r = &p->request;
    fre_advice advice = {.request = r};
    double t = (double)r->threshold, e = r->epsilon, up;
    char why[240], otherwise[120];

    for (up = fre_advice_nice(1.05 * t, true); up < 1e9 && !fre_paper_leaves_room(p, e, up);
         up = fre_advice_nice(1.2 * up, true))
        ;
    (void)fre_advice_add(&advice, FRE_LEVER_THRESHOLD, up < 1e9 ? up : 0);
    for (up = fre_advice_nice(1.05 * e, true);
         up <= FRE_PRIVACY_EPSILON_MAX && !fre_paper_leaves_room(p, up, t);
         up = fre_advice_nice(1.1 * up, true))
        ;
    (void)fre_advice_add(&advice, FRE_LEVER_EPSILON, up);
    (void)snprintf(why, sizeof why,
                   "the paper's accountant: {epsilon} %.6g and {delta} %.3g leave nothing for the "
                   "noise at {sampling_rate} %.6g and {threshold} %llu",
                   e, r->delta, (double)p->mechanism.p32 / (double)FRE_P_ONE,
                   (unsigned long long)r->threshold);
    (void)snprintf(otherwise, sizeof otherwise,
                   "change {sampling_rate} or {budget_factor}%s, or use {accountant} joint",
                   r->cells_per_user > 1 ? ", or lower {max_cells_per_user}" : "");
    return fre_advice_fail(&advice, err, why, otherwise);
}

static fre_status sensitivity_exceeds(const fre_plan *p, const fre_paper_share *s, fre_err *err)
{
    fre_advice advice = {.request = &p->request};
    double u = fmax(p->u, 0.1);
    char why[200];

    while (s->records * pow(fre_collision_f(2 / u), p->mechanism.sketch.grid.proj) >
               s->delta / 10 &&
           u < 1000)
        u *= 1.02;
    (void)fre_advice_add(&advice, FRE_LEVER_RATIO, u < 1000 ? ceil(100 * u) / 100 : 0);
    if (advice.n == 0 && p->request.proj > 0)
        (void)fre_advice_add(&advice, FRE_LEVER_PROJECTION, 2 * p->mechanism.sketch.grid.proj);
    (void)snprintf(
        why, sizeof why,
        "the paper's accountant: the sensitivity bound alone fails with probability %.3g, "
        "more than {delta} %.3g allows",
        fmin(1, s->factor * p->delta_sens), p->request.delta);
    return fre_advice_fail(&advice, err, why,
                           p->request.cells_per_user > 1
                               ? "lower {max_cells_per_user}, or raise {sensitivity_ratio} and "
                                 "{projection_dim}"
                               : "raise {sensitivity_ratio} and {projection_dim}");
}

static fre_status too_many_dummies(const fre_plan *p, fre_err *err)
{
    const fre_mechanism *m = &p->mechanism;
    fre_advice advice = {.request = &p->request};
    double unit = pow(10, floor(log10(p->expected_dummies)) - 2);
    char why[240];

    (void)fre_advice_add(&advice, FRE_LEVER_DUMMIES, ceil(p->expected_dummies / unit) * unit);
    (void)snprintf(why, sizeof why,
                   "the paper's padding of the unreleased tags takes %.6g dummy reports (gamma %u, "
                   "threshold %llu on sampled counts), more than {max_dummies} %.6g",
                   p->expected_dummies, m->dist.gamma, (unsigned long long)m->tau,
                   p->request.max_dummies);
    return fre_advice_fail(&advice, err, why,
                           "lower {threshold} or {sampling_rate}, or raise {epsilon}");
}

static fre_status threshold_too_low(const fre_plan *p, fre_err *err)
{
    fre_advice advice = {.request = &p->request};

    (void)fre_advice_add(&advice, FRE_LEVER_THRESHOLD,
                         floor((double)FRE_P_ONE / (double)p->mechanism.p32) + 1);
    return fre_advice_fail(&advice, err,
                           "the distributed mode needs a threshold of at least 2 on sampled counts",
                           "raise {threshold} and {epsilon}");
}

fre_status fre_paper_refuse(const fre_paper_refusal *why, fre_err *err)
{
    const fre_plan *p = &why->at;
    const fre_plan_request *r = &p->request;
    const fre_paper_share s = fre_paper_share_of(r);

    if (!err)
        return FRE_E_INFEASIBLE;
    switch (why->obstacle) {
    case FRE_PAPER_NO_OBSTACLE:
        break;
    case FRE_PAPER_THRESHOLD:
        return threshold_too_low(p, err);
    case FRE_PAPER_SENSITIVITY:
        return sensitivity_exceeds(p, &s, err);
    case FRE_PAPER_COUNTS:
        return counts_exceed(p, err);
    case FRE_PAPER_DUMMIES:
        return too_many_dummies(p, err);
    case FRE_PAPER_LAMBDA:
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{epsilon} %.6g is too small to pad the unreleased tags: raise it",
                        r->epsilon);
    case FRE_PAPER_GAMMA:
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{epsilon} %.6g and {delta} %.3g take too many dummy tags: raise one of "
                        "them",
                        r->epsilon, r->delta);
    case FRE_PAPER_LAMBDA_ASKED:
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the unreleased tags take epsilon %.4g at lambda %.6g, more than {epsilon} "
                        "%.6g leaves them: raise lambda",
                        p->epsilon_unre, p->mechanism.dist.lambda, r->epsilon);
    case FRE_PAPER_GAMMA_ASKED:
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the unreleased tags take delta %.3g at gamma %u, more than {delta} %.3g: "
                        "raise gamma",
                        s.factor * p->delta_unre, p->mechanism.dist.gamma, r->delta);
    case FRE_PAPER_DISCRETE_NOISE:
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no discrete noise reaches {epsilon} %.6g, {delta} %.3g: raise {epsilon}",
                        r->epsilon, r->delta);
    }
    return FRE_E_INFEASIBLE;
}
