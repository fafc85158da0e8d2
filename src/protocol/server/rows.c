/* server/rows.c - the rows that a call gives, and letters.
 * Row in a buffer:  table (1)  erase (1)  bytes of key (4)  of value (4)  key  value */
#include "server_private.h"

#define HEAD 10u

void fre_delta_init(fre_delta *r)
{
    *r = (fre_delta){.n = 0};
    fre_buf_init(&r->raw, SIZE_MAX / 2);
}

void fre_delta_wipe(fre_delta *r)
{
    if (!r)
        return;
    fre_buf_wipe(&r->raw);
    r->n = 0;
}

static void set32(uint8_t *p, size_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static size_t get32(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

fre_status fre_delta_add(fre_delta *r, const fre_row *row)
{
    const size_t start = r->raw.n;
    uint8_t head[HEAD] = {row->table, row->erase};
    fre_status st;

    set32(head + 2, row->key.n);
    set32(head + 6, row->value.n);
    st = fre_buf_append(&r->raw, head, sizeof head);
    if (st == FRE_OK && row->key.n > 0)
        st = fre_buf_append(&r->raw, row->key.p, row->key.n);
    if (st == FRE_OK && row->value.n > 0)
        st = fre_buf_append(&r->raw, row->value.p, row->value.n);
    if (st == FRE_OK)
        r->n++;
    else
        r->raw.n = start;
    return st;
}

fre_status fre_delta_read(fre_delta *r, fre_bytes raw)
{
    size_t rows = 0, left = raw.n;
    fre_status st;

    for (const uint8_t *p = raw.p; left > 0; rows++) {
        const uint64_t n = left < HEAD ? UINT64_MAX : HEAD + (uint64_t)get32(p + 2) + get32(p + 6);

        if (n > left || p[1] > 1)
            return FRE_E_DATA;
        p += n;
        left -= n;
    }
    st = fre_buf_append(&r->raw, raw.p, raw.n);
    if (st == FRE_OK)
        r->n += rows;
    return st;
}

fre_status server_row_put(fre_delta *r, uint8_t table, fre_bytes key, fre_bytes value)
{
    return r ? fre_delta_add(r, &(fre_row){.table = table, .key = key, .value = value}) : FRE_OK;
}

fre_status server_row_erase(fre_delta *r, uint8_t table, fre_bytes key)
{
    return r ? fre_delta_add(r, &(fre_row){.table = table, .erase = true, .key = key}) : FRE_OK;
}

bool fre_delta_next(const fre_delta *r, size_t *at, fre_row *out)
{
    const uint8_t *p;
    size_t key, value;

    if (*at >= r->raw.n)
        return false;
    p = r->raw.p + *at;
    key = get32(p + 2);
    value = get32(p + 6);
    *out = (fre_row){.table = p[0],
                     .erase = p[1] != 0,
                     .key = server_view(p + HEAD, key),
                     .value = server_view(p + HEAD + key, value)};
    *at += HEAD + key + value;
    return true;
}

/* ---- replies, letters --------------------------------------------------------------------------- */

void fre_reply_init(fre_reply *r)
{
    *r = (fre_reply){.forward = (fre_role)0};
    fre_buf_init(&r->message, FRE_WIRE_MESSAGE_MAX);
    fre_delta_init(&r->rows);
}

void fre_reply_clear(fre_reply *r)
{
    fre_buf_wipe(&r->message);
    fre_delta_wipe(&r->rows);
    r->forward = (fre_role)0;
    r->why = FRE_ACCEPTED;
}

void fre_reply_wipe(fre_reply *r)
{
    if (r)
        fre_reply_clear(r);
}

void fre_letters_init(fre_letters *l)
{
    *l = (fre_letters){.n = 0};
}

void fre_letters_wipe(fre_letters *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        fre_buf_wipe(&l->letter[i].message);
    free(l->letter);
    fre_letters_init(l);
}

fre_status server_post(fre_letters *l, fre_role to, uint64_t cookie, fre_bytes message)
{
    fre_letter *letter;
    fre_status st = fre_grow((void **)&l->letter, &l->cap, l->n + 1, sizeof *l->letter);

    if (st != FRE_OK)
        return st;
    letter = &l->letter[l->n];
    *letter = (fre_letter){.to = to, .cookie = cookie};
    fre_buf_init(&letter->message, FRE_WIRE_MESSAGE_MAX);
    st = fre_buf_append(&letter->message, message.p, message.n);
    if (st == FRE_OK)
        l->n++;
    return st;
}
