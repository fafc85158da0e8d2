/* Writes a small Llama-shaped language model whose probabilities are known: its layers add
 * nothing (their last products are zero), a token's vector is one coordinate, so that behind token
 * u the logit of token v is sqrt(dim) * table[v][u mod dim]. */
#ifndef FRE_TESTS_TINY_LM_H
#define FRE_TESTS_TINY_LM_H

#include <stddef.h>
#include <stdint.h>

#define TINY_LM_VOCAB 320u
#define TINY_LM_BEGIN 1u
#define TINY_LM_END 2u
#define TINY_LM_A 3u      /* " a", then " b" to " z" */
#define TINY_LM_BYTES 30u /* the 256 bytes; behind them words that nobody writes */
#define TINY_LM_NEWLINE (TINY_LM_BYTES + '\n')

typedef struct tiny_lm {
    uint32_t dim; /* a multiple of 64: our own kernels; 32: llama.cpp */
    float scale;  /* of the table */
    uint32_t context;
    uint32_t bytes; /* tokens of single bytes: 256 */
} tiny_lm;

/* Logit of v behind u; the norm divides by the root of the mean square (and 1e-5). */
double tiny_lm_logit(const tiny_lm *m, uint32_t v, uint32_t u);
/* The whole file in malloc'ed memory. */
uint8_t *tiny_lm_bytes(const tiny_lm *m, size_t *n);

#endif
