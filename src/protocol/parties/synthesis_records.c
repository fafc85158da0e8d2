/* parties/synthesis_records.c - shares that wait for their sum. */
#include "synthesis.h"

static size_t chunk_bytes(const synthesis_records *r)
{
    return SYNTHESIS_CHUNK * r->each;
}

void synthesis_records_wipe(synthesis_records *r)
{
    for (size_t i = 0; i < r->chunks; i++) {
        fre_wipe(r->chunk[i], chunk_bytes(r));
        free(r->chunk[i]);
    }
    free(r->chunk);
    *r = (synthesis_records){.each = r->each};
}

uint8_t *synthesis_record_add(synthesis_records *r)
{
    if (r->n == r->chunks * SYNTHESIS_CHUNK) {
        if (r->chunks == r->cap) {
            const size_t cap = r->cap ? 2 * r->cap : 16;
            uint8_t **more = realloc(r->chunk, cap * sizeof *more);

            if (!more)
                return NULL;
            r->chunk = more;
            r->cap = cap;
        }
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
