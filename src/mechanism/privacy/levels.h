/* Release by levels (docs/privacy.md): the cost of a level and all that follow it, as curves over
 * epsilon in both directions.  Private to the module. */
#ifndef FRE_PRIVACY_LEVELS_H
#define FRE_PRIVACY_LEVELS_H

#include <fre/privacy.h>

#include "curve.h"
#include "heavy.h"

/* Upper bounds of D_l and R_l: hockey sticks of the view with the record against that without it
 * (add), and the other way round (remove), of level l and those behind it.  Both are convex in
 * e^eps and 1 at e^eps = 0.  n = 0: nothing follows. */
typedef struct fre_level_curves {
    fre_curve add;    /* from the target epsilon upwards */
    fre_curve remove; /* from below the target epsilon up to it */
} fre_level_curves;

/* Where a level's curves are wanted. */
typedef struct fre_level_range {
    double eps;   /* the target */
    double reach; /* how far the levels before it move it, each way; >= 0 */
} fre_level_range;

/* D or R of what follows at any real eps; max(0, 1 - e^eps) behind the last level. */
double fre_level_next(const fre_curve *c, double eps);

/* How far a level moves epsilon for those behind it, but for chances that do not matter: beyond,
 * the curves are still bounds. */
double fre_level_reach(const fre_level *l);

/* Fill the curves of one level from those of what follows. */
FRE_MUST_CHECK fre_status fre_level_noisy(fre_level_curves *out, const fre_level *l,
                                          const fre_level_curves *next,
                                          const fre_level_range *range);
void fre_level_sampled(fre_level_curves *out, const fre_level *l, const fre_level_curves *next,
                       const fre_level_range *range);

/* D at one epsilon of a level of sampled counts: cell, heavy at its amplified epsilon; far, what members
 * beyond the split add to delta. */
double fre_level_addition(const fre_heavy *cell, double far, const fre_curve *next, double eps);
/* R at one epsilon; of the cell p, tau and mu count.  For eps >= ln(1/(1-p)) the release of the level
 * itself costs nothing, whatever mu is. */
double fre_level_removal(const fre_heavy *cell, const fre_curve *next, double eps);

#endif /* FRE_PRIVACY_LEVELS_H */
