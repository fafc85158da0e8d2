/* evaluate/diversity.c - how much texts repeat each other: Self-BLEU (Zhu et al., SIGIR 2018), distinct n-grams
 * (Li et al., NAACL 2016), duplicates; and how long they are. */
#include "evaluate_private.h"

#include <fre/fold.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS 4u
#define NOTHING_MATCHES 0.1 /* of one match (Chen and Cherry, WMT 2014, smoothing 1) */

/* ---- n-grams of some texts ------------------------------------------------------------------------ */

typedef struct gram_count {
    uint32_t most, next; /* times in the text that has it most often, and in any other */
    size_t in;           /* that text */
} gram_count;

/* n-grams of one order. */
typedef struct grams {
    size_t order;
    fre_text_map map;
    gram_count *count;
    size_t cap_count;
    uint32_t *id; /* of the text that is looked at */
    size_t cap_id;
    uint64_t all; /* n-grams of all texts */
} grams;

static size_t words_of(const evaluate_words *w, size_t text)
{
    return w->start[text + 1] - w->start[text];
}

static size_t grams_of(const evaluate_words *w, size_t text, size_t order)
{
    const size_t n = words_of(w, text);

    return n >= order ? n - order + 1 : 0;
}

static int compare_id(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* g->id: the text's n-grams, sorted; all of them have a number. */
static fre_status read_ids(grams *g, const evaluate_words *w, size_t text)
{
    const size_t n = grams_of(w, text, g->order);
    fre_status st = fre_grow((void **)&g->id, &g->cap_id, n + 1, sizeof *g->id);

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        const uint32_t *gram = w->word + w->start[text] + i;
        bool added;

        st = fre_text_map_put(&g->map, &g->id[i], &added, gram, g->order * sizeof *gram);
        if (st == FRE_OK && added) {
            st = fre_grow((void **)&g->count, &g->cap_count, g->map.map.n, sizeof *g->count);
            if (st == FRE_OK)
                g->count[g->id[i]] = (gram_count){.in = SIZE_MAX};
        }
    }
    if (st == FRE_OK && n > 0)
        qsort(g->id, n, sizeof *g->id, compare_id);
    return st;
}

static void note(gram_count *c, uint32_t times, size_t text)
{
    if (times > c->most) {
        c->next = c->most;
        c->most = times;
        c->in = text;
    } else if (times > c->next) {
        c->next = times;
    }
}

static fre_status count_text(grams *g, const evaluate_words *w, size_t text)
{
    const size_t n = grams_of(w, text, g->order);
    fre_status st = read_ids(g, w, text);

    for (size_t i = 0, e; st == FRE_OK && i < n; i = e) {
        for (e = i; e < n && g->id[e] == g->id[i]; e++)
            ;
        note(&g->count[g->id[i]], (uint32_t)(e - i), text);
    }
    g->all += n;
    return st;
}

/* n-grams of the text that another one has as often. */
static fre_status match_text(size_t *matches, grams *g, const evaluate_words *w, size_t text)
{
    const size_t n = grams_of(w, text, g->order);
    fre_status st = read_ids(g, w, text);

    *matches = 0;
    for (size_t i = 0, e; st == FRE_OK && i < n; i = e) {
        const gram_count *c = &g->count[g->id[i]];
        const size_t others = c->in == text ? c->next : c->most;

        for (e = i; e < n && g->id[e] == g->id[i]; e++)
            ;
        *matches += e - i < others ? e - i : others;
    }
    return st;
}

static void wipe_grams(grams g[ORDERS])
{
    for (size_t k = 0; k < ORDERS; k++) {
        fre_text_map_wipe(&g[k].map);
        free(g[k].count);
        free(g[k].id);
    }
}

static fre_status count_grams(grams g[ORDERS], const evaluate_words *w, const size_t *text,
                              size_t n)
{
    fre_status st = FRE_OK;

    for (size_t k = 0; k < ORDERS; k++)
        g[k] = (grams){.order = k + 1};
    for (size_t k = 0; k < ORDERS && st == FRE_OK; k++)
        st = fre_text_map_init(&g[k].map);
    for (size_t k = 0; k < ORDERS; k++)
        for (size_t i = 0; st == FRE_OK && i < n; i++)
            st = fre_interrupted() ? FRE_E_INTERRUPTED : count_text(&g[k], w, text[i]);
    return st;
}

/* ---- Self-BLEU -------------------------------------------------------------------------------------- */

static int compare_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Of the other texts' lengths the one nearest to this text's, the shorter of two; length: n, sorted, this
 * text's among them. */
static size_t nearest_length(const size_t *length, size_t n, size_t own)
{
    size_t low = 0, high = n;

    while (low < high) { /* the first that is not shorter */
        const size_t mid = (low + high) / 2;

        if (length[mid] < own)
            low = mid + 1;
        else
            high = mid;
    }
    if (low + 1 == n)
        return length[low - 1];
    if (low == 0 || length[low + 1] - own < own - length[low - 1])
        return length[low + 1];
    return length[low + 1] == own ? own : length[low - 1];
}

/* BLEU of one text with all others as references: orders up to 4, or as many as it has words. */
static fre_status bleu(double *out, grams g[ORDERS], const evaluate_words *w, size_t text,
                       size_t reference)
{
    const size_t words = words_of(w, text), orders = words < ORDERS ? words : ORDERS;
    double sum = 0.0;
    fre_status st = FRE_OK;

    for (size_t k = 0; st == FRE_OK && k < orders; k++) {
        size_t matches;

        st = match_text(&matches, &g[k], w, text);
        if (st == FRE_OK)
            sum += log((matches > 0 ? (double)matches : NOTHING_MATCHES) /
                       (double)grams_of(w, text, k + 1));
    }
    *out = exp(sum / (double)orders);
    if (words < reference)
        *out *= exp(1.0 - (double)reference / (double)words);
    return st;
}

/* Mean over the texts (by number), which all have a word; NaN below two. */
static fre_status self_bleu(double *out, grams g[ORDERS], const evaluate_words *w,
                            const size_t *text, size_t n)
{
    size_t *length = malloc((n + 1) * sizeof *length);
    double sum = 0.0, one = 0.0;
    fre_status st = length ? FRE_OK : FRE_E_NOMEM;

    *out = (double)NAN;
    if (st != FRE_OK || n < 2) {
        free(length);
        return st;
    }
    for (size_t i = 0; i < n; i++)
        length[i] = words_of(w, text[i]);
    qsort(length, n, sizeof *length, compare_size);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        st = fre_interrupted()
                 ? FRE_E_INTERRUPTED
                 : bleu(&one, g, w, text[i], nearest_length(length, n, words_of(w, text[i])));
        sum += one;
    }
    if (st == FRE_OK)
        *out = sum / (double)n;
    free(length);
    return st;
}

/* ---- a set -------------------------------------------------------------------------------------------- */

/* Texts with a word. */
static size_t list_texts(size_t *list, const evaluate_words *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (words_of(w, i) > 0)
            list[n++] = i;
    return n;
}

/* As it is where it is not UTF-8. */
static fre_status put_folded(fre_text_map *map, bool *added, const char *text, size_t len)
{
    char *fold = NULL;
    uint32_t index;
    fre_status st = fre_fold_text(&fold, text, len, FRE_FOLD_CASE);

    if (st == FRE_OK)
        st = fre_text_map_put(map, &index, added, fold, strlen(fold));
    else if (st == FRE_E_DATA)
        st = fre_text_map_put(map, &index, added, text, len);
    free(fold);
    return st;
}

/* The share of texts that came before; folded: but for upper and lower case. */
static fre_status find_duplicates(double *out, const evaluate_set *s, bool folded)
{
    fre_text_map map;
    uint64_t again = 0;
    uint32_t index;
    fre_status st = fre_text_map_init(&map);

    *out = (double)NAN;
    for (size_t i = 0; st == FRE_OK && i < s->n; i++) {
        bool added;

        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
        else
            st = folded ? put_folded(&map, &added, s->text[i], s->len[i])
                        : fre_text_map_put(&map, &index, &added, s->text[i], s->len[i]);
        again += st == FRE_OK && !added;
    }
    fre_text_map_wipe(&map);
    if (st == FRE_OK && s->n > 0)
        *out = (double)again / (double)s->n;
    return st;
}

static fre_status find_all_duplicates(fre_diversity *d, const evaluate_set *s)
{
    const fre_status st = find_duplicates(&d->duplicates, s, false);

    return st == FRE_OK ? find_duplicates(&d->duplicates_folded, s, true) : st;
}

fre_status evaluate_diversity_find(fre_diversity *out, const evaluate_set *s,
                                   const evaluate_words *w)
{
    fre_diversity d = {.texts = s->n};
    size_t *list = malloc((w->n + 1) * sizeof *list), n;
    grams g[ORDERS];
    fre_status st;

    if (!list)
        return FRE_E_NOMEM;
    n = list_texts(list, w);
    st = count_grams(g, w, list, n);
    if (st == FRE_OK)
        st = self_bleu(&d.self_bleu, g, w, list, n);
    for (size_t k = 0; k < FRE_EVALUATE_DISTINCT; k++)
        d.distinct[k] = g[k].all > 0 ? (double)g[k].map.map.n / (double)g[k].all : (double)NAN;
    wipe_grams(g);
    free(list);
    if (st == FRE_OK)
        st = find_all_duplicates(&d, s);
    if (st == FRE_OK)
        *out = d;
    return st;
}

/* ---- a text and its paraphrases ----------------------------------------------------------------------- */

/* Self-BLEU of list's n texts; NaN below two that have a word. */
static fre_status one_line(double *out, const evaluate_words *w, const size_t *list, size_t n)
{
    grams g[ORDERS];
    fre_status st = count_grams(g, w, list, n);

    if (st == FRE_OK)
        st = self_bleu(out, g, w, list, n);
    wipe_grams(g);
    return st;
}

/* owner: of each text the line that it belongs to; texts in the order of lines, their paraphrases too. */
fre_status evaluate_self_bleu_within(double *out, const evaluate_words *w, const size_t *owner,
                                     size_t n_texts)
{
    size_t *list = malloc((w->n + 1) * sizeof *list), lines = 0, at = n_texts;
    double sum = 0.0;
    fre_status st = list ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n_texts && at < w->n; i++) {
        double one;
        size_t n = 0;

        if (words_of(w, i) > 0)
            list[n++] = i;
        while (at < w->n && owner[at] < i) /* of a line without a text */
            at++;
        for (; at < w->n && owner[at] == i; at++)
            if (words_of(w, at) > 0)
                list[n++] = at;
        if (n < 2)
            continue;
        st = one_line(&one, w, list, n);
        sum += one;
        lines++;
    }
    free(list);
    if (st == FRE_OK)
        *out = lines > 0 ? sum / (double)lines : (double)NAN;
    return st;
}

/* ---- lengths ------------------------------------------------------------------------------------------ */

/* The least length that so large a share of the texts does not exceed. */
static double percentile(const size_t *sorted, size_t n, double share)
{
    const size_t at = (size_t)ceil(share * (double)n);

    return (double)sorted[at > 0 ? at - 1 : 0];
}

/* length: n, sorted by this. */
static void summarise(fre_lengths *out, size_t *length, size_t n)
{
    double sum = 0.0, squares = 0.0;

    *out = (fre_lengths){(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (n == 0)
        return;
    qsort(length, n, sizeof *length, compare_size);
    for (size_t i = 0; i < n; i++)
        sum += (double)length[i];
    out->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)length[i] - out->mean) * ((double)length[i] - out->mean);
    if (n > 1)
        out->sd = sqrt(squares / (double)(n - 1));
    out->p10 = percentile(length, n, 0.1);
    out->median = percentile(length, n, 0.5);
    out->p90 = percentile(length, n, 0.9);
}

fre_status evaluate_lengths_find(fre_lengths *words, fre_lengths *characters,
                                 const evaluate_words *w)
{
    size_t *length = malloc((w->n + 1) * sizeof *length);

    if (!length)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < w->n; i++)
        length[i] = words_of(w, i);
    summarise(words, length, w->n);
    memcpy(length, w->characters, w->n * sizeof *length);
    summarise(characters, length, w->n);
    free(length);
    return FRE_OK;
}
