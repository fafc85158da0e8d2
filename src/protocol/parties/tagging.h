/* Inside parties: S_tag.  Who calls whom, from the top:
 *     tagging.c        the clock, clients' exchanges, which message goes where, the outbox
 *     tagging_sums.c   SETS and OPEN of S_syn       tagging_list.c   LIST of S_syn, REGISTRY
 *     tagging_state.c  beginning, end, saved state
 *     tagging_padding.c   tagging_registry.c   tagging_seeds.c   each a struct, with its own header */
#ifndef FRE_PARTIES_TAGGING_H
#define FRE_PARTIES_TAGGING_H

#include "tagging_padding.h"
#include "tagging_registry.h"
#include "tagging_seeds.h"

struct fre_tagging {
    parties_base base;
    fre_tagging_keys keys; /* SECRET */
    fre_oprf_key *oprf;    /* SECRET, locked memory; NULL: destroyed or lost */
    uint64_t evaluations;
    parties_table requests; /* that were evaluated, by hash */
    int64_t closed_time;
    tagging_padding padding;

    fre_buf list_message;
    fre_list list; /* borrows list_message */
    tagging_registry registry;
    tagging_seeds seeds;
    fre_part sets, open; /* .index: the next one; .count: 0 before the first */
    uint32_t last_cell;  /* + 1, of the last set; 0: none */
    fre_report_id last_id;
    uint64_t seeds_refused, unregistered, opened, refused;
};

/* ---- tagging_state.c -------------------------------------------------------------------------- */

void tagging_destroy_key(fre_tagging *x);
/* Wipes what is secret and what no later message needs. */
void tagging_forget(fre_tagging *x);
/* The collection is void because of this machine. */
FRE_MUST_CHECK fre_status tagging_void(fre_tagging *x, fre_cancel_reason reason);

/* ---- tagging_list.c, tagging_sums.c: messages ------------------------------------------------- */

FRE_MUST_CHECK fre_status tagging_list(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);
FRE_MUST_CHECK fre_status tagging_register(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                           fre_bytes in);
/* Is it time for the sums?  Not before the list, which fixes the size of a share. */
bool tagging_sums_are_due(const fre_tagging *x);
FRE_MUST_CHECK fre_status tagging_sets(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);
FRE_MUST_CHECK fre_status tagging_open(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);

#endif /* FRE_PARTIES_TAGGING_H */
