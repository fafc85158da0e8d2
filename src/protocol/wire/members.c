/* members.c - who is under which tag: said by S_syn, vouched for by the issuer, opened and summed by
 * S_tag. */
#include "wire_private.h"

#define TAG_BYTES sizeof(fre_tag)
#define ID_BYTES sizeof(fre_report_id)

_Static_assert(sizeof(fre_vouch_member) == 32, "members are read in place");
_Static_assert(sizeof(fre_sealed_entry_seed) == 84, "sealed seeds are read in place");

/* ---- vouch, vouched:  part (8)  number of sets (4)  sets --------------------------------------- */

static size_t member_bytes(fre_wire_type type)
{
    return type == FRE_WIRE_VOUCH ? sizeof(fre_vouch_member) : ID_BYTES;
}

static fre_status decode_members(fre_tag_sets *out, const fre_wire *w, fre_wire_type type,
                                 const fre_sign_pk *pk, fre_bytes in, fre_err *err)
{
    fre_in body;
    fre_tag_sets m;
    fre_status st = wire_begin_signed(&body, w, type, pk, in, err);

    if (st == FRE_OK)
        st = wire_decode_sets(&m.part, &m.n, &m.raw, &body, member_bytes(type), 1, type, err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

static wire_set vouch_at(const void *list, uint32_t i)
{
    const fre_vouch_set *s = (const fre_vouch_set *)list + i;

    return (wire_set){s->tag.b, (const uint8_t *)s->member, s->n};
}

fre_status fre_vouch_encode(fre_buf *out, const fre_wire *w, fre_part part,
                            const fre_vouch_set *set, uint32_t n, const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || (n > 0 && !set))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_VOUCH);
    wire_put_part(&o, part);
    wire_put_sets(&o, set, n, vouch_at, member_bytes(FRE_WIRE_VOUCH), 1);
    return wire_close_signed(&o, FRE_WIRE_VOUCH, sk);
}

fre_status fre_vouch_decode(fre_tag_sets *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    if (!out || !w)
        return FRE_E_ARG;
    return decode_members(out, w, FRE_WIRE_VOUCH, &w->c.syn_sign, in, err);
}

bool fre_vouch_next(fre_tag_sets *s, fre_vouch_set *out)
{
    wire_set v;

    if (!wire_next_set(&s->n, &s->raw, &v, member_bytes(FRE_WIRE_VOUCH)))
        return false;
    memcpy(out->tag.b, v.tag, TAG_BYTES);
    out->n = v.n;
    out->member = (const fre_vouch_member *)v.member; /* bytes only: any address is aligned */
    return true;
}

static wire_set vouched_at(const void *list, uint32_t i)
{
    const fre_vouched_set *s = (const fre_vouched_set *)list + i;

    return (wire_set){s->tag.b, (const uint8_t *)s->id, s->n};
}

fre_status fre_vouched_encode(fre_buf *out, const fre_wire *w, fre_part part,
                              const fre_vouched_set *set, uint32_t n, const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || (n > 0 && !set))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_VOUCHED);
    wire_put_part(&o, part);
    wire_put_sets(&o, set, n, vouched_at, ID_BYTES, 1);
    return wire_close_signed(&o, FRE_WIRE_VOUCHED, sk);
}

fre_status fre_vouched_decode(fre_tag_sets *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    if (!out || !w)
        return FRE_E_ARG;
    return decode_members(out, w, FRE_WIRE_VOUCHED, &w->c.issuer_sign, in, err);
}

bool fre_vouched_next(fre_tag_sets *s, fre_vouched_set *out)
{
    wire_set v;

    if (!wire_next_set(&s->n, &s->raw, &v, ID_BYTES))
        return false;
    memcpy(out->tag.b, v.tag, TAG_BYTES);
    out->n = v.n;
    out->id = (const fre_report_id *)v.member;
    return true;
}

/* ---- unseal:  vouched (4 + n)  number (4)  sealed seeds ------------------------------------------ */

static uint64_t ids_in(fre_tag_sets sets)
{
    fre_vouched_set s;
    uint64_t n = 0;

    while (fre_vouched_next(&sets, &s))
        n += s.n;
    return n;
}

fre_status fre_unseal_encode(fre_buf *out, const fre_wire *w, const fre_unseal *m,
                             const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);
    fre_tag_sets sets;
    fre_status st;

    if (!w || !m || (m->n > 0 && !m->seed) || m->vouched.n > FRE_WIRE_MESSAGE_MAX)
        return FRE_E_ARG;
    st = fre_vouched_decode(&sets, w, m->vouched, NULL);
    if (st != FRE_OK)
        return st == FRE_E_REFUSED || st == FRE_E_KEY ? FRE_E_DATA : st;
    if (sets.part.index != m->part.index || sets.part.count != m->part.count ||
        ids_in(sets) != m->n)
        return FRE_E_DATA;
    wire_put_head(&o, w, FRE_WIRE_UNSEAL);
    wire_put_part(&o, m->part);
    fre_out_uint(&o, m->vouched.n, 4);
    fre_out_put(&o, m->vouched.p, m->vouched.n);
    fre_out_uint(&o, m->n, 4);
    fre_out_put(&o, m->seed, m->n * sizeof *m->seed);
    return wire_close_signed(&o, FRE_WIRE_UNSEAL, sk);
}

fre_status fre_unseal_decode(fre_unseal *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_unseal m;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_UNSEAL, &w->c.syn_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    m.vouched = wire_items(&body, (uint32_t)fre_in_uint(&body, 4, "vouched"), 1, "vouched");
    m.n = (uint32_t)fre_in_uint(&body, 4, "seeds");
    m.seed = (const fre_sealed_entry_seed *)wire_items(&body, m.n, sizeof *m.seed, "seeds")
                 .p; /* bytes only */
    st = wire_end(&body, wire_name(FRE_WIRE_UNSEAL), err);
    if (st == FRE_OK)
        st = fre_vouched_decode(&m.sets, w, m.vouched, err);
    if (st == FRE_OK && (m.sets.part.index != m.part.index || m.sets.part.count != m.part.count ||
                         ids_in(m.sets) != m.n))
        st = fre_fail(err, FRE_E_DATA,
                      "unseal request: it is not for the members that are vouched for in it");
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- summed:  part (8)  number of sets (4)  sets:  tag (32)  ids (4 + 16 n)  packed (4 + n)
 * cell (4) ---- */

typedef struct summed_view {
    wire_set s;
    fre_bytes packed;
    uint32_t cell;
} summed_view;

/* The cell comes with the sum, or the three. */
static bool sum_is_fine(const fre_wire *w, const fre_bytes *packed, uint32_t cell)
{
    if (packed->n == 0)
        return cell == 0;
    return (packed->n == fre_wire_sums_bytes(w, 1) ||
            (w->c.splits && packed->n == fre_wire_sums_bytes(w, 3))) &&
           wire_is_cell(w, cell);
}

static bool read_summed(fre_in *in, summed_view *out)
{
    if (!wire_read_set(in, &out->s, ID_BYTES))
        return false;
    out->packed = wire_items(in, (uint32_t)fre_in_uint(in, 4, "sum"), 1, "sum");
    out->cell = (uint32_t)fre_in_uint(in, 4, "cell");
    return !in->bad;
}

fre_status fre_summed_encode(fre_buf *out, const fre_wire *w, fre_part part,
                             const fre_summed_set *set, uint32_t n, const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);
    wire_set s, before;

    if (!w || (n > 0 && !set))
        return FRE_E_ARG;
    if (fre_wire_share_bytes(w) == 0)
        return FRE_E_STATE;
    wire_put_head(&o, w, FRE_WIRE_SUMMED);
    wire_put_part(&o, part);
    fre_out_uint(&o, n, 4);
    for (uint32_t i = 0; i < n && o.st == FRE_OK; i++) {
        s = (wire_set){set[i].tag.b, (const uint8_t *)set[i].id, set[i].n};
        if (!sum_is_fine(w, &set[i].packed, set[i].cell))
            wire_fail(&o, FRE_E_ARG);
        wire_put_set(&o, i > 0 ? &before : NULL, &s, ID_BYTES, 0);
        fre_out_uint(&o, set[i].packed.n, 4);
        fre_out_put(&o, set[i].packed.p, set[i].packed.n);
        fre_out_uint(&o, set[i].cell, 4);
        before = s;
    }
    return wire_close_signed(&o, FRE_WIRE_SUMMED, sk);
}

static bool summed_is_fine(const fre_wire *w, const summed_view *v, const uint8_t *before)
{
    return wire_ids_ascend(v->s.member, v->s.n, ID_BYTES) &&
           (!before || memcmp(before, v->s.tag, TAG_BYTES) < 0) &&
           sum_is_fine(w, &v->packed, v->cell);
}

fre_status fre_summed_decode(fre_tag_sets *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    const uint8_t *before = NULL;
    fre_tag_sets m;
    summed_view v;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    if (fre_wire_share_bytes(w) == 0)
        return fre_fail(err, FRE_E_STATE, "summed members: the size of a share is not known yet");
    st = wire_begin_signed(&body, w, FRE_WIRE_SUMMED, &w->c.tag_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    m.n = (uint32_t)fre_in_uint(&body, 4, "sets");
    m.raw = body.left;
    for (uint32_t i = 0; i < m.n && read_summed(&body, &v); i++) {
        fre_in_require(&body, summed_is_fine(w, &v, before), "members");
        before = v.s.tag;
    }
    st = wire_end(&body, wire_name(FRE_WIRE_SUMMED), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

bool fre_summed_next(fre_tag_sets *s, fre_summed_set *out)
{
    fre_in in = {.left = s->raw, .bad = NULL};
    summed_view v;

    if (s->n == 0 || !read_summed(&in, &v))
        return false;
    s->n--;
    s->raw = in.left;
    memcpy(out->tag.b, v.s.tag, TAG_BYTES);
    out->n = v.s.n;
    out->id = (const fre_report_id *)v.s.member;
    out->packed = v.packed;
    out->cell = v.cell;
    return true;
}
