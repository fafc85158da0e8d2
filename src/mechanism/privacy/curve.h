/* A hockey-stick curve from zero-concentrated privacy, private to the module. */
#ifndef FRE_PRIVACY_CURVE_H
#define FRE_PRIVACY_CURVE_H

#include <stddef.h>

#define FRE_CURVE_NODES 8192u

/* An upper bound D(t), t = e^eps, of the hockey stick of every pair that is rho-zCDP in both
 * directions: 1 at t = 0, convex and decreasing, linear in t between nodes evenly spaced in eps,
 * constant beyond the last.  About 64 KB; build it where it is used. */
typedef struct fre_curve {
    double lo, step; /* eps of the first node, and between nodes */
    size_t n;
    double at[FRE_CURVE_NODES];
} fre_curve;

/* Up to FRE_CURVE_NODES nodes, from eps = -12 to a good deal beyond `eps`, which is >= 0.
 * rho > 0. */
void fre_curve_init(fre_curve *c, double rho, double eps, size_t nodes);
/* D(e^eps), any real eps. */
double fre_curve_at(const fre_curve *c, double eps);

#endif /* FRE_PRIVACY_CURVE_H */
