/* JSON that is not one object a line: objects over several lines, one array, one object that has the
 * array under a key.  Elements are cut out by their quotes and brackets alone, so that one malformed
 * element need not stop the others, and streamed, so that an array may be larger than memory. */
#include "corpus_private.h"

#include <string.h>

static bool is_space(uint8_t b)
{
    return b == ' ' || b == '\t' || b == '\r' || b == '\n';
}

/* ---- layout ---------------------------------------------------------------------------------- */

typedef struct view {
    uint8_t *p;
    size_t n;
    bool all; /* nothing follows */
} view;

static size_t after_space(const view *v, size_t at)
{
    while (at < v->n && is_space(v->p[at]))
        at++;
    return at;
}

/* Does the value at `at` stand as far as it can be seen?  *to: its end; *cut: beyond the view. */
static bool stands(const view *v, size_t at, size_t *to, bool *cut)
{
    size_t n = 0;
    const char *why = fre_json_value(v->p + at, v->n - at, &n);

    *to = at + n;
    *cut = why && !v->all && v->n - *to < 8; /* the longest word or escape */
    return !why || *cut;
}

typedef struct cutter {
    size_t depth;
    bool in_string, escaped;
} cutter;

/* Does the value end with byte b?  *before: it ended before b. */
static bool ends(cutter *k, uint8_t b, bool is_first, bool *before)
{
    *before = false;
    if (k->in_string) {
        if (k->escaped)
            k->escaped = false;
        else if (b == '\\')
            k->escaped = true;
        else if (b == '"')
            k->in_string = false;
        return !k->in_string && k->depth == 0;
    }
    if (k->depth == 0 && !is_first && (is_space(b) || memchr(",]}", b, 3))) {
        *before = true;
        return true;
    }
    if (b == '"')
        k->in_string = true;
    else if (b == '{' || b == '[')
        k->depth++;
    else if ((b == '}' || b == ']') && k->depth > 0)
        return --k->depth == 0;
    return false;
}

/* Behind the value at `at`, cut out by its quotes and brackets; v->n: it does not end in view. */
static size_t cut_out(const view *v, size_t at)
{
    cutter k = {0};
    bool before = false;

    for (size_t i = at; i < v->n; i++)
        if (ends(&k, v->p[i], i == at, &before))
            return i + !before;
    return v->n;
}

/* Whether the array after the bracket at `at` has an object or a string, as far as it can be seen: one
 * odd element in front of the others does not make it another array. */
static bool holds_records(const view *v, size_t at)
{
    for (at = after_space(v, at + 1); at < v->n && v->p[at] != ']'; at = after_space(v, at + 1)) {
        if (v->p[at] == '{' || v->p[at] == '"')
            return true;
        at = after_space(v, cut_out(v, at));
        if (at == v->n || v->p[at] != ',')
            return false;
    }
    return false;
}

typedef struct members {
    const view *v;
    const char *text_field;
    bool has_text;
    size_t arrays;       /* of objects, or of strings */
    const uint8_t *open; /* the last of them */
} members;

static bool note_member(void *ctx, const uint8_t *key, size_t n, const uint8_t *value)
{
    members *m = ctx;
    const size_t at = (size_t)(value - m->v->p);

    m->has_text = m->has_text || fre_json_key_is(key, n, m->text_field);
    if (at >= m->v->n || *value != '[')
        return true;
    if (holds_records(m->v, at)) {
        m->arrays++;
        m->open = value;
    }
    return true;
}

static void skip_bytes(fre_corpus *c, size_t n)
{
    for (; n > 0; n--)
        c->line += c->buf[c->begin++] == c->eol;
}

static fre_status several_arrays(const fre_corpus *c, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: is one JSON object with several arrays; write the records of one of them "
                    "(jq -c '.NAME[]' IN > OUT.jsonl)",
                    c->src->name);
}

/* An object at `at` that ends at `to`, or is cut off there. */
static fre_status object_layout(fre_corpus *c, const view *v, size_t at, size_t to, bool cut,
                                fre_err *err)
{
    members m = {.v = v, .text_field = c->field[FRE_FIELD_TEXT]};
    const bool alone = cut || (v->all && after_space(v, to) == v->n);
    const uint8_t *lf = memchr(v->p + at, '\n', to - at);
    size_t next = to, end = 0;

    (void)fre_json_members(v->p + at, v->n - at, note_member, &m, &end);
    /* Cut off inside the array: the members after it are not known, the one at hand is enough. */
    if (alone && !m.has_text && m.arrays > 0) {
        if (m.arrays > 1)
            return several_arrays(c, err);
        c->layout = FRE_LAYOUT_MEMBER;
        skip_bytes(c, (size_t)(m.open - v->p));
        return FRE_OK;
    }
    while (next < v->n && (v->p[next] == ' ' || v->p[next] == '\t'))
        next++;
    if (lf || (!cut && next < v->n && v->p[next] == '{'))
        c->layout = FRE_LAYOUT_VALUES;
    return FRE_OK;
}

/* Whether the bracket at `at` opens an array of records, `first` being its first element: it ends where
 * the file does, or is cut off by the view, or a comma follows an element.  sure: it is JSON. */
static bool opens_array(const view *v, size_t at, size_t first, bool sure)
{
    size_t to = 0;
    bool cut = false;

    if (stands(v, at, &to, &cut) && (cut || after_space(v, to) == v->n || sure))
        return true;
    if (first == v->n || v->p[first] == ']')
        return false;
    if (stands(v, first, &to, &cut) && !cut) {
        to = after_space(v, to);
        if (to < v->n && v->p[to] == ',') /* damaged further on */
            return true;
    }
    if (!sure || !memchr("{\"", v->p[first], 2))
        return false;
    to = after_space(v, cut_out(v, first)); /* or in the first element */
    return to < v->n ? v->p[to] == ',' : !v->all && memchr(v->p + at, '\n', first - at);
}

/* A bracket at `at`. */
static fre_status array_layout(fre_corpus *c, const view *v, size_t at, bool sure, fre_err *err)
{
    const size_t first = after_space(v, at + 1);
    const bool doc = opens_array(v, at, first, sure);

    if (!doc) {
        if (!sure)
            c->format = FRE_CORPUS_TXT;
        return FRE_OK;
    }
    if (first < v->n && v->p[first] != ']' && !holds_records(v, at))
        return fre_fail(err, FRE_E_DATA,
                        "%s: is a JSON array, but not of objects or of strings; write one object a "
                        "line",
                        c->src->name);
    c->layout = FRE_LAYOUT_ARRAY;
    skip_bytes(c, at);
    return FRE_OK;
}

/* More of the lines in view are an object each than are not: then they are the records, whatever the
 * first of them looks like. */
static bool has_object_lines(const view *v)
{
    size_t alone = 0, others = 0;

    for (size_t at = 0, end = 0; at < v->n; at = end + 1) {
        const uint8_t *lf = memchr(v->p + at, '\n', v->n - at);
        size_t n = 0;

        if (!lf && !v->all)
            break; /* cut off */
        end = lf ? (size_t)(lf - v->p) : v->n;
        at = after_space(v, at);
        if (at >= end)
            continue;
        if (v->p[at] == '{' && !fre_json_value(v->p + at, end - at, &n) &&
            after_space(v, at + n) >= end)
            alone++;
        else
            others++;
    }
    return alone > 1 && alone > others;
}

static fre_status sniff(fre_corpus *c, bool sure, fre_err *err);

/* A first line that is longer than the view is read whole, and some after it. */
static fre_status widen(fre_corpus *c, fre_err *err)
{
    size_t seen = 0, n = c->end - c->begin;
    fre_status st = FRE_OK;

    if (n == 0 || !memchr("{[", c->buf[c->begin], 2))
        return FRE_OK;
    while (st == FRE_OK && !memchr(c->buf + c->begin + seen, '\n', n - seen)) {
        if (c->eof || n > FRE_CORPUS_TEXT_MAX)
            return FRE_OK;
        seen = n;
        st = fre_corpus_fill(c, n + 1, err);
        n = c->end - c->begin;
    }
    return st == FRE_OK && seen > 0 ? fre_corpus_fill(c, n + FRE_SNIFF_BYTES, err) : st;
}

fre_status fre_document_sniff(fre_corpus *c, bool sure, fre_err *err)
{
    const fre_status st = widen(c, err);
    const view v = {c->buf + c->begin, c->end - c->begin, c->eof};

    if (st != FRE_OK)
        return st;
    if (!has_object_lines(&v))
        return sniff(c, sure, err);
    c->format = FRE_CORPUS_JSONL;
    c->layout = FRE_LAYOUT_LINES;
    return FRE_OK;
}

static fre_status sniff(fre_corpus *c, bool sure, fre_err *err)
{
    const view v = {c->buf + c->begin, c->end - c->begin, c->eof};
    const size_t at = after_space(&v, 0);
    size_t to = 0, next;
    bool cut = false;

    c->format = FRE_CORPUS_JSONL;
    c->layout = FRE_LAYOUT_LINES;
    if (at < v.n && v.p[at] == '[')
        return array_layout(c, &v, at, sure, err);
    if (at == v.n || v.p[at] != '{') {
        if (!sure)
            c->format = FRE_CORPUS_TXT;
        return FRE_OK;
    }
    if (stands(&v, at, &to, &cut))
        return object_layout(c, &v, at, to, cut, err);
    next = after_space(&v, at + 1);
    if (!sure && !(next < v.n && (v.p[next] == '"' || v.p[next] == '}')))
        c->format = FRE_CORPUS_TXT;
    return FRE_OK;
}

/* ---- elements -------------------------------------------------------------------------------- */

static fre_status broken(fre_corpus *c, const char *what, fre_err *err)
{
    c->failed = true;
    return fre_fail(err, FRE_E_DATA, "%s: line %llu: not valid JSON: %s", c->src->name,
                    (unsigned long long)c->line + 1, what);
}

/* To the next byte that is not white space; *b: that byte, 0 at the end. */
static fre_status skip_space(fre_corpus *c, uint8_t *b, fre_err *err)
{
    for (;;) {
        fre_status st;

        while (c->begin < c->end && is_space(c->buf[c->begin]))
            c->line += c->buf[c->begin++] == c->eol;
        *b = c->begin < c->end ? c->buf[c->begin] : 0;
        if (c->begin < c->end || c->eof)
            return FRE_OK;
        st = fre_corpus_fill(c, 1, err);
        if (st)
            return st;
    }
}

/* Length of the value at begin.  It is there to its end. */
static fre_status value_length(fre_corpus *c, size_t *length, fre_err *err)
{
    cutter k = {0};
    bool before = false;

    for (size_t at = 0;; at++) {
        fre_status st = FRE_OK;

        if (at == c->end - c->begin)
            st = fre_corpus_fill(c, at + 1, err);
        if (st)
            return st;
        if (at == c->end - c->begin) { /* the end of the file */
            if (k.depth > 0 || k.in_string)
                return broken(c, "the record that starts here never ends; the file is cut off",
                              err);
            *length = at;
            return FRE_OK;
        }
        if (ends(&k, c->buf[c->begin + at], at == 0, &before)) {
            *length = at + !before;
            return FRE_OK;
        }
        if (at >= FRE_CORPUS_TEXT_MAX) {
            c->failed = true;
            return fre_fail(err, FRE_E_LIMIT,
                            "%s: line %llu: the record that starts here is longer than 64 MiB; is "
                            "a quote or bracket not closed?",
                            c->src->name, (unsigned long long)c->line + 1);
        }
    }
}

/* The rest of an object after the array in it: nothing is kept, another array is refused. */
static fre_status skip_rest(fre_corpus *c, fre_err *err)
{
    cutter k = {.depth = 1};
    uint8_t b = 0, last = 0;
    fre_status st = FRE_OK;

    while (k.depth > 0) {
        bool before = false;

        st = k.in_string ? fre_corpus_fill(c, 1, err) : skip_space(c, &b, err);
        if (st)
            return st;
        if (c->begin == c->end)
            return broken(c, "the object is never closed; the file is cut off", err);
        b = c->buf[c->begin];
        if (!k.in_string && k.depth == 2 && last == '[' && b == '{') {
            c->failed = true;
            return several_arrays(c, err);
        }
        (void)ends(&k, b, true, &before);
        c->line += b == c->eol;
        last = b;
        c->begin++;
    }
    return FRE_OK;
}

/* After the bracket that closes the array. */
static fre_status finish(fre_corpus *c, bool *more, fre_err *err)
{
    uint8_t b = 0;
    fre_status st = c->layout == FRE_LAYOUT_MEMBER ? skip_rest(c, err) : FRE_OK;

    if (st == FRE_OK)
        st = skip_space(c, &b, err);
    if (st == FRE_OK && c->begin < c->end)
        return broken(c, "something follows the array; write one array, or one object a line", err);
    c->closed = true;
    *more = false;
    return st;
}

/* To the next element of the array; *more false after the last. */
static fre_status next_element(fre_corpus *c, bool *more, fre_err *err)
{
    uint8_t b = 0;
    fre_status st = skip_space(c, &b, err);

    if (st == FRE_OK && !c->opened) { /* b is the bracket */
        c->begin++;
        c->opened = c->separated = true;
        st = skip_space(c, &b, err);
    } else if (st == FRE_OK && b == ',' && !c->separated) {
        c->begin++;
        c->separated = true;
        st = skip_space(c, &b, err);
        if (st == FRE_OK && (b == ']' || b == ','))
            return broken(c, "a record is missing after a comma", err);
    }
    if (st)
        return st;
    if (c->begin == c->end)
        return broken(c, "the array is never closed; the file is cut off", err);
    if (b == ']') {
        c->begin++;
        return finish(c, more, err);
    }
    if (!c->separated)
        return broken(c, "a comma is missing between two records", err);
    c->separated = false;
    *more = true;
    return FRE_OK;
}

fre_status fre_document_next(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err)
{
    uint8_t b = 0;
    size_t n = 0;
    fre_status st = FRE_OK;

    *more = true;
    if (c->layout != FRE_LAYOUT_VALUES) {
        *more = !c->closed;
        if (*more)
            st = next_element(c, more, err);
    } else {
        st = skip_space(c, &b, err);
        *more = st != FRE_OK || c->begin < c->end;
        if (st == FRE_OK && *more && b != '{')
            return broken(c, "an object in braces is expected", err);
    }
    if (st || !*more)
        return st;
    st = value_length(c, &n, err);
    if (st)
        return st;
    raw->p = c->buf + c->begin;
    raw->n = n;
    raw->line = c->line + 1;
    for (size_t i = 0; i < n; i++)
        c->line += raw->p[i] == c->eol;
    c->begin += n;
    return FRE_OK;
}
