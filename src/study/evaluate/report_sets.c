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

json_t *evaluate_cell_json(bool has, const fre_cell_scores *c)
{
    json_t *o = evaluate_level_json(has, &c->scores);

    if (has && o &&
        json_object_update_new(o, json_pack("{s:I, s:I, s:I, s:I}", "released_cells",
                                            (json_int_t)c->released, "frequent_cells",
                                            (json_int_t)c->frequent, "frequent_released",
                                            (json_int_t)c->frequent_released, "occupied_cells",
                                            (json_int_t)c->occupied)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
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

/* Its scores, those of cells, and where it comes from. */
static json_t *one_reference_json(const fre_evaluation *e, fre_evaluate_set at)
{
    const bool has = e->has[at];
    json_t *o = evaluate_level_json(has, &e->place[at].scores);
    int bad = o ? 0 : -1;

    if (!bad && has)
        bad = json_object_set_new(
            o, "cell",
            evaluate_cell_json(e->has_cell, &e->cell_reference[FRE_EVALUATE_REFERENCE(at)]));
    if (!bad && has && at == FRE_SET_UNRELATED)
        bad = json_object_set_new(o, "source", json_string(e->reference_source));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *reference_json(const fre_evaluation *e)
{
    return json_pack("{s:I, s:o, s:o}", "size", (json_int_t)e->reference_size, "halves",
                     one_reference_json(e, FRE_SET_HALVES), "unrelated",
                     one_reference_json(e, FRE_SET_UNRELATED));
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
        json_pack("{s:I, s:I, s:o, s:o}", "t", (json_int_t)evaluate_rare_below(at), "infrequent",
                  (json_int_t)e->rare[at], "bound", numbers(e->ssp_bound[at], FRE_EVALUATE_PSIS),
                  "bound_cell", numbers(e->ssp_bound_cell[at], FRE_EVALUATE_PSIS));

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

static json_t *diversity_of(const fre_evaluation *e, fre_evaluate_set at)
{
    const fre_diversity *d = &e->texts[at].diversity;

    if (!e->has_texts[at])
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "texts", (json_int_t)d->texts, "self_bleu",
                     evaluate_number_json(d->self_bleu), "distinct",
                     numbers(d->distinct, FRE_EVALUATE_DISTINCT), "duplicates",
                     evaluate_number_json(d->duplicates), "duplicates_case_blind",
                     evaluate_number_json(d->duplicates_folded));
}

static json_t *length_json(const fre_lengths *l)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", evaluate_number_json(l->mean), "sd",
                     evaluate_number_json(l->sd), "p10", evaluate_number_json(l->p10), "median",
                     evaluate_number_json(l->median), "p90", evaluate_number_json(l->p90));
}

static json_t *lengths_of(const fre_evaluation *e, fre_evaluate_set at)
{
    if (!e->has_texts[at])
        return json_null();
    return json_pack("{s:o, s:o}", "words", length_json(&e->texts[at].words), "characters",
                     length_json(&e->texts[at].characters));
}

static json_t *mauve_of(const fre_evaluation *e, fre_evaluate_set at)
{
    const fre_mauve *m = &e->mauve[at];

    if (m->size == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o}", "size", (json_int_t)m->size, "mean",
                     evaluate_number_json(m->mean), "sd", evaluate_number_json(m->sd), "seeds",
                     numbers(m->seed, FRE_EVALUATE_SEEDS));
}

static json_t *language_of(const fre_evaluation *e, fre_evaluate_set at)
{
    const fre_language *l = &e->texts[at].language;

    if (!e->has_texts[at])
        return json_null();
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "texts", (json_int_t)l->texts, "scored",
                     (json_int_t)l->scored, "median_nll", evaluate_number_json(l->median_nll),
                     "mean_nll", evaluate_number_json(l->mean_nll), "median_perplexity",
                     evaluate_number_json(l->median_perplexity), "mean_perplexity",
                     evaluate_number_json(l->mean_perplexity), "share_nll_at_most_6",
                     evaluate_number_json(l->natural));
}

/* Rows on a side and clusters, of the first set that has them; null: none has. */
static json_t *mauve_json(const fre_evaluation *e)
{
    json_t *o;
    int at = 0;

    while (at < FRE_SETS && e->mauve[at].size == 0)
        at++;
    if (at == FRE_SETS)
        return json_null();
    o = json_pack("{s:I, s:I}", "buckets",
                  (json_int_t)evaluate_mauve_buckets((size_t)e->mauve[at].size), "size",
                  (json_int_t)e->mauve[at].size);
    if (add_sets(o, e, mauve_of) == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* Diversity, lengths, MAUVE, language: into o. */
static int add_texts(json_t *o, const fre_evaluation *e)
{
    json_t *diversity =
        json_pack("{s:o}", "self_bleu_within", evaluate_number_json(e->self_bleu_within));
    json_t *lengths = json_object();
    json_t *language =
        e->has_language ? json_pack("{s:s}", "model", e->language_model) : json_null();
    int bad = add_sets(diversity, e, diversity_of) | add_sets(lengths, e, lengths_of);

    if (e->has_language)
        bad |= add_sets(language, e, language_of);
    bad |= json_object_set_new(o, "diversity", diversity);
    bad |= json_object_set_new(o, "lengths", lengths);
    bad |= json_object_set_new(o, "mauve", mauve_json(e));
    bad |= json_object_set_new(o, "language", language);
    return bad;
}

static json_t *mean_json(const fre_mean_sd *m)
{
    return json_pack("{s:o, s:o}", "mean", evaluate_number_json(m->mean), "sd",
                     evaluate_number_json(m->sd));
}

/* Votes of k centroids; null where there is none. */
static json_t *nearest_json(const fre_classification *c)
{
    json_t *list = c->has_nearest[0] ? json_array() : json_null();
    int bad = list ? 0 : -1;

    for (size_t i = 0; i < FRE_EVALUATE_KS && c->has_nearest[i]; i++)
        bad |=
            json_array_append_new(list, json_pack("{s:I, s:o, s:o}", "k", (json_int_t)c->k[i],
                                                  "mean", evaluate_number_json(c->nearest[i].mean),
                                                  "sd", evaluate_number_json(c->nearest[i].sd)));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *trained_json(const fre_classification *c, size_t i)
{
    if (c->trained[i] == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o}", "train", (json_int_t)c->trained[i], "mean",
                     evaluate_number_json(c->linear[i].mean), "sd",
                     evaluate_number_json(c->linear[i].sd));
}

static json_t *classification_json(const fre_evaluation *e)
{
    const fre_classification *c = &e->classification;
    json_t *linear;

    if (!e->has_classification)
        return json_null();
    linear = !c->has_linear
                 ? json_null()
                 : json_pack("{s:o, s:o, s:o}", "synthetic", trained_json(c, 0), "real_same_size",
                             trained_json(c, 1), "real", trained_json(c, 2));
    return json_pack("{s:I, s:I, s:i, s:o, s:o, s:o}", "labels", (json_int_t)c->labels, "test",
                     (json_int_t)c->test, "seeds", (int)FRE_EVALUATE_TRIALS, "majority",
                     mean_json(&c->majority), "nearest_centroid", nearest_json(c), "linear",
                     linear);
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
    bad |= add_texts(o, e);
    bad |= json_object_set_new(o, "classification", classification_json(e));
    bad |= json_object_set_new(o, "missing", missing_json(e));
    return bad;
}
