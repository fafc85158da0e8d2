/* From the last level to the first: the curves of public cells, and the grid before them. */
#include <math.h>
#include <stdlib.h>

#include "joint.h"
#include "levels.h"
#include "privacy_private.h"

/* ---- public cells -------------------------------------------------------------------------- */

/* curves[0] becomes that of level 0 and all behind it; curves[1] is room. */
static fre_status fold(fre_level_curves curves[2], const fre_levels *m,
                       const fre_level_range *first)
{
    double reach[FRE_LEVELS_MAX + 1] = {first->reach};
    size_t i, n = m->n;

    for (i = 0; i < n; i++)
        reach[i + 1] = reach[i] + fre_level_reach(&m->level[i]);
    curves[0].add.n = curves[0].remove.n = 0;
    while (n-- > 0) {
        fre_level_range range = {first->lo, first->hi, reach[n]};

        curves[1] = curves[0];
        if (m->level[n].counts == FRE_COUNTS_NOISY) {
            fre_status st = fre_level_noisy(&curves[0], &m->level[n], &curves[1], &range);

            if (st != FRE_OK)
                return st;
        } else
            fre_level_sampled(&curves[0], &m->level[n], &curves[1], &range);
    }
    return FRE_OK;
}

fre_status fre_levels_fold(fre_level_curves *out, const fre_levels *m, const fre_level_range *r,
                           fre_err *err)
{
    fre_level_curves *curves = calloc(2, sizeof *curves);
    fre_status st = curves ? fold(curves, m, r) : FRE_E_NOMEM;

    if (st == FRE_OK)
        *out = curves[0];
    free(curves);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory");
}

/* ---- the grid ------------------------------------------------------------------------------ */

/* The split is the best for the grid alone: any other would be as valid. */
double fre_levels_grid_addition(double *split, const fre_mechanism *grid,
                                const fre_level_curves *next, double eps)
{
    fre_joint_place at = FRE_JOINT_NOWHERE;
    const fre_joint_step s = fre_joint_step_of_addition(grid->p32, eps);
    double ignored, heavy, far = 0, n = -1;
    fre_joint_noise noise;
    fre_heavy h;

    *split = fre_joint_choose_split(grid, &s, &at, &ignored);
    fre_joint_noise_init(&noise, grid, *split);
    fre_joint_heavy(&h, NULL, &noise, &s, *split, FRE_CURVE_NODES);
    if (grid->sensitivity == FRE_SENSITIVITY_PROBABILISTIC) {
        heavy = fre_heavy_supremum(&h, &n);
        far = fmin(fre_far_supremum(&noise, &s, &h, heavy, *split, &at), fmax(0, 1 - heavy));
        far = s.weight * far * (1 + FRE_PRIVACY_MARGIN) + FRE_PRIVACY_TINY;
    }
    return fre_level_addition(&h, far, &next->add, eps);
}

/* From ln(1/(1-p)) on the grid itself costs nothing, and shifts do not matter. */
double fre_levels_grid_removal(const fre_mechanism *grid, const fre_level_curves *next, double eps)
{
    fre_heavy h;

    fre_heavy_init(&h, eps, (double)grid->p32 / (double)FRE_P_ONE, fre_joint_tau(grid), 0);
    return fre_level_removal(&h, &next->remove, eps);
}
