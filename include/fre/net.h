/** fre/net.h - HTTP/1.1 for the servers and clients of the distributed mode: a listener that hands whole
 * requests to worker threads, and a client that trusts one public key.  [service: transport]
 *
 * What is looked at of a request: method, path, Host, Content-Type, Content-Length and what keeps or closes
 * the connection; nothing else reaches a handler.  An answer carries a status, Content-Type, Content-Length,
 * Cache-Control: no-store, Connection and, where it says to come back, Retry-After; no date, name of a
 * server, entity tag, cookie or redirect (libmicrohttpd's own 400, 413, 414 and 431 have a text in place of the
 * type and of Cache-Control).  Nothing here writes an address, a path or a header anywhere.
 * A connection carries one request, unless its client has shown a certificate that is known: whatever a proxy in
 * front and this server could disagree on, there is no second request that it could become.
 *
 * TLS is 1.3 or 1.2.  Who somebody is follows from the public key of the certificate alone (a pin, the SHA-256
 * of its SubjectPublicKeyInfo), on both sides: issuer, names and dates of a certificate are not looked at, so
 * a key is revoked by terms that no longer name it.
 *
 * Decision: 0032 (what is looked at, what the libraries refuse, what is done here); 0037 (why).  Built with
 * libmicrohttpd, GnuTLS and libcurl only.
 */
#ifndef FRE_NET_H
#define FRE_NET_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_NET_PIN_BYTES 32u
#define FRE_NET_PATH_MAX 255u              /* longest path that is served; longer ones are 404 */
#define FRE_NET_TYPE "application/fre-e2t" /* of every request with a body */

/* ---- certificates ---------------------------------------------------------------------------- */

/** SHA-256 of the SubjectPublicKeyInfo (DER) of the first certificate in the PEM text.  FRE_E_DATA: there
 * is none. */
FRE_API FRE_MUST_CHECK fre_status fre_net_spki_pin(uint8_t pin[FRE_NET_PIN_BYTES],
                                                   fre_bytes certificate_pem, fre_err *err);
/** A new ECDSA P-256 key and a certificate of it for host (a name or an address; 1..253 bytes), signed by
 * itself, without an end.  Appends PEM to both; give key_pem a limit of FRE_NET_PEM_MAX, or more.  key_pem is
 * SECRET.  FRE_E_ARG; FRE_E_LIMIT; FRE_E_NOMEM; FRE_E_INTERNAL (the library). */
#define FRE_NET_PEM_MAX 4096u
FRE_API FRE_MUST_CHECK fre_status fre_net_self_signed(fre_buf *certificate_pem, fre_buf *key_pem,
                                                      const char *host, fre_err *err);

/** A certificate of a role's own signing key (Ed25519), for the one that connects to show: as _self_signed, without a
 * host.  sk: seed || public key, SECRET. */
FRE_API FRE_MUST_CHECK fre_status fre_net_ed25519_certificate(fre_buf *certificate_pem,
                                                              fre_buf *key_pem,
                                                              const uint8_t sk[64], fre_err *err);
/** The pin of such a certificate, for the one that listens.  [RFC 8410] */
FRE_API void fre_net_ed25519_pin(uint8_t pin[FRE_NET_PIN_BYTES], const uint8_t pk[32]);

/* ---- server ---------------------------------------------------------------------------------- */

typedef struct fre_http fre_http; /* internally locked */

typedef enum fre_http_method { FRE_HTTP_GET, FRE_HTTP_POST } fre_http_method;

/** Borrowed for the call. */
typedef struct fre_http_request {
    fre_http_method method;
    const char *path; /**< begins with '/'; of [A-Za-z0-9/._-] alone, as it was sent */
    fre_bytes body;   /**< of a POST; empty in admit */
    const uint8_t
        *peer; /**< FRE_NET_PIN_BYTES of the client's certificate; NULL: none is asked for */
} fre_http_request;

typedef struct fre_http_reply {
    unsigned status;  /**< 200 before serve is called; of 200..599 */
    const char *type; /**< FRE_NET_TYPE before; kept: of static storage */
    fre_buf body;     /**< empty, of SIZE_MAX / 2 at most; belongs to the module, which wipes it */
    /** In place of body, where done is set: bytes that others are sent as well, kept until done(owner), which is
     * called once, from a thread of connections, when the answer was sent or given up. */
    fre_bytes shared;
    void (*done)(void *owner);
    void *owner;
    unsigned retry_after; /**< seconds; 0: not said, but 1 with 429 and 503 */
} fre_http_reply;

/** Called from many threads at once. */
typedef struct fre_http_handler {
    /** Before a byte of the body is read, on a thread of connections: must not wait.  0: go on, and a body
     * longer than *max (0 before) is 413; else the status that is answered (404, 405, 503).  head->body is
     * empty; length: bytes of the body that are announced, 0 of a GET. */
    unsigned (*admit)(void *ctx, const fre_http_request *head, uint64_t length, size_t *max);
    /** The whole request, on a worker: may wait. */
    void (*serve)(void *ctx, const fre_http_request *request, fre_http_reply *reply);
    /** NULL: clients need no certificate.  Else: is a certificate with this pin taken?  Asked in the handshake and
     * again before each request, on a thread of connections, must not wait: who is no longer known is heard no
     * longer.  Who shows none, or one that is not taken, is answered nothing.  Needs a certificate of the
     * listener's. */
    bool (*knows)(void *ctx, const uint8_t pin[FRE_NET_PIN_BYTES]);
    void *ctx; /**< kept until _close */
} fre_http_handler;

/** Zero is the default of each number. */
typedef struct fre_http_opts {
    const char *address;                /**< a numeric IPv4 or IPv6 address; NULL: 127.0.0.1 */
    uint16_t port;                      /**< 0: the system's choice, which fre_http_port tells */
    fre_bytes certificate_pem, key_pem; /**< copied; both empty: plain HTTP.  The key is SECRET. */
    unsigned threads;         /**< of connections; 2 */
    unsigned workers;         /**< that call serve; 4 */
    unsigned queue;           /**< requests that may wait for a worker; more are 503; 256 */
    unsigned max_connections; /**< more are closed at once; 512 */
    size_t memory;            /**< bytes for the head of a request, a connection; 16384 */
    unsigned head_seconds; /**< from a connection, or the last answer on it, to a head's end; 10 */
    /** From there to the end of the body, else 408; 30.  An answer has as long, and a second more for each 64
     * KiB. */
    unsigned body_seconds;
    /** Requests a minute of one address (IPv4) or /56 (IPv6), more are 429; counted in memory under a keyed
     * hash, in a table of fixed size.  Of four times as many connections, more are closed at once.  0: not
     * counted. */
    unsigned requests_a_minute;
} fre_http_opts;

/** Listens and serves from the return on.  Writes to a closed connection raise no SIGPIPE.
 * FRE_E_ARG; FRE_E_DATA (certificate or key cannot be read, or do not belong to each other); FRE_E_IO (the address
 * cannot be had, no thread); FRE_E_LIMIT (the process may not open the files that max_connections needs, and
 * 64 more: the caller raises RLIMIT_NOFILE); FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_http_listen(fre_http **out, const fre_http_opts *opts,
                                                  const fre_http_handler *handler, fre_err *err);
FRE_API uint16_t fre_http_port(const fre_http *h);
/** No new connections from here on, and of those that are there no new requests (503, and they are closed);
 * returns when all that was under way is answered, or after `seconds`.  true: nothing is left. */
FRE_API bool fre_http_quiesce(fre_http *h, unsigned seconds);
/** Ends every connection, waits for calls of serve that run.  NULL is allowed. */
FRE_API void fre_http_close(fre_http *h);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct fre_http_client fre_http_client; /* internally locked */

/** Zero is the default of each number. */
typedef struct fre_http_client_opts {
    const char *url; /**< "https://HOST[:PORT]" or "http://HOST[:PORT]", with no path; copied */
    /** FRE_NET_PIN_BYTES; wanted with https, and not taken with http; copied. */
    const uint8_t *pin;
    /** https without a pin: to whoever answers, for what is known by its hash and nothing else. */
    bool any_key;
    fre_bytes certificate_pem, key_pem; /**< own, copied; both empty: none.  The key is SECRET. */
    /** "socks5h://HOST:PORT", which looks the name up too; NULL: none.  Copied.  What the environment says of
     * proxies is never looked at. */
    const char *proxy;
    unsigned connect_seconds; /**< TLS included; 10 */
    unsigned total_seconds;   /**< of one request; 60 */
    size_t limit;             /**< bytes of an answer; 64 MiB */
} fre_http_client_opts;

#define FRE_NET_URL_BYTES 512u
#define FRE_NET_PATH_BYTES (FRE_NET_PATH_MAX + 1u)
/** What a client is made with, and a path for it: of "https://h:1/below/", rest "/x": "https://h:1" and "/below/x".
 * False: no address, or too long. */
FRE_API bool fre_net_split(char origin[FRE_NET_URL_BYTES], char path[FRE_NET_PATH_BYTES],
                           const char *url, const char *rest);
/** Connects at the first request.  FRE_E_ARG; FRE_E_DATA (own certificate or key); FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_http_client_new(fre_http_client **out,
                                                      const fre_http_client_opts *opts,
                                                      fre_err *err);
/** NULL is allowed; no request may be under way. */
FRE_API void fre_http_client_free(fre_http_client *c);
/** From any thread, for good: requests under way end within a second or so, and later ones at once, with FRE_E_IO. */
FRE_API void fre_http_client_cancel(fre_http_client *c);

/** One request, over a connection of this client that is still there, else a new one; it is never sent a
 * second time here, but for a connection that the other side had closed before a byte was answered.  The body
 * of the answer goes to answer, which was empty (its own limit counts too); *status is what was said, 200 or
 * not, and *retry_after (NULL: not wanted) its Retry-After in seconds, 0: none.
 *
 * FRE_E_IO: not reached, no TLS, went away, or took too long: it may have been handled; try again later.
 * FRE_E_KEY: the server's key is not the pin's.  FRE_E_LIMIT: the answer is too long.  FRE_E_DATA: no HTTP, or an
 * answer without Content-Length, whose end nobody could tell from a broken connection.  FRE_E_ARG: a path that
 * no server of ours serves; answer not empty.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_http_post(fre_http_client *c, fre_buf *answer,
                                                unsigned *status, unsigned *retry_after,
                                                const char *path, fre_bytes body, fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_http_get(fre_http_client *c, fre_buf *answer,
                                               unsigned *status, unsigned *retry_after,
                                               const char *path, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_NET_H */
