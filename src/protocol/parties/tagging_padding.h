/* Inside S_tag: its padding.  Knows the machine's streams, and nothing else of the machine. */
#ifndef FRE_PARTIES_TAGGING_PADDING_H
#define FRE_PARTIES_TAGGING_PADDING_H

#include "parties_private.h"

#define TAGGING_WINDOW 256u /* reports of padding on their way at a time */

typedef struct tagging_padding {
    uint32_t *dummies; /* SECRET: fre_aggregate_padding's numbers; NULL: not drawn (again) yet */
    uint64_t reports;  /* SECRET: how many there are in all */
    uint64_t settled;  /* all below this arrived; above it, those noted in `arrived` */
    bool arrived[TAGGING_WINDOW];
} tagging_padding;

/* Once; from then on nothing changes. */
FRE_MUST_CHECK fre_status tagging_padding_draw(tagging_padding *p, const parties_base *base);
/* All of it has arrived: nobody, not even this machine, can tell any more which reports it was. */
void tagging_padding_forget(tagging_padding *p, parties_base *base);
/* Report `index` of the padding; the same bytes each time. */
FRE_MUST_CHECK fre_status tagging_padding_report(const tagging_padding *p, const parties_base *base,
                                                 fre_buf *out, uint64_t index);
/* The reports that are still due, as many as may be on their way. */
FRE_MUST_CHECK fre_status tagging_padding_post(const tagging_padding *p, const parties_base *base,
                                               fre_outbox *out, unsigned kind);
/* The relay took report `index`. */
void tagging_padding_arrived(tagging_padding *p, uint64_t index);
bool tagging_padding_is_settled(const tagging_padding *p);
void tagging_padding_save(parties_out *o, const tagging_padding *p);
void tagging_padding_load(parties_in *in, tagging_padding *p);

#endif /* FRE_PARTIES_TAGGING_PADDING_H */
