/* Inside parties: S_syn. */
#ifndef FRE_PARTIES_SYNTHESIS_H
#define FRE_PARTIES_SYNTHESIS_H

#include "parties_private.h"

#define SYNTHESIS_PART_BYTES (1u << 20) /* about, of a message to S_tag */
#define SYNTHESIS_SUMS_BYTES (8u << 20) /* of its answer, and of a part of the release */
#define SYNTHESIS_OPEN_MAX (1u << 21)   /* ids of one tag, which one message must hold */
#define SYNTHESIS_CHUNK 256u            /* records */

/* Sealed seed and packed share of one report; chunks never move, so no copy is left behind. */
typedef struct synthesis_records {
    uint8_t **chunk;
    size_t chunks, cap, n;
    size_t each; /* bytes of a record */
} synthesis_records;

/* A counted report of a listed tag. */
typedef struct synthesis_member {
    fre_report_id id;
    uint32_t record; /* + 1; 0: no answer */
    bool accepted;
} synthesis_member;

/* A listed tag; member[first..first+count-1] by id. */
typedef struct synthesis_cell {
    uint64_t first;
    uint32_t count, answers, accepted;
    bool asked;  /* its set goes to S_tag */
    bool opened; /* its sum is asked for */
    bool lost;
    float *centroid; /* dim; NULL: not yet, or never */
} synthesis_cell;

/* Parts of a flush. */
typedef struct synthesis_batch {
    uint32_t count, got; /* count: 0 before the first */
    bool *arrived;
} synthesis_batch;

/* Where a part of sets or ids begins. */
typedef struct synthesis_place {
    uint32_t cell;
    uint32_t member;
} synthesis_place;
typedef struct synthesis_plan {
    synthesis_place *start; /* parts + 1 */
    uint32_t parts;
    uint32_t next; /* not answered yet */
} synthesis_plan;

struct fre_synthesis {
    parties_base base;
    fre_synthesis_keys keys; /* SECRET */
    fre_buf statement;
    fre_synthesis_counts counts;
    size_t part_bytes;

    synthesis_batch reports, shares;
    uint8_t closed[PARTIES_HASH_BYTES]; /* of the closed statement, once reports.count > 0 */
    fre_report *entry;                  /* SECRET until counted */
    size_t entries, entry_cap;

    fre_buf list_message;
    fre_list list;    /* borrows list_message */
    uint32_t list_to; /* whom it is still due, bit 1 << role */
    synthesis_cell *cell;
    synthesis_member *member;
    uint64_t members;
    synthesis_records records;

    bool opening; /* every set is answered, `open` is planned */
    synthesis_plan sets, open;

    fre_buf *release;
    uint32_t release_parts, release_next; /* next: the relay's, not answered yet */
};

/* Wipes all but what was published. */
void synthesis_forget(fre_synthesis *x);
FRE_MUST_CHECK fre_status synthesis_void(fre_synthesis *x, fre_cancel_reason reason);
/* Index of a listed tag. */
bool synthesis_find(const fre_synthesis *x, const fre_tag *tag, uint32_t *index);
void synthesis_batch_wipe(synthesis_batch *b);

/* synthesis_records.c */
void synthesis_records_wipe(synthesis_records *r);
/* A new record at the end; NULL: no memory. */
uint8_t *synthesis_record_add(synthesis_records *r);
uint8_t *synthesis_record(const synthesis_records *r, uint32_t record);
/* Drops all records from n on. */
void synthesis_records_cut(synthesis_records *r, size_t n);

/* synthesis_flush.c: a FLUSH of the relay. */
FRE_MUST_CHECK fre_status synthesis_flush(fre_synthesis *x, fre_buf *reply, fre_rejection *why,
                                          fre_bytes in);

/* synthesis_sort.c: by tag and id, or by id and tag; in place, in time linear in n. */
void synthesis_sort(fre_report *e, size_t n, bool id_first);

/* synthesis_count.c: entries -> list, cells, members. */
FRE_MUST_CHECK fre_status synthesis_count(fre_synthesis *x);

/* synthesis_sums.c */
FRE_MUST_CHECK fre_status synthesis_plan_sets(fre_synthesis *x);
FRE_MUST_CHECK fre_status synthesis_plan_open(fre_synthesis *x);
void synthesis_plan_wipe(synthesis_plan *p);
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

/* synthesis_release.c */
FRE_MUST_CHECK fre_status synthesis_release(fre_synthesis *x);

/* synthesis_state.c */
FRE_MUST_CHECK fre_status synthesis_load(fre_synthesis *x, fre_bytes state, fre_err *err);

#endif /* FRE_PARTIES_SYNTHESIS_H */
