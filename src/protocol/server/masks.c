/* server/masks.c - our own keys at rest: each under a mask that another role has in its memory.
 *
 * Row MASKED, key fre_mask_key (1):  id of the mask (32)  nonce of the question (32)  last question (32)
 * masked key.  It is written once the holder has the mask, and erased when the key is over. */
#include "masks.h"

#define HEAD (3u * FRE_HASH_BYTES)

static mask_own *own(const fre_server *x, fre_mask_key key)
{
    return &x->masks->own[key];
}

static bool is_here(const fre_server *x, fre_mask_key key)
{
    return x->ops->key_here(x, key);
}

bool server_has_seal(const fre_hpke_keypair *k)
{
    return !mask_is_zero(k->pk.b);
}

fre_status server_check_seal(const fre_hpke_keypair *k, const fre_hpke_pk *pk)
{
    return !server_has_seal(k) || memcmp(k->pk.b, pk->b, sizeof pk->b) == 0 ? FRE_OK : FRE_E_KEY;
}

fre_status server_seal_mask(const fre_hpke_keypair *k, uint8_t io[32])
{
    if (!server_has_seal(k))
        return FRE_E_STATE;
    server_xor(io, io, k->sk.b);
    return FRE_OK;
}

fre_status server_seal_back(fre_hpke_keypair *k, const uint8_t masked[32], const uint8_t mask[32],
                            const fre_hpke_pk *pk)
{
    fre_hpke_keypair back = {.pk = {{0}}};
    fre_hpke_sk secret;
    fre_status st;

    server_xor(secret.b, masked, mask);
    st = fre_hpke_keypair_from(&back, &secret);
    if (st == FRE_OK && memcmp(back.pk.b, pk->b, sizeof pk->b) != 0)
        st = FRE_E_KEY;
    if (st == FRE_OK)
        *k = back;
    fre_hpke_keypair_wipe(&back);
    fre_hpke_sk_wipe(&secret);
    return st;
}

static size_t bytes_of(fre_mask_key key)
{
    return key == FRE_MASK_ISSUER ? 64 : 32;
}

/* ---- the row --------------------------------------------------------------------------------------- */

static fre_status keep_row(const fre_server *x, fre_delta *rows, fre_mask_key key)
{
    const mask_own *o = own(x, key);
    const uint8_t name = (uint8_t)key;

    return server_row_put(rows, SERVER_ROW_MASKED, server_view(&name, 1),
                          server_view(&o->row, HEAD + o->n));
}

static fre_status load_row(fre_server *x, const fre_row *row)
{
    const fre_mask_key key = (fre_mask_key)(row->key.n == 1 ? row->key.p[0] : 0);
    const size_t n = bytes_of(key);
    mask_own *o;

    if (fre_mask_owner(key) != x->role || row->value.n != HEAD + n)
        return FRE_E_DATA;
    o = own(x, key);
    memcpy(&o->row, row->value.p, row->value.n);
    o->n = n;
    o->has_row = true;
    return FRE_OK;
}

/* A machine that comes back holds nothing for others. */
static fre_status restore(fre_server *x, const fre_row *row)
{
    if (row)
        return x->masks ? load_row(x, row) : FRE_E_DATA;
    for (unsigned key = 1; x->masks && key < FRE_MASK_KEYS; key++)
        x->masks->held[key].tell = fre_mask_holder((fre_mask_key)key) == x->role;
    if (x->masks)
        x->masks->restored = true;
    return FRE_OK;
}

/* ---- masking --------------------------------------------------------------------------------------- */

/* A new mask, for this once. */
static fre_status draw(fre_server *x, fre_mask_key key)
{
    mask_own *o = own(x, key);
    fre_rng r;
    fre_status st =
        fre_rng_init(&r); /* whatever a rehearsal draws from: these bytes change nothing */

    if (st != FRE_OK)
        return st;
    fre_rng_bytes(&r, o->mask, sizeof o->mask);
    fre_rng_wipe(&r);
    o->state = MASK_PUT;
    return FRE_OK;
}

/* The holder has it: the key goes to its row under it. */
static fre_status masked(fre_server *x, fre_delta *rows, fre_mask_key key)
{
    mask_own *o = own(x, key);
    uint8_t io[FRE_MASK_BYTES];
    fre_status st;

    memcpy(io, o->mask, sizeof io);
    st = x->ops->key_mask(x, key, io);
    if (st != FRE_OK) {
        fre_wipe(io, sizeof io);
        return st == FRE_E_STATE ? FRE_OK : st; /* it ended just now */
    }
    server_sha256(o->row.id, server_view(o->mask, sizeof o->mask));
    fre_wipe(o->mask, sizeof o->mask);
    memset(o->row.nonce, 0, sizeof o->row.nonce);
    o->n = bytes_of(key);
    memcpy(o->row.key, io, o->n);
    o->state = MASK_KEPT;
    o->has_row = true;
    return keep_row(x, rows, key);
}

static fre_status post_own(fre_server *x, fre_letters *out, fre_mask_key key, fre_wire_type type,
                           const uint8_t *b, size_t n)
{
    fre_mask m = {.key = key, .by = x->role};
    fre_status st;

    memcpy(m.b, b, n);
    st = masks_post(x, out, fre_mask_holder(key), type, &m);
    fre_wipe(&m, sizeof m);
    return st;
}

static fre_status keep_masked(fre_server *x, fre_letters *out, fre_delta *rows, fre_mask_key key)
{
    mask_own *o = own(x, key);
    fre_status st = FRE_OK;

    if (!rows)
        return FRE_OK;
    if (o->state == MASK_NONE)
        st = draw(x, key);
    if (st == FRE_OK && o->state == MASK_PUT)
        st = post_own(x, out, key, FRE_WIRE_MASK_PUT, o->mask, sizeof o->mask);
    if (st == FRE_OK && o->state == MASK_KEPT)
        st = post_own(x, out, key, FRE_WIRE_MASK_WIPE, o->row.id, sizeof o->row.id);
    return st;
}

/* ---- a key that is to come back --------------------------------------------------------------------- */

/* Its question is in the row before it leaves. */
static fre_status ask(fre_server *x, fre_letters *out, fre_delta *rows, fre_mask_key key)
{
    mask_own *o = own(x, key);
    fre_rng r;
    fre_status st = FRE_OK;

    if (!o->has_row)
        return server_void(x, rows, FRE_CANCEL_KEY_LOST);
    if (mask_is_zero(o->row.nonce)) {
        st = fre_rng_init(&r);
        if (st != FRE_OK)
            return st;
        fre_rng_bytes(&r, o->row.nonce, sizeof o->row.nonce);
        fre_rng_wipe(&r);
        st = keep_row(x, rows, key);
    }
    if (st == FRE_OK) /* id and nonce lie side by side */
        st = post_own(x, out, key, FRE_WIRE_MASK_GET, o->row.id, 2 * FRE_HASH_BYTES);
    return st;
}

static fre_status hash_question(uint8_t out[FRE_HASH_BYTES], const fre_server *x, fre_mask_key key)
{
    fre_mask m = {.key = key, .by = x->role};
    fre_buf message;
    fre_status st;

    memcpy(m.b, own(x, key)->row.id, 2 * FRE_HASH_BYTES);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_mask_encode(&message, &x->a->w, FRE_WIRE_MASK_GET, &m, &x->sign);
    if (st == FRE_OK)
        server_sha256(out, server_buf_view(&message));
    fre_buf_wipe(&message);
    return st;
}

/* The holder's answer: unmasked, and to be masked anew. */
static fre_status unmask(fre_server *x, fre_delta *rows, fre_mask_key key, fre_bytes reply)
{
    mask_own *o = own(x, key);
    uint8_t id[FRE_HASH_BYTES];
    fre_mask m;
    fre_status st = fre_mask_decode(&m, &x->a->w, FRE_WIRE_MASK_PUT, reply, NULL);

    if (st != FRE_OK)
        return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
    server_sha256(id, server_view(m.b, sizeof m.b));
    if (m.key != key || m.by == x->role || memcmp(id, o->row.id, sizeof id) != 0)
        st = FRE_E_KEY;
    if (st == FRE_OK)
        st = x->ops->key_back(x, key, o->row.key, m.b);
    fre_wipe(&m, sizeof m);
    if (st == FRE_E_KEY || st == FRE_E_DATA)
        return server_void(x, rows, FRE_CANCEL_KEY_LOST);
    if (st == FRE_E_STATE) /* it ended while it was asked for */
        return FRE_OK;
    o->state = MASK_NONE;
    return st == FRE_OK ? hash_question(o->row.asked, x, key) : st;
}

/* ---- what is due ------------------------------------------------------------------------------------- */

static fre_status end(fre_server *x, fre_letters *out, fre_delta *rows, fre_mask_key key)
{
    static const uint8_t zero[FRE_HASH_BYTES];
    mask_own *o = own(x, key);
    const uint8_t name = (uint8_t)key;
    fre_status st = FRE_OK;

    if (!o->over && o->has_row)
        st = server_row_erase(rows, SERVER_ROW_MASKED, server_view(&name, 1));
    if (st != FRE_OK)
        return st;
    if (!o->over) {
        const bool told = !o->has_row && o->state == MASK_NONE && !x->masks->restored;

        fre_wipe(o, sizeof *o);
        o->over = true;
        o->told = told;
    }
    if (o->told || !rows || x->now >= fre_mask_end(&x->a->w.c, key))
        return FRE_OK;
    return post_own(x, out, key, FRE_WIRE_MASK_WIPE, zero, sizeof zero);
}

static fre_status tick_own(fre_server *x, fre_letters *out, fre_delta *rows, fre_mask_key key)
{
    if (x->ops->key_over(x, key))
        return end(x, out, rows, key);
    return is_here(x, key) ? keep_masked(x, out, rows, key) : ask(x, out, rows, key);
}

static fre_status tick(fre_server *x, fre_letters *out, fre_delta *rows)
{
    fre_status st = FRE_OK;

    for (unsigned key = 1; st == FRE_OK && x->masks && key < FRE_MASK_KEYS; key++) {
        if (x->phase == FRE_PHASE_VOID)
            return FRE_OK;
        if (fre_mask_owner((fre_mask_key)key) == x->role)
            st = tick_own(x, out, rows, (fre_mask_key)key);
        else if (fre_mask_holder((fre_mask_key)key) == x->role)
            st = masks_tell(x, out, (fre_mask_key)key);
    }
    return st;
}

bool fre_server_keys_masked(const fre_server *x)
{
    for (unsigned key = 1; x->masks && key < FRE_MASK_KEYS; key++) {
        const mask_own *o = &x->masks->own[key];

        if (fre_mask_owner((fre_mask_key)key) == x->role && x->phase < FRE_PHASE_DONE &&
            !x->ops->key_over(x, (fre_mask_key)key) &&
            (!o->has_row || (o->state != MASK_KEPT && o->state != MASK_TIDY)))
            return false;
    }
    return true;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

/* The holder has none to give.  Somebody else may have got it. */
static fre_status hear(fre_server *x, fre_reply *out, const fre_mask *m)
{
    mask_own *o = own(x, m->key);
    uint8_t mine[FRE_HASH_BYTES];
    fre_status st;

    if (o->over || x->ops->key_over(x, m->key))
        return server_reject(x, out, FRE_REJECTED_EXPIRED);
    st = hash_question(mine, x, m->key);
    if (st != FRE_OK)
        return st;
    if (!mask_is_zero(m->b) && memcmp(m->b, mine, sizeof mine) != 0 &&
        memcmp(m->b, o->row.asked, sizeof mine) != 0) {
        st = server_void(x, &out->rows, FRE_CANCEL_DISAGREE);
        return st == FRE_OK ? fre_receipt_encode(&out->message) : st;
    }
    if (is_here(x, m->key) && mask_is_zero(m->b) && o->state != MASK_PUT)
        o->state = MASK_NONE;
    return fre_receipt_encode(&out->message);
}

static fre_status handle(fre_server *x, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    fre_mask m;
    fre_status st = fre_mask_decode(&m, &x->a->w, type, in, NULL);

    if (st != FRE_OK)
        return server_reject_status(x, out, st);
    if (x->masks && fre_mask_holder(m.key) == x->role && m.by == fre_mask_owner(m.key))
        st = masks_take(x, out, type, &m, in);
    else if (x->masks && fre_mask_owner(m.key) == x->role && m.by == fre_mask_holder(m.key) &&
             type == FRE_WIRE_MASK_GET)
        st = hear(x, out, &m);
    else
        st = server_reject(x, out, FRE_REJECTED_MALFORMED);
    fre_wipe(&m, sizeof m);
    return st;
}

static fre_status answered_own(fre_server *x, fre_delta *rows, fre_wire_type type, fre_mask_key key,
                               fre_bytes reply)
{
    const server_verdict v = server_judge(reply);
    mask_own *o = own(x, key);

    if (type == FRE_WIRE_MASK_PUT && o->state == MASK_PUT && v == SERVER_RECEIVED)
        return masked(x, rows, key);
    if (type == FRE_WIRE_MASK_PUT && o->state == MASK_PUT && v == SERVER_REFUSED)
        o->state = MASK_REFUSED;
    if (type == FRE_WIRE_MASK_WIPE && v != SERVER_AGAIN && o->over)
        o->told = true;
    if (type == FRE_WIRE_MASK_WIPE && v != SERVER_AGAIN && o->state == MASK_KEPT)
        o->state = MASK_TIDY;
    if (type != FRE_WIRE_MASK_GET || o->over || is_here(x, key))
        return FRE_OK;
    if (v == SERVER_REFUSED) /* it is gone there as well, or somebody else has it */
        return server_void(x, rows, FRE_CANCEL_KEY_LOST);
    return v == SERVER_MESSAGE ? unmask(x, rows, key, reply) : FRE_OK;
}

static fre_status answered(fre_server *x, fre_delta *rows, uint32_t index, fre_bytes reply)
{
    const fre_wire_type type = (fre_wire_type)(index >> 8);
    const fre_mask_key key = (fre_mask_key)(index & 0xff);

    if (!x->masks)
        return FRE_OK;
    if (fre_mask_owner(key) == x->role)
        return answered_own(x, rows, type, key, reply);
    if (fre_mask_holder(key) == x->role)
        masks_told(x, key, reply);
    return FRE_OK;
}

const server_masks_ops server_masks = {
    .handle = handle, .tick = tick, .answered = answered, .restore = restore};
