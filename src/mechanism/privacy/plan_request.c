/* A request: its defaults, its checks, and what it fixes of a mechanism. */
#include <math.h>
#include <string.h>

#include "plan.h"

void fre_plan_request_init(fre_plan_request *r)
{
    memset(r, 0, sizeof *r);
    r->threshold = 100;
    r->radius = 0.5;
    r->population = 10000000;
    r->proj = 40; /* docs/decisions/0004-projection-dimension.md */
    r->cell_scale = 1;
    r->accountant = FRE_ACCOUNTANT_JOINT;
    r->adjacency = FRE_ADJACENCY_ADD_REMOVE;
    r->gaussian = FRE_GAUSSIAN_ANALYTIC;
    r->sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    r->norm_bound = 1;
    r->sensitivity_ratio = 2.4;
    r->dim = 384;
    r->cells_per_user = 1;
    r->dist.cover = true;
    r->dist.curious = 1;
    r->dist.dropout = 0.1;
}

/* ---- delta against the population ---------------------------------------------------------- */

/* The double nearest to 1/(10 N): ten times a population is below 2^53, so exact. */
static double delta_rule(uint64_t users)
{
    return 1 / (10 * (double)(users > 0 ? users : 1));
}

#define DEFAULT_USERS_MIN 100u /* delta .001: near .01 a sampled record could be shown outright */

double fre_default_delta(uint64_t users)
{
    const uint64_t n = users > DEFAULT_USERS_MIN ? users : DEFAULT_USERS_MIN;
    const double nearest = delta_rule(n);

    /* fma has one rounding, which keeps the sign of nearest * 10 N - 1 */
    return fma(nearest, 10 * (double)n, -1) > 0 ? nextafter(nearest, 0) : nearest;
}

const char *fre_delta_warning(double delta, uint64_t users)
{
    if (delta <= delta_rule(users))
        return NULL;
    return "delta is above 1/(10 N), N being the population: the promise about epsilon may fail "
           "for "
           "some of the users; lower it ({delta} auto is 1/(10 N)).";
}

/* ---- checks ------------------------------------------------------------------------------- */

typedef struct range {
    const char *param;
    double value, lo, hi;
    bool open; /* lo itself is refused */
} range;

static fre_status check_ranges(const range *f, size_t n, fre_err *err)
{
    size_t i;

    for (i = 0; i < n; i++) {
        bool low = f[i].open ? !(f[i].value > f[i].lo) : !(f[i].value >= f[i].lo);

        if (low || !(f[i].value <= f[i].hi))
            return fre_fail(err, FRE_E_USAGE, "%s must be %s %g and at most %g", f[i].param,
                            f[i].open ? "a number above" : "a number from", f[i].lo, f[i].hi);
    }
    return FRE_OK;
}

static fre_status check_request(const fre_plan_request *r, fre_err *err)
{
    const range fields[] = {
        {"{epsilon}", isinf(r->epsilon) && r->epsilon > 0 ? 1 : r->epsilon, 0,
         FRE_PRIVACY_EPSILON_MAX, true},
        {"{delta}", r->delta, 0, 1, true},
        {"{threshold}", (double)r->threshold, 1, (double)FRE_PRIVACY_POPULATION_MAX, false},
        {"{radius}", r->radius, 0, 1e12, true},
        {"{population}", (double)r->population, 1, (double)FRE_PRIVACY_POPULATION_MAX, false},
        {"{projection_dim}", r->proj > 0 ? r->proj : 1, 1, FRE_PRIVACY_K_MAX, false},
        {"{cell_scale}", r->cell_scale, 0, 1e6, true},
        {"{cell_edge}", r->cell_edge, 0, 1e12, false},
        {"{sampling_rate}", r->sampling_rate, 0, 1, false},
        {"{budget_factor}", r->budget_factor > 0 || isnan(r->budget_factor) ? r->budget_factor : 1,
         1, 256, false},
        {"{sensitivity_ratio}", r->sensitivity_ratio, 0, 1e6, true},
        {"{max_cells_per_user}", r->cells_per_user, 1, FRE_PRIVACY_CELLS_MAX, false},
        {"the norm bound", r->norm_bound, 0, 1e12, true},
        {"the embedding dimension", r->dim, 1, 1 << 20, false},
        {"{max_dummies}", r->max_dummies, 0, 1e18, false},
        {"{dropout}", r->dist.on ? r->dist.dropout : 0, 0, 1 - 0x1p-20, false},
        {"{curious_users}", r->dist.on ? r->dist.curious : 0, 0, (double)FRE_PRIVACY_POPULATION_MAX,
         false},
    };
    fre_status st = check_ranges(fields, sizeof fields / sizeof fields[0], err);

    if (st != FRE_OK)
        return st;
    if (!(r->delta < 1))
        return fre_fail(err, FRE_E_USAGE, "{delta} must be below 1");
    if (r->noise == FRE_NOISE_DISCRETE && !r->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise} discrete is made of the users' own shares: it needs "
                        "{distributed}, since a curator's noise is continuous and exactly rounded");
    if (r->dist.on && r->dist.one_shot && r->dist.dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{one_shot} asks for no second answer that could stay out: leave out "
                        "{dropout}");
    if (isinf(r->epsilon))
        return FRE_OK;
    if (r->sampling_rate >= 1)
        return fre_fail(err, FRE_E_USAGE,
                        "{sampling_rate} 1 gives no privacy, since the released counts would be "
                        "exact: choose a rate below 1, or auto");
    if (r->sampling_rate > 0 && fre_p32(r->sampling_rate) == 0)
        return fre_fail(err, FRE_E_USAGE, "{sampling_rate} must be at least 2^-32");
    return FRE_OK;
}

/* ---- what a request fixes -------------------------------------------------------------------- */

/* Rounding that goes too far is a small share of what may go wrong; Delta_2 grows with the root of
 * the logarithm only. */
static double rounding_share(double delta)
{
    return fmin(1e-10, 1e-3 * delta);
}

void fre_plan_mechanism(fre_mechanism *m, const fre_plan_request *r)
{
    memset(m, 0, sizeof *m);
    m->population = r->population * r->cells_per_user;
    m->adjacency = r->adjacency;
    m->sensitivity = r->sensitivity;
    m->norm_bound = r->norm_bound;
    m->dim = r->dim;
    m->cells_per_user = r->cells_per_user;
    m->noise = r->noise;
    if (!r->dist.on)
        return;
    m->dist = r->dist;
    if (m->noise == FRE_NOISE_DISCRETE && m->dist.phi <= 0)
        m->dist.phi = rounding_share(r->delta);
}

double fre_plan_cell_edge(const fre_plan_request *r, uint32_t k)
{
    if (r->cell_edge > 0)
        return r->cell_edge;
    return r->cell_scale * 2 * r->radius / sqrt((double)k);
}

fre_status fre_plan_begin(fre_plan *p, const fre_plan_request *r, fre_err *err)
{
    fre_status st;

    memset(p, 0, sizeof *p);
    p->request = *r;
    if (fpclassify(r->delta) == FP_ZERO)
        p->request.delta = fre_default_delta(r->population);
    st = check_request(&p->request, err);
    if (st == FRE_OK)
        fre_plan_mechanism(&p->mechanism, &p->request);
    return st;
}

void fre_plan_warn(fre_plan *p, const char *sentence)
{
    if (p->n_warnings < FRE_PLAN_WARNINGS_MAX)
        p->warnings[p->n_warnings++] = sentence;
}
