/* server/tagging.c - S_tag's messages and phases. */
#include "tagging.h"

static tagging *self(fre_server *x)
{
    return (tagging *)x;
}

/* ---- exchanges ------------------------------------------------------------------------------------ */

static fre_status count_request(tagging *x, fre_delta *rows, const uint8_t key[SERVER_HASH_BYTES])
{
    fre_status st = server_keep_secret(&x->base, rows);

    if (st == FRE_OK)
        st = server_row_put(rows, SERVER_ROW_KNOWN, server_view(key, SERVER_HASH_BYTES),
                            server_view(NULL, 0));
    if (st == FRE_OK)
        st = server_table_put(&x->request, key, 0);
    if (st == FRE_OK)
        x->evaluations += server_wire(&x->base)->c.cells_per_user;
    return st;
}

static fre_status answer(tagging *x, fre_reply *out, const fre_ohttp_exchange *e,
                         const fre_oprf_element *blinded, fre_bytes in)
{
    const fre_wire *w = server_wire(&x->base);
    const server_asked q = {FRE_WIRE_TAG_REQUEST, e, &x->seal, blinded, in};
    uint8_t key[SERVER_HASH_BYTES];
    bool known;
    fre_status st;

    server_hash(key, &x->base, in);
    known = server_table_find(&x->request, key) != NULL;
    if (!known && x->evaluations + w->c.cells_per_user > server_records(&x->base))
        return server_reject(&x->base, out, FRE_REJECTED_FULL);
    st = server_key_answer(&out->message, &x->oprf, w, &q);
    if (st == FRE_E_STATE)
        return server_reject(&x->base, out, FRE_REJECTED_UNAVAILABLE);
    if (st == FRE_OK && !known)
        st = count_request(x, &out->rows, key);
    if (st == FRE_OK && known)
        x->base.tally.repeated++;
    else if (st == FRE_OK)
        x->base.tally.accepted++;
    return st;
}

static fre_status exchange(tagging *x, fre_reply *out, fre_bytes in)
{
    const fre_wire *w = server_wire(&x->base);
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX];
    fre_ohttp_exchange e;
    fre_buf message;
    fre_status st;

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_exchange_open(&e, &message, w, FRE_WIRE_TAG_REQUEST, &x->seal, in, NULL);
    if (st != FRE_OK) {
        st = server_reject_status(&x->base, out, st);
        goto out;
    }
    st = fre_tag_request_decode(blinded, w, server_buf_view(&message), NULL);
    if (st == FRE_OK)
        st = answer(x, out, &e, blinded, in);
    else
        st = server_reject_status(&x->base, out, st);
    fre_ohttp_exchange_wipe(&e);
out:
    fre_buf_wipe(&message);
    return st;
}

/* ---- parts ------------------------------------------------------------------------------------------- */

static fre_status collected(tagging *x, fre_reply *out, fre_bytes in)
{
    fre_batch m;
    bool fresh, taken;
    fre_status st = fre_batch_decode(&m, server_wire(&x->base), FRE_WIRE_COLLECTED, in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->base.phase < FRE_PHASE_CLOSED)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = server_take_part(&x->collected, &x->base, out, m.part, in, &fresh, &taken);
    return st == FRE_OK && taken ? server_receipt(&x->base, out, fresh) : st;
}

static fre_status unseal(tagging *x, fre_reply *out, fre_bytes in)
{
    fre_unseal m;
    bool fresh, taken;
    fre_status st = fre_unseal_decode(&m, server_wire(&x->base), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->mixed.count == 0 || (!server_wire(&x->base)->c.one_contact && !x->base.list))
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = server_take_part(&x->asked, &x->base, out, m.part, in, &fresh, &taken);
    if (st != FRE_OK || !taken)
        return st;
    if (x->mark[FRE_MARK_SUM].state != TAGGING_MARK_SET)
        return server_receipt(&x->base, out, fresh);
    x->base.tally.repeated++;
    return fre_buf_append(&out->message, x->summed.letter[m.part.index].message.p,
                          x->summed.letter[m.part.index].message.n);
}

static fre_status listed(tagging *x, fre_reply *out, fre_bytes in)
{
    bool fresh, taken;
    fre_status st;

    if (x->mixed.count == 0)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = server_take_list(&x->base, out, in, &fresh, &taken);
    return st == FRE_OK && taken ? server_receipt(&x->base, out, fresh) : st;
}

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    tagging *x = self(base);
    fre_status st;
    bool due;

    if (type == FRE_WIRE_LISTED && !server_wire(base)->c.one_contact)
        return listed(x, out, in);
    if (type == FRE_WIRE_COLLECTED)
        return collected(x, out, in);
    if (type == FRE_WIRE_UNSEAL)
        return unseal(x, out, in);
    if (type != 0)
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    if (server_key_here(&x->oprf) && !server_has_seal(&x->seal)) /* it is asked for */
        return server_reject(base, out, FRE_REJECTED_UNAVAILABLE);
    st = server_key_due(&x->oprf, base, out, &due);
    return st == FRE_OK && due ? exchange(x, out, in) : st;
}

/* ---- what is due ----------------------------------------------------------------------------------------- */

static fre_status close_exchanges(tagging *x, fre_delta *rows)
{
    server_key_wipe(&x->oprf);
    return server_move(&x->base, rows, FRE_PHASE_CLOSED);
}

static void expire(fre_server *base)
{
    if (base->now >= server_wire(base)->c.tags_close)
        server_key_wipe(&self(base)->oprf);
}

static fre_status say_closed(tagging *x)
{
    const fre_wire *w = server_wire(&x->base);
    const fre_closed m = {.time = w->c.tags_close, .evaluations = x->evaluations};

    return x->closed.n > 0 ? FRE_OK : fre_closed_encode(&x->closed, w, &m, &x->base.sign);
}

static fre_status post_mark(tagging *x, fre_letters *out, fre_mark_kind kind)
{
    fre_mark m = {.kind = kind};
    fre_buf message;
    fre_status st;

    memcpy(m.hash, x->mark[kind].hash, sizeof m.hash);
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_mark_encode(&message, server_wire(&x->base), FRE_WIRE_MARK, &m, &x->base.sign);
    if (st == FRE_OK)
        st = server_post(out, FRE_ROLE_RELAY,
                         SERVER_COOKIE(kind == FRE_MARK_MIX ? SERVER_MARK_MIX : SERVER_MARK_SUM, 0),
                         server_buf_view(&message));
    fre_buf_wipe(&message);
    return st;
}

static fre_status mix(tagging *x, fre_delta *rows)
{
    bool enough;
    fre_status st = tagging_mix(x, rows, &enough);

    if (st == FRE_OK && !enough)
        st = server_void(&x->base, rows, FRE_CANCEL_TOO_FEW);
    return st;
}

static fre_status sum(tagging *x, fre_delta *rows)
{
    bool ok;
    fre_status st = tagging_sum(x, rows, &ok);

    if (st != FRE_OK)
        return st;
    if (!ok)
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    fre_hpke_keypair_wipe(&x->seal);
    return server_parts_used(&x->asked, rows);
}

/* The stream and the sums are there before their mark, and leave after it: one that was made again, with
 * other padding or noise, has another hash. */
static fre_status tick_mixed(tagging *x, fre_letters *out, fre_delta *rows)
{
    fre_status st = FRE_OK;

    if (x->mark[FRE_MARK_MIX].state == TAGGING_MARK_ASKED)
        return post_mark(x, out, FRE_MARK_MIX);
    if (!server_out_done(&x->mixed))
        st = server_out_post(&x->mixed, out);
    if (st == FRE_OK && x->summed.count == 0 && server_parts_complete(&x->asked) &&
        server_has_seal(&x->seal))
        st = sum(x, rows);
    if (st == FRE_OK && x->mark[FRE_MARK_SUM].state == TAGGING_MARK_ASKED)
        st = post_mark(x, out, FRE_MARK_SUM);
    return st;
}

static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    tagging *x = self(base);
    fre_status st = FRE_OK;

    if (base->phase <= FRE_PHASE_TAKING && base->now >= server_wire(base)->c.tags_close)
        st = close_exchanges(x, rows);
    if (st != FRE_OK || base->phase < FRE_PHASE_CLOSED || base->phase == FRE_PHASE_DONE)
        return st;
    st = say_closed(x);
    if (st == FRE_OK && x->mixed.count > 0)
        return tick_mixed(x, out, rows);
    if (st == FRE_OK && server_parts_complete(&x->collected))
        return mix(x, rows);
    if (st == FRE_OK && !x->closed_arrived)
        st = server_post(out, FRE_ROLE_RELAY, SERVER_COOKIE(SERVER_CLOSED, 0),
                         server_buf_view(&x->closed));
    return st;
}

/* ---- answers ------------------------------------------------------------------------------------------------ */

static fre_status marked(tagging *x, fre_delta *rows, fre_mark_kind kind, fre_bytes reply)
{
    const server_verdict v = server_judge(reply);
    const uint8_t key = (uint8_t)kind;
    fre_mark m;
    fre_status st;

    if (v == SERVER_REFUSED) /* another stream, or another question, left before */
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    if (v != SERVER_MESSAGE || x->mark[kind].state == TAGGING_MARK_SET ||
        fre_mark_decode(&m, server_wire(&x->base), FRE_WIRE_MARKED, reply, NULL) != FRE_OK ||
        m.kind != kind || memcmp(m.hash, x->mark[kind].hash, sizeof m.hash) != 0)
        return FRE_OK;
    st = server_row_put(rows, SERVER_ROW_MARK, server_view(&key, 1),
                        server_view(m.hash, sizeof m.hash));
    if (st != FRE_OK)
        return st;
    x->mark[kind].state = TAGGING_MARK_SET;
    return kind == FRE_MARK_SUM ? server_move(&x->base, rows, FRE_PHASE_DONE) : FRE_OK;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    tagging *x = self(base);
    const uint8_t kind = SERVER_COOKIE_KIND(cookie);
    uint32_t index;
    server_verdict v = server_judge(reply);

    if (kind == SERVER_MARK_MIX || kind == SERVER_MARK_SUM)
        return marked(x, rows, kind == SERVER_MARK_MIX ? FRE_MARK_MIX : FRE_MARK_SUM, reply);
    if (kind == SERVER_CLOSED) {
        x->closed_arrived = x->closed_arrived || v == SERVER_RECEIVED;
        return v == SERVER_REFUSED ? server_void(base, rows, FRE_CANCEL_DISAGREE) : FRE_OK;
    }
    if (!server_out_answered(&x->mixed, cookie, reply, &index, &v))
        return FRE_OK;
    return v == SERVER_REFUSED ? server_void(base, rows, FRE_CANCEL_DISAGREE) : FRE_OK;
}

/* ---- making and unmaking -------------------------------------------------------------------------------------- */

static void forget(fre_server *base)
{
    tagging *x = self(base);

    server_key_wipe(&x->oprf);
    fre_hpke_keypair_wipe(&x->seal);
    server_table_wipe(&x->request);
    server_parts_wipe(&x->collected);
    server_parts_wipe(&x->asked);
    server_out_wipe(&x->mixed);
    server_out_wipe(&x->summed);
}

static void free_tagging(fre_server *base)
{
    tagging *x = self(base);

    server_key_free(&x->oprf);
    forget(base);
    fre_buf_wipe(&x->closed);
    server_base_wipe(base);
    server_machine_free(x);
}

static fre_status load_part(tagging *x, const fre_row *row)
{
    if (row->key.n > 0 && row->key.p[0] == SERVER_COLLECTED)
        return server_parts_load(&x->collected, row, FRE_WIRE_COLLECTED);
    return server_parts_load(&x->asked, row, FRE_WIRE_UNSEAL);
}

static fre_status load_mark(tagging *x, const fre_row *row)
{
    if (row->key.n != 1 || row->key.p[0] < 1 || row->key.p[0] > FRE_MARK_SUM ||
        row->value.n != FRE_HASH_BYTES)
        return FRE_E_DATA;
    x->mark[row->key.p[0]].state = TAGGING_MARK_SET;
    memcpy(x->mark[row->key.p[0]].hash, row->value.p, FRE_HASH_BYTES);
    return FRE_OK;
}

/* Once all rows are there. */
static fre_status settle(tagging *x)
{
    if (x->base.phase >= FRE_PHASE_CLOSED)
        server_key_wipe(&x->oprf); /* a host that kept it too long */
    if (x->mixed.count > 0)
        tagging_marks(x, FRE_MARK_MIX, &x->mixed);
    if (x->summed.count > 0) {
        tagging_marks(x, FRE_MARK_SUM, &x->summed);
        fre_hpke_keypair_wipe(&x->seal);
    }
    return FRE_OK;
}

static fre_status restore(fre_server *base, const fre_row *row)
{
    tagging *x = self(base);
    fre_status st;

    if (!row)
        return settle(x);
    switch (row->table) {
    case SERVER_ROW_KNOWN:
        if (row->key.n != SERVER_HASH_BYTES)
            return FRE_E_DATA;
        st = server_table_put(&x->request, row->key.p, 0);
        if (st == FRE_OK)
            x->evaluations += server_wire(base)->c.cells_per_user;
        return st;
    case SERVER_ROW_IN:
        return load_part(x, row);
    case SERVER_ROW_OUT:
        if (row->key.n != 5)
            return FRE_E_DATA;
        return server_out_load(row->key.p[0] == SERVER_MIXED ? &x->mixed : &x->summed, row);
    case SERVER_ROW_MARK:
        return load_mark(x, row);
    default:
        return FRE_E_DATA;
    }
}

/* ---- its keys at rest ------------------------------------------------------------------------------------ */

static bool key_over(const fre_server *base, fre_mask_key key)
{
    const tagging *x = (const tagging *)base;

    return key == FRE_MASK_TAG_OPRF ? base->phase >= FRE_PHASE_CLOSED : x->summed.count > 0;
}

static bool key_here(const fre_server *base, fre_mask_key key)
{
    const tagging *x = (const tagging *)base;

    return key == FRE_MASK_TAG_OPRF ? server_key_here(&x->oprf) : server_has_seal(&x->seal);
}

static fre_status key_mask(const fre_server *base, fre_mask_key key, uint8_t io[FRE_MASK_BYTES])
{
    const tagging *x = (const tagging *)base;

    return key == FRE_MASK_TAG_OPRF ? x->oprf.at->mask(x->oprf.at->ctx, io)
                                    : server_seal_mask(&x->seal, io);
}

static fre_status key_back(fre_server *base, fre_mask_key key, const uint8_t masked[FRE_MASK_BYTES],
                           const uint8_t mask[FRE_MASK_BYTES])
{
    tagging *x = self(base);

    return key == FRE_MASK_TAG_OPRF
               ? x->oprf.at->unmask(x->oprf.at->ctx, masked, mask)
               : server_seal_back(&x->seal, masked, mask, &server_wire(base)->c.tag_seal);
}

static const server_ops ops = {.masks = &server_masks,
                               .free = free_tagging,
                               .forget = forget,
                               .expire = expire,
                               .handle = handle,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .key_over = key_over,
                               .key_here = key_here,
                               .key_mask = key_mask,
                               .key_back = key_back};

fre_status fre_server_new_tagging(fre_server **out, const fre_agreement *a,
                                  const fre_server_keys *keys, fre_oprf_key *oprf, fre_err *err)
{
    const fre_collection *c;
    tagging *x;
    fre_status st;

    if (!out || !a || !keys)
        return FRE_E_ARG;
    c = &a->w.c;
    if (server_check_seal(&keys->seal, &c->tag_seal) != FRE_OK ||
        memcmp(keys->sign.b + 32, c->tag_sign.b, sizeof c->tag_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "S_tag's keys are not those that the collection names");
    x = server_machine_new(sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    st = server_base_init(&x->base, &ops, a, FRE_ROLE_TAG, &keys->sign, 0, err);
    fre_buf_init(&x->closed, FRE_WIRE_MESSAGE_MAX);
    x->collected = (server_parts){.kind = SERVER_COLLECTED, .most = server_records(&x->base)};
    x->asked = (server_parts){.kind = SERVER_UNSEAL, .most = server_records(&x->base)};
    x->mixed = (server_out){.kind = SERVER_MIXED, .to = FRE_ROLE_SYN, .light = true};
    x->summed = (server_out){.kind = SERVER_SUMMED, .to = FRE_ROLE_SYN};
    x->seal = keys->seal;
    if (st == FRE_OK)
        st = server_key_take(&x->oprf, &a->w, FRE_ROLE_TAG, keys->keeper, oprf, err);
    if (st != FRE_OK) {
        free_tagging(&x->base);
        return st;
    }
    *out = &x->base;
    return FRE_OK;
}
