/* server/synthesis_members.c - the members of tags that count, sorted by tag and id. */
#include "synthesis.h"

/* Value of a row:  tag id proof seed  packed share */
static fre_status make_room(synthesis *x, uint32_t members)
{
    const size_t bytes = fre_wire_share_bytes(server_wire(&x->base));
    size_t cap = x->member_cap, share_cap = x->share_cap;
    fre_status st = fre_grow((void **)&x->member, &cap, members, sizeof *x->member);

    if (st != FRE_OK)
        return st;
    x->member_cap = (uint32_t)cap;
    st = fre_grow((void **)&x->share, &share_cap, members, bytes);
    x->share_cap = (uint32_t)share_cap;
    return st;
}

fre_status syn_member_set(synthesis *x, uint32_t at, fre_bytes value)
{
    const size_t bytes = fre_wire_share_bytes(server_wire(&x->base));
    fre_status st;

    if (value.n != sizeof *x->member + bytes)
        return FRE_E_DATA;
    st = make_room(x, at + 1);
    if (st != FRE_OK)
        return st;
    memcpy(&x->member[at], value.p, sizeof *x->member);
    memcpy(x->share + at * bytes, value.p + sizeof *x->member, bytes);
    if (at >= x->members)
        x->members = at + 1;
    return FRE_OK;
}

fre_status syn_member_load(synthesis *x, const fre_row *row)
{
    uint32_t at = 0;

    if (row->key.n != 4)
        return FRE_E_DATA;
    for (unsigned i = 0; i < 4; i++)
        at = at << 8 | row->key.p[i];
    return at < server_records(&x->base) ? syn_member_set(x, at, row->value) : FRE_E_DATA;
}

uint32_t syn_find(const synthesis *x, const fre_tag *tag, const fre_report_id *id)
{
    uint32_t low = 0, high = x->members;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        const synthesis_member *m = &x->member[mid];
        int order = memcmp(m->tag.b, tag->b, sizeof tag->b);

        if (order == 0)
            order = memcmp(m->id.b, id->b, sizeof id->b);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return UINT32_MAX;
}
