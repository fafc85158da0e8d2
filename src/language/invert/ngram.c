/* ngram.c - words and pairs of neighbours in the public texts nearest to a centroid, weighted by
 * nearness: a small language model of what is talked about there.  Interpolated pairs and single
 * words (Jelinek and Mercer, 1980).  Words are what stands between spaces, case aside. */
#include "ngram.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_SHARE 0.7          /* of a word's probability, from its left neighbour */
#define WORD_SHARE 0.27         /* from its frequency */
#define UNSEEN (0.03 / 20000.0) /* the rest, spread over as many words as an index has */
#define BLEND 0.05              /* chance, in a pick, of a word that neither neighbour knows */
#define TEXT_WORDS 64u

typedef struct entry {
    uint64_t key; /* word: its hash; pair: both mixed; 0: free */
    double weight;
    uint32_t at; /* word: its place in spelling; pair: the number of the right word */
    uint32_t left;
} entry;

typedef struct counts {
    entry *e;
    size_t n, mask;
} counts;

struct inv_ngram {
    fre_buf spelling;
    counts words, pairs;
    double total;  /* of all words, ends of text among them */
    double *share; /* workspace of a pick: running sums, one a slot of words */
    size_t n_share;
};

static uint64_t hash_word(const char *w, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint64_t)tolower((unsigned char)w[i])) * UINT64_C(0x100000001b3);
    h ^= h >> 29;
    return h | 1; /* n = 0: the end of a text */
}

static uint64_t hash_pair(uint64_t left, uint64_t right)
{
    uint64_t h = (left * UINT64_C(0x9E3779B97F4A7C15)) ^ (right + (left >> 31));

    h *= UINT64_C(0xD6E8FEB86659FD93);
    return (h ^ h >> 32) | 1;
}

static entry *find(const counts *c, uint64_t key)
{
    size_t at;

    if (!c->e)
        return NULL;
    for (at = (size_t)(key >> 7) & c->mask; c->e[at].key && c->e[at].key != key;
         at = (at + 1) & c->mask)
        ;
    return &c->e[at];
}

static fre_status grow(counts *c)
{
    counts old = *c;
    size_t size = old.e ? 2 * (old.mask + 1) : 1024;

    if (old.e && 2 * (old.n + 1) <= old.mask)
        return FRE_OK;
    c->e = calloc(size, sizeof *c->e);
    if (!c->e) {
        *c = old;
        return FRE_E_NOMEM;
    }
    c->mask = size - 1;
    for (size_t i = 0; old.e && i <= old.mask; i++)
        if (old.e[i].key)
            *find(c, old.e[i].key) = old.e[i];
    free(old.e);
    return FRE_OK;
}

/* The entry of a key, new or old. */
static fre_status reach(counts *c, entry **out, uint64_t key)
{
    fre_status st = grow(c);

    if (st != FRE_OK || !c->e) /* a grown table is there; gcc can't see it */
        return st != FRE_OK ? st : FRE_E_NOMEM;
    *out = find(c, key);
    if (!(*out)->key) {
        (*out)->key = key;
        c->n++;
    }
    return FRE_OK;
}

fre_status inv_ngram_new(inv_ngram **out)
{
    inv_ngram *g = calloc(1, sizeof *g);

    if (!g)
        return FRE_E_NOMEM;
    fre_buf_init(&g->spelling, 1u << 24);
    *out = g;
    return FRE_OK;
}

void inv_ngram_free(inv_ngram *g)
{
    if (!g)
        return;
    fre_buf_wipe(&g->spelling);
    free(g->words.e);
    free(g->pairs.e);
    free(g->share);
    free(g);
}

static fre_status count_word(inv_ngram *g, uint64_t key, const char *w, size_t n, double weight)
{
    entry *e = NULL;
    fre_status st = reach(&g->words, &e, key);

    if (st != FRE_OK)
        return st;
    if (e->weight <= 0) {
        e->at = (uint32_t)g->spelling.n;
        st = fre_buf_append(&g->spelling, w, n);
        if (st == FRE_OK)
            st = fre_buf_append(&g->spelling, "", 1);
    }
    e->weight += weight;
    g->total += weight;
    return st;
}

static fre_status count_pair(inv_ngram *g, uint64_t left, uint64_t right, double weight)
{
    entry *e = NULL;
    fre_status st = reach(&g->pairs, &e, hash_pair(left, right));

    if (st == FRE_OK)
        e->weight += weight;
    return st;
}

fre_status inv_ngram_add(inv_ngram *g, const char *text, size_t n, double weight)
{
    uint64_t last = hash_word("", 0);
    fre_status st = count_word(g, last, "", 0, weight);

    for (size_t i = 0; i < n && st == FRE_OK;) {
        size_t from = i;
        uint64_t key;

        while (i < n && text[i] != ' ')
            i++;
        if (i > from) {
            key = hash_word(text + from, i - from);
            st = count_word(g, key, text + from, i - from, weight);
            if (st == FRE_OK)
                st = count_pair(g, last, key, weight);
            last = key;
        }
        i++;
    }
    return st == FRE_OK ? count_pair(g, last, hash_word("", 0), weight) : st;
}

static double weight_of(const counts *c, uint64_t key)
{
    const entry *e = find(c, key);

    return e ? e->weight : 0;
}

static double logp(const inv_ngram *g, uint64_t left, uint64_t right)
{
    const double before = weight_of(&g->words, left);
    const double pair = weight_of(&g->pairs, hash_pair(left, right));
    double p = UNSEEN;

    if (before > 0)
        p += PAIR_SHARE * pair / before;
    if (g->total > 0)
        p += WORD_SHARE * weight_of(&g->words, right) / g->total;
    return log(p);
}

double inv_ngram_logp(const inv_ngram *g, const char *text)
{
    uint64_t last = hash_word("", 0);
    double sum = 0;

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");

        if (n > 0) {
            const uint64_t key = hash_word(p, n);

            sum += logp(g, last, key);
            last = key;
        }
        p += n;
        p += *p == ' ';
    }
    return sum + logp(g, last, hash_word("", 0));
}

const char *inv_ngram_pick(inv_ngram *g, const char *left, size_t left_len, const char *right,
                           size_t right_len, fre_rng *rng)
{
    const uint64_t l = hash_word(left, left_len), r = hash_word(right, right_len);
    const uint64_t end = hash_word("", 0);
    const double nl = weight_of(&g->words, l), nr = weight_of(&g->words, r);
    const size_t n = g->words.e ? g->words.mask + 1 : 0;
    double total = 0, u;

    if (g->n_share < n) {
        double *share = realloc(g->share, n * sizeof *share);

        if (!share)
            return NULL;
        g->share = share;
        g->n_share = n;
    }
    for (size_t i = 0; i < n; i++) {
        const entry *e = &g->words.e[i];

        if (e->key && e->key != end) {
            total += BLEND * e->weight / g->total;
            if (nl > 0)
                total += weight_of(&g->pairs, hash_pair(l, e->key)) / nl;
            if (nr > 0)
                total += weight_of(&g->pairs, hash_pair(e->key, r)) / nr;
        }
        g->share[i] = total;
    }
    u = total * (double)(fre_rng_u64(rng) >> 11) * 0x1p-53;
    for (size_t i = 0; i < n; i++)
        if (u < g->share[i])
            return (const char *)g->spelling.p + g->words.e[i].at;
    return NULL;
}
