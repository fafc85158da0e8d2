/* server/client_entry.c - a client's entries, and with two contacts its answers: one a place, alike whatever
 * the place holds.
 *
 * The steps are the same for a place with a text whose coin fell on heads and for any other: tag, place and
 * embedding are laid over random bytes and zeros by a mask.  Only cover = off leaves such out.
 * Row CLIENT, key 1 index (4):  done (1)  send_at (8)  message */
#include "client.h"

static uint32_t places(const client *c)
{
    return server_wire(&c->base)->c.cells_per_user;
}

/* Random bytes, or these. */
static void choose(uint8_t *out, const uint8_t *real, size_t n, uint8_t mask, fre_rng *r)
{
    fre_rng_bytes(r, out, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((real[i] & mask) | (out[i] & (uint8_t)~mask));
}

/* Zeros, or this row. */
static void choose_row(float *out, const float *x, uint32_t dim, uint8_t mask)
{
    const uint32_t wide = (uint32_t)(0u - (mask & 1u));

    for (uint32_t i = 0; i < dim; i++) {
        uint32_t u;

        memcpy(&u, &x[i], sizeof u);
        u &= wide;
        memcpy(&out[i], &u, sizeof u);
    }
}

/* What a message of a place holds. */
typedef struct content {
    fre_wire_type type;
    uint32_t i;     /* the place */
    uint8_t mask;   /* all ones: its text and tag; 0: nothing of them */
    uint64_t count; /* of its cell, for the noise */
} content;

static fre_status make_share(client *c, fre_share_seed *seed, uint8_t *packed, size_t bytes,
                             const fre_wire *w, const content *k, fre_rng *r)
{
    const fre_agreement *a = c->base.a;
    const uint32_t dim = a->w.c.dim;
    float *x = malloc(dim * sizeof *x);
    fre_share_noise noise;
    fre_share_cell cell;
    fre_status st = x ? server_cell(&cell, a, w, k->count) : FRE_E_NOMEM;

    if (st == FRE_OK) {
        choose_row(x, c->x + (size_t)k->i * dim, dim, k->mask);
        if (a->table)
            noise = fre_share_table_noise(a->table);
        if (a->w.c.one_contact || a->exact)
            st = fre_share_make_with(packed, bytes, seed, a->rotation, &cell, x,
                                     a->table && !a->exact ? &noise : NULL, r);
        else
            st = fre_share_make(packed, bytes, seed, a->rotation, &cell, x, r);
    }
    fre_wipe_free(x, dim * sizeof *x);
    return st;
}

/* Share and seed of a message that has them. */
static fre_status add_share(client *c, fre_entry *m, uint8_t *packed, const fre_wire *w,
                            const content *k, const fre_place *place, fre_rng *r)
{
    const size_t bytes = fre_wire_share_bytes(w);
    fre_hpke_sk ephemeral;
    fre_share_seed seed;
    fre_status st = make_share(c, &seed, packed, bytes, w, k, r);

    m->packed = server_view(packed, bytes);
    fre_rng_bytes(r, &ephemeral, sizeof ephemeral);
    if (st == FRE_OK)
        st = fre_entry_seed_seal_with(&m->seed, w, &m->tag, &m->id, &seed, place, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    fre_share_seed_wipe(&seed);
    return st;
}

static fre_status seal(client *c, fre_buf *out, const fre_wire *w, const content *k, fre_rng *r)
{
    const bool entry = k->type == FRE_WIRE_ENTRY;
    client_place *p = &c->place[k->i];
    const size_t bytes = fre_wire_share_bytes(w);
    uint8_t *packed = malloc(bytes + 1); /* maybe none */
    fre_entry m = {.packed = {.n = 0}};
    fre_hpke_sk ephemeral;
    fre_place place;
    fre_status st = packed ? FRE_OK : FRE_E_NOMEM;

    choose(m.tag.b, p->tag.b, sizeof m.tag.b, k->mask, r);
    /* An entry has its place's own id; so has an answer that says something, and no other. */
    choose(place.b, p->place.b, sizeof place.b, entry ? 0xff : k->mask, r);
    place.cell = p->place.cell & (0u - (k->mask & 1u));
    fre_place_id(&m.id, w, &place);
    if (entry) {
        fre_vouching_make(&m.proof, w, &c->key[k->i], &m.tag);
        fre_answer_name(&p->name, w, &m.id, &m.proof);
    }
    if (st == FRE_OK && (w->c.one_contact || !entry))
        st = add_share(c, &m, packed, w, k, &place, r);
    if (!entry) /* of one that says nothing, or whose entry S_syn has not, it is as good as random */
        choose(m.id.b, p->name.b, sizeof m.id.b, k->mask, r);
    fre_rng_bytes(r, &ephemeral, sizeof ephemeral);
    if (st == FRE_OK)
        st = fre_entry_seal_with(out, w, k->type, &m, &ephemeral);
    fre_hpke_sk_wipe(&ephemeral);
    fre_wipe(&place, sizeof place);
    fre_wipe(&m, sizeof m);
    fre_wipe_free(packed, bytes + 1);
    return st;
}

/* Uniform until they close, but for a last tenth in which what was lost is sent again; whatever the place
 * holds.  Of a stream of its own: how much of one it takes depends on the clock, and what follows must not. */
static fre_status draw_time(int64_t *at, client *c, fre_wire_type type)
{
    const fre_collection *t = &server_wire(&c->base)->c;
    const int64_t close = type == FRE_WIRE_ENTRY ? t->tags_close : t->shares_close;
    const int64_t left = (close - c->base.now) * 9 / 10;
    fre_rng r;
    fre_status st = server_rng(&c->base, &r);

    if (st != FRE_OK)
        return st;
    *at = c->base.now + (left > 0 ? (int64_t)fre_rng_below(&r, (uint64_t)left) : 0);
    fre_rng_wipe(&r);
    return FRE_OK;
}

/* In place of what was to be sent before. */
static fre_status make_message(client *c, const fre_wire *w, const content *k, fre_rng *r)
{
    fre_carry m = {.what = k->type, .token = c->token};
    client_entry *e = &c->entry[k->i];
    fre_buf inner;
    fre_status st = draw_time(&e->send_at, c, k->type);

    fre_buf_wipe(&e->message);
    e->done = !w->c.cover && k->mask == 0;
    if (st != FRE_OK || e->done)
        return st;
    fre_buf_init(&inner, FRE_WIRE_MESSAGE_MAX);
    st = seal(c, &inner, w, k, r);
    m.bytes = server_buf_view(&inner);
    if (st == FRE_OK)
        st = fre_carry_encode(&e->message, w, &m);
    fre_buf_wipe(&inner);
    return st;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static fre_status keep_entry(const client *c, fre_delta *rows, uint32_t i)
{
    const client_entry *e = &c->entry[i];
    const uint8_t key[5] = {1, 0, 0, 0, (uint8_t)i};
    uint8_t head[9] = {e->done};
    fre_buf value;
    fre_status st;

    for (unsigned k = 0; k < 8; k++)
        head[1 + k] = (uint8_t)((uint64_t)e->send_at >> (56 - 8 * k));
    fre_buf_init(&value, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&value, head, sizeof head);
    if (st == FRE_OK && e->message.n > 0)
        st = fre_buf_append(&value, e->message.p, e->message.n);
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_CLIENT, server_view(key, sizeof key),
                            server_buf_view(&value));
    fre_buf_wipe(&value);
    return st;
}

fre_status client_entry_load(client *c, const fre_row *row)
{
    uint64_t t = 0;
    client_entry *e;

    if (row->key.n != 5 || row->key.p[4] >= places(c) || row->value.n < 9)
        return FRE_E_DATA;
    e = &c->entry[row->key.p[4]];
    e->done = row->value.p[0] == 1;
    for (unsigned i = 0; i < 8; i++)
        t = t << 8 | row->value.p[1 + i];
    e->send_at = (int64_t)t;
    if (c->stage < CLIENT_SENDING)
        c->stage = CLIENT_SENDING;
    return fre_buf_append(&e->message, row->value.p + 9, row->value.n - 9);
}

fre_status client_entry_done(client *c, fre_delta *rows, uint32_t i)
{
    fre_buf_wipe(&c->entry[i].message);
    c->entry[i].done = true;
    return keep_entry(c, rows, i);
}

static fre_status keep_all(const client *c, fre_delta *rows)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++)
        st = keep_entry(c, rows, i);
    return st;
}

fre_status client_make_entries(client *c, fre_delta *rows)
{
    const fre_wire *w = server_wire(&c->base);
    fre_rng r;
    fre_status st = server_rng(&c->base, &r);

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++)
        st = make_message(c, w,
                          &(content){.type = FRE_WIRE_ENTRY,
                                     .i = i,
                                     .mask = (uint8_t)(0u - c->place[i].real),
                                     .count = w->c.tau},
                          &r);
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = keep_all(c, rows);
    if (st == FRE_OK)
        st = client_keep_places(c, rows);
    if (st == FRE_OK)
        c->stage = CLIENT_SENDING;
    return st;
}

fre_status client_make_answers(client *c, fre_delta *rows, const server_list *l, bool late)
{
    const uint8_t places_key = 2;
    fre_rng r;
    fre_status st = server_rng(&c->base, &r);

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++) {
        const uint64_t count = fre_list_scan(&l->list, &c->place[i].tag);
        const uint64_t there = c->place[i].real & ((0u - count) >> 63); /* count > 0 */

        st = make_message(c, &l->w,
                          &(content){.type = FRE_WIRE_ANSWER,
                                     .i = i,
                                     .mask = (uint8_t)(0u - there),
                                     .count = (count & (0u - there)) | (l->w.c.tau & (there - 1u))},
                          &r);
    }
    fre_rng_wipe(&r);
    if (st == FRE_OK)
        st = keep_all(c, rows);
    if (st != FRE_OK)
        return st;
    memcpy(c->list, l->w.list, FRE_HASH_BYTES);
    c->list[FRE_HASH_BYTES] = late;
    st = server_row_put(rows, SERVER_ROW_LIST, server_view(NULL, 0),
                        server_view(c->list, sizeof c->list));
    if (st == FRE_OK)
        st = server_row_erase(rows, SERVER_ROW_CLIENT, server_view(&places_key, 1));
    client_wipe_secrets(c);
    c->stage = CLIENT_ANSWERING;
    return st;
}
