/* server/client_secrets.c - what a client draws, once and before it sends anything, and its row.
 *
 * Row CLIENT, key 0:  start_at (8)  both ephemeral keys (32 each)  then a place each:
 * real (1)  r (16)  blind of its id (32)  blind of its cell (32)  cell (32)
 * Row CLIENT, key 2, in place of it once the entries are made, with two contacts: the token (32)  a place each:
 * real (1)  r (16)  tag (32)  name (16) */
#include "client.h"

#include <fre/aggregate.h>

#define HEAD_BYTES (8 + 64)
#define PLACE_BYTES (1 + 16 + 32 + 32 + 32)
#define TOKEN_BYTES sizeof(fre_admission)
#define KEPT_BYTES (1 + 16 + 32 + 16)

static uint32_t places(const client *c)
{
    return server_wire(&c->base)->c.cells_per_user;
}

/* Of texts that share a cell the first counts, so later places with it are empty. */
static uint8_t is_first(const client *c, uint32_t i)
{
    uint8_t first = 1;

    for (uint32_t j = 0; j < i; j++)
        first &= (uint8_t)!fre_secret_eq(c->place[j].cell, c->place[i].cell,
                                         sizeof c->place[i].cell);
    return first;
}

/* The offset from the nearest public centre, cut to R; of a grid the embedding itself. */
static fre_status take_offset(client *c, float *centre, uint32_t i)
{
    const fre_agreement *a = c->base.a;
    const uint32_t dim = a->w.c.dim;
    uint32_t *cell = &c->place[i].place.cell;
    float *x = c->x + (size_t)i * dim;
    fre_status st = fre_aggregate_clip(x, dim, a->w.c.norm_bound)
                        ? fre_sketch_nearest(a->cells, cell, x, dim)
                        : FRE_E_DATA;

    if (st == FRE_OK)
        st = fre_sketch_centre(a->cells, centre, *cell);
    if (st == FRE_OK)
        fre_aggregate_offset(x, centre, dim, a->w.c.sketch.codebook.radius);
    return st;
}

fre_status client_take_texts(client *c, uint32_t n, fre_err *err)
{
    const fre_agreement *a = c->base.a;
    const size_t bytes = a->w.c.dim * sizeof(float);
    float *centre;
    fre_status st = server_need_cells(a, err);

    if (st != FRE_OK || a->w.c.sketch.kind == FRE_SKETCH_GRID)
        return st;
    centre = malloc(bytes);
    if (!centre)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; st == FRE_OK && i < n; i++) {
        st = take_offset(c, centre, i);
        if (st == FRE_E_DATA)
            (void)fre_fail(err, st, "text %u: its embedding is not finite", i + 1);
    }
    fre_wipe_free(centre, bytes);
    return st;
}

static fre_status draw_cell(client *c, uint32_t i, bool text, fre_rng *r, fre_err *err)
{
    const fre_agreement *a = c->base.a;
    const uint32_t dim = a->w.c.dim;
    fre_cell cell;
    fre_status st;

    fre_rng_bytes(r, c->place[i].cell, sizeof c->place[i].cell);
    if (!text)
        return FRE_OK;
    st = a->w.c.sketch.kind == FRE_SKETCH_GRID
             ? fre_sketch_cell(a->cells, &cell, c->x + (size_t)i * dim, dim)
             : fre_sketch_public_cell(&cell, &a->w.c.sketch, c->place[i].place.cell);
    if (st != FRE_OK)
        return fre_fail(err, FRE_E_DATA,
                        "text %u: its embedding is not finite, or outside the grid", i + 1);
    memcpy(c->place[i].cell, cell.bytes, sizeof c->place[i].cell);
    fre_wipe(&cell, sizeof cell);
    return FRE_OK;
}

/* A later place of a cell that was there gets a random one, whatever its coin. */
static void empty_repeated(client *c, uint32_t i, fre_rng *r)
{
    uint8_t other[sizeof c->place[i].cell];
    const uint8_t first = is_first(c, i), keep = (uint8_t)(0u - first);

    fre_rng_bytes(r, other, sizeof other);
    for (size_t k = 0; k < sizeof other; k++)
        c->place[i].cell[k] =
            (uint8_t)((c->place[i].cell[k] & keep) | (other[k] & (uint8_t)~keep));
    c->place[i].real &= first;
    fre_wipe(other, sizeof other);
}

static void draw_start(client *c, fre_rng *r)
{
    const fre_collection *t = &server_wire(&c->base)->c;
    const uint64_t room = (uint64_t)(t->exchange_close - t->open);

    /* The first half: what is late can be tried again. */
    c->start_at = t->open + (int64_t)fre_rng_below(r, (room + 1) / 2);
}

fre_status client_draw(client *c, uint32_t texts, fre_err *err)
{
    fre_rng r;
    fre_status st = server_rng(&c->base, &r);

    if (st != FRE_OK)
        return st;
    for (uint32_t i = 0; i < places(c); i++) /* whatever there is to hide behind them */
        c->place[i].real =
            (uint8_t)(fre_aggregate_coin(&r, server_wire(&c->base)->c.p32) & (i < texts));
    for (uint32_t i = 0; st == FRE_OK && i < places(c); i++) {
        client_place *p = &c->place[i];

        fre_rng_bytes(&r, p->place.b, sizeof p->place.b);
        st = draw_cell(c, i, i < texts, &r, err);
        if (st == FRE_OK)
            empty_repeated(c, i, &r);
        fre_oprf_blind_draw(&p->blind_id, &r);
        fre_oprf_blind_draw(&p->blind_cell, &r);
    }
    fre_rng_bytes(&r, c->ask_issue.b, sizeof c->ask_issue.b);
    fre_rng_bytes(&r, c->ask_tags.b, sizeof c->ask_tags.b);
    draw_start(c, &r);
    fre_rng_wipe(&r);
    return st;
}

/* ---- the row ---------------------------------------------------------------------------------------- */

static void put_time(uint8_t *p, int64_t t)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)((uint64_t)t >> (56 - 8 * i));
}

static int64_t get_time(const uint8_t *p)
{
    uint64_t t = 0;

    for (unsigned i = 0; i < 8; i++)
        t = t << 8 | p[i];
    return (int64_t)t;
}

fre_status client_keep(client *c, fre_delta *rows)
{
    const size_t n = HEAD_BYTES + (size_t)places(c) * PLACE_BYTES;
    const uint8_t key = 0;
    uint8_t *value, *p;
    fre_status st;

    if (c->kept)
        return FRE_OK;
    value = p = malloc(n);
    if (!value)
        return FRE_E_NOMEM;
    put_time(p, c->start_at);
    memcpy(p + 8, c->ask_issue.b, 32);
    memcpy(p + 40, c->ask_tags.b, 32);
    p += HEAD_BYTES;
    for (uint32_t i = 0; i < places(c); i++, p += PLACE_BYTES) {
        p[0] = c->place[i].real;
        memcpy(p + 1, c->place[i].place.b, 16);
        memcpy(p + 17, c->place[i].blind_id.b, 32);
        memcpy(p + 49, c->place[i].blind_cell.b, 32);
        memcpy(p + 81, c->place[i].cell, 32);
    }
    st = server_row_put(rows, SERVER_ROW_CLIENT, server_view(&key, 1), server_view(value, n));
    c->kept = st == FRE_OK;
    fre_wipe_free(value, n);
    return st;
}

fre_status client_load(client *c, const fre_row *row)
{
    const uint8_t *p = row->value.p;

    if (row->value.n != HEAD_BYTES + (size_t)places(c) * PLACE_BYTES)
        return FRE_E_DATA;
    c->start_at = get_time(p);
    memcpy(c->ask_issue.b, p + 8, 32);
    memcpy(c->ask_tags.b, p + 40, 32);
    p += HEAD_BYTES;
    for (uint32_t i = 0; i < places(c); i++, p += PLACE_BYTES) {
        c->place[i].real = p[0] & 1;
        memcpy(c->place[i].place.b, p + 1, 16);
        if (fre_oprf_blind_decode(&c->place[i].blind_id, server_view(p + 17, 32)) != FRE_OK ||
            fre_oprf_blind_decode(&c->place[i].blind_cell, server_view(p + 49, 32)) != FRE_OK)
            return FRE_E_DATA;
        memcpy(c->place[i].cell, p + 81, 32);
    }
    c->kept = true;
    return FRE_OK;
}

/* ---- two contacts: what the answers need ----------------------------------------------------------- */

static void wipe_exchanges(client *c)
{
    for (uint32_t i = 0; i < places(c); i++) {
        fre_oprf_blind_wipe(&c->place[i].blind_id);
        fre_oprf_blind_wipe(&c->place[i].blind_cell);
        fre_wipe(c->place[i].cell, sizeof c->place[i].cell);
    }
    fre_wipe_free(c->key, places(c) * sizeof *c->key);
    c->key = NULL;
    client_forget_asked(c);
    fre_hpke_sk_wipe(&c->ask_issue);
    fre_hpke_sk_wipe(&c->ask_tags);
    fre_buf_wipe(&c->credentials);
}

static fre_status put_places(const client *c, fre_delta *rows)
{
    const size_t n = TOKEN_BYTES + (size_t)places(c) * KEPT_BYTES;
    const uint8_t key = 2;
    uint8_t *value = malloc(n), *p = value;
    fre_status st;

    if (!value)
        return FRE_E_NOMEM;
    memcpy(p, c->token.b, TOKEN_BYTES);
    p += TOKEN_BYTES;
    for (uint32_t i = 0; i < places(c); i++, p += KEPT_BYTES) {
        p[0] = c->place[i].real;
        memcpy(p + 1, c->place[i].place.b, 16);
        memcpy(p + 17, c->place[i].tag.b, 32);
        memcpy(p + 49, c->place[i].name.b, 16);
    }
    st = server_row_put(rows, SERVER_ROW_CLIENT, server_view(&key, 1), server_view(value, n));
    fre_wipe_free(value, n);
    return st;
}

fre_status client_keep_places(client *c, fre_delta *rows)
{
    const uint8_t key = 0;
    fre_status st = server_row_erase(rows, SERVER_ROW_CLIENT, server_view(&key, 1));

    if (st != FRE_OK)
        return st;
    if (server_wire(&c->base)->c.one_contact)
        client_wipe_secrets(c);
    else {
        st = put_places(c, rows);
        wipe_exchanges(c);
    }
    return st;
}

fre_status client_places_load(client *c, const fre_row *row)
{
    const uint8_t *p = row->value.p;

    if (row->value.n != TOKEN_BYTES + (size_t)places(c) * KEPT_BYTES)
        return FRE_E_DATA;
    memcpy(c->token.b, p, TOKEN_BYTES);
    p += TOKEN_BYTES;
    for (uint32_t i = 0; i < places(c); i++, p += KEPT_BYTES) {
        c->place[i].real = p[0] & 1;
        memcpy(c->place[i].place.b, p + 1, 16);
        memcpy(c->place[i].tag.b, p + 17, 32);
        memcpy(c->place[i].name.b, p + 49, 16);
    }
    return FRE_OK;
}

void client_wipe_secrets(client *c)
{
    fre_wipe_free(c->place, places(c) * sizeof *c->place);
    fre_wipe_free(c->key, places(c) * sizeof *c->key);
    fre_wipe_free(c->x, (size_t)places(c) * server_wire(&c->base)->c.dim * sizeof *c->x);
    c->place = NULL;
    c->key = NULL;
    c->x = NULL;
    client_forget_asked(c);
    fre_hpke_sk_wipe(&c->ask_issue);
    fre_hpke_sk_wipe(&c->ask_tags);
    fre_buf_wipe(&c->credentials);
}
