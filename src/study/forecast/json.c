/* A forecast as one JSON object.  Names of levels are plain words; a refusal is a sentence of the library. */
#include <fre/forecast.h>

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

static fre_status put_labels(fre_buf *b, const fre_label_scores *l)
{
    static const char *const keys[] = {"precision", "recall", "purity"};
    const double values[] = {l->precision, l->recall, l->purity};
    fre_status st = fre_buf_printf(b, ", \"labels\": {\"hit\": %" PRIu64, l->hit);

    if (st == FRE_OK)
        st = put_reals(b, sizeof keys / sizeof *keys, keys, values);
    return st == FRE_OK ? fre_buf_printf(b, "}") : st;
}

static fre_status put_level(fre_buf *b, const fre_level_evaluation *l, bool has_labels)
{
    static const char *const keys[] = {"covered", "centroid_l2", "noise_norm", "member_l2"};
    const double values[] = {l->covered, l->centroid_l2, l->noise_norm, l->member_l2};
    fre_status st = fre_buf_printf(b,
                                   "{\"level\": \"%s\", \"cells\": %" PRIu64 ", \"empty\": %" PRIu64
                                   ", \"records\": %" PRIu64,
                                   l->name, l->cells, l->empty, l->records);

    if (st == FRE_OK)
        st = put_reals(b, sizeof keys / sizeof *keys, keys, values);
    if (st == FRE_OK)
        st = has_labels ? put_labels(b, &l->labels) : fre_buf_printf(b, ", \"labels\": null");
    return st == FRE_OK ? fre_buf_printf(b, "}") : st;
}

static fre_status put_levels(fre_buf *b, const fre_forecast_list *l, bool has_labels)
{
    fre_status st = fre_buf_printf(b, ", \"levels\": [");

    for (size_t i = 0; st == FRE_OK && i < l->n_levels; i++) {
        st = i ? fre_buf_printf(b, ", ") : FRE_OK;
        if (st == FRE_OK)
            st = put_level(b, &l->level[i], has_labels);
    }
    return st == FRE_OK ? fre_buf_printf(b, "], \"all_levels\": ") : st;
}

static fre_status put_planned(fre_buf *b, const fre_forecast_list *l, bool has_labels)
{
    fre_status st = fre_buf_printf(b, "\"planned\": true, \"why\": null");

    if (st == FRE_OK)
        st = put_real(b, "expected_distance", l->expected);
    if (st == FRE_OK)
        st = put_levels(b, l, has_labels);
    return st == FRE_OK ? put_level(b, &l->level[l->n_levels], has_labels) : st;
}

static fre_status put_refused(fre_buf *b, const fre_forecast_list *l)
{
    char why[sizeof l->why.text];

    for (size_t i = 0; i < sizeof why; i++) {
        const char c = l->why.text[i];

        why[i] = c == '"' || c == '\\' ? '\'' : c;
    }
    return fre_buf_printf(b, "\"planned\": false, \"why\": \"%s\", \"levels\": []", why);
}

fre_status fre_forecast_json(fre_buf *out, const fre_forecast *f)
{
    fre_status st = fre_buf_printf(out, "{\"records\": %" PRIu64 ", \"lists\": [", f->records);

    for (size_t i = 0; st == FRE_OK && i < f->n; i++) {
        const fre_forecast_list *l = &f->list[i];

        st = fre_buf_printf(out, "%s{\"list\": \"%s\", ", i ? ", " : "", l->levels);
        if (st == FRE_OK)
            st = l->planned ? put_planned(out, l, f->has_labels) : put_refused(out, l);
        if (st == FRE_OK)
            st = fre_buf_printf(out, "}");
    }
    return st == FRE_OK ? fre_buf_printf(out, "], \"chosen\": \"%s\", \"private\": false}",
                                         f->list[f->chosen].levels)
                        : st;
}
