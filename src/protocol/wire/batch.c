/* batch.c - sealed entries between relay, S_tag and S_syn, and the marks that S_tag leaves. */
#include "wire_private.h"

/* ---- batch:  part (8)  closed (2 + n)  number (4)  sealed entries --------------------------------- */

static bool is_batch(fre_wire_type type)
{
    return type == FRE_WIRE_COLLECTED || type == FRE_WIRE_MIXED || type == FRE_WIRE_GATHERED;
}

static size_t sealed_bytes(const fre_wire *w, fre_wire_type type)
{
    return fre_entry_sealed_bytes(w, type == FRE_WIRE_GATHERED ? FRE_WIRE_ANSWER : FRE_WIRE_ENTRY);
}

#define PART_ENTRIES 16384u
#define BESIDES (FRE_WIRE_HEAD_BYTES + 8 + 2 + UINT16_MAX + 4 + FRE_WIRE_SIGNATURE_BYTES)

/* Never below FRE_BATCH_PART_MIN: an entry of the largest share has less than 2^16 bytes. */
static uint64_t entries_of_part(const fre_wire *w, fre_wire_type type)
{
    const size_t each = sealed_bytes(w, type);
    const uint64_t room = each > 0 ? (FRE_WIRE_MESSAGE_MAX - BESIDES) / each : 0;

    return room < PART_ENTRIES ? room : PART_ENTRIES;
}

uint64_t fre_batch_parts(const fre_wire *w, fre_wire_type type, uint64_t n)
{
    const uint64_t most = entries_of_part(w, type);

    if (most == 0)
        return 0;
    return n > most ? (n + most - 1) / most : 1;
}

uint64_t fre_batch_first(const fre_wire *w, fre_wire_type type, uint64_t n, uint64_t part)
{
    const uint64_t first = part * entries_of_part(w, type);

    return first < n ? first : n;
}

/* A short part in front of the last one would show by its size when it was sent. */
static bool part_is_full(fre_part part, uint32_t n)
{
    return n >= FRE_BATCH_PART_MIN || part.index + 1 == part.count;
}

fre_status fre_batch_encode(fre_buf *out, const fre_wire *w, fre_wire_type type, const fre_batch *m,
                            const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);
    size_t each;

    if (!w || !m || !is_batch(type) || m->closed.n > UINT16_MAX ||
        (m->closed.n > 0) != (type == FRE_WIRE_MIXED) || !part_is_full(m->part, m->n))
        return FRE_E_ARG;
    each = sealed_bytes(w, type);
    if (each == 0)
        return FRE_E_STATE;
    if (m->sealed.n / each != m->n || m->sealed.n % each != 0)
        return FRE_E_ARG;
    wire_reserve(&o, FRE_WIRE_HEAD_BYTES + 8 + 2 + m->closed.n + 4 + m->sealed.n +
                         FRE_WIRE_SIGNATURE_BYTES);
    wire_put_head(&o, w, type);
    wire_put_part(&o, m->part);
    fre_out_uint(&o, m->closed.n, 2);
    fre_out_put(&o, m->closed.p, m->closed.n);
    fre_out_uint(&o, m->n, 4);
    fre_out_put(&o, m->sealed.p, m->sealed.n);
    return wire_close_signed(&o, type, sk);
}

fre_status fre_batch_decode(fre_batch *out, const fre_wire *w, fre_wire_type type, fre_bytes in,
                            fre_err *err)
{
    size_t each;
    fre_batch m;
    fre_closed closed;
    fre_in body;
    fre_status st;

    if (!out || !w || !is_batch(type))
        return FRE_E_ARG;
    each = sealed_bytes(w, type);
    if (each == 0)
        return fre_fail(err, FRE_E_STATE, "%s: the size of a share is not known yet",
                        wire_name(type));
    st = wire_begin_signed(&body, w, type,
                           type == FRE_WIRE_MIXED ? &w->c.tag_sign : &w->c.relay_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    m.closed = wire_items(&body, (uint32_t)fre_in_uint(&body, 2, "closed"), 1, "closed");
    fre_in_require(&body, (m.closed.n > 0) == (type == FRE_WIRE_MIXED), "closed");
    m.n = (uint32_t)fre_in_uint(&body, 4, "sealed");
    fre_in_require(&body, body.bad || part_is_full(m.part, m.n), "sealed");
    m.sealed = wire_items(&body, m.n, each, "sealed");
    st = wire_end(&body, wire_name(type), err);
    if (st == FRE_OK && m.closed.n > 0)
        st = fre_closed_decode(&closed, w, m.closed, err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- marks:  kind (1)  hash (32) -------------------------------------------------------------------- */

static bool is_mark(fre_wire_type type)
{
    return type == FRE_WIRE_MARK || type == FRE_WIRE_MARKED;
}

static bool is_mark_kind(unsigned kind)
{
    return kind == FRE_MARK_MIX || kind == FRE_MARK_SUM;
}

fre_status fre_mark_encode(fre_buf *out, const fre_wire *w, fre_wire_type type, const fre_mark *m,
                           const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || !is_mark(type) || !is_mark_kind((unsigned)m->kind))
        return FRE_E_ARG;
    wire_put_head(&o, w, type);
    fre_out_uint(&o, (uint64_t)m->kind, 1);
    fre_out_put(&o, m->hash, sizeof m->hash);
    return wire_close_signed(&o, type, sk);
}

fre_status fre_mark_decode(fre_mark *out, const fre_wire *w, fre_wire_type type, fre_bytes in,
                           fre_err *err)
{
    unsigned kind;
    fre_mark m;
    fre_in body;
    fre_status st;

    if (!out || !w || !is_mark(type))
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, type,
                           type == FRE_WIRE_MARK ? &w->c.tag_sign : &w->c.relay_sign, in, err);
    if (st != FRE_OK)
        return st;
    kind = (unsigned)fre_in_uint(&body, 1, "kind");
    fre_in_require(&body, is_mark_kind(kind), "kind");
    m.kind = (fre_mark_kind)kind;
    fre_in_copy(&body, m.hash, sizeof m.hash, "hash");
    st = wire_end(&body, wire_name(type), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}
