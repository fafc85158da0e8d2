/* Part 1 of the joint accountant: heavy(n) and its supremum over n.  Private to the module. */
#ifndef FRE_PRIVACY_HEAVY_H
#define FRE_PRIVACY_HEAVY_H

#include <stddef.h>

#include "curve.h"

/* heavy(n) depends on these alone; mu is the replaced point's shift in units of sigma. */
typedef struct fre_heavy {
    double eps;      /* amplified epsilon, >= 0 */
    double p, q;     /* sampling rate in (0, 1) and 1 - p */
    double log_odds; /* ln(p/q) */
    double factor;   /* e^eps p/q */
    double tau;      /* threshold on sampled counts, integer, >= 1 */
    double mu;       /* >= 0 */
    /* Discrete noise: in place of G(eps, mu).  heavy's properties need of it what G has too:
     * convex in e^eps, decreasing, 1 at e^eps = 0. */
    const fre_curve *curve;
    /* Or, for estimates: the zCDP conversion at each eps by itself (> 0; needs no curve, and lacks
     * those properties). */
    double rho;
    /* Added to heavy(n) by the supremum (not by fre_heavy_at): what follows a cell that isn't released,
     * by levels.  Never grows with n; NULL: nothing. */
    double (*later)(void *ctx, double n);
    void *later_ctx;
    double tolerance; /* a tail below this share of the sum is replaced by its bound */
    double slack;     /* relative excess of the supremum's bound that is accepted */
} fre_heavy;

#define FRE_HEAVY_ESTIMATE 1e-5 /* a tolerance for searches */

/* heavy never grows with tau, so a larger threshold is accounted as this one. */
#define FRE_HEAVY_TAU_MAX 16384.0

void fre_heavy_init(fre_heavy *h, double eps, double p, double tau, double mu);
/* heavy(n), truncated tails included as upper bounds. */
double fre_heavy_at(const fre_heavy *h, double n);
/* heavy(n) - heavy(a) is at most this for every n in a..b, and, for ever, for every n >= a. */
double fre_heavy_growth(const fre_heavy *h, double a, double b);
double fre_heavy_growth_for_ever(const fre_heavy *h, double a);
/* An n beyond which heavy can hardly grow: the threshold lies eight deviations below the mean. */
double fre_heavy_far_n(const fre_heavy *h);
/* Largest value seen by climbing from *n (or, *n < 0, from a coarse scan); an estimate from
 * below for searches, never published.  *n: where. */
double fre_heavy_peak(const fre_heavy *h, double *n);
/* Certified upper bound of the supremum over every n >= tau - 1; *n: the best n seen. */
double fre_heavy_supremum(const fre_heavy *h, double *n);

#endif /* FRE_PRIVACY_HEAVY_H */
