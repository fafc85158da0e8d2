/* cursor.c - the bounded reader of numbers and bytes, and their writer. */
#include "core_private.h"

#include <string.h>

const uint8_t *fre_in_take(fre_in *in, size_t n, const char *field)
{
    const uint8_t *p = in->left.p;

    fre_in_require(in, n <= in->left.n, field);
    if (in->bad || n == 0)
        return NULL;
    in->left = (fre_bytes){p + n, in->left.n - n};
    return p;
}

void fre_in_copy(fre_in *in, void *out, size_t n, const char *field)
{
    const uint8_t *p = fre_in_take(in, n, field);

    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

uint64_t fre_in_uint(fre_in *in, unsigned bytes, const char *field)
{
    const uint8_t *p = fre_in_take(in, bytes, field);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

void fre_in_require(fre_in *in, bool ok, const char *field)
{
    if (!ok && !in->bad)
        in->bad = field;
}

fre_out fre_out_begin(fre_buf *b)
{
    return (fre_out){.b = b, .start = b ? b->n : 0, .st = b ? FRE_OK : FRE_E_ARG};
}

void fre_out_put(fre_out *o, const void *p, size_t n)
{
    if (o->st == FRE_OK && n > 0)
        o->st = fre_buf_append(o->b, p, n);
}

void fre_out_uint(fre_out *o, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    fre_out_put(o, b, bytes);
}

fre_status fre_out_end(fre_out *o)
{
    if (o->st != FRE_OK && o->b && o->b->n > o->start) {
        fre_wipe(o->b->p + o->start, o->b->n - o->start);
        o->b->n = o->start;
    }
    return o->st;
}
