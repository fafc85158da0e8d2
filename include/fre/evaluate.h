/** fre/evaluate.h - what a synthetic set is worth, measured on the originals: precision, recall, F1 and L2,
 * curves and distances, diversity, lengths, language, MAUVE, classification; each beside references.
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

/** Originals: n distinct rows of d floats, row i standing for weight[i] texts; a row of none counts
 * nowhere.  Borrowed. */
typedef struct fre_originals {
    const float *x;
    const uint64_t *weight;
    size_t n, d;
} fre_originals;

/** neighbours[i]: how many originals lie within `radius` of row i, itself included.  Every pair of rows
 * once, in blocks: O(n^2 d / 2).  FRE_E_ARG; FRE_E_NOMEM; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_neighbours(uint64_t *neighbours,
                                                          const fre_originals *o, double radius,
                                                          uint32_t threads,
                                                          const fre_progress *progress);

/** Scores of m synthetic rows against frequent and all originals.  O(n m d). */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_level(fre_level_scores *out, const float *synthetic,
                                                     size_t m, const fre_originals *o,
                                                     const bool *is_frequent, double reach,
                                                     uint32_t threads);

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

/* ---- sets: the release's own, and references ------------------------------------------------------- */

/** What is set beside the originals. */
typedef enum fre_evaluate_set {
    FRE_SET_TEXT,        /**< the texts, one a line, without their paraphrases */
    FRE_SET_PARAPHRASED, /**< the texts and all their paraphrases as one set, as the paper has it */
    FRE_SET_CENTROID,    /**< the noisy centroids of a release */
    /** References.  As many real texts, drawn without replacement from one random half of the records and
     * set beside the other half; against the frequent ones, frequent ones are drawn. */
    FRE_SET_HALVES,
    FRE_SET_UNRELATED, /**< as many texts of a public corpus that has nothing to do with the originals */
    FRE_SETS
} fre_evaluate_set;
/** The references among them, and which one a set is. */
#define FRE_EVALUATE_REFERENCES 2u
#define FRE_EVALUATE_REFERENCE(set) ((size_t)((set)-FRE_SET_HALVES))

#define FRE_EVALUATE_ALPHAS 30u /**< alpha = .1, .2, ..., 3 */
#define FRE_EVALUATE_BINS 40u   /**< of distances, each r/10 wide */
#define FRE_EVALUATE_GROUPS 64u /**< group g: 2^g to 2^(g+1) - 1 neighbours */
#define FRE_EVALUATE_PSIS 15u   /**< psi = .1, .2, ..., 1.5 */
#define FRE_EVALUATE_RARE 2u    /**< infrequent by t = 10, by t = 100 */

/** By alpha: entry i is at reach (i + 1)/10 r. */
typedef struct fre_score_curve {
    double precision[FRE_EVALUATE_ALPHAS], recall[FRE_EVALUATE_ALPHAS], f1[FRE_EVALUATE_ALPHAS];
} fre_score_curve;

/** Distances of originals, each counted as often as it came, to the nearest member of a set. */
typedef struct fre_distances {
    uint64_t count[FRE_EVALUATE_BINS]; /**< i r/10 <= distance < (i + 1) r/10 */
    uint64_t beyond;                   /**< further */
    double mean, median;               /**< NaN: no original, or an empty set */
} fre_distances;

/** How a set lies about the originals. */
typedef struct fre_set_place {
    size_t members;
    fre_level_scores scores;
    fre_score_curve frequent_curve, all_curve;
    fre_distances frequent, infrequent;
    double by_neighbours[FRE_EVALUATE_GROUPS]; /**< mean distance to the set; NaN: an empty group */
    /** Prob@psi r [Fre-E2T, semantic support protection]: share of the originals with fewer than t
     * neighbours that have a member of the set within psi r. */
    double ssp[FRE_EVALUATE_RARE][FRE_EVALUATE_PSIS];
} fre_set_place;

#define FRE_EVALUATE_DISTINCT 3u /**< n-grams of 1, 2, 3 words */
#define FRE_EVALUATE_SEEDS 5u    /**< of MAUVE */

/** Words are runs of letters, marks and digits in lower case; a wide letter is a word by itself, and so is
 * every other sign that is no space. */
typedef struct fre_diversity {
    uint64_t texts;
    /** Mean over the texts that have a word of their BLEU with all others of them as references: geometric mean
     * of the shares of n-grams that some other text has (as often), n = 1..4, or as many as the text has
     * words; a share of nothing counts a tenth of an n-gram; times the penalty of a text that is shorter than
     * the one of the others whose length is nearest.  0..1, lower: more diverse; NaN below two texts. */
    double self_bleu;
    double distinct
        [FRE_EVALUATE_DISTINCT]; /**< different n-grams of all n-grams; NaN: there is none */
    double duplicates, duplicates_folded; /**< share of texts that came before; but for case */
} fre_diversity;

typedef struct fre_lengths {
    double mean, sd;         /**< NaN: no text; below two texts */
    double p10, median, p90; /**< least length that so many texts do not exceed */
} fre_lengths;

/** Of 1,000 texts of the set at most, drawn; see fre_lm_summary. */
typedef struct fre_language {
    uint64_t texts, scored;
    double median_nll, mean_nll, median_perplexity, mean_perplexity, natural;
} fre_language;

/** MAUVE of a set and as many real records of the other half (frequent ones, where there are any), over k-means
 * clusters of their embeddings, a tenth as many as rows on a side (2..500), ten rounds; scale 5, 25 mixtures. */
typedef struct fre_mauve {
    uint64_t size;   /**< rows on each side; 0: fewer than 20, nothing is told */
    double mean, sd; /**< over the seeds, which decide both the draw and the clusters */
    double seed[FRE_EVALUATE_SEEDS];
} fre_mauve;

#define FRE_EVALUATE_KS 4u     /**< votes of 1, 5, 10, 20 centroids */
#define FRE_EVALUATE_TRIALS 3u /**< halves of the records, drawn anew */

typedef struct fre_mean_sd {
    double mean, sd;
} fre_mean_sd;

/** What a release is worth to a classifier of the originals' labels: accuracies over trials.  In one half of the
 * labelled records each synthetic text and each centroid finds the label of the nearest; on records of the other
 * half classifiers are tested. */
typedef struct fre_classification {
    uint64_t labels, test; /**< different ones; records of the other half */
    fre_mean_sd majority;  /**< the most frequent label, always */
    uint64_t k[FRE_EVALUATE_KS];
    bool has_nearest[FRE_EVALUATE_KS];    /**< there are k centroids */
    fre_mean_sd nearest[FRE_EVALUATE_KS]; /**< vote of the k nearest centroids */
    bool has_linear;                      /**< built with liblinear */
    /** Multi-class linear SVM (Crammer and Singer 2001) of embeddings, tested on 10,000 records at most: trained on the
     * synthetic texts (with their paraphrases), on as many real records, on 5,000 of them at most (or as many as there
     * are texts).  A process trains one at a time: liblinear draws from rand(), which is given a state of its own. */
    fre_mean_sd linear[3];
    uint64_t trained[3];
} fre_classification;

/** Of a set's texts. */
typedef struct fre_set_texts {
    fre_diversity diversity;
    fre_lengths words, characters;
    fre_language language; /**< where there is a language model */
} fre_set_texts;

/* ---- the whole, from files ------------------------------------------------------------------ */

/** Those of radius and threshold are a plan's: fre/privacy.h. */
FRE_API extern const fre_param fre_evaluate_param_alpha;

typedef struct fre_evaluate_opts {
    const char *synthetic;  /**< a release's folder, its synthetic.jsonl, or any file of texts */
    const char *original;   /**< a file of texts, or a .npy of embeddings */
    const char *release;    /**< folder with release.json and centroids.npy; NULL: `synthetic` when
                                that is a folder, else none (no centroid and cell level) */
    const char *embeddings; /**< .npy with a row for each record of `original`, as embed makes it;
                                NULL: embed them */
    const char *save_embeddings; /**< such a file to make, with its sidecar; NULL: none */
    bool force;                  /**< replace that file */
    const char *reference;       /**< file of unrelated public texts; NULL: a bundled one */
    const char *language_model;  /**< GGUF, or "default"; NULL: nothing is told of the language */
    const char *const *against;  /**< n_against further ones like `synthetic` */
    size_t n_against;
    fre_corpus_opts corpus; /**< how to read the originals; label_field: what to score levels by */
    const char *embedder;   /**< GGUF; NULL: bundled */
    const char *codebook;   /**< GGUF, of a release by levels; NULL: the embedder's */
    double radius;          /**< r; 0: the release's, else the plan's default */
    uint64_t threshold;     /**< t; 0: the release's, else the plan's default */
    double alpha;
    /** A release by its levels alone: cells, members, labels.  Nothing is said of frequent originals
     * (the longest part of the work), of texts and of cells of the grid. */
    bool levels_only;
    bool no_classifiers; /**< labels score the cells alone: training takes longer than all the rest where there
                              are many labels */
    uint32_t threads; /**< fre_param_threads */
    const fre_progress *progress;
} fre_evaluate_opts;

FRE_API void fre_evaluate_opts_init(fre_evaluate_opts *o); /* the contract's defaults */

#define FRE_EVALUATE_MISSING_MAX 16u

/** What could not be computed, and why: a sentence that names parameters in braces. */
typedef struct fre_evaluate_missing {
    const char *metric; /**< key of the JSON; static */
    fre_err why;
} fre_evaluate_missing;

typedef struct fre_evaluation {
    const char *name; /**< `synthetic`; borrowed from the options */
    char release_sha256[2 * FRE_HASH_BYTES + 1]; /**< fre_release_sha256 in hex; "": no release */
    double radius, alpha;
    uint64_t threshold;
    uint64_t originals, distinct;         /**< records, distinct rows; blank ones left out */
    fre_text_counts original_text;        /**< of the original records, where they are texts */
    uint64_t empty, invalid;              /**< further originals, skipped or repaired */
    fre_corpus_about input;               /**< what the originals were taken for */
    uint64_t frequent, frequent_distinct; /**< the frequent ones */
    uint64_t synthetic, paraphrases;      /**< texts; their paraphrases */
    uint64_t centroids;
    bool has[FRE_SETS]; /**< the set is there; else its place says nothing */
    fre_set_place place[FRE_SETS];
    bool has_texts[FRE_SETS]; /**< the set's texts are known */
    fre_set_texts texts[FRE_SETS];
    fre_mauve mauve[FRE_SETS];
    double
        self_bleu_within; /**< of a text and its paraphrases, mean over the texts that have some */
    bool has_classification;
    fre_classification classification;
    bool has_language;
    char language_model[128];
    uint64_t reference_size;                     /**< members of each reference, at most */
    char reference_source[128];                  /**< file name of the unrelated texts; "": none */
    uint64_t by_neighbours[FRE_EVALUATE_GROUPS]; /**< originals in each group */
    /** Bounds, docs/privacy.md section 5, by psi, for centroids: of the whole release, and of its cell of the
     * least count, under the condition that is named there.  NaN: vacuous, or psi is above 1. */
    double ssp_bound[FRE_EVALUATE_RARE][FRE_EVALUATE_PSIS];
    double ssp_bound_cell[FRE_EVALUATE_RARE][FRE_EVALUATE_PSIS];
    uint64_t rare[FRE_EVALUATE_RARE];            /**< originals below 10, 100 neighbours */
    fre_evaluate_missing missing[FRE_EVALUATE_MISSING_MAX]; /**< n_missing */
    size_t n_missing;
    /** What the cells stand beside: the occupied cells of one half of the records with at least half of the
     * threshold, their means as centroids, beside those of the other half; and the cells that the unrelated texts
     * lie in.  Where has_cell and the reference's set are. */
    fre_cell_scores cell_reference[FRE_EVALUATE_REFERENCES];
    bool has_cell, has_exact;
    double release_radius;        /**< what the release was made with; 0: no release */
    uint64_t release_threshold;   /**< likewise */
    fre_cell_scores cell;
    fre_exact_shares exact;
    /** Levels of the release, from fine to coarse, and behind them all together; 0: no release, or
     * one that does not name its cells.  Texts are scored where `synthetic` is the release. */
    size_t n_levels;
    fre_level_evaluation level[FRE_LEVELS_MAX + 2];
    /** What the levels stand beside, where the reference's set is.  Halves: each cell's centroid is the mean of its
     * members in one half, its text one of these, drawn, and both are measured on the other half; a cell without
     * members in the one is none.  Unrelated: centroid and text of each cell are an unrelated text; covered says
     * nothing there. */
    bool has_level_reference[FRE_EVALUATE_REFERENCES];
    fre_level_evaluation level_reference[FRE_EVALUATE_REFERENCES][FRE_LEVELS_MAX + 2];
    bool has_labels;
    uint64_t labels, frequent_labels; /**< different ones; those of at least `threshold` records */
    double seconds_embedding, seconds_scoring;
} fre_evaluation;

/** out: 1 + n_against, of `synthetic` first.  All are measured by the radius and threshold of the first.
 * FRE_E_NOINPUT; FRE_E_DATA: malformed file, embeddings of another model or dimension;
 * FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluate_files(fre_evaluation *out,
                                                     const fre_evaluate_opts *opts, fre_err *err);

/** One JSON object (no line end) of n evaluations: the first, with the others in `against`.
 * docs/formats.md has the keys. */
FRE_API FRE_MUST_CHECK fre_status fre_evaluation_json(fre_buf *out, const fre_evaluation *e,
                                                      size_t n);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EVALUATE_H */
