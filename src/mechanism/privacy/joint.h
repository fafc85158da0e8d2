/* The joint accountant's common parts, private to the module. */
#ifndef FRE_PRIVACY_JOINT_H
#define FRE_PRIVACY_JOINT_H

#include <fre/privacy.h>

/* One add, remove or replace step of a mechanism at its share of epsilon:
 * delta <= weight [ excess + scale (heavy(eps) + padding(eps)) + far ]. */
typedef struct fre_joint_step {
    double p;
    double eps;    /* amplified, >= 0 */
    double excess; /* 1 - e^eps of the amplified epsilon where that is below 1, else 0 */
    double scale;  /* min(1, e^eps) */
    double weight; /* p times the number of steps composed, or the factor of a group */
} fre_joint_step;

/* group: a user's records change one part of the view together (distributed), otherwise parts of
 * their own.  FRE_E_INFEASIBLE: adding or removing needs eps >= ln(1/(1-p)). */
fre_status fre_joint_step_init(fre_joint_step *s, uint64_t p32, double epsilon,
                               fre_adjacency adjacency, uint32_t cells, bool group, fre_err *err);
/* Threshold left when the curious participants' own records are known. */
double fre_joint_tau(const fre_mechanism *m);
/* Hockey stick of the padded tags at eps; a curator: 0. */
double fre_joint_padding(const fre_distributed *d, double eps);
/* Discrete noise: rho and its parts at a split, and the quantisation. */
void fre_joint_ddg(fre_ddg *out, double *beta, const fre_mechanism *m, double split);
/* Discrete noise: distance of the table sampler's law from the exact one, as a share of weight.
 * Continuous noise: 0. */
double fre_joint_table_gap(const fre_mechanism *m, const fre_joint_step *s);
/* ln of the chance that a replaced point is farther than split; >= 0 means 1. */
double fre_joint_log_far(const fre_mechanism *m, double split);
/* Least split with fre_joint_log_far <= log_far. */
double fre_joint_split_at(const fre_mechanism *m, double log_far);
/* Split with the least estimated delta; *n carries the worst n from call to call (-1: unknown).
 * *delta: the estimate, from below. */
double fre_joint_best_split(const fre_mechanism *m, const fre_joint_step *s, double *n,
                            double *delta);
/* Least epsilon of the whole mechanism that a step can be given. */
double fre_joint_epsilon_floor(uint64_t p32, fre_adjacency adjacency, uint32_t cells);

#endif /* FRE_PRIVACY_JOINT_H */
