/* Normalisation by utf8proc, settled like the reference where Unicode's versions differ: its
 * categories are those of Unicode 8, its decompositions those of Unicode 9, its lower case that of
 * Unicode 17.  The tables hold those characters on which utf8proc 2.6 to 2.11 (Unicode 13 to 17) or
 * its successor would say something else; they are listed range by range, and a range may run over
 * characters for which both say the same.  Every code point is checked by test_model_tokens. */
#include "bert_text.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

typedef struct range {
    uint32_t first, last;
} range;

typedef enum kind { PLAIN, REMOVED, SPACE, MARK, PUNCTUATION } kind;

/* Formats, nonspacing marks and punctuation that are newer than Unicode 8: plain characters. */
static const range newer_kind[] = {
    {0x05c8, 0x05c9},   {0x061d, 0x061d},   {0x07fd, 0x07fd},   {0x0890, 0x08e2},
    {0x09fd, 0x09fe},   {0x0a76, 0x0a76},   {0x0afa, 0x0aff},   {0x0b53, 0x0b55},
    {0x0c04, 0x0c3c},   {0x0c77, 0x0c77},   {0x0c84, 0x0c84},   {0x0d00, 0x0d00},
    {0x0d3b, 0x0d3c},   {0x0d81, 0x0d81},   {0x0eba, 0x0eba},   {0x0ece, 0x0ece},
    {0x180f, 0x1886},   {0x1abf, 0x1af0},   {0x1b4e, 0x1b4f},   {0x1b7d, 0x1b7f},
    {0x1df6, 0x1dfb},   {0x2e43, 0x2e63},   {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},
    {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},   {0x10d24, 0x10f89}, {0x11070, 0x11074},
    {0x110c2, 0x110cd}, {0x111cf, 0x111cf}, {0x1123e, 0x11241}, {0x1133b, 0x1133b},
    {0x113bb, 0x1145e}, {0x11660, 0x1166c}, {0x116b9, 0x116b9}, {0x1182f, 0x11fff},
    {0x12ff1, 0x1612f}, {0x16d6d, 0x16f4f}, {0x16fe2, 0x16fe4}, {0x1cf00, 0x1d128},
    {0x1d25b, 0x1d25c}, {0x1e000, 0x1e6f5}, {0x1e944, 0x1e95f},
};

/* Characters newer than Unicode 9 that decompose or have a combining class: neither. */
static const range newer_form[] = {
    {0x05c8, 0x05c9},   {0x07fd, 0x07fd},   {0x0897, 0x08d3},   {0x09fe, 0x09fe},
    {0x0c3c, 0x0c3c},   {0x0d3b, 0x0d3c},   {0x0eba, 0x0eba},   {0x1715, 0x1715},
    {0x1abf, 0x1af0},   {0x1df6, 0x1dfa},   {0xa82c, 0xa82c},   {0x105c9, 0x105e4},
    {0x10d24, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x11383, 0x113d0},
    {0x1145e, 0x1145e}, {0x11839, 0x11a99}, {0x11d42, 0x1612f}, {0x16d68, 0x16ff1},
    {0x1d127, 0x1d128}, {0x1d250, 0x1d281}, {0x1e08f, 0x1e6f5},
};

/* Capitals newer than Unicode 13: every step-th character of a range, and the distance to the small
 * letter. */
static const struct {
    uint32_t first, last, step;
    int32_t to_lower;
} newer_capital[] = {
    {0x1c89, 0x1c89, 1, 1},       {0x2c2f, 0x2c2f, 1, 48},     {0xa7c0, 0xa7c0, 1, 1},
    {0xa7cb, 0xa7cb, 1, -0xa567}, {0xa7cc, 0xa7da, 2, 1},      {0xa7dc, 0xa7dc, 1, -0xa641},
    {0x10570, 0x1057a, 1, 0x27},  {0x1057c, 0x1058a, 1, 0x27}, {0x1058c, 0x10592, 1, 0x27},
    {0x10594, 0x10595, 1, 0x27},  {0x10d50, 0x10d65, 1, 0x20}, {0x16ea0, 0x16eb8, 1, 0x1b},
};

/* Ideographs; the last but two begins where the reference begins it. */
static const range ideograph[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
};

#define IS_IN(table, c) is_in(table, sizeof(table) / sizeof *(table), c)

static bool is_in(const range *table, size_t n, uint32_t c)
{
    size_t low = 0;

    while (n > 0) { /* the last range that begins at or before c */
        size_t half = n / 2;

        if (table[low + half].first <= c) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low > 0 && c <= table[low - 1].last;
}

static kind kind_of(uint32_t c)
{
    const char *category;

    if (c == 0x1734 || c == 0x1171e) /* spacing marks since Unicode 9 */
        return MARK;
    if (c == 0x166d || c == 0x111c9) /* a symbol, a mark since */
        return PUNCTUATION;
    if (IS_IN(newer_kind, c))
        return PLAIN;
    category = utf8proc_category_string((utf8proc_int32_t)c);
    if (category[0] == 'P')
        return PUNCTUATION;
    if (category[0] == 'Z')
        return SPACE;
    if (category[0] == 'C')
        return category[1] == 'n' ? PLAIN : REMOVED; /* an unassigned one stays */
    return strcmp(category, "Mn") == 0 ? MARK : PLAIN;
}

bool fre_bert_is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return (c > 0x20 && c < 0x30) || (c > 0x39 && c < 0x41) || (c > 0x5a && c < 0x61) ||
               (c > 0x7a && c < 0x7f);
    return kind_of(c) == PUNCTUATION;
}

bool fre_bert_is_sign(const char *text, size_t len)
{
    utf8proc_int32_t c;

    for (size_t i = 0; i < len;) {
        const utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(len - i), &c);

        if (n < 1 || strchr("LMN", utf8proc_category_string(c)[0]))
            return false;
        i += (size_t)n;
    }
    return true;
}

static uint32_t lower_of(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    for (size_t i = 0; i < sizeof newer_capital / sizeof *newer_capital; i++)
        if (c >= newer_capital[i].first && c <= newer_capital[i].last &&
            (c - newer_capital[i].first) % newer_capital[i].step == 0)
            return (uint32_t)((int32_t)c + newer_capital[i].to_lower);
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

/* ---- characters out --------------------------------------------------------------------------- */

typedef struct cleaner {
    fre_bert_chars *out;
    /* Marks since the last starter, to be put in canonical order: class, place, character. */
    uint64_t *mark;
    size_t n_marks, cap_marks;
    bool lower, strip;
    fre_status status;
} cleaner;

static bool reserve(void **p, size_t *cap, size_t n, size_t size)
{
    size_t want = *cap ? *cap : 256;
    void *more;

    if (n <= *cap)
        return true;
    while (want < n)
        want *= 2;
    more = calloc(want, size); /* not realloc, which would leave private bytes behind */
    if (!more)
        return false;
    if (*p) {
        memcpy(more, *p, *cap * size);
        fre_wipe(*p, *cap * size);
        free(*p);
    }
    *p = more;
    *cap = want;
    return true;
}

static void put(cleaner *k, uint32_t c)
{
    fre_bert_chars *out = k->out;

    if (out->n == out->cap && !reserve((void **)&out->p, &out->cap, out->n + 1, sizeof *out->p)) {
        k->status = FRE_E_NOMEM;
        return;
    }
    if (k->lower && c == 0x130) { /* the one capital with a small letter of two characters */
        out->p[out->n++] = 'i';
        put(k, 0x307);
        return;
    }
    out->p[out->n++] = k->lower ? lower_of(c) : c;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

#define MARK_CLASS_SHIFT 56u
#define MARK_PLACE_SHIFT 21u /* a code point has 21 bits */

static void put_marks(cleaner *k)
{
    if (k->n_marks > 1)
        qsort(k->mark, k->n_marks, sizeof *k->mark, by_value);
    for (size_t i = 0; i < k->n_marks; i++)
        put(k, (uint32_t)(k->mark[i] & ((1u << MARK_PLACE_SHIFT) - 1)));
    k->n_marks = 0;
}

/* One character of a decomposition.  Nonspacing marks are dropped at once: leaving them out does
 * not change the order of the others, as long as one without a class still ends their run. */
static void put_part(cleaner *k, uint32_t c)
{
    const utf8proc_property_t *p = utf8proc_get_property((utf8proc_int32_t)c);
    const uint64_t class = IS_IN(newer_form, c) ? 0 : (uint64_t)p->combining_class;
    const bool dropped = kind_of(c) == MARK;

    if (class == 0) {
        put_marks(k);
        if (!dropped)
            put(k, c);
    } else if (!dropped) {
        if (!reserve((void **)&k->mark, &k->cap_marks, k->n_marks + 1, sizeof *k->mark)) {
            k->status = FRE_E_NOMEM;
            return;
        }
        k->mark[k->n_marks] =
            class << MARK_CLASS_SHIFT | (uint64_t)k->n_marks << MARK_PLACE_SHIFT | c;
        k->n_marks++;
    }
}

static void put_decomposed(cleaner *k, uint32_t c)
{
    utf8proc_int32_t part[8]; /* a canonical decomposition has at most four characters */
    utf8proc_ssize_t n = 0;
    int boundary = 0;

    if (!IS_IN(newer_form, c))
        n = utf8proc_decompose_char((utf8proc_int32_t)c, part, 8, UTF8PROC_DECOMPOSE, &boundary);
    if (n < 1 || n > 8) {
        part[0] = (utf8proc_int32_t)c;
        n = 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++)
        put_part(k, (uint32_t)part[i]);
}

static void put_ascii(cleaner *k, uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        c = ' ';
    if (c < 0x20 || c == 0x7f)
        return;
    put_marks(k);
    put(k, c);
}

static void put_other(cleaner *k, uint32_t c)
{
    const kind is = c == 0xfffd ? REMOVED : kind_of(c);
    const bool alone = IS_IN(ideograph, c);

    if (is == REMOVED)
        return;
    if (is == SPACE || alone) {
        put_marks(k);
        put(k, ' ');
    }
    if (is == SPACE)
        return;
    if (k->strip)
        put_decomposed(k, c);
    else
        put(k, c);
    if (alone) {
        put_marks(k);
        put(k, ' ');
    }
}

fre_status fre_bert_clean(fre_bert_chars *out, const char *text, size_t len, bool lower, bool strip)
{
    cleaner k = {.out = out, .lower = lower, .strip = strip};
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text;

    for (size_t i = 0; i < len && k.status == FRE_OK;) {
        utf8proc_int32_t c = p[i];
        utf8proc_ssize_t n =
            c < 0x80 ? 1 : utf8proc_iterate(p + i, (utf8proc_ssize_t)(len - i), &c);

        if (n < 1) {
            k.status = FRE_E_DATA;
            break;
        }
        if (c < 0x80)
            put_ascii(&k, (uint32_t)c);
        else
            put_other(&k, (uint32_t)c);
        i += (size_t)n;
    }
    if (k.status == FRE_OK)
        put_marks(&k);
    if (k.mark)
        fre_wipe(k.mark, k.cap_marks * sizeof *k.mark);
    free(k.mark);
    return k.status;
}
