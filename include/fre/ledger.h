/** fre/ledger.h - what has been released from which data, and under which budget.
 *
 * One JSON file, written to a temporary sibling and renamed under an advisory lock, mode 0600.
 * Data is keyed by a name the user gives or by a salted SHA-256 of the input's bytes (the salt is
 * in the file).  Budgets add up by basic composition.  An entry is written *before* the release
 * appears (a crash between the two costs budget, never privacy).
 */
#ifndef FRE_LEDGER_H
#define FRE_LEDGER_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_ledger_spend {
    const char *input_path;              /**< hashed when data_name is NULL; a regular file */
    const char *data_name;               /**< NULL: by content; 1..200 bytes of UTF-8 */
    double epsilon, delta;               /**< finite, >= 0; delta <= 1 */
    double budget_epsilon, budget_delta; /**< <= 0: no limit given this time */
    const char *what;                    /**< output path and command, for people; NULL: none */
} fre_ledger_spend;

/** Record a spend; a file that is missing is made (FILE.lock stays beside it).  Totals are rounded
 * upward and may pass a budget by a factor 1 + 1e-12, so that ten times 0.1 fits into 1.
 * FRE_E_REFUSED: a total would pass the budget (the smallest ever stated for this data counts, the
 * one of this spend included); FRE_E_DATA: the file is damaged or of a newer version (never
 * overwritten); FRE_E_USAGE: standard input without a name, a number outside its range;
 * FRE_E_NOINPUT: the input cannot be read; FRE_E_IO; FRE_E_LIMIT: more than 64 MiB;
 * FRE_E_INTERRUPTED while waiting for another process. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_record(const char *path, const fre_ledger_spend *spend,
                                                    fre_err *err);
/** Would it be refused?  Same checks, nothing written; a missing file has no entries. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_check(const char *path, const fre_ledger_spend *spend,
                                                   fre_err *err);

/** One entry, borrowed for the call of the visitor. */
typedef struct fre_ledger_entry {
    const char *data; /**< "name:..." or "sha256:..." */
    const char *date; /**< 2026-01-31T12:00:00Z */
    const char *what;
    double epsilon, delta;
    double budget_epsilon, budget_delta; /**< 0: none stated */
} fre_ledger_entry;

/** Calls visit for every entry, oldest first.  FRE_E_NOINPUT: no such file; otherwise as above. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_list(const char *path,
                                                  void (*visit)(void *ctx,
                                                                const fre_ledger_entry *entry),
                                                  void *ctx, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LEDGER_H */
