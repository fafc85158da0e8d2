/* split.c - splits: which third of its tag an id is in. */
#include "wire_private.h"

#include <stdlib.h>

static const char *const split_label = "fre/split/v2";

typedef struct placed {
    uint8_t hash[FRE_HASH_BYTES];
    size_t at;
} placed;

static int by_hash(const void *a, const void *b)
{
    const placed *p = a, *q = b;
    const int o = memcmp(p->hash, q->hash, sizeof p->hash);

    return o != 0 ? o : (p->at > q->at) - (p->at < q->at);
}

static void hash_id(uint8_t out[FRE_HASH_BYTES], fre_bytes label, const fre_split_seed *seed,
                    const fre_report_id *id)
{
    fre_sha256 h;

    fre_sha256_begin(&h, label);
    fre_sha256_add(&h, seed->b, sizeof seed->b);
    fre_sha256_add(&h, id->b, sizeof id->b);
    fre_sha256_end(out, &h);
}

/* Thirds 0 to n mod 3 - 1 have n/3 + 1 places each. */
static uint8_t third_of(size_t place, size_t n)
{
    const size_t each = n / 3, longer = n % 3 * (each + 1);

    return (uint8_t)(place < longer ? place / (each + 1) : n % 3 + (place - longer) / each);
}

fre_status fre_split_ids(uint8_t *third, const fre_wire *w, const fre_split_seed *seed,
                         const fre_report_id *id, size_t n)
{
    uint8_t info[WIRE_INFO_MAX];
    fre_bytes label;
    placed *p;

    if (!w || !seed || (n > 0 && (!third || !id)))
        return FRE_E_ARG;
    label = wire_info(info, w, split_label, NULL, NULL, wire_view(NULL, 0));
    p = calloc(n + 1, sizeof *p);
    if (!p)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        p[i].at = i;
        hash_id(p[i].hash, label, seed, &id[i]);
    }
    qsort(p, n, sizeof *p, by_hash);
    for (size_t i = 0; i < n; i++)
        third[p[i].at] = third_of(i, n);
    free(p);
    return FRE_OK;
}
