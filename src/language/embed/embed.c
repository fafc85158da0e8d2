/* embed.c - the embedder: opened, asked, closed. */
#include "embed_private.h"

#include <fre/param.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

fre_status fre_embedder_check_rows(const fre_embedder *e, const fre_npy *rows, const char *path,
                                   fre_err *err)
{
    const fre_model_info *info = fre_embedder_info(e);
    char hex[2 * FRE_HASH_BYTES + 1];

    if (!fre_npy_has_meta(rows) && fre_npy_is_piped(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s is a pipe, which has no sidecar that names the embedder; give the .npy "
                        "file itself, with the X.npy.json of `fre-e2t embed` beside it",
                        path);
    if (!fre_npy_has_meta(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s has no sidecar %s.json, so the embedder that made it is unknown; make "
                        "it with `fre-e2t embed`",
                        path, path);
    fre_hex(hex, info->sha256, FRE_HASH_BYTES);
    if (strcmp(hex, fre_npy_meta_view(rows)->sha256) != 0 || info->dim != fre_npy_dim(rows))
        return fre_fail(err, FRE_E_DATA,
                        "%s was made by another embedder (%s); pass that one by "
                        "{embedder}",
                        path, fre_npy_meta_view(rows)->embedder);
    return FRE_OK;
}

void fre_text_counts_add(fre_text_counts *c, uint8_t mark, uint64_t records)
{
    c->records += records;
    c->empty += mark & FRE_TEXT_EMPTY ? records : 0;
    c->unknown += mark & FRE_TEXT_UNKNOWN ? records : 0;
    c->foreign += mark & FRE_TEXT_FOREIGN ? records : 0;
    c->truncated += mark & FRE_TEXT_TRUNCATED ? records : 0;
}

bool fre_text_counts_foreign(const fre_text_counts *c)
{
    return c->foreign > c->records / 5;
}

fre_status fre_embed_texts(fre_embedder *e, float *out, const char *const *text, const size_t *len,
                           size_t n, fre_err *err)
{
    return fre_embed_texts_marked(e, out, NULL, text, len, n, err);
}

/* A prior that does not fit is the inverter's to complain of.  What fails for want of memory is tried
 * again: without languages, texts in another one would count as this one's. */
static fre_status open_languages(fre_embedder *e, fre_err *err)
{
    fre_embed_stats before = e->stats;
    fre_status st = FRE_OK;

    if (e->has_languages)
        return FRE_OK;
    e->has_languages = true; /* the sentences of the languages are embedded here */
    st = fre_prior_open_for(&e->prior, NULL, e->path, fre_embedder_info(e), NULL);
    if (st == FRE_E_NOMEM)
        (void)fre_fail(err, st, "out of memory while opening the prior of %.200s", e->path);
    else
        st = st == FRE_OK ? fre_languages_new(&e->languages, e, e->prior, err) : FRE_OK;
    if (st != FRE_OK) {
        fre_prior_free(e->prior);
        e->prior = NULL;
        e->has_languages = false;
    }
    e->stats = before;
    return st;
}

/* Marks that the rows show beside those of the tokens. */
static fre_status mark_foreign(const fre_embedder *e, uint8_t *mark, const float *rows, size_t n)
{
    const size_t dim = fre_model_info_view(e->model)->dim;

    for (size_t i = 0; e->languages && i < n; i++) {
        double score = -1;
        fre_status st = FRE_OK;

        if (!(mark[i] & (FRE_TEXT_BLANK | FRE_TEXT_FOREIGN)))
            st = fre_languages_score(e->languages, &score, rows + i * dim, 0);
        if (st != FRE_OK)
            return st;
        if (score > FRE_LANGUAGES_FOREIGN)
            mark[i] |= FRE_TEXT_FOREIGN;
    }
    return FRE_OK;
}

fre_status fre_embed_texts_marked(fre_embedder *e, float *out, uint8_t *mark,
                                  const char *const *text, const size_t *len, size_t n,
                                  fre_err *err)
{
    size_t dim;
    float *rows = NULL; /* outputs are written on success only */
    uint8_t *marks = NULL;
    fre_status st = FRE_OK;

    if (!e || (n > 0 && (!out || !text || !len)))
        return fre_fail(err, FRE_E_ARG, "fre_embed_texts needs texts and room for their rows");
    if (n == 0)
        return FRE_OK;
    if (mark) {
        st = open_languages(e, err);
        if (st != FRE_OK)
            return st;
    }
    dim = fre_model_info_view(e->model)->dim;
    if (n > SIZE_MAX / sizeof(float) / dim)
        return fre_fail(err, FRE_E_ARG, "too many texts in one call");
    rows = calloc(n * dim, sizeof *rows);
    marks = calloc(n, sizeof *marks);
    if (!rows || !marks) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory embedding texts");
        goto out;
    }
    st = embed_run(e, rows, marks, text, len, n, err);
    if (st == FRE_OK && mark) {
        st = mark_foreign(e, marks, rows, n);
        if (st != FRE_OK)
            (void)fre_fail(err, st, "%s", fre_status_text(st));
    }
    if (st != FRE_OK)
        goto out;
    memcpy(out, rows, n * dim * sizeof *out);
    if (mark)
        memcpy(mark, marks, n);
out:
    free(rows);
    free(marks);
    return st;
}

static fre_status open_contexts(fre_embedder *e, fre_err *err)
{
    e->idle = calloc(e->threads, sizeof(fre_model_ctx *));
    if (!e->idle)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    while (e->n_ctx < e->threads) {
        fre_status st =
            fre_model_ctx_new(&e->idle[e->n_ctx], e->model, e->max_tokens, EMBED_BATCH_SEQS, err);

        if (st != FRE_OK)
            return st;
        e->n_idle = ++e->n_ctx;
    }
    return FRE_OK;
}

fre_status fre_embedder_new(fre_embedder **out, const fre_embedder_opts *opts, fre_err *err)
{
    fre_embedder *e = NULL;
    char found[PATH_MAX];
    const char *path;
    size_t specials = 0;
    fre_status st = FRE_OK;

    if (!out || !opts)
        return fre_fail(err, FRE_E_ARG, "an embedder needs options");
    st = fre_param_check(&fre_param_threads, opts->threads, err);
    if (st != FRE_OK)
        return st;
    path = opts->path;
    if (!path) {
        st = fre_model_find(found, sizeof found, FRE_EMBEDDER_DEFAULT, err);
        if (st != FRE_OK)
            return st;
        path = found;
    }
    e = calloc(1, sizeof *e);
    if (!e)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    if (pthread_mutex_init(&e->lock, NULL) != 0) {
        free(e);
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    }
    e->threads = opts->threads;
    e->path = strdup(path);
    st = e->path ? fre_model_open(&e->model, path, FRE_MODEL_EMBEDDER, err)
                 : fre_fail(err, FRE_E_NOMEM, "out of memory opening the embedder");
    if (st != FRE_OK)
        goto out;
    e->max_tokens = fre_model_info_view(e->model)->text_tokens;
    st = fre_model_tokenize(e->model, NULL, &specials, "", 0, true);
    if (st == FRE_OK)
        e->specials = (uint32_t)specials;
    if (st == FRE_OK)
        st = open_contexts(e, err);
    if (st != FRE_OK)
        goto out;
    *out = e;
    e = NULL; /* handed over */
out:
    fre_embedder_free(e);
    return st;
}

void fre_embedder_free(fre_embedder *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_idle; i++) /* all are idle between calls */
        fre_model_ctx_free(e->idle[i]);
    free(e->idle);
    free(e->path);
    fre_languages_free(e->languages); /* borrows the prior */
    fre_prior_free(e->prior);
    fre_model_free(e->model);
    (void)pthread_mutex_destroy(&e->lock);
    free(e);
}

const fre_model_info *fre_embedder_info(const fre_embedder *e)
{
    return fre_model_info_view(e->model);
}

const char *fre_embedder_path(const fre_embedder *e)
{
    return e->path;
}

void fre_embedder_rows_meta(const fre_embedder *e, fre_npy_meta *out)
{
    const fre_model_info *info = fre_embedder_info(e);

    memset(out, 0, sizeof *out);
    (void)snprintf(out->embedder, sizeof out->embedder, "%s", info->name);
    fre_hex(out->sha256, info->sha256, FRE_HASH_BYTES);
    out->normalised = info->normalised;
}

void fre_embed_get_stats(const fre_embedder *e, fre_embed_stats *out)
{
    *out = e->stats;
}
