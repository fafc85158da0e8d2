/* Inside the decoder of causal.h. */
#ifndef FRE_MODEL_CAUSAL_PRIVATE_H
#define FRE_MODEL_CAUSAL_PRIVATE_H

#include "causal.h"
#include "weights.h"

typedef struct fre_causal_layer {
    fre_product qkv, out, gate, up, down;
    float *before_attention, *before_ffn; /* weights of the norms */
} fre_causal_layer;

struct fre_causal {
    size_t dim, wide, heads, kv_heads, head_dim, n_layers, context, vocab;
    float eps;
    fre_table table;
    fre_product head; /* to the vocabulary */
    float *last_norm;
    float *turn; /* context x head_dim: cosine and sine of each pair of a head */
    fre_causal_layer *layer;
};

/* Keys and values lie in rows of a pool; a sequence is the list of its rows by position. */
struct fre_causal_state {
    uint32_t max_tokens, max_seqs, max_rows, used;
    uint32_t max_pass;            /* rows that run at once */
    size_t kv;                    /* floats of the keys of one row in one layer */
    float *pool;                  /* row-major: for each layer keys, then values */
    uint32_t *place;              /* max_seqs x max_tokens: row, or none */
    const float **keys, **values; /* of the sequence that a row is computed for */
    uint32_t *row, *of, *pos;     /* of each row of a pass: row in the pool, where its sequence
                                     starts in place, position */
    float *x, *y, *qkv, *gate, *up, *room;
};

/* All layers over the n <= max_pass rows in s->x, for which row, of and pos are set. */
void fre_causal_forward(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                        uint32_t n);

#endif
