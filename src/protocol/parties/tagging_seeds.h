/* Inside S_tag: the seeds that it opened, by tag of the list. */
#ifndef FRE_PARTIES_TAGGING_SEEDS_H
#define FRE_PARTIES_TAGGING_SEEDS_H

#include "parties_private.h"

/* One tag of the list: its accepted members are member[first..first+n-1]. */
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

typedef struct tagging_seeds {
    tagging_cell *cell; /* a tag of the list each */
    uint32_t cells;
    tagging_member *member; /* room for all counts of the list */
    uint64_t room, members;
    parties_table ids; /* of all members */
} tagging_seeds;

/* Empty, with room for the members of a list that is not empty. */
FRE_MUST_CHECK fre_status tagging_seeds_new(tagging_seeds *s, const fre_list *list);
void tagging_seeds_wipe(tagging_seeds *s);
/* Next member of the cell with that id, from *k on; ids ascend in both.  NULL: none. */
const tagging_member *tagging_seeds_next(const tagging_seeds *s, uint32_t cell, uint32_t *k,
                                         const fre_report_id *id);
/* The cell was opened, or refused for good: no second set can be asked for. */
void tagging_seeds_spend(tagging_seeds *s, uint32_t cell);
void tagging_seeds_save(parties_out *o, const tagging_seeds *s);
/* list: the list that the state is of. */
void tagging_seeds_load(parties_in *in, tagging_seeds *s, const fre_list *list, fre_status *st);

#endif /* FRE_PARTIES_TAGGING_SEEDS_H */
