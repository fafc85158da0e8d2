/* bhttp_decode.c - a binary HTTP message from bytes (RFC 9292 section 3).  Each reader reads its
 * part off the front of a cursor; what is left at the end may be padding only. */
#include "seal_private.h"

/* Variable-length integer of RFC 9000 section 16: two bits of length, then the number.  It need
 * not be the shortest form (RFC 9292 section 3). */
static bool read_int(fre_bytes *c, uint64_t *out)
{
    fre_bytes b;
    uint64_t v;

    if (c->n == 0 || !seal_read(c, &b, (size_t)1 << (c->p[0] >> 6)))
        return false;
    v = b.p[0] & 0x3f;
    for (size_t i = 1; i < b.n; i++)
        v = v << 8 | b.p[i];
    *out = v;
    return true;
}

/* A length and as many bytes. */
static bool read_counted(fre_bytes *c, fre_bytes *out)
{
    uint64_t n;

    return read_int(c, &n) && n <= c->n && seal_read(c, out, (size_t)n);
}

static fre_status read_field(fre_bytes *c, fre_bhttp_fields *out)
{
    fre_bhttp_field f;
    fre_status st;

    if (!read_counted(c, &f.name) || !read_counted(c, &f.value))
        return FRE_E_DATA;
    st = bhttp_check_field(&f);
    if (st == FRE_OK && out->n == FRE_BHTTP_FIELDS_MAX)
        st = FRE_E_LIMIT;
    if (st == FRE_OK)
        out->at[out->n++] = f;
    return st;
}

/* A header or trailer section; missing altogether, it is empty (section 3.8). */
static fre_status read_section(fre_bytes *c, fre_bhttp_fields *out, bool known)
{
    fre_bytes lines = {0};
    fre_status st = FRE_OK;

    out->n = 0;
    if (c->n == 0)
        return FRE_OK;
    if (known) {
        if (!read_counted(c, &lines))
            return FRE_E_DATA;
        while (st == FRE_OK && lines.n > 0)
            st = read_field(&lines, out);
        return st;
    }
    /* A field's name is never empty, so a length of zero, in whatever form, ends the section. */
    for (;;) {
        fre_bytes ahead = *c;
        uint64_t n;

        if (!read_int(&ahead, &n))
            return FRE_E_DATA;
        if (n == 0) {
            *c = ahead;
            return FRE_OK;
        }
        st = read_field(c, out);
        if (st != FRE_OK)
            return st;
    }
}

/* Content in chunks, ended by an empty one.  One chunk is borrowed, several are joined. */
static fre_status read_chunks(fre_bytes *c, fre_bhttp *m)
{
    fre_bytes chunk;
    size_t chunks = 0;

    for (;;) {
        fre_status st = FRE_OK;

        if (!read_counted(c, &chunk))
            return FRE_E_DATA;
        if (chunk.n == 0)
            return FRE_OK;
        if (++chunks == 2)
            st = fre_buf_append(&m->joined, m->content.p, m->content.n);
        if (st == FRE_OK && chunks >= 2)
            st = fre_buf_append(&m->joined, chunk.p, chunk.n);
        if (st != FRE_OK)
            return st;
        m->content = chunks == 1 ? chunk : seal_view(m->joined.p, m->joined.n);
    }
}

static fre_status read_content(fre_bytes *c, fre_bhttp *m, bool known)
{
    if (c->n == 0)
        return FRE_OK;
    if (!known)
        return read_chunks(c, m);
    return read_counted(c, &m->content) ? FRE_OK : FRE_E_DATA;
}

static fre_status read_target(fre_bytes *c, fre_bhttp *m)
{
    if (!read_counted(c, &m->method) || !read_counted(c, &m->scheme) ||
        !read_counted(c, &m->authority) || !read_counted(c, &m->path))
        return FRE_E_DATA;
    return bhttp_check_target(m);
}

/* Informational responses, each with a section of its own, up to the final status. */
static fre_status read_status(fre_bytes *c, fre_bhttp *m, bool known)
{
    for (;;) {
        uint64_t status;
        fre_status st;

        if (!read_int(c, &status) || status < 100 || status > 599)
            return FRE_E_DATA;
        if (status >= 200) {
            m->status = (uint16_t)status;
            return FRE_OK;
        }
        if (m->informational == FRE_BHTTP_INFORMATIONAL_MAX)
            return FRE_E_LIMIT;
        m->informational++;
        /* The final header section overwrites these fields. */
        st = read_section(c, &m->header, known);
        if (st != FRE_OK)
            return st;
    }
}

static fre_status read_message(fre_bytes *c, fre_bhttp *m)
{
    uint64_t framing;
    fre_status st;
    bool known;

    /* 0, 2: request; 1, 3: response; below 2: known length. */
    if (!read_int(c, &framing) || framing > 3)
        return FRE_E_DATA;
    if ((framing & 1) != (m->kind == FRE_BHTTP_RESPONSE ? 1 : 0))
        return FRE_E_DATA;
    known = framing < 2;
    st = m->kind == FRE_BHTTP_REQUEST ? read_target(c, m) : read_status(c, m, known);
    if (st == FRE_OK)
        st = read_section(c, &m->header, known);
    if (st == FRE_OK)
        st = read_content(c, m, known);
    if (st == FRE_OK)
        st = read_section(c, &m->trailer, known);
    return st;
}

fre_status fre_bhttp_decode(fre_bhttp *out, fre_bhttp_kind want, fre_bytes in)
{
    fre_bhttp m = {.kind = want};
    uint8_t any = 0;
    fre_status st;

    if (!out || (in.n > 0 && !in.p) || (want != FRE_BHTTP_REQUEST && want != FRE_BHTTP_RESPONSE))
        return FRE_E_ARG;
    if (in.n > FRE_BHTTP_MESSAGE_MAX)
        return FRE_E_LIMIT;
    fre_buf_init(&m.joined, FRE_BHTTP_MESSAGE_MAX);
    st = read_message(&in, &m);
    for (size_t i = 0; i < in.n; i++)
        any |= in.p[i];
    if (st == FRE_OK && any != 0)
        st = FRE_E_DATA;
    if (st == FRE_OK)
        *out = m;
    else
        fre_buf_wipe(&m.joined);
    return st;
}

void fre_bhttp_wipe(fre_bhttp *m)
{
    if (!m)
        return;
    fre_buf_wipe(&m->joined);
    fre_wipe(m, sizeof *m);
}
