/* audit/json.c - an audit as one JSON object.  Only numbers and our own sentences go in, so no escaping is
 * needed. */
#include <fre/audit.h>

#include <inttypes.h>

static const char *truth(bool x)
{
    return x ? "true" : "false";
}

static const char *direction(bool backward)
{
    return backward ? "backward" : "forward";
}

static fre_status put_curve(fre_buf *b, const fre_audit_scenario *s)
{
    if (!(s->curve_epsilon > 0))
        return fre_buf_printf(b, ", \"curve\": null");
    return fre_buf_printf(b,
                          ", \"curve\": {\"epsilon\": %.17g, \"delta_claimed\": %.17g, "
                          "\"delta_lower_bound\": %.17g, \"direction\": \"%s\"}",
                          s->curve_epsilon, s->curve_claimed, s->curve_lower,
                          direction(s->curve_backward));
}

static fre_status put_verdict(fre_buf *b, const fre_audit *a)
{
    fre_status st = fre_buf_printf(
        b,
        "{\"epsilon_claimed\": %.17g, \"delta_claimed\": %.17g, \"epsilon_lower_bound\": %.17g, "
        "\"runs\": %" PRIu64 ", \"worst_case\": \"%s\", \"confidence\": %.17g, \"split\": %.17g, "
        "\"refuted\": %s, \"curve_refuted\": %s",
        a->epsilon, a->delta, a->epsilon_lower, a->runs, a->scenario[a->worst].name, a->confidence,
        a->split, truth(a->refuted), truth(a->curve_refuted));

    if (st == FRE_OK)
        st = put_curve(b, &a->scenario[a->curve_worst]);
    return st == FRE_OK
               ? fre_buf_printf(b, ", \"verdict\": \"%s\"", a->refuted ? "refuted" : "not refuted")
               : st;
}

/* Null: one Gaussian stands in for the noise of many. */
static fre_status put_shares(fre_buf *b, const fre_share_cell *s)
{
    if (!(s->beta > 0))
        return fre_buf_printf(b, ", \"shares\": null");
    return fre_buf_printf(
        b,
        ", \"shares\": {\"quantisation\": %.17g, \"sigma_local\": %.17g, \"numbers\": %" PRIu32 "}",
        s->beta, s->sigma_local, s->padded);
}

static fre_status put_distributed(fre_buf *b, const fre_audit *a, const fre_mechanism *m)
{
    const fre_distributed *d = &m->dist;
    fre_status st = fre_buf_printf(
        b,
        ", \"lambda\": %.17g, \"gamma\": %" PRIu32 ", \"contacts\": \"%s\", \"noise_by\": \"%s\", "
        "\"splits\": %s, \"cells_per_user\": %" PRIu32,
        d->lambda, d->gamma, d->one_contact ? "one" : "two",
        d->server_noise ? "servers" : "clients", truth(d->splits), m->cells_per_user);

    return st == FRE_OK ? put_shares(b, &a->shares) : st;
}

static fre_status put_mechanism(fre_buf *b, const fre_audit *a, const fre_mechanism *m)
{
    fre_status st = fre_buf_printf(
        b,
        ", \"mechanism\": {\"sampling_rate\": %.17g, \"tau\": %" PRIu64 ", \"sigma\": %.17g, "
        "\"adjacency\": \"%s\", \"distributed\": %s",
        (double)m->p32 * 0x1p-32, m->tau, m->sigma,
        m->adjacency == FRE_ADJACENCY_REPLACE ? "replace" : "add-remove", truth(m->dist.on));

    if (st == FRE_OK && m->dist.on)
        st = put_distributed(b, a, m);
    return st == FRE_OK ? fre_buf_printf(b, "}") : st;
}

/* Their names; none without a plan of some. */
static fre_status put_levels(fre_buf *b, const fre_plan *p)
{
    const bool grid = p && !p->request.no_grid;
    fre_status st = fre_buf_printf(b, ", \"levels\": [%s", grid ? "\"grid\"" : "");

    for (size_t i = 0; st == FRE_OK && p && i < p->request.n_levels; i++)
        st = fre_buf_printf(b, "%s\"%s\"", i > 0 || grid ? ", " : "", p->request.level[i].name);
    return st == FRE_OK ? fre_buf_printf(b, "]") : st;
}

static fre_status put_scenario(fre_buf *b, const fre_audit_scenario *s)
{
    fre_status st = fre_buf_printf(b,
                                   "{\"name\": \"%s\", \"epsilon_lower_bound\": %.17g, \"test\": "
                                   "\"%s\", \"direction\": \"%s\"",
                                   s->name, s->epsilon_lower, s->learned ? "learned" : "known law",
                                   direction(s->backward));

    if (st == FRE_OK)
        st = put_curve(b, s);
    return st == FRE_OK ? fre_buf_printf(b, "}") : st;
}

static fre_status put_scenarios(fre_buf *b, const fre_audit *a)
{
    fre_status st = fre_buf_printf(b, ", \"scenarios\": [");

    for (size_t i = 0; st == FRE_OK && i < a->n; i++) {
        st = i > 0 ? fre_buf_printf(b, ", ") : FRE_OK;
        if (st == FRE_OK)
            st = put_scenario(b, &a->scenario[i]);
    }
    return st == FRE_OK ? fre_buf_printf(b, "]}") : st;
}

fre_status fre_audit_json(fre_buf *out, const fre_audit *a, const fre_audit_opts *opts,
                          const char *warning)
{
    const char *quote = warning ? "\"" : "";
    fre_status st = put_verdict(out, a);

    if (st == FRE_OK)
        st = put_mechanism(out, a, &opts->mechanism);
    if (st == FRE_OK)
        st = put_levels(out, opts->levels);
    if (st == FRE_OK)
        st = fre_buf_printf(out, ", \"warnings\": [%s%s%s]", quote, warning ? warning : "", quote);
    return st == FRE_OK ? put_scenarios(out, a) : st;
}
