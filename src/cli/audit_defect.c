/* audit_defect.c - a mechanism worse than its claim, by the factors that `audit` was given. */
#include "audit_defect.h"

#include <math.h>

bool audit_defect_put(fre_mechanism *m, const cli *c)
{
    const double sigma = cli_number(c, "sigma-factor"), tau = cli_number(c, "tau-factor"),
                 rate = cli_number(c, "rate-factor");
    const double sampled = (double)m->p32 * rate;

    m->sigma *= sigma;
    m->tau = tau < 1 || tau > 1 ? (uint64_t)fmax(1, floor((double)m->tau * tau)) : m->tau;
    m->p32 = sampled < (double)FRE_P_ONE ? (uint64_t)fmax(1, sampled) : FRE_P_ONE;
    if (sigma < 1 || sigma > 1)
        m->lattice_step = 0; /* the audit's own, as fine */
    return sigma < 1 || sigma > 1 || tau < 1 || tau > 1 || rate < 1 || rate > 1;
}

void audit_defect_put_in_levels(fre_plan *p, const fre_mechanism *grid, const cli *c)
{
    const double factor = cli_number(c, "sigma-factor"), step = p->mechanism.lattice_step;

    if (!p->request.no_grid) {
        p->mechanism = *grid;
        p->mechanism.lattice_step = step;
        p->sigma_lattice = (uint64_t)fmax(1, rint(grid->sigma / step));
    }
    for (size_t i = 0; i < p->request.n_levels; i++) {
        fre_plan_level *l = &p->level[i];
        fre_mechanism m = {.sigma = l->level.sigma, .tau = l->level.tau, .p32 = l->level.p32};

        audit_defect_put(&m, c);
        l->level.sigma = m.sigma;
        l->level.tau = m.tau;
        l->level.p32 = m.p32;
        l->level.count_sigma *= factor;
        l->sigma_lattice = (uint64_t)fmax(1, rint((double)l->sigma_lattice * factor));
        l->count_sigma_lattice = (uint64_t)rint((double)l->count_sigma_lattice * factor);
    }
}

void audit_defect_print(FILE *f, const cli *c)
{
    static const char *const what[][2] = {{"sigma-factor", "the noise"},
                                          {"tau-factor", "the threshold"},
                                          {"rate-factor", "the sampling rate"}};

    for (size_t i = 0; i < 3; i++) {
        if (cli_number(c, what[i][0]) < 1 || cli_number(c, what[i][0]) > 1)
            cli_fold(f, 6, "  defect      %g times %s, put in on request",
                     cli_number(c, what[i][0]), what[i][1]);
    }
}
