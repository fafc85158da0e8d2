/* The planner: from a target to a mechanism whose account, recomputed for the mechanism exactly
 * as it will run, is within the target. */
#include <math.h>
#include <string.h>

#include "paper.h"
#include "plan.h"

/* epsilon = infinity: everybody counts and nothing is added. */
static void plan_without_privacy(fre_plan *p)
{
    const fre_plan_request *r = &p->request;

    p->mechanism.p32 = r->sampling_rate > 0 ? fre_p32(r->sampling_rate) : FRE_P_ONE;
    if (p->mechanism.p32 == 0)
        p->mechanism.p32 = 1;
    p->mechanism.tau = fre_tau(p->mechanism.p32, r->threshold);
    p->mechanism.sketch.grid = fre_plan_grid(r, r->proj > 0 ? r->proj : 20);
    p->mechanism.lattice_step = 0x1p-20;
    p->account.epsilon = p->joint_epsilon = p->worst_case_epsilon = HUGE_VAL;
    p->account.delta = p->account.delta_released = 1;
    fre_plan_warn(p, "NOT PRIVATE: epsilon is infinite, no noise is added.");
}

/* Infinite where there is none. */
static fre_status epsilon_of(double *out, const fre_plan *p, fre_sensitivity kind, fre_err *err)
{
    fre_mechanism m = p->mechanism;
    fre_account a;
    fre_status st;

    m.sensitivity = kind;
    st = fre_joint_epsilon(&a, &m, p->request.delta, err);
    *out = st == FRE_OK ? a.epsilon : HUGE_VAL;
    return st == FRE_E_INTERRUPTED ? st : FRE_OK;
}

/* What stands behind the grid's mechanism beside the claim. */
static fre_status certify(fre_plan *p, fre_err *err)
{
    const fre_plan_request *r = &p->request;
    fre_status st = FRE_OK;

    p->joint_epsilon = r->epsilon;
    if (r->accountant == FRE_ACCOUNTANT_PAPER)
        st = epsilon_of(&p->joint_epsilon, p, r->sensitivity, err);
    p->worst_case_epsilon = p->joint_epsilon;
    if (st == FRE_OK && r->sensitivity != FRE_SENSITIVITY_WORST_CASE)
        st = epsilon_of(&p->worst_case_epsilon, p, FRE_SENSITIVITY_WORST_CASE, err);
    return st;
}

static void common_warnings(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    const char *weak = fre_delta_warning(p->request.delta, p->request.population);

    if (weak)
        fre_plan_warn(p, weak);
    if (p->request.population < p->request.threshold)
        fre_plan_warn(p, "The population bound is below the threshold: no cell can hold enough "
                         "users, and nothing can be released; lower {threshold}.");
    if (p->request.epsilon > 10)
        fre_plan_warn(p, "epsilon is above 10: the guarantee is weak.");
    if (m->sigma * sqrt((double)m->dim) > (double)m->tau * p->request.norm_bound)
        fre_plan_warn(p, "The noise of the smallest released centroid is longer than an "
                         "embedding: raise {threshold} or {epsilon}.");
    if ((double)m->p32 / (double)FRE_P_ONE * m->cells_per_user <= 100 * p->request.delta)
        fre_plan_warn(p, "The sampling rate is so low that delta alone would allow publishing a "
                         "sampled record outright: raise {sampling_rate} or lower {delta}.");
    if (m->tau < 5)
        fre_plan_warn(p, "The threshold on sampled counts is below 5: centroids are averages of "
                         "very few records.");
}

static void fill_distributed(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    double beta;

    p->expected_dummies = fre_expected_dummies(m);
    if (p->request.accountant == FRE_ACCOUNTANT_JOINT) {
        p->sigma_local = fre_sigma_local(m, m->tau);
        if (m->noise == FRE_NOISE_DISCRETE)
            fre_joint_ddg(&p->ddg, &beta, m, p->account.split);
    }
    if (p->expected_dummies > (double)p->request.population)
        fre_plan_warn(p, "There will be more dummy reports than users: lower {threshold} or raise "
                         "{epsilon}, or bound them by {max_dummies}.");
    if (m->noise == FRE_NOISE_CONTINUOUS)
        fre_plan_warn(p, "Continuous noise is an idealisation in the distributed mode, where users "
                         "add discrete noise: plan with {noise} discrete before a collection.");
}

/* A mechanism within the target, or why there is none. */
static fre_status find(fre_plan *p, fre_err *err)
{
    fre_paper_refusal why;
    fre_status st;

    if (p->request.accountant == FRE_ACCOUNTANT_JOINT) {
        st = fre_plan_joint(p, err);
        return st == FRE_E_INFEASIBLE ? fre_plan_refuse(&p->request, err) : st;
    }
    st = fre_plan_paper(p, &why, err);
    return st == FRE_E_INFEASIBLE ? fre_paper_refuse(&why, err) : st;
}

/* The one level of public cells that a collection may have. */
static void set_public_level(fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;

    p->level[0].level = (fre_level){.counts = FRE_COUNTS_SAMPLED,
                                    .p32 = m->p32,
                                    .tau = m->tau,
                                    .sigma = m->sigma,
                                    .shift = p->account.split};
}

/* Distributed, one level of public cells. */
static fre_status find_public(fre_plan *p, fre_err *err)
{
    const fre_level_request *l = &p->request.level[0];
    fre_plan_request q = fre_plan_as_grid(&p->request, l);
    fre_plan made;
    fre_status st = fre_plan_begin(&made, &q, err);

    if (st == FRE_OK)
        st = find(&made, err);
    if (st != FRE_OK)
        return st;
    made.request = p->request;
    made.request.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    made.mechanism.norm_bound = p->request.norm_bound;
    made.mechanism.sketch = l->sketch;
    set_public_level(&made);
    *p = made;
    return FRE_OK;
}

static fre_status find_without_grid(fre_plan *p, fre_err *err)
{
    fre_plan_request r = p->request;
    fre_status st;

    r.no_grid = true;
    st = fre_plan_begin(p, &r, err);
    if (st == FRE_OK)
        st = fre_plan_levels(p, err);
    if (st == FRE_OK)
        fre_plan_warn(p,
                      "The grid is left out, since its exact counts alone would exceed {epsilon} "
                      "and {delta}: frequent wordings stand in the finest cells with what is "
                      "like them; a larger {threshold} or {epsilon} brings the grid back.");
    return st;
}

/* Where the grid alone cannot be had either, that is what is said. */
static fre_status find_levels(fre_plan *p, fre_err *err)
{
    fre_status st = fre_plan_levels(p, err);
    fre_plan grid = *p;

    if (st != FRE_E_INFEASIBLE || p->request.no_grid)
        return st;
    if (p->request.grid_if_possible)
        return find_without_grid(p, err);
    grid.request.n_levels = 0;
    return find(&grid, err) == FRE_OK ? st : FRE_E_INFEASIBLE;
}

fre_status fre_plan_make(fre_plan *out, const fre_plan_request *r, fre_err *err)
{
    fre_plan p;
    fre_status st = fre_plan_begin(&p, r, err);

    if (st != FRE_OK)
        return st;
    if (isinf(r->epsilon)) {
        plan_without_privacy(&p);
        fre_plan_levels_bare(&p);
        *out = p;
        return FRE_OK;
    }
    st = r->n_levels == 0 ? find(&p, err)
         : r->dist.on     ? find_public(&p, err)
                          : find_levels(&p, err);
    if (st != FRE_OK)
        return st;
    if (r->n_levels == 0 || r->dist.on)
        st = certify(&p, err);
    if (st != FRE_OK)
        return st;
    if (r->dist.on)
        fill_distributed(&p);
    common_warnings(&p);
    *out = p;
    return FRE_OK;
}

void fre_plan_from_mechanism(fre_plan *out, const fre_plan_request *r, const fre_mechanism *m,
                             const fre_account *a)
{
    fre_plan p;

    memset(&p, 0, sizeof p);
    p.request = *r;
    p.mechanism = *m;
    p.account = *a;
    if (r->n_levels > 0)
        set_public_level(&p);
    (void)certify(&p, NULL); /* at once, for a mechanism of a collection */
    if (m->dist.on)
        fill_distributed(&p);
    common_warnings(&p);
    *out = p;
}
