/* Least epsilon of a mechanism by levels for a delta. */
#include "levels.h"

#include <math.h>

#define TRIES 60

typedef struct bracket {
    double lo, hi;       /* delta(lo) is above the target, delta(hi) is not */
    double at_lo, at_hi; /* ln of them; at_lo 0: not known */
} bracket;

/* delta there, 1 where there is none: epsilon is below what removal costs. */
static fre_status look(fre_levels_account *out, const fre_levels *m, double epsilon, fre_err *err)
{
    fre_status st;

    if (fre_interrupted())
        return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    st = fre_levels_delta(out, m, epsilon, err);
    if (st != FRE_E_INFEASIBLE)
        return st;
    *out = (fre_levels_account){.epsilon = epsilon, .delta = 1};
    return FRE_OK;
}

/* Where the line through both ends meets the target, not too near to either. */
static double next_of(const bracket *b, double target)
{
    const double width = b->hi - b->lo;
    const double at = b->at_lo < 0 && b->at_lo > b->at_hi
                          ? b->lo + width * (b->at_lo - target) / (b->at_lo - b->at_hi)
                          : b->lo + width / 2;

    return fmin(b->hi - 0.02 * width, fmax(b->lo + 0.02 * width, at + 1e-5 * b->hi));
}

fre_status fre_levels_epsilon_from(fre_levels_account *out, const fre_levels *m, double delta,
                                   double from, double within, fre_err *err)
{
    bracket b = {.lo = from,
                 .hi = fmin(from > 0 ? from * (1 + within) : 1, FRE_PRIVACY_EPSILON_MAX)};
    fre_levels_account best, at;
    fre_status st = fre_param_check(&fre_param_delta, delta, err);

    for (; st == FRE_OK; b.hi = fmin(2 * b.hi, FRE_PRIVACY_EPSILON_MAX)) {
        st = look(&best, m, b.hi, err);
        if (st != FRE_OK || best.delta <= delta)
            break;
        if (b.hi >= FRE_PRIVACY_EPSILON_MAX)
            return fre_fail(err, FRE_E_INFEASIBLE, "no {epsilon} up to %g has this {delta}",
                            FRE_PRIVACY_EPSILON_MAX);
        b.lo = b.hi;
        b.at_lo = log(best.delta);
    }
    b.at_hi = st == FRE_OK ? log(best.delta) : 0;
    for (int i = 0; st == FRE_OK && i < TRIES && b.hi - b.lo > within * b.hi; i++) {
        st = look(&at, m, i % 3 == 2 ? (b.lo + b.hi) / 2 : next_of(&b, log(delta)), err);
        if (st == FRE_OK && at.delta <= delta) {
            best = at;
            b.hi = at.epsilon;
            b.at_hi = log(at.delta);
        } else if (st == FRE_OK) {
            b.lo = at.epsilon;
            b.at_lo = log(at.delta);
        }
    }
    if (st == FRE_OK)
        *out = best;
    return st;
}

fre_status fre_levels_epsilon(fre_levels_account *out, const fre_levels *m, double delta,
                              fre_err *err)
{
    return fre_levels_epsilon_from(out, m, delta, 0, 1e-4, err);
}
