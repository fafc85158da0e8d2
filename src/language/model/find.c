/* Where bundled models lie, and what belongs to a model beside it. */
#include "model_private.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING ".gguf"

/* DIR/SUB/NAME into path if it fits and is readable. */
static bool try_file(char *path, size_t n, const char *dir, const char *sub, const char *name)
{
    int len = snprintf(path, n, "%s%s%s/%s", dir, sub[0] ? "/" : "", sub, name);

    return len > 0 && (size_t)len < n && access(path, R_OK) == 0;
}

/* Folder of the running program; false where /proc is not mounted. */
static bool program_folder(char *dir, size_t n)
{
    ssize_t len = readlink("/proc/self/exe", dir, n - 1);
    char *slash;

    if (len <= 0)
        return false;
    dir[len] = '\0';
    slash = strrchr(dir, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Folder of the shared object that this code is in: the library's, or a module's of another language, of
 * which the running program knows nothing.  A relative name is passed over: of the program itself it is what
 * its parent called it, and would be looked for in the current folder. */
static bool library_folder(char *dir, size_t n)
{
    const char *object = fre_runtime_object_of((void (*)(void))fre_model_find);

    return object && object[0] == '/' && fre_runtime_folder(dir, n, object);
}

/* Where tools/get-language-model puts a model that is not bundled. */
static fre_status try_cache(bool *is_there, char *path, size_t n, const char *name, fre_err *err)
{
    char *cache = NULL;
    const fre_status st = fre_user_folder(&cache, FRE_USER_CACHE, false, NULL);

    *is_there = st == FRE_OK && try_file(path, n, cache, "", name);
    free(cache);
    if (st == FRE_E_NOMEM)
        return fre_fail(err, st, "out of memory");
    return FRE_OK; /* a user without such a folder has no models there */
}

/* KIND/NAME from bin/ or lib/ of an installation, from a wheel, from build/ and build/PRESET/ of a checkout,
 * and from the tests and examples one folder further down. */
static bool try_around(char *path, size_t n, const char *dir, const char *kind, const char *name)
{
    static const char *const up[] = {"", "../share/fre-e2t/", "../", "../../", "../../../"};
    char sub[64];

    for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
        (void)snprintf(sub, sizeof sub, "%s%s", up[i], kind);
        if (try_file(path, n, dir, sub, name))
            return true;
    }
    return false;
}

static bool try_beside(char *path, size_t n, const char *kind, const char *name)
{
    char dir[PATH_MAX];

    return (program_folder(dir, sizeof dir) && try_around(path, n, dir, kind, name)) ||
           (library_folder(dir, sizeof dir) && try_around(path, n, dir, kind, name));
}

static fre_status copy_path(char *path, size_t n, const char *found, const char *name, fre_err *err)
{
    if (strlen(found) >= n)
        return fre_fail(err, FRE_E_LIMIT, "the path of %s is too long", name);
    memcpy(path, found, strlen(found) + 1);
    return FRE_OK;
}

fre_status fre_model_find(char *path, size_t n, const char *name, fre_err *err)
{
    const char *env = getenv("FRE_MODEL_DIR");
    char found[PATH_MAX];
    bool is_cached;
    fre_status st;

    if (!path || n == 0 || !name || !name[0])
        return fre_fail(err, FRE_E_ARG, "fre_model_find needs a file name");
    if (env && env[0] && try_file(found, sizeof found, env, "", name))
        return copy_path(path, n, found, name, err);
    if (try_beside(found, sizeof found, "models", name))
        return copy_path(path, n, found, name, err);
#ifdef FRE_MODEL_INSTALL_DIR
    if (try_file(found, sizeof found, FRE_MODEL_INSTALL_DIR, "", name))
        return copy_path(path, n, found, name, err);
#endif
    st = try_cache(&is_cached, found, sizeof found, name, err);
    if (st != FRE_OK)
        return st;
    if (is_cached)
        return copy_path(path, n, found, name, err);
    return fre_fail(err, FRE_E_NOINPUT,
                    "the model %s was not found: looked in $FRE_MODEL_DIR (%s), in models folders "
                    "beside the program and the library, in the installation and in the cache; set "
                    "FRE_MODEL_DIR "
                    "or name the file",
                    name, env && env[0] ? env : "not set");
}

fre_status fre_data_find(char *path, size_t n, const char *name, fre_err *err)
{
    char found[PATH_MAX];

    if (!path || n == 0 || !name || !name[0])
        return fre_fail(err, FRE_E_ARG, "fre_data_find needs a file name");
    if (try_beside(found, sizeof found, "data", name))
        return copy_path(path, n, found, name, err);
#ifdef FRE_MODEL_INSTALL_DIR
    if (try_file(found, sizeof found, FRE_MODEL_INSTALL_DIR, "../data", name))
        return copy_path(path, n, found, name, err);
#endif
    return fre_fail(err, FRE_E_NOINPUT,
                    "the bundled file %s was not found: looked in data folders beside the program "
                    "and in the installation",
                    name);
}

/* "q8_0", "f16", "bf16", "iq4_xs": the quantisation in a file's name. */
static bool is_quantisation(const char *s, size_t n)
{
    size_t at = 0;

    while (at < n && at < 2 && isalpha((unsigned char)s[at]))
        at++;
    if (at == 0 || at == n || !isdigit((unsigned char)s[at]))
        return false;
    for (; at < n; at++)
        if (!isalnum((unsigned char)s[at]) && s[at] != '_')
            return false;
    return strchr("qQfFbBiI", s[0]) != NULL;
}

/* "dir/name.q8_0.gguf" -> "dir/name.KIND.gguf".  False: too long. */
static bool path_beside(char *path, size_t n, const char *model_path, const char *kind)
{
    const char *slash = strrchr(model_path, '/'), *name = slash ? slash + 1 : model_path;
    const size_t from = (size_t)(name - model_path), ending = strlen(ENDING);
    size_t stem = strlen(model_path), part;
    int len;

    if (stem - from > ending && strcmp(model_path + stem - ending, ENDING) == 0)
        stem -= ending;
    part = stem;
    while (part > from && model_path[part - 1] != '.')
        part--;
    if (part > from + 1 && is_quantisation(model_path + part, stem - part))
        stem = part - 1;
    len = snprintf(path, n, "%.*s.%s" ENDING, (int)stem, model_path, kind);
    return len > 0 && (size_t)len < n;
}

const char *fre_model_companion(char *beside, size_t n, const char *path, const char *model_path,
                                const char *kind)
{
    if (path)
        return strcmp(path, "none") == 0 ? NULL : path;
    return model_path && path_beside(beside, n, model_path, kind) && access(beside, F_OK) == 0
               ? beside
               : NULL;
}

fre_status fre_model_companion_fits(const char *kind, const char *path, const char *name,
                                    const char *hash, uint32_t dim, const fre_model_info *embedder,
                                    fre_err *err)
{
    char own[2 * FRE_HASH_BYTES + 1];

    fre_hex(own, embedder->sha256, FRE_HASH_BYTES);
    if (dim == embedder->dim && strcmp(hash, own) == 0)
        return FRE_OK;
    return fre_fail(err, FRE_E_MODEL,
                    "the %s %.200s was made for another embedder (%.60s, SHA-256 %.12s...); make "
                    "one for yours by 'model %s' or give {%s} none",
                    kind, path, name, hash, kind, kind);
}
