/* UTF-8: well-formedness by The Unicode Standard, table 3-7 (no overlong form, no surrogate, at
 * most U+10FFFF); replacement by maximal subparts (ibid., section 3.9, "U+FFFD Substitution of
 * Maximal Subparts", what the WHATWG decoder does too); White_Space by PropList.txt. */
#include "corpus_private.h"

#include <string.h>

/* Length of the sequence that lead byte b starts, and the range of its second byte. */
static unsigned seq_of(uint8_t b, uint8_t *lo, uint8_t *hi)
{
    *lo = 0x80;
    *hi = 0xbf;
    if (b < 0x80)
        return 1;
    if (b < 0xc2 || b > 0xf4)
        return 0;
    if (b < 0xe0)
        return 2;
    if (b < 0xf0) {
        if (b == 0xe0)
            *lo = 0xa0;
        else if (b == 0xed)
            *hi = 0x9f;
        return 3;
    }
    if (b == 0xf0)
        *lo = 0x90;
    else if (b == 0xf4)
        *hi = 0x8f;
    return 4;
}

/* Bytes at p that are the longest start of a well-formed sequence; *whole when they are all. */
static size_t seq_len(const uint8_t *p, size_t n, bool *whole)
{
    uint8_t lo = 0, hi = 0;
    unsigned want = seq_of(p[0], &lo, &hi);
    size_t i = 1;

    while (i < want && i < n && p[i] >= lo && p[i] <= hi) {
        lo = 0x80;
        hi = 0xbf;
        i++;
    }
    *whole = want > 0 && i == want;
    return i;
}

size_t fre_utf8_first_bad(const uint8_t *p, size_t n)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    size_t i = 0;

    while (i < n) {
        bool whole = false;
        size_t k = 0;

        while (n - i >= 8) { /* eight bytes, each 0x01..0x7f */
            uint64_t w = 0;

            (void)memcpy(&w, p + i, 8);
            if (((w - ones) | w) & highs)
                break;
            i += 8;
        }
        if (i == n || p[i] == 0)
            return i;
        k = seq_len(p + i, n - i, &whole);
        if (!whole)
            return i;
        i += k;
    }
    return n;
}

size_t fre_utf8_bad_len(const uint8_t *p, size_t n)
{
    bool whole = false;

    return seq_len(p, n, &whole);
}

/* Bytes of the White_Space character at p (n >= 1, well-formed), or 0. */
static size_t space_len(const uint8_t *p, size_t n)
{
    static const struct {
        uint16_t first, last;
    } space[] = {{0x0009, 0x000d}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00a0, 0x00a0},
                 {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                 {0x205f, 0x205f}, {0x3000, 0x3000}};
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : 3;
    uint32_t c = p[0];

    if (p[0] > 0x20 && p[0] < 0x80) /* most texts begin and end here */
        return 0;
    if (p[0] >= 0xf0 || n < len)
        return 0;
    if (len == 2)
        c = (c & 0x1f) << 6 | (p[1] & 0x3fu);
    else if (len == 3)
        c = (c & 0x0f) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    for (size_t i = 0; i < sizeof space / sizeof *space; i++)
        if (c >= space[i].first && c <= space[i].last)
            return len;
    return 0;
}

void fre_utf8_trim(uint8_t **p, size_t *n)
{
    uint8_t *a = *p, *b = *p + *n;
    size_t k = 0;

    while (a < b && (k = space_len(a, (size_t)(b - a))) > 0)
        a += k;
    while (a < b) {
        const uint8_t *last = b - 1;

        while (last > a && (*last & 0xc0) == 0x80)
            last--;
        k = (size_t)(b - last);
        if (space_len(last, k) != k)
            break;
        b -= k;
    }
    *p = a;
    *n = (size_t)(b - a);
}

size_t fre_utf8_put(uint8_t out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}
