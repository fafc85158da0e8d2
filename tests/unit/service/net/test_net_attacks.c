/* What somebody could send to a listener, and what comes of it: at most one answer a connection, nothing served that
 * was not asked for in the one way there is, and service for everybody else meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "net_served.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LF "\n"
#define EOL "\r\n"
#define TYPE "Content-Type: " FRE_NET_TYPE EOL
#define GET "GET /terms HTTP/1.1" EOL "Host: a" EOL
#define POST "POST /echo HTTP/1.1" EOL "Host: a" EOL TYPE
#define NEXT GET EOL
#define TEXT(literal) literal, sizeof(literal) - 1

static const struct attack {
    const char *name, *text;
    size_t n;
    /* Any of them, as the library's version has it; 0: none, it is closed. */
    const char *statuses;
    /* At most.  2: where libmicrohttpd 0.9.75 refuses by itself it says so twice, and closes. */
    unsigned heads;
} attacks[] = {
    {"as it should be", TEXT(POST "Content-Length: 5" EOL EOL "hello"), "200", 1},
    /* where a request ends */
    {"two lengths, equal",
     TEXT(POST "Content-Length: 5" EOL "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"two lengths, the first is longer",
     TEXT(POST "Content-Length: 9" EOL "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"two lengths, the second is longer",
     TEXT(POST "Content-Length: 0" EOL "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"lengths in a list", TEXT(POST "Content-Length: 5, 5" EOL EOL "hello" NEXT), "400", 2},
    {"a length with a plus", TEXT(POST "Content-Length: +5" EOL EOL "hello" NEXT), "400", 2},
    {"a length with a minus", TEXT(POST "Content-Length: -5" EOL EOL "hello" NEXT), "400", 2},
    {"a length in base 16", TEXT(POST "Content-Length: 0x5" EOL EOL "hello" NEXT), "400", 2},
    {"a length with a space", TEXT(POST "Content-Length: 5 5" EOL EOL "hello" NEXT), "400", 2},
    {"a length with a space behind", TEXT(POST "Content-Length: 5 " EOL EOL "hello" NEXT),
     "400 200", 2},
    {"an empty length", TEXT(POST "Content-Length:" EOL EOL "hello" NEXT), "400 411", 2},
    {"a length of 2^64 + 5", TEXT(POST "Content-Length: 18446744073709551621" EOL EOL "hello" NEXT),
     "413 400", 2},
    {"a length of 20 digits, nearly all zeros",
     TEXT(POST "Content-Length: 00000000000000000005" EOL EOL "hello" NEXT), "400", 1},
    {"no length", TEXT(POST EOL "hello" NEXT), "411", 1},
    {"a length of a GET", TEXT(GET "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"chunked",
     TEXT(POST "Transfer-Encoding: chunked" EOL EOL "5" EOL "hello" EOL "0" EOL EOL NEXT), "411",
     1},
    {"chunked and a length",
     TEXT(POST "Transfer-Encoding: chunked" EOL "Content-Length: 5" EOL EOL "0" EOL EOL NEXT),
     "400", 1},
    {"a length and chunked",
     TEXT(POST "Content-Length: 5" EOL "Transfer-Encoding: chunked" EOL EOL "0" EOL EOL NEXT),
     "400", 1},
    {"chunked of a GET", TEXT(GET "Transfer-Encoding: chunked" EOL EOL "0" EOL EOL NEXT), "411", 1},
    {"chunked, in other letters", TEXT(POST "tRANSFER-eNCODING: CHUNKED" EOL EOL "0" EOL EOL NEXT),
     "411", 1},
    {"an encoding nobody knows",
     TEXT(POST "Transfer-Encoding: x" EOL "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"a space in front of the colon of an encoding",
     TEXT(POST "Transfer-Encoding : chunked" EOL "Content-Length: 5" EOL EOL "hello" NEXT), "400",
     1},
    {"a tab in front of the colon of a length",
     TEXT(POST "Content-Length\t: 5" EOL EOL "hello" NEXT), "400", 1},
    {"an encoding that goes on in the next line",
     TEXT(POST "Transfer-Encoding: chunked" EOL " x" EOL "Content-Length: 5" EOL EOL "hello" NEXT),
     "400", 1},
    {"an encoding behind a line that goes on",
     TEXT(POST "X: a" EOL " Transfer-Encoding: chunked" EOL "Content-Length: 5" EOL EOL
               "hello" NEXT),
     "400 200", 1},
    {"a length in the next line", TEXT(POST "Content-Length:" EOL " 5" EOL EOL "hello" NEXT),
     "400 411 200", 1},
    {"a length that goes on in the next line",
     TEXT(POST "Content-Length: 5" EOL " 0" EOL EOL "hello" NEXT), "400 411", 1},
    {"a header without a colon", TEXT(POST "Content-Length: 5" EOL "x" EOL EOL "hello" NEXT), "400",
     1},
    {"a header without a name", TEXT(POST "Content-Length: 5" EOL ": x" EOL EOL "hello" NEXT),
     "200 400", 1},
    {"a carriage return in a value",
     TEXT(POST "Content-Length: 5" EOL "X: a\rb" EOL EOL "hello" NEXT), "400", 1},
    {"a zero in a name", TEXT(POST "Content-Length: 5" EOL "X\0: a" EOL EOL "hello" NEXT), "400",
     1},
    /* libmicrohttpd before 1.0 takes a bare line feed for the end of a line: whoever does not cannot be led astray, since no
     * second request of a connection is read. */
    {"bare line feeds", TEXT("GET /terms HTTP/1.1" LF "Host: a" LF LF NEXT), "200 400", 1},
    {"a length behind a bare line feed",
     TEXT(GET "X: a" LF "Content-Length: 5" EOL EOL "hello" NEXT), "400", 1},
    {"an encoding behind a bare line feed",
     TEXT(POST "Content-Length: 5" EOL "X: a" LF "Transfer-Encoding: chunked" EOL EOL "hello" NEXT),
     "400", 1},
    {"an end of the head of bare line feeds", TEXT(GET "X: a" LF LF NEXT EOL), "200 400", 1},
    {"a second request at once", TEXT(GET EOL NEXT), "200", 1},
    {"a second request behind a body", TEXT(POST "Content-Length: 5" EOL EOL "hello" NEXT), "200",
     1},
    {"a second request behind a refusal", TEXT(POST "Content-Length: 0" EOL "Host: b" EOL EOL NEXT),
     "400", 1},
    {"keep it open", TEXT(GET "Connection: keep-alive" EOL EOL NEXT), "200", 1},
    {"HTTP/1.0, kept open",
     TEXT("GET /terms HTTP/1.0" EOL "Host: a" EOL "Connection: keep-alive" EOL EOL NEXT), "200", 1},
    /* the first line */
    {"HTTP/0.9", TEXT("GET /terms" EOL EOL), "0 400", 1},
    {"HTTP/2", TEXT("PRI * HTTP/2.0" EOL EOL "SM" EOL EOL), "0 505", 1},
    {"a target with a host", TEXT("GET http://a/terms HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"a target with an escape", TEXT("GET /te%72ms HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"a target with a query", TEXT("GET /terms?a=b HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"a target with a fragment", TEXT("GET /terms#a HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"a target with a path of two names", TEXT("GET //terms HTTP/1.1" EOL "Host: a" EOL EOL), "404",
     1},
    {"a target with a way round", TEXT("GET /x/../terms HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"a target with a space", TEXT("GET /ter ms HTTP/1.1" EOL "Host: a" EOL EOL), "0 404 400", 1},
    {"a target with a high byte", TEXT("GET /terms\xc3\xa9 HTTP/1.1" EOL "Host: a" EOL EOL), "404",
     1},
    {"no target", TEXT("GET  HTTP/1.1" EOL "Host: a" EOL EOL), "0 400 404", 1},
    {"a method in small letters", TEXT("get /terms HTTP/1.1" EOL "Host: a" EOL EOL), "405", 1},
    {"HEAD", TEXT("HEAD /terms HTTP/1.1" EOL "Host: a" EOL EOL), "405", 1},
    {"PUT", TEXT("PUT /echo HTTP/1.1" EOL "Host: a" EOL TYPE "Content-Length: 5" EOL EOL "hello"),
     "405", 1},
    {"TRACE", TEXT("TRACE /terms HTTP/1.1" EOL "Host: a" EOL EOL), "405", 1},
    {"CONNECT", TEXT("CONNECT a:443 HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"OPTIONS *", TEXT("OPTIONS * HTTP/1.1" EOL "Host: a" EOL EOL), "404", 1},
    {"GET of what is posted", TEXT("GET /echo HTTP/1.1" EOL "Host: a" EOL EOL), "405", 1},
    {"another protocol", TEXT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), "0 400", 1},
    /* the host, the media type */
    {"no host", TEXT("GET /terms HTTP/1.1" EOL EOL), "400", 2},
    {"two hosts", TEXT(GET "Host: b" EOL EOL), "400", 1},
    {"a media type with a parameter",
     TEXT("POST /echo HTTP/1.1" EOL "Host: a" EOL "Content-Type: " FRE_NET_TYPE "; a=b" EOL
          "Content-Length: 5" EOL EOL "hello"),
     "415", 1},
    {"a media type in capitals",
     TEXT("POST /echo HTTP/1.1" EOL "Host: a" EOL "Content-Type: application/FRE-e2t" EOL
          "Content-Length: 5" EOL EOL "hello"),
     "415", 1},
    {"a form",
     TEXT("POST /echo HTTP/1.1" EOL "Host: a" EOL
          "Content-Type: application/x-www-form-urlencoded" EOL "Content-Length: 5" EOL EOL
          "hello"),
     "415", 1},
    {"no media type",
     TEXT("POST /echo HTTP/1.1" EOL "Host: a" EOL "Content-Length: 5" EOL EOL "hello"), "415", 1},
    {"two media types", TEXT(POST TYPE "Content-Length: 5" EOL EOL "hello"), "415", 1},
    /* sizes */
    {"a body that is too long", TEXT(POST "Content-Length: 1000001" EOL EOL "hello"), "413", 1},
    {"a body of 10^18 bytes", TEXT(POST "Content-Length: 999999999999999999" EOL EOL "hello"),
     "413", 1},
};

static bool is_one_of(unsigned status, const char *statuses)
{
    char *end = NULL;

    for (const char *at = statuses; *at; at = end)
        if (strtoul(at, &end, 10) == status)
            return true;
    return false;
}

static void each_attack_gets_one_answer_at_most(void **state)
{
    const fre_http_opts o = {.head_seconds = 1, .body_seconds = 1};
    unsigned wrong = 0, before = 0;
    fre_http *h = served(&o);

    (void)state;
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        const struct attack *a = &attacks[i];
        unsigned heads = 0;
        const unsigned status = raw_ask(fre_http_port(h), a->text, a->n, &heads);
        const unsigned seen = served_count() - before;

        before += seen;
        if (is_one_of(status, a->statuses) && heads <= a->heads && seen == (status == 200))
            continue;
        (void)fprintf(stderr, "%s: status %u in place of %s, %u heads, %u served\n", a->name,
                      status, a->statuses, heads, seen);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    fre_http_close(h);
}

/* ---- floods -------------------------------------------------------------------------------------- */

static void long_heads_are_cut_off(void **state)
{
    static char text[200000];
    fre_http *h = served(&(fre_http_opts){.address = NULL});
    const uint16_t port = fre_http_port(h);
    unsigned status;
    size_t n;

    (void)state;
    n = (size_t)snprintf(text, sizeof text, "GET /%0300d HTTP/1.1\r\nHost: a\r\n\r\n", 0);
    assert_int_equal(raw_ask(port, text, n, NULL), 404);
    n = (size_t)snprintf(text, sizeof text, "GET /%0100000d HTTP/1.1\r\nHost: a\r\n\r\n", 0);
    status = raw_ask(port, text, n, NULL); /* it may be closed before the answer is read */
    assert_true(status == 414 || status == 0);
    n = (size_t)snprintf(text, sizeof text, GET "X: %0100000d\r\n\r\n", 0);
    status = raw_ask(port, text, n, NULL);
    assert_true(status == 431 || status == 0);
    n = (size_t)snprintf(text, sizeof text, GET);
    while (n + 8 < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n, "X: a\r\n");
    status = raw_ask(port, text, n, NULL);
    assert_true(status == 431 || status == 0);
    assert_int_equal(served_count(), 0);
    assert_int_equal(raw_ask(port, TEXT(GET EOL), NULL), 200);
    fre_http_close(h);
}

static void a_body_that_never_ends_is_not_read(void **state)
{
    static const char head[] = POST "Content-Length: 5" EOL EOL "hello";
    static char more[1 << 16];
    fre_http *h = served(&(fre_http_opts){.address = NULL});
    const int fd = raw_connect(fre_http_port(h));
    unsigned sent = 0;

    (void)state;
    assert_true(raw_say(fd, head));
    while (raw_send(fd, more,
                    sizeof more)) /* until it is closed: at 64 MiB the most that two sockets hold */
        assert_true(++sent < 1024);
    (void)close(fd);
    assert_int_equal(served_count(), 1);
    fre_http_close(h);
}

static long pages(void)
{
    long n = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    must(f && fscanf(f, "%*d %*d %*d %*d %*d %ld", &n) == 1); /* data */
    (void)fclose(f);
    return n;
}

static void memory_is_for_what_came_and_not_for_what_was_promised(void **state)
{
    enum { N = 200 };
    fre_http *h = served(&(fre_http_opts){.address = NULL});
    int fd[N];
    long before;

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        fd[i] = raw_connect(fre_http_port(h));
        must(fd[i] >= 0);
    }
    assert_int_equal(raw_ask(fre_http_port(h), TEXT(GET EOL), NULL), 200);
    before = pages();
    for (unsigned i = 0; i < N; i++)
        assert_true(raw_say(fd[i], POST "Content-Length: 1000000" EOL EOL "a"));
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(raw_ask(fre_http_port(h), TEXT(GET EOL), NULL), 200);
    assert_true((pages() - before) * sysconf(_SC_PAGESIZE) < N * 1000000L / 4);
    for (unsigned i = 0; i < N; i++)
        (void)close(fd[i]);
    fre_http_close(h);
}

/* ---- slowness, and many -------------------------------------------------------------------------- */

static bool may_open(unsigned n)
{
    struct rlimit r;

    must(getrlimit(RLIMIT_NOFILE, &r) == 0);
    if (r.rlim_cur < n && (r.rlim_max == RLIM_INFINITY || r.rlim_max >= n)) {
        r.rlim_cur = n;
        (void)setrlimit(RLIMIT_NOFILE, &r);
    }
    must(getrlimit(RLIMIT_NOFILE, &r) == 0);
    if (r.rlim_cur < n)
        print_message("skipped: this process may open %lu files, and %u are needed\n",
                      (unsigned long)r.rlim_cur, n);
    return r.rlim_cur >= n;
}

static bool closed_by_them(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;

    return poll(&p, 1, 0) > 0 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Each sends a byte now and then, so that none of them is ever idle. */
static void five_hundred_slow_heads_hold_nobody_up(void **state)
{
    enum { N = 500 };
    static int fd[N];
    const fre_http_opts o = {.head_seconds = 3, .max_connections = 1000};
    unsigned open = N, rounds = 0;
    fre_http *h;

    (void)state;
    if (!may_open(2 * N + 300))
        skip();
    h = served(&o);
    for (unsigned i = 0; i < N; i++) {
        fd[i] = raw_connect(fre_http_port(h));
        must(fd[i] >= 0 && raw_say(fd[i], "GET /terms HTTP/1.1\r\nHost: "));
    }
    for (; open > 0; rounds++) {
        assert_int_equal(raw_ask(fre_http_port(h), TEXT(GET EOL), NULL), 200);
        for (unsigned i = 0; i < N; i++) {
            if (fd[i] < 0 || (raw_say(fd[i], "a") && !closed_by_them(fd[i])))
                continue;
            (void)close(fd[i]);
            fd[i] = -1;
            open--;
        }
        (void)usleep(100000);
    }
    assert_true(rounds > 1);
    assert_int_equal(served_count(), rounds);
    fre_http_close(h);
}

static void a_slow_body_is_408(void **state)
{
    const fre_http_opts o = {.body_seconds = 1};
    fre_http *h = served(&o);

    (void)state;
    assert_int_equal(raw_ask(fre_http_port(h), TEXT(POST "Content-Length: 5" EOL EOL "hell"), NULL),
                     408);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

static _Atomic int64_t ahead_ms;
static int64_t clock_that_jumps(void)
{
    struct timespec t;

    must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + ahead_ms;
}

/* Who asks and does not read holds a connection, for a while, and nothing else. */
static void a_slow_reader_is_cut_off(void **state)
{
    const fre_http_opts o = {.body_seconds = 1}; /* and a second for each 64 KiB */
    const int small = 4096;
    fre_http *h;
    char first;
    int fd;

    (void)state;
    fre_clock_set_source(clock_that_jumps);
    h = served(&o);
    fd = raw_connect(fre_http_port(h));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_true(raw_say(fd, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_int_equal(recv(fd, &first, 1, 0), 1); /* its time runs */
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(raw_ask(fre_http_port(h), TEXT(GET EOL), NULL), 200);
    assert_false(fre_http_quiesce(h, 1)); /* under way */
    ahead_ms = 1000000;
    while (!fre_http_quiesce(h, 1))
        ;
    (void)close(fd);
    fre_http_close(h);
    fre_clock_set_source(NULL);
}

static void more_connections_than_a_set_of_descriptors_holds(void **state)
{
    enum { N = 1200 };
    static int fd[N];
    const fre_http_opts o = {.max_connections = 2 * N, .head_seconds = 60, .queue = N};
    char heard[1000];
    fre_http *h;

    (void)state;
    if (!may_open(3 * N))
        skip();
    h = served(&o);
    for (unsigned i = 0; i < N; i++) {
        fd[i] = raw_connect(fre_http_port(h));
        must(fd[i] >= 0 && raw_say(fd[i], GET));
    }
    assert_true(fd[N - 1] > 1024);
    for (unsigned i = 0; i < N; i++)
        assert_true(raw_say(fd[i], EOL));
    for (unsigned i = 0; i < N; i++) {
        (void)raw_hear(fd[i], heard, sizeof heard, 30, NULL);
        assert_int_equal(raw_status(heard), 200);
        (void)close(fd[i]);
    }
    assert_int_equal(served_count(), N);
    fre_http_close(h);
}

static void connections_beyond_the_limit_are_closed(void **state)
{
    const fre_http_opts o = {.max_connections = 3, .threads = 1}; /* in their order */
    fre_http *h = served(&o);
    char heard[100];
    bool closed = false;
    int fd[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        fd[i] = raw_connect(fre_http_port(h));
    assert_int_equal(raw_hear(fd[3], heard, sizeof heard, 5, &closed), 0);
    assert_true(closed);
    (void)raw_say(fd[0], GET EOL);
    (void)raw_hear(fd[0], heard, sizeof heard, 5, NULL);
    assert_int_equal(raw_status(heard), 200);
    for (unsigned i = 0; i < 4; i++)
        (void)close(fd[i]);
    fre_http_close(h);
}

/* ---- Expect -------------------------------------------------------------------------------------- */

static void a_body_is_asked_for_only_where_it_would_be_read(void **state)
{
    fre_http *h = served(&(fre_http_opts){.address = NULL});
    char heard[1000];
    int fd = raw_connect(fre_http_port(h));

    (void)state;
    assert_true(raw_say(fd, POST "Content-Length: 5" EOL "Expect: 100-continue" EOL EOL));
    (void)raw_hear(fd, heard, strlen("HTTP/1.1 100 Continue\r\n\r\n") + 1, 5, NULL);
    assert_string_equal(heard, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_true(raw_say(fd, "hello"));
    (void)raw_hear(fd, heard, sizeof heard, 5, NULL);
    assert_int_equal(raw_status(heard), 200);
    (void)close(fd);
    fd = raw_connect(fre_http_port(h));
    assert_true(raw_say(fd, POST "Content-Length: 5000000" EOL "Expect: 100-continue" EOL EOL));
    (void)raw_hear(fd, heard, sizeof heard, 5, NULL);
    assert_int_equal(raw_status(heard), 413);
    (void)close(fd);
    fre_http_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_attack_gets_one_answer_at_most),
        cmocka_unit_test(long_heads_are_cut_off),
        cmocka_unit_test(a_body_that_never_ends_is_not_read),
        cmocka_unit_test(memory_is_for_what_came_and_not_for_what_was_promised),
        cmocka_unit_test(five_hundred_slow_heads_hold_nobody_up),
        cmocka_unit_test(a_slow_body_is_408),
        cmocka_unit_test(a_slow_reader_is_cut_off),
        cmocka_unit_test(more_connections_than_a_set_of_descriptors_holds),
        cmocka_unit_test(connections_beyond_the_limit_are_closed),
        cmocka_unit_test(a_body_is_asked_for_only_where_it_would_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
