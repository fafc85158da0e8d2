/* Why the joint accountant finds no plan, and what to change. */
#include <math.h>
#include <stdio.h>

#include "plan.h"

static bool feasible_with(const fre_plan_request *r, double threshold, double epsilon)
{
    fre_plan_request try = *r;

    try.threshold = (uint64_t)threshold;
    try.epsilon = epsilon;
    return fre_search_feasible(&try);
}

/* Least threshold and epsilon that could reach the target, the rest unchanged; 0: none found.
 * Doubled until one does, then by small steps from the last that did not. */
static void suggest(const fre_plan_request *r, double *threshold, double *epsilon)
{
    const double t0 = (double)r->threshold, e0 = fmax(r->epsilon, 1e-3);
    double t = t0, e = e0, up;

    *threshold = *epsilon = 0;
    while (t < 1e6 && !feasible_with(r, fmin(2 * t, 1e6), r->epsilon))
        t *= 2;
    for (up = fre_advice_nice(t * 1.05, true); t < 1e6 && up < 1e6 && *threshold <= 0;
         up = fre_advice_nice(up * 1.15, true)) {
        if (feasible_with(r, up, r->epsilon))
            *threshold = up;
    }
    while (e < FRE_PRIVACY_EPSILON_MAX &&
           !feasible_with(r, t0, fmin(2 * e, FRE_PRIVACY_EPSILON_MAX)))
        e *= 2;
    for (up = fre_advice_nice(e * 1.02, true);
         e < FRE_PRIVACY_EPSILON_MAX && up <= FRE_PRIVACY_EPSILON_MAX && *epsilon <= 0;
         up = fre_advice_nice(up * 1.06, true)) {
        if (feasible_with(r, t0, up))
            *epsilon = up;
    }
}

/* Dummies alone are in the way: the bound and the threshold that would do. */
static fre_status too_many_dummies(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request try = *r;
    fre_advice advice = {.request = r};
    double lo = r->max_dummies, hi = fmax(2 * lo, 1), t;
    char why[120];
    int i;

    for (try.max_dummies = hi; !fre_search_feasible(&try) && hi < 1e17; try.max_dummies = hi) {
        lo = hi;
        hi *= 4;
    }
    for (i = 0; i < 12 && hi > 1.02 * lo; i++) {
        try.max_dummies = sqrt(fmax(lo, 0.1) * hi);
        if (fre_search_feasible(&try))
            hi = try.max_dummies;
        else
            lo = try.max_dummies;
    }
    (void)fre_advice_add(&advice, FRE_LEVER_DUMMIES, fre_advice_nice(hi, true));
    for (t = floor(0.95 * (double)r->threshold); t >= 2 && !feasible_with(r, t, r->epsilon);)
        t = floor(0.95 * t);
    if (t >= 2)
        (void)fre_advice_add(&advice, FRE_LEVER_LESS_THRESHOLD, t);
    (void)snprintf(why, sizeof why,
                   "the dummy reports that hide unreleased tags exceed {max_dummies} %.6g",
                   r->max_dummies);
    return fre_advice_fail(&advice, err, why, "raise it, or lower {threshold}");
}

/* Greatest epsilon at which the table sampler's distance from the exact law, which counts
 * e^epsilon times, stays a small share of delta; without discrete noise any. */
static double table_limit(const fre_plan_request *r)
{
    fre_mechanism m;
    fre_joint_step s = {.eps = 0};

    fre_plan_mechanism(&m, r);
    if (m.noise != FRE_NOISE_DISCRETE)
        return HUGE_VAL;
    return log(0.05 * r->delta / fre_joint_table_gap(&m, &s));
}

static fre_status table_too_coarse(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    fre_mechanism m;
    fre_joint_step s = {.eps = r->epsilon};

    fre_plan_mechanism(&m, r);
    (void)fre_advice_add(&advice, FRE_LEVER_LESS_EPSILON, floor(10 * table_limit(r)) / 10);
    (void)fre_advice_add(&advice, FRE_LEVER_DELTA,
                         fre_advice_nice(40 * fre_joint_table_gap(&m, &s), true));
    return fre_advice_fail(&advice, err,
                           "users' noise is exact to 2^-100 only, too little at this {epsilon} and "
                           "{delta}",
                           "raise {delta} and lower {epsilon}");
}

/* Fewer cells a user, or curious users: half as many, until it does. */
static void fewer(fre_advice *io, const fre_plan_request *r, fre_lever lever, uint32_t now,
                  uint32_t least)
{
    fre_plan_request try = *r;
    uint32_t n;

    for (n = now / 2; n >= least && n > 0; n /= 2) {
        if (lever == FRE_LEVER_CELLS)
            try.cells_per_user = n;
        else
            try.dist.curious = n;
        if (fre_search_feasible(&try)) {
            (void)fre_advice_add(io, lever, n);
            return;
        }
    }
}

/* The threshold, epsilon or whatever else would do. */
static fre_status counts_exceed(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    double threshold, epsilon;
    char why[200];

    suggest(r, &threshold, &epsilon);
    if (threshold <= 0 && epsilon <= 0 && r->sampling_rate <= 0 &&
        fre_search_too_rare(r, fre_p32(fre_search_greatest(r)))) {
        (void)snprintf(why, sizeof why,
                       "{delta} %.6g alone would allow publishing a sampled record outright at "
                       "every sampling rate",
                       r->delta);
        (void)fre_advice_add(&advice, FRE_LEVER_LESS_DELTA, fre_default_delta(r->population));
        return fre_advice_fail(&advice, err, why,
                               "lower {delta} to at most 1/(10 N), N being the population, and "
                               "below 0.01");
    }
    (void)fre_advice_add(&advice, FRE_LEVER_THRESHOLD, threshold);
    (void)fre_advice_add(&advice, FRE_LEVER_EPSILON, epsilon);
    if (r->dist.on && r->dist.curious > 1)
        fewer(&advice, r, FRE_LEVER_CURIOUS, r->dist.curious, 1);
    if (advice.n == 0 && r->cells_per_user > 1)
        fewer(&advice, r, FRE_LEVER_CELLS, r->cells_per_user, 1);
    (void)snprintf(why, sizeof why,
                   "the counts alone exceed {epsilon} %.6g, {delta} %.3g with {threshold} %llu%s",
                   r->epsilon, r->delta, (unsigned long long)r->threshold,
                   r->sampling_rate > 0 ? " at this {sampling_rate}" : " at every sampling rate");
    if (r->noise == FRE_NOISE_DISCRETE && fre_search_feasible(r))
        (void)snprintf(why, sizeof why,
                       "one user's noise would be more than %.0f lattice steps, which nobody can "
                       "draw",
                       FRE_JOINT_STEPS_MAX);
    return fre_advice_fail(&advice, err, why,
                           r->sampling_rate > 0 ? "leave out {sampling_rate}, or raise {threshold} "
                                                  "and {epsilon}"
                                                : "raise {threshold} and {epsilon}, or {delta}");
}

/* Adding or removing a record costs ln(1/(1-p)) whatever else is done. */
static fre_status below_coin(const fre_plan_request *r, fre_err *err)
{
    fre_advice advice = {.request = r};
    uint64_t p32 = fre_p32(r->sampling_rate);
    double least = fre_joint_epsilon_floor(p32, r->adjacency, r->cells_per_user);
    double most = fre_search_greatest(r);
    char why[200], asked[FRE_DIGITS_BYTES], floor_of[FRE_DIGITS_BYTES], p[FRE_DIGITS_BYTES];

    (void)fre_advice_add(&advice, FRE_LEVER_RATE, fre_advice_nice(most, false));
    (void)fre_advice_add(&advice, FRE_LEVER_EPSILON, fre_advice_nice(least, true));
    (void)snprintf(why, sizeof why,
                   "{epsilon} %s is below ln(1/(1-p)) = %s, the least that removing a record "
                   "costs at {sampling_rate} %s",
                   fre_digits_down(asked, 6, r->epsilon), fre_digits_up(floor_of, 6, least),
                   fre_digits_up(p, 6, r->sampling_rate));
    return fre_advice_fail(&advice, err, why, "lower {sampling_rate} and raise {threshold}");
}

fre_status fre_plan_refuse(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request free_of_bound = *r;
    fre_joint_step s;

    if (!err)
        return FRE_E_INFEASIBLE;
    if (r->sampling_rate > 0 &&
        fre_joint_step_init(&s, fre_p32(r->sampling_rate), r->epsilon, r->adjacency,
                            r->cells_per_user, r->dist.on, NULL) != FRE_OK)
        return below_coin(r, err);
    if (r->epsilon > table_limit(r))
        return table_too_coarse(r, err);
    free_of_bound.max_dummies = 0;
    if (r->dist.on && r->max_dummies > 0 && !fre_search_feasible(r) &&
        fre_search_feasible(&free_of_bound))
        return too_many_dummies(r, err);
    return counts_exceed(r, err);
}
