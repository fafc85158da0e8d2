/* The listener and the client as they are meant: requests, answers, limits of both, and their ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "net_private.h"
#include "net_served.h"

#include <netinet/in.h>
#include <signal.h>

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const fre_http_opts plain = {.address = "127.0.0.1"};

/* What comes back, or the status of the call as a negative number. */
static int asked(fre_http_client *c, fre_buf *answer, const char *path, const fre_bytes *body,
                 unsigned *retry_after)
{
    unsigned status = 0;
    fre_err err = {.text = ""};
    fre_status st;

    fre_buf_wipe(answer);
    st = body ? fre_http_post(c, answer, &status, retry_after, path, *body, &err)
              : fre_http_get(c, answer, &status, retry_after, path, &err);
    if (st == FRE_OK)
        return (int)status;
    assert_true(st == FRE_E_ARG || st == FRE_E_NOMEM || err.text[0] != '\0');
    return -(int)st;
}

static void requests_are_answered(void **state)
{
    fre_http *h = served(&plain);
    fre_http_client *c = plain_client(fre_http_port(h));
    const fre_bytes some = {(const uint8_t *)"a body", 6}, none = {NULL, 0};
    unsigned wait = 9;
    fre_buf a;

    (void)state;
    fre_buf_init(&a, SERVED_LARGE);
    assert_int_equal(asked(c, &a, "/echo", &some, &wait), 200);
    assert_int_equal(wait, 0);
    assert_int_equal(a.n, 6);
    assert_memory_equal(a.p, "a body", 6);
    assert_int_equal(asked(c, &a, "/echo", &none, NULL), 200);
    assert_int_equal(a.n, 0);
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), 200);
    assert_memory_equal(a.p, "the terms", 9);
    assert_int_equal(asked(c, &a, "/large", NULL, NULL), 200);
    assert_int_equal(a.n, SERVED_LARGE);
    assert_int_equal(asked(c, &a, "/nothing", NULL, NULL), 404);
    assert_int_equal(a.n, 0);
    assert_int_equal(asked(c, &a, "/terms", &some, NULL), 405);
    assert_int_equal(asked(c, &a, "/echo", NULL, NULL), 405);
    assert_int_equal(asked(c, &a, "/busy", &some, &wait), 503);
    assert_int_equal(wait, 7);
    assert_int_equal(served_count(), 5);
    fre_buf_wipe(&a);
    fre_http_client_free(c);
    fre_http_close(h);
}

static void bodies_have_a_limit(void **state)
{
    fre_http *h = served(&plain);
    fre_http_client *c = plain_client(fre_http_port(h));
    uint8_t *body = calloc(1, SERVED_MAX + 1);
    fre_bytes most = {body, SERVED_MAX}, more = {body, SERVED_MAX + 1};
    fre_buf a;
    int got;

    (void)state;
    must(body != NULL);
    fre_buf_init(&a, SERVED_LARGE);
    assert_int_equal(asked(c, &a, "/echo", &most, NULL), 200);
    assert_int_equal(a.n, SERVED_MAX);
    /* It may be cut off before it has read the answer. */
    got = asked(c, &a, "/echo", &more, NULL);
    assert_true(got == 413 || got == -(int)FRE_E_IO);
    assert_int_equal(served_count(), 1);
    free(body);
    fre_buf_wipe(&a);
    fre_http_client_free(c);
    fre_http_close(h);
}

/* The listener's promise of what an answer carries, byte by byte. */
static void answers_carry_no_more_than_they_say(void **state)
{
    static const char get[] = "GET /terms HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"x\"\r\n"
                              "Cookie: a=b\r\nAccept-Encoding: gzip\r\nRange: bytes=0-1\r\n\r\n";
    static const char busy[] = "POST /busy HTTP/1.1\r\nHost: a\r\nContent-Type: " FRE_NET_TYPE
                               "\r\nContent-Length: 0\r\n\r\n";
    char heard[4096];
    fre_http *h = served(&plain);
    int fd = raw_connect(fre_http_port(h));
    bool closed = false;

    (void)state;
    assert_true(raw_say(fd, get));
    (void)raw_hear(fd, heard, sizeof heard, 5, &closed);
    assert_true(closed);
    (void)close(fd);
    assert_string_equal(heard, "HTTP/1.1 200 OK\r\nConnection: close\r\nCache-Control: no-store\r\n"
                               "Content-Type: application/fre-e2t\r\nContent-Length: 9\r\n\r\n"
                               "the terms");
    fd = raw_connect(fre_http_port(h));
    assert_true(raw_say(fd, busy));
    (void)raw_hear(fd, heard, sizeof heard, 5, NULL);
    (void)close(fd);
    assert_string_equal(heard,
                        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                        "Cache-Control: no-store\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    fre_http_close(h);
}

typedef struct asking {
    fre_http_client *c;
    const char *path;
    int status;
} asking;

static void *ask_on_a_thread(void *ctx)
{
    asking *a = ctx;
    const fre_bytes body = {(const uint8_t *)"slow", 4};
    fre_buf b;

    fre_buf_init(&b, 100);
    a->status = asked(a->c, &b, a->path, &body, NULL);
    fre_buf_wipe(&b);
    return NULL;
}

static void a_worker_that_waits_holds_nobody_up(void **state)
{
    const fre_http_opts o = {.threads = 1, .workers = 2};
    fre_http *h = served(&o);
    asking a = {.c = plain_client(fre_http_port(h)), .path = "/wait"};
    pthread_t t;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 100);
    must(pthread_create(&t, NULL, ask_on_a_thread, &a) == 0);
    served_await(1);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(asked(a.c, &b, "/terms", NULL, NULL), 200);
    assert_int_equal(served_waiting(), 1);
    served_let_go();
    must(pthread_join(t, NULL) == 0);
    assert_int_equal(a.status, 200);
    fre_buf_wipe(&b);
    fre_http_client_free(a.c);
    fre_http_close(h);
}

static void a_full_queue_says_come_back(void **state)
{
    const fre_http_opts o = {.workers = 1, .queue = 1};
    fre_http *h = served(&o);
    fre_http_client *c = plain_client(fre_http_port(h));
    asking a[2] = {{.c = c, .path = "/wait"}, {.c = c, .path = "/wait"}};
    pthread_t t[2];
    unsigned wait = 0;
    int got = 200;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 100);
    must(pthread_create(&t[0], NULL, ask_on_a_thread, &a[0]) == 0);
    served_await(1);
    must(pthread_create(&t[1], NULL, ask_on_a_thread, &a[1]) == 0);
    /* Until the second one has the only place: */
    while (got != 503) {
        fre_http_client_opts short_time = {.url = NULL, .total_seconds = 1};
        char url[64];
        fre_http_client *hasty = NULL;

        (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)fre_http_port(h));
        short_time.url = url;
        must(fre_http_client_new(&hasty, &short_time, NULL) == FRE_OK);
        got = asked(hasty, &b, "/terms", NULL, &wait);
        fre_http_client_free(hasty);
        assert_true(got == 503 || got == -(int)FRE_E_IO);
    }
    assert_int_equal(wait, 1);
    served_let_go();
    for (unsigned i = 0; i < 2; i++) {
        must(pthread_join(t[i], NULL) == 0);
        assert_true(a[i].status == 200 || a[i].status == 503);
    }
    fre_buf_wipe(&b);
    fre_http_client_free(c);
    fre_http_close(h);
}

static void a_quiet_listener_answers_what_is_under_way_and_nothing_else(void **state)
{
    fre_http *h = served(&plain);
    asking a = {.c = plain_client(fre_http_port(h)), .path = "/wait"};
    pthread_t t;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 100);
    must(pthread_create(&t, NULL, ask_on_a_thread, &a) == 0);
    served_await(1);
    assert_false(fre_http_quiesce(h, 0)); /* not yet */
    assert_int_equal(asked(a.c, &b, "/terms", NULL, NULL), -(int)FRE_E_IO);
    served_let_go();
    assert_true(fre_http_quiesce(h, 60));
    must(pthread_join(t, NULL) == 0);
    assert_int_equal(a.status, 200);
    assert_int_equal(served_count(), 1);
    fre_buf_wipe(&b);
    fre_http_client_free(a.c);
    fre_http_close(h);
}

static void closing_waits_for_what_is_served(void **state)
{
    fre_http *h = served(&plain);
    asking a = {.c = plain_client(fre_http_port(h)), .path = "/wait"};
    pthread_t t;

    (void)state;
    must(pthread_create(&t, NULL, ask_on_a_thread, &a) == 0);
    served_await(1);
    served_let_go();
    fre_http_close(h);
    assert_int_equal(served_waiting(), 0);
    must(pthread_join(t, NULL) == 0);
    assert_true(a.status == 200 || a.status == -(int)FRE_E_IO);
    fre_http_client_free(a.c);
}

/* One whose client is gone before the answer: neither a signal nor a leak. */
static void a_client_that_went_away_does_no_harm(void **state)
{
    static const char wait[] = "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Type: " FRE_NET_TYPE
                               "\r\nContent-Length: 900000\r\n\r\n";
    static char body[900000];
    fre_http *h = served(&plain);
    fre_http_client *c = plain_client(fre_http_port(h));
    fre_buf b;

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    fre_buf_init(&b, 100);
    for (unsigned i = 0; i < 3; i++) {
        const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        const int fd = raw_connect(fre_http_port(h));

        assert_true(raw_say(fd, wait) && raw_send(fd, body, sizeof body));
        served_await(i + 1);
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(fd);
    }
    served_let_go();
    assert_int_equal(asked(c, &b, "/terms", NULL, NULL), 200);
    fre_buf_wipe(&b);
    fre_http_client_free(c);
    assert_true(fre_http_quiesce(h, 60));
    fre_http_close(h);
}

/* What others are sent as well is given back once for each, whether it arrived or not. */
static void shared_bytes_are_given_back(void **state)
{
    static const char get[] = "GET /shared HTTP/1.1\r\nHost: a\r\n\r\n";
    fre_http *h = served(&plain);
    fre_http_client *c = plain_client(fre_http_port(h));
    const int slow = raw_connect(fre_http_port(h)), gone = raw_connect(fre_http_port(h));
    fre_buf b;

    (void)state;
    fre_buf_init(&b, SERVED_LARGE);
    assert_true(raw_say(slow, get) && raw_say(gone, get));
    assert_int_equal(asked(c, &b, "/shared", NULL, NULL), 200);
    assert_int_equal(b.n, SERVED_LARGE);
    while (served_count() < 3)
        fre_sleep_ms(5);
    (void)close(gone);
    while (served_sharers() > 1) /* who is slow has it still */
        fre_sleep_ms(5);
    (void)close(slow);
    while (served_sharers() > 0)
        fre_sleep_ms(5);
    fre_buf_wipe(&b);
    fre_http_client_free(c);
    fre_http_close(h);
}

static void a_client_can_be_told_to_give_up(void **state)
{
    fre_http *h = served(&plain);
    asking a = {.c = plain_client(fre_http_port(h)), .path = "/wait"};
    pthread_t t;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 100);
    must(pthread_create(&t, NULL, ask_on_a_thread, &a) == 0);
    served_await(1);
    fre_http_client_cancel(a.c);
    must(pthread_join(t, NULL) == 0); /* its answer never comes */
    assert_int_equal(a.status, -(int)FRE_E_IO);
    assert_int_equal(asked(a.c, &b, "/terms", NULL, NULL), -(int)FRE_E_IO);
    served_let_go();
    fre_buf_wipe(&b);
    fre_http_client_cancel(NULL);
    fre_http_client_free(a.c);
    fre_http_close(h);
}

static int64_t minute_of_the_test;
static int64_t clock_of_the_test(void)
{
    return minute_of_the_test * 60000 + 1000;
}

/* The table itself, with a clock of the test's. */
static void too_many_of_one_network_in_a_minute_are_refused(void **state)
{
    net_rate *r = NULL;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {.s_addr = 7}};
    struct sockaddr_in6 b = {.sin6_family = AF_INET6,
                             .sin6_addr = {.s6_addr = {0x20, 1, 0xd, 0xb8}}};
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};

    (void)state;
    minute_of_the_test = 5;
    fre_clock_set_source(clock_of_the_test);
    must(net_rate_new(&r, 3) == FRE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(net_rate_take(r, (struct sockaddr *)&a));
        b.sin6_addr.s6_addr[7] = (uint8_t)i; /* of one /56 */
        b.sin6_addr.s6_addr[15] = (uint8_t)(i * 40);
        assert_true(net_rate_take(r, (struct sockaddr *)&b));
    }
    assert_false(net_rate_take(r, (struct sockaddr *)&a));
    assert_false(net_rate_take(r, (struct sockaddr *)&b));
    memset(mapped.sin6_addr.s6_addr + 10, 0xff, 2);
    memcpy(mapped.sin6_addr.s6_addr + 12, &a.sin_addr, 4);
    assert_false(net_rate_take(r, (struct sockaddr *)&mapped));
    a.sin_addr.s_addr = 8;
    b.sin6_addr.s6_addr[6] = 1;
    assert_true(net_rate_take(r, (struct sockaddr *)&a));
    assert_true(net_rate_take(r, (struct sockaddr *)&b));
    assert_int_equal(net_rate_wait(), 60);
    minute_of_the_test = 6;
    a.sin_addr.s_addr = 7;
    assert_true(net_rate_take(r, (struct sockaddr *)&a));
    net_rate_free(r);
    fre_clock_set_source(NULL);
}

static void a_listener_counts_requests_of_an_address(void **state)
{
    const fre_http_opts o = {.requests_a_minute = 5};
    fre_http *h = served(&o);
    fre_http_client *c = plain_client(fre_http_port(h));
    unsigned wait = 0;
    int got = 200;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 100);
    for (unsigned i = 0; i < 11; i++) /* two minutes have room for ten */
        if (got != 429)
            got = asked(c, &b, "/terms", NULL, &wait);
    assert_int_equal(got, 429);
    assert_in_range(wait, 1, 61);
    assert_in_range(served_count(), 5, 10);
    fre_buf_wipe(&b);
    fre_http_client_free(c);
    fre_http_close(h);
}

/* Who only connects is counted too. */
static void a_listener_counts_connections_of_an_address(void **state)
{
    const fre_http_opts o = {.requests_a_minute = 5, .threads = 1}; /* in their order */
    fre_http *h;
    char heard[10];
    bool closed;

    (void)state;
    minute_of_the_test = 9;
    fre_clock_set_source(clock_of_the_test);
    h = served(&o);
    for (unsigned i = 0; i < 21; i++) {
        const int fd = raw_connect(fre_http_port(h));

        closed = false;
        if (i == 20)
            assert_int_equal(raw_hear(fd, heard, sizeof heard, 5, &closed), 0);
        assert_int_equal(closed, i == 20);
        (void)close(fd);
    }
    fre_http_close(h);
    fre_clock_set_source(NULL);
}

static void an_answer_has_a_limit_at_the_client(void **state)
{
    fre_http *h = served(&plain);
    char url[64];
    fre_http_client_opts o = {.url = url, .limit = SERVED_LARGE - 1};
    fre_http_client *c = NULL;
    fre_buf a;

    (void)state;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)fre_http_port(h));
    fre_buf_init(&a, SIZE_MAX / 2);
    must(fre_http_client_new(&c, &o, NULL) == FRE_OK);
    assert_int_equal(asked(c, &a, "/large", NULL, NULL), -(int)FRE_E_LIMIT);
    assert_int_equal(a.n, 0);
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), 200);
    fre_http_client_free(c);
    fre_buf_wipe(&a);
    fre_buf_init(&a, 5); /* the buffer's own */
    c = plain_client(fre_http_port(h));
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), -(int)FRE_E_LIMIT);
    fre_http_client_free(c);
    fre_http_close(h);
}

/* Nobody there, nobody who answers, and who answers something else. */
static void who_cannot_be_reached_is_said_so(void **state)
{
    fre_http *h = served(&plain);
    const uint16_t port = fre_http_port(h);
    fre_http_client *c = plain_client(port);
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    fre_http_close(h);
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), -(int)FRE_E_IO);
    assert_int_equal(asked(c, &a, "terms", NULL, NULL), -(int)FRE_E_ARG);
    assert_int_equal(asked(c, &a, "/terms?a", NULL, NULL), -(int)FRE_E_ARG);
    fre_http_client_free(c);
}

/* A proxy that the environment names would see who asks whom. */
static void proxies_of_the_environment_are_not_asked(void **state)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY",
                                        "ALL_PROXY"};
    fre_http *h = served(&plain);
    fre_http_client *c;
    fre_buf a;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        must(setenv(names[i], "http://127.0.0.1:1", 1) == 0);
    fre_buf_init(&a, 100);
    c = plain_client(fre_http_port(h));
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), 200);
    fre_http_client_free(c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        must(unsetenv(names[i]) == 0);
    fre_buf_wipe(&a);
    fre_http_close(h);
}

/* Nor may it make exceptions from a proxy that was asked for: nobody listens at this one. */
static void a_proxy_that_is_named_is_never_passed_over(void **state)
{
    fre_http *h = served(&plain);
    char url[64];
    const fre_http_client_opts o = {.url = url, .proxy = "socks5h://127.0.0.1:1"};
    fre_http_client *c = NULL;
    fre_buf a;

    (void)state;
    must(setenv("no_proxy", "*", 1) == 0 && setenv("NO_PROXY", "*", 1) == 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)fre_http_port(h));
    fre_buf_init(&a, 100);
    must(fre_http_client_new(&c, &o, NULL) == FRE_OK);
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), -(int)FRE_E_IO);
    assert_int_equal(served_count(), 0);
    fre_http_client_free(c);
    must(unsetenv("no_proxy") == 0 && unsetenv("NO_PROXY") == 0);
    fre_http_close(h);
}

static void both_kinds_of_addresses_are_listened_on(void **state)
{
    const int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const bool has_v6 = v6 >= 0 && bind(v6, (const struct sockaddr *)&here, sizeof here) == 0;
    const fre_http_opts o = {.address = has_v6 ? "::1" : "127.0.0.1", .requests_a_minute = 10};
    fre_http *h = served(&o);
    char url[64];
    const fre_http_client_opts to = {.url = url};
    fre_http_client *c = NULL;
    fre_buf a;

    (void)state;
    if (!has_v6)
        print_message("no IPv6 here: IPv4 alone\n");
    (void)snprintf(url, sizeof url, "http://%s:%u", has_v6 ? "[::1]" : "127.0.0.1",
                   (unsigned)fre_http_port(h));
    must(fre_http_client_new(&c, &to, NULL) == FRE_OK);
    fre_buf_init(&a, 100);
    assert_int_equal(asked(c, &a, "/terms", NULL, NULL), 200);
    fre_buf_wipe(&a);
    fre_http_client_free(c);
    fre_http_close(h);
    if (v6 >= 0)
        (void)close(v6);
}

static void what_the_system_does_not_give_is_said(void **state)
{
    static const fre_http_handler handler = {
        .admit = (unsigned (*)(void *, const fre_http_request *, uint64_t, size_t *))abort,
        .serve = (void (*)(void *, const fre_http_request *, fre_http_reply *))abort};
    fre_http *h = served(&plain), *other = NULL;
    const fre_http_opts taken = {.port = fre_http_port(h)}, many = {.max_connections = 1u << 20};
    const struct rlimit few = {1000, 1000};
    fre_err err;

    (void)state;
    assert_int_equal(fre_http_listen(&other, &taken, &handler, &err), FRE_E_IO);
    must(setrlimit(RLIMIT_NOFILE, &few) == 0);
    assert_int_equal(fre_http_listen(&other, &many, &handler, &err), FRE_E_LIMIT);
    assert_null(other);
    fre_http_close(h);
}

static void options_out_of_range_are_refused(void **state)
{
    static const char *const urls[] = {"https://a",  "ftp://a",    "http://",  "http://a/b",
                                       "http://u@a", "http://a?b", "HTTP://a", NULL};
    static const fre_http_handler nothing = {.admit = NULL};
    const fre_http_opts bad[] = {
        {.address = "localhost"}, {.threads = 5000}, {.memory = 10}, {.address = NULL}};
    fre_http *h = NULL;
    fre_http_client *c = NULL;
    fre_err err;

    (void)state;
    assert_int_equal(fre_http_listen(&h, &plain, &nothing, &err), FRE_E_ARG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fre_http_handler handler = {
            .admit = (unsigned (*)(void *, const fre_http_request *, uint64_t, size_t *))abort,
            .serve = (void (*)(void *, const fre_http_request *, fre_http_reply *))abort,
            .knows = i + 1 == sizeof bad / sizeof *bad /* without a certificate of its own */
                         ? (bool (*)(void *, const uint8_t[FRE_NET_PIN_BYTES]))abort
                         : NULL};

        assert_int_equal(fre_http_listen(&h, &bad[i], &handler, &err), FRE_E_ARG);
    }
    for (size_t i = 0; urls[i]; i++) {
        const fre_http_client_opts o = {.url = urls[i]};

        assert_int_equal(fre_http_client_new(&c, &o, &err), FRE_E_ARG);
    }
    assert_null(h);
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(bodies_have_a_limit),
        cmocka_unit_test(answers_carry_no_more_than_they_say),
        cmocka_unit_test(a_worker_that_waits_holds_nobody_up),
        cmocka_unit_test(a_full_queue_says_come_back),
        cmocka_unit_test(a_quiet_listener_answers_what_is_under_way_and_nothing_else),
        cmocka_unit_test(closing_waits_for_what_is_served),
        cmocka_unit_test(a_client_that_went_away_does_no_harm),
        cmocka_unit_test(shared_bytes_are_given_back),
        cmocka_unit_test(a_client_can_be_told_to_give_up),
        cmocka_unit_test(too_many_of_one_network_in_a_minute_are_refused),
        cmocka_unit_test(a_listener_counts_requests_of_an_address),
        cmocka_unit_test(a_listener_counts_connections_of_an_address),
        cmocka_unit_test(both_kinds_of_addresses_are_listened_on),
        cmocka_unit_test(what_the_system_does_not_give_is_said),
        cmocka_unit_test(an_answer_has_a_limit_at_the_client),
        cmocka_unit_test(who_cannot_be_reached_is_said_so),
        cmocka_unit_test(proxies_of_the_environment_are_not_asked),
        cmocka_unit_test(a_proxy_that_is_named_is_never_passed_over),
        cmocka_unit_test(options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
