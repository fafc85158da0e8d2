/* The read buffer: decoded bytes of the input that no record has used up yet.  Records lie in it and are
 * decoded in place. */
#include "corpus_private.h"

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
