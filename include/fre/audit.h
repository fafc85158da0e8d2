/** fre/audit.h - an attack on the mechanism itself: its steps run many times on neighbouring
 * inputs, and how well the two can be told apart bounds epsilon from below.
 *
 * A bound above the claim refutes it, but for a chance of 1 - confidence; a bound below it proves
 * nothing.  Events of chance delta are out of reach of any number of runs, so the claim is attacked
 * along its whole curve as well: the account bounds delta at every epsilon, and at a small epsilon
 * that delta is large enough to be measured.  Inputs are embeddings that share a cell given the projection, all within the split of
 * the account (where the claim has to hold whatever the projection), and far ones under real
 * projections, and a user with too many records, copies, two spellings of a name and an embedding that
 * is too long, who is taken in as a curator takes in everybody; and of a release by levels a record in cells of
 * every size at every level.  Of the distributed mode, where its noise is discrete, the sums are those of a
 * collection: shares rounded, masked and packed by the clients' own code, the noise of clients or of both
 * servers, and the view of each server without the noise that it added itself; large cells in thirds, where
 * the mechanism has splits; a user of several cells is attacked in all of them at once.  Tests: the likelihood ratio of the law that the mechanism should have, and a
 * learned one, which knows nothing of that law.  Clopper-Pearson bounds, with Bonferroni over
 * scenarios, directions, tests and points of the curve.  docs/privacy.md, "Audit"; the idea:
 * Jagielski, Ullman, Oprea 2020; Nasr et al. 2021; of curves: Nasr et al. 2023.
 */
#ifndef FRE_AUDIT_H
#define FRE_AUDIT_H

#include <fre/contribution.h>
#include <fre/core.h>
#include <fre/fold.h>
#include <fre/param.h>
#include <fre/privacy.h>
#include <fre/aggregate.h>
#include <fre/sharing.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_AUDIT_RUNS_MIN UINT64_C(1000)
#define FRE_AUDIT_RUNS_MAX UINT64_C(10000000) /* up to 130 bytes a run */
#define FRE_AUDIT_MEMBERS_MAX UINT64_C(10000000)

/** Ranges and defaults of the attack, and of a mechanism that it can run. */
FRE_API extern const fre_param fre_audit_param_runs;
FRE_API extern const fre_param fre_audit_param_confidence;
FRE_API extern const fre_param fre_audit_param_tau;
FRE_API extern const fre_param fre_audit_param_lambda;
FRE_API extern const fre_param fre_audit_param_gamma;
FRE_API extern const fre_param fre_audit_param_factor;

/** The mechanism under attack.  The real one is made of the functions that releases run; a test
 * of the audit puts a defect in the place of one of them. */
typedef struct fre_audit_steps {
    /* What becomes of a record before coins are tossed. */
    fre_status (*fold)(char **out, const char *name, size_t len, fre_fold how);
    bool (*clip)(float *x, size_t dim, double bound);
    bool (*takes)(uint32_t *held, uint32_t most, uint32_t text);
    fre_status (*add)(int64_t *sum, const float *x, size_t dim, uint64_t times,
                      const fre_aggregate_lattice *l);
    /** record: 0, 1, ... in a run, for each member of a cell. */
    bool (*coin)(fre_rng *coins, uint64_t p32, uint64_t record);
    bool (*released)(uint64_t count, uint64_t tau);
    void (*noise)(int64_t *sum, size_t dim, fre_rng *noise, uint64_t sigma_lattice);
    /** Of a collection: a client's share (fre_share_make_with); how many sums a cell of a count has
     * (fre_cell_sums); and the noise of one server (0: S_tag, 1: S_syn) on a sum of its: 0 and 1 of a run's
     * two cells, 2 to 4 of the thirds of the first, 5 to 7 of the second's. */
    fre_status (*share)(uint8_t *packed, size_t packed_bytes, fre_share_seed *seed,
                        const fre_rotation *rot, const fre_share_cell *cell, const float *x,
                        const fre_share_noise *noise, fre_rng *r);
    uint32_t (*sums)(const fre_mechanism *m, uint64_t count);
    void (*server_noise)(uint32_t *sum, size_t n, const fre_share_cell *cell, fre_rng *noise,
                         unsigned server, unsigned which);
    fre_status (*padding)(uint32_t *tags, uint64_t tau, fre_rng *padding, const fre_distributed *d);
    /** Of levels: what a record is beside its cell's centre, which records a level counts, which cells are
     * released, and which records go on; the account that the claim comes from. */
    void (*offset)(float *x, const float *centre, size_t dim, double radius);
    uint64_t (*level_weight)(uint64_t records, const fre_plan_level *l, fre_rng *coins);
    bool (*level_released)(uint64_t *shown, uint64_t count, const fre_plan_level *l,
                           fre_rng *counts);
    bool (*goes_on)(uint32_t row);
    fre_status (*account)(fre_levels_account *out, const fre_levels *m, double epsilon,
                          fre_err *err);
    /** Does a participant who is not sampled, or has no text, send a random tag? */
    bool (*cover)(const fre_distributed *d, bool has_text);
} fre_audit_steps;

/** What releases run.  Static. */
FRE_API const fre_audit_steps *fre_audit_real_steps(void);

typedef struct fre_audit_opts {
    fre_mechanism mechanism; /**< what runs: borrowed numbers, taken as they are; dim at least 1 */
    /** Whose account is the claim's curve, borrowed for the call.  NULL: the mechanism that runs, if
     * it meets (epsilon, delta); else the same with the least sigma that does. */
    const fre_mechanism *claimed;
    /** A plan with levels of public cells: they are attacked too, and `mechanism`, the grid before them,
     * by itself only if the plan has one.  NULL: none.  claimed_levels: whose account is the claim's curve
     * by levels; NULL: the plan that runs.  Both borrowed for the call. */
    const fre_plan *levels, *claimed_levels;
    double epsilon, delta; /**< the claim; 0 < epsilon <= 50, 0 < delta < 1 */
    double split;    /**< distance of near members; 0: the largest that delta can't charge as far */
    uint64_t others; /**< other members of the worst cell; 0: the account's */
    uint64_t runs;   /**< of each of the two inputs, a scenario; FRE_AUDIT_RUNS_MIN.. _MAX */
    double confidence; /**< of the whole verdict, (0, 1) */
    uint32_t threads;
    bool seeded; /**< repeatable */
    uint8_t seed[FRE_SEED_BYTES];
    const fre_audit_steps *steps; /**< borrowed for the call; NULL: the real ones */
    const fre_progress *progress;
} fre_audit_opts;

typedef struct fre_audit_scenario {
    char name[96];        /**< what the two inputs are */
    double epsilon_lower; /**< at least this, >= 0 */
    bool learned;         /**< the test that gave it */
    bool backward;        /**< removing the record (replacing: the other way round) */
    /** The point of the curve where the attack comes nearest to what the account allows: at this
     * epsilon (0: no curve) delta is at least curve_lower, and the account says curve_claimed. */
    double curve_epsilon, curve_claimed, curve_lower;
    bool curve_backward;
} fre_audit_scenario;

typedef struct fre_audit {
    double epsilon, delta; /**< the claim */
    double confidence;
    double split;
    uint64_t runs;
    double epsilon_lower; /**< the largest of the scenarios' */
    size_t worst;         /**< its index */
    /** Distributed, discrete noise: the shares of a cell of count tau (their bits those of so few).  beta 0:
     * none. */
    fre_share_cell shares;
    bool curve;           /**< the claim has a curve */
    size_t curve_worst;   /**< the scenario that comes nearest to it, or passes it by most */
    bool curve_refuted;   /**< its curve_lower > curve_claimed */
    bool refuted;         /**< epsilon_lower > epsilon, or curve_refuted */
    size_t n;
    fre_audit_scenario *scenario; /**< [n], owned */
} fre_audit;

/** Run every scenario that the mechanism's mode and adjacency have.  The same seed gives the same
 * audit, whatever the number of threads.  Time grows with runs, tau and dim.
 * FRE_E_USAGE: a number out of range (names the parameter); FRE_E_NOMEM; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_audit_run(fre_audit **out, const fre_audit_opts *opts,
                                                fre_err *err);
FRE_API void fre_audit_free(fre_audit *a);

/** How much of each a mechanism that runs has, beside the one that is claimed; 1: as much. */
typedef struct fre_audit_factors {
    double sigma, tau,
        rate; /**< of the noise, of the threshold on sampled counts, of the sampling rate */
} fre_audit_factors;
/** A defect put in, to learn what an attack would catch.  Is there one?  The caller keeps the claimed mechanism. */
FRE_API bool fre_audit_weaken(fre_mechanism *m, const fre_audit_factors *f);
/** The same of a plan's levels; the grid before them becomes `grid`, on the plan's lattice. */
FRE_API void fre_audit_weaken_levels(fre_plan *p, const fre_mechanism *grid,
                                     const fre_audit_factors *f);

/** Append an audit as one JSON object, the one that `fre-e2t audit --json` prints: opts: what it was made with.
 * warning: of the claim's delta (fre_delta_warning), or NULL.  FRE_E_LIMIT or FRE_E_NOMEM: from the buffer. */
FRE_API FRE_MUST_CHECK fre_status fre_audit_json(fre_buf *out, const fre_audit *a,
                                                 const fre_audit_opts *opts, const char *warning);

#ifdef __cplusplus
}
#endif
#endif /* FRE_AUDIT_H */
