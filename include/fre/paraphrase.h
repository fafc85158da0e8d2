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

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_PARAPHRASES_MAX 64u
#define FRE_PARAPHRASE_DISTANCE 0.6 /**< default; docs/inversion.md has the measurement */
#define FRE_PARAPHRASE_TEMPERATURE 1.0
#define FRE_PARAPHRASE_TEXT_MAX 1000u /**< bytes; a longer text gets none */

typedef struct fre_paraphraser fre_paraphraser;

typedef struct fre_paraphraser_opts {
    fre_embedder *embedder; /**< borrowed */
    fre_lm *lm;             /**< borrowed; gives fre_lm_score.logp; NULL: none */
    fre_inverter *inverter; /**< borrowed; NULL: none, then lm is needed */
    uint32_t paraphrases;   /**< at most this many a text, 1..FRE_PARAPHRASES_MAX */
    double temperature;     /**< of the decoder's sampling, 0 < t <= 10; the language model's is
                                 .6 of it; 0: default */
    double distance;        /**< 0 < r <= 2; 0: default */
    uint64_t seed;          /**< not secret */
} fre_paraphraser_opts;

/** A text to vary. */
typedef struct fre_paraphrase_source {
    const char *text; /**< UTF-8 */
    size_t len;
    const float *centroid; /**< mu, as many numbers as the embedder gives; NULL: E(text) */
    double noise_std;      /**< s, of a coordinate of mu; 0 without a centroid */
} fre_paraphrase_source;

typedef struct fre_paraphrases {
    char **text; /**< n of them, owned, best first; NUL-terminated */
    size_t n;
    size_t drawn, distinct, near; /**< candidates, different ones, those within the distance */
} fre_paraphrases;

FRE_API void fre_paraphrases_wipe(fre_paraphrases *p);

/** FRE_E_ARG: an option out of range, or neither lm nor inverter.  The models are kept until
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

#ifdef __cplusplus
}
#endif
#endif /* FRE_PARAPHRASE_H */
