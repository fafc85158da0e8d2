/* A Llama-shaped decoder from a GGUF file. */
#include "causal_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX 65536u
#define CONTEXT_MAX 8192u /* positions whose rotations are kept */

static bool known_tensors(const fre_gguf_file *g)
{
    static const char *const names[] = {
        "token_embd.weight", "output.weight",   "output_norm.weight", "attn_norm.weight",
        "attn_q.weight",     "attn_k.weight",   "attn_v.weight",      "attn_output.weight",
        "ffn_norm.weight",   "ffn_gate.weight", "ffn_up.weight",      "ffn_down.weight"};

    return fre_gguf_only(g, names, sizeof names / sizeof *names);
}

/* Keys that would change the arithmetic: scaled rotations, experts, other head sizes. */
static bool plain(const fre_gguf_file *g, const fre_causal *m)
{
    static const char *const odd[] = {"llama.rope.scaling",         "llama.expert",
                                      "llama.attention.key_length", "llama.attention.value_length",
                                      "llama.attention.sliding",    "llama.attention.scale",
                                      "llama.attention.clamp",      "llama.logit_scale",
                                      "llama.attention.causal",     "llama.residual_scale",
                                      "llama.embedding_scale"};
    uint64_t turn = m->head_dim;

    for (size_t i = 0; i < g->n_pairs; i++)
        for (size_t j = 0; j < sizeof odd / sizeof *odd; j++)
            if (strncmp(g->pair[i].key, odd[j], strlen(odd[j])) == 0)
                return false;
    (void)fre_gguf_uint(g, &turn, "llama.rope.dimension_count");
    return turn == m->head_dim;
}

/* Metadata into m; false: not of the shape of this decoder. */
static bool read_shape(fre_causal *m, const fre_gguf_file *g)
{
    const fre_gguf_tensor *table = fre_gguf_find_tensor(g, "token_embd.weight");

    if (strcmp(fre_gguf_text(g, "general.architecture"), "llama") != 0 || !table)
        return false;
    m->dim = fre_gguf_number(g, "llama", "embedding_length", ROW_MAX, KERNEL_PANEL);
    m->wide = fre_gguf_number(g, "llama", "feed_forward_length", ROW_MAX, KERNEL_PANEL);
    m->heads = fre_gguf_number(g, "llama", "attention.head_count", 4096, 1);
    m->kv_heads = fre_gguf_number(g, "llama", "attention.head_count_kv", 4096, 1);
    m->n_layers = fre_gguf_number(g, "llama", "block_count", 512, 1);
    m->context = fre_gguf_number(g, "llama", "context_length", 1u << 24, 1);
    m->vocab = (size_t)table->dim[1];
    if (!m->dim || !m->wide || !m->heads || !m->kv_heads || !m->n_layers || !m->context ||
        m->heads % m->kv_heads != 0 || m->dim % (m->heads * KERNEL_LANES) != 0 ||
        m->vocab % KERNEL_PANEL != 0)
        return false;
    m->head_dim = m->dim / m->heads;
    if (m->context > CONTEXT_MAX || m->kv_heads * m->head_dim % KERNEL_PANEL != 0)
        return false;
    if (m->n_layers * (4 * m->dim + 3 * m->wide) * m->dim + m->vocab * m->dim > CAUSAL_WEIGHTS_MAX)
        return false;
    return fre_gguf_float(g, &m->eps, "llama", "attention.layer_norm_rms_epsilon") && plain(g, m) &&
           known_tensors(g);
}

static float *vector(fre_loader *l, size_t layer, const char *name, size_t n)
{
    char key[FRE_GGUF_NAME_BYTES];

    fre_layer_key(key, layer, name);
    return fre_load_plain(l, key, 1, n);
}

static void part(fre_loader *l, fre_product *p, size_t at, size_t layer, const char *name, size_t n)
{
    char key[FRE_GGUF_NAME_BYTES];

    fre_layer_key(key, layer, name);
    fre_load_weights(l, p, at, key, n);
}

static void load_layer(fre_loader *l, const fre_causal *m, fre_causal_layer *y, size_t i)
{
    size_t kv = m->kv_heads * m->head_dim;

    fre_load_product(l, &y->qkv, m->dim + 2 * kv, m->dim);
    fre_load_product(l, &y->out, m->dim, m->dim);
    fre_load_product(l, &y->gate, m->wide, m->dim);
    fre_load_product(l, &y->up, m->wide, m->dim);
    fre_load_product(l, &y->down, m->dim, m->wide);
    part(l, &y->qkv, 0, i, "attn_q.weight", m->dim);
    part(l, &y->qkv, m->dim, i, "attn_k.weight", kv);
    part(l, &y->qkv, m->dim + kv, i, "attn_v.weight", kv);
    part(l, &y->out, 0, i, "attn_output.weight", m->dim);
    part(l, &y->gate, 0, i, "ffn_gate.weight", m->wide);
    part(l, &y->up, 0, i, "ffn_up.weight", m->wide);
    part(l, &y->down, 0, i, "ffn_down.weight", m->dim);
    y->before_attention = vector(l, i, "attn_norm.weight", m->dim);
    y->before_ffn = vector(l, i, "ffn_norm.weight", m->dim);
}

/* Rotary positions: Su et al. 2021; pair i of a head turns by pos * base^(-2 i / head_dim). */
static void make_turns(fre_loader *l, fre_causal *m)
{
    float base = 10000.0f;

    (void)fre_gguf_float(l->g, &base, "llama", "rope.freq_base");
    m->turn = malloc(m->context * m->head_dim * sizeof *m->turn);
    if (!m->turn) {
        fre_loader_no_memory(l);
        return;
    }
    for (size_t pos = 0; pos < m->context; pos++) {
        for (size_t i = 0; i < m->head_dim; i += 2) {
            double angle = (double)pos * pow((double)base, -(double)i / (double)m->head_dim);

            m->turn[pos * m->head_dim + i] = (float)cos(angle);
            m->turn[pos * m->head_dim + i + 1] = (float)sin(angle);
        }
    }
}

static void load_all(fre_loader *l, fre_causal *m)
{
    bool tied = fre_gguf_find_tensor(l->g, "output.weight") == NULL;

    fre_load_table(l, &m->table, "token_embd.weight", m->vocab, m->dim);
    fre_load_product(l, &m->head, m->vocab, m->dim);
    if (l->status == FRE_OK)
        fre_load_weights(l, &m->head, 0, tied ? "token_embd.weight" : "output.weight", m->vocab);
    m->last_norm = fre_load_plain(l, "output_norm.weight", 1, m->dim);
    make_turns(l, m);
    for (size_t i = 0; i < m->n_layers && fre_loader_goes_on(l); i++)
        load_layer(l, m, &m->layer[i], i);
}

fre_status fre_causal_load(fre_causal **out, const fre_gguf_file *g, const char *path, fre_err *err)
{
    fre_loader l;
    fre_causal *m = calloc(1, sizeof *m);

    *out = NULL;
    if (!m)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    if (!read_shape(m, g)) {
        free(m);
        return FRE_OK;
    }
    fre_loader_init(&l, g, path, err);
    m->layer = calloc(m->n_layers, sizeof *m->layer);
    if (!m->layer)
        fre_loader_no_memory(&l);
    if (l.status == FRE_OK)
        load_all(&l, m);
    fre_loader_close(&l);
    if (l.status != FRE_OK) {
        fre_causal_free(m);
        return l.status;
    }
    *out = m;
    return FRE_OK;
}

void fre_causal_free(fre_causal *m)
{
    if (!m)
        return;
    for (size_t i = 0; m->layer && i < m->n_layers; i++) {
        fre_causal_layer *y = &m->layer[i];

        fre_product_wipe(&y->qkv);
        fre_product_wipe(&y->out);
        fre_product_wipe(&y->gate);
        fre_product_wipe(&y->up);
        fre_product_wipe(&y->down);
        free(y->before_attention);
        free(y->before_ffn);
    }
    free(m->layer);
    free(m->turn);
    free(m->last_norm);
    fre_product_wipe(&m->head);
    fre_table_wipe(&m->table);
    free(m);
}
