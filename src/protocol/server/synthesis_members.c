/* server/synthesis_members.c - the members of tags that count, sorted by tag and id. */
#include "synthesis.h"

/* Value of a row:  tag id proof seed  [packed share] */
static fre_status make_room(synthesis *x, uint32_t members, size_t share)
{
    size_t cap = x->member_cap, share_cap = x->share_cap;
    fre_status st = fre_grow((void **)&x->member, &cap, members, sizeof *x->member);

    if (st != FRE_OK)
        return st;
    x->member_cap = (uint32_t)cap;
    if (share == 0)
        return FRE_OK;
    x->each = share;
    st = fre_grow((void **)&x->share, &share_cap, members, x->each);
    x->share_cap = (uint32_t)share_cap;
    return st;
}

fre_status syn_member_set(synthesis *x, uint32_t at, fre_bytes value)
{
    const size_t share = value.n - sizeof *x->member;
    fre_status st;

    if (value.n < sizeof *x->member || (share > 0 && x->each > 0 && share != x->each))
        return FRE_E_DATA;
    st = make_room(x, at + 1, share);
    if (st != FRE_OK)
        return st;
    memcpy(&x->member[at], value.p, sizeof *x->member);
    if (share > 0)
        memcpy(x->share + at * share, value.p + sizeof *x->member, share);
    if (at >= x->members)
        x->members = at + 1;
    return FRE_OK;
}

fre_status syn_member_keep(synthesis *x, fre_delta *rows, uint32_t at, const synthesis_member *m,
                           fre_bytes packed)
{
    const uint8_t key[4] = {(uint8_t)(at >> 24), (uint8_t)(at >> 16), (uint8_t)(at >> 8),
                            (uint8_t)at};
    fre_buf value;
    fre_status st;

    fre_buf_init(&value, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&value, m, sizeof *m);
    if (st == FRE_OK && packed.n > 0)
        st = fre_buf_append(&value, packed.p, packed.n);
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_MEMBER, server_view(key, sizeof key),
                            server_buf_view(&value));
    if (st == FRE_OK)
        st = syn_member_set(x, at, server_buf_view(&value));
    fre_buf_wipe(&value);
    return st;
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

static int order(const synthesis_member *m, const fre_tag *tag, const fre_report_id *id)
{
    const int o = memcmp(m->tag.b, tag->b, sizeof tag->b);

    return o != 0 ? o : memcmp(m->id.b, id->b, sizeof id->b);
}

uint32_t syn_first(const synthesis *x, const fre_tag *tag, const fre_report_id *id)
{
    uint32_t low = 0, high = x->members;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (order(&x->member[mid], tag, id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t syn_find(const synthesis *x, const fre_tag *tag, const fre_report_id *id)
{
    const uint32_t i = syn_first(x, tag, id);

    return i < x->members && order(&x->member[i], tag, id) == 0 ? i : UINT32_MAX;
}

fre_bytes syn_share(const synthesis *x, const fre_tag *tag, const fre_report_id *id)
{
    static const fre_sealed_entry_seed none;
    const uint32_t i = syn_find(x, tag, id);

    if (i == UINT32_MAX || i >= x->share_cap ||
        memcmp(x->member[i].seed.b, none.b, sizeof none.b) == 0)
        return server_view(NULL, 0);
    return server_view(x->share + i * x->each, x->each);
}
