/* Parts of the paper's accountant, private to the module. */
#ifndef FRE_PRIVACY_PAPER_H
#define FRE_PRIVACY_PAPER_H

#include <fre/privacy.h>

/* Partitions of a user's records are searched up to this many records. */
#define FRE_PAPER_RECORDS_MAX 64u

/* ---- several records a user, bounded DP --------------------------------------------------- */

/* What the paper's theorem for one record must reach so that the whole target holds.  Cap and
 * group take that theorem as a black box; bespoke looks into it, for all of a user's records. */
typedef struct fre_paper_share {
    double epsilon, delta;
    double factor;    /* total delta over this share's */
    uint32_t records; /* of one user that the analysis counts together: bespoke m, else 1 */
} fre_paper_share;

fre_paper_share fre_paper_share_of(const fre_plan_request *r);
/* Group privacy's factor of delta, (e^(m eps) - 1)/(e^eps - 1). */
double fre_paper_group_factor(double epsilon, uint32_t m);
/* Most that the parts of a sum m = l_1 + l_2 + ... add up to when a part l is worth of[l];
 * m <= FRE_PAPER_RECORDS_MAX, of[1..m]. */
double fre_paper_worst_partition(const double *of, uint32_t m);
/* delta of the released counts for a user's m records, placed in cells as badly as can be. */
double fre_paper_counts_delta(double p, double tau, double v, uint32_t m);
/* delta of the released sums at epsilon for a user's m records: l of them in a cell move its sum
 * by l mu (in units of the noise) and are given l/m of epsilon. */
double fre_paper_sums_delta(fre_gaussian kind, double epsilon, double mu, uint32_t m);
/* Least 1/mu with fre_paper_sums_delta <= delta. */
fre_status fre_paper_multiplier(double *out, fre_gaussian kind, double epsilon, double delta,
                                uint32_t m);

/* ---- the distributed mode ----------------------------------------------------------------- */

/* Chooses what is not given of lambda and gamma; fills epsilon_unre, delta_unre and
 * expected_dummies.  The mechanism's p32 and tau are known. */
fre_status fre_paper_padding(fre_plan *p, const fre_paper_share *s, fre_err *err);
/* Least sigma whose discrete noise has rho <= 1/(2 multiplier^2); fills sigma and ddg. */
fre_status fre_paper_discrete(fre_plan *p, double split, double multiplier, fre_err *err);

#endif /* FRE_PRIVACY_PAPER_H */
