/* Oblivious HTTP: the RFC's exchange end to end, key configurations, and every way to be wrong. */
#include "seal_vectors.h"

static fre_rng rng_of(const char *label)
{
    static const uint8_t seed[32] = {6};
    fre_rng r;

    assert_int_equal(fre_rng_init_seeded(&r, seed, label), FRE_OK);
    return r;
}

static fre_ohttp_key make_key(uint8_t id, fre_rng *r)
{
    fre_ohttp_key k = {.config = {.id = id,
                                  .aeads = 2,
                                  .aead = {FRE_HPKE_CHACHA20_POLY1305, FRE_HPKE_AES_128_GCM}}};

    assert_int_equal(fre_hpke_keygen(&k.pair, r), FRE_OK);
    k.config.pk = k.pair.pk;
    return k;
}

/* A buffer with something in it, so that appending and leaving alone can be told apart. */
static fre_buf started(void)
{
    fre_buf b;

    fre_buf_init(&b, 1u << 20);
    assert_int_equal(fre_buf_append(&b, "begun", 5), FRE_OK);
    return b;
}

static fre_bytes added(const fre_buf *b)
{
    assert_true(b->n >= 5);
    assert_memory_equal(b->p, "begun", 5);
    return view(b->p + 5, b->n - 5);
}

/* ---- RFC 9458 appendix A ---------------------------------------------------------------------- */

typedef struct rfc_exchange {
    hex_bytes sk, config, request, ephemeral, sealed_request, response, nonce, sealed_response;
} rfc_exchange;

static void read_exchange(rfc_exchange *x, const char *kind, unsigned lines)
{
    const char *const kinds[] = {kind, NULL};
    const struct {
        const char *name;
        hex_bytes *to;
    } parts[] = {{"sk", &x->sk},
                 {"config", &x->config},
                 {"request", &x->request},
                 {"ephemeral", &x->ephemeral},
                 {"sealed_request", &x->sealed_request},
                 {"response", &x->response},
                 {"nonce", &x->nonce},
                 {"sealed_response", &x->sealed_response}};
    FILE *f = vectors_open();
    vector_line l;
    unsigned seen = 0;

    while (vectors_next(f, &l, kinds)) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (strcmp(l.word[1], parts[i].name) == 0) {
                *parts[i].to = unhex(l.word[2]);
                seen++;
            }
        }
    }
    (void)fclose(f);
    assert_int_equal(seen, lines);
}

/* From the client's request to its reading of the response, with one AEAD. */
static void check_exchange(const rfc_exchange *v, const fre_ohttp_key *key, fre_hpke_aead aead)
{
    fre_ohttp_exchange client, gateway;
    fre_hpke_sk ephemeral;
    fre_buf b = started();

    memcpy(ephemeral.b, v->ephemeral.b, sizeof ephemeral.b);
    assert_int_equal(fre_ohttp_request_seal_with(&client, &b, &key->config, aead,
                                                 bytes_of(&v->request), &ephemeral),
                     FRE_OK);
    assert_bytes(added(&b), bytes_of(&v->sealed_request));
    fre_buf_wipe(&b);
    b = started();
    assert_int_equal(fre_ohttp_request_open(&gateway, &b, key, 1, bytes_of(&v->sealed_request)),
                     FRE_OK);
    assert_bytes(added(&b), bytes_of(&v->request));
    fre_buf_wipe(&b);
    b = started();
    assert_int_equal(fre_ohttp_nonce_bytes(&gateway), v->nonce.n);
    assert_int_equal(
        fre_ohttp_response_seal_with(&gateway, &b, bytes_of(&v->response), bytes_of(&v->nonce)),
        FRE_OK);
    assert_bytes(added(&b), bytes_of(&v->sealed_response));
    fre_buf_wipe(&b);
    b = started();
    assert_int_equal(fre_ohttp_response_open(&client, &b, bytes_of(&v->sealed_response)), FRE_OK);
    assert_bytes(added(&b), bytes_of(&v->response));
    fre_buf_wipe(&b);
}

static void exchange_follows_rfc_9458(void **state)
{
    static rfc_exchange v;
    fre_ohttp_config config;
    fre_ohttp_key key;
    fre_hpke_sk sk;
    fre_bhttp m;
    fre_buf b = started();

    (void)state;
    read_exchange(&v, "ohttp", 8);
    memcpy(sk.b, v.sk.b, sizeof sk.b);
    assert_int_equal(fre_hpke_keypair_from(&key.pair, &sk), FRE_OK);
    assert_int_equal(fre_ohttp_config_decode(&key.config, bytes_of(&v.config)), FRE_OK);
    config = key.config;
    assert_int_equal(config.id, 1);
    assert_int_equal(config.aeads, 2);
    assert_int_equal(config.aead[0], FRE_HPKE_AES_128_GCM);
    assert_int_equal(config.aead[1], FRE_HPKE_CHACHA20_POLY1305);
    assert_memory_equal(config.pk.b, key.pair.pk.b, 32);
    assert_int_equal(fre_ohttp_config_encode(&b, &config), FRE_OK);
    assert_bytes(added(&b), bytes_of(&v.config));
    fre_buf_wipe(&b);
    check_exchange(&v, &key, FRE_HPKE_AES_128_GCM);

    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, bytes_of(&v.request)), FRE_OK);
    assert_bytes(m.method, text("GET"));
    assert_bytes(m.authority, text("example.com"));
    assert_bytes(m.path, text("/"));
    fre_bhttp_wipe(&m);
    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&v.response)), FRE_OK);
    assert_int_equal(m.status, 200);
    fre_bhttp_wipe(&m);

    read_exchange(&v, "ohttp-chacha", 3); /* over what the exchanges share */
    check_exchange(&v, &key, FRE_HPKE_CHACHA20_POLY1305);
}

/* ---- exchanges ----------------------------------------------------------------------------- */

typedef struct open_exchange {
    fre_ohttp_key key[2];
    fre_ohttp_exchange client, gateway;
    fre_buf request, response;
} open_exchange;

static open_exchange make_exchange(fre_hpke_aead aead, const char *seed)
{
    fre_rng r = rng_of(seed);
    open_exchange x;
    fre_buf got = started();

    x.key[0] = make_key(7, &r);
    x.key[1] = make_key(8, &r);
    fre_buf_init(&x.request, 1000);
    fre_buf_init(&x.response, 1000);
    assert_int_equal(fre_ohttp_request_seal(&x.client, &x.request, &x.key[1].config, aead,
                                            text("a request"), &r),
                     FRE_OK);
    assert_int_equal(x.request.n, 9 + FRE_OHTTP_REQUEST_OVERHEAD);
    assert_int_equal(
        fre_ohttp_request_open(&x.gateway, &got, x.key, 2, view(x.request.p, x.request.n)), FRE_OK);
    assert_bytes(added(&got), text("a request"));
    fre_buf_wipe(&got);
    assert_int_equal(fre_ohttp_response_seal(&x.gateway, &x.response, text("a response"), &r),
                     FRE_OK);
    assert_int_equal(x.response.n, fre_ohttp_nonce_bytes(&x.gateway) + 10 + FRE_HPKE_TAG_BYTES);
    got = started();
    assert_int_equal(fre_ohttp_response_open(&x.client, &got, view(x.response.p, x.response.n)),
                     FRE_OK);
    assert_bytes(added(&got), text("a response"));
    fre_buf_wipe(&got);
    return x;
}

static void end_exchange(open_exchange *x)
{
    fre_buf_wipe(&x->request);
    fre_buf_wipe(&x->response);
}

static void check_request(const open_exchange *x, fre_bytes sealed, fre_status want)
{
    fre_ohttp_exchange gateway;
    fre_buf b = started();

    mark(&gateway, sizeof gateway);
    assert_int_equal(fre_ohttp_request_open(&gateway, &b, x->key, 2, sealed), want);
    assert_untouched(&gateway, sizeof gateway);
    assert_int_equal(added(&b).n, 0);
    fre_buf_wipe(&b);
}

static void check_response(const fre_ohttp_exchange *client, fre_bytes sealed, fre_status want)
{
    fre_buf b = started();

    assert_int_equal(fre_ohttp_response_open(client, &b, sealed), want);
    assert_int_equal(added(&b).n, 0);
    fre_buf_wipe(&b);
}

static void wrong_requests_are_refused(fre_hpke_aead aead)
{
    open_exchange x = make_exchange(aead, "requests");
    uint8_t *p = x.request.p;

    for (size_t n = 0; n < x.request.n; n++)
        check_request(&x, view(p, n), n < FRE_OHTTP_REQUEST_OVERHEAD ? FRE_E_DATA : FRE_E_REFUSED);
    for (size_t bit = 0; bit < 8 * x.request.n; bit++) {
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        /* In the seven bytes of the header: no such key, KEM, KDF or AEAD.  The two AEADs, 1 and
         * 3, differ in one bit. */
        check_request(&x, view(p, x.request.n),
                      bit / 8 < 7 && bit != 6 * 8 + 1 ? FRE_E_KEY : FRE_E_REFUSED);
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* The other key and the other AEAD are ours, but not what it was sealed with. */
    p[0] = 7;
    check_request(&x, view(p, x.request.n), FRE_E_REFUSED);
    p[0] = 8;
    p[6] =
        (uint8_t)(aead == FRE_HPKE_AES_128_GCM ? FRE_HPKE_CHACHA20_POLY1305 : FRE_HPKE_AES_128_GCM);
    check_request(&x, view(p, x.request.n), FRE_E_REFUSED);
    p[6] = (uint8_t)aead;
    /* A key that does not offer this AEAD, and no key at all. */
    x.key[1].config.aeads = 1;
    x.key[1].config.aead[0] =
        aead == FRE_HPKE_AES_128_GCM ? FRE_HPKE_CHACHA20_POLY1305 : FRE_HPKE_AES_128_GCM;
    check_request(&x, view(p, x.request.n), FRE_E_KEY);
    x.key[1].config.id = 9;
    check_request(&x, view(p, x.request.n), FRE_E_KEY);
    check_request(&x, view(p, FRE_OHTTP_REQUEST_OVERHEAD - 1), FRE_E_DATA);
    /* An encapsulated key of small order. */
    p[0] = 7;
    memset(p + 7, 0, 32);
    check_request(&x, view(p, x.request.n), FRE_E_REFUSED);
    end_exchange(&x);
}

static void wrong_responses_are_refused(fre_hpke_aead aead)
{
    open_exchange x = make_exchange(aead, "responses"), y = make_exchange(aead, "another");
    const size_t least = fre_ohttp_nonce_bytes(&x.client) + FRE_HPKE_TAG_BYTES;
    uint8_t *p = x.response.p;
    fre_rng r = rng_of("roles");
    fre_buf b = started();

    for (size_t n = 0; n < x.response.n; n++)
        check_response(&x.client, view(p, n), n < least ? FRE_E_DATA : FRE_E_REFUSED);
    for (size_t bit = 0; bit < 8 * x.response.n; bit++) {
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_response(&x.client, view(p, x.response.n), FRE_E_REFUSED);
        p[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    check_response(&y.client, view(p, x.response.n), FRE_E_REFUSED);
    /* Each side has its own half only. */
    check_response(&x.gateway, view(p, x.response.n), FRE_E_STATE);
    assert_int_equal(fre_ohttp_response_seal(&x.client, &b, text("x"), &r), FRE_E_STATE);
    assert_int_equal(fre_ohttp_response_seal_with(&x.gateway, &b, text("x"), view(p, 15)),
                     FRE_E_ARG);
    assert_int_equal(fre_ohttp_response_seal(&x.gateway, &b, text("x"), NULL), FRE_E_ARG);
    assert_int_equal(added(&b).n, 0);
    fre_buf_wipe(&b);
    fre_ohttp_exchange_wipe(&x.client);
    check_response(&x.client, view(p, x.response.n), FRE_E_STATE);
    assert_int_equal(fre_ohttp_nonce_bytes(&x.client), 0);
    end_exchange(&x);
    end_exchange(&y);
}

static void both_aeads_refuse(void **state)
{
    (void)state;
    wrong_requests_are_refused(FRE_HPKE_AES_128_GCM);
    wrong_requests_are_refused(FRE_HPKE_CHACHA20_POLY1305);
    wrong_responses_are_refused(FRE_HPKE_AES_128_GCM);
    wrong_responses_are_refused(FRE_HPKE_CHACHA20_POLY1305);
}

static void arguments_and_room_are_checked(void **state)
{
    fre_rng r = rng_of("arguments");
    fre_ohttp_key key = make_key(1, &r);
    const fre_hpke_aead aes = FRE_HPKE_AES_128_GCM;
    fre_ohttp_exchange x;
    fre_ohttp_config one = key.config;
    fre_buf small;

    (void)state;
    mark(&x, sizeof x);
    fre_buf_init(&small, FRE_OHTTP_REQUEST_OVERHEAD);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &one, aes, text("x"), &r), FRE_E_LIMIT);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &one, aes, text("x"), NULL), FRE_E_ARG);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, NULL, aes, text("x"), &r), FRE_E_ARG);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &one, (fre_hpke_aead)2, text("x"), &r),
                     FRE_E_ARG);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &one, aes, view(&r, FRE_SEAL_MAX + 1u), &r),
                     FRE_E_LIMIT);
    one.aeads = 1; /* ChaCha20-Poly1305 only */
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &one, aes, text(""), &r), FRE_E_ARG);
    memset(one.pk.b, 0, sizeof one.pk.b);
    assert_int_equal(
        fre_ohttp_request_seal(&x, &small, &one, FRE_HPKE_CHACHA20_POLY1305, text(""), &r),
        FRE_E_REFUSED);
    assert_untouched(&x, sizeof x);
    assert_int_equal(small.n, 0);
    assert_int_equal(fre_ohttp_request_seal(&x, &small, &key.config, aes, text(""), &r), FRE_OK);
    assert_int_equal(small.n, FRE_OHTTP_REQUEST_OVERHEAD);
    fre_buf_wipe(&small);

    /* The gateway's side, and the client's of the response. */
    {
        open_exchange o = make_exchange(aes, "arguments");
        const fre_bytes lost = view(NULL, 3), huge = view(&r, (size_t)FRE_SEAL_MAX + 100);
        const fre_bytes request = view(o.request.p, o.request.n);
        const fre_bytes response = view(o.response.p, o.response.n);
        fre_buf full;

        check_request(&o, lost, FRE_E_ARG);
        check_request(&o, huge, FRE_E_LIMIT);
        check_response(&o.client, lost, FRE_E_ARG);
        check_response(&o.client, huge, FRE_E_LIMIT);
        fre_buf_init(&full, 8);
        mark(&x, sizeof x);
        assert_int_equal(fre_ohttp_request_open(&x, &full, NULL, 1, request), FRE_E_ARG);
        assert_int_equal(fre_ohttp_request_open(&x, &full, o.key, 0, request), FRE_E_KEY);
        assert_int_equal(fre_ohttp_request_open(&x, NULL, o.key, 2, request), FRE_E_ARG);
        assert_int_equal(fre_ohttp_request_open(&x, &full, o.key, 2, request), FRE_E_LIMIT);
        assert_untouched(&x, sizeof x);
        assert_int_equal(fre_ohttp_response_open(&o.client, &full, response), FRE_E_LIMIT);
        assert_int_equal(fre_ohttp_response_seal(&o.gateway, &full, text(""), &r), FRE_E_LIMIT);
        assert_int_equal(fre_ohttp_response_seal(&o.gateway, &full, lost, &r), FRE_E_ARG);
        assert_int_equal(fre_ohttp_response_seal(&o.gateway, &full, huge, &r), FRE_E_LIMIT);
        assert_int_equal(full.n, 0);
        fre_buf_wipe(&full);
        end_exchange(&o);
    }
    fre_ohttp_key_wipe(&key);
    for (size_t i = 0; i < sizeof key; i++)
        assert_int_equal(((const uint8_t *)&key)[i], 0);
    fre_ohttp_key_wipe(NULL);
    fre_ohttp_exchange_wipe(NULL);
}

/* ---- key configurations -------------------------------------------------------------------- */

static void check_config(fre_bytes in, fre_status want)
{
    fre_ohttp_config c;

    mark(&c, sizeof c);
    assert_int_equal(fre_ohttp_config_decode(&c, in), want);
    if (want != FRE_OK)
        assert_untouched(&c, sizeof c);
}

static void configurations_are_strict(void **state)
{
    fre_rng r = rng_of("config");
    fre_ohttp_key key = make_key(0xfe, &r);
    fre_ohttp_config c;
    fre_buf b;
    uint8_t p[64];
    size_t n;

    (void)state;
    fre_buf_init(&b, sizeof p);
    assert_int_equal(fre_ohttp_config_encode(&b, &key.config), FRE_OK);
    n = b.n;
    assert_int_equal(n, 1 + 2 + 32 + 2 + 8);
    memcpy(p, b.p, n);
    assert_int_equal(fre_ohttp_config_decode(&c, view(p, n)), FRE_OK);
    assert_int_equal(c.id, 0xfe);
    assert_int_equal(c.aeads, 2);
    assert_int_equal(c.aead[0], FRE_HPKE_CHACHA20_POLY1305);
    assert_int_equal(c.aead[1], FRE_HPKE_AES_128_GCM);
    assert_memory_equal(c.pk.b, key.pair.pk.b, 32);
    for (size_t cut = 0; cut < n; cut++)
        check_config(view(p, cut), FRE_E_DATA);
    p[n] = 0;
    check_config(view(p, n + 1), FRE_E_DATA);
    p[2] = 0x10; /* DHKEM(P-256): its key has another length */
    check_config(view(p, n), FRE_E_KEY);
    p[2] = 0x20;
    p[36] = 0; /* no suite */
    check_config(view(p, 37), FRE_E_DATA);
    p[36] = 6;
    check_config(view(p, 37 + 6), FRE_E_DATA);
    p[36] = 8;
    p[38] = 3; /* HKDF-SHA512, then ours */
    assert_int_equal(fre_ohttp_config_decode(&c, view(p, n)), FRE_OK);
    assert_int_equal(c.aeads, 1);
    assert_int_equal(c.aead[0], FRE_HPKE_AES_128_GCM);
    p[44] = 2; /* AES-256-GCM: none is left */
    check_config(view(p, n), FRE_E_KEY);
    p[38] = 1;
    p[40] = p[44] = 1; /* the same twice counts once */
    assert_int_equal(fre_ohttp_config_decode(&c, view(p, n)), FRE_OK);
    assert_int_equal(c.aeads, 1);
    check_config(view(p, 65536), FRE_E_LIMIT);
    check_config(view(NULL, 4), FRE_E_ARG);

    assert_int_equal(fre_ohttp_config_encode(&b, NULL), FRE_E_ARG);
    key.config.aeads = 0;
    assert_int_equal(fre_ohttp_config_encode(&b, &key.config), FRE_E_ARG);
    assert_int_equal(fre_ohttp_configs_encode(&b, &key.config, 1), FRE_E_ARG);
    key.config.aeads = 3;
    assert_int_equal(fre_ohttp_config_encode(&b, &key.config), FRE_E_ARG);
    key.config.aeads = 2;
    key.config.aead[1] = key.config.aead[0];
    assert_int_equal(fre_ohttp_config_encode(&b, &key.config), FRE_E_ARG);
    key.config.aead[1] = (fre_hpke_aead)2;
    assert_int_equal(fre_ohttp_config_encode(&b, &key.config), FRE_E_ARG);
    assert_int_equal(b.n, n);
    fre_buf_wipe(&b);
}

static void check_list(fre_bytes in, fre_status want, size_t want_n)
{
    fre_ohttp_config c[FRE_OHTTP_CONFIGS_MAX];
    size_t n = 77;

    mark(c, sizeof c);
    assert_int_equal(fre_ohttp_configs_decode(c, &n, in), want);
    assert_int_equal(n, want == FRE_OK ? want_n : 77);
    if (want == FRE_OK)
        assert_untouched(c + want_n, sizeof c - want_n * sizeof c[0]);
    else
        assert_untouched(c, sizeof c);
}

static void lists_are_strict(void **state)
{
    fre_rng r = rng_of("list");
    fre_ohttp_config c[FRE_OHTTP_CONFIGS_MAX + 1], back[FRE_OHTTP_CONFIGS_MAX];
    fre_buf b;
    size_t n, one;

    (void)state;
    fre_buf_init(&b, 4096);
    for (size_t i = 0; i < FRE_OHTTP_CONFIGS_MAX + 1; i++)
        c[i] = make_key((uint8_t)i, &r).config;
    assert_int_equal(fre_ohttp_configs_encode(&b, c, 0), FRE_E_ARG);
    assert_int_equal(fre_ohttp_configs_encode(&b, c, FRE_OHTTP_CONFIGS_MAX + 1), FRE_E_ARG);
    assert_int_equal(b.n, 0);
    assert_int_equal(fre_ohttp_configs_encode(&b, c, FRE_OHTTP_CONFIGS_MAX), FRE_OK);
    one = b.n / FRE_OHTTP_CONFIGS_MAX;
    assert_int_equal(fre_ohttp_configs_decode(back, &n, view(b.p, b.n)), FRE_OK);
    assert_int_equal(n, FRE_OHTTP_CONFIGS_MAX);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(back[i].id, i);
        assert_memory_equal(back[i].pk.b, c[i].pk.b, 32);
    }
    for (size_t cut = 0; cut <= b.n; cut++)
        check_list(view(b.p, cut), cut > 0 && cut % one == 0 ? FRE_OK : FRE_E_DATA, cut / one);
    assert_int_equal(fre_ohttp_configs_encode(&b, c + FRE_OHTTP_CONFIGS_MAX, 1), FRE_OK);
    check_list(view(b.p, b.n), FRE_E_LIMIT, 0);
    /* What we do not know is skipped; what is broken spoils the list, wherever it stands. */
    b.p[one + 2 + 2] = 0x10;
    check_list(view(b.p, b.n), FRE_OK, FRE_OHTTP_CONFIGS_MAX);
    check_list(view(b.p + one, one), FRE_E_KEY, 0);
    b.p[2 * one + 2 + 36] = 7;
    check_list(view(b.p, b.n), FRE_E_DATA, 0);
    check_list(view(b.p, 2 * one), FRE_OK, 1);
    check_list(view(b.p, FRE_OHTTP_CONFIG_BYTES_MAX + 1), FRE_E_LIMIT, 0);
    check_list(view(NULL, 5), FRE_E_ARG, 0);
    fre_buf_wipe(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchange_follows_rfc_9458),
        cmocka_unit_test(both_aeads_refuse),
        cmocka_unit_test(arguments_and_room_are_checked),
        cmocka_unit_test(configurations_are_strict),
        cmocka_unit_test(lists_are_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
