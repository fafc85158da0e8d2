/* An account of a release by levels as one JSON object. */
#include <fre/privacy.h>

#include <inttypes.h>

static fre_status put_noisy(fre_buf *b, const fre_level *l)
{
    return fre_buf_printf(b,
                          ", \"counts\": \"noisy\", \"sampling_rate\": 1.0, \"tau\": null, "
                          "\"sigma\": %.17g, \"count_sigma\": %.17g",
                          l->sigma, l->count_sigma);
}

static fre_status put_sampled(fre_buf *b, uint64_t p32, uint64_t tau, double sigma)
{
    return fre_buf_printf(b,
                          ", \"counts\": \"sampled\", \"sampling_rate\": %.17g, \"tau\": %" PRIu64
                          ", \"sigma\": %.17g, \"count_sigma\": null",
                          (double)p32 / (double)FRE_P_ONE, tau, sigma);
}

static fre_status put_grid(fre_buf *b, const fre_mechanism *m, double split)
{
    fre_status st = fre_buf_printf(b, "{\"name\": \"grid\"");

    if (st == FRE_OK)
        st = put_sampled(b, m->p32, m->tau, m->sigma);
    return st == FRE_OK ? fre_buf_printf(b, ", \"radius\": null, \"split\": %.17g}", split) : st;
}

static fre_status put_level(fre_buf *b, const fre_level *l, const fre_level_request *asked)
{
    fre_status st = fre_buf_printf(b, "{\"name\": \"%s\"", asked->name);

    if (st == FRE_OK)
        st = l->counts == FRE_COUNTS_NOISY ? put_noisy(b, l)
                                           : put_sampled(b, l->p32, l->tau, l->sigma);
    return st == FRE_OK ? fre_buf_printf(b, ", \"radius\": %.17g, \"split\": null}",
                                         asked->sketch.codebook.radius)
                        : st;
}

static fre_status put_levels(fre_buf *b, const fre_levels_account *a, const fre_levels *m,
                             const fre_plan_request *asked)
{
    fre_status st = fre_buf_printf(b, ", \"levels\": [");

    if (st == FRE_OK && m->grid)
        st = put_grid(b, m->grid, a->split);
    for (size_t i = 0; st == FRE_OK && i < m->n; i++) {
        if (i > 0 || m->grid)
            st = fre_buf_printf(b, ", ");
        if (st == FRE_OK)
            st = put_level(b, &m->level[i], &asked->level[i]);
    }
    return st == FRE_OK ? fre_buf_printf(b, "]") : st;
}

fre_status fre_levels_account_json(fre_buf *out, const fre_levels_account *a, const fre_levels *m,
                                   const fre_plan_request *asked, const char *warning)
{
    fre_status st = fre_buf_printf(
        out,
        "{\"epsilon\": %.17g, \"delta\": %.17g, \"delta_addition\": %.17g, \"delta_removal\": "
        "%.17g, "
        "\"adjacency\": \"%s\", \"accountant\": \"joint\", \"cells_per_user\": %" PRIu32
        ", \"population\": %" PRIu64,
        a->epsilon, a->delta, a->addition, a->removal,
        m->adjacency == FRE_ADJACENCY_REPLACE ? "replace" : "add-remove", m->cells_per_user,
        asked->population);

    if (st == FRE_OK)
        st = put_levels(out, a, m, asked);
    if (st != FRE_OK)
        return st;
    return warning ? fre_buf_printf(out, ", \"warnings\": [\"%s\"]}", warning)
                   : fre_buf_printf(out, ", \"warnings\": []}");
}
