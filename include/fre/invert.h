/** fre/invert.h - (noisy) embedding -> text.  Post-processing: costs no privacy.
 *
 * Default inverter: projector (GGUF) makes prefix rows from [e sqrt(d), noise level], a small
 * decoder (GGUF) draws candidates in parallel; each distinct candidate is embedded again and
 * scored by the posterior
 *     score(T) = -||mu - E(T)||^2 / (2 max(s, floor)^2) + w * log p(T | mu),
 * s the noise's std a coordinate (sigma/c), floor .02, w 1, tuned on public text only
 * (docs/decisions).  To log p the vocabulary (GGUF) beside the decoder adds what words and neighbours
 * of public text say against T: non-words, sentences cut off, words in no order (decision 0012).
 * Rounds of edits of the best candidates follow, proposed by the decoder; the
 * best ever seen is kept.  The noisy vector goes in as it is, never renormalised.
 */
#ifndef FRE_INVERT_H
#define FRE_INVERT_H

#include <fre/core.h>
#include <fre/embed.h>
#include <fre/overlap.h>
#include <fre/param.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_INVERTER_DEFAULT "minilm-inverter.q8_0.gguf"
#define FRE_VOCABULARY_DEFAULT "minilm-inverter.vocabulary.gguf" /* beside the decoder */
#define FRE_VOCABULARY_ARCHITECTURE "fre-e2t-vocabulary" /**< general.architecture of its file */
#define FRE_INVERTER_SEARCH "search"
#define FRE_INVERTER_PROJECTOR "minilm-inverter-projector.f16.gguf" /* beside the decoder */

FRE_API extern const fre_param fre_inverter_param_samples;
FRE_API extern const fre_param fre_inverter_param_temperature;
/** What can be stated for all rows at once; a row's own (fre_invert) is any finite number >= 0. */
FRE_API extern const fre_param fre_inverter_param_noise_std;
FRE_API extern const fre_param fre_search_param_effort;
FRE_API extern const fre_param fre_search_param_language_weight;

typedef struct fre_inverter fre_inverter;

/** What one kind of proposal contributed to one row. */
typedef struct fre_invert_gain {
    const char *kind;  /**< static: "draw", "replace", "move", ... */
    uint64_t embedded; /**< candidates of this kind that were embedded */
    uint64_t improved; /**< of them became the best so far */
    double gain;       /**< by how much they raised the best score, summed */
} fre_invert_gain;

/** How the search for one row went.  Pointers are borrowed for the call. */
typedef struct fre_invert_trace {
    uint64_t row;       /**< of this call to fre_invert, from 0 */
    uint64_t drawn;     /**< sequences that the inverter's decoder wrote */
    uint64_t embedded;  /**< evaluations of the embedder */
    uint64_t lm_tokens; /**< tokens that the language model scored */
    size_t rounds;      /**< entries of the next two: after the first candidates, then by round */
    const double *score,
        *distance; /**< of the best so far, by the score without the language model */
    size_t kinds;
    const fre_invert_gain *gain;
} fre_invert_trace;

typedef fre_status (*fre_invert_trace_fn)(void *ctx, const fre_invert_trace *t, fre_err *err);

/** Options of a search; all zero: the default inverter's. */
typedef struct fre_search_opts {
    uint32_t effort; /**< rounds and candidates (docs/decisions/0007); 0: default */
    /** Texts that anyone may see (any format of fre/corpus.h): starts and words of
     * the search.  What is emitted may be one of them.  Its index (embeddings, texts, words) is made
     * once and kept in the user's cache folder.  NULL: none. */
    const char *public_corpus;
    const char *public_text_field; /**< its texts' JSON key or column; NULL: "text" */
    /** GGUF (fre/lm.h), "default" for the one found by name; NULL or "none": none.  Its
     * log-probability joins the score of the best candidates. */
    const char *language_model;
    double lm_weight;  /**< lambda, fre_search_param_language_weight; 0: default */
    const char *prior; /**< GGUF (fre/prior.h); NULL: what lies beside the embedder; "none" */
    /** GGUF (fre/bridge.h): a trained inverter is reached through it from an embedder that is not its
     * own; NULL: what lies beside the embedder; "none". */
    const char *bridge;
} fre_search_opts;

typedef struct fre_inverter_opts {
    /** Decoder GGUF, its projector beside it, and its vocabulary ("NAME.vocabulary.gguf") if it has one;
     * NULL: the bundled default; FRE_INVERTER_SEARCH: none,
     * which works for any embedder, with a public corpus or a language model. */
    const char *path;
    uint32_t threads;   /**< fre_param_threads */
    uint32_t samples;   /**< first candidates a centroid; 0: default (96) */
    double temperature; /**< 0: default */
    uint64_t seed;      /**< sampling is repeatable: not secret, post-processing */
    fre_search_opts search;
    bool
        corpus_later; /**< the public corpus is opened and its first record read; its index waits for
                          *   fre_inverter_open_corpus */
    const fre_progress *progress; /**< while an index is made; NULL: none */
    fre_invert_trace_fn trace;    /**< called once a row, in order, after its search; NULL: no */
    void *trace_ctx;
} fre_inverter_opts;

/** The point lies where texts of another language lie, and no text of the inverter's explains it.
 * Decided from the (noisy) point and public data alone (docs/decisions/0011). */
#define FRE_UNREADABLE_LANGUAGE "outside the inverter's language"

/** What the search found is words that the embedder does not know (an emoji, a script that it never saw),
 * of which any other would be as near, and little else.  Such words are never shown: of "thanks" and an emoji
 * only "Thanks" is, with the similarity of "Thanks". */
#define FRE_UNREADABLE_UNKNOWN "no text of known tokens was found"

/** No text of the inverter's lies near the point: the best leaves more than .75 of the distance (for another
 * embedder: .75 times the spread of its embeddings, against the bundled one's), as one about something else
 * does.  A name in another script inside an English sentence is such a case: no word stands for it. */
#define FRE_UNREADABLE_FAR "no text near it was found"

/** The row is zeros, which fre_embed_texts writes for a text without a word. */
#define FRE_UNREADABLE_BLANK "a row of zeros, which stands for no text"

/** Chances, as far as public text tells; fre_release_weigh (release.h) sets them. */
typedef struct fre_confidence {
    bool known;
    double same;  /**< that it says what somebody said whose texts the point is the mean of, 0..1 */
    double exact; /**< that somebody said it word for word, case and punctuation aside, 0..1 */
} fre_confidence;

typedef struct fre_inversion {
    char *text; /**< owned; NUL-terminated; NULL: there is none, and `unreadable` says why */
    /** Static: why the point is not put into words (FRE_UNREADABLE_ LANGUAGE, UNKNOWN, FAR, BLANK); NULL: it
     * is.  Similarity and distance are then those of the best text, which is withheld, or, where there
     * is none, NaN. */
    const char *unreadable;
    double similarity; /**< cosine of mu and E(text) */
    double distance;   /**< ||mu - E(text)|| */
    double score;
    double
        share; /**< the told text's part of what all that were tried for the point weigh, by their
                       scores, 0..1: the larger, the less is there that could be meant instead */
    fre_confidence confidence; /**< not known from here */
    char **paraphrases;        /**< owned, n_paraphrases; none from here (paraphrase.h) */
    size_t n_paraphrases;
} fre_inversion;

FRE_API void fre_inversion_wipe(fre_inversion *v);

/** Whether an inverter of this path (NULL: the bundled one) writes texts: all but "none". */
FRE_API bool fre_inverter_writes_text(const char *inverter);

/** The embedder is borrowed (kept until free) and must be the one the inverter was made for, or
 * have a bridge to that one: sizes are compared, then the sentences of fre_inverter_verify go there
 * and back with a few draws each (a fraction of a second) and must pass.  FRE_E_MODEL says which
 * embedder or bridge would fit; FRE_E_USAGE: a bridge is named and so is FRE_INVERTER_SEARCH, which
 * takes none; FRE_E_NOINPUT: a file is missing (the projector lies beside the decoder). */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_new(fre_inverter **out, fre_embedder *embedder,
                                                   const fre_inverter_opts *opts, fre_err *err);
/** With opts->corpus_later, once, before the first search: the index of the public corpus (or of what
 * the language model writes in its place) is found or made, which can take minutes.  The same opts. */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_open_corpus(fre_inverter *v,
                                                           const fre_inverter_opts *opts,
                                                           fre_err *err);
FRE_API void fre_inverter_free(fre_inverter *v);

/* ---- verification: embed, invert, embed ---------------------------------------------------------- */

#define FRE_VERIFY_SENTENCES 20u
#define FRE_VERIFY_RETURNED_MIN 17u   /* sentences that must come back nearest to themselves */
#define FRE_VERIFY_SIMILARITY_MIN 0.5 /* mean cosine of a sentence and what came back for it */

typedef struct fre_verification {
    double distance[FRE_VERIFY_SENTENCES]; /**< of the embeddings of sentence and output */
    double similarity[FRE_VERIFY_SENTENCES];
    bool own[FRE_VERIFY_SENTENCES]; /**< nearer to its own sentence than to the other nineteen */
    uint32_t returned;              /**< sentences with `own` */
    double mean_distance, median_distance, mean_similarity;
    bool passed; /**< at least FRE_VERIFY_RETURNED_MIN and FRE_VERIFY_SIMILARITY_MIN */
} fre_verification;

/** The sentences themselves, i < FRE_VERIFY_SENTENCES; static. */
FRE_API const char *fre_verify_sentence(size_t i);
/** Twenty sentences there and back with the inverter's own options, no noise; a failed verification
 * is FRE_OK with `passed` false. */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_verify(fre_inverter *v, fre_verification *out,
                                                      fre_err *err);

/** What its texts depend on besides the centroids: hashes of FRE_HASH_BYTES (borrowed; NULL: none)
 * and the effort. */
typedef struct fre_inverter_parts {
    const uint8_t *decoder, *projector, *prior, *bridge, *language_model;
    const uint8_t *vocabulary;
    const uint8_t *public_corpus;              /**< of the file */
    uint32_t effort;
    const struct fre_prior_info *prior_info;   /**< borrowed from the inverter; NULL: none */
    const struct fre_bridge_info *bridge_info; /**< the same */
} fre_inverter_parts;

/** v NULL: all zero. */
FRE_API fre_inverter_parts fre_inverter_parts_of(const fre_inverter *v);

/** Is the public corpus made of these texts, or they of it?  FRE_E_REFUSED if so (fre/overlap.h): such
 * a corpus would carry private texts into a release around all noise.  Needs opts->corpus_later; no
 * corpus: FRE_OK.  Else what reading it returns. */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_check_corpus(fre_inverter *v, fre_overlap_set *texts,
                                                            fre_err *err);
/** The same of the prior's and the bridge's card, and of the corpus by its embeddings; `rows`: of
 * the embeddings that go in.  What a card does not record is not compared. */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_check_sources(const fre_inverter *v,
                                                             fre_overlap_set *texts,
                                                             fre_overlap_set *rows, fre_err *err);

/** The language model of the search, borrowed until free; NULL: none.  One user at a time. */
FRE_API struct fre_lm *fre_inverter_lm(const fre_inverter *v);

/** n centroids (n x dim), noise std a coordinate for each (>= 0, finite) -> n inversions (caller
 * wipes each).  A row of zeros has no text (FRE_UNREADABLE_BLANK), nor one for which only texts with
 * unknown tokens were found.  FRE_E_DATA: a NaN, an infinity, or a row longer than a normalised
 * embedding with such noise can be (names the row, 1-based).
 * The result of a row depends on the row, its std and the seed alone, not on its neighbours.
 * FRE_E_INTERRUPTED polled. */
FRE_API FRE_MUST_CHECK fre_status fre_invert(fre_inverter *v, fre_inversion *out, const float *mu,
                                             const double *noise_std, size_t n,
                                             const fre_progress *progress, fre_err *err);

/** The same for the cells of one release, which lie apart: where two rows would get the same text (case
 * and marks aside), the one farther from it takes its next best text that no other row has, as long as
 * that is nearly as good (within 30 nats of score).  Otherwise both keep it.  A text as near as the true one would
 * be always stays. */
FRE_API FRE_MUST_CHECK fre_status fre_invert_apart(fre_inverter *v, fre_inversion *out,
                                                   const float *mu, const double *noise_std,
                                                   size_t n, const fre_progress *progress,
                                                   fre_err *err);

/* ---- texts that somebody else wrote --------------------------------------------------------------- */

/** Holds the texts of others to what an inverter itself may say: no words that the embedder does not know and,
 * by the inverter's vocabulary (without an inverter the bundled one; none if it is not found), no non-words and
 * no sentences that break off.  Immutable. */
typedef struct fre_teller fre_teller;

/** Both are borrowed; inverter NULL: none. */
FRE_API FRE_MUST_CHECK fre_status fre_teller_new(fre_teller **out, const fre_embedder *e,
                                                 const fre_inverter *inverter, fre_err *err);
FRE_API void fre_teller_free(fre_teller *t);
/** *out: `text` (UTF-8, NUL-terminated) may stand in place of `source`, whose words are words whatever the
 * vocabulary says; a source in another language than the vocabulary's (it knows less than half of its
 * words) is not judged by it.  FRE_E_DATA: text is not valid UTF-8; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_teller_would(const fre_teller *t, bool *out, const char *text,
                                                   const char *source);

/** One text of the decoder. */
typedef struct fre_draw {
    char *text;  /**< owned, NUL-terminated; NULL: nothing came that the embedder knows all of, or
                      the row is zeros */
    double logp; /**< ln p(text | mu) of the decoder at temperature 1, its end included */
} fre_draw;

FRE_API void fre_draw_wipe(fre_draw *d);

typedef struct fre_draw_opts {
    size_t n;           /**< draws for each row */
    double temperature; /**< fre_inverter_param_temperature */
    uint64_t seed;      /**< not secret */
} fre_draw_opts;

/** Draws for each of `rows` vectors (rows x dim, their noise as in fre_invert), without search: row i's are
 * the n from out[i n] on, equal ones possible.  They depend on the row, its noise and the options alone.
 * All NULL with an inverter that has no decoder.  Errors as fre_invert. */
FRE_API FRE_MUST_CHECK fre_status fre_inverter_draw(fre_inverter *v, fre_draw *out,
                                                    const fre_draw_opts *opts, const float *mu,
                                                    const double *noise_std, size_t rows,
                                                    fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_INVERT_H */
