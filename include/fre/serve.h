/** fre/serve.h - a role of collections as a process: what carries bytes in and out of its machines (server.h),
 * commits their rows (store.h) and tells them the time.  [protocol: durability by deltas; decision 0037]
 *
 * A process serves every collection in whose terms its keys are (config.h).  For each there is a machine, the
 * store of its rows, a thread that commits and one that carries letters.  It looks at the folder of terms, and at the
 * file of the log of collections, every two seconds: new terms are served from then on; terms that cannot be are logged
 * once ("refused", with the reason) and disturb nobody; a collection whose terms are gone is served until it is over,
 * and then dropped from memory.
 *
 *     public   clients, at the relay alone: POST of a carry; GET of what is published
 *     peer     the other three roles, each known by the key that it signs with: what each may send, and what
 *              is published, for the role that publishes it
 *     health   /healthz, /readyz, /metrics
 *
 * Where the configuration names other processes of its role, they share one store, and the one that has its lock plays the
 * role; another hands clients' messages on to it (the relay's), or waits, and takes over when the lock falls (decision
 * 0041).
 *
 * Nothing leaves before every row that led to it is committed.  Where a commit fails, what was to be committed is
 * tried again until the store takes it, and everybody hears 503 until then; a store that somebody else wrote to
 * in the meantime ends the process, as does a machine that could not make an answer: whoever
 * supervises it starts it again, and it goes on from its rows and masks (decision 0023).  A file TERMS.cancel beside
 * a file TERMS is the operator's cancel.
 *
 * Log: a JSON object a line, about the process and the phases of its collections; no content, tag, name, address
 * or count of less than a hundred.
 */
#ifndef FRE_SERVE_H
#define FRE_SERVE_H

#include <fre/config.h>
#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A line without its end; of several threads, one at a time. */
typedef struct fre_serve_log {
    void (*line)(void *ctx, const char *json);
    void *ctx;
} fre_serve_log;

/* Tickets: what the file of names, or an app's account system, gives a client to show the issuer. */

#define FRE_TICKET_KEY_BYTES 32u
#define FRE_TICKET_NAME_MAX 31u /* bytes */
#define FRE_TICKET_BYTES 64u
/** *n bytes: u8 length || name || HMAC-SHA-256(key, u8 13 || "fre/ticket/v1" || id || name).  Good for one collection,
 * and SECRET until it is used.  FRE_E_ARG; FRE_E_DATA: an empty or too long name. */
FRE_API FRE_MUST_CHECK fre_status fre_ticket_make(uint8_t out[FRE_TICKET_BYTES], size_t *n,
                                                  const uint8_t key[FRE_TICKET_KEY_BYTES],
                                                  const fre_collection_id *id, const char *name,
                                                  fre_err *err);

/** A process that has the VOPRF keys of S_tag's or the issuer's collections, and whose server has none of them in its
 * memory [decision 0042]: it reads once files and wrap files itself, uses each key at its time and so often as its terms
 * allow, and gives it out only under a mask and its own wrap.  Without one the server has the keys. */
typedef struct fre_serve_keeper fre_serve_keeper; /* internally locked */
/** Forks; so before any thread is started and any key is read.  FRE_E_REFUSED: memory may be written to a swap space;
 * FRE_E_IO. */
FRE_API FRE_MUST_CHECK fre_status fre_serve_keeper_start(fre_serve_keeper **out, fre_err *err);
/** After fre_serve_stop.  It is gone when this returns.  NULL is allowed. */
FRE_API void fre_serve_keeper_stop(fre_serve_keeper *k);

typedef struct fre_serve fre_serve; /* internally locked */

/** Opens stores and machines of what the folder has (terms that are to be refused for good are logged, unless nothing is
 * left to serve or a check is asked for), listens, and serves from the return on; the process may open as many files as its hard
 * limit says from then on.  config and keeper (NULL: none; of other roles it has nothing to do): borrowed until _stop.
 * Besides
 * what config, store and net say: FRE_E_NOINPUT: no terms name this role's keys; FRE_E_DATA: rows that are no
 * state of their machine; FRE_E_REFUSED: memory may be written to a swap space, or the clock is not sure. */
FRE_API FRE_MUST_CHECK fre_status fre_serve_start(fre_serve **out, const fre_config *config,
                                                  fre_serve_keeper *keeper,
                                                  const fre_serve_log *log, fre_err *err);
/** Everything that _start would look at, without listening or changing a row: may it be started, with every file of
 * the folder? */
FRE_API FRE_MUST_CHECK fre_status fre_serve_check(const fre_config *config,
                                                  fre_serve_keeper *keeper, fre_err *err);
/** Looks at the folder and the log's file at once, and says again what is refused. */
FRE_API void fre_serve_look(fre_serve *s);
/** Waits until the process has to end by itself (its reason), or `ms` went by (FRE_OK). */
FRE_API FRE_MUST_CHECK fre_status fre_serve_wait(fre_serve *s, unsigned ms, fre_err *err);
/** Takes nothing new, answers what is under way, for `seconds` at most, gives letters up that wait for an answer (the
 * next start sends them again), commits, frees.  NULL is allowed. */
FRE_API void fre_serve_stop(fre_serve *s, unsigned seconds);

#ifdef __cplusplus
}
#endif
#endif /* FRE_SERVE_H */
