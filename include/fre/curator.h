/** fre/curator.h - curator mode, [Fre-E2T, Alg. 1] end to end: a file of texts (or of embeddings)
 * to a folder with private synthetic texts.
 *
 * texts -> embeddings (each distinct text once) -> cells -> exact coins -> counts -> cells with
 * count >= tau -> integer sums on a public lattice -> exactly rounded Gaussian noise -> centroids
 * -> inversion.  Two passes over an encrypted spool: memory grows with distinct texts (about 64
 * bytes each), occupied cells and released cells, never with N d.  Neither order nor threads
 * change a bit of the sums, and with a seed none of the release.  A coin falls by its name (fre/aggregate.h).  Users: in input order, a user's first max_cells_per_user distinct
 * texts count, once in each cell: a choice that depends on that user's records alone, and not on
 * the projection, whose bound on far members would not hold for records chosen by it.
 */
#ifndef FRE_CURATOR_H
#define FRE_CURATOR_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/embed.h>
#include <fre/release.h>
#include <fre/invert.h>
#include <fre/ledger.h>
#include <fre/param.h>
#include <fre/partial.h>
#include <fre/privacy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the run saw.  PRIVATE: for the curator's own eyes, never written to the folder.  A dry run
 * has all but `contributed`, `cells`, text.foreign and text.truncated. */
typedef struct fre_curator_stats {
    uint64_t records, users, distinct, empty, invalid;
    uint64_t counted; /**< records that may count, by users and cells_per_user ... */
    uint64_t
        repeated_records;    /**< ... those among them of a text that at least plan.threshold ... */
    uint64_t repeated_texts; /**< ... users hold, and how many such texts there are */
    uint64_t wordless;       /**< records that cannot count: without a word the embedder knows */
    uint64_t contributed, cells;
    fre_text_counts text; /**< of the records read; text.empty and text.unknown: skipped */
} fre_curator_stats;

/** 0: none; else as fre_paraphrase_param_paraphrases. */
FRE_API extern const fre_param fre_curator_param_paraphrases;

FRE_API extern const fre_param fre_curator_param_texts;
/** Of opts->min_confidence, where it is not 0. */
FRE_API extern const fre_param fre_curator_param_confidence;

/** Where the data are, if they are not in one file: workers count and add up (fre/partial.h). */
typedef struct fre_curator_parts {
    void *ctx;
    /** Has workers make all parts of a task, whose bytes are borrowed, and adds them, fre_partial_add.  The key goes
     * to the workers beside the task and is to be forgotten with it.  Called once a stage: before any budget
     * is spent for the first level, then for those behind it and for the sums.  What it returns beside FRE_OK
     * ends the run; err is its sentence. */
    fre_status (*stage)(void *ctx, fre_partial *sum, fre_bytes task, const fre_partial_key *key,
                        fre_err *err);
    uint32_t dim; /**< of embeddings that the workers have; 0: they have texts, for the embedder */
    bool users_named; /**< records have users; false: each counts as one */
} fre_curator_parts;

typedef struct fre_curator_opts {
    const char *input;  /**< texts (corpus.h), "-", or a .npy of embeddings */
    /** In place of an input; NULL: it is one.  input: a name for messages; corpus, user_file and resume say
     * nothing then. */
    const fre_curator_parts *parts;
    const char *output; /**< folder to make */
    const char *what;   /**< what the ledger says was made; NULL: output */
    fre_corpus_opts
        corpus; /**< user_field: cap per user; NULL: a record is a user.  invalid: of rows
                                 too; FAIL also fails at an embedding above the norm bound, and the
                                 release says so */
    const char
        *user_file; /**< who the rows of a .npy belong to (fre_names), read by `corpus`; NULL: a
                                 row is a user */
    fre_plan_request plan;  /**< dim is set here from the embedder, cells and radius of levels from
                                 the codebook, by their names.  epsilon +infinity: no noise,
                                 p = 1 unless it is given; the release says NOT PRIVATE */
    const char *embedder;   /**< GGUF; NULL: bundled */
    const char *inverter;   /**< GGUF; NULL: bundled; "none": centroids only; "search": none */
    const char *codebook;   /**< GGUF, of plan.level; NULL: the one beside the embedder */
    fre_search_opts search; /**< of the inverter */
    uint32_t paraphrases;   /**< of each text: fre_curator_param_paraphrases */
    double temperature;     /**< of their sampling (paraphrase.h); 0: default */
    double paraphrase_distance; /**< 0: default */
    uint32_t texts_per_cell;    /**< further texts of a public cell: fre_curator_param_texts */
    /** Cells whose text is less sure (fre_release_keep) are left out, fre_curator_param_confidence; 0: none is.
     * FRE_E_USAGE where nothing is known of what the inverter writes. */
    double min_confidence;
    uint32_t threads;           /**< fre_param_threads */
    bool resume, dry_run, force;
    const char *ledger;    /**< NULL: none */
    bool ledger_default;   /**< in place of `ledger`: the user's own (fre_ledger_default).  Unless a
                                 budget is stated, it is a warning that there is no book and that
                                 its folder takes none (a book that is there and cannot be used, and
                                 a shortage of memory, disk or open files, always refuse); what is not private is not recorded, where `ledger`
                                 refuses it */
    const char *data_name; /**< a further key in the ledger; NULL: content alone */
    /** Whether data that overlap with older ones are the same data; NULL: they are.  Not asked where
     * data_name says it. */
    bool (*same_data)(void *ctx, const fre_ledger_overlap *older);
    void *same_data_ctx;
    double budget_epsilon, budget_delta; /**< <= 0: none */
    bool seeded;                         /**< NOT PRIVATE: repeatable byte for byte */
    uint8_t seed[FRE_SEED_BYTES];
    const fre_progress *progress;
    /** Called once the whole input was read and before any budget is spent; NULL: nobody looks. */
    void (*looked)(void *ctx, const struct fre_curator_stats *stats);
    void *looked_ctx;
} fre_curator_opts;

FRE_API void fre_curator_opts_init(fre_curator_opts *o); /* the contract's defaults */

typedef struct fre_curator_result {
    fre_plan plan;
    fre_release release; /**< is_private false: seeded, epsilon infinite, or nothing certified for
                              the plan */
    bool dry_run;
    fre_curator_stats stats; /**< PRIVATE */
    fre_corpus_about input;  /**< what it was taken for; for the curator's eyes */
    double seconds[3];       /**< embedding, counting and summing, inversion */
    char embedder_name[128];
    bool recorded;                      /**< in the ledger; else ledger_reason says why not */
    const char *ledger_reason;          /**< static */
    char *ledger;                       /**< path of the ledger, owned; NULL: none */
    fre_ledger_receipt receipt;         /**< if recorded */
    char ledger_note[FRE_ERR_BYTES];    /**< PRIVATE: overlap with older data; "": none */
    char ledger_warning[FRE_ERR_BYTES]; /**< not recorded, though it should be; "": no warning */
    char
        *resume_left; /**< PATH of a PATH.spool or PATH.key that an interrupted run with resume left
                            and this one did not use, owned; NULL: none */
} fre_curator_result;

/** Run it whole.  The folder appears complete or not at all; the ledger's entry is written before
 * any file of it.
 * FRE_E_DATA: more users (or records) than the population, malformed input, ...; FRE_E_EXISTS;
 * FRE_E_REFUSED (ledger; a public corpus, prior or bridge that was made of the input: fre/overlap.h); FRE_E_INTERRUPTED; whatever the modules return.  fre_curator_result_free. */
FRE_API FRE_MUST_CHECK fre_status fre_curator_synthesize(fre_curator_result **out,
                                                         const fre_curator_opts *opts,
                                                         fre_err *err);
FRE_API void fre_curator_result_free(fre_curator_result *r);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CURATOR_H */
