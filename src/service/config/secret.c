/* secret.c - the two files with a role's secrets, as text and back. */
#include "config_private.h"

#include <errno.h>
#include <unistd.h>

enum {
    SECRET_FORMAT,
    SECRET_VERSION,
    SECRET_SIGN,
    SECRET_STORE,
    SECRET_CONTRIBUTION,
    SECRET_HALF,
    SECRET_COMMITMENTS,
    SECRET_KEYS
};

void config_secret_wipe(config_secret *s)
{
    fre_wipe(s, sizeof *s);
}

/* ---- the secret file: writing ------------------------------------------------------------------ */

static fre_status put_keys(fre_buf *out, const config_secret *s)
{
    fre_status st =
        fre_buf_printf(out, "{\n  \"format\": \"fre-e2t secret\",\n  \"version\": 1,\n");

    if (st == FRE_OK)
        st = config_put_hex(out, "sign", s->seed, sizeof s->seed);
    if (st == FRE_OK)
        st = config_put_hex(out, "store", s->store, sizeof s->store);
    return st == FRE_OK
               ? config_put_hex(out, "contribution", s->contribution, sizeof s->contribution)
               : st;
}

static fre_status put_rest(fre_buf *out, const config_secret *s)
{
    fre_status st = FRE_OK;

    if (s->committed) {
        st = config_commitments_put(out, s->commitment[0]);
        if (st == FRE_OK)
            st = fre_buf_append(out, ",\n", 2);
    }
    if (st == FRE_OK)
        st = fre_buf_printf(out, "  \"half\": ");
    if (st == FRE_OK)
        st = config_half_put(out, &s->half, &s->sign);
    return st == FRE_OK ? fre_buf_append(out, "\n}\n", 3) : st;
}

fre_status config_secret_write(const config_secret *s, const char *path, bool replace, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = put_keys(&text, s);
    if (st == FRE_OK)
        st = put_rest(&text, s);
    if (st != FRE_OK)
        st = fre_fail(err, st, "the keys cannot be written: %s", fre_status_text(st));
    else if (replace)
        st = fre_private_renew(path, (fre_bytes){text.p, text.n}, err);
    else
        st = fre_private_write(path, (fre_bytes){text.p, text.n}, false, err);
    fre_buf_wipe(&text);
    return st;
}

/* ---- the secret file: reading ------------------------------------------------------------------ */

static fre_status read_keys(config_secret *s, const config_object *o, fre_err *err)
{
    fre_status st = config_check_format(o, "fre-e2t secret", err);

    if (st == FRE_OK)
        st = config_hex(s->seed, sizeof s->seed, o, SECRET_SIGN, err);
    if (st == FRE_OK)
        st = config_hex(s->store, sizeof s->store, o, SECRET_STORE, err);
    return st == FRE_OK
               ? config_hex(s->contribution, sizeof s->contribution, o, SECRET_CONTRIBUTION, err)
               : st;
}

static fre_status read_inner(config_secret *s, const config_object *o, fre_err *err)
{
    const fre_json_want *half = &o->want[SECRET_HALF], *seen = &o->want[SECRET_COMMITMENTS];
    fre_status st = config_want(o, SECRET_HALF, FRE_JSON_OBJECT, err);

    if (st == FRE_OK)
        st = config_half_parse(&s->half, half->p, half->n, o->path, "half.", err);
    s->committed = config_has(o, SECRET_COMMITMENTS);
    if (st != FRE_OK || !s->committed)
        return st;
    st = config_want(o, SECRET_COMMITMENTS, FRE_JSON_OBJECT, err);
    return st == FRE_OK ? config_commitments_parse(s->commitment, seen->p, seen->n, o->path, err)
                        : st;
}

/* Do its parts belong together? */
static fre_status check_secret(config_secret *s, const config_object *o, fre_err *err)
{
    uint8_t is[FRE_HASH_BYTES];
    fre_sign_pk pk;
    fre_status st = fre_sign_keygen_with(&s->sign, &pk, s->seed);

    if (st != FRE_OK)
        return st;
    if (memcmp(pk.b, s->half.sign.b, sizeof pk.b) != 0)
        return config_bad(o, SECRET_SIGN, "is not the key of its half: the file was changed", err);
    fre_collection_commit(is, fre_role_contributor(s->half.role), s->contribution);
    if (memcmp(is, s->half.commitment, sizeof is) != 0)
        return config_bad(o, SECRET_CONTRIBUTION,
                          "is not what its half committed to: the file was changed", err);
    return FRE_OK;
}

static fre_status parse_secret(config_secret *s, fre_buf *text, const char *path, fre_err *err)
{
    fre_json_want want[SECRET_KEYS] = {[SECRET_FORMAT] = {.name = "format"},
                                       [SECRET_VERSION] = {.name = "version"},
                                       [SECRET_SIGN] = {.name = "sign"},
                                       [SECRET_STORE] = {.name = "store"},
                                       [SECRET_CONTRIBUTION] = {.name = "contribution"},
                                       [SECRET_HALF] = {.name = "half"},
                                       [SECRET_COMMITMENTS] = {.name = "commitments"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = SECRET_KEYS};
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = read_keys(s, &o, err);
    if (st == FRE_OK)
        st = read_inner(s, &o, err);
    return st == FRE_OK ? check_secret(s, &o, err) : st;
}

fre_status config_secret_read(config_secret *out, const char *path, fre_err *err)
{
    config_secret s;
    fre_buf text;
    fre_status st;

    memset(&s, 0, sizeof s);
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_private_read(&text, path, err);
    if (st == FRE_OK)
        st = parse_secret(&s, &text, path, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK)
        *out = s;
    config_secret_wipe(&s);
    return st;
}

/* ---- the once file ----------------------------------------------------------------------------- */

enum { ONCE_FORMAT, ONCE_VERSION, ONCE_ROLE, ONCE_SEAL, ONCE_OPRF, ONCE_KEYS };

static fre_status once_text(fre_buf *out, const config_once *k, const fre_half *h)
{
    fre_status st = fre_buf_printf(out, "{\n  \"format\": \"fre-e2t once\",\n  \"version\": 1,\n");

    if (st == FRE_OK)
        st = config_put_hex(out, "seal", k->seal.sk.b, sizeof k->seal.sk.b);
    if (st == FRE_OK && config_has_oprf(h->role))
        st = config_put_hex(out, "oprf", k->oprf.b, sizeof k->oprf.b);
    return st == FRE_OK ? fre_buf_printf(out, "  \"role\": \"%s\"\n}\n", fre_role_name(h->role))
                        : st;
}

fre_status config_once_write(const config_once *k, const fre_half *h, const char *path,
                             fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = once_text(&text, k, h);
    st = st == FRE_OK ? fre_private_write(path, (fre_bytes){text.p, text.n}, false, err)
                      : fre_fail(err, st, "the keys cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}

static fre_status once_seal(config_once *k, const config_object *o, const fre_half *h, fre_err *err)
{
    fre_hpke_sk sk;
    fre_status st = config_hex(sk.b, sizeof sk.b, o, ONCE_SEAL, err);

    if (st == FRE_OK)
        st = fre_hpke_keypair_from(&k->seal, &sk);
    fre_hpke_sk_wipe(&sk);
    return st == FRE_OK && memcmp(k->seal.pk.b, h->seal.b, sizeof h->seal.b) != 0
               ? config_bad(o, ONCE_SEAL, "is not the key of this role's half", err)
               : st;
}

static fre_status once_oprf(config_once *k, const config_object *o, const fre_half *h, fre_err *err)
{
    uint8_t b[FRE_OPRF_SCALAR_BYTES];
    fre_status st;

    if (!config_has_oprf(h->role))
        return config_has(o, ONCE_OPRF)
                   ? config_bad(o, ONCE_OPRF, "is a key that this role does not have", err)
                   : FRE_OK;
    st = config_hex(b, sizeof b, o, ONCE_OPRF, err);
    if (st == FRE_OK)
        st = fre_oprf_key_decode(&k->oprf, (fre_bytes){b, sizeof b});
    fre_wipe(b, sizeof b);
    if (st == FRE_E_DATA && config_has(o, ONCE_OPRF))
        return config_bad(o, ONCE_OPRF, "is no key of this role's half", err);
    return st == FRE_OK && memcmp(k->oprf.pub.b, h->oprf.b, sizeof h->oprf.b) != 0
               ? config_bad(o, ONCE_OPRF, "is not the key of this role's half", err)
               : st;
}

static fre_status parse_once(config_once *k, fre_buf *text, const char *path, const fre_half *h,
                             fre_err *err)
{
    fre_json_want want[ONCE_KEYS] = {[ONCE_FORMAT] = {.name = "format"},
                                     [ONCE_VERSION] = {.name = "version"},
                                     [ONCE_ROLE] = {.name = "role"},
                                     [ONCE_SEAL] = {.name = "seal"},
                                     [ONCE_OPRF] = {.name = "oprf"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = ONCE_KEYS};
    const char *role = NULL;
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = config_check_format(&o, "fre-e2t once", err);
    if (st == FRE_OK)
        st = config_string(&role, &o, ONCE_ROLE, 32, err);
    if (st != FRE_OK)
        return st;
    if (strcmp(role, fre_role_name(h->role)) != 0)
        return config_bad(&o, ONCE_ROLE, "is another than its secret file's", err);
    st = once_seal(k, &o, h, err);
    return st == FRE_OK ? once_oprf(k, &o, h, err) : st;
}

bool config_is_there(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* Overwritten, and then its process ended. */
static bool is_zeros(const fre_buf *text)
{
    size_t i = 0;

    while (i < text->n && text->p[i] == 0)
        i++;
    return text->n > 0 && i == text->n;
}

fre_status config_once_read(config_once *out, bool *erased, const char *path, const fre_half *h,
                            fre_err *err)
{
    config_once k;
    fre_buf text;
    fre_status st;

    memset(&k, 0, sizeof k);
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_private_read(&text, path, err);
    *erased = st == FRE_OK && is_zeros(&text);
    if (st == FRE_OK && !*erased)
        st = parse_once(&k, &text, path, h, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK)
        *out = k;
    fre_wipe(&k, sizeof k);
    return st;
}
