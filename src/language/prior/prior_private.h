/* prior_private.h - the numbers of a prior. */
#ifndef FRE_PRIOR_PRIVATE_H
#define FRE_PRIOR_PRIVATE_H

#include <fre/prior.h>

#define PRIOR_KEY(name) FRE_PRIOR_ARCHITECTURE "." name
#define PRIOR_DIM_MAX 8192u
/* The least variance, as a share of the mean one: a direction in which the sample does not vary at
 * all would make every text that leaves it impossible. */
#define PRIOR_SPREAD_MIN 1e-6

struct fre_prior {
    fre_prior_info info;
    float *mean;   /* dim; values, vectors follow in the same allocation */
    float *value;  /* dim */
    float *vector; /* dim x dim, row i belongs to value i */
};

/* Room for dim numbers of everything; NULL: out of memory. */
fre_prior *prior_new(uint32_t dim);

#endif /* FRE_PRIOR_PRIVATE_H */
