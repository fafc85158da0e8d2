/* Plans that no far member matters to: at a split of the embeddings' diameter heavy is all there is, and the
 * more noise, the less of it, down to what the counts alone tell.  Much noise, certified at once. */
#include <math.h>

#include "plan.h"

#define SHIFT_LEAST 1e-6 /* of the diameter, in units of sigma: as good as none */
#define SIGMA_MOST 1e12  /* what the accountant takes */

static bool holds(fre_plan *io, double sigma, fre_compose_memory *memory)
{
    fre_mechanism *m = &io->mechanism, worst;
    fre_account *a = &io->account;
    fre_status st;

    m->sigma = sigma;
    if (!m->dist.on) {
        fre_plan_set_lattice(io, sigma);
        fre_plan_round_sigma(io);
    }
    worst = *m;
    worst.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    a->worst_cell = m->tau - 1;
    st = memory
             ? fre_compose_at_split(a, &worst, io->request.epsilon, 2 * m->norm_bound, memory, NULL)
             : fre_joint_basic_delta(a, &worst, io->request.epsilon, NULL);
    return st == FRE_OK && a->delta <= io->request.delta;
}

/* As much as makes no difference any more, or as users can draw: at shorter splits that is less. */
static double sigma_most(const fre_plan *p)
{
    fre_mechanism m = p->mechanism;
    double most = fmin(2 * m.norm_bound / SHIFT_LEAST, SIGMA_MOST / 2), steps;

    m.sigma = 1;
    steps = fre_joint_steps(&m, 2 * m.norm_bound);
    return steps > 0 ? fmin(most, FRE_JOINT_STEPS_MAX / steps) : most;
}

bool fre_plan_counts_hold(const fre_plan *p, fre_compose_memory *memory)
{
    fre_plan at = *p;

    return holds(&at, sigma_most(p), memory);
}

bool fre_plan_nobody_far(fre_plan *io, fre_compose_memory *memory)
{
    double hi = log(sigma_most(io)), lo = hi + log(SHIFT_LEAST) - 5;
    fre_plan at = *io, best;

    if (!holds(&at, exp(hi), memory))
        return false;
    for (best = at; hi - lo > 0.02;) {
        double mid = (lo + hi) / 2;

        if (holds(&at, exp(mid), memory)) {
            best = at;
            hi = mid;
        } else
            lo = mid;
    }
    *io = best;
    return true;
}

bool fre_plan_spare(fre_plan *io)
{
    const fre_plan_request *r = &io->request;
    fre_mechanism *m = &io->mechanism;

    if (!fre_search_spare(m, r))
        return false;
    m->sketch.grid = fre_plan_grid(r, r->proj > 0 ? r->proj : FRE_PLAN_K_MOST);
    return fre_plan_counts_hold(io, NULL);
}
