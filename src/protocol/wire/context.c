/* context.c - fre_wire: the terms of a collection, and the sizes of its messages that follow. */
#include "wire_private.h"

#include <sodium.h>

fre_status fre_wire_init(fre_wire *out, const fre_collection *c, fre_err *err)
{
    fre_collection_id id;
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = fre_collection_identify(&id, c, err);
    if (st == FRE_OK)
        *out = (fre_wire){.c = *c, .id = id, .share_bits = 0};
    return st;
}

fre_status fre_wire_set_share_bits(fre_wire *w, uint32_t bits)
{
    if (!w || bits < FRE_SHARING_BITS_MIN || bits > FRE_SHARING_BITS_MAX)
        return FRE_E_ARG;
    w->share_bits = bits;
    return FRE_OK;
}

fre_status fre_wire_derive_share_bits(fre_wire *w, const fre_list *list, fre_err *err)
{
    fre_mechanism m;
    uint64_t largest, cells;
    uint32_t bits;
    fre_status st;

    if (!w || w->c.one_contact != !list)
        return FRE_E_ARG;
    fre_collection_mechanism(&m, &w->c);
    largest = wire_largest_cell(&m, &cells);
    if (list) {
        largest = list->n > 0 ? fre_list_largest(list) : m.tau;
        cells = (list->n > 0 ? list->n : 1) * (m.dist.splits ? 3u : 1u);
    }
    st = fre_share_bits(&bits, &m, w->c.split, largest, cells, err);
    if (st != FRE_OK)
        return st;
    w->share_bits = bits;
    memset(w->list, 0, sizeof w->list);
    if (list)
        (void)crypto_hash_sha256(w->list, list->raw.p, list->raw.n);
    return FRE_OK;
}

size_t fre_wire_share_bytes(const fre_wire *w)
{
    return w->share_bits > 0 ? fre_share_bytes(w->c.dim, w->share_bits) : 0;
}

size_t fre_wire_sums_bytes(const fre_wire *w, uint32_t sums)
{
    const size_t share = fre_wire_share_bytes(w);

    return sums == 3 && share > 0 ? sizeof(fre_split_seed) + 3 * share : share;
}

bool wire_is_cell(const fre_wire *w, uint32_t cell)
{
    const fre_sketch_spec *s = &w->c.sketch;

    return s->kind == FRE_SKETCH_CODEBOOK ? cell < s->codebook.cells : cell == 0;
}
