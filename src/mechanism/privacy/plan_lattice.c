/* A curator's noise: whole steps of a lattice. */
#include <math.h>

#include "plan.h"

void fre_plan_set_lattice(fre_plan *p, double sigma)
{
    int exponent;

    (void)frexp(fmax(sigma, FRE_PLAN_SIGMA_TINY), &exponent); /* in [2^(exponent-1), 2^exponent) */
    p->mechanism.lattice_step = ldexp(1, exponent - 1 - 20);
}

void fre_plan_round_sigma(fre_plan *p)
{
    /* Exact: both are doubles that differ by a power of two, the quotient is below 2^22. */
    double units = ceil(fmax(p->mechanism.sigma, FRE_PLAN_SIGMA_TINY) / p->mechanism.lattice_step);

    p->sigma_lattice = (uint64_t)units;
    p->mechanism.sigma = units * p->mechanism.lattice_step;
}
