/* The decoder of Llama-shaped models in float32, beside llama.cpp's, for the same reasons as
 * bert.h: small products of many samples run three to four times as fast, and a sample's numbers
 * depend neither on the samples beside it nor on the processor. */
#ifndef FRE_MODEL_CAUSAL_H
#define FRE_MODEL_CAUSAL_H

#include <fre/model.h>

#include "gguf_file.h"
#include "kernels.h"

typedef struct fre_causal fre_causal;
typedef struct fre_causal_state fre_causal_state;

/* *out is NULL with FRE_OK when the model is not of the shape that this decoder has, or larger
 * than CAUSAL_WEIGHTS_MAX: above, float32 weights need too much memory. */
#define CAUSAL_WEIGHTS_MAX (192u << 20)
FRE_MUST_CHECK fre_status fre_causal_load(fre_causal **out, const fre_gguf_file *g,
                                          const char *path, fre_err *err);
void fre_causal_free(fre_causal *m);

/* Keys and values of up to max_seqs sequences of max_tokens rows; a row that sequences share is
 * kept once. */
FRE_MUST_CHECK fre_status fre_causal_state_new(fre_causal_state **out, const fre_causal *m,
                                               uint32_t max_tokens, uint32_t max_seqs);
void fre_causal_state_free(fre_causal_state *s);

/* Forget everything; run the rows (n_rows x dim), then the tokens, at positions 0.. for sequences
 * 0..n_seqs-1. */
void fre_causal_prefix(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                       const float *rows, uint32_t n_rows, const int32_t *ids, uint32_t n_ids,
                       uint32_t n_seqs);
/* Row i of n: token ids[i] at position pos for the n_seq[i] sequences that follow those of row i - 1
 * in seq (n_seq NULL: one each).  Arguments are in range, and every sequence has all rows before
 * pos. */
typedef struct fre_causal_rows {
    const int32_t *ids;
    const uint32_t *seq, *n_seq;
    uint32_t n, pos;
} fre_causal_rows;

/* Logits: n x vocab.  FRE_E_STATE: a sequence lacks a row. */
FRE_MUST_CHECK fre_status fre_causal_step(const fre_causal *m, fre_causal_state *s,
                                          const fre_kernels *kernels, float *logits,
                                          const fre_causal_rows *rows);

/* For fre_causal_score alone: sequences of max_tokens rows, max_all in a call. */
FRE_MUST_CHECK fre_status fre_causal_state_new_score(fre_causal_state **out, const fre_causal *m,
                                                     uint32_t max_tokens, uint32_t max_all);
/* Token sequences one after another, their lengths, and the end tokens of the vocabulary. */
typedef struct fre_causal_seqs {
    const int32_t *ids;
    const uint32_t *len;
    uint32_t n;
    const int32_t *ends;
    uint32_t n_ends;
} fre_causal_seqs;

/* fre_model_score.  Arguments are in range.  FRE_E_NOMEM, FRE_E_INTERRUPTED, FRE_E_MODEL. */
FRE_MUST_CHECK fre_status fre_causal_score(const fre_causal *m, fre_causal_state *s,
                                           const fre_kernels *kernels, double *logp, double *end,
                                           const fre_causal_seqs *seqs);

/* ln of the sum of e^x[i]; n >= 1. */
double fre_log_sum(const double *x, uint32_t n);

#endif
