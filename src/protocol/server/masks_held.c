/* server/masks_held.c - masks that are held for others, in locked memory alone: no row has one.
 *
 * Each is given once: to one question, which is random, and to the same bytes again.  Whoever asks with
 * another is refused, and the owner hears of the first. */
#include "masks.h"

static mask_holding *holding(const fre_server *x, fre_mask_key key)
{
    return &x->masks->held[key];
}

static mask_held *find(mask_holding *h, const uint8_t id[FRE_HASH_BYTES])
{
    for (uint32_t i = 0; i < h->n; i++)
        if (memcmp(h->at[i].id, id, FRE_HASH_BYTES) == 0)
            return &h->at[i];
    return NULL;
}

static fre_status receipt(fre_reply *out)
{
    return fre_receipt_encode(&out->message);
}

static fre_status put(fre_server *x, fre_reply *out, const fre_mask *m)
{
    mask_holding *h = holding(x, m->key);
    uint8_t id[FRE_HASH_BYTES];

    server_sha256(id, server_view(m->b, sizeof m->b));
    if (find(h, id))
        return receipt(out);
    if (h->n == MASK_HELD_MAX)
        return server_reject(x, out, FRE_REJECTED_FULL);
    h->at[h->n] = (mask_held){.given = {0}};
    memcpy(h->at[h->n].id, id, sizeof id);
    memcpy(h->at[h->n++].mask, m->b, sizeof m->b);
    h->tell = false;
    return receipt(out);
}

static fre_status get(fre_server *x, fre_reply *out, const fre_mask *m, fre_bytes in)
{
    mask_holding *h = holding(x, m->key);
    mask_held *held = find(h, m->b);
    fre_mask answer = {.key = m->key, .by = x->role};
    uint8_t question[FRE_HASH_BYTES];
    fre_status st;

    server_sha256(question, in);
    if (!held)
        return server_reject(x, out, FRE_REJECTED_KEY);
    if (mask_is_zero(held->given)) {
        memcpy(held->given, question, sizeof question);
        memcpy(h->given, question, sizeof question);
        h->tell = true;
    }
    if (memcmp(held->given, question, sizeof question) != 0)
        return server_reject(x, out, FRE_REJECTED_REPLAYED);
    memcpy(answer.b, held->mask, sizeof answer.b);
    st = fre_mask_encode(&out->message, &x->a->w, FRE_WIRE_MASK_PUT, &answer, &x->sign);
    fre_wipe(&answer, sizeof answer);
    return st;
}

/* What came before that one; zeros: all. */
static fre_status wipe(fre_server *x, fre_reply *out, const fre_mask *m)
{
    mask_holding *h = holding(x, m->key);
    const mask_held *keep = find(h, m->b);
    const uint32_t from = keep ? (uint32_t)(keep - h->at) : 0;

    if (mask_is_zero(m->b)) {
        *h = (mask_holding){.over = true};
    } else if (from > 0) {
        memmove(h->at, h->at + from, (h->n - from) * sizeof *h->at);
        h->n -= from;
        fre_wipe(h->at + h->n, from * sizeof *h->at);
    }
    return receipt(out);
}

fre_status masks_take(fre_server *x, fre_reply *out, fre_wire_type type, const fre_mask *m,
                      fre_bytes in)
{
    const bool ended = x->now >= fre_mask_end(&x->a->w.c, m->key);

    if (type == FRE_WIRE_MASK_WIPE && !ended)
        return wipe(x, out, m);
    if (ended || holding(x, m->key)->over)
        return server_reject(x, out, FRE_REJECTED_EXPIRED);
    return type == FRE_WIRE_MASK_PUT ? put(x, out, m) : get(x, out, m, in);
}

fre_status masks_tell(fre_server *x, fre_letters *out, fre_mask_key key)
{
    const mask_holding *h = holding(x, key);
    fre_mask m = {.key = key, .by = x->role};

    if (!h->tell || h->over)
        return FRE_OK;
    memcpy(m.b, h->given, sizeof h->given);
    return masks_post(x, out, fre_mask_owner(key), FRE_WIRE_MASK_GET, &m);
}

void masks_told(fre_server *x, fre_mask_key key, fre_bytes reply)
{
    if (server_judge(reply) != SERVER_AGAIN)
        holding(x, key)->tell = false;
}
