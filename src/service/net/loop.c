/* loop.c - a thread of connections: a daemon of libmicrohttpd over epoll, which it runs itself, so that all of a
 * connection happens on one thread, its time limits too. */
#include "net_private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SWEEP_MS 200
#define ACCEPTS_A_ROUND 64u
#define PAUSE_MS 100 /* before the next accept, where the system had no descriptor or memory */

/* AEAD ciphers, (EC)DHE with signatures, certificates; nothing is resumed. */
static const char priorities[] =
    "NONE:+VERS-TLS1.3:+VERS-TLS1.2:+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:"
    "+ECDHE-ECDSA:+ECDHE-RSA:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"
    "+SIGN-ECDSA-SECP256R1-SHA256:+SIGN-ECDSA-SHA256:+SIGN-ECDSA-SHA384:"
    "+SIGN-ECDSA-SECP384R1-SHA384:+SIGN-EDDSA-ED25519:+SIGN-RSA-PSS-RSAE-SHA256:"
    "+SIGN-RSA-PSS-RSAE-SHA384:+SIGN-RSA-SHA256:+SIGN-RSA-SHA384:+CTYPE-SRV-X509:+CTYPE-CLI-X509:"
    "+COMP-NULL:%SAFE_RENEGOTIATION:%NO_TICKETS:%SERVER_PRECEDENCE";

/* ---- connections ---------------------------------------------------------------------------------- */

static gnutls_session_t session_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

static int socket_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

/* During the handshake, which goes on at 0: whose key nobody named gets no further. */
static int on_certificate(gnutls_session_t session)
{
    const fre_http *h = gnutls_db_get_ptr(session);
    uint8_t pin[FRE_NET_PIN_BYTES];

    return !net_session_peer(pin, session, &h->handler);
}

static void ask_certificate(gnutls_session_t session, fre_http *h)
{
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_db_set_ptr(session, h); /* no sessions are stored, so that it is free for this */
    gnutls_session_set_verify_function(session, on_certificate);
}

static void begun(net_loop *l, struct MHD_Connection *mhd, void **context)
{
    net_connection *c = calloc(1, sizeof *c);
    const bool room = atomic_fetch_add(&l->http->connections, 1) < l->http->opts.max_connections;

    if (l->http->handler.knows)
        ask_certificate(session_of(mhd), l->http);
    *context = c;
    if (!c || !room)
        (void)shutdown(socket_of(mhd), SHUT_RDWR);
    if (!c)
        return;
    *c = (net_connection){.next = l->first,
                          .loop = l,
                          .mhd = mhd,
                          .session = session_of(mhd),
                          .fd = socket_of(mhd),
                          .expired = !room,
                          .phase = NET_HEAD,
                          .deadline = fre_clock_ms() + 1000 * (int64_t)l->http->opts.head_seconds};
    if (l->first)
        l->first->before = c;
    l->first = c;
}

static void ended(net_loop *l, void **context)
{
    net_connection *c = *context;

    (void)atomic_fetch_sub(&l->http->connections, 1);
    *context = NULL;
    if (!c)
        return;
    if (c->next)
        c->next->before = c->before;
    *(c->before ? &c->before->next : &l->first) = c->next;
    free(c);
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        begun(cls, mhd, context);
    else
        ended(cls, context);
}

/* ---- time ---------------------------------------------------------------------------------------- */

/* The library knows but of connections where nothing happens at all. */
static void expire(net_connection *c)
{
    static const char slow[] = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n"
                               "Cache-Control: no-store\r\nConnection: close\r\n\r\n";

    c->expired = true;
    if (c->phase == NET_BODY && c->session)
        (void)gnutls_record_send(c->session, slow, strlen(slow));
    else if (c->phase == NET_BODY)
        (void)send(c->fd, slow, strlen(slow), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(c->fd, SHUT_RDWR);
}

static void sweep(net_loop *l)
{
    const int64_t now = fre_clock_ms();

    if (now < l->swept + SWEEP_MS && now >= l->swept)
        return;
    l->swept = now;
    for (net_connection *c = l->first; c; c = c->next)
        if (!c->expired && c->phase != NET_WORK && now >= c->deadline)
            expire(c);
}

/* ---- the thread ----------------------------------------------------------------------------------- */

/* false: the system has no room at the moment. */
static bool accept_one(net_loop *l, int *fd)
{
    fre_http *h = l->http;
    struct sockaddr_storage from;
    socklen_t n = sizeof from;

    *fd = accept4(h->fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (*fd < 0)
        return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    if (atomic_load(&h->connections) >= h->opts.max_connections ||
        !net_rate_take(h->arrivals, (struct sockaddr *)&from))
        (void)close(*fd);
    else /* the descriptor is the daemon's from here on, whatever it returns */
        (void)MHD_add_connection(l->daemon, *fd, (struct sockaddr *)&from, n);
    return true;
}

static void accept_some(net_loop *l)
{
    int fd = 0;

    for (unsigned i = 0; i < ACCEPTS_A_ROUND && fd >= 0; i++)
        if (!accept_one(l, &fd))
            l->pause = fre_clock_ms() + PAUSE_MS;
}

static int wait_ms(const net_loop *l)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (MHD_get_timeout(l->daemon, &ms) == MHD_YES && ms == 0)
        return 0;
    return l->pause > 0 ? PAUSE_MS : l->first ? SWEEP_MS : -1;
}

static void round_of(net_loop *l)
{
    struct pollfd p[3] = {{.fd = l->wake, .events = POLLIN}, {.fd = l->epoll, .events = POLLIN}};
    eventfd_t n;
    bool takes;

    if (l->pause > 0 && fre_clock_ms() >= l->pause)
        l->pause = 0;
    takes = l->pause == 0 && !atomic_load(&l->http->quiet);
    p[2] = (struct pollfd){.fd = takes ? l->http->fd : -1, .events = POLLIN};
    (void)poll(p, 3, wait_ms(l));
    if (p[0].revents)
        (void)eventfd_read(l->wake, &n);
    if (p[2].revents && !atomic_load(&l->http->quiet))
        accept_some(l);
    (void)MHD_run(l->daemon);
    sweep(l);
}

static void *run(void *arg)
{
    net_loop *l = arg;

    /* Suspended connections are resumed first: the library aborts where one is left. */
    while (!atomic_load(&l->http->stopping) || l->at_work > 0)
        round_of(l);
    return NULL;
}

static struct MHD_Daemon *daemon_of(net_loop *l)
{
    const fre_http *h = l->http;
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, h->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, h->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)priorities},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_SUPPRESS_DATE_NO_CLOCK | (h->key ? MHD_USE_TLS : 0u);

    return MHD_start_daemon(
        flags, 0, NULL, NULL, net_on_request, l, MHD_OPTION_NOTIFY_CONNECTION, on_connection, l,
        MHD_OPTION_NOTIFY_COMPLETED, net_on_completed, l, MHD_OPTION_URI_LOG_CALLBACK,
        net_on_target, l, MHD_OPTION_CONNECTION_LIMIT, h->opts.max_connections + 1,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->opts.memory, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
        h->key ? tls : plain, MHD_OPTION_END);
}

static int start_thread(net_loop *l)
{
    sigset_t all, before;
    int e;

    /* Signals are for the host's own threads, and SIGPIPE for nobody here. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    e = pthread_create(&l->thread, NULL, run, l);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    l->running = e == 0;
    return e;
}

fre_status net_loop_start(net_loop *l, fre_http *h, fre_err *err)
{
    int e;

    *l = (net_loop){.http = h, .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (l->wake < 0)
        return fre_open_failed(err, errno, FRE_E_IO, NULL, "listening");
    l->daemon = daemon_of(l);
    if (!l->daemon)
        return fre_fail(err, FRE_E_IO, "listening: the HTTP library could not begin");
    l->epoll = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    e = start_thread(l);
    return e == 0 ? FRE_OK : fre_fail(err, FRE_E_IO, "no thread for connections: %s", strerror(e));
}

void net_loop_stop(net_loop *l)
{
    if (!l->http)
        return;
    if (l->running) {
        (void)eventfd_write(l->wake, 1);
        (void)pthread_join(l->thread, NULL);
    }
    if (l->daemon)
        MHD_stop_daemon(l->daemon);
    if (l->wake >= 0)
        (void)close(l->wake);
}
