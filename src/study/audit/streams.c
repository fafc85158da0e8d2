/* audit/streams.c - the random streams of a chunk of runs. */
#include "audit_private.h"

#include <stdio.h>

fre_status audit_open_streams(fre_rng *const *stream, const char *const *kind, size_t n,
                              const fre_audit_opts *o, const audit_chunk *c)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        char label[96];

        (void)snprintf(label, sizeof label, "%s/%u/%u/%llu/%s", c->prefix, c->index, c->world,
                       (unsigned long long)c->number, kind[i]);
        st = o->seeded ? fre_rng_init_seeded(stream[i], o->seed, label) : fre_rng_init(stream[i]);
    }
    return st;
}
