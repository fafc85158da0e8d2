/* One step of the joint accountant: the amplified epsilon, and what depends on the mechanism alone. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "joint.h"
#include "privacy_private.h"

static double rate(uint64_t p32)
{
    return (double)p32 / (double)FRE_P_ONE;
}

double fre_joint_epsilon_floor(uint64_t p32, fre_adjacency adjacency, uint32_t cells)
{
    if (adjacency == FRE_ADJACENCY_REPLACE)
        return 0;
    return -log1p(-rate(p32)) * cells * (1 + 4 * DBL_EPSILON); /* up: below it no delta is small */
}

#define DIGITS 5

/* Epsilon and rate that would do, each alone and as it is printed; what does not is left out. */
static fre_status below_floor(uint64_t p32, double epsilon, uint32_t cells, fre_err *err)
{
    double least = fre_joint_epsilon_floor(p32, FRE_ADJACENCY_ADD_REMOVE, cells);
    double most = -expm1(-epsilon / cells);
    char up[FRE_DIGITS_BYTES], down[FRE_DIGITS_BYTES], asked[FRE_DIGITS_BYTES], p[FRE_DIGITS_BYTES],
        advice[120] = "lower {sampling_rate}";
    size_t n = 0;

    fre_digits_up(up, DIGITS, least);
    fre_digits_down(down, DIGITS, most);
    if (fre_p32(strtod(down, NULL)) > 0 &&
        fre_joint_epsilon_floor(fre_p32(strtod(down, NULL)), FRE_ADJACENCY_ADD_REMOVE, cells) <=
            epsilon)
        n = (size_t)snprintf(advice, sizeof advice, "lower {sampling_rate} to %s", down);
    if (strtod(up, NULL) <= FRE_PRIVACY_EPSILON_MAX)
        (void)snprintf(advice + n, sizeof advice - n, "%sraise {epsilon} to %s",
                       n > 0 ? " or " : "", up);
    return fre_fail(err, FRE_E_INFEASIBLE,
                    "{epsilon} %s is below ln(1/(1-p)) = %s, the least that removing a record "
                    "costs at {sampling_rate} %s: %s",
                    fre_digits_down(asked, 6, epsilon), fre_digits_up(up, 6, least),
                    fre_digits_up(p, 6, rate(p32)), advice);
}

fre_status fre_joint_step_init(fre_joint_step *s, uint64_t p32, double epsilon,
                               fre_adjacency adjacency, uint32_t cells, bool group, fre_err *err)
{
    double p = rate(p32), eps = epsilon / cells;
    double least = fre_joint_epsilon_floor(p32, adjacency, cells);
    double odds;

    if (adjacency == FRE_ADJACENCY_ADD_REMOVE && p32 < FRE_P_ONE && epsilon < least)
        return below_floor(p32, epsilon, cells, err);
    s->p = p;
    s->weight = p * (group ? expm1(epsilon) / expm1(eps) : cells);
    s->excess = 0;
    s->scale = 1;
    if (adjacency == FRE_ADJACENCY_ADD_REMOVE) {
        s->eps = log1p(expm1(eps) / p);
        return FRE_OK;
    }
    /* Q - g P <= (1-g) Q + g (Q - P) for g < 1. */
    odds = (1 - p) * expm1(eps) / p * (1 - 8 * DBL_EPSILON); /* down, so that 1 - odds is up */
    s->eps = odds > 1 ? log(odds) : 0;
    s->excess = odds < 1 ? 1 - odds : 0;
    s->scale = odds < 1 ? odds : 1;
    return FRE_OK;
}

fre_joint_step fre_joint_step_of_addition(uint64_t p32, double epsilon)
{
    const double p = rate(p32);

    return (fre_joint_step){.p = p, .eps = log1p(expm1(epsilon) / p), .scale = 1, .weight = p};
}

double fre_joint_tau(const fre_mechanism *m)
{
    return (double)(m->dist.on ? m->tau - m->dist.curious : m->tau);
}

double fre_joint_log_far(const fre_mechanism *m, double split)
{
    return log((double)m->population / fre_joint_tau(m)) +
           fre_privacy_log_collision(&m->sketch.grid, split);
}

fre_status fre_joint_step_of(fre_joint_step *s, const fre_mechanism *m, double epsilon,
                             fre_err *err)
{
    return fre_joint_step_init(s, m->p32, epsilon, m->adjacency, m->cells_per_user, m->dist.on,
                               err);
}

/* One record moves the padded numbers of tags of two multiplicities, and with cover messages
 * that of single tags as well, where it sends its own while it is not sampled. */
double fre_joint_padding(const fre_distributed *d, double eps)
{
    if (!d->on)
        return 0;
    return d->cover ? fre_cover_delta(eps, d->lambda, d->gamma)
                    : fre_two_cell_delta(eps, d->lambda, d->gamma);
}

double fre_joint_split_at(const fre_mechanism *m, double log_far)
{
    double lo = log(m->sketch.grid.cell_edge) - 20, hi = log(m->sketch.grid.cell_edge) + 60;
    int i;

    for (i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;

        if (fre_joint_log_far(m, exp(mid)) > log_far)
            lo = mid;
        else
            hi = mid;
    }
    return hi < log(1e12) ? exp(hi) : 1e12;
}

double fre_joint_diameter(const fre_mechanism *m)
{
    const double reach = fre_sketch_reach(&m->sketch, m->norm_bound);

    return reach > 0 ? 2 * reach : HUGE_VAL;
}
