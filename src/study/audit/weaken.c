/* audit/weaken.c - a mechanism worse than its claim. */
#include <fre/audit.h>

#include <math.h>

static bool is_one(double factor)
{
    return factor >= 1 && factor <= 1;
}

bool fre_audit_weaken(fre_mechanism *m, const fre_audit_factors *f)
{
    const double sampled = (double)m->p32 * f->rate;

    m->sigma *= f->sigma;
    m->tau = is_one(f->tau) ? m->tau : (uint64_t)fmax(1, floor((double)m->tau * f->tau));
    m->p32 = sampled < (double)FRE_P_ONE ? (uint64_t)fmax(1, sampled) : FRE_P_ONE;
    if (!is_one(f->sigma))
        m->lattice_step = 0; /* the audit's own, as fine */
    return !is_one(f->sigma) || !is_one(f->tau) || !is_one(f->rate);
}

void fre_audit_weaken_levels(fre_plan *p, const fre_mechanism *grid, const fre_audit_factors *f)
{
    const double step = p->mechanism.lattice_step;

    if (!p->request.no_grid) {
        p->mechanism = *grid;
        p->mechanism.lattice_step = step;
        p->sigma_lattice = (uint64_t)fmax(1, rint(grid->sigma / step));
    }
    for (size_t i = 0; i < p->request.n_levels; i++) {
        fre_plan_level *l = &p->level[i];
        fre_mechanism m = {.sigma = l->level.sigma, .tau = l->level.tau, .p32 = l->level.p32};

        (void)fre_audit_weaken(&m, f);
        l->level.sigma = m.sigma;
        l->level.tau = m.tau;
        l->level.p32 = m.p32;
        l->level.count_sigma *= f->sigma;
        l->sigma_lattice = (uint64_t)fmax(1, rint((double)l->sigma_lattice * f->sigma));
        l->count_sigma_lattice = (uint64_t)rint((double)l->count_sigma_lattice * f->sigma);
    }
}
