/* respond.h - words that the distance asks for. */
#ifndef FRE_INVERT_RESPOND_H
#define FRE_INVERT_RESPOND_H

#include "rows.h"

#define INV_RESPONSES 48u

/* The words of `index` whose own embeddings point most along mu - E(text), best first. */
typedef struct inv_response {
    uint32_t word[INV_RESPONSES];
    uint32_t n;
    uint8_t key[16]; /* of the text they answer */
} inv_response;

FRE_MUST_CHECK fre_status inv_respond(inv_response *r, const inv_rows *words, const float *mu,
                                      const float *embedding, const uint8_t key[16]);

#endif /* FRE_INVERT_RESPOND_H */
