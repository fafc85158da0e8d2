/* Inside S_syn: the listed tags with their members, and in which messages these go to S_tag. */
#ifndef FRE_PARTIES_SYNTHESIS_CELLS_H
#define FRE_PARTIES_SYNTHESIS_CELLS_H

#include "parties_private.h"

#define SYNTHESIS_SET_BYTES 36u /* tag and number of a set in a message */

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
    float *centroid; /* NULL: not yet, or never */
} synthesis_cell;

typedef struct synthesis_cells {
    synthesis_cell *cell; /* in the order of the list */
    uint32_t n, dim;
    synthesis_member *member;
    uint64_t members;
} synthesis_cells;

/* n cells and so many members, all zero. */
FRE_MUST_CHECK fre_status synthesis_cells_new(synthesis_cells *c, uint32_t n, uint64_t members,
                                              uint32_t dim);
void synthesis_cells_wipe(synthesis_cells *c);
/* The member with that id; NULL: none. */
synthesis_member *synthesis_cells_member(const synthesis_cells *c, uint32_t cell,
                                         const fre_report_id *id);
void synthesis_cells_save(parties_out *o, const synthesis_cells *c);
/* c: empty; list: the list that the state is of; records: as many shares are kept. */
void synthesis_cells_load(parties_in *in, synthesis_cells *c, const fre_list *list, uint32_t dim,
                          size_t records, fre_status *st);
/* Are answers and accepted the numbers of members that say so? */
bool synthesis_cells_agree(const synthesis_cells *c);

/* ---- synthesis_plan.c: how the cells' members are cut into messages ----------------------------- */

/* Where a part begins: a cell, and the first of its members. */
typedef struct synthesis_start {
    uint32_t cell;
    uint32_t member;
} synthesis_start;
typedef struct synthesis_plan {
    synthesis_start *start; /* parts + 1 */
    uint32_t parts;
    uint32_t next; /* not answered yet */
} synthesis_plan;

void synthesis_plan_wipe(synthesis_plan *p);
/* Members with an answer, in parts of about so many bytes. */
FRE_MUST_CHECK fre_status synthesis_plan_sets(synthesis_plan *p, const synthesis_cells *c,
                                              size_t part_bytes);
/* Accepted members; a cell is in one part as a whole, since S_tag sums it when it sees it.  A part
 * asks for no more sums, of sum_bytes each, than one answer holds. */
FRE_MUST_CHECK fre_status synthesis_plan_open(synthesis_plan *p, const synthesis_cells *c,
                                              size_t part_bytes, size_t sum_bytes);
fre_part synthesis_plan_part(const synthesis_plan *p);
/* Cells that the waiting part touches: *from..*to-1. */
void synthesis_plan_cells(const synthesis_plan *p, const synthesis_cells *c, uint32_t *from,
                          uint32_t *to);
/* Members of cell i that belong to the waiting part: k in *from..*to-1. */
void synthesis_plan_members(const synthesis_plan *p, const synthesis_cells *c, uint32_t i,
                            uint32_t *from, uint32_t *to);

#endif /* FRE_PARTIES_SYNTHESIS_CELLS_H */
