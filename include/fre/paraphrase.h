/** fre/paraphrase.h - a text -> other texts that say the same.  Post-processing: costs no privacy
 * [Fre-E2T, "Paraphrasing"].
 *
 * Candidates come from the inverter's decoder, which writes texts for points around the text's
 * embedding, and from a language model that is asked to say the text in other words; from either
 * alone where the other is missing.  A candidate is kept when it differs from the text and from those kept before by more
 * than case, marks and spaces, and lies within `distance` of the text and of its centroid:
 *     ||E(P) - E(text)|| <= distance,
 *     ||E(P) - mu||^2 - d s^2 <= max(distance^2, ||E(text) - mu||^2 - d s^2),
 * where d s^2 is what the noise adds to a squared distance on average.  Of those kept, the ones of
 * highest posterior (the score of invert.h: distance to mu under its noise, plus the candidate's
 * log-probability under the language model, else under the decoder) are taken, one after another, passing over a candidate that has most of its words
 * in common with one already taken, as long as there are others.
 *
 * A text's paraphrases depend on the text, its centroid and noise, the options and the models alone,
 * not on its neighbours.  Threads: one at a time; the models run their own workers.
 */
#ifndef FRE_PARAPHRASE_H
#define FRE_PARAPHRASE_H

#include <fre/core.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/param.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_PARAPHRASES_MAX 64u
#define FRE_PARAPHRASE_TEXT_MAX 1000u /**< bytes; a longer text gets none */

FRE_API extern const fre_param fre_paraphrase_param_paraphrases;
FRE_API extern const fre_param fre_paraphrase_param_temperature;
FRE_API extern const fre_param fre_paraphrase_param_distance;

typedef struct fre_paraphraser fre_paraphraser;

typedef struct fre_paraphraser_opts {
    fre_embedder *embedder; /**< borrowed */
    fre_lm *lm;             /**< borrowed; gives fre_lm_score.logp; NULL: none */
    fre_inverter *inverter; /**< borrowed; NULL: none, then lm is needed */
    uint32_t paraphrases;   /**< at most this many a text, 1..FRE_PARAPHRASES_MAX */
    double temperature;     /**< of the decoder's sampling; the language model's is .6 of it;
                                 0: default */
    double distance;        /**< 0: default */
    uint64_t seed;          /**< not secret */
} fre_paraphraser_opts;

/** A text to vary. */
typedef struct fre_paraphrase_source {
    const char *text; /**< UTF-8 */
    size_t len;
    const float *centroid; /**< mu, as many numbers as the embedder gives; NULL: E(text) */
    double noise_std;      /**< s, of a coordinate of mu; 0 without a centroid.  Of a release:
                                noise_norm of its line / sqrt(numbers of a centroid) */
} fre_paraphrase_source;

typedef struct fre_paraphrases {
    char **text; /**< n of them, owned, best first; NUL-terminated */
    size_t n;
    size_t drawn, distinct, near; /**< candidates, different ones, those within the distance */
} fre_paraphrases;

FRE_API void fre_paraphrases_wipe(fre_paraphrases *p);

/** FRE_E_USAGE: an option out of range; FRE_E_ARG: neither lm nor inverter.  The models are kept until
 * free. */
FRE_API FRE_MUST_CHECK fre_status fre_paraphraser_new(fre_paraphraser **out,
                                                      const fre_paraphraser_opts *opts,
                                                      fre_err *err);
FRE_API void fre_paraphraser_free(fre_paraphraser *p);

/** n sources -> n lists (caller wipes each; none, and untouched, on failure).  FRE_E_DATA: a text
 * that is not UTF-8, a centroid or noise that is not finite (names its position, 1-based).
 * FRE_E_INTERRUPTED is polled. */
FRE_API FRE_MUST_CHECK fre_status fre_paraphrase_texts(fre_paraphraser *p, fre_paraphrases *out,
                                                       const fre_paraphrase_source *source,
                                                       size_t n, const fre_progress *progress,
                                                       fre_err *err);

/** Texts one after the other, however many, with or without centroids: paraphrased
 * FRE_PARAPHRASE_BATCH at a time.  A text's paraphrases do not depend on where a batch ends. */
typedef struct fre_paraphrase_stream fre_paraphrase_stream;

#define FRE_PARAPHRASE_BATCH 32u /**< texts that wait at most */

/** The paraphrases of the next text, in the order in which texts were added; borrowed for the call.  A
 * text that cannot be varied (of no word, or too long) comes too, with none.  What it returns beside
 * FRE_OK ends the batch and is passed on. */
typedef fre_status fre_paraphrases_fn(void *ctx, const fre_paraphrases *p, fre_err *err);

/** What varied texts come to. */
typedef struct fre_paraphrase_summary {
    uint64_t texts;
    uint64_t without;  /**< texts that have no paraphrase, for whatever reason */
    uint64_t too_long; /**< of these, texts of more than FRE_PARAPHRASE_TEXT_MAX bytes */
    uint64_t paraphrases;
    uint64_t drawn, distinct, near; /**< sums of fre_paraphrases' */
} fre_paraphrase_summary;

/** The paraphraser and progress (NULL: none) are borrowed until free.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_paraphrase_stream_new(fre_paraphrase_stream **out,
                                                            fre_paraphraser *paraphraser,
                                                            fre_paraphrases_fn *each, void *ctx,
                                                            const fre_progress *progress,
                                                            fre_err *err);
/** How many texts there will be, as far as is known (0: it is not): the total of progress, which is told
 * after each batch. */
FRE_API void fre_paraphrase_stream_expect(fre_paraphrase_stream *s, uint64_t texts);
/** A text, copied with its centroid; may deliver paraphrases.  FRE_E_DATA, as of fre_paraphrase_texts
 * (names the text's position in the stream, 1-based), and FRE_E_LIMIT, longer than 64 MiB: the text
 * is not taken, and the stream goes on without it.  FRE_E_NOMEM; and, of delivering, whatever
 * fre_paraphrase_stream_flush returns. */
FRE_API FRE_MUST_CHECK fre_status fre_paraphrase_stream_add(fre_paraphrase_stream *s,
                                                            const fre_paraphrase_source *source,
                                                            fre_err *err);
/** Deliver the paraphrases of the texts that wait.  Where it fails, those not delivered are lost.
 * FRE_E_INTERRUPTED is polled. */
FRE_API FRE_MUST_CHECK fre_status fre_paraphrase_stream_flush(fre_paraphrase_stream *s,
                                                              fre_err *err);
/** Of the texts whose paraphrases were delivered. */
FRE_API void fre_paraphrase_stream_summary(const fre_paraphrase_stream *s,
                                           fre_paraphrase_summary *out);
FRE_API void fre_paraphrase_stream_free(fre_paraphrase_stream *s);

#ifdef __cplusplus
}
#endif
#endif /* FRE_PARAPHRASE_H */
