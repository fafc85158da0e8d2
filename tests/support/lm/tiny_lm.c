#include "tiny_lm.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "tiny_gguf.h"

static float tiny_lm_entry(const tiny_lm *m, uint32_t v, uint32_t u)
{
    uint32_t h = (v * 2654435761u) ^ ((u % m->dim) * 2246822519u);

    bool common = v < TINY_LM_A + 26 || v == TINY_LM_NEWLINE;

    h = (h ^ (h >> 15)) * 2246822519u;
    return m->scale * ((float)(h >> 8) / 16777216.0f) - (common ? 0.0f : 3.0f);
}

double tiny_lm_logit(const tiny_lm *m, uint32_t v, uint32_t u)
{
    double d = m->dim;

    return (double)tiny_lm_entry(m, v, u) / sqrt(1.0 / d + 1e-5);
}

static float *tiny_fill(tiny *t, const tiny_shape *s, const char *name, uint64_t rows,
                        uint64_t cols, float value)
{
    size_t n = (size_t)((rows ? rows : 1) * cols);
    float *w;

    tiny_tensor(t, s, name, rows, cols);
    w = (float *)(void *)(t->data + t->data_n) - n;
    for (size_t i = 0; i < n; i++)
        w[i] = value;
    return w;
}

static void tiny_lm_metadata(tiny *t, const tiny_shape *s, const tiny_lm *m)
{
    float eps = 1e-5f;
    char name[16];

    tiny_pair_text(t, s, "general.architecture", "llama");
    tiny_pair_text(t, s, "general.name", "tiny");
    tiny_pair_u32(t, s, "llama.block_count", 1);
    tiny_pair_u32(t, s, "llama.context_length", m->context);
    tiny_pair_u32(t, s, "llama.embedding_length", m->dim);
    tiny_pair_u32(t, s, "llama.feed_forward_length", 64);
    tiny_pair_u32(t, s, "llama.attention.head_count", 1);
    tiny_pair_u32(t, s, "llama.attention.head_count_kv", 1);
    tiny_pair_u32(t, s, "llama.rope.dimension_count", m->dim);
    if (tiny_key(t, s, "llama.attention.layer_norm_rms_epsilon", 6))
        tiny_put(t, &eps, sizeof eps);
    tiny_pair_text(t, s, "tokenizer.ggml.model", "llama");
    (void)tiny_key(t, s, "tokenizer.ggml.tokens", 9);
    tiny_u32(t, 8);
    tiny_u64(t, TINY_LM_VOCAB);
    for (uint32_t i = 0; i < TINY_LM_VOCAB; i++) {
        static const char *const special[] = {"<unk>", "<s>", "</s>"};

        if (i < TINY_LM_A)
            (void)snprintf(name, sizeof name, "%s", special[i]);
        else if (i < TINY_LM_A + 26)
            (void)snprintf(name, sizeof name, "\xe2\x96\x81%c", (char)('a' + i - TINY_LM_A));
        else if (i < TINY_LM_BYTES)
            (void)snprintf(name, sizeof name, "\xe2\x96\x81");
        else if (i < TINY_LM_BYTES + m->bytes)
            (void)snprintf(name, sizeof name, "<0x%02X>", i - TINY_LM_BYTES);
        else
            (void)snprintf(name, sizeof name, "\xe2\x96\x81%u", i);
        tiny_text(t, name);
    }
    (void)tiny_key(t, s, "tokenizer.ggml.scores", 9);
    tiny_u32(t, 6);
    tiny_u64(t, TINY_LM_VOCAB);
    for (uint32_t i = 0; i < TINY_LM_VOCAB; i++) {
        float score = -(float)i;

        tiny_put(t, &score, sizeof score);
    }
    (void)tiny_key(t, s, "tokenizer.ggml.token_type", 9);
    tiny_u32(t, 5);
    tiny_u64(t, TINY_LM_VOCAB);
    for (uint32_t i = 0; i < TINY_LM_VOCAB; i++)
        tiny_u32(t, i == 0                                               ? 2
                    : i < TINY_LM_A                                      ? 3
                    : i >= TINY_LM_BYTES && i < TINY_LM_BYTES + m->bytes ? 6
                                                                         : 1);
    tiny_pair_u32(t, s, "tokenizer.ggml.unknown_token_id", 0);
    tiny_pair_u32(t, s, "tokenizer.ggml.bos_token_id", TINY_LM_BEGIN);
    tiny_pair_u32(t, s, "tokenizer.ggml.eos_token_id", TINY_LM_END);
}

static void tiny_lm_weights(tiny *t, const tiny_shape *s, const tiny_lm *m)
{
    uint32_t d = m->dim;
    float *w = tiny_fill(t, s, "token_embd.weight", TINY_LM_VOCAB, d, 0);

    for (uint32_t u = 0; u < TINY_LM_VOCAB; u++)
        w[u * d + u % d] = 1;
    w = tiny_fill(t, s, "output.weight", TINY_LM_VOCAB, d, 0);
    for (uint32_t v = 0; v < TINY_LM_VOCAB; v++)
        for (uint32_t u = 0; u < d; u++)
            w[v * d + u] = tiny_lm_entry(m, v, u);
    (void)tiny_fill(t, s, "output_norm.weight", 0, d, 1);
    (void)tiny_fill(t, s, "blk.0.attn_norm.weight", 0, d, 1);
    tiny_tensor(t, s, "blk.0.attn_q.weight", d, d);
    tiny_tensor(t, s, "blk.0.attn_k.weight", d, d);
    tiny_tensor(t, s, "blk.0.attn_v.weight", d, d);
    (void)tiny_fill(t, s, "blk.0.attn_output.weight", d, d, 0);
    (void)tiny_fill(t, s, "blk.0.ffn_norm.weight", 0, d, 1);
    tiny_tensor(t, s, "blk.0.ffn_gate.weight", 64, d);
    tiny_tensor(t, s, "blk.0.ffn_up.weight", 64, d);
    (void)tiny_fill(t, s, "blk.0.ffn_down.weight", d, 64, 0);
}

uint8_t *tiny_lm_bytes(const tiny_lm *m, size_t *n)
{
    const tiny_shape plain = {0};
    tiny body = {.noise = 7};

    tiny_lm_metadata(&body, &plain, m);
    tiny_lm_weights(&body, &plain, m);
    return tiny_finish(&body, n);
}
