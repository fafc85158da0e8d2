/* keygen.c - fresh keys of a role into new files, all of them or none. */
#include "config_private.h"

#include <stdio.h>
#include <unistd.h>

static void name_of(char out[FRE_KEYS_NAME_BYTES], const char *what, const fre_sign_pk *pk)
{
    uint8_t hash[FRE_HASH_BYTES];
    char digits[2 * 4 + 1];
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){pk->b, sizeof pk->b});
    fre_sha256_end(hash, &h);
    fre_hex(digits, hash, 4);
    (void)snprintf(out, FRE_KEYS_NAME_BYTES, "%s-%s", what, digits);
}

const char *fre_keys_name(char out[FRE_KEYS_NAME_BYTES], fre_role role, const fre_sign_pk *pk)
{
    name_of(out, fre_role_name(role), pk);
    return out;
}

char *config_path(const char *folder, const char *name, const fre_sign_pk *pk, const char *ending)
{
    char file[FRE_KEYS_NAME_BYTES];
    char *path = NULL;

    name_of(file, name, pk);
    return asprintf(&path, "%s/%s%s", folder, file, ending) < 0 ? NULL : path;
}

char *config_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

fre_status config_write_public(const char *path, fre_bytes text, fre_err *err)
{
    fre_outfile *f = NULL;
    fre_status st = fre_outfile_open(&f, path, false, err);

    if (st == FRE_OK && fwrite(text.p, 1, text.n, fre_outfile_stream(f)) != text.n)
        st = fre_fail(err, FRE_E_IO, "cannot write '%.300s': disk full?", path);
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    return st;
}

void fre_keygen_files_wipe(fre_keygen_files *f)
{
    free(f->secret);
    free(f->once);
    free(f->wrap);
    free(f->half);
    free(f->certificate);
    free(f->key);
    *f = (fre_keygen_files){NULL};
}

/* ---- drawing ----------------------------------------------------------------------------------- */

static fre_status draw_once(config_once *k, fre_half *h, fre_rng *r)
{
    fre_status st = FRE_OK;

    if (config_has_seal(h->role)) {
        st = fre_hpke_keygen(&k->seal, r);
        h->seal = k->seal.pk;
    }
    if (st == FRE_OK && config_has_oprf(h->role)) {
        st = fre_oprf_key_generate(&k->oprf, r);
        h->oprf = k->oprf.pub;
    }
    return st;
}

static fre_status draw(config_secret *s, config_once *k, const fre_keygen_opts *o)
{
    fre_half *h = &s->half;
    fre_rng r;
    fre_status st = fre_rng_init(&r);

    if (st != FRE_OK)
        return st;
    h->role = o->role;
    (void)snprintf(h->url, sizeof h->url, "%s", o->url);
    if (o->pin)
        memcpy(h->pin, o->pin, sizeof h->pin);
    fre_rng_bytes(&r, s->seed, sizeof s->seed);
    fre_rng_bytes(&r, s->store, sizeof s->store);
    fre_rng_bytes(&r, s->contribution, sizeof s->contribution);
    fre_collection_commit(h->commitment, fre_role_contributor(o->role), s->contribution);
    st = fre_sign_keygen_with(&s->sign, &h->sign, s->seed);
    if (st == FRE_OK)
        st = draw_once(k, h, &r);
    fre_rng_wipe(&r);
    return st;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static fre_status name_files(fre_keygen_files *f, const fre_keygen_opts *o, const fre_sign_pk *pk)
{
    const char *role = fre_role_name(o->role), *once = o->once ? o->once : o->folder;
    const bool seals = config_has_seal(o->role), tls = o->certificate_pem.n > 0;

    f->secret = config_path(o->folder, role, pk, ".secret.json");
    f->half = config_path(o->folder, role, pk, ".half.json");
    f->once = seals ? config_path(once, role, pk, ".once.json") : NULL;
    f->wrap = config_has_oprf(o->role) ? config_path(o->folder, role, pk, ".wrap.json") : NULL;
    f->certificate = tls ? config_path(o->folder, role, pk, ".certificate.pem") : NULL;
    f->key = tls ? config_path(o->folder, role, pk, ".key.pem") : NULL;
    return f->secret && f->half && (f->once || !seals) && (f->wrap || !config_has_oprf(o->role)) &&
                   ((f->certificate && f->key) || !tls)
               ? FRE_OK
               : FRE_E_NOMEM;
}

static fre_status write_half(const config_secret *s, const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = config_half_put(&text, &s->half, &s->sign);
    if (st == FRE_OK)
        st = fre_buf_append(&text, "\n", 1);
    st = st == FRE_OK ? config_write_public(path, (fre_bytes){text.p, text.n}, err)
                      : fre_fail(err, st, "the half cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}

static fre_status write_tls(const fre_keygen_files *f, const fre_keygen_opts *o, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!f->key)
        return st;
    st = fre_private_write(f->key, o->key_pem, false, err);
    return st == FRE_OK ? config_write_public(f->certificate, o->certificate_pem, err) : st;
}

static fre_status write_wrap(const char *path, const fre_half *h, fre_err *err)
{
    uint8_t wrap[FRE_WRAP_BYTES];
    fre_rng r;
    fre_status st = path ? fre_rng_init(&r) : FRE_OK;

    if (st != FRE_OK || !path)
        return st;
    fre_rng_bytes(&r, wrap, sizeof wrap);
    fre_rng_wipe(&r);
    st = config_wrap_write(wrap, h, path, err);
    fre_wipe(wrap, sizeof wrap);
    return st;
}

/* What is shown to others comes last. */
static fre_status write_files(const fre_keygen_files *f, const config_secret *s,
                              const config_once *k, const fre_keygen_opts *o, fre_err *err)
{
    fre_status st = config_secret_write(s, f->secret, false, err);

    if (st == FRE_OK && f->once)
        st = config_once_write(k, &s->half, f->once, err);
    if (st == FRE_OK)
        st = write_wrap(f->wrap, &s->half, err);
    if (st == FRE_OK)
        st = write_tls(f, o, err);
    return st == FRE_OK ? write_half(s, f->half, err) : st;
}

void config_unmake(const char *path)
{
    if (path && fre_private_erase(path, NULL, NULL) != FRE_OK)
        (void)unlink(path);
}

/* Their names are of a key that nobody else has, so whatever has one of them is ours. */
static void remove_files(const fre_keygen_files *f)
{
    config_unmake(f->secret);
    config_unmake(f->once);
    config_unmake(f->wrap);
    config_unmake(f->key);
    config_unmake(f->half);
    config_unmake(f->certificate);
}

/* ---- the call ---------------------------------------------------------------------------------- */

static fre_status check(const fre_keygen_opts *o, fre_err *err)
{
    static const uint8_t none[FRE_HASH_BYTES];

    if (!o || !fre_role_name(o->role) || !o->url || !o->folder ||
        (o->certificate_pem.n > 0) != (o->key_pem.n > 0))
        return FRE_E_ARG;
    if (!fre_collection_url_fits(o->url, o->pin ? o->pin : none))
        return fre_fail(
            err, FRE_E_USAGE,
            "{url} must be https://host[:port] with a certificate, or http:// of this "
            "machine (localhost, 127.0.0.1, [::1]) or of an .onion service without one");
    return FRE_OK;
}

static fre_status make_folders(const fre_keygen_opts *o, fre_err *err)
{
    fre_status st = fre_private_folder(o->folder, true, err);

    return st == FRE_OK && o->once ? fre_private_folder(o->once, true, err) : st;
}

static fre_status make(fre_keygen_files *f, config_secret *s, config_once *k,
                       const fre_keygen_opts *o, fre_err *err)
{
    fre_status st = draw(s, k, o);

    if (st == FRE_OK)
        st = name_files(f, o, &s->half.sign);
    if (st != FRE_OK)
        return fre_fail(err, st, "the keys cannot be drawn: %s", fre_status_text(st));
    st = write_files(f, s, k, o, err);
    if (st != FRE_OK)
        remove_files(f);
    return st;
}

fre_status fre_keygen(fre_keygen_files *out, const fre_keygen_opts *o, fre_err *err)
{
    fre_keygen_files f = {NULL};
    config_secret s;
    config_once k;
    fre_status st = out ? check(o, err) : FRE_E_ARG;

    if (st == FRE_OK)
        st = make_folders(o, err);
    if (st != FRE_OK)
        return st;
    memset(&s, 0, sizeof s);
    memset(&k, 0, sizeof k);
    st = make(&f, &s, &k, o, err);
    config_secret_wipe(&s);
    fre_wipe(&k, sizeof k);
    if (st == FRE_OK)
        *out = f;
    else
        fre_keygen_files_wipe(&f);
    return st;
}
