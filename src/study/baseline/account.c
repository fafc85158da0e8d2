/* baseline/account.c - how much noise each method needs; proofs: docs/decisions/0029-baselines.md. */
#include "baseline_private.h"

#include <math.h>

#define CENTRAL_SHARE 0.25
#define OUE_SHARE 0.8
#define ROUNDS 40 /* until a cell of one user has its share of delta */

/* Noise on vectors of which a user moves one by at most `times` the norm bound: `multiplier` times that,
 * rounding to the lattice included. */
static void set_noise(fre_baseline_plan *p, const fre_plan_request *q, double multiplier,
                      double times, uint32_t dim)
{
    const double about = multiplier * times * q->norm_bound;

    p->lattice_step = exp2(floor(log2(about)) - 20);
    p->shift = times * fre_level_shift(FRE_COUNTS_NOISY, q->norm_bound, about, dim);
    p->sigma_lattice = (uint64_t)ceil(multiplier * p->shift / p->lattice_step);
    p->sigma = (double)p->sigma_lattice * p->lattice_step;
}

static fre_status local(fre_baseline_plan *p, const fre_plan_request *q, uint32_t dim, fre_err *err)
{
    double m;
    fre_status st = fre_gauss_multiplier(&m, p->epsilon, p->delta, FRE_GAUSSIAN_ANALYTIC);

    if (st != FRE_OK)
        return fre_fail(err, FRE_E_INFEASIBLE, "no noise meets this budget: raise {epsilon}");
    set_noise(p, q, m, 2, dim); /* any two embeddings */
    return FRE_OK;
}

/* The largest chance that is at most `chance`, of 2^-32, never below 1/(e^eps + 1). */
static uint64_t flip_of(double epsilon)
{
    return (uint64_t)ceil(0x1p32 / (exp(epsilon) + 1) * (1 + 1e-15));
}

static fre_status unary(fre_baseline_plan *p, const fre_plan_request *q, double share, uint32_t dim,
                        fre_err *err)
{
    double m;

    p->count_epsilon = share * p->epsilon;
    p->flip32 = flip_of(p->count_epsilon);
    if (p->flip32 >= FRE_P_ONE / 2 ||
        fre_gauss_multiplier(&m, p->epsilon - p->count_epsilon, p->delta, FRE_GAUSSIAN_ANALYTIC) !=
            FRE_OK)
        return fre_fail(
            err, FRE_E_INFEASIBLE,
            "no noise meets this budget: raise {epsilon}, or bring {count_share} nearer "
            "to 0.5");
    /* Replaced: within one cell, or out of one and into another, which is less. */
    set_noise(p, q, m, q->adjacency == FRE_ADJACENCY_REPLACE ? 2 : 1, dim);
    return FRE_OK;
}

/* mu^2 of all is at most this many times that of one user's count and sum. */
static double central_factor(fre_adjacency adjacency, double share)
{
    if (adjacency == FRE_ADJACENCY_ADD_REMOVE)
        return 1;
    /* Two cells change by a user, or the sum of one by two embeddings. */
    return fmax(2, 4 * (1 - share));
}

/* Chance that a cell of one user alone is released. */
static double alone(const fre_baseline_plan *p, uint64_t threshold)
{
    return exp(fre_log_phi(-((double)threshold - 1 - FRE_COUNT_STEP) / p->count_sigma));
}

static fre_status central_noise(fre_baseline_plan *p, const fre_plan_request *q, double share,
                                uint32_t dim)
{
    double m;
    fre_status st;

    /* Two data sets of which one has a cell more: what is seen without it is at most e^eps times as
     * likely only after the chance that it stays out. */
    st = fre_gauss_multiplier(&m, p->epsilon + log1p(-p->delta_empty), p->delta - p->delta_empty,
                              FRE_GAUSSIAN_ANALYTIC);
    if (st != FRE_OK)
        return st;
    m *= sqrt(central_factor(q->adjacency, share));
    p->count_sigma_lattice = (uint64_t)ceil(m / sqrt(share) / FRE_COUNT_STEP);
    p->count_sigma = (double)p->count_sigma_lattice * FRE_COUNT_STEP;
    set_noise(p, q, m / sqrt(1 - share), 1, dim);
    return FRE_OK;
}

static fre_status central(fre_baseline_plan *p, const fre_plan_request *q, double share,
                          uint32_t dim, fre_err *err)
{
    for (int i = 0; i < ROUNDS; i++) {
        double empty;

        if (central_noise(p, q, share, dim) != FRE_OK)
            break;
        empty = alone(p, q->threshold);
        if (empty <= p->delta_empty)
            return FRE_OK;
        p->delta_empty = empty * (1 + 1e-9);
        if (!(p->delta_empty < p->delta / 2))
            break;
    }
    return fre_fail(
        err, FRE_E_INFEASIBLE,
        "a cell of one user would be seen too often under this noise: raise {threshold} "
        "or {epsilon}");
}

/* What was best on the bundled population (docs/decisions/0029-baselines.md). */
static double share_of(const fre_baseline_opts *o)
{
    return o->count_share > 0                  ? o->count_share
           : o->method == FRE_BASELINE_LDP_OUE ? OUE_SHARE
                                               : CENTRAL_SHARE;
}

/* `rounds` Gaussians, each of a count that one vote moves by 1, or two by 1 each: mu^2 adds up
 * [Dong, Roth, Su 2022, cor. 3.3]. */
static fre_status votes(fre_baseline_plan *p, const fre_baseline_opts *o, fre_err *err)
{
    const double changed = o->plan.adjacency == FRE_ADJACENCY_REPLACE ? 2 : 1;
    double m;

    if (fre_gauss_multiplier(&m, p->epsilon, p->delta, FRE_GAUSSIAN_ANALYTIC) != FRE_OK)
        return fre_fail(err, FRE_E_INFEASIBLE, "no noise meets this budget: raise {epsilon}");
    m *= sqrt(changed * o->evolution.rounds);
    p->count_sigma_lattice = (uint64_t)ceil(m / FRE_COUNT_STEP);
    p->count_sigma = (double)p->count_sigma_lattice * FRE_COUNT_STEP;
    p->shift = 1;
    return FRE_OK;
}

static fre_status check(const fre_baseline_opts *o, double share, uint32_t dim, fre_err *err)
{
    const fre_plan_request *q = &o->plan;
    const fre_param_value value[] = {
        {&fre_param_epsilon, q->epsilon},
        {&fre_param_threshold, (double)q->threshold},
        {&fre_param_population, (double)q->population},
        {&fre_param_radius, q->radius},
        {&fre_param_projection_dim, q->proj},
        {&fre_param_cell_scale, q->cell_scale},
        {&fre_param_norm_bound, q->norm_bound},
        {&fre_param_dimension, dim},
        {&fre_baseline_param_count_share, share},
        {&fre_baseline_param_samples, o->evolution.samples},
        {&fre_baseline_param_rounds, o->evolution.rounds},
        {&fre_baseline_param_variations, o->evolution.variations},
        {&fre_baseline_param_look_ahead, o->evolution.look_ahead},
        {&fre_baseline_param_temperature, o->evolution.temperature},
        {&fre_param_threads, o->threads},
    };
    fre_status st = fre_param_check_all(value, sizeof value / sizeof *value, err);

    if (st == FRE_OK)
        st = fre_param_check_given(&(fre_param_value){&fre_param_delta, q->delta}, 1, err);
    if (st == FRE_OK && !fre_baseline_name(o->method))
        st = fre_fail(err, FRE_E_USAGE, "there is no such baseline");
    return st;
}

fre_status fre_baseline_plan_make(fre_baseline_plan *out, const fre_baseline_opts *o, uint32_t dim,
                                  fre_err *err)
{
    const fre_plan_request *q = &o->plan;
    const double share = share_of(o);
    fre_baseline_plan p = {.epsilon = q->epsilon,
                           .delta = q->delta > 0 ? q->delta : fre_default_delta(q->population)};
    fre_status st = check(o, share, dim, err);

    if (st != FRE_OK)
        return st;
    switch (o->method) {
    case FRE_BASELINE_LDP_EMBEDDING:
        st = local(&p, q, dim, err);
        break;
    case FRE_BASELINE_LDP_OUE:
        st = unary(&p, q, share, dim, err);
        break;
    case FRE_BASELINE_CENTRAL_DP:
        st = central(&p, q, share, dim, err);
        break;
    case FRE_BASELINE_AUG_PE:
        st = votes(&p, o, err);
        break;
    }
    if (st == FRE_OK)
        *out = p;
    return st;
}
