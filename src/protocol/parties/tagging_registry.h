/* Inside S_tag: the registry, digests of the seeds of all shares that the relay carried. */
#ifndef FRE_PARTIES_TAGGING_REGISTRY_H
#define FRE_PARTIES_TAGGING_REGISTRY_H

#include "parties_private.h"

typedef struct tagging_registry {
    fre_seed_digest *digest; /* ascending */
    uint8_t *spent;          /* 1: a seed of that digest was opened */
    size_t n, cap;
    fre_part part; /* .index: the next one; .count: 0 before the first */
} tagging_registry;

void tagging_registry_wipe(tagging_registry *r);
/* Why a part can't be the next one; max: digests that there can be. */
fre_rejection tagging_registry_rejected(const tagging_registry *r, const fre_registry *m,
                                        double max);
/* Room for `more` digests, so that append can't fail. */
FRE_MUST_CHECK fre_status tagging_registry_reserve(tagging_registry *r, size_t more);
/* The next part. */
void tagging_registry_append(tagging_registry *r, const fre_registry *m);
bool tagging_registry_is_whole(const tagging_registry *r);
/* Where the digest stands, if a seed of it may still be opened. */
bool tagging_registry_find(const tagging_registry *r, const fre_seed_digest *digest, size_t *index);
void tagging_registry_save(parties_out *o, const tagging_registry *r);
void tagging_registry_load(parties_in *in, tagging_registry *r, fre_status *st);

#endif /* FRE_PARTIES_TAGGING_REGISTRY_H */
