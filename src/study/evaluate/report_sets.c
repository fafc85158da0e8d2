/* evaluate/report_sets.c - what is told of each set, metric by metric, as JSON. */
#include "report.h"

#include <math.h>

static const char *const set_name[FRE_SETS] = {"text", "text_with_paraphrases", "centroid",
                                               "halves", "unrelated"};

json_t *evaluate_number_json(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *scores_json(const fre_scores *s)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "precision", evaluate_number_json(s->precision),
                     "recall", evaluate_number_json(s->recall), "f1", evaluate_number_json(s->f1),
                     "l2", evaluate_number_json(s->l2));
}

json_t *evaluate_level_json(bool has, const fre_level_scores *l)
{
    return has ? json_pack("{s:o, s:o}", "frequent", scores_json(&l->frequent), "all",
                           scores_json(&l->all))
               : json_null();
}

static json_t *numbers(const double *x, size_t n)
{
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; list && i < n; i++)
        bad |= json_array_append_new(list, evaluate_number_json(x[i]));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *counts(const uint64_t *x, size_t n)
{
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; list && i < n; i++)
        bad |= json_array_append_new(list, json_integer((json_int_t)x[i]));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

/* first, 2 first, ..., n first, as decimals have them. */
static json_t *steps(double unit, size_t from, size_t n)
{
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; list && i < n; i++)
        bad |= json_array_append_new(list, json_real((double)(from + i) / 10.0 * unit));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

/* What one set has in a section. */
typedef json_t *part_fn(const fre_evaluation *e, fre_evaluate_set at);

static int add_sets(json_t *section, const fre_evaluation *e, part_fn *part)
{
    int bad = section ? 0 : -1;

    for (int at = 0; at < FRE_SETS; at++)
        bad |= json_object_set_new(section, set_name[at],
                                   e->has[at] ? part(e, (fre_evaluate_set)at) : json_null());
    return bad;
}

/* ---- sections ------------------------------------------------------------------------------------ */

static json_t *reference_json(const fre_evaluation *e)
{
    json_t *unrelated =
        evaluate_level_json(e->has[FRE_SET_UNRELATED], &e->place[FRE_SET_UNRELATED].scores);

    if (e->has[FRE_SET_UNRELATED] &&
        json_object_set_new(unrelated, "source", json_string(e->reference_source)) != 0) {
        json_decref(unrelated);
        return NULL;
    }
    return json_pack("{s:I, s:o, s:o}", "size", (json_int_t)e->reference_size, "halves",
                     evaluate_level_json(e->has[FRE_SET_HALVES], &e->place[FRE_SET_HALVES].scores),
                     "unrelated", unrelated);
}

static json_t *curve(const fre_score_curve *c)
{
    return json_pack("{s:o, s:o, s:o}", "precision", numbers(c->precision, FRE_EVALUATE_ALPHAS),
                     "recall", numbers(c->recall, FRE_EVALUATE_ALPHAS), "f1",
                     numbers(c->f1, FRE_EVALUATE_ALPHAS));
}

static json_t *curves_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return json_pack("{s:o, s:o}", "frequent", curve(&e->place[at].frequent_curve), "all",
                     curve(&e->place[at].all_curve));
}

static json_t *histogram(const fre_distances *d)
{
    return json_pack("{s:o, s:I, s:o, s:o}", "counts", counts(d->count, FRE_EVALUATE_BINS),
                     "beyond", (json_int_t)d->beyond, "mean", evaluate_number_json(d->mean),
                     "median", evaluate_number_json(d->median));
}

static json_t *distances_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return json_pack("{s:o, s:o}", "frequent", histogram(&e->place[at].frequent), "infrequent",
                     histogram(&e->place[at].infrequent));
}

/* Up to the last group that has an original. */
static size_t groups(const fre_evaluation *e)
{
    size_t n = FRE_EVALUATE_GROUPS;

    while (n > 0 && e->by_neighbours[n - 1] == 0)
        n--;
    return n;
}

static json_t *neighbours_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return numbers(e->place[at].by_neighbours, groups(e));
}

static json_t *neighbours_json(const fre_evaluation *e)
{
    const size_t n = groups(e);
    uint64_t from[FRE_EVALUATE_GROUPS];
    json_t *o;

    for (size_t g = 0; g < n; g++)
        from[g] = UINT64_C(1) << g;
    o = json_pack("{s:o, s:o}", "from", counts(from, n), "originals", counts(e->by_neighbours, n));
    if (add_sets(o, e, neighbours_of) == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *rare_10(const fre_evaluation *e, fre_evaluate_set at)
{
    return numbers(e->place[at].ssp[0], FRE_EVALUATE_PSIS);
}

static json_t *rare_100(const fre_evaluation *e, fre_evaluate_set at)
{
    return numbers(e->place[at].ssp[1], FRE_EVALUATE_PSIS);
}

static json_t *rare_json(const fre_evaluation *e, size_t at)
{
    json_t *o =
        json_pack("{s:i, s:I}", "t", at == 0 ? 10 : 100, "infrequent", (json_int_t)e->rare[at]);

    if (add_sets(o, e, at == 0 ? rare_10 : rare_100) == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *ssp_json(const fre_evaluation *e)
{
    return json_pack("{s:o, s:[o, o]}", "psi", steps(1.0, 1, FRE_EVALUATE_PSIS), "at",
                     rare_json(e, 0), rare_json(e, 1));
}

static json_t *missing_json(const fre_evaluation *e)
{
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; i < e->n_missing; i++)
        bad |= json_array_append_new(list, json_pack("{s:s, s:s}", "metric", e->missing[i].metric,
                                                     "why", e->missing[i].why.text));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

int evaluate_sets_json(json_t *o, const fre_evaluation *e)
{
    json_t *curves = json_pack("{s:o}", "alpha", steps(1.0, 1, FRE_EVALUATE_ALPHAS));
    json_t *distances = json_pack("{s:o}", "edges", steps(e->radius, 0, FRE_EVALUATE_BINS + 1));
    int bad = add_sets(curves, e, curves_of) | add_sets(distances, e, distances_of);

    bad |= json_object_set_new(o, "reference", reference_json(e));
    bad |= json_object_set_new(o, "curves", curves);
    bad |= json_object_set_new(o, "distances", distances);
    bad |= json_object_set_new(o, "neighbours", neighbours_json(e));
    bad |= json_object_set_new(o, "ssp", ssp_json(e));
    bad |= json_object_set_new(o, "missing", missing_json(e));
    return bad;
}
