/* What the tests of the VOPRF share: bytes from hexadecimal, seeded streams, whole exchanges. */
#ifndef FRE_OPRF_TOOLS_H
#define FRE_OPRF_TOOLS_H

#include <string.h>

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

static inline size_t unhex(uint8_t *out, size_t room, const char *hex)
{
    const size_t n = strlen(hex) / 2;

    assert_true(n <= room);
    assert_true(fre_unhex(out, n, hex));
    return n;
}

static inline void seeded(fre_rng *r, uint8_t byte)
{
    uint8_t seed[FRE_SEED_BYTES];

    memset(seed, byte, sizeof seed);
    assert_int_equal(fre_rng_init_seeded(r, seed, "test/oprf"), FRE_OK);
}

static inline fre_bytes text(const char *s)
{
    return (fre_bytes){(const uint8_t *)s, strlen(s)};
}

static inline void exchange_make(exchange *x, uint8_t seed)
{
    static const char *const inputs[BATCH] = {"a cell", "", "another cell"};
    fre_rng r;

    seeded(&r, seed);
    assert_int_equal(fre_oprf_key_generate(&x->key, &r), FRE_OK);
    for (size_t i = 0; i < BATCH; i++) {
        x->input[i] = text(inputs[i]);
        assert_int_equal(fre_oprf_blind_input(&x->blind[i], &x->blinded[i], x->input[i], &r),
                         FRE_OK);
    }
    assert_int_equal(
        fre_oprf_blind_evaluate(x->evaluated, &x->proof, &x->key, x->blinded, BATCH, &r), FRE_OK);
    fre_rng_wipe(&r);
}

static inline fre_status exchange_finalize(fre_oprf_output out[BATCH], const exchange *x)
{
    return fre_oprf_finalize(out, &x->key.pub, x->input, x->blind, x->blinded, BATCH, x->evaluated,
                             BATCH, &x->proof);
}

static inline bool all_bytes_are(const void *p, uint8_t byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)p)[i] != byte)
            return false;
    return true;
}

#endif
