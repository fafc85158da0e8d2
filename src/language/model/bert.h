/* The encoder of BERT-shaped sentence models in float32, beside llama.cpp's (docs/decisions).
 *
 * Why: (1) llama.cpp rounds activations to eight bits, so a difference in the last place becomes
 * one in the fourth; (2) its Q8_0 product runs at about 0.6 of PyTorch's speed on processors
 * without AMX.  Here every number is a chain of fused multiply-adds in an order that depends on
 * the text alone: a text has the same bits in every batch, on every number of threads and on
 * every processor with fused multiply-add, whatever the width of its vectors. */
#ifndef FRE_MODEL_BERT_H
#define FRE_MODEL_BERT_H

#include <fre/model.h>

#include "gguf_file.h"

#define BERT_LANES 16u  /* virtual vector; reductions have this many partial sums everywhere */
#define BERT_PANEL 64u  /* outputs whose weights lie together */
#define BERT_TOKENS 512u /* most tokens of one pass, unless one sequence is longer */

typedef struct fre_bert fre_bert;
typedef struct fre_bert_scratch fre_bert_scratch;

/* Inner loops; one set an instruction set, all with the same results to the bit.
 *   matmul: c (m x n) = a (m x k) times packed weights (k x n, see bert_load.c) plus bias
 *   norm:   x += add (NULL: nothing), then LayerNorm of each row with weight and bias
 *   gelu:   x -> x Phi(x), n a multiple of BERT_LANES
 *   attend: one sequence of len tokens, one head: out += nothing, = softmax(q k^T scale) v;
 *           q, k, v, out are rows of `stride` (out: out_stride) floats; room: len rounded up to
 *           BERT_LANES times (head_dim + 1) floats */
typedef struct fre_bert_kernels {
    const char *name;
    void (*matmul)(float *c, const float *a, size_t m, size_t k, size_t n, const float *packed,
                   const float *bias);
    void (*norm)(float *x, const float *add, size_t rows, size_t dim, const float *weight,
                 const float *bias, float eps);
    void (*gelu)(float *x, size_t n);
    void (*attend)(float *out, size_t out_stride, const float *q, const float *k, const float *v,
                   size_t stride, size_t len, size_t head_dim, float scale, float *room);
} fre_bert_kernels;

extern const fre_bert_kernels fre_bert_generic;
#if defined(__x86_64__)
extern const fre_bert_kernels fre_bert_avx2, fre_bert_avx512;
#endif
/* The fastest set for this processor; NULL: it has no fused multiply-add and the set in plain C
 * would be far slower than llama.cpp. */
const fre_bert_kernels *fre_bert_pick(void);
/* A set by its name; NULL: this processor or this build does not have it. */
const fre_bert_kernels *fre_bert_named(const char *name);

/* *out is NULL with FRE_OK when the model is not of the shape that this encoder has. */
FRE_MUST_CHECK fre_status fre_bert_load(fre_bert **out, const fre_gguf_file *g, const char *path,
                                        fre_err *err);
void fre_bert_free(fre_bert *b);

FRE_MUST_CHECK fre_status fre_bert_scratch_new(fre_bert_scratch **out, const fre_bert *b,
                                               uint32_t max_tokens);
void fre_bert_scratch_free(fre_bert_scratch *s);
/* Pooled, not yet normalised rows of n_seqs sequences whose lengths sum to at most the larger of
 * max_tokens and BERT_TOKENS. */
void fre_bert_encode(const fre_bert *b, fre_bert_scratch *s, const fre_bert_kernels *kernels,
                     float *out, const int32_t *ids, const uint32_t *len, uint32_t n_seqs);

#endif
