/* open.c - the inverter: its parts opened, made to fit each other, tried, and closed. */
#include "invert_private.h"

#include "public_corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define PATH_LEN 4096u
#define USUAL_SPREAD 0.93 /* of short texts under the bundled embedder */
#define LEAST_SPREAD 0.02 /* of hardly any texts: it says nothing */

/* The projector lies beside the decoder. */
static fre_status projector_path(char out[PATH_LEN], const char *decoder, fre_err *err)
{
    const char *slash = strrchr(decoder, '/');
    int dir = slash ? (int)(slash - decoder) + 1 : 0;
    int n = snprintf(out, PATH_LEN, "%.*s%s", dir, decoder, FRE_INVERTER_PROJECTOR);

    return n < 0 || (size_t)n >= PATH_LEN ? fre_fail(err, FRE_E_NOINPUT, "inverter: path too long")
                                          : FRE_OK;
}

static fre_status open_parts(fre_inverter *v, const char *path, fre_err *err)
{
    char decoder[PATH_LEN], projector[PATH_LEN];
    fre_status st;

    if (path) {
        if (strlen(path) >= sizeof decoder)
            return fre_fail(err, FRE_E_NOINPUT, "inverter: path too long");
        memcpy(decoder, path, strlen(path) + 1);
    } else {
        st = fre_model_find(decoder, sizeof decoder, FRE_INVERTER_DEFAULT, err);
        if (st != FRE_OK)
            return st;
    }
    st = fre_model_open(&v->decoder, decoder, FRE_MODEL_DECODER, err);
    if (st == FRE_OK)
        st = projector_path(projector, decoder, err);
    if (st == FRE_OK)
        st = inv_projector_open(&v->projector, projector, err);
    if (st == FRE_OK)
        st = inv_projector_fit(&v->projector,
                               v->bridge ? fre_bridge_info_view(v->bridge)->to.dim : v->dim,
                               fre_model_info_view(v->decoder), v->prior, err);
    return st;
}

/* Tokens whose piece begins with a space. */
static fre_status find_word_starts(fre_inverter *v)
{
    const uint32_t vocab = fre_model_info_view(v->decoder)->vocab;
    fre_buf b;
    fre_status st = FRE_OK;

    v->starts = calloc(vocab, 1);
    if (!v->starts)
        return FRE_E_NOMEM;
    fre_buf_init(&b, INV_TEXT_MAX);
    for (uint32_t i = 0; i < vocab && st == FRE_OK; i++) {
        const int32_t id = (int32_t)i;

        b.n = 0;
        st = fre_model_detokenize(v->decoder, &b, &id, 1);
        v->starts[i] = b.n > 0 && b.p[0] == ' ';
    }
    fre_buf_wipe(&b);
    return st;
}

static fre_status check_options(const fre_inverter_opts *o, fre_err *err)
{
    const fre_param_value given[] = {
        {&fre_inverter_param_samples, o->samples},
        {&fre_inverter_param_temperature, o->temperature},
        {&fre_search_param_effort, o->search.effort},
        {&fre_search_param_language_weight, o->search.lm_weight},
    };
    fre_status st = fre_param_check(&fre_param_threads, o->threads, err);

    return st == FRE_OK ? fre_param_check_given(given, sizeof given / sizeof *given, err) : st;
}

static bool search_alone(const fre_inverter_opts *o)
{
    return o->path && strcmp(o->path, FRE_INVERTER_SEARCH) == 0;
}

static void copy_options(fre_inverter *v, const fre_inverter_opts *o)
{
    v->dim = fre_embedder_info(v->embedder)->dim;
    v->threads = o->threads;
    v->seed = o->seed;
    v->effort = o->search.effort > 0 ? o->search.effort : (uint32_t)fre_search_param_effort.preset;
    v->tuning = inv_tuning_of(v->effort, search_alone(o));
    if (o->samples > 0)
        v->tuning.samples = o->samples;
    if (o->temperature > 0)
        v->tuning.temperature = o->temperature;
    if (o->search.lm_weight > 0)
        v->tuning.lm_weight = o->search.lm_weight;
}

/* The bundled decoder has one, any other may. */
static fre_status open_vocabulary(fre_inverter *v, const char *decoder, fre_err *err)
{
    char found[PATH_LEN];
    const char *path = found;

    if (!decoder) {
        fre_status st = fre_model_find(found, sizeof found, FRE_VOCABULARY_DEFAULT, err);

        if (st != FRE_OK)
            return st;
    } else {
        path = fre_model_companion(found, sizeof found, NULL, decoder, "vocabulary");
    }
    return path ? inv_vocabulary_open(&v->vocabulary, path, err) : FRE_OK;
}

static fre_status open_trained(fre_inverter *v, const char *path, fre_err *err)
{
    fre_status st = open_parts(v, path, err);

    if (st == FRE_OK)
        st = open_vocabulary(v, path, err);
    if (st == FRE_OK)
        st = find_word_starts(v);
    if (st != FRE_OK)
        return st;
    v->drawer = calloc(v->threads, sizeof *v->drawer);
    if (!v->drawer)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < v->threads && st == FRE_OK; i++)
        st = inv_drawer_init(&v->drawer[i], v->decoder, &v->projector, INV_BATCH, err);
    return st == FRE_OK ? inv_check_works(v, err) : st;
}

static bool names_model(const fre_inverter_opts *o)
{
    return o->search.language_model && strcmp(o->search.language_model, "none") != 0;
}

static fre_status open_language_model(fre_inverter *v, const char *name, fre_err *err)
{
    const fre_lm_opts o = {.path = strcmp(name, "default") == 0 ? NULL : name,
                           .threads = v->threads,
                           .parts = FRE_LM_WHOLE};

    return fre_lm_open(&v->lm, &o, err);
}

/* Another embedder may put all texts into a narrow cone: distances count against its own spread. */
static void fit_spread(fre_inverter *v, double spread)
{
    v->tuning.spread = fmax(spread / USUAL_SPREAD, LEAST_SPREAD);
    v->tuning.std_floor *= sqrt(v->tuning.spread);
}

static fre_status fit_spread_of_index(fre_inverter *v)
{
    double spread = 0;
    fre_status st = inv_rows_spread(&v->index->texts, &spread);

    if (st == FRE_OK)
        fit_spread(v, spread);
    return st;
}

/* The prior of the embedder that a bridge leads to, which is known by its hash alone. */
static fre_status open_prior_beyond(fre_inverter *v, const char *path, fre_err *err)
{
    const fre_bridge_end *to = &fre_bridge_info_view(v->bridge)->to;
    fre_model_info own = {.dim = to->dim};
    char found[PATH_LEN];
    fre_status st;

    if (!fre_unhex(own.sha256, sizeof own.sha256, to->hash))
        return FRE_E_INTERNAL; /* it was checked when the bridge was opened */
    if (path || fre_model_find(found, sizeof found, FRE_PRIOR_DEFAULT, NULL) != FRE_OK)
        return fre_prior_open_for(&v->prior, path, NULL, &own, err);
    st = fre_prior_open(&v->prior, found, err);
    if (st != FRE_OK || strcmp(fre_prior_info_view(v->prior)->embedder_hash, to->hash) == 0)
        return st;
    return fre_fail(err, FRE_E_MODEL,
                    "the bridge does not lead to the embedder of the bundled inverter but to %.60s "
                    "(SHA-256 %.12s...); make one without {to}, give {bridge} none, or name the "
                    "{inverter} made for that one, and its {prior}",
                    to->embedder, to->hash);
}

static fre_status open_statistics(fre_inverter *v, const fre_inverter_opts *o, fre_err *err)
{
    const fre_model_info *info = fre_embedder_info(v->embedder);
    const char *path = fre_embedder_path(v->embedder);
    fre_status st = FRE_OK;

    if (!search_alone(o))
        st = fre_bridge_open_for(&v->bridge, o->search.bridge, path, info, err);
    if (st != FRE_OK)
        return st;
    if (!v->bridge)
        return fre_prior_open_for(&v->prior, o->search.prior, path, info, err);
    fit_spread(v, fre_bridge_info_view(v->bridge)->spread);
    v->tuning.correct_rounds = 0; /* a corrector compares embeddings of the embedder beyond */
    return open_prior_beyond(v, o->search.prior, err);
}

/* None of these is in a vocabulary that was made for a language; what has all of Unicode has no such
 * word. */
static fre_status find_unknown(fre_inverter *v)
{
    static const char *const word[] = {"\U0001F680", "\U00013080", "\uA9B2"};
    fre_status st = FRE_OK;

    for (size_t i = 0; i < sizeof word / sizeof *word && st == FRE_OK && !v->unknown[0]; i++) {
        size_t unknown = 0;
        fre_buf b;

        fre_buf_init(&b, sizeof v->unknown);
        st = fre_embedder_mark_unknown(v->embedder, &b, &unknown, word[i], strlen(word[i]), ' ');
        if (st == FRE_OK && unknown > 0)
            memcpy(v->unknown, word[i], strlen(word[i]) + 1);
        fre_buf_wipe(&b);
    }
    return st;
}

static fre_status check_search(const fre_inverter_opts *o, fre_err *err)
{
    if (search_alone(o) && !o->search.public_corpus && !names_model(o))
        return fre_fail(err, FRE_E_USAGE,
                        "{inverter} search needs {public_corpus} FILE, texts that anyone may see, "
                        "or {language_model} FILE, which then writes some, to start from");
    if (search_alone(o) && o->search.bridge && strcmp(o->search.bridge, "none") != 0)
        return fre_fail(err, FRE_E_USAGE,
                        "{bridge} leads to a trained inverter, which {inverter} search does "
                        "without: leave out one of them");
    return FRE_OK;
}

static fre_status open_public_corpus(fre_inverter *v, const fre_inverter_opts *o, fre_err *err)
{
    if (!o->search.public_corpus)
        return FRE_OK;
    v->corpus_path = strdup(o->search.public_corpus);
    return v->corpus_path
               ? inv_corpus_open(&v->corpus, v->corpus_path, o->search.public_text_field, err)
               : FRE_E_NOMEM;
}

static fre_status open_all(fre_inverter *v, const fre_inverter_opts *o, fre_err *err)
{
    fre_status st = check_search(o, err);

    if (st != FRE_OK)
        return st;
    st = open_statistics(v, o, err);
    if (st != FRE_OK)
        return st;
    st = find_unknown(v);
    if (st != FRE_OK)
        return st;
    if (!search_alone(o))
        st = open_trained(v, o->path, err);
    if (st != FRE_OK)
        return st;
    if (names_model(o))
        st = open_language_model(v, o->search.language_model, err);
    if (st != FRE_OK)
        return st;
    st = open_public_corpus(v, o, err);
    return st == FRE_OK && !o->corpus_later ? fre_inverter_open_corpus(v, o, err) : st;
}

static fre_status index_corpus(fre_inverter *v, const fre_inverter_opts *o, fre_err *err)
{
    const fre_bytes none = {NULL, 0};
    fre_status st = FRE_OK;

    if (v->corpus)
        st = fre_input_sha256(v->corpus_sha256, fre_corpus_input(v->corpus), none, err);
    if (st == FRE_OK)
        st = inv_index_open(&v->index, v->corpus, v->corpus_path, v->lm, v->embedder, o->progress,
                            err);
    v->has_corpus = st == FRE_OK && v->corpus;
    if (!o->corpus_later) { /* nobody compares it with anything */
        fre_corpus_free(v->corpus);
        v->corpus = NULL;
    }
    return st;
}

fre_status fre_inverter_open_corpus(fre_inverter *v, const fre_inverter_opts *o, fre_err *err)
{
    fre_status st = search_alone(o) || v->corpus ? index_corpus(v, o, err) : FRE_OK;

    if (st == FRE_OK && search_alone(o))
        st = fit_spread_of_index(v);
    if (st == FRE_OK)
        st = inv_open_telling(v, err);
    return st == FRE_OK ? inv_open_languages(v, err) : st;
}

fre_status fre_inverter_new(fre_inverter **out, fre_embedder *embedder,
                            const fre_inverter_opts *opts, fre_err *err)
{
    fre_inverter *v = NULL;
    fre_status st;

    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    v = calloc(1, sizeof *v);
    if (!v)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening the inverter");
    v->embedder = embedder;
    copy_options(v, opts);
    st = open_all(v, opts, err);
    v->trace = opts->trace; /* from here on: opening searches, too */
    v->trace_ctx = opts->trace_ctx;
    if (st == FRE_OK)
        *out = v;
    else
        fre_inverter_free(v);
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory opening the inverter") : st;
}

void fre_inverter_free(fre_inverter *v)
{
    if (!v)
        return;
    for (uint32_t i = 0; v->drawer && i < v->threads; i++)
        inv_drawer_wipe(&v->drawer[i]);
    free(v->drawer);
    free(v->starts);
    inv_projector_wipe(&v->projector);
    fre_languages_free(v->languages); /* borrows a prior */
    fre_prior_free(v->around);
    fre_prior_free(v->prior);
    fre_bridge_free(v->bridge);
    fre_model_free(v->decoder);
    inv_vocabulary_free(v->vocabulary);
    inv_vocabulary_free(v->lent);
    inv_index_free(v->index);
    fre_corpus_free(v->corpus);
    free(v->corpus_path);
    fre_lm_free(v->lm);
    free(v);
}

fre_inverter_parts fre_inverter_parts_of(const fre_inverter *v)
{
    fre_inverter_parts p = {0};

    if (!v)
        return p;
    p.effort = v->effort;
    if (v->decoder) {
        p.decoder = fre_model_info_view(v->decoder)->sha256;
        p.projector = fre_tensors_sha256(v->projector.tensors);
    }
    if (v->prior) {
        p.prior_info = fre_prior_info_view(v->prior);
        p.prior = p.prior_info->sha256;
    }
    if (v->bridge) {
        p.bridge_info = fre_bridge_info_view(v->bridge);
        p.bridge = p.bridge_info->sha256;
    }
    if (v->vocabulary)
        p.vocabulary = inv_vocabulary_sha256(v->vocabulary);
    if (v->lm)
        p.language_model = fre_lm_info(v->lm)->sha256;
    if (v->has_corpus)
        p.public_corpus = v->corpus_sha256;
    return p;
}

fre_lm *fre_inverter_lm(const fre_inverter *v)
{
    return v->lm;
}
