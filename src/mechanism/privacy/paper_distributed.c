/* What the distributed mode adds to the paper's accountant [Fre-E2T, Privacy in Distributed
 * Settings, thm. distributed discrete Gaussian (complete version)]. */
#include <math.h>
#include <stdio.h>

#include <fre/linalg.h>

#include "paper.h"
#include "planning.h"
#include "special.h"

/* What the sampler of dummy tags takes. */
#define LAMBDA_STEP (1 / (double)FRE_TSDLAP_ONE)
#define LAMBDA_MAX 0x1p16
#define GAMMA_MAX ((double)FRE_TSDLAP_GAMMA_MAX)

/* With fewer than two dummies expected a multiplicity and a large lambda, the printed delta_unre
 * is below the padding's own failure; with two it never is. */
#define GAMMA_LEAST 2.0

/* ---- padding ------------------------------------------------------------------------------ */

/* m records of a user move the padded numbers m times: group privacy, which the bespoke analysis
 * leaves open here. */
static double unreleased_epsilon(double p, double lambda, uint32_t m)
{
    return m * log1p(p * expm1(2 / lambda));
}

static double unreleased_delta(double p, double lambda, double gamma, uint32_t m)
{
    return fre_paper_group_factor(unreleased_epsilon(p, lambda, 1), m) * p / 2 *
           exp(-(gamma - 2) / lambda);
}

static double least_lambda(const fre_paper_share *s, double p)
{
    double lambda = 2 / log1p(expm1(s->epsilon / s->records) / p);

    lambda = ceil(lambda / LAMBDA_STEP) * LAMBDA_STEP;
    while (unreleased_epsilon(p, lambda, s->records) > s->epsilon && lambda <= LAMBDA_MAX)
        lambda += LAMBDA_STEP;
    return lambda;
}

static double least_gamma(const fre_paper_share *s, double p, double lambda)
{
    double over = unreleased_delta(p, lambda, 2, s->records) / s->delta;
    double gamma = fmax(GAMMA_LEAST, ceil(2 + lambda * log(over)));

    if (s->factor * s->delta < 2 * FRE_PRIVACY_TINY)
        return HUGE_VAL;
    while (fre_privacy_round_up(s->factor * unreleased_delta(p, lambda, gamma, s->records)) >
               s->factor * s->delta &&
           gamma <= GAMMA_MAX)
        gamma++;
    return gamma;
}

static fre_status too_many_dummies(const fre_plan *p, fre_err *err)
{
    const fre_mechanism *m = &p->mechanism;
    fre_advice advice = {.request = &p->request};
    double unit = pow(10, floor(log10(p->expected_dummies)) - 2);
    char why[240];

    if (!err)
        return FRE_E_INFEASIBLE;
    (void)fre_advice_add(&advice, FRE_LEVER_DUMMIES, ceil(p->expected_dummies / unit) * unit);
    (void)snprintf(why, sizeof why,
                   "the paper's padding of the unreleased tags takes %.6g dummy reports (gamma %u, "
                   "threshold %llu on sampled counts), more than {max_dummies} %.6g",
                   p->expected_dummies, m->dist.gamma, (unsigned long long)m->tau,
                   p->request.max_dummies);
    return fre_advice_fail(&advice, err, why,
                           "lower {threshold} or {sampling_rate}, or raise {epsilon}");
}

/* A padding that was asked for must do. */
static fre_status check_padding(const fre_plan *p, const fre_paper_share *s, fre_err *err)
{
    const fre_plan_request *r = &p->request;

    if (p->epsilon_unre > s->epsilon)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the unreleased tags take epsilon %.4g at lambda %.6g, more than {epsilon} "
                        "%.6g leaves them: raise lambda",
                        p->epsilon_unre, p->mechanism.dist.lambda, r->epsilon);
    if (fre_privacy_round_up(s->factor * p->delta_unre) > r->delta)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "the unreleased tags take delta %.3g at gamma %u, more than {delta} %.3g: "
                        "raise gamma",
                        s->factor * p->delta_unre, p->mechanism.dist.gamma, r->delta);
    return FRE_OK;
}

fre_status fre_paper_padding(fre_plan *p, const fre_paper_share *s, fre_err *err)
{
    const fre_distributed *asked = &p->request.dist;
    fre_mechanism *m = &p->mechanism;
    double rate = (double)m->p32 / (double)FRE_P_ONE, lambda, gamma;
    fre_status st;

    lambda =
        asked->lambda > 0 ? ceil(asked->lambda / LAMBDA_STEP) * LAMBDA_STEP : least_lambda(s, rate);
    if (!(lambda <= LAMBDA_MAX))
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{epsilon} %.6g is too small to pad the unreleased tags: raise it",
                        p->request.epsilon);
    gamma = asked->gamma > 0 ? asked->gamma : least_gamma(s, rate, lambda);
    if (!(gamma <= GAMMA_MAX))
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{epsilon} %.6g and {delta} %.3g take too many dummy tags: raise one of "
                        "them",
                        p->request.epsilon, p->request.delta);
    m->dist.lambda = lambda;
    m->dist.gamma = (uint32_t)gamma;
    p->epsilon_unre = unreleased_epsilon(rate, lambda, s->records);
    p->delta_unre = unreleased_delta(rate, lambda, gamma, s->records);
    p->expected_dummies = fre_expected_dummies(m);
    st = check_padding(p, s, err);
    if (st == FRE_OK && p->request.max_dummies > 0 && p->expected_dummies > p->request.max_dummies)
        return too_many_dummies(p, err);
    return st;
}

/* ---- discrete noise ----------------------------------------------------------------------- */

/* The theorem for a cell at the threshold, where the users' noise is least. */
static double rho_at(fre_plan *p, double split, double sigma)
{
    fre_mechanism *m = &p->mechanism;
    double local = sigma / sqrt((double)m->tau);

    m->sigma = sigma;
    p->sigma_local = local;
    fre_ddg_account(&p->ddg, split, sigma, local, fre_quantisation(local, split, m->dim),
                    fre_hadamard_dim(m->dim), m->tau, m->dist.phi);
    return p->ddg.rho;
}

fre_status fre_paper_discrete(fre_plan *p, double split, double multiplier, fre_err *err)
{
    double target = 1 / (2 * multiplier * multiplier), lo = multiplier * split, hi = lo;
    int i;

    for (i = 0; i < 100 && rho_at(p, split, hi) > target; i++) {
        lo = hi;
        hi *= 1.25;
    }
    if (i == 100)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no discrete noise reaches {epsilon} %.6g, {delta} %.3g: raise {epsilon}",
                        p->request.epsilon, p->request.delta);
    for (i = 0; i < 60 && hi / lo > 1 + 1e-12; i++) {
        double mid = sqrt(lo * hi);

        if (rho_at(p, split, mid) <= target)
            hi = mid;
        else
            lo = mid;
    }
    (void)rho_at(p, split, hi);
    return FRE_OK;
}
