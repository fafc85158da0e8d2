/* baseline/people.c - the input: read, surveyed and embedded as a release's is, all in memory. */
#include "baseline_private.h"

#include <fre/linalg.h>

#include <stdlib.h>
#include <string.h>

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory for the input's embeddings");
}

static bool is_strict(const baseline_run *r)
{
    return r->opts->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* Takes in over. */
static fre_status open_rows(baseline_run *r, fre_input *in, fre_err *err)
{
    const fre_baseline_opts *o = r->opts;
    baseline_people *p = &r->people;
    fre_status st = fre_npy_open_users(&p->npy, in, &o->corpus, o->user_file, err);

    if (st != FRE_OK)
        return st;
    p->dim = (uint32_t)fre_npy_dim(p->npy);
    return fre_names_open_rows(&p->names, p->npy, o->user_file, &o->corpus, err);
}

static fre_status open_embedder(baseline_run *r, fre_err *err)
{
    const fre_embedder_opts eo = {.path = r->opts->embedder, .threads = r->opts->threads};
    baseline_people *p = &r->people;
    fre_err why = {.text = ""};
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st != FRE_OK)
        return st;
    if (!p->npy) {
        p->dim = fre_embedder_info(r->embedder)->dim;
        return FRE_OK;
    }
    st = fre_embedder_check_rows(r->embedder, p->npy, r->opts->input, &why);
    return st == FRE_OK ? st : fre_fail(err, st, "%s, or pass {inverter} none", why.text);
}

fre_status baseline_people_open(baseline_run *r, fre_err *err)
{
    const fre_baseline_opts *o = r->opts;
    baseline_people *p = &r->people;
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, o->input, false, err);

    if (st != FRE_OK)
        return st;
    p->norm_bound = o->plan.norm_bound;
    st = fre_input_is_npy(in, &o->corpus)
             ? open_rows(r, in, err)
             : fre_corpus_open_users(&r->people.corpus, in, &r->opts->corpus, r->opts->user_file,
                                     err);
    if (st == FRE_OK && (p->corpus || o->domain || o->method == FRE_BASELINE_AUG_PE ||
                         fre_inverter_writes_text(o->inverter)))
        st = open_embedder(r, err);
    if (st != FRE_OK)
        return st;
    return fre_survey_new(&p->survey,
                          &(fre_survey_opts){.cells_per_user = 1,
                                             .population = o->plan.population,
                                             .progress = o->progress,
                                             .kind = p->npy ? NULL : fre_embedder_kind,
                                             .kind_ctx = r->embedder},
                          err);
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* One user more of row `row`. */
static fre_status count(baseline_people *p, uint32_t row, fre_err *err)
{
    if (fre_grow((void **)&p->weight, &p->cap_weight, (size_t)row + 1, sizeof *p->weight) != FRE_OK)
        return no_memory(err);
    p->weight[row]++;
    p->users++;
    return FRE_OK;
}

/* The next row, cut to the norm bound. */
static fre_status keep_row(baseline_people *p, const float *row, bool strict, fre_err *err)
{
    float *x;

    if (fre_grow((void **)&p->x, &p->cap_x, (p->n + 1) * p->dim, sizeof *p->x) != FRE_OK)
        return no_memory(err);
    x = p->x + p->n * p->dim;
    memcpy(x, row, p->dim * sizeof *x);
    /* a hair above is rounding */
    if (strict && fre_norm(x, p->dim) > p->norm_bound * (1 + 1e-3))
        return fre_fail(err, FRE_E_DATA,
                        "row %zu: the embedding's norm is above %g: normalise the embeddings, or "
                        "leave out {strict} to have longer ones cut to it",
                        p->n + 1, p->norm_bound);
    if (!fre_aggregate_clip(x, p->dim, p->norm_bound))
        memset(x, 0, p->dim * sizeof *x);
    p->n++;
    return FRE_OK;
}

static fre_status text_row(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    baseline_run *r = ctx;
    fre_status st = keep_row(&r->people, row, is_strict(r), err);

    if (st != FRE_OK)
        return st;
    fre_text_counts_add(&r->text, mark, 1);
    return mark & FRE_TEXT_BLANK ? FRE_OK
                                 : fre_survey_mark_row(r->people.survey, row, r->people.dim);
}

static fre_status read_texts(baseline_run *r, fre_embed_stream *to, fre_err *err)
{
    baseline_people *p = &r->people;
    fre_survey_seen seen;
    fre_record rec;
    uint64_t n = 0;
    bool more = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        st = fre_corpus_next(p->corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = fre_survey_add_text(p->survey, &seen, rec.text, rec.text_len, rec.user, rec.user_len,
                                 err);
        if (st == FRE_OK && to && seen.is_new)
            st = fre_embed_stream_add(to, rec.text, rec.text_len, err);
        if (st == FRE_OK && to && seen.counts)
            st = count(p, seen.text, err);
        if (++n % 2048 == 0)
            fre_progress_update(r->opts->progress, to ? "embedding" : "reading", n, 0);
    }
    return st == FRE_OK && to ? fre_embed_stream_flush(to, err) : st;
}

static fre_status embed_texts(baseline_run *r, fre_err *err)
{
    fre_embed_stream *to = NULL;
    fre_status st = fre_embed_stream_new(&to, r->embedder, text_row, r, err);

    if (st == FRE_OK)
        st = read_texts(r, to, err);
    fre_embed_stream_free(to);
    return st;
}

static fre_status read_rows(baseline_run *r, fre_err *err)
{
    baseline_people *p = &r->people;
    const size_t n = fre_npy_rows(p->npy);
    float *x = calloc(p->dim, sizeof *x);
    fre_survey_seen seen;
    fre_status st = x ? FRE_OK : no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (i % 4096 == 0 && fre_interrupted())
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        else if (fre_npy_row_is_usable(p->npy, i))
            st = fre_npy_row(p->npy, x, i, err);
        if (st == FRE_OK)
            st =
                fre_survey_add_npy_row(p->survey, &seen, x, p->npy, p->names, i, is_strict(r), err);
        if (st == FRE_OK && seen.text != FRE_MAP_NONE && seen.is_new)
            st = keep_row(p, x, is_strict(r), err);
        if (st == FRE_OK && seen.counts)
            st = count(p, seen.text, err);
    }
    fre_wipe_free(x, p->dim * sizeof *x);
    return st == FRE_OK ? fre_survey_end_rows(p->survey, err) : st;
}

static fre_status conclude(baseline_run *r, fre_err *err)
{
    baseline_people *p = &r->people;
    fre_baseline_result *to = r->result;

    fre_survey_count(&to->input, p->survey, r->opts->plan.threshold);
    if (p->corpus) {
        fre_corpus_stats stats;

        fre_corpus_get_about(p->corpus, &to->about);
        fre_corpus_get_stats(p->corpus, &stats);
        to->input.empty += stats.empty;
        to->input.invalid += stats.invalid;
    } else {
        fre_npy_get_about(p->npy, &to->about);
    }
    to->text = r->text;
    return fre_survey_check_any(p->survey, r->opts->input, err);
}

fre_status baseline_people_read(baseline_run *r, fre_err *err)
{
    baseline_people *p = &r->people;
    fre_status st = p->npy ? read_rows(r, err) : embed_texts(r, err);

    if (st == FRE_OK)
        st = conclude(r, err);
    /* Every row has a weight, also what nobody counts with. */
    return st == FRE_OK && fre_grow((void **)&p->weight, &p->cap_weight, p->n, sizeof *p->weight)
               ? no_memory(err)
               : st;
}

fre_status baseline_people_survey(baseline_run *r, fre_err *err)
{
    fre_status st = r->people.npy ? read_rows(r, err) : read_texts(r, NULL, err);

    return st == FRE_OK ? conclude(r, err) : st;
}

void baseline_people_wipe(baseline_people *p)
{
    fre_corpus_free(p->corpus);
    fre_npy_free(p->npy);
    fre_names_free(p->names);
    fre_survey_free(p->survey);
    fre_wipe_free(p->x, p->cap_x * sizeof *p->x);
    fre_wipe_free(p->weight, p->cap_weight * sizeof *p->weight);
    *p = (baseline_people){.n = 0};
}
