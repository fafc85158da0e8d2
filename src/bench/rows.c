/* bench/rows.c - made embeddings. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define CENTRES 1000u

/* A row about a centre. */
static void make_row(fre_rng *r, float *x, const float *centre)
{
    uint32_t bits[BENCH_DIM];
    double norm = 0;

    fre_rng_bytes(r, bits, sizeof bits);
    for (size_t j = 0; j < BENCH_DIM; j++) {
        x[j] = centre[j] + (float)((double)bits[j] / 4294967296.0 - 0.5) * 0.002f;
        norm += (double)x[j] * (double)x[j];
    }
    for (size_t j = 0; j < BENCH_DIM; j++)
        x[j] = (float)((double)x[j] / sqrt(norm));
}

static size_t zipf_rank(fre_rng *r)
{
    const double u = (double)fre_rng_u32(r) / 4294967296.0;

    return (size_t)(pow((double)CENTRES, u) - 1); /* density 1/rank */
}

fre_status bench_rows_init(bench_rows *r)
{
    const uint8_t seed[FRE_SEED_BYTES] = "bench pipeline";
    const float zero[BENCH_DIM] = {0};
    fre_status st;

    *r = (bench_rows){.centre = calloc(CENTRES * BENCH_DIM, sizeof *r->centre)};
    st = r->centre ? fre_rng_init_seeded(&r->rng, seed, "rows") : FRE_E_NOMEM;
    if (st != FRE_OK) {
        free(r->centre);
        r->centre = NULL;
        return st;
    }
    for (size_t i = 0; i < CENTRES; i++)
        make_row(&r->rng, r->centre + i * BENCH_DIM, zero);
    return FRE_OK;
}

void bench_row(bench_rows *r, float *x)
{
    make_row(&r->rng, x, r->centre + zipf_rank(&r->rng) * BENCH_DIM);
}

void bench_rows_wipe(bench_rows *r)
{
    fre_rng_wipe(&r->rng);
    free(r->centre);
}
