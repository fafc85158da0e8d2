/* A listener with a few resources, and a peer that speaks bytes to it, well formed or not. */
#ifndef FRE_TEST_NET_SERVED_H
#define FRE_TEST_NET_SERVED_H

#include <fre/net.h>

/* What is served:
 *   POST /echo      the body back; up to SERVED_MAX bytes
 *   POST /wait      as /echo, once served_let_go was called
 *   GET  /terms     "the terms"
 *   GET  /large     SERVED_LARGE bytes
 *   POST /busy      503 with Retry-After: 7
 *   GET  /shared    SERVED_LARGE zeros that are kept once for all
 *   GET  /peer      a byte: the index of the client's pin among those of served_take
 * Anything else is 404, and with the other method 405. */
#define SERVED_MAX 1000000u
#define SERVED_LARGE 20000000u /* more than two sockets hold */

fre_http *served(const fre_http_opts *opts);
/* For clients with certificates of served_take's pins alone, at every moment. */
fre_http *served_to_known(const fre_http_opts *opts);
#define SERVED_PINS_MAX 4u
void served_take(const uint8_t *const *pins, unsigned n);
/* Answers of /shared that are under way. */
int served_sharers(void);
/* Requests that were served since the last call of `served`. */
unsigned served_count(void);
/* Requests at /wait at this moment. */
unsigned served_waiting(void);
void served_let_go(void);
/* Until as many wait. */
void served_await(unsigned waiting);

/* ---- raw ----------------------------------------------------------------------------------------- */

/* A connection to a port of 127.0.0.1, or -1. */
int raw_connect(uint16_t port);
/* false: it is closed. */
bool raw_send(int fd, const void *p, size_t n);
bool raw_say(int fd, const char *text);
/* All that comes until the other side closes, or `seconds` are over: with a 0, in to[max].  Returns how much;
 * *closed (NULL allowed): it was closed. */
size_t raw_hear(int fd, char *to, size_t max, int seconds, bool *closed);
/* One connection, one text, all that comes back: the status of the first answer, 0: there is none.  *answers
 * (NULL allowed) counts answers. */
unsigned raw_ask(uint16_t port, const char *text, size_t n, unsigned *answers);
unsigned raw_status(const char *answer);

/* ---- client -------------------------------------------------------------------------------------- */

/* Of http://127.0.0.1:PORT. */
fre_http_client *plain_client(uint16_t port);
/* Of https, with a pin, and a pair of its own or (empty) none. */
fre_http_client *tls_client(uint16_t port, const uint8_t pin[FRE_NET_PIN_BYTES],
                            fre_bytes certificate, fre_bytes key);
/* A pair for 127.0.0.1 and its pin. */
typedef struct net_pair {
    fre_buf certificate, key;
    uint8_t pin[FRE_NET_PIN_BYTES];
} net_pair;
void net_pair_make(net_pair *p);
void net_pair_wipe(net_pair *p);
fre_bytes bytes_of(const fre_buf *b);

#endif /* FRE_TEST_NET_SERVED_H */
