/* cursor.c - what messages need of core's reader and writer besides. */
#include "wire_private.h"

fre_bytes wire_items(fre_in *in, uint32_t n, size_t each, const char *field)
{
    const uint8_t *p;

    /* Before the product, which could wrap. */
    fre_in_require(in, each == 0 || n <= in->left.n / each, field);
    if (in->bad)
        return wire_view(NULL, 0);
    p = fre_in_take(in, n * each, field);
    return wire_view(p, p ? n * each : 0);
}

fre_status wire_end(const fre_in *in, const char *message, fre_err *err)
{
    if (in->bad)
        return fre_fail(err, FRE_E_DATA,
                        "%s: %s is cut short or outside its range: ask the sender for it again",
                        message, in->bad);
    if (in->left.n > 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s: %zu bytes follow its end: ask the sender for it again", message,
                        in->left.n);
    return FRE_OK;
}

void wire_reserve(fre_out *o, size_t n)
{
    if (o->st == FRE_OK)
        o->st = fre_buf_reserve(o->b, n);
}

void wire_fail(fre_out *o, fre_status st)
{
    if (o->st == FRE_OK)
        o->st = st;
}

fre_status wire_close(fre_out *o)
{
    if (o->st == FRE_OK && o->b->n - o->start > FRE_WIRE_MESSAGE_MAX)
        o->st = FRE_E_LIMIT;
    return fre_out_end(o);
}

uint32_t wire_get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

void wire_set32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}
