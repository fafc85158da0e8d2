/* The ranges of a mechanism's parameters. */
#include "joint.h"

fre_status fre_joint_check_positive(double x, const char *flag, fre_err *err)
{
    if (!(x > 0) || !(x <= 1e12))
        return fre_fail(err, FRE_E_USAGE, "%s must be a number above 0 and at most 1e12", flag);
    return FRE_OK;
}

static fre_status check_distributed(const fre_mechanism *m, fre_err *err)
{
    const fre_distributed *d = &m->dist;

    if (m->tau < 2)
        return fre_fail(err, FRE_E_USAGE,
                        "{tau} must be at least 2 in the distributed mode, where a tag's report "
                        "would be opened as it comes in otherwise");
    if (d->curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE,
                        "{curious_users} must be below the threshold on sampled counts, %llu",
                        (unsigned long long)m->tau);
    if (!(d->dropout >= 0) || !(d->dropout < 1))
        return fre_fail(err, FRE_E_USAGE, "{dropout} must be a number from 0 and below 1");
    if (d->one_shot && d->dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{one_shot} has no second answer to wait for: leave out {dropout}");
    if (!(d->lambda > 0) || !(d->lambda <= 1e6))
        return fre_fail(err, FRE_E_USAGE, "{lambda} must be a number above 0 and at most 1e6");
    if (fre_sigma_local(m, m->tau) <= 0)
        return fre_fail(err, FRE_E_USAGE,
                        "of %llu answers to the smallest released cell none is left to carry "
                        "noise: lower {curious_users} or {dropout}",
                        (unsigned long long)fre_answers_needed(m, m->tau));
    if (m->noise == FRE_NOISE_DISCRETE && (m->dim < 1 || m->dim > 1u << 20))
        return fre_fail(err, FRE_E_USAGE, "{dimension} must be at least 1 for discrete noise");
    if (!(d->phi >= 0) || !(d->phi < 1))
        return fre_fail(err, FRE_E_USAGE, "the rounding's failure must be from 0 and below 1");
    return FRE_OK;
}

fre_status fre_joint_check(const fre_mechanism *m, fre_err *err)
{
    fre_status st;

    if (m->p32 < 1 || m->p32 > FRE_P_ONE)
        return fre_fail(err, FRE_E_USAGE, "{sampling_rate} must be above 0 and at most 1");
    if (m->tau < 1 || m->tau > FRE_PRIVACY_POPULATION_MAX)
        return fre_fail(err, FRE_E_USAGE, "{tau} must be at least 1 and at most 1e12");
    if ((st = fre_joint_check_positive(m->sigma, "{sigma}", err)) != FRE_OK)
        return st;
    if (m->cells_per_user < 1 || m->cells_per_user > FRE_PRIVACY_CELLS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{max_cells_per_user} must be in 1..%u",
                        FRE_PRIVACY_CELLS_MAX);
    if (!(m->lattice_step >= 0) || !(m->lattice_step <= 1e12))
        return fre_fail(err, FRE_E_USAGE, "the lattice step must be a number from 0 to 1e12");
    if (m->noise == FRE_NOISE_DISCRETE && !m->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "discrete noise is made of many users' shares: use it in the distributed "
                        "mode");
    if (m->dist.on && (st = check_distributed(m, err)) != FRE_OK)
        return st;
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return fre_joint_check_positive(m->norm_bound, "the norm bound", err);
    if (m->population < 1 || m->population > FRE_PRIVACY_POPULATION_MAX * FRE_PRIVACY_CELLS_MAX)
        return fre_fail(err, FRE_E_USAGE, "{population} must be at least 1 and at most 1e12");
    if (m->proj < 1 || m->proj > FRE_PRIVACY_K_MAX)
        return fre_fail(err, FRE_E_USAGE, "{projection_dim} must be in 1..%u", FRE_PRIVACY_K_MAX);
    return fre_joint_check_positive(m->cell_edge, "{cell_edge}", err);
}

fre_status fre_joint_check_epsilon(double epsilon, fre_err *err)
{
    if (!(epsilon > 0) || !(epsilon <= FRE_PRIVACY_EPSILON_MAX))
        return fre_fail(err, FRE_E_USAGE, "{epsilon} must be a number above 0 and at most %g",
                        FRE_PRIVACY_EPSILON_MAX);
    return FRE_OK;
}
