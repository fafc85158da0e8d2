/* The forward pass: Devlin et al., NAACL 2019; post-norm transformer encoder with GELU. */
#include "bert_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

fre_status fre_bert_scratch_new(fre_bert_scratch **out, const fre_bert *b, uint32_t max_tokens)
{
    size_t t = max_tokens > BERT_TOKENS ? max_tokens : BERT_TOKENS;
    size_t padded = ((size_t)max_tokens + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
    fre_bert_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return FRE_E_NOMEM;
    s->x = aligned_alloc(64, t * b->dim * sizeof(float));
    s->y = aligned_alloc(64, t * b->dim * sizeof(float));
    s->qkv = aligned_alloc(64, t * 3 * b->dim * sizeof(float));
    s->wide = aligned_alloc(64, t * b->wide * sizeof(float));
    s->room = aligned_alloc(64, padded * (b->dim / b->heads + 1) * sizeof(float));
    if (!s->x || !s->y || !s->qkv || !s->wide || !s->room) {
        fre_bert_scratch_free(s);
        return FRE_E_NOMEM;
    }
    *out = s;
    return FRE_OK;
}

void fre_bert_scratch_free(fre_bert_scratch *s)
{
    if (!s)
        return;
    free(s->x);
    free(s->y);
    free(s->qkv);
    free(s->wide);
    free(s->room);
    free(s);
}

static void look_up(const fre_bert *b, float *x, const int32_t *ids, const uint32_t *len,
                    uint32_t n_seqs)
{
    for (uint32_t s = 0; s < n_seqs; s++) {
        for (uint32_t i = 0; i < len[s]; i++, x += b->dim) {
            const float *position = b->position + i * b->dim;

            fre_table_row(&b->table, x, (size_t)*ids++);
            for (size_t j = 0; j < b->dim; j++)
                x[j] += position[j];
        }
    }
}

static void attention(const fre_bert *b, fre_bert_scratch *s, const fre_kernels *kernels,
                      const uint32_t *len, uint32_t n_seqs)
{
    size_t head_dim = b->dim / b->heads, at = 0;
    float scale = 1.0f / sqrtf((float)head_dim);

    for (uint32_t q = 0; q < n_seqs; at += len[q++]) {
        const float *row = s->qkv + at * 3 * b->dim;

        for (size_t h = 0; h < b->heads; h++, row += head_dim)
            kernels->attend(s->y + at * b->dim + h * head_dim, b->dim, row, row + b->dim,
                            row + 2 * b->dim, 3 * b->dim, len[q], head_dim, scale, s->room);
    }
}

static void run(const fre_kernels *kernels, const fre_product *p, float *c, const float *a,
                size_t m)
{
    kernels->matmul(c, a, m, p->k, p->n, p->packed, p->bias);
}

static void layer(const fre_bert *b, const fre_bert_layer *y, fre_bert_scratch *s,
                  const fre_kernels *kernels, const uint32_t *len, uint32_t n_seqs, size_t tokens)
{
    run(kernels, &y->qkv, s->qkv, s->x, tokens);
    attention(b, s, kernels, len, n_seqs);
    run(kernels, &y->out, s->qkv, s->y, tokens); /* qkv is free again: tokens x dim of it */
    kernels->norm(s->x, s->qkv, tokens, b->dim, y->after_attention.weight, y->after_attention.bias,
                  b->eps);
    run(kernels, &y->up, s->wide, s->x, tokens);
    kernels->gelu(s->wide, tokens * b->wide);
    run(kernels, &y->down, s->y, s->wide, tokens);
    kernels->norm(s->x, s->y, tokens, b->dim, y->after_ffn.weight, y->after_ffn.bias, b->eps);
}

static void pool(const fre_bert *b, float *out, const float *x, uint32_t len)
{
    if (b->pooling == BERT_POOLING_CLS) {
        memcpy(out, x, b->dim * sizeof *out);
    } else if (b->pooling == BERT_POOLING_LAST) {
        memcpy(out, x + (len - 1) * b->dim, b->dim * sizeof *out);
    } else {
        for (size_t j = 0; j < b->dim; j++) {
            float sum = 0.0f;

            for (uint32_t i = 0; i < len; i++)
                sum += x[i * b->dim + j];
            out[j] = sum / (float)len;
        }
    }
}

void fre_bert_encode(const fre_bert *b, fre_bert_scratch *s, const fre_kernels *kernels, float *out,
                     const int32_t *ids, const uint32_t *len, uint32_t n_seqs)
{
    size_t tokens = 0, at = 0;

    for (uint32_t q = 0; q < n_seqs; q++)
        tokens += len[q];
    look_up(b, s->x, ids, len, n_seqs);
    kernels->norm(s->x, NULL, tokens, b->dim, b->after_table.weight, b->after_table.bias, b->eps);
    for (size_t i = 0; i < b->n_layers; i++)
        layer(b, &b->layer[i], s, kernels, len, n_seqs, tokens);
    for (uint32_t q = 0; q < n_seqs; at += len[q++])
        pool(b, out + q * b->dim, s->x + at * b->dim, len[q]);
}
