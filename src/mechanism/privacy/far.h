/* Part 2 of the joint accountant: far members, each at what it costs above a near one.  Private to
 * the module. */
#ifndef FRE_PRIVACY_FAR_H
#define FRE_PRIVACY_FAR_H

#include "joint.h"

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

#endif /* FRE_PRIVACY_FAR_H */
