/* Memory that runs out while a listener, a client or a certificate is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "must.h"
#include "net_served.h"

#include <stdlib.h>

static net_pair pair;

static unsigned admit(void *ctx, const fre_http_request *r, uint64_t length, size_t *max)
{
    (void)ctx;
    (void)r;
    *max = (size_t)length;
    return 0;
}

static void serve(void *ctx, const fre_http_request *r, fre_http_reply *reply)
{
    (void)ctx;
    (void)r;
    (void)reply;
}

static bool knows(void *ctx, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    (void)ctx;
    (void)pin;
    return true;
}

static fre_status listened(fre_http **out, fre_err *err)
{
    const fre_http_handler handler = {.admit = admit, .serve = serve, .knows = knows};
    const fre_http_opts o = {.certificate_pem = bytes_of(&pair.certificate),
                             .key_pem = bytes_of(&pair.key),
                             .requests_a_minute = 10};

    return fre_http_listen(out, &o, &handler, err);
}

static fre_status connected(fre_http_client **out, fre_err *err)
{
    const fre_http_client_opts o = {.url = "https://127.0.0.1:1",
                                    .pin = pair.pin,
                                    .certificate_pem = bytes_of(&pair.certificate),
                                    .key_pem = bytes_of(&pair.key),
                                    .proxy = "socks5h://127.0.0.1:1"};

    return fre_http_client_new(out, &o, err);
}

ALLOC_CASE(fre_http_listen, fre_http, fre_http_close, listened(&x, err));
ALLOC_CASE(fre_http_client_new, fre_http_client, fre_http_client_free, connected(&x, err));

static void ask(void *client)
{
    unsigned status;
    fre_buf a;

    fre_buf_init(&a, 10);
    must(fre_http_get(client, &a, &status, NULL, "/", NULL) == FRE_E_IO);
}

static void makings(void **state)
{
    (void)state;
    assert_true(alloc_torture(&fre_http_listen_case, NULL) > 4);
    assert_true(alloc_torture(&fre_http_client_new_case, ask) > 4);
}

static void certificates(void **state)
{
    (void)state;
    for (uint64_t n = 0;; n++) {
        fre_buf c, k;
        fre_status st;
        bool hit;

        fre_buf_init(&c, FRE_NET_PEM_MAX);
        fre_buf_init(&k, FRE_NET_PEM_MAX);
        alloc_fail_after(n);
        st = fre_net_self_signed(&c, &k, "a.example", NULL);
        hit = alloc_heal();
        assert_int_equal(st, hit ? FRE_E_NOMEM : FRE_OK);
        assert_true(!hit || (c.n == 0 && k.n == 0));
        fre_buf_wipe(&c);
        fre_buf_wipe(&k);
        if (!hit)
            break;
    }
}

/* Of a request: it is closed, and the next one is served. */
static void requests(void **state)
{
    static const char post[] = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: " FRE_NET_TYPE
                               "\r\nContent-Length: 5\r\n\r\nhello";
    const fre_http_handler handler = {.admit = admit, .serve = serve};
    const fre_http_opts o = {.address = NULL};
    fre_http *h = NULL;
    unsigned failed = 0;

    (void)state;
    must(fre_http_listen(&h, &o, &handler, NULL) == FRE_OK);
    for (uint64_t n = 0; n < 6; n++) {
        unsigned status;

        alloc_fail_after(n);
        status = raw_ask(fre_http_port(h), post, sizeof post - 1, NULL);
        failed += alloc_heal();
        assert_true(status == 200 || status == 0);
        assert_int_equal(raw_ask(fre_http_port(h), post, sizeof post - 1, NULL), 200);
    }
    assert_true(failed > 2); /* connection, request, body */
    fre_http_close(h);
}

static int begin(void **state)
{
    (void)state;
    net_pair_make(&pair);
    return 0;
}

static int end(void **state)
{
    (void)state;
    net_pair_wipe(&pair);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(makings), cmocka_unit_test(certificates),
                                       cmocka_unit_test(requests)};

    return cmocka_run_group_tests(tests, begin, end);
}
