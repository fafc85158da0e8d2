/* simulate/stream.c - randomness of a run, by purpose. */
#include "simulate_private.h"

fre_status simulate_stream(const simulate_run *s, fre_rng *r, const char *label, uint64_t index)
{
    char name[64];

    (void)snprintf(name, sizeof name, "simulate/%s/%llu", label, (unsigned long long)index);
    return fre_rng_init_seeded(r, s->master, name);
}
