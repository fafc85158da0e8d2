/** fre/store.h - the rows of one machine (server.h) in a database: an SQLite file of its own, or
 * PostgreSQL.  [protocol: durability by deltas]
 *
 * What is committed survives the process and, as far as the disk keeps its word, the power.  A commit is one
 * transaction: all rows of all deltas in it, or none.  Where several rows have one key the last counts, as
 * in their order.
 *
 * Rows are SECRET of their role, and the database is nobody's secret keeper: its backups, its log of
 * transactions and whoever runs it see only keyed hashes in place of table and key, and XChaCha20-Poly1305
 * in place of the rest, of the size of the row.  The key of both is the host's: whoever destroys it has
 * destroyed every copy.  Rows that were changed, moved or made up by somebody else are FRE_E_DATA; that
 * rows are missing, or old, cannot be seen here (a mark at another role shows it).  Order and time of
 * changes stay visible in what a database logs: within one commit rows are sorted by their hashes.
 *
 * One process at a time has a machine's rows; another one gets FRE_E_AGAIN at _open.  After any status but
 * FRE_OK of _commit, _replace or _load it is not known what is stored, or the lock is gone: only _close is
 * left, and whoever opens anew finds the rows as the last whole commit left them: nothing is lost that was
 * answered FRE_OK.
 *
 * Errors: FRE_E_ARG; FRE_E_NOMEM; FRE_E_IO (the disk is full, the server went away: the sentence says what);
 * FRE_E_DATA (damage, a foreign key, a newer version of the schema); FRE_E_AGAIN.  Threads: one at a time.
 */
#ifndef FRE_STORE_H
#define FRE_STORE_H

#include <fre/server.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_STORE_KEY_BYTES 32u
#define FRE_STORE_VERSION 1u /* of the schema */

typedef struct fre_store fre_store;

typedef struct fre_store_opts {
    /** "sqlite:FOLDER", which is made if it is missing; or "postgresql://..." (or "postgres://...") as libpq has
     * them: a password belongs into its password file or its environment. */
    const char *where;
    const fre_collection_id *collection;
    fre_role role;
    const uint8_t *key; /**< SECRET; FRE_STORE_KEY_BYTES, of this machine alone; copied */
} fre_store_opts;

/** Opens, makes or migrates the schema, and takes the machine's lock. */
FRE_API FRE_MUST_CHECK fre_status fre_store_open(fre_store **out, const fre_store_opts *opts,
                                                 fre_err *err);
/** The rows of n deltas, in their order, in one transaction. */
FRE_API FRE_MUST_CHECK fre_status fre_store_commit(fre_store *s, const fre_delta *const *deltas,
                                                   size_t n, fre_err *err);
/** All that is there goes, and d's rows take its place: of a machine that is void, or at its end. */
FRE_API FRE_MUST_CHECK fre_status fre_store_replace(fre_store *s, const fre_delta *d, fre_err *err);
/** Every row once, in no order; row: borrowed for the call.  A status of fn ends it and is returned. */
FRE_API FRE_MUST_CHECK fre_status fre_store_load(fre_store *s,
                                                 fre_status (*fn)(void *ctx, const fre_row *row),
                                                 void *ctx, fre_err *err);
/** Wipes the key and lets go of the lock.  NULL is allowed. */
FRE_API void fre_store_close(fre_store *s);
/** Everything of the machine, its lock too: nothing of it is left in the database but what its log of transactions
 * still holds.  As _close, whatever it returns. */
FRE_API FRE_MUST_CHECK fre_status fre_store_destroy(fre_store *s, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_STORE_H */
