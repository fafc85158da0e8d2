/* evaluate from files: read, embed, score. */
#include "evaluate_private.h"

#include <fre/privacy.h>

#include <stdlib.h>
#include <string.h>

/* Of each reference where nothing was released. */
#define REFERENCE_SIZE 1000u

void fre_evaluate_opts_init(fre_evaluate_opts *o)
{
    *o = (fre_evaluate_opts){.alpha = fre_evaluate_param_alpha.preset, .threads = 1};
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
}

/* ---- what a release is set beside ------------------------------------------------------------ */

static fre_status find_frequent(evaluate_base *b, fre_err *err)
{
    const fre_evaluate_opts *o = b->opts;
    const size_t n = b->originals.n;
    fre_status st;

    b->is_frequent = calloc(n + 1, sizeof *b->is_frequent);
    b->neighbours = calloc(n + 1, sizeof *b->neighbours);
    if (!b->is_frequent || !b->neighbours)
        return evaluate_no_memory(err);
    st =
        fre_evaluate_neighbours(b->neighbours, &b->originals, b->e.radius, o->threads, o->progress);
    if (st != FRE_OK)
        return evaluate_with_text(err, st);
    for (size_t i = 0; i < n; i++) {
        b->is_frequent[i] = b->neighbours[i] >= b->e.threshold;
        b->e.frequent_distinct += b->is_frequent[i] && b->originals.weight[i] > 0;
        b->e.frequent += b->is_frequent[i] ? b->originals.weight[i] : 0;
    }
    evaluate_count_groups(b);
    return FRE_OK;
}

/* Members of each reference: as many as the release has texts, or else centroids. */
static size_t reference_size(const evaluate_run *r)
{
    return r->synthetic.n_texts > 0 ? r->synthetic.n_texts
           : r->release.n > 0       ? r->release.n
                                    : REFERENCE_SIZE;
}

/* ---- one evaluation ---------------------------------------------------------------------------- */

static fre_status set_texts(evaluate_set *s, const evaluate_run *r, size_t n)
{
    s->text = malloc((n + 1) * sizeof *s->text);
    s->len = malloc((n + 1) * sizeof *s->len);
    if (!s->text || !s->len)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        s->text[i] = evaluate_synthetic_text(&r->synthetic, i);
        s->len[i] = r->synthetic.place.len[i];
    }
    s->x = r->synthetic_x;
    s->n = n;
    return FRE_OK;
}

/* Which sets are there.  No text at all in a release with cells: it was made without an inverter. */
static void find_which(evaluate_run *r)
{
    const evaluate_synthetic *s = &r->synthetic;
    bool *has = r->e->has;

    has[FRE_SET_TEXT] = s->place.n > 0 || s->lines == 0;
    has[FRE_SET_PARAPHRASED] = s->place.n > s->n_texts;
    has[FRE_SET_CENTROID] = r->has_release;
    has[FRE_SET_UNRELATED] = r->base->reference.set.n > 0;
    has[FRE_SET_HALVES] = r->halves.any.n > 0;
}

/* r->set, as far as the sets are there. */
static fre_status find_sets(evaluate_run *r)
{
    const size_t size = reference_size(r);
    const evaluate_half *half;
    fre_status st = evaluate_halves_draw(&r->halves, r->base, size, 0);

    if (st != FRE_OK)
        return st;
    find_which(r);
    r->e->reference_size = size;
    r->set[FRE_SET_CENTROID] = (evaluate_set){.x = r->release.centroid, .n = r->release.n};
    r->set[FRE_SET_UNRELATED] = r->base->reference.set;
    if (r->set[FRE_SET_UNRELATED].n > size)
        r->set[FRE_SET_UNRELATED].n = size;
    half = r->halves.frequent.n > 0 ? &r->halves.frequent : &r->halves.any;
    st = evaluate_set_of_originals(&r->set[FRE_SET_HALVES], r->base, half->row, half->n);
    if (st == FRE_OK)
        st = set_texts(&r->set[FRE_SET_TEXT], r, r->synthetic.n_texts);
    if (st == FRE_OK)
        st = set_texts(&r->set[FRE_SET_PARAPHRASED], r, r->synthetic.place.n);
    return st;
}

/* A set beside some originals. */
static fre_status place_beside(fre_set_place *out, const evaluate_base *b, const evaluate_set *s,
                               const fre_originals *o)
{
    evaluate_near near;
    fre_status st =
        evaluate_near_find(&near, (fre_rows){s->x, s->n}, o, b->is_frequent, b->opts->threads);

    if (st != FRE_OK)
        return st;
    st = evaluate_place_find(out, &near, b, o);
    evaluate_near_wipe(&near);
    return st;
}

/* The frequent ones of one half beside the other, and any of them for what concerns all. */
static fre_status place_halves(evaluate_run *r)
{
    const evaluate_base *b = r->base;
    const fre_originals other = {b->originals.x, r->halves.other, b->originals.n, b->originals.d};
    fre_set_place *p = &r->e->place[FRE_SET_HALVES], any;
    evaluate_set s = {.n = 0};
    fre_status st = place_beside(p, b, &r->set[FRE_SET_HALVES], &other);

    if (st == FRE_OK)
        st = evaluate_set_of_originals(&s, b, r->halves.any.row, r->halves.any.n);
    if (st == FRE_OK)
        st = place_beside(&any, b, &s, &other);
    evaluate_set_free(&s);
    if (st != FRE_OK)
        return st;
    p->scores.all = any.scores.all;
    p->all_curve = any.all_curve;
    return FRE_OK;
}

static fre_status place_all(evaluate_run *r)
{
    fre_status st = find_sets(r);

    for (int at = 0; st == FRE_OK && at < FRE_SETS; at++) {
        fre_progress_update(r->base->opts->progress, "scoring", (uint64_t)at, FRE_SETS);
        if (r->e->has[at])
            st = at == FRE_SET_HALVES
                     ? place_halves(r)
                     : place_beside(&r->e->place[at], r->base, &r->set[at], &r->base->originals);
    }
    return st;
}

static fre_status find_exact(evaluate_run *r)
{
    const evaluate_synthetic *s = &r->synthetic;
    fre_status st;

    if (r->base->from_npy || !r->e->has[FRE_SET_TEXT])
        return FRE_OK;
    r->exact = calloc(s->n_texts + 1, sizeof *r->exact);
    st = r->exact ? evaluate_exact_marks(r->exact, &r->set[FRE_SET_TEXT], &r->base->distinct,
                                         r->base->is_frequent, NULL)
                  : FRE_E_NOMEM;
    r->e->has_exact = st == FRE_OK;
    if (st == FRE_OK)
        r->e->exact = evaluate_exact_shares(r->exact, s->n_texts);
    return st;
}

static void begin(evaluate_run *r)
{
    *r->e = r->base->e;
    r->e->name = r->path;
    memcpy(r->e->release_sha256, r->sha256, sizeof r->sha256);
    r->e->exact = evaluate_exact_shares(NULL, 0);
    r->e->synthetic = r->synthetic.n_texts;
    r->e->paraphrases = r->synthetic.place.n - r->synthetic.n_texts;
    r->e->centroids = r->release.n;
    r->e->release_radius = r->release.radius;
    r->e->release_threshold = r->release.threshold;
}

/* Sets beside the originals. */
static fre_status score_rows(evaluate_run *r)
{
    fre_status st = place_all(r);

    if (st == FRE_OK)
        st = evaluate_bound_find(r);
    if (st == FRE_OK)
        st = find_exact(r);
    return st == FRE_OK && r->has_release ? evaluate_release_cells(r) : st;
}

static fre_status score(evaluate_run *r, fre_err *err)
{
    fre_status st;

    begin(r);
    if (r->base->opts->levels_only)
        return r->has_release ? evaluate_levels(r, err) : FRE_OK;
    if (!r->has_release)
        evaluate_leave_out(r->e, "cell", "there is no release's folder: name one, {release}");
    st = score_rows(r);
    if (st != FRE_OK)
        return evaluate_with_text(err, st);
    st = evaluate_texts_find(r, err);
    if (st == FRE_OK)
        st = evaluate_classify(r, err);
    return st == FRE_OK && r->has_release ? evaluate_levels(r, err) : st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static fre_status load_release(evaluate_run *r, fre_err *err)
{
    uint8_t sha[FRE_HASH_BYTES];
    fre_status st = fre_release_read(&r->release, r->folder, err);

    if (st == FRE_OK)
        st = fre_release_sha256(sha, r->folder, err);
    if (st != FRE_OK)
        return st;
    fre_hex(r->sha256, sha, sizeof sha);
    r->has_release = true;
    return FRE_OK;
}

static fre_status load(evaluate_run *r, const evaluate_base *b, size_t i, fre_err *err)
{
    const fre_evaluate_opts *o = b->opts;
    fre_status st = FRE_OK;

    r->path = i == 0 ? o->synthetic : o->against[i - 1];
    r->folder = i == 0 && o->release ? o->release : evaluate_is_folder(r->path) ? r->path : NULL;
    r->of_release = r->folder == r->path;
    if (r->folder)
        st = load_release(r, err);
    if (st == FRE_OK)
        st = r->of_release ? evaluate_synthetic_of(&r->synthetic, &r->release, err)
                           : evaluate_synthetic_load(&r->synthetic, r->path, err);
    return st;
}

/* What counts as near and as frequent: as asked, else as the first release has it. */
static void set_measures(evaluate_base *b, const evaluate_run *first)
{
    const fre_evaluate_opts *o = b->opts;
    const fre_release *r = first->has_release ? &first->release : NULL;

    b->e.alpha = o->alpha;
    b->e.radius = o->radius > 0.0 ? o->radius : r ? r->radius : fre_param_radius.preset;
    b->e.threshold = o->threshold > 0 ? o->threshold
                     : r              ? r->threshold
                                      : (uint64_t)fre_param_threshold.preset;
}

static fre_status check_codebook(const evaluate_base *b, const evaluate_run *run, size_t n,
                                 fre_err *err)
{
    if (!b->opts->codebook)
        return FRE_OK;
    for (size_t i = 0; i < n; i++)
        if (run[i].has_release && evaluate_has_public_cells(&run[i].release))
            return FRE_OK;
    return fre_fail(err, FRE_E_USAGE,
                    "{codebook} is for a release by levels of public cells: leave it out");
}

/* Everything that is embedded, and how near the originals are to each other. */
static fre_status prepare(evaluate_base *b, evaluate_run *run, size_t n, fre_err *err)
{
    const int64_t start = fre_clock_ms();
    size_t size = 0;
    fre_status st = evaluate_open_embedder(b, run, n, err);

    if (st == FRE_OK)
        st = check_codebook(b, run, n, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = evaluate_open_codebook(&run[i], err);
    if (st == FRE_OK)
        st = evaluate_embed_originals(b, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        st = evaluate_embed_synthetic(&run[i], err);
        size = reference_size(&run[i]) > size ? reference_size(&run[i]) : size;
    }
    if (st != FRE_OK || b->opts->levels_only)
        return st;
    st = evaluate_reference_open(b, size, err);
    b->e.seconds_embedding = (double)(fre_clock_ms() - start) / 1000.0;
    return st == FRE_OK ? find_frequent(b, err) : st;
}

static fre_status evaluate(fre_evaluation *out, evaluate_base *b, evaluate_run *run, size_t n,
                           fre_err *err)
{
    fre_status st = FRE_OK;
    int64_t start;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        run[i].base = b;
        run[i].e = &out[i];
        st = load(&run[i], b, i, err);
    }
    if (st != FRE_OK)
        return st;
    set_measures(b, &run[0]);
    st = evaluate_read_originals(b, err);
    start = fre_clock_ms();
    if (st == FRE_OK)
        st = prepare(b, run, n, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        st = score(&run[i], err);
        out[i].seconds_scoring = (double)(fre_clock_ms() - start) / 1000.0 - b->e.seconds_embedding;
    }
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

static void wipe_run(evaluate_run *r)
{
    evaluate_set_free(&r->set[FRE_SET_TEXT]);
    evaluate_set_free(&r->set[FRE_SET_PARAPHRASED]);
    evaluate_set_free(&r->set[FRE_SET_HALVES]);
    evaluate_halves_wipe(&r->halves);
    free(r->synthetic_x);
    free(r->exact);
    fre_codebook_free(r->codebook);
    evaluate_synthetic_wipe(&r->synthetic);
    fre_release_wipe(&r->release);
}

static void wipe_base(evaluate_base *b)
{
    if (b->x)
        fre_wipe(b->x, b->originals.n * b->originals.d * sizeof *b->x);
    free(b->x);
    free(b->first);
    free(b->of_record);
    free(b->neighbours);
    free(b->is_frequent);
    evaluate_reference_wipe(&b->reference);
    evaluate_labels_wipe(&b->labels);
    fre_embedder_free(b->embedder);
    fre_lm_free(b->lm);
    evaluate_distinct_wipe(&b->distinct);
}

fre_status fre_evaluate_files(fre_evaluation *out, const fre_evaluate_opts *opts, fre_err *err)
{
    evaluate_base b = {.opts = opts};
    evaluate_run *run;
    fre_evaluation *e;
    size_t n;
    fre_status st;

    if (!out || !opts || !opts->synthetic || !opts->original)
        return fre_fail(err, FRE_E_ARG, "an evaluation needs synthetic texts and originals");
    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    n = 1 + opts->n_against;
    run = calloc(n, sizeof *run);
    e = calloc(n, sizeof *e);
    st = run && e ? evaluate(e, &b, run, n, err) : evaluate_no_memory(err);
    if (st == FRE_OK)
        memcpy(out, e, n * sizeof *e);
    for (size_t i = 0; run && i < n; i++)
        wipe_run(&run[i]);
    wipe_base(&b);
    free(run);
    free(e);
    return st;
}
