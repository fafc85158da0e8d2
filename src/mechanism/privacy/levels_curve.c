/* What follows a level, and how far a level moves it. */
#include "levels.h"

#include <math.h>

#include "joint.h"

double fre_level_next(const fre_curve *c, double eps)
{
    if (c->n == 0)
        return eps < 0 ? -expm1(eps) : 0;
    return fre_curve_at(c, eps);
}

#define DEVIATIONS 10.5 /* a count below its threshold by more has a chance below 1e-25 */

double fre_level_reach(const fre_level *l)
{
    if (l->counts == FRE_COUNTS_SAMPLED)
        return fre_joint_epsilon_floor(l->p32, FRE_ADJACENCY_ADD_REMOVE, 1);
    return (DEVIATIONS + 0.5 / l->count_sigma) / l->count_sigma;
}
