/* Release by levels (docs/privacy.md): the cost of a level and all that follow it, as curves over
 * epsilon in both directions.  Private to the module. */
#ifndef FRE_PRIVACY_LEVELS_H
#define FRE_PRIVACY_LEVELS_H

#include <fre/privacy.h>

#include "curve.h"
#include "heavy.h"
#include "pld.h"

/* Upper bounds of D_l and R_l: hockey sticks of the view with the record against that without it
 * (add), and the other way round (remove), of level l and those behind it.  Both are convex in
 * e^eps and 1 at e^eps = 0.  n = 0: nothing follows. */
typedef struct fre_level_curves {
    fre_curve add;    /* from lo upwards */
    fre_curve remove; /* from below lo up to hi */
} fre_level_curves;

/* Where a level's curves are wanted. */
typedef struct fre_level_range {
    double lo, hi; /* the epsilons of the whole */
    double
        reach; /* how far the levels before it move them: adding upwards, removing downwards; >= 0 */
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

/* The curves of the levels of m that have public cells, the first of them from r->lo to r->hi. */
FRE_MUST_CHECK fre_status fre_levels_fold(fre_level_curves *out, const fre_levels *m,
                                          const fre_level_range *r, fre_err *err);
/* D or R of the grid and all behind it at one epsilon, and the split of D's far members; epsilon of R is at
 * least ln(1/(1-p)). */
double fre_levels_grid_addition(double *split, const fre_mechanism *grid,
                                const fre_level_curves *next, double eps);
double fre_levels_grid_removal(const fre_mechanism *grid, const fre_level_curves *next, double eps);

/* Losses of `cells` records in all levels (docs/decisions/0015), added (out[0]) and removed: of a cell of the grid, NULL: none,
 * and what follows.  reach, least and grade: as fre_pld_compose. */
FRE_MUST_CHECK fre_status fre_levels_product(fre_pld out[2], const fre_pld_cell *cell,
                                             const fre_level_curves *next, uint32_t cells,
                                             double reach, double least, fre_pld_grade grade,
                                             fre_err *err);
/* Several records a user, or replaced ones: fills what depends on it in *io.  grid: that of m with its number of
 * cells a user, NULL: none. */
FRE_MUST_CHECK fre_status fre_levels_of_records(fre_levels_account *io, const fre_levels *m,
                                                const fre_mechanism *grid, fre_err *err);

/* fre_levels_epsilon, to a relative `within`, where it is above `from`; 0: nothing is known. */
FRE_MUST_CHECK fre_status fre_levels_epsilon_from(fre_levels_account *out, const fre_levels *m,
                                                  double delta, double from, double within,
                                                  fre_err *err);

/* D at one epsilon of a level of sampled counts: cell, heavy at its amplified epsilon; far, what members
 * beyond the split add to delta. */
double fre_level_addition(const fre_heavy *cell, double far, const fre_curve *next, double eps);
/* R at one epsilon; of the cell p, tau and mu count.  For eps >= ln(1/(1-p)) the release of the level
 * itself costs nothing, whatever mu is. */
double fre_level_removal(const fre_heavy *cell, const fre_curve *next, double eps);

#endif /* FRE_PRIVACY_LEVELS_H */
