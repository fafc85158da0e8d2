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

#include <fre/linalg.h>

/* What is left when words that the embedder does not know are taken away must be about the point. */
#define REMAINDER 0.9
/* A text that leaves more than this speaks of something else: a frequent text counts as found within it. */
#define ANOTHER 0.75
/* What an unknown or rare word must leave of what the best text without one leaves. */
#define DOUBTFUL_GAIN 0.5
/* Standard deviations by which the noise itself may be longer than it is on average. */
#define LONGER 2.0
#define NEARLY 30.0      /* nats of score that a text of one's own may cost */
#define SLACK 0.02       /* distance: equal but for case and the like */

/* As near as the true text would be, give or take what the noise's length varies by. */
static bool is_explained(const inv_state *s, const inv_cand *c)
{
    const double noise2 = s->noise_std * s->noise_std * (double)s->pool.dim;

    return c->dist2 <= noise2 * (1 + LONGER * sqrt(2.0 / s->pool.dim)) + SLACK * SLACK;
}

static bool may_tell(const fre_inverter *v, const inv_state *s, size_t candidate)
{
    const inv_cand *c = &s->pool.cand[candidate];

    return !v->telling || is_explained(s, c) ||
           inv_is_sound(v->telling, v->index, NULL, c->told ? c->told : c->text);
}

static bool is_doubtful(const fre_inverter *v, const inv_state *s, size_t candidate)
{
    const inv_cand *c = &s->pool.cand[candidate];

    return v->telling && !is_explained(s, c) &&
           inv_has_rare(v->telling, v->index, c->told ? c->told : c->text);
}

/* The first from `at` on that may be told, with or without unknown and doubtful words; n: none. */
static size_t next(const fre_inverter *v, const inv_state *s, size_t at, bool any)
{
    while (at < s->pool.scored &&
           !(may_tell(v, s, at) && (any || (!s->pool.cand[at].told && !is_doubtful(v, s, at)))))
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

void fre_inversion_wipe(fre_inversion *v)
{
    free(v->text);
    for (size_t i = 0; i < v->n_paraphrases; i++)
        free(v->paraphrases[i]);
    free((void *)v->paraphrases);
    memset(v, 0, sizeof *v);
}

double inv_unexplained(const fre_inversion *v, double noise_std, uint32_t dim)
{
    return v->distance * v->distance - noise_std * noise_std * (double)dim;
}

/* Is what is told of a candidate about something else?  The draws of the check at opening are no search, and
 * a search by public texts alone is asked for the nearest that these can say. */
static bool is_another(const fre_inverter *v, const fre_inversion *out, double noise_std)
{
    const double far = ANOTHER * v->tuning.spread;

    return v->tuning.rounds > 0 && (v->decoder || !v->index) &&
           inv_unexplained(out, noise_std, v->dim) > far * far;
}

/* A capital first, as public text has it (docs/decisions/0012). */
static void capitalise(char *text)
{
    text[0] = (char)toupper((unsigned char)text[0]);
}

/* Scores are logarithms of a posterior (invert.h).  The language model reads the best alone, so a later one may
 * have the highest. */
double inv_share(const inv_pool *p, size_t candidate)
{
    double best = p->cand[candidate].score, all = 0;

    for (size_t i = 0; i < p->scored; i++)
        best = fmax(best, p->cand[i].score);
    for (size_t i = 0; i < p->scored; i++)
        all += exp(p->cand[i].score - best);
    return exp(p->cand[candidate].score - best) / all;
}

static fre_status result_of(fre_inverter *v, fre_inversion *out, const inv_state *s,
                            size_t candidate, fre_err *err)
{
    const inv_pool *p = &s->pool;
    const inv_cand *c = &p->cand[candidate];
    const char *text = c->told ? c->told : c->text;
    const size_t len = strlen(text);
    float *x = malloc(p->dim * sizeof *x);
    double norms;
    fre_status st = FRE_E_NOMEM;

    if (!x)
        goto out;
    if (c->told) {
        st = fre_embed_texts(v->embedder, x, &text, &len, 1, err);
        if (st != FRE_OK)
            goto out;
    } else {
        memcpy(x, p->embedding + candidate * p->dim, p->dim * sizeof *x);
    }
    out->text = strdup(text);
    st = out->text ? FRE_OK : FRE_E_NOMEM;
    if (st != FRE_OK)
        goto out;
    norms = fre_norm(s->mu, p->dim) * fre_norm(x, p->dim);
    out->similarity = norms > 0 ? fre_dot(s->mu, x, p->dim) / norms : 0; /* 0: of a blank text */
    out->distance = sqrt(fre_dist2(s->mu, x, p->dim));
    out->score = c->score;
    out->share = inv_share(p, candidate);
    out->unreadable = !c->told && is_another(v, out, s->noise_std) ? FRE_UNREADABLE_FAR : NULL;
    if (p->vocabulary)
        capitalise(out->text);
out:
    free(x);
    return st;
}

void inv_tell_nothing(fre_inversion *out, const char *why)
{
    free(out->text);
    out->text = NULL;
    out->unreadable = why;
    out->similarity = out->distance = out->score = NAN;
    out->share = 0;
}

/* The texts, with their numbers, that are nearly as good as the one that is told. */
static fre_status collect_others(fre_inverter *v, inv_others *o, const inv_state *s, size_t told,
                                 fre_err *err)
{
    const inv_pool *p = &s->pool;
    fre_status st = FRE_OK;

    for (size_t i = told + 1; i < p->scored && o->n < INV_OTHERS && st == FRE_OK; i++) {
        if (p->cand[i].score < p->cand[told].score - NEARLY)
            break;
        if (!may_tell(v, s, i) || is_doubtful(v, s, i))
            continue;
        st = result_of(v, &o->v[o->n], s, i, err);
        o->n += st == FRE_OK;
    }
    return st;
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
    st = result_of(v, out, s, best, err);
    if (st == FRE_OK && s->pool.cand[best].told &&
        inv_unexplained(out, s->noise_std, v->dim) > REMAINDER * REMAINDER)
        inv_tell_nothing(out, FRE_UNREADABLE_UNKNOWN);
    return st == FRE_OK && out->text && others ? collect_others(v, others, s, best, err) : st;
}
