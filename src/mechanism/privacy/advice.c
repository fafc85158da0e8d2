/* What would make an infeasible request feasible: changes of one number, each planned exactly as it is
 * printed before it is proposed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper.h"
#include "plan.h"

#define TRIES 3

typedef struct kind {
    const fre_param *param;
    bool up;
    double most; /* of a number that is raised, where that is less than its range; else 0 */
} kind;

static const kind kinds[] = {
    [FRE_LEVER_THRESHOLD] = {&fre_param_threshold, true, 1e9},
    [FRE_LEVER_LESS_THRESHOLD] = {&fre_param_threshold, false, 0},
    [FRE_LEVER_EPSILON] = {&fre_param_epsilon, true, 0},
    [FRE_LEVER_LESS_EPSILON] = {&fre_param_epsilon, false, 0},
    [FRE_LEVER_DELTA] = {&fre_param_delta, true, 1e-2},
    [FRE_LEVER_LESS_DELTA] = {&fre_param_delta, false, 0},
    [FRE_LEVER_RATE] = {&fre_param_sampling_rate, false, 0},
    [FRE_LEVER_CELLS] = {&fre_param_max_cells_per_user, false, 0},
    [FRE_LEVER_CURIOUS] = {&fre_param_curious_users, false, 0},
    [FRE_LEVER_DUMMIES] = {&fre_param_max_dummies, true, 0},
    [FRE_LEVER_RATIO] = {&fre_param_sensitivity_ratio, true, 0},
    [FRE_LEVER_PROJECTION] = {&fre_param_projection_dim, true, 0},
};

double fre_advice_nice(double x, bool up)
{
    double unit = pow(10, floor(log10(x)) - 1), n = x / unit;

    return (up ? ceil(n - 1e-9) : floor(n + 1e-9)) * unit;
}

static void set(fre_plan_request *r, fre_lever lever, double x)
{
    switch (lever) {
    case FRE_LEVER_THRESHOLD:
    case FRE_LEVER_LESS_THRESHOLD:
        r->threshold = (uint64_t)x;
        return;
    case FRE_LEVER_EPSILON:
    case FRE_LEVER_LESS_EPSILON:
        r->epsilon = x;
        return;
    case FRE_LEVER_DELTA:
    case FRE_LEVER_LESS_DELTA:
        r->delta = x;
        return;
    case FRE_LEVER_RATE:
        r->sampling_rate = x;
        return;
    case FRE_LEVER_CELLS:
        r->cells_per_user = (uint32_t)x;
        return;
    case FRE_LEVER_CURIOUS:
        r->dist.curious = (uint32_t)x;
        return;
    case FRE_LEVER_DUMMIES:
        r->max_dummies = x;
        return;
    case FRE_LEVER_RATIO:
        r->sensitivity_ratio = x;
        return;
    case FRE_LEVER_PROJECTION:
        r->proj = (uint32_t)x;
        return;
    }
}

/* Does the planner surely find a mechanism for this request?  Decided without far members, whose
 * certificates take their time: false proves nothing. */
static bool has_plan(const fre_plan_request *r)
{
    fre_paper_refusal why;
    fre_plan p;

    if (fre_plan_begin(&p, r, NULL) != FRE_OK)
        return false;
    return r->accountant == FRE_ACCOUNTANT_PAPER ? fre_plan_paper(&p, &why, NULL) == FRE_OK
                                                 : fre_plan_spare(&p);
}

static bool works(const fre_advice *a, fre_lever lever, const char *digits)
{
    fre_plan_request r = *a->request;

    set(&r, lever, strtod(digits, NULL));
    return has_plan(&r);
}

bool fre_advice_add(fre_advice *io, fre_lever lever, double value)
{
    const kind *k = &kinds[lever];
    const bool whole = k->param->whole;
    const double most = k->most > 0 ? k->most : k->param->highest;
    char digits[32];
    int i;

    for (i = 0; i < TRIES && value > 0 && (!k->up || value <= most); i++) {
        (void)snprintf(digits, sizeof digits, whole ? "%.0f" : "%.10g", value);
        if (works(io, lever, digits)) {
            io->n += (size_t)snprintf(io->text + io->n, sizeof io->text - io->n, "%s%s {%s} to %s",
                                      io->n > 0 ? " or " : "", k->up ? "raise" : "lower",
                                      k->param->name, digits);
            return true;
        }
        value = fre_advice_nice(k->up ? 1.2 * value : value / 1.2, k->up);
        if (whole)
            value = k->up ? ceil(value) : floor(value);
        if (whole && !k->up && value < 1)
            return false;
    }
    return false;
}

fre_status fre_advice_fail(const fre_advice *a, fre_err *err, const char *why,
                           const char *otherwise)
{
    return fre_fail(err, FRE_E_INFEASIBLE, "%s: %s", why, a->n > 0 ? a->text : otherwise);
}
