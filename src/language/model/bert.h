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
#include "kernels.h"

#define BERT_TOKENS 512u /* most tokens of one pass, unless one sequence is longer */

typedef struct fre_bert fre_bert;
typedef struct fre_bert_scratch fre_bert_scratch;

/* *out is NULL with FRE_OK when the model is not of the shape that this encoder has. */
FRE_MUST_CHECK fre_status fre_bert_load(fre_bert **out, const fre_gguf_file *g, const char *path,
                                        fre_err *err);
void fre_bert_free(fre_bert *b);

FRE_MUST_CHECK fre_status fre_bert_scratch_new(fre_bert_scratch **out, const fre_bert *b,
                                               uint32_t max_tokens);
void fre_bert_scratch_free(fre_bert_scratch *s);
/* Pooled, not yet normalised rows of n_seqs sequences whose lengths sum to at most the larger of
 * max_tokens and BERT_TOKENS. */
void fre_bert_encode(const fre_bert *b, fre_bert_scratch *s, const fre_kernels *kernels, float *out,
                     const int32_t *ids, const uint32_t *len, uint32_t n_seqs);

#endif
