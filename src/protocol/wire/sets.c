/* sets.c - sets of members by tag, as messages between servers have them. */
#include "wire_private.h"

/* ---- sets with members of a fixed size, an id first --------------------------------------------
 * set:  tag (32)  number of members (4)  members */

#define TAG_BYTES FRE_OPRF_TAG_BYTES
#define ID_BYTES sizeof(fre_report_id)

_Static_assert(sizeof(fre_report_id) == 16, "ids are read in place");

bool wire_ids_ascend(const uint8_t *member, uint32_t n, size_t each)
{
    for (uint32_t i = 1; i < n; i++) {
        if (memcmp(member + (size_t)(i - 1) * each, member + (size_t)i * each, ID_BYTES) >= 0)
            return false;
    }
    return true;
}

void wire_put_set(fre_out *o, const wire_set *before, const wire_set *s, size_t each,
                  uint32_t least)
{
    if (s->n < least || (s->n > 0 && !s->member)) {
        wire_fail(o, FRE_E_ARG);
        return;
    }
    if (!wire_ids_ascend(s->member, s->n, each) ||
        (before && memcmp(before->tag, s->tag, TAG_BYTES) >= 0))
        wire_fail(o, FRE_E_ARG);
    fre_out_put(o, s->tag, TAG_BYTES);
    fre_out_uint(o, s->n, 4);
    fre_out_put(o, s->member, (size_t)s->n * each);
}

void wire_put_sets(fre_out *o, const void *list, uint32_t n, wire_set_at *at, size_t each,
                   uint32_t least)
{
    wire_set s, before;

    fre_out_uint(o, n, 4);
    for (uint32_t i = 0; i < n && o->st == FRE_OK; i++) {
        s = at(list, i);
        wire_put_set(o, i > 0 ? &before : NULL, &s, each, least);
        before = s;
    }
}

bool wire_read_set(fre_in *in, wire_set *out, size_t each)
{
    out->tag = fre_in_take(in, TAG_BYTES, "tag");
    out->n = (uint32_t)fre_in_uint(in, 4, "members");
    out->member = wire_items(in, out->n, each, "members").p;
    return !in->bad;
}

/* part (8)  number of sets (4)  sets; leaves *raw = the sets, which are all checked. */
fre_status wire_decode_sets(fre_part *part, uint32_t *n, fre_bytes *raw, fre_in *body, size_t each,
                            uint32_t least, fre_wire_type type, fre_err *err)
{
    const uint8_t *before = NULL;
    fre_part p = wire_part(body);
    uint32_t sets = (uint32_t)fre_in_uint(body, 4, "sets");
    fre_bytes all = body->left;
    wire_set s;
    fre_status st;

    for (uint32_t i = 0; i < sets && wire_read_set(body, &s, each); i++) {
        fre_in_require(body, !before || memcmp(before, s.tag, TAG_BYTES) < 0, "tag");
        fre_in_require(body, s.n >= least && wire_ids_ascend(s.member, s.n, each), "members");
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
    fre_in in = {.left = *raw, .bad = NULL};

    if (*n == 0 || !wire_read_set(&in, out, each))
        return false;
    *n -= 1;
    *raw = in.left;
    return true;
}
