/* A user in several cells: the privacy-loss distribution of one cell, rounded to the safe side,
 * and its composition.  Private to the module. */
#ifndef FRE_PRIVACY_PLD_H
#define FRE_PRIVACY_PLD_H

#include <stddef.h>

#include <fre/privacy.h>

/* What the hockey stick of one cell depends on. */
typedef struct fre_pld_cell {
    double p;   /* sampling rate in (0, 1) */
    double tau; /* threshold on sampled counts */
    double mu;  /* shift of a replaced point in units of sigma */
    fre_adjacency adjacency;
} fre_pld_cell;

/* Mass of the first law at losses (lo + i) step and at infinity; the second has e^-loss of it. */
typedef struct fre_pld {
    double step;
    ptrdiff_t lo;
    size_t n;
    double *mass;
    double infinite;
    uint32_t cells;
} fre_pld;

/* An upper bound of a hockey stick at e^(k step). */
typedef struct fre_pld_node {
    ptrdiff_t k;
    double value;
} fre_pld_node;

/* How closely the curve of a cell is followed. */
typedef enum fre_pld_grade {
    FRE_PLD_ESTIMATE, /* largest values seen, coarse grid: for searches */
    FRE_PLD_COARSE,   /* suprema over every cell size, coarse grid: an upper bound */
    FRE_PLD_FINE      /* the same on a fine grid */
} fre_pld_grade;

/* Distance of losses so that rounding to them hardly matters in a product of `cells`, and `least` > 0 is a whole
 * number of them; 0: no such place. */
double fre_pld_step(fre_pld_grade grade, uint32_t cells, double reach, double least);
/* Losses from 0 on are looked at in ever longer strides, after this many. */
ptrdiff_t fre_pld_dense(fre_pld_grade grade);
/* Slack of a supremum over cells' sizes. */
double fre_pld_slack(fre_pld_grade grade);

#define FRE_PLD_PAST 4.0    /* losses that far above epsilon count as infinite */
#define FRE_PLD_LEAST 1e-36 /* where no target is known */

/* The distribution of `cells` independent cells, none of whose replaced points is farther than
 * mu sigma, whatever their sizes.  It is made for epsilon up to `reach`: beyond, deltas are still
 * bounds.  least: chances below are not followed further and may add up to some `cells` times that.
 * FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status fre_pld_compose(fre_pld *out, const fre_pld_cell *cell, uint32_t cells,
                                          double reach, double least, fre_pld_grade grade,
                                          fre_err *err);
/* The same of any pair whose hockey stick lies below the nodes, n >= 1 of them in ascending order; at
 * e^loss = 0 it is 1.  In between their lower convex hull counts; the last one's value is an infinite loss. */
FRE_MUST_CHECK fre_status fre_pld_product(fre_pld *out, const fre_pld_node *node, size_t n,
                                          double step, uint32_t cells, double reach, double least,
                                          fre_err *err);
/* Hockey stick at epsilon, rounded up. */
double fre_pld_delta(const fre_pld *d, double epsilon);
void fre_pld_wipe(fre_pld *d);

#endif /* FRE_PRIVACY_PLD_H */
