/* Inside parties: S_syn.  Who calls whom, from the top:
 *     synthesis.c          the clock, the steps that need no message, which message goes where, the outbox
 *     synthesis_flush.c    FLUSH of the relay         synthesis_count.c    from reports to the list
 *     synthesis_sums.c     sets, ids and sums with S_tag                   synthesis_release.c
 *     synthesis_state.c    beginning, end, saved state
 *     synthesis_batch.c  synthesis_reports.c (with synthesis_sort.c)  synthesis_records.c
 *     synthesis_cells.c (with synthesis_plan.c)       each a struct, with its own header */
#ifndef FRE_PARTIES_SYNTHESIS_H
#define FRE_PARTIES_SYNTHESIS_H

#include "synthesis_batch.h"
#include "synthesis_cells.h"
#include "synthesis_records.h"
#include "synthesis_reports.h"

#define SYNTHESIS_PART_BYTES (1u << 20) /* about, of a message to S_tag */
#define SYNTHESIS_OPEN_MAX (1u << 21)   /* ids of one tag, which one message must hold */

struct fre_synthesis {
    parties_base base;
    fre_synthesis_keys keys; /* SECRET */
    fre_buf statement;
    fre_synthesis_counts counts;
    size_t part_bytes;

    synthesis_batch reports, shares;    /* parts of the two flushes */
    uint8_t closed[PARTIES_HASH_BYTES]; /* of the closed statement, once reports.count > 0 */
    synthesis_reports waiting;          /* to be counted */

    fre_buf list_message;
    fre_list list;    /* borrows list_message */
    uint32_t list_to; /* whom it is still due, bit 1 << role */
    synthesis_cells cells;
    synthesis_records records;

    bool opening; /* every set is answered, `open` is planned */
    synthesis_plan sets, open;

    fre_buf *release;
    uint32_t release_parts, release_next; /* next: the relay's, not answered yet */
};

/* ---- synthesis_state.c ------------------------------------------------------------------------ */

/* Wipes all but what was published. */
void synthesis_forget(fre_synthesis *x);
/* The collection is void because of this machine. */
FRE_MUST_CHECK fre_status synthesis_void(fre_synthesis *x, fre_cancel_reason reason);
/* Index of a listed tag. */
bool synthesis_find(const fre_synthesis *x, const fre_tag *tag, uint32_t *index);
/* Into x->sets, and into x->open. */
FRE_MUST_CHECK fre_status synthesis_make_sets_plan(fre_synthesis *x);
FRE_MUST_CHECK fre_status synthesis_make_open_plan(fre_synthesis *x);

/* ---- synthesis_flush.c, synthesis_count.c ----------------------------------------------------- */

FRE_MUST_CHECK fre_status synthesis_flush(fre_synthesis *x, fre_buf *reply, fre_rejection *why,
                                          fre_bytes in);
/* From the reports to list and cells. */
FRE_MUST_CHECK fre_status synthesis_count(fre_synthesis *x);

/* ---- synthesis_sums.c ------------------------------------------------------------------------- */

/* Whose set, which answers: decided once, before the plan. */
void synthesis_choose_sets(fre_synthesis *x);
void synthesis_choose_open(fre_synthesis *x);
FRE_MUST_CHECK fre_status synthesis_encode_sets(const fre_synthesis *x, fre_buf *out);
FRE_MUST_CHECK fre_status synthesis_encode_open(const fre_synthesis *x, fre_buf *out);
/* S_tag's answers; a bad one is counted and changes nothing. */
FRE_MUST_CHECK fre_status synthesis_accepted(fre_synthesis *x, fre_bytes in);
FRE_MUST_CHECK fre_status synthesis_sum(fre_synthesis *x, fre_bytes in);
/* The part that waits was refused for good. */
void synthesis_refused(fre_synthesis *x, synthesis_plan *p);

/* ---- synthesis_release.c ---------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status synthesis_release(fre_synthesis *x);

#endif /* FRE_PARTIES_SYNTHESIS_H */
