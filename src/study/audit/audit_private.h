/* audit/audit_private.h - one scenario: two neighbouring inputs, what an attacker sees of a run, the
 * law it should have, the tests. */
#ifndef FRE_AUDIT_PRIVATE_H
#define FRE_AUDIT_PRIVATE_H

#include <fre/audit.h>
#include <fre/sharing.h>
#include <fre/wire.h>

#define AUDIT_GROUPS_MAX 8u
#define AUDIT_NOWHERE (-1)

/* The record in which the two inputs differ: where it is in one of them. */
typedef struct audit_extra {
    int cell;        /* AUDIT_NOWHERE: this input lacks it */
    double position; /* along the scenario's line; ignored with far groups */
} audit_extra;

/* Who looks at a collection: a server knows what noise it added itself and takes it off.  S_syn sees all
 * tags besides, S_tag those that were vouched for. */
typedef enum audit_viewer { AUDIT_SYN = 0, AUDIT_TAG } audit_viewer;

/* What a scenario is. */
typedef struct audit_scenario {
    char name[96];
    uint64_t others[2];   /* honest members of cell 0, in which the record is, and of cell 1 */
    double position;      /* of the others along the line */
    audit_extra extra[2]; /* in input 0 (V) and input 1 (V') */
    uint32_t groups;      /* of far members, others[0] each, near cell 0 by chance only */
    double far;           /* their distance; cell 0 has no other members then */
    bool odd;             /* the record of V' is one of several that a user has in every disorder */
    uint32_t cells;       /* above 1: as many cells as cell 0, and in V' a record of one user in each */
    bool between;         /* shares: the record lies half a step off the others' lattice points */
    audit_viewer viewer;  /* shares */
    bool blind;           /* splits: in which third the record is, or would be, is not told */
} audit_scenario;

#define AUDIT_SCENARIOS_MAX 20u
typedef struct audit_scenarios {
    audit_scenario at[AUDIT_SCENARIOS_MAX];
    size_t n;
} audit_scenarios;

/* A record of the user in whom the inputs differ, once it is taken in. */
#define AUDIT_MINE_MAX 8u
typedef struct audit_mine {
    int cell;
    float *x; /* dim; owned */
} audit_mine;

/* Discrete noise: how the sums of a collection come about.  Immutable while runs share it. */
typedef struct audit_shares {
    fre_share_cell *cell;       /* [n], by count - tau; one contact: one of all counts */
    fre_gaussian_table **table; /* [n]; NULL: clients add no noise */
    size_t n;
    fre_rotation *rotation;
    size_t bytes;     /* of a packed share */
    double *others;   /* D: rotated and cut to the norm, embedding units */
    double *extra[2]; /* D each */
    float *centre;    /* of a public cell: zeros */
    fre_wire wire;    /* splits: of a collection, whose ids are cut */
    size_t members;   /* of one cell at most */
} audit_shares;

#define AUDIT_SUMS_MAX 3u
/* A cell's sums, all in one or its thirds. */
typedef struct audit_sums {
    uint32_t n;
    uint64_t answers[AUDIT_SUMS_MAX]; /* in each, of members who aren't curious */
    uint32_t told; /* the one in which the record is, or would be */
} audit_sums;

/* Everything that runs share; immutable while they run. */
typedef struct audit_setup {
    const fre_audit_opts *opts;
    const fre_audit_steps *steps;
    audit_scenario scenario;
    uint32_t index; /* of the scenario, part of the streams' names */
    fre_aggregate_lattice lattice;
    uint64_t sigma_lattice;
    double sigma; /* what the lattice makes of it */
    double p;
    uint32_t dim;         /* numbers of a sum: of shares D */
    audit_shares *shares; /* NULL: sums on the curator's lattice, and one Gaussian */
    uint32_t lines;                     /* groups, or 1 */
    float *others;                      /* lines x dim */
    float *extra[2];                    /* dim each */
    audit_mine mine[2][AUDIT_MINE_MAX]; /* by input: what counts of that user ... */
    unsigned n_mine[2];                 /* ... and its number, one at most if all is right */
    double *direction;       /* lines x dim, unit vectors from the others to the record */
    int64_t *lattice_others; /* lines x dim */
    int64_t *shift[2]; /* dim: what the record adds to a sum of the others in cell 0; 0 elsewhere */
    double offset[2];  /* of the record from the others along the line, as the lattice has them */
    double *log_mass[2];  /* ln Pr[Bin(others, p) = j] */
    double *log_below[2]; /* ln Pr[Bin(others, p) < j], j = 0..others+1 */
} audit_setup;

/* What an attacker sees of one run. */
typedef struct audit_view {
    bool released[2];
    uint64_t count[2];
    uint64_t answers[2]; /* shares in the sum, of members who aren't curious; too few: not opened */
    bool opened[2];
    audit_sums sums[2];
    double along[2];    /* <sum - count others, direction>, embedding units */
    double fit[2][2];   /* shares, by cell and input: ln of how much likelier the sum is with that record */
    uint32_t groups;    /* far groups in cell 0: the projection is public */
    uint32_t *tags;     /* distributed: tags of multiplicity 1..tau-1, dummies included */
    uint8_t digest[16]; /* of every number seen, or of what two sums don't share */
} audit_view;

/* What is kept of a run. */
typedef struct audit_trace {
    double llr;             /* ln Pr[view | V'] / Pr[view | V] */
    uint64_t exact, coarse; /* names of the view, whole and rounded */
} audit_trace;

/* Scratch for a cell's shares. */
typedef struct audit_hands {
    uint32_t *sum[2], *before; /* D; of S_tag and S_syn */
    uint8_t *packed;
    fre_share_expander *expander;
    fre_report_id *id; /* splits: of all members of a cell ... */
    uint8_t *third;    /* ... and where they are cut to */
} audit_hands;

/* Scratch of one thread's chunk of runs. */
typedef struct audit_actor {
    const audit_setup *setup;
    fre_rng coins, noise, padding, grid, shares;
    audit_hands hands;
    int64_t *sum[2]; /* of each cell, AUDIT_SUMS_MAX behind each other */
    int64_t *difference;
    uint64_t *sizes; /* dim: of the noise in each coordinate */
    audit_view view;
} audit_actor;

/* Does the claim depend on the population? */
static inline bool audit_bounded(const fre_mechanism *m)
{
    return m->sensitivity == FRE_SENSITIVITY_PROBABILISTIC;
}

/* Does whoever looks see tags that are not released? */
static inline bool audit_sees_tags(const audit_setup *s)
{
    return s->opts->mechanism.dist.on && s->scenario.viewer == AUDIT_SYN;
}

/* Two records are at most twice this apart; what is shared or added up is at most so long. */
static inline double audit_reach(const fre_mechanism *m)
{
    return fre_sketch_reach(&m->sketch, m->norm_bound > 0 ? m->norm_bound : 1);
}

/* scenarios.c: those that attack the claim; *split: how far apart their records are. */
FRE_MUST_CHECK fre_status audit_scenarios_choose(audit_scenarios *out, double *split,
                                                 const fre_audit_opts *o, fre_err *err);

/* setup.c; split: of the claim. */
FRE_MUST_CHECK fre_status audit_setup_init(audit_setup *s, const fre_audit_opts *opts,
                                           const audit_scenario *scenario, double split,
                                           uint32_t index, fre_err *err);
void audit_setup_wipe(audit_setup *s);

/* shares_setup.c: where discrete noise is made of shares.  Fills s->shares and all that hangs on where
 * records lie, s->mine included. */
static inline bool audit_has_shares(const fre_mechanism *m)
{
    return m->dist.on && m->noise == FRE_NOISE_DISCRETE;
}
FRE_MUST_CHECK fre_status audit_shares_init(audit_setup *s, double split, fre_err *err);
void audit_shares_free(audit_shares *h); /* NULL is allowed */
/* Parameters of one cell's shares, with residues wide enough for `largest` members. */
FRE_MUST_CHECK fre_status audit_shares_cell(fre_share_cell *out, const fre_mechanism *m, double split,
                                            uint64_t count, uint64_t largest, fre_err *err);

/* shares.c: the sum of a released cell, over `others` honest members and perhaps the user in whom the
 * inputs differ; what is seen of it into a->sum[cell] and a->view. */
FRE_MUST_CHECK fre_status audit_hands_init(audit_hands *out, const audit_setup *s);
void audit_hands_wipe(audit_hands *h);
FRE_MUST_CHECK fre_status audit_shares_sum(audit_actor *a, unsigned cell, uint64_t others, bool mine,
                                           unsigned world);

/* ingest.c: fills s->mine, by the steps a curator takes. */
FRE_MUST_CHECK fre_status audit_ingest(audit_setup *s);

/* Which runs. */
typedef struct audit_chunk {
    const char *prefix; /* of the scenario's kind */
    uint32_t index;     /* of the scenario */
    unsigned world;
    uint64_t number;
} audit_chunk;
/* streams.c: n streams of these kinds, of the seed's where there is one. */
FRE_MUST_CHECK fre_status audit_open_streams(fre_rng *const *stream, const char *const *kind,
                                             size_t n, const fre_audit_opts *o,
                                             const audit_chunk *c);

/* `n` runs on input `world`, the chunk'th of such, into out. */
typedef fre_status audit_simulate_fn(audit_trace *out, size_t n, const void *setup, unsigned world,
                                     uint64_t chunk);
/* runs.c; setup: an audit_setup. */
FRE_MUST_CHECK audit_simulate_fn audit_simulate;

/* law.c */
double audit_llr(const audit_setup *s, const audit_view *v);
/* Of what is released of cell 0 alone, tags apart. */
double audit_llr_of_cell(const audit_setup *s, const audit_view *v);
/* ln(e^a + e^b); either may be -infinity. */
double audit_log_add(double a, double b);
/* The multiplicity that the record's cell most likely has. */
uint64_t audit_likely_count(const audit_setup *s);

/* curve.c: what the account allows at epsilons up to the claimed one. */
#define AUDIT_CURVE_POINTS 8u
typedef struct audit_claims {
    fre_mechanism mechanism; /* whose account it is */
    double split;
    size_t n; /* 0: no account meets the claim */
    double epsilon[AUDIT_CURVE_POINTS];
    double near[AUDIT_CURVE_POINTS]; /* delta of members within the split, given the projection */
    double unreleased[AUDIT_CURVE_POINTS]; /* the padding's share, for any members */
    double any[AUDIT_CURVE_POINTS];        /* delta of any members, over projections */
} audit_claims;

/* group: of all records of a user, else of one. */
FRE_MUST_CHECK fre_status audit_claims_make(audit_claims *out, const fre_audit_opts *opts,
                                            double split, bool group, fre_err *err);
/* delta[i]: what the claim allows a scenario's inputs at epsilon[i], i < n. */
void audit_claims_of(double delta[AUDIT_CURVE_POINTS], const audit_claims *c,
                     const audit_scenario *scenario, bool backward);

/* One scenario as it is run and judged. */
typedef struct audit_attack {
    const char *name;
    audit_simulate_fn *simulate;
    const void *setup;
    size_t points; /* of the curve: at epsilon[i] the claim allows allowed[backward][i] */
    double epsilon[AUDIT_CURVE_POINTS];
    double allowed[2][AUDIT_CURVE_POINTS];
} audit_attack;

/* levels.c: the scenarios of a release by levels (o->levels). */
typedef struct audit_by_levels audit_by_levels;
FRE_MUST_CHECK fre_status audit_by_levels_new(audit_by_levels **out, const fre_audit_opts *o,
                                              fre_err *err);
size_t audit_by_levels_count(const audit_by_levels *a); /* NULL: 0 */
/* *out lives as long as a, until the next call. */
void audit_by_levels_attack(audit_attack *out, audit_by_levels *a, size_t index);
void audit_by_levels_free(audit_by_levels *a);

/* learn.c: scores of trace[i], i >= train, learned from the first `train` of both inputs. */
FRE_MUST_CHECK fre_status audit_learn(double *score[2], const audit_trace *const trace[2], size_t n,
                                      size_t train);

/* bound.c */
/* Clopper-Pearson: the chance of an event seen k times in n is at least (at most) this, but for
 * a chance of alpha. */
double audit_at_least(uint64_t k, uint64_t n, double alpha);
double audit_at_most(uint64_t k, uint64_t n, double alpha);
/* I_x(a, b), the regularised incomplete beta function. */
double audit_incomplete_beta(double a, double b, double x);
/* Scores under input 0 and 1: a threshold is chosen on the first part, and judged by the other. */
typedef struct audit_scores {
    const double *choose[2], *judge[2]; /* ascending */
    size_t n_choose, n_judge;
} audit_scores;
/* Sorts [from, middle) and [middle, to) of both, and points at them. */
audit_scores audit_scores_sort(double *score0, double *score1, size_t from, size_t middle,
                               size_t to);
/* ln((Pr[score >= t | 1] - delta) / Pr[score >= t | 0]) is at least this, for the t that looks
 * best; each of two bounds fails with chance alpha.  0 where nothing is shown. */
double audit_epsilon(const audit_scores *s, double delta, double alpha);
/* The hockey stick Pr[score >= t | 1] - e^epsilon Pr[score >= t | 0], likewise; at least 0. */
double audit_divergence(const audit_scores *s, double epsilon, double alpha);

#endif
