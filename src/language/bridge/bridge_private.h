/* bridge_private.h - the numbers of a bridge. */
#ifndef FRE_BRIDGE_PRIVATE_H
#define FRE_BRIDGE_PRIVATE_H

#include <fre/bridge.h>

#define BRIDGE_KEY(name) FRE_BRIDGE_ARCHITECTURE "." name
#define BRIDGE_DIM_MAX 4096u   /* of either end; fre_prior_sums takes both together */
#define BRIDGE_SPREAD_MIN 1e-6 /* the least eigenvalue, as a share of the mean one */
#define BRIDGE_LEFT_MIN 1e-6   /* the least variance that is left, as a share of all of it */

struct fre_bridge {
    fre_bridge_info info;
    float *mean;    /* a; the others follow in the same allocation */
    float *value;   /* a, of Cxx, largest first */
    float *vector;  /* a x a, row k belongs to value k */
    float *to_mean; /* b */
    float *map;     /* a x b, row k is Cyx v_k */
    double *size2;  /* a: |row k of map|^2; its own allocation */
};

/* Room for all numbers; NULL: out of memory. */
fre_bridge *bridge_new(uint32_t from_dim, uint32_t to_dim);
/* Of the second's variance, what the first explains: sum_k |row k|^2 / (l_k + s2). */
double bridge_explained(const fre_bridge *b, double s2);
/* What follows from the numbers: size2, spread, left. */
void bridge_complete(fre_bridge *b);

#endif /* FRE_BRIDGE_PRIVATE_H */
