/** fre/embed.h - text -> embedding, in parallel contexts, the same bits whatever the batch.
 *
 * The embedding of a text depends on the text and the model alone: neither on the texts beside
 * it, nor on their order, nor on the number of threads (1e-5 promised; measured by `bench
 * embed`).  Threads: a fre_embedder is used by one thread at a time and runs its own workers.
 */
#ifndef FRE_EMBED_H
#define FRE_EMBED_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/model.h>
#include <fre/prior.h>
#include <fre/survey.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_EMBEDDER_DEFAULT "all-minilm-l6-v2.q8_0.gguf"

typedef struct fre_embedder fre_embedder;

typedef struct fre_embedder_opts {
    const char *path; /**< GGUF; NULL: the bundled default */
    uint32_t threads; /**< >= 1 */
} fre_embedder_opts;

/** What an embedder notices about a text; bits of a uint8_t. */
typedef enum fre_text_mark {
    FRE_TEXT_EMPTY = 1,   /**< no token: nothing but controls, marks, white space */
    FRE_TEXT_UNKNOWN = 2, /**< unknown tokens and signs alone: no word that the embedder knows */
    FRE_TEXT_FOREIGN = 4, /**< a language that the embedder was not made for: at least half of its
                                 tokens unknown or, in a vocabulary of words (WordPiece), pieces
                                 inside one; or, where an English prior lies beside the embedder,
                                 fre_languages_score says so */
    FRE_TEXT_TRUNCATED =
        8, /**< longer than the tokens that the model is used with, or than 64 KiB */
    FRE_TEXT_BLANK = FRE_TEXT_EMPTY | FRE_TEXT_UNKNOWN /**< either: its embedding is zero */
} fre_text_mark;

/** Records by the marks of their texts: shares are of records, since one sentence said a thousand
 * times is a thousand. */
typedef struct fre_text_counts {
    uint64_t records; /**< all of them */
    uint64_t empty, unknown, foreign, truncated;
} fre_text_counts;

/** Count `records` more of a text with these marks. */
FRE_API void fre_text_counts_add(fre_text_counts *c, uint8_t mark, uint64_t records);
/** Are so many in a language that the embedder was not made for that people should be told: more than a
 * fifth? */
FRE_API bool fre_text_counts_foreign(const fre_text_counts *c);

/** Of the texts embedded so far. */
typedef struct fre_embed_stats {
    uint64_t texts, truncated, tokens;
} fre_embed_stats;

FRE_API FRE_MUST_CHECK fre_status fre_embedder_new(fre_embedder **out,
                                                   const fre_embedder_opts *opts, fre_err *err);
FRE_API void fre_embedder_free(fre_embedder *e);
FRE_API const fre_model_info *fre_embedder_info(const fre_embedder *e);
/** The file it was opened from. */
FRE_API const char *fre_embedder_path(const fre_embedder *e);

/** What a sidecar says of rows that the embedder made. */
FRE_API void fre_embedder_rows_meta(const fre_embedder *e, fre_npy_meta *out);

/** Was this .npy made by this embedder, as its sidecar says?  Inverting with another gives
 * nonsense.  path: for the message.  FRE_E_DATA: no sidecar, or another's. */
FRE_API FRE_MUST_CHECK fre_status fre_embedder_check_rows(const fre_embedder *e,
                                                          const fre_npy *rows, const char *path,
                                                          fre_err *err);

/** n texts (UTF-8, lengths given) -> n x dim floats, row i for text i.  Sorts by length inside.
 * A blank text (FRE_TEXT_BLANK) gets a row of zeros (fre_is_zero_row): the model's row for it would depend on the number
 * of its tokens alone, so that texts without anything in common would fall into one point.  Every
 * command reads such a row as "no text".
 * Call with thousands at a time.  FRE_E_DATA: a text is not valid UTF-8; FRE_E_INTERRUPTED is
 * polled between batches. */
FRE_API FRE_MUST_CHECK fre_status fre_embed_texts(fre_embedder *e, float *out,
                                                  const char *const *text, const size_t *len,
                                                  size_t n, fre_err *err);
/** The same, with the marks of each text (n). */
FRE_API FRE_MUST_CHECK fre_status fre_embed_texts_marked(fre_embedder *e, float *out, uint8_t *mark,
                                                         const char *const *text, const size_t *len,
                                                         size_t n, fre_err *err);

/** Texts one after the other, however many: they are embedded some thousands at a time, each distinct
 * one of a batch once.  A row does not depend on where a batch ends. */
typedef struct fre_embed_stream fre_embed_stream;
/** The next row (the embedder's dim floats, borrowed for the call) and its text's marks.  What it
 * returns beside FRE_OK ends the batch and is passed on. */
typedef fre_status fre_embed_row_fn(void *ctx, const float *row, uint8_t mark, fre_err *err);

/** The embedder is borrowed until free.  FRE_E_NOMEM, FRE_E_INTERNAL: no source of randomness. */
FRE_API FRE_MUST_CHECK fre_status fre_embed_stream_new(fre_embed_stream **out,
                                                       fre_embedder *embedder,
                                                       fre_embed_row_fn *row, void *ctx,
                                                       fre_err *err);
/** A text (UTF-8), copied; may deliver rows.  Statuses of fre_embed_texts. */
FRE_API FRE_MUST_CHECK fre_status fre_embed_stream_add(fre_embed_stream *s, const char *text,
                                                       size_t len, fre_err *err);
/** Deliver the rows that wait. */
FRE_API FRE_MUST_CHECK fre_status fre_embed_stream_flush(fre_embed_stream *s, fre_err *err);
/** Texts whose rows have not been delivered. */
FRE_API size_t fre_embed_stream_waiting(const fre_embed_stream *s);
FRE_API void fre_embed_stream_free(fre_embed_stream *s);

/** Append a text (UTF-8) to out with `mark` in place of each word that has an unknown token; *unknown: how
 * many (0: the text as it is; a text without a token counts as one).  A word ends at a space, at ASCII
 * punctuation and at an ideograph.  For any number of threads at once.  FRE_E_DATA: not valid UTF-8; FRE_E_NOMEM, FRE_E_LIMIT: of out. */
FRE_API FRE_MUST_CHECK fre_status fre_embedder_mark_unknown(const fre_embedder *e, fre_buf *out,
                                                            size_t *unknown, const char *text,
                                                            size_t len, char mark);
/** The marks of a text that its tokens alone show, without encoding it: FRE_TEXT_FOREIGN may be
 * missing, the others are those of fre_embed_texts_marked.  For any number of threads at once.
 * FRE_E_DATA: not valid UTF-8; FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_embedder_mark_text(const fre_embedder *e, uint8_t *mark,
                                                         const char *text, size_t len);
/** A fre_survey_opts.kind; ctx is a fre_embedder. */
FRE_API FRE_MUST_CHECK fre_status fre_embedder_kind(void *ctx, fre_survey_kind *out,
                                                    const char *text, size_t len);

/* ---- languages ---------------------------------------------------------------------------------- */

/** Tells embeddings of other languages from those of the prior's language, which must be English: by
 * sentences of 26 languages that come with the program.  Made of public data alone.  Immutable once made. */
typedef struct fre_languages fre_languages;

/** A score above this means another language: of 3,000 English requests of the bundled population five
 * lie above (questions about a language), of 20 sentences in 19 languages none below. */
#define FRE_LANGUAGES_FOREIGN 5.0

/** *out NULL with FRE_OK: prior is NULL, or not one of English text.  The prior is borrowed. */
FRE_API FRE_MUST_CHECK fre_status fre_languages_new(fre_languages **out, fre_embedder *e,
                                                    const fre_prior *prior, fre_err *err);
/** ln of the ratio of densities, the likeliest other language's to the prior's, at a row of the embedder
 * under noise (standard deviation a coordinate, >= 0). */
FRE_API FRE_MUST_CHECK fre_status fre_languages_score(const fre_languages *l, double *out,
                                                      const float *row, double noise_std);
FRE_API void fre_languages_free(fre_languages *l);

FRE_API void fre_embed_get_stats(const fre_embedder *e, fre_embed_stats *out);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EMBED_H */
