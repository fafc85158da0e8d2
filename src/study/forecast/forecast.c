/* forecast/forecast.c - levels tried out on public text; see fre/forecast.h. */
#include "folder.h"
#include "lists.h"

#include <fre/curator.h>
#include <fre/codebook.h>
#include <fre/embed.h>
#include <fre/overlap.h>
#include <fre/prior.h>

#include <stdlib.h>
#include <string.h>

void fre_forecast_opts_init(fre_forecast_opts *o)
{
    *o = (fre_forecast_opts){.threads = 1, .counts = FRE_COUNTS_NOISY};
    o->read.invalid = FRE_CORPUS_INVALID_SKIP;
    fre_plan_request_init(&o->plan);
}

typedef struct run {
    const fre_forecast_opts *o;
    fre_forecast *out;
    forecast_folder folder;
    fre_embedder *embedder;
    fre_overlap_set *texts; /* marks of the corpus */
    float *row;             /* of the corpus so far */
    size_t n, cap_row;
} run;

/* ---- the corpus, embedded once ---------------------------------------------------------------------- */

static fre_status add_row(void *ctx, const float *row, uint8_t mark, fre_err *err)
{
    run *r = ctx;
    const size_t dim = fre_embedder_info(r->embedder)->dim;

    (void)mark;
    if (fre_grow((void **)&r->row, &r->cap_row, (r->n + 1) * dim, sizeof *r->row) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory: the corpus' embeddings are kept");
    memcpy(r->row + r->n++ * dim, row, dim * sizeof *row);
    return FRE_OK;
}

static fre_status embed_records(run *r, fre_corpus *corpus, fre_embed_stream *stream, fre_err *err)
{
    fre_corpus_stats stats;
    fre_record rec;
    bool more;
    fre_status st;

    while ((st = fre_corpus_next(corpus, &more, &rec, err)) == FRE_OK && more) {
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        if (fre_overlap_add_text(r->texts, rec.text, rec.text_len) != FRE_OK)
            return fre_fail(err, FRE_E_NOMEM, "out of memory while reading the corpus");
        st = fre_embed_stream_add(stream, rec.text, rec.text_len, err);
        if (st != FRE_OK)
            return st;
        fre_corpus_get_stats(corpus, &stats);
        if (fre_embed_stream_waiting(stream) == 0)
            fre_progress_update(r->o->progress, "embedding", stats.records,
                                fre_corpus_expected(&stats));
    }
    return st == FRE_OK ? fre_embed_stream_flush(stream, err) : st;
}

static fre_status embed_corpus(run *r, fre_err *err)
{
    const fre_embedder_opts eo = {.path = r->o->embedder, .threads = r->o->threads};
    fre_corpus *corpus = NULL;
    fre_embed_stream *stream = NULL;
    fre_status st;

    if ((st = fre_corpus_open(&corpus, r->o->corpus, &r->o->read, err)) != FRE_OK ||
        (st = fre_embedder_new(&r->embedder, &eo, err)) != FRE_OK ||
        (st = fre_embed_stream_new(&stream, r->embedder, add_row, r, err)) != FRE_OK)
        goto out;
    st = embed_records(r, corpus, stream, err);
    if (st == FRE_OK && r->n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "%.300s holds no text", r->o->corpus);
out:
    fre_embed_stream_free(stream);
    fre_corpus_free(corpus);
    return st;
}

static fre_status write_array(const run *r, fre_err *err)
{
    const size_t dim = fre_embedder_info(r->embedder)->dim;
    fre_outfile *data = NULL;
    fre_status st = fre_outfile_open(&data, r->folder.rows, false, err);

    if (st == FRE_OK)
        st = fre_npy_write_header(fre_outfile_stream(data), FRE_NPY_F4, r->n, dim, err);
    if (st == FRE_OK &&
        fwrite(r->row, dim * sizeof *r->row, r->n, fre_outfile_stream(data)) != r->n)
        st = fre_fail(err, FRE_E_IO, "cannot write to TMPDIR (disk full?)");
    if (st == FRE_OK)
        st = fre_outfile_commit(data, err);
    fre_outfile_free(data);
    return st;
}

static fre_status write_sidecar(const run *r, fre_err *err)
{
    char path[sizeof r->folder.rows + 8];
    fre_npy_meta meta;
    fre_outfile *f = NULL;
    fre_status st;

    (void)snprintf(path, sizeof path, "%s.json", r->folder.rows);
    fre_embedder_rows_meta(r->embedder, &meta);
    st = fre_outfile_open(&f, path, false, err);
    if (st == FRE_OK)
        st = fre_npy_write_meta(fre_outfile_stream(f), &meta, r->n,
                                fre_embedder_info(r->embedder)->dim, err);
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    return st;
}

/* Levels of a codebook that was made of the corpus would look better than they are. */
static fre_status find_lists(const run *r, fre_err *err)
{
    const fre_forecast_opts *o = r->o;
    fre_codebook *c = NULL;
    fre_status st = fre_codebook_open_for(&c, o->codebook, fre_embedder_path(r->embedder),
                                          fre_embedder_info(r->embedder), err);

    if (st == FRE_OK && !c)
        st = fre_fail(err, FRE_E_NOINPUT,
                      "there is no codebook beside the embedder, so there are no levels to try: "
                      "name one, {codebook}");
    if (st == FRE_OK && !fre_codebook_info_view(c)->card.rows) /* rows: the curator compares them */
        st = fre_prior_card_check("the codebook of", fre_codebook_info_view(c)->source,
                                  &fre_codebook_info_view(c)->card, r->texts, NULL, err);
    if (st == FRE_OK)
        forecast_lists(r->out, o->levels, c);
    fre_codebook_free(c);
    return st;
}

/* Array and sidecar, for curator and evaluation. */
static fre_status write_rows(const run *r, fre_err *err)
{
    const fre_status st = write_sidecar(r, err);

    return st == FRE_OK ? write_array(r, err) : st;
}

/* ---- one list ------------------------------------------------------------------------------------------ */

/* What the curator would release of the corpus, into the folder; centroids alone. */
static fre_status curate(const run *r, fre_forecast_list *l, fre_err *err)
{
    fre_curator_opts co;
    fre_curator_result *result = NULL;
    fre_status st;

    fre_curator_opts_init(&co);
    co.input = r->folder.rows;
    co.output = r->folder.release;
    co.force = true;
    co.corpus = (fre_corpus_opts){.user_field = NULL};
    co.plan = r->o->plan;
    co.embedder = r->o->embedder;
    co.inverter = "none";
    co.threads = r->o->threads;
    co.seeded = true; /* the corpus is public, and the same corpus gives the same numbers */
    co.progress = r->o->progress;
    st = fre_plan_request_levels(&co.plan, l->levels, fre_param_clip_radius.preset, r->o->counts,
                                 err);
    if (st != FRE_OK)
        return st;
    co.codebook = co.plan.n_levels > 0 ? r->o->codebook : NULL;
    st = fre_curator_synthesize(&result, &co, err);
    if (st == FRE_OK)
        l->plan = result->plan;
    fre_curator_result_free(result);
    return st;
}

static fre_status measure(const run *r, fre_forecast_list *l, fre_err *err)
{
    fre_evaluate_opts eo;
    fre_evaluation e;
    fre_status st;

    fre_evaluate_opts_init(&eo);
    eo.synthetic = r->folder.release;
    eo.original = r->o->corpus;
    eo.embeddings = r->folder.rows;
    eo.corpus = r->o->read;
    eo.embedder = r->o->embedder;
    eo.codebook = l->plan.request.n_levels > 0 ? r->o->codebook : NULL;
    eo.threads = r->o->threads;
    eo.levels_only = true;
    eo.progress = r->o->progress;
    st = fre_evaluate_files(&e, &eo, err);
    if (st != FRE_OK)
        return st;
    l->n_levels = e.n_levels;
    memcpy(l->level, e.level, (e.n_levels + 1) * sizeof *l->level);
    l->expected = fre_forecast_expected(&l->level[l->n_levels], r->o->plan.norm_bound);
    l->planned = true;
    r->out->records = e.originals;
    r->out->has_labels = e.has_labels;
    r->out->labels = e.labels;
    return FRE_OK;
}

/* A budget that cannot be met at these levels is an answer; anything else ends the forecast. */
static fre_status try_list(const run *r, fre_forecast_list *l, fre_err *err)
{
    fre_err why = {.text = ""};
    fre_status st = curate(r, l, &why);

    if (st == FRE_OK)
        return measure(r, l, err);
    l->why = why;
    return st == FRE_E_USAGE ? FRE_OK : fre_fail(err, st, "%s", why.text);
}

static fre_status try_all(run *r, fre_err *err)
{
    fre_forecast *f = r->out;
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < f->n; i++) {
        fre_progress_update(r->o->progress, "trying levels", i, f->n);
        st = try_list(r, &f->list[i], err);
    }
    if (st != FRE_OK)
        return st;
    f->chosen = fre_forecast_choose(f->list, f->n);
    return f->chosen < f->n ? FRE_OK : fre_fail(err, FRE_E_USAGE, "%s", f->list[0].why.text);
}

fre_status fre_forecast_make(fre_forecast *out, const fre_forecast_opts *o, fre_err *err)
{
    run r = {.o = o, .out = calloc(1, sizeof *r.out)};
    fre_status st;

    if (!r.out)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if ((st = fre_overlap_set_new(&r.texts)) != FRE_OK) {
        st = fre_fail(err, st, "out of memory");
        goto out;
    }
    if ((st = embed_corpus(&r, err)) != FRE_OK || (st = find_lists(&r, err)) != FRE_OK ||
        (st = forecast_folder_make(&r.folder, err)) != FRE_OK ||
        (st = write_rows(&r, err)) != FRE_OK)
        goto out;
    st = try_all(&r, err);
    if (st == FRE_OK)
        *out = *r.out;
out:
    forecast_folder_remove(&r.folder);
    fre_overlap_set_free(r.texts);
    fre_embedder_free(r.embedder);
    free(r.row);
    free(r.out);
    return st;
}
