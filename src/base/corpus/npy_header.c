/* The Python dict literal of a .npy header: three known keys in any order, strings in either
 * quote, True or False, a tuple of integers.  Anything else is refused. */
#include "corpus_private.h"

#include <string.h>

typedef struct lit {
    const uint8_t *p, *end;
} lit;

static uint8_t peek(lit *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
    return s->p < s->end ? *s->p : 0;
}

static bool accept(lit *s, uint8_t c)
{
    if (peek(s) != c)
        return false;
    s->p++;
    return true;
}

static bool word(lit *s, const char *w)
{
    size_t n = strlen(w);

    (void)peek(s);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, w, n) != 0)
        return false;
    s->p += n;
    return true;
}

/* A quoted string without escapes, printable ASCII, shorter than cap. */
static bool string(lit *s, char *out, size_t cap)
{
    uint8_t quote = peek(s);
    size_t n = 0;

    if (quote != '\'' && quote != '"')
        return false;
    for (s->p++; s->p < s->end && *s->p != quote; s->p++) {
        if (*s->p < 0x20 || *s->p > 0x7e || *s->p == '\\' || n + 1 >= cap)
            return false;
        out[n++] = (char)*s->p;
    }
    out[n] = '\0';
    return accept(s, quote);
}

/* A list to its closing bracket, whatever it holds; strings may hold brackets. */
static bool skip_list(lit *s)
{
    size_t depth = 0;
    char text[256];

    do {
        uint8_t c = peek(s);

        if (c == 0)
            return false;
        if (c == '\'' || c == '"') {
            if (!string(s, text, sizeof text))
                return false;
            continue;
        }
        if (c == '[' || c == '(')
            depth++;
        else if (c == ']' || c == ')')
            depth--;
        s->p++;
    } while (depth > 0);
    return true;
}

static bool number(lit *s, uint64_t *out)
{
    uint64_t v = 0;
    uint8_t c = peek(s);

    if (c < '0' || c > '9')
        return false;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++) {
        uint64_t d = (uint64_t)(*s->p - '0');

        if (v > (UINT64_MAX - d) / 10)
            return false;
        v = 10 * v + d;
    }
    if (s->p < s->end && *s->p == 'L') /* Python 2 wrote long integers so */
        s->p++;
    *out = v;
    return true;
}

static bool tuple(lit *s, npy_header *h)
{
    h->dims = 0;
    if (!accept(s, '('))
        return false;
    while (!accept(s, ')')) {
        uint64_t v = 0;

        if (!number(s, &v))
            return false;
        if (h->dims < NPY_DIMS_MAX)
            h->shape[h->dims] = v;
        h->dims++;
        if (!accept(s, ',') && peek(s) != ')')
            return false;
    }
    return true;
}

static const char *entry(lit *s, npy_header *h, unsigned *seen)
{
    char key[24];
    unsigned bit = 0;

    if (!string(s, key, sizeof key) || !accept(s, ':'))
        return "a key in quotes and a colon are expected";
    if (strcmp(key, "descr") == 0) {
        bit = 1;
        h->structured = peek(s) == '[';
        if (h->structured ? !skip_list(s) : !string(s, h->descr, sizeof h->descr))
            return "descr is not a type";
    } else if (strcmp(key, "fortran_order") == 0) {
        bit = 2;
        h->fortran = word(s, "True");
        if (!h->fortran && !word(s, "False"))
            return "fortran_order is neither True nor False";
    } else if (strcmp(key, "shape") == 0) {
        bit = 4;
        if (!tuple(s, h))
            return "shape is not a tuple of integers";
    } else {
        return "an unknown key";
    }
    if (*seen & bit)
        return "a key appears twice";
    *seen |= bit;
    return NULL;
}

const char *npy_header_parse(npy_header *h, const uint8_t *p, size_t n)
{
    lit s = {p, p + n};
    unsigned seen = 0;

    (void)memset(h, 0, sizeof *h);
    if (!accept(&s, '{'))
        return "a dict is expected";
    while (!accept(&s, '}')) {
        const char *why = entry(&s, h, &seen);

        if (why)
            return why;
        if (!accept(&s, ',') && peek(&s) != '}')
            return "a comma or a closing brace is expected";
    }
    if (seen != 7)
        return "descr, fortran_order or shape is missing";
    (void)peek(&s);
    return s.p == s.end ? NULL : "something follows the dict";
}
