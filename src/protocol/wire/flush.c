/* flush.c - what the relay hands over: the messages it collected, and the registry of their seeds. */
#include "wire_private.h"

/* ---- flush ------------------------------------------------------------------------------------- */

static bool is_contribution(unsigned type)
{
    return type == FRE_WIRE_REPORT || type == FRE_WIRE_SHARE;
}

fre_status fre_flush_encode(fre_buf *out, const fre_wire *w, const fre_flush *m,
                            const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);
    size_t each;

    if (!w || !m || !is_contribution((unsigned)m->type) || m->closed.n > UINT16_MAX)
        return FRE_E_ARG;
    each = fre_wire_sealed_bytes(w, m->type);
    if (each == 0)
        return FRE_E_STATE;
    if ((m->closed.n > 0) != (m->type == FRE_WIRE_REPORT) || m->sealed.n / each != m->n ||
        m->sealed.n % each != 0)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_FLUSH);
    wire_put_uint(&o, (uint64_t)m->type, 1);
    wire_put_part(&o, m->part);
    wire_put_uint(&o, m->closed.n, 2);
    wire_put(&o, m->closed.p, m->closed.n);
    wire_put_uint(&o, m->n, 4);
    wire_put(&o, m->sealed.p, m->sealed.n);
    return wire_close_signed(&o, FRE_WIRE_FLUSH, sk);
}

fre_status fre_flush_decode(fre_flush *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_flush m;
    fre_closed closed;
    unsigned type;
    size_t each;
    wire_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_FLUSH, &w->c.relay_sign, in, err);
    if (st != FRE_OK)
        return st;
    type = (unsigned)wire_uint(&body, 1, "type");
    wire_require(&body, is_contribution(type), "type");
    m.type = (fre_wire_type)type;
    m.part = wire_part(&body);
    m.closed = wire_items(&body, (uint32_t)wire_uint(&body, 2, "closed"), 1, "closed");
    wire_require(&body, (m.closed.n > 0) == (type == FRE_WIRE_REPORT), "closed");
    m.n = (uint32_t)wire_uint(&body, 4, "sealed");
    each = fre_wire_sealed_bytes(w, m.type);
    if (!body.bad && each == 0)
        return fre_fail(err, FRE_E_STATE, "flush: the size of a share is not known yet");
    m.sealed = wire_items(&body, m.n, each, "sealed");
    st = wire_end(&body, wire_name(FRE_WIRE_FLUSH), err);
    if (st == FRE_OK && m.closed.n > 0)
        st = fre_closed_decode(&closed, w, m.closed, err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- registry ------------------------------------------------------------------------------------- */

_Static_assert(sizeof(fre_seed_digest) == 16, "digests are read in place");

static bool marks_ascend(const fre_seed_digest *digest, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (memcmp(digest[i - 1].b, digest[i].b, sizeof digest[i].b) >= 0)
            return false;
    return true;
}

fre_status fre_registry_encode(fre_buf *out, const fre_wire *w, const fre_registry *m,
                               const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);

    if (!w || !m || (m->n > 0 && !m->digest) || !marks_ascend(m->digest, m->n))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_REGISTRY);
    wire_put_part(&o, m->part);
    wire_put_uint(&o, m->n, 4);
    wire_put(&o, m->digest, m->n * sizeof *m->digest);
    return wire_close_signed(&o, FRE_WIRE_REGISTRY, sk);
}

fre_status fre_registry_decode(fre_registry *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_registry m;
    wire_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_REGISTRY, &w->c.relay_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    m.n = (uint32_t)wire_uint(&body, 4, "digests");
    m.digest = (const fre_seed_digest *)wire_items(&body, m.n, sizeof *m.digest, "digests")
                   .p; /* bytes only */
    wire_require(&body, body.bad || marks_ascend(m.digest, m.n), "digests");
    st = wire_end(&body, wire_name(FRE_WIRE_REGISTRY), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}
