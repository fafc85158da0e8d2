/* Inside S_syn: sealed seed and packed share of one report each, until they are summed. */
#ifndef FRE_PARTIES_SYNTHESIS_RECORDS_H
#define FRE_PARTIES_SYNTHESIS_RECORDS_H

#include "parties_private.h"

#define SYNTHESIS_CHUNK 256u /* records */

/* Chunks never move, so no copy is left behind. */
typedef struct synthesis_records {
    uint8_t **chunk;
    size_t chunks, cap, n;
    size_t each; /* bytes of a record */
} synthesis_records;

/* Empty; .each stays. */
void synthesis_records_wipe(synthesis_records *r);
/* A new record at the end; NULL: no memory. */
uint8_t *synthesis_record_add(synthesis_records *r);
uint8_t *synthesis_record(const synthesis_records *r, uint32_t record);
/* Drops all records from n on. */
void synthesis_records_cut(synthesis_records *r, size_t n);
void synthesis_records_save(parties_out *o, const synthesis_records *r);
/* r: empty, .each set. */
void synthesis_records_load(parties_in *in, synthesis_records *r, fre_status *st);

#endif /* FRE_PARTIES_SYNTHESIS_RECORDS_H */
