/* net_private.h - a listener's parts: what a head may say (grammar.c), how often one may ask (rate.c), who waits
 * for a worker (workers.c), what becomes of a request (request.c), the threads of connections (loop.c). */
#ifndef FRE_NET_PRIVATE_H
#define FRE_NET_PRIVATE_H

#include <fre/net.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>
#include <microhttpd.h>

/* ---- grammar.c ---------------------------------------------------------------------------------- */

/* Begins with '/', of [A-Za-z0-9/._-] alone, at most FRE_NET_PATH_MAX bytes. */
bool net_path_ok(const char *path);

/* What is kept of the headers of one request. */
typedef struct net_head {
    unsigned hosts, lengths, types, encodings;
    bool bad; /* a name or value that no header has, or one that hides a length */
    bool type_ok;
    uint64_t length;
} net_head;
void net_head_take(net_head *h, const char *name, const char *value);
/* 0: a whole request follows, of h->length bytes; else what is answered: 400, 411, 415. */
unsigned net_head_verdict(const net_head *h, fre_http_method method);

/* ---- rate.c ------------------------------------------------------------------------------------- */

typedef struct net_rate net_rate; /* internally locked */
FRE_MUST_CHECK fre_status net_rate_new(net_rate **out, unsigned a_minute);
void net_rate_free(net_rate *r);
/* Counts one request of this address; false: too many in this minute.  r NULL: never. */
bool net_rate_take(net_rate *r, const struct sockaddr *address);
/* Seconds until the next minute begins, at least 1. */
unsigned net_rate_wait(void);

/* ---- certificate.c ------------------------------------------------------------------------------ */

/* The pin of the client's certificate of this session, if the handler takes it: the only place that says who a
 * peer is.  While the handshake is under way it says who the peer claims to be; the handshake fails where the
 * key is not theirs. */
bool net_session_peer(uint8_t pin[FRE_NET_PIN_BYTES], gnutls_session_t session,
                      const fre_http_handler *handler);
/* FRE_E_DATA: certificate or key cannot be read, or are no pair. */
FRE_MUST_CHECK fre_status net_pair_check(fre_bytes certificate_pem, fre_bytes key_pem,
                                         fre_err *err);

/* ---- connections and requests ------------------------------------------------------------------- */

typedef struct net_loop net_loop;
typedef struct net_request net_request;

typedef enum net_phase { NET_HEAD, NET_BODY, NET_WORK, NET_ANSWER } net_phase;

/* Of one loop's thread alone. */
typedef struct net_connection {
    struct net_connection *next, *before;
    net_loop *loop;
    struct MHD_Connection *mhd;
    gnutls_session_t session; /* NULL: no TLS */
    int fd;
    bool expired; /* its time is over: it is shut, and says no more */
    net_phase phase;
    int64_t deadline; /* of fre_clock_ms; of NET_WORK: none */
    bool used;        /* by a request */
} net_connection;

typedef enum net_stage { NET_NEW, NET_READING, NET_AT_WORK, NET_DONE } net_stage;

/* Of its loop's thread; of a worker's, while it is NET_AT_WORK. */
struct net_request {
    net_request *next; /* in the queue */
    net_connection *connection;
    net_stage stage;
    bool counted; /* in fre_http.active */
    bool away;    /* counted in its loop's at_work */
    bool keep;    /* the connection, after the answer */
    char path[FRE_NET_PATH_MAX + 1];
    uint8_t pin[FRE_NET_PIN_BYTES]; /* what head.peer points to */
    fre_buf body;
    fre_http_request head;
    fre_http_reply reply;
};

typedef struct net_queue {
    pthread_mutex_t lock;
    pthread_cond_t more;
    net_request *first, *last;
    unsigned n, max;
    bool closing;
    const fre_http_handler *handler;
    pthread_t *thread;
    unsigned threads;
} net_queue;

/* workers.c */
FRE_MUST_CHECK fre_status net_queue_start(net_queue *q, const fre_http_handler *handler,
                                          unsigned workers, unsigned max, fre_err *err);
/* The request waits for a worker and its connection is suspended; false: there is no room. */
bool net_queue_push(net_queue *q, net_request *r);
/* What waits is answered 503; waits for what runs.  Of a queue that did not start too. */
void net_queue_stop(net_queue *q);

struct fre_http {
    fre_http_opts opts; /* with defaults; its pointers are the caller's and gone, but for: */
    fre_http_handler handler;
    char *certificate, *key; /* PEM with a 0; NULL: plain.  The key is SECRET */
    size_t key_bytes;
    int fd; /* listens */
    uint16_t port;
    net_rate *rate, *arrivals; /* of requests; of connections */
    net_queue queue;
    net_loop *loop;
    unsigned loops; /* that run */
    atomic_uint connections;
    atomic_bool quiet;    /* no new connections and requests */
    atomic_bool stopping; /* loops end */
    pthread_mutex_t lock;
    pthread_cond_t idle; /* active became 0 */
    unsigned active;     /* requests between head and the end of their answer */
};

struct net_loop {
    fre_http *http;
    struct MHD_Daemon *daemon;
    int epoll; /* of the daemon */
    int wake;  /* an eventfd */
    pthread_t thread;
    bool running;
    unsigned at_work; /* requests whose connection is suspended */
    net_connection *first;
    int64_t swept, pause; /* last look at deadlines; no accept before */
};

/* request.c: what MHD calls; cls is the loop. */
void *net_on_target(void *cls, const char *target, struct MHD_Connection *connection);
enum MHD_Result net_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *n,
                               void **request);
void net_on_completed(void *cls, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why);

/* loop.c */
FRE_MUST_CHECK fre_status net_loop_start(net_loop *l, fre_http *h, fre_err *err);
/* Wakes it and waits for its end; http->stopping is set.  Of a loop that did not start too. */
void net_loop_stop(net_loop *l);

#endif /* FRE_NET_PRIVATE_H */
