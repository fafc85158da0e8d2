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
    if (m->p32 >= FRE_P_ONE)
        return fre_fail(err, FRE_E_INFEASIBLE,
                        "{sampling_rate} 1 with exact counts is not private: lower it");
    if (m->tau > (uint64_t)FRE_HEAVY_TAU_MAX)
        return fre_fail(err, FRE_E_USAGE, "levels take a {tau} of the grid up to %.0f",
                        FRE_HEAVY_TAU_MAX);
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
        if (!fre_param_holds(&fre_param_level_count_sigma, l->count_sigma))
            return fre_fail(err, FRE_E_USAGE,
                            "level %zu: the sigma of counts must be in 0.01..1e12", i + 1);
        return FRE_OK;
    }
    if (l->p32 < 1 || l->p32 >= FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE,
                        "level %zu: {sampling_rate} must be above 0 and below 1: exact counts of all "
                        "records are not private",
                        i + 1);
    if (!fre_param_holds(&fre_param_level_tau, (double)l->tau))
        return fre_fail(err, FRE_E_USAGE, "level %zu: {tau} must be in 1..%.0f", i + 1,
                        fre_param_level_tau.highest);
    return FRE_OK;
}

static fre_status check(const fre_levels *m, double epsilon, fre_err *err)
{
    fre_status st;
    size_t i;

    if (m->n > FRE_LEVELS_MAX || (m->n == 0 && !m->grid))
        return fre_fail(err, FRE_E_USAGE, "levels must be 1 to %u", FRE_LEVELS_MAX);
    st = fre_param_check(&fre_param_epsilon, epsilon, err);
    if (st == FRE_OK && m->cells_per_user > 0)
        st = fre_param_check(&fre_param_max_cells_per_user, m->cells_per_user, err);
    if (st == FRE_OK && m->grid)
        st = check_grid(m->grid, err);
    for (i = 0; i < m->n && st == FRE_OK; i++)
        st = check_level(&m->level[i], i, err);
    return st;
}

/* One record, added or removed. */
static fre_status one_record(fre_levels_account *io, const fre_levels *m, const fre_mechanism *grid,
                             fre_err *err)
{
    const fre_level_range at = {
        io->epsilon, io->epsilon,
        grid ? fre_joint_epsilon_floor(grid->p32, FRE_ADJACENCY_ADD_REMOVE, 1) : 0};
    fre_level_curves *next = malloc(sizeof *next);
    fre_joint_step s;
    fre_status st =
        next ? fre_levels_fold(next, m, &at, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st == FRE_OK && grid) {
        st = fre_joint_step_of(&s, grid, io->epsilon, err); /* is epsilon enough? */
        io->addition = fre_levels_grid_addition(&io->split, grid, next, io->epsilon);
        io->removal = fre_levels_grid_removal(grid, next, io->epsilon);
    } else if (st == FRE_OK) {
        io->addition = next->add.at[0];
        io->removal = next->remove.at[0];
    }
    free(next);
    return st;
}

fre_status fre_levels_delta(fre_levels_account *out, const fre_levels *m, double epsilon,
                            fre_err *err)
{
    const bool replaced = m->adjacency == FRE_ADJACENCY_REPLACE;
    fre_levels_account a = {.epsilon = epsilon};
    fre_mechanism grid = {.p32 = 0};
    fre_status st = check(m, epsilon, err);

    if (st != FRE_OK)
        return st;
    if (m->grid) {
        grid = *m->grid;
        grid.adjacency = FRE_ADJACENCY_ADD_REMOVE;
        grid.cells_per_user = m->cells_per_user > 1 ? m->cells_per_user : 1;
        st = fre_joint_check(&grid, err);
        if (st != FRE_OK)
            return st;
    }
    st = (replaced || m->cells_per_user > 1 ? fre_levels_of_records
                                            : one_record)(&a, m, m->grid ? &grid : NULL, err);
    if (st != FRE_OK)
        return st;
    a.addition = fre_privacy_round_up(a.addition);
    a.removal = fre_privacy_round_up(a.removal);
    a.delta = replaced ? fmin(1, a.addition + a.removal) : fmax(a.addition, a.removal);
    *out = a;
    return FRE_OK;
}
