/* Inside S_syn: which parts of a flush have arrived. */
#ifndef FRE_PARTIES_SYNTHESIS_BATCH_H
#define FRE_PARTIES_SYNTHESIS_BATCH_H

#include "parties_private.h"

typedef struct synthesis_batch {
    uint32_t count, got; /* parts; count: 0 before the first */
    bool *arrived;
} synthesis_batch;

void synthesis_batch_wipe(synthesis_batch *b);
fre_rejection synthesis_batch_rejected(const synthesis_batch *b, fre_part part);
/* Room for the parts, once the first says how many there are. */
FRE_MUST_CHECK fre_status synthesis_batch_begin(synthesis_batch *b, uint32_t count);
void synthesis_batch_arrived(synthesis_batch *b, fre_part part);
bool synthesis_batch_is_whole(const synthesis_batch *b);
void synthesis_batch_save(parties_out *o, const synthesis_batch *b);
void synthesis_batch_load(parties_in *in, synthesis_batch *b, fre_status *st);

#endif /* FRE_PARTIES_SYNTHESIS_BATCH_H */
