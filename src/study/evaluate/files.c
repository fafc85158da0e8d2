/* evaluate from files: read, embed, score. */
#include "evaluate_private.h"

#include <fre/privacy.h>

#include <stdlib.h>

void fre_evaluate_opts_init(fre_evaluate_opts *o)
{
    *o = (fre_evaluate_opts){.alpha = fre_evaluate_param_alpha.preset, .threads = 1};
}

/* ---- scores -------------------------------------------------------------------------------- */

static fre_status find_frequent(evaluate_run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    fre_status st;

    r->is_frequent = calloc(r->originals.n + 1, sizeof *r->is_frequent);
    if (!r->is_frequent)
        return evaluate_no_memory(err);
    st = fre_evaluate_frequent(r->is_frequent, &r->originals, r->e.radius, r->e.threshold,
                               o->threads, o->progress);
    for (size_t i = 0; st == FRE_OK && i < r->originals.n; i++)
        if (r->is_frequent[i]) {
            r->e.frequent_distinct++;
            r->e.frequent += r->originals.weight[i];
        }
    return st == FRE_OK ? st : evaluate_with_text(err, st);
}

static fre_status score_cells(evaluate_run *r, fre_err *err)
{
    const fre_status st = evaluate_release_cells(&r->e, &r->release, &r->originals,
                                                 r->opts->threads);

    return st == FRE_OK ? st : evaluate_with_text(err, st);
}

/* The texts alone, then with their paraphrases, which stand behind them. */
static fre_status score_texts(evaluate_run *r, double reach, fre_err *err)
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
        r->exact = calloc(s->n_texts + 1, sizeof *r->exact);
        st = r->exact ? evaluate_exact_marks(r->exact, s, &r->distinct, r->is_frequent)
                      : FRE_E_NOMEM;
        r->e.has_exact = st == FRE_OK;
        if (st == FRE_OK)
            r->e.exact = evaluate_exact_shares(r->exact, s->n_texts);
    }
    return st == FRE_OK ? st : evaluate_with_text(err, st);
}

static fre_status score(evaluate_run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    double reach = r->e.alpha * r->e.radius;
    fre_status st;

    if (o->levels_only)
        return r->has_release ? evaluate_levels(r, err) : FRE_OK;
    st = find_frequent(r, err);

    /* No text at all in a release with cells: it was made without an inverter. */
    if (st == FRE_OK && (r->synthetic.place.n > 0 || r->synthetic.lines == 0))
        st = score_texts(r, reach, err);
    if (st == FRE_OK && r->has_release) {
        st = fre_evaluate_level(&r->e.centroid, r->release.centroid, r->release.n, &r->originals,
                                r->is_frequent, reach, o->threads, o->progress);
        r->e.has_centroid = st == FRE_OK;
        st = st == FRE_OK ? score_cells(r, err) : evaluate_with_text(err, st);
        if (st == FRE_OK)
            st = evaluate_levels(r, err);
    }
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static fre_status load(evaluate_run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    const char *folder = o->release                         ? o->release
                         : evaluate_is_folder(o->synthetic) ? o->synthetic
                                                            : NULL;
    fre_status st = folder ? fre_release_read(&r->release, folder, err) : FRE_OK;

    r->has_release = folder && st == FRE_OK;
    r->of_release = folder && folder == o->synthetic;
    if (st == FRE_OK)
        st = r->of_release ? evaluate_synthetic_of(&r->synthetic, &r->release, err)
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
    return evaluate_read_originals(r, err);
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
    evaluate_run r = {.opts = opts};
    int64_t start, embedded;
    fre_status st;

    if (!out || !opts || !opts->synthetic || !opts->original)
        return fre_fail(err, FRE_E_ARG, "an evaluation needs synthetic texts and originals");
    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    r.e.exact = evaluate_exact_shares(NULL, 0);
    st = load(&r, err);
    start = fre_clock_ms();
    if (st != FRE_OK || (st = evaluate_open_models(&r, err)) != FRE_OK ||
        (st = evaluate_embed(&r, err)) != FRE_OK)
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
    free(r.exact);
    fre_codebook_free(r.codebook);
    evaluate_labels_wipe(&r.labels);
    fre_embedder_free(r.embedder);
    evaluate_distinct_wipe(&r.distinct);
    evaluate_synthetic_wipe(&r.synthetic);
    fre_release_wipe(&r.release);
    return st;
}
