/* parties/tagging_registry.c - S_tag opens seeds of shares that the relay carried, and no others: a
 * member of a cell has to be one of the relay's clients. */
#include "tagging_registry.h"

void tagging_registry_wipe(tagging_registry *r)
{
    free(r->digest);
    free(r->spent);
    *r = (tagging_registry){.digest = NULL};
}

bool tagging_registry_is_whole(const tagging_registry *r)
{
    return r->part.count > 0 && r->part.index == r->part.count;
}

fre_status tagging_registry_reserve(tagging_registry *r, size_t more)
{
    size_t cap = r->cap > 0 ? r->cap : 64;
    fre_seed_digest *digest;
    uint8_t *spent;

    while (cap < r->n + more)
        cap *= 2; /* at most some more than all clients have */
    if (cap == r->cap)
        return FRE_OK;
    digest = realloc(r->digest, cap * sizeof *digest);
    if (digest)
        r->digest = digest;
    spent = realloc(r->spent, cap);
    if (spent)
        r->spent = spent;
    if (!digest || !spent)
        return FRE_E_NOMEM;
    r->cap = cap;
    return FRE_OK;
}

void tagging_registry_append(tagging_registry *r, const fre_registry *m)
{
    if (m->n > 0)
        memcpy(r->digest + r->n, m->digest, m->n * sizeof *r->digest);
    memset(r->spent + r->n, 0, m->n);
    r->n += m->n;
    parties_part_done(&r->part, m->part);
}

static bool follows(const tagging_registry *r, const fre_registry *m)
{
    return m->n == 0 || r->n == 0 ||
           memcmp(r->digest[r->n - 1].b, m->digest[0].b, sizeof m->digest[0].b) < 0;
}

fre_rejection tagging_registry_rejected(const tagging_registry *r, const fre_registry *m,
                                        double max)
{
    const fre_rejection code = parties_part_rejected(&r->part, m->part);

    if (code != FRE_NOT_REJECTED)
        return code;
    if ((double)r->n + m->n > max)
        return FRE_REJECTED_SIZE;
    return follows(r, m) ? FRE_NOT_REJECTED : FRE_REJECTED_DISAGREES;
}

bool tagging_registry_find(const tagging_registry *r, const fre_seed_digest *digest, size_t *index)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = memcmp(r->digest[middle].b, digest->b, sizeof digest->b);

        if (order == 0) {
            *index = middle;
            return r->spent[middle] == 0;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* ---- state ------------------------------------------------------------------------------------ */

void tagging_registry_save(parties_out *o, const tagging_registry *r)
{
    parties_put_uint(o, r->part.index, 4);
    parties_put_uint(o, r->part.count, 4);
    parties_put_uint(o, r->n, 8);
    parties_put(o, r->digest, r->n * sizeof *r->digest);
    parties_put(o, r->spent, r->n);
}

static bool ascends(const tagging_registry *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (memcmp(r->digest[i - 1].b, r->digest[i].b, sizeof r->digest[i].b) >= 0)
            return false;
    return true;
}

void tagging_registry_load(parties_in *in, tagging_registry *r, fre_status *st)
{
    r->part.index = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->part.count = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->n = (size_t)parties_get_up_to(in, 8, in->left.n / (sizeof *r->digest + 1));
    r->digest = parties_get_array(in, r->n, sizeof *r->digest, st);
    r->spent = parties_get_array(in, r->n, 1, st);
    r->cap = r->n;
    if (in->bad || r->part.index > r->part.count) {
        in->bad = true;
        tagging_registry_wipe(r);
        return;
    }
    in->bad = !ascends(r);
    for (size_t i = 0; i < r->n; i++)
        in->bad |= r->spent[i] > 1;
}
