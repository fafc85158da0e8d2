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

#include <fre/codebook.h>
#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/param.h>
#include <fre/release.h>
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

/* ---- level by level ---------------------------------------------------------------------------- */

/** `count` records of row `row` of the originals have the label `label`. */
typedef struct fre_label_pair {
    uint32_t row, label;
    uint64_t count;
} fre_label_pair;

/** Labels of the originals; records that are in no pair have none.  Borrowed. */
typedef struct fre_labels {
    size_t n; /**< different labels: 0..n-1 */
    const fre_label_pair *pair;
    size_t n_pairs;
} fre_labels;

/** What a synthetic text is, word for word, or but for upper and lower case. */
typedef enum fre_exact_mark {
    FRE_EXACT_FREQUENT = 1,
    FRE_EXACT_FREQUENT_FOLDED = 2,
    FRE_EXACT_ANY = 4,
    FRE_EXACT_ANY_FOLDED = 8
} fre_exact_mark;

/** Shares of synthetic texts that are a frequent original, or any, in that sense; NaN: no text. */
typedef struct fre_exact_shares {
    double frequent, frequent_folded, any, any_folded;
} fre_exact_shares;

/** Released cells against labels.  A cell's *theme* is its most frequent label; a label is *hit* when
 * it is more than half of the labelled records of some cell.  Shares are NaN where there is nothing to
 * divide by. */
typedef struct fre_label_scores {
    uint64_t cells;        /**< with a labelled record */
    uint64_t majority;     /**< of them those in which one label is more than half */
    uint64_t hit;          /**< labels */
    uint64_t frequent_hit; /**< of them those with at least `threshold` records */
    double precision;      /**< majority of cells */
    double recall;         /**< hit of all labels */
    double purity;         /**< labelled records of the cells that have their cell's theme */
    /** Share of the cells whose text, centroid, true mean lies nearest to the mean of all records of
     * its theme, among the means of all labels. */
    double nearest_text, nearest_centroid, nearest_mean;
} fre_label_scores;

/** One level of a release, or all of them.  A *member* of a released cell is a record that the curator
 * put there, sampled or not: fre_evaluate_members. */
typedef struct fre_level_evaluation {
    char name[24];    /**< "grid", as the codebook calls it, or "all" */
    uint64_t cells;   /**< released */
    uint64_t empty;   /**< of them, with no member: made by the noise on counts */
    uint64_t rare;    /**< of them, with some members and fewer than the threshold */
    uint64_t records; /**< members of its cells */
    double covered;   /**< share of all originals */
    double
        centroid_l2; /**< mean distance of a cell's centroid and its members' mean: noise, and what
                             clipping does; NaN: no cell has a member */
    double noise_norm; /**< mean planned noise norm; NaN: no cell */
    double member_l2;  /**< mean distance of a member and its cell's centroid; NaN: no member */
    uint64_t texts;
    double text_l2;        /**< mean distance of a cell's text and its members' mean */
    fre_level_scores text; /**< its texts alone, where there are texts */
    fre_exact_shares exact;
    fre_label_scores labels; /**< where there are labels */
} fre_level_evaluation;

/** member[i]: which released cell original i is in, as the curator decides it: the cell of the finest
 * level that released the original's cell there; FRE_RELEASE_NONE: no level did, or it weighs nothing.
 * codebook: the one of the release; NULL: the release has a grid only.
 * FRE_E_DATA: the codebook is another; the release names no cells; a row has no cell. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_members(uint32_t *member, const fre_release *r,
                                                       const fre_codebook *codebook,
                                                       const fre_originals *o, uint32_t threads,
                                                       fre_err *err);

/** Everything is borrowed. */
typedef struct fre_by_level {
    const fre_release *release;
    const fre_originals *originals;
    const uint32_t *member;    /**< fre_evaluate_members */
    const bool *is_frequent;   /**< of each original; not read without texts */
    const fre_labels *labels;  /**< NULL: none */
    const float *text;         /**< n_texts x d: embeddings of texts, ... */
    const uint32_t *text_cell; /**< ... and the released cell each belongs to */
    const uint8_t *exact;      /**< fre_exact_mark of each text; NULL: not known */
    size_t n_texts;
    uint64_t threshold;
    double reach;
    uint32_t threads;
} fre_by_level;

/** out: a level each, release->n_levels, then one of all levels together ("all").
 * FRE_E_NOMEM; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_by_level(fre_level_evaluation *out,
                                                        const fre_by_level *in);

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
    fre_corpus_opts corpus; /**< how to read the originals; label_field: what to score levels by */
    const char *embedder;   /**< GGUF; NULL: bundled */
    const char *codebook;   /**< GGUF, of a release by levels; NULL: the embedder's */
    double radius;          /**< r; 0: the release's, else the plan's default */
    uint64_t threshold;     /**< t; 0: the release's, else the plan's default */
    double alpha;
    /** A release by its levels alone: cells, members, labels.  Nothing is said of frequent originals
     * (the longest part of the work), of texts and of cells of the grid. */
    bool levels_only;
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
    fre_exact_shares exact;
    /** Levels of the release, from fine to coarse, and behind them all together; 0: no release, or
     * one that does not name its cells.  Texts are scored where `synthetic` is the release. */
    size_t n_levels;
    fre_level_evaluation level[FRE_LEVELS_MAX + 2];
    bool has_labels;
    uint64_t labels, frequent_labels; /**< different ones; those of at least `threshold` records */
    double seconds_embedding, seconds_scoring;
} fre_evaluation;

/** FRE_E_NOINPUT; FRE_E_DATA: malformed file, embeddings of another model or dimension;
 * FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_files(fre_evaluation *out,
                                                     const fre_evaluate_opts *opts, fre_err *err);

/** One JSON object (no line end): keys `text`, `text_with_paraphrases`, `centroid`, `cell`, each
 * null or {frequent:{precision,recall,f1,l2}, all:{...}}, the counts above, and `levels`, null or a
 * list with `all_levels` beside it. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EVALUATE_H */
