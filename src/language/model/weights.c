/* See weights.h. */
#include "weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ggml.h>

void fre_loader_init(fre_loader *l, const fre_gguf_file *g, const char *path, fre_err *err)
{
    *l = (fre_loader){.g = g, .path = path, .err = err, .status = FRE_OK};
    l->f = fopen(path, "rbe");
    if (!l->f)
        l->status =
            fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH, "cannot open %s", path);
}

void fre_loader_close(fre_loader *l)
{
    if (l->f)
        (void)fclose(l->f); /* read only: nothing can be lost */
    l->f = NULL;
}

void fre_loader_no_memory(fre_loader *l)
{
    if (l->status == FRE_OK)
        l->status = fre_fail(l->err, FRE_E_NOMEM, "out of memory opening %s", l->path);
}

bool fre_loader_goes_on(fre_loader *l)
{
    if (l->status == FRE_OK && fre_interrupted())
        l->status = fre_fail(l->err, FRE_E_INTERRUPTED, "interrupted");
    return l->status == FRE_OK;
}

static void damaged(fre_loader *l, const char *name)
{
    if (l->status == FRE_OK)
        l->status = fre_fail(l->err, FRE_E_MODEL,
                             "%s is not a usable model: tensor %s is missing, damaged or of "
                             "another shape",
                             l->path, name);
}

/* Bytes of a tensor as they lie in the file. */
static void *read_raw(fre_loader *l, const fre_gguf_tensor **out, const char *name, size_t rows,
                      size_t cols)
{
    const fre_gguf_tensor *t = fre_gguf_find_tensor(l->g, name);
    uint64_t at;
    void *raw;

    if (l->status != FRE_OK)
        return NULL;
    if (!t || t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != 1 || t->dim[3] != 1) {
        damaged(l, name);
        return NULL;
    }
    at = l->g->data_start + t->offset;
    raw = malloc((size_t)t->bytes);
    if (!raw) {
        fre_loader_no_memory(l);
        return NULL;
    }
    if (at > INT64_MAX || fseeko(l->f, (off_t)at, SEEK_SET) != 0 ||
        fread(raw, 1, (size_t)t->bytes, l->f) != t->bytes) {
        damaged(l, name);
        free(raw);
        return NULL;
    }
    *out = t;
    return raw;
}

static void convert(float *out, const void *raw, uint32_t type, size_t row, size_t cols)
{
    const uint8_t *p = raw;

    p += row * ggml_row_size((enum ggml_type)type, (int64_t)cols);
    if (type == GGML_TYPE_F32)
        memcpy(out, p, cols * sizeof *out);
    else
        ggml_get_type_traits((enum ggml_type)type)->to_float(p, out, (int64_t)cols);
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!__builtin_isfinite(x[i]))
            return false;
    return true;
}

float *fre_load_plain(fre_loader *l, const char *name, size_t rows, size_t cols)
{
    const fre_gguf_tensor *t = NULL;
    void *raw = read_raw(l, &t, name, rows, cols);
    float *out = NULL;

    if (!raw)
        return NULL;
    out = malloc(rows * cols * sizeof *out);
    if (!out)
        fre_loader_no_memory(l);
    for (size_t r = 0; out && r < rows; r++)
        convert(out + r * cols, raw, t->type, r, cols);
    free(raw);
    if (out && !all_finite(out, rows * cols)) {
        damaged(l, name);
        free(out);
        out = NULL;
    }
    return out;
}

void fre_load_product(fre_loader *l, fre_product *p, size_t n, size_t k)
{
    if (l->status != FRE_OK)
        return;
    p->n = n;
    p->k = k;
    p->packed = aligned_alloc(64, n * k * sizeof *p->packed);
    p->bias = aligned_alloc(64, n * sizeof *p->bias);
    if (!p->packed || !p->bias)
        fre_loader_no_memory(l);
    else
        memset(p->bias, 0, n * sizeof *p->bias);
}

void fre_load_weights(fre_loader *l, fre_product *p, size_t at, const char *name, size_t n)
{
    float *w = fre_load_plain(l, name, n, p->k);

    for (size_t r = 0; w && r < n; r++) {
        size_t o = at + r;
        float *column = p->packed + o / KERNEL_PANEL * KERNEL_PANEL * p->k + o % KERNEL_PANEL;

        for (size_t i = 0; i < p->k; i++)
            column[i * KERNEL_PANEL] = w[r * p->k + i];
    }
    free(w);
}

void fre_load_bias(fre_loader *l, fre_product *p, size_t at, const char *name, size_t n)
{
    float *b = fre_load_plain(l, name, 1, n);

    if (b)
        memcpy(p->bias + at, b, n * sizeof *b);
    free(b);
}

void fre_load_table(fre_loader *l, fre_table *t, const char *name, size_t rows, size_t cols)
{
    const fre_gguf_tensor *g = NULL;
    float *row = malloc(cols * sizeof *row);

    t->raw = read_raw(l, &g, name, rows, cols);
    if (!row)
        fre_loader_no_memory(l);
    if (t->raw) {
        t->type = g->type;
        t->rows = rows;
        t->cols = cols;
    }
    for (size_t r = 0; t->raw && row && r < rows; r++) {
        fre_table_row(t, row, r);
        if (!all_finite(row, cols)) {
            damaged(l, name);
            break;
        }
    }
    free(row);
}

void fre_product_wipe(fre_product *p)
{
    free(p->packed);
    free(p->bias);
    *p = (fre_product){0};
}

void fre_table_wipe(fre_table *t)
{
    free(t->raw);
    *t = (fre_table){0};
}

void fre_table_row(const fre_table *t, float *out, size_t row)
{
    convert(out, t->raw, t->type, row, t->cols);
}

void fre_layer_key(char key[FRE_GGUF_NAME_BYTES], size_t layer, const char *name)
{
    (void)snprintf(key, FRE_GGUF_NAME_BYTES, "blk.%zu.%s", layer, name);
}

size_t fre_gguf_number(const fre_gguf_file *g, const char *prefix, const char *name, size_t max,
                       size_t step)
{
    char key[FRE_GGUF_TEXT_BYTES];
    uint64_t v = 0;

    (void)snprintf(key, sizeof key, "%s.%s", prefix, name);
    if (!fre_gguf_uint(g, &v, key) || v > max || v % step != 0)
        return 0;
    return (size_t)v;
}

bool fre_gguf_float(const fre_gguf_file *g, float *out, const char *prefix, const char *name)
{
    char key[FRE_GGUF_TEXT_BYTES];
    const fre_gguf_pair *p;
    uint32_t bits;

    (void)snprintf(key, sizeof key, "%s.%s", prefix, name);
    p = fre_gguf_find(g, key);
    if (!p || p->type != FRE_GGUF_F32)
        return false;
    bits = (uint32_t)p->bits;
    memcpy(out, &bits, sizeof *out);
    return true;
}

static bool one_of(const char *name, const char *const *names, size_t n)
{
    unsigned layer;
    int used = 0;

    if (sscanf(name, "blk.%u.%n", &layer, &used) == 1 && used > 0)
        name += used;
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool fre_gguf_only(const fre_gguf_file *g, const char *const *names, size_t n)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        enum ggml_type type = (enum ggml_type)g->tensor[i].type;

        if (type != GGML_TYPE_F32 && !ggml_get_type_traits(type)->to_float)
            return false;
        if (!one_of(g->tensor[i].name, names, n))
            return false;
    }
    return true;
}
