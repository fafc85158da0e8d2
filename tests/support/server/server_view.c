/* server_view.c - see server_view.h. */
#include "server_view.h"

void view_wipe(view *v)
{
    free(v->at);
    *v = (view){.n = 0};
}

void view_batch(view *v, const net *n, fre_wire_type type, fre_bytes message)
{
    const size_t each = fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY);
    fre_batch m;
    fre_buf plain;

    must(fre_batch_decode(&m, &n->s.w, type, message, NULL) == FRE_OK);
    fre_buf_init(&plain, FRE_WIRE_MESSAGE_MAX);
    for (uint32_t i = 0; i < m.n; i++) {
        view_entry *e;

        must(fre_grow((void **)&v->at, &v->cap, v->n + 1, sizeof *v->at) == FRE_OK);
        e = &v->at[v->n++];
        must(fre_entry_open(&e->e, &plain, &n->s.w, FRE_WIRE_ENTRY, &n->s.syn,
                            (fre_bytes){m.sealed.p + i * each, each}, NULL) == FRE_OK);
        must(e->e.packed.n <= sizeof e->packed);
        if (e->e.packed.n > 0)
            memcpy(e->packed, e->e.packed.p, e->e.packed.n);
    }
    fre_buf_wipe(&plain);
}

static int by_id(const void *a, const void *b)
{
    const view_entry *p = *(const view_entry *const *)a, *q = *(const view_entry *const *)b;

    return memcmp(p->e.id.b, q->e.id.b, sizeof p->e.id.b);
}

uint32_t view_members(const view *v, const fre_tag *tag, fre_vouch_member *m,
                      fre_sealed_entry_seed *seed, uint32_t max)
{
    const view_entry **found = calloc(v->n + 1, sizeof *found);
    uint32_t k = 0;

    must(found != NULL);
    for (size_t i = 0; i < v->n; i++)
        if (memcmp(v->at[i].e.tag.b, tag->b, sizeof tag->b) == 0)
            found[k++] = &v->at[i];
    qsort(found, k, sizeof *found, by_id);
    must(k <= max);
    for (uint32_t i = 0; i < k; i++) {
        m[i] = (fre_vouch_member){.id = found[i]->e.id, .proof = found[i]->e.proof};
        seed[i] = found[i]->e.seed;
    }
    free(found);
    return k;
}

fre_tag view_tag(const net *n, uint32_t cluster)
{
    float x[NET_DIM] = {0};
    fre_oprf_output o;
    fre_cell cell;
    fre_tag tag;

    x[cluster % NET_DIM] = 0.9f;
    must(fre_sketch_cell(n->a->grid, &cell, x, NET_DIM) == FRE_OK);
    must(fre_oprf_evaluate(&o, &n->s.oprf, (fre_bytes){cell.bytes, sizeof cell.bytes}) == FRE_OK);
    memcpy(tag.b, o.b, sizeof tag.b);
    return tag;
}

void view_forge(net *n, const fre_tag *tag, fre_buf *sealed)
{
    const size_t bytes = fre_wire_share_bytes(&n->s.w);
    uint8_t packed[8 * NET_DIM];
    fre_entry m = {.tag = *tag, .packed = {packed, bytes}};
    fre_share_seed seed;
    fre_hpke_sk ephemeral[2];
    fre_place place = {.cell = 0};
    fre_buf message;

    must(bytes <= sizeof packed);
    must(fre_share_random(packed, bytes, &seed, NET_DIM, n->s.w.share_bits, &n->rng) == FRE_OK);
    fre_rng_bytes(&n->rng, place.b, sizeof place.b);
    fre_rng_bytes(&n->rng, m.proof.b, sizeof m.proof.b);
    fre_rng_bytes(&n->rng, ephemeral, sizeof ephemeral);
    fre_place_id(&m.id, &n->s.w, &place);
    must(fre_entry_seed_seal_with(&m.seed, &n->s.w, tag, &m.id, &seed, &place, &ephemeral[0]) ==
         FRE_OK);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    must(fre_entry_seal_with(&message, &n->s.w, FRE_WIRE_ENTRY, &m, &ephemeral[1]) == FRE_OK);
    must(fre_buf_append(sealed, message.p + FRE_WIRE_HEAD_BYTES,
                        message.n - FRE_WIRE_HEAD_BYTES) == FRE_OK);
    fre_buf_wipe(&message);
}

void view_make_batch(net *n, fre_wire_type type, fre_bytes sealed, fre_buf *out)
{
    const fre_closed said = {.time = n->s.w.c.tags_close, .evaluations = 0};
    fre_batch m = {.part = {0, 1},
                   .sealed = sealed,
                   .n = (uint32_t)(sealed.n / fre_entry_sealed_bytes(&n->s.w, FRE_WIRE_ENTRY))};
    fre_buf closed;

    fre_buf_init(&closed, FRE_WIRE_MESSAGE_MAX);
    must(fre_closed_encode(&closed, &n->s.w, &said, &n->s.tag_sk) == FRE_OK);
    if (type == FRE_WIRE_MIXED)
        m.closed = sample_view(&closed);
    fre_buf_wipe(out);
    must(fre_batch_encode(out, &n->s.w, type, &m,
                          type == FRE_WIRE_MIXED ? &n->s.tag_sk : &n->s.relay_sk) == FRE_OK);
    fre_buf_wipe(&closed);
}

fre_rejection view_send(net *n, fre_role to, fre_bytes message, fre_buf *out)
{
    fre_reply reply;
    fre_rejection why;

    fre_reply_init(&reply);
    must(fre_server_handle(n->links.server[to], &reply, message, n->now) == FRE_OK);
    why = reply.why;
    net_store_commit(&n->store[to], &reply.rows);
    if (out) {
        fre_buf_wipe(out);
        must(fre_buf_append(out, reply.message.p, reply.message.n) == FRE_OK);
    }
    fre_reply_wipe(&reply);
    return why;
}
