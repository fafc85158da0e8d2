/* server/relay.c - the relay's phases, and what servers send it. */
#include "relay.h"

static relay *self(fre_server *x)
{
    return (relay *)x;
}

/* ---- S_tag's statement: only then anything leaves ------------------------------------------------- */

static fre_status closed(relay *x, fre_reply *out, fre_bytes in)
{
    const fre_wire *w = server_wire(&x->base);
    fre_closed m;
    fre_status st = fre_closed_decode(&m, w, in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->closed.n > 0) {
        if (x->closed.n != in.n || memcmp(x->closed.p, in.p, in.n) != 0)
            return server_reject(&x->base, out, FRE_REJECTED_REPLAYED);
        return server_receipt(&x->base, out, false);
    }
    if (x->base.now < w->c.tags_close)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    if (m.evaluations > x->exchanges * w->c.cells_per_user) {
        /* Somebody evaluates besides. */
        st = server_void(&x->base, &out->rows, FRE_CANCEL_DISAGREE);
        return st == FRE_OK ? server_receipt(&x->base, out, true) : st;
    }
    st = server_row_put(&out->rows, SERVER_ROW_CLOSED, server_view(NULL, 0), in);
    if (st == FRE_OK)
        st = fre_buf_append(&x->closed, in.p, in.n);
    if (st == FRE_OK)
        st = server_move(&x->base, &out->rows, FRE_PHASE_CLOSED);
    return st == FRE_OK ? server_receipt(&x->base, out, true) : st;
}

/* ---- two contacts: the list ------------------------------------------------------------------------------- */

/* Whoever has the list had all entries: the last receipts were lost. */
static fre_status listed(relay *x, fre_reply *out, fre_bytes in)
{
    bool fresh, taken;
    fre_status st;

    if (x->base.phase < FRE_PHASE_CLOSED)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    st = server_take_list(&x->base, out, in, &fresh, &taken);
    if (st != FRE_OK || !taken)
        return st;
    if (x->base.phase == FRE_PHASE_CLOSED) {
        st = relay_flushed(x, &out->rows);
        if (st == FRE_OK)
            st = server_move(&x->base, &out->rows, FRE_PHASE_ANSWERING);
    }
    return st == FRE_OK ? server_receipt(&x->base, out, fresh) : st;
}

/* ---- marks -------------------------------------------------------------------------------------------- */

static fre_status mark(relay *x, fre_reply *out, fre_bytes in)
{
    const fre_wire *w = server_wire(&x->base);
    fre_mark m;
    uint8_t kind;
    fre_status st = fre_mark_decode(&m, w, FRE_WIRE_MARK, in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    kind = (uint8_t)m.kind;
    if (x->mark[kind].set && memcmp(x->mark[kind].hash, m.hash, sizeof m.hash) != 0)
        return server_reject(&x->base, out, FRE_REJECTED_REPLAYED);
    if (!x->mark[kind].set) {
        st = server_row_put(&out->rows, SERVER_ROW_MARK, server_view(&kind, 1),
                            server_view(m.hash, sizeof m.hash));
        if (st != FRE_OK)
            return st;
        memcpy(x->mark[kind].hash, m.hash, sizeof m.hash);
        x->mark[kind].set = true;
        x->base.tally.accepted++;
    } else {
        x->base.tally.repeated++;
    }
    return fre_mark_encode(&out->message, w, FRE_WIRE_MARKED, &m, &x->base.sign);
}

static fre_status mark_load(relay *x, const fre_row *row)
{
    if (row->key.n != 1 || row->key.p[0] < 1 || row->key.p[0] > FRE_MARK_SUM ||
        row->value.n != FRE_HASH_BYTES)
        return FRE_E_DATA;
    memcpy(x->mark[row->key.p[0]].hash, row->value.p, FRE_HASH_BYTES);
    x->mark[row->key.p[0]].set = true;
    return FRE_OK;
}

/* ---- the release ---------------------------------------------------------------------------------------- */

static fre_status release(relay *x, fre_reply *out, fre_bytes in)
{
    fre_release_part m;
    bool fresh, taken;
    fre_status st = fre_release_part_decode(&m, server_wire(&x->base), in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    st = server_take_part(&x->release_in, &x->base, out, m.part, in, &fresh, &taken);
    if (st != FRE_OK || !taken)
        return st;
    if (fresh && server_parts_complete(&x->release_in)) {
        st = server_out_pass(&x->release, &x->release_in);
        if (st == FRE_OK)
            st = server_move(&x->base, &out->rows, FRE_PHASE_DONE);
    }
    return st == FRE_OK ? server_receipt(&x->base, out, fresh) : st;
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    relay *x = self(base);
    fre_status st = FRE_OK;

    if (base->phase == FRE_PHASE_WAITING && base->now >= server_wire(base)->c.open)
        st = server_move(base, &out->rows, FRE_PHASE_TAKING);
    if (st != FRE_OK)
        return st;
    switch ((unsigned)type) {
    case FRE_WIRE_CARRY:
        return relay_carry(x, out, in);
    case FRE_WIRE_CLOSED:
        return closed(x, out, in);
    case FRE_WIRE_LISTED:
        return server_wire(base)->c.one_contact ? server_reject(base, out, FRE_REJECTED_MALFORMED)
                                                : listed(x, out, in);
    case FRE_WIRE_MARK:
        return mark(x, out, in);
    case FRE_WIRE_RELEASE:
        return release(x, out, in);
    default:
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    }
}

static fre_status hand_on(relay *x, fre_letters *out, fre_delta *rows, server_out *what)
{
    const fre_status st = relay_flush(x, rows, what);

    return st == FRE_OK ? server_out_post(what, out) : st;
}

static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    relay *x = self(base);
    fre_status st = FRE_OK;

    if (base->phase == FRE_PHASE_WAITING && base->now >= server_wire(base)->c.open)
        st = server_move(base, rows, FRE_PHASE_TAKING);
    if (st != FRE_OK)
        return st;
    if (base->phase == FRE_PHASE_CLOSED)
        return hand_on(x, out, rows, &x->collected);
    if (base->phase == FRE_PHASE_ANSWERING && base->list &&
        base->now >= server_wire(base)->c.shares_close)
        return hand_on(x, out, rows, &x->gathered);
    return FRE_OK;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    relay *x = self(base);
    const bool entries = base->phase == FRE_PHASE_CLOSED;
    server_out *o = entries ? &x->collected : &x->gathered;
    uint32_t index;
    server_verdict v;
    fre_status st;

    if (!server_out_answered(o, cookie, reply, &index, &v))
        return FRE_OK;
    if (v == SERVER_REFUSED || v == SERVER_MESSAGE)
        return server_void(base, rows, FRE_CANCEL_DISAGREE);
    if (!server_out_done(o))
        return FRE_OK;
    st = relay_flushed(x, rows);
    if (st != FRE_OK)
        return st;
    return server_move(base, rows,
                       entries && !server_wire(base)->c.one_contact ? FRE_PHASE_ANSWERING
                                                                    : FRE_PHASE_SUMMING);
}

/* ---- making and unmaking ------------------------------------------------------------------------------------ */

static void forget(fre_server *base)
{
    relay *x = self(base);

    server_table_wipe(&x->token);
    fre_wipe_free(x->sent, x->token_cap * sizeof *x->sent);
    x->sent = NULL;
    x->tokens = x->token_cap = 0;
    server_table_wipe(&x->known);
    relay_entries_wipe(x);
    fre_wipe(x->order, sizeof x->order);
    server_out_wipe(&x->collected);
    server_out_wipe(&x->gathered);
}

static void free_relay(fre_server *base)
{
    relay *x = self(base);

    forget(base);
    fre_buf_wipe(&x->closed);
    server_parts_wipe(&x->release_in);
    server_out_wipe(&x->release);
    server_base_wipe(base);
    server_machine_free(x);
}

static fre_status restore(fre_server *base, const fre_row *row)
{
    relay *x = self(base);

    if (!row)
        return server_parts_complete(&x->release_in) ? server_out_pass(&x->release, &x->release_in)
                                                     : FRE_OK;
    switch (row->table) {
    case SERVER_ROW_TOKEN:
        return relay_token_load(x, row);
    case SERVER_ROW_KNOWN:
        return relay_known_load(x, row);
    case SERVER_ROW_ENTRY:
        return row->key.n == SERVER_HASH_BYTES ? relay_entry_keep(x, row->key.p, row->value)
                                               : FRE_E_DATA;
    case SERVER_ROW_ORDER:
        if (row->value.n != sizeof x->order)
            return FRE_E_DATA;
        memcpy(x->order, row->value.p, sizeof x->order);
        x->shuffled = true;
        return FRE_OK;
    case SERVER_ROW_CLOSED:
        return fre_buf_append(&x->closed, row->value.p, row->value.n);
    case SERVER_ROW_MARK:
        return mark_load(x, row);
    case SERVER_ROW_IN:
        return server_parts_load(&x->release_in, row, FRE_WIRE_RELEASE);
    default:
        return FRE_E_DATA;
    }
}

static const server_out *published(const fre_server *base)
{
    return &((const relay *)base)->release;
}

static const server_ops ops = {.masks = &server_masks,
                               .free = free_relay,
                               .forget = forget,
                               .handle = handle,
                               .returned = relay_returned,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .release = published};

fre_status fre_server_new_relay(fre_server **out, const fre_agreement *a, const fre_sign_sk *sk,
                                fre_err *err)
{
    relay *x;
    fre_status st;

    if (!out || !a || !sk)
        return FRE_E_ARG;
    if (memcmp(sk->b + 32, a->w.c.relay_sign.b, sizeof a->w.c.relay_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "the relay's key is not the one that the collection names");
    x = server_machine_new(sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    st = server_base_init(&x->base, &ops, a, FRE_ROLE_RELAY, sk, 0, err);
    fre_buf_init(&x->closed, FRE_WIRE_MESSAGE_MAX);
    x->collected = (server_out){.kind = SERVER_COLLECTED, .to = FRE_ROLE_TAG, .light = true};
    x->gathered = (server_out){.kind = SERVER_GATHERED, .to = FRE_ROLE_SYN, .light = true};
    x->release_in = server_parts_of_release(&x->base);
    x->release.kind = SERVER_RELEASE;
    if (st != FRE_OK) {
        free_relay(&x->base);
        return st;
    }
    *out = &x->base;
    return FRE_OK;
}
