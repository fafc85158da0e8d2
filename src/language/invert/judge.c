/* judge.c - is a point in a language that the inverter does not speak?  Decided from the released point, its
 * noise and public data alone. */
#include "invert_private.h"

#include <stdlib.h>
#include <string.h>

/* English about another language scores as that language does, but is explained by a text: what the
 * noise leaves of the distance is near 0 then, and above .45 for texts in another language. */
#define UNEXPLAINED 0.35

/* ---- opening --------------------------------------------------------------------------------- */

#define CORPUS_NATIVE 0.8 /* share of a corpus's words */

/* Without a vocabulary of its own a search by public texts gets the bundled one, if it is of their
 * language. */
fre_status inv_open_telling(fre_inverter *v, fre_err *err)
{
    uint64_t all = 0, known = 0;
    fre_status st = FRE_OK;

    v->telling = v->vocabulary;
    if (v->decoder || !v->index)
        return FRE_OK;
    st = inv_vocabulary_find(&v->lent, err);
    for (size_t i = 0; st == FRE_OK && v->lent && i < v->index->words.n; i++) {
        size_t n;
        const char *word = inv_rows_text(&v->index->words, i, &n);

        all += v->index->words.count[i];
        if (inv_vocabulary_read_part(v->lent, word, n).unknown == 0)
            known += v->index->words.count[i];
    }
    if (all > 0 && (double)known >= CORPUS_NATIVE * (double)all)
        v->telling = v->lent;
    return st;
}

/* ---- languages ------------------------------------------------------------------------------- */

/* A prior of the public texts that a search starts from. */
static fre_status prior_of_index(fre_inverter *v, fre_err *err)
{
    const inv_rows *r = &v->index->texts;
    fre_prior_sums *sums = NULL;
    float *x;
    fre_status st;

    if (r->n < FRE_PRIOR_ROWS_MIN(v->dim))
        return FRE_OK;
    x = malloc(v->dim * sizeof *x);
    st = x ? fre_prior_sums_new(&sums, v->dim, v->threads) : FRE_E_NOMEM;
    for (size_t i = 0; i < r->n && st == FRE_OK; i++) {
        inv_rows_get(r, x, i);
        st = fre_prior_sums_add(sums, x, 1);
    }
    if (st == FRE_OK)
        st = fre_prior_make(&v->around, sums, fre_embedder_info(v->embedder), "public corpus", err);
    fre_prior_sums_free(sums);
    free(x);
    return st == FRE_E_DATA ? FRE_OK : st; /* hardly any texts: nothing is known */
}

fre_status inv_open_languages(fre_inverter *v, fre_err *err)
{
    const fre_prior *prior = v->bridge ? NULL : v->prior;
    fre_status st = FRE_OK;

    if (v->bridge)
        st = fre_bridge_prior(v->bridge, &v->around, err);
    else if (!prior && !v->decoder && v->index)
        st = prior_of_index(v, err);
    return st == FRE_OK
               ? fre_languages_new(&v->languages, v->embedder, prior ? prior : v->around, err)
               : st;
}

/* The numbers stay. */
static void withhold(fre_inversion *out, const char *why)
{
    free(out->text);
    out->text = NULL;
    out->unreadable = why;
}

/* Public texts in the point's own language speak of it in that language. */
static fre_status speaks_it(const fre_inverter *v, bool *out, const char *text)
{
    const size_t len = strlen(text);
    float *x = malloc(v->dim * sizeof *x);
    double score = 0;
    fre_err err;
    fre_status st = x ? fre_embed_texts(v->embedder, x, &text, &len, 1, &err) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = fre_languages_score(v->languages, &score, x, 0);
    *out = score > FRE_LANGUAGES_FOREIGN;
    free(x);
    return st;
}

fre_status inv_judge(const fre_inverter *v, fre_inversion *out, const float *mu, double noise_std)
{
    double score = 0;
    bool speaks = false;
    fre_status st = FRE_OK;

    if (!out->text || inv_unexplained(out, noise_std, v->dim) <= UNEXPLAINED * UNEXPLAINED)
        return FRE_OK;
    if (v->languages)
        st = fre_languages_score(v->languages, &score, mu, noise_std);
    if (st == FRE_OK && score > FRE_LANGUAGES_FOREIGN && v->index)
        st = speaks_it(v, &speaks, out->text);
    if (st == FRE_OK && score > FRE_LANGUAGES_FOREIGN && !speaks)
        withhold(out, FRE_UNREADABLE_LANGUAGE);
    else if (st == FRE_OK && out->unreadable)
        withhold(out, out->unreadable);
    return st;
}
