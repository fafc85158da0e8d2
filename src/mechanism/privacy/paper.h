/* Parts of the paper's accountant, private to the module. */
#ifndef FRE_PRIVACY_PAPER_H
#define FRE_PRIVACY_PAPER_H

#include <fre/privacy.h>

/* Partitions of a user's records are searched up to this many records. */
#define FRE_PAPER_RECORDS_MAX 64u

/* What keeps a request from having a plan. */
typedef enum fre_paper_obstacle {
    FRE_PAPER_NO_OBSTACLE = 0,
    FRE_PAPER_THRESHOLD,    /* on sampled counts: 1, in the distributed mode */
    FRE_PAPER_SENSITIVITY,  /* its failure alone takes delta */
    FRE_PAPER_COUNTS,       /* the counts leave nothing for the noise */
    FRE_PAPER_LAMBDA,       /* no padding for so small an epsilon ... */
    FRE_PAPER_GAMMA,        /* ... or so small a delta */
    FRE_PAPER_LAMBDA_ASKED, /* the padding that was asked for takes more than epsilon ... */
    FRE_PAPER_GAMMA_ASKED,  /* ... or more than delta */
    FRE_PAPER_DUMMIES,      /* more than asked for */
    FRE_PAPER_DISCRETE_NOISE
} fre_paper_obstacle;

typedef struct fre_paper_refusal {
    fre_paper_obstacle obstacle;
    fre_plan at; /* as far as the planner came, with the last projection tried */
} fre_paper_refusal;

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
FRE_MUST_CHECK fre_status fre_paper_multiplier(double *out, fre_gaussian kind, double epsilon,
                                               double delta, uint32_t m);

/* ---- the distributed mode ----------------------------------------------------------------- */

/* Chooses what is not given of lambda and gamma; fills epsilon_unre, delta_unre and
 * expected_dummies.  The mechanism's p32 and tau are known. */
fre_paper_obstacle fre_paper_padding(fre_plan *p, const fre_paper_share *s);
/* Least sigma whose discrete noise has rho <= 1/(2 multiplier^2); fills sigma and ddg.  false: none
 * has. */
bool fre_paper_discrete(fre_plan *p, double split, double multiplier);

/* ---- a plan, or why there is none ----------------------------------------------------------- */

/* The request is checked, and the mechanism's fixed fields are filled; this chooses the rest.
 * FRE_E_INFEASIBLE: *why has the reason, err no text. */
FRE_MUST_CHECK fre_status fre_plan_paper(fre_plan *p, fre_paper_refusal *why, fre_err *err);
/* With this epsilon and threshold, the rest unchanged, would the counts leave a tenth of delta for
 * the noise? */
bool fre_paper_leaves_room(const fre_plan *p, double epsilon, double threshold);
/* Puts the reason into words, with changes of the request that work; returns FRE_E_INFEASIBLE. */
FRE_MUST_CHECK fre_status fre_paper_refuse(const fre_paper_refusal *why, fre_err *err);

#endif /* FRE_PRIVACY_PAPER_H */
