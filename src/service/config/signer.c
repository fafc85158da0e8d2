/* signer.c - keys of a log of collections and of its witnesses, with what a witness has signed; and what a client
 * has trusted. */
#include "config_private.h"

#include <errno.h>
#include <unistd.h>

enum {
    SIGNER_FORMAT,
    SIGNER_VERSION,
    SIGNER_KIND,
    SIGNER_SIGN,
    SIGNER_KEY,
    SIGNER_SIZE,
    SIGNER_ROOT,
    SIGNER_TIME,
    SIGNER_KEYS
};

static const char *kind_name(fre_signer_kind kind)
{
    return kind == FRE_SIGNER_LOG ? "log" : kind == FRE_SIGNER_WITNESS ? "witness" : NULL;
}

void fre_signer_wipe(fre_signer *s)
{
    fre_wipe(s, sizeof *s);
}

/* ---- writing ----------------------------------------------------------------------------------- */

static fre_status put_head(fre_buf *out, const char *format, const fre_signer *s)
{
    return fre_buf_printf(out, "{\n  \"format\": \"%s\",\n  \"version\": 1,\n  \"kind\": \"%s\",\n",
                          format, kind_name(s->kind));
}

static fre_status put_key(fre_buf *out, const fre_sign_pk *pk)
{
    char digits[2 * sizeof pk->b + 1];

    fre_hex(digits, pk->b, sizeof pk->b);
    return fre_buf_printf(out, "  \"key\": \"%s\"\n}\n", digits);
}

static fre_status put_seen(fre_buf *out, const fre_log_head *seen)
{
    fre_status st = config_put_hex(out, "seen_root", seen->root, sizeof seen->root);

    return st == FRE_OK ? fre_buf_printf(out, "  \"seen_size\": %llu,\n  \"seen_time\": %lld,\n",
                                         (unsigned long long)seen->size, (long long)seen->time)
                        : st;
}

static fre_status secret_text(fre_buf *out, const fre_signer *s)
{
    fre_status st = put_head(out, "fre-e2t signer", s);

    if (st == FRE_OK)
        st = config_put_hex(out, "sign", s->sk.b, 32); /* the seed: the first half */
    if (st == FRE_OK && s->has_seen)
        st = put_seen(out, &s->seen);
    return st == FRE_OK ? put_key(out, &s->pk) : st;
}

static fre_status write_secret(const fre_signer *s, const char *path, bool replace, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = secret_text(&text, s);
    st = st == FRE_OK ? fre_private_write(path, (fre_bytes){text.p, text.n}, replace, err)
                      : fre_fail(err, st, "the key cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}

static fre_status write_key(const fre_signer *s, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = put_head(&text, "fre-e2t key", s);
    if (st == FRE_OK)
        st = put_key(&text, &s->pk);
    st = st == FRE_OK ? config_write_public(path, (fre_bytes){text.p, text.n}, err)
                      : fre_fail(err, st, "the key cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}

static fre_status write_both(const fre_signer *s, const char *secret, const char *key, fre_err *err)
{
    fre_status st = secret && key ? write_secret(s, secret, false, err)
                                  : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st != FRE_OK)
        return st;
    st = write_key(s, key, err);
    if (st != FRE_OK)
        config_unmake(secret);
    return st;
}

static fre_status draw(fre_signer *s, fre_signer_kind kind)
{
    fre_rng r;
    fre_status st = fre_rng_init(&r);

    if (st != FRE_OK)
        return st;
    *s = (fre_signer){.kind = kind};
    st = fre_sign_keygen(&s->sk, &s->pk, &r);
    fre_rng_wipe(&r);
    return st;
}

fre_status fre_signer_keygen(char **secret, char **key, fre_signer_kind kind, const char *folder,
                             fre_err *err)
{
    char *a, *b;
    fre_signer s;
    fre_status st;

    if (!secret || !key || !kind_name(kind) || !folder)
        return FRE_E_ARG;
    st = fre_private_folder(folder, true, err);
    if (st != FRE_OK)
        return st;
    st = draw(&s, kind);
    if (st != FRE_OK)
        return fre_fail(err, st, "the key cannot be drawn: %s", fre_status_text(st));
    a = config_path(folder, kind_name(kind), &s.pk, ".secret.json");
    b = config_path(folder, kind_name(kind), &s.pk, ".key.json");
    st = write_both(&s, a, b, err);
    fre_signer_wipe(&s);
    if (st == FRE_OK) {
        *secret = a;
        *key = b;
        return st;
    }
    free(a);
    free(b);
    return st;
}

fre_status fre_signer_keep(const fre_signer *s, const char *secret, fre_err *err)
{
    if (!s || !secret || !kind_name(s->kind))
        return FRE_E_ARG;
    return write_secret(s, secret, true, err);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static fre_status read_kind(fre_signer_kind *out, const config_object *o, const char *format,
                            fre_err *err)
{
    const char *name = NULL;
    fre_status st = config_check_format(o, format, err);

    if (st == FRE_OK)
        st = config_string(&name, o, SIGNER_KIND, 16, err);
    if (st != FRE_OK)
        return st;
    *out = strcmp(name, "log") == 0 ? FRE_SIGNER_LOG : FRE_SIGNER_WITNESS;
    return strcmp(name, kind_name(*out)) == 0
               ? FRE_OK
               : config_bad(o, SIGNER_KIND, "must be log or witness", err);
}

/* Keys at, at + 1 and at + 2: size, root and time. */
static fre_status read_head(fre_log_head *h, const config_object *o, size_t at, fre_err *err)
{
    uint64_t time = 0;
    fre_status st = config_hex(h->root, sizeof h->root, o, at + 1, err);

    if (st == FRE_OK)
        st = config_whole(&h->size, o, at, 0, UINT32_MAX, err);
    if (st == FRE_OK)
        st = config_whole(&time, o, at + 2, 0, (uint64_t)FRE_COLLECTION_TIME_MAX, err);
    h->time = (int64_t)time;
    return st;
}

static fre_status read_seen(fre_signer *s, const config_object *o, fre_err *err)
{
    s->has_seen =
        config_has(o, SIGNER_ROOT) || config_has(o, SIGNER_SIZE) || config_has(o, SIGNER_TIME);
    return s->has_seen ? read_head(&s->seen, o, SIGNER_SIZE, err) : FRE_OK;
}

static fre_status read_keys(fre_signer *s, const config_object *o, fre_err *err)
{
    uint8_t seed[32], said[32]; /* seed: SECRET */
    fre_status st = config_hex(seed, sizeof seed, o, SIGNER_SIGN, err);

    if (st == FRE_OK)
        st = config_hex(said, sizeof said, o, SIGNER_KEY, err);
    if (st == FRE_OK)
        st = fre_sign_keygen_with(&s->sk, &s->pk, seed);
    fre_wipe(seed, sizeof seed);
    return st == FRE_OK && memcmp(said, s->pk.b, sizeof said) != 0
               ? config_bad(o, SIGNER_KEY, "is not that of sign: the file was changed", err)
               : st;
}

/* Initialises text too. */
static fre_status open_text(fre_buf *text, const char *path, bool secret, fre_err *err)
{
    fre_buf_init(text, FRE_CONFIG_FILE_MAX);
    return secret ? fre_private_read(text, path, err) : fre_file_read(text, path, err);
}

static fre_status parse_secret(fre_signer *s, fre_buf *text, const char *path, fre_err *err)
{
    fre_json_want want[SIGNER_KEYS] = {
        [SIGNER_FORMAT] = {.name = "format"},  [SIGNER_VERSION] = {.name = "version"},
        [SIGNER_KIND] = {.name = "kind"},      [SIGNER_SIGN] = {.name = "sign"},
        [SIGNER_KEY] = {.name = "key"},        [SIGNER_SIZE] = {.name = "seen_size"},
        [SIGNER_ROOT] = {.name = "seen_root"}, [SIGNER_TIME] = {.name = "seen_time"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = SIGNER_KEYS};
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = read_kind(&s->kind, &o, "fre-e2t signer", err);
    if (st == FRE_OK)
        st = read_keys(s, &o, err);
    return st == FRE_OK ? read_seen(s, &o, err) : st;
}

fre_status fre_signer_read(fre_signer *out, const char *secret, fre_err *err)
{
    fre_signer s = {.kind = FRE_SIGNER_LOG};
    fre_buf text;
    fre_status st;

    if (!out || !secret)
        return FRE_E_ARG;
    st = open_text(&text, secret, true, err);
    if (st == FRE_OK)
        st = parse_secret(&s, &text, secret, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK)
        *out = s;
    fre_signer_wipe(&s);
    return st;
}

static fre_status parse_key(fre_sign_pk *pk, fre_signer_kind *kind, fre_buf *text, const char *path,
                            fre_err *err)
{
    enum { N = SIGNER_KIND + 2 };
    fre_json_want want[N] = {[SIGNER_FORMAT] = {.name = "format"},
                             [SIGNER_VERSION] = {.name = "version"},
                             [SIGNER_KIND] = {.name = "kind"},
                             [N - 1] = {.name = "key"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = N};
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = read_kind(kind, &o, "fre-e2t key", err);
    return st == FRE_OK ? config_hex(pk->b, sizeof pk->b, &o, N - 1, err) : st;
}

fre_status fre_signer_key_read(fre_sign_pk *out, fre_signer_kind *kind, const char *path,
                               fre_err *err)
{
    fre_sign_pk pk;
    fre_signer_kind k;
    fre_buf text;
    fre_status st;

    if (!out || !kind || !path)
        return FRE_E_ARG;
    st = open_text(&text, path, false, err);
    if (st == FRE_OK)
        st = parse_key(&pk, &k, &text, path, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK) {
        *out = pk;
        *kind = k;
    }
    return st;
}

/* ---- what a client has trusted --------------------------------------------------------------------- */

static fre_status parse_trusted(fre_log_head *out, const fre_sign_pk *log, fre_buf *text,
                                const char *path, fre_err *err)
{
    enum { FORMAT, VERSION, KEY, SIZE, ROOT, TIME, KEYS };
    fre_json_want want[KEYS] = {[FORMAT] = {.name = "format"},  [VERSION] = {.name = "version"},
                                [KEY] = {.name = "key"},        [SIZE] = {.name = "seen_size"},
                                [ROOT] = {.name = "seen_root"}, [TIME] = {.name = "seen_time"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = KEYS};
    fre_sign_pk key;
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = config_check_format(&o, "fre-e2t head", err);
    if (st == FRE_OK)
        st = config_hex(key.b, sizeof key.b, &o, KEY, err);
    if (st != FRE_OK)
        return st;
    if (memcmp(key.b, log->b, sizeof key.b) != 0)
        return config_bad(&o, KEY, "is another log's: give each log a file of its own", err);
    return read_head(out, &o, SIZE, err);
}

fre_status fre_log_head_read(fre_log_head *out, bool *there, const fre_sign_pk *log,
                             const char *path, fre_err *err)
{
    fre_log_head head;
    fre_buf text;
    fre_status st;

    if (!out || !there || !log || !path)
        return FRE_E_ARG;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *there = false;
        return FRE_OK;
    }
    st = open_text(&text, path, true, err);
    if (st == FRE_OK)
        st = parse_trusted(&head, log, &text, path, err);
    fre_buf_wipe(&text);
    if (st == FRE_OK) {
        *out = head;
        *there = true;
    }
    return st;
}

fre_status fre_log_head_keep(const fre_log_head *head, const fre_sign_pk *log, const char *path,
                             fre_err *err)
{
    fre_buf text;
    fre_status st;

    if (!head || !log || !path)
        return FRE_E_ARG;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_buf_printf(&text, "{\n  \"format\": \"fre-e2t head\",\n  \"version\": 1,\n");
    if (st == FRE_OK)
        st = put_seen(&text, head);
    if (st == FRE_OK)
        st = put_key(&text, log);
    st = st == FRE_OK
             ? fre_private_write(path, (fre_bytes){text.p, text.n}, access(path, F_OK) == 0, err)
             : fre_fail(err, st, "the head cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}
