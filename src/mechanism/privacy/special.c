/* Normal tails, collision probabilities, binomial masses and the two Gaussian conversions. */
#include <fre/privacy.h>

#include <float.h>
#include <math.h>

#include "privacy_private.h"

static const double sqrt_half = 0.70710678118654752440;
static const double sqrt_half_pi = 1.2533141373155002512;
static const double sqrt_two_over_pi = 0.79788456080286535588;
static const double log_sqrt_two_pi = 0.91893853320467274178;

double fre_privacy_round_up(double delta)
{
    double up = delta * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;

    return up < 1 ? up : 1;
}

/* ---- normal distribution ------------------------------------------------------------------ */

double fre_privacy_mills(double x)
{
    double y, u = 1, before = 1;
    int i;

    /* exp(x^2/2) loses x^2/2 ulp, 1e-14 at most here, and erfc is far from underflow. */
    if (x < 12)
        return sqrt_half_pi * erfc(x * sqrt_half) * exp(0.5 * x * x);
    /* Continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))) = (1/x) / (1 + y/(1 + 2y/(1 + ...))),
     * y = 1/x^2, as a quotient of sums of positive terms.  The n-th changes it by some n! y^n. */
    y = 1 / (x * x);
    for (i = x < 30 ? 13 : 7; i >= 1; i--) {
        double next = u + i * y * before;

        before = u;
        u = next;
    }
    return before / (x * u);
}

double fre_log_phi(double x)
{
    if (x > 0)
        return log1p(-0.5 * erfc(x * sqrt_half));
    if (x > -8)
        return log(0.5 * erfc(-x * sqrt_half));
    if (isinf(x))
        return -HUGE_VAL;
    return -0.5 * x * x - log_sqrt_two_pi + log(fre_privacy_mills(-x));
}

double fre_privacy_gauss(double eps, double factor, double mu)
{
    double a = mu / 2 - eps / mu, b = -mu / 2 - eps / mu, top, guard, delta;

    /* Both terms carry relative errors of some (16 + 4 a^2) ulp, from their arguments; what
     * their difference loses by cancellation is bounded by that share of the first, and added. */
    guard = (16 + (a < 0 ? 4 * a * a : 0)) * DBL_EPSILON;
    if (b > -30) {
        top = 0.5 * erfc(-a * sqrt_half);
        delta = top - 0.5 * factor * erfc(-b * sqrt_half) + guard * top;
    } else if (a < 0) {
        /* e^eps phi(b) = phi(a): the terms share phi(a), far below underflow of erfc. */
        top = fre_privacy_mills(-a);
        delta = exp(-0.5 * a * a - log_sqrt_two_pi) * (top - fre_privacy_mills(-b) + guard * top);
    } else {
        top = exp(fre_log_phi(a));
        delta = top - exp(eps + fre_log_phi(b)) + guard * top;
    }
    if (delta < 0)
        return 0;
    return delta < 1 ? delta : 1;
}

double fre_gauss_delta(double eps, double mu)
{
    if (isnan(eps) || isnan(mu) || mu < 0)
        return (double)NAN;
    if (isinf(eps))
        return eps > 0 ? 0 : 1;
    if (mu < DBL_MIN)
        return eps < 0 ? -expm1(eps) : 0;
    if (isinf(mu))
        return 1;
    return fre_privacy_gauss(eps, exp(eps), mu);
}

/* ln of the bound has the derivative (2 alpha - 1) rho - eps + ln(1 - 1/alpha), alpha = beta + 1,
 * which grows with beta. */
static double zcdp_slope(double rho, double eps, double beta)
{
    return (2 * beta + 1) * rho - eps - log1p(1 / beta);
}

static double search_beta(double rho, double eps)
{
    double lo = -100, hi = 100;
    int i;

    for (i = 0; i < 200; i++) {
        double mid = (lo + hi) / 2;

        if (zcdp_slope(rho, eps, exp(mid)) < 0)
            lo = mid;
        else
            hi = mid;
    }
    return exp(hi);
}

/* Every beta > 0 gives a bound.  Below this one the best is 1 but for 1e-41, and further down 1/beta
 * overflows. */
#define BETA_MIN 0x1p-140

/* Newton's steps from a beta whose slope is negative; two or three more are the caller's. */
static double approach_beta(double rho, double eps)
{
    double b = fmax((eps - rho) / (2 * rho), 0x1p-30);
    int i;

    for (i = 0; i < 60; i++) {
        double slope = zcdp_slope(rho, eps, b), next;

        if (slope > 0)
            return i > 0 ? b : search_beta(rho, eps);
        next = b - slope / (2 * rho + 1 / (b * (b + 1)));
        if (next < b * (1 + 1e-6))
            return next;
        b = next;
    }
    return b;
}

/* [Fre-E2T, Thm. Gaussian mechanism]: ln of the bound at alpha is
 * (alpha-1)(alpha rho - eps) + (alpha-1) ln(1 - 1/alpha) - ln alpha, convex in alpha.  The slope
 * is concave in beta, so that Newton steps approach its root from below. */
double fre_privacy_log_zcdp(double rho, double eps, double *beta)
{
    double b = *beta, moved = 1;
    int i;

    if (!(b > 0))
        b = approach_beta(rho, eps);
    for (i = 0; i < 2 && moved > 1e-3; i++) { /* what is left is of second order */
        double next = b - zcdp_slope(rho, eps, b) / (2 * rho + 1 / (b * (b + 1)));

        next = fmax(next > 0 ? next : b / 2, BETA_MIN);
        moved = fabs(next - b) / next;
        b = next;
    }
    *beta = b;
    return b * ((1 + b) * rho - eps) - b * log1p(1 / b) - log1p(b);
}

double fre_zcdp_delta(double rho, double eps)
{
    double beta, log_delta;

    if (isnan(rho) || isnan(eps) || rho < 0)
        return (double)NAN;
    beta = search_beta(rho, eps);
    log_delta = beta * ((1 + beta) * rho - eps) - beta * log1p(1 / beta) - log1p(beta);
    return log_delta < 0 ? exp(log_delta) : 1;
}

fre_status fre_gauss_multiplier(double *out, double eps, double delta, fre_gaussian kind)
{
    double lo = 1e-6, hi = 1e12;
    int i;

    if (!(eps >= 0) || !(eps <= 1e6) || !(delta > 0) || !(delta < 1))
        return FRE_E_ARG;
    for (i = 0; i < 200 && hi / lo > 1 + 1e-13; i++) {
        double s = sqrt(lo * hi);
        double d = kind == FRE_GAUSSIAN_ZCDP ? fre_zcdp_delta(0.5 / (s * s), eps)
                                             : fre_gauss_delta(eps, 1 / s);

        if (d <= delta)
            hi = s;
        else
            lo = s;
    }
    if (hi >= 1e12)
        return FRE_E_INFEASIBLE;
    *out = hi;
    return FRE_OK;
}

/* ---- collisions --------------------------------------------------------------------------- */

double fre_collision_f(double nu)
{
    if (isnan(nu) || nu < 0)
        return (double)NAN;
    if (nu < 1e-8) /* f = nu / sqrt(2 pi) (1 - nu^2/12 + ...) */
        return nu * sqrt_two_over_pi / 2;
    return erf(nu * sqrt_half) + sqrt_two_over_pi / nu * expm1(-0.5 * nu * nu);
}

double fre_privacy_log_collision(const fre_sketch_grid *grid, double distance)
{
    if (!(distance > 0))
        return 0;
    return grid->proj * log(fre_collision_f(sqrt((double)grid->proj) * grid->cell_edge / distance));
}

double fre_collision(const fre_sketch_grid *grid, double distance)
{
    return exp(fre_privacy_log_collision(grid, distance));
}

/* ---- binomial ----------------------------------------------------------------------------- */

/* ln n! minus Stirling's formula, n >= 1. */
static double stirling_rest(double n)
{
    double m = 1 / (n * n);

    if (n < 16) {
        int sign;

        return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - log_sqrt_two_pi;
    }
    return (1.0 / 12 - m * (1.0 / 360 - m * (1.0 / 1260 - m / 1680))) / n;
}

/* x ln(x/m) + m - x without cancellation near x = m (Loader 2000). */
static double deviance(double x, double m)
{
    double d = x - m, v = d / (x + m);

    if (fabs(v) < 0.1) {
        double v2 = v * v, term = 2 * x * v, sum = d * v;
        int i;

        for (i = 1; i < 60; i++) {
            double next;

            term *= v2;
            next = sum + term / (2 * i + 1);
            if (fabs(next - sum) <= DBL_EPSILON / 4 * fabs(sum))
                return next;
            sum = next;
        }
        return sum;
    }
    return x * log(x / m) - d;
}

/* Saddle-point form of Loader 2000, "Fast and accurate computation of binomial probabilities":
 * no difference of large logarithms. */
double fre_privacy_log_binomial(double n, double j, double p)
{
    double rest = n - j;

    if (j < 0 || rest < 0)
        return -HUGE_VAL;
    if (j < 0.5)
        return n * log1p(-p);
    if (rest < 0.5)
        return n * log(p);
    return stirling_rest(n) - stirling_rest(j) - stirling_rest(rest) - deviance(j, n * p) -
           deviance(rest, n * (1 - p)) + 0.5 * (log(n / rest) - log(j)) - log_sqrt_two_pi;
}

double fre_privacy_log_poisson(double mean, double j)
{
    if (j <= 0)
        return -mean;
    return -stirling_rest(j) - deviance(j, mean) - 0.5 * log(j) - log_sqrt_two_pi;
}

/* ---- the sampling rate -------------------------------------------------------------------- */

uint64_t fre_p32(double p)
{
    if (!(p >= 0) || !(p <= 1))
        return 0;
    return (uint64_t)(p * 4294967296.0); /* exact product, then towards zero */
}

uint64_t fre_tau(uint64_t p32, uint64_t threshold)
{
    /* ceil(p32 t / 2^32) by halves, so that nothing overflows for p32 <= 2^32. */
    uint64_t high = (threshold >> 32) * p32;
    uint64_t low = (threshold & UINT32_MAX) * p32;
    uint64_t tau = high + (low >> 32) + ((low & UINT32_MAX) != 0);

    return tau > 0 ? tau : 1;
}

fre_bracket fre_privacy_narrow(double (*f)(void *ctx, double x), void *ctx, double lo, double hi,
                               double width)
{
    const double golden = 0.61803398874989484820;
    fre_bracket g = {lo, hi, hi - golden * (hi - lo), lo + golden * (hi - lo), 0, 0};

    g.at_a = f(ctx, g.a);
    g.at_b = f(ctx, g.b);
    while (g.hi - g.lo > width) {
        if (g.at_a <= g.at_b) {
            g.hi = g.b;
            g.b = g.a;
            g.at_b = g.at_a;
            g.a = g.hi - golden * (g.hi - g.lo);
            g.at_a = f(ctx, g.a);
        } else {
            g.lo = g.a;
            g.a = g.b;
            g.at_a = g.at_b;
            g.b = g.lo + golden * (g.hi - g.lo);
            g.at_b = f(ctx, g.b);
        }
    }
    return g;
}
