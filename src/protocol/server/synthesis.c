/* server/synthesis.c - S_syn's messages and phases. */
#include "synthesis.h"

static synthesis *self(fre_server *x)
{
    return (synthesis *)x;
}

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    synthesis *x = self(base);
    fre_batch m;
    bool fresh, taken = false;
    fre_status st;

    if (type != FRE_WIRE_MIXED)
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    st = fre_batch_decode(&m, server_wire(base), type, in, NULL);
    if (st != FRE_OK)
        return server_reject_status(base, out, st);
    if (base->now < server_wire(base)->c.tags_close)
        return server_reject(base, out, FRE_REJECTED_PHASE);
    st = server_move(base, &out->rows,
                     base->phase < FRE_PHASE_CLOSED ? FRE_PHASE_CLOSED : base->phase);
    if (st == FRE_OK)
        st = server_take_part(&x->mixed, base, out, m.part, in, &fresh, &taken);
    return st == FRE_OK && taken ? server_receipt(base, out, fresh) : st;
}

static void forget_members(synthesis *x)
{
    fre_wipe_free(x->member, x->member_cap * sizeof *x->member);
    fre_wipe_free(x->share, x->share_cap * fre_wire_share_bytes(server_wire(&x->base)));
    x->member = NULL;
    x->share = NULL;
    x->members = x->member_cap = x->share_cap = 0;
}

/* One thing after the other; what is made is there before it leaves. */
static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    synthesis *x = self(base);
    fre_status st = FRE_OK;

    if (base->phase == FRE_PHASE_DONE)
        return server_out_done(&x->release) ? FRE_OK : server_out_post(&x->release, out);
    if (!x->counted && server_parts_complete(&x->mixed))
        st = syn_count(x, rows);
    if (st != FRE_OK || !x->counted)
        return st;
    if (!server_parts_complete(&x->vouched))
        return server_out_post(&x->vouch, out);
    if (x->unseal.count == 0)
        st = syn_make_unseal(x, rows);
    if (st != FRE_OK)
        return st;
    if (!server_parts_complete(&x->summed))
        return server_out_post(&x->unseal, out);
    st = syn_make_release(x, rows);
    if (st != FRE_OK)
        return st;
    forget_members(x);
    return server_move(base, rows, FRE_PHASE_DONE);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

/* The issuer's, to that part of what was asked; members that were not asked for are another's. */
static fre_status take_vouched(synthesis *x, fre_delta *rows, uint32_t index, fre_bytes reply)
{
    fre_tag_sets sets, all;
    fre_vouched_set s;
    fre_rejection why;
    bool fresh;
    fre_status st = fre_vouched_decode(&sets, server_wire(&x->base), reply, NULL);

    if (st != FRE_OK)
        return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
    if (sets.part.index != index || sets.part.count != x->vouch.count)
        return FRE_OK;
    for (all = sets; fre_vouched_next(&all, &s);)
        if (!syn_knows(x, &s.tag, s.id, s.n))
            return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    st = server_parts_take(&x->vouched, sets.part, reply, rows, &fresh, &why);
    if (st == FRE_OK && why == FRE_ACCEPTED)
        server_out_finish(&x->vouch, index);
    return st;
}

static fre_status take_summed(synthesis *x, fre_delta *rows, uint32_t index, fre_bytes reply)
{
    fre_tag_sets sets, all;
    fre_summed_set s;
    fre_rejection why;
    bool fresh;
    fre_status st = fre_summed_decode(&sets, server_wire(&x->base), reply, NULL);

    if (st != FRE_OK)
        return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
    if (sets.part.index != index || sets.part.count != x->unseal.count)
        return FRE_OK;
    for (all = sets; fre_summed_next(&all, &s);)
        if (!syn_knows(x, &s.tag, s.id, s.n))
            return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    st = server_parts_take(&x->summed, sets.part, reply, rows, &fresh, &why);
    if (st == FRE_OK && why == FRE_ACCEPTED)
        server_out_finish(&x->unseal, index);
    return st;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    synthesis *x = self(base);
    uint32_t index = 0;
    server_verdict v = SERVER_AGAIN;
    const bool vouch = server_out_answered(&x->vouch, cookie, reply, &index, &v);
    const bool unseal = !vouch && server_out_answered(&x->unseal, cookie, reply, &index, &v);

    if (!vouch && !unseal)
        (void)server_out_answered(&x->release, cookie, reply, &index, &v);
    if (v == SERVER_REFUSED && (vouch || unseal))
        return server_void(base, rows, FRE_CANCEL_DISAGREE);
    if (v == SERVER_MESSAGE && vouch)
        return take_vouched(x, rows, index, reply);
    if (v == SERVER_MESSAGE && unseal)
        return take_summed(x, rows, index, reply);
    return FRE_OK;
}

/* ---- making and unmaking ---------------------------------------------------------------------------------- */

static void forget(fre_server *base)
{
    synthesis *x = self(base);

    fre_hpke_keypair_wipe(&x->seal);
    server_parts_wipe(&x->mixed);
    forget_members(x);
    server_out_wipe(&x->vouch);
    server_parts_wipe(&x->vouched);
    server_out_wipe(&x->unseal);
    server_parts_wipe(&x->summed);
}

static void free_synthesis(fre_server *base)
{
    synthesis *x = self(base);

    forget(base);
    server_out_wipe(&x->release);
    fre_buf_wipe(&x->statement);
    server_base_wipe(base);
    fre_wipe_free(x, sizeof *x);
}

static fre_status load_in(synthesis *x, const fre_row *row)
{
    const fre_wire *w = server_wire(&x->base);
    const uint8_t kind = row->key.n > 0 ? row->key.p[0] : 0;
    fre_batch batch = {.n = 0};
    fre_tag_sets sets = {.n = 0};
    server_parts *to = kind == SERVER_MIXED ? &x->mixed : &x->vouched;
    fre_part part;
    fre_status st = FRE_OK;

    if (kind == SERVER_SUMMED)
        to = &x->summed;
    if (server_parts_is_used(row))
        return server_parts_load(to, row, (fre_part){0, 0});
    if (kind == SERVER_MIXED)
        st = fre_batch_decode(&batch, w, FRE_WIRE_MIXED, row->value, NULL);
    else if (kind == SERVER_SUMMED)
        st = fre_summed_decode(&sets, w, row->value, NULL);
    else
        st = fre_vouched_decode(&sets, w, row->value, NULL);
    part = kind == SERVER_MIXED ? batch.part : sets.part;
    return st == FRE_OK ? server_parts_load(to, row, part) : FRE_E_DATA;
}

static fre_status load_out(synthesis *x, const fre_row *row)
{
    switch (row->key.n > 0 ? row->key.p[0] : 0) {
    case SERVER_VOUCH:
        return server_out_load(&x->vouch, row);
    case SERVER_UNSEAL:
        return server_out_load(&x->unseal, row);
    case SERVER_RELEASE:
        return server_out_load(&x->release, row);
    default:
        return FRE_E_DATA;
    }
}

static fre_status restore(fre_server *base, const fre_row *row)
{
    synthesis *x = self(base);

    if (!row) {
        x->counted = base->phase >= FRE_PHASE_SUMMING && base->phase != FRE_PHASE_VOID;
        if (x->counted)
            fre_hpke_keypair_wipe(&x->seal);
        return FRE_OK;
    }
    switch (row->table) {
    case SERVER_ROW_IN:
        return load_in(x, row);
    case SERVER_ROW_OUT:
        return load_out(x, row);
    case SERVER_ROW_MEMBER:
        return syn_member_load(x, row);
    default:
        return FRE_E_DATA;
    }
}

static const server_out *published(const fre_server *base)
{
    return &((const synthesis *)base)->release;
}

static const server_ops ops = {.free = free_synthesis,
                               .forget = forget,
                               .handle = handle,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .release = published};

fre_status fre_server_new_synthesis(fre_server **out, const fre_agreement *a,
                                    const fre_server_keys *keys, fre_bytes statement, fre_err *err)
{
    const fre_collection *c;
    synthesis *x;
    fre_status st;

    if (!out || !a || !keys || (statement.n > 0 && !statement.p))
        return FRE_E_ARG;
    if (statement.n > FRE_RELEASE_STATEMENT_MAX)
        return fre_fail(err, FRE_E_LIMIT, "the statement has more than %u bytes",
                        FRE_RELEASE_STATEMENT_MAX);
    c = &a->w.c;
    if (memcmp(keys->seal.pk.b, c->syn_seal.b, sizeof c->syn_seal.b) != 0 ||
        memcmp(keys->sign.b + 32, c->syn_sign.b, sizeof c->syn_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "S_syn's keys are not those that the collection names");
    x = calloc(1, sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    st = server_base_init(&x->base, &ops, a, FRE_ROLE_SYN, &keys->sign, 0, err);
    fre_buf_init(&x->statement, FRE_RELEASE_STATEMENT_MAX);
    x->mixed.kind = SERVER_MIXED;
    x->vouch = (server_out){.kind = SERVER_VOUCH, .to = FRE_ROLE_ISSUER, .fetch = true};
    x->vouched.kind = SERVER_VOUCHED;
    x->unseal = (server_out){.kind = SERVER_UNSEAL, .to = FRE_ROLE_TAG, .fetch = true};
    x->summed.kind = SERVER_SUMMED;
    x->release = (server_out){.kind = SERVER_RELEASE, .to = FRE_ROLE_RELAY};
    x->seal = keys->seal;
    if (st == FRE_OK)
        st = fre_buf_append(&x->statement, statement.p, statement.n);
    if (st != FRE_OK) {
        free_synthesis(&x->base);
        return st;
    }
    *out = &x->base;
    return FRE_OK;
}
