/** fre/ledger.h - what has been released from which data, and under which budget.
 *
 * One JSON file, written to a temporary sibling and renamed under an advisory lock, mode 0600.
 * An entry is keyed by the salted SHA-256 of the input's bytes (the salt is in the file) and by a
 * name that the user gives; one of the two may be missing.  Entries that share a key, directly or
 * through others, are releases of the same data: a file that was renamed, or that grew under the
 * same name, still is.  Their budgets add up by basic composition.  An entry is written *before*
 * the release appears (a crash between the two costs budget, never privacy).
 */
#ifndef FRE_LEDGER_H
#define FRE_LEDGER_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_LEDGER_ID_BYTES 17u /* 16 digits and a NUL */
#define FRE_LEDGER_SALT_BYTES 32u

typedef struct fre_ledger_spend {
    const char *input_path;              /**< hashed if it is a regular file; NULL: name only */
    const char *data_name;               /**< 1..200 bytes of UTF-8; NULL: none */
    double epsilon, delta;               /**< finite, >= 0; delta <= 1 */
    double budget_epsilon, budget_delta; /**< <= 0: no limit given this time */
    const char *what;                    /**< output path and command, for people; NULL: none */
} fre_ledger_spend;

/** The input's hash under a book's salt.  Zero it before the first use; a check fills it and a later
 * record uses it again, so that what is booked is the content that the run began with. */
typedef struct fre_ledger_print {
    uint8_t salt[FRE_LEDGER_SALT_BYTES];
    uint8_t hash[FRE_HASH_BYTES];
    bool set;
} fre_ledger_print;

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

/** Data that the ledger can know by a name only: standard input, a pipe, a device. */
FRE_API bool fre_ledger_needs_name(const char *input_path);

/** Record a spend; a file that is missing is made (FILE.lock stays beside it), one of version 1 is
 * upgraded.  print: in and out, NULL allowed.  receipt NULL: not wanted.  Totals may pass a budget
 * by a factor 1 + 1e-12, so that ten times 0.1 fits into 1.
 * FRE_E_REFUSED: a total would pass the budget (the smallest ever stated for this data counts, the
 * one of this spend included); FRE_E_DATA: the file is damaged or of a newer version (never
 * overwritten); FRE_E_USAGE: data that need a name without one, a number outside its range;
 * FRE_E_NOINPUT: the input cannot be read; FRE_E_IO; FRE_E_LIMIT: more than 64 MiB; FRE_E_AGAIN:
 * another process held the lock for half a minute; FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_record(fre_ledger_receipt *receipt,
                                                    fre_ledger_print *print, const char *path,
                                                    const fre_ledger_spend *spend, fre_err *err);
/** Would it be refused?  Same checks, nothing written; a missing file has no entries. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_check(fre_ledger_print *print, const char *path,
                                                   const fre_ledger_spend *spend, fre_err *err);

typedef struct fre_ledger_entry {
    const char *id;      /**< NULL: written by version 1 */
    const char *name;    /**< NULL: none */
    const char *content; /**< 64 lower-case hexadecimal digits; NULL: none.  Or a name, or both */
    const char *date;    /**< 2026-01-31T12:00:00Z; may be empty */
    const char *what;    /**< may be empty */
    double epsilon, delta;
    double budget_epsilon, budget_delta; /**< 0: none stated */
    size_t set;                          /**< index of its set of data */
} fre_ledger_entry;

typedef struct fre_ledger_set {
    const char *name, *content; /**< the last ones stated; NULL: none ever */
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
 * is $HOME, and the user data base's where that is not set or, for root, belongs to somebody else
 * (sudo).  make: make its folders, mode 0700.  *out: free() it.  FRE_E_IO: no home, or a folder
 * cannot be made (*out is then set if the place is known). */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_default(char **out, bool make, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LEDGER_H */
