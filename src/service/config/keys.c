/* keys.c - a role's keys, from its files into locked memory, and away again. */
#include "config_private.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

struct fre_keys {
    config_secret secret;   /* SECRET */
    fre_server_keys server; /* SECRET */
    fre_oprf_key oprf;      /* SECRET; zeros: none */
    bool has_once;
    char *path, *once, *wrap; /* once, wrap NULL: a role without */
};

/* ---- opening ----------------------------------------------------------------------------------- */

fre_status fre_keys_read_once(fre_keys *k, fre_err *err)
{
    config_once once;
    bool erased = false;
    fre_status st;

    if (!k)
        return FRE_E_ARG;
    if (!k->once || !config_is_there(k->once))
        return FRE_OK;
    st = config_once_read(&once, &erased, k->once, &k->secret.half, err);
    if (st != FRE_OK || erased)
        return st;
    k->server.seal = once.seal;
    k->oprf = once.oprf;
    k->has_once = true;
    fre_wipe(&once, sizeof once);
    return FRE_OK;
}

void fre_keys_keep(fre_keys *k, const fre_keeper *keeper, const fre_hpke_keypair *seal)
{
    k->server.keeper = keeper;
    k->has_once = seal != NULL;
    if (seal)
        k->server.seal = *seal;
}

/* Of the roles that have them. */
static fre_status name_files(fre_keys *k, const char *once)
{
    const fre_half *h = &k->secret.half;
    const char *role = fre_role_name(h->role);
    char *folder = config_folder_of(k->path);

    if (folder && config_has_seal(h->role))
        k->once = config_path(once ? once : folder, role, &h->sign, ".once.json");
    if (folder && config_has_oprf(h->role))
        k->wrap = config_path(folder, role, &h->sign, ".wrap.json");
    free(folder);
    return (k->once || !config_has_seal(h->role)) && (k->wrap || !config_has_oprf(h->role))
               ? FRE_OK
               : FRE_E_NOMEM;
}

static fre_status fill(fre_keys *k, const char *path, const char *once, fre_err *err)
{
    fre_status st = config_secret_read(&k->secret, path, err);

    if (st != FRE_OK)
        return st;
    k->server.sign = k->secret.sign;
    k->path = strdup(path);
    st = k->path ? name_files(k, once) : FRE_E_NOMEM;
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory");
}

/* Without what is in the once file. */
static fre_status open_secret(fre_keys **out, const char *secret, const char *once, fre_err *err)
{
    fre_keys *k;
    fre_status st;

    if (sodium_init() < 0)
        return fre_fail(err, FRE_E_INTERNAL, "the system offers no randomness");
    k = sodium_malloc(sizeof *k);
    if (!k)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    memset(k, 0, sizeof *k);
    st = fill(k, secret, once, err);
    if (st == FRE_OK)
        *out = k;
    else
        fre_keys_free(k);
    return st;
}

fre_status fre_keys_open(fre_keys **out, const char *secret, const char *once, fre_err *err)
{
    fre_keys *k = NULL;
    fre_status st;

    if (!out || !secret)
        return FRE_E_ARG;
    st = open_secret(&k, secret, once, err);
    if (st == FRE_OK)
        st = fre_keys_read_once(k, err);
    if (st == FRE_OK)
        *out = k;
    else
        fre_keys_free(k);
    return st;
}

void fre_keys_free(fre_keys *k)
{
    if (!k)
        return;
    free(k->path);
    free(k->once);
    free(k->wrap);
    sodium_free(k); /* wipes */
}

/* ---- of terms ---------------------------------------------------------------------------------- */

static fre_status other(const fre_keys *k, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_REFUSED,
                    "the terms have another %s of the role %s than '%.200s': do not serve them",
                    what, fre_role_name(k->secret.half.role), k->path);
}

static fre_status check_own(const fre_keys *k, const fre_collection *c, fre_err *err)
{
    const fre_half *h = &k->secret.half;
    const fre_party t = fre_collection_party(c, h->role);

    if (memcmp(t.sign->b, h->sign.b, sizeof h->sign.b) != 0)
        return other(k, "signing key", err);
    if (t.seal && memcmp(t.seal->b, h->seal.b, sizeof h->seal.b) != 0)
        return other(k, "seal key", err);
    if (t.oprf && memcmp(t.oprf->b, h->oprf.b, sizeof h->oprf.b) != 0)
        return other(k, "VOPRF key", err);
    if (strcmp(t.url, h->url) != 0 || memcmp(t.pin, h->pin, sizeof h->pin) != 0)
        return other(k, "address or pin", err);
    if (memcmp(c->contribution[fre_role_contributor(h->role)], k->secret.contribution,
               FRE_SEED_BYTES) != 0)
        return other(k, "contribution", err);
    return FRE_OK;
}

fre_status fre_keys_check(const fre_keys *k, const fre_collection *c, fre_err *err)
{
    const config_secret *s;
    fre_status st;

    if (!k || !c)
        return FRE_E_ARG;
    s = &k->secret;
    st = check_own(k, c, err);
    if (st != FRE_OK)
        return st;
    if (!s->committed)
        return fre_fail(
            err, FRE_E_REFUSED,
            "'%.200s' has not seen the four commitments: the terms were made before its "
            "operator agreed (collection commit)",
            k->path);
    if (memcmp(s->commitment, c->commitment, sizeof s->commitment) != 0)
        return fre_fail(err, FRE_E_REFUSED,
                        "the terms have other commitments than those that the operator of '%.200s' "
                        "was shown: somebody chose its contribution after it saw the others'",
                        k->path);
    return FRE_OK;
}

fre_status fre_keys_find(fre_keys **out, const char *folder, const char *once,
                         const fre_collection *c, fre_role role, fre_err *err)
{
    fre_keys *k = NULL;
    char *path;
    fre_status st;

    if (!out || !folder || !c || !fre_role_name(role))
        return FRE_E_ARG;
    path = config_path(folder, fre_role_name(role), fre_collection_party(c, role).sign,
                       ".secret.json");
    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = access(path, F_OK) != 0 && errno == ENOENT
             ? fre_fail(err, FRE_E_NOINPUT,
                        "'%.300s' is not there: the folder has no keys of the role %s of these "
                        "terms",
                        path, fre_role_name(role))
             : open_secret(&k, path, once, err);
    free(path);
    if (st == FRE_OK)
        st = fre_keys_check(k, c, err);
    if (st == FRE_OK)
        *out = k;
    else
        fre_keys_free(k);
    return st;
}

/* ---- what they are ------------------------------------------------------------------------------ */

const fre_half *fre_keys_half(const fre_keys *k)
{
    return &k->secret.half;
}

const fre_server_keys *fre_keys_server(const fre_keys *k)
{
    return &k->server;
}

fre_oprf_key *fre_keys_oprf(fre_keys *k)
{
    return k->has_once && !k->server.keeper && config_has_oprf(k->secret.half.role) ? &k->oprf
                                                                                    : NULL;
}

const char *fre_keys_once_path(const fre_keys *k)
{
    return k->once;
}

const char *fre_keys_wrap_path(const fre_keys *k)
{
    return k->wrap;
}

const uint8_t *fre_keys_store(const fre_keys *k)
{
    return k->secret.store;
}

bool fre_keys_has_once(const fre_keys *k)
{
    return k->has_once;
}

/* ---- away -------------------------------------------------------------------------------------- */

fre_status fre_keys_forget_once(fre_keys *k, fre_err *err)
{
    fre_status st;

    if (!k)
        return FRE_E_ARG;
    fre_oprf_key_wipe(&k->oprf);
    fre_hpke_keypair_wipe(&k->server.seal);
    st = k->once ? fre_private_erase(k->once, NULL, err) : FRE_OK;
    if (st == FRE_OK)
        k->has_once = false;
    return st;
}

static fre_status erase_one(const char *path, void (*erased)(void *ctx, const char *path),
                            void *ctx, fre_err *err)
{
    bool was = false;
    fre_status st = fre_private_erase(path, &was, err);

    if (st == FRE_OK && was && erased)
        erased(ctx, path);
    return st;
}

/* The secret file last: with it, what is left can be found again. */
fre_status fre_keys_erase(fre_keys *k, void (*erased)(void *ctx, const char *path), void *ctx,
                          fre_err *err)
{
    const fre_half *h = k ? &k->secret.half : NULL;
    char *folder, *tls;
    fre_status st = FRE_OK;

    if (!k)
        return FRE_E_ARG;
    folder = config_folder_of(k->path);
    tls = folder ? config_path(folder, fre_role_name(h->role), &h->sign, ".key.pem") : NULL;
    if (!tls)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; st == FRE_OK && i < 4; i++) {
        const char *const all[] = {k->once, k->wrap, tls, k->path};

        if (all[i])
            st = erase_one(all[i], erased, ctx, err);
    }
    free(tls);
    free(folder);
    return st;
}
