/* Which candidates are kept, and in which order.  Passing over what resembles an earlier choice is
 * maximal marginal relevance (Carbonell, Goldstein, SIGIR 1998) with a step for the penalty. */
#include "paraphrase_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STD_FLOOR 0.02 /* of the posterior, as in invert.h */
#define ALIKE 0.75     /* share of words in common from which two texts are alike */

void fre_paraphrases_wipe(fre_paraphrases *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->text[i]);
    free(p->text);
    memset(p, 0, sizeof *p);
}

static void candidate_wipe(para_candidate *c)
{
    free(c->text);
    free(c->folded);
    memset(c, 0, sizeof *c);
}

void para_list_wipe(para_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        candidate_wipe(&l->c[i]);
    free(l->c);
    free(l->folded);
    free(l->source);
    memset(l, 0, sizeof *l);
}

static bool is_known(const para_list *l, const char *folded)
{
    if (l->folded && para_same(l->folded, folded))
        return true;
    for (size_t i = 0; i < l->n; i++)
        if (para_same(l->c[i].folded, folded))
            return true;
    return false;
}

static fre_status grow(para_list *l)
{
    const size_t cap = l->cap ? 2 * l->cap : 32;
    para_candidate *c;

    if (l->n < l->cap)
        return FRE_OK;
    c = realloc(l->c, cap * sizeof *c);
    if (!c)
        return FRE_E_NOMEM;
    l->c = c;
    l->cap = cap;
    return FRE_OK;
}

fre_status para_list_add(para_list *l, const char *text, size_t len, double logp)
{
    para_candidate c = {.logp = logp};
    bool tells = true;
    fre_status st;

    l->drawn++;
    st = fre_fold_words(&c.folded, text, len);
    if (st == FRE_E_DATA)
        return FRE_OK; /* a model cut a character in half: no candidate */
    if (st == FRE_OK && (!c.folded[0] || is_known(l, c.folded)))
        goto out;
    if (st == FRE_OK)
        st = grow(l);
    if (st != FRE_OK)
        goto out;
    c.text = strndup(text, len);
    if (!c.text) {
        st = FRE_E_NOMEM;
        goto out;
    }
    if (l->teller)
        st = fre_teller_would(l->teller, &tells, c.text, l->source);
    if (st != FRE_OK || !tells)
        goto out;
    l->c[l->n++] = c;
    memset(&c, 0, sizeof c);
out:
    candidate_wipe(&c);
    return st;
}

void para_measure(para_list *l, const float *x, const para_place *p)
{
    const double limit2 = p->distance * p->distance;
    const double noise2 = (double)p->dim * p->noise_std * p->noise_std;
    /* A text that lies off its centroid itself may be varied all the same. */
    const double reach2 = fmax(limit2, fre_dist2(p->text, p->centroid, p->dim) - noise2);

    for (size_t i = 0; i < l->n; i++) {
        const float *e = x + i * p->dim;

        l->c[i].dist2 = fre_dist2(e, p->centroid, p->dim);
        l->c[i].near = fre_dist2(e, p->text, p->dim) <= limit2 && l->c[i].dist2 - noise2 <= reach2;
    }
}

static int nearer(const void *a, const void *b)
{
    const para_candidate *x = a, *y = b;

    if (x->dist2 < y->dist2 || x->dist2 > y->dist2)
        return x->dist2 < y->dist2 ? -1 : 1;
    return strcmp(x->text, y->text);
}

void para_keep_near(para_list *l, size_t *near, size_t most)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->n; i++) {
        if (!l->c[i].near) {
            candidate_wipe(&l->c[i]);
            continue;
        }
        l->c[kept++] = l->c[i];
    }
    l->n = *near = kept;
    if (kept <= most)
        return;
    qsort(l->c, l->n, sizeof *l->c, nearer);
    while (l->n > most)
        candidate_wipe(&l->c[--l->n]);
}

void para_score(para_list *l, double noise_std)
{
    const double s = fmax(noise_std, STD_FLOOR);

    for (size_t i = 0; i < l->n; i++)
        l->c[i].score = -l->c[i].dist2 / (2 * s * s) + l->c[i].logp;
}

static int better(const void *a, const void *b)
{
    const para_candidate *x = a, *y = b;

    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->text, y->text); /* a total order: the same everywhere */
}

static void choose(fre_paraphrases *out, para_candidate *c)
{
    out->text[out->n++] = c->text;
    c->text = NULL;
}

static bool is_alike(const para_list *l, size_t i)
{
    if (l->folded && para_overlap(l->folded, l->c[i].folded) > ALIKE)
        return true;
    for (size_t j = 0; j < i; j++)
        if (!l->c[j].text && para_overlap(l->c[j].folded, l->c[i].folded) > ALIKE)
            return true;
    return false;
}

fre_status para_choose(fre_paraphrases *out, para_list *l, size_t want)
{
    fre_paraphrases made = {.drawn = l->drawn};

    made.text = calloc(want, sizeof *made.text);
    if (!made.text)
        return FRE_E_NOMEM;
    if (l->n > 1)
        qsort(l->c, l->n, sizeof *l->c, better);
    for (size_t i = 0; i < l->n && made.n < want; i++)
        if (!is_alike(l, i))
            choose(&made, &l->c[i]);
    for (size_t i = 0; i < l->n && made.n < want; i++)
        if (l->c[i].text)
            choose(&made, &l->c[i]);
    made.distinct = out->distinct;
    made.near = out->near;
    *out = made;
    return FRE_OK;
}
