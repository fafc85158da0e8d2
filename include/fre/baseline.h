/** fre/baseline.h - other ways to the same: what a release is to be compared with.
 *
 * ldp-embedding   each user adds Gaussian noise to their own embedding; the rest is post-processing
 *                 (cells, counts of at least t, means).  [Fre-E2T, sec. Design Choices]
 * ldp-oue         each user sends their cell by optimised unary encoding [Wang, Blocki, Li, Jha, USENIX
 *                 Security 2017]; cells whose estimated count is at least t get a noisy sum with the rest of
 *                 the budget.  [Fre-E2T, the same]
 * central-dp      a trusted curator adds Gaussian noise to the count and to the sum of every occupied cell
 *                 and keeps those whose noisy count is at least t, without sampling.  [Fre-E2T, the same]
 * aug-pe          private evolution [Xie and others, ICML 2024]: a language model writes texts, users vote
 *                 for the nearest, counts of votes get Gaussian noise, the model varies what is kept.
 *
 * Same reading, embedder, grid, inverter and folder as a release's; noise is exact and on the same
 * lattices (fre/aggregate.h).  What each claims, and why: docs/decisions/0029-baselines.md.
 * All embeddings are in memory, 4 d bytes a distinct text.  Nothing is entered in a ledger: studies.
 */
#ifndef FRE_BASELINE_H
#define FRE_BASELINE_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/param.h>
#include <fre/privacy.h>
#include <fre/release.h>
#include <fre/survey.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fre_baseline_method {
    FRE_BASELINE_LDP_EMBEDDING,
    FRE_BASELINE_LDP_OUE,
    FRE_BASELINE_CENTRAL_DP,
    FRE_BASELINE_AUG_PE
} fre_baseline_method;
#define FRE_BASELINES 4u
/** "ldp-embedding", ...; static.  NULL beyond the last. */
FRE_API const char *fre_baseline_name(fre_baseline_method m);

/** Share of the budget that counts get: of epsilon with ldp-oue (auto: 0.8), of the squared signal to noise
 * with central-dp (auto: 0.25). */
FRE_API extern const fre_param fre_baseline_param_count_share;

/** Of aug-pe, in the article's letters; 0: the default. */
FRE_API extern const fre_param fre_baseline_param_samples;
FRE_API extern const fre_param fre_baseline_param_rounds;
FRE_API extern const fre_param fre_baseline_param_variations;
FRE_API extern const fre_param fre_baseline_param_look_ahead;
FRE_API extern const fre_param fre_baseline_param_temperature;
typedef struct fre_evolution_opts {
    uint32_t samples;    /**< N_syn: texts that are kept */
    uint32_t rounds;     /**< T: votes */
    uint32_t variations; /**< L - 1: of each kept text; not 0 where the options ask for none */
    uint32_t look_ahead; /**< K: variations by whose mean a text is judged; 0: by itself */
    double temperature;
    const char *prompt; /**< of random texts; NULL: messages about everyday topics */
} fre_evolution_opts;

typedef struct fre_baseline_opts {
    fre_baseline_method method;
    const char *input;   /**< texts (corpus.h), "-", or a .npy of embeddings */
    const char *output;  /**< folder to make */
    bool force, dry_run; /**< replace the folder; read, plan and write nothing */
    bool
        resume; /**< aug-pe: keep OUTPUT.resume.json after each round, of texts that the claim covers, and
                  * go on from it */
    fre_evolution_opts evolution;
    fre_corpus_opts
        corpus; /**< user_field: a user counts with their first text; NULL: a record is a user */
    const char *user_file; /**< who the rows of a .npy belong to; NULL: a row is a user */
    /** epsilon, delta, threshold, radius, population, proj, cell_scale, adjacency and norm_bound of it; the
     * rest is not looked at.  With the two local methods adjacency is about the sums alone: a report is
     * protected whatever it is replaced by. */
    fre_plan_request plan;
    double count_share; /**< 0: auto */
    /** ldp-oue: texts that anyone may see; the cells that they are in are those that users report.  NULL:
     * the cells of the input, as in the article; who may not know these is not protected, and the release
     * says NOT PRIVATE. */
    const char *domain;
    const char *embedder; /**< GGUF; NULL: bundled */
    const char *inverter; /**< GGUF; NULL: bundled; "none": centroids only; "search": none */
    fre_search_opts
        search;       /**< of the inverter; aug-pe: its language_model is the one that writes */
    uint32_t threads; /**< fre_param_threads */
    bool seeded;      /**< NOT PRIVATE: repeatable */
    uint8_t seed[FRE_SEED_BYTES];
    const fre_progress *progress;
} fre_baseline_opts;

FRE_API void fre_baseline_opts_init(fre_baseline_opts *o); /* the defaults of a plan */

/** What a method runs with: noise by the analytic Gaussian mechanism [Balle, Wang, ICML 2018] of a shift
 * that is sure, whatever the texts. */
typedef struct fre_baseline_plan {
    double epsilon, delta; /**< claimed */
    double count_epsilon;  /**< ldp-oue: of a report; else 0 */
    uint64_t flip32; /**< ldp-oue: chance * 2^32 that a cell which is not the user's is reported */
    double count_sigma;           /**< central-dp, and of votes: of a count's noise; else 0 */
    uint64_t count_sigma_lattice; /**< in steps of FRE_COUNT_STEP */
    double shift; /**< most that a user moves what carries the noise sigma, embedding units */
    double sigma; /**< of a coordinate of a sum, or of an embedding that is sent; aug-pe: 0 */
    double lattice_step; /**< beta */
    uint64_t sigma_lattice;
    double delta_empty; /**< central-dp: of delta, for a cell that one user alone is in */
} fre_baseline_plan;

/** Pure: method, plan and count_share are looked at; dim: d.  FRE_E_USAGE: a number out of range;
 * FRE_E_INFEASIBLE: the message says which number to change. */
FRE_API FRE_MUST_CHECK fre_status fre_baseline_plan_make(fre_baseline_plan *out,
                                                         const fre_baseline_opts *o, uint32_t dim,
                                                         fre_err *err);

typedef struct fre_baseline_result {
    fre_baseline_plan plan;
    fre_release release;
    bool dry_run;
    uint64_t domain;         /**< ldp-oue: its cells; PRIVATE where they are the input's; else 0 */
    fre_survey_counts input; /**< PRIVATE */
    fre_text_counts text;    /**< PRIVATE: of distinct texts */
    fre_corpus_about about;
    double seconds[3]; /**< reading and embedding, mechanism, inversion */
    char embedder_name[128];
} fre_baseline_result;

/** Run it whole; the folder appears complete or not at all.  FRE_E_USAGE, FRE_E_INFEASIBLE; FRE_E_DATA: more
 * users than the population, malformed input; FRE_E_EXISTS; FRE_E_INTERRUPTED; whatever the modules return.
 * fre_baseline_free. */
FRE_API FRE_MUST_CHECK fre_status fre_baseline_run(fre_baseline_result **out,
                                                   const fre_baseline_opts *o, fre_err *err);
/** NULL is allowed. */
FRE_API void fre_baseline_free(fre_baseline_result *r);

#ifdef __cplusplus
}
#endif
#endif /* FRE_BASELINE_H */
