/* Inside S_syn: reports until they are counted. */
#ifndef FRE_PARTIES_SYNTHESIS_REPORTS_H
#define FRE_PARTIES_SYNTHESIS_REPORTS_H

#include "parties_private.h"

typedef struct synthesis_reports {
    fre_report *entry; /* SECRET until counted */
    size_t n, cap;
} synthesis_reports;

void synthesis_reports_wipe(synthesis_reports *r);
/* Room for `more`, so that add can't fail. */
FRE_MUST_CHECK fre_status synthesis_reports_reserve(synthesis_reports *r, size_t more);
void synthesis_reports_add(synthesis_reports *r, const fre_report *report);
/* Drops and wipes all from n on. */
void synthesis_reports_cut(synthesis_reports *r, size_t n);
void synthesis_reports_save(parties_out *o, const synthesis_reports *r);
void synthesis_reports_load(parties_in *in, synthesis_reports *r, fre_status *st);

/* ---- synthesis_sort.c --------------------------------------------------------------------------- */

/* By tag and id, or by id and tag; in place, in time linear in n. */
void synthesis_sort(fre_report *e, size_t n, bool id_first);

#endif /* FRE_PARTIES_SYNTHESIS_REPORTS_H */
