/* An evaluation as JSON; what is undefined is null. */
#include "report.h"

#include <stdlib.h>

static json_t *number(double v)
{
    return evaluate_number_json(v);
}

static json_t *exact_json(bool has, const fre_exact_shares *x)
{
    return has ? json_pack("{s:o, s:o, s:o, s:o}", "frequent", number(x->frequent),
                           "frequent_case_blind", number(x->frequent_folded), "any", number(x->any),
                           "any_case_blind", number(x->any_folded))
               : json_null();
}

static json_t *labels_json(bool has, const fre_label_scores *l)
{
    return has ? json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "cells",
                           (json_int_t)l->cells, "majority", (json_int_t)l->majority, "hit",
                           (json_int_t)l->hit, "frequent_hit", (json_int_t)l->frequent_hit,
                           "precision", number(l->precision), "recall", number(l->recall), "purity",
                           number(l->purity), "nearest_text", number(l->nearest_text),
                           "nearest_centroid", number(l->nearest_centroid), "nearest_mean",
                           number(l->nearest_mean))
               : json_null();
}

/* What a level stands beside, of one reference; null: there is none. */
static json_t *beside_json(const fre_evaluation *e, fre_evaluate_set set, size_t at)
{
    const size_t reference = FRE_EVALUATE_REFERENCE(set);
    const fre_level_evaluation *of = e->level_reference[reference], *l = &of[at];
    const bool texts = of[e->n_levels].texts > 0;

    if (!e->has_level_reference[reference])
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "covered",
                     set == FRE_SET_HALVES ? number(l->covered) : json_null(), "centroid_l2",
                     number(l->centroid_l2), "text_l2", number(l->text_l2), "text",
                     evaluate_level_json(texts, &l->text), "exact",
                     exact_json(texts && e->has_exact, &l->exact), "labels",
                     labels_json(e->has_labels, &l->labels));
}

/* at: n_levels, all of them together. */
static json_t *one_level_json(const fre_evaluation *e, size_t at)
{
    const fre_level_evaluation *l = &e->level[at];
    const bool texts = e->level[e->n_levels].texts > 0;

    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:{s:o, s:o}}",
        "level", l->name, "cells", (json_int_t)l->cells, "empty", (json_int_t)l->empty, "rare",
        (json_int_t)l->rare, "records", (json_int_t)l->records, "covered", number(l->covered),
        "centroid_l2", number(l->centroid_l2), "noise_norm", number(l->noise_norm), "member_l2",
        number(l->member_l2), "texts", (json_int_t)l->texts, "text_l2", number(l->text_l2), "text",
        evaluate_level_json(texts, &l->text), "exact", exact_json(texts && e->has_exact, &l->exact),
        "labels", labels_json(e->has_labels, &l->labels), "reference", "halves",
        beside_json(e, FRE_SET_HALVES, at), "unrelated", beside_json(e, FRE_SET_UNRELATED, at));
}

static json_t *levels_json(const fre_evaluation *e)
{
    json_t *list = e->n_levels > 0 ? json_array() : json_null();

    for (size_t i = 0; list && i < e->n_levels; i++)
        if (json_array_append_new(list, one_level_json(e, i)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Of the release's levels, and of the originals' labels. */
static int add_levels(json_t *o, const fre_evaluation *e)
{
    json_t *more = json_pack(
        "{s:o, s:o, s:o}", "levels", levels_json(e), "all_levels",
        e->n_levels > 0 ? one_level_json(e, e->n_levels) : json_null(), "labels",
        e->has_labels && e->n_levels > 0 ? json_pack("{s:I, s:I}", "all", (json_int_t)e->labels,
                                                     "frequent", (json_int_t)e->frequent_labels)
                                         : json_null());

    return json_object_update_new(o, more);
}

static json_t *set_json(const fre_evaluation *e, fre_evaluate_set at)
{
    return evaluate_level_json(e->has[at], &e->place[at].scores);
}

/* What was counted, and the main scores. */
static json_t *main_json(const fre_evaluation *e)
{
    return json_pack(
        "{s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:f, s:f, s:b}",
        "name", e->name, "release_sha256", e->release_sha256[0] ? e->release_sha256 : NULL, "text",
        set_json(e, FRE_SET_TEXT), "text_with_paraphrases", set_json(e, FRE_SET_PARAPHRASED),
        "centroid", set_json(e, FRE_SET_CENTROID), "cell",
        evaluate_cell_json(e->has_cell, &e->cell), "exact", exact_json(e->has_exact, &e->exact),
        "radius", e->radius, "alpha", e->alpha, "threshold", (json_int_t)e->threshold, "originals",
        (json_int_t)e->originals, "distinct", (json_int_t)e->distinct, "frequent",
        (json_int_t)e->frequent, "frequent_distinct", (json_int_t)e->frequent_distinct, "synthetic",
        (json_int_t)e->synthetic, "paraphrases", (json_int_t)e->paraphrases, "centroids",
        (json_int_t)e->centroids, "seconds_embedding", e->seconds_embedding, "seconds_scoring",
        e->seconds_scoring, "private", 0);
}

static json_t *one_json(const fre_evaluation *e)
{
    json_t *o = main_json(e);

    if (o && add_levels(o, e) == 0 && evaluate_sets_json(o, e) == 0)
        return o;
    json_decref(o);
    return NULL;
}

fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e, size_t n)
{
    json_t *o = one_json(e), *against = json_array();
    bool good = o && against;
    fre_status st;
    char *text;

    for (size_t i = 1; i < n; i++)
        good = good && json_array_append_new(against, one_json(&e[i])) == 0;
    good = json_object_set_new(o, "against", against) == 0 && good;
    text = good ? json_dumps(o, JSON_REAL_PRECISION(10)) : NULL;
    st = text ? fre_buf_printf(out, "%s", text) : FRE_E_NOMEM;
    free(text);
    json_decref(o);
    return st;
}
