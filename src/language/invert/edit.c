/* Proposals: edits of the best candidates (hill climbing in text space).  New words are drawn by
 * the decoder itself, in their left context and given the embedding; moves, deletions and joins
 * need no new word.  A mean-pooled embedding says much about the words of a text and less about
 * their order, so order is searched as much as words are. */
#include "invert_private.h"

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

static void split_words(words *w, const char *text)
{
    w->n = 0;
    for (const char *p = text; *p && w->n < WORDS_MAX; p++) {
        w->at[w->n] = p;
        p += strcspn(p, " ");
        w->len[w->n] = (size_t)(p - w->at[w->n]);
        w->n++;
        if (!*p)
            break;
    }
}

/* The plan writes exactly these words.  False: too long. */
static bool plan_words(inv_plan *out, const words *w, const fre_model *m)
{
    char text[INV_TEXT_MAX];
    size_t n = 0, tokens = INV_TOKENS;

    for (uint32_t i = 0; i < w->n; i++) {
        if (n + w->len[i] + 1 > sizeof text)
            return false;
        if (i > 0)
            text[n++] = ' ';
        memcpy(text + n, w->at[i], w->len[i]);
        n += w->len[i];
    }
    if (n == 0 || fre_model_tokenize(m, out->head, &tokens, text, n, false) != FRE_OK ||
        tokens == 0 || tokens > INV_TOKENS)
        return false;
    out->n_head = (uint32_t)tokens;
    return true;
}

/* One or two words to another place. */
static bool edit_move(inv_plan *out, const inv_cand *a, const fre_model *m, fre_rng *rng)
{
    words w, v = {.n = 0};
    uint32_t from, size, to;

    split_words(&w, a->text);
    if (w.n < 2)
        return false;
    size = w.n > 2 ? 1 + below(rng, 2) : 1;
    from = below(rng, w.n - size + 1);
    to = below(rng, w.n - size);
    if (to >= from)
        to++; /* anywhere but where it was; counted without the moved words */
    for (uint32_t i = 0, rest = 0; v.n < w.n;) {
        if (rest == to && i < size) {
            v.at[v.n] = w.at[from + i];
            v.len[v.n++] = w.len[from + i++];
            continue;
        }
        v.at[v.n] = w.at[rest < from ? rest : rest + size];
        v.len[v.n++] = w.len[rest < from ? rest : rest + size];
        rest++;
    }
    return plan_words(out, &v, m);
}

static bool edit_delete(inv_plan *out, const inv_cand *a, const fre_model *m, fre_rng *rng)
{
    words w;
    uint32_t at;

    split_words(&w, a->text);
    if (w.n < 2)
        return false;
    at = below(rng, w.n);
    for (uint32_t i = at; i + 1 < w.n; i++) {
        w.at[i] = w.at[i + 1];
        w.len[i] = w.len[i + 1];
    }
    w.n--;
    return plan_words(out, &w, m);
}

/* The head of one and the tail of another. */
static bool edit_join(inv_plan *out, const inv_cand *a, const inv_cand *b, const fre_model *m,
                      fre_rng *rng)
{
    words w, t;
    uint32_t head, tail;

    split_words(&w, a->text);
    split_words(&t, b->text);
    head = below(rng, w.n + 1);
    tail = below(rng, t.n + 1);
    w.n = head;
    for (; tail < t.n && w.n < WORDS_MAX; tail++) {
        w.at[w.n] = t.at[tail];
        w.len[w.n++] = t.len[tail];
    }
    return plan_words(out, &w, m);
}

/* Another mark, or none, at the end. */
static bool edit_mark(inv_plan *out, const inv_cand *a, const fre_model *m, fre_rng *rng)
{
    static const char *const mark[] = {"", ".", "?", "!"};
    char text[INV_TEXT_MAX];
    size_t n = strlen(a->text), tokens = INV_TOKENS;
    const char *end = mark[below(rng, 4)];

    if (n + 2 > sizeof text)
        return false;
    memcpy(text, a->text, n);
    while (n > 0 && strchr(".?!", text[n - 1]))
        n--;
    memcpy(text + n, end, strlen(end));
    n += strlen(end);
    if (n == 0 || fre_model_tokenize(m, out->head, &tokens, text, n, false) != FRE_OK ||
        tokens == 0 || tokens > INV_TOKENS)
        return false;
    out->n_head = (uint32_t)tokens;
    return true;
}

/* `cut` whole words from a random one on give way to n_free new tokens. */
static bool edit_replace(inv_plan *out, const inv_cand *a, const uint8_t *starts, uint32_t cut,
                         uint32_t n_free, fre_rng *rng)
{
    uint32_t at = below(rng, a->n + (cut == 0)), end;

    while (at > 0 && at < a->n && !starts[a->ids[at]])
        at--;
    for (end = at; cut > 0 && end < a->n; cut--) {
        end++;
        while (end < a->n && !starts[a->ids[end]])
            end++;
    }
    if (at + n_free + (a->n - end) > INV_TOKENS)
        return false;
    out->n_head = at;
    out->n_free = n_free;
    out->n_tail = a->n - end;
    memcpy(out->head, a->ids, at * sizeof *a->ids);
    memcpy(out->tail, a->ids + end, out->n_tail * sizeof *a->ids);
    return true;
}

/* Up to three tokens, wherever words begin, give way to up to three new ones. */
static bool edit_span(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    uint32_t at = below(rng, a->n), most = a->n - at < 3 ? a->n - at : 3;
    uint32_t cut = below(rng, most + 1), n_free = below(rng, 4);

    if (cut == 0 && n_free == 0)
        cut = 1;
    if (at + n_free + (a->n - at - cut) > INV_TOKENS)
        return false;
    out->n_head = at;
    out->n_free = n_free;
    out->n_tail = a->n - at - cut;
    memcpy(out->head, a->ids, at * sizeof *a->ids);
    memcpy(out->tail, a->ids + at + cut, out->n_tail * sizeof *a->ids);
    return true;
}

/* All after a random place is drawn anew. */
static bool edit_suffix(inv_plan *out, const inv_cand *a, fre_rng *rng)
{
    out->n_head = below(rng, a->n + 1);
    memcpy(out->head, a->ids, out->n_head * sizeof *a->ids);
    out->open = true;
    return true;
}

/* Parents near the top are taken more often: the lesser of two draws. */
static const inv_cand *parent(const inv_pool *p, uint32_t parents, fre_rng *rng)
{
    uint32_t n = p->scored < parents ? (uint32_t)p->scored : parents;
    uint32_t a = below(rng, n), b = below(rng, n);

    return &p->cand[a < b ? a : b];
}

/* Shares in 32nds.  False: this edit does not fit this text. */
static bool propose(inv_plan *out, const inv_pool *p, uint32_t parents, const fre_model *m,
                    const uint8_t *starts, fre_rng *rng)
{
    const inv_cand *a = parent(p, parents, rng);
    uint32_t kind = below(rng, 32);

    memset(out, 0, sizeof *out);
    if (kind < 8)
        return edit_suffix(out, a, rng);
    if (kind < 16)
        return edit_span(out, a, rng);
    if (kind < 22)
        return edit_replace(out, a, starts, 1, 1 + (below(rng, 3) == 0), rng);
    if (kind < 23)
        return edit_replace(out, a, starts, 0, 1 + (below(rng, 3) == 0), rng);
    if (kind < 26)
        return edit_move(out, a, m, rng);
    if (kind < 29)
        return edit_delete(out, a, m, rng);
    if (kind < 31)
        return edit_mark(out, a, m, rng);
    return edit_join(out, a, parent(p, parents, rng), m, rng);
}

uint32_t inv_edit(inv_plan *out, uint32_t n, const inv_pool *p, uint32_t parents,
                  const fre_model *m, const uint8_t *starts, fre_rng *rng)
{
    uint32_t made = 0;

    for (uint32_t tries = 0; p->scored > 0 && made < n && tries < 2 * n; tries++)
        made += propose(&out[made], p, parents, m, starts, rng);
    return made;
}
