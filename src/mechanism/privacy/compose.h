/* Accounts of a user in several cells, curator mode.  Private to the module. */
#ifndef FRE_PRIVACY_COMPOSE_H
#define FRE_PRIVACY_COMPOSE_H

#include <fre/privacy.h>

#include "levels.h"
#include "pld.h"

/* Is there anything to compose: several cells, a curator, a rate below 1? */
bool fre_composes(const fre_mechanism *m);
/* Certified losses by shift, so that accounts of one rate and threshold at other sigmas and epsilons
 * need not compute them again: keep split/sigma.  {.n = 0}: empty; .reach and .least may be given: the
 * greatest epsilon to come, and chances that need not be followed. */
#define FRE_COMPOSE_KEPT 256u
typedef struct fre_compose_kept {
    double mu, least;
    fre_pld_grade grade;
    fre_pld losses[2]; /* the second: of records that are removed, by levels alone */
} fre_compose_kept;
typedef struct fre_compose_memory {
    uint64_t p32, tau;
    uint32_t cells;
    fre_adjacency adjacency;
    double reach, least;
    const fre_level_curves *behind; /* what follows the grid by levels; NULL: nothing */
    bool removed;                   /* by levels: which of the two directions is asked for */
    size_t n, next;
    fre_compose_kept at[FRE_COMPOSE_KEPT];
} fre_compose_memory;
void fre_compose_forget(fre_compose_memory *io);

/* Composed account at a split, certified.  worst_cell is left as it is. */
FRE_MUST_CHECK fre_status fre_compose_at_split(fre_account *io, const fre_mechanism *m,
                                               double epsilon, double split,
                                               fre_compose_memory *memory, fre_err *err);
/* Psi at the split, without far members, certified; remembered for fre_compose_at_split. */
FRE_MUST_CHECK fre_status fre_compose_near(double *out, const fre_mechanism *m, double epsilon,
                                           double split, fre_compose_memory *memory, fre_err *err);
/* A good split, by estimates of the grid alone. */
FRE_MUST_CHECK fre_status fre_compose_split(double *split, const fre_mechanism *m, double epsilon,
                                            fre_err *err);
/* *io, a basic account, becomes the composed one where that is less: at its own split, or (best)
 * at a better one. */
FRE_MUST_CHECK fre_status fre_compose_improve(fre_account *io, const fre_mechanism *m,
                                              double epsilon, bool best, fre_err *err);
/* Least epsilon from `least` on, at most `most`, whose composed delta is within the target.
 * FRE_E_INFEASIBLE: none. */
FRE_MUST_CHECK fre_status fre_compose_epsilon(fre_account *out, const fre_mechanism *m,
                                              double delta, double least, double most,
                                              fre_err *err);

/* Estimates of Psi, the composed delta of members at a distance: at mu = exp(log_mu + i step), by
 * interpolation between every third. */
#define FRE_COMPOSE_NODES 28
typedef struct fre_compose_table {
    double log_mu, step;
    fre_pld at[FRE_COMPOSE_NODES / 3 + 1];
} fre_compose_table;

FRE_MUST_CHECK fre_status fre_compose_tabulate(fre_compose_table *out, const fre_mechanism *m,
                                               double log_mu, double step, double reach,
                                               double least, fre_err *err);
void fre_compose_psi(double psi[FRE_COMPOSE_NODES], const fre_compose_table *t, double epsilon);
void fre_compose_wipe(fre_compose_table *t);

#endif /* FRE_PRIVACY_COMPOSE_H */
