/** fre/forecast.h - which levels a release should have: tried out on public text.
 *
 * A public corpus stands for the population to come, record for user: n records are n users, with the
 * threshold t as it is, and nothing is scaled up to the bound N of the plan, which counts in the account
 * alone.  Each list of levels is planned, the curator (fre/curator.h) runs it on the corpus, without texts
 * and without a ledger, and what it releases is measured (fre/evaluate.h).
 *
 * The same corpus gives the same numbers: noise and grid come from a fixed seed.
 *
 * The rule is the least expected distance between a user's text and what is released for it: the
 * released mean of its cell, noise included; a user whose cell isn't released counts with
 * FRE_FORECAST_UNRELATED times the norm bound, as far as an unrelated text is.  So coarse cells, noise and users
 * left out all cost what they take away.  Of the lists within FRE_FORECAST_TIE of the least, the one with the
 * fewest levels.
 *
 * PRIVACY: none.  The numbers are those of the corpus, without noise; it has to be public.
 */
#ifndef FRE_FORECAST_H
#define FRE_FORECAST_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/evaluate.h>
#include <fre/privacy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_FORECAST_UNRELATED 1.4142135623730951 /**< of embeddings at right angles, norm 1 */
#define FRE_FORECAST_TIE 0.005                    /**< of distances: not worth a further level */

#define FRE_FORECAST_LISTS_MAX 8u
#define FRE_FORECAST_LIST_BYTES 320u /**< FRE_LEVELS_MAX + 1 names */

typedef struct fre_forecast_opts {
    const char *corpus;   /**< a file of public texts */
    fre_corpus_opts read; /**< how to read it; label_field: to say how pure cells are */
    fre_plan_request
        plan;           /**< of a curator; its levels are not looked at, but for how they count */
    const char *levels; /**< beside the grid alone; NULL: lists made of the codebook's levels */
    fre_counts counts;  /**< of levels of public cells */
    const char *embedder, *codebook; /**< GGUF; NULL: bundled, the embedder's */
    uint32_t threads;
    const fre_progress *progress;
} fre_forecast_opts;

/** Zero but for what has a default. */
FRE_API void fre_forecast_opts_init(fre_forecast_opts *o);

typedef struct fre_forecast_list {
    char levels[FRE_FORECAST_LIST_BYTES]; /**< as fre_plan_request_levels reads it */
    bool planned;                         /**< the budget can be met; ... */
    fre_err why;                          /**< ... or why it can't */
    fre_plan plan;
    size_t n_levels;
    fre_level_evaluation level[FRE_LEVELS_MAX + 2]; /**< n_levels, and all together */
    double expected;                                /**< distance, by the rule; planned ones */
} fre_forecast_list;

typedef struct fre_forecast {
    fre_forecast_list list[FRE_FORECAST_LISTS_MAX]; /**< n */
    size_t n;
    size_t chosen; /**< n: none can be planned */
    uint64_t records;
    bool has_labels;
    uint64_t labels;
} fre_forecast;

/** Of all levels together, `whole`. */
FRE_API double fre_forecast_expected(const fre_level_evaluation *whole, double norm_bound);
/** The rule: the index of a list, or n. */
FRE_API size_t fre_forecast_choose(const fre_forecast_list *list, size_t n);

/** Run it.  FRE_E_NOINPUT: no such corpus, or no codebook; FRE_E_REFUSED: the codebook was made of the corpus;
 * FRE_E_DATA: it has more records than the population; FRE_E_INTERRUPTED; whatever the modules return. */
FRE_API FRE_MUST_CHECK fre_status fre_forecast_make(fre_forecast *out, const fre_forecast_opts *o,
                                                    fre_err *err);

/** One JSON object, appended; chosen < n.  Why a list can't be planned names parameters in braces. */
FRE_API FRE_MUST_CHECK fre_status fre_forecast_json(fre_buf *out, const fre_forecast *f);

#ifdef __cplusplus
}
#endif
#endif /* FRE_FORECAST_H */
