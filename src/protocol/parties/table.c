/* parties/table.c - see parties_private.h. */
#include "parties_private.h"

void parties_table_wipe(parties_table *t)
{
    fre_map_wipe(&t->map);
    fre_wipe_free(t->value, t->cap * sizeof *t->value);
    *t = (parties_table){0};
}

const uint32_t *parties_table_find(const parties_table *t, const uint8_t key[PARTIES_HASH_BYTES])
{
    const uint32_t i = fre_map_find(&t->map, key);

    return i == FRE_MAP_NONE ? NULL : &t->value[i];
}

fre_status parties_table_reserve(parties_table *t, size_t more)
{
    fre_status st;

    if (t->map.key_bytes == 0) /* all zero so far */
        fre_map_init(&t->map, PARTIES_HASH_BYTES);
    st = fre_map_reserve(&t->map, more);
    return st == FRE_OK ? fre_grow((void **)&t->value, &t->cap, t->map.n + more, sizeof *t->value)
                        : st;
}

void parties_table_insert(parties_table *t, const uint8_t key[PARTIES_HASH_BYTES], uint32_t value)
{
    uint32_t i;
    bool added;

    if (fre_map_put(&t->map, &i, &added, key) == FRE_OK) /* which cannot fail: there is room */
        t->value[i] = value;
}
