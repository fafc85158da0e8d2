/* Several records a user and bounded DP, as the paper has them [Fre-E2T, app. Extensions]. */
#include <math.h>

#include "paper.h"
#include "privacy_private.h"

/* D(a || b) of two coins. */
static double divergence(double a, double b)
{
    double d = a > 0 ? a * log(a / b) : 0;

    return a < 1 ? d + (1 - a) * log((1 - a) / (1 - b)) : d;
}

double fre_paper_group_delta(double p, double tau, double v, uint32_t l)
{
    double q = -expm1((v + 1) * log1p(-p));
    double m = tau / q + l - 1.0;

    /* Chernoff's best order is 0 where tau is no more than the mean. */
    return tau > p * m ? exp(-m * divergence(tau / m, p)) : 1;
}

double fre_paper_group_factor(double epsilon, uint32_t m)
{
    return m == 1 ? 1 : expm1(m * epsilon) / expm1(epsilon);
}

fre_paper_share fre_paper_share_of(const fre_plan_request *r)
{
    uint32_t m = r->cells_per_user;
    fre_paper_share s = {r->epsilon, r->delta, 1, 1};

    if (r->adjacency == FRE_ADJACENCY_REPLACE) {
        s.epsilon /= 2;
        s.factor = 1 + exp(s.epsilon);
    }
    if (r->records == FRE_PAPER_BESPOKE) {
        s.records = m;
    } else if (r->records == FRE_PAPER_GROUP) {
        s.epsilon /= m;
        s.factor *= fre_paper_group_factor(s.epsilon, m);
    } else {
        s.epsilon /= m;
        s.factor *= m;
    }
    s.delta /= s.factor;
    return s;
}

double fre_paper_worst_partition(const double *of, uint32_t m)
{
    double most[FRE_PAPER_RECORDS_MAX + 1] = {0};
    uint32_t n, l;

    for (n = 1; n <= m; n++) {
        for (l = 1; l <= n; l++)
            most[n] = fmax(most[n], of[l] + most[n - l]);
    }
    return most[m];
}

double fre_paper_counts_delta(double p, double tau, double v, uint32_t m)
{
    double of[FRE_PAPER_RECORDS_MAX + 1] = {0};
    uint32_t l;

    for (l = 1; l <= m; l++)
        of[l] = fre_paper_group_delta(p, tau, v, l);
    return fre_paper_worst_partition(of, m);
}

double fre_paper_sums_delta(fre_gaussian kind, double epsilon, double mu, uint32_t m)
{
    double of[FRE_PAPER_RECORDS_MAX + 1] = {0};
    uint32_t l;

    for (l = 1; l <= m; l++) {
        double e = epsilon * l / m, shift = l * mu;

        of[l] = kind == FRE_GAUSSIAN_ZCDP ? fre_zcdp_delta(shift * shift / 2, e)
                                          : fre_gauss_delta(e, shift);
    }
    return fre_paper_worst_partition(of, m);
}

/* All records in one cell are the worst partition as long as delta is small, since delta then
 * grows faster than the distance; this is checked and where it fails searched for. */
fre_status fre_paper_multiplier(double *out, fre_gaussian kind, double epsilon, double delta,
                                uint32_t m)
{
    double lo, hi;
    fre_status st = fre_gauss_multiplier(&lo, epsilon, delta, kind);
    int i;

    if (st != FRE_OK || m == 1) {
        if (st == FRE_OK)
            *out = lo;
        return st;
    }
    lo *= m;
    hi = lo * (1 + 1e-12); /* so that rounding does not miss it */
    for (i = 0; i < 60 && fre_paper_sums_delta(kind, epsilon, 1 / hi, m) > delta; i++) {
        lo = hi;
        hi *= 2;
    }
    if (i == 60)
        return FRE_E_INFEASIBLE;
    while (i > 0 && hi / lo > 1 + 1e-12) {
        double s = sqrt(lo * hi);

        if (fre_paper_sums_delta(kind, epsilon, 1 / s, m) <= delta)
            hi = s;
        else
            lo = s;
    }
    *out = hi;
    return FRE_OK;
}
