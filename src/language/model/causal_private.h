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

#endif
