/* An evaluation as JSON; what is undefined is null. */
#include "evaluate_private.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *scores_json(const fre_scores *s)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "precision", number(s->precision), "recall",
                     number(s->recall), "f1", number(s->f1), "l2", number(s->l2));
}

static json_t *level_json(bool has, const fre_level_scores *l)
{
    return has ? json_pack("{s:o, s:o}", "frequent", scores_json(&l->frequent), "all",
                           scores_json(&l->all))
               : json_null();
}

static json_t *cell_json(const fre_evaluation *e)
{
    json_t *o = level_json(e->has_cell, &e->cell.scores);

    if (e->has_cell && o &&
        json_object_update_new(o, json_pack("{s:I, s:I, s:I, s:I}", "released_cells",
                                            (json_int_t)e->cell.released, "frequent_cells",
                                            (json_int_t)e->cell.frequent, "frequent_released",
                                            (json_int_t)e->cell.frequent_released, "occupied_cells",
                                            (json_int_t)e->cell.occupied)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static json_t *exact_json(const fre_evaluation *e)
{
    return e->has_exact
               ? json_pack("{s:o, s:o, s:o, s:o}", "frequent", number(e->exact_frequent),
                           "frequent_case_blind", number(e->exact_frequent_folded), "any",
                           number(e->exact_any), "any_case_blind", number(e->exact_any_folded))
               : json_null();
}

fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e)
{
    json_t *o = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, "
        "s:b}",
        "text", level_json(e->has_text, &e->text), "text_with_paraphrases",
        level_json(e->has_paraphrased, &e->paraphrased), "centroid",
        level_json(e->has_centroid, &e->centroid), "cell", cell_json(e), "exact", exact_json(e),
        "radius", e->radius, "alpha", e->alpha, "threshold", (json_int_t)e->threshold, "originals",
        (json_int_t)e->originals, "distinct", (json_int_t)e->distinct, "frequent",
        (json_int_t)e->frequent, "frequent_distinct", (json_int_t)e->frequent_distinct, "synthetic",
        (json_int_t)e->synthetic, "paraphrases", (json_int_t)e->paraphrases, "centroids",
        (json_int_t)e->centroids, "seconds_embedding", e->seconds_embedding, "seconds_scoring",
        e->seconds_scoring, "private", 0);
    char *text = o ? json_dumps(o, JSON_REAL_PRECISION(10)) : NULL;
    fre_status st = text ? fre_buf_printf(out, "%s", text) : FRE_E_NOMEM;

    free(text);
    json_decref(o);
    return st;
}
