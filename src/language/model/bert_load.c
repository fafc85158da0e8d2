/* Weights of a BERT-shaped encoder from a GGUF file, as floats in the order the kernels read. */
#include "bert_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ggml.h>

#define ROW_MAX 65536u

typedef struct loader {
    const fre_gguf_file *g;
    const char *path;
    FILE *f;
    fre_err *err;
    fre_status status; /* the first failure; later calls do nothing */
} loader;

static void *failed(loader *l, fre_status st, const char *name)
{
    if (l->status == FRE_OK)
        l->status = fre_fail(l->err, st, "%s is not a usable model: tensor %s %s", l->path, name,
                             st == FRE_E_NOMEM ? "does not fit into memory"
                                               : "is missing, damaged or of another shape");
    return NULL;
}

static const fre_gguf_tensor *tensor_of_shape(const loader *l, const char *name, size_t rows,
                                              size_t cols)
{
    const fre_gguf_tensor *t = fre_gguf_find_tensor(l->g, name);

    if (!t || t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != 1 || t->dim[3] != 1)
        return NULL;
    return t;
}

/* Bytes of a tensor as they lie in the file. */
static void *read_raw(loader *l, const fre_gguf_tensor *t)
{
    uint64_t at = l->g->data_start + t->offset;
    void *raw = malloc((size_t)t->bytes);

    if (!raw)
        return failed(l, FRE_E_NOMEM, t->name);
    if (at > INT64_MAX || fseeko(l->f, (off_t)at, SEEK_SET) != 0 ||
        fread(raw, 1, (size_t)t->bytes, l->f) != t->bytes) {
        free(raw);
        return failed(l, FRE_E_MODEL, t->name);
    }
    return raw;
}

void fre_bert_row(float *out, const void *raw, uint32_t type, size_t row, size_t cols)
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

/* rows x cols floats, row-major. */
static float *load_plain(loader *l, const char *name, size_t rows, size_t cols)
{
    const fre_gguf_tensor *t = tensor_of_shape(l, name, rows, cols);
    void *raw = NULL;
    float *out = NULL;

    if (l->status != FRE_OK)
        return NULL;
    if (!t)
        return failed(l, FRE_E_MODEL, name);
    raw = read_raw(l, t);
    out = raw ? malloc(rows * cols * sizeof *out) : NULL;
    if (raw && !out)
        (void)failed(l, FRE_E_NOMEM, name);
    for (size_t r = 0; out && r < rows; r++)
        fre_bert_row(out + r * cols, raw, t->type, r, cols);
    free(raw);
    if (out && !all_finite(out, rows * cols)) {
        free(out);
        return failed(l, FRE_E_MODEL, name);
    }
    return out;
}

/* Outputs [at, at + n) of a packed matrix with k inputs: panel by panel, the BERT_PANEL weights
 * of one input side by side. */
static void pack(loader *l, float *packed, size_t at, const char *name, size_t n, size_t k)
{
    float *w = load_plain(l, name, n, k);

    for (size_t r = 0; w && r < n; r++) {
        size_t o = at + r;
        float *column = packed + o / BERT_PANEL * BERT_PANEL * k + o % BERT_PANEL;

        for (size_t i = 0; i < k; i++)
            column[i * BERT_PANEL] = w[r * k + i];
    }
    free(w);
}

static void copy_bias(loader *l, float *out, const char *name, size_t n)
{
    float *b = load_plain(l, name, 1, n);

    if (b)
        memcpy(out, b, n * sizeof *out);
    free(b);
}

static void product(loader *l, fre_bert_product *p, size_t n, size_t k)
{
    p->n = n;
    p->k = k;
    p->packed = aligned_alloc(64, n * k * sizeof *p->packed);
    p->bias = aligned_alloc(64, n * sizeof *p->bias);
    if (!p->packed || !p->bias)
        (void)failed(l, FRE_E_NOMEM, "weights");
}

/* Part of a product: outputs [at, at + n) from blk.LAYER.NAME.{weight,bias}. */
static void part(loader *l, fre_bert_product *p, size_t at, size_t layer, const char *name,
                 size_t n)
{
    char key[FRE_GGUF_NAME_BYTES];

    if (l->status != FRE_OK)
        return;
    (void)snprintf(key, sizeof key, "blk.%zu.%s.weight", layer, name);
    pack(l, p->packed, at, key, n, p->k);
    (void)snprintf(key, sizeof key, "blk.%zu.%s.bias", layer, name);
    copy_bias(l, p->bias + at, key, n);
}

static void norm(loader *l, fre_bert_norm *out, const char *prefix, size_t dim)
{
    char key[FRE_GGUF_NAME_BYTES];

    (void)snprintf(key, sizeof key, "%s.weight", prefix);
    out->weight = load_plain(l, key, 1, dim);
    (void)snprintf(key, sizeof key, "%s.bias", prefix);
    out->bias = load_plain(l, key, 1, dim);
}

static void load_layer(loader *l, const fre_bert *b, fre_bert_layer *y, size_t i)
{
    char prefix[FRE_GGUF_NAME_BYTES];
    size_t d = b->dim;

    product(l, &y->qkv, 3 * d, d);
    product(l, &y->out, d, d);
    product(l, &y->up, b->wide, d);
    product(l, &y->down, d, b->wide);
    part(l, &y->qkv, 0, i, "attn_q", d);
    part(l, &y->qkv, d, i, "attn_k", d);
    part(l, &y->qkv, 2 * d, i, "attn_v", d);
    part(l, &y->out, 0, i, "attn_output", d);
    part(l, &y->up, 0, i, "ffn_up", b->wide);
    part(l, &y->down, 0, i, "ffn_down", d);
    (void)snprintf(prefix, sizeof prefix, "blk.%zu.attn_output_norm", i);
    norm(l, &y->after_attention, prefix, d);
    (void)snprintf(prefix, sizeof prefix, "blk.%zu.layer_output_norm", i);
    norm(l, &y->after_ffn, prefix, d);
}

/* The token table stays quantised (it is half of the file and one row a token is read); each row
 * is looked at once for numbers that are not finite. */
static void load_table(loader *l, fre_bert *b)
{
    const fre_gguf_tensor *t = tensor_of_shape(l, "token_embd.weight", b->vocab, b->dim);
    float *row;

    if (l->status != FRE_OK)
        return;
    if (!t) {
        (void)failed(l, FRE_E_MODEL, "token_embd.weight");
        return;
    }
    b->table_type = t->type;
    b->table = read_raw(l, t);
    row = malloc(b->dim * sizeof *row);
    if (b->table && !row)
        (void)failed(l, FRE_E_NOMEM, t->name);
    for (size_t r = 0; b->table && row && r < b->vocab && l->status == FRE_OK; r++) {
        fre_bert_row(row, b->table, b->table_type, r, b->dim);
        if (!all_finite(row, b->dim))
            (void)failed(l, FRE_E_MODEL, t->name);
    }
    free(row);
}

static bool known_type(uint32_t type)
{
    return type == GGML_TYPE_F32 || ggml_get_type_traits((enum ggml_type)type)->to_float != NULL;
}

/* Names that this encoder uses; any other tensor means another architecture. */
static bool known_name(const char *name)
{
    static const char *const global[] = {"token_embd.weight",      "token_types.weight",
                                         "position_embd.weight",   "token_embd_norm.weight",
                                         "token_embd_norm.bias"};
    static const char *const block[] = {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up",
                                        "ffn_down", "attn_output_norm", "layer_output_norm"};
    unsigned layer;
    int used = 0;

    for (size_t i = 0; i < sizeof global / sizeof *global; i++)
        if (strcmp(name, global[i]) == 0)
            return true;
    if (sscanf(name, "blk.%u.%n", &layer, &used) != 1 || used == 0)
        return false;
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        size_t n = strlen(block[i]);

        if (strncmp(name + used, block[i], n) == 0 && (strcmp(name + used + n, ".weight") == 0 ||
                                                       strcmp(name + used + n, ".bias") == 0))
            return true;
    }
    return false;
}

/* Positive number bert.NAME of the metadata, at most max and a multiple of step; 0 otherwise. */
static size_t number(const fre_gguf_file *g, const char *name, size_t max, size_t step)
{
    char key[64];
    uint64_t v = 0;

    (void)snprintf(key, sizeof key, "bert.%s", name);
    if (!fre_gguf_uint(g, &v, key) || v > max || v % step != 0)
        return 0;
    return (size_t)v;
}

static bool known_tensors(const fre_gguf_file *g)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!known_type(g->tensor[i].type) || !known_name(g->tensor[i].name))
            return false;
    return true;
}

static bool read_epsilon(fre_bert *b, const fre_gguf_file *g)
{
    const fre_gguf_pair *p = fre_gguf_find(g, "bert.attention.layer_norm_epsilon");
    uint32_t bits = p ? (uint32_t)p->bits : 0;

    memcpy(&b->eps, &bits, sizeof b->eps);
    return p && p->type == FRE_GGUF_F32 && b->eps >= 0.0f && b->eps < 1.0f;
}

/* Metadata into b; false: not of the shape of this encoder. */
static bool read_shape(fre_bert *b, const fre_gguf_file *g)
{
    const fre_gguf_tensor *types = fre_gguf_find_tensor(g, "token_types.weight");
    const fre_gguf_tensor *table = fre_gguf_find_tensor(g, "token_embd.weight");

    if (strcmp(fre_gguf_text(g, "general.architecture"), "bert") != 0 || !table || !types)
        return false;
    b->dim = number(g, "embedding_length", ROW_MAX, BERT_PANEL);
    b->wide = number(g, "feed_forward_length", ROW_MAX, BERT_PANEL);
    b->heads = number(g, "attention.head_count", 4096, 1);
    b->n_layers = number(g, "block_count", 512, 1);
    b->context = number(g, "context_length", ROW_MAX, 1);
    b->pooling = (fre_bert_pooling)number(g, "pooling_type", BERT_POOLING_LAST, 1);
    if (!b->dim || !b->wide || !b->heads || !b->n_layers || !b->context || !b->pooling ||
        b->dim % (b->heads * BERT_LANES) != 0)
        return false;
    b->vocab = (size_t)table->dim[1];
    b->types = (size_t)types->dim[1];
    return read_epsilon(b, g) && known_tensors(g);
}

static void load_all(loader *l, fre_bert *b)
{
    float *types = load_plain(l, "token_types.weight", b->types, b->dim);

    b->position = load_plain(l, "position_embd.weight", b->context, b->dim);
    /* Every token is of "sentence A", so its row belongs to the position. */
    for (size_t i = 0; b->position && types && i < b->context * b->dim; i++)
        b->position[i] += types[i % b->dim];
    free(types);
    norm(l, &b->after_table, "token_embd_norm", b->dim);
    load_table(l, b);
    for (size_t i = 0; i < b->n_layers && l->status == FRE_OK; i++)
        load_layer(l, b, &b->layer[i], i);
}

fre_status fre_bert_load(fre_bert **out, const fre_gguf_file *g, const char *path, fre_err *err)
{
    loader l = {.g = g, .path = path, .err = err, .status = FRE_OK};
    fre_bert *b = calloc(1, sizeof *b);

    *out = NULL;
    if (!b)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    if (!read_shape(b, g)) {
        free(b);
        return FRE_OK;
    }
    b->layer = calloc(b->n_layers, sizeof *b->layer);
    l.f = fopen(path, "rbe");
    if (!l.f)
        l.status = fre_fail(err, FRE_E_NOINPUT, "cannot open %s: %s", path, strerror(errno));
    else if (!b->layer)
        (void)failed(&l, FRE_E_NOMEM, "weights");
    else
        load_all(&l, b);
    if (l.f)
        (void)fclose(l.f); /* read only: nothing can be lost */
    if (l.status != FRE_OK) {
        fre_bert_free(b);
        return l.status;
    }
    *out = b;
    return FRE_OK;
}

static void free_product(fre_bert_product *p)
{
    free(p->packed);
    free(p->bias);
}

static void free_norm(fre_bert_norm *n)
{
    free(n->weight);
    free(n->bias);
}

void fre_bert_free(fre_bert *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->layer && i < b->n_layers; i++) {
        free_product(&b->layer[i].qkv);
        free_product(&b->layer[i].out);
        free_product(&b->layer[i].up);
        free_product(&b->layer[i].down);
        free_norm(&b->layer[i].after_attention);
        free_norm(&b->layer[i].after_ffn);
    }
    free(b->layer);
    free_norm(&b->after_table);
    free(b->position);
    free(b->table);
    free(b);
}
