/* evaluate from files: read, embed, score. */
#include "evaluate_private.h"

#include <fre/linalg.h>
#include <fre/privacy.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMBED_CHUNK 8192u

typedef struct run {
    const fre_evaluate_opts *opts;
    evaluate_synthetic synthetic; /* what is scored */
    fre_release release;
    bool has_release;
    evaluate_distinct distinct; /* distinct originals: texts, or rows packed */
    size_t *first; /* texts with embeddings: record in which each distinct text came first */
    size_t cap_first;
    bool from_npy;
    char npy_sha256[65];
    fre_embedder *embedder;
    float *x, *synthetic_x; /* owned; x is NULL when the rows are in distinct */
    fre_originals originals;
    bool *is_frequent;
    fre_evaluation e;
} run;

void fre_evaluate_opts_init(fre_evaluate_opts *o)
{
    *o = (fre_evaluate_opts){.alpha = fre_evaluate_param_alpha.preset, .threads = 1};
}

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory: evaluate keeps every distinct original");
}

static fre_status with_text(fre_err *err, fre_status st)
{
    if (st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "interrupted");
    return st == FRE_E_NOMEM ? no_memory(err) : fre_fail(err, st, "%s", fre_status_text(st));
}

/* ---- originals ----------------------------------------------------------------------------- */

static fre_status add_text(run *r, const fre_record *rec)
{
    size_t index, known = r->distinct.n;
    fre_status st = evaluate_distinct_add(&r->distinct, &index, rec->text, rec->text_len);

    if (st != FRE_OK || index < known)
        return st;
    if (known == r->cap_first) {
        size_t cap = known ? 2 * known : 1024;
        size_t *first = realloc(r->first, cap * sizeof *first);
        if (!first)
            return FRE_E_NOMEM;
        r->first = first;
        r->cap_first = cap;
    }
    r->first[index] = (size_t)r->e.originals;
    return FRE_OK;
}

/* Takes in over. */
static fre_status read_texts(run *r, fre_input *in, fre_err *err)
{
    fre_corpus *c = NULL;
    fre_corpus_stats stats;
    fre_record rec;
    bool more = true;
    fre_status st = fre_corpus_open_input(&c, in, &r->opts->corpus, err);

    if (st != FRE_OK)
        return st;
    while ((st = fre_corpus_next(c, &more, &rec, err)) == FRE_OK && more) {
        if (add_text(r, &rec) != FRE_OK) {
            st = no_memory(err);
            break;
        }
        if (++r->e.originals % 4096 != 0)
            continue;
        fre_corpus_get_stats(c, &stats);
        fre_progress_update(r->opts->progress, "reading", stats.records,
                            fre_corpus_expected(&stats));
        if (fre_interrupted()) {
            st = with_text(err, FRE_E_INTERRUPTED);
            break;
        }
    }
    fre_corpus_get_stats(c, &stats);
    r->e.empty = stats.empty;
    r->e.invalid = stats.invalid;
    fre_corpus_get_about(c, &r->e.input);
    fre_corpus_free(c);
    return st;
}

/* Takes in over. */
static fre_status read_rows(run *r, fre_input *in, fre_err *err)
{
    const bool strict = r->opts->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
    fre_npy *npy = NULL;
    fre_err first = {.text = ""};
    float *row = NULL;
    size_t n, d, index;
    fre_status st = fre_npy_open_input(&npy, in, &r->opts->corpus, err);

    if (st != FRE_OK)
        return st;
    n = fre_npy_rows(npy);
    d = fre_npy_dim(npy);
    row = calloc(d, sizeof *row);
    if (!row)
        st = no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (!strict && !fre_npy_row_is_usable(npy, i)) {
            if (r->e.invalid++ == 0)
                (void)fre_npy_refuse_row(npy, i, &first);
            continue;
        }
        st = fre_npy_row(npy, row, i, err);
        if (st == FRE_OK &&
            evaluate_distinct_add(&r->distinct, &index, row, d * sizeof *row) != FRE_OK)
            st = no_memory(err);
        if (st == FRE_OK && i % 4096 == 0) {
            fre_npy_release_before(npy, i);
            fre_progress_update(r->opts->progress, "reading", i, n);
            if (fre_interrupted())
                st = with_text(err, FRE_E_INTERRUPTED);
        }
    }
    if (fre_npy_has_meta(npy))
        memcpy(r->npy_sha256, fre_npy_meta_view(npy)->sha256, sizeof r->npy_sha256);
    fre_npy_get_about(npy, &r->e.input);
    r->e.originals = n - r->e.invalid;
    r->originals.d = d;
    free(row);
    fre_npy_free(npy);
    return st == FRE_OK ? fre_corpus_check_most(r->e.invalid, r->e.originals, 0, &first, err) : st;
}

/* ---- embeddings ---------------------------------------------------------------------------- */

static fre_status check_sha(const char *a, const char *what_a, const char *b, const char *what_b,
                            fre_err *err)
{
    if (a[0] && b[0] && strcmp(a, b) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s and %s come from different embedders (sha256 %.12s... and %.12s...): "
                        "embed both with the same model, named by {embedder}",
                        what_a, what_b, a, b);
    return FRE_OK;
}

/* The embedder, which is the one that everything else was made with. */
static fre_status load_embedder(run *r, const char *release_sha, fre_err *err)
{
    const fre_embedder_opts eo = {r->opts->embedder, r->opts->threads};
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(r->embedder)->sha256, FRE_HASH_BYTES);
    st = check_sha(release_sha, "the release", sha, "this evaluation", err);
    if (st == FRE_OK)
        st = check_sha(r->npy_sha256, "the originals", sha, "this evaluation", err);
    if (!r->from_npy)
        r->originals.d = fre_embedder_info(r->embedder)->dim;
    else if (st == FRE_OK && fre_embedder_info(r->embedder)->dim != r->originals.d)
        st = fre_fail(err, FRE_E_DATA,
                      "the originals have %zu columns, the embedder makes %u: name the model "
                      "that made them by {embedder}",
                      r->originals.d, fre_embedder_info(r->embedder)->dim);
    return st;
}

static fre_status open_embedder(run *r, fre_err *err)
{
    const char *release_sha = r->has_release ? r->release.embedder.sha256 : "";
    fre_status st = check_sha(release_sha, "the release", r->npy_sha256, "the originals", err);

    if (st == FRE_OK && (!r->from_npy || r->synthetic.place.n > 0))
        st = load_embedder(r, release_sha, err);
    else if (st == FRE_OK && r->opts->embedder)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings and there is no synthetic text, so nothing is "
                      "embedded: leave out {embedder}");
    if (st == FRE_OK && r->has_release && r->release.grid.dim != r->originals.d)
        st = fre_fail(err, FRE_E_DATA, "the release has dimension %u, the originals have %zu",
                      r->release.grid.dim, r->originals.d);
    return st;
}

/* The distinct texts' rows from a file of all records' rows. */
static fre_status read_embeddings(run *r, fre_err *err)
{
    const char *path = r->opts->embeddings;
    size_t d = r->originals.d;
    fre_npy *npy = NULL;
    float *x = NULL;
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_npy_open(&npy, path, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(r->embedder)->sha256, FRE_HASH_BYTES);
    if (fre_npy_has_meta(npy))
        st = check_sha(fre_npy_meta_view(npy)->sha256, path, sha, "this evaluation", err);
    if (st == FRE_OK && (fre_npy_rows(npy) != r->e.originals || fre_npy_dim(npy) != d))
        st = fre_fail(err, FRE_E_DATA,
                      "%s has %zu rows of %zu, the originals need %" PRIu64 " of %zu", path,
                      fre_npy_rows(npy), fre_npy_dim(npy), r->e.originals, d);
    for (size_t i = 0; st == FRE_OK && i < fre_npy_rows(npy); i++) /* also those not read below */
        if (!fre_npy_row_is_usable(npy, i))
            st = fre_npy_refuse_row(npy, i, err);
    if (st == FRE_OK) {
        x = calloc(r->distinct.n * d + 1, sizeof *x);
        st = x ? FRE_OK : no_memory(err);
    }
    for (size_t i = 0; st == FRE_OK && i < r->distinct.n; i++)
        st = fre_npy_row(npy, x + i * d, r->first[i], err);
    r->x = x; /* freed with r whatever the status */
    fre_npy_free(npy);
    return st;
}

typedef const char *(*text_at)(const void *set, size_t i, size_t *len);

static const char *distinct_at(const void *set, size_t i, size_t *len)
{
    const evaluate_distinct *t = set;

    *len = t->entry[i].len;
    return evaluate_distinct_text(t, i);
}

static const char *synthetic_at(const void *set, size_t i, size_t *len)
{
    const evaluate_synthetic *s = set;

    *len = s->place.len[i];
    return evaluate_synthetic_text(s, i);
}

/* mark: n of fre_text_mark; NULL: not wanted. */
static fre_status embed_all(run *r, float **out, uint8_t *mark, const void *set, text_at at,
                            size_t n, fre_err *err)
{
    size_t d = r->originals.d, *len = calloc(EMBED_CHUNK, sizeof *len);
    const char **text = calloc(EMBED_CHUNK, sizeof *text);
    float *x = calloc(n * d + 1, sizeof *x);
    fre_status st = len && text && x ? FRE_OK : no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i += EMBED_CHUNK) {
        size_t m = n - i < EMBED_CHUNK ? n - i : EMBED_CHUNK;
        for (size_t j = 0; j < m; j++)
            text[j] = at(set, i + j, &len[j]);
        fre_progress_update(r->opts->progress, "embedding", i, n);
        st = fre_embed_texts_marked(r->embedder, x + i * d, mark ? mark + i : NULL, text, len, m,
                                    err);
    }
    free(len);
    free(text);
    if (st == FRE_OK)
        *out = x;
    else
        free(x);
    return st;
}

static fre_status embed_originals(run *r, fre_err *err)
{
    uint8_t *mark = calloc(r->distinct.n + 1, 1);
    fre_status st = mark ? embed_all(r, &r->x, mark, &r->distinct, distinct_at, r->distinct.n, err)
                         : no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < r->distinct.n; i++)
        fre_text_counts_add(&r->e.original_text, mark[i], r->distinct.weight[i]);
    free(mark);
    return st;
}

/* Originals without a token that the embedder knows are skipped as they are in a release: they weigh
 * nothing. */
static void leave_out_blank(run *r)
{
    for (size_t i = 0; i < r->distinct.n; i++)
        if (fre_is_zero_row(r->originals.x + i * r->originals.d, r->originals.d)) {
            r->e.originals -= r->distinct.weight[i];
            r->e.distinct--;
            r->distinct.weight[i] = 0;
        }
}

static fre_status embed(run *r, fre_err *err)
{
    fre_status st = FRE_OK;

    if (r->from_npy) {
        /* malloc'ed and packed from its start on, so aligned */
        r->originals.x = (const float *)(const void *)r->distinct.arena;
    } else {
        st = r->opts->embeddings ? read_embeddings(r, err) : embed_originals(r, err);
        r->originals.x = r->x;
    }
    r->originals.weight = r->distinct.weight;
    r->originals.n = r->distinct.n;
    if (st == FRE_OK)
        leave_out_blank(r);
    if (st == FRE_OK && r->synthetic.place.n > 0)
        st = embed_all(r, &r->synthetic_x, NULL, &r->synthetic, synthetic_at, r->synthetic.place.n,
                       err);
    return st;
}

/* ---- scores -------------------------------------------------------------------------------- */

static fre_status find_frequent(run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    fre_status st;

    r->is_frequent = calloc(r->originals.n + 1, sizeof *r->is_frequent);
    if (!r->is_frequent)
        return no_memory(err);
    st = fre_evaluate_frequent(r->is_frequent, &r->originals, r->e.radius, r->e.threshold,
                               o->threads, o->progress);
    for (size_t i = 0; st == FRE_OK && i < r->originals.n; i++)
        if (r->is_frequent[i]) {
            r->e.frequent_distinct++;
            r->e.frequent += r->originals.weight[i];
        }
    return st == FRE_OK ? st : with_text(err, st);
}

static fre_status score_cells(run *r, fre_err *err)
{
    const fre_status st = evaluate_release_cells(&r->e, &r->release, &r->originals,
                                                 r->opts->threads);

    return st == FRE_OK ? st : with_text(err, st);
}

/* The texts alone, then with their paraphrases, which stand behind them. */
static fre_status score_texts(run *r, double reach, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    const evaluate_synthetic *s = &r->synthetic;
    fre_status st = fre_evaluate_level(&r->e.text, r->synthetic_x, s->n_texts, &r->originals,
                                       r->is_frequent, reach, o->threads, o->progress);

    r->e.has_text = st == FRE_OK;
    if (st == FRE_OK && s->place.n > s->n_texts) {
        st = fre_evaluate_level(&r->e.paraphrased, r->synthetic_x, s->place.n, &r->originals,
                                r->is_frequent, reach, o->threads, o->progress);
        r->e.has_paraphrased = st == FRE_OK;
    }
    if (st == FRE_OK && !r->from_npy) {
        st = evaluate_exact(&r->e, s, &r->distinct, r->is_frequent);
        r->e.has_exact = st == FRE_OK;
    }
    return st == FRE_OK ? st : with_text(err, st);
}

static fre_status score(run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    double reach = r->e.alpha * r->e.radius;
    fre_status st = find_frequent(r, err);

    /* No text at all in a release with cells: it was made without an inverter. */
    if (st == FRE_OK && (r->synthetic.place.n > 0 || r->synthetic.lines == 0))
        st = score_texts(r, reach, err);
    if (st == FRE_OK && r->has_release) {
        st = fre_evaluate_level(&r->e.centroid, r->release.centroid, r->release.n, &r->originals,
                                r->is_frequent, reach, o->threads, o->progress);
        r->e.has_centroid = st == FRE_OK;
        st = st == FRE_OK ? score_cells(r, err) : with_text(err, st);
    }
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static fre_status load(run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    const char *folder = o->release                         ? o->release
                         : evaluate_is_folder(o->synthetic) ? o->synthetic
                                                            : NULL;
    fre_input *in = NULL;
    fre_status st = folder ? fre_release_read(&r->release, folder, err) : FRE_OK;

    r->has_release = folder && st == FRE_OK;
    if (st == FRE_OK)
        st = folder == o->synthetic ? evaluate_synthetic_of(&r->synthetic, &r->release, err)
                                    : evaluate_synthetic_load(&r->synthetic, o->synthetic, err);
    if (st != FRE_OK)
        return st;
    r->e.synthetic = r->synthetic.n_texts;
    r->e.paraphrases = r->synthetic.place.n - r->synthetic.n_texts;
    r->e.centroids = r->release.n;
    r->e.alpha = o->alpha;
    r->e.release_radius = r->release.radius;
    r->e.release_threshold = r->release.threshold;
    r->e.radius = r->has_release ? r->release.radius : fre_param_radius.preset;
    r->e.threshold = r->has_release ? r->release.threshold : (uint64_t)fre_param_threshold.preset;
    if (o->radius > 0.0)
        r->e.radius = o->radius;
    if (o->threshold > 0)
        r->e.threshold = o->threshold;
    st = fre_input_open(&in, o->original, false, err);
    if (st != FRE_OK)
        return st;
    r->from_npy = fre_input_is_npy(in, &o->corpus);
    if (r->from_npy && o->embeddings)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings already: leave out {embeddings}");
    else
        st = evaluate_distinct_init(&r->distinct, r->from_npy);
    if (st == FRE_OK)
        st = r->from_npy ? read_rows(r, in, err) : read_texts(r, in, err);
    else
        fre_input_free(in);
    r->e.distinct = r->distinct.n;
    if (st == FRE_OK && r->distinct.n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "%s holds no text", o->original);
    return st;
}

static fre_status check_options(const fre_evaluate_opts *o, fre_err *err)
{
    const fre_param_value given[] = {
        {&fre_param_radius, o->radius},
        {&fre_param_threshold, (double)o->threshold},
    };
    const fre_param_value always[] = {
        {&fre_param_threads, o->threads},
        {&fre_evaluate_param_alpha, o->alpha},
    };
    fre_status st = fre_param_check_given(given, sizeof given / sizeof *given, err);

    return st == FRE_OK ? fre_param_check_all(always, sizeof always / sizeof *always, err) : st;
}

fre_status fre_evaluate_files(fre_evaluation *out, const fre_evaluate_opts *opts, fre_err *err)
{
    run r = {.opts = opts};
    int64_t start, embedded;
    fre_status st;

    if (!out || !opts || !opts->synthetic || !opts->original)
        return fre_fail(err, FRE_E_ARG, "an evaluation needs synthetic texts and originals");
    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    r.e.exact_any = r.e.exact_any_folded = (double)NAN;
    r.e.exact_frequent = r.e.exact_frequent_folded = (double)NAN;
    st = load(&r, err);
    start = fre_clock_ms();
    if (st != FRE_OK || (st = open_embedder(&r, err)) != FRE_OK || (st = embed(&r, err)) != FRE_OK)
        goto out;
    embedded = fre_clock_ms();
    st = score(&r, err);
    r.e.seconds_embedding = (double)(embedded - start) / 1000.0;
    r.e.seconds_scoring = (double)(fre_clock_ms() - embedded) / 1000.0;
    if (st == FRE_OK)
        *out = r.e;
out:
    if (r.x)
        fre_wipe(r.x, r.originals.n * r.originals.d * sizeof *r.x);
    free(r.x);
    free(r.first);
    free(r.synthetic_x);
    free(r.is_frequent);
    fre_embedder_free(r.embedder);
    evaluate_distinct_wipe(&r.distinct);
    evaluate_synthetic_wipe(&r.synthetic);
    fre_release_wipe(&r.release);
    return st;
}
