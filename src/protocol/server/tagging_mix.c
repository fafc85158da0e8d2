/* server/tagging_mix.c - what the relay collected, without repetitions, with padding drawn now, in a
 * random order: the whole stream is there, in place of what came in, before its first byte leaves. */
#include "tagging.h"

#define PART_ENTRIES 16384u

typedef struct stream {
    const uint8_t **entry; /* n */
    size_t n, cap;
    fre_buf padding;
} stream;

/* Same seals count once: by a hash under our secret. */
static fre_status gather(tagging *x, stream *s, server_table *seen, const fre_batch *m)
{
    const size_t each = fre_entry_sealed_bytes(server_wire(&x->base), FRE_WIRE_ENTRY);
    uint8_t key[SERVER_HASH_BYTES];
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < m->n; i++) {
        const fre_bytes sealed = server_view(m->sealed.p + (size_t)i * each, each);

        server_hash(key, &x->base, sealed);
        if (server_table_find(seen, key))
            continue;
        st = fre_grow((void **)&s->entry, &s->cap, s->n + 1, sizeof *s->entry);
        if (st == FRE_OK)
            st = server_table_put(seen, key, 0);
        if (st == FRE_OK)
            s->entry[s->n++] = sealed.p;
    }
    return st;
}

static fre_status gather_all(tagging *x, stream *s)
{
    server_table seen = {.cap = 0};
    fre_batch m;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < x->collected.count; i++) {
        st = fre_batch_decode(&m, server_wire(&x->base), FRE_WIRE_COLLECTED,
                              server_buf_view(&x->collected.part[i].bytes), NULL);
        if (st == FRE_OK)
            st = gather(x, s, &seen, &m);
    }
    server_table_wipe(&seen);
    return st;
}

static fre_status pad_and_permute(tagging *x, stream *s)
{
    const size_t each = fre_entry_sealed_bytes(server_wire(&x->base), FRE_WIRE_ENTRY);
    fre_rng r;
    fre_status st = server_rng(&x->base, &r);

    if (st != FRE_OK)
        return st;
    st = tagging_padding(x, &s->padding, &r);
    if (st == FRE_OK)
        st = fre_grow((void **)&s->entry, &s->cap, s->n + s->padding.n / each + 1,
                      sizeof *s->entry);
    for (size_t at = 0; st == FRE_OK && at < s->padding.n; at += each)
        s->entry[s->n++] = s->padding.p + at;
    for (size_t i = s->n; st == FRE_OK && i > 1; i--) {
        const size_t j = (size_t)fre_rng_below(&r, i);
        const uint8_t *swap = s->entry[i - 1];

        s->entry[i - 1] = s->entry[j];
        s->entry[j] = swap;
    }
    fre_rng_wipe(&r);
    return st;
}

static fre_status make_part(tagging *x, fre_delta *rows, const stream *s, fre_part part)
{
    const size_t each = fre_entry_sealed_bytes(server_wire(&x->base), FRE_WIRE_ENTRY);
    const size_t from = s->n * part.index / part.count, to = s->n * (part.index + 1) / part.count;
    uint8_t *sealed = malloc((to - from) * each + 1);
    fre_batch m = {.part = part,
                   .closed = server_buf_view(&x->closed),
                   .sealed = {sealed, (to - from) * each},
                   .n = (uint32_t)(to - from)};
    fre_buf message;
    fre_status st;

    if (!sealed)
        return FRE_E_NOMEM;
    for (size_t i = from; i < to; i++)
        memcpy(sealed + (i - from) * each, s->entry[i], each);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_batch_encode(&message, server_wire(&x->base), FRE_WIRE_MIXED, &m, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->mixed, rows, &message);
    fre_buf_wipe(&message);
    free(sealed);
    return st;
}

void tagging_marks(tagging *x, fre_mark_kind kind, const server_out *o)
{
    uint8_t one[FRE_HASH_BYTES];
    fre_sha256 h;

    fre_sha256_begin(&h, server_view("leaves", 6));
    for (uint32_t i = 0; i < o->count; i++) {
        server_sha256(one, server_buf_view(&o->letter[i].message));
        fre_sha256_add(&h, one, sizeof one);
    }
    fre_sha256_end(x->mark[kind].hash, &h);
    if (x->mark[kind].state == TAGGING_MARK_NONE)
        x->mark[kind].state = TAGGING_MARK_ASKED;
}

static fre_status make_parts(tagging *x, fre_delta *rows, const stream *s)
{
    const uint32_t parts = s->n > PART_ENTRIES ? (uint32_t)(s->n / PART_ENTRIES) : 1;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++)
        st = make_part(x, rows, s, (fre_part){i, parts});
    if (st == FRE_OK)
        st = server_parts_used(&x->collected, rows);
    tagging_marks(x, FRE_MARK_MIX, &x->mixed);
    return st;
}

static unsigned is_unfit(const tagging *x, const stream *s)
{
    if (s->n < server_wire(&x->base)->c.batch_min)
        return FRE_CANCEL_TOO_FEW;
    return s->n > server_records(&x->base) ? FRE_CANCEL_DISAGREE : 0;
}

fre_status tagging_mix(tagging *x, fre_delta *rows, unsigned *why)
{
    stream s = {.n = 0};
    fre_status st;

    fre_buf_init(&s.padding, SIZE_MAX / 2);
    st = gather_all(x, &s);
    *why = is_unfit(x, &s);
    if (st == FRE_OK && *why == 0) {
        st = pad_and_permute(x, &s);
        if (st == FRE_OK)
            st = make_parts(x, rows, &s);
    }
    fre_buf_wipe(&s.padding);
    free(s.entry);
    return st;
}
