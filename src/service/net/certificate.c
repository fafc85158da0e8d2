/* certificate.c - public keys of certificates, and certificates for new keys. */
#include "net_private.h"

#include <arpa/inet.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#define DER_MAX 16384u
/* RFC 5280, 4.1.2.5: 99991231235959Z is "no end".  Both ends fixed: a certificate tells no date. */
#define BEGINS 946684800 /* 2000-01-01 */
#define ENDS 253402300799

static fre_status pin_of(uint8_t pin[FRE_NET_PIN_BYTES], gnutls_x509_crt_t certificate)
{
    gnutls_pubkey_t key = NULL;
    gnutls_datum_t der = {NULL, 0};
    fre_status st = FRE_E_NOMEM;
    fre_sha256 h;

    if (gnutls_pubkey_init(&key) < 0)
        return st;
    st = FRE_E_DATA;
    if (gnutls_pubkey_import_x509(key, certificate, 0) == 0 &&
        gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, &der) == 0) {
        fre_sha256_begin(&h, (fre_bytes){NULL, 0});
        fre_sha256_add(&h, der.data, der.size);
        fre_sha256_end(pin, &h);
        st = FRE_OK;
    }
    gnutls_free(der.data);
    gnutls_pubkey_deinit(key);
    return st;
}

static fre_status pin_of_text(uint8_t pin[FRE_NET_PIN_BYTES], const gnutls_datum_t *text,
                              gnutls_x509_crt_fmt_t format)
{
    gnutls_x509_crt_t certificate = NULL;
    fre_status st;

    if (gnutls_x509_crt_init(&certificate) < 0)
        return FRE_E_NOMEM;
    st = gnutls_x509_crt_import(certificate, text, format) == 0 ? pin_of(pin, certificate)
                                                                : FRE_E_DATA;
    gnutls_x509_crt_deinit(certificate);
    return st;
}

/* The library's functions write to nothing that they are given as input. */
static gnutls_datum_t datum(fre_bytes b)
{
    return (gnutls_datum_t){.data = (unsigned char *)(uintptr_t)b.p, .size = (unsigned)b.n};
}

static bool pem_size_ok(fre_bytes b)
{
    return b.p && b.n > 0 && b.n <= (1u << 20);
}

fre_status fre_net_spki_pin(uint8_t pin[FRE_NET_PIN_BYTES], fre_bytes certificate_pem, fre_err *err)
{
    const gnutls_datum_t text = datum(certificate_pem);
    uint8_t found[FRE_NET_PIN_BYTES];
    fre_status st = FRE_E_DATA;

    if (!pin)
        return FRE_E_ARG;
    if (pem_size_ok(certificate_pem))
        st = pin_of_text(found, &text, GNUTLS_X509_FMT_PEM);
    if (st == FRE_E_DATA)
        return fre_fail(err, st, "this is no certificate in PEM");
    if (st == FRE_OK)
        memcpy(pin, found, sizeof found);
    return st;
}

bool net_session_peer(uint8_t pin[FRE_NET_PIN_BYTES], gnutls_session_t session,
                      const fre_http_handler *handler)
{
    unsigned shown = 0;
    const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &shown) : NULL;

    return chain && shown > 0 && chain[0].size <= DER_MAX &&
           pin_of_text(pin, &chain[0], GNUTLS_X509_FMT_DER) == FRE_OK &&
           handler->knows(handler->ctx, pin);
}

/* FRE_E_KEY: no pair. */
static fre_status pair_status(gnutls_x509_crt_t c, gnutls_x509_privkey_t k,
                              const gnutls_datum_t *c_text, const gnutls_datum_t *k_text)
{
    uint8_t of_c[FRE_HASH_BYTES], of_k[FRE_HASH_BYTES];
    size_t c_bytes = sizeof of_c, k_bytes = sizeof of_k;

    if (gnutls_x509_crt_import(c, c_text, GNUTLS_X509_FMT_PEM) < 0 ||
        gnutls_x509_privkey_import2(k, k_text, GNUTLS_X509_FMT_PEM, NULL, 0) < 0 ||
        gnutls_x509_crt_get_key_id(c, GNUTLS_KEYID_USE_SHA256, of_c, &c_bytes) < 0 ||
        gnutls_x509_privkey_get_key_id(k, GNUTLS_KEYID_USE_SHA256, of_k, &k_bytes) < 0)
        return FRE_E_DATA;
    return c_bytes == k_bytes && memcmp(of_c, of_k, c_bytes) == 0 ? FRE_OK : FRE_E_KEY;
}

fre_status net_pair_check(fre_bytes certificate_pem, fre_bytes key_pem, fre_err *err)
{
    const gnutls_datum_t c_text = datum(certificate_pem), k_text = datum(key_pem);
    gnutls_x509_crt_t c = NULL;
    gnutls_x509_privkey_t k = NULL;
    fre_status st = FRE_E_NOMEM;

    if (!pem_size_ok(certificate_pem) || !pem_size_ok(key_pem))
        return fre_fail(err, FRE_E_DATA, "a certificate and its key are needed, both in PEM");
    if (gnutls_x509_crt_init(&c) == 0 && gnutls_x509_privkey_init(&k) == 0)
        st = pair_status(c, k, &c_text, &k_text);
    if (c)
        gnutls_x509_crt_deinit(c);
    if (k)
        gnutls_x509_privkey_deinit(k);
    if (st == FRE_E_KEY)
        return fre_fail(err, FRE_E_DATA,
                        "certificate and key do not belong to each other: give both of one pair");
    return st == FRE_E_DATA
               ? fre_fail(err, st, "certificate or key is no PEM text that can be read")
               : st;
}

/* ---- making -------------------------------------------------------------------------------------- */

/* A name's letters, digits, dots and hyphens, or an address: which then is in *address, of *n bytes. */
static bool host_ok(const char *host, uint8_t address[16], unsigned *n)
{
    size_t i = 0;

    *n = inet_pton(AF_INET, host, address) == 1    ? 4
         : inet_pton(AF_INET6, host, address) == 1 ? 16
                                                   : 0;
    if (*n > 0)
        return true;
    while (isalnum((unsigned char)host[i]) || host[i] == '.' || host[i] == '-')
        i++;
    return i > 0 && i <= 253 && host[i] == '\0';
}

static int name_it(gnutls_x509_crt_t c, const char *host)
{
    uint8_t address[16];
    unsigned n;

    if (!host_ok(host, address, &n))
        return GNUTLS_E_INVALID_REQUEST;
    return n > 0 ? gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_IPADDRESS, address, n,
                                                        GNUTLS_FSAN_SET)
                 : gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_DNSNAME, host,
                                                        (unsigned)strlen(host), GNUTLS_FSAN_SET);
}

/* A serial number is positive and without zeros in front. */
static int number_it(gnutls_x509_crt_t c)
{
    uint8_t serial[16];
    fre_rng rng;

    if (fre_rng_init(&rng) != FRE_OK)
        return GNUTLS_E_RANDOM_FAILED;
    fre_rng_bytes(&rng, serial, sizeof serial);
    fre_rng_wipe(&rng);
    serial[0] = (uint8_t)((serial[0] & 0x7f) | 0x40);
    return gnutls_x509_crt_set_serial(c, serial, sizeof serial);
}

static int fill(gnutls_x509_crt_t c, gnutls_x509_privkey_t key, const char *host)
{
    int e = gnutls_x509_crt_set_version(c, 3);

    e = e < 0 ? e : number_it(c);
    e = e < 0 ? e : gnutls_x509_crt_set_activation_time(c, BEGINS);
    e = e < 0 ? e : gnutls_x509_crt_set_expiration_time(c, ENDS);
    e = e < 0 ? e : gnutls_x509_crt_set_dn(c, "CN=fre-e2t", NULL);
    e = e < 0 || !host ? e : name_it(c, host);
    e = e < 0 ? e : gnutls_x509_crt_set_basic_constraints(c, 0, -1);
    e = e < 0 ? e : gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE);
    e = e < 0 ? e : gnutls_x509_crt_set_key(c, key);
    /* The hash that belongs to the kind of key: with Ed25519 that is its own. */
    return e < 0 ? e
                 : gnutls_x509_crt_sign2(c, c, key,
                                         gnutls_x509_privkey_get_pk_algorithm(key) ==
                                                 GNUTLS_PK_EDDSA_ED25519
                                             ? GNUTLS_DIG_SHA512
                                             : GNUTLS_DIG_SHA256,
                                         0);
}

static fre_status status_of(int e, fre_err *err)
{
    if (e >= 0)
        return FRE_OK;
    return e == GNUTLS_E_MEMORY_ERROR
               ? FRE_E_NOMEM
               : fre_fail(err, FRE_E_INTERNAL, "no certificate could be made: %s",
                          gnutls_strerror(e));
}

/* Both texts or none. */
static fre_status give(fre_buf *certificate_pem, fre_buf *key_pem, const gnutls_datum_t *c,
                       const gnutls_datum_t *k)
{
    fre_status st = fre_buf_reserve(certificate_pem, c->size);

    if (st == FRE_OK)
        st = fre_buf_append(key_pem, k->data, k->size);
    return st == FRE_OK ? fre_buf_append(certificate_pem, c->data, c->size) : st;
}

/* A new key, or that of a secret key of libsodium: seed || public key. */
static int take_key(gnutls_x509_privkey_t key, const uint8_t *sk)
{
    uint8_t copy[64];
    const gnutls_datum_t seed = {copy, 32}, public = {copy + 32, 32};
    int e;

    if (!sk)
        return gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    memcpy(copy, sk, sizeof copy);
    e = gnutls_x509_privkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_ED25519, &public, NULL, &seed);
    fre_wipe(copy, sizeof copy);
    return e;
}

static fre_status make_pair(fre_buf *certificate_pem, fre_buf *key_pem, gnutls_x509_crt_t c,
                            gnutls_x509_privkey_t key, const char *host, const uint8_t *sk,
                            fre_err *err)
{
    gnutls_datum_t c_text = {NULL, 0}, k_text = {NULL, 0};
    fre_status st;
    int e = take_key(key, sk);

    e = e < 0 ? e : fill(c, key, host);
    e = e < 0 ? e : gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_PEM, &c_text);
    e = e < 0 ? e : gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &k_text);
    st = status_of(e, err);
    if (st == FRE_OK)
        st = give(certificate_pem, key_pem, &c_text, &k_text);
    if (k_text.data)
        fre_wipe(k_text.data, k_text.size);
    gnutls_free(k_text.data);
    gnutls_free(c_text.data);
    return st;
}

static fre_status make(fre_buf *certificate_pem, fre_buf *key_pem, const char *host,
                       const uint8_t *sk, fre_err *err)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t c = NULL;
    fre_status st = FRE_E_NOMEM;

    if (gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&c) == 0)
        st = make_pair(certificate_pem, key_pem, c, key, host, sk, err);
    if (c)
        gnutls_x509_crt_deinit(c);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return st;
}

fre_status fre_net_self_signed(fre_buf *certificate_pem, fre_buf *key_pem, const char *host,
                               fre_err *err)
{
    uint8_t address[16];
    unsigned n;

    if (!certificate_pem || !key_pem || !host)
        return FRE_E_ARG;
    if (!host_ok(host, address, &n))
        return fre_fail(err, FRE_E_ARG,
                        "a certificate is for the name of a host or a numeric address");
    return make(certificate_pem, key_pem, host, NULL, err);
}

fre_status fre_net_ed25519_certificate(fre_buf *certificate_pem, fre_buf *key_pem,
                                       const uint8_t sk[64], fre_err *err)
{
    if (!certificate_pem || !key_pem || !sk)
        return FRE_E_ARG;
    return make(certificate_pem, key_pem, NULL, sk, err);
}

/* RFC 8410, section 4: the SubjectPublicKeyInfo of an Ed25519 key is these bytes and the key. */
void fre_net_ed25519_pin(uint8_t pin[FRE_NET_PIN_BYTES], const uint8_t pk[32])
{
    static const uint8_t head[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                   0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){head, sizeof head});
    fre_sha256_add(&h, pk, 32);
    fre_sha256_end(pin, &h);
}
