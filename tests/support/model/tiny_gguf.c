#include "tiny_gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "temp_dir.h"

tiny_shape tiny_default(void)
{
    return (tiny_shape){.dim = 64,
                        .wide = 64,
                        .heads = 4,
                        .layers = 2,
                        .context = 32,
                        .pooling = 1,
                        .architecture = "bert",
                        .tokenizer = "bert",
                        .unknown_id = 1,
                        .token_kind = 1};
}

void tiny_put(tiny *t, const void *p, size_t n)
{
    if (t->n + n > t->cap) {
        t->cap = 2 * (t->n + n) + 4096;
        t->p = realloc(t->p, t->cap);
        must(t->p != NULL);
    }
    memcpy(t->p + t->n, p, n);
    t->n += n;
}

void tiny_u32(tiny *t, uint32_t v)
{
    tiny_put(t, &v, sizeof v);
}

void tiny_u64(tiny *t, uint64_t v)
{
    tiny_put(t, &v, sizeof v);
}

void tiny_text(tiny *t, const char *s)
{
    tiny_u64(t, strlen(s));
    tiny_put(t, s, strlen(s));
}

int tiny_key(tiny *t, const tiny_shape *s, const char *key, uint32_t type)
{
    if (s->skip_pair && strcmp(s->skip_pair, key) == 0)
        return 0;
    tiny_text(t, key);
    tiny_u32(t, type);
    t->pairs++;
    return 1;
}

void tiny_pair_u32(tiny *t, const tiny_shape *s, const char *key, uint32_t v)
{
    if (tiny_key(t, s, key, 4))
        tiny_u32(t, v);
}

void tiny_pair_text(tiny *t, const tiny_shape *s, const char *key, const char *v)
{
    if (tiny_key(t, s, key, 8))
        tiny_text(t, v);
}

void tiny_tensor(tiny *t, const tiny_shape *s, const char *name, uint64_t rows, uint64_t cols)
{
    size_t n = (size_t)((rows ? rows : 1) * cols);
    size_t at = (t->data_n + 31) / 32 * 32;
    float *w;

    if (s->skip_tensor && strcmp(s->skip_tensor, name) == 0)
        return;
    tiny_text(t, name);
    tiny_u32(t, rows ? 2 : 1);
    tiny_u64(t, cols);
    if (rows)
        tiny_u64(t, rows);
    tiny_u32(t, 0);
    tiny_u64(t, at);
    t->tensors++;
    t->data = realloc(t->data, at + n * sizeof *w);
    must(t->data != NULL);
    memset(t->data + t->data_n, 0, at - t->data_n);
    w = (float *)(void *)(t->data + at);
    for (size_t i = 0; i < n; i++) {
        t->noise = t->noise * 1664525u + 1013904223u;
        w[i] = (float)(t->noise >> 8) / 16777216.0f - 0.5f;
    }
    if (s->nan_tensor && strcmp(s->nan_tensor, name) == 0)
        memset(w, 0xff, sizeof *w);
    t->data_n = at + n * sizeof *w;
}

static void tiny_metadata(tiny *t, const tiny_shape *s)
{
    static const char *const token[] = {"[PAD]",
                                        "[UNK]",
                                        "[CLS]",
                                        "[SEP]",
                                        "[MASK]",
                                        "\xe2\x96\x81"
                                        "a",
                                        "\xe2\x96\x81"
                                        "b",
                                        "c",
                                        "d",
                                        "\xe2\x96\x81"
                                        "hello"};
    const uint32_t n = sizeof token / sizeof *token;
    const char *a = s->architecture;
    char key[96];
    float eps = 1e-12f;

    tiny_pair_text(t, s, "general.architecture", a);
    tiny_pair_text(t, s, "general.name", "tiny");
#define TINY_ARCH(name) ((void)snprintf(key, sizeof key, "%s.%s", a, name), key)
    tiny_pair_u32(t, s, TINY_ARCH("block_count"), s->layers);
    tiny_pair_u32(t, s, TINY_ARCH("context_length"), s->context);
    tiny_pair_u32(t, s, TINY_ARCH("embedding_length"), s->dim);
    tiny_pair_u32(t, s, TINY_ARCH("feed_forward_length"), s->wide);
    tiny_pair_u32(t, s, TINY_ARCH("attention.head_count"), s->heads);
    tiny_pair_u32(t, s, TINY_ARCH("pooling_type"), s->pooling);
    if (tiny_key(t, s, TINY_ARCH("attention.layer_norm_epsilon"), 6))
        tiny_put(t, &eps, sizeof eps);
    if (tiny_key(t, s, TINY_ARCH("attention.causal"), 7))
        tiny_put(t, "", 1);
#undef TINY_ARCH
    tiny_pair_u32(t, s, "tokenizer.ggml.token_type_count", 2);
    tiny_pair_text(t, s, "tokenizer.ggml.model", s->tokenizer);
    if (tiny_key(t, s, "tokenizer.ggml.tokens", 9)) {
        tiny_u32(t, 8);
        tiny_u64(t, n);
        for (uint32_t i = 0; i < n; i++)
            tiny_text(t, s->last_token && i + 1 == n ? s->last_token : token[i]);
    }
    if (tiny_key(t, s, "tokenizer.ggml.token_type", 9)) {
        tiny_u32(t, 5);
        tiny_u64(t, n);
        for (uint32_t i = 0; i < n; i++)
            tiny_u32(t, i < 5 ? 3 : s->token_kind);
    }
    tiny_pair_u32(t, s, "tokenizer.ggml.unknown_token_id", s->unknown_id);
    tiny_pair_u32(t, s, "tokenizer.ggml.bos_token_id", 2);
    tiny_pair_u32(t, s, "tokenizer.ggml.eos_token_id", 3);
    tiny_pair_u32(t, s, "tokenizer.ggml.seperator_token_id", 3);
    tiny_pair_u32(t, s, "tokenizer.ggml.padding_token_id", 0);
    tiny_pair_u32(t, s, "tokenizer.ggml.mask_token_id", 4);
}

static void tiny_weights(tiny *t, const tiny_shape *s)
{
    char name[64];

    tiny_tensor(t, s, "token_embd.weight", 10, s->dim);
    tiny_tensor(t, s, "token_types.weight", 2, s->dim);
    tiny_tensor(t, s, "position_embd.weight", s->context, s->dim);
    tiny_tensor(t, s, "token_embd_norm.weight", 0, s->dim);
    tiny_tensor(t, s, "token_embd_norm.bias", 0, s->dim);
    for (uint32_t i = 0; i < s->layers; i++) {
        static const char *const square[] = {"attn_q", "attn_k", "attn_v", "attn_output"};
        static const char *const norm[] = {"attn_output_norm", "layer_output_norm"};

#define TINY_BLOCK(x, y) ((void)snprintf(name, sizeof name, "blk.%u.%s.%s", i, x, y), name)
        for (int j = 0; j < 4; j++) {
            tiny_tensor(t, s, TINY_BLOCK(square[j], "weight"), s->dim, s->dim);
            tiny_tensor(t, s, TINY_BLOCK(square[j], "bias"), 0, s->dim);
        }
        for (int j = 0; j < 2; j++) {
            tiny_tensor(t, s, TINY_BLOCK(norm[j], "weight"), 0, s->dim);
            tiny_tensor(t, s, TINY_BLOCK(norm[j], "bias"), 0, s->dim);
        }
        tiny_tensor(t, s, TINY_BLOCK("ffn_up", "weight"), s->wide, s->dim);
        tiny_tensor(t, s, TINY_BLOCK("ffn_up", "bias"), 0, s->wide);
        tiny_tensor(t, s, TINY_BLOCK("ffn_down", "weight"), s->dim, s->wide);
        tiny_tensor(t, s, TINY_BLOCK("ffn_down", "bias"), 0, s->dim);
#undef TINY_BLOCK
    }
    if (s->extra_tensor)
        tiny_tensor(t, s, s->extra_tensor, 0, s->dim);
}

uint8_t *tiny_finish(tiny *body, size_t *n)
{
    tiny all = {0};

    tiny_put(&all, "GGUF", 4);
    tiny_u32(&all, 3);
    tiny_u64(&all, body->tensors);
    tiny_u64(&all, body->pairs);
    tiny_put(&all, body->p, body->n);
    while (all.n % 32)
        tiny_put(&all, "", 1);
    tiny_put(&all, body->data, body->data_n);
    free(body->p);
    free(body->data);
    *body = (tiny){0};
    *n = all.n;
    return all.p;
}

uint8_t *tiny_bytes(const tiny_shape *s, size_t *n)
{
    tiny body = {.noise = 7};

    tiny_metadata(&body, s);
    tiny_weights(&body, s);
    return tiny_finish(&body, n);
}

void tiny_file(const char *path, const tiny_shape *s)
{
    size_t n;
    uint8_t *p = tiny_bytes(s, &n);

    write_file(path, p, n);
    free(p);
}
