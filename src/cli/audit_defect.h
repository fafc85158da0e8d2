/* audit_defect.h - --sigma-factor, --tau-factor and --rate-factor of `audit`. */
#ifndef FRE_CLI_AUDIT_DEFECT_H
#define FRE_CLI_AUDIT_DEFECT_H

#include "cli.h"

#include <fre/privacy.h>

/* Makes m worse.  Is there a defect? */
bool audit_defect_put(fre_mechanism *m, const cli *c);
/* The same of a plan's levels; the grid before them becomes `grid`, on the plan's lattice. */
void audit_defect_put_in_levels(fre_plan *p, const fre_mechanism *grid, const cli *c);
/* A defect that was put in is said; else nothing. */
void audit_defect_print(FILE *f, const cli *c);

#endif
