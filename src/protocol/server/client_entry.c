/* server/client_entry.c - a client's entries: one a place, alike whatever the place holds.
 *
 * The steps are the same for a place with a text whose coin fell on heads and for any other: tag and
 * embedding are laid over random bytes and zeros by a mask.
 * Row CLIENT, key 1 index (4):  done (1)  send_at (8)  message */
#include "client.h"

static uint32_t places(const client *c)
{
    return server_wire(&c->base)->c.cells_per_user;
}

/* A random tag, or this one. */
static fre_tag choose_tag(const fre_tag *real, uint8_t mask, fre_rng *r)
{
    fre_tag tag;

    fre_rng_bytes(r, tag.b, sizeof tag.b);
    for (size_t i = 0; i < sizeof tag.b; i++)
        tag.b[i] = (uint8_t)((real->b[i] & mask) | (tag.b[i] & (uint8_t)~mask));
    return tag;
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

static fre_status make_share(client *c, fre_share_seed *seed, uint8_t *packed, size_t bytes,
                             uint32_t i, uint8_t mask, fre_rng *r)
{
    const fre_agreement *a = c->base.a;
    const uint32_t dim = a->w.c.dim;
    float *x = malloc(dim * sizeof *x);
    fre_share_noise noise;
    fre_status st;

    if (!x)
        return FRE_E_NOMEM;
    choose_row(x, c->x + (size_t)i * dim, dim, mask);
    if (a->table)
        noise = fre_share_table_noise(a->table);
    st = fre_share_make_with(packed, bytes, seed, a->rotation, &a->cell, x,
                             a->table && !a->exact ? &noise : NULL, r);
    fre_wipe_free(x, dim * sizeof *x);
    return st;
}

static fre_status seal_entry(client *c, fre_buf *out, const fre_tag *real, uint32_t i, fre_rng *r)
{
    const fre_wire *w = server_wire(&c->base);
    const client_place *p = &c->place[i];
    const size_t bytes = fre_wire_share_bytes(w);
    const uint8_t mask = (uint8_t)(0u - p->real);
    uint8_t *packed = malloc(bytes);
    fre_entry m = {.packed = {packed, bytes}};
    fre_hpke_sk ephemeral[2];
    fre_share_seed seed;
    fre_status st;

    if (!packed)
        return FRE_E_NOMEM;
    m.tag = choose_tag(real, mask, r);
    fre_place_id(&m.id, w, &p->place);
    fre_vouching_make(&m.proof, w, &c->key[i], &m.tag);
    st = make_share(c, &seed, packed, bytes, i, mask, r);
    fre_rng_bytes(r, ephemeral, sizeof ephemeral);
    if (st == FRE_OK)
        st = fre_entry_seed_seal_with(&m.seed, w, &m.tag, &m.id, &seed, &p->place, &ephemeral[0]);
    if (st == FRE_OK)
        st = fre_entry_seal_with(out, w, FRE_WIRE_ENTRY, &m, &ephemeral[1]);
    fre_wipe(ephemeral, sizeof ephemeral);
    fre_share_seed_wipe(&seed);
    fre_wipe(&m, sizeof m);
    fre_wipe_free(packed, bytes);
    return st;
}

/* Uniform until entries close, but for a last tenth in which what was lost is sent again; whatever the
 * place holds. */
static int64_t draw_time(const client *c, fre_rng *r)
{
    const int64_t left = (server_wire(&c->base)->c.tags_close - c->base.now) / 10 * 9;

    return c->base.now + (left > 1 ? (int64_t)fre_rng_below(r, (uint64_t)left) : 0);
}

static fre_status make_entry(client *c, const fre_tag *real, uint32_t i, fre_rng *r)
{
    fre_carry m = {.what = FRE_WIRE_ENTRY, .token = c->token};
    fre_buf entry;
    fre_status st;

    fre_buf_init(&entry, FRE_WIRE_MESSAGE_MAX);
    st = seal_entry(c, &entry, real, i, r);
    m.bytes = server_buf_view(&entry);
    if (st == FRE_OK)
        st = fre_carry_encode(&c->entry[i].message, server_wire(&c->base), &m);
    c->entry[i].send_at = draw_time(c, r);
    fre_buf_wipe(&entry);
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
    c->stage = CLIENT_SENDING;
    return fre_buf_append(&e->message, row->value.p + 9, row->value.n - 9);
}

fre_status client_entry_done(client *c, fre_delta *rows, uint32_t i)
{
    fre_buf_wipe(&c->entry[i].message);
    c->entry[i].done = true;
    return keep_entry(c, rows, i);
}

fre_status client_make_entries(client *c, fre_delta *rows, const fre_tag *tag)
{
    const uint8_t key = 0;
    fre_rng r;
    fre_status st = server_rng(&c->base, &r);

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++)
        st = make_entry(c, &tag[i], i, &r);
    fre_rng_wipe(&r);
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++)
        st = keep_entry(c, rows, i);
    if (st == FRE_OK)
        st = server_row_erase(rows, SERVER_ROW_CLIENT, server_view(&key, 1));
    if (st != FRE_OK)
        return st;
    client_wipe_secrets(c);
    c->stage = CLIENT_SENDING;
    return FRE_OK;
}
