/* The distinct candidates of one centroid and their posterior scores. */
#include "pool.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

#define SETTLED_NOISE 0.3   /* norm */
#define SETTLED_SLACK 0.02  /* distance: equal but for case and the like */
#define SURE 60.0           /* nats of a text as near as the true one, however it reads */
#define UNKNOWN_MARK '\x01' /* of a word that the embedder does not know; no text holds it */
#define UNKNOWN_COST 40.0   /* nats of such a word, which stands for any */

static const uint8_t table_key[32]; /* candidates come from our own decoder: no flooding */

void inv_pool_init(inv_pool *p, uint32_t dim, const fre_embedder *embedder,
                   const inv_vocabulary *vocabulary)
{
    memset(p, 0, sizeof *p);
    p->embedder = embedder;
    p->vocabulary = vocabulary;
    p->dim = dim;
}

static void drop_last(inv_pool *p)
{
    inv_cand *c = &p->cand[--p->n];

    free(c->text);
    free(c->told);
}

void inv_pool_wipe(inv_pool *p)
{
    while (p->n > 0)
        drop_last(p);
    free(p->cand);
    free(p->embedding);
    memset(p, 0, sizeof *p);
}

/* Single spaces, none at the ends; control characters become spaces. */
static size_t tidy(char *s, size_t n)
{
    size_t w = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c > 0x20 && c != 0x7f)
            s[w++] = s[i];
        else if (w > 0 && s[w - 1] != ' ')
            s[w++] = ' ';
    }
    while (w > 0 && s[w - 1] == ' ')
        w--;
    return w;
}

static fre_status grow(inv_pool *p)
{
    size_t cap = p->cap ? 2 * p->cap : 64;
    inv_cand *c;
    float *e;

    if (p->n < p->cap)
        return FRE_OK;
    c = realloc(p->cand, cap * sizeof *c);
    if (!c)
        return FRE_E_NOMEM;
    p->cand = c;
    e = realloc(p->embedding, cap * p->dim * sizeof *e);
    if (!e)
        return FRE_E_NOMEM;
    p->embedding = e;
    p->cap = cap;
    return FRE_OK;
}

static bool known(const inv_pool *p, const uint8_t key[16])
{
    for (size_t i = 0; i < p->n; i++)
        if (memcmp(p->cand[i].key, key, 16) == 0)
            return true;
    return false;
}

static void key_of(uint8_t key[16], const char *text, size_t n)
{
    char lower[INV_TEXT_MAX];

    for (size_t i = 0; i < n; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    fre_hash128(key, table_key, lower, n);
}

static bool has_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)s[i]) || (unsigned char)s[i] >= 0x80)
            return true;
    return false;
}

/* What the missing words leave: no space before a mark, no mark at the beginning. */
static size_t mend(char *s, size_t n)
{
    size_t w = 0;

    for (size_t i = 0; i < n; i++) {
        if (memchr(".,;:?!", s[i], 6)) {
            if (w == 0)
                continue;
            w -= s[w - 1] == ' ';
        }
        if (w > 0 || s[i] != ' ')
            s[w++] = s[i];
    }
    while (w > 0 && memchr(" ,;:", s[w - 1], 4))
        w--;
    return w;
}

/* A text, and what is known of it. */
typedef struct reading {
    uint8_t key[16];
    size_t unknown;          /* words */
    char told[INV_TEXT_MAX]; /* the text without them */
    size_t n_told;
    bool is_new;
} reading;

static fre_status read_text(inv_pool *p, reading *r, const char *text, size_t n)
{
    fre_buf marked;
    fre_status st = FRE_OK;

    r->is_new = false;
    r->unknown = 0;
    /* A byte-level vocabulary can be cut inside a character. */
    if (n == 0 || n > INV_TEXT_MAX || fre_model_utf8(text, n) < n)
        return FRE_OK;
    fre_buf_init(&marked, INV_TEXT_MAX);
    st = p->embedder
             ? fre_embedder_mark_unknown(p->embedder, &marked, &r->unknown, text, n, UNKNOWN_MARK)
             : fre_buf_append(&marked, text, n);
    if (st == FRE_OK) {
        key_of(r->key, (char *)marked.p, marked.n);
        memcpy(r->told, marked.p, marked.n);
        r->n_told = r->unknown > 0 ? mend(r->told, tidy(r->told, marked.n)) : marked.n;
        r->is_new = !known(p, r->key);
        if (r->unknown > 0 && !has_word(r->told, r->n_told)) {
            p->refused += r->is_new;
            r->is_new = false;
        }
    }
    fre_buf_wipe(&marked);
    return st == FRE_E_LIMIT ? FRE_OK : st;
}

fre_status inv_pool_accepts(inv_pool *p, bool *out, const char *text, size_t n)
{
    reading r;
    const fre_status st = read_text(p, &r, text, n);

    *out = st == FRE_OK && r.is_new;
    return st;
}

/* c: all but texts and key. */
static fre_status add(inv_pool *p, inv_cand c, char *text, size_t n)
{
    reading r;
    fre_status st;

    n = n > 0 && n <= INV_TEXT_MAX ? tidy(text, n) : 0;
    st = read_text(p, &r, text, n);
    if (st == FRE_OK && r.is_new)
        st = grow(p);
    if (st != FRE_OK || !r.is_new)
        return st;
    memcpy(c.key, r.key, sizeof c.key);
    c.text = strndup(text, n);
    c.told = r.unknown > 0 ? strndup(r.told, r.n_told) : NULL;
    if (!c.text || (r.unknown > 0 && !c.told)) {
        free(c.text);
        free(c.told);
        return FRE_E_NOMEM;
    }
    if (p->vocabulary) {
        const double used = inv_vocabulary_worth(p->vocabulary, c.told ? c.told : c.text) -
                            UNKNOWN_COST * (double)r.unknown;

        c.logp += used;
        c.rank += used;
    }
    p->cand[p->n++] = c;
    return FRE_OK;
}

fre_status inv_pool_add(inv_pool *p, const fre_model *m, const inv_draw *d)
{
    inv_cand c = {.n = d->n, .kind = d->kind, .logp = d->logp, .rank = d->logp};
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, INV_TEXT_MAX);
    st = fre_model_detokenize(m, &b, d->ids, d->n);
    if (st == FRE_OK) {
        memcpy(c.ids, d->ids, d->n * sizeof *c.ids);
        st = add(p, c, (char *)b.p, b.n);
    } else if (st == FRE_E_LIMIT) {
        st = FRE_OK; /* longer than any text we want: not a candidate */
    }
    fre_buf_wipe(&b);
    return st;
}

fre_status inv_pool_add_text(inv_pool *p, const char *text, size_t n, inv_kind kind, double logp)
{
    const inv_cand c = {.kind = kind, .logp = logp, .rank = logp};
    char copy[INV_TEXT_MAX];

    if (n > sizeof copy)
        return FRE_OK;
    memcpy(copy, text, n);
    return add(p, c, copy, n);
}

static int higher(const void *a, const void *b)
{
    const inv_cand *x = a, *y = b;

    if (x->rank > y->rank || x->rank < y->rank)
        return x->rank > y->rank ? -1 : 1;
    return memcmp(x->key, y->key, sizeof x->key); /* a total order: the same everywhere */
}

void inv_pool_trim(inv_pool *p, size_t keep)
{
    if (p->n - p->scored <= keep)
        return;
    qsort(p->cand + p->scored, p->n - p->scored, sizeof *p->cand, higher);
    while (p->n - p->scored > keep)
        drop_last(p);
}

/* Insertion of candidate i (score set) into the sorted ones before it. */
static void sift(inv_pool *p, size_t i, float *row)
{
    const inv_cand c = p->cand[i];
    size_t at = i;

    while (at > 0 && p->cand[at - 1].score < c.score)
        at--;
    if (at == i)
        return;
    memcpy(row, p->embedding + i * p->dim, p->dim * sizeof *row);
    memmove(p->cand + at + 1, p->cand + at, (i - at) * sizeof *p->cand);
    memmove(p->embedding + (at + 1) * p->dim, p->embedding + at * p->dim,
            (i - at) * p->dim * sizeof *row);
    p->cand[at] = c;
    memcpy(p->embedding + at * p->dim, row, p->dim * sizeof *row);
}

static void note(inv_trace *t, const inv_cand *c, const inv_cand *best)
{
    fre_invert_gain *g = &t->gain[c->kind];

    g->embedded++;
    t->embedded++;
    if (best && !(c->score > best->score))
        return;
    g->improved++;
    g->gain += best ? c->score - best->score : 0;
}

bool inv_is_settled(double dist2, double noise_std, uint32_t dim)
{
    const double norm2 = noise_std * noise_std * (double)dim;

    return norm2 <= SETTLED_NOISE * SETTLED_NOISE && dist2 <= norm2 + SETTLED_SLACK * SETTLED_SLACK;
}

fre_status inv_pool_score(inv_pool *p, const float *mu, double noise_std, const inv_tuning *t,
                          inv_trace *trace)
{
    const double s = fmax(noise_std, t->std_floor);
    float *row = malloc(p->dim * sizeof *row);

    if (!row)
        return FRE_E_NOMEM;
    for (size_t i = p->scored; i < p->n; i++) {
        inv_cand *c = &p->cand[i];

        c->dist2 = fre_dist2(mu, p->embedding + i * p->dim, p->dim);
        c->score = -c->dist2 / (2 * s * s) + t->logp_weight * c->logp;
        if (p->vocabulary && inv_is_settled(c->dist2, noise_std, p->dim))
            c->score += SURE;
        note(trace, c, i > 0 ? p->cand : NULL);
        sift(p, i, row);
    }
    p->scored = p->n;
    free(row);
    return FRE_OK;
}

fre_status inv_pool_sort(inv_pool *p, size_t n)
{
    float *row = malloc(p->dim * sizeof *row);

    if (!row)
        return FRE_E_NOMEM;
    for (size_t i = 1; i < n; i++)
        sift(p, i, row);
    free(row);
    return FRE_OK;
}
