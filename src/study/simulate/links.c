/* simulate/links.c - the servers among themselves, once entries are closed, and the network of everybody. */
#include "simulate_private.h"

#define ROUNDS_MAX 1000000u /* in each, at least one message gets through */

bool simulate_has_faults(const simulate_run *s)
{
    return s->opts->loss_rate > 0 || s->opts->duplicate_rate > 0;
}

/* Half of what is lost is an answer. */
void simulate_link(const simulate_run *s, fre_links *l)
{
    const double half = s->opts->loss_rate / 2;

    fre_links_init(l);
    memcpy(l->server, s->server, sizeof l->server);
    l->now = s->now;
    l->lose = fre_p32(half);
    l->lose_answer = fre_p32(half / (1 - half));
    l->repeat = fre_p32(s->opts->duplicate_rate);
}

/* ---- servers ------------------------------------------------------------------------------------ */

typedef struct servers {
    simulate_run *s;
    fre_links links;
    fre_rng network;
    uint64_t collected, mixed; /* entries of the parts seen so far ... */
    uint64_t parts[2];         /* ... which come in their order the first time */
} servers;

/* How many entries a new part has: what S_tag forgets, the network can count. */
static fre_status look(servers *v, fre_bytes message)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_batch m;
    uint64_t *parts;
    fre_status st = fre_wire_peek(&type, &id, message);

    if (st != FRE_OK || (type != FRE_WIRE_COLLECTED && type != FRE_WIRE_MIXED))
        return st;
    parts = &v->parts[type == FRE_WIRE_MIXED];
    st = fre_batch_decode(&m, &v->s->wire, type, message, NULL);
    if (st != FRE_OK || m.part.index != *parts)
        return st;
    ++*parts;
    *(type == FRE_WIRE_MIXED ? &v->mixed : &v->collected) += m.n;
    return FRE_OK;
}

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    servers *v = ctx;
    fre_status st = look(v, message);

    (void)x;
    if (st == FRE_OK)
        st = fre_links_carry(&v->links, to, message, answer);
    v->s->out->server_messages++;
    v->s->out->server_bytes += message.n + answer->n;
    return st;
}

static fre_simulate_step step_of(const simulate_run *s)
{
    const fre_phase phase = fre_server_phase(s->server[FRE_ROLE_SYN]);

    return phase < FRE_PHASE_CLOSED    ? FRE_SIMULATE_STEP_MIX
           : phase == FRE_PHASE_CLOSED ? FRE_SIMULATE_STEP_COUNT
                                       : FRE_SIMULATE_STEP_SUM;
}

/* Nothing goes on without the clients: with two contacts, once there is a list. */
static bool is_over(const simulate_run *s)
{
    if (!s->collection.one_contact && s->now < s->collection.shares_close &&
        fre_server_list_view(s->server[FRE_ROLE_RELAY]).n > 0)
        return true;
    for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++)
        if (fre_server_phase(s->server[role]) == FRE_PHASE_VOID)
            return true;
    return fre_server_phase(s->server[FRE_ROLE_RELAY]) == FRE_PHASE_DONE;
}

static fre_status round_of_all(servers *v)
{
    simulate_run *s = v->s;
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role <= FRE_ROLE_ISSUER; role++) {
        const fre_simulate_step step = step_of(s);
        const int64_t start = fre_clock_ms();

        fre_progress_update(s->opts->progress, fre_simulate_step_text(step), 0, 0);
        st = fre_server_step(s->server[role], &v->links.host, NULL, s->now);
        s->out->seconds[step] += (double)(fre_clock_ms() - start) / 1000;
    }
    return st;
}

fre_status simulate_servers(simulate_run *s, fre_err *err)
{
    servers v = {.s = s};
    fre_status st = simulate_stream(s, &v.network, "links", (uint64_t)s->now);

    simulate_link(s, &v.links);
    v.links.host = (fre_host){.ctx = &v, .carry = carry};
    v.links.rng = &v.network;
    for (uint32_t i = 0; st == FRE_OK && !is_over(s); i++) {
        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
        else if (i == ROUNDS_MAX)
            st = fre_fail(err, FRE_E_INTERNAL,
                          "the servers never stopped sending messages to each other");
        else
            st = round_of_all(&v);
    }
    s->out->lost += v.links.lost;
    s->out->repeated += v.links.repeated;
    s->out->padding += v.mixed > v.collected ? v.mixed - v.collected : 0;
    fre_links_wipe(&v.links);
    fre_rng_wipe(&v.network);
    return st == FRE_OK || (err && err->text[0])
               ? st
               : fre_fail(err, st, "a server failed: %s", fre_status_text(st));
}
