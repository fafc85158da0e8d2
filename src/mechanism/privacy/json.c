/* privacy/json.c - a plan, or a mechanism with its account, as one JSON object.  Only numbers and
 * our own sentences go in, so no escaping is needed; a number that JSON cannot hold (infinite,
 * NaN) is null. */
#include <fre/privacy.h>

#include <inttypes.h>
#include <math.h>

#include "joint.h"

typedef struct field {
    const char *key;
    double value;
} field;

static fre_status put_reals(fre_buf *b, size_t n, const field *f)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = isfinite(f[i].value) ? fre_buf_printf(b, ", \"%s\": %.17g", f[i].key, f[i].value)
                                  : fre_buf_printf(b, ", \"%s\": null", f[i].key);
    return st;
}

/* A value that has a meaning, or null. */
static double or_null(bool meant, double value)
{
    return meant ? value : (double)NAN;
}

/* What an object is made of; a plan's own fields may be missing. */
typedef struct content {
    const fre_account *account;
    const fre_mechanism *m;
    const fre_plan *plan; /* NULL: an account */
    bool paper;
    double sigma_local;
    fre_ddg ddg;
    double beta;
} content;

static const char *composition(const content *c)
{
    if (c->m->cells_per_user == 1)
        return "none";
    if (c->paper)
        return c->plan->request.records == FRE_PAPER_GROUP     ? "group"
               : c->plan->request.records == FRE_PAPER_BESPOKE ? "bespoke"
                                                               : "basic";
    return c->m->dist.on ? "group" : c->account->by_pld ? "pld" : "basic";
}

static fre_status put_mechanism(fre_buf *b, const content *c)
{
    const fre_mechanism *m = c->m;
    const fre_account *a = c->account;
    const bool is_grid = c->plan || m->sketch.kind == FRE_SKETCH_GRID;
    const fre_sketch_grid grid = c->plan   ? fre_plan_compare_grid(c->plan)
                                 : is_grid ? m->sketch.grid
                                           : (fre_sketch_grid){.proj = 0};
    const field f[] = {
        {"delta", a->delta},
        {"sampling_rate", (double)m->p32 / (double)FRE_P_ONE},
        {"sigma", m->sigma},
        {"cell_edge", or_null(is_grid, grid.cell_edge)},
        {"projection_dim", or_null(is_grid, grid.proj)},
        {"split", or_null(a->split > 0, a->split)},
        {"delta_released", a->delta_released},
        {"delta_far", a->delta_far},
        {"delta_unreleased", a->delta_unreleased},
        {"lattice_step", m->lattice_step},
    };
    fre_status st = isfinite(a->epsilon) ? fre_buf_printf(b, "{\"epsilon\": %.17g", a->epsilon)
                                         : fre_buf_printf(b, "{\"epsilon\": null");

    if (st == FRE_OK)
        st = put_reals(b, sizeof f / sizeof *f, f);
    if (st == FRE_OK)
        st = fre_buf_printf(b,
                            ", \"tau\": %" PRIu64 ", \"records_max\": %" PRIu64
                            ", \"population\": %" PRIu64 ", \"worst_cell\": %" PRIu64
                            ", \"cells_per_user\": %" PRIu32,
                            m->tau, m->population, m->population / m->cells_per_user, a->worst_cell,
                            m->cells_per_user);
    if (st == FRE_OK)
        st = fre_buf_printf(
            b,
            ", \"adjacency\": \"%s\", \"accountant\": \"%s\", \"sensitivity\": \"%s\", "
            "\"composition\": \"%s\"",
            m->adjacency == FRE_ADJACENCY_REPLACE ? "replace" : "add-remove",
            c->paper ? "paper" : "joint",
            m->sensitivity == FRE_SENSITIVITY_WORST_CASE ? "worst-case" : "probabilistic",
            composition(c));
    return st;
}

static const char *truth(bool x)
{
    return x ? "true" : "false";
}

static fre_status put_distributed(fre_buf *b, const content *c)
{
    const fre_mechanism *m = c->m;
    const fre_distributed *d = &m->dist;
    bool on = d->on, discrete = m->noise == FRE_NOISE_DISCRETE;
    const field f[] = {
        {"lambda", or_null(on, d->lambda)},
        {"gamma", or_null(on, d->gamma)},
        {"expected_dummies", or_null(on, fre_expected_dummies(m))},
        {"curious_users", or_null(on, d->curious)},
        {"dropout", or_null(on, d->dropout)},
        {"sigma_local", or_null(on, c->sigma_local)},
        {"sigma_published", fre_sigma_published(m, c->sigma_local, m->tau)},
        {"quantisation", or_null(discrete, c->beta)},
        {"phi", or_null(discrete, c->ddg.phi)},
        {"rho", or_null(discrete, c->ddg.rho)},
        {"kappa", or_null(discrete, c->ddg.kappa)},
        {"delta2", or_null(discrete, c->ddg.delta2)},
    };
    fre_status st = fre_buf_printf(
        b,
        ", \"distributed\": %s, \"noise\": \"%s\", \"cover\": %s, \"contacts\": %s, "
        "\"noise_by\": %s, \"splits\": %s",
        truth(on), discrete ? "discrete" : "continuous", on ? truth(d->cover) : "null",
        !on              ? "null"
        : d->one_contact ? "\"one\""
                         : "\"two\"",
        !on               ? "null"
        : d->server_noise ? "\"servers\""
                          : "\"clients\"",
        on ? truth(d->splits) : "null");

    return st == FRE_OK ? put_reals(b, sizeof f / sizeof *f, f) : st;
}

static fre_status put_plan(fre_buf *b, const fre_plan *p)
{
    const fre_plan_request *r = &p->request;
    bool paper = r->accountant == FRE_ACCOUNTANT_PAPER, tags = paper && p->mechanism.dist.on;
    const field f[] = {
        {"epsilon_target", r->epsilon},
        {"delta_target", r->delta},
        {"radius", r->radius},
        {"joint_epsilon", p->joint_epsilon},
        {"worst_case_epsilon", p->worst_case_epsilon},
        {"epsilon_fre", or_null(paper, p->epsilon_fre)},
        {"delta_fre", or_null(paper, p->delta_fre)},
        {"delta_sens", or_null(paper, p->delta_sens)},
        {"epsilon_agg", or_null(paper, p->epsilon_agg)},
        {"delta_agg", or_null(paper, p->delta_agg)},
        {"multiplier", or_null(paper, p->multiplier)},
        {"v", or_null(paper, p->v)},
        {"u", or_null(paper, p->u)},
        {"epsilon_unre", or_null(tags, p->epsilon_unre)},
        {"delta_unre", or_null(tags, p->delta_unre)},
    };
    fre_status st = fre_buf_printf(b, ", \"threshold\": %" PRIu64 ", \"dimension\": %" PRIu32,
                                   r->threshold, p->mechanism.dim);

    if (st == FRE_OK)
        st = put_reals(b, sizeof f / sizeof *f, f);
    if (st == FRE_OK && paper)
        st = fre_buf_printf(b, ", \"gaussian\": \"%s\"",
                            r->gaussian == FRE_GAUSSIAN_ZCDP ? "zcdp" : "analytic");
    else if (st == FRE_OK)
        st = fre_buf_printf(b, ", \"gaussian\": null");
    return st;
}

static fre_status put_warnings(fre_buf *b, const char *const *sentence, size_t n)
{
    fre_status st = fre_buf_printf(b, ", \"warnings\": [");

    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = fre_buf_printf(b, "%s\"%s\"", i ? ", " : "", sentence[i]);
    return st == FRE_OK ? fre_buf_printf(b, "]}") : st;
}

/* ---- levels --------------------------------------------------------------------------------- */

/* radius: the grid's, which is the request's; split: of the grid, or 0. */
static fre_status put_level(fre_buf *b, const char *name, const fre_level *l,
                            const fre_sketch_spec *sketch, double radius, double split)
{
    const uint8_t *file = fre_sketch_file(sketch);
    char hash[2 * FRE_HASH_BYTES + 1];
    const bool noisy = l->counts == FRE_COUNTS_NOISY;
    const field f[] = {
        {"sampling_rate", noisy ? 1 : (double)l->p32 / (double)FRE_P_ONE},
        {"sigma", l->sigma},
        {"count_sigma", or_null(noisy, l->count_sigma)},
        {"radius", fre_sketch_reach(sketch, radius)},
        {"split", or_null(split > 0, split)},
    };
    fre_status st = fre_buf_printf(b, "{\"name\": \"%s\", \"counts\": \"%s\", \"tau\": %" PRIu64,
                                   name, noisy ? "noisy" : "sampled", l->tau);

    if (st == FRE_OK)
        st = put_reals(b, sizeof f / sizeof *f, f);
    if (st == FRE_OK)
        st = sketch->kind == FRE_SKETCH_CODEBOOK
                 ? fre_buf_printf(b, ", \"public_cells\": %" PRIu64, sketch->codebook.cells)
                 : fre_buf_printf(b, ", \"public_cells\": null");
    if (st != FRE_OK)
        return st;
    if (!file)
        return fre_buf_printf(b, ", \"codebook\": null}");
    fre_hex(hash, file, FRE_HASH_BYTES);
    return fre_buf_printf(b, ", \"codebook\": \"%s\"}", hash);
}

static fre_status put_levels(fre_buf *b, const fre_plan *p)
{
    const fre_plan_request *r = &p->request;
    fre_status st =
        fre_buf_printf(b, ", \"delta_levels\": %.17g, \"empty_cells\": %.17g, \"levels\": [",
                       p->delta_levels, p->empty_cells);

    if (st == FRE_OK && !r->no_grid) {
        const fre_plan_level grid = fre_plan_grid_level(p);

        st = put_level(b, "grid", &grid.level, &p->mechanism.sketch, r->radius, p->account.split);
    }
    for (size_t i = 0; st == FRE_OK && i < r->n_levels; i++) {
        const fre_level_request *asked = &r->level[i];

        st = i > 0 || !r->no_grid ? fre_buf_printf(b, ", ") : FRE_OK;
        if (st == FRE_OK)
            st = put_level(b, asked->name, &p->level[i].level, &asked->sketch, r->radius, 0);
    }
    return st == FRE_OK ? fre_buf_printf(b, "]") : st;
}

fre_status fre_plan_json(fre_buf *out, const fre_plan *p)
{
    content c = {.account = &p->account,
                 .m = &p->mechanism,
                 .plan = p,
                 .paper = p->request.accountant == FRE_ACCOUNTANT_PAPER,
                 .sigma_local = p->sigma_local,
                 .ddg = p->ddg};
    fre_status st;

    if (p->mechanism.noise == FRE_NOISE_DISCRETE)
        c.beta = fre_quantisation(p->sigma_local, p->account.split, p->mechanism.dim);
    st = put_mechanism(out, &c);
    if (st == FRE_OK)
        st = put_distributed(out, &c);
    if (st == FRE_OK)
        st = put_plan(out, p);
    if (st == FRE_OK)
        st = put_levels(out, p);
    return st == FRE_OK ? put_warnings(out, p->warnings, p->n_warnings) : st;
}

fre_status fre_account_json(fre_buf *out, const fre_account *a, const fre_mechanism *m,
                            const char *const *warnings, size_t n)
{
    content c = {.account = a, .m = m};
    fre_status st;

    if (m->dist.on)
        c.sigma_local = fre_sigma_local(m, m->tau);
    if (m->noise == FRE_NOISE_DISCRETE)
        fre_joint_ddg(&c.ddg, &c.beta, m, a->split);
    st = put_mechanism(out, &c);
    if (st == FRE_OK)
        st = put_distributed(out, &c);
    return st == FRE_OK ? put_warnings(out, warnings, n) : st;
}
