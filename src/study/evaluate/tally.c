/* A multiset of byte strings: open addressing over keyed hashes, which hostile input cannot make
 * collide. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

fre_status tally_init(tally *t, bool packed)
{
    fre_rng rng;
    fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return st;
    *t = (tally){.packed = packed};
    fre_rng_bytes(&rng, t->hash_key, sizeof t->hash_key);
    fre_rng_wipe(&rng);
    return FRE_OK;
}

void tally_wipe(tally *t)
{
    if (t->arena)
        fre_wipe(t->arena, t->arena_cap);
    free(t->arena);
    free(t->entry);
    free(t->weight);
    free(t->slot);
    fre_wipe(t, sizeof *t);
}

/* Slot that holds the hash, or the free one where it belongs. */
static size_t *find_slot(const tally *t, size_t *slot, size_t n_slots, const uint8_t hash[16])
{
    size_t at;

    memcpy(&at, hash, sizeof at);
    for (at &= n_slots - 1;; at = (at + 1) & (n_slots - 1))
        if (slot[at] == 0 || memcmp(t->entry[slot[at] - 1].hash, hash, 16) == 0)
            return &slot[at];
}

/* The table stays at most half full. */
static fre_status grow_table(tally *t)
{
    size_t cap = t->cap ? 2 * t->cap : 1024, n_slots = 2 * cap;
    tally_entry *entry;
    uint64_t *weight;
    size_t *slot;

    if (t->n < t->cap)
        return FRE_OK;
    entry = realloc(t->entry, cap * sizeof *entry);
    if (!entry)
        return FRE_E_NOMEM;
    t->entry = entry;
    weight = realloc(t->weight, cap * sizeof *weight);
    if (!weight)
        return FRE_E_NOMEM;
    t->weight = weight;
    slot = calloc(n_slots, sizeof *slot);
    if (!slot)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < t->n; i++)
        *find_slot(t, slot, n_slots, t->entry[i].hash) = i + 1;
    free(t->slot);
    t->slot = slot;
    t->n_slots = n_slots;
    t->cap = cap;
    return FRE_OK;
}

static fre_status grow_arena(tally *t, size_t more)
{
    size_t cap = t->arena_cap ? t->arena_cap : 65536;
    uint8_t *p;

    if (more <= t->arena_cap - t->arena_n)
        return FRE_OK;
    while (cap - t->arena_n < more) {
        if (cap > SIZE_MAX / 2)
            return FRE_E_NOMEM;
        cap *= 2;
    }
    p = malloc(cap); /* not realloc: what is left behind must be wiped */
    if (!p)
        return FRE_E_NOMEM;
    if (t->arena) {
        memcpy(p, t->arena, t->arena_n);
        fre_wipe(t->arena, t->arena_cap);
        free(t->arena);
    }
    t->arena = p;
    t->arena_cap = cap;
    return FRE_OK;
}

fre_status tally_add(tally *t, size_t *index, const void *p, size_t n)
{
    uint8_t hash[16];
    size_t *slot;
    fre_status st = grow_table(t);

    if (st == FRE_OK)
        st = grow_arena(t, n + 1);
    if (st != FRE_OK)
        return st;
    fre_hash128(hash, t->hash_key, p, n);
    slot = find_slot(t, t->slot, t->n_slots, hash);
    if (*slot == 0) {
        tally_entry *e = &t->entry[t->n];
        memcpy(e->hash, hash, sizeof hash);
        e->offset = t->arena_n;
        e->len = n;
        memcpy(t->arena + t->arena_n, p, n);
        t->weight[t->n] = 0;
        t->arena_n += n;
        if (!t->packed)
            t->arena[t->arena_n++] = 0;
        *slot = ++t->n;
    }
    *index = *slot - 1;
    t->weight[*index]++;
    return FRE_OK;
}

size_t tally_find(const tally *t, const void *p, size_t n)
{
    uint8_t hash[16];

    if (t->n == 0)
        return TALLY_NONE;
    fre_hash128(hash, t->hash_key, p, n);
    return *find_slot(t, t->slot, t->n_slots, hash) - 1; /* a free slot: 0 - 1 = TALLY_NONE */
}

const char *tally_text(const tally *t, size_t i)
{
    return (const char *)t->arena + t->entry[i].offset;
}
