/** fre/rehearsal.h - all four roles of a collection on this machine: keys, terms and configurations in a folder, and
 * a process for each.  For simulations over HTTP and for tests: whoever has the folder has all keys.
 *
 * Errors: those of config.h; FRE_E_IO; FRE_E_NOMEM; FRE_E_ARG.  Threads: one at a time.
 */
#ifndef FRE_REHEARSAL_H
#define FRE_REHEARSAL_H

#include <fre/core.h>
#include <fre/privacy.h>
#include <fre/serve.h>
#include <fre/simulate.h>
#include <fre/wire.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_REHEARSAL_ROLES (FRE_ROLE_ISSUER + 1u) /* by fre_role; 0 is nobody */

typedef struct fre_rehearsal_opts {
    const char *folder;   /**< there, private, and empty */
    const fre_plan *plan; /**< of a collection (fre_collection_from_plan) */
    uint8_t embedder[FRE_HASH_BYTES];
    uint64_t batch_min;
    bool tls;             /**< certificates of their own; false: plain HTTP */
    const char *store;    /**< as in a configuration; NULL: SQLite, in the folder */
    const char *codebook; /**< of public cells; NULL: none */
    int64_t open, exchange_close, tags_close, shares_close, end; /**< Unix seconds */
    /** Servers that are there: the collection is one more of theirs, with their addresses, certificates and ticket key;
     * its keys go into their folders, its terms into this one, and nothing is configured.  NULL: new ones. */
    const struct fre_rehearsal *beside;
} fre_rehearsal_opts;

typedef struct fre_rehearsal {
    fre_collection terms;
    char *folder, *terms_path;
    char *config[FRE_REHEARSAL_ROLES]; /**< path of each */
    char *once[FRE_REHEARSAL_ROLES];   /**< its once file; NULL: the relay's */
    char *certificate[FRE_REHEARSAL_ROLES]; /**< file of what it shows; NULL: plain HTTP */
    uint16_t clients;                  /**< port of the relay's for devices */
    uint16_t peer[FRE_REHEARSAL_ROLES], health[FRE_REHEARSAL_ROLES];
    uint8_t ticket_key[FRE_TICKET_KEY_BYTES]; /**< whoever has a ticket under it is a person */
    pid_t process[FRE_REHEARSAL_ROLES];       /**< 0: none runs */
} fre_rehearsal;

/** Fills the folder; nobody runs yet.  All listen on 127.0.0.1, at ports that nobody had a moment ago. */
FRE_API FRE_MUST_CHECK fre_status fre_rehearsal_make(fre_rehearsal **out,
                                                     const fre_rehearsal_opts *opts, fre_err *err);
/** Runs command[0] command[1] ROLE command[2] CONFIGURATION (the program, its command that serves, the flag of its
 * configuration); its log goes to FOLDER/ROLE.log. */
FRE_API FRE_MUST_CHECK fre_status fre_rehearsal_start(fre_rehearsal *r, fre_role role,
                                                      const char *const command[3], fre_err *err);
/** Waits until a role is ready.  FRE_E_AGAIN: not within so many seconds; FRE_E_IO: its process ended (see its log). */
FRE_API FRE_MUST_CHECK fre_status fre_rehearsal_wait(fre_rehearsal *r, fre_role role,
                                                     unsigned seconds, fre_err *err);
/** Signals and waits for its end; its exit status as waitpid has it, -1: none ran.  *peak_kib: its memory at the peak;
 * may be NULL. */
FRE_API int fre_rehearsal_stop(fre_rehearsal *r, fre_role role, int sig, uint64_t *peak_kib);
/** Kills what runs.  The folder stays.  NULL is allowed. */
FRE_API void fre_rehearsal_free(fre_rehearsal *r);

/** The servers of a simulation: over TLS on the loopback, in a temporary folder that goes with it.  Windows of time
 * grow with the number of clients, for a machine that does all of the work. */
typedef struct fre_rehearsal_transport fre_rehearsal_transport;
/** command: as for _start; codebook: file of public cells, NULL: none.  Both kept until _free. */
FRE_API FRE_MUST_CHECK fre_status fre_rehearsal_transport_new(fre_rehearsal_transport **out,
                                                              const char *const command[3],
                                                              const char *codebook, fre_err *err);
/** Borrowed. */
FRE_API const fre_simulate_transport *
fre_rehearsal_transport_calls(const fre_rehearsal_transport *t);
/** Kills what runs and removes the folder.  NULL is allowed. */
FRE_API void fre_rehearsal_transport_free(fre_rehearsal_transport *t);

#ifdef __cplusplus
}
#endif
#endif /* FRE_REHEARSAL_H */
