/* From bytes to records: lines, CSV records over several lines, and what is done about bytes that
 * are not text.  Records lie in the read buffer and are decoded in place. */
#include "corpus_int.h"

#include <stdlib.h>
#include <string.h>

#define BUF_FIRST (16u << 10)

/* Room for more bytes after end: move the record to the front, or take twice the memory. */
static fre_status make_room(fre_corpus *c, fre_err *err)
{
    size_t have = c->end - c->begin, cap = 0;
    uint8_t *p = NULL;

    if (c->cap > 0 && c->cap - 1 - c->end >= c->cap / 4)
        return FRE_OK;
    if (c->cap > 0 && c->cap - 1 - have >= c->cap / 4) {
        (void)memmove(c->buf, c->buf + c->begin, have);
        c->begin = 0;
        c->end = have;
        return FRE_OK;
    }
    cap = c->cap ? 2 * c->cap : BUF_FIRST;
    p = malloc(cap);
    if (!p)
        return fre_fail(err, FRE_E_NOMEM, "%s: line %llu: out of memory for one record",
                        c->src->name, (unsigned long long)c->line + 1);
    if (c->buf) {
        (void)memcpy(p, c->buf + c->begin, have);
        fre_wipe(c->buf, c->cap);
        free(c->buf);
    }
    c->buf = p;
    c->cap = cap;
    c->begin = 0;
    c->end = have;
    return FRE_OK;
}

static fre_status read_more(fre_corpus *c, fre_err *err)
{
    size_t got = 0;
    fre_status st = make_room(c, err);

    if (st)
        return st;
    if (fre_interrupted())
        return fre_fail(err, FRE_E_INTERRUPTED, "%s: reading was interrupted", c->src->name);
    st = fre_decode_read(&c->decoder, c->src, c->buf + c->end, c->cap - 1 - c->end, &got, err);
    c->failed = c->failed || st != FRE_OK;
    if (st)
        return st;
    c->eof = got == 0;
    c->decoded += got;
    c->end += got;
    return FRE_OK;
}

fre_status fre_corpus_fill(fre_corpus *c, size_t n, fre_err *err)
{
    while (c->end - c->begin < n && !c->eof) {
        fre_status st = read_more(c, err);

        if (st)
            return st;
    }
    return FRE_OK;
}

/* Offset (from begin) after the line that starts at offset from, its end included; from itself when
 * nothing is left.  *fits false: it is longer than a record may be, and *to is where it was given up. */
static fre_status line_end(fre_corpus *c, size_t from, size_t *to, bool *fits, fre_err *err)
{
    size_t seen = from;

    *fits = true;
    for (;;) {
        size_t have = c->end - c->begin;
        const uint8_t *hit = NULL;
        fre_status st = FRE_OK;

        if (have > seen)
            hit = memchr(c->buf + c->begin + seen, c->eol, have - seen);
        if (hit || c->eof) {
            *to = hit ? (size_t)(hit + 1 - (c->buf + c->begin)) : have;
            return FRE_OK;
        }
        if (have > FRE_CORPUS_TEXT_MAX + 2) { /* + CR LF */
            *fits = false;
            *to = have;
            return FRE_OK;
        }
        seen = have;
        st = read_more(c, err);
        if (st)
            return st;
    }
}

/* Offset of the line's end without LF, CR LF or CR. */
static size_t strip_end(const fre_corpus *c, size_t from, size_t to)
{
    const uint8_t *p = c->buf + c->begin;

    if (to > from && p[to - 1] == '\n')
        to--;
    if (to > from && p[to - 1] == '\r')
        to--;
    return to;
}

static fre_status cannot_take(const fre_corpus *c, uint64_t line, bool fits, fre_csv_state state,
                              fre_err *err)
{
    if (!fits)
        return fre_fail(err, FRE_E_LIMIT,
                        "%s: line %llu: the record that starts here is longer than 64 MiB; %s",
                        c->src->name, (unsigned long long)line,
                        c->delim ? "is a quote not closed?" : "break it into shorter texts");
    if (state == FRE_CSV_BAD)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: text follows a closing quote in this record; double the "
                        "quotes inside a quoted field",
                        c->src->name, (unsigned long long)line);
    return fre_fail(err, FRE_E_DATA,
                    "%s: line %llu: a quoted field of this record is never closed; add the "
                    "closing quote, and double the quotes inside a quoted field",
                    c->src->name, (unsigned long long)line);
}

/* What a record is that could not be taken: only its first line, so that a quote which is not closed,
 * or closed by one of a later record, does not swallow the records behind it. */
static fre_status give_up(fre_corpus *c, fre_raw *raw, bool fits, fre_csv_state state, fre_err *err)
{
    const uint64_t line = c->line + 1;
    size_t to = 0;
    bool whole = false;
    fre_status st = line_end(c, 0, &to, &whole, err);

    /* A line beyond all bounds: to its end without keeping it. */
    while (st == FRE_OK && !whole && c->invalid != FRE_CORPUS_INVALID_FAIL) {
        c->begin = c->end;
        st = line_end(c, 0, &to, &whole, err);
    }
    if (st)
        return st;
    raw->line = line;
    c->begin += to;
    c->line++;
    return cannot_take(c, line, fits, state, err);
}

fre_status fre_corpus_take(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err)
{
    size_t from = 0, to = 0, body = 0;
    uint64_t lines = 0;
    fre_csv_state state = FRE_CSV_START;
    bool fits = true;
    fre_status st = FRE_OK;

    if (c->layout != FRE_LAYOUT_LINES)
        return fre_document_take(c, more, raw, err);
    do {
        st = line_end(c, from, &to, &fits, err);
        if (st)
            return st;
        if (to == from)
            break;
        lines++;
        body = strip_end(c, from, to);
        fits = fits && body <= FRE_CORPUS_TEXT_MAX;
        if (!fits)
            break;
        if (c->delim)
            state = fre_csv_scan(state, c->buf + c->begin + from, body - from, c->delim);
        from = to;
    } while (state == FRE_CSV_QUOTED);

    *more = lines > 0;
    if (state == FRE_CSV_QUOTED || state == FRE_CSV_BAD || !fits)
        return give_up(c, raw, fits, state, err);
    raw->p = c->buf + c->begin;
    raw->n = body;
    raw->line = c->line + 1;
    c->begin += from;
    c->line += lines;
    return FRE_OK;
}

static fre_status replace_bad(fre_corpus *c, fre_raw *raw, size_t bad, fre_err *err)
{
    static const uint8_t sign[3] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
    size_t at = 0;
    fre_status st = FRE_OK;

    fre_buf_wipe(&c->repaired);
    while (st == FRE_OK && bad < raw->n) {
        st = fre_buf_append(&c->repaired, raw->p + at, bad - at);
        if (st == FRE_OK)
            st = fre_buf_append(&c->repaired, sign, sizeof sign);
        at = bad + fre_utf8_bad_len(raw->p + bad, raw->n - bad);
        bad = at + fre_utf8_first_bad(raw->p + at, raw->n - at);
    }
    if (st == FRE_OK)
        st = fre_buf_append(&c->repaired, raw->p + at, raw->n - at);
    if (st == FRE_OK)
        st = fre_buf_append(&c->repaired, "", 1); /* raw->p[n] must be writable */
    if (st)
        return fre_fail(err, st, "%s: line %llu: out of memory for one record", c->src->name,
                        (unsigned long long)raw->line);
    raw->p = c->repaired.p;
    raw->n = c->repaired.n - 1;
    return FRE_OK;
}

/* The encoding that bytes which are no UTF-8 suggest: Windows' has letters and quotes where Latin-1
 * has control characters. */
static const char *likely_encoding(const fre_raw *raw)
{
    for (size_t i = 0; i < raw->n; i++)
        if (raw->p[i] >= 0x80 && raw->p[i] < 0xa0)
            return "windows-1252";
    return "latin-1";
}

fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, fre_err *err)
{
    size_t bad = fre_utf8_first_bad(raw->p, raw->n);

    if (bad == raw->n)
        return FRE_OK;
    if (c->invalid == FRE_CORPUS_INVALID_REPLACE) {
        c->stats.invalid++;
        return replace_bad(c, raw, bad, err);
    }
    if (raw->p[bad] == 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a NUL byte at byte %zu of the record; remove it (is the "
                        "file UTF-16?)",
                        c->src->name, (unsigned long long)raw->line, bad + 1);
    if (c->decoder.on)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: what is at byte %zu of the record is not %s; correct "
                        "{encoding}",
                        c->src->name, (unsigned long long)raw->line, bad + 1, c->decoder.name);
    return fre_fail(err, FRE_E_DATA,
                    "%s: line %llu: invalid UTF-8 at byte %zu of the record; name the file's "
                    "encoding ({encoding} %s)",
                    c->src->name, (unsigned long long)raw->line, bad + 1, likely_encoding(raw));
}
