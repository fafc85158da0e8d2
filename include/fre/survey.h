/** fre/survey.h - an input surveyed before any budget is spent on it: how much there is, how often
 * wordings repeat, and marks to compare it with public material (fre/overlap.h).
 *
 * All of it is exact and PRIVATE: for the curator's eyes, never for a release.  Memory: some 70 bytes
 * a distinct text and, with users, 30 a user.  Threads: one thread at a time a survey.
 */
#ifndef FRE_SURVEY_H
#define FRE_SURVEY_H

#include <fre/contribution.h>
#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/overlap.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a text, or a row, holds for those who embed it. */
typedef enum fre_survey_kind {
    FRE_SURVEY_WORDS,  /**< something that is embedded */
    FRE_SURVEY_EMPTY,  /**< nothing at all; a row of zeros */
    FRE_SURVEY_UNKNOWN /**< no word that the embedder knows */
} fre_survey_kind;

typedef struct fre_survey_opts {
    uint32_t cells_per_user;      /**< >= 1: a user's first so many distinct texts count */
    uint64_t population;          /**< more users are refused; 0: no bound */
    const fre_progress *progress; /**< NULL: none */
    /** Called for each record that fre_survey_add_corpus reads; NULL: no. */
    void (*seen)(void *ctx, const fre_record *rec);
    void *seen_ctx;
    /** Called once for each distinct text; NULL: all hold words.  FRE_E_NOMEM, FRE_E_DATA. */
    fre_status (*kind)(void *ctx, fre_survey_kind *out, const char *text, size_t len);
    void *kind_ctx;
} fre_survey_opts;

/** A user without a name is one for each record. */
typedef struct fre_survey_counts {
    uint64_t records, users, distinct, empty, invalid;
    uint64_t no_word, unknown; /**< records that cannot count: of texts that are empty, unknown */
    uint64_t counted;          /**< records that may count, under cells_per_user */
    uint64_t repeated_texts;   /**< distinct texts that at least `threshold` users hold ... */
    uint64_t repeated_records; /**< ... and the counted records of them */
} fre_survey_counts;

typedef struct fre_survey fre_survey;

FRE_API FRE_MUST_CHECK fre_status fre_survey_new(fre_survey **out, const fre_survey_opts *opts,
                                                 fre_err *err);
FRE_API void fre_survey_free(fre_survey *s); /* wipes */
/** What became of a record. */
typedef struct fre_survey_seen {
    uint32_t user; /**< as fre_contributors_user has it */
    uint32_t text; /**< number of its text, or row, among the distinct ones */
    bool is_new;   /**< the first of that text */
    bool counts;   /**< it may count, under cells_per_user */
} fre_survey_seen;

/** user NULL: a user of its own; seen NULL: not wanted.  FRE_E_DATA: more users than the population
 * (docs/formats.md says why that is refused); FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_add_text(fre_survey *s, fre_survey_seen *seen,
                                                      const char *text, size_t len,
                                                      const char *user, size_t user_len,
                                                      fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_survey_add_row(fre_survey *s, fre_survey_seen *seen,
                                                     const float *row, size_t dim, const char *user,
                                                     size_t user_len, fre_err *err);
/** Row i of a file, as it was read into x, which belongs to the user named in record i of users; users
 * NULL: to a user of its own.  One that cannot be used (a NaN, no user) is skipped and counted, and
 * seen->counts is false; strict: FRE_E_DATA. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_add_npy_row(fre_survey *s, fre_survey_seen *seen,
                                                         const float *x, const fre_npy *npy,
                                                         const fre_names *users, size_t i,
                                                         bool strict, fre_err *err);
/** After the last row: FRE_E_DATA if most rows cannot be used. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_end_rows(const fre_survey *s, fre_err *err);
/** All further records of a corpus.  Fails also as fre_corpus_next does. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_add_corpus(fre_survey *s, fre_corpus *corpus,
                                                        fre_err *err);
FRE_API void fre_survey_count(fre_survey_counts *out, const fre_survey *s, uint64_t threshold);
/** FRE_E_NOINPUT: there was no record; FRE_E_DATA: there is none that can count, since no text holds a
 * word.  Nothing can be released from either.  input: a name for the message. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_check_any(const fre_survey *s, const char *input,
                                                       fre_err *err);
/** Marks of what was added as texts, and as rows; borrowed, not NULL. */
FRE_API fre_overlap_set *fre_survey_texts(fre_survey *s);
FRE_API fre_overlap_set *fre_survey_rows(fre_survey *s);
/** Mark the embedding of a text that was added; nothing is counted. */
FRE_API FRE_MUST_CHECK fre_status fre_survey_mark_row(fre_survey *s, const float *row, size_t dim);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SURVEY_H */
