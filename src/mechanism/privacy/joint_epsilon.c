/* Least epsilon of a mechanism: estimates lead, certified accounts decide. */
#include <math.h>

#include "compose.h"
#include "joint.h"
#include "privacy_private.h"

/* ln(estimated delta / target) at epsilon. */
static double excess_at(const fre_mechanism *m, double epsilon, double target, fre_joint_place *at)
{
    fre_joint_step s;
    double delta = 1, least, rest;

    if (fre_joint_step_of(&s, m, epsilon, NULL) == FRE_OK) {
        rest =
            s.weight * (s.scale * fre_joint_padding(&m->dist, s.eps) + fre_joint_table_gap(m, &s));
        least = rest + s.weight * (s.excess + s.scale * fre_joint_counts_alone(m, &s));
        if (least > 1.05 * target) /* no split takes that away */
            return log(least) - log(target);
        rest += s.weight * fre_joint_rounding_slip(m, fre_joint_choose_split(m, &s, at, &delta));
        delta += rest;
    }
    return log(delta + FRE_PRIVACY_TINY) - log(target);
}

/* Greatest epsilon at which the table sampler's distance, which counts e^epsilon times, takes at
 * most a share of the target. */
static double useful_epsilon(const fre_mechanism *m, double lo, double hi, double target)
{
    fre_joint_step s;

    while (0.99 * hi > lo && fre_joint_step_of(&s, m, hi, NULL) == FRE_OK &&
           s.weight * fre_joint_table_gap(m, &s) > target)
        hi *= 0.99;
    return hi;
}

/* Least excess over epsilon, sought by steps that shrink around the best so far; stops at the first
 * that is none. */
static double lowest(double *at, const fre_mechanism *m, double lo, double hi, double target,
                     fre_joint_place *place)
{
    double best = hi, ratio = pow(hi / fmax(lo, 1e-3 * hi), 1.0 / 16), x;
    int i, round;

    *at = HUGE_VAL;
    for (round = 0; round < 3 && *at > 0; round++) {
        double from = round ? best / pow(ratio, 4) : hi / pow(ratio, 16);

        for (x = from, i = 0; i <= (round ? 8 : 16) && *at > 0; i++, x *= ratio) {
            double here = x >= lo && x <= hi ? excess_at(m, x, target, place) : HUGE_VAL;

            if (here < *at) {
                *at = here;
                best = x;
            }
        }
        ratio = pow(ratio, 0.25);
    }
    return best;
}

/* An upper end for the search, and the excess there.  Users' noise: delta falls with epsilon and
 * then grows again, by the table sampler's distance and by a group's factor. */
static double search_end(double *at_hi, const fre_mechanism *m, double lo, double target,
                         fre_joint_place *place)
{
    double hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, 1e-3 * target);

    *at_hi = excess_at(m, hi, target, place);
    if (*at_hi <= 0 || !m->dist.on)
        return hi;
    hi = useful_epsilon(m, lo, FRE_PRIVACY_EPSILON_MAX, target);
    return lowest(at_hi, m, lo, hi, target, place);
}

/* Root of excess_at by the Illinois method, which keeps a bracket; infinite: there is none. */
static double estimate_epsilon(const fre_mechanism *m, double lo, double target)
{
    fre_joint_place place = FRE_JOINT_NOWHERE;
    double at_lo, at_hi, hi;
    int i, side = 0;

    at_lo = excess_at(m, lo, target, &place);
    if (at_lo <= 0)
        return lo;
    hi = search_end(&at_hi, m, lo, target, &place);
    if (at_hi > 0.01) /* and estimates are never far above */
        return HUGE_VAL;
    for (i = 0; i < 60 && at_hi < 0 && hi - lo > 1e-6 * hi; i++) {
        double mid = i % 4 == 3 ? (lo + hi) / 2 : lo + (hi - lo) * at_lo / (at_lo - at_hi);
        double at = excess_at(m, mid, target, &place);

        if (at > 0) {
            lo = mid;
            at_lo = at;
            at_hi = side < 0 ? at_hi / 2 : at_hi;
            side = -1;
        } else {
            hi = mid;
            at_hi = at;
            at_lo = side > 0 ? at_lo / 2 : at_lo;
            side = 1;
        }
    }
    return hi;
}

/* From an estimate up to an epsilon whose certified delta is within the target. */
static fre_status raise_epsilon(fre_account *out, const fre_mechanism *m, double target,
                                double epsilon, fre_err *err)
{
    double step = 1e-4;

    for (;;) {
        fre_status st;

        if (isinf(epsilon) || (epsilon >= FRE_PRIVACY_EPSILON_MAX && step > 1e-4))
            return fre_fail(
                err, FRE_E_INFEASIBLE,
                "no {epsilon} up to %g reaches {delta} %.6g: raise {sigma} or {tau}, or "
                "lower {sampling_rate}",
                FRE_PRIVACY_EPSILON_MAX, target);
        st = fre_joint_delta(out, m, epsilon, err);
        if (st != FRE_OK || out->delta <= target)
            return st;
        epsilon = fmin(FRE_PRIVACY_EPSILON_MAX, epsilon * (1 + step));
        step *= 2;
    }
}

/* Then, at its split, down to where delta is the target but for half a per cent: bisection, since
 * delta falls with epsilon there. */
static fre_status settle_epsilon(fre_account *out, const fre_mechanism *m, double target,
                                 double least, double epsilon, fre_err *err)
{
    fre_status st = raise_epsilon(out, m, target, epsilon, err);
    double lo = least, step = 1e-3, split = out->split;
    fre_account a;

    while (st == FRE_OK && out->delta < 0.995 * target && out->epsilon - lo > 1e-5 * out->epsilon) {
        double at = fmax((lo + out->epsilon) / 2, out->epsilon * (1 - step));

        if (fre_joint_delta_at_split(&a, m, at, split, NULL) == FRE_OK && a.delta <= target)
            *out = a;
        else
            lo = at;
        step = fmin(0.3, 2 * step);
    }
    return st;
}

fre_status fre_joint_epsilon(fre_account *out, const fre_mechanism *m, double delta, fre_err *err)
{
    fre_account a;
    fre_status st;
    double epsilon, least;

    if ((st = fre_joint_check(m, err)) != FRE_OK)
        return st;
    if ((st = fre_param_check(&fre_param_delta, delta, err)) != FRE_OK)
        return st;
    least = fre_joint_epsilon_floor(m->p32, m->adjacency, m->cells_per_user);
    least = least > 1e-9 ? least : 1e-9;
    if (m->p32 == FRE_P_ONE || least > FRE_PRIVACY_EPSILON_MAX)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no epsilon up to %g reaches delta %g at {sampling_rate} %.6g: lower it",
                        FRE_PRIVACY_EPSILON_MAX, delta, (double)m->p32 / (double)FRE_P_ONE);
    epsilon = estimate_epsilon(m, least, delta);
    if (fre_composes(m)) {
        st = fre_compose_epsilon(out, m, delta, least, fmin(epsilon, FRE_PRIVACY_EPSILON_MAX), err);
        if (st != FRE_E_INFEASIBLE)
            return st;
    }
    st = settle_epsilon(&a, m, delta, least, epsilon, err);
    if (st == FRE_OK)
        *out = a;
    return st;
}
