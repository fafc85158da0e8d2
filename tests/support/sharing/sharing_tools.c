/* sharing_tools.c - mechanisms, cells and vectors for the tests of sharing. */
#include "sharing_tools.h"

#include <fre/linalg.h>

#include <string.h>

#include "must.h"

fre_mechanism a_mechanism(uint32_t dim)
{
    return (fre_mechanism){
        .p32 = FRE_P_ONE / 2,
        .tau = 20,
        .sigma = 1.5,
        .population = 100000,
        .sketch.grid.proj = 40,
        .sketch.grid.cell_edge = 0.158,
        .norm_bound = 1,
        .dim = dim,
        .cells_per_user = 1,
        .noise = FRE_NOISE_DISCRETE,
        .dist = {.on = true, .cover = true, .curious = 1, .lambda = 2, .gamma = 30, .phi = 1e-10},
    };
}

fre_share_cell a_cell(const fre_mechanism *m, uint64_t count)
{
    fre_share_cell c;
    uint32_t bits = 0;

    must(fre_share_bits(&bits, m, SPLIT, count, 1, NULL) == FRE_OK);
    must(fre_share_cell_init(&c, m, SPLIT, count, bits, NULL) == FRE_OK);
    return c;
}

fre_rotation *a_rotation(uint32_t dim, uint8_t byte)
{
    uint8_t seed[FRE_SIGN_SEED_BYTES];
    fre_rotation *r = NULL;

    memset(seed, byte, sizeof seed);
    must(fre_rotation_new(&r, dim, seed) == FRE_OK);
    return r;
}

void a_vector(float *x, uint32_t dim, fre_rng *r)
{
    for (uint32_t i = 0; i < dim; i++)
        x[i] = (float)fre_sample_rounded_gaussian(r, 1 << 16);
    (void)fre_normalise(x, dim);
}
