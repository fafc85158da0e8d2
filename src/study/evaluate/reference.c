/* evaluate/reference.c - what a release's numbers are set beside: as many real texts, and as many texts that
 * have nothing to do with the originals.  Draws are seeded, so that a report can be made again. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <stdlib.h>
#include <string.h>

/* In this order; the first that the originals do not hold. */
static const char *const bundled[] = {"assistant-requests.jsonl.gz", "role-prompts.jsonl.gz"};

/* More than one text in so many that the originals have as well: not an unrelated corpus. */
#define RELATED_ONE_IN 50u
#define BY_MEAN 4u

fre_status evaluate_rng(fre_rng *r, const char *label, uint64_t number)
{
    uint8_t seed[32] = {0};

    memcpy(seed, &number, sizeof number);
    return fre_rng_init_seeded(r, seed, label);
}

void evaluate_draw(uint32_t *list, size_t n, size_t k, fre_rng *r)
{
    for (size_t i = 0; i < k; i++) {
        const size_t j = i + (size_t)fre_rng_below(r, n - i);
        const uint32_t kept = list[i];

        list[i] = list[j];
        list[j] = kept;
    }
}

/* ---- real texts ------------------------------------------------------------------------------------ */

uint64_t evaluate_half_of(uint64_t n, fre_rng *r)
{
    uint64_t first = 0;

    for (; n > 0; n--)
        first += fre_rng_u32(r) & 1u;
    return first;
}

/* Records of the first half, by their rows: all, or the frequent ones. */
static size_t list_records(uint32_t *list, const evaluate_base *b, const uint64_t *other,
                           bool frequent)
{
    size_t n = 0;

    for (size_t i = 0; i < b->originals.n; i++)
        for (uint64_t k = other[i]; k < b->originals.weight[i]; k++)
            if (!frequent || b->is_frequent[i])
                list[n++] = (uint32_t)i;
    return n;
}

static fre_status draw_half(evaluate_half *out, const evaluate_base *b, const uint64_t *other,
                            bool frequent, size_t size, fre_rng *r)
{
    uint32_t *list = malloc((b->e.originals + 1) * sizeof *list);
    size_t n;

    if (!list)
        return FRE_E_NOMEM;
    n = list_records(list, b, other, frequent);
    size = size < n ? size : n;
    evaluate_draw(list, n, size, r);
    *out = (evaluate_half){.row = list, .n = size};
    return FRE_OK;
}

fre_status evaluate_half_list(evaluate_half *out, const evaluate_base *b, const uint64_t *other,
                              bool frequent)
{
    uint32_t *list = malloc((b->e.originals + 1) * sizeof *list);
    size_t n = 0;

    if (!list)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < b->originals.n; i++)
        for (uint64_t k = 0; k < other[i]; k++)
            if (!frequent || b->is_frequent[i])
                list[n++] = (uint32_t)i;
    *out = (evaluate_half){.row = list, .n = n};
    return FRE_OK;
}

void evaluate_halves_wipe(evaluate_halves *h)
{
    free(h->other);
    free(h->frequent.row);
    free(h->any.row);
    *h = (evaluate_halves){.other = NULL};
}

fre_status evaluate_halves_draw(evaluate_halves *out, const evaluate_base *b, size_t size,
                                uint64_t seed)
{
    evaluate_halves h = {.other = calloc(b->originals.n + 1, sizeof *h.other)};
    fre_rng r;
    fre_status st = h.other ? evaluate_rng(&r, "evaluate/halves", seed) : FRE_E_NOMEM;

    if (st == FRE_OK) {
        for (size_t i = 0; i < b->originals.n; i++)
            h.other[i] = evaluate_half_of(b->originals.weight[i], &r);
        st = draw_half(&h.frequent, b, h.other, true, size, &r);
        if (st == FRE_OK)
            st = draw_half(&h.any, b, h.other, false, size, &r);
        fre_rng_wipe(&r);
    }
    if (st == FRE_OK)
        *out = h;
    else
        evaluate_halves_wipe(&h);
    return st;
}

void evaluate_set_free(evaluate_set *s)
{
    free(s->own);
    free(s->text);
    free(s->len);
    *s = (evaluate_set){.n = 0};
}

fre_status evaluate_set_of_originals(evaluate_set *out, const evaluate_base *b, const uint32_t *row,
                                     size_t n)
{
    const size_t d = b->originals.d;
    evaluate_set s = {.own = malloc((n * d + 1) * sizeof *s.own), .n = n};

    if (!b->from_npy) {
        s.text = malloc((n + 1) * sizeof *s.text);
        s.len = malloc((n + 1) * sizeof *s.len);
    }
    if (!s.own || (!b->from_npy && (!s.text || !s.len))) {
        evaluate_set_free(&s);
        return FRE_E_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(s.own + i * d, b->originals.x + row[i] * d, d * sizeof *s.own);
        if (b->from_npy)
            continue;
        s.text[i] = evaluate_distinct_text(&b->distinct, row[i]);
        s.len[i] = b->distinct.entry[row[i]].len;
    }
    s.x = s.own;
    *out = s;
    return FRE_OK;
}

/* ---- unrelated texts --------------------------------------------------------------------------------- */

void evaluate_reference_wipe(evaluate_reference *u)
{
    evaluate_synthetic_wipe(&u->texts);
    evaluate_set_free(&u->set);
}

/* Longer than this the originals hardly ever are: four times their mean, in bytes.  0: they have no texts. */
static size_t longest(const evaluate_base *b)
{
    uint64_t bytes = 0, n = 0;

    for (size_t i = 0; !b->from_npy && i < b->originals.n; i++) {
        bytes += b->originals.weight[i] * b->distinct.entry[i].len;
        n += b->originals.weight[i];
    }
    return n > 0 ? (size_t)(BY_MEAN * bytes / n) + 1 : 0;
}

/* To the end of a word. */
static size_t shortened(const char *text, size_t len, size_t most)
{
    size_t end = most;

    if (most == 0 || len <= most)
        return len;
    while (end > 0 && text[end] != ' ')
        end--;
    return end > 0 ? end : len;
}

/* A random `size` of them, each with `most` bytes at most (0: as they are): unrelated by what they say, not by their
 * length, which also decides how long embedder and language model are at it. */
static fre_status draw_texts(evaluate_reference *u, size_t size, size_t most)
{
    const size_t all = u->texts.n_texts;
    uint32_t *list = malloc((all + 1) * sizeof *list);
    fre_rng r;
    fre_status st = list ? evaluate_rng(&r, "evaluate/unrelated", 0) : FRE_E_NOMEM;

    u->set.n = size < all ? size : all;
    u->set.text = malloc((u->set.n + 1) * sizeof *u->set.text);
    u->set.len = malloc((u->set.n + 1) * sizeof *u->set.len);
    if (st == FRE_OK && u->set.text && u->set.len) {
        for (size_t i = 0; i < all; i++)
            list[i] = (uint32_t)i;
        evaluate_draw(list, all, u->set.n, &r);
        for (size_t i = 0; i < u->set.n; i++) {
            u->set.text[i] = evaluate_synthetic_text(&u->texts, list[i]);
            u->set.len[i] = shortened(u->set.text[i], u->texts.place.len[list[i]], most);
        }
        fre_rng_wipe(&r);
    } else if (st == FRE_OK) {
        fre_rng_wipe(&r);
        st = FRE_E_NOMEM;
    }
    free(list);
    return st;
}

/* Texts without a word that the embedder knows are none. */
static void leave_out_blank(evaluate_set *s, size_t d)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (fre_is_zero_row(s->own + i * d, d))
            continue;
        memmove(s->own + n * d, s->own + i * d, d * sizeof *s->own);
        s->text[n] = s->text[i];
        s->len[n++] = s->len[i];
    }
    s->n = n;
}

/* How many of them the originals have as well: by their texts, or by their rows. */
static bool is_related(const evaluate_base *b, const evaluate_set *s)
{
    const size_t d = b->originals.d;
    size_t common = 0;

    for (size_t i = 0; i < s->n; i++) {
        const size_t at =
            b->from_npy ? evaluate_distinct_find(&b->distinct, s->own + i * d, d * sizeof *s->own)
                        : evaluate_distinct_find(&b->distinct, s->text[i], s->len[i]);

        common += at != EVALUATE_DISTINCT_NONE;
    }
    return common * RELATED_ONE_IN > s->n;
}

static fre_status open_reference(evaluate_reference *u, evaluate_base *b, const char *path,
                                 size_t size, fre_err *err)
{
    fre_status st = evaluate_synthetic_load(&u->texts, path, err);

    if (st != FRE_OK)
        return st;
    st = draw_texts(u, size, longest(b));
    if (st != FRE_OK)
        return evaluate_with_text(err, st);
    st = evaluate_embed_set(b, &u->set.own, u->set.text, u->set.len, u->set.n, err);
    if (st != FRE_OK)
        return st;
    u->set.x = u->set.own;
    leave_out_blank(&u->set, b->originals.d);
    u->related = is_related(b, &u->set);
    return FRE_OK;
}

static void name_source(evaluate_base *b, const char *path)
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(b->e.reference_source, sizeof b->e.reference_source, "%s",
                   slash ? slash + 1 : path);
}

static fre_status open_bundled(evaluate_base *b, size_t size, fre_err *err)
{
    char path[4096];
    fre_err why;

    for (size_t i = 0; i < sizeof bundled / sizeof *bundled; i++) {
        evaluate_reference u = {.related = true};
        fre_status st = fre_data_find(path, sizeof path, bundled[i], &why);

        if (st == FRE_E_NOINPUT) {
            evaluate_leave_out(&b->e, "reference", "%s", why.text);
            return FRE_OK;
        }
        if (st == FRE_OK)
            st = open_reference(&u, b, path, size, err);
        if (st != FRE_OK || u.related) {
            evaluate_reference_wipe(&u);
            if (st != FRE_OK)
                return st;
            continue;
        }
        b->reference = u;
        name_source(b, path);
        return FRE_OK;
    }
    evaluate_leave_out(&b->e, "reference",
                       "the originals hold the bundled corpora themselves: name an unrelated one, "
                       "{reference}");
    return FRE_OK;
}

fre_status evaluate_reference_open(evaluate_base *b, size_t size, fre_err *err)
{
    const char *path = b->opts->reference;
    fre_status st;

    if (path && strcmp(path, "none") == 0) {
        evaluate_leave_out(&b->e, "reference", "not asked for ({reference} none)");
        return FRE_OK;
    }
    if (!b->embedder) {
        evaluate_leave_out(&b->e, "reference", "nothing is embedded: there is no synthetic text");
        return FRE_OK;
    }
    if (!path)
        return open_bundled(b, size, err);
    st = open_reference(&b->reference, b, path, size, err);
    if (st != FRE_OK)
        return st;
    if (b->reference.related) {
        evaluate_leave_out(
            &b->e, "reference",
            "more than one in %u of its texts is an original: name a corpus that has "
            "nothing to do with the originals, {reference}",
            RELATED_ONE_IN);
        evaluate_reference_wipe(&b->reference);
    } else {
        name_source(b, path);
    }
    return FRE_OK;
}
