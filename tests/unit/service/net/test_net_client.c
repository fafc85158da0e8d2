/* What a client says, to whom, and what a server could do to it that it was not asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "net_served.h"
#include "temp_dir.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a server of a few words --------------------------------------------------------------------- */

typedef enum manner { ONCE, AGAIN_AND_AGAIN, SLOWLY } manner;

typedef struct words {
    const char *first, *then; /* said at once; and then, in a manner, until the client goes */
    manner how;
    unsigned connections; /* that are taken, one after the other */
    bool socks;           /* is a proxy first */
    int fd;
    uint16_t port;
    pthread_t thread;
    char heard[8192]; /* requests of all connections; of a proxy's client, what it wants first */
    size_t n;
} words;

static void hear(words *w, int fd, const char *end)
{
    char *from = w->heard + w->n;
    ssize_t got = 1;

    while (got > 0 && !strstr(from, end) && w->n + 1 < sizeof w->heard) {
        got = recv(fd, w->heard + w->n, sizeof w->heard - 1 - w->n, 0);
        w->n += got > 0 ? (size_t)got : 0;
        w->heard[w->n] = '\0';
    }
}

static void exactly(int fd, uint8_t *to, size_t n)
{
    must(recv(fd, to, n, MSG_WAITALL) == (ssize_t)n);
}

/* RFC 1928, as far as a client without a password goes; the name and port that it wants are kept. */
static void be_a_proxy(words *w, int fd)
{
    static const uint8_t no_password[] = {5, 0}, done[] = {5, 0, 0, 1, 127, 0, 0, 1, 0, 1};
    uint8_t b[300];

    exactly(fd, b, 2);
    exactly(fd, b + 2, b[1]);
    must(raw_send(fd, no_password, sizeof no_password));
    exactly(fd, b, 5);
    must(b[0] == 5 && b[1] == 1 && b[3] == 3); /* connect, to a name */
    exactly(fd, b + 5, (size_t)b[4] + 2);
    w->n += (size_t)snprintf(w->heard, sizeof w->heard, "%.*s:%u\n", (int)b[4], (const char *)b + 5,
                             (unsigned)(b[5 + b[4]] << 8 | b[6 + b[4]]));
    must(raw_send(fd, done, sizeof done));
}

static void *speak(void *ctx)
{
    words *w = ctx;

    for (unsigned i = 0; i < w->connections; i++) {
        const int fd = accept(w->fd, NULL, NULL);

        must(fd >= 0);
        if (w->socks)
            be_a_proxy(w, fd);
        hear(w, fd, "\r\n\r\n");
        (void)raw_say(fd, w->first);
        while (w->how != ONCE && raw_say(fd, w->then))
            if (w->how == SLOWLY)
                (void)usleep(50000);
        (void)close(fd);
    }
    return NULL;
}

static fre_http_client *client_of_words(words *w, fre_http_client_opts o, const char *url)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    char text[100], proxy[100];
    fre_http_client *c = NULL;

    w->connections = w->connections > 0 ? w->connections : 1;
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(w->fd >= 0 && bind(w->fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(w->fd, 10) == 0);
    must(getsockname(w->fd, (struct sockaddr *)&a, &n) == 0);
    w->port = ntohs(a.sin_port);
    must(pthread_create(&w->thread, NULL, speak, w) == 0);
    (void)snprintf(text, sizeof text, "http://127.0.0.1:%u", (unsigned)w->port);
    (void)snprintf(proxy, sizeof proxy, "socks5h://127.0.0.1:%u", (unsigned)w->port);
    o.url = url ? url : text;
    o.proxy = w->socks ? proxy : NULL;
    must(fre_http_client_new(&c, &o, NULL) == FRE_OK);
    return c;
}

static void end_words(words *w, fre_http_client *c)
{
    fre_http_client_free(c);
    must(pthread_join(w->thread, NULL) == 0);
    (void)close(w->fd);
}

static int get(fre_http_client *c, fre_buf *a, unsigned *wait)
{
    unsigned status = 0;
    fre_err err = {.text = ""};
    const fre_status st = fre_http_get(c, a, &status, wait, "/terms", &err);

    assert_true(st == FRE_OK || (err.text[0] != '\0' && a->n == 0));
    return st == FRE_OK ? (int)status : -(int)st;
}

/* ---- what it says -------------------------------------------------------------------------------- */

static void a_request_says_no_more_than_it_has_to(void **state)
{
    static words w = {.first = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n"
                               "Set-Cookie: a=b\r\nSet-Cookie: c=d; Max-Age=9999\r\n\r\n",
                      .connections = 3};
    fre_http_client *c = client_of_words(&w, (fre_http_client_opts){.url = NULL}, NULL);
    const fre_bytes body = {(const uint8_t *)"ab\r\n\r\n", 6};
    char expected[1000], path[512];
    unsigned status;
    fre_buf a;

    (void)state;
    write_file(temp_path(path, &test_dir, ".netrc"), "default login a password b\n", 27);
    must(setenv("HOME", test_dir.path, 1) == 0);
    fre_buf_init(&a, 100);
    assert_int_equal(get(c, &a, NULL), 200);
    assert_int_equal(fre_http_post(c, &a, &status, NULL, "/echo", body, NULL), FRE_OK);
    assert_int_equal(get(c, &a, NULL), 200);
    end_words(&w, c);
    (void)snprintf(
        expected, sizeof expected,
        "GET /terms HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n"
        "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/fre-e2t\r\n"
        "Content-Length: 6\r\n\r\nab\r\n\r\n"
        "GET /terms HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
        (unsigned)w.port, (unsigned)w.port, (unsigned)w.port);
    assert_string_equal(w.heard, expected);
}

/* The proxy looks the name up: a resolver of this host would learn it. */
static void names_are_looked_up_by_the_proxy(void **state)
{
    static words w = {.first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", .socks = true};
    fre_http_client *c =
        client_of_words(&w, (fre_http_client_opts){.url = NULL}, "http://nowhere.invalid:4711");
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    assert_int_equal(get(c, &a, NULL), 200);
    end_words(&w, c);
    fre_buf_wipe(&a);
    assert_string_equal(w.heard, "nowhere.invalid:4711\n"
                                 "GET /terms HTTP/1.1\r\nHost: nowhere.invalid:4711\r\n\r\n");
}

/* ---- what it is told ----------------------------------------------------------------------------- */

static void a_redirect_is_an_answer_and_nothing_else(void **state)
{
    static words w = {.first = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                               "Content-Length: 0\r\n\r\n"};
    fre_http_client *c = client_of_words(&w, (fre_http_client_opts){.url = NULL}, NULL);
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    assert_int_equal(get(c, &a, NULL), 302);
    end_words(&w, c);
}

static void a_connection_that_was_closed_meanwhile_is_made_anew(void **state)
{
    static words w = {.first = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .connections = 2};
    fre_http_client *c = client_of_words(&w, (fre_http_client_opts){.url = NULL}, NULL);
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    assert_int_equal(get(c, &a, NULL), 200);
    assert_int_equal(get(c, &a, NULL), 200);
    end_words(&w, c);
}

static void waits_are_numbers_below_a_day(void **state)
{
    static const struct {
        const char *text;
        unsigned wait;
    } all[] = {{"7", 7}, {"99999999999", 86400}, {"-5", 0}, {"soon", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[200];
        words *w = calloc(1, sizeof *w);
        unsigned wait = 99;
        fre_http_client *c;
        fre_buf a;

        must(w != NULL);
        (void)snprintf(text, sizeof text,
                       "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
                       all[i].text);
        w->first = text;
        c = client_of_words(w, (fre_http_client_opts){.url = NULL}, NULL);
        fre_buf_init(&a, 100);
        assert_int_equal(get(c, &a, &wait), 503);
        assert_int_equal(wait, all[i].wait);
        end_words(w, c);
        free(w);
    }
}

static void answers_that_go_wrong_are_told_apart(void **state)
{
    static const struct {
        const char *name, *first, *then;
        manner how;
        fre_status st;
    } all[] = {
        {"HTTP/0.9", "hello, I am an old server", "", ONCE, FRE_E_DATA},
        {"another protocol", "220 a.example ESMTP\r\n", "", ONCE, FRE_E_DATA},
        {"nothing", "", "", ONCE, FRE_E_IO},
        {"half a head", "HTTP/1.1 200 OK\r\nContent-Le", "", ONCE, FRE_E_IO},
        {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "", ONCE, FRE_E_IO},
        {"a body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\nhello", "", ONCE,
         FRE_E_DATA},
        {"an announcement and no answer", "HTTP/1.1 100 Continue\r\n\r\n", "", ONCE, FRE_E_IO},
        {"half a head behind an announcement",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0", "", ONCE, FRE_E_IO},
        {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         "", ONCE, FRE_E_DATA},
        {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "",
         ONCE, FRE_E_IO},
        {"a head without an end", "HTTP/1.1 200 OK\r\n", "X: a header like any other\r\n",
         AGAIN_AND_AGAIN, FRE_E_LIMIT},
        {"heads without an end", "", "HTTP/1.1 100 Continue\r\n\r\n", AGAIN_AND_AGAIN, FRE_E_LIMIT},
        {"a body without an end", "HTTP/1.1 200 OK\r\n\r\n", "a body without an end",
         AGAIN_AND_AGAIN, FRE_E_LIMIT},
        {"a long length", "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n", "and bytes",
         AGAIN_AND_AGAIN, FRE_E_LIMIT},
        {"a slow head", "HTTP/1.1 200 OK\r\n", "X", SLOWLY, FRE_E_IO},
        {"a slow body", "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n", "a", SLOWLY, FRE_E_IO},
    };
    fre_buf a;

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        words *w = calloc(1, sizeof *w);
        fre_http_client *c;
        int got;

        must(w != NULL);
        *w = (words){.first = all[i].first, .then = all[i].then, .how = all[i].how};
        c = client_of_words(
            w, (fre_http_client_opts){.url = NULL, .total_seconds = 1, .limit = 10000}, NULL);
        fre_buf_init(&a, SIZE_MAX / 2);
        got = get(c, &a, NULL);
        if (got != -(int)all[i].st)
            print_error("%s: %d\n", all[i].name, got);
        assert_int_equal(got, -(int)all[i].st);
        end_words(w, c);
        free(w);
    }
}

/* Nobody accepts: the time for a connection is over before that of a request. */
static void silence_ends(void **state)
{
    static words w = {.first = "", .then = "", .how = SLOWLY};
    fre_http_client *c =
        client_of_words(&w, (fre_http_client_opts){.url = NULL, .total_seconds = 1}, NULL);
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    assert_int_equal(get(c, &a, NULL), -(int)FRE_E_IO);
    fre_http_client_free(c);
    (void)pthread_cancel(w.thread); /* it says nothing, and so does not see that nobody listens */
    must(pthread_join(w.thread, NULL) == 0);
    (void)close(w.fd);
}

/* ---- many at once -------------------------------------------------------------------------------- */

typedef struct many {
    fre_http_client *c;
    unsigned wrong;
} many;

static void *ask_often(void *ctx)
{
    many *m = ctx;
    fre_buf a;

    fre_buf_init(&a, 100);
    for (unsigned i = 0; i < 50; i++) {
        m->wrong += get(m->c, &a, NULL) != 200 || a.n != 9;
        fre_buf_wipe(&a);
    }
    return NULL;
}

static void threads_share_a_client(void **state)
{
    fre_http *h = served(&(fre_http_opts){.address = NULL});
    fre_http_client *c = plain_client(fre_http_port(h));
    many m[12];
    pthread_t t[12];

    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        m[i] = (many){.c = c};
        must(pthread_create(&t[i], NULL, ask_often, &m[i]) == 0);
    }
    for (unsigned i = 0; i < 12; i++) {
        must(pthread_join(t[i], NULL) == 0);
        assert_int_equal(m[i].wrong, 0);
    }
    assert_int_equal(served_count(), 12 * 50);
    fre_http_client_free(c);
    fre_http_close(h);
}

static void addresses_are_split(void **state)
{
    static const struct {
        const char *url, *rest, *origin, *path;
    } all[] = {{"https://h:1", "/x", "https://h:1", "/x"},
               {"https://h:1/", "/x", "https://h:1", "/x"},
               {"http://[::1]:8/a/b", "/x", "http://[::1]:8", "/a/b/x"},
               {"http://h/a/", "", "http://h", "/a"}};
    char origin[FRE_NET_URL_BYTES], path[FRE_NET_PATH_BYTES], long_rest[FRE_NET_PATH_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(fre_net_split(origin, path, all[i].url, all[i].rest));
        assert_string_equal(origin, all[i].origin);
        assert_string_equal(path, all[i].path);
    }
    memset(long_rest, 'a', sizeof long_rest - 1);
    long_rest[sizeof long_rest - 1] = 0;
    assert_false(fre_net_split(origin, path, "http://h", long_rest));
    assert_true(fre_net_split(origin, path, "http://h", long_rest + 1)); /* the longest */
    assert_false(fre_net_split(origin, path, "h/a", "/x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_split),
        cmocka_unit_test(a_request_says_no_more_than_it_has_to),
        cmocka_unit_test(names_are_looked_up_by_the_proxy),
        cmocka_unit_test(a_redirect_is_an_answer_and_nothing_else),
        cmocka_unit_test(a_connection_that_was_closed_meanwhile_is_made_anew),
        cmocka_unit_test(waits_are_numbers_below_a_day),
        cmocka_unit_test(answers_that_go_wrong_are_told_apart),
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(threads_share_a_client),
    };

    return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
