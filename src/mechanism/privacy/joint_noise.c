/* The noise between two records at a distance, and what discrete noise adds. */
#include <math.h>

#include <fre/linalg.h>

#include "joint.h"
#include "privacy_private.h"

/* Users' noise: the quantisation is largest at count tau, and Delta_2 grows with it; the ratio of a user's
 * noise to it is least at the largest count, and never below 2 by the protocol's rule.
 * Servers' noise: one draw of one server has to do, so there is no sum whose law is not a discrete
 * Gaussian's, and kappa is 0. */
void fre_joint_ddg(fre_ddg *out, double *beta, const fre_mechanism *m, double split)
{
    const uint64_t most = m->population > m->tau ? m->population : m->tau;
    const uint64_t users = m->dist.server_noise ? 1 : most;
    double local = fre_sigma_local(m, m->tau);
    fre_mechanism whole = *m;

    whole.dist.splits = false; /* users of a third add more each */
    *beta = m->lattice_step > 0 ? m->lattice_step : fre_quantisation(local, split, m->dim);
    local = m->lattice_step > 0 ? fre_sigma_local(&whole, users) : 2 * *beta;
    fre_ddg_account(out, split, m->sigma, local, *beta, fre_hadamard_dim(m->dim), users,
                    m->dist.phi);
}

/* Both laws of up to N d draws are off by at most 2^-100 each: (1 + e^eps) N d 2^-100.  Servers draw
 * theirs exactly. */
double fre_joint_table_gap(const fre_mechanism *m, const fre_joint_step *s)
{
    double draws = (double)m->population * fre_hadamard_dim(m->dim);

    if (m->noise != FRE_NOISE_DISCRETE || m->dist.server_noise)
        return 0;
    return exp(log1p(exp(s->eps)) + log(draws) - 100 * M_LN2);
}

double fre_joint_rounding_slip(const fre_mechanism *m, double split)
{
    double beta;
    fre_ddg g;

    if (m->noise != FRE_NOISE_DISCRETE)
        return 0;
    fre_joint_ddg(&g, &beta, m, split);
    return g.phi;
}

void fre_joint_noise_init(fre_joint_noise *out, const fre_mechanism *m, double split)
{
    out->m = m;
    out->beta = 0;
    if (m->noise == FRE_NOISE_DISCRETE)
        fre_joint_ddg(&out->at_split, &out->beta, m, split);
}

/* Nearest lattice points of two embeddings at a distance are at most beta sqrt(d) farther apart.
 * Discrete: where the sure bound on rounding serves at the split, it serves everywhere, so that
 * one phi is charged for all members or none. */
void fre_joint_heavy(fre_heavy *h, fre_curve *curve, const fre_joint_noise *noise,
                     const fre_joint_step *s, double distance, size_t nodes)
{
    const fre_mechanism *m = noise->m;
    double reach = distance + m->lattice_step * sqrt((double)m->dim);
    bool discrete = m->noise == FRE_NOISE_DISCRETE;
    fre_ddg g = noise->at_split;

    if (discrete) {
        fre_ddg_move(&g, distance, m->sigma, noise->beta, fre_hadamard_dim(m->dim), g.phi);
        reach = g.delta2;
    }
    fre_heavy_init(h, s->eps, s->p, fre_joint_tau(m), reach / m->sigma);
    if (nodes == 0) {
        h->tolerance = FRE_HEAVY_ESTIMATE;
        h->rho = discrete ? g.rho : 0;
    } else if (discrete) {
        fre_curve_init(curve, g.rho, s->eps, nodes);
        h->curve = curve;
    }
}

double fre_joint_steps(const fre_mechanism *m, double split)
{
    if (m->noise != FRE_NOISE_DISCRETE || m->lattice_step > 0)
        return 0;
    return fre_sigma_local(m, m->tau) / fre_quantisation(HUGE_VAL, split, m->dim);
}
