/* A request: its defaults, its checks, and what it fixes of a mechanism. */
#include <math.h>
#include <string.h>

#include "plan.h"

void fre_plan_request_init(fre_plan_request *r)
{
    memset(r, 0, sizeof *r);
    r->threshold = (uint64_t)fre_param_threshold.preset;
    r->radius = fre_param_radius.preset;
    r->population = (uint64_t)fre_param_population.preset;
    r->proj = (uint32_t)fre_param_projection_dim.preset;
    r->cell_scale = fre_param_cell_scale.preset;
    r->accountant = FRE_ACCOUNTANT_JOINT;
    r->adjacency = FRE_ADJACENCY_ADD_REMOVE;
    r->gaussian = FRE_GAUSSIAN_ANALYTIC;
    r->sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    r->norm_bound = fre_param_norm_bound.preset;
    r->sensitivity_ratio = fre_param_sensitivity_ratio.preset;
    r->dim = (uint32_t)fre_param_dimension.preset;
    r->cells_per_user = (uint32_t)fre_param_max_cells_per_user.preset;
    r->dist.cover = true;
    r->dist.curious = (uint32_t)fre_param_curious_users.preset;
    r->dist.dropout = fre_param_dropout.preset;
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

/* 0 is auto, or none, in a request: nothing to check. */
static double unless_open(const fre_param *p, double value)
{
    return fpclassify(value) == FP_ZERO ? p->highest : value;
}

/* Distributed: who answers and who adds the noise. */
static fre_status check_contacts(const fre_plan_request *r, fre_err *err)
{
    const fre_distributed *d = &r->dist;

    if (!d->on)
        return FRE_OK;
    if (d->one_contact && d->dropout > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{contacts} one asks for no second answer that could stay out: leave "
                        "out {dropout}");
    if (d->one_contact && !d->cover)
        return fre_fail(err, FRE_E_USAGE,
                        "with {contacts} one everybody sends, sampled or not: leave out {cover} off");
    if (d->server_noise && !d->one_contact)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise_by} servers needs {contacts} one: with two, users add the noise");
    if (d->server_noise && r->accountant == FRE_ACCOUNTANT_PAPER)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise_by} servers is not in the paper: it needs {accountant} joint");
    if (d->one_contact && r->accountant == FRE_ACCOUNTANT_PAPER) /* nor has it cover messages */
        return fre_fail(err, FRE_E_USAGE,
                        "{contacts} one is not in the paper: it needs {accountant} joint");
    if (d->splits && r->accountant == FRE_ACCOUNTANT_PAPER)
        return fre_fail(err, FRE_E_USAGE,
                        "{splits} are not in the paper: they need {accountant} joint");
    return FRE_OK;
}

static fre_status check_request(const fre_plan_request *r, fre_err *err)
{
    const fre_param_value fields[] = {
        {&fre_param_epsilon, isinf(r->epsilon) && r->epsilon > 0 ? 1 : r->epsilon},
        {&fre_param_delta, r->delta},
        {&fre_param_threshold, (double)r->threshold},
        {&fre_param_radius, r->radius},
        {&fre_param_population, (double)r->population},
        {&fre_param_projection_dim, unless_open(&fre_param_projection_dim, r->proj)},
        {&fre_param_cell_scale, r->cell_scale},
        {&fre_param_cell_edge, unless_open(&fre_param_cell_edge, r->cell_edge)},
        {&fre_param_sampling_rate, unless_open(&fre_param_sampling_rate, r->sampling_rate)},
        {&fre_param_budget_factor, unless_open(&fre_param_budget_factor, r->budget_factor)},
        {&fre_param_sensitivity_ratio, r->sensitivity_ratio},
        {&fre_param_max_cells_per_user, r->cells_per_user},
        {&fre_param_norm_bound, r->norm_bound},
        {&fre_param_dimension, r->dim},
        {&fre_param_max_dummies, unless_open(&fre_param_max_dummies, r->max_dummies)},
        {&fre_param_dropout, r->dist.on ? r->dist.dropout : 0},
        {&fre_param_curious_users, r->dist.on ? r->dist.curious : 0},
    };
    fre_status st = fre_param_check_all(fields, sizeof fields / sizeof fields[0], err);

    if (st != FRE_OK)
        return st;
    if (r->noise == FRE_NOISE_DISCRETE && !r->dist.on)
        return fre_fail(err, FRE_E_USAGE,
                        "{noise} discrete is made of the users' own shares: it needs "
                        "{distributed}, since a curator's noise is continuous and exactly rounded");
    if ((st = check_contacts(r, err)) != FRE_OK)
        return st;
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

fre_sketch_grid fre_plan_grid(const fre_plan_request *r, uint32_t k)
{
    const double edge =
        r->cell_edge > 0 ? r->cell_edge : r->cell_scale * 2 * r->radius / sqrt((double)k);

    return (fre_sketch_grid){.proj = k, .cell_edge = edge};
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
        st = fre_plan_check_levels(&p->request, err);
    if (st == FRE_OK)
        fre_plan_mechanism(&p->mechanism, &p->request);
    return st;
}

void fre_plan_warn(fre_plan *p, const char *sentence)
{
    if (p->n_warnings < FRE_PLAN_WARNINGS_MAX)
        p->warnings[p->n_warnings++] = sentence;
}
