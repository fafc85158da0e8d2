/* x.npy.json beside x.npy: which embedder made the rows.  Without it embeddings of two models
 * could be mixed up without a word. */
#include "corpus_private.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SIDECAR_BYTES_MAX (64u << 10)

static fre_status sidecar_load(json_t **out, const char *path, const char *name, fre_err *err)
{
    char *text = NULL, *side = NULL;
    FILE *f = NULL;
    size_t n = 0;
    json_error_t je;
    json_t *j = NULL;
    fre_status st = FRE_OK;

    if (asprintf(&side, "%s.json", path) < 0)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    text = malloc(SIDECAR_BYTES_MAX + 1);
    if (!text) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    f = fopen(side, "re");
    if (!f) {
        if (errno != ENOENT)
            st =
                fre_open_failed(err, errno, FRE_E_NOINPUT, NULL, "%s.json: cannot be opened", name);
        goto out;
    }
    n = fread(text, 1, SIDECAR_BYTES_MAX + 1, f);
    if (ferror(f)) {
        st = fre_fail(err, FRE_E_IO, "%s.json: cannot be read", name);
        goto out;
    }
    if (n > SIDECAR_BYTES_MAX) {
        st = fre_fail(err, FRE_E_DATA, "%s.json: longer than 64 KiB, so not a sidecar of ours",
                      name);
        goto out;
    }
    j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &je);
    if (!j && je.line < 0) { /* nothing was read wrong */
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    if (!j) {
        st = fre_fail(err, FRE_E_DATA,
                      "%s.json: line %d: not valid JSON; delete it or embed the texts again", name,
                      je.line);
        goto out;
    }
    *out = j;
out:
    if (f)
        (void)fclose(f);
    free(text);
    free(side);
    return st;
}

static bool is_sha256(const char *s)
{
    size_t n = strspn(s, "0123456789abcdef");

    return s[n] == '\0' && (n == 64 || n == 0);
}

static fre_status sidecar_field(const char *name, const char *key, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s.json: the key \"%s\" is missing or is not %s; embed the texts again", name,
                    key, what);
}

static fre_status sidecar_number(const json_t *j, const char *name, const char *key, size_t have,
                                 fre_err *err)
{
    const json_t *v = json_object_get(j, key);

    if (!json_is_integer(v))
        return sidecar_field(name, key, "an integer", err);
    if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) != have)
        return fre_fail(err, FRE_E_DATA,
                        "%s.json: %s is %lld, but the array has %zu; the two files do not belong "
                        "together",
                        name, key, (long long)json_integer_value(v), have);
    return FRE_OK;
}

static fre_status sidecar_parse(fre_npy_meta *m, const json_t *j, const char *name, size_t rows,
                                size_t dim, fre_err *err)
{
    const json_t *v = NULL;
    fre_status st = FRE_OK;

    if (!json_is_object(j))
        return fre_fail(err, FRE_E_DATA, "%s.json: not a JSON object; embed the texts again", name);
    st = sidecar_number(j, name, "dimension", dim, err);
    if (st == FRE_OK)
        st = sidecar_number(j, name, "rows", rows, err);
    if (st)
        return st;
    v = json_object_get(j, "normalised");
    if (!json_is_boolean(v))
        return sidecar_field(name, "normalised", "true or false", err);
    m->normalised = json_is_true(v);
    v = json_object_get(j, "sha256");
    if (!json_is_string(v) || !is_sha256(json_string_value(v)))
        return sidecar_field(name, "sha256", "64 lower-case hexadecimal digits", err);
    (void)snprintf(m->sha256, sizeof m->sha256, "%s", json_string_value(v));
    v = json_object_get(j, "embedder");
    if (!json_is_string(v) || json_string_length(v) >= sizeof m->embedder)
        return sidecar_field(name, "embedder", "a string of up to 127 bytes", err);
    (void)snprintf(m->embedder, sizeof m->embedder, "%s", json_string_value(v));
    return FRE_OK;
}

fre_status npy_sidecar_read(fre_npy_meta *m, bool *has, const char *path, const char *name,
                            size_t rows, size_t dim, fre_err *err)
{
    json_t *j = NULL;
    fre_npy_meta got = {0};
    fre_status st = sidecar_load(&j, path, name, err);

    if (st == FRE_OK && j)
        st = sidecar_parse(&got, j, name, rows, dim, err);
    if (st == FRE_OK) {
        *m = got;
        *has = j != NULL;
    }
    json_decref(j);
    return st;
}

fre_status fre_npy_write_meta(FILE *f, const fre_npy_meta *m, size_t rows, size_t dim, fre_err *err)
{
    const size_t len = strlen(m->embedder);
    fre_status st = FRE_OK;
    json_t *j;

    if (fre_utf8_first_bad((const uint8_t *)m->embedder, len) < len)
        return fre_fail(err, FRE_E_ARG, "the embedder's name is not UTF-8");
    j = json_pack("{s:s, s:s, s:I, s:b, s:I}", "embedder", m->embedder, "sha256", m->sha256,
                  "dimension", (json_int_t)dim, "normalised", (int)m->normalised, "rows",
                  (json_int_t)rows);
    if (!j)
        return fre_fail(err, FRE_E_NOMEM, "out of memory while describing the embeddings");
    if (json_dumpf(j, f, JSON_INDENT(2)) != 0 || fputc('\n', f) == EOF)
        st = fre_fail(err, FRE_E_IO, "the sidecar cannot be written: %s", strerror(errno));
    json_decref(j);
    return st;
}
