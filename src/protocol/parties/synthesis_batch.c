/* parties/synthesis_batch.c - parts of a flush, in any order, each once. */
#include "synthesis_batch.h"

void synthesis_batch_wipe(synthesis_batch *b)
{
    free(b->arrived);
    *b = (synthesis_batch){0};
}

fre_rejection synthesis_batch_rejected(const synthesis_batch *b, fre_part part)
{
    if (b->count == 0)
        return FRE_NOT_REJECTED;
    if (part.count != b->count)
        return FRE_REJECTED_DISAGREES;
    return b->arrived[part.index] ? FRE_REJECTED_REPLAYED : FRE_NOT_REJECTED;
}

fre_status synthesis_batch_begin(synthesis_batch *b, uint32_t count)
{
    if (b->count > 0)
        return FRE_OK;
    b->arrived = calloc(count, sizeof *b->arrived);
    if (!b->arrived)
        return FRE_E_NOMEM;
    b->count = count;
    return FRE_OK;
}

void synthesis_batch_arrived(synthesis_batch *b, fre_part part)
{
    b->arrived[part.index] = true;
    b->got++;
}

bool synthesis_batch_is_whole(const synthesis_batch *b)
{
    return b->count > 0 && b->got == b->count;
}

void synthesis_batch_save(parties_out *o, const synthesis_batch *b)
{
    parties_put_uint(o, b->count, 4);
    for (uint32_t i = 0; i < b->count; i++)
        parties_put_uint(o, b->arrived[i], 1);
}

void synthesis_batch_load(parties_in *in, synthesis_batch *b, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);

    if (n == 0)
        return;
    b->arrived = parties_get_zeros(in, n, sizeof *b->arrived, st);
    if (!b->arrived)
        return;
    b->count = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        b->arrived[i] = parties_get_bool(in);
        b->got += b->arrived[i];
    }
}
