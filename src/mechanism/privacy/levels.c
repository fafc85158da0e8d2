/* Release by levels (docs/privacy.md): from the last level to the first, each level's curves from those
 * of what follows it, so that epsilon is not added up. */
#include "levels.h"

#include <math.h>
#include <stdlib.h>

#include "joint.h"
#include "privacy_private.h"

/* ---- the grid ----------------------------------------------------------------------------- */

static fre_status check_grid(const fre_mechanism *m, fre_err *err)
{
    if (m->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "levels: the distributed mode releases one level: leave out {distributed}");
    if (m->adjacency != FRE_ADJACENCY_ADD_REMOVE)
        return fre_fail(err, FRE_E_USAGE, "levels are accounted for {adjacency} add-remove alone");
    if (m->cells_per_user > 1)
        return fre_fail(err, FRE_E_USAGE, "levels are accounted for {max_cells_per_user} 1 alone");
    if (m->p32 >= FRE_P_ONE)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{sampling_rate} 1 with exact counts is not private: lower it");
    if (m->tau > (uint64_t)FRE_HEAVY_TAU_MAX)
        return fre_fail(err, FRE_E_USAGE, "levels take a {tau} of the grid up to %.0f",
                        FRE_HEAVY_TAU_MAX);
    return FRE_OK;
}

/* The split is the best for the grid alone, whose account has what its far members add: any other would
 * be as valid. */
static fre_status first_is_grid(fre_levels_account *out, const fre_mechanism *m,
                                const fre_level_curves *next, double epsilon, fre_err *err)
{
    fre_joint_noise noise;
    fre_joint_step s;
    fre_account alone;
    fre_heavy h;
    fre_status st = fre_joint_delta(&alone, m, epsilon, err); /* checks m, too */

    if (st == FRE_OK)
        st = fre_joint_step_init(&s, m->p32, epsilon, m->adjacency, 1, false, err);
    if (st != FRE_OK)
        return st;
    fre_joint_noise_init(&noise, m, alone.split);
    fre_joint_heavy(&h, NULL, &noise, &s, alone.split, FRE_CURVE_NODES);
    out->split = alone.split;
    out->addition = fre_level_addition(&h, alone.delta_far, &next->add, epsilon);
    out->removal = fre_level_removal(&h, &next->remove, epsilon);
    return FRE_OK;
}

/* ---- all levels --------------------------------------------------------------------------- */

static fre_status check_level(const fre_level *l, size_t i, fre_err *err)
{
    if (!fre_param_holds(&fre_param_sigma, l->sigma) ||
        !fre_param_holds(&fre_param_split, l->shift))
        return fre_fail(err, FRE_E_USAGE,
                        "level %zu: {sigma} and {radius} must be above 0 and at most 1e12", i + 1);
    if (l->counts == FRE_COUNTS_NOISY) {
        if (!(l->count_sigma >= 1e-2) || !(l->count_sigma <= 1e12))
            return fre_fail(err, FRE_E_USAGE,
                            "level %zu: the sigma of counts must be in 0.01..1e12", i + 1);
        return FRE_OK;
    }
    if (l->p32 < 1 || l->p32 >= FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE,
                        "level %zu: {sampling_rate} must be above 0 and below 1: exact counts of all "
                        "records are not private",
                        i + 1);
    if (l->tau < 1 || l->tau > (uint64_t)FRE_HEAVY_TAU_MAX)
        return fre_fail(err, FRE_E_USAGE, "level %zu: {tau} must be in 1..%.0f", i + 1,
                        FRE_HEAVY_TAU_MAX);
    return FRE_OK;
}

static fre_status check(const fre_mechanism *grid, const fre_level *level, size_t n, double epsilon,
                        fre_err *err)
{
    fre_status st;
    size_t i;

    if (n > FRE_LEVELS_MAX || (n == 0 && !grid))
        return fre_fail(err, FRE_E_USAGE, "levels must be 1 to %u", FRE_LEVELS_MAX);
    st = fre_param_check(&fre_param_epsilon, epsilon, err);
    if (st == FRE_OK && grid)
        st = check_grid(grid, err);
    for (i = 0; i < n && st == FRE_OK; i++)
        st = check_level(&level[i], i, err);
    return st;
}

/* curves[0] becomes that of level 0 and all behind it; curves[1] is room. */
static fre_status fold(fre_level_curves curves[2], const fre_level *level, size_t n,
                       double first_reach, double epsilon)
{
    double reach[FRE_LEVELS_MAX + 1] = {first_reach};
    size_t i;

    for (i = 0; i < n; i++)
        reach[i + 1] = reach[i] + fre_level_reach(&level[i]);
    curves[0].add.n = curves[0].remove.n = 0;
    while (n-- > 0) {
        fre_level_range range = {.eps = epsilon, .reach = reach[n]};

        curves[1] = curves[0];
        if (level[n].counts == FRE_COUNTS_NOISY) {
            fre_status st = fre_level_noisy(&curves[0], &level[n], &curves[1], &range);

            if (st != FRE_OK)
                return st;
        } else
            fre_level_sampled(&curves[0], &level[n], &curves[1], &range);
    }
    return FRE_OK;
}

fre_status fre_levels_delta(fre_levels_account *out, const fre_mechanism *grid,
                            const fre_level *level, size_t n, double epsilon, fre_err *err)
{
    fre_levels_account a = {.epsilon = epsilon};
    fre_level_curves *curves = NULL;
    fre_status st = check(grid, level, n, epsilon, err);

    if (st != FRE_OK)
        return st;
    curves = calloc(2, sizeof *curves);
    if (!curves)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = fold(curves, level, n,
              grid ? fre_joint_epsilon_floor(grid->p32, FRE_ADJACENCY_ADD_REMOVE, 1) : 0, epsilon);
    if (st != FRE_OK) {
        st = fre_fail(err, st, "out of memory");
        goto out;
    }
    if (grid) {
        st = first_is_grid(&a, grid, &curves[0], epsilon, err);
        if (st != FRE_OK)
            goto out;
    } else {
        a.addition = curves[0].add.at[0];
        a.removal = curves[0].remove.at[0];
    }
    a.addition = fre_privacy_round_up(a.addition);
    a.removal = fre_privacy_round_up(a.removal);
    a.delta = fmax(a.addition, a.removal);
    *out = a;
out:
    free(curves);
    return st;
}
