/* parties/relay_registry.c - digests of the seeds that the relay carried, for S_tag, which opens no
 * others.  They are sorted, so that the order in which they arrived is lost. */
#include "relay.h"

/* Digests in one part; parts are large, since sets wait for the last of them. */
static size_t part_digests(uint32_t part_max)
{
    const size_t most = FRE_WIRE_MESSAGE_MAX / 2 / sizeof(fre_seed_digest);

    return part_max < most / FRE_PARTIES_REGISTRY_FACTOR
               ? (size_t)part_max * FRE_PARTIES_REGISTRY_FACTOR
               : most;
}

static size_t parts_of(size_t n, uint32_t part_max)
{
    const size_t size = part_digests(part_max);

    return n / size + (n % size > 0);
}

void relay_registry_wipe(relay_registry *r)
{
    fre_wipe_free(r->digest, r->n * sizeof *r->digest);
    *r = (relay_registry){.digest = NULL};
}

fre_status relay_registry_reserve(relay_registry *r)
{
    return fre_grow((void **)&r->digest, &r->cap, r->n + 1, sizeof *r->digest);
}

void relay_registry_put(relay_registry *r, const fre_seed_digest *digest)
{
    r->digest[r->n++] = *digest;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_seed_digest));
}

fre_status relay_registry_close(relay_registry *r, uint32_t part_max)
{
    size_t n = 0, parts;

    if (r->n > 0)
        qsort(r->digest, r->n, sizeof *r->digest, by_bytes);
    for (size_t i = 0; i < r->n; i++)
        if (n == 0 || by_bytes(&r->digest[n - 1], &r->digest[i]) != 0)
            r->digest[n++] = r->digest[i];
    parts = parts_of(n, part_max);
    if (parts > FRE_WIRE_PARTS_MAX)
        return FRE_E_LIMIT;
    r->n = n;
    r->parts = (uint32_t)parts;
    r->next = 0;
    return FRE_OK;
}

fre_status relay_registry_post(const fre_relay *x, fre_outbox *out, uint64_t cookie)
{
    const relay_registry *r = &x->registry;
    const size_t size = part_digests(x->opts.part_max), first = r->next * size;
    const fre_registry m = {.part = {.index = r->next, .count = r->parts},
                            .n = (uint32_t)(r->n - first < size ? r->n - first : size),
                            .digest = r->digest + first};
    fre_outbox_item *item = parties_post(out, FRE_ROLE_TAG, cookie);
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = fre_registry_encode(&item->message, &x->base.w, &m, &x->sk);
    if (st != FRE_OK)
        parties_post_undo(out);
    return st;
}

void relay_registry_answered(relay_registry *r, uint64_t index)
{
    if (index == r->next && r->next < r->parts && ++r->next == r->parts)
        relay_registry_wipe(r);
}

/* ---- state ------------------------------------------------------------------------------------ */

void relay_registry_save(parties_out *o, const relay_registry *r)
{
    parties_put_bytes(o, r->digest, r->n * sizeof *r->digest);
    parties_put_uint(o, r->parts, 4);
    parties_put_uint(o, r->next, 4);
}

void relay_registry_load(parties_in *in, relay_registry *r, uint32_t part_max, fre_status *st)
{
    const fre_bytes raw = parties_get_bytes(in);
    const size_t n = raw.n / sizeof *r->digest;

    r->parts = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->next = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    if (in->bad || raw.n % sizeof *r->digest != 0 ||
        (r->parts > 0 && (r->next >= r->parts || r->parts != parts_of(n, part_max)))) {
        in->bad = true;
        return;
    }
    if (n == 0)
        return;
    r->digest = malloc(raw.n);
    if (!r->digest) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    memcpy(r->digest, raw.p, raw.n);
    r->n = r->cap = n;
}
