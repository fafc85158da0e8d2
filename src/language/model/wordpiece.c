/* See wordpiece.h. */
#include "wordpiece.h"

#include "bert_text.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#define WORD_CHARS_MAX 100u
#define SPACE_MARK "\xe2\x96\x81" /* U+2581 */
#define SPACE_MARK_BYTES 3u
#define HASH_START UINT64_C(0xcbf29ce484222325) /* FNV-1a */
#define HASH_PRIME UINT64_C(0x100000001b3)

typedef struct piece {
    const char *text;
    uint32_t len;
    int32_t id;
} piece;

/* A table of its own, not fre/map.h: every prefix of a word is looked up, by a hash that the next character
 * extends (docs/decisions/0019). */
struct fre_wordpiece {
    piece *slot; /* open addressing by the hash of the spelling; text NULL: free */
    size_t n_slots;
    size_t longest; /* bytes of a spelling */
    int32_t unknown, begin, end;
    bool lower, strip;
};

static uint64_t hash_on(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * HASH_PRIME;
    return h;
}

static size_t slot_of(const fre_wordpiece *w, uint64_t h)
{
    return (size_t)(h ^ h >> 32) & (w->n_slots - 1);
}

static void add_piece(fre_wordpiece *w, const char *text, int32_t id)
{
    const size_t len = strlen(text);
    size_t s = slot_of(w, hash_on(HASH_START, text, len));

    while (w->slot[s].text)
        s = (s + 1) & (w->n_slots - 1);
    w->slot[s] = (piece){.text = text, .len = (uint32_t)len, .id = id};
    if (len > w->longest)
        w->longest = len;
}

static bool is_capital(const char *text)
{
    if (strncmp(text, SPACE_MARK, SPACE_MARK_BYTES) == 0)
        text += SPACE_MARK_BYTES;
    return text[0] >= 'A' && text[0] <= 'Z' && !text[1];
}

fre_status fre_wordpiece_new(fre_wordpiece **out, const fre_wordpiece_opts *opts,
                             fre_wordpiece_text text, fre_wordpiece_special special,
                             const void *ctx)
{
    fre_wordpiece *w = calloc(1, sizeof *w);
    bool capitals = false;

    if (!w)
        return FRE_E_NOMEM;
    w->unknown = opts->unknown;
    w->begin = opts->begin;
    w->end = opts->end;
    w->n_slots = 64;
    while (w->n_slots < 2 * (size_t)opts->n)
        w->n_slots *= 2;
    w->slot = calloc(w->n_slots, sizeof *w->slot);
    if (!w->slot) {
        fre_wordpiece_free(w);
        return FRE_E_NOMEM;
    }
    for (uint32_t i = 0; i < opts->n; i++) {
        const char *t = text(ctx, (int32_t)i);

        if (w->unknown < 0 && strcmp(t, "[UNK]") == 0)
            w->unknown = (int32_t)i;
        if (t[0] && !special(ctx, (int32_t)i)) {
            add_piece(w, t, (int32_t)i);
            capitals = capitals || is_capital(t);
        }
    }
    w->lower = opts->has_lower ? opts->lower : !capitals;
    w->strip = opts->has_strip ? opts->strip : w->lower;
    if (w->unknown < 0) {
        fre_wordpiece_free(w);
        return FRE_E_MODEL;
    }
    *out = w;
    return FRE_OK;
}

void fre_wordpiece_free(fre_wordpiece *w)
{
    if (!w)
        return;
    free(w->slot);
    free(w);
}

bool fre_wordpiece_is_inside(const char *spelling)
{
    return strncmp(spelling, SPACE_MARK, SPACE_MARK_BYTES) != 0;
}

int32_t fre_wordpiece_unknown(const fre_wordpiece *w)
{
    return w->unknown;
}

/* ---- one word ---------------------------------------------------------------------------------- */

typedef struct word {
    /* Behind the mark of a word's start; char i: bytes at[i] .. at[i + 1] - 1. */
    char text[SPACE_MARK_BYTES + 4 * WORD_CHARS_MAX];
    size_t at[WORD_CHARS_MAX + 1];
    size_t n;
} word;

/* Id of a spelling whose hash is h; -1: none. */
static int32_t find(const fre_wordpiece *w, uint64_t h, const char *text, size_t len)
{
    for (size_t s = slot_of(w, h); w->slot[s].text; s = (s + 1) & (w->n_slots - 1))
        if (w->slot[s].len == len && memcmp(w->slot[s].text, text, len) == 0)
            return w->slot[s].id;
    return -1;
}

/* The longest token that the characters from `from` on begin with; *end: where it ends; -1: none. */
static int32_t longest_match(const fre_wordpiece *w, const word *x, size_t from, size_t *end)
{
    const char *start = from == 0 ? x->text : x->text + x->at[from];
    uint64_t h = from == 0 ? hash_on(HASH_START, x->text, SPACE_MARK_BYTES) : HASH_START;
    int32_t best = -1;

    /* A spelling that goes on with U+2581 would read as the start of a word. */
    if (from > 0 && strncmp(start, SPACE_MARK, SPACE_MARK_BYTES) == 0)
        return -1;
    for (size_t i = from; i < x->n; i++) {
        const size_t len = (size_t)(x->text + x->at[i + 1] - start);
        int32_t id;

        if (len > w->longest)
            break;
        h = hash_on(h, x->text + x->at[i], x->at[i + 1] - x->at[i]);
        id = find(w, h, start, len);
        if (id >= 0) {
            best = id;
            *end = i + 1;
        }
    }
    return best;
}

/* Pieces of a word into `ids` (room for WORD_CHARS_MAX). */
static size_t cut_word(const fre_wordpiece *w, int32_t *ids, const uint32_t *c, size_t n)
{
    word x = {.text = SPACE_MARK, .n = n};
    size_t pieces = 0;

    ids[0] = w->unknown;
    if (n > WORD_CHARS_MAX)
        return 1;
    x.at[0] = SPACE_MARK_BYTES;
    for (size_t i = 0; i < n; i++)
        x.at[i + 1] = x.at[i] + (size_t)utf8proc_encode_char((utf8proc_int32_t)c[i],
                                                             (utf8proc_uint8_t *)x.text + x.at[i]);
    for (size_t from = 0; from < n;) {
        const int32_t id = longest_match(w, &x, from, &from);

        if (id < 0) {
            ids[0] = w->unknown;
            pieces = 1;
            break;
        }
        ids[pieces++] = id;
    }
    fre_wipe(&x, sizeof x);
    return pieces;
}

/* ---- a text ------------------------------------------------------------------------------------ */

typedef struct list {
    int32_t *ids;
    size_t n, cap;
} list;

static void add(list *l, int32_t id)
{
    if (l->n < l->cap)
        l->ids[l->n] = id;
    l->n++;
}

static void add_words(const fre_wordpiece *w, list *l, const fre_bert_chars *chars)
{
    int32_t ids[WORD_CHARS_MAX];

    for (size_t i = 0; i < chars->n;) {
        size_t end = i + 1, pieces;

        if (chars->p[i] == ' ') {
            i++;
            continue;
        }
        if (!fre_bert_is_punctuation(chars->p[i]))
            while (end < chars->n && chars->p[end] != ' ' &&
                   !fre_bert_is_punctuation(chars->p[end]))
                end++;
        pieces = cut_word(w, ids, chars->p + i, end - i);
        for (size_t j = 0; j < pieces; j++)
            add(l, ids[j]);
        i = end;
    }
}

fre_status fre_wordpiece_run(const fre_wordpiece *w, int32_t *ids, size_t *n, const char *text,
                             size_t len, bool special)
{
    fre_bert_chars chars = {0};
    list l = {.ids = ids, .cap = *n};
    fre_status st = fre_bert_clean(&chars, text, len, w->lower, w->strip);

    if (st == FRE_OK) {
        if (special)
            add(&l, w->begin);
        add_words(w, &l, &chars);
        if (special)
            add(&l, w->end);
        if (special && l.n > l.cap && l.cap > 0)
            ids[l.cap - 1] = w->end;
        *n = l.n;
    }
    if (chars.p)
        fre_wipe(chars.p, chars.cap * sizeof *chars.p);
    free(chars.p);
    return st;
}
