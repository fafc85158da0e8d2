/* server/table.c - a hash table of 16 byte keys, which are hashes that nobody else can choose. */
#include "server_private.h"

void server_table_wipe(server_table *t)
{
    fre_map_wipe(&t->map);
    fre_wipe_free(t->value, t->cap * sizeof *t->value);
    *t = (server_table){.cap = 0};
}

uint32_t *server_table_find(const server_table *t, const uint8_t key[SERVER_HASH_BYTES])
{
    const uint32_t i = t->map.n > 0 ? fre_map_find(&t->map, key) : FRE_MAP_NONE;

    return i == FRE_MAP_NONE ? NULL : &t->value[i];
}

fre_status server_table_put(server_table *t, const uint8_t key[SERVER_HASH_BYTES], uint32_t value)
{
    uint32_t i;
    bool added;
    fre_status st;

    if (t->map.key_bytes == 0) /* all zero so far */
        fre_map_init(&t->map, SERVER_HASH_BYTES);
    st = fre_grow((void **)&t->value, &t->cap, t->map.n + 1, sizeof *t->value);
    if (st == FRE_OK)
        st = fre_map_put(&t->map, &i, &added, key);
    if (st == FRE_OK)
        t->value[i] = value;
    return st;
}
