/* list.c - the published list of tags. */
#include "wire_private.h"

#define ENTRY_BYTES (FRE_OPRF_TAG_BYTES + 4u)

/* One entry after another, the tag before NULL at the first. */
static bool entry_is_fine(const fre_wire *w, const uint8_t *before, const uint8_t *tag,
                          uint32_t count, uint64_t *total)
{
    *total += count; /* at most 2^20 counts of 32 bits */
    return (!before || memcmp(before, tag, FRE_OPRF_TAG_BYTES) < 0) && count >= w->c.tau &&
           *total <= w->c.users * w->c.cells_per_user;
}

fre_status fre_list_encode(fre_buf *out, const fre_wire *w, const fre_list_entry *entry, uint32_t n,
                           const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);
    uint64_t total = 0;

    if (!w || (n > 0 && !entry) || n > FRE_LIST_MAX)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_LIST);
    fre_out_uint(&o, n, 4);
    for (uint32_t i = 0; i < n; i++) {
        if (!entry_is_fine(w, i > 0 ? entry[i - 1].tag.b : NULL, entry[i].tag.b, entry[i].count,
                           &total))
            wire_fail(&o, FRE_E_ARG);
        fre_out_put(&o, entry[i].tag.b, sizeof entry[i].tag.b);
        fre_out_uint(&o, entry[i].count, 4);
    }
    return wire_close_signed(&o, FRE_WIRE_LIST, sk);
}

fre_status fre_list_decode(fre_list *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    const uint8_t *before = NULL;
    uint64_t total = 0;
    fre_in body;
    fre_list m;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_LIST, &w->c.syn_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.n = (uint32_t)fre_in_uint(&body, 4, "entries");
    fre_in_require(&body, m.n <= FRE_LIST_MAX, "entries");
    m.raw = wire_items(&body, m.n, ENTRY_BYTES, "entries");
    for (uint32_t i = 0; !body.bad && i < m.n; i++) {
        const uint8_t *e = m.raw.p + (size_t)i * ENTRY_BYTES;

        fre_in_require(&body,
                       entry_is_fine(w, before, e, wire_get32(e + FRE_OPRF_TAG_BYTES), &total),
                       "entries");
        before = e;
    }
    st = wire_end(&body, wire_name(FRE_WIRE_LIST), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- what is published:  S_syn's message (4 + n), under the issuer's signature -------------------- */

fre_status fre_listed_encode(fre_buf *out, const fre_wire *w, fre_bytes list, const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);
    fre_list m;
    fre_status st;

    if (!w)
        return FRE_E_ARG;
    st = fre_list_decode(&m, w, list, NULL);
    if (st != FRE_OK)
        return st == FRE_E_REFUSED || st == FRE_E_KEY ? FRE_E_DATA : st;
    wire_put_head(&o, w, FRE_WIRE_LISTED);
    fre_out_uint(&o, list.n, 4);
    fre_out_put(&o, list.p, list.n);
    return wire_close_signed(&o, FRE_WIRE_LISTED, sk);
}

fre_status fre_listed_decode(fre_list *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_bytes list;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_LISTED, &w->c.issuer_sign, in, err);
    if (st != FRE_OK)
        return st;
    list = wire_items(&body, (uint32_t)fre_in_uint(&body, 4, "list"), 1, "list");
    st = wire_end(&body, wire_name(FRE_WIRE_LISTED), err);
    return st == FRE_OK ? fre_list_decode(out, w, list, err) : st;
}

/* ---- looking up ---------------------------------------------------------------------------------- */

static const uint8_t *entry_view(const fre_list *l, uint32_t i)
{
    return l->raw.p + (size_t)i * ENTRY_BYTES;
}

fre_list_entry fre_list_at(const fre_list *l, uint32_t i)
{
    fre_list_entry e;

    memcpy(e.tag.b, entry_view(l, i), sizeof e.tag.b);
    e.count = wire_get32(entry_view(l, i) + sizeof e.tag.b);
    return e;
}

bool fre_list_find(const fre_list *l, const fre_tag *tag, uint32_t *count)
{
    uint32_t lo = 0, hi = l->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = memcmp(entry_view(l, mid), tag->b, sizeof tag->b);

        if (order == 0) {
            *count = wire_get32(entry_view(l, mid) + sizeof tag->b);
            return true;
        }
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

uint32_t fre_list_scan(const fre_list *l, const fre_tag *tag)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        const uint8_t *e = entry_view(l, i);
        uint32_t differ = 0;

        /* Not fre_secret_eq: its result is a bool, which a compiler may branch on. */
        for (size_t j = 0; j < sizeof tag->b; j++)
            differ |= (uint32_t)(e[j] ^ tag->b[j]);
        /* differ is below 256: all ones if it is 0, else 0. */
        count |= (0u - ((differ - 1u) >> 31)) & wire_get32(e + sizeof tag->b);
    }
    return count;
}

uint32_t fre_list_largest(const fre_list *l)
{
    uint32_t largest = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t count = wire_get32(entry_view(l, i) + FRE_OPRF_TAG_BYTES);

        largest = count > largest ? count : largest;
    }
    return largest;
}
