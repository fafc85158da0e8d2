/** fre/ledger.h - what has been released from which data, and under which budget.
 *
 * One file of JSON lines, appended to under an advisory lock, mode 0600.  An entry is keyed by what
 * the data hold: the salted SHA-256 of the input's bytes, a salted hash of its records in no order,
 * salted min-hash sketches of its distinct texts, users and embeddings (the salt is in the file);
 * and by a name that the user gives.  Entries that share a name, the bytes or the records, or whose
 * sketches overlap, directly or through others, are releases of the same data: a file that was
 * renamed, compressed, reordered, written in another format, cut or extended still is, and so are
 * the embeddings made from it.  Only an entry with a name of its own is not joined to older ones by
 * overlap alone: its user says which data it is.  Budgets add up by basic composition.  An entry is
 * written *before* the noise is drawn (a crash behind it costs budget, never privacy, and nobody can
 * choose among outcomes); a line after it says what became of the release.
 *
 * What a thief of the file learns: guesses of a text, user or embedding can be tested against the
 * sketches, which keep 16 bits each of at most 512 of them; and the texts' number, under a hash.
 */
#ifndef FRE_LEDGER_H
#define FRE_LEDGER_H

#include <fre/core.h>
#include <fre/param.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_LEDGER_ID_BYTES 17u /* 16 digits and a NUL */
#define FRE_LEDGER_SALT_BYTES 32u

#define FRE_LEDGER_BINS 512u
/** Two data sets overlap when their sketches say that they share this part of their distinct texts
 * (or users, or embeddings). */
#define FRE_LEDGER_OVERLAP (1.0 / 128)

/** What is kept of the data while they are read.  Caller's storage; SECRET: wipe it. */
typedef struct fre_ledger_content {
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    uint64_t sum[2], texts; /**< of the texts' hashes, repeated ones included */
    uint64_t text[FRE_LEDGER_BINS], user[FRE_LEDGER_BINS], row[FRE_LEDGER_BINS];
    uint8_t bytes[FRE_HASH_BYTES]; /**< if has_bytes, SHA-256 of salt || the input's bytes */
    bool has_bytes;                /**< set with bytes by the caller, for a file */
} fre_ledger_content;

/** Nothing yet, under a book's salt. */
FRE_API void fre_ledger_content_init(fre_ledger_content *c,
                                     const uint8_t salt[FRE_LEDGER_SALT_BYTES]);
/** What is kept of both: of one salt, and no record in both. */
FRE_API void fre_ledger_content_add(fre_ledger_content *c, const fre_ledger_content *more);
/** The salt of the book at path, for what is added next.  A book that is missing is made if make,
 * else the salt is a fresh one.  Errors as fre_ledger_record. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_begin(fre_ledger_content *c, const char *path,
                                                   bool make, fre_err *err);
/** Every record's text; every user, at least once; every distinct embedding, at least once.  The
 * order does not matter.  dim >= 1. */
FRE_API void fre_ledger_add_text(fre_ledger_content *c, const void *text, size_t n);
FRE_API void fre_ledger_add_user(fre_ledger_content *c, const void *user, size_t n);
FRE_API void fre_ledger_add_row(fre_ledger_content *c, const float *x, size_t dim);

FRE_API extern const fre_param fre_ledger_param_budget_epsilon;
FRE_API extern const fre_param fre_ledger_param_budget_delta;

typedef struct fre_ledger_spend {
    const char *data_name;               /**< 1..200 bytes of UTF-8; NULL: none */
    double epsilon, delta;               /**< finite, >= 0; delta <= 1 */
    double budget_epsilon, budget_delta; /**< <= 0: no limit given this time */
    const fre_ledger_content *content;   /**< of this book's salt; NULL: the name alone */
    bool apart; /**< the user says: not the data that it overlaps with (nor is it counted so) */
    const char *what; /**< output path and command, for people; NULL: none */
} fre_ledger_spend;

/** What releases of one set of data have spent in all.  Spent is rounded upward, left downward. */
typedef struct fre_ledger_sum {
    size_t releases;
    double epsilon, delta;
    double budget_epsilon, budget_delta; /**< the smallest ever stated; 0: none */
    double left_epsilon, left_delta;     /**< of these budgets; 0 without one */
} fre_ledger_sum;

typedef struct fre_ledger_receipt {
    char id[FRE_LEDGER_ID_BYTES]; /**< of the entry: random lower-case hexadecimal digits */
    fre_ledger_sum sum;           /**< this release included */
} fre_ledger_receipt;

/** Record a spend; a file that is missing is made (FILE.lock stays beside it), one of an older version
 * is upgraded.  receipt NULL: not wanted.  Totals may pass a budget
 * by a factor 1 + 1e-12, so that ten times 0.1 fits into 1.
 * FRE_E_REFUSED: a total would pass the budget (the smallest ever stated for this data counts, the
 * one of this spend included); FRE_E_DATA: the file is damaged or of a newer version (never
 * overwritten); FRE_E_ARG: neither name nor content; FRE_E_USAGE: a number or name outside its range;
 * FRE_E_NOINPUT: its folder is missing, or takes no files (no permission, read-only), so that a book
 * that is missing cannot be made; FRE_E_IO: any other failure of the system, a shortage among them;
 * FRE_E_LIMIT: more than 64 MiB; FRE_E_AGAIN:
 * another process held the lock for half a minute, or the book was made anew since fre_ledger_begin;
 * FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_record(fre_ledger_receipt *receipt, const char *path,
                                                    const fre_ledger_spend *spend, fre_err *err);
/** Would it be refused?  Same checks, nothing written; a missing file has no entries. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_check(const char *path, const fre_ledger_spend *spend,
                                                   fre_err *err);

/** Say what became of a recorded release.  Nothing if there is no such entry.  As record. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_conclude(const char *path,
                                                      const char id[FRE_LEDGER_ID_BYTES],
                                                      bool published, fre_err *err);

/** The older release that this spend's content overlaps with most, of those that nothing else says
 * are of the same data. */
typedef struct fre_ledger_overlap {
    double share; /**< estimated, of all distinct texts (users, embeddings) of both; 0: none */
    char name[201], date[32]; /**< of that entry; may be empty */
} fre_ledger_overlap;
FRE_API FRE_MUST_CHECK fre_status fre_ledger_compare(fre_ledger_overlap *out, const char *path,
                                                     const fre_ledger_spend *spend, fre_err *err);

typedef enum fre_ledger_state {
    FRE_LEDGER_BOOKED,    /**< at work, or ended before it could say more: nothing was published */
    FRE_LEDGER_PUBLISHED, /**< the folder is complete */
    FRE_LEDGER_FAILED,    /**< an error after that: nothing was published */
    FRE_LEDGER_UNKNOWN,   /**< written by version 1 or 2 */
} fre_ledger_state;

typedef struct fre_ledger_entry {
    const char *id;                   /**< NULL: written by version 1 */
    const char *name;                 /**< NULL: none */
    const char *content;              /**< 64 lower-case hexadecimal digits; NULL: none */
    const char *records;              /**< 32 digits, of the records in no order; NULL: none */
    const char *texts, *users, *rows; /**< sketches, 2048 digits each; NULL: none */
    bool apart;                       /**< by its user's word not what it overlaps with */
    fre_ledger_state state;
    const char *date; /**< 2026-01-31T12:00:00Z; may be empty */
    const char *what; /**< may be empty */
    double epsilon, delta;
    double budget_epsilon, budget_delta; /**< 0: none stated */
    size_t set;                          /**< index of its set of data */
} fre_ledger_entry;

typedef struct fre_ledger_set {
    const char *name,
        *content; /**< the last ones; content: of the bytes, else of the records; NULL:
                                     none ever */
    fre_ledger_sum sum;
} fre_ledger_set;

/** A whole book; entries oldest first, sets in order of their first entry.  Strings live in it. */
typedef struct fre_ledger_book {
    fre_ledger_entry *entry;
    fre_ledger_set *set;
    size_t n, n_sets;
    void *owned;
} fre_ledger_book;

/** Read it, with the sums that refusals go by.  FRE_E_NOINPUT: no such file; else as record.
 * fre_ledger_book_free. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_read(fre_ledger_book **out, const char *path,
                                                  fre_err *err);
FRE_API void fre_ledger_book_free(fre_ledger_book *b);

/** The user's own ledger: $XDG_STATE_HOME/fre-e2t/ledger.json, or under ~/.local/state.  The home
 * is $HOME; where that is not set or, for root, is another user's (sudo), the password database's.  make: make its folders, mode 0700.  *out: free() it; set if the path is known, whatever is
 * returned.  FRE_E_NOINPUT: a folder cannot be made there, as of record; FRE_E_IO: no home, or another
 * failure. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_default(char **out, bool make, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LEDGER_H */
