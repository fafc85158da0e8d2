/* audit/setup.c - the embeddings and tables of a scenario. */
#include "audit_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <string.h>

/* ---- embeddings ------------------------------------------------------------------------------ */

/* A point on the scenario's line; its unit vector has entries of one size and mixed signs, so
 * that rounding to the lattice acts on every coordinate. */
static double line_entry(const audit_setup *s, uint32_t j)
{
    return (j % 3 == 0 ? -1 : 1) / sqrt((double)s->dim);
}

/* Unit vectors orthogonal to each other: the i'th of m has every m'th coordinate. */
static double axis_entry(const audit_setup *s, uint32_t i, uint32_t m, uint32_t j)
{
    const uint32_t entries = s->dim / m + (i < s->dim % m);

    return j % m == i ? 1 / sqrt((double)entries) : 0;
}

static void place_on_line(audit_setup *s)
{
    for (uint32_t j = 0; j < s->dim; j++) {
        const double u = line_entry(s, j);

        s->direction[j] = u;
        s->others[j] = (float)(s->scenario.position * u);
        for (unsigned w = 0; w < 2; w++)
            s->extra[w][j] = (float)(s->scenario.extra[w].position * u);
    }
}

/* The record and every group at equal norms on axes of their own, `far` apart. */
static void place_on_axes(audit_setup *s)
{
    const uint32_t m = s->lines + 1;
    const double norm = s->scenario.far * M_SQRT1_2;

    for (uint32_t j = 0; j < s->dim; j++) {
        const double x = axis_entry(s, 0, m, j);

        s->extra[0][j] = s->extra[1][j] = (float)(norm * x);
        for (uint32_t i = 0; i < s->lines; i++) {
            const double y = axis_entry(s, i + 1, m, j);

            s->others[(size_t)i * s->dim + j] = (float)(norm * y);
            s->direction[(size_t)i * s->dim + j] = (x - y) * M_SQRT1_2;
        }
    }
}

/* Where the lattice has them. */
static fre_status quantise(audit_setup *s, fre_err *err)
{
    int64_t *q = calloc(s->dim, sizeof *q);
    fre_status st = q ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = 0; st == FRE_OK && i < s->lines; i++)
        st = fre_aggregate_add(s->lattice_others + (size_t)i * s->dim,
                               s->others + (size_t)i * s->dim, s->dim, 1, &s->lattice);
    for (unsigned w = 0; st == FRE_OK && w < 2; w++) {
        memset(q, 0, s->dim * sizeof *q);
        st = fre_aggregate_add(q, s->extra[w], s->dim, 1, &s->lattice);
        for (uint32_t j = 0; j < s->dim; j++) {
            s->offset[w] += (double)(q[j] - s->lattice_others[j]) * s->direction[j];
            s->shift[w][j] = s->scenario.extra[w].cell == 0 ? q[j] - s->lattice_others[j] : 0;
        }
        s->offset[w] *= s->lattice.step;
    }
    free(q);
    if (st == FRE_E_DATA)
        (void)fre_fail(err, FRE_E_USAGE,
                       "{sigma} is too small against the embeddings for exact sums: raise it, or "
                       "give a smaller {split}");
    return st == FRE_E_DATA ? FRE_E_USAGE : st;
}

/* ---- the counts' law ------------------------------------------------------------------------- */

static double log_binomial(double n, double j, double p)
{
    double v = lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(p);

    if (n > j)
        v += (n - j) * log1p(-p);
    return v;
}

static bool make_counts(audit_setup *s, unsigned cell)
{
    const size_t n = (size_t)s->scenario.others[cell];
    double *mass = calloc(n + 1, sizeof *mass), *below = calloc(n + 2, sizeof *below);

    s->log_mass[cell] = mass;
    s->log_below[cell] = below;
    if (!mass || !below)
        return false;
    below[0] = -HUGE_VAL;
    for (size_t j = 0; j <= n; j++) {
        mass[j] = log_binomial((double)n, (double)j, s->p);
        below[j + 1] = audit_log_add(below[j], mass[j]);
    }
    return true;
}

/* ---- lattice --------------------------------------------------------------------------------- */

/* The mechanism's own, or one as fine as a plan's. */
static fre_status make_lattice(audit_setup *s, const fre_mechanism *m, fre_err *err)
{
    double step = m->lattice_step, scale;

    if (!(step > 0) || m->noise == FRE_NOISE_DISCRETE)
        step = ldexp(1, ilogb(m->sigma) - 20);
    scale = rint(m->sigma / step);
    if (!(scale >= 1) || !(scale <= (double)FRE_SAMPLER_SCALE_MAX))
        return fre_fail(err, FRE_E_USAGE, "{sigma} must be 1 to 2^48 steps of {lattice_step}");
    s->sigma_lattice = (uint64_t)scale;
    s->sigma = scale * step;
    s->lattice = (fre_aggregate_lattice){
        .step = step,
        .norm_bound = audit_reach(m),
        .points = s->scenario.others[0] * s->lines + s->scenario.others[1] + m->dist.curious + 1 +
                  AUDIT_MINE_MAX,
    };
    return FRE_OK;
}

/* Everything that hangs on where the records lie. */
static fre_status place(audit_setup *s, double split, fre_err *err)
{
    fre_status st;

    if (audit_has_shares(&s->opts->mechanism))
        return audit_shares_init(s, split, err);
    if (s->scenario.groups > 0)
        place_on_axes(s);
    else
        place_on_line(s);
    st = quantise(s, err);
    return st == FRE_OK ? audit_ingest(s) : st;
}

fre_status audit_setup_init(audit_setup *s, const fre_audit_opts *opts,
                            const audit_scenario *scenario, double split, uint32_t index,
                            fre_err *err)
{
    const fre_mechanism *m = &opts->mechanism;
    fre_status st = FRE_OK;

    *s = (audit_setup){.opts = opts,
                       .steps = opts->steps ? opts->steps : fre_audit_real_steps(),
                       .scenario = *scenario,
                       .index = index,
                       .p = (double)m->p32 / (double)FRE_P_ONE,
                       .dim = audit_has_shares(m) ? fre_hadamard_dim(m->dim) : m->dim,
                       .lines = scenario->groups > 0 ? scenario->groups : 1};
    if (!audit_has_shares(m))
        st = make_lattice(s, m, err);
    if (st != FRE_OK)
        return st;
    s->others = calloc((size_t)s->lines * s->dim, sizeof *s->others);
    s->direction = calloc((size_t)s->lines * s->dim, sizeof *s->direction);
    s->lattice_others = calloc((size_t)s->lines * s->dim, sizeof *s->lattice_others);
    for (unsigned w = 0; w < 2; w++) {
        s->extra[w] = calloc(s->dim, sizeof *s->extra[w]);
        s->shift[w] = calloc(s->dim, sizeof *s->shift[w]);
    }
    if (!s->others || !s->direction || !s->lattice_others || !s->extra[0] || !s->extra[1] ||
        !s->shift[0] || !s->shift[1] || !make_counts(s, 0) || !make_counts(s, 1)) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    st = place(s, split, err);
out:
    if (st != FRE_OK)
        audit_setup_wipe(s);
    return st;
}

void audit_setup_wipe(audit_setup *s)
{
    audit_shares_free(s->shares);
    free(s->others);
    free(s->direction);
    free(s->lattice_others);
    for (unsigned i = 0; i < 2; i++) {
        free(s->extra[i]);
        for (unsigned k = 0; k < s->n_mine[i]; k++)
            free(s->mine[i][k].x);
        free(s->shift[i]);
        free(s->log_mass[i]);
        free(s->log_below[i]);
    }
    *s = (audit_setup){.index = 0};
}
