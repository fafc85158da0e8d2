/* cursor.c - the bounded reader and the writer. */
#include "wire_private.h"

const uint8_t *wire_bytes(wire_in *in, size_t n, const char *field)
{
    const uint8_t *p = in->left.p;

    wire_require(in, n <= in->left.n, field);
    if (in->bad || n == 0)
        return NULL;
    in->left = wire_view(p + n, in->left.n - n);
    return p;
}

void wire_copy(wire_in *in, void *out, size_t n, const char *field)
{
    const uint8_t *p = wire_bytes(in, n, field);

    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

uint64_t wire_uint(wire_in *in, unsigned bytes, const char *field)
{
    const uint8_t *p = wire_bytes(in, bytes, field);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

fre_bytes wire_items(wire_in *in, uint32_t n, size_t each, const char *field)
{
    const uint8_t *p;

    /* Before the product, which could wrap. */
    wire_require(in, each == 0 || n <= in->left.n / each, field);
    if (in->bad)
        return wire_view(NULL, 0);
    p = wire_bytes(in, n * each, field);
    return wire_view(p, p ? n * each : 0);
}

void wire_require(wire_in *in, bool ok, const char *field)
{
    if (!ok && !in->bad)
        in->bad = field;
}

fre_status wire_end(const wire_in *in, const char *message, fre_err *err)
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

wire_out wire_open(fre_buf *b)
{
    return (wire_out){.b = b, .start = b ? b->n : 0, .st = b ? FRE_OK : FRE_E_ARG};
}

void wire_reserve(wire_out *o, size_t n)
{
    if (o->st == FRE_OK)
        o->st = fre_buf_reserve(o->b, n);
}

void wire_put(wire_out *o, const void *p, size_t n)
{
    if (o->st == FRE_OK && n > 0)
        o->st = fre_buf_append(o->b, p, n);
}

void wire_put_uint(wire_out *o, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    wire_put(o, b, bytes);
}

void wire_fail(wire_out *o, fre_status st)
{
    if (o->st == FRE_OK)
        o->st = st;
}

fre_status wire_close(wire_out *o)
{
    if (o->st == FRE_OK && o->b->n - o->start > FRE_WIRE_MESSAGE_MAX)
        o->st = FRE_E_LIMIT;
    if (o->st != FRE_OK && o->b && o->b->n > o->start) {
        fre_wipe(o->b->p + o->start, o->b->n - o->start);
        o->b->n = o->start;
    }
    return o->st;
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
