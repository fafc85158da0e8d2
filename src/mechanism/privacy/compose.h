/* Accounts of a user in several cells, curator mode.  Private to the module. */
#ifndef FRE_PRIVACY_COMPOSE_H
#define FRE_PRIVACY_COMPOSE_H

#include <fre/privacy.h>

/* Is there anything to compose: several cells, a curator, a rate below 1? */
bool fre_composes(const fre_mechanism *m);
/* Composed account at a split; certified or estimated (pld.h).  worst_cell is left as it is. */
fre_status fre_compose_at_split(fre_account *io, const fre_mechanism *m, double epsilon,
                                double split, bool certified, fre_err *err);
/* *io, a basic account, becomes the composed one where that is less: at its own split, or (best)
 * at a better one. */
fre_status fre_compose_improve(fre_account *io, const fre_mechanism *m, double epsilon, bool best,
                               fre_err *err);
/* Least epsilon from `least` on, at most `most`, whose composed delta is within the target.
 * FRE_E_INFEASIBLE: none. */
fre_status fre_compose_epsilon(fre_account *out, const fre_mechanism *m, double delta, double least,
                               double most, fre_err *err);
/* Split at which the far members take this share of delta; worst case: 2B. */
double fre_compose_split(const fre_mechanism *m, double delta, double share);

#endif /* FRE_PRIVACY_COMPOSE_H */
