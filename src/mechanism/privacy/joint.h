/* The joint accountant's common parts, private to the module. */
#ifndef FRE_PRIVACY_JOINT_H
#define FRE_PRIVACY_JOINT_H

#include <fre/privacy.h>

#include "heavy.h"

/* One add, remove or replace step of a mechanism at its share of epsilon:
 * delta <= weight [ excess + scale (heavy(eps) + far(eps) + padding(eps)) + slips ]. */
typedef struct fre_joint_step {
    double p;
    double eps;    /* amplified, >= 0 */
    double excess; /* 1 - e^eps of the amplified epsilon where that is below 1, else 0 */
    double scale;  /* min(1, e^eps) */
    double weight; /* p times the number of steps composed, or the factor of a group */
} fre_joint_step;

/* group: a user's records change one part of the view together (distributed), otherwise parts of
 * their own.  FRE_E_INFEASIBLE: adding or removing needs eps >= ln(1/(1-p)). */
FRE_MUST_CHECK fre_status fre_joint_step_init(fre_joint_step *s, uint64_t p32, double epsilon,
                                              fre_adjacency adjacency, uint32_t cells, bool group,
                                              fre_err *err);
/* Of a record that is added, at any epsilon >= 0. */
fre_joint_step fre_joint_step_of_addition(uint64_t p32, double epsilon);
/* The step of a mechanism. */
FRE_MUST_CHECK fre_status fre_joint_step_of(fre_joint_step *s, const fre_mechanism *m,
                                            double epsilon, fre_err *err);
/* FRE_E_USAGE: a parameter of the mechanism is out of range. */
FRE_MUST_CHECK fre_status fre_joint_check(const fre_mechanism *m, fre_err *err);
/* delta at the worst-case split, 2B, by basic composition. */
FRE_MUST_CHECK fre_status fre_joint_basic_delta(fre_account *out, const fre_mechanism *m,
                                                double epsilon, fre_err *err);
/* Threshold left when the curious participants' own records are known. */
double fre_joint_tau(const fre_mechanism *m);
/* Hockey stick of the padded tags at eps; a curator: 0. */
double fre_joint_padding(const fre_distributed *d, double eps);
/* Discrete noise: rho and its parts at a split, and the quantisation. */
void fre_joint_ddg(fre_ddg *out, double *beta, const fre_mechanism *m, double split);
/* One user's noise in the smallest released cell, in steps of the protocol's lattice at a split where that is
 * what sets them; 0: continuous noise, or a lattice of its own.  Its sampler goes to the most. */
#define FRE_JOINT_STEPS_MAX 1023.0
double fre_joint_steps(const fre_mechanism *m, double split);
/* The chance that rounding of discrete noise goes farther than accounted. */
double fre_joint_rounding_slip(const fre_mechanism *m, double split);
/* *io at another distance: kappa is there, the rest is written. */
void fre_ddg_move(fre_ddg *io, double distance, double sigma, double beta, uint32_t d, double phi);
/* The noise between two records at any distance, for the quantisation of one split. */
typedef struct fre_joint_noise {
    const fre_mechanism *m;
    double beta;
    fre_ddg at_split;
} fre_joint_noise;
void fre_joint_noise_init(fre_joint_noise *out, const fre_mechanism *m, double split);
/* heavy of members at a distance; nodes of the discrete noise's curve, which is put in *curve, or
 * 0: an estimate, curve may be NULL. */
void fre_joint_heavy(fre_heavy *h, fre_curve *curve, const fre_joint_noise *noise,
                     const fre_joint_step *s, double distance, size_t nodes);
/* Discrete noise: distance of the table sampler's law from the exact one, as a share of weight.
 * Continuous noise: 0. */
double fre_joint_table_gap(const fre_mechanism *m, const fre_joint_step *s);
/* ln((N/tau) pi(distance)), the members at a distance that a cell of tau expects to hold, each as a
 * share of the cell. */
double fre_joint_log_far(const fre_mechanism *m, double distance);
/* Least distance with fre_joint_log_far <= log_far. */
double fre_joint_split_at(const fre_mechanism *m, double log_far);
/* Greatest distance of what two records of a cell enter its sum as, 2B or 2R; infinite where no bound is
 * given. */
double fre_joint_diameter(const fre_mechanism *m);
/* Where a search ended, so that the next one starts there: the worst n of heavy, the worst n and
 * distance of far members, and the split.  {-1, -1, 0, 0}: nowhere. */
typedef struct fre_joint_place {
    double n, far_n;
    double far; /* the far members' worst distance */
    double split;
} fre_joint_place;
#define FRE_JOINT_NOWHERE ((fre_joint_place){-1, -1, 0, 0})
/* heavy of the counts alone, which no split takes away. */
double fre_joint_counts_alone(const fre_mechanism *m, const fre_joint_step *s);
/* Split with the least estimated delta, padding and slips left out, and that estimate. */
double fre_joint_best_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                            double *delta);
/* The same for any sensitivity and rate: the worst case has no choice. */
double fre_joint_choose_split(const fre_mechanism *m, const fre_joint_step *s, fre_joint_place *at,
                              double *delta);
/* Least epsilon of the whole mechanism that a step can be given. */
double fre_joint_epsilon_floor(uint64_t p32, fre_adjacency adjacency, uint32_t cells);

/* ---- far members ------------------------------------------------------------------------- */

/* far(split) = min(1, N sup_{split < D <= 2B} pi(D) sup_{n >= tau} (heavy(n; D) - heavy(n; split))/n)
 * (docs/privacy.md, "Far members"), certified: an upper bound, about half a per cent above for
 * thresholds up to 300 and two per cent beyond, or more where it is a small share of heavy.  near and
 * heavy: heavy at the split and its supremum, as charged.  *at: where to start looking, and where the
 * largest value was seen. */
double fre_far_supremum(const fre_joint_noise *noise, const fre_joint_step *s,
                        const fre_heavy *near, double heavy, double split, fre_joint_place *at);
/* The largest value seen by climbing: an estimate from below, for searches. */
double fre_far_peak(const fre_joint_noise *noise, const fre_joint_step *s, double split,
                    fre_joint_place *at);

#endif /* FRE_PRIVACY_JOINT_H */
