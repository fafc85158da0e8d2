/* A BERT-shaped encoder from a GGUF file. */
#include "bert_private.h"

#include <stdlib.h>
#include <string.h>

#define ROW_MAX 65536u

static void norm(fre_loader *l, fre_bert_norm *out, const char *prefix, size_t dim)
{
    char key[FRE_GGUF_NAME_BYTES];

    (void)snprintf(key, sizeof key, "%s.weight", prefix);
    out->weight = fre_load_plain(l, key, 1, dim);
    (void)snprintf(key, sizeof key, "%s.bias", prefix);
    out->bias = fre_load_plain(l, key, 1, dim);
}

/* Outputs [at, at + n) of p from blk.LAYER.NAME.{weight,bias}. */
static void part(fre_loader *l, fre_product *p, size_t at, size_t layer, const char *name, size_t n)
{
    char prefix[FRE_GGUF_NAME_BYTES], key[FRE_GGUF_NAME_BYTES + 8];

    fre_layer_key(prefix, layer, name);
    (void)snprintf(key, sizeof key, "%s.weight", prefix);
    fre_load_weights(l, p, at, key, n);
    (void)snprintf(key, sizeof key, "%s.bias", prefix);
    fre_load_bias(l, p, at, key, n);
}

static void load_layer(fre_loader *l, const fre_bert *b, fre_bert_layer *y, size_t i)
{
    char prefix[FRE_GGUF_NAME_BYTES];
    size_t d = b->dim;

    fre_load_product(l, &y->qkv, 3 * d, d);
    fre_load_product(l, &y->out, d, d);
    fre_load_product(l, &y->up, b->wide, d);
    fre_load_product(l, &y->down, d, b->wide);
    part(l, &y->qkv, 0, i, "attn_q", d);
    part(l, &y->qkv, d, i, "attn_k", d);
    part(l, &y->qkv, 2 * d, i, "attn_v", d);
    part(l, &y->out, 0, i, "attn_output", d);
    part(l, &y->up, 0, i, "ffn_up", b->wide);
    part(l, &y->down, 0, i, "ffn_down", d);
    fre_layer_key(prefix, i, "attn_output_norm");
    norm(l, &y->after_attention, prefix, d);
    fre_layer_key(prefix, i, "layer_output_norm");
    norm(l, &y->after_ffn, prefix, d);
}

static bool known_tensors(const fre_gguf_file *g)
{
    static const char *const names[] = {"token_embd.weight",     "token_types.weight",
                                        "position_embd.weight",  "token_embd_norm.weight",
                                        "token_embd_norm.bias",  "attn_q.weight",
                                        "attn_q.bias",           "attn_k.weight",
                                        "attn_k.bias",           "attn_v.weight",
                                        "attn_v.bias",           "attn_output.weight",
                                        "attn_output.bias",      "ffn_up.weight",
                                        "ffn_up.bias",           "ffn_down.weight",
                                        "ffn_down.bias",         "attn_output_norm.weight",
                                        "attn_output_norm.bias", "layer_output_norm.weight",
                                        "layer_output_norm.bias"};

    return fre_gguf_only(g, names, sizeof names / sizeof *names);
}

/* Metadata into b; false: not of the shape of this encoder. */
static bool read_shape(fre_bert *b, const fre_gguf_file *g)
{
    const fre_gguf_tensor *types = fre_gguf_find_tensor(g, "token_types.weight");
    const fre_gguf_tensor *table = fre_gguf_find_tensor(g, "token_embd.weight");

    if (strcmp(fre_gguf_text(g, "general.architecture"), "bert") != 0 || !table || !types)
        return false;
    b->dim = fre_gguf_number(g, "bert", "embedding_length", ROW_MAX, KERNEL_PANEL);
    b->wide = fre_gguf_number(g, "bert", "feed_forward_length", ROW_MAX, KERNEL_PANEL);
    b->heads = fre_gguf_number(g, "bert", "attention.head_count", 4096, 1);
    b->n_layers = fre_gguf_number(g, "bert", "block_count", 512, 1);
    b->context = fre_gguf_number(g, "bert", "context_length", ROW_MAX, 1);
    b->pooling = (fre_bert_pooling)fre_gguf_number(g, "bert", "pooling_type", BERT_POOLING_LAST, 1);
    if (!b->dim || !b->wide || !b->heads || !b->n_layers || !b->context || !b->pooling ||
        b->dim % (b->heads * KERNEL_LANES) != 0)
        return false;
    b->vocab = (size_t)table->dim[1];
    b->types = (size_t)types->dim[1];
    return fre_gguf_float(g, &b->eps, "bert", "attention.layer_norm_epsilon") && known_tensors(g);
}

static void load_all(fre_loader *l, fre_bert *b)
{
    float *types = fre_load_plain(l, "token_types.weight", b->types, b->dim);

    b->position = fre_load_plain(l, "position_embd.weight", b->context, b->dim);
    /* Every token is of "sentence A", so its row belongs to the position. */
    for (size_t i = 0; b->position && types && i < b->context * b->dim; i++)
        b->position[i] += types[i % b->dim];
    free(types);
    norm(l, &b->after_table, "token_embd_norm", b->dim);
    fre_load_table(l, &b->table, "token_embd.weight", b->vocab, b->dim);
    for (size_t i = 0; i < b->n_layers && fre_loader_goes_on(l); i++)
        load_layer(l, b, &b->layer[i], i);
}

fre_status fre_bert_load(fre_bert **out, const fre_gguf_file *g, const char *path, fre_err *err)
{
    fre_loader l;
    fre_bert *b = calloc(1, sizeof *b);

    *out = NULL;
    if (!b)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    if (!read_shape(b, g)) {
        free(b);
        return FRE_OK;
    }
    fre_loader_init(&l, g, path, err);
    b->layer = calloc(b->n_layers, sizeof *b->layer);
    if (!b->layer)
        fre_loader_no_memory(&l);
    if (l.status == FRE_OK)
        load_all(&l, b);
    fre_loader_close(&l);
    if (l.status != FRE_OK) {
        fre_bert_free(b);
        return l.status;
    }
    *out = b;
    return FRE_OK;
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
        fre_product_wipe(&b->layer[i].qkv);
        fre_product_wipe(&b->layer[i].out);
        fre_product_wipe(&b->layer[i].up);
        fre_product_wipe(&b->layer[i].down);
        free_norm(&b->layer[i].after_attention);
        free_norm(&b->layer[i].after_ffn);
    }
    free(b->layer);
    free_norm(&b->after_table);
    free(b->position);
    fre_table_wipe(&b->table);
    free(b);
}
