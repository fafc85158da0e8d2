/** fre/privacy.h - the accountants and the planner.  Pure: no file, clock or randomness; only what tries many
 * accounts by levels, a plan or the least epsilon, looks whether it is interrupted.
 *
 * Notation and mathematics: docs/privacy.md.  Joint mode: one record covered by the secret coin
 * everywhere at once; delta(eps) = p [ sup_n heavy(n) + min(1, (N/tau) pi(split)) + unreleased ].
 * Paper mode: [Fre-E2T, Alg. 1 and 2, CalibrateNoise, app. Extensions].  Every delta returned is
 * rounded up, every noise is never below what the target needs; on failure nothing is written.
 */
#ifndef FRE_PRIVACY_H
#define FRE_PRIVACY_H

#include <fre/core.h>
#include <fre/param.h>
#include <fre/sampler.h>
#include <fre/sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_PRIVACY_K_MAX 64u
#define FRE_PRIVACY_EPSILON_MAX 50.0
#define FRE_PRIVACY_POPULATION_MAX UINT64_C(1000000000000)
#define FRE_PRIVACY_CELLS_MAX 1000u
#define FRE_PRIVACY_DIM_MAX 8192u

typedef enum fre_accountant { FRE_ACCOUNTANT_JOINT = 0, FRE_ACCOUNTANT_PAPER } fre_accountant;
typedef enum fre_adjacency { FRE_ADJACENCY_ADD_REMOVE = 0, FRE_ADJACENCY_REPLACE } fre_adjacency;
typedef enum fre_gaussian { FRE_GAUSSIAN_ANALYTIC = 0, FRE_GAUSSIAN_ZCDP } fre_gaussian;
typedef enum fre_sensitivity {
    FRE_SENSITIVITY_PROBABILISTIC = 0,
    FRE_SENSITIVITY_WORST_CASE
} fre_sensitivity;
/** Continuous: the curator's exactly rounded Gaussian.  Discrete: users' discrete Gaussians. */
typedef enum fre_noise { FRE_NOISE_CONTINUOUS = 0, FRE_NOISE_DISCRETE } fre_noise;
/** The paper's three readings of several records a user [Fre-E2T, app. Extensions]. */
typedef enum fre_paper_records {
    FRE_PAPER_CAP = 0, /**< at most c cells, one record each: (c eps, c delta) */
    FRE_PAPER_GROUP,   /**< m records anywhere: (m eps, (e^(m eps) - 1)/(e^eps - 1) delta) */
    FRE_PAPER_BESPOKE  /**< m records anywhere: the worst partition into cells */
} fre_paper_records;

/* ---- ranges and defaults (fre/param.h) ----------------------------------------------------- */

/** Of a plan. */
FRE_API extern const fre_param fre_param_epsilon;
FRE_API extern const fre_param fre_param_delta;
FRE_API extern const fre_param fre_param_threshold;
FRE_API extern const fre_param fre_param_population;
FRE_API extern const fre_param fre_param_radius;
FRE_API extern const fre_param fre_param_projection_dim;
FRE_API extern const fre_param fre_param_cell_scale;
FRE_API extern const fre_param fre_param_cell_edge;
FRE_API extern const fre_param fre_param_sampling_rate;
FRE_API extern const fre_param fre_param_norm_bound;
FRE_API extern const fre_param fre_param_dimension;
FRE_API extern const fre_param fre_param_max_cells_per_user;
FRE_API extern const fre_param fre_param_clip_radius;
FRE_API extern const fre_param fre_param_budget_factor;
FRE_API extern const fre_param fre_param_sensitivity_ratio;
/** Of the distributed mode. */
FRE_API extern const fre_param fre_param_curious_users;
FRE_API extern const fre_param fre_param_dropout;
FRE_API extern const fre_param fre_param_max_dummies;
FRE_API extern const fre_param fre_param_lambda;
FRE_API extern const fre_param fre_param_gamma;
FRE_API extern const fre_param fre_param_phi;
/** Of a mechanism. */
FRE_API extern const fre_param fre_param_tau;
FRE_API extern const fre_param fre_param_sigma;
FRE_API extern const fre_param fre_param_split;
FRE_API extern const fre_param fre_param_lattice_step;
/** Of a level of public cells (fre_level). */
FRE_API extern const fre_param fre_param_level_sampling_rate;
FRE_API extern const fre_param fre_param_level_tau;
FRE_API extern const fre_param fre_param_level_count_sigma;
/** Of semantic support protection, where the mechanism's don't serve. */
FRE_API extern const fre_param fre_ssp_param_psi;
FRE_API extern const fre_param fre_ssp_param_neighbours;
FRE_API extern const fre_param fre_ssp_param_threshold;
FRE_API extern const fre_param fre_ssp_param_tau;
FRE_API extern const fre_param fre_ssp_param_count;
FRE_API extern const fre_param fre_ssp_param_cells;

/* ---- pieces, each checked by vectors ------------------------------------------------------ */

/** ln Phi(x), accurate to 1e-300 and beyond (relative 1e-13). */
FRE_API double fre_log_phi(double x);
/** f(nu) = erf(nu/sqrt 2) - sqrt(2/pi)/nu (1 - exp(-nu^2/2)), nu >= 0. */
FRE_API double fre_collision_f(double nu);
/** pi(D) = f(sqrt(k) L / D)^k in [0, 1]; 1 at D = 0. */
FRE_API double fre_collision(const fre_sketch_grid *grid, double distance);
/** G(eps, mu): the Gaussian's hockey stick Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu);
 * any real eps, +-infinity included; mu >= 0. */
FRE_API double fre_gauss_delta(double eps, double mu);
/** zCDP conversion, inf over alpha > 1; eps > -inf; in [0, 1]. */
FRE_API double fre_zcdp_delta(double rho, double eps);
/** Least multiplier s (sigma / sensitivity) with the delta of the Gaussian at eps <= delta. */
FRE_API FRE_MUST_CHECK fre_status fre_gauss_multiplier(double *out, double eps, double delta,
                                                       fre_gaussian kind);
/** tau = ceil(p t) in integers; p = p32 / 2^32.  At least 1. */
FRE_API uint64_t fre_tau(uint64_t p32, uint64_t threshold);
/** p rounded down to a multiple of 2^-32, as an integer; NaN or out of [0,1]: 0. */
FRE_API uint64_t fre_p32(double p);
/** Paper's delta_l for a group of l records in one cell: exp(-m D(tau/m || p)) with
 * m = tau/q + l - 1, q = 1 - (1-p)^(v+1), 1 where tau <= p m; l = 1 is its delta_fre.
 * 0 < p < 1, v >= 1. */
FRE_API double fre_paper_group_delta(double p, double tau, double v, uint32_t l);

/** TSDLap(lambda, gamma) at u: exp(-|u - gamma|/lambda)/A on 0..2 gamma, 0 elsewhere [Fre-E2T,
 * app. TSDLap].  lambda > 0. */
FRE_API double fre_tsdlap_mass(double lambda, uint32_t gamma, int64_t u);
/** Hockey stick at eps (any real) of numbers of dummy tags: each of n independent
 * TSDLap(lambda[i], gamma[i]) moved by shift[i] >= 0 (the sign does not matter), by exact
 * enumeration of the values of the privacy loss; rounded up.  n <= 3, shift <= 2. */
FRE_API double fre_padding_delta(double eps, size_t n, const double *lambda, const uint32_t *gamma,
                                 const uint32_t *shift);
/** T2: two multiplicities moved by one.  T3 = max(three moved by one, one by two and one by one). */
FRE_API double fre_two_cell_delta(double eps, double lambda, uint32_t gamma);
FRE_API double fre_cover_delta(double eps, double lambda, uint32_t gamma);

/** Noise and rounding of the distributed discrete Gaussian [Fre-E2T, thm. complete version], in
 * embedding units; sigma: of the whole sum; sigma_local: of one user; beta: the quantisation;
 * d: dimension after padding; users: at most, summed over. */
typedef struct fre_ddg {
    double delta2; /**< Delta_2 >= split, but for probability phi */
    double kappa;
    double rho;
    double phi; /**< 0 where the sure bound split + beta sqrt(d) is the smaller */
} fre_ddg;
FRE_API void fre_ddg_account(fre_ddg *out, double split, double sigma, double sigma_local,
                             double beta, uint32_t d, uint64_t users, double phi);

/* ---- the mechanism's parameters ----------------------------------------------------------- */

/** What the distributed mode adds [Fre-E2T, Alg. 2]; all zero: a curator. */
typedef struct fre_distributed {
    bool on;
    bool cover;       /**< everybody sends one report: a user without a sampled text a random tag */
    bool one_contact; /**< shares travel with tags: sigma_local^2 = sigma^2/(tau - w) */
    bool server_noise; /**< each server adds sigma^2 to its sums and users nothing: either's noise
                            alone pays for epsilon.  Only with one contact */
    bool splits;       /**< large cells are summed in thirds, each with all of sigma, of which the
                            median is released */
    uint32_t curious;  /**< w: participants of a cell who pool what they know; < tau */
    double dropout;    /**< share of a cell's users who may not answer, [0, 1); one contact: 0 */
    double lambda;     /**< padding of each multiplicity 1..tau-1: TSDLap(lambda, gamma) tags */
    uint32_t gamma;
    double phi; /**< discrete noise: failure of the bound on rounding, e.g. 1e-10 */
} fre_distributed;

typedef struct fre_mechanism {
    uint64_t p32;           /**< sampling rate * 2^32, 1..2^32 */
    uint64_t tau;           /**< released iff sampled count >= tau; >= 1 */
    double sigma;           /**< noise of a cell's sum, std a coordinate, embedding units; > 0 */
    uint64_t population;    /**< N: records at most; ignored by worst-case sensitivity */
    fre_sketch_spec sketch; /**< a codebook's level: exact counts of sampled records, worst case */
    fre_adjacency adjacency;
    fre_sensitivity sensitivity;
    double norm_bound; /**< B, 1 for normalised embeddings; worst case: two records of a cell are
                                  2B apart, in a public cell 2R */
    uint32_t dim;            /**< d, for the lattice's rounding; 0: no lattice (continuous noise) */
    double lattice_step;     /**< beta, embedding units; 0: no lattice.  Discrete noise: 0 for
                                  the protocol's rule, min(sigma_local/2, .2 split/sqrt(d)) */
    uint32_t cells_per_user; /**< c >= 1: composition of c steps (distributed: group of c) */
    fre_noise noise;         /**< discrete only in the distributed mode */
    fre_distributed dist;
} fre_mechanism;

/** Answers without which a tag of sampled count c is not opened: ceil((1 - dropout) c), at least
 * 1; one contact: tau, since a share comes with each report. */
FRE_API uint64_t fre_answers_needed(const fre_mechanism *m, uint64_t count);
/** Sums of a cell of that count: 3 with splits where each third of those who are needed (one contact: of
 * the count) has tau or more; else 1. */
FRE_API uint32_t fre_cell_sums(const fre_mechanism *m, uint64_t count);
/** Answers that each of these has at least, which carry its noise; one contact: tau. */
FRE_API uint64_t fre_sum_answers(const fre_mechanism *m, uint64_t count);
/** Noise of one user when a cell has sampled count c >= tau: sigma/sqrt(answers of a sum - w), w
 * the curious participants.  0: nobody left to carry noise.  Servers' noise: sigma, one server's,
 * whatever the count. */
FRE_API double fre_sigma_local(const fre_mechanism *m, uint64_t count);
/** Noise of what is published of a cell of sampled count c >= tau, std a coordinate of its sum, embedding
 * units, if everybody answers: a curator's sigma; sqrt 2 sigma where both servers add theirs; sqrt(c)
 * sigma_local of users, sigma_local as in that cell. */
FRE_API double fre_sigma_published(const fre_mechanism *m, double sigma_local, uint64_t count);
/** The protocol's quantisation for a user's noise and the plan's split: min(sigma_local/2,
 * 0.2 split/sqrt(d)), d = dim after padding. */
FRE_API double fre_quantisation(double sigma_local, double split, uint32_t dim);
/** Dummy tags' reports of multiplicities 1..tau-1: expected (gamma tags each); the most is twice
 * it.  A curator: 0. */
FRE_API double fre_expected_dummies(const fre_mechanism *m);

/** The three parts are already multiplied by p and add up to delta (in the paper's plans delta is
 * the greater of released + far and of unreleased).  For cells_per_user c, each record with a coin
 * of its own: c times their per-cell values at eps/c, or, where that is less (by_pld), the composed
 * losses of c cells at eps and c times one cell's far members.  worst_cell (at eps/c) is meaningful
 * up to tau = 16384: larger thresholds are accounted as that one, which is an upper bound. */
typedef struct fre_account {
    double epsilon;
    double delta;
    double delta_released, delta_far, delta_unreleased;
    double split;        /**< the Delta the analysis used */
    uint64_t worst_cell; /**< n at which the supremum was found */
    bool by_pld;         /**< several cells a user: the privacy-loss distribution was less */
} fre_account;

/** Joint delta at a given epsilon and split (> 0; worst case: 2B whatever is given).
 * FRE_E_USAGE: a field out of range (names the parameter).  FRE_E_INFEASIBLE: adding or removing a
 * record needs epsilon >= c ln(1/(1-p)). */
FRE_API FRE_MUST_CHECK fre_status fre_joint_delta_at_split(fre_account *out, const fre_mechanism *m,
                                                           double epsilon, double split,
                                                           fre_err *err);
/** Joint delta at epsilon, split optimised. */
FRE_API FRE_MUST_CHECK fre_status fre_joint_delta(fre_account *out, const fre_mechanism *m,
                                                  double epsilon, fre_err *err);
/** Least epsilon with delta(epsilon) <= delta.  FRE_E_INFEASIBLE: none up to 50. */
FRE_API FRE_MUST_CHECK fre_status fre_joint_epsilon(fre_account *out, const fre_mechanism *m,
                                                    double delta, fre_err *err);

/** The same with the analysis split at a given distance.  FRE_E_INFEASIBLE: none up to 50. */
FRE_API FRE_MUST_CHECK fre_status fre_joint_epsilon_at_split(fre_account *out,
                                                             const fre_mechanism *m, double delta,
                                                             double split, fre_err *err);

/* ---- release by levels --------------------------------------------------------------------- */

/** How a level counts its cells.  Sampled: exact counts of records that tossed heads (the paper's).
 * Noisy: every record counts, and each count carries Gaussian noise. */
typedef enum fre_counts { FRE_COUNTS_SAMPLED = 0, FRE_COUNTS_NOISY } fre_counts;

#define FRE_LEVELS_MAX 12u

/** What a level of public cells costs depends on (curator).  Its threshold costs
 * the same whatever it is where counts are noisy. */
typedef struct fre_level {
    fre_counts counts;
    uint64_t p32;       /**< sampled: sampling rate * 2^32, 1..2^32 - 1 */
    uint64_t tau;       /**< sampled: released iff the sampled count >= tau; 1..16384 */
    double count_sigma; /**< noisy: standard deviation of a count's noise, > 0 */
    double sigma;       /**< of the noise on a cell's sum, a coordinate; > 0 */
    double
        shift; /**< most that a record moves a cell's sum, > 0: noisy R + beta sqrt(d)/2; sampled,
                             where one record is replaced by another, 2R + beta sqrt(d) */
} fre_level;

/** The shift of a level of public cells of radius R > 0 whose sums carry noise sigma > 0, on the lattice
 * that a level with this noise runs on: beta the largest power of two <= sigma / 2^20; dim: d. */
FRE_API double fre_level_shift(fre_counts counts, double radius, double sigma, uint32_t dim);

/** A mechanism by levels, from fine to coarse.  A record that is in no released cell of a level is in the
 * next one with fresh coins and noise, all records of a released cell leave. */
typedef struct fre_levels {
    const fre_mechanism
        *grid; /**< the first level, of a curator; its adjacency and cells_per_user are not
                                    looked at.  NULL: no grid */
    const fre_level *level; /**< n behind it, 0..FRE_LEVELS_MAX, at least one level in all */
    size_t n;
    fre_adjacency adjacency;
    uint32_t
        cells_per_user; /**< c: records of a user, at each level at most one a cell, which of them
                                  stands there fixed from that user's records alone; 0 is 1 */
} fre_levels;

typedef struct fre_levels_account {
    double epsilon;
    double delta;
    /** Of the view with a user's records against that without them, and back: delta is the greater.
     * Replacement: what the two add to delta, through the view with neither. */
    double addition, removal;
    double split; /**< of the grid; 0: no grid */
} fre_levels_account;

/** delta(epsilon): an upper bound, with far members at a good split.  Source: docs/privacy.md, "Release by
 * levels"; docs/decisions/0015 (several records, replacement).
 * FRE_E_USAGE: a field out of range; FRE_E_INFEASIBLE: epsilon below what removing a record costs at the
 * grid's rate; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_levels_delta(fre_levels_account *out, const fre_levels *m,
                                                   double epsilon, fre_err *err);
/** Least epsilon, within 1e-4 of it, with delta(epsilon) <= delta.  FRE_E_INFEASIBLE: none up to 50;
 * FRE_E_INTERRUPTED; else as fre_levels_delta. */
FRE_API FRE_MUST_CHECK fre_status fre_levels_epsilon(fre_levels_account *out, const fre_levels *m,
                                                     double delta, fre_err *err);

/* ---- semantic support protection ---------------------------------------------------------- */

/** What a bound needs to know of one rare text x* and one released cell. */
typedef struct fre_ssp_query {
    double sampling_rate; /**< p in (0, 1] */
    double radius;        /**< r */
    double psi;           /**< in (0, 1]: how close, in units of r */
    double sigma;         /**< noise of the cell's sum, a coordinate; > 0 */
    uint32_t dim;         /**< d in 1..FRE_PRIVACY_DIM_MAX */
    uint64_t neighbours;  /**< n*: records within r of x*, itself included (the paper's t) */
    uint64_t count;       /**< h: the cell's sampled count, >= tau */
    uint64_t tau;
    fre_sketch_grid grid; /**< for the terms of pairs */
    uint64_t population;  /**< N */
    uint64_t cells;       /**< released cells of this count, >= 1: the whole release's bound */
} fre_ssp_query;

#define FRE_SSP_COUNT_MAX UINT64_C(1000000000)

/** Upper bounds of the chance, over coins and noise, that a cell of count h is released with its
 * centroid within psi r of x*; all in [0, 1].  docs/privacy.md has the proof. */
typedef struct fre_ssp_bound {
    double cell;     /**< this cell, if its members farther than r from x* are pairwise within r */
    double sampling; /**< of it: Pr[Bin(n*, p) > m] */
    double noise;    /**< of it: F, the noncentral chi-square */
    uint64_t m;      /**< the m that minimises it */
    double repaired; /**< the same by the paper's own argument, its slips mended; >= cell */
    double pairs;    /**< min(1, C(N,2) p^2 pi(r)): two sampled texts of one cell are apart */
    double release;  /**< min(1, sampling + cells F + pairs) at its own best m */
    double paper;    /**< the theorem as printed; 1 where it is vacuous */
    bool paper_vacuous; /**< its Lambda is negative */
} fre_ssp_bound;

/** Distribution function of the noncentral chi-square: d degrees of freedom in (0, 10^6],
 * noncentrality lambda >= 0, at x >= 0.  Rounded up by less than 10^-9 of its value; values below
 * 1e-300 are 1e-300.  Beyond lambda = 10^8 the bound Phi(sqrt x - sqrt lambda) instead, which is
 * never less.  NaN for anything else. */
FRE_API double fre_noncentral_chi2(double x, double d, double lambda);
/** FRE_E_USAGE: a field out of range (names the parameter). */
FRE_API FRE_MUST_CHECK fre_status fre_ssp(fre_ssp_bound *out, const fre_ssp_query *q, fre_err *err);

/* ---- planning ----------------------------------------------------------------------------- */

/** The rule for delta: at most 1/(10 N), so that the promise is expected to fail for a tenth of one
 * user at most, of all N together.  This is the largest double that keeps it exactly, the default of
 * every plan; users: N, less than 100 counting as 100, since no plan can use a delta near .01. */
FRE_API double fre_default_delta(uint64_t users);
/** A static sentence where delta is above 1/(10 N) as the nearest double has it (what "1e-8" reads as
 * keeps the rule for N = 10^7); else NULL. */
FRE_API const char *fre_delta_warning(double delta, uint64_t users);

/** A level of public cells that a plan is asked for. */
typedef struct fre_level_request {
    char name[24]; /**< as its codebook calls it: "4096", "4096x8" (centres, and codes of each) */
    fre_sketch_spec sketch; /**< of kind codebook, 1..FRE_LEVEL_CELLS_MAX cells */
    fre_counts counts;
} fre_level_request;

#define FRE_LEVEL_CELLS_MAX UINT64_C(4294967295)

typedef struct fre_plan_request {
    double epsilon;      /**< 0 < epsilon <= 50, or INFINITY: no privacy, p = 1 and sigma = 0 */
    double delta;        /**< 0 < delta < 1, or 0 for auto: fre_default_delta(population), which the
                         request of a fre_plan then holds */
    uint64_t threshold;  /**< t >= 1 */
    double radius;       /**< r > 0 */
    uint64_t population; /**< users at most, >= 1; records at most: c times as many */
    uint32_t proj;       /**< k (default 40), or 0 for auto: 10..40, least sigma/p */
    double cell_scale;   /**< s > 0: L = s 2r/sqrt(k) ... */
    double cell_edge;    /**< ... unless > 0: L itself */
    double sampling_rate; /**< p in (0, 1], or 0 for auto */
    fre_accountant accountant;
    fre_adjacency adjacency;
    fre_gaussian gaussian;
    fre_sensitivity sensitivity;
    double norm_bound;         /**< B, default 1 */
    double budget_factor;      /**< paper's v >= 1, or 0 for auto (least sigma) */
    double sensitivity_ratio;  /**< paper's u, default 2.4 */
    uint32_t dim;              /**< d, default 384 */
    uint32_t cells_per_user;   /**< c, default 1 */
    fre_paper_records records; /**< paper: how several records count; m = cells_per_user */
    fre_noise noise;
    /** on, cover, one_contact, curious, dropout, phi as asked; lambda, gamma 0: chosen. */
    fre_distributed dist;
    double max_dummies; /**< bound on the expected dummy reports; 0: none */
    bool no_grid;       /**< with levels: public cells alone, without the grid before them */
    bool
        grid_if_possible; /**< with levels: no_grid, and a warning, where the grid's counts cannot be had */
    size_t n_levels;                         /**< 0: the grid alone (the paper's mechanism) */
    fre_level_request level[FRE_LEVELS_MAX]; /**< behind it, from fine to coarse */
} fre_plan_request;

FRE_API void fre_plan_request_init(fre_plan_request *r); /* the contract's defaults */
/** Levels by a list of names separated by commas, from fine to coarse: "grid" (only as the first), numbers
 * of centres "1024", with codes "4096x8"; "auto": FRE_LEVELS_AUTO, and the grid if possible.  Sets
 * no_grid, grid_if_possible, n_levels and level, each with the radius and the counts given.  FRE_E_USAGE: a name that is none, one twice, out of order
 * (each has fewer cells than the one before), more than FRE_LEVELS_MAX. */
FRE_API FRE_MUST_CHECK fre_status fre_plan_request_levels(fre_plan_request *r, const char *list,
                                                          double radius, fre_counts counts,
                                                          fre_err *err);
/** docs/decisions/0016-levels.md */
#define FRE_LEVELS_AUTO "4096x64,4096x8,8192,4096,2048,1024,256"

/** Of noisy counts: their noise lies on the lattice of this step, exact counts do in any case. */
#define FRE_COUNT_BITS 16u
#define FRE_COUNT_STEP (1.0 / (double)(1u << FRE_COUNT_BITS))

/** A level of public cells as it will run. */
typedef struct fre_plan_level {
    fre_level
        level; /**< what it was accounted as; noisy counts: tau is T, the least noisy count of a
                          released cell; no noise at epsilon = INFINITY: sigma and count_sigma 0 */
    double lattice_step;          /**< beta of its sums, a power of two */
    uint64_t sigma_lattice;       /**< sigma / lattice_step, an integer */
    uint64_t count_sigma_lattice; /**< noisy: count_sigma / FRE_COUNT_STEP, an integer */
} fre_plan_level;

#define FRE_PLAN_WARNINGS_MAX 16u
typedef struct fre_plan {
    fre_plan_request request;
    fre_mechanism mechanism; /**< lattice_step: the largest power of two <= sigma / 2^20; 0
                                  when distributed */
    fre_account account;     /**< recomputed for the mechanism as it will run */
    uint64_t sigma_lattice;  /**< sigma / lattice_step, an integer; 0 for epsilon = INFINITY and
                                  when distributed */
    /* paper mode (joint mode: 0); where a user has several records: one record's share, with
     * FRE_PAPER_BESPOKE all of them at their worst partition into cells */
    double epsilon_fre, delta_fre, delta_sens, epsilon_agg, delta_agg, multiplier, v, u;
    double epsilon_unre, delta_unre; /**< paper, distributed */
    fre_ddg ddg;                     /**< discrete noise, at sampled count tau */
    double sigma_local;              /**< one user's noise at sampled count tau; curator: 0 */
    double expected_dummies;
    /** What the joint accountant certifies for this mechanism at the same delta; joint mode:
     * epsilon; INFINITY: none up to 50. */
    double joint_epsilon;
    /** The same with worst-case sensitivity (no condition on N or on the texts); by levels at most a hundredth
     * above that. */
    double worst_case_epsilon;
    /** request.n_levels of them; `mechanism` is the grid's, and account has what it alone costs but for
     * delta, the whole's, of which delta_levels is what the levels add.  Without a grid mechanism has the
     * dimension, the norm bound, tau and sigma of the last level, and a projection and an edge that mean nothing
     * here. */
    fre_plan_level level[FRE_LEVELS_MAX];
    double delta_levels;
    /** Cells that nobody is in and that are expected to be released all the same, by the noise on their
     * counts: at most this many of all levels, were all cells empty.  0: exact counts alone. */
    double empty_cells;
    const char *warnings[FRE_PLAN_WARNINGS_MAX]; /**< static sentences */
    size_t n_warnings;
} fre_plan;

/** Distributed: the grid, or no_grid and one level of sampled counts, which then is the mechanism's sketch.
 * FRE_E_USAGE: a field out of range (names the parameter).  FRE_E_INFEASIBLE: the message says which
 * number to change and to what.  FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_plan_make(fre_plan *out, const fre_plan_request *r,
                                                fre_err *err);

/** The plan that a mechanism is which others made, as terms of a collection have it: account a of m, with request
 * r's targets; what stands beside the claim, and the warnings, as fre_plan_make has them. */
FRE_API void fre_plan_from_mechanism(fre_plan *out, const fre_plan_request *r,
                                     const fre_mechanism *m, const fre_account *a);

/** The grid as a level of sampled counts, for whoever goes over all of them; its shift is 0, since what far
 * members cost is accounted otherwise.  Not where request.no_grid. */
FRE_API fre_plan_level fre_plan_grid_level(const fre_plan *p);
/** Its grid; of public cells alone the one that others lay over a release to compare, which the mechanism
 * has no part in. */
FRE_API fre_sketch_grid fre_plan_compare_grid(const fre_plan *p);
/** The plan of a release by levels as what it is accounted as; points into the plan and into room, which
 * becomes its public levels. */
FRE_API fre_levels fre_plan_levels_of(const fre_plan *p, fre_level room[FRE_LEVELS_MAX]);
/** The epsilon that a run of this plan is charged, at its delta: what the joint accountant certifies
 * (joint mode: what was asked for), and at least the claim.  INFINITY: none is certified (the
 * paper's accountant alone shows nothing), or no noise was asked for; such a run is not private. */
FRE_API double fre_plan_certified_epsilon(const fre_plan *p);
/** The statement a release carries: claim, numbers and conditions, plain text, a sentence or a
 * condition a line (unwrapped), appended to out.  private_run false (a seed made the noise repeatable): NOT PRIVATE. */
FRE_API FRE_MUST_CHECK fre_status fre_plan_statement(fre_buf *out, const fre_plan *p,
                                                     bool private_run);

/** Of that statement what concerns parties who join each other, a sentence a line; a curator: nothing. */
FRE_API FRE_MUST_CHECK fre_status fre_plan_parties(fre_buf *out, const fre_mechanism *m);

/** The plan as one JSON object, the contract's keys (null where a key has no meaning in the
 * plan's mode), no trailing newline.  Shared by `plan --json` and release.json. */
FRE_API FRE_MUST_CHECK fre_status fre_plan_json(fre_buf *out, const fre_plan *p);
/** A mechanism with its account by the joint accountant: the keys that a plan and an account
 * share, and the caller's n warnings (sentences without quotes or backslashes). */
FRE_API FRE_MUST_CHECK fre_status fre_account_json(fre_buf *out, const fre_account *a,
                                                   const fre_mechanism *m,
                                                   const char *const *warnings, size_t n);
/** An account of a release by levels; asked: their names and radii, and the population.  warning: a sentence
 * without quotes or backslashes; NULL: none. */
FRE_API FRE_MUST_CHECK fre_status fre_levels_account_json(fre_buf *out, const fre_levels_account *a,
                                                          const fre_levels *m,
                                                          const fre_plan_request *asked,
                                                          const char *warning);

#ifdef __cplusplus
}
#endif
#endif /* FRE_PRIVACY_H */
