/* words.c - edits of whole words: moved, swapped, dropped, joined; new ones from the nearest public
 * texts, by their neighbours, or from what the distance asks for.  A mean-pooled embedding says
 * much about the words of a text and less about their order, so order is searched as much as words
 * are. */
#include "edit.h"

#include <string.h>

#define WORDS_MAX 64u

typedef struct words {
    const char *at[WORDS_MAX];
    size_t len[WORDS_MAX];
    uint32_t n;
} words;

static uint32_t below(fre_rng *rng, uint32_t n)
{
    return (uint32_t)fre_rng_below(rng, n);
}

static void split(words *w, const char *text)
{
    w->n = 0;
    for (const char *p = text; *p && w->n < WORDS_MAX;) {
        w->at[w->n] = p;
        w->len[w->n] = strcspn(p, " ");
        p += w->len[w->n];
        p += *p == ' ';
        w->n++;
    }
}

static size_t join(char out[INV_TEXT_MAX], const words *w)
{
    size_t n = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        if (n + w->len[i] + 2 > INV_TEXT_MAX)
            return 0;
        if (i > 0)
            out[n++] = ' ';
        memcpy(out + n, w->at[i], w->len[i]);
        n += w->len[i];
    }
    out[n] = '\0';
    return n;
}

static void put(words *w, uint32_t at, const char *word, size_t len)
{
    w->at[at] = word;
    w->len[at] = len;
}

static void drop(words *w, uint32_t at)
{
    for (uint32_t i = at; i + 1 < w->n; i++)
        put(w, i, w->at[i + 1], w->len[i + 1]);
    w->n--;
}

static bool insert(words *w, uint32_t at, const char *word, size_t len)
{
    if (w->n == WORDS_MAX)
        return false;
    for (uint32_t i = w->n++; i > at; i--)
        put(w, i, w->at[i - 1], w->len[i - 1]);
    put(w, at, word, len);
    return true;
}

/* One or two words to another place. */
static bool move(words *w, fre_rng *rng)
{
    words v = {.n = 0};
    uint32_t from, size, to;

    if (w->n < 2)
        return false;
    size = w->n > 2 ? 1 + below(rng, 2) : 1;
    from = below(rng, w->n - size + 1);
    to = below(rng, w->n - size);
    if (to >= from)
        to++; /* anywhere but where it was; counted without the moved words */
    for (uint32_t i = 0, rest = 0; v.n < w->n;) {
        const uint32_t at = rest == to && i < size ? from + i++
                            : rest < from          ? rest++
                                                   : size + rest++;

        put(&v, v.n, w->at[at], w->len[at]);
        v.n++;
    }
    *w = v;
    return true;
}

static bool swap(words *w, fre_rng *rng)
{
    uint32_t a, b;
    const char *at;
    size_t len;

    if (w->n < 2)
        return false;
    a = below(rng, w->n);
    b = below(rng, w->n - 1);
    b += b >= a;
    at = w->at[a];
    len = w->len[a];
    put(w, a, w->at[b], w->len[b]);
    put(w, b, at, len);
    return true;
}

/* The head of one and the tail of another. */
static bool cross(words *w, const char *b, fre_rng *rng)
{
    words t;
    uint32_t tail;

    split(&t, b);
    w->n = below(rng, w->n + 1);
    tail = below(rng, t.n + 1);
    for (; tail < t.n && w->n < WORDS_MAX; tail++) {
        put(w, w->n, t.at[tail], t.len[tail]);
        w->n++;
    }
    return w->n > 0;
}

/* A word by its neighbours, in place of one or between two. */
static bool by_neighbours(words *w, bool replace, inv_ngram *g, fre_rng *rng)
{
    uint32_t at, right;
    const char *word;

    if (!g || w->n == 0)
        return false;
    at = below(rng, w->n + !replace);
    right = at + replace;
    word = inv_ngram_pick(g, at > 0 ? w->at[at - 1] : "", at > 0 ? w->len[at - 1] : 0,
                          right < w->n ? w->at[right] : "", right < w->n ? w->len[right] : 0, rng);
    if (!word)
        return false;
    if (!replace)
        return insert(w, at, word, strlen(word));
    put(w, at, word, strlen(word));
    return true;
}

/* A word that the distance asks for, the first ones more often, in place of one or between two. */
static bool by_response(words *w, const inv_words_from *from, fre_rng *rng)
{
    const inv_response *r = from->response;
    uint32_t a, b, at;
    const char *word;
    size_t len;

    if (!r || r->n == 0 || !from->words || w->n == 0)
        return false;
    a = below(rng, r->n);
    b = below(rng, r->n);
    word = inv_rows_text(from->words, r->word[a < b ? a : b], &len);
    if (below(rng, 3) == 0)
        return insert(w, below(rng, w->n + 1), word, len);
    at = below(rng, w->n);
    put(w, at, word, len);
    return true;
}

/* Another mark, or none, at the end. */
static size_t mark_end(char out[INV_TEXT_MAX], const char *a, fre_rng *rng)
{
    static const char *const mark[] = {"", ".", "?", "!"};
    const char *end = mark[below(rng, 4)];
    size_t n = strlen(a);

    if (n + 2 > INV_TEXT_MAX)
        return 0;
    memcpy(out, a, n);
    while (n > 0 && strchr(".?!", out[n - 1]))
        n--;
    if (n == 0)
        return 0;
    memcpy(out + n, end, strlen(end) + 1);
    return n + strlen(end);
}

size_t inv_edit_words(char out[INV_TEXT_MAX], inv_kind kind, const char *a, const char *b,
                      const inv_words_from *from, fre_rng *rng)
{
    words w;
    bool done = false;

    if (kind == INV_MARK)
        return mark_end(out, a, rng);
    split(&w, a);
    if (kind == INV_MOVE) {
        done = move(&w, rng);
    } else if (kind == INV_SWAP) {
        done = swap(&w, rng);
    } else if (kind == INV_JOIN) {
        done = cross(&w, b, rng);
    } else if (kind == INV_DELETE && w.n > 1) {
        drop(&w, below(rng, w.n));
        done = true;
    } else if (kind == INV_WORD || kind == INV_ADD) {
        done = by_neighbours(&w, kind == INV_WORD, from->ngram, rng);
    } else if (kind == INV_RESPOND) {
        done = by_response(&w, from, rng);
    }
    return done ? join(out, &w) : 0;
}
