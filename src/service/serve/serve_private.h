/* Inside serve. */
#ifndef FRE_SERVE_PRIVATE_H
#define FRE_SERVE_PRIVATE_H

#include <fre/codebook.h>
#include <fre/net.h>
#include <fre/serve.h>
#include <fre/server.h>
#include <fre/store.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SERVE_ROLES (FRE_ROLE_ISSUER + 1u)

static inline fre_bytes serve_view(const fre_buf *b)
{
    return (fre_bytes){.p = b->p, .n = b->n};
}

/* ---- group.c: commits ----------------------------------------------------------------------------- */

/* Rows of calls, in the order in which they are queued, committed by a thread of their own in groups.  A ticket
 * is the number of calls with rows so far. */
typedef struct serve_group {
    fre_store_opts where; /* borrowed */
    fre_store *store;     /* NULL: to be opened anew */
    pthread_mutex_t lock;
    pthread_cond_t more, stored_up;
    fre_delta rows;    /* queued and not yet in a commit */
    uint64_t queued;   /* tickets given */
    uint64_t stored;   /* the last that is committed */
    uint8_t owner[16]; /* who wrote last, for a store that was away */
    atomic_bool stuck; /* the last commit failed, and is tried again */
    atomic_bool
        lost; /* somebody else wrote: nothing more can be committed; both change under the lock */
    bool others; /* may take the store over: who finds it taken is lost */
    bool stop;
    pthread_t thread;
    bool started;
    fre_err err; /* why it is lost or stuck; under the lock */
    atomic_uint_least64_t commits, failures;
    void (*news)(void *ctx); /* it got stuck, free, or lost; without the lock */
    void *ctx;
} serve_group;

/* Opens the store, and so takes its lock.  As fre_store_open. */
FRE_MUST_CHECK fre_status serve_group_open(serve_group *g, const fre_store_opts *where,
                                           fre_err *err);
/* Gives every row to fn but the group's own.  *fresh: nobody had it before.  As fre_store_load. */
FRE_MUST_CHECK fre_status serve_group_load(serve_group *g, bool *fresh,
                                           fre_status (*fn)(void *ctx, const fre_row *row),
                                           void *row_ctx, fre_err *err);
/* Claims the store and starts the thread; before the first call.  As fre_store_commit; FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status serve_group_start(serve_group *g, fre_err *err);
/* Queues a call's rows; cheap.  FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status serve_group_add(serve_group *g, const fre_delta *rows);
/* Queues the owner's row again: what waits for it knows that the store is still ours.  FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status serve_group_touch(serve_group *g);
/* The last ticket that was given. */
uint64_t serve_group_ticket(serve_group *g);
/* Waits until that one is committed; false: it is not known that it will be. */
bool serve_group_wait(serve_group *g, uint64_t ticket);
bool serve_group_is_stuck(const serve_group *g);
bool serve_group_is_lost(const serve_group *g);
/* Does time heal it?  Everything else is for a person. */
bool serve_may_pass(fre_status st);
/* Commits what is queued, stops the thread, closes the store. */
void serve_group_close(serve_group *g);
/* Nothing is queued any more: every row but those that stay goes. */
FRE_MUST_CHECK fre_status serve_group_shrink(serve_group *g, fre_err *err);

/* ---- clock.c ---------------------------------------------------------------------------------------- */

/* A machine's time only goes forward, and a jump ahead would end a collection: the time of day is believed as
 * long as it goes with the time since the system started. */
typedef struct serve_clock {
    pthread_mutex_t lock;
    int64_t offset; /* of the time of day, in seconds */
    bool known;
} serve_clock;
#define SERVE_CLOCK_JUMP 300 /* seconds */
/* For waits that end at a time of fre_clock_ms.  0 or an errno; false: it is past. */
int serve_cond_init(pthread_cond_t *c);
bool serve_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, int64_t end_ms);
/* False: it jumped; it is believed again once it is back. */
bool serve_clock_now(serve_clock *c, int64_t *now);

/* ---- credentials.c ------------------------------------------------------------------------------------- */

/* Who asks the issuer. */
typedef struct serve_credentials serve_credentials;
FRE_MUST_CHECK fre_status serve_credentials_open(serve_credentials **out, const fre_config *c,
                                                 fre_err *err);
/* FRE_OK and the name; FRE_E_REFUSED; FRE_E_AGAIN: it cannot be told now.  May take long, where a command is asked.
 * Of several threads. */
FRE_MUST_CHECK fre_status serve_credentials_ask(serve_credentials *k, uint8_t name[32],
                                                const fre_collection_id *id, fre_bytes credentials);
/* May an answer take long? */
bool serve_credentials_wait(const serve_credentials *k);
void serve_credentials_free(serve_credentials *k);

/* ---- shared.c: bytes that many are sent at once ------------------------------------------------------------ */

/* Never changed once it is made. */
typedef struct serve_shared {
    atomic_uint users; /* the last of whom frees it */
    fre_buf bytes;
} serve_shared;
/* A copy, of one user.  FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status serve_shared_new(serve_shared **out, fre_bytes in);
/* One user more, who is given it back; NULL: NULL. */
serve_shared *serve_shared_take(serve_shared *b);
/* One user less.  NULL is allowed. */
void serve_shared_drop(void *shared);

/* ---- site.c: one collection ------------------------------------------------------------------------------ */

typedef struct serve_published {
    serve_shared *terms, *list; /* NULL: not there yet */
    serve_shared **part;
    uint32_t parts;
} serve_published;

/* A process of a role. */
typedef struct serve_way {
    fre_http_client *slow;  /* for letters, which may be long */
    fre_http_client *quick; /* for what a client waits for; NULL: nobody does */
    char path[FRE_NET_PATH_BYTES];
} serve_way;
/* A role, of one process or of several, one of which answers. */
typedef struct serve_party {
    serve_way way[FRE_CONFIG_ADDRESSES_MAX]; /* n */
    size_t n;
    atomic_size_t last; /* the one that answered */
} serve_party;

typedef struct serve_site {
    fre_serve *s;
    bool front;      /* another process has the store: no machine, rows or letters here */
    fre_terms terms; /* path: owned */
    unsigned users;  /* requests that are in it; under serve_sites.lock */
    bool gone;       /* its terms are in the folder no longer; of the looks' thread */
    char name[2 * FRE_HASH_BYTES + 1];
    fre_agreement *agreement;
    fre_sketch *cells;
    fre_codebook *codebook;
    fre_keys *keys;
    struct serve_kept *kept; /* NULL: our machine has its own VOPRF key, or none */
    uint8_t shown_pin[SERVE_ROLES][FRE_NET_PIN_BYTES]; /* of what each role shows as a client */
    serve_party peer[SERVE_ROLES];                     /* our own role: the other processes of it */
    char path[sizeof FRE_COLLECTION_PATH +
              2 * FRE_HASH_BYTES];     /* of the collection, behind an address's */
    char own_path[FRE_NET_PATH_BYTES]; /* of our own address in the terms */

    pthread_mutex_t lock; /* around the machine */
    fre_server *x;
    serve_group group;

    pthread_mutex_t letters_lock;
    pthread_cond_t letters_due;
    bool woken, stop;
    pthread_t letters;
    bool has_letters;

    pthread_rwlock_t published_lock;
    serve_published published;
    atomic_int phase;
    atomic_bool tidy; /* what is over was wiped; set by the letters' thread */
    int64_t
        held_at; /* when it was last looked at whether the store is ours; the letters' thread's */
    int64_t
        failure_said; /* when the store's failure was last logged, 0: not; the group's thread's */
    atomic_uint_least64_t unreached[SERVE_ROLES];
    atomic_uint_least64_t accepted, repeated, rejected; /* in hundreds, as the metrics show them */
} serve_site;

/* keys: taken over, whatever it returns.  Where another process of the role has the store, and the configuration knows of
 * others, it is a front. */
FRE_MUST_CHECK fre_status serve_site_open(serve_site **out, fre_serve *s, const fre_terms *t,
                                          fre_keys *keys, fre_err *err);
void serve_site_close(serve_site *x);
/* A message of who may send it.  The status of HTTP; 200: an answer. */
unsigned serve_site_take(serve_site *x, fre_buf *answer, fre_bytes message);
/* What is due.  False: the store is away, or the process ends.  *unreached: letters without an answer. */
bool serve_site_step(serve_site *x, size_t *letters, unsigned *unreached);
FRE_MUST_CHECK fre_status serve_site_cancel(serve_site *x);
/* What is published, and the phase, as they are now. */
void serve_site_publish(serve_site *x);

/* ---- keeper.c: VOPRF keys in another process ------------------------------------------------------------------ */

typedef struct serve_kept serve_kept;
/* The key of x, whose keys name its keeper from then on.  As fre_keys_read_once; FRE_E_IO: it is gone; FRE_E_REFUSED: also:
 * the time is not sure. */
FRE_MUST_CHECK fre_status serve_keeper_open(serve_site *x, fre_err *err);
/* It may be opened again.  NULL is allowed. */
void serve_keeper_close(serve_kept *k);
bool serve_keeper_lives(fre_serve_keeper *k);
/* False: it is gone, and the process has to end.  True where there is none. */
bool serve_keeper_watch(fre_serve *s);
/* memory.c: it is kept from swap space, where there is one.  FRE_E_REFUSED. */
FRE_MUST_CHECK fre_status serve_keep_from_swap(fre_err *err);

/* ---- front.c: what a process does whose role another one plays ------------------------------------------------ */

/* A client's message goes to the process that has the store. */
unsigned serve_front_take(serve_site *x, fre_buf *answer, fre_bytes message);
/* What is published, from there, and kept; to be dropped.  rest: behind the collection's path.  NULL: not yet, or *status
 * says more. */
serve_shared *serve_front_get(serve_site *x, const char *rest, unsigned *status);

/* ---- letters.c --------------------------------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status serve_letters_start(serve_site *x, fre_err *err);
/* Something may be due. */
void serve_letters_wake(serve_site *x);
/* When the last is answered, or serve_peers_cancel was called. */
void serve_letters_stop(serve_site *x);

/* ---- carry.c: the other roles ------------------------------------------------------------------------------ */

/* Does the configuration name other processes of this role? */
bool serve_has_others(const fre_serve *s);
FRE_MUST_CHECK fre_status serve_peers_open(serve_site *x, fre_err *err);
void serve_peers_close(serve_site *x);
/* Messages under way are given up, for good. */
void serve_peers_cancel(serve_site *x);
/* To a process of our own role that has the store: a message of a client, or, message NULL, what lies at path + rest; as
 * _post, and *status is its. */
FRE_MUST_CHECK fre_status serve_own_ask(serve_site *x, const fre_bytes *message, const char *rest,
                                        fre_buf *answer, unsigned *status);
/* A message to a role; *answer stays empty where none came.  quick: a worker waits with its client, and not for
 * long.  FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status serve_peer_post(serve_site *x, fre_role to, bool quick, fre_bytes message,
                                          fre_buf *answer);
/* May that peer of the site (0: a client) send this? */
bool serve_may_send(fre_role here, fre_role from, fre_bytes message);
/* Without TLS: whoever signs such a message. */
fre_role serve_signer_of(fre_role here, fre_bytes message);
/* By a certificate's pin; 0: nobody of this collection. */
fre_role serve_role_of(const serve_site *x, const uint8_t pin[FRE_NET_PIN_BYTES]);

/* ---- sites.c: all collections ---------------------------------------------------------------------------------- */

typedef struct serve_refused {
    fre_terms_refused *at; /* n */
    size_t n, cap;
} serve_refused;

typedef struct serve_sites {
    pthread_mutex_t
        lock; /* around the list, users of sites, and log; nobody waits or works while it is held */
    pthread_cond_t left; /* a site has no users any more */
    serve_site **at;     /* n */
    size_t n, cap;
    serve_shared *log;     /* of collections; NULL: none is served */
    struct stat log_was;   /* when it was read */
    serve_refused refused; /* by the last look; the looks' thread's */
    pthread_mutex_t due_lock;
    pthread_cond_t due;
    bool asked, stop;
    pthread_t thread;
    bool has_thread;
} serve_sites;

/* The first look: every collection of the folder, and the log.  A collection that is refused is the start's error where
 * it is the only one, where time may heal it, or with looks_only. */
FRE_MUST_CHECK fre_status serve_sites_open(fre_serve *s, fre_err *err);
/* Letters, and looks from now on. */
FRE_MUST_CHECK fre_status serve_sites_start(fre_serve *s, fre_err *err);
/* No look any more. */
void serve_sites_stop(fre_serve *s);
void serve_sites_cancel_letters(fre_serve *s);
void serve_sites_close(fre_serve *s);
/* The collection of that name (more may follow it), to be left again; NULL: none. */
serve_site *serve_sites_enter(fre_serve *s, const char *name);
/* NULL is allowed. */
void serve_sites_leave(serve_site *x);
/* Is it a peer's of any collection? */
bool serve_sites_know(fre_serve *s, const uint8_t pin[FRE_NET_PIN_BYTES]);
/* To be dropped; NULL: none. */
serve_shared *serve_sites_log(fre_serve *s);

/* ---- log.c, http.c, metrics.c ----------------------------------------------------------------------------------------- */

struct fre_serve {
    const fre_config *config;
    fre_serve_keeper *keeper; /* NULL: there is none */
    fre_serve_log log;
    pthread_mutex_t log_lock;
    serve_clock clock;
    serve_credentials *credentials;
    serve_sites sites;
    bool tls;                       /* a certificate is configured, and peers show theirs */
    uint8_t pin[FRE_NET_PIN_BYTES]; /* of that certificate */
    bool looks_only;                /* nobody listens, no row changes */
    fre_http *clients, *peers, *health;
    pthread_mutex_t end_lock;
    pthread_cond_t end_due;
    fre_status end; /* FRE_OK: it goes on */
    fre_err end_err;
    bool has_locks, has_begun;
};

void serve_say(fre_serve *s, const char *event, const serve_site *x, const char *more);
/* With a sentence, which is escaped. */
void serve_say_why(fre_serve *s, const char *event, const char *why);
/* The process has to end. */
void serve_end(fre_serve *s, fre_status st, const char *why);
FRE_MUST_CHECK fre_status serve_listen(fre_serve *s, fre_bytes certificate, fre_bytes key,
                                       fre_err *err);
FRE_MUST_CHECK fre_status serve_metrics(fre_buf *out, fre_serve *s);
bool serve_is_ready(fre_serve *s);

#endif /* FRE_SERVE_PRIVATE_H */
