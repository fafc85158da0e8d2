/* The planner's choice of padding: how many dummy tags hide the unreleased ones. */
#include <math.h>

#include "joint.h"
#include "plan.h"

#define LAMBDA_GRID 65536.0 /* lambda is a multiple of 2^-16, so that sampling it is exact */
#define EPSILON_LEAST 0x1p-10

/* Least gamma with a hockey stick of at most target; UINT32_MAX: none. */
static uint32_t least_gamma(fre_distributed d, double eps, double target)
{
    uint32_t lo = 0, hi = 1;

    for (;; hi *= 2) {
        d.gamma = hi;
        if (fre_joint_padding(&d, eps) <= target)
            break;
        if (hi >= 1u << 30)
            return UINT32_MAX;
        lo = hi;
    }
    while (hi - lo > 1) {
        d.gamma = lo + (hi - lo) / 2;
        if (fre_joint_padding(&d, eps) <= target)
            hi = d.gamma;
        else
            lo = d.gamma;
    }
    return hi;
}

/* One record moves at most three numbers by one, or one of them by two (two numbers without
 * cover messages): with lambda = 3/eps (2/eps) the ratio alone stays within eps, and gamma
 * decides how seldom a number ends where the other could not. */
bool fre_plan_padding(fre_distributed *out, const fre_plan_request *r, const fre_joint_step *s,
                      uint64_t tau)
{
    static const double shares[] = {0.02, 0.1, 0.3, 0.5};
    fre_mechanism m = {.tau = tau, .dist = r->dist};
    size_t i;

    if (tau < 2 || m.dist.curious >= tau || s->eps < EPSILON_LEAST)
        return false;
    if (!(m.dist.lambda > 0))
        m.dist.lambda = (m.dist.cover ? 3 : 2) / s->eps * (1 + 1e-9);
    m.dist.lambda = ceil(m.dist.lambda * LAMBDA_GRID) / LAMBDA_GRID;
    for (i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double room = (r->delta / s->weight - s->excess) / s->scale;

        if (!(room > 0))
            return false;
        m.dist.gamma =
            r->dist.gamma > 0 ? r->dist.gamma : least_gamma(m.dist, s->eps, shares[i] * room);
        if (m.dist.gamma == UINT32_MAX)
            return false;
        if (r->max_dummies <= 0 || fre_expected_dummies(&m) <= r->max_dummies) {
            out->lambda = m.dist.lambda;
            out->gamma = m.dist.gamma;
            return true;
        }
    }
    return false;
}
