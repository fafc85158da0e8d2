/* server/parts.c - messages in numbered parts, that come in and that go out.
 * Key of a row:  kind (1)  index (4). */
#include "server_private.h"

static void set32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void row_key(uint8_t out[5], uint8_t kind, uint32_t index)
{
    out[0] = kind;
    set32(out + 1, index);
}

void server_sha256(uint8_t out[FRE_HASH_BYTES], fre_bytes in)
{
    fre_sha256 h;

    fre_sha256_begin(&h, in);
    fre_sha256_end(out, &h);
}

/* ---- in ----------------------------------------------------------------------------------------- */

static fre_status begin(server_parts *p, uint32_t count)
{
    if (p->count > 0)
        return FRE_OK;
    p->part = calloc(count, sizeof *p->part);
    if (!p->part)
        return FRE_E_NOMEM;
    p->count = count;
    for (uint32_t i = 0; i < count; i++)
        fre_buf_init(&p->part[i].bytes, FRE_WIRE_MESSAGE_MAX);
    return FRE_OK;
}

static fre_status keep(server_parts *p, uint32_t index, const uint8_t hash[FRE_HASH_BYTES],
                       fre_bytes message)
{
    server_part *part = &p->part[index];
    fre_status st = fre_buf_append(&part->bytes, message.p, message.n);

    if (st != FRE_OK)
        return st;
    p->items += fre_wire_items(message);
    memcpy(part->hash, hash, FRE_HASH_BYTES);
    part->here = true;
    p->got++;
    return FRE_OK;
}

/* Together with what came before, is this part what the terms allow? */
static bool fits(const server_parts *p, fre_part part, fre_bytes message)
{
    return (p->parts_most == 0 || part.count <= p->parts_most) &&
           fre_wire_items(message) <= p->most - p->items;
}

fre_status server_parts_take(server_parts *p, fre_part part, fre_bytes message, fre_delta *rows,
                             bool *fresh, fre_rejection *why)
{
    uint8_t hash[FRE_HASH_BYTES], key[5];
    fre_status st;

    *fresh = false;
    *why = FRE_ACCEPTED;
    if (p->count > 0 && part.count != p->count) {
        *why = FRE_REJECTED_DISAGREES;
        return FRE_OK;
    }
    server_sha256(hash, message);
    if (p->count > 0 && p->part[part.index].here) {
        if (memcmp(hash, p->part[part.index].hash, sizeof hash) != 0)
            *why = FRE_REJECTED_REPLAYED;
        return FRE_OK;
    }
    if (!fits(p, part, message)) {
        *why = FRE_REJECTED_SIZE;
        return FRE_OK;
    }
    st = begin(p, part.count);
    row_key(key, p->kind, part.index);
    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_IN, server_view(key, sizeof key), message);
    if (st == FRE_OK)
        st = keep(p, part.index, hash, message);
    *fresh = st == FRE_OK;
    return st;
}

bool server_parts_complete(const server_parts *p)
{
    return p->count > 0 && p->got == p->count;
}

/* Hash and number of parts stand for a part that was used. */
#define USED_BYTES (FRE_HASH_BYTES + 4)

fre_status server_parts_used(server_parts *p, fre_delta *rows)
{
    uint8_t key[5], value[USED_BYTES];
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < p->count; i++) {
        server_part *part = &p->part[i];

        row_key(key, p->kind, i);
        memcpy(value, part->hash, FRE_HASH_BYTES);
        set32(value + FRE_HASH_BYTES, p->count);
        st = server_row_put(rows, SERVER_ROW_IN, server_view(key, sizeof key),
                            server_view(value, sizeof value));
        fre_buf_wipe(&part->bytes);
    }
    return st;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool server_parts_are_used(const server_parts *p)
{
    return p->count > 0 && p->part[0].here && p->part[0].bytes.n == 0;
}

/* A message of that type, by its head and the number of its part, which is first in its body: what else is in
 * it was looked at before it became a row. */
static bool read_part(fre_part *out, fre_bytes message, fre_wire_type type)
{
    const uint8_t *body = message.p + FRE_WIRE_HEAD_BYTES;
    fre_collection_id id;
    fre_wire_type found;

    if (fre_wire_peek(&found, &id, message) != FRE_OK || found != type ||
        message.n < FRE_WIRE_HEAD_BYTES + 8)
        return false;
    *out = (fre_part){get32(body), get32(body + 4)};
    return true;
}

fre_status server_parts_load(server_parts *p, const fre_row *row, fre_wire_type type)
{
    uint8_t hash[FRE_HASH_BYTES];
    const bool used = row->value.n == USED_BYTES;
    fre_part part;
    fre_status st;

    if (row->key.n != 5 || row->key.p[0] != p->kind)
        return FRE_E_DATA;
    if (used)
        part = (fre_part){get32(row->key.p + 1), get32(row->value.p + FRE_HASH_BYTES)};
    else if (!read_part(&part, row->value, type))
        return FRE_E_DATA;
    if (part.index != get32(row->key.p + 1) || part.count > FRE_WIRE_PARTS_MAX ||
        part.index >= part.count || (p->count > 0 && part.count != p->count))
        return FRE_E_DATA;
    st = begin(p, part.count);
    if (st != FRE_OK)
        return st;
    if (p->part[part.index].here || (!used && !fits(p, part, row->value)))
        return FRE_E_DATA;
    if (used) {
        memcpy(hash, row->value.p, sizeof hash);
        return keep(p, part.index, hash, server_view(NULL, 0));
    }
    server_sha256(hash, row->value);
    return keep(p, part.index, hash, row->value);
}

void server_parts_wipe(server_parts *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        fre_buf_wipe(&p->part[i].bytes);
    free(p->part);
    *p = (server_parts){.kind = p->kind, .most = p->most, .parts_most = p->parts_most};
}

/* ---- a release ---------------------------------------------------------------------------------- */

#define RELEASE_PART_BYTES (8u << 20)

uint32_t server_release_parts(const fre_wire *w, uint64_t cells)
{
    const uint64_t fit = RELEASE_PART_BYTES / (8 + 4 * (uint64_t)w->c.dim);
    const uint64_t parts = cells > fit ? (cells + fit - 1) / fit : 1;

    return parts < FRE_WIRE_PARTS_MAX ? (uint32_t)parts : FRE_WIRE_PARTS_MAX;
}

/* A cell has tau members, and nobody is in two. */
server_parts server_parts_of_release(const fre_server *x)
{
    const uint64_t cells = server_records(x) / x->a->w.c.tau;

    return (server_parts){.kind = SERVER_RELEASE,
                          .most = cells,
                          .parts_most = server_release_parts(&x->a->w, cells)};
}

/* ---- out ---------------------------------------------------------------------------------------- */

static fre_status add(server_out *o, fre_buf *message)
{
    size_t cap = o->cap;
    fre_status st = fre_grow((void **)&o->letter, &cap, o->count + 1, sizeof *o->letter);

    if (st != FRE_OK)
        return st;
    o->cap = (uint32_t)cap;
    o->letter[o->count] = (server_letter){.message = *message};
    fre_buf_init(message, message->max);
    o->count++;
    return FRE_OK;
}

fre_status server_out_add(server_out *o, fre_delta *rows, fre_buf *message)
{
    uint8_t key[5];
    fre_status st;

    row_key(key, o->kind, o->count);
    st = server_row_put(rows, SERVER_ROW_OUT, server_view(key, sizeof key),
                        server_buf_view(message));
    return st == FRE_OK ? add(o, message) : st;
}

fre_status server_out_reserve(server_out *o, uint32_t count)
{
    fre_status st = FRE_OK;
    fre_buf none;

    while (st == FRE_OK && o->count < count) {
        fre_buf_init(&none, FRE_WIRE_MESSAGE_MAX);
        st = add(o, &none);
    }
    return st;
}

/* First all of them until each is received, then, where there is an answer to fetch, all once more. */
uint32_t server_out_due(const server_out *o, uint32_t from)
{
    const bool again = o->received == o->count;

    while (from < o->count && (again ? o->letter[from].done : o->letter[from].received))
        from++;
    return from;
}

fre_status server_out_pass(server_out *o, server_parts *p)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < p->count; i++)
        st = server_out_add(o, NULL, &p->part[i].bytes);
    return st;
}

fre_status server_out_post(const server_out *o, fre_letters *letters)
{
    uint32_t i = server_out_due(o, 0);
    fre_status st = FRE_OK;

    for (uint32_t n = 0; st == FRE_OK && i < o->count && n < SERVER_WINDOW; n++) {
        st = server_post(letters, o->to, SERVER_COOKIE(o->kind, i),
                         server_buf_view(&o->letter[i].message));
        i = server_out_due(o, i + 1);
    }
    return st;
}

bool server_out_done(const server_out *o)
{
    return o->count > 0 && o->done == o->count;
}

static void receive(server_out *o, server_letter *l)
{
    o->received += !l->received;
    l->received = true;
}

static void finish(server_out *o, server_letter *l)
{
    receive(o, l);
    o->done += !l->done;
    l->done = true;
    if (o->light)
        fre_buf_wipe(&l->message);
}

bool server_out_answered(server_out *o, uint64_t cookie, fre_bytes reply, uint32_t *index,
                         server_verdict *v)
{
    const uint32_t i = SERVER_COOKIE_INDEX(cookie);

    if (SERVER_COOKIE_KIND(cookie) != o->kind || i >= o->count)
        return false;
    *index = i;
    *v = server_judge(reply);
    if (*v == SERVER_RECEIVED && o->fetch)
        receive(o, &o->letter[i]);
    else if (*v == SERVER_RECEIVED)
        finish(o, &o->letter[i]);
    return true;
}

void server_out_finish(server_out *o, uint32_t index)
{
    finish(o, &o->letter[index]);
}

/* Rows come in any order, parts have places. */
fre_status server_out_load(server_out *o, const fre_row *row)
{
    const uint32_t i = row->key.n == 5 ? get32(row->key.p + 1) : UINT32_MAX;
    size_t cap = o->cap;
    fre_status st;

    if (i >= FRE_WIRE_PARTS_MAX)
        return FRE_E_DATA;
    st = fre_grow((void **)&o->letter, &cap, (size_t)i + 1, sizeof *o->letter);
    if (st != FRE_OK)
        return st;
    o->cap = (uint32_t)cap;
    for (; o->count <= i; o->count++)
        fre_buf_init(&o->letter[o->count].message, FRE_WIRE_MESSAGE_MAX);
    return fre_buf_append(&o->letter[i].message, row->value.p, row->value.n);
}

fre_status server_out_erase(server_out *o, fre_delta *rows)
{
    uint8_t key[5];
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < o->count; i++) {
        row_key(key, o->kind, i);
        st = server_row_erase(rows, SERVER_ROW_OUT, server_view(key, sizeof key));
    }
    server_out_wipe(o);
    return st;
}

void server_out_wipe(server_out *o)
{
    for (uint32_t i = 0; i < o->count; i++)
        fre_buf_wipe(&o->letter[i].message);
    free(o->letter);
    *o = (server_out){.kind = o->kind, .to = o->to, .fetch = o->fetch, .light = o->light};
}

server_verdict server_judge(fre_bytes reply)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_rejection r;

    if (fre_wire_peek(&type, &id, reply) != FRE_OK)
        return SERVER_AGAIN;
    if (type == FRE_WIRE_RECEIPT)
        return fre_receipt_decode(reply, NULL) == FRE_OK ? SERVER_RECEIVED : SERVER_AGAIN;
    if (type != FRE_WIRE_REJECTION)
        return SERVER_MESSAGE;
    if (fre_rejection_decode(&r, reply, NULL) != FRE_OK || r == FRE_REJECTED_UNAVAILABLE ||
        r == FRE_REJECTED_FULL || r == FRE_REJECTED_PHASE)
        return SERVER_AGAIN;
    return SERVER_REFUSED;
}
