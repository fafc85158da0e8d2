/* No single record may decide what a file is taken for, and its first bytes belong to the first record.  So
 * where they look like something else than text, the lines after the first are judged as well. */
#include "corpus_private.h"

#include <string.h>

#define FEW_LINES 16u /* nothing is released of so few texts */

/* A character of two or four bytes; 1: one byte or several, ASCII as itself. */
typedef struct width {
    unsigned bytes;
    bool big; /* the high byte first */
} width;

typedef struct count {
    size_t good, bad;
} count;

static bool most_are_good(count k)
{
    return k.good > 0 && k.good >= k.bad;
}

static bool is_control(uint32_t v)
{
    return v < 0x20 && !(v && strchr("\t\n\v\f\r\x1b", (int)v));
}

/* Compressed data have one control character in ten bytes, text in any encoding has none. */
static bool has_control(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_control(p[i]))
            return true;
    return false;
}

/* As a record that can be used.  cut: the view ends in it, perhaps inside a character. */
static bool is_usable(const uint8_t *p, size_t n, bool cut)
{
    return n - fre_utf8_first_bad(p, n) <= (cut ? 3 : 0);
}

/* Where the first line ends, n: nowhere. */
static size_t first_end(const uint8_t *p, size_t n)
{
    const uint8_t *hit = memchr(p, '\n', n);

    if (!hit)
        hit = memchr(p, '\r', n);
    return hit ? (size_t)(hit - p) : n;
}

/* usable: lines that are records; plain: bytes of lines without a control character (data of a period
 * have many short lines alike when they are compressed). */
static void count_lines(const uint8_t *p, size_t n, bool all, count *usable, count *plain)
{
    const size_t first = first_end(p, n);
    const uint8_t eol = first < n ? p[first] : '\n';

    for (size_t at = first + 1, end; at < n; at = end + 1) {
        const uint8_t *hit = memchr(p + at, eol, n - at);
        const bool cut = !hit && !all;

        end = hit ? (size_t)(hit - p) : n;
        if (end == at || (cut && usable->good + usable->bad > 0))
            continue;
        if (is_usable(p + at, end - at, cut))
            usable->good++;
        else
            usable->bad++;
        if (has_control(p + at, end - at))
            plain->bad += end - at;
        else
            plain->good += end - at;
    }
}

static uint32_t character(const uint8_t *p, width w)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < w.bytes; i++)
        v = v << 8 | p[w.big ? i : w.bytes - 1 - i];
    return v;
}

static bool is_wide_text(const uint8_t *p, size_t n, width w)
{
    count k = {0};
    bool ok = true, any = false, after = false, high = false;

    for (size_t i = 0; i + w.bytes <= n; i += w.bytes) {
        const uint32_t v = character(p + i, w);
        const bool low = w.bytes == 2 && v >= 0xdc00 && v < 0xe000;

        if (v != '\n') {
            any = true;
            ok = ok && !is_control(v) && v <= 0x10ffff && low == high;
            high = w.bytes == 2 && v >= 0xd800 && v < 0xdc00;
            continue;
        }
        k.good += after && any && ok && !high;
        k.bad += after && any && !(ok && !high);
        after = ok = true;
        any = high = false;
    }
    if (after && any && k.good + k.bad == 0)
        k.good += ok;
    return most_are_good(k);
}

bool fre_is_plain_text(const uint8_t *p, size_t n)
{
    return fre_utf8_first_bad(p, n) == n && !has_control(p, n);
}

bool fre_rest_is_usable(const uint8_t *p, size_t n, bool all)
{
    count usable = {0}, plain = {0};

    if (first_end(p, n) == n)
        return !all; /* longer than a record can be */
    count_lines(p, n, all, &usable, &plain);
    return most_are_good(usable);
}

fre_rest_kind fre_rest_judge(const uint8_t *p, size_t n, bool all)
{
    static const width wide[] = {{2, false}, {2, true}, {4, false}, {4, true}};
    count usable = {0}, plain = {0};
    bool is_text;

    if (first_end(p, n) == n)
        return all ? FRE_REST_DATA : FRE_REST_RECORDS;
    count_lines(p, n, all, &usable, &plain);
    is_text = most_are_good(usable) || most_are_good(plain);
    if (is_text && usable.good + usable.bad < FEW_LINES)
        return FRE_REST_FEW;
    if (most_are_good(usable))
        return FRE_REST_RECORDS;
    for (size_t i = 0; !is_text && i < sizeof wide / sizeof *wide; i++)
        is_text = is_wide_text(p, n, wide[i]);
    return is_text ? FRE_REST_TEXT : FRE_REST_DATA;
}

bool fre_rest_in_view(const uint8_t *p, size_t n)
{
    return n > FRE_CORPUS_TEXT_MAX + FRE_SNIFF_BYTES ||
           (memchr(p, '\n', n) && n - first_end(p, n) > FRE_SNIFF_BYTES);
}

const char *fre_byte_order_mark(const uint8_t *p, size_t n)
{
    static const struct {
        const char *mark;
        size_t n;
        const char *iconv;
    } marks[] = {
        /* UTF-32 before UTF-16: one byte order mark starts with the other */
        {"\xff\xfe\0\0", 4, "UTF-32LE"},
        {"\0\0\xfe\xff", 4, "UTF-32BE"},
        {"\xff\xfe", 2, "UTF-16LE"},
        {"\xfe\xff", 2, "UTF-16BE"},
    };

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n >= marks[i].n && memcmp(p, marks[i].mark, marks[i].n) == 0)
            return marks[i].iconv;
    return NULL;
}
