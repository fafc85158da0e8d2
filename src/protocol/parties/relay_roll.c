/* parties/relay_roll.c - the roll: what the relay tells S_tag of the shares that it took, so that S_tag
 * opens no others.  Marks are sorted, so that nothing is left of the order in which they came. */
#include "relay.h"

/* Marks of a part: few parts, since sets wait for the last of them. */
static size_t part_marks(uint32_t part_max)
{
    const size_t most = FRE_WIRE_MESSAGE_MAX / 2 / sizeof(fre_mark);

    return part_max < most / FRE_PARTIES_ROLL_FACTOR ? (size_t)part_max * FRE_PARTIES_ROLL_FACTOR
                                                     : most;
}

static size_t parts_of(size_t n, uint32_t part_max)
{
    const size_t size = part_marks(part_max);

    return n / size + (n % size > 0);
}

void relay_roll_wipe(relay_roll *r)
{
    if (r->mark)
        fre_wipe(r->mark, r->n * sizeof *r->mark);
    free(r->mark);
    *r = (relay_roll){.mark = NULL};
}

fre_status relay_roll_reserve(relay_roll *r)
{
    const size_t cap = r->cap > 0 ? r->cap * 2 : 64;
    fre_mark *grown;

    if (r->n < r->cap)
        return FRE_OK;
    grown = realloc(r->mark, cap * sizeof *grown);
    if (!grown)
        return FRE_E_NOMEM;
    r->mark = grown;
    r->cap = cap;
    return FRE_OK;
}

void relay_roll_put(relay_roll *r, const fre_mark *mark)
{
    r->mark[r->n++] = *mark;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_mark));
}

fre_status relay_roll_close(relay_roll *r, uint32_t part_max)
{
    size_t n = 0, parts;

    if (r->n > 0)
        qsort(r->mark, r->n, sizeof *r->mark, by_bytes);
    for (size_t i = 0; i < r->n; i++)
        if (n == 0 || by_bytes(&r->mark[n - 1], &r->mark[i]) != 0)
            r->mark[n++] = r->mark[i];
    parts = parts_of(n, part_max);
    if (parts > FRE_WIRE_PARTS_MAX)
        return FRE_E_LIMIT;
    r->n = n;
    r->parts = (uint32_t)parts;
    r->next = 0;
    return FRE_OK;
}

fre_status relay_roll_post(const fre_relay *x, fre_outbox *out, uint64_t cookie)
{
    const relay_roll *r = &x->roll;
    const size_t size = part_marks(x->opts.part_max), first = r->next * size;
    const fre_roll m = {.part = {.index = r->next, .count = r->parts},
                        .n = (uint32_t)(r->n - first < size ? r->n - first : size),
                        .mark = r->mark + first};
    fre_outbox_item *item = parties_post(out, FRE_ROLE_TAG, cookie);
    fre_status st;

    if (!item)
        return FRE_E_NOMEM;
    st = fre_roll_encode(&item->message, &x->base.w, &m, &x->sk);
    if (st != FRE_OK)
        parties_post_undo(out);
    return st;
}

void relay_roll_answered(relay_roll *r, uint64_t index)
{
    if (index == r->next && r->next < r->parts && ++r->next == r->parts)
        relay_roll_wipe(r);
}

/* ---- state ------------------------------------------------------------------------------------ */

void relay_roll_save(parties_out *o, const relay_roll *r)
{
    parties_put_bytes(o, r->mark, r->n * sizeof *r->mark);
    parties_put_uint(o, r->parts, 4);
    parties_put_uint(o, r->next, 4);
}

void relay_roll_load(parties_in *in, relay_roll *r, uint32_t part_max, fre_status *st)
{
    const fre_bytes raw = parties_get_bytes(in);
    const size_t n = raw.n / sizeof *r->mark;

    r->parts = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    r->next = (uint32_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    if (in->bad || raw.n % sizeof *r->mark != 0 ||
        (r->parts > 0 && (r->next >= r->parts || r->parts != parts_of(n, part_max)))) {
        in->bad = true;
        return;
    }
    if (n == 0)
        return;
    r->mark = malloc(raw.n);
    if (!r->mark) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    memcpy(r->mark, raw.p, raw.n);
    r->n = r->cap = n;
}
