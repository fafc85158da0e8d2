/* bhttp_encode.c - a binary HTTP message to bytes: known-length form, shortest integers. */
#include "seal_private.h"

static size_t int_bytes(uint64_t v)
{
    if (v < 1u << 6)
        return 1;
    if (v < 1u << 14)
        return 2;
    return v < 1u << 30 ? 4 : 8;
}

static fre_status put_int(fre_buf *b, uint64_t v)
{
    uint8_t out[8];
    size_t n = int_bytes(v);

    for (size_t i = n; i-- > 0; v >>= 8)
        out[i] = (uint8_t)v;
    /* log2(n) in the two top bits, which the number leaves free. */
    out[0] = (uint8_t)(out[0] | (n == 1 ? 0 : n == 2 ? 0x40 : n == 4 ? 0x80 : 0xc0));
    return fre_buf_append(b, out, n);
}

static fre_status put_counted(fre_buf *b, fre_bytes v)
{
    fre_status st = put_int(b, v.n);

    return st == FRE_OK ? fre_buf_append(b, v.p, v.n) : st;
}

static fre_status put_section(fre_buf *b, const fre_bhttp_fields *f)
{
    uint64_t n = 0;
    fre_status st;

    for (size_t i = 0; i < f->n; i++)
        n += int_bytes(f->at[i].name.n) + f->at[i].name.n + int_bytes(f->at[i].value.n) +
             f->at[i].value.n;
    st = put_int(b, n);
    for (size_t i = 0; st == FRE_OK && i < f->n; i++) {
        st = put_counted(b, f->at[i].name);
        if (st == FRE_OK)
            st = put_counted(b, f->at[i].value);
    }
    return st;
}

static fre_status put_control(fre_buf *b, const fre_bhttp *m)
{
    const fre_bytes target[4] = {m->method, m->scheme, m->authority, m->path};
    fre_status st = put_int(b, m->kind == FRE_BHTTP_REQUEST ? 0 : 1);

    if (m->kind == FRE_BHTTP_RESPONSE)
        return st == FRE_OK ? put_int(b, m->status) : st;
    for (size_t i = 0; st == FRE_OK && i < 4; i++)
        st = put_counted(b, target[i]);
    return st;
}

static fre_status put_message(fre_buf *b, const fre_bhttp *m)
{
    /* Empty sections at the end are left out (RFC 9292 section 3.8). */
    const bool trailer = m->trailer.n > 0;
    const bool content = trailer || m->content.n > 0;
    fre_status st = put_control(b, m);

    if (st == FRE_OK && (content || m->header.n > 0))
        st = put_section(b, &m->header);
    if (st == FRE_OK && content)
        st = put_counted(b, m->content);
    if (st == FRE_OK && trailer)
        st = put_section(b, &m->trailer);
    return st;
}

static fre_status pad(fre_buf *b, size_t padded)
{
    static const uint8_t zero[256];
    fre_status st = FRE_OK;

    if (padded == 0)
        return FRE_OK;
    if (b->n > padded)
        return FRE_E_LIMIT;
    while (st == FRE_OK && b->n < padded) {
        size_t left = padded - b->n;

        st = fre_buf_append(b, zero, left < sizeof zero ? left : sizeof zero);
    }
    return st;
}

static fre_status check_fields(const fre_bhttp_fields *f)
{
    if (f->n > FRE_BHTTP_FIELDS_MAX)
        return FRE_E_LIMIT;
    for (size_t i = 0; i < f->n; i++) {
        fre_status st = bhttp_check_field(&f->at[i]);

        if (st != FRE_OK)
            return st;
        for (size_t j = 0; j < f->at[i].name.n; j++) {
            if (f->at[i].name.p[j] >= 'A' && f->at[i].name.p[j] <= 'Z')
                return FRE_E_DATA;
        }
    }
    return FRE_OK;
}

static fre_status check(const fre_bhttp *m)
{
    fre_status st = FRE_OK;

    if (m->kind == FRE_BHTTP_REQUEST)
        st = bhttp_check_target(m);
    else if (m->kind != FRE_BHTTP_RESPONSE || m->status < 200 || m->status > 599)
        st = FRE_E_DATA;
    if (st == FRE_OK)
        st = check_fields(&m->header);
    if (st == FRE_OK)
        st = check_fields(&m->trailer);
    return st;
}

fre_status fre_bhttp_encode(fre_buf *out, const fre_bhttp *m, size_t padded)
{
    fre_buf b;
    fre_status st;

    if (!out || !m || (m->content.n > 0 && !m->content.p))
        return FRE_E_ARG;
    st = check(m);
    if (st == FRE_E_DATA)
        return FRE_E_ARG; /* what a peer may not send, we may not either */
    if (st != FRE_OK)
        return st;
    fre_buf_init(&b, FRE_BHTTP_MESSAGE_MAX);
    st = put_message(&b, m);
    if (st == FRE_OK)
        st = pad(&b, padded);
    if (st == FRE_OK)
        st = fre_buf_append(out, b.p, b.n);
    fre_buf_wipe(&b);
    return st;
}
