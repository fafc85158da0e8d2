/* A chunk of texts at a time: ask for candidates, embed them all at once, keep, score, choose. */
#include "paraphrase_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 16u

static fre_status check_options(const fre_paraphraser_opts *o, fre_err *err)
{
    const fre_param_value given[] = {
        {&fre_paraphrase_param_temperature, o->temperature},
        {&fre_paraphrase_param_distance, o->distance},
    };
    fre_status st = fre_param_check(&fre_paraphrase_param_paraphrases, o->paraphrases, err);

    return st == FRE_OK ? fre_param_check_given(given, sizeof given / sizeof *given, err) : st;
}

fre_status fre_paraphraser_new(fre_paraphraser **out, const fre_paraphraser_opts *opts,
                               fre_err *err)
{
    fre_paraphraser *p;
    fre_status st;

    if (!opts->embedder || (!opts->lm && !opts->inverter))
        return fre_fail(err, FRE_E_ARG,
                        "paraphrases need an embedder, and a language model or an inverter");
    st = check_options(opts, err);
    if (st != FRE_OK)
        return st;
    p = calloc(1, sizeof *p);
    if (!p)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for paraphrases");
    p->o = *opts;
    if (!(p->o.temperature > 0))
        p->o.temperature = fre_paraphrase_param_temperature.preset;
    if (!(p->o.distance > 0))
        p->o.distance = fre_paraphrase_param_distance.preset;
    p->dim = fre_embedder_info(opts->embedder)->dim;
    st = fre_teller_new(&p->teller, opts->embedder, opts->inverter, err);
    if (st == FRE_OK)
        *out = p;
    else
        fre_paraphraser_free(p);
    return st;
}

void fre_paraphraser_free(fre_paraphraser *p)
{
    if (!p)
        return;
    fre_teller_free(p->teller);
    free(p);
}

/* One chunk at work. */
typedef struct chunk {
    const fre_paraphrase_source *source;
    fre_paraphrases *out;
    para_list list[CHUNK];
    float *x;             /* embeddings of the texts, n x dim */
    size_t n, first, all; /* first: place of source[0] among all */
    const fre_progress *progress;
} chunk;

static bool is_varied(const chunk *k, size_t i)
{
    return k->source[i].len <= FRE_PARAPHRASE_TEXT_MAX && k->list[i].folded[0];
}

/* Embeddings of the texts, and how they look without case and marks. */
static fre_status begin(fre_paraphraser *p, chunk *k, fre_err *err)
{
    const char *text[CHUNK];
    size_t len[CHUNK];
    fre_status st = FRE_OK;

    k->x = malloc(k->n * p->dim * sizeof *k->x);
    if (!k->x)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < k->n && st == FRE_OK; i++) {
        text[i] = k->source[i].text;
        len[i] = k->source[i].len;
        st = fre_fold_words(&k->list[i].folded, text[i], len[i]);
        if (st == FRE_E_DATA)
            return fre_fail(err, st, "text %zu is not valid UTF-8", k->first + i + 1);
        k->list[i].teller = p->teller;
        k->list[i].source = strndup(text[i], len[i]);
        if (!k->list[i].source)
            return FRE_E_NOMEM;
    }
    return st == FRE_OK ? fre_embed_texts(p->o.embedder, k->x, text, len, k->n, err) : st;
}

static fre_status ask(fre_paraphraser *p, chunk *k, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < k->n && st == FRE_OK; i++) {
        if (!is_varied(k, i))
            continue;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        fre_progress_update(k->progress, "paraphrase", k->first + i, k->all);
        if (p->o.inverter)
            st = para_ask_decoder(p, &k->list[i], &k->source[i], k->x + i * p->dim, err);
        if (st == FRE_OK && p->o.lm)
            st = para_ask_lm(p, &k->list[i], &k->source[i], err);
    }
    return st;
}

static size_t count(const chunk *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++)
        n += k->list[i].n;
    return n;
}

/* All candidates of the chunk, one list after another. */
static void gather(const chunk *k, const char **text, size_t *len)
{
    size_t at = 0;

    for (size_t i = 0; i < k->n; i++)
        for (size_t c = 0; c < k->list[i].n; c++) {
            text[at] = k->list[i].c[c].text;
            len[at++] = strlen(k->list[i].c[c].text);
        }
}

static fre_status keep_near(fre_paraphraser *p, chunk *k, fre_err *err)
{
    const size_t most = p->o.lm ? (size_t)p->o.paraphrases * PARA_SCORED : SIZE_MAX;
    const size_t total = count(k);
    const char **text = calloc(total + 1, sizeof *text);
    size_t *len = calloc(total + 1, sizeof *len), at = 0;
    float *x = calloc(total * p->dim + 1, sizeof *x);
    fre_status st = text && len && x ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        gather(k, text, len);
        st = fre_embed_texts(p->o.embedder, x, text, len, total, err);
    }
    for (size_t i = 0; i < k->n && st == FRE_OK; i++) {
        const float *own = k->x + i * p->dim;
        const para_place place = {.text = own,
                                  .centroid = k->source[i].centroid ? k->source[i].centroid : own,
                                  .noise_std = k->source[i].noise_std,
                                  .distance = p->o.distance,
                                  .dim = p->dim};

        k->out[i].distinct = k->list[i].n;
        para_measure(&k->list[i], x + at * p->dim, &place);
        at += k->list[i].n;
        para_keep_near(&k->list[i], &k->out[i].near, most);
    }
    free((void *)text);
    free(len);
    free(x);
    return st;
}

static fre_status ask_how_likely(fre_paraphraser *p, chunk *k, fre_err *err)
{
    const size_t total = count(k);
    const char **text = calloc(total + 1, sizeof *text);
    size_t *len = calloc(total + 1, sizeof *len), at = 0;
    fre_lm_score *score = calloc(total + 1, sizeof *score);
    fre_status st = text && len && score ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK) {
        gather(k, text, len);
        st = fre_lm_score_texts(p->o.lm, score, text, len, total, NULL, err);
    }
    for (size_t i = 0; i < k->n && st == FRE_OK; i++)
        for (size_t c = 0; c < k->list[i].n; c++)
            k->list[i].c[c].logp = score[at++].logp;
    free((void *)text);
    free(len);
    free(score);
    return st;
}

static fre_status one_chunk(fre_paraphraser *p, chunk *k, fre_err *err)
{
    fre_status st = begin(p, k, err);

    if (st == FRE_OK)
        st = ask(p, k, err);
    if (st == FRE_OK)
        st = keep_near(p, k, err);
    if (st == FRE_OK && p->o.lm)
        st = ask_how_likely(p, k, err);
    for (size_t i = 0; i < k->n && st == FRE_OK; i++) {
        para_score(&k->list[i], k->source[i].noise_std);
        st = para_choose(&k->out[i], &k->list[i], p->o.paraphrases);
    }
    for (size_t i = 0; i < k->n; i++)
        para_list_wipe(&k->list[i]);
    free(k->x);
    return st;
}

fre_status para_check_source(const fre_paraphrase_source *s, size_t dim, size_t number,
                             fre_err *err)
{
    if (s->centroid && !fre_is_finite_row(s->centroid, dim))
        return fre_fail(err, FRE_E_DATA, "centroid %zu holds a NaN or an infinity", number);
    if (!(s->noise_std >= 0) || !isfinite(s->noise_std))
        return fre_fail(err, FRE_E_DATA, "the noise of centroid %zu is negative or not finite",
                        number);
    return FRE_OK;
}

fre_status fre_paraphrase_texts(fre_paraphraser *p, fre_paraphrases *out,
                                const fre_paraphrase_source *source, size_t n,
                                const fre_progress *progress, fre_err *err)
{
    fre_paraphrases *made = NULL;
    fre_status st = FRE_OK;

    for (size_t i = 0; i < n && st == FRE_OK; i++)
        st = para_check_source(&source[i], p->dim, i + 1, err);
    if (st != FRE_OK || n == 0)
        return st;
    made = calloc(n, sizeof *made);
    if (!made)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for paraphrases");
    for (size_t at = 0; at < n && st == FRE_OK; at += CHUNK) {
        chunk k = {.source = source + at,
                   .out = made + at,
                   .first = at,
                   .all = n,
                   .n = n - at < CHUNK ? n - at : CHUNK,
                   .progress = progress};

        st = fre_interrupted() ? FRE_E_INTERRUPTED : one_chunk(p, &k, err);
    }
    if (st == FRE_OK) {
        fre_progress_update(progress, "paraphrase", n, n);
        memcpy(out, made, n * sizeof *out);
    } else {
        for (size_t i = 0; i < n; i++)
            fre_paraphrases_wipe(&made[i]);
    }
    free(made);
    if (st == FRE_E_NOMEM || st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "%s",
                        st == FRE_E_NOMEM ? "out of memory for paraphrases" : "interrupted");
    return st;
}
