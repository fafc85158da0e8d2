/* What the distributed mode adds to the paper's accountant [Fre-E2T, Privacy in Distributed
 * Settings, thm. distributed discrete Gaussian (complete version)]. */
#include <math.h>

#include <fre/linalg.h>

#include "paper.h"
#include "privacy_private.h"

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

fre_paper_obstacle fre_paper_padding(fre_plan *p, const fre_paper_share *s)
{
    const fre_plan_request *r = &p->request;
    fre_mechanism *m = &p->mechanism;
    double rate = (double)m->p32 / (double)FRE_P_ONE, lambda, gamma;

    lambda = r->dist.lambda > 0 ? ceil(r->dist.lambda / LAMBDA_STEP) * LAMBDA_STEP
                                : least_lambda(s, rate);
    if (!(lambda <= LAMBDA_MAX))
        return FRE_PAPER_LAMBDA;
    gamma = r->dist.gamma > 0 ? r->dist.gamma : least_gamma(s, rate, lambda);
    if (!(gamma <= GAMMA_MAX))
        return FRE_PAPER_GAMMA;
    m->dist.lambda = lambda;
    m->dist.gamma = (uint32_t)gamma;
    p->epsilon_unre = unreleased_epsilon(rate, lambda, s->records);
    p->delta_unre = unreleased_delta(rate, lambda, gamma, s->records);
    p->expected_dummies = fre_expected_dummies(m);
    if (p->epsilon_unre > s->epsilon) /* a padding that was asked for must do */
        return FRE_PAPER_LAMBDA_ASKED;
    if (fre_privacy_round_up(s->factor * p->delta_unre) > r->delta)
        return FRE_PAPER_GAMMA_ASKED;
    return r->max_dummies > 0 && p->expected_dummies > r->max_dummies ? FRE_PAPER_DUMMIES
                                                                      : FRE_PAPER_NO_OBSTACLE;
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

bool fre_paper_discrete(fre_plan *p, double split, double multiplier)
{
    double target = 1 / (2 * multiplier * multiplier), lo = multiplier * split, hi = lo;
    int i;

    for (i = 0; i < 100 && rho_at(p, split, hi) > target; i++) {
        lo = hi;
        hi *= 1.25;
    }
    if (i == 100)
        return false;
    for (i = 0; i < 60 && hi / lo > 1 + 1e-12; i++) {
        double mid = sqrt(lo * hi);

        if (rho_at(p, split, mid) <= target)
            hi = mid;
        else
            lo = mid;
    }
    (void)rho_at(p, split, hi);
    return true;
}
