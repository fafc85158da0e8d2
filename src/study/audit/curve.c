/* audit/curve.c - the claim beyond its (epsilon, delta): what the account allows at smaller
 * epsilons, where delta is large enough for runs to measure. */
#include "audit_private.h"

#include <math.h>

#define LEAST_SHARE (1 / 16.) /* of epsilon: where the curve begins if the account has no floor */

static bool meets(const fre_mechanism *m, const fre_audit_opts *o)
{
    const double most = o->delta * (1 + 1e-3); /* a sigma that was printed and typed in again */
    fre_account a;

    if (o->split > 0 && fre_joint_delta_at_split(&a, m, o->epsilon, o->split, NULL) == FRE_OK &&
        a.delta <= most)
        return true;
    return fre_joint_delta(&a, m, o->epsilon, NULL) == FRE_OK && a.delta <= most;
}

/* The mechanism that the claim was made for, if there is one: *out is it. */
static bool find_claimed(fre_mechanism *out, const fre_audit_opts *o, bool group)
{
    double lo, hi;

    *out = o->claimed ? *o->claimed : o->mechanism;
    if (!group)
        out->cells_per_user = 1; /* the attack moves one record in one cell */
    if (o->claimed || meets(out, o))
        return true;
    lo = out->sigma;
    hi = lo * 1e6;
    out->sigma = hi;
    if (!meets(out, o))
        return false;
    while (hi > lo * (1 + 1e-4)) {
        out->sigma = sqrt(lo * hi);
        if (meets(out, o))
            hi = out->sigma;
        else
            lo = out->sigma;
    }
    out->sigma = hi;
    return true;
}

static double rate(const fre_mechanism *m)
{
    return (double)m->p32 / (double)FRE_P_ONE;
}

/* The epsilon that sampling makes of a record's own: docs/privacy.md, section 2. */
static double before_sampling(const fre_mechanism *m, double epsilon)
{
    return log1p(expm1(epsilon) / rate(m));
}

static double of_padding(const fre_mechanism *m, double epsilon)
{
    const fre_distributed *d = &m->dist;
    const double hat = before_sampling(m, epsilon);

    if (!d->on)
        return 0;
    return rate(m) * (d->cover ? fre_cover_delta(hat, d->lambda, d->gamma)
                               : fre_two_cell_delta(hat, d->lambda, d->gamma));
}

static fre_status claim_at(audit_claims *c, double epsilon, fre_err *err)
{
    fre_account a;
    const fre_status st = fre_joint_delta_at_split(&a, &c->mechanism, epsilon, c->split, err);

    if (st != FRE_OK && st != FRE_E_INFEASIBLE)
        return st;
    /* Where removal has a cost of its own the account says nothing; parts of a delta of 1 are
     * scaled to add up. */
    c->epsilon[c->n] = epsilon;
    c->any[c->n] = st == FRE_OK ? a.delta : 1;
    c->near[c->n] = st == FRE_OK && a.delta < 1 ? a.delta_released + a.delta_unreleased : 1;
    c->unreleased[c->n] = of_padding(&c->mechanism, epsilon);
    c->n++;
    return FRE_OK;
}

#define FIRST_SHARE (1 / 16.) /* of the claimed epsilon: where the curve begins */

fre_status audit_claims_make(audit_claims *out, const fre_audit_opts *opts, double split,
                             bool group, fre_err *err)
{
    audit_claims c = {.split = split};
    fre_status st = FRE_OK;

    if (!find_claimed(&c.mechanism, opts, group)) {
        *out = c;
        return FRE_OK;
    }
    for (size_t i = 0; st == FRE_OK && i < AUDIT_CURVE_POINTS; i++) {
        const double left = 1 - (double)i / (AUDIT_CURVE_POINTS - 1);

        st = claim_at(&c, opts->epsilon * pow(FIRST_SHARE, left), err);
    }
    if (st == FRE_OK)
        *out = c;
    return st;
}

/* ---- one input -------------------------------------------------------------------------------- */

#define COPIES_MOST UINT64_C(100000) /* larger cells are allowed what the worst one is */

/* p heavy(n) as the proof has it, an equality for n copies at the split: added up term by term,
 * independently of the accountant's way.  docs/privacy.md, section 2. */
static double of_copies(const audit_claims *c, uint64_t n, double epsilon)
{
    const fre_mechanism *m = &c->mechanism;
    const double p = rate(m), hat = before_sampling(m, epsilon);
    const double coarse = fmax(m->lattice_step, ldexp(m->sigma, -19)); /* the audit's own lattice */
    const double reach = c->split + coarse * sqrt((double)m->dim);
    double sum = 0;

    for (uint64_t count = m->tau - m->dist.curious; count <= n + 1; count++) {
        const double k = (double)count, left = (double)n - k + 1; /* not sampled among the others */
        const double mass = exp(lgamma((double)n + 1) - lgamma(k) - lgamma(left + 1) +
                                (k - 1) * log(p) + left * log1p(-p));
        const double odds = log(k) + log1p(-p) - log(left) - log(p);

        sum += mass * (left < .5 ? 1 : fre_gauss_delta(hat - odds, reach / m->sigma));
    }
    return p * sum * (1 + 1e-6);
}

static bool is_copies(const audit_scenario *scenario)
{
    return scenario->groups == 0 && scenario->cells <= 1 && scenario->extra[0].cell == AUDIT_NOWHERE;
}

void audit_claims_of(double delta[AUDIT_CURVE_POINTS], const audit_claims *c,
                     const audit_scenario *scenario, bool backward)
{
    const fre_mechanism *m = &c->mechanism;
    const double absent = pow(1 - rate(m), fmax(1, scenario->cells)); /* none of V's records is sampled */
    const bool adds = m->adjacency == FRE_ADJACENCY_ADD_REMOVE && m->p32 < FRE_P_ONE;
    const bool exact = adds && is_copies(scenario) && m->noise != FRE_NOISE_DISCRETE &&
                       scenario->others[0] <= COPIES_MOST;

    for (size_t i = 0; i < c->n; i++) {
        delta[i] = scenario->groups > 0 ? c->any[i] : c->near[i];
        if (backward && adds) /* P <= M(V') / (1-p)^c pointwise */
            delta[i] = fmax(0, 1 - exp(c->epsilon[i]) * absent) * (1 + 1e-12);
        else if (exact)
            delta[i] =
                fmin(delta[i], of_copies(c, scenario->others[0], c->epsilon[i]) + c->unreleased[i]);
    }
}
