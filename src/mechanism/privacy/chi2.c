/* The noncentral chi-square distribution: F(x; d, lambda) = sum_j w_j P_j with Poisson weights
 * w_j of mean lambda/2 and P_j = P(d/2 + j, x/2), the regularised lower incomplete gamma. */
#include <fre/privacy.h>

#include <math.h>

#include "privacy_private.h"

#define LAMBDA_MAX 1e8
#define DIM_MAX 1e6
#define MARGIN 5e-10 /* over 10^5 steps of four roundings each, and the logarithms' own errors */
#define LEAST 1e-300

typedef struct mixture {
    double a, y, l; /* d/2, x/2, lambda/2 */
} mixture;

/* P(a + j, y); *h = g/P with g = y^(a+j) e^-y / Gamma(a+j+1).  P = g S with the series
 * S = 1 + y/(a+j+1) (1 + y/(a+j+2) (...)) of positive terms; where y is far above a + j, P is 1
 * but for exp(-50) (Chernoff). */
static double log_gamma_p(double a, double y, double *h)
{
    double log_g = fre_privacy_log_poisson(y, a), term = 1, sum = 1, i;

    if (y > a && a * log(a / y) + y - a > 50) {
        *h = exp(log_g);
        return 0;
    }
    for (i = 1; term > 1e-18 * sum || y > a + i; i++) {
        term *= y / (a + i);
        sum += term;
    }
    *h = 1 / sum;
    return fmin(0, log_g + log(sum));
}

/* Terms fall from j to j + 1 at least by this factor: P_{j+1}/P_j <= min(1, y/(a+j+1)), since S
 * falls with a.  It falls with j itself. */
static double envelope(const mixture *m, double j)
{
    return m->l / (j + 1) * fmin(1, m->y / (m->a + j + 1));
}

/* A term beyond which nothing matters: the envelope's peak, and on until it fell by 1e-26. */
static double top_term(const mixture *m)
{
    double product = 1, j;

    if (envelope(m, 0) < 1e-20)
        return 0;
    j = 2 * m->l * m->y / (m->a + sqrt(m->a * m->a + 4 * m->l * m->y));
    for (j = floor(fmin(j, m->l)); product > 1e-26; j++)
        product *= envelope(m, j);
    return j;
}

/* Downwards from the top term, where every step adds positive numbers: with q = g_{j-1}/P_j,
 * P_{j-1} = P_j (1 + q) and w_{j-1} = w_j j/l.  Both ratios fall as j does, so that what is left
 * is a geometric series at most. */
static double log_sum(const mixture *m)
{
    double top = top_term(m), h, scale, t = 1, sum = 1, j, last;

    scale = fre_privacy_log_poisson(m->l, top) + log_gamma_p(m->a + top, m->y, &h);
    last = envelope(m, top);
    sum += last / (1 - last);
    for (j = top; j > 0.5; j--) {
        double q = h * (m->a + j) / m->y, ratio = j / m->l * (1 + q);

        t *= ratio;
        sum += t;
        h = q / (1 + q);
        if (ratio < 1 && t * ratio / (1 - ratio) <= 1e-13 * sum)
            return scale + log(sum + t * ratio / (1 - ratio));
        if (t > 1e200) {
            t *= 1e-200;
            sum *= 1e-200;
            scale += 200 * 2.30258509299404568402;
        }
    }
    return scale + log(sum);
}

/* ||v + Z|| <= sqrt x needs the component of Z along v to be at most sqrt x - ||v||. */
static double normal_bound(double x, double lambda)
{
    double z = sqrt(x) - sqrt(lambda);

    if (isinf(x))
        return 1;
    if (isinf(lambda))
        return LEAST;
    z += 1e-15 * (sqrt(x) + sqrt(lambda));
    return fre_privacy_round_up(exp(fre_log_phi(z)));
}

double fre_noncentral_chi2(double x, double d, double lambda)
{
    mixture m = {d / 2, x / 2, lambda / 2};
    double log_f;

    if (!(x >= 0) || !(d > 0) || !(d <= DIM_MAX) || !(lambda >= 0))
        return (double)NAN;
    if (!(x > 0))
        return 0;
    if (lambda > LAMBDA_MAX || isinf(x))
        return normal_bound(x, lambda);
    log_f = log_sum(&m);
    if (log_f < log(LEAST))
        return LEAST;
    return fmin(1, exp(log_f) * (1 + MARGIN));
}
