/* server/synthesis.c - S_syn's messages and phases. */
#include "synthesis.h"

#include <fre/aggregate.h>

static synthesis *self(fre_server *x)
{
    return (synthesis *)x;
}

/* Mixed entries of S_tag, or with two contacts answers of the relay; at: from when on. */
static fre_status batch(synthesis *x, fre_reply *out, fre_wire_type type, fre_bytes in, int64_t at)
{
    server_parts *to = type == FRE_WIRE_MIXED ? &x->mixed : &x->gathered;
    fre_batch m;
    bool fresh, taken;
    fre_status st = fre_batch_decode(&m, server_wire(&x->base), type, in, NULL);

    if (st != FRE_OK)
        return server_reject_status(&x->base, out, st);
    if (x->base.now < at)
        return server_reject(&x->base, out, FRE_REJECTED_PHASE);
    if (x->base.phase < FRE_PHASE_CLOSED)
        st = server_move(&x->base, &out->rows, FRE_PHASE_CLOSED);
    if (st == FRE_OK)
        st = server_take_part(to, &x->base, out, m.part, in, &fresh, &taken);
    return st == FRE_OK && taken ? server_receipt(&x->base, out, fresh) : st;
}

static fre_status handle(fre_server *base, fre_reply *out, fre_wire_type type, fre_bytes in)
{
    const fre_collection *c = &server_wire(base)->c;

    if (type == FRE_WIRE_MIXED)
        return batch(self(base), out, type, in, c->tags_close);
    if (type != FRE_WIRE_GATHERED || c->one_contact)
        return server_reject(base, out, FRE_REJECTED_MALFORMED);
    if (!base->list)
        return server_reject(base, out, FRE_REJECTED_PHASE);
    return batch(self(base), out, type, in, c->shares_close);
}

static void forget_members(synthesis *x)
{
    fre_wipe_free(x->member, x->member_cap * sizeof *x->member);
    fre_wipe_free(x->share, x->share_cap * x->each);
    x->member = NULL;
    x->share = NULL;
    x->each = 0;
    x->members = x->member_cap = x->share_cap = 0;
}

/* The published list to one role. */
static fre_status post_list(const synthesis *x, fre_letters *out, fre_role to, bool arrived)
{
    return arrived ? FRE_OK
                   : server_post(out, to, SERVER_COOKIE(SERVER_LISTED, to),
                                 server_buf_view(&x->base.list->message));
}

/* Two contacts, between the vouch and unseal; *done: answers are counted. */
static fre_status tick_answers(synthesis *x, fre_letters *out, fre_delta *rows, bool *done)
{
    fre_status st = FRE_OK;

    *done = server_parts_are_used(&x->gathered);
    if (*done)
        return FRE_OK;
    if (x->list.count == 0)
        st = syn_make_list(x, rows);
    if (st != FRE_OK)
        return st;
    if (!x->base.list)
        return server_out_post(&x->list, out);
    st = post_list(x, out, FRE_ROLE_TAG, x->list_at_tag);
    if (st == FRE_OK)
        st = post_list(x, out, FRE_ROLE_RELAY, x->list_at_relay);
    if (st != FRE_OK || !server_parts_complete(&x->gathered) || !server_has_seal(&x->seal))
        return st;
    st = syn_count_answers(x, rows);
    *done = st == FRE_OK;
    return st;
}

static fre_status make_release(synthesis *x, fre_delta *rows)
{
    bool fine;
    fre_status st = syn_check_sums(x, &fine);

    if (st == FRE_OK && !fine)
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    if (st == FRE_OK)
        st = syn_make_release(x, rows);
    if (st != FRE_OK)
        return st;
    forget_members(x);
    return server_move(&x->base, rows, FRE_PHASE_DONE);
}

/* One thing after the other; what is made is there before it leaves. */
static fre_status tick(fre_server *base, fre_letters *out, fre_delta *rows)
{
    synthesis *x = self(base);
    bool answered = server_wire(base)->c.one_contact;
    fre_status st = FRE_OK;

    if (base->phase == FRE_PHASE_DONE)
        return server_out_done(&x->release) ? FRE_OK : server_out_post(&x->release, out);
    if (!x->counted && server_parts_complete(&x->mixed) && server_has_seal(&x->seal))
        st = syn_count(x, rows);
    if (st != FRE_OK || !x->counted)
        return st;
    if (!server_parts_complete(&x->vouched))
        return server_out_post(&x->vouch, out);
    if (!answered)
        st = tick_answers(x, out, rows, &answered);
    if (st != FRE_OK || !answered)
        return st;
    if (x->unseal.count == 0)
        st = syn_make_unseal(x, rows);
    if (st != FRE_OK)
        return st;
    if (!server_parts_complete(&x->summed))
        return server_out_post(&x->unseal, out);
    return make_release(x, rows);
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
    if (fre_wire_items(reply) > fre_wire_items(server_buf_view(&x->vouch.letter[index].message)))
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    st = server_parts_take(&x->vouched, sets.part, reply, rows, &fresh, &why);
    if (st == FRE_OK && why == FRE_ACCEPTED)
        server_out_finish(&x->vouch, index);
    return st;
}

/* Every set one of those that were asked for, whose members it names at most. */
static bool is_of(fre_tag_sets said, fre_tag_sets asked)
{
    fre_vouched_set of = {.n = 0};
    fre_summed_set s;
    bool fine = true;

    while (fine && fre_summed_next(&said, &s)) {
        int order = 1;

        while (order > 0 && fre_vouched_next(&asked, &of))
            order = memcmp(s.tag.b, of.tag.b, sizeof s.tag.b);
        fine = order == 0 && s.n <= of.n;
    }
    return fine;
}

static bool have_shares(const synthesis *x, fre_tag_sets said)
{
    fre_summed_set s;

    while (fre_summed_next(&said, &s))
        for (uint32_t i = 0; i < s.n; i++)
            if (syn_share(x, &s.tag, &s.id[i]).n == 0)
                return false;
    return true;
}

static fre_status take_summed(synthesis *x, fre_delta *rows, uint32_t index, fre_bytes reply)
{
    fre_tag_sets sets, asked;
    fre_rejection why;
    bool fresh;
    fre_status st = fre_summed_decode(&sets, server_wire(&x->base), reply, NULL);

    if (st != FRE_OK)
        return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
    if (sets.part.index != index || sets.part.count != x->unseal.count ||
        index >= x->vouched.count)
        return FRE_OK;
    st = fre_vouched_decode(&asked, server_wire(&x->base),
                            server_buf_view(&x->vouched.part[index].bytes), NULL);
    if (st != FRE_OK)
        return st;
    if (!is_of(sets, asked) || !have_shares(x, sets))
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    st = server_parts_take(&x->summed, sets.part, reply, rows, &fresh, &why);
    if (st == FRE_OK && why == FRE_ACCEPTED)
        server_out_finish(&x->unseal, index);
    return st;
}

/* The issuer signed our list: this is published. */
static fre_status take_listed(synthesis *x, fre_delta *rows, fre_bytes reply)
{
    const fre_buf *ours = &x->list.letter[0].message;
    fre_status st;

    /* The list in it, behind its length, is ours byte for byte. */
    if (x->base.list || reply.n != FRE_WIRE_HEAD_BYTES + 4 + ours->n + FRE_WIRE_SIGNATURE_BYTES ||
        memcmp(reply.p + FRE_WIRE_HEAD_BYTES + 4, ours->p, ours->n) != 0)
        return FRE_OK;
    st = server_list_keep(&x->base, rows, reply);
    if (st == FRE_E_LIMIT) /* no share holds its largest cell */
        return server_void(&x->base, rows, FRE_CANCEL_OPERATOR);
    if (st == FRE_OK)
        server_out_finish(&x->list, 0);
    return st == FRE_E_NOMEM || st == FRE_E_INTERNAL ? st : FRE_OK;
}

static fre_status list_arrived(synthesis *x, fre_delta *rows, uint32_t at, fre_bytes reply)
{
    const server_verdict v = server_judge(reply);

    if (v == SERVER_REFUSED)
        return server_void(&x->base, rows, FRE_CANCEL_DISAGREE);
    x->list_at_tag = x->list_at_tag || (v == SERVER_RECEIVED && at == FRE_ROLE_TAG);
    x->list_at_relay = x->list_at_relay || (v == SERVER_RECEIVED && at == FRE_ROLE_RELAY);
    return FRE_OK;
}

static fre_status answered(fre_server *base, fre_delta *rows, uint64_t cookie, fre_bytes reply)
{
    synthesis *x = self(base);
    uint32_t index = 0;
    server_verdict v = SERVER_AGAIN;
    const bool vouch = server_out_answered(&x->vouch, cookie, reply, &index, &v);
    const bool unseal = !vouch && server_out_answered(&x->unseal, cookie, reply, &index, &v);
    const bool list = !vouch && !unseal && server_out_answered(&x->list, cookie, reply, &index, &v);

    if (SERVER_COOKIE_KIND(cookie) == SERVER_LISTED)
        return list_arrived(x, rows, SERVER_COOKIE_INDEX(cookie), reply);
    if (!vouch && !unseal && !list)
        (void)server_out_answered(&x->release, cookie, reply, &index, &v);
    if (v == SERVER_REFUSED && (vouch || unseal || list))
        return server_void(base, rows, FRE_CANCEL_DISAGREE);
    if (v == SERVER_MESSAGE && list)
        return take_listed(x, rows, reply);
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
    server_out_wipe(&x->list);
    server_parts_wipe(&x->gathered);
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
    server_machine_free(x);
}

static fre_status load_in(synthesis *x, const fre_row *row)
{
    switch (row->key.n > 0 ? row->key.p[0] : 0) {
    case SERVER_MIXED:
        return server_parts_load(&x->mixed, row, FRE_WIRE_MIXED);
    case SERVER_VOUCHED:
        return server_parts_load(&x->vouched, row, FRE_WIRE_VOUCHED);
    case SERVER_GATHERED:
        return server_parts_load(&x->gathered, row, FRE_WIRE_GATHERED);
    default:
        return server_parts_load(&x->summed, row, FRE_WIRE_SUMMED);
    }
}

static fre_status load_out(synthesis *x, const fre_row *row)
{
    switch (row->key.n > 0 ? row->key.p[0] : 0) {
    case SERVER_VOUCH:
        return server_out_load(&x->vouch, row);
    case SERVER_LIST:
        return server_out_load(&x->list, row);
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
        if (x->counted && (server_wire(base)->c.one_contact || server_parts_are_used(&x->gathered)))
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

static bool key_over(const fre_server *base, fre_mask_key key)
{
    const synthesis *x = (const synthesis *)base;

    (void)key;
    return x->counted &&
           (server_wire(base)->c.one_contact || server_parts_are_used(&x->gathered));
}

static bool key_here(const fre_server *base, fre_mask_key key)
{
    (void)key;
    return server_has_seal(&((const synthesis *)base)->seal);
}

static fre_status key_mask(const fre_server *base, fre_mask_key key, uint8_t io[FRE_MASK_BYTES])
{
    (void)key;
    return server_seal_mask(&((const synthesis *)base)->seal, io);
}

static fre_status key_back(fre_server *base, fre_mask_key key, const uint8_t masked[FRE_MASK_BYTES],
                           const uint8_t mask[FRE_MASK_BYTES])
{
    (void)key;
    return server_seal_back(&self(base)->seal, masked, mask, &server_wire(base)->c.syn_seal);
}

static const server_ops ops = {.masks = &server_masks,
                               .free = free_synthesis,
                               .forget = forget,
                               .handle = handle,
                               .tick = tick,
                               .answered = answered,
                               .restore = restore,
                               .release = published,
                               .key_over = key_over,
                               .key_here = key_here,
                               .key_mask = key_mask,
                               .key_back = key_back};

/* All entries, and the most padding that the terms can give. */
static uint64_t most_mixed(const fre_server *x)
{
    const uint64_t dummies = fre_aggregate_padding_most(x->a->w.c.tau, &x->a->m.dist);
    const uint64_t entries = server_records(x);

    return dummies < UINT64_MAX - entries ? entries + dummies : UINT64_MAX;
}

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
    if ((st = server_need_cells(a, err)) != FRE_OK)
        return st;
    c = &a->w.c;
    if (server_check_seal(&keys->seal, &c->syn_seal) != FRE_OK ||
        memcmp(keys->sign.b + 32, c->syn_sign.b, sizeof c->syn_sign.b) != 0)
        return fre_fail(err, FRE_E_KEY, "S_syn's keys are not those that the collection names");
    x = server_machine_new(sizeof *x);
    if (!x)
        return FRE_E_NOMEM;
    st = server_base_init(&x->base, &ops, a, FRE_ROLE_SYN, &keys->sign, 0, err);
    fre_buf_init(&x->statement, FRE_RELEASE_STATEMENT_MAX);
    x->mixed = (server_parts){.kind = SERVER_MIXED, .most = most_mixed(&x->base)};
    x->vouch = (server_out){.kind = SERVER_VOUCH, .to = FRE_ROLE_ISSUER, .fetch = true};
    x->vouched = (server_parts){.kind = SERVER_VOUCHED, .most = server_records(&x->base)};
    x->list = (server_out){.kind = SERVER_LIST, .to = FRE_ROLE_ISSUER};
    x->gathered = (server_parts){.kind = SERVER_GATHERED, .most = server_records(&x->base)};
    x->unseal = (server_out){.kind = SERVER_UNSEAL, .to = FRE_ROLE_TAG, .fetch = true};
    x->summed = (server_parts){.kind = SERVER_SUMMED}; /* held to what was asked */
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
