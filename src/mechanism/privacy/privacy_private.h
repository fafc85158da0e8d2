/* Special functions of the accountants, private to the module.  Logarithms throughout; each
 * function's relative error is far below FRE_PRIVACY_MARGIN, which every published delta adds. */
#ifndef FRE_PRIVACY_PRIVATE_H
#define FRE_PRIVACY_PRIVATE_H

#include <fre/privacy.h>

/* The sums behind a delta have at most some 10^5 terms of relative error below 1e-13 each, so
 * that their own error is below 1e-11; the factor 1 + FRE_PRIVACY_MARGIN rounds up over it.
 * What underflows is below FRE_PRIVACY_TINY, which is added too. */
#define FRE_PRIVACY_MARGIN 1e-9
#define FRE_PRIVACY_TINY 1e-290

/* fre_gauss_delta with factor = e^eps at hand; eps finite, mu and its quotients too. */
double fre_privacy_gauss(double eps, double factor, double mu);
/* Mills ratio (1 - Phi(x)) / phi(x), x >= 0. */
double fre_privacy_mills(double x);
/* ln Pr[Bin(n, p) = j]; 0 <= j <= n integers, 0 < p < 1.  -inf outside. */
double fre_privacy_log_binomial(double n, double j, double p);
/* ln of mean^j e^-mean / Gamma(j+1); any real j >= 0, mean > 0. */
double fre_privacy_log_poisson(double mean, double j);
/* ln of fre_collision. */
double fre_privacy_log_collision(const fre_sketch_grid *grid, double distance);
/* ln of the zCDP conversion at eps.  *beta = alpha - 1: from where its best value is sought by a
 * few Newton steps, 0: from nowhere; the one used is left there.  Every beta gives a valid bound. */
double fre_privacy_log_zcdp(double rho, double eps, double *beta);
/* Golden section: the bracket of a function's least value, narrowed to `width`, and the two points
 * last looked at in it. */
typedef struct fre_bracket {
    double lo, hi;
    double a, b; /* lo < a < b < hi */
    double at_a, at_b;
} fre_bracket;
fre_bracket fre_privacy_narrow(double (*f)(void *ctx, double x), void *ctx, double lo, double hi,
                               double width);
/* Add the rounding margin and clip to [0, 1]. */
double fre_privacy_round_up(double delta);

#endif /* FRE_PRIVACY_PRIVATE_H */
