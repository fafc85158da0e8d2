/* JSON objects (RFC 8259).  A scanner, not a tree: it checks the whole object and keeps where the
 * wanted values lie, which is several times faster than building objects for fields that nobody
 * asked for, and it lets a record with U+0000 or a lone surrogate be repaired instead of refused,
 * and a number have any size.  fuzz/fuzz_corpus_jsonl.c holds it against jansson. */
#include "corpus_private.h"

#include <string.h>

typedef struct scan {
    uint8_t *p, *end;
    const char *why;            /* static; the position is p */
    fre_json_member_fn *member; /* NULL, or told of each member at the top level */
    void *ctx;
} scan;

static bool fail(scan *s, const char *why)
{
    s->why = why;
    return false;
}

static void skip_space(scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
        s->p++;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* At a backslash. */
static bool scan_escape(scan *s)
{
    if (s->end - s->p < 2)
        return fail(s, "a string is not closed");
    if (s->p[1] != 'u') {
        if (s->p[1] == 0 || !strchr("\"\\/bfnrt", s->p[1]))
            return fail(s, "an unknown escape");
        s->p += 2;
        return true;
    }
    for (int i = 2; i < 6; i++)
        if (s->end - s->p <= i || hex_digit(s->p[i]) < 0)
            return fail(s, "\\u without four hexadecimal digits");
    s->p += 6;
    return true;
}

/* At the opening quote; leaves p after the closing one. */
static bool scan_string(scan *s, uint8_t **start, size_t *n, bool *escaped)
{
    uint8_t *first = ++s->p;

    *escaped = false;
    for (;;) {
        while (s->p < s->end && *s->p >= 0x20 && *s->p != '"' && *s->p != '\\')
            s->p++;
        if (s->p == s->end)
            return fail(s, "a string is not closed");
        if (*s->p == '"')
            break;
        if (*s->p < 0x20)
            return fail(s, "a control character in a string is not escaped");
        *escaped = true;
        if (!scan_escape(s))
            return false;
    }
    *start = first;
    *n = (size_t)(s->p - first);
    s->p++;
    return true;
}

static bool scan_digits(scan *s)
{
    const uint8_t *first = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > first || fail(s, "a number is not well formed");
}

static bool scan_number(scan *s)
{
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0')
        s->p++;
    else if (!scan_digits(s))
        return false;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s))
            return false;
    }
    if (s->p < s->end && (*s->p | 0x20) == 'e') {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        return scan_digits(s);
    }
    return true;
}

static bool scan_word(scan *s, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return fail(s, "a value is expected");
    s->p += n;
    return true;
}

static bool scan_scalar(scan *s, fre_json_want *v)
{
    v->escaped = false;
    v->p = s->p;
    switch (s->p < s->end ? *s->p : 0) {
    case '"':
        v->kind = FRE_JSON_STRING;
        return scan_string(s, &v->p, &v->n, &v->escaped);
    case 't':
    case 'f':
        v->kind = FRE_JSON_BOOL;
        if (!scan_word(s, *s->p == 't' ? "true" : "false"))
            return false;
        break;
    case 'n':
        v->kind = FRE_JSON_NULL;
        if (!scan_word(s, "null"))
            return false;
        break;
    default:
        if (s->p == s->end || (*s->p != '-' && (*s->p < '0' || *s->p > '9')))
            return fail(s, "a value is expected");
        v->kind = FRE_JSON_NUMBER;
        if (!scan_number(s))
            return false;
        break;
    }
    v->n = (size_t)(s->p - v->p);
    return true;
}

/* A key and its colon; leaves p at the value. */
static bool scan_key(scan *s, uint8_t **key, size_t *n, bool *escaped)
{
    skip_space(s);
    if (s->p == s->end || *s->p != '"')
        return fail(s, "a key in double quotes is expected");
    if (!scan_string(s, key, n, escaped))
        return false;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return fail(s, "a colon is expected after a key");
    s->p++;
    skip_space(s);
    return true;
}

typedef struct nest {
    uint32_t depth;
    uint8_t close[FRE_JSON_DEPTH_MAX]; /* the bracket that ends each open container */
} nest;

/* At '{' or '['.  *empty: it was closed at once, p is after it. */
static bool open_container(scan *s, nest *t, bool *empty)
{
    uint8_t close = *s->p == '{' ? '}' : ']', *key = NULL;
    size_t n = 0;
    bool escaped = false;

    if (t->depth == FRE_JSON_DEPTH_MAX)
        return fail(s, "more than 512 levels of nesting");
    s->p++;
    skip_space(s);
    *empty = s->p < s->end && *s->p == close;
    if (*empty) {
        s->p++;
        return true;
    }
    t->close[t->depth++] = close;
    return close == ']' || scan_key(s, &key, &n, &escaped);
}

/* After a value inside containers: closes what ends here; then at the next value or depth 0. */
static bool after_value(scan *s, nest *t)
{
    uint8_t *key = NULL;
    size_t n = 0;
    bool escaped = false;

    while (t->depth > 0) {
        uint8_t close = t->close[t->depth - 1];

        skip_space(s);
        if (s->p < s->end && *s->p == close) {
            s->p++;
            t->depth--;
            continue;
        }
        if (s->p == s->end || *s->p != ',')
            return fail(s, "a comma or a closing bracket is expected");
        s->p++;
        if (close == '}')
            return scan_key(s, &key, &n, &escaped);
        skip_space(s);
        return true;
    }
    return true;
}

/* Any value; v gets its kind and, for a scalar, its bytes. */
static bool scan_value(scan *s, fre_json_want *v)
{
    nest t;
    fre_json_want inner = {0};
    bool empty = false;

    if (s->p == s->end || (*s->p != '{' && *s->p != '['))
        return scan_scalar(s, v);
    v->kind = *s->p == '{' ? FRE_JSON_OBJECT : FRE_JSON_ARRAY;
    v->p = s->p;
    v->n = 0;
    t.depth = 0;
    do {
        if (s->p < s->end && (*s->p == '{' || *s->p == '[')) {
            if (!open_container(s, &t, &empty))
                return false;
            if (!empty)
                continue;
        } else if (!scan_scalar(s, &inner)) {
            return false;
        }
        if (!after_value(s, &t))
            return false;
    } while (t.depth > 0);
    v->n = (size_t)(s->p - v->p);
    return true;
}

/* The four digits at p; the scanner has checked them. */
static uint32_t code_unit(const uint8_t *p)
{
    uint32_t u = 0;

    for (int i = 0; i < 4; i++)
        u = u << 4 | (uint32_t)hex_digit(p[i]);
    return u;
}

/* \uXXXX at p, a surrogate pair taken together; returns the bytes it took. */
static size_t unescape_unicode(const uint8_t *p, size_t n, uint32_t *c, bool *bad)
{
    uint32_t u = code_unit(p + 2);

    if (u >= 0xd800 && u < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u') {
        uint32_t low = code_unit(p + 8);

        if (low >= 0xdc00 && low < 0xe000) {
            *c = 0x10000 + ((u - 0xd800) << 10 | (low - 0xdc00));
            return 12;
        }
    }
    if (u == 0 || (u >= 0xd800 && u < 0xe000)) {
        *bad = true;
        u = 0xfffd;
    }
    *c = u;
    return 6;
}

/* What the escape at p stands for, k bytes; returns the bytes it took, never fewer than k. */
static size_t unescape_one(const uint8_t *p, size_t n, uint8_t out[4], size_t *k, bool *bad)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *hit = NULL;
    uint32_t c = 0;
    size_t took = 2;

    if (p[1] == 'u') {
        took = unescape_unicode(p, n, &c, bad);
        *k = fre_utf8_put(out, c);
        return took;
    }
    hit = strchr(from, p[1]);
    out[0] = hit ? (uint8_t)to[hit - from] : p[1];
    *k = 1;
    return took;
}

size_t fre_json_unescape(uint8_t *p, size_t n, bool *bad)
{
    size_t i = 0, o = 0;

    while (i < n) { /* never longer than its source: o <= i throughout */
        uint8_t enc[4];
        size_t k = 0;

        if (p[i] != '\\') {
            p[o++] = p[i++];
            continue;
        }
        i += unescape_one(p + i, n - i, enc, &k, bad);
        (void)memcpy(p + o, enc, k);
        o += k;
    }
    return o;
}

bool fre_json_key_is(const uint8_t *key, size_t n, const char *name)
{
    const size_t len = strlen(name);
    size_t i = 0, o = 0;
    bool bad = false;

    while (i < n) {
        uint8_t enc[4] = {key[i]};
        size_t k = 1;

        i += key[i] == '\\' ? unescape_one(key + i, n - i, enc, &k, &bad) : 1;
        if (bad || k > len - o || memcmp(name + o, enc, k) != 0)
            return false;
        o += k;
    }
    return o == len;
}

static bool scan_member(scan *s, fre_json_want *want, size_t wants)
{
    fre_json_want v = {0};
    uint8_t *key = NULL;
    size_t n = 0;
    bool escaped = false;

    if (!scan_key(s, &key, &n, &escaped))
        return false;
    if (s->member && !s->member(s->ctx, key, n, s->p))
        return fail(s, "the rest is not wanted");
    if (!scan_value(s, &v))
        return false;
    for (size_t i = 0; i < wants; i++) {
        if (!fre_json_key_is(key, n, want[i].name))
            continue;
        v.name = want[i].name;
        want[i] = v;
    }
    return true;
}

static bool scan_object(scan *s, fre_json_want *want, size_t wants)
{
    skip_space(s);
    if (s->p == s->end || *s->p != '{')
        return fail(s, "an object in braces is expected");
    s->p++;
    skip_space(s);
    if (s->p < s->end && *s->p == '}') {
        s->p++;
    } else {
        for (;;) {
            if (!scan_member(s, want, wants))
                return false;
            skip_space(s);
            if (s->p == s->end || (*s->p != ',' && *s->p != '}'))
                return fail(s, "a comma or a closing brace is expected");
            if (*s->p++ == '}')
                break;
        }
    }
    return true;
}

const char *fre_json_scan(uint8_t *p, size_t n, fre_json_want *want, size_t wants, size_t *at)
{
    scan s = {.p = p, .end = p + n};

    for (size_t i = 0; i < wants; i++)
        want[i].kind = FRE_JSON_ABSENT;
    if (scan_object(&s, want, wants)) {
        skip_space(&s);
        if (s.p == s.end)
            return NULL;
        (void)fail(&s, "something follows the object");
    }
    *at = (size_t)(s.p - p);
    return s.why;
}

const char *fre_json_members(uint8_t *p, size_t n, fre_json_member_fn *fn, void *ctx, size_t *at)
{
    scan s = {.p = p, .end = p + n, .member = fn, .ctx = ctx};
    const bool ok = scan_object(&s, NULL, 0);

    *at = (size_t)(s.p - p);
    return ok ? NULL : s.why;
}

const char *fre_json_value(uint8_t *p, size_t n, size_t *at)
{
    scan s = {.p = p, .end = p + n};
    fre_json_want v = {0};
    const bool ok = scan_value(&s, &v);

    *at = (size_t)(s.p - p);
    return ok ? NULL : s.why;
}
