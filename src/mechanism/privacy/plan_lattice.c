/* A curator's noise: whole steps of a lattice. */
#include <math.h>

#include "plan.h"

double fre_plan_lattice_step(double sigma)
{
    int exponent;

    (void)frexp(fmax(sigma, FRE_PLAN_SIGMA_TINY), &exponent); /* in [2^(exponent-1), 2^exponent) */
    return ldexp(1, exponent - 1 - 20);
}

uint64_t fre_plan_lattice_round(double *sigma, double step)
{
    /* Exact: both are doubles that differ by a power of two, the quotient is below 2^22. */
    const double units = ceil(fmax(*sigma, FRE_PLAN_SIGMA_TINY) / step);

    *sigma = units * step;
    return (uint64_t)units;
}

double fre_level_shift(fre_counts counts, double radius, double sigma, uint32_t dim)
{
    const double away = radius + fre_plan_lattice_step(sigma) * sqrt((double)dim) / 2;

    return (counts == FRE_COUNTS_NOISY ? 1 : 2) * away;
}

void fre_plan_set_lattice(fre_plan *p, double sigma)
{
    p->mechanism.lattice_step = fre_plan_lattice_step(sigma);
}

void fre_plan_round_sigma(fre_plan *p)
{
    p->sigma_lattice = fre_plan_lattice_round(&p->mechanism.sigma, p->mechanism.lattice_step);
}
