/* simulate/links.c - messages between relay and servers, over links that lose and repeat. */
#include "simulate_private.h"

#define ROUNDS_MAX 1000000u /* of carrying messages; in each, at least one gets through */

typedef struct party {
    fre_role role;
    fre_status (*tick)(simulate_run *s, fre_outbox *out);
    fre_status (*answered)(simulate_run *s, uint64_t cookie, fre_bytes reply);
    fre_status (*handle)(simulate_run *s, fre_buf *reply, fre_rejection *why, fre_bytes in);
} party;

static fre_status tag_tick(simulate_run *s, fre_outbox *out)
{
    return fre_tagging_tick(s->tagging, out, s->now);
}

static fre_status tag_answered(simulate_run *s, uint64_t cookie, fre_bytes reply)
{
    return fre_tagging_answered(s->tagging, cookie, reply, s->now);
}

static fre_status tag_handle(simulate_run *s, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    return fre_tagging_handle(s->tagging, reply, why, in, s->now);
}

static fre_status syn_tick(simulate_run *s, fre_outbox *out)
{
    return fre_synthesis_tick(s->synthesis, out, s->now);
}

static fre_status syn_answered(simulate_run *s, uint64_t cookie, fre_bytes reply)
{
    return fre_synthesis_answered(s->synthesis, cookie, reply, s->now);
}

static fre_status syn_handle(simulate_run *s, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    return fre_synthesis_handle(s->synthesis, reply, why, in, s->now);
}

static fre_status relay_tick(simulate_run *s, fre_outbox *out)
{
    return fre_relay_tick(s->relay, out, s->now);
}

static fre_status relay_answered(simulate_run *s, uint64_t cookie, fre_bytes reply)
{
    return fre_relay_answered(s->relay, cookie, reply, s->now);
}

static fre_status relay_handle(simulate_run *s, fre_buf *reply, fre_rejection *why, fre_bytes in)
{
    return fre_relay_handle(s->relay, reply, why, in, s->now);
}

static const party parties[] = {
    {FRE_ROLE_TAG, tag_tick, tag_answered, tag_handle},
    {FRE_ROLE_RELAY, relay_tick, relay_answered, relay_handle},
    {FRE_ROLE_SYN, syn_tick, syn_answered, syn_handle},
};
#define PARTIES (sizeof parties / sizeof *parties)

static const party *party_of(fre_role role)
{
    for (size_t i = 0; i < PARTIES; i++)
        if (parties[i].role == role)
            return &parties[i];
    return NULL;
}

static fre_status deliver(simulate_run *s, const party *to, fre_buf *reply, fre_bytes message)
{
    fre_rejection why;
    fre_status st = to->handle(s, reply, &why, message);

    s->out->server_messages++;
    s->out->server_bytes += message.n + reply->n;
    return st;
}

/* One message; whatever is lost comes again with the next tick. */
static fre_status carry_one(simulate_run *s, const party *from, const fre_outbox_item *item)
{
    const fre_simulate_opts *o = s->opts;
    const party *to = party_of(item->to);
    const fre_bytes message = {item->message.p, item->message.n};
    const bool lost = simulate_chance(&s->network, o->loss_rate);
    const bool there = lost && simulate_chance(&s->network, .5); /* only the answer is lost */
    fre_buf reply;
    fre_status st = FRE_OK;

    if (!to)
        return FRE_E_INTERNAL;
    s->out->lost += lost;
    if (lost && !there)
        return FRE_OK;
    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    if (simulate_chance(&s->network, o->duplicate_rate)) {
        s->out->repeated++;
        st = deliver(s, to, &reply, message);
        fre_buf_wipe(&reply);
    }
    if (st == FRE_OK)
        st = deliver(s, to, &reply, message);
    if (st == FRE_OK && !lost)
        st = from->answered(s, item->cookie, (fre_bytes){reply.p, reply.n});
    fre_buf_wipe(&reply);
    return st;
}

fre_status simulate_carry(simulate_run *s, fre_err *err)
{
    fre_status st = FRE_OK;
    bool busy = true;

    for (uint32_t round = 0; busy && st == FRE_OK; round++) {
        busy = false;
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        if (round == ROUNDS_MAX)
            return fre_fail(err, FRE_E_INTERNAL,
                            "the servers never stopped sending messages to each other");
        for (size_t i = 0; i < PARTIES && st == FRE_OK; i++) {
            fre_outbox box;

            fre_outbox_init(&box);
            st = parties[i].tick(s, &box);
            for (size_t j = 0; j < box.n && st == FRE_OK; j++)
                st = carry_one(s, &parties[i], &box.item[j]);
            busy |= box.n > 0;
            fre_outbox_wipe(&box);
        }
    }
    return st == FRE_OK ? st : fre_fail(err, st, "a server failed: %s", fre_status_text(st));
}
