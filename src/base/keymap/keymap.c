/* keymap.c - open addressing over keys that are hashes already. */
#include <fre/keymap.h>

#include <stdlib.h>
#include <string.h>

void fre_keymap_init(fre_keymap *m, size_t key_bytes)
{
    memset(m, 0, sizeof *m);
    m->key_bytes = key_bytes;
}

void fre_keymap_wipe(fre_keymap *m)
{
    if (m->keys)
        fre_wipe(m->keys, m->cap * m->key_bytes);
    free(m->keys);
    free(m->slot);
    fre_keymap_init(m, m->key_bytes);
}

static size_t map_home(const fre_keymap *m, const uint8_t *key)
{
    uint64_t h;

    memcpy(&h, key, sizeof h);
    return (size_t)h & (m->n_slots - 1);
}

static fre_status map_rehash(fre_keymap *m, size_t n_slots)
{
    uint32_t *old = m->slot;
    uint32_t *slot = malloc(n_slots * sizeof *slot);

    if (!slot)
        return FRE_E_NOMEM;
    memset(slot, 0xff, n_slots * sizeof *slot); /* FRE_KEYMAP_NONE */
    m->slot = slot;
    m->n_slots = n_slots;
    for (size_t i = 0; i < m->n; i++) {
        size_t s = map_home(m, m->keys + i * m->key_bytes);

        while (slot[s] != FRE_KEYMAP_NONE)
            s = (s + 1) & (n_slots - 1);
        slot[s] = (uint32_t)i;
    }
    free(old);
    return FRE_OK;
}

fre_status fre_keymap_put(fre_keymap *m, uint32_t *index, bool *added, const uint8_t *key)
{
    fre_status st;
    size_t s;

    if ((m->n + 1) * 4 > m->n_slots * 3) {
        st = map_rehash(m, m->n_slots ? m->n_slots * 2 : 1024);
        if (st != FRE_OK)
            return st;
    }
    for (s = map_home(m, key); m->slot[s] != FRE_KEYMAP_NONE; s = (s + 1) & (m->n_slots - 1)) {
        if (memcmp(m->keys + (size_t)m->slot[s] * m->key_bytes, key, m->key_bytes) == 0) {
            *index = m->slot[s];
            *added = false;
            return FRE_OK;
        }
    }
    if (m->n >= FRE_KEYMAP_NONE - 1)
        return FRE_E_LIMIT;
    st = fre_grow((void **)&m->keys, &m->cap, m->n + 1, m->key_bytes);
    if (st != FRE_OK)
        return st;
    memcpy(m->keys + m->n * m->key_bytes, key, m->key_bytes);
    m->slot[s] = (uint32_t)m->n;
    *index = (uint32_t)m->n++;
    *added = true;
    return FRE_OK;
}
