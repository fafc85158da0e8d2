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
    const char *input_path; /**< hashed when data_name is NULL; "-" needs data_name */
    const char *data_name;  /**< NULL: by content */
    double epsilon, delta;
    double budget_epsilon, budget_delta; /**< <= 0: no limit given this time */
    const char *what;       /**< output path and command, for people */
} fre_ledger_spend;

/** Record a spend.  FRE_E_REFUSED: total would pass the budget (the smallest ever stated for this
 * data counts); FRE_E_DATA: the file is damaged (never overwritten); FRE_E_IO. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_record(const char *path,
                                                    const fre_ledger_spend *spend, fre_err *err);
/** Would it be refused?  Same checks, nothing written. */
FRE_API FRE_MUST_CHECK fre_status fre_ledger_check(const char *path,
                                                   const fre_ledger_spend *spend, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_LEDGER_H */
