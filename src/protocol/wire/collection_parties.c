/* collection_parties.c - who takes part in a collection: contributions to its seeds, keys, addresses. */
#include "wire_private.h"

/* ---- contributions ----------------------------------------------------------------------------- */

/* u8 length of label || label, so that no hash is one of another kind. */
static void begin(fre_sha256 *h, const char *label)
{
    const uint8_t n = (uint8_t)strlen(label);

    fre_sha256_begin(h, wire_view(&n, 1));
    fre_sha256_add(h, label, n);
}

void fre_collection_commit(uint8_t out[FRE_HASH_BYTES], fre_contributor who,
                           const uint8_t contribution[FRE_SEED_BYTES])
{
    const uint8_t index = (uint8_t)who;
    fre_sha256 h;

    begin(&h, "fre/contribution/v2");
    fre_sha256_add(&h, &index, 1);
    fre_sha256_add(&h, contribution, FRE_SEED_BYTES);
    fre_sha256_end(out, &h);
}

static void draw_seed(uint8_t out[FRE_SEED_BYTES], const fre_collection *c, const char *label)
{
    fre_sha256 h;

    begin(&h, label);
    fre_sha256_add(&h, c->contribution, sizeof c->contribution);
    fre_sha256_end(out, &h);
}

void fre_collection_draw(fre_collection *c)
{
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        fre_collection_commit(c->commitment[i], (fre_contributor)i, c->contribution[i]);
    draw_seed(c->grid_seed, c, "fre/grid-seed/v2");
    draw_seed(c->sign_seed, c, "fre/sign-seed/v2");
}

static fre_status check_contributions(const fre_collection *c, fre_err *err)
{
    static const char *const names[] = {"relay", "tag", "syn", "issuer"};
    uint8_t is[FRE_HASH_BYTES];

    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++) {
        fre_collection_commit(is, (fre_contributor)i, c->contribution[i]);
        if (memcmp(is, c->commitment[i], sizeof is) != 0)
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s_commitment must be the hash of its contribution",
                            names[i]);
        for (size_t j = 0; j < i; j++) {
            if (memcmp(c->contribution[i], c->contribution[j], sizeof c->contribution[i]) == 0)
                return fre_fail(err, FRE_E_DATA,
                                "collection: %s_contribution must be its own, not a copy of %s's",
                                names[i], names[j]);
        }
    }
    draw_seed(is, c, "fre/grid-seed/v2");
    if (memcmp(is, c->grid_seed, sizeof is) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "collection: grid_seed must be the hash of all contributions");
    draw_seed(is, c, "fre/sign-seed/v2");
    if (memcmp(is, c->sign_seed, sizeof is) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "collection: sign_seed must be the hash of all contributions");
    return FRE_OK;
}

/* ---- keys -------------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t b[32])
{
    static const uint8_t zero[32];

    return memcmp(b, zero, sizeof zero) == 0;
}

static fre_status check_keys(const fre_collection *c, fre_err *err)
{
    const uint8_t *keys[] = {c->oprf_pk.b,     c->issuer_pk.b, c->tag_seal.b,
                             c->syn_seal.b,    c->issuer_seal.b, c->tag_sign.b,
                             c->syn_sign.b,    c->relay_sign.b, c->issuer_sign.b};
    static const char *const names[] = {"oprf_pk",  "issuer_pk",  "tag_seal",
                                        "syn_seal", "issuer_seal", "tag_sign",
                                        "syn_sign", "relay_sign", "issuer_sign"};
    fre_oprf_public pk;

    if (c->aead != FRE_HPKE_AES_128_GCM && c->aead != FRE_HPKE_CHACHA20_POLY1305)
        return fre_fail(err, FRE_E_DATA,
                        "collection: aead must be aes-128-gcm or chacha20-poly1305");
    for (size_t i = 0; i < 2; i++) {
        if (fre_oprf_public_decode(&pk, wire_view(keys[i], sizeof pk.b)) != FRE_OK)
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s must be a ristretto255 element other than the identity",
                            names[i]);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (is_zero(keys[i]))
            return fre_fail(err, FRE_E_DATA, "collection: %s must be a key, not zeros", names[i]);
        /* One party with both seal keys could open what is split between two. */
        for (size_t j = 0; j < i; j++) {
            if (memcmp(keys[i], keys[j], 32) == 0)
                return fre_fail(err, FRE_E_DATA, "collection: %s must differ from %s", names[i],
                                names[j]);
        }
    }
    return FRE_OK;
}

/* ---- addresses --------------------------------------------------------------------------------- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* :port, or nothing; leaves *s behind it. */
static bool read_port(const char **s)
{
    unsigned port = 0;
    const char *p = *s;

    if (*p != ':')
        return true;
    for (p++; *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
        port = 10 * port + (unsigned)(*p - '0');
    if (port < 1 || port > UINT16_MAX || (*s)[1] == '0')
        return false;
    *s = p;
    return true;
}

/* A name or IPv4 address, or an IPv6 address in brackets. */
static bool read_host(const char **s)
{
    const char *p = *s;

    if (*p == '[') {
        for (p++; is_alnum(*p) || *p == ':' || *p == '.'; p++)
            ;
        if (*p != ']' || p - *s < 3)
            return false;
        *s = p + 1;
        return true;
    }
    for (; is_alnum(*p) || *p == '-' || *p == '.'; p++)
        ;
    if (p == *s)
        return false;
    *s = p;
    return true;
}

/* Of n bytes: this machine's own, or a hidden service, whose name is its key. */
static bool is_private_host(const char *s, size_t n)
{
    static const char onion[] = ".onion";
    const size_t tail = sizeof onion - 1;

    if ((n == 9 && memcmp(s, "localhost", n) == 0) || (n == 5 && memcmp(s, "[::1]", n) == 0))
        return true;
    if (n > tail && memcmp(s + n - tail, onion, tail) == 0)
        return true;
    if (n < 5 || memcmp(s, "127.", 4) != 0)
        return false;
    for (size_t i = 4; i < n; i++) {
        if ((s[i] < '0' || s[i] > '9') && s[i] != '.')
            return false;
    }
    return true;
}

/* https://host[:port][/path], http where nobody could listen: no user, query or fragment, nothing but
 * visible ASCII. */
static bool is_url(const char *s)
{
    const bool secure = strncmp(s, "https://", 8) == 0;
    const char *host;

    if (!secure && strncmp(s, "http://", 7) != 0)
        return false;
    host = s += secure ? 8 : 7;
    if (!read_host(&s) || (!secure && !is_private_host(host, (size_t)(s - host))) || !read_port(&s))
        return false;
    if (*s == '\0')
        return true;
    if (*s != '/')
        return false;
    for (; *s; s++) {
        if (!is_alnum(*s) && !strchr("-._~!$&'()*+,;=:@%/", *s))
            return false;
    }
    return true;
}

fre_party fre_collection_party(const fre_collection *c, fre_role role)
{
    switch (role) {
    case FRE_ROLE_TAG:
        return (fre_party){&c->tag_sign, &c->tag_seal, &c->oprf_pk, c->tag_url, c->tag_pin};
    case FRE_ROLE_SYN:
        return (fre_party){&c->syn_sign, &c->syn_seal, NULL, c->syn_url, c->syn_pin};
    case FRE_ROLE_ISSUER:
        return (fre_party){&c->issuer_sign, &c->issuer_seal, &c->issuer_pk, c->issuer_url,
                           c->issuer_pin};
    case FRE_ROLE_RELAY:
        break;
    }
    return (fre_party){&c->relay_sign, NULL, NULL, c->relay_url, c->relay_pin};
}

bool fre_collection_url_fits(const char *url, const uint8_t pin[FRE_HASH_BYTES])
{
    return url && pin && strnlen(url, FRE_COLLECTION_URL_MAX + 1) <= FRE_COLLECTION_URL_MAX &&
           is_url(url) && is_zero(pin) == (strncmp(url, "http://", 7) == 0);
}

static fre_status check_urls(const fre_collection *c, fre_err *err)
{
    const char *urls[] = {c->relay_url, c->tag_url, c->syn_url, c->issuer_url};
    const uint8_t *pins[] = {c->relay_pin, c->tag_pin, c->syn_pin, c->issuer_pin};
    static const char *const names[] = {"relay", "tag", "syn", "issuer"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        if (strnlen(urls[i], FRE_COLLECTION_URL_MAX + 1) > FRE_COLLECTION_URL_MAX ||
            !is_url(urls[i]))
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s_url must be https://host[:port][/path] of at most 255 "
                            "bytes, or http:// of this machine or an .onion service",
                            names[i]);
        if (is_zero(pins[i]) != (strncmp(urls[i], "http://", 7) == 0))
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s_pin must be the SHA-256 of the certificate's key with "
                            "https, and zeros with http",
                            names[i]);
    }
    return FRE_OK;
}

fre_status wire_check_parties(const fre_collection *c, fre_err *err)
{
    fre_status st = check_contributions(c, err);

    if (st == FRE_OK)
        st = check_keys(c, err);
    return st == FRE_OK ? check_urls(c, err) : st;
}
