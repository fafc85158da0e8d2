/* A multiset of byte strings. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

fre_status evaluate_distinct_init(evaluate_distinct *t, bool packed)
{
    *t = (evaluate_distinct){.packed = packed};
    return fre_text_map_init(&t->map);
}

void evaluate_distinct_wipe(evaluate_distinct *t)
{
    fre_text_map_wipe(&t->map);
    fre_wipe_free(t->arena, t->arena_cap);
    free(t->entry);
    free(t->weight);
    fre_wipe(t, sizeof *t);
}

/* Room for one string more. */
static fre_status reserve(evaluate_distinct *t, size_t bytes)
{
    fre_status st = fre_map_reserve(&t->map.map, 1);

    if (st == FRE_OK)
        st = fre_grow((void **)&t->entry, &t->cap_entry, t->n + 1, sizeof *t->entry);
    if (st == FRE_OK)
        st = fre_grow((void **)&t->weight, &t->cap_weight, t->n + 1, sizeof *t->weight);
    return st == FRE_OK ? fre_grow((void **)&t->arena, &t->arena_cap, t->arena_n + bytes, 1) : st;
}

fre_status evaluate_distinct_add(evaluate_distinct *t, size_t *index, const void *p, size_t n)
{
    uint32_t at;
    bool added;
    fre_status st = reserve(t, n + 1);

    if (st == FRE_OK)
        st = fre_text_map_put(&t->map, &at, &added, p, n);
    if (st != FRE_OK)
        return st;
    if (added) {
        t->entry[t->n++] = (evaluate_distinct_entry){.offset = t->arena_n, .len = n};
        memcpy(t->arena + t->arena_n, p, n);
        t->arena_n += n;
        if (!t->packed)
            t->arena[t->arena_n++] = 0;
    }
    *index = at;
    t->weight[at]++;
    return FRE_OK;
}

size_t evaluate_distinct_find(const evaluate_distinct *t, const void *p, size_t n)
{
    const uint32_t at = fre_text_map_find(&t->map, p, n);

    return at == FRE_MAP_NONE ? EVALUATE_DISTINCT_NONE : at;
}

const char *evaluate_distinct_text(const evaluate_distinct *t, size_t i)
{
    return (const char *)t->arena + t->entry[i].offset;
}
