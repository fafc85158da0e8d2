/* Parts of the planner shared by the two accountants, private to the module. */
#ifndef FRE_PRIVACY_PLAN_H
#define FRE_PRIVACY_PLAN_H

#include <fre/privacy.h>

#include "compose.h"
#include "joint.h"

#define FRE_PLAN_K_LEAST 10u /* {projection_dim} auto */
#define FRE_PLAN_K_MOST 40u
#define FRE_PLAN_SIGMA_LEAST 1e-9 /* of a cell's edge: less noise is as good as none */
/* For radii so small that sigma or its lattice step would underflow; more noise is never wrong. */
#define FRE_PLAN_SIGMA_TINY 1e-100

/* The mechanism's fields that the request fixes; the rest is 0. */
void fre_plan_mechanism(fre_mechanism *m, const fre_plan_request *r);
/* k, and L = s 2r/sqrt(k) or the edge asked for. */
fre_sketch_grid fre_plan_grid(const fre_plan_request *r, uint32_t k);
/* The largest power of two <= sigma / 2^20: quantising then moves the sensitivity by less than 1e-4 of
 * sigma for dimensions below 10^4. */
double fre_plan_lattice_step(double sigma);
/* sigma up to an integer multiple of a step of about that size; the multiple. */
uint64_t fre_plan_lattice_round(double *sigma, double step);
/* Of the grid's mechanism. */
void fre_plan_set_lattice(fre_plan *p, double sigma);
void fre_plan_round_sigma(fre_plan *p);
/* Append a static sentence. */
void fre_plan_warn(fre_plan *p, const char *sentence);

/* The request, checked, and what it fixes of the mechanism. */
FRE_MUST_CHECK fre_status fre_plan_begin(fre_plan *p, const fre_plan_request *r, fre_err *err);
/* The joint accountant's plan: chooses what the request left open.  FRE_E_INFEASIBLE: there is
 * none; err has no text that matters. */
FRE_MUST_CHECK fre_status fre_plan_joint(fre_plan *p, fre_err *err);
/* Puts into words why there is none, with changes of the request that work; returns
 * FRE_E_INFEASIBLE. */
FRE_MUST_CHECK fre_status fre_plan_refuse(const fre_plan_request *r, fre_err *err);

/* Sampled counts of public cells, planned as a grid in which two records may be 2R apart. */
fre_plan_request fre_plan_as_grid(const fre_plan_request *r, const fre_level_request *l);
/* Levels of public cells: FRE_E_USAGE where the request contradicts itself. */
FRE_MUST_CHECK fre_status fre_plan_check_levels(const fre_plan_request *r, fre_err *err);
/* The plan of all levels, the grid's too unless there is none, so that all together cost no more than the
 * target.  FRE_E_INFEASIBLE: the text says what to change. */
FRE_MUST_CHECK fre_status fre_plan_levels(fre_plan *p, fre_err *err);
/* The same without noise. */
void fre_plan_levels_bare(fre_plan *p);

/* The sentences of a statement about them; nothing without levels. */
FRE_MUST_CHECK fre_status fre_statement_levels(fre_buf *out, const fre_plan *p);

/* ---- nobody far --------------------------------------------------------------------------- */

/* Accounts at the diameter of the embeddings, where heavy alone decides: quickly certified, and with
 * noise enough down to the counts alone.  memory: of composed losses, or NULL.
 * Is the account of *p, whose noise is left open, within the target with the most noise that can be added? */
bool fre_plan_counts_hold(const fre_plan *p, fre_compose_memory *memory);
/* The least noise that is, within a few per cent, and its account; false: none. */
bool fre_plan_nobody_far(fre_plan *io, fre_compose_memory *memory);
/* The mechanism of fre_search_spare where its counts hold, its noise left open; false: none. */
bool fre_plan_spare(fre_plan *io);

/* ---- advice ------------------------------------------------------------------------------- */

/* Numbers of a request that may be changed, each in one direction. */
typedef enum fre_lever {
    FRE_LEVER_THRESHOLD,
    FRE_LEVER_LESS_THRESHOLD,
    FRE_LEVER_EPSILON,
    FRE_LEVER_LESS_EPSILON,
    FRE_LEVER_DELTA,
    FRE_LEVER_LESS_DELTA,
    FRE_LEVER_RATE,
    FRE_LEVER_CELLS,
    FRE_LEVER_CURIOUS,
    FRE_LEVER_DUMMIES,
    FRE_LEVER_RATIO,
    FRE_LEVER_PROJECTION
} fre_lever;

/* "raise {threshold} to 200 or raise {epsilon} to 3": changes that were tried and work. */
typedef struct fre_advice {
    const fre_plan_request *request;
    char text[400];
    size_t n;
} fre_advice;

/* Two significant digits, upwards or downwards. */
double fre_advice_nice(double x, bool up);
/* Appends the change if a plan of the request with it, read as it is printed, is found; if not, a few that
 * go somewhat farther.  value <= 0: nothing.  false: none does. */
bool fre_advice_add(fre_advice *io, fre_lever lever, double value);
/* "why: advice", or what to do otherwise where there is none; returns FRE_E_INFEASIBLE. */
FRE_MUST_CHECK fre_status fre_advice_fail(const fre_advice *a, fre_err *err, const char *why,
                                          const char *otherwise);

/* ---- search ------------------------------------------------------------------------------- */

/* A choice of sampling rate and projection with its estimated noise and its padding. */
typedef struct fre_choice {
    uint64_t p32;
    uint32_t proj;
    double sigma, split;
    fre_distributed dist;
    bool composed; /* by the losses of several cells */
} fre_choice;

/* Distributed, lambda and gamma of *out: least padding whose hockey stick takes a small share of delta, a larger one where
 * the dummies would exceed the request's bound.  false: none does. */
bool fre_plan_padding(fre_distributed *out, const fre_plan_request *r, const fre_joint_step *s,
                      uint64_t tau);

/* Noise at one rate by estimates, with this projection or (0) the best; false: the counts alone
 * exceed the target. */
bool fre_search_rate(fre_choice *out, const fre_plan *p, uint64_t p32, uint32_t proj);
/* Best of all rates and projections allowed by the request; false: none. */
bool fre_search_all(fre_choice *out, const fre_plan *p);
/* Greatest rate that the request allows. */
double fre_search_greatest(const fre_plan_request *r);
/* The greatest rate with the same tau as p: more records for the same threshold. */
uint64_t fre_search_snap(double p, double greatest, uint64_t threshold);
/* Sampling so rare that delta alone would let a sampled record be published outright. */
bool fre_search_too_rare(const fre_plan_request *r, uint64_t p32);
/* The mechanism, but for its noise and projection, at the first rate tried where counts and padding take
 * half of delta at most, by estimates; false: none. */
bool fre_search_spare(fre_mechanism *out, const fre_plan_request *r);
/* Is there one? */
bool fre_search_feasible(const fre_plan_request *r);

#endif /* FRE_PRIVACY_PLAN_H */
