/* Writes small GGUF files for tests: a BERT of a few thousand weights whose metadata and tensors
 * a test can bend. */
#ifndef FRE_TESTS_TINY_GGUF_H
#define FRE_TESTS_TINY_GGUF_H

#include <stddef.h>
#include <stdint.h>

typedef struct tiny {
    uint8_t *p;
    size_t n, cap;
    uint64_t pairs, tensors;
    uint8_t *data;
    size_t data_n;
    uint32_t noise; /* state of the weights' generator */
} tiny;

/* What a test may bend; tiny_default is a sound model. */
typedef struct tiny_shape {
    uint32_t dim, wide, heads, layers, context, pooling;
    const char *architecture;
    const char *skip_pair;   /* leave this key out */
    const char *skip_tensor; /* leave this tensor out */
    const char *nan_tensor;  /* its first weight is not a number */
    const char *extra_tensor;
    const char *last_token; /* NULL: a word */
    const char *tokenizer;
    uint32_t unknown_id, token_kind;
} tiny_shape;

tiny_shape tiny_default(void);

/* The parts of a file, for models of another kind: metadata and tensors into one body. */
void tiny_put(tiny *t, const void *p, size_t n);
void tiny_u32(tiny *t, uint32_t v);
void tiny_u64(tiny *t, uint64_t v);
void tiny_text(tiny *t, const char *s);
int tiny_key(tiny *t, const tiny_shape *s, const char *key, uint32_t type);
void tiny_pair_u32(tiny *t, const tiny_shape *s, const char *key, uint32_t v);
void tiny_pair_text(tiny *t, const tiny_shape *s, const char *key, const char *v);
/* f32 tensor of rows x cols small weights (rows 0: a vector). */
void tiny_tensor(tiny *t, const tiny_shape *s, const char *name, uint64_t rows, uint64_t cols);
/* Their file in malloc'ed memory; the body is freed. */
uint8_t *tiny_finish(tiny *body, size_t *n);

/* The whole file in malloc'ed memory; under a path. */
uint8_t *tiny_bytes(const tiny_shape *s, size_t *n);
void tiny_file(const char *path, const tiny_shape *s);

#endif
