/* audit/levels_law.c - the law of one stage: docs/privacy.md, "Release by levels".  Published counts are
 * rounded, which the law passes over: it makes a test, and any test is one. */
#include "levels_private.h"

#include <math.h>

/* ln of a Gaussian's density at x - m by that at x. */
static double shifted(double x, double m, double sigma)
{
    return m * (x - m / 2) / (sigma * sigma);
}

static double noisy(const audit_stage *s, const audit_sight *v)
{
    const fre_level *l = &s->level.level;
    const double n = (double)v->others, a = ((double)l->tau - n) / l->count_sigma;

    if (!v->released)
        return fre_log_phi(a - 1 / l->count_sigma) - fre_log_phi(a);
    return shifted((double)v->shown - n, 1, l->count_sigma) +
           shifted(v->along, s->reach, l->sigma);
}

/* Pr[fewer than tau of n are sampled]. */
static double below(double n, double tau, double p)
{
    return n < tau ? 1 : 1 - audit_incomplete_beta(tau, n - tau + 1, p);
}

/* Of c sampled ones: a_{c-1}/a_c. */
static double odds(double n, double c, double p)
{
    return log(c) + log1p(-p) - log(n - c + 1) - log(p);
}

static double sampled(const audit_stage *s, const audit_sight *v)
{
    const fre_level *l = &s->level.level;
    const double n = (double)v->others, c = (double)v->shown, tau = (double)l->tau;
    const double p = (double)l->p32 / (double)FRE_P_ONE;
    const double u = below(n, tau, p);

    if (!v->released)
        return u > 0 ? log(below(n + 1, tau, p) / u) : 0;
    if (c > n) /* without the record there are not so many */
        return 50;
    if (c < 1)
        return 0;
    return audit_log_add(log1p(-p),
                         log(p) + odds(n, c, p) + shifted(v->along, s->reach, l->sigma));
}

double audit_levels_llr(const audit_stage *s, const audit_sight *v)
{
    return s->level.level.counts == FRE_COUNTS_NOISY ? noisy(s, v) : sampled(s, v);
}
