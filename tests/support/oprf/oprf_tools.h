/* What the tests of the VOPRF share: bytes from hexadecimal, seeded streams, whole exchanges. */
#ifndef FRE_OPRF_TOOLS_H
#define FRE_OPRF_TOOLS_H

#include <fre/oprf.h>

#define BATCH 3u

/* An exchange of BATCH inputs, complete and right. */
typedef struct exchange {
    fre_oprf_key key;
    fre_bytes input[BATCH];
    fre_oprf_blind blind[BATCH];
    fre_oprf_element blinded[BATCH], evaluated[BATCH];
    fre_oprf_proof proof;
} exchange;

size_t unhex(uint8_t *out, size_t room, const char *hex);
void seeded(fre_rng *r, uint8_t byte);
fre_bytes text(const char *s);
void exchange_make(exchange *x, uint8_t seed);
fre_status exchange_finalize(fre_oprf_output out[BATCH], const exchange *x);
bool all_bytes_are(const void *p, uint8_t byte, size_t n);

#endif
