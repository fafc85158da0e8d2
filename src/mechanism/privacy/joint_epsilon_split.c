/* Least epsilon of a mechanism whose analysis is split at a given distance. */
#include <fre/privacy.h>

#include <math.h>
#include <stdlib.h>

static fre_status none_has(double delta, double split, double least, fre_err *err)
{
    char text[FRE_DIGITS_BYTES];

    if (least < 1 && strtod(fre_digits_up(text, 3, least), NULL) < 1)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "no {epsilon} up to %g has delta %.6g at {split} %.4g: raise {delta} to "
                        "%s or use another {split}",
                        FRE_PRIVACY_EPSILON_MAX, delta, split, text);
    return fre_fail(err, FRE_E_INFEASIBLE,
                    "no {epsilon} up to %g has delta %.6g at {split} %.4g: use another {split}, "
                    "or raise {sigma}",
                    FRE_PRIVACY_EPSILON_MAX, delta, split);
}

/* By a bracket of the monotone delta, false position on ln delta, which is nearly straight, halved
 * now and then; the upper end is returned, so the answer is never too small. */
static void narrow(fre_account *io, const fre_mechanism *m, double delta, double split)
{
    double low = 0.0, high = io->epsilon;
    const bool several = m->cells_per_user > 1; /* composing takes its time */
    double close = several ? 1e-6 : 1e-12, at_low = (double)NAN, at_high = log(io->delta / delta);
    fre_account a;

    for (int i = 0; i < 60 && high - low > close * high && !(several && at_high > -1e-4); i++) {
        double share = isnan(at_low) || i % 3 == 2 ? 0.5 : at_low / (at_low - at_high);
        double mid = low + (high - low) * fmin(fmax(share, 1e-3), 1 - 1e-3);
        fre_status st = fre_joint_delta_at_split(&a, m, mid, split, NULL);

        /* Too small an epsilon for the accountant counts as not met. */
        if (st == FRE_OK && a.delta <= delta) {
            high = mid;
            *io = a;
            at_high = log(a.delta / delta);
        } else {
            low = mid;
            at_low = st == FRE_OK ? log(a.delta / delta) : (double)NAN;
        }
    }
}

fre_status fre_joint_epsilon_at_split(fre_account *out, const fre_mechanism *m, double delta,
                                      double split, fre_err *err)
{
    fre_account best;
    fre_status st = fre_param_check(&fre_param_delta, delta, err);

    if (st == FRE_OK)
        st = fre_joint_delta_at_split(&best, m, FRE_PRIVACY_EPSILON_MAX, split, err);
    if (st != FRE_OK)
        return st;
    if (best.delta > delta)
        return none_has(delta, split, best.delta, err);
    narrow(&best, m, delta, split);
    *out = best;
    return FRE_OK;
}
