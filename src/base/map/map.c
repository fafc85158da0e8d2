/* map.c - see fre/map.h.  Linear probing. */
#include <fre/map.h>

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 16u
#define KEYS_MAX (FRE_MAP_NONE - 1)

void fre_map_init(fre_map *m, size_t key_bytes)
{
    memset(m, 0, sizeof *m);
    m->key_bytes = key_bytes;
}

void fre_map_wipe(fre_map *m)
{
    fre_wipe_free(m->keys, m->cap * m->key_bytes);
    free(m->slot);
    fre_map_init(m, m->key_bytes);
}

static void empty(uint32_t *slot, size_t n_slots)
{
    memset(slot, 0xff, n_slots * sizeof *slot); /* FRE_MAP_NONE */
}

void fre_map_clear(fre_map *m)
{
    if (m->keys)
        fre_wipe(m->keys, m->cap * m->key_bytes);
    if (m->slot)
        empty(m->slot, m->n_slots);
    m->n = 0;
}

const uint8_t *fre_map_key(const fre_map *m, uint32_t i)
{
    return m->keys + i * m->key_bytes;
}

/* The slot of key, or the free one where it would go; n_slots > n. */
static uint32_t *probe(const fre_map *m, const uint8_t *key)
{
    uint64_t h;
    size_t s;

    memcpy(&h, key, sizeof h);
    for (s = (size_t)h & (m->n_slots - 1); m->slot[s] != FRE_MAP_NONE;
         s = (s + 1) & (m->n_slots - 1))
        if (memcmp(fre_map_key(m, m->slot[s]), key, m->key_bytes) == 0)
            break;
    return &m->slot[s];
}

uint32_t fre_map_next(const fre_map *m, size_t *at)
{
    while (*at < m->n_slots) {
        const uint32_t i = m->slot[(*at)++];

        if (i != FRE_MAP_NONE)
            return i;
    }
    return FRE_MAP_NONE;
}

/* In the order of the old slots, so that walks after a growth depend on the keys as those before do. */
static fre_status rehash(fre_map *m, size_t n_slots)
{
    fre_map big = *m;
    size_t at = 0;

    big.n_slots = n_slots;
    big.slot = malloc(n_slots * sizeof *big.slot);
    if (!big.slot)
        return FRE_E_NOMEM;
    empty(big.slot, n_slots);
    for (uint32_t i = fre_map_next(m, &at); i != FRE_MAP_NONE; i = fre_map_next(m, &at))
        *probe(&big, fre_map_key(m, i)) = i;
    free(m->slot);
    *m = big;
    return FRE_OK;
}

fre_status fre_map_reserve(fre_map *m, size_t more)
{
    size_t n_slots = m->n_slots ? m->n_slots : FIRST_SLOTS;
    fre_status st;

    if (more > KEYS_MAX - m->n)
        return FRE_E_LIMIT;
    while ((m->n + more) * 3 > n_slots * 2)
        n_slots *= 2;
    if (n_slots != m->n_slots) {
        st = rehash(m, n_slots);
        if (st != FRE_OK)
            return st;
    }
    return fre_grow((void **)&m->keys, &m->cap, m->n + more, m->key_bytes);
}

uint32_t fre_map_find(const fre_map *m, const uint8_t *key)
{
    return m->n ? *probe(m, key) : FRE_MAP_NONE;
}

fre_status fre_map_put(fre_map *m, uint32_t *index, bool *added, const uint8_t *key)
{
    uint32_t found = fre_map_find(m, key);
    fre_status st;

    *added = found == FRE_MAP_NONE;
    if (*added) {
        st = fre_map_reserve(m, 1);
        if (st != FRE_OK)
            return st;
        found = (uint32_t)m->n;
        *probe(m, key) = found; /* before the key is there: keys below n alone are compared */
        memcpy(m->keys + m->n++ * m->key_bytes, key, m->key_bytes);
    }
    *index = found;
    return FRE_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

fre_status fre_text_map_init(fre_text_map *m)
{
    fre_rng rng;
    const fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return st;
    fre_map_init(&m->map, FRE_TEXT_KEY_BYTES);
    fre_rng_bytes(&rng, m->hash_key, sizeof m->hash_key);
    fre_rng_wipe(&rng);
    return FRE_OK;
}

void fre_text_map_wipe(fre_text_map *m)
{
    fre_map_wipe(&m->map);
    fre_wipe(m, sizeof *m);
}

fre_status fre_text_map_put(fre_text_map *m, uint32_t *index, bool *added, const void *p, size_t n)
{
    uint8_t key[FRE_TEXT_KEY_BYTES];

    fre_hash128(key, m->hash_key, p, n);
    return fre_map_put(&m->map, index, added, key);
}

uint32_t fre_text_map_find(const fre_text_map *m, const void *p, size_t n)
{
    uint8_t key[FRE_TEXT_KEY_BYTES];

    if (m->map.n == 0)
        return FRE_MAP_NONE;
    fre_hash128(key, m->hash_key, p, n);
    return fre_map_find(&m->map, key);
}
