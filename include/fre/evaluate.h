/** fre/evaluate.h - precision, recall, F1 and L2 of a synthetic set against the originals.
 *
 * [Fre-E2T, utility metrics].  An original is *frequent* when at least t originals, itself
 * included and duplicates counted one by one, lie within L2 distance r of it.  With a reference
 * set R (the frequent originals, or all of them), a synthetic set S and reach a = alpha r:
 *   precision = share of S with some point of R within a;
 *   recall    = share of R, counted with multiplicity, with some point of S within a;
 *   F1        = their harmonic mean (0 when both are 0);
 *   L2        = mean over S of the distance to the nearest point of R.
 * Distances at a boundary count as within.  A number that does not exist is NaN (JSON null): all
 * four when R is empty, precision and L2 when S is empty.
 * Exact: float products only sort out what is far from a decision, the rest is recomputed in
 * double.  Memory: O(blocks) beyond the inputs, never n x m; the same bits whatever the threads.
 *
 * PRIVACY.  The numbers are computed on the originals without any noise.  They are not covered by
 * a release's privacy statement and must stay where the originals are, unless those are public.
 */
#ifndef FRE_EVALUATE_H
#define FRE_EVALUATE_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/param.h>
#include <fre/sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_scores {
    double precision, recall, f1, l2; /**< NaN: undefined, see above */
} fre_scores;

typedef struct fre_level_scores {
    fre_scores frequent, all;
} fre_level_scores;

/* ---- the parts ----------------------------------------------------------------------------- */

/** Originals: n distinct rows of d floats, row i standing for weight[i] >= 1 texts.  Borrowed. */
typedef struct fre_originals {
    const float *x;
    const uint64_t *weight;
    size_t n, d;
} fre_originals;

/** is_frequent[i]: row i has at least `threshold` originals within `radius`.  Every pair of rows
 * once, in blocks: O(n^2 d / 2).  FRE_E_ARG; FRE_E_NOMEM; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_frequent(bool *is_frequent, const fre_originals *o,
                                                        double radius, uint64_t threshold,
                                                        uint32_t threads,
                                                        const fre_progress *progress);

/** Scores of m synthetic rows against frequent and all originals.  O(n m d). */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_level(fre_level_scores *out, const float *synthetic,
                                                     size_t m, const fre_originals *o,
                                                     const bool *is_frequent, double reach,
                                                     uint32_t threads,
                                                     const fre_progress *progress);

/** Cell level: released cells against the noiseless ones.  `frequent`: cells with a true count of
 * at least t; `all`: every occupied cell.  precision = share of released cells among them, recall
 * = share of them that were released, L2 = mean distance between a released centroid and the true
 * mean of its cell, over the released cells that are in the reference.  (Counts of cells, without
 * weights.) */
typedef struct fre_cell_scores {
    fre_level_scores scores;
    uint64_t released, frequent, frequent_released, occupied;
} fre_cell_scores;

/** cell, centroid: m released cells (all different) and their centroids, m x d.
 * FRE_E_DATA: a row that has no cell (a coordinate beyond int32). */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_cells(fre_cell_scores *out, const fre_sketch *s,
                                                     const fre_originals *o, uint64_t threshold,
                                                     const fre_cell *cell, const float *centroid,
                                                     size_t m, uint32_t threads);

/* ---- the whole, from files ------------------------------------------------------------------ */

/** Those of radius and threshold are a plan's: fre/privacy.h. */
FRE_API extern const fre_param fre_evaluate_param_alpha;

typedef struct fre_evaluate_opts {
    const char *synthetic;  /**< a release's folder, its synthetic.jsonl, or any file of texts */
    const char *original;   /**< a file of texts, or a .npy of embeddings */
    const char *release;    /**< folder with release.json and centroids.npy; NULL: `synthetic` when
                                that is a folder, else none (no centroid and cell level) */
    const char *embeddings; /**< .npy with a row for each record of `original`, as embed makes it;
                                NULL: embed them again */
    fre_corpus_opts corpus; /**< how to read the originals */
    const char *embedder;   /**< GGUF; NULL: bundled */
    double radius;          /**< r; 0: the release's, else the plan's default */
    uint64_t threshold;     /**< t; 0: the release's, else the plan's default */
    double alpha;
    uint32_t threads; /**< fre_param_threads */
    const fre_progress *progress;
} fre_evaluate_opts;

FRE_API void fre_evaluate_opts_init(fre_evaluate_opts *o); /* the contract's defaults */

typedef struct fre_evaluation {
    double radius, alpha;
    uint64_t threshold;
    uint64_t originals, distinct;         /**< records, distinct rows; blank ones left out */
    fre_text_counts original_text;        /**< of the original records, where they are texts */
    uint64_t empty, invalid;              /**< further originals, skipped or repaired */
    fre_corpus_about input;               /**< what the originals were taken for */
    uint64_t frequent, frequent_distinct; /**< the frequent ones */
    uint64_t synthetic, paraphrases;      /**< texts; their paraphrases */
    uint64_t centroids;
    bool has_text, has_paraphrased, has_centroid, has_cell, has_exact;
    double release_radius;        /**< what the release was made with; 0: no release */
    uint64_t release_threshold;   /**< likewise */
    fre_level_scores text;        /**< the texts, one a line, without their paraphrases */
    fre_level_scores paraphrased; /**< the texts and all their paraphrases as one set, as the paper
                                       has it; where there is a paraphrase */
    fre_level_scores centroid;
    fre_cell_scores cell;
    /** Shares of the synthetic texts that equal, byte for byte or after case folding, a frequent
     * original or any original; NaN when there is no synthetic text. */
    double exact_frequent, exact_frequent_folded, exact_any, exact_any_folded;
    double seconds_embedding, seconds_scoring;
} fre_evaluation;

/** FRE_E_NOINPUT; FRE_E_DATA: malformed file, embeddings of another model or dimension;
 * FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_files(fre_evaluation *out,
                                                     const fre_evaluate_opts *opts, fre_err *err);

/** One JSON object (no line end): keys `text`, `text_with_paraphrases`, `centroid`, `cell`, each
 * null or {frequent:{precision,recall,f1,l2}, all:{...}}, and the counts above. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EVALUATE_H */
