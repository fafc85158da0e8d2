/* Who gets through TLS, and who does not: the key of a certificate decides, on both sides, and nothing else of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "must.h"
#include "net_served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#define MODERN "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define GET_PEER "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n"

static net_pair server, first, second, stranger;
static const fre_bytes none = {NULL, 0};

static gnutls_datum_t datum_of(const fre_buf *b)
{
    return (gnutls_datum_t){.data = b->p, .size = (unsigned)b->n};
}

/* Another certificate of the same key, with other names and dates, signed by itself. */
static void reissue(fre_buf *out, const fre_buf *key_pem, time_t from, time_t to)
{
    const gnutls_datum_t text = datum_of(key_pem);
    gnutls_datum_t pem = {NULL, 0};
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t c;

    must(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&c) == 0);
    must(gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM) == 0);
    must(gnutls_x509_crt_set_version(c, 3) == 0);
    must(gnutls_x509_crt_set_serial(c, "\x01", 1) == 0);
    must(gnutls_x509_crt_set_activation_time(c, from) == 0);
    must(gnutls_x509_crt_set_expiration_time(c, to) == 0);
    must(gnutls_x509_crt_set_dn(c, "CN=somebody else", NULL) == 0);
    must(gnutls_x509_crt_set_key(c, key) == 0);
    must(gnutls_x509_crt_sign2(c, c, key, GNUTLS_DIG_SHA256, 0) == 0);
    must(gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_PEM, &pem) == 0);
    fre_buf_init(out, FRE_NET_PEM_MAX);
    must(fre_buf_append(out, pem.data, pem.size) == FRE_OK);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(c);
    gnutls_x509_privkey_deinit(key);
}

/* A listener that takes `first` (0) and `second` (1). */
static fre_http *guarded(void)
{
    const uint8_t *const pins[] = {first.pin, second.pin};

    served_take(pins, 2);
    return served_to_known(&(fre_http_opts){.certificate_pem = bytes_of(&server.certificate),
                                            .key_pem = bytes_of(&server.key),
                                            .head_seconds = 2,
                                            .body_seconds = 1});
}

static fre_http *open_to_all(fre_bytes certificate, fre_bytes key)
{
    return served(&(fre_http_opts){.certificate_pem = certificate, .key_pem = key});
}

/* GET /peer or /terms of one client: a status, or the call's as a negative number; *peer: the byte. */
static int asks(uint16_t port, const uint8_t *pin, fre_bytes certificate, fre_bytes key, int *peer)
{
    fre_http_client *c = tls_client(port, pin, certificate, key);
    unsigned status = 0;
    fre_err err = {.text = ""};
    fre_buf a;
    fre_status st;

    fre_buf_init(&a, 100);
    st = fre_http_get(c, &a, &status, NULL, "/peer", &err);
    if (st == FRE_OK && peer && a.n == 1)
        *peer = (int8_t)a.p[0];
    assert_true(st == FRE_OK || err.text[0] != '\0');
    fre_buf_wipe(&a);
    fre_http_client_free(c);
    return st == FRE_OK ? (int)status : -(int)st;
}

/* ---- the client's key ---------------------------------------------------------------------------- */

static void a_client_is_told_by_its_key(void **state)
{
    fre_http *h = guarded();
    const uint16_t port = fre_http_port(h);
    int peer = -9;

    (void)state;
    assert_int_equal(
        asks(port, server.pin, bytes_of(&first.certificate), bytes_of(&first.key), &peer), 200);
    assert_int_equal(peer, 0);
    assert_int_equal(
        asks(port, server.pin, bytes_of(&second.certificate), bytes_of(&second.key), &peer), 200);
    assert_int_equal(peer, 1);
    fre_http_close(h);
}

static void without_a_certificate_nothing_is_answered(void **state)
{
    fre_http *h = guarded();

    (void)state;
    assert_int_equal(asks(fre_http_port(h), server.pin, none, none, NULL), -(int)FRE_E_IO);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

static void with_a_key_that_nobody_named_nothing_is_answered(void **state)
{
    fre_http *h = guarded();

    (void)state;
    assert_int_equal(asks(fre_http_port(h), server.pin, bytes_of(&stranger.certificate),
                          bytes_of(&stranger.key), NULL),
                     -(int)FRE_E_IO);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

/* Terms come and go while a listener is there. */
static void who_is_known_may_change(void **state)
{
    const uint8_t *const only[] = {second.pin}, *const both[] = {second.pin, stranger.pin};
    fre_http *h = guarded();
    const uint16_t port = fre_http_port(h);
    fre_http_client *c =
        tls_client(port, server.pin, bytes_of(&first.certificate), bytes_of(&first.key));
    unsigned status = 0;
    int peer = -9;
    fre_buf a;

    (void)state;
    fre_buf_init(&a, 100);
    assert_int_equal(fre_http_get(c, &a, &status, NULL, "/peer", NULL), FRE_OK);
    assert_int_equal(status, 200);
    fre_buf_wipe(&a);
    served_take(only, 1);
    /* Over the connection that it has, and over a new one. */
    assert_int_equal(fre_http_get(c, &a, &status, NULL, "/peer", NULL), FRE_E_IO);
    assert_int_equal(fre_http_get(c, &a, &status, NULL, "/peer", NULL), FRE_E_IO);
    assert_int_equal(
        asks(port, server.pin, bytes_of(&stranger.certificate), bytes_of(&stranger.key), NULL),
        -(int)FRE_E_IO);
    served_take(both, 2);
    assert_int_equal(
        asks(port, server.pin, bytes_of(&stranger.certificate), bytes_of(&stranger.key), &peer),
        200);
    assert_int_equal(peer, 1);
    fre_http_client_free(c);
    fre_http_close(h);
}

/* A clock that is wrong, or a certificate that was forgotten, must not end a collection: terms name keys. */
static void an_expired_or_reissued_certificate_of_the_right_key_is_taken(void **state)
{
    static const struct {
        time_t from, to;
    } dates[] = {{100000, 200000}, {4000000000, 4000000001}, {946684800, 4000000000}};
    fre_http *h = guarded();

    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        fre_buf again;
        int peer = -9;

        reissue(&again, &second.key, dates[i].from, dates[i].to);
        assert_int_equal(
            asks(fre_http_port(h), server.pin, bytes_of(&again), bytes_of(&second.key), &peer),
            200);
        assert_int_equal(peer, 1);
        fre_buf_wipe(&again);
    }
    fre_http_close(h);
}

static void no_certificate_is_asked_for_without_pins(void **state)
{
    fre_http *h = open_to_all(bytes_of(&server.certificate), bytes_of(&server.key));
    int peer = -9;

    (void)state;
    assert_int_equal(asks(fre_http_port(h), server.pin, none, none, &peer), 200);
    assert_int_equal(peer, -1);
    fre_http_close(h);
}

/* ---- the server's key ---------------------------------------------------------------------------- */

static void a_server_with_another_key_is_refused(void **state)
{
    fre_http *h = open_to_all(bytes_of(&stranger.certificate), bytes_of(&stranger.key));

    (void)state;
    assert_int_equal(asks(fre_http_port(h), server.pin, none, none, NULL), -(int)FRE_E_KEY);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

static void an_expired_or_reissued_certificate_of_a_server_is_taken(void **state)
{
    fre_buf again;
    fre_http *h;

    (void)state;
    reissue(&again, &server.key, 100000, 200000);
    h = open_to_all(bytes_of(&again), bytes_of(&server.key));
    assert_int_equal(asks(fre_http_port(h), server.pin, none, none, NULL), 200);
    fre_http_close(h);
    fre_buf_wipe(&again);
}

static void a_server_without_tls_is_refused(void **state)
{
    fre_http *h = served(&(fre_http_opts){.address = NULL});

    (void)state;
    assert_int_equal(asks(fre_http_port(h), server.pin, none, none, NULL), -(int)FRE_E_IO);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

static void plain_requests_to_tls_are_not_answered(void **state)
{
    fre_http *h = guarded();

    (void)state;
    assert_int_equal(raw_ask(fre_http_port(h), GET_PEER, strlen(GET_PEER), NULL), 0);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

/* ---- sessions of the test's own ------------------------------------------------------------------ */

typedef struct tls {
    gnutls_certificate_credentials_t cred;
    gnutls_session_t s;
    int fd, handshake;
} tls;

/* shown: the certificate; whose: the key, which need not be its own.  NULL: none. */
static void tls_open(tls *t, uint16_t port, const char *priorities, const fre_buf *shown,
                     const fre_buf *whose)
{
    const char *bad = NULL;

    must(gnutls_certificate_allocate_credentials(&t->cred) == 0);
    gnutls_certificate_set_flags(t->cred, GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH);
    if (shown) {
        const gnutls_datum_t c = datum_of(shown), k = datum_of(whose);

        must(gnutls_certificate_set_x509_key_mem(t->cred, &c, &k, GNUTLS_X509_FMT_PEM) >= 0);
    }
    must(gnutls_init(&t->s, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL) == 0);
    must(gnutls_priority_set_direct(t->s, priorities, &bad) == 0);
    must(gnutls_credentials_set(t->s, GNUTLS_CRD_CERTIFICATE, t->cred) == 0);
    t->fd = raw_connect(port);
    must(t->fd >= 0);
    gnutls_transport_set_int(t->s, t->fd);
    gnutls_record_set_timeout(t->s, 5000);
    gnutls_handshake_set_timeout(t->s, 5000);
    do
        t->handshake = gnutls_handshake(t->s);
    while (t->handshake < 0 && !gnutls_error_is_fatal(t->handshake));
}

/* What is heard of HTTP, until n bytes are there. */
static size_t tls_ask(tls *t, const char *text, char *heard, size_t max, size_t n)
{
    size_t have = 0;
    ssize_t got = 1;

    if (t->handshake == 0)
        (void)gnutls_record_send(t->s, text, strlen(text));
    while (t->handshake == 0 && have < n && got > 0) {
        got = gnutls_record_recv(t->s, heard + have, max - 1 - have);
        have += got > 0 ? (size_t)got : 0;
    }
    heard[have] = '\0';
    return have;
}

static void tls_close(tls *t)
{
    (void)close(t->fd);
    gnutls_deinit(t->s);
    gnutls_certificate_free_credentials(t->cred);
}

static void a_certificate_of_somebody_elses_key_proves_nothing(void **state)
{
    fre_http *h = guarded();
    char heard[1000];
    tls t;

    (void)state;
    for (unsigned version = 2; version <= 3; version++) {
        tls_open(&t, fre_http_port(h),
                 version == 2 ? "NORMAL:-VERS-ALL:+VERS-TLS1.2" : "NORMAL:-VERS-ALL:+VERS-TLS1.3",
                 &first.certificate, &stranger.key);
        assert_int_equal(tls_ask(&t, GET_PEER, heard, sizeof heard, 1), 0);
        tls_close(&t);
    }
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

static void not_even_malformed_requests_are_answered_without_a_certificate(void **state)
{
    fre_http *h = guarded();
    char heard[1000];
    tls t;

    (void)state;
    tls_open(&t, fre_http_port(h), MODERN, NULL, NULL);
    assert_int_equal(tls_ask(&t, "nonsense\r\n\r\n", heard, sizeof heard, 1), 0);
    tls_close(&t);
    tls_open(&t, fre_http_port(h), MODERN, &stranger.certificate, &stranger.key);
    assert_int_equal(tls_ask(&t, "nonsense\r\n\r\n", heard, sizeof heard, 1), 0);
    tls_close(&t);
    fre_http_close(h);
}

static void versions_and_ciphers_of_old_are_refused(void **state)
{
    static const struct {
        const char *priorities;
        bool taken;
    } all[] = {{"NORMAL:-VERS-ALL:+VERS-TLS1.3", true},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.2", true},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.1:%VERIFY_ALLOW_SIGN_WITH_SHA1", false},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.0:%VERIFY_ALLOW_SIGN_WITH_SHA1", false},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA", false},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-CBC", false},
               {"NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+ANON-ECDH", false}};
    fre_http *h = open_to_all(bytes_of(&server.certificate), bytes_of(&server.key));

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char heard[1000];
        tls t;

        tls_open(&t, fre_http_port(h), all[i].priorities, NULL, NULL);
        assert_int_equal(tls_ask(&t, GET_PEER, heard, sizeof heard, 1) > 0, all[i].taken);
        tls_close(&t);
    }
    fre_http_close(h);
}

/* In TLS 1.2 a client could ask for another handshake, and another, in one connection. */
static void a_client_cannot_renegotiate(void **state)
{
    fre_http *h = guarded();
    char heard[1000];
    tls t;
    int e;

    (void)state;
    tls_open(&t, fre_http_port(h), "NORMAL:-VERS-ALL:+VERS-TLS1.2", &first.certificate, &first.key);
    assert_int_equal(t.handshake, 0);
    do
        e = gnutls_handshake(t.s);
    while (e < 0 && !gnutls_error_is_fatal(e));
    assert_true(e < 0);
    t.handshake = 0;
    assert_int_equal(tls_ask(&t, GET_PEER, heard, sizeof heard, 1), 0);
    tls_close(&t);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

/* Between servers, where no proxy is. */
static void a_connection_of_a_known_client_carries_many_requests(void **state)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
        "Content-Type: application/fre-e2t\r\nContent-Length: 1\r\n\r\n\x01";
    fre_http *h = guarded();
    char heard[4096];
    tls t;

    (void)state;
    tls_open(&t, fre_http_port(h), MODERN, &second.certificate, &second.key);
    for (unsigned i = 1; i <= 5; i++) {
        (void)tls_ask(&t, GET_PEER, heard, sizeof heard, strlen(answer));
        assert_string_equal(heard, answer);
        assert_int_equal(served_count(), i);
    }
    tls_close(&t);
    fre_http_close(h);
}

/* Silence, before and behind a handshake. */
static void who_says_nothing_is_cut_off(void **state)
{
    fre_http *h = guarded(); /* after 2 s */
    char heard[100];
    bool closed = false;
    tls t;
    int fd = raw_connect(fre_http_port(h));

    (void)state;
    assert_int_equal(raw_hear(fd, heard, sizeof heard, 30, &closed), 0);
    assert_true(closed);
    (void)close(fd);
    tls_open(&t, fre_http_port(h), MODERN, &first.certificate, &first.key);
    assert_int_equal(t.handshake, 0);
    (void)raw_hear(t.fd, heard, sizeof heard, 30, &closed);
    assert_true(closed);
    tls_close(&t);
    fre_http_close(h);
}

static void a_slow_body_over_tls_is_408(void **state)
{
    static const char post[] = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: " FRE_NET_TYPE
                               "\r\nContent-Length: 5\r\n\r\nhell";
    fre_http *h = guarded();
    char heard[1000];
    tls t;

    (void)state;
    tls_open(&t, fre_http_port(h), MODERN, &first.certificate, &first.key);
    assert_true(tls_ask(&t, post, heard, sizeof heard, 10) >= 10);
    assert_int_equal(raw_status(heard), 408);
    tls_close(&t);
    assert_int_equal(served_count(), 0);
    fre_http_close(h);
}

/* ---- texts --------------------------------------------------------------------------------------- */

static void texts_that_are_no_certificates_are_refused(void **state)
{
    static const fre_http_handler handler = {
        .admit = (unsigned (*)(void *, const fre_http_request *, uint64_t, size_t *))abort,
        .serve = (void (*)(void *, const fre_http_request *, fre_http_reply *))abort};
    const fre_bytes nonsense = {(const uint8_t *)"-----BEGIN CERTIFICATE-----\nAAAA\n", 33};
    const fre_bytes certificate = bytes_of(&first.certificate), key = bytes_of(&first.key);
    const fre_bytes other = bytes_of(&second.key);
    const fre_bytes pairs[][2] = {{nonsense, key},
                                  {certificate, nonsense},
                                  {certificate, other},
                                  {certificate, none},
                                  {none, key}};
    uint8_t pin[FRE_NET_PIN_BYTES];
    fre_err err;

    (void)state;
    memset(pin, 0xa5, sizeof pin);
    assert_int_equal(fre_net_spki_pin(pin, nonsense, &err), FRE_E_DATA);
    assert_int_equal(fre_net_spki_pin(pin, none, &err), FRE_E_DATA);
    must_be_untouched(pin, sizeof pin);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const fre_http_opts o = {.certificate_pem = pairs[i][0], .key_pem = pairs[i][1]};
        const fre_http_client_opts c = {.url = "https://a",
                                        .pin = server.pin,
                                        .certificate_pem = pairs[i][0],
                                        .key_pem = pairs[i][1]};
        fre_http *h = NULL;
        fre_http_client *client = NULL;

        assert_int_equal(fre_http_listen(&h, &o, &handler, &err), FRE_E_DATA);
        assert_int_equal(fre_http_client_new(&client, &c, &err), FRE_E_DATA);
        assert_true(!h && !client);
    }
}

static void certificates_are_for_hosts(void **state)
{
    static const char *const good[] = {"a", "a.example", "192.0.2.1", "2001:db8::1"};
    static const char *const bad[] = {"", "a b", "a/b", "\xc3\xa9", "*.a"};
    fre_buf c, k;

    (void)state;
    fre_buf_init(&c, FRE_NET_PEM_MAX);
    fre_buf_init(&k, FRE_NET_PEM_MAX);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        gnutls_datum_t text;
        gnutls_x509_crt_t x;

        fre_buf_wipe(&c);
        fre_buf_wipe(&k);
        assert_int_equal(fre_net_self_signed(&c, &k, good[i], NULL), FRE_OK);
        text = datum_of(&c);
        must(gnutls_x509_crt_init(&x) == 0 &&
             gnutls_x509_crt_import(x, &text, GNUTLS_X509_FMT_PEM) == 0);
        assert_true(gnutls_x509_crt_check_hostname(x, good[i]) != 0);
        assert_true(gnutls_x509_crt_get_expiration_time(x) > 4000000000);
        gnutls_x509_crt_deinit(x);
    }
    fre_buf_wipe(&c);
    fre_buf_wipe(&k);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(fre_net_self_signed(&c, &k, bad[i], NULL), FRE_E_ARG);
    fre_buf_init(&c, 100);
    assert_int_equal(fre_net_self_signed(&c, &k, "a", NULL), FRE_E_LIMIT);
    assert_true(c.n == 0 && k.n == 0);
}

static int begin(void **state)
{
    (void)state;
    net_pair_make(&server);
    net_pair_make(&first);
    net_pair_make(&second);
    net_pair_make(&stranger);
    return 0;
}

static int end(void **state)
{
    (void)state;
    net_pair_wipe(&server);
    net_pair_wipe(&first);
    net_pair_wipe(&second);
    net_pair_wipe(&stranger);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_told_by_its_key),
        cmocka_unit_test(without_a_certificate_nothing_is_answered),
        cmocka_unit_test(with_a_key_that_nobody_named_nothing_is_answered),
        cmocka_unit_test(who_is_known_may_change),
        cmocka_unit_test(an_expired_or_reissued_certificate_of_the_right_key_is_taken),
        cmocka_unit_test(no_certificate_is_asked_for_without_pins),
        cmocka_unit_test(a_server_with_another_key_is_refused),
        cmocka_unit_test(an_expired_or_reissued_certificate_of_a_server_is_taken),
        cmocka_unit_test(a_server_without_tls_is_refused),
        cmocka_unit_test(plain_requests_to_tls_are_not_answered),
        cmocka_unit_test(a_certificate_of_somebody_elses_key_proves_nothing),
        cmocka_unit_test(not_even_malformed_requests_are_answered_without_a_certificate),
        cmocka_unit_test(versions_and_ciphers_of_old_are_refused),
        cmocka_unit_test(a_client_cannot_renegotiate),
        cmocka_unit_test(a_connection_of_a_known_client_carries_many_requests),
        cmocka_unit_test(who_says_nothing_is_cut_off),
        cmocka_unit_test(a_slow_body_over_tls_is_408),
        cmocka_unit_test(texts_that_are_no_certificates_are_refused),
        cmocka_unit_test(certificates_are_for_hosts),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
