/* The ranges of a mechanism's parameters. */
#include <math.h>

#include "joint.h"

static fre_status check_distributed(const fre_mechanism *m, fre_err *err)
{
    const fre_distributed *d = &m->dist;
    fre_status st;

    if (m->tau < 2)
        return fre_fail(err, FRE_E_USAGE,
                        "{tau} must be at least 2 in the distributed mode, where a tag's report "
                        "would be opened as it comes in otherwise");
    if (d->curious >= m->tau)
        return fre_fail(err, FRE_E_USAGE,
                        "{curious_users} must be below the threshold on sampled counts, %llu",
                        (unsigned long long)m->tau);
    if ((st = fre_param_check(&fre_param_dropout, d->dropout, err)) != FRE_OK)
        return st;
    if (d->one_contact && d->dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "with {contacts} one there is no second answer to wait for: leave out "
                        "{dropout}");
    if (d->one_contact && !d->cover)
        return fre_fail(err, FRE_E_USAGE,
                        "with {contacts} one everybody sends, sampled or not: leave out {cover} off");
    if (d->server_noise && !d->one_contact)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise_by} servers needs {contacts} one: with two, users add the noise");
    if ((st = fre_param_check(&fre_param_lambda, d->lambda, err)) != FRE_OK)
        return st;
    if (fre_sigma_local(m, m->tau) <= 0)
        return fre_fail(err, FRE_E_USAGE,
                        "of %llu answers in the smallest released cell, none is left to carry "
                        "noise: lower {curious_users} or {dropout}",
                        (unsigned long long)fre_answers_needed(m, m->tau));
    if (m->noise == FRE_NOISE_DISCRETE &&
        (st = fre_param_check(&fre_param_dimension, m->dim, err)) != FRE_OK)
        return st;
    return fre_param_check(&fre_param_phi, d->phi, err);
}

fre_status fre_joint_check(const fre_mechanism *m, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_sampling_rate, (double)m->p32 / (double)FRE_P_ONE},
        {&fre_param_tau, (double)m->tau},
        {&fre_param_sigma, m->sigma},
        {&fre_param_max_cells_per_user, m->cells_per_user},
        {&fre_param_lattice_step, m->lattice_step},
    };
    /* N is of records here: several a user. */
    const fre_param_value probabilistic[] = {
        {&fre_param_population, ceil((double)m->population / fmax(1, m->cells_per_user))},
        {&fre_param_projection_dim, m->sketch.grid.proj},
        {&fre_param_cell_edge, m->sketch.grid.cell_edge},
    };
    fre_status st = fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);

    if (st != FRE_OK)
        return st;
    if (m->noise == FRE_NOISE_DISCRETE && !m->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "discrete noise is made of many users' shares: use it in the distributed "
                        "mode");
    if (m->dist.on && (st = check_distributed(m, err)) != FRE_OK)
        return st;
    if (m->sketch.kind == FRE_SKETCH_CODEBOOK) {
        if (m->sensitivity != FRE_SENSITIVITY_WORST_CASE)
            return fre_fail(err, FRE_E_USAGE,
                            "records of a public cell are as far apart as they can be: its "
                            "{sensitivity} is worst-case");
        return fre_param_check(&fre_param_clip_radius, m->sketch.codebook.radius, err);
    }
    if (m->sensitivity == FRE_SENSITIVITY_WORST_CASE)
        return fre_param_check(&fre_param_norm_bound, m->norm_bound, err);
    return fre_param_check_all(probabilistic, sizeof probabilistic / sizeof probabilistic[0], err);
}
