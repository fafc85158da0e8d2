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
                        c->src.name, (unsigned long long)c->line + 1);
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
        return fre_fail(err, FRE_E_INTERRUPTED, "%s: reading was interrupted", c->src.name);
    st = fre_src_read(&c->src, c->buf + c->end, c->cap - 1 - c->end, &got, err);
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

static fre_status too_long(const fre_corpus *c, fre_err *err)
{
    return fre_fail(err, FRE_E_LIMIT,
                    "%s: line %llu: the record that starts here is longer than 64 MiB; %s",
                    c->src.name, (unsigned long long)c->line + 1,
                    c->delim ? "is a quote not closed?" : "break it into shorter texts");
}

/* Offset (from begin) after the line that starts at offset from, its LF included; from itself
 * when nothing is left. */
static fre_status line_end(fre_corpus *c, size_t from, size_t *to, fre_err *err)
{
    size_t seen = from;

    for (;;) {
        size_t have = c->end - c->begin;
        const uint8_t *lf = NULL;
        fre_status st = FRE_OK;

        if (have > seen)
            lf = memchr(c->buf + c->begin + seen, '\n', have - seen);
        if (lf || c->eof) {
            *to = lf ? (size_t)(lf + 1 - (c->buf + c->begin)) : have;
            return FRE_OK;
        }
        if (have > FRE_CORPUS_TEXT_MAX + 2) /* + CR LF */
            return too_long(c, err);
        seen = have;
        st = read_more(c, err);
        if (st)
            return st;
    }
}

/* Offset of the line's end without LF or CR LF. */
static size_t strip_end(const fre_corpus *c, size_t from, size_t to)
{
    const uint8_t *p = c->buf + c->begin;

    if (to > from && p[to - 1] == '\n')
        to--;
    if (to > from && p[to - 1] == '\r')
        to--;
    return to;
}

fre_status fre_corpus_take(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err)
{
    size_t from = 0, to = 0, body = 0;
    uint64_t lines = 0;
    fre_csv_state state = FRE_CSV_START;
    fre_status st = FRE_OK;

    do {
        st = line_end(c, from, &to, err);
        if (st)
            return st;
        if (to == from)
            break;
        lines++;
        body = strip_end(c, from, to);
        if (body > FRE_CORPUS_TEXT_MAX)
            return too_long(c, err);
        if (c->delim)
            state = fre_csv_scan(state, c->buf + c->begin + from, body - from, c->delim);
        from = to;
    } while (state == FRE_CSV_QUOTED);

    raw->p = c->buf + c->begin;
    raw->n = body;
    raw->line = c->line + 1;
    c->begin += from;
    c->line += lines;
    *more = lines > 0;
    if (state == FRE_CSV_QUOTED)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a quoted field of this record is never closed; add the "
                        "closing quote, and double the quotes inside a quoted field",
                        c->src.name, (unsigned long long)raw->line);
    if (state == FRE_CSV_BAD)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: text follows a closing quote in this record; double the "
                        "quotes inside a quoted field",
                        c->src.name, (unsigned long long)raw->line);
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
        return fre_fail(err, st, "%s: line %llu: out of memory for one record", c->src.name,
                        (unsigned long long)raw->line);
    raw->p = c->repaired.p;
    raw->n = c->repaired.n - 1;
    return FRE_OK;
}

fre_status fre_corpus_repair(fre_corpus *c, fre_raw *raw, bool *skip, fre_err *err)
{
    size_t bad = fre_utf8_first_bad(raw->p, raw->n);

    *skip = false;
    if (bad == raw->n)
        return FRE_OK;
    switch (c->invalid) {
    case FRE_CORPUS_INVALID_SKIP:
        c->stats.invalid++;
        *skip = true;
        return FRE_OK;
    case FRE_CORPUS_INVALID_REPLACE:
        c->stats.invalid++;
        return replace_bad(c, raw, bad, err);
    case FRE_CORPUS_INVALID_FAIL:
        break;
    }
    if (raw->p[bad] == 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a NUL byte at byte %zu of the record; remove it (is the "
                        "file UTF-16?) or use --invalid skip or replace",
                        c->src.name, (unsigned long long)raw->line, bad + 1);
    return fre_fail(err, FRE_E_DATA,
                    "%s: line %llu: invalid UTF-8 at byte %zu of the record; convert the file to "
                    "UTF-8 or use --invalid skip or replace",
                    c->src.name, (unsigned long long)raw->line, bad + 1);
}
