/* index.c - a public corpus read and its words counted. */
#include "index_file.h"
#include "public_corpus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <fre/corpus.h>
#include <fre/map.h>

/* ---- distinct texts -------------------------------------------------------------------------- */

/* Counts each text once: the map has its number. */
typedef struct table {
    inv_texts *t;
    fre_text_map map; /* a hostile corpus can't aim at its slots */
} table;

static void texts_wipe(inv_texts *t)
{
    fre_buf_wipe(&t->text);
    free(t->at);
    free(t->count);
    memset(t, 0, sizeof *t);
}

static fre_status texts_grow(inv_texts *t)
{
    const size_t cap = t->cap ? 2 * t->cap : 1024;
    uint64_t *at;
    uint32_t *count;

    if (t->n < t->cap)
        return FRE_OK;
    at = realloc(t->at, (cap + 1) * sizeof *at);
    if (!at)
        return FRE_E_NOMEM;
    t->at = at;
    at[0] = t->n == 0 ? 0 : at[0];
    count = realloc(t->count, cap * sizeof *count);
    if (!count)
        return FRE_E_NOMEM;
    t->count = count;
    t->cap = cap;
    return FRE_OK;
}

/* Count a text, keeping the first spelling; equal but for case is equal.  n <= INV_INDEX_TEXT_MAX. */
static fre_status table_add(table *b, const char *text, size_t n)
{
    char lower[INV_INDEX_TEXT_MAX];
    uint32_t at;
    bool added;
    fre_status st = texts_grow(b->t);

    for (size_t i = 0; i < n; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    if (st == FRE_OK)
        st = fre_text_map_put(&b->map, &at, &added, lower, n);
    if (st == FRE_OK && added)
        st = fre_buf_append(&b->t->text, text, n);
    if (st != FRE_OK)
        return st;
    if (added) {
        b->t->count[at] = 1;
        b->t->at[++b->t->n] = b->t->text.n;
    } else {
        b->t->count[at] += b->t->count[at] < UINT32_MAX;
    }
    return FRE_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool in_word(unsigned char c)
{
    return isalnum(c) || c == '\'' || c >= 0x80;
}

static fre_status add_words(table *b, const char *text, size_t n)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < n && st == FRE_OK;) {
        char word[INV_INDEX_WORD_MAX];
        size_t m = 0, from = i;

        while (i < n && in_word((unsigned char)text[i])) {
            if (m < sizeof word)
                word[m++] = (char)tolower((unsigned char)text[i]);
            i++;
        }
        if (m > 0 && i - from <= sizeof word)
            st = table_add(b, word, m);
        if (i == from)
            i++;
    }
    return st;
}

typedef struct ranked {
    uint32_t count, id;
} ranked;

static int by_count(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The most frequent words, most frequent first. */
static fre_status keep_frequent(inv_texts *out, const inv_texts *all)
{
    ranked *r = malloc((all->n ? all->n : 1) * sizeof *r);
    fre_status st = r ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < all->n; i++)
        r[i] = (ranked){.count = all->count[i], .id = (uint32_t)i};
    if (st == FRE_OK)
        qsort(r, all->n, sizeof *r, by_count);
    for (size_t i = 0; st == FRE_OK && i < all->n && i < INV_INDEX_WORDS; i++) {
        const uint64_t at = all->at[r[i].id];

        st = texts_grow(out);
        if (st == FRE_OK)
            st = fre_buf_append(&out->text, all->text.p + at, (size_t)(all->at[r[i].id + 1u] - at));
        if (st != FRE_OK)
            break;
        out->count[out->n] = r[i].count;
        out->at[++out->n] = out->text.n;
    }
    free(r);
    return st;
}

/* ---- collecting ------------------------------------------------------------------------------- */

typedef struct collector {
    inv_texts texts, words, all; /* all: every word, until the frequent ones are kept */
    table t, w;
} collector;

static fre_status collector_init(collector *c)
{
    fre_status st;

    memset(c, 0, sizeof *c);
    fre_buf_init(&c->texts.text, SIZE_MAX / 2);
    fre_buf_init(&c->words.text, SIZE_MAX / 2);
    fre_buf_init(&c->all.text, SIZE_MAX / 2);
    c->t.t = &c->texts;
    c->w.t = &c->all;
    st = fre_text_map_init(&c->t.map);
    return st == FRE_OK ? fre_text_map_init(&c->w.map) : st;
}

static void collector_wipe(collector *c)
{
    fre_text_map_wipe(&c->t.map);
    fre_text_map_wipe(&c->w.map);
    texts_wipe(&c->texts);
    texts_wipe(&c->words);
    texts_wipe(&c->all);
}

static fre_status collect(collector *c, const char *text, size_t n)
{
    fre_status st;

    if (n == 0 || n > INV_INDEX_TEXT_MAX)
        return FRE_OK;
    if (c->texts.n >= INV_INDEX_MAX)
        return FRE_E_LIMIT;
    st = table_add(&c->t, text, n);
    return st == FRE_OK ? add_words(&c->w, text, n) : st;
}

static fre_status read_corpus(collector *k, fre_corpus *c, fre_err *err)
{
    fre_record rec;
    bool more = true;
    fre_status st = inv_corpus_again(c, err);

    while (st == FRE_OK) {
        st = fre_corpus_next(c, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        st = collect(k, rec.text, rec.text_len);
    }
    if (st == FRE_OK && k->texts.n == 0)
        st = fre_fail(err, FRE_E_DATA,
                      "the public corpus has no usable text (lines of at most %u bytes); give "
                      "another file, or leave {public_corpus} out",
                      INV_INDEX_TEXT_MAX);
    return st;
}

/* ---- texts of a language model ---------------------------------------------------------------- */

/* What is asked for; each gets as many continuations. */
static const char *const prompt[] = {
    "Things that people say to a voice assistant:\n- play some music\n-",
    "Questions that people type into a search engine:\n- what is the capital of France\n-",
    "What customers write to their bank:\n- I want to report a lost card\n-",
    "Everyday sentences:\n- I have to get up early tomorrow.\n-",
    "Short descriptions of programs and devices:\n- a small tool for editing pictures\n-",
    "What travellers ask:\n- book a flight to London\n-",
    "Opinions in one sentence:\n- The film was too long for me.\n-",
    "Requests at home and at work:\n- please send me the report\n-",
};
#define PROMPTS (sizeof prompt / sizeof *prompt)
#define EACH 64u

static fre_status ask_model(collector *k, fre_lm *lm, const fre_progress *progress, fre_err *err)
{
    const fre_lm_sampling how = {
        .temperature = 1.0, .top_k = 200, .max_new = 24, .stop_at_newline = true, .seed = 1};
    fre_status st = FRE_OK;

    for (size_t p = 0; p < PROMPTS && st == FRE_OK; p++) {
        char *out[EACH] = {NULL};

        fre_progress_update(progress, "language model", p, PROMPTS);
        st = fre_lm_sample(lm, out, EACH, prompt[p], strlen(prompt[p]), &how, err);
        for (size_t i = 0; i < EACH; i++) {
            if (st == FRE_OK && out[i])
                st = collect(k, out[i], strlen(out[i]));
            free(out[i]);
        }
    }
    if (st == FRE_OK && k->texts.n == 0)
        st = fre_fail(err, FRE_E_MODEL,
                      "the language model wrote no text to start from; give {public_corpus} FILE "
                      "or another model");
    return st;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static fre_status make(inv_index *x, const inv_index_key *k, fre_corpus *corpus, fre_lm *lm,
                       fre_embedder *e, const fre_progress *progress, fre_err *err)
{
    collector c;
    fre_status st = collector_init(&c);

    if (st != FRE_OK)
        return st;
    st = corpus ? read_corpus(&c, corpus, err) : ask_model(&c, lm, progress, err);
    if (st == FRE_OK)
        st = keep_frequent(&c.words, &c.all);
    if (st == FRE_OK)
        st = inv_index_write(x, k, e, &c.texts, &c.words, progress, err);
    collector_wipe(&c);
    return st;
}

fre_status inv_index_open(inv_index **out, fre_corpus *corpus, const char *path, fre_lm *lm,
                          fre_embedder *e, const fre_progress *progress, fre_err *err)
{
    inv_index *x = calloc(1, sizeof *x);
    inv_index_key *k = calloc(1, sizeof *k);
    fre_status st = x && k ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = inv_index_key_make(k, corpus, path, corpus ? NULL : fre_lm_info(lm)->sha256, e, err);
    if (st == FRE_OK && !inv_index_load(x, k, fre_embedder_info(e)->dim))
        st = make(x, k, corpus, lm, e, progress, err);
    free(k);
    if (st == FRE_OK) {
        *out = x;
        return FRE_OK;
    }
    free(x);
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory for the index of the public corpus")
                             : st;
}

void inv_index_free(inv_index *x)
{
    if (!x)
        return;
    (void)munmap(x->map, x->map_len);
    free(x);
}
