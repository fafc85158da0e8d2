/* sets.c - the servers' agreement on who is summed, the sums, and the release. */
#include "wire_private.h"

#include <math.h>

/* ---- sets with members of a fixed size, an id first --------------------------------------------
 * set:  tag (32)  number of members (4)  members */

#define TAG_BYTES FRE_OPRF_TAG_BYTES
#define ID_BYTES sizeof(fre_report_id)

_Static_assert(sizeof(fre_report_id) == 16, "ids are read in place");
_Static_assert(sizeof(fre_set_member) == 16 + sizeof(fre_sealed_seed), "members are read in place");

bool wire_ids_ascend(const uint8_t *member, uint32_t n, size_t each)
{
    for (uint32_t i = 1; i < n; i++) {
        if (memcmp(member + (size_t)(i - 1) * each, member + (size_t)i * each, ID_BYTES) >= 0)
            return false;
    }
    return true;
}

void wire_put_set(wire_out *o, const wire_set *before, const wire_set *s, size_t each,
                  uint32_t least)
{
    if (s->n < least || (s->n > 0 && !s->member)) {
        wire_fail(o, FRE_E_ARG);
        return;
    }
    if (!wire_ids_ascend(s->member, s->n, each) ||
        (before && memcmp(before->tag, s->tag, TAG_BYTES) >= 0))
        wire_fail(o, FRE_E_ARG);
    wire_put(o, s->tag, TAG_BYTES);
    wire_put_uint(o, s->n, 4);
    wire_put(o, s->member, (size_t)s->n * each);
}

void wire_put_sets(wire_out *o, const void *list, uint32_t n, wire_set_at *at, size_t each,
                   uint32_t least)
{
    wire_set s, before;

    wire_put_uint(o, n, 4);
    for (uint32_t i = 0; i < n && o->st == FRE_OK; i++) {
        s = at(list, i);
        wire_put_set(o, i > 0 ? &before : NULL, &s, each, least);
        before = s;
    }
}

bool wire_read_set(wire_in *in, wire_set *out, size_t each)
{
    out->tag = wire_bytes(in, TAG_BYTES, "tag");
    out->n = (uint32_t)wire_uint(in, 4, "members");
    out->member = wire_items(in, out->n, each, "members").p;
    return !in->bad;
}

/* part (8)  number of sets (4)  sets; leaves *raw = the sets, which are all checked. */
fre_status wire_decode_sets(fre_part *part, uint32_t *n, fre_bytes *raw, wire_in *body, size_t each,
                            uint32_t least, fre_wire_type type, fre_err *err)
{
    const uint8_t *before = NULL;
    fre_part p = wire_part(body);
    uint32_t sets = (uint32_t)wire_uint(body, 4, "sets");
    fre_bytes all = body->left;
    wire_set s;
    fre_status st;

    for (uint32_t i = 0; i < sets && wire_read_set(body, &s, each); i++) {
        wire_require(body, !before || memcmp(before, s.tag, TAG_BYTES) < 0, "tag");
        wire_require(body, s.n >= least && wire_ids_ascend(s.member, s.n, each), "members");
        before = s.tag;
    }
    st = wire_end(body, wire_name(type), err);
    if (st != FRE_OK)
        return st;
    *part = p;
    *n = sets;
    *raw = all;
    return FRE_OK;
}

bool wire_next_set(uint32_t *n, fre_bytes *raw, wire_set *out, size_t each)
{
    wire_in in = {.left = *raw, .bad = NULL};

    if (*n == 0 || !wire_read_set(&in, out, each))
        return false;
    *n -= 1;
    *raw = in.left;
    return true;
}

static wire_set set_at(const void *list, uint32_t i)
{
    const fre_set *s = (const fre_set *)list + i;

    return (wire_set){s->tag.b, (const uint8_t *)s->member, s->n};
}

fre_status fre_sets_encode(fre_buf *out, const fre_wire *w, fre_part part, const fre_set *set,
                           uint32_t n, const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);

    if (!w || (n > 0 && !set))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_SETS);
    wire_put_part(&o, part);
    wire_put_sets(&o, set, n, set_at, sizeof(fre_set_member), 1);
    return wire_close_signed(&o, FRE_WIRE_SETS, sk);
}

fre_status fre_sets_decode(fre_sets *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    wire_in body;
    fre_sets m;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_SETS, &w->c.syn_sign, in, err);
    if (st == FRE_OK)
        st = wire_decode_sets(&m.part, &m.n, &m.raw, &body, sizeof(fre_set_member), 1,
                              FRE_WIRE_SETS, err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

bool fre_sets_next(fre_sets *s, fre_set *out)
{
    wire_set v;

    if (!wire_next_set(&s->n, &s->raw, &v, sizeof(fre_set_member)))
        return false;
    memcpy(out->tag.b, v.tag, TAG_BYTES);
    out->n = v.n;
    out->member = (const fre_set_member *)v.member; /* bytes only: any address is aligned */
    return true;
}

/* Accepted: a set of which nothing opened is said to be empty.  Open: an empty one asks nothing. */
static uint32_t least_ids(fre_wire_type type)
{
    return type == FRE_WIRE_ACCEPTED ? 0 : 1;
}

static wire_set id_set_at(const void *list, uint32_t i)
{
    const fre_id_set *s = (const fre_id_set *)list + i;

    return (wire_set){s->tag.b, (const uint8_t *)s->id, s->n};
}

fre_status fre_id_sets_encode(fre_buf *out, const fre_wire *w, fre_wire_type type, fre_part part,
                              const fre_id_set *set, uint32_t n, const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);

    if (!w || (n > 0 && !set) || (type != FRE_WIRE_ACCEPTED && type != FRE_WIRE_OPEN))
        return FRE_E_ARG;
    wire_put_head(&o, w, type);
    wire_put_part(&o, part);
    wire_put_sets(&o, set, n, id_set_at, ID_BYTES, least_ids(type));
    return wire_close_signed(&o, type, sk);
}

fre_status fre_id_sets_decode(fre_id_sets *out, const fre_wire *w, fre_wire_type type, fre_bytes in,
                              fre_err *err)
{
    wire_in body;
    fre_id_sets m;
    fre_status st;

    if (!out || !w || (type != FRE_WIRE_ACCEPTED && type != FRE_WIRE_OPEN))
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, type,
                           type == FRE_WIRE_ACCEPTED ? &w->c.tag_sign : &w->c.syn_sign, in, err);
    if (st == FRE_OK)
        st = wire_decode_sets(&m.part, &m.n, &m.raw, &body, ID_BYTES, least_ids(type), type, err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

bool fre_id_sets_next(fre_id_sets *s, fre_id_set *out)
{
    wire_set v;

    if (!wire_next_set(&s->n, &s->raw, &v, ID_BYTES))
        return false;
    memcpy(out->tag.b, v.tag, TAG_BYTES);
    out->n = v.n;
    out->id = (const fre_report_id *)v.member;
    return true;
}

/* ---- sums -------------------------------------------------------------------------------------- */

fre_status fre_sums_encode(fre_buf *out, const fre_wire *w, fre_part part, const fre_sum *sum,
                           uint32_t n, const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);
    size_t share;

    if (!w || (n > 0 && !sum))
        return FRE_E_ARG;
    share = fre_wire_share_bytes(w);
    if (share == 0)
        return FRE_E_STATE;
    wire_put_head(&o, w, FRE_WIRE_SUM);
    wire_put_part(&o, part);
    wire_put_uint(&o, n, 4);
    for (uint32_t i = 0; i < n; i++) {
        if (sum[i].answers < 1 || sum[i].packed.n != share ||
            (i > 0 && memcmp(sum[i - 1].tag.b, sum[i].tag.b, TAG_BYTES) >= 0))
            wire_fail(&o, FRE_E_ARG);
        wire_put(&o, sum[i].tag.b, TAG_BYTES);
        wire_put_uint(&o, sum[i].answers, 4);
        wire_put(&o, sum[i].packed.p, sum[i].packed.n);
    }
    return wire_close_signed(&o, FRE_WIRE_SUM, sk);
}

fre_status fre_sums_decode(fre_sums *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    const uint8_t *before = NULL;
    size_t each;
    wire_in body;
    fre_sums m;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    if (w->share_bits == 0)
        return fre_fail(err, FRE_E_STATE, "sums: the size of a share is not known yet");
    each = TAG_BYTES + 4 + fre_wire_share_bytes(w);
    st = wire_begin_signed(&body, w, FRE_WIRE_SUM, &w->c.tag_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    m.n = (uint32_t)wire_uint(&body, 4, "sums");
    m.raw = wire_items(&body, m.n, each, "sums");
    for (uint32_t i = 0; !body.bad && i < m.n; i++) {
        const uint8_t *e = m.raw.p + (size_t)i * each;

        wire_require(&body, !before || memcmp(before, e, TAG_BYTES) < 0, "tag");
        wire_require(&body, wire_get32(e + TAG_BYTES) >= 1, "answers");
        before = e;
    }
    st = wire_end(&body, wire_name(FRE_WIRE_SUM), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

fre_sum fre_sums_at(const fre_sums *s, uint32_t i)
{
    size_t each = s->raw.n / s->n;
    const uint8_t *e = s->raw.p + i * each;
    fre_sum out;

    memcpy(out.tag.b, e, TAG_BYTES);
    out.answers = wire_get32(e + TAG_BYTES);
    out.packed = wire_view(e + TAG_BYTES + 4, each - TAG_BYTES - 4);
    return out;
}

/* ---- release ----------------------------------------------------------------------------------- */

static uint32_t float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float bits_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

static size_t cell_bytes(const fre_wire *w)
{
    return 8 + 4 * (size_t)w->c.dim;
}

static bool counts_are_fine(const fre_wire *w, uint32_t count, uint32_t answers)
{
    return count >= w->c.tau && count <= w->c.users * w->c.cells_per_user && answers >= 1 &&
           answers <= count;
}

fre_status fre_release_part_encode(fre_buf *out, const fre_wire *w, const fre_release_part *m,
                                   const fre_release_cell *cell, const fre_sign_sk *sk)
{
    wire_out o = wire_open(out);

    if (!w || !m || (m->n > 0 && !cell) || m->time < 1 || m->time > FRE_COLLECTION_TIME_MAX ||
        m->statement.n > FRE_RELEASE_STATEMENT_MAX)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_RELEASE);
    wire_put_part(&o, m->part);
    wire_put_uint(&o, (uint64_t)m->time, 8);
    wire_put_uint(&o, m->statement.n, 2);
    wire_put(&o, m->statement.p, m->statement.n);
    wire_put_uint(&o, m->n, 4);
    for (uint32_t i = 0; i < m->n && o.st == FRE_OK; i++) {
        if (!cell[i].centroid || !counts_are_fine(w, cell[i].count, cell[i].answers)) {
            wire_fail(&o, FRE_E_ARG);
            break;
        }
        wire_put_uint(&o, cell[i].count, 4);
        wire_put_uint(&o, cell[i].answers, 4);
        for (uint32_t j = 0; j < w->c.dim; j++) {
            if (!isfinite(cell[i].centroid[j]))
                wire_fail(&o, FRE_E_ARG);
            wire_put_uint(&o, float_bits(cell[i].centroid[j]), 4);
        }
    }
    return wire_close_signed(&o, FRE_WIRE_RELEASE, sk);
}

fre_status fre_release_part_decode(fre_release_part *out, const fre_wire *w, fre_bytes in,
                                   fre_err *err)
{
    uint64_t t;
    size_t each;
    wire_in body;
    fre_release_part m;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    each = cell_bytes(w);
    st = wire_begin_signed(&body, w, FRE_WIRE_RELEASE, &w->c.syn_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.part = wire_part(&body);
    t = wire_uint(&body, 8, "time");
    wire_require(&body, t >= 1 && t <= (uint64_t)FRE_COLLECTION_TIME_MAX, "time");
    m.time = (int64_t)t;
    m.statement = wire_items(&body, (uint32_t)wire_uint(&body, 2, "statement"), 1, "statement");
    m.n = (uint32_t)wire_uint(&body, 4, "cells");
    m.raw = wire_items(&body, m.n, each, "cells");
    for (uint32_t i = 0; !body.bad && i < m.n; i++) {
        const uint8_t *e = m.raw.p + i * each;

        wire_require(&body, counts_are_fine(w, wire_get32(e), wire_get32(e + 4)), "counts");
        for (uint32_t j = 0; j < w->c.dim; j++)
            wire_require(&body, isfinite(bits_float(wire_get32(e + 8 + 4 * (size_t)j))),
                         "centroid");
    }
    st = wire_end(&body, wire_name(FRE_WIRE_RELEASE), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

void fre_release_part_at(fre_release_cell *out, float *centroid, const fre_release_part *m,
                         uint32_t i)
{
    size_t each = m->raw.n / m->n, dim = (each - 8) / 4;
    const uint8_t *e = m->raw.p + i * each;

    for (size_t j = 0; j < dim; j++)
        centroid[j] = bits_float(wire_get32(e + 8 + 4 * j));
    *out = (fre_release_cell){
        .count = wire_get32(e), .answers = wire_get32(e + 4), .centroid = centroid};
}
