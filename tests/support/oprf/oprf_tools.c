/* oprf_tools.c - streams, bytes and exchanges for the tests of the VOPRF. */
#include "oprf_tools.h"

#include <string.h>

#include "must.h"

size_t unhex(uint8_t *out, size_t room, const char *hex)
{
    const size_t n = strlen(hex) / 2;

    must(n <= room);
    must(fre_unhex(out, n, hex));
    return n;
}

void seeded(fre_rng *r, uint8_t byte)
{
    uint8_t seed[FRE_SEED_BYTES];

    memset(seed, byte, sizeof seed);
    must(fre_rng_init_seeded(r, seed, "test/oprf") == FRE_OK);
}

fre_bytes text(const char *s)
{
    return (fre_bytes){(const uint8_t *)s, strlen(s)};
}

void exchange_make(exchange *x, uint8_t seed)
{
    static const char *const inputs[BATCH] = {"a cell", "", "another cell"};
    fre_rng r;

    seeded(&r, seed);
    must(fre_oprf_key_generate(&x->key, &r) == FRE_OK);
    for (size_t i = 0; i < BATCH; i++) {
        x->input[i] = text(inputs[i]);
        must(fre_oprf_blind_input(&x->blind[i], &x->blinded[i], x->input[i], &r) == FRE_OK);
    }
    must(fre_oprf_blind_evaluate(x->evaluated, &x->proof, &x->key, x->blinded, BATCH, &r) ==
         FRE_OK);
    fre_rng_wipe(&r);
}

fre_status exchange_finalize(fre_oprf_output out[BATCH], const exchange *x)
{
    return fre_oprf_finalize(out, &x->key.pub,
                             &(fre_oprf_request){x->input, x->blind, x->blinded, BATCH},
                             x->evaluated, BATCH, &x->proof);
}

bool all_bytes_are(const void *p, uint8_t byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)p)[i] != byte)
            return false;
    return true;
}
