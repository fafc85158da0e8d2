/* listen.c - a listener: its options, socket and life. */
#include "net_private.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define OTHER_FILES 64u /* of the process, beside connections */
#define BACKLOG 1024

/* ---- options ------------------------------------------------------------------------------------- */

static void use_default(unsigned *n, unsigned usual)
{
    *n = *n > 0 ? *n : usual;
}

static void take_options(fre_http *h, const fre_http_opts *o)
{
    h->opts = *o;
    h->opts.address = o->address ? o->address : "127.0.0.1";
    use_default(&h->opts.threads, 2);
    use_default(&h->opts.workers, 4);
    use_default(&h->opts.queue, 256);
    use_default(&h->opts.max_connections, 512);
    use_default(&h->opts.head_seconds, 10);
    use_default(&h->opts.body_seconds, 30);
    h->opts.memory = o->memory > 0 ? o->memory : 16384;
}

static fre_status check_options(const fre_http_opts *o, const fre_http_handler *handler,
                                fre_err *err)
{
    struct rlimit files;

    if (handler->knows && o->certificate_pem.n == 0)
        return fre_fail(err, FRE_E_ARG, "who asks clients for certificates needs one too");
    if (o->threads > FRE_THREADS_MAX || o->workers > FRE_THREADS_MAX || o->memory < 1024 ||
        o->max_connections > (1u << 20))
        return fre_fail(err, FRE_E_ARG, "a listener's options are out of their range");
    if (o->certificate_pem.n > 0 || o->key_pem.n > 0) {
        const fre_status st = net_pair_check(o->certificate_pem, o->key_pem, err);

        if (st != FRE_OK)
            return st;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < o->max_connections + OTHER_FILES)
        return fre_fail(err, FRE_E_LIMIT,
                        "%u connections need a limit of %u open files (ulimit -n), and it is %lu",
                        o->max_connections, o->max_connections + OTHER_FILES,
                        (unsigned long)files.rlim_cur);
    return FRE_OK;
}

static char *text_of(fre_bytes b)
{
    char *text = malloc(b.n + 1);

    if (!text)
        return NULL;
    memcpy(text, b.p, b.n);
    text[b.n] = '\0';
    return text;
}

static fre_status copy_secrets(fre_http *h)
{
    const fre_http_opts *o = &h->opts;

    if (o->key_pem.n == 0)
        return FRE_OK;
    h->key_bytes = o->key_pem.n;
    h->key = text_of(o->key_pem);
    h->certificate = text_of(o->certificate_pem);
    return h->key && h->certificate ? FRE_OK : FRE_E_NOMEM;
}

/* ---- the socket ---------------------------------------------------------------------------------- */

static int bound(const struct addrinfo *a)
{
    const int on = 1;
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int e;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    e = errno;
    (void)close(fd);
    errno = e;
    return -1;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof a;

    (void)getsockname(fd, (struct sockaddr *)&a, &n);
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&a)->sin6_port
                                         : ((struct sockaddr_in *)(void *)&a)->sin_port);
}

static fre_status open_socket(fre_http *h, fre_err *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *a = NULL;
    char port[8];

    (void)snprintf(port, sizeof port, "%u", (unsigned)h->opts.port);
    if (getaddrinfo(h->opts.address, port, &hints, &a) != 0)
        return fre_fail(err, FRE_E_ARG, "the address to listen on must be numeric, IPv4 or IPv6");
    h->fd = bound(a);
    freeaddrinfo(a);
    if (h->fd < 0)
        return fre_open_failed(err, errno, FRE_E_IO,
                               "is another program there, or is it not yours?",
                               "listening on port %s", port);
    h->port = port_of(h->fd);
    return FRE_OK;
}

/* ---- life ---------------------------------------------------------------------------------------- */

/* Handshakes cost more than requests, and who makes nothing of them is never told 429. */
static fre_status start_rates(fre_http *h)
{
    const unsigned n = h->opts.requests_a_minute;
    fre_status st;

    if (n == 0)
        return FRE_OK;
    st = net_rate_new(&h->rate, n);
    return st == FRE_OK ? net_rate_new(&h->arrivals, n < UINT_MAX / 4 ? 4 * n : UINT_MAX) : st;
}

static fre_status start(fre_http *h, fre_err *err)
{
    fre_status st = copy_secrets(h);

    if (st == FRE_OK)
        st = start_rates(h);
    if (st == FRE_OK)
        st = open_socket(h, err);
    if (st != FRE_OK)
        return st;
    st = net_queue_start(&h->queue, &h->handler, h->opts.workers, h->opts.queue, err);
    while (st == FRE_OK && h->loops < h->opts.threads)
        st = net_loop_start(&h->loop[h->loops++], h, err);
    return st;
}

static fre_status make(fre_http **out, const fre_http_opts *o, const fre_http_handler *handler)
{
    fre_http *h = calloc(1, sizeof *h);
    pthread_condattr_t attributes;

    if (!h)
        return FRE_E_NOMEM;
    take_options(h, o);
    h->handler = *handler;
    h->fd = -1;
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* fre_clock_ms */
    (void)pthread_cond_init(&h->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *out = h;
    return FRE_OK;
}

fre_status fre_http_listen(fre_http **out, const fre_http_opts *opts,
                           const fre_http_handler *handler, fre_err *err)
{
    fre_http *h = NULL;
    fre_status st;

    if (!out || !opts || !handler || !handler->admit || !handler->serve)
        return FRE_E_ARG;
    st = make(&h, opts, handler);
    if (st != FRE_OK)
        return st;
    st = check_options(&h->opts, handler, err);
    if (st == FRE_OK) {
        h->loop = calloc(h->opts.threads, sizeof *h->loop);
        st = h->loop ? start(h, err) : FRE_E_NOMEM;
    }
    if (st != FRE_OK) {
        fre_http_close(h);
        return st;
    }
    *out = h;
    return FRE_OK;
}

uint16_t fre_http_port(const fre_http *h)
{
    return h->port;
}

static void wake_all(fre_http *h)
{
    for (unsigned i = 0; i < h->loops; i++)
        if (h->loop[i].running)
            (void)eventfd_write(h->loop[i].wake, 1);
}

bool fre_http_quiesce(fre_http *h, unsigned seconds)
{
    const int64_t end_ms = fre_clock_ms() + 1000 * (int64_t)seconds;
    const struct timespec end = {.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};
    bool done;

    (void)pthread_mutex_lock(&h->lock);
    atomic_store(&h->quiet, true);
    (void)shutdown(h->fd, SHUT_RDWR); /* who connects now is refused */
    wake_all(h);
    while (h->active > 0 && pthread_cond_timedwait(&h->idle, &h->lock, &end) == 0)
        ;
    done = h->active == 0;
    (void)pthread_mutex_unlock(&h->lock);
    return done;
}

void fre_http_close(fre_http *h)
{
    if (!h)
        return;
    atomic_store(&h->quiet, true);
    /* First, so that every connection that waits for a worker is resumed. */
    net_queue_stop(&h->queue);
    atomic_store(&h->stopping, true);
    for (unsigned i = 0; i < h->loops; i++)
        net_loop_stop(&h->loop[i]);
    free(h->loop);
    if (h->fd >= 0)
        (void)close(h->fd);
    net_rate_free(h->rate);
    net_rate_free(h->arrivals);
    fre_wipe_free(h->key, h->key_bytes);
    free(h->certificate);
    (void)pthread_cond_destroy(&h->idle);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}
