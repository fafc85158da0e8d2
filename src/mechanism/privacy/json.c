/* privacy/json.c - a plan as one JSON object.  Only numbers and our own sentences go in, so no
 * escaping is needed; a number that JSON cannot hold (infinite, NaN) is null. */
#include <fre/privacy.h>

#include <inttypes.h>
#include <math.h>

static fre_status put_real(fre_buf *b, const char *key, double v)
{
    return isfinite(v) ? fre_buf_printf(b, ", \"%s\": %.17g", key, v)
                       : fre_buf_printf(b, ", \"%s\": null", key);
}

static fre_status put_reals(fre_buf *b, size_t n, const char *const *key, const double *v)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = put_real(b, key[i], v[i]);
    return st;
}

static fre_status put_mechanism(fre_buf *b, const fre_plan *p)
{
    const fre_mechanism *m = &p->mechanism;
    const fre_account *a = &p->account;
    const char *const key[] = {"delta",       "sampling_rate",  "sigma",     "cell_edge",
                               "split",       "delta_released", "delta_far", "delta_unreleased",
                               "lattice_step"};
    const double v[] = {a->delta,
                        (double)m->p32 / 4294967296.0,
                        m->sigma,
                        m->cell_edge,
                        a->split > 0 ? a->split : (double)NAN,
                        a->delta_released,
                        a->delta_far,
                        a->delta_unreleased,
                        m->lattice_step};
    fre_status st = isfinite(a->epsilon) ? fre_buf_printf(b, "{\"epsilon\": %.17g", a->epsilon)
                                         : fre_buf_printf(b, "{\"epsilon\": null");

    if (st == FRE_OK)
        st = put_reals(b, sizeof v / sizeof *v, key, v);
    if (st == FRE_OK)
        st = fre_buf_printf(b,
                            ", \"tau\": %" PRIu64 ", \"projection_dim\": %" PRIu32
                            ", \"population\": %" PRIu64 ", \"worst_cell\": %" PRIu64,
                            m->tau, m->proj, m->population, a->worst_cell);
    if (st == FRE_OK)
        st = fre_buf_printf(
            b,
            ", \"adjacency\": \"%s\", \"accountant\": \"%s\", \"sensitivity\": \"%s\", "
            "\"noise\": \"continuous\"",
            m->adjacency == FRE_ADJACENCY_REPLACE ? "replace" : "add-remove",
            p->request.accountant == FRE_ACCOUNTANT_PAPER ? "paper" : "joint",
            m->sensitivity == FRE_SENSITIVITY_WORST_CASE ? "worst-case" : "probabilistic");
    /* padding of unreleased tags belongs to the distributed mode */
    return st == FRE_OK ? fre_buf_printf(
                              b, ", \"lambda\": null, \"gamma\": null, \"expected_dummies\": null")
                        : st;
}

static fre_status put_paper(fre_buf *b, const fre_plan *p)
{
    const char *const key[] = {"epsilon_fre", "delta_fre",  "delta_sens", "epsilon_agg",
                               "delta_agg",   "multiplier", "v",          "u"};
    const double v[] = {p->epsilon_fre, p->delta_fre,  p->delta_sens, p->epsilon_agg,
                        p->delta_agg,   p->multiplier, p->v,          p->u};
    fre_status st = put_reals(b, sizeof v / sizeof *v, key, v);

    return st == FRE_OK
               ? fre_buf_printf(b, ", \"gaussian\": \"%s\"",
                                p->request.gaussian == FRE_GAUSSIAN_ZCDP ? "zcdp" : "analytic")
               : st;
}

fre_status fre_plan_json(fre_buf *out, const fre_plan *p)
{
    fre_status st = put_mechanism(out, p);

    if (st == FRE_OK && p->request.accountant == FRE_ACCOUNTANT_PAPER)
        st = put_paper(out, p);
    if (st == FRE_OK)
        st = fre_buf_printf(out, ", \"warnings\": [");
    for (size_t i = 0; st == FRE_OK && i < p->n_warnings; i++)
        st = fre_buf_printf(out, "%s\"%s\"", i ? ", " : "", p->warnings[i]);
    return st == FRE_OK ? fre_buf_printf(out, "]}") : st;
}
