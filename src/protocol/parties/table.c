/* parties/table.c - 16-byte keys to 32-bit values: linear probing at a load of at most 2/3. */
#include "parties_private.h"

static size_t home(const uint8_t key[PARTIES_HASH_BYTES], size_t cap)
{
    uint64_t h;

    memcpy(&h, key, sizeof h);
    return (size_t)h & (cap - 1);
}

void parties_table_wipe(parties_table *t)
{
    fre_wipe_free(t->slot, t->cap * sizeof *t->slot);
    *t = (parties_table){0};
}

/* The slot of key, or the free one where it would go; cap > n. */
static parties_slot *probe(const parties_table *t, const uint8_t key[PARTIES_HASH_BYTES])
{
    size_t i = home(key, t->cap);

    while (t->slot[i].value != 0 && memcmp(t->slot[i].key, key, PARTIES_HASH_BYTES) != 0)
        i = (i + 1) & (t->cap - 1);
    return &t->slot[i];
}

const uint32_t *parties_table_find(const parties_table *t, const uint8_t key[PARTIES_HASH_BYTES])
{
    const parties_slot *s;

    if (t->cap == 0)
        return NULL;
    s = probe(t, key);
    return s->value != 0 ? &s->value : NULL;
}

fre_status parties_table_reserve(parties_table *t, size_t more)
{
    parties_table big = {.n = t->n, .cap = t->cap ? t->cap : 16};

    if (more > (SIZE_MAX / sizeof *t->slot - t->n) / 4)
        return FRE_E_NOMEM;
    while ((t->n + more) * 3 > big.cap * 2)
        big.cap *= 2;
    if (big.cap == t->cap)
        return FRE_OK;
    big.slot = calloc(big.cap, sizeof *big.slot);
    if (!big.slot)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slot[i].value != 0)
            *probe(&big, t->slot[i].key) = t->slot[i];
    parties_table_wipe(t);
    *t = big;
    return FRE_OK;
}

void parties_table_insert(parties_table *t, const uint8_t key[PARTIES_HASH_BYTES], uint32_t value)
{
    parties_slot *s = probe(t, key);

    memcpy(s->key, key, PARTIES_HASH_BYTES);
    s->value = value + 1;
    t->n++;
}
