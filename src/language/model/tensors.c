/* Plain tensors of a GGUF file as floats. */
#include "model_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A projector, a prior or a codebook; a file beyond this is not one. */
#define TENSORS_FLOATS_MAX (UINT64_C(1) << 29)

typedef struct shape_of {
    size_t rows, cols;
} shape_of;

struct fre_tensors {
    fre_gguf_file file;
    void **value; /* one an entry of file.tensor: floats, or whole numbers of its type */
    char *path;
    uint8_t sha256[FRE_HASH_BYTES];
};

static bool is_whole(uint32_t type)
{
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I32;
}

static fre_status check_types(const fre_tensors *t, fre_err *err)
{
    uint64_t all = 0;

    for (size_t i = 0; i < t->file.n_tensors; i++) {
        const fre_gguf_tensor *x = &t->file.tensor[i];

        if (x->type != GGML_TYPE_F32 && x->type != GGML_TYPE_F16 && x->type != GGML_TYPE_BF16 &&
            x->type != GGML_TYPE_Q8_0 && !is_whole(x->type))
            return fre_fail(
                err, FRE_E_MODEL,
                "%s: tensor %s has type %s; f32, f16, bf16, q8_0, i8 and i32 are understood",
                t->path, x->name, ggml_type_name((enum ggml_type)x->type));
        all += x->dim[0] * x->dim[1] * x->dim[2] * x->dim[3];
        if (all > TENSORS_FLOATS_MAX)
            return fre_fail(err, FRE_E_MODEL, "%s: its tensors are too large for this use",
                            t->path);
    }
    return FRE_OK;
}

/* raw: the tensor's bytes as the file has them.  On success t has taken or copied them. */
static fre_status convert(fre_tensors *t, size_t i, void **raw, fre_err *err)
{
    const fre_gguf_tensor *x = &t->file.tensor[i];
    const size_t items = (size_t)(x->dim[0] * x->dim[1] * x->dim[2] * x->dim[3]);
    float *value;

    if (is_whole(x->type)) {
        t->value[i] = *raw;
        *raw = NULL;
        return FRE_OK;
    }
    t->value[i] = value = malloc(items * sizeof *value);
    if (!value)
        return fre_fail(err, FRE_E_NOMEM, "out of memory reading %s", t->path);
    if (x->type == GGML_TYPE_F32)
        memcpy(value, *raw, items * sizeof *value);
    else
        ggml_get_type_traits((enum ggml_type)x->type)->to_float(*raw, value, (int64_t)items);
    for (size_t j = 0; j < items; j++)
        if (!__builtin_isfinite(value[j]))
            return fre_fail(err, FRE_E_MODEL,
                            "%s: tensor %s holds a number that is not finite; fetch the file again",
                            t->path, x->name);
    return FRE_OK;
}

static fre_status load_one(fre_tensors *t, FILE *f, size_t i, fre_err *err)
{
    const fre_gguf_tensor *x = &t->file.tensor[i];
    uint64_t at = t->file.data_start + x->offset;
    void *raw = malloc((size_t)x->bytes);
    fre_status st;

    if (!raw)
        return fre_fail(err, FRE_E_NOMEM, "out of memory reading %s", t->path);
    if (at > INT64_MAX || fseeko(f, (off_t)at, SEEK_SET) != 0 ||
        fread(raw, 1, (size_t)x->bytes, f) != x->bytes)
        st = fre_fail(err, FRE_E_MODEL, "%s is cut short: tensor %s cannot be read; fetch it again",
                      t->path, x->name);
    else
        st = convert(t, i, &raw, err);
    free(raw);
    return st;
}

static fre_status load_all(fre_tensors *t, fre_err *err)
{
    FILE *f = fopen(t->path, "rbe");
    fre_status st = FRE_OK;

    if (!f)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH, "cannot open %s",
                               t->path);
    t->value = calloc(t->file.n_tensors + 1, sizeof *t->value);
    if (!t->value)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory reading %s", t->path);
    for (size_t i = 0; i < t->file.n_tensors && st == FRE_OK; i++)
        st = load_one(t, f, i, err);
    (void)fclose(f); /* read only: nothing can be lost */
    return st;
}

fre_status fre_tensors_open(fre_tensors **out, const char *path, const char *architecture,
                            fre_err *err)
{
    fre_tensors *t = NULL;
    fre_status st = FRE_OK;

    if (!out || !path || !architecture)
        return fre_fail(err, FRE_E_ARG, "fre_tensors_open needs a path and an architecture");
    st = fre_runtime_start(err); /* the conversions of ggml need its tables */
    if (st != FRE_OK)
        return st;
    t = calloc(1, sizeof *t);
    if (t)
        t->path = strdup(path);
    if (!t || !t->path) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
        goto out;
    }
    st = fre_gguf_read(&t->file, path, err);
    if (st != FRE_OK)
        goto out;
    if (strcmp(fre_gguf_text(&t->file, "general.architecture"), architecture) != 0) {
        const char *is = fre_gguf_text(&t->file, "general.architecture");

        st = fre_fail(err, FRE_E_MODEL, "%s has architecture \"%.40s\" where \"%s\" is needed",
                      path, is, architecture);
        goto out;
    }
    st = check_types(t, err);
    if (st == FRE_OK)
        st = load_all(t, err);
    if (st == FRE_OK)
        st = fre_sha256_file(t->sha256, path, err);
    if (st != FRE_OK)
        goto out;
    *out = t;
    t = NULL; /* handed over */
out:
    fre_tensors_free(t);
    return st;
}

/* whole: the type asked for, or GGML_TYPE_F32 for floats however they are stored. */
static fre_status find(const fre_tensors *t, const void **out, const char *name,
                       enum ggml_type whole, shape_of shape, fre_err *err)
{
    const fre_gguf_tensor *x;

    if (!t || !out || !name)
        return fre_fail(err, FRE_E_ARG, "fre_tensors_get needs a name");
    x = fre_gguf_find_tensor(&t->file, name);
    if (!x)
        return fre_fail(err, FRE_E_MODEL, "%s has no tensor %s", t->path, name);
    if (x->dim[0] != shape.cols || x->dim[1] != shape.rows || x->dim[2] != 1 || x->dim[3] != 1)
        return fre_fail(err, FRE_E_MODEL,
                        "%s: tensor %s has shape %" PRIu64 " x %" PRIu64 " where %zu x %zu is "
                        "needed",
                        t->path, name, x->dim[1], x->dim[0], shape.rows, shape.cols);
    if (whole == GGML_TYPE_F32 ? is_whole(x->type) : x->type != (uint32_t)whole)
        return fre_fail(err, FRE_E_MODEL, "%s: tensor %s has type %s where %s is needed", t->path,
                        name, ggml_type_name((enum ggml_type)x->type), ggml_type_name(whole));
    *out = t->value[x - t->file.tensor];
    return FRE_OK;
}

fre_status fre_tensors_get(const fre_tensors *t, const float **out, const char *name, size_t rows,
                           size_t cols, fre_err *err)
{
    const void *value;
    fre_status st = find(t, out ? &value : NULL, name, GGML_TYPE_F32, (shape_of){rows, cols}, err);

    if (st == FRE_OK)
        *out = value;
    return st;
}

fre_status fre_tensors_get_i8(const fre_tensors *t, const int8_t **out, const char *name,
                              size_t rows, size_t cols, fre_err *err)
{
    const void *value;
    fre_status st = find(t, out ? &value : NULL, name, GGML_TYPE_I8, (shape_of){rows, cols}, err);

    if (st == FRE_OK)
        *out = value;
    return st;
}

fre_status fre_tensors_get_i32(const fre_tensors *t, const int32_t **out, const char *name,
                               size_t rows, size_t cols, fre_err *err)
{
    const void *value;
    fre_status st = find(t, out ? &value : NULL, name, GGML_TYPE_I32, (shape_of){rows, cols}, err);

    if (st == FRE_OK)
        *out = value;
    return st;
}

bool fre_tensors_has(const fre_tensors *t, const char *name)
{
    return fre_gguf_find_tensor(&t->file, name) != NULL;
}

fre_status fre_tensors_u32(const fre_tensors *t, uint32_t *out, const char *key, fre_err *err)
{
    uint64_t v = 0;

    if (!t || !out || !key)
        return fre_fail(err, FRE_E_ARG, "fre_tensors_u32 needs a key");
    if (!fre_gguf_uint(&t->file, &v, key) || v > UINT32_MAX)
        return fre_fail(err, FRE_E_MODEL, "%s has no whole number %s in its metadata", t->path,
                        key);
    *out = (uint32_t)v;
    return FRE_OK;
}

fre_status fre_tensors_f32(const fre_tensors *t, float *out, const char *key, fre_err *err)
{
    const fre_gguf_pair *p;
    uint32_t bits;

    if (!t || !out || !key)
        return fre_fail(err, FRE_E_ARG, "fre_tensors_f32 needs a key");
    p = fre_gguf_find(&t->file, key);
    if (!p || p->type != FRE_GGUF_F32)
        return fre_fail(err, FRE_E_MODEL, "%s has no number %s in its metadata", t->path, key);
    bits = (uint32_t)p->bits;
    memcpy(out, &bits, sizeof *out);
    return FRE_OK;
}

const char *fre_tensors_text(const fre_tensors *t, const char *key)
{
    return fre_gguf_text(&t->file, key);
}

const uint8_t *fre_tensors_sha256(const fre_tensors *t)
{
    return t->sha256;
}

void fre_tensors_free(fre_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->value && i < t->file.n_tensors; i++)
        free(t->value[i]);
    free(t->value);
    fre_gguf_wipe(&t->file);
    free(t->path);
    free(t);
}
