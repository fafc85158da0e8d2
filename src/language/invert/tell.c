/* tell.c - what is told of a point, in one place for every kind of search and for paraphrases.
 *
 * A non-word, a sentence that breaks off, a word that the embedder does not know: each lies near many a
 * point and says nothing true of it.  All that decides here is the released point, its noise, the texts
 * that were found for it, and public data. */
#include "invert_private.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fre/linalg.h>

/* English about another language scores as that language does, but is explained by a text: what the
 * noise leaves of the distance is near 0 then, and above .45 for texts in another language. */
#define UNEXPLAINED 0.35
/* What is left when words that the embedder does not know are taken away must be about the point. */
#define REMAINDER 0.9
/* A text that leaves more than this speaks of something else: a frequent text counts as found within it. */
#define ANOTHER 0.75
/* What an unknown or rare word must leave of what the best text without one leaves. */
#define DOUBTFUL_GAIN 0.5
/* Standard deviations by which the noise itself may be longer than it is on average. */
#define LONGER 2.0
#define SLACK 0.02       /* distance: equal but for case and the like */
#define END_LEAST (-6.0) /* ln p of a sentence's end behind its last word */

/* ---- texts ----------------------------------------------------------------------------------- */

/* Bytes of the word at s without marks behind it. */
static size_t bare(const char *s)
{
    size_t n = strcspn(s, " ");

    while (n > 0 && strchr(".,;:?!", s[n - 1]))
        n--;
    return n;
}

static bool is_of_corpus(const inv_index *x, const char *word, size_t len)
{
    for (size_t i = 0; x && i < x->words.n; i++) {
        size_t n;
        const char *own = inv_rows_text(&x->words, i, &n);

        if (n == len && strncasecmp(own, word, n) == 0)
            return true;
    }
    return false;
}

static bool is_of_text(const char *text, const char *word, size_t len)
{
    for (const char *s = text; s && *s; s += strcspn(s, " "), s += *s == ' ')
        if (bare(s) == len && strncasecmp(s, word, len) == 0)
            return true;
    return false;
}

/* The end of a sentence as people write it: a letter, one mark or three dots, a closing quote or bracket,
 * and brackets that were opened are closed. */
static bool ends_well(const char *text)
{
    const size_t n = strlen(text);
    const unsigned char last = n > 0 ? (unsigned char)text[n - 1] : ' ';
    const char before = n > 1 ? text[n - 2] : 'a';
    int open = 0;

    for (const char *s = text; *s; s++)
        open += (*s == '(') - (*s == ')' && open > 0);
    if (open > 0 || !(last >= 0x80 || isalnum(last) || strchr(".?!)\"'%", last)))
        return false;
    return !strchr(".?!", last) || !strchr(".?!,;:", before) ||
           (n > 3 && strcmp(text + n - 3, "...") == 0 && isalnum((unsigned char)text[n - 4]));
}

/* Every word is one of public text, of the corpus or of `source` (NULL: none), none is said twice running, and
 * the end is one. */
static bool is_sound(const inv_vocabulary *v, const inv_index *corpus, const char *source,
                     const char *text)
{
    const inv_usage u = inv_vocabulary_read(v, text);
    uint32_t known = 0;

    if (u.end < END_LEAST && !(source && inv_vocabulary_read(v, source).end < END_LEAST))
        return false;
    if (u.doubled > 0 || !ends_well(text))
        return false;
    for (const char *s = text; u.unknown > known && *s; s += strcspn(s, " "), s += *s == ' ') {
        const size_t n = bare(s);
        const uint32_t strange = inv_vocabulary_read_part(v, s, n).unknown;

        if (strange > 0 && (is_of_corpus(corpus, s, n) || is_of_text(source, s, n)))
            known += strange;
    }
    return u.unknown <= known;
}

/* Has it a word that public text has hardly ever, and not so, and that is none of the corpus's? */
static bool has_rare(const inv_vocabulary *v, const inv_index *corpus, const char *text)
{
    const uint32_t rare = inv_vocabulary_read(v, text).rare;
    uint32_t known = 0;

    for (const char *s = text; rare > known && *s; s += strcspn(s, " "), s += *s == ' ') {
        const size_t n = bare(s);

        if (inv_vocabulary_read_part(v, s, n).rare > 0 && is_of_corpus(corpus, s, n))
            known++;
    }
    return rare > known;
}

/* Is the text in the vocabulary's language? */
static bool is_native(const inv_vocabulary *v, const char *text)
{
    uint32_t words = 1;

    for (const char *s = text; *s; s++)
        words += *s == ' ';
    return 2 * inv_vocabulary_read(v, text).unknown <= words;
}

/* ---- for paraphrases -------------------------------------------------------------------------- */

struct fre_teller {
    const fre_embedder *embedder;     /* borrowed */
    const inv_vocabulary *vocabulary; /* NULL: none is found */
    inv_vocabulary *own;              /* the same, if no inverter has it */
};

fre_status inv_vocabulary_find(inv_vocabulary **out, fre_err *err)
{
    char path[4096];

    if (fre_model_find(path, sizeof path, FRE_VOCABULARY_DEFAULT, NULL) != FRE_OK)
        return FRE_OK;
    return inv_vocabulary_open(out, path, err);
}

fre_status fre_teller_new(fre_teller **out, const fre_embedder *e, const fre_inverter *inverter,
                          fre_err *err)
{
    fre_teller *t = calloc(1, sizeof *t);
    fre_status st = FRE_OK;

    if (!t)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    t->embedder = e;
    t->vocabulary = inverter ? inverter->telling : NULL;
    if (!inverter) {
        st = inv_vocabulary_find(&t->own, err);
        t->vocabulary = t->own;
    }
    if (st == FRE_OK)
        *out = t;
    else
        fre_teller_free(t);
    return st;
}

void fre_teller_free(fre_teller *t)
{
    if (!t)
        return;
    inv_vocabulary_free(t->own);
    free(t);
}

fre_status fre_teller_would(const fre_teller *t, bool *out, const char *text, const char *source)
{
    size_t unknown = 0;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, SIZE_MAX);
    st = fre_embedder_mark_unknown(t->embedder, &b, &unknown, text, strlen(text), ' ');
    fre_buf_wipe(&b);
    *out = st == FRE_OK && unknown == 0 &&
           (!t->vocabulary || !is_native(t->vocabulary, source) ||
            is_sound(t->vocabulary, NULL, source, text));
    return st;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* As near as the true text would be, give or take what the noise's length varies by. */
static bool is_explained(const inv_state *s, const inv_cand *c)
{
    const double noise2 = s->noise_std * s->noise_std * (double)s->pool.dim;

    return c->dist2 <= noise2 * (1 + LONGER * sqrt(2.0 / s->pool.dim)) + SLACK * SLACK;
}

bool inv_may_tell(const fre_inverter *v, const inv_state *s, size_t candidate)
{
    const inv_cand *c = &s->pool.cand[candidate];

    return !v->telling || is_explained(s, c) ||
           is_sound(v->telling, v->index, NULL, c->told ? c->told : c->text);
}

bool inv_is_doubtful(const fre_inverter *v, const inv_state *s, size_t candidate)
{
    const inv_cand *c = &s->pool.cand[candidate];

    return v->telling && !is_explained(s, c) &&
           has_rare(v->telling, v->index, c->told ? c->told : c->text);
}

/* The first from `at` on that may be told, with or without unknown and doubtful words; n: none. */
static size_t next(const fre_inverter *v, const inv_state *s, size_t at, bool any)
{
    while (at < s->pool.scored &&
           !(inv_may_tell(v, s, at) &&
             (any || (!s->pool.cand[at].told && !inv_is_doubtful(v, s, at)))))
        at++;
    return at;
}

/* The best that may be told; of none, the best.  An unknown word moves an embedding like any other word that
 * is wrong, and so does a rare one, so one that makes a text a little nearer says nothing. */
static size_t choose(const fre_inverter *v, const inv_state *s)
{
    const double noise2 = s->noise_std * s->noise_std * (double)s->pool.dim;
    const inv_cand *c = s->pool.cand;
    const size_t best = next(v, s, 0, true), known = next(v, s, best, false);

    if (best == s->pool.scored)
        return 0;
    if (known == s->pool.scored || is_explained(s, &c[best]) ||
        c[best].dist2 - noise2 <= DOUBTFUL_GAIN * (c[known].dist2 - noise2))
        return best;
    return known;
}

static double left_of(const fre_inversion *v, double noise_std, uint32_t dim)
{
    return v->distance * v->distance - noise_std * noise_std * (double)dim;
}

/* Is what is told of a candidate about something else?  The draws of the check at opening are no search, and
 * a search by public texts alone is asked for the nearest that these can say. */
static bool is_another(const fre_inverter *v, const fre_inversion *out, double noise_std)
{
    const double far = ANOTHER * v->tuning.spread;

    return v->tuning.rounds > 0 && (v->decoder || !v->index) &&
           left_of(out, noise_std, v->dim) > far * far;
}

fre_status inv_result_of(fre_inverter *v, fre_inversion *out, const inv_state *s, size_t candidate,
                         fre_err *err)
{
    const inv_pool *p = &s->pool;
    const inv_cand *c = &p->cand[candidate];
    const char *text = c->told ? c->told : c->text;
    const size_t len = strlen(text);
    float *x = malloc(p->dim * sizeof *x);
    double norms;
    fre_status st = x ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK && c->told)
        st = fre_embed_texts(v->embedder, x, &text, &len, 1, err);
    else if (st == FRE_OK)
        memcpy(x, p->embedding + candidate * p->dim, p->dim * sizeof *x);
    if (st == FRE_OK)
        out->text = strdup(text);
    if (st == FRE_OK && out->text) {
        norms = fre_norm(s->mu, p->dim) * fre_norm(x, p->dim);
        out->similarity =
            norms > 0 ? fre_dot(s->mu, x, p->dim) / norms : 0; /* 0: of a blank text */
        out->distance = sqrt(fre_dist2(s->mu, x, p->dim));
        out->score = c->score;
        out->unreadable = !c->told && is_another(v, out, s->noise_std) ? FRE_UNREADABLE_FAR : NULL;
        if (p->vocabulary)
            inv_begin_large(out->text);
    }
    free(x);
    return st == FRE_OK && !out->text ? FRE_E_NOMEM : st;
}

void inv_tell_nothing(fre_inversion *out, const char *why)
{
    free(out->text);
    out->text = NULL;
    out->unreadable = why;
    out->similarity = out->distance = out->score = NAN;
}

fre_status inv_tell(fre_inverter *v, fre_inversion *out, inv_others *others, const inv_state *s,
                    fre_err *err)
{
    size_t best;
    fre_status st;

    if (s->pool.n == 0 && s->pool.refused > 0) {
        inv_tell_nothing(out, FRE_UNREADABLE_UNKNOWN);
        return FRE_OK;
    }
    if (s->pool.n == 0)
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter wrote no text at all; its decoder and projector do not "
                        "belong together, or one is damaged");
    best = choose(v, s);
    st = inv_result_of(v, out, s, best, err);
    if (st == FRE_OK && s->pool.cand[best].told &&
        left_of(out, s->noise_std, v->dim) > REMAINDER * REMAINDER)
        inv_tell_nothing(out, FRE_UNREADABLE_UNKNOWN);
    return st == FRE_OK && out->text && others ? inv_others_take(v, others, s, best, err) : st;
}

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

    if (!out->text || left_of(out, noise_std, v->dim) <= UNEXPLAINED * UNEXPLAINED)
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
