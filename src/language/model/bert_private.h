/* Inside the encoder of bert.h. */
#ifndef FRE_MODEL_BERT_PRIVATE_H
#define FRE_MODEL_BERT_PRIVATE_H

#include "bert.h"
#include "weights.h"

typedef enum fre_bert_pooling {
    BERT_POOLING_MEAN = 1, /* the numbers of the GGUF metadata */
    BERT_POOLING_CLS = 2,
    BERT_POOLING_LAST = 3
} fre_bert_pooling;

typedef struct fre_bert_norm {
    float *weight, *bias;
} fre_bert_norm;

typedef struct fre_bert_layer {
    fre_product qkv, out, up, down;
    fre_bert_norm after_attention, after_ffn;
} fre_bert_layer;

struct fre_bert {
    size_t dim, wide, heads, n_layers, context, vocab, types;
    float eps;
    fre_bert_pooling pooling;
    fre_table table;
    float *position; /* context x dim, the row of token type 0 added */
    fre_bert_norm after_table;
    fre_bert_layer *layer;
};

struct fre_bert_scratch {
    float *x, *qkv, *y, *wide, *room;
};

#endif
