/* server/tagging_mix.c - what the relay collected, without repetitions, with padding drawn now, in a
 * random order: the whole stream is there, in place of what came in, before its first byte leaves.
 * Entries change places where they lie, and what came in goes part by part as what leaves is made of it:
 * they are held once. */
#include "tagging.h"


typedef struct stream {
    uint8_t **entry; /* n places: of what came in, in its order, then of the padding */
    size_t n, cap;
    size_t *end;   /* of each part that came in: places up to its end */
    uint32_t gone; /* so many of them are empty again */
    fre_buf padding;
} stream;

/* Same seals count once: by a hash under our secret. */
static fre_status gather(tagging *x, stream *s, server_table *seen, const fre_batch *m,
                         server_part *part)
{
    uint8_t *first = m->n > 0 ? part->bytes.p + (m->sealed.p - part->bytes.p) : NULL;
    const size_t each = fre_entry_sealed_bytes(server_wire(&x->base), FRE_WIRE_ENTRY);
    uint8_t key[SERVER_HASH_BYTES];
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < m->n; i++) {
        uint8_t *sealed = first + (size_t)i * each;

        server_hash(key, &x->base, server_view(sealed, each));
        if (server_table_find(seen, key))
            continue;
        st = fre_grow((void **)&s->entry, &s->cap, s->n + 1, sizeof *s->entry);
        if (st == FRE_OK)
            st = server_table_put(seen, key, 0);
        if (st == FRE_OK)
            s->entry[s->n++] = sealed;
    }
    return st;
}

static fre_status gather_all(tagging *x, stream *s)
{
    server_table seen = {.cap = 0};
    fre_batch m;
    fre_status st;

    s->end = calloc(x->collected.count, sizeof *s->end);
    st = s->end ? FRE_OK : FRE_E_NOMEM;
    for (uint32_t i = 0; st == FRE_OK && i < x->collected.count; i++) {
        st = fre_batch_decode(&m, server_wire(&x->base), FRE_WIRE_COLLECTED,
                              server_buf_view(&x->collected.part[i].bytes), NULL);
        if (st == FRE_OK)
            st = gather(x, s, &seen, &m, &x->collected.part[i]);
        s->end[i] = s->n;
    }
    server_table_wipe(&seen);
    return st;
}

static void swap_entries(uint8_t *a, uint8_t *b, size_t n)
{
    uint8_t block[256];

    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < sizeof block ? n - at : sizeof block;
        memcpy(block, a + at, k);
        memmove(a + at, b + at, k); /* a place may meet itself */
        memcpy(b + at, block, k);
    }
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
        st =
            fre_grow((void **)&s->entry, &s->cap, s->n + s->padding.n / each + 1, sizeof *s->entry);
    for (size_t at = 0; st == FRE_OK && at < s->padding.n; at += each)
        s->entry[s->n++] = s->padding.p + at;
    for (size_t i = s->n; st == FRE_OK && i > 1; i--)
        swap_entries(s->entry[i - 1], s->entry[fre_rng_below(&r, i)], each);
    fre_rng_wipe(&r);
    return st;
}

static fre_status make_part(tagging *x, fre_delta *rows, const stream *s, fre_part part)
{
    const fre_wire *w = server_wire(&x->base);
    const size_t each = fre_entry_sealed_bytes(w, FRE_WIRE_ENTRY);
    const size_t from = fre_batch_first(w, FRE_WIRE_MIXED, s->n, part.index),
                 to = fre_batch_first(w, FRE_WIRE_MIXED, s->n, (uint64_t)part.index + 1);
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
    st = fre_batch_encode(&message, w, FRE_WIRE_MIXED, &m, &x->base.sign);
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

static void drop_parts(tagging *x, stream *s, size_t end)
{
    for (; s->gone < x->collected.count && s->end[s->gone] <= end; s->gone++)
        fre_buf_wipe(&x->collected.part[s->gone].bytes);
}

/* Where it fails, what came in is in the rows still, and this machine is thrown away. */
static fre_status make_parts(tagging *x, fre_delta *rows, stream *s)
{
    const fre_wire *w = server_wire(&x->base);
    const uint32_t parts = (uint32_t)fre_batch_parts(w, FRE_WIRE_MIXED, s->n);
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++) {
        st = make_part(x, rows, s, (fre_part){i, parts});
        drop_parts(x, s, fre_batch_first(w, FRE_WIRE_MIXED, s->n, (uint64_t)i + 1));
    }
    if (st == FRE_OK)
        st = server_parts_used(&x->collected, rows);
    tagging_marks(x, FRE_MARK_MIX, &x->mixed);
    return st;
}

fre_status tagging_mix(tagging *x, fre_delta *rows, bool *enough)
{
    stream s = {.n = 0};
    fre_status st;

    fre_buf_init(&s.padding, SIZE_MAX / 2);
    st = gather_all(x, &s);
    *enough = s.n >= server_wire(&x->base)->c.batch_min;
    if (st == FRE_OK && *enough) {
        st = pad_and_permute(x, &s);
        if (st == FRE_OK)
            st = make_parts(x, rows, &s);
    }
    fre_buf_wipe(&s.padding);
    free(s.entry);
    free(s.end);
    return st;
}
