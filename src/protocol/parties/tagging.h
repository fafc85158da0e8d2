/* Inside parties: S_tag. */
#ifndef FRE_PARTIES_TAGGING_H
#define FRE_PARTIES_TAGGING_H

#include "parties_private.h"

#define TAGGING_WINDOW 256u /* reports of padding on their way at a time */

/* One tag of the list: its accepted members are members[first..first+n-1]. */
typedef struct tagging_cell {
    uint64_t first;
    uint32_t n;
    bool spent; /* opened, or refused for good */
} tagging_cell;

/* SECRET. */
typedef struct tagging_member {
    fre_report_id id;
    fre_share_seed seed;
} tagging_member;

/* Digests of the shares that the relay carried, ascending. */
typedef struct tagging_registry {
    fre_seed_digest *digest;
    uint8_t *spent; /* 1: a seed of that digest was opened */
    size_t n, cap;
    fre_part part; /* .index: the next one; .count: 0 before the first */
} tagging_registry;

struct fre_tagging {
    parties_base base;
    fre_tagging_keys keys; /* SECRET */
    fre_oprf_key *oprf;    /* SECRET, locked memory; NULL: destroyed or lost */
    uint64_t evaluations;
    parties_table requests; /* that were evaluated, by hash */

    int64_t closed_time;
    uint32_t *dummies; /* SECRET: fre_tally_padding's numbers; NULL: not drawn (again) yet */
    uint64_t padding;  /* SECRET: reports of padding */
    uint64_t padded;   /* all below this arrived; above it, those noted in `arrived` */
    bool arrived[TAGGING_WINDOW];

    fre_buf list_message;
    fre_list list; /* borrows list_message */
    tagging_cell *cell;
    tagging_member *member; /* room for all counts of the list */
    uint64_t room, members;
    parties_table ids;
    tagging_registry registry;
    fre_part sets, open; /* .index: the next one; .count: 0 before the first */
    uint32_t last_cell;  /* + 1, of the last set; 0: none */
    fre_report_id last_id;
    uint64_t seeds_refused, strangers, opened, refused;
};

/* Wipes what is secret and what no later message needs. */
void tagging_forget(fre_tagging *x);
/* The collection is void because of this machine. */
FRE_MUST_CHECK fre_status tagging_void(fre_tagging *x, fre_cancel_reason reason);
/* Makes room for the members of x->list. */
FRE_MUST_CHECK fre_status tagging_cells_new(fre_tagging *x);

/* tagging_padding.c */
FRE_MUST_CHECK fre_status tagging_padding_draw(fre_tagging *x);
/* All of it has arrived: nobody, not even this machine, can tell any more which reports it was. */
void tagging_padding_forget(fre_tagging *x);
/* Report `index` of the padding; the same bytes each time. */
FRE_MUST_CHECK fre_status tagging_padding_report(const fre_tagging *x, fre_buf *out,
                                                 uint64_t index);

/* tagging_sums.c: messages of S_syn. */
FRE_MUST_CHECK fre_status tagging_list(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);
FRE_MUST_CHECK fre_status tagging_sets(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);
FRE_MUST_CHECK fre_status tagging_open(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                       fre_bytes in);

/* Is it time for the sums?  Not before the list, which fixes the size of a share. */
bool tagging_sums_are_due(const fre_tagging *x);
/* Parts come one after the other; those before are answered from memory. */
fre_rejection tagging_part_rejected(const fre_part *next, fre_part part);
void tagging_part_done(fre_part *next, fre_part part);

/* tagging_registry.c: REGISTRY of the relay. */
FRE_MUST_CHECK fre_status tagging_registry_take(fre_tagging *x, fre_buf *reply, fre_rejection *why,
                                                fre_bytes in);
bool tagging_registry_is_whole(const tagging_registry *r);
/* Where the digest stands, if a seed of it may still be opened. */
bool tagging_registry_find(const tagging_registry *r, const fre_seed_digest *digest, size_t *index);
void tagging_registry_wipe(tagging_registry *r);
void tagging_registry_save(parties_out *o, const tagging_registry *r);
void tagging_registry_load(parties_in *in, tagging_registry *r, fre_status *st);

#endif /* FRE_PARTIES_TAGGING_H */
