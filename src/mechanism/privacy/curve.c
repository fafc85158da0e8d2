/* The hockey stick of the users' discrete noise, bounded through zCDP (docs/privacy.md).
 *
 * heavy's certificate needs a curve convex in t = e^eps, and bounds by zCDP at each eps alone are
 * not.  But the hockey stick H(t) itself is convex and lies below each of them, hence below their
 * lower convex hull in t, and below its chords. */
#include "curve.h"

#include <math.h>
#include <stdint.h>

#include "privacy_private.h"

#define LOWEST (-12.0)
#define BEYOND 30.0

static double eps_of(const fre_curve *c, size_t i)
{
    return c->lo + c->step * (double)i;
}

/* Least bound at each node: zCDP, and from the other direction for eps < 0, where
 * H_t(Q||P) = 1 - t + t H_{1/t}(P||Q). */
static void bound_nodes(fre_curve *c, double rho)
{
    double beta = 0;
    size_t i;

    for (i = 0; i < c->n; i++)
        c->at[i] = fmin(1, exp(fre_privacy_log_zcdp(rho, eps_of(c, i), &beta)));
    beta = 0;
    i = (size_t)ceil(-c->lo / c->step);
    while (i-- > 0) { /* from eps = 0 downwards, so that -eps grows and beta follows it */
        double eps = eps_of(c, i);
        double other = -expm1(eps) + exp(eps + fre_privacy_log_zcdp(rho, -eps, &beta));

        c->at[i] = fmin(c->at[i], other);
    }
}

/* Slope in t from node a (SIZE_MAX: the point t = 0, D = 1) to node b. */
static double slope(const fre_curve *c, size_t a, size_t b)
{
    double from = a == SIZE_MAX ? 0 : exp(eps_of(c, a));

    return (c->at[b] - (a == SIZE_MAX ? 1 : c->at[a])) / (exp(eps_of(c, b)) - from);
}

static void lower_to_hull(fre_curve *c)
{
    uint16_t kept[FRE_CURVE_NODES];
    double into[FRE_CURVE_NODES]; /* slope into each kept node */
    size_t n = 0, i, k;

    for (i = 0; i < c->n; i++) {
        double s = slope(c, n > 0 ? kept[n - 1] : SIZE_MAX, i);

        while (n > 0 && into[n - 1] >= s) {
            n--;
            s = slope(c, n > 0 ? kept[n - 1] : SIZE_MAX, i);
        }
        kept[n] = (uint16_t)i;
        into[n++] = s;
    }
    for (k = 0, i = 0; k < n; k++) {
        for (; i < kept[k]; i++) /* downwards from the chord's right end: nothing cancels */
            c->at[i] = c->at[kept[k]] - into[k] * (exp(eps_of(c, kept[k])) - exp(eps_of(c, i)));
        i = kept[k] + (size_t)1;
    }
}

void fre_curve_init(fre_curve *c, double rho, double eps, size_t nodes)
{
    c->n = nodes;
    c->lo = LOWEST;
    c->step = (eps + BEYOND - LOWEST) / (double)(nodes - 1);
    bound_nodes(c, rho);
    lower_to_hull(c);
}

double fre_curve_at(const fre_curve *c, double eps)
{
    double place = (eps - c->lo) / c->step, share;
    size_t i;

    if (place <= 0) /* the chord from t = 0 */
        return 1 - (1 - c->at[0]) * exp(eps - c->lo);
    if (place >= (double)(c->n - 1))
        return c->at[c->n - 1];
    i = (size_t)place;
    share = expm1((place - (double)i) * c->step) / expm1(c->step);
    return c->at[i] + share * (c->at[i + 1] - c->at[i]);
}
