/* parties/synthesis_records.c - shares that wait for their sum. */
#include "synthesis_records.h"

static size_t chunk_bytes(const synthesis_records *r)
{
    return SYNTHESIS_CHUNK * r->each;
}

void synthesis_records_wipe(synthesis_records *r)
{
    for (size_t i = 0; i < r->chunks; i++) {
        fre_wipe_free(r->chunk[i], chunk_bytes(r));
    }
    free(r->chunk);
    *r = (synthesis_records){.each = r->each};
}

uint8_t *synthesis_record_add(synthesis_records *r)
{
    if (r->n == r->chunks * SYNTHESIS_CHUNK) {
        if (fre_grow((void **)&r->chunk, &r->cap, r->chunks + 1, sizeof *r->chunk) != FRE_OK)
            return NULL;
        r->chunk[r->chunks] = malloc(chunk_bytes(r));
        if (!r->chunk[r->chunks])
            return NULL;
        r->chunks++;
    }
    return synthesis_record(r, (uint32_t)r->n++);
}

uint8_t *synthesis_record(const synthesis_records *r, uint32_t record)
{
    return r->chunk[record / SYNTHESIS_CHUNK] + (record % SYNTHESIS_CHUNK) * r->each;
}

void synthesis_records_cut(synthesis_records *r, size_t n)
{
    for (size_t i = n; i < r->n; i++)
        fre_wipe(synthesis_record(r, (uint32_t)i), r->each);
    r->n = n;
}

void synthesis_records_save(parties_out *o, const synthesis_records *r)
{
    parties_put_uint(o, r->n, 8);
    for (size_t i = 0; i < r->n; i++)
        parties_put(o, synthesis_record(r, (uint32_t)i), r->each);
}

void synthesis_records_load(parties_in *in, synthesis_records *r, fre_status *st)
{
    const uint64_t n = parties_get_up_to(in, 8, in->left.n / r->each);

    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint8_t *p = synthesis_record_add(r);

        if (p) {
            parties_get(in, p, r->each);
        } else {
            *st = FRE_E_NOMEM;
            in->bad = true;
        }
    }
}
