/* From bytes to records where a record is a line, or a CSV record over several lines. */
#include "corpus_private.h"

#include <string.h>

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
        st = fre_corpus_fill(c, have + 1, err);
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

static fre_status cannot_read(const fre_corpus *c, uint64_t line, bool fits, fre_csv_state state,
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

/* A record that cannot be read ends with its first line, so that a quote which is not closed,
 * or closed by one of a later record, does not swallow the records after it. */
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
    return cannot_read(c, line, fits, state, err);
}

fre_status fre_lines_next(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err)
{
    size_t from = 0, to = 0, body = 0;
    uint64_t lines = 0;
    fre_csv_state state = FRE_CSV_START;
    bool fits = true;
    fre_status st = FRE_OK;

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
