/* vocabulary.c - words of public text and pairs of neighbours among them, counted: which words there
 * are, which stand beside which, and where sentences end.  The embedder takes any letters for a word
 * and hardly sees order; this does.  Interpolated pairs with absolute discounting (Ney, Essen, Kneser,
 * Computer Speech and Language 8, 1994).  train/vocabulary.py makes the file. */
#include "vocabulary.h"

#include "tuning.h"

#include <fre/invert.h>
#include <fre/model.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY(name) FRE_VOCABULARY_ARCHITECTURE "." name
#define WORDS_MAX (1u << 22)
#define PAIRS_MAX (1u << 26)
#define DISCOUNT 0.75
#define END_PRIOR 5.0 /* sentences */
#define RARE_BELOW 10.0 /* times: names, terms and slips that public text hardly has */
#define USUAL 1.0     /* nats by which neighbours in a sentence come together more than by chance */

/* Worth in nats (docs/decisions/0012). */
#define TOGETHER_WEIGHT 2.0
#define UNKNOWN_COST 30.0 /* of each word */
#define END_WEIGHT 6.0    /* of what an end lacks of END_LEAST */
#define END_LEAST (-4.4)
#define END_COMMA (-8.0) /* ln p of an end after a comma, which public text does not have */

#define NONE UINT32_MAX

struct inv_vocabulary {
    uint32_t n, pairs;
    double total;    /* of all counts */
    uint64_t *hash;  /* n, ascending; word i has number i + 1, the edge of a sentence has 0 */
    float *p;        /* n + 1: of a word, whatever stands before it */
    float *rest;     /* n + 1: share of what follows a word that its pairs leave to the above */
    uint32_t *first; /* n + 2: where the pairs of a word begin */
    uint32_t *right; /* pairs, ascending for each left word */
    float *share;    /* pairs: discounted, of what follows the left word */
    uint8_t sha256[FRE_HASH_BYTES];
};

void inv_vocabulary_free(inv_vocabulary *v)
{
    if (!v)
        return;
    free(v->hash);
    free(v->p);
    free(v->rest);
    free(v->first);
    free(v->right);
    free(v->share);
    free(v);
}

const uint8_t *inv_vocabulary_sha256(const inv_vocabulary *v)
{
    return v->sha256;
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct source {
    const float *high, *low, *count, *of_word, *right, *pair_count; /* borrowed */
} source;

static fre_status find_tensors(source *s, const inv_vocabulary *v, const fre_tensors *t,
                               fre_err *err)
{
    fre_status st = fre_tensors_get(t, &s->high, "word_high", 1, v->n, err);

    if (st != FRE_OK)
        return st;
    st = fre_tensors_get(t, &s->low, "word_low", 1, v->n, err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_get(t, &s->count, "word_count", 1, v->n + (size_t)1, err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_get(t, &s->of_word, "pairs_of_word", 1, v->n + (size_t)1, err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_get(t, &s->right, "pair_right", 1, v->pairs, err);
    if (st != FRE_OK)
        return st;
    st = fre_tensors_get(t, &s->pair_count, "pair_count", 1, v->pairs, err);
    return st;
}

static bool whole(float x, double below)
{
    return x >= 0 && (double)x < below && !(x > floorf(x));
}

static bool read_words(inv_vocabulary *v, const source *s)
{
    double total = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        if (!whole(s->high[i], 0x1p24) || !whole(s->low[i], 0x1p24))
            return false;
        v->hash[i] = (uint64_t)s->high[i] << 24 | (uint64_t)s->low[i];
        if (i > 0 && v->hash[i] <= v->hash[i - 1])
            return false;
    }
    for (uint32_t i = 0; i <= v->n; i++) {
        if (!(s->count[i] >= 0 && s->count[i] < 50))
            return false;
        total += exp((double)s->count[i]);
    }
    for (uint32_t i = 0; i <= v->n; i++)
        v->p[i] = (float)(exp((double)s->count[i]) / total);
    v->total = total;
    return true;
}

static bool read_pairs(inv_vocabulary *v, const source *s)
{
    v->first[0] = 0;
    for (uint32_t w = 0; w <= v->n; w++) {
        const double left = exp((double)s->count[w]);
        double kept = 0;

        if (!whole(s->of_word[w], (double)(v->pairs - v->first[w]) + 1))
            return false;
        v->first[w + 1] = v->first[w] + (uint32_t)s->of_word[w];
        for (uint32_t i = v->first[w]; i < v->first[w + 1]; i++) {
            if (!whole(s->right[i], (double)v->n + 1) || !(s->pair_count[i] < 50) ||
                (i > v->first[w] && s->right[i] <= s->right[i - 1]))
                return false;
            v->right[i] = (uint32_t)s->right[i];
            v->share[i] = (float)fmax((exp((double)s->pair_count[i]) - DISCOUNT) / left, 0);
            kept += (double)v->share[i];
        }
        if (kept > 1.01) /* counts are rounded to a thousandth */
            return false;
        v->rest[w] = (float)fmax(1 - kept, 1e-3);
    }
    return v->first[v->n + 1] == v->pairs;
}

static fre_status read_all(inv_vocabulary *v, const fre_tensors *t, const char *path, fre_err *err)
{
    const size_t n = v->n, pairs = v->pairs;
    source s;
    fre_status st = find_tensors(&s, v, t, err);

    if (st != FRE_OK)
        return st;
    v->hash = malloc(n * sizeof *v->hash);
    v->p = malloc((n + 1) * sizeof *v->p);
    v->rest = malloc((n + 1) * sizeof *v->rest);
    v->first = malloc((n + 2) * sizeof *v->first);
    v->right = malloc(pairs * sizeof *v->right);
    v->share = malloc(pairs * sizeof *v->share);
    if (!v->hash || !v->p || !v->rest || !v->first || !v->right || !v->share)
        return FRE_E_NOMEM;
    if (!read_words(v, &s) || !read_pairs(v, &s))
        return fre_fail(
            err, FRE_E_MODEL,
            "%s: its words and counts contradict each other; the file is damaged, fetch "
            "it again",
            path);
    memcpy(v->sha256, fre_tensors_sha256(t), sizeof v->sha256);
    return FRE_OK;
}

fre_status inv_vocabulary_open(inv_vocabulary **out, const char *path, fre_err *err)
{
    fre_tensors *t = NULL;
    inv_vocabulary *v = calloc(1, sizeof *v);
    fre_status st = v ? fre_tensors_open(&t, path, FRE_VOCABULARY_ARCHITECTURE, err) : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    st = fre_tensors_u32(t, &v->n, KEY("words"), err);
    if (st != FRE_OK)
        goto out;
    st = fre_tensors_u32(t, &v->pairs, KEY("pairs"), err);
    if (st == FRE_OK && (v->n == 0 || v->n > WORDS_MAX || v->pairs == 0 || v->pairs > PAIRS_MAX))
        st = fre_fail(err, FRE_E_MODEL, "%s: a vocabulary of %u words and %u pairs is none", path,
                      v->n, v->pairs);
    if (st != FRE_OK)
        goto out;
    st = read_all(v, t, path, err);
    if (st != FRE_OK)
        goto out;
    *out = v;
    v = NULL; /* handed over */
out:
    fre_tensors_free(t);
    inv_vocabulary_free(v);
    return st;
}

/* ---- what a text is worth -------------------------------------------------------------------- */

static bool letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Length of a closing or straight apostrophe at s, 0: none. */
static size_t apostrophe(const char *s)
{
    return *s == '\'' ? 1 : strncmp(s, "\xe2\x80\x99", 3) == 0 ? 3 : 0;
}

static uint64_t hash_byte(uint64_t h, char c)
{
    return (h ^ (uint64_t)tolower((unsigned char)c)) * UINT64_C(0x100000001b3);
}

/* The word at s, which is a letter or digit: its hash, and its length in bytes. */
static uint64_t read_word(const char *s, size_t *len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t n = 0;

    if (isdigit((unsigned char)*s)) {
        n = strcspn(s, " ");
        h = hash_byte(h, '#');
    }
    while (!isdigit((unsigned char)*s) && s[n]) {
        const size_t mark = apostrophe(s + n);

        if (mark > 0 && (n == 0 || !letter(s[n + mark]) || apostrophe(s + n + mark) > 0))
            break;
        if (mark == 0 && !letter(s[n]))
            break;
        h = hash_byte(h, mark > 0 ? '\'' : s[n]);
        n += mark > 0 ? mark : 1;
    }
    *len = n;
    return (h ^ h >> 29) & UINT64_C(0xffffffffffff);
}

static uint32_t number_of(const inv_vocabulary *v, uint64_t hash)
{
    size_t low = 0, high = v->n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (v->hash[mid] < hash)
            low = mid + 1;
        else
            high = mid;
    }
    return low < v->n && v->hash[low] == hash ? (uint32_t)low + 1 : NONE;
}

static double pair_share(const inv_vocabulary *v, uint32_t left, uint32_t right)
{
    uint32_t low = v->first[left], high = v->first[left + 1];

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (v->right[mid] < right)
            low = mid + 1;
        else
            high = mid;
    }
    return low < v->first[left + 1] && v->right[low] == right ? (double)v->share[low] : 0;
}

/* ln p(right | left) / p(right), how much more often than by chance the one follows the other, as far
 * as it lacks of USUAL: more is no merit, or phrases that are said often would be said twice. */
static double together(const inv_vocabulary *v, uint32_t left, uint32_t right)
{
    if (left == NONE || right == NONE)
        return 0;
    return fmin(
        log((double)v->rest[left] + pair_share(v, left, right) / (double)v->p[right]) - USUAL, 0);
}

/* ln p(end | left).  That a frequent word never ends a sentence is proof, so what its pairs leave is
 * not spread as it is for words: END_PRIOR average sentences are added. */
static double log_end(const inv_vocabulary *v, uint32_t left)
{
    const double average = (double)v->p[0];
    double times, ended;

    if (left == NONE)
        return log(average);
    times = (double)v->p[left] * v->total;
    ended = pair_share(v, left, 0) * times;
    return log((ended + END_PRIOR * average) / (times + END_PRIOR));
}

/* Known, but hardly: counts are rounded, so half a time is allowed. */
static bool is_rare(const inv_vocabulary *v, uint32_t word)
{
    return word != NONE && (double)v->p[word] * v->total < RARE_BELOW - 0.5;
}

static bool are_neighbours(const inv_vocabulary *v, uint32_t left, uint32_t right)
{
    return left != NONE && right != NONE && pair_share(v, left, right) > 0;
}

/* The word after *last, 0: the end.  A rare one is out of place if public text has neither of its
 * neighbours beside it ("Qui" is a name, and only before "Sheng"). */
static void place(inv_usage *u, const inv_vocabulary *v, uint32_t *last, uint32_t word, bool *alone)
{
    u->rare += *alone && !are_neighbours(v, *last, word);
    *alone = is_rare(v, word) && !are_neighbours(v, *last, word);
    *last = word;
}

static void end_sentence(inv_usage *u, const inv_vocabulary *v, uint32_t *last, bool *alone)
{
    if (*last == 0)
        return;
    u->end = log_end(v, *last);
    u->together += fmin(u->end - log((double)v->p[0]) - USUAL, 0);
    place(u, v, last, 0, alone);
    *alone = false;
}

static bool ends_in_comma(const char *text)
{
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n > 0 && text[n - 1] == ',';
}

inv_usage inv_vocabulary_read(const inv_vocabulary *v, const char *text)
{
    inv_usage u = {0};
    uint32_t last = 0;
    bool alone = false; /* the last word is rare, and what stands before it strange to it */

    for (const char *s = text; *s;) {
        size_t n = 1;

        if ((letter(*s) && apostrophe(s) == 0) || isdigit((unsigned char)*s)) {
            const uint32_t word = number_of(v, read_word(s, &n));

            u.unknown += word == NONE && n > 1;
            u.doubled += word != NONE && word == last && !(pair_share(v, word, word) > 0);
            u.together += together(v, last, word);
            place(&u, v, &last, word, &alone);
        } else if (strchr(".?!", *s) && s[1] == ' ') {
            end_sentence(&u, v, &last, &alone);
        }
        s += n;
    }
    end_sentence(&u, v, &last, &alone);
    if (ends_in_comma(text))
        u.end = END_COMMA;
    return u;
}

inv_usage inv_vocabulary_read_part(const inv_vocabulary *v, const char *text, size_t len)
{
    char copy[INV_TEXT_MAX + 1];

    if (len > INV_TEXT_MAX)
        return (inv_usage){0};
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inv_vocabulary_read(v, copy);
}

double inv_vocabulary_worth(const inv_vocabulary *v, const char *text)
{
    const inv_usage u = inv_vocabulary_read(v, text);

    return TOGETHER_WEIGHT * u.together - UNKNOWN_COST * u.unknown +
           END_WEIGHT * fmin(u.end - END_LEAST, 0);
}

fre_status inv_vocabulary_find(inv_vocabulary **out, fre_err *err)
{
    char path[4096];

    if (fre_model_find(path, sizeof path, FRE_VOCABULARY_DEFAULT, NULL) != FRE_OK)
        return FRE_OK;
    return inv_vocabulary_open(out, path, err);
}
