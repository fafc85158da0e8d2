/* server/links.c - roles of one process, and what a network may do to the messages between them. */
#include "server_private.h"

#include <fre/aggregate.h>

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    (void)x;
    return fre_links_carry(ctx, to, message, answer);
}

void fre_links_init(fre_links *l)
{
    *l = (fre_links){.host = {.ctx = l, .carry = carry}};
    fre_buf_init(&l->late, FRE_WIRE_MESSAGE_MAX);
}

void fre_links_wipe(fre_links *l)
{
    fre_buf_wipe(&l->late);
}

static bool chance(const fre_links *l, uint64_t p32)
{
    return l->rng && p32 > 0 && fre_aggregate_coin(l->rng, p32);
}

static fre_status deliver(fre_links *l, fre_role to, fre_bytes message, fre_buf *answer)
{
    fre_status st;

    l->depth++;
    st = fre_server_take(l->server[to], &l->host, answer, message, l->now);
    l->depth--;
    return st == FRE_E_AGAIN ? FRE_OK : st; /* a machine fell, and its answer with it */
}

/* The one that is late, if there is one; nobody waits for its answer. */
static fre_status deliver_late(fre_links *l)
{
    fre_buf message = l->late, unused;
    fre_status st;

    if (message.n == 0 || l->depth > 0) /* not while a machine waits for its own answer */
        return FRE_OK;
    fre_buf_init(&l->late, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&unused, FRE_WIRE_MESSAGE_MAX);
    st = deliver(l, l->late_to, server_buf_view(&message), &unused);
    fre_buf_wipe(&unused);
    fre_buf_wipe(&message);
    return st;
}

static fre_status deliver_all(fre_links *l, fre_role to, fre_bytes message, fre_buf *answer)
{
    fre_status st = FRE_OK;

    if (chance(l, l->repeat)) {
        l->repeated++;
        st = deliver(l, to, message, answer);
        fre_buf_wipe(answer);
    }
    if (st == FRE_OK)
        st = deliver(l, to, message, answer);
    if (st == FRE_OK && chance(l, l->lose_answer)) {
        l->lost++;
        fre_buf_wipe(answer);
    }
    return st;
}

fre_status fre_links_carry(fre_links *l, fre_role to, fre_bytes message, fre_buf *answer)
{
    fre_status st;

    if (!l || !answer || to < FRE_ROLE_TAG || to > FRE_ROLE_ISSUER || !l->server[to])
        return FRE_E_ARG;
    st = deliver_late(l);
    if (st != FRE_OK)
        return st;
    if (chance(l, l->lose)) {
        l->lost++;
        return FRE_OK;
    }
    if (l->late.n == 0 && message.n > 0 && chance(l, l->delay)) {
        l->delayed++;
        l->late_to = to;
        return fre_buf_append(&l->late, message.p, message.n);
    }
    return deliver_all(l, to, message, answer);
}
