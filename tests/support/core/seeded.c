#include "seeded.h"

#include <string.h>

#include "must.h"

void seeded(fre_rng *r, uint8_t byte, const char *label)
{
    uint8_t seed[FRE_SEED_BYTES];

    memset(seed, byte, sizeof seed);
    must(fre_rng_init_seeded(r, seed, label) == FRE_OK);
}

double uniform(fre_rng *r, double lo, double hi)
{
    return lo + (hi - lo) * ((double)fre_rng_u32(r) / 4294967296.0);
}
