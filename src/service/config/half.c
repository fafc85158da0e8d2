/* half.c - what operators show each other before there are terms: halves, then contributions. */
#include "config_private.h"

#define HALF_LABEL "fre/half/v1"
#define REVEAL_LABEL "fre/reveal/v1"

static const char *const role_names[] = {[FRE_ROLE_TAG] = "tagging",
                                         [FRE_ROLE_SYN] = "synthesis",
                                         [FRE_ROLE_RELAY] = "relay",
                                         [FRE_ROLE_ISSUER] = "issuer"};

const char *fre_role_name(fre_role role)
{
    return role >= FRE_ROLE_TAG && role <= FRE_ROLE_ISSUER ? role_names[role] : NULL;
}

bool fre_role_of(fre_role *out, const char *name)
{
    for (unsigned r = FRE_ROLE_TAG; name && r <= FRE_ROLE_ISSUER; r++) {
        if (strcmp(role_names[r], name) == 0) {
            *out = (fre_role)r;
            return true;
        }
    }
    return false;
}

fre_contributor fre_role_contributor(fre_role role)
{
    static const fre_contributor of[] = {[FRE_ROLE_TAG] = FRE_CONTRIBUTOR_TAG,
                                         [FRE_ROLE_SYN] = FRE_CONTRIBUTOR_SYN,
                                         [FRE_ROLE_RELAY] = FRE_CONTRIBUTOR_RELAY,
                                         [FRE_ROLE_ISSUER] = FRE_CONTRIBUTOR_ISSUER};

    return fre_role_name(role) ? of[role] : FRE_CONTRIBUTORS;
}

const char *config_contributor(size_t i)
{
    static const fre_role of[FRE_CONTRIBUTORS] = {[FRE_CONTRIBUTOR_RELAY] = FRE_ROLE_RELAY,
                                                  [FRE_CONTRIBUTOR_TAG] = FRE_ROLE_TAG,
                                                  [FRE_CONTRIBUTOR_SYN] = FRE_ROLE_SYN,
                                                  [FRE_CONTRIBUTOR_ISSUER] = FRE_ROLE_ISSUER};

    return role_names[of[i]];
}

bool config_has_seal(fre_role role)
{
    return role != FRE_ROLE_RELAY;
}

bool config_has_oprf(fre_role role)
{
    return role == FRE_ROLE_TAG || role == FRE_ROLE_ISSUER;
}

static fre_status read_role(fre_role *out, const config_object *o, size_t i, fre_err *err)
{
    const char *name;
    fre_status st = config_string(&name, o, i, 32, err);

    if (st == FRE_OK && !fre_role_of(out, name))
        st = config_bad(o, i, "must be tagging, synthesis, relay or issuer", err);
    return st;
}

/* ---- commitments ------------------------------------------------------------------------------- */

fre_status config_commitments_put(fre_buf *out, const uint8_t *commitment)
{
    char digits[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_buf_printf(out, "  \"commitments\": {");

    for (size_t i = 0; st == FRE_OK && i < FRE_CONTRIBUTORS; i++) {
        fre_hex(digits, commitment + i * FRE_HASH_BYTES, FRE_HASH_BYTES);
        st = fre_buf_printf(out, "%s\n    \"%s\": \"%s\"", i ? "," : "", config_contributor(i),
                            digits);
    }
    return st == FRE_OK ? fre_buf_printf(out, "\n  }") : st;
}

fre_status config_commitments_parse(uint8_t commitment[FRE_CONTRIBUTORS][FRE_HASH_BYTES],
                                    uint8_t *p, size_t n, const char *path, fre_err *err)
{
    fre_json_want want[FRE_CONTRIBUTORS];
    const config_object o = {
        .path = path, .outer = "commitments.", .want = want, .n = FRE_CONTRIBUTORS};
    fre_status st;

    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        want[i] = (fre_json_want){.name = config_contributor(i)};
    st = config_read_object(&o, p, n, err);
    for (size_t i = 0; st == FRE_OK && i < FRE_CONTRIBUTORS; i++)
        st = config_hex(commitment[i], FRE_HASH_BYTES, &o, i, err);
    return st;
}

/* ---- a half ------------------------------------------------------------------------------------ */

#define HALF_BYTES (1 + 3 * 32 + 2 * FRE_HASH_BYTES + FRE_COLLECTION_URL_MAX)

/* What is signed: u8 role || sign || seal || oprf || pin || commitment || url. */
static fre_bytes half_statement(uint8_t out[HALF_BYTES], const fre_half *h)
{
    const uint8_t *parts[] = {h->sign.b, h->seal.b, h->oprf.b, h->pin, h->commitment};
    const size_t n = sizeof parts / sizeof parts[0], url = strnlen(h->url, FRE_COLLECTION_URL_MAX);

    out[0] = (uint8_t)h->role;
    for (size_t i = 0; i < n; i++)
        memcpy(out + 1 + 32 * i, parts[i], 32);
    memcpy(out + 1 + 32 * n, h->url, url);
    return (fre_bytes){out, 1 + 32 * n + url};
}

enum {
    HALF_FORMAT,
    HALF_VERSION,
    HALF_ROLE,
    HALF_URL,
    HALF_PIN,
    HALF_SIGN,
    HALF_SEAL,
    HALF_OPRF,
    HALF_COMMITMENT,
    HALF_SIGNATURE,
    HALF_KEYS
};

static fre_status put_half_keys(fre_buf *out, const fre_half *h)
{
    fre_status st = config_put_hex(out, "sign", h->sign.b, sizeof h->sign.b);

    if (st == FRE_OK && config_has_seal(h->role))
        st = config_put_hex(out, "seal", h->seal.b, sizeof h->seal.b);
    if (st == FRE_OK && config_has_oprf(h->role))
        st = config_put_hex(out, "oprf", h->oprf.b, sizeof h->oprf.b);
    return st == FRE_OK ? config_put_hex(out, "commitment", h->commitment, sizeof h->commitment)
                        : st;
}

static fre_status put_signature(fre_buf *out, const fre_signature *sig)
{
    char digits[2 * sizeof sig->b + 1];

    fre_hex(digits, sig->b, sizeof sig->b);
    return fre_buf_printf(out, "  \"signature\": \"%s\"\n}", digits);
}

fre_status config_half_put(fre_buf *out, const fre_half *h, const fre_sign_sk *sk)
{
    uint8_t bytes[HALF_BYTES];
    fre_signature sig;
    fre_status st = fre_sign_statement(&sig, sk, HALF_LABEL, half_statement(bytes, h));

    if (st != FRE_OK)
        return st;
    st = fre_buf_printf(out,
                        "{\n  \"format\": \"fre-e2t half\",\n  \"version\": 1,\n"
                        "  \"role\": \"%s\",\n  \"url\": \"%s\",\n",
                        fre_role_name(h->role), h->url);
    if (st == FRE_OK)
        st = config_put_hex(out, "pin", h->pin, sizeof h->pin);
    if (st == FRE_OK)
        st = put_half_keys(out, h);
    return st == FRE_OK ? put_signature(out, &sig) : st;
}

/* A key that roles of its kind have, and others have not. */
static fre_status read_key(uint8_t b[32], const config_object *o, size_t i, bool has, fre_err *err)
{
    if (has)
        return config_hex(b, 32, o, i, err);
    memset(b, 0, 32);
    return config_has(o, i) ? config_bad(o, i, "is a key that this role does not have", err)
                            : FRE_OK;
}

static fre_status read_url(char out[FRE_COLLECTION_URL_MAX + 1], const config_object *o,
                           const uint8_t pin[FRE_HASH_BYTES], fre_err *err)
{
    const char *url;
    fre_status st = config_string(&url, o, HALF_URL, FRE_COLLECTION_URL_MAX, err);

    if (st != FRE_OK)
        return st;
    if (!fre_collection_url_fits(url, pin))
        return config_bad(o, HALF_URL,
                          "and pin do not belong together: https://host[:port] with a pin, or "
                          "http:// of this machine or an .onion service with zeros",
                          err);
    (void)snprintf(out, FRE_COLLECTION_URL_MAX + 1, "%s", url);
    return st;
}

static fre_status read_half_keys(fre_half *h, const config_object *o, fre_err *err)
{
    fre_status st = config_hex(h->sign.b, sizeof h->sign.b, o, HALF_SIGN, err);

    if (st == FRE_OK)
        st = read_key(h->seal.b, o, HALF_SEAL, config_has_seal(h->role), err);
    if (st == FRE_OK)
        st = read_key(h->oprf.b, o, HALF_OPRF, config_has_oprf(h->role), err);
    return st == FRE_OK ? config_hex(h->commitment, sizeof h->commitment, o, HALF_COMMITMENT, err)
                        : st;
}

static fre_status read_half(fre_half *h, const config_object *o, fre_err *err)
{
    fre_status st = config_check_format(o, "fre-e2t half", err);

    if (st == FRE_OK)
        st = read_role(&h->role, o, HALF_ROLE, err);
    if (st == FRE_OK)
        st = config_hex(h->pin, sizeof h->pin, o, HALF_PIN, err);
    if (st == FRE_OK)
        st = read_url(h->url, o, h->pin, err);
    return st == FRE_OK ? read_half_keys(h, o, err) : st;
}

/* Of a signature: what is to be said where it does not hold. */
static fre_status changed(fre_status st, const config_object *o, size_t i, fre_err *err)
{
    return st == FRE_E_REFUSED
               ? config_bad(o, i,
                            "does not hold: the file was changed; get it from its operator again",
                            err)
               : st;
}

static fre_status verify_read(const fre_half *h, const config_object *o, fre_err *err)
{
    uint8_t bytes[HALF_BYTES];
    fre_signature sig;
    fre_status st = config_hex(sig.b, sizeof sig.b, o, HALF_SIGNATURE, err);

    if (st == FRE_OK)
        st = fre_sign_verify(&h->sign, &sig, HALF_LABEL, half_statement(bytes, h));
    return changed(st, o, HALF_SIGNATURE, err);
}

fre_status config_half_parse(fre_half *out, uint8_t *p, size_t n, const char *path,
                             const char *outer, fre_err *err)
{
    fre_json_want want[HALF_KEYS] = {[HALF_FORMAT] = {.name = "format"},
                                     [HALF_VERSION] = {.name = "version"},
                                     [HALF_ROLE] = {.name = "role"},
                                     [HALF_URL] = {.name = "url"},
                                     [HALF_PIN] = {.name = "pin"},
                                     [HALF_SIGN] = {.name = "sign"},
                                     [HALF_SEAL] = {.name = "seal"},
                                     [HALF_OPRF] = {.name = "oprf"},
                                     [HALF_COMMITMENT] = {.name = "commitment"},
                                     [HALF_SIGNATURE] = {.name = "signature"}};
    const config_object o = {.path = path, .outer = outer, .want = want, .n = HALF_KEYS};
    fre_half h = {.role = FRE_ROLE_TAG};
    fre_status st = config_read_object(&o, p, n, err);

    if (st == FRE_OK)
        st = read_half(&h, &o, err);
    if (st == FRE_OK)
        st = verify_read(&h, &o, err);
    if (st == FRE_OK)
        *out = h;
    return st;
}

fre_status fre_half_read(fre_half *out, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    if (!out || !path)
        return FRE_E_ARG;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_file_read(&text, path, err);
    if (st == FRE_OK)
        st = config_half_parse(out, text.p, text.n, path, "", err);
    fre_buf_wipe(&text);
    return st;
}

bool config_same_half(const fre_half *a, const fre_half *b)
{
    return a->role == b->role && memcmp(a->sign.b, b->sign.b, sizeof a->sign.b) == 0 &&
           memcmp(a->seal.b, b->seal.b, sizeof a->seal.b) == 0 &&
           memcmp(a->oprf.b, b->oprf.b, sizeof a->oprf.b) == 0 &&
           memcmp(a->pin, b->pin, sizeof a->pin) == 0 &&
           memcmp(a->commitment, b->commitment, sizeof a->commitment) == 0 &&
           strcmp(a->url, b->url) == 0;
}

/* One party with two roles' keys, or who repeats another's commitment, would be two in one. */
static bool share_something(const fre_half *a, const fre_half *b)
{
    return memcmp(a->sign.b, b->sign.b, sizeof a->sign.b) == 0 ||
           memcmp(a->commitment, b->commitment, sizeof a->commitment) == 0 ||
           (config_has_seal(a->role) && config_has_seal(b->role) &&
            memcmp(a->seal.b, b->seal.b, sizeof a->seal.b) == 0) ||
           (config_has_oprf(a->role) && config_has_oprf(b->role) &&
            memcmp(a->oprf.b, b->oprf.b, sizeof a->oprf.b) == 0);
}

fre_status config_sort_halves(const fre_half *sorted[FRE_CONTRIBUTORS],
                              const fre_half half[FRE_CONTRIBUTORS], fre_err *err)
{
    const fre_half *by[FRE_CONTRIBUTORS] = {NULL};

    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++) {
        const fre_contributor who = fre_role_contributor(half[i].role);

        if (who == FRE_CONTRIBUTORS)
            return FRE_E_ARG;
        if (by[who])
            return fre_fail(err, FRE_E_DATA,
                            "two of the four halves are of the role %s: give one of each role",
                            config_contributor(who));
        by[who] = &half[i];
    }
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        for (size_t j = 0; j < i; j++)
            if (share_something(by[i], by[j]))
                return fre_fail(err, FRE_E_DATA,
                                "the halves of %s and %s share a key or a commitment: each role "
                                "has to make its own",
                                config_contributor(j), config_contributor(i));
    memcpy(sorted, by, sizeof by);
    return FRE_OK;
}

/* ---- a contribution ---------------------------------------------------------------------------- */

enum {
    REVEAL_FORMAT,
    REVEAL_VERSION,
    REVEAL_ROLE,
    REVEAL_SIGN,
    REVEAL_CONTRIBUTION,
    REVEAL_COMMITMENTS,
    REVEAL_SIGNATURE,
    REVEAL_KEYS
};

#define REVEAL_BYTES (1 + FRE_SEED_BYTES + FRE_CONTRIBUTORS * FRE_HASH_BYTES)

/* What is signed: u8 role || contribution || four commitments. */
static fre_bytes reveal_statement(uint8_t out[REVEAL_BYTES], const fre_reveal *r)
{
    out[0] = (uint8_t)r->role;
    memcpy(out + 1, r->contribution, sizeof r->contribution);
    memcpy(out + 1 + sizeof r->contribution, r->commitment, sizeof r->commitment);
    return (fre_bytes){out, REVEAL_BYTES};
}

static fre_status reveal_text(fre_buf *out, const fre_reveal *r)
{
    fre_status st = fre_buf_printf(out,
                                   "{\n  \"format\": \"fre-e2t contribution\",\n  \"version\": 1,\n"
                                   "  \"role\": \"%s\",\n",
                                   fre_role_name(r->role));

    if (st == FRE_OK)
        st = config_put_hex(out, "sign", r->sign.b, sizeof r->sign.b);
    if (st == FRE_OK)
        st = config_put_hex(out, "contribution", r->contribution, sizeof r->contribution);
    return st == FRE_OK ? config_commitments_put(out, r->commitment[0]) : st;
}

fre_status config_reveal_put(fre_buf *out, const fre_reveal *r, const fre_sign_sk *sk)
{
    uint8_t bytes[REVEAL_BYTES];
    fre_signature sig;
    fre_status st = fre_sign_statement(&sig, sk, REVEAL_LABEL, reveal_statement(bytes, r));

    if (st == FRE_OK)
        st = reveal_text(out, r);
    if (st == FRE_OK)
        st = fre_buf_append(out, ",\n", 2);
    if (st == FRE_OK)
        st = put_signature(out, &sig);
    return st == FRE_OK ? fre_buf_append(out, "\n", 1) : st;
}

static fre_status verify_reveal(const fre_reveal *r, const config_object *o, fre_err *err)
{
    uint8_t bytes[REVEAL_BYTES];
    fre_signature sig;
    fre_status st = config_hex(sig.b, sizeof sig.b, o, REVEAL_SIGNATURE, err);

    if (st == FRE_OK)
        st = fre_sign_verify(&r->sign, &sig, REVEAL_LABEL, reveal_statement(bytes, r));
    return changed(st, o, REVEAL_SIGNATURE, err);
}

static fre_status read_commitments(fre_reveal *r, const config_object *o, fre_err *err)
{
    const fre_json_want *w = &o->want[REVEAL_COMMITMENTS];
    fre_status st = config_want(o, REVEAL_COMMITMENTS, FRE_JSON_OBJECT, err);

    return st == FRE_OK ? config_commitments_parse(r->commitment, w->p, w->n, o->path, err) : st;
}

static fre_status read_reveal(fre_reveal *r, const config_object *o, fre_err *err)
{
    fre_status st = config_check_format(o, "fre-e2t contribution", err);

    if (st == FRE_OK)
        st = read_role(&r->role, o, REVEAL_ROLE, err);
    if (st == FRE_OK)
        st = config_hex(r->sign.b, sizeof r->sign.b, o, REVEAL_SIGN, err);
    if (st == FRE_OK)
        st = config_hex(r->contribution, sizeof r->contribution, o, REVEAL_CONTRIBUTION, err);
    return st == FRE_OK ? read_commitments(r, o, err) : st;
}

static fre_status parse_reveal(fre_reveal *out, uint8_t *p, size_t n, const char *path,
                               fre_err *err)
{
    fre_json_want want[REVEAL_KEYS] = {[REVEAL_FORMAT] = {.name = "format"},
                                       [REVEAL_VERSION] = {.name = "version"},
                                       [REVEAL_ROLE] = {.name = "role"},
                                       [REVEAL_SIGN] = {.name = "sign"},
                                       [REVEAL_CONTRIBUTION] = {.name = "contribution"},
                                       [REVEAL_COMMITMENTS] = {.name = "commitments"},
                                       [REVEAL_SIGNATURE] = {.name = "signature"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = REVEAL_KEYS};
    fre_reveal r = {.role = FRE_ROLE_TAG};
    fre_status st = config_read_object(&o, p, n, err);

    if (st == FRE_OK)
        st = read_reveal(&r, &o, err);
    if (st == FRE_OK)
        st = verify_reveal(&r, &o, err);
    if (st == FRE_OK)
        *out = r;
    return st;
}

fre_status fre_reveal_read(fre_reveal *out, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    if (!out || !path)
        return FRE_E_ARG;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_file_read(&text, path, err);
    if (st == FRE_OK)
        st = parse_reveal(out, text.p, text.n, path, err);
    fre_buf_wipe(&text);
    return st;
}
