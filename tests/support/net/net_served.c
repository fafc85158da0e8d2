#include "net_served.h"

#include "must.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the resources ------------------------------------------------------------------------------- */

static atomic_uint count, waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static bool let_go;

static const struct {
    const char *path;
    fre_http_method method;
} resources[] = {{"/echo", FRE_HTTP_POST}, {"/wait", FRE_HTTP_POST}, {"/busy", FRE_HTTP_POST},
                 {"/terms", FRE_HTTP_GET}, {"/large", FRE_HTTP_GET}, {"/shared", FRE_HTTP_GET},
                 {"/peer", FRE_HTTP_GET}};

static unsigned admit(void *ctx, const fre_http_request *r, uint64_t length, size_t *max)
{
    (void)ctx;
    must(r->body.n == 0 && (r->method == FRE_HTTP_POST || length == 0));
    *max = SERVED_MAX;
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        if (strcmp(r->path, resources[i].path) == 0)
            return r->method == resources[i].method ? 0 : 405;
    return 404;
}

static void wait_here(void)
{
    (void)pthread_mutex_lock(&lock);
    waiting++;
    (void)pthread_cond_broadcast(&change);
    while (!let_go)
        (void)pthread_cond_wait(&change, &lock);
    waiting--;
    (void)pthread_mutex_unlock(&lock);
}

static void large(fre_buf *body)
{
    static const uint8_t zeros[1000];

    for (unsigned i = 0; i < SERVED_LARGE / sizeof zeros; i++)
        must(fre_buf_append(body, zeros, sizeof zeros) == FRE_OK);
}

/* Whose certificates are taken, as the last call of served_to has it. */
static uint8_t taken[SERVED_PINS_MAX][FRE_NET_PIN_BYTES];
static unsigned n_taken;

static int8_t index_of(const uint8_t *pin)
{
    int8_t at = -1;

    (void)pthread_mutex_lock(&lock);
    for (unsigned i = 0; pin && i < n_taken; i++)
        if (memcmp(taken[i], pin, FRE_NET_PIN_BYTES) == 0)
            at = (int8_t)i;
    (void)pthread_mutex_unlock(&lock);
    return at;
}

static bool knows(void *ctx, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    (void)ctx;
    return index_of(pin) >= 0;
}

void served_take(const uint8_t *const *pins, unsigned n)
{
    (void)pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n; i++)
        memcpy(taken[i], pins[i], FRE_NET_PIN_BYTES);
    n_taken = n;
    (void)pthread_mutex_unlock(&lock);
}

/* The bytes of /shared, and whoever is sent them at this moment. */
static uint8_t shared[SERVED_LARGE];
static atomic_int sharers;

static void shared_done(void *owner)
{
    (*(atomic_int *)owner)--;
}

int served_sharers(void)
{
    return sharers;
}

static void share(fre_http_reply *reply)
{
    sharers++;
    reply->shared = (fre_bytes){shared, sizeof shared};
    reply->done = shared_done;
    reply->owner = &sharers;
}

static void serve(void *ctx, const fre_http_request *r, fre_http_reply *reply)
{
    const int8_t peer = index_of(r->peer);

    (void)ctx;
    count++;
    if (strcmp(r->path, "/wait") == 0)
        wait_here();
    if (strcmp(r->path, "/busy") == 0) {
        reply->status = 503;
        reply->retry_after = 7;
    } else if (strcmp(r->path, "/terms") == 0) {
        must(fre_buf_append(&reply->body, "the terms", 9) == FRE_OK);
    } else if (strcmp(r->path, "/large") == 0) {
        large(&reply->body);
    } else if (strcmp(r->path, "/shared") == 0) {
        share(reply);
    } else if (strcmp(r->path, "/peer") == 0) {
        must(fre_buf_append(&reply->body, &peer, 1) == FRE_OK);
    } else if (r->body.n > 0) {
        must(fre_buf_append(&reply->body, r->body.p, r->body.n) == FRE_OK);
    }
}

static fre_http *listen_with(const fre_http_opts *opts, const fre_http_handler *handler)
{
    fre_http *h = NULL;

    count = 0;
    (void)pthread_mutex_lock(&lock);
    let_go = false;
    (void)pthread_mutex_unlock(&lock);
    must(fre_http_listen(&h, opts, handler, NULL) == FRE_OK);
    return h;
}

fre_http *served(const fre_http_opts *opts)
{
    static const fre_http_handler handler = {.admit = admit, .serve = serve};

    return listen_with(opts, &handler);
}

fre_http *served_to_known(const fre_http_opts *opts)
{
    static const fre_http_handler handler = {.admit = admit, .serve = serve, .knows = knows};

    return listen_with(opts, &handler);
}

unsigned served_count(void)
{
    return count;
}

unsigned served_waiting(void)
{
    return waiting;
}

void served_let_go(void)
{
    (void)pthread_mutex_lock(&lock);
    let_go = true;
    (void)pthread_cond_broadcast(&change);
    (void)pthread_mutex_unlock(&lock);
}

void served_await(unsigned n)
{
    (void)pthread_mutex_lock(&lock);
    while (waiting < n)
        (void)pthread_cond_wait(&change, &lock);
    (void)pthread_mutex_unlock(&lock);
}

/* ---- raw ----------------------------------------------------------------------------------------- */

int raw_connect(uint16_t port)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool raw_send(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool raw_say(int fd, const char *text)
{
    return raw_send(fd, text, strlen(text));
}

size_t raw_hear(int fd, char *to, size_t max, int seconds, bool *closed)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t n = 0;
    ssize_t got = 1;

    while (n + 1 < max && got > 0 && poll(&p, 1, 1000 * seconds) > 0) {
        got = recv(fd, to + n, max - 1 - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    to[n] = '\0';
    if (closed)
        *closed = got <= 0;
    return n;
}

unsigned raw_status(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (unsigned)strtoul(answer + 9, NULL, 10) : 0;
}

unsigned raw_ask(uint16_t port, const char *text, size_t n, unsigned *answers)
{
    static char heard[65536];
    const int fd = raw_connect(port);
    unsigned found = 0;

    must(fd >= 0);
    (void)raw_send(fd, text, n);
    (void)raw_hear(fd, heard, sizeof heard, 5, NULL);
    (void)close(fd);
    for (const char *at = heard; (at = strstr(at, "HTTP/1.1 ")) != NULL; at++)
        found += at[9] >= '0' && at[9] <= '9'; /* texts of the library speak of HTTP/1.1 too */
    if (answers)
        *answers = found;
    return raw_status(heard);
}

/* ---- client -------------------------------------------------------------------------------------- */

static fre_http_client *client_of(const char *scheme, uint16_t port, fre_http_client_opts o)
{
    char url[64];
    fre_http_client *c = NULL;

    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u", scheme, (unsigned)port);
    o.url = url;
    must(fre_http_client_new(&c, &o, NULL) == FRE_OK);
    return c;
}

fre_http_client *plain_client(uint16_t port)
{
    return client_of("http", port, (fre_http_client_opts){.url = NULL});
}

fre_http_client *tls_client(uint16_t port, const uint8_t pin[FRE_NET_PIN_BYTES],
                            fre_bytes certificate, fre_bytes key)
{
    return client_of(
        "https", port,
        (fre_http_client_opts){.pin = pin, .certificate_pem = certificate, .key_pem = key});
}

fre_bytes bytes_of(const fre_buf *b)
{
    return (fre_bytes){b->p, b->n};
}

void net_pair_make(net_pair *p)
{
    fre_buf_init(&p->certificate, FRE_NET_PEM_MAX);
    fre_buf_init(&p->key, FRE_NET_PEM_MAX);
    must(fre_net_self_signed(&p->certificate, &p->key, "127.0.0.1", NULL) == FRE_OK);
    must(fre_net_spki_pin(p->pin, bytes_of(&p->certificate), NULL) == FRE_OK);
}

void net_pair_wipe(net_pair *p)
{
    fre_buf_wipe(&p->certificate);
    fre_buf_wipe(&p->key);
}
