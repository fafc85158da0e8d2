/* simulate/clients.c - each client until it has nothing more to send, on all threads. */
#include "simulate_private.h"

#define CHUNK 16u       /* clients of one job */
#define TRIES_MAX 2000u /* of one client's messages, before it gives up */

/* One client's contact; added to the run's numbers when it is over. */
typedef struct contact {
    simulate_run *s;
    uint64_t index;
    int64_t now;
    fre_client *client;
    fre_rng network;
    fre_simulate_traffic leg[FRE_SIMULATE_LEGS];
    uint64_t lost, repeated;
    float *spare;   /* rows that have to be copied */
    size_t spare_n; /* floats */
} contact;

/* ---- the network ------------------------------------------------------------------------------ */

/* Exchanges are Oblivious HTTP, everything else is a message of the wire. */
static fre_simulate_leg leg_of(fre_bytes message)
{
    fre_wire_type type;
    fre_collection_id id;

    if (fre_wire_peek(&type, &id, message) != FRE_OK)
        return FRE_SIMULATE_TAGS;
    return type == FRE_WIRE_REPORT ? FRE_SIMULATE_REPORTS : FRE_SIMULATE_SHARES;
}

/* The relay, and behind it S_tag.  *fresh: it took a report or share that was not there before. */
static fre_status serve(contact *c, fre_buf *reply, bool *fresh, fre_simulate_leg leg,
                        fre_bytes message)
{
    simulate_run *s = c->s;
    const fre_counters *counters = fre_relay_counters(s->relay);
    uint8_t name[8];
    const fre_bytes who = {name, sizeof name};
    fre_rejection why;
    uint64_t before;
    fre_status st;

    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (uint8_t)(c->index >> (8 * i));
    (void)pthread_mutex_lock(&s->lock);
    before = counters->accepted;
    if (leg == FRE_SIMULATE_TAGS) {
        st = fre_relay_exchange(s->relay, reply, &why, who, message, c->now);
        if (st == FRE_OK && why == FRE_NOT_REJECTED)
            st = fre_tagging_exchange(s->tagging, reply, &why, message, c->now);
    } else {
        st = fre_relay_submit(s->relay, reply, &why, who, message, c->now);
        *fresh |= st == FRE_OK && counters->accepted > before;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return st;
}

/* Sends one message of the outbox over a link that loses and repeats. */
static fre_status send_one(contact *c, const fre_outbox_item *item, fre_status *verdict)
{
    const fre_simulate_opts *o = c->s->opts;
    const fre_bytes message = {item->message.p, item->message.n};
    const fre_simulate_leg leg = leg_of(message);
    const bool lost = simulate_chance(&c->network, o->loss_rate);
    const bool there = lost && simulate_chance(&c->network, .5); /* only the answer is lost */
    bool fresh = false;
    fre_buf reply;
    fre_status st = FRE_OK;

    c->leg[leg].clients = 1;
    c->leg[leg].up += message.n;
    c->lost += lost;
    if (lost && !there)
        return FRE_OK;
    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    if (simulate_chance(&c->network, o->duplicate_rate)) {
        c->repeated++;
        c->leg[leg].up += message.n;
        st = serve(c, &reply, &fresh, leg, message);
        c->leg[leg].down += reply.n;
        fre_buf_wipe(&reply);
    }
    if (st == FRE_OK)
        st = serve(c, &reply, &fresh, leg, message);
    c->leg[leg].down += reply.n;
    if (st == FRE_OK && fresh && o->compare)
        st = simulate_exact_add(c->s, c->index, message);
    if (st == FRE_OK && !lost)
        *verdict =
            fre_client_answered(c->client, item->cookie, (fre_bytes){reply.p, reply.n}, c->now);
    fre_buf_wipe(&reply);
    return st;
}

/* Until the client has nothing more to send. */
static fre_status talk(contact *c)
{
    fre_status st = FRE_OK, verdict = FRE_OK;
    bool busy = true;

    for (uint32_t tries = 0; busy && st == FRE_OK && verdict == FRE_OK && tries < TRIES_MAX;
         tries++) {
        fre_outbox box;

        fre_outbox_init(&box);
        st = fre_client_tick(c->client, &box, c->now);
        busy = box.n > 0;
        for (size_t i = 0; i < box.n && st == FRE_OK; i++)
            st = send_one(c, &box.item[i], &verdict);
        fre_outbox_wipe(&box);
    }
    /* Memory apart, a server that breaks the protocol, which is our own fault here. */
    return st == FRE_OK ? verdict : st;
}

/* ---- one client -------------------------------------------------------------------------------- */

static fre_status texts_of(contact *c, const float **x, uint32_t *n, fre_err *err)
{
    const simulate_population *p = &c->s->population;
    const uint32_t *list;
    fre_status st;

    *n = simulate_client_rows(p, c->index, &list);
    c->spare_n = (size_t)*n * p->dim;
    c->spare = malloc(c->spare_n * sizeof *c->spare + 1);
    if (!c->spare)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for a client");
    if (*n == 1)
        return simulate_row(p, x, c->spare, list[0], err);
    *x = c->spare;
    for (uint32_t i = 0; i < *n; i++) {
        float *to = c->spare + (size_t)i * p->dim;
        const float *row;

        st = simulate_row(p, &row, to, list[i], err);
        if (st != FRE_OK)
            return st;
        if (row != to)
            memcpy(to, row, p->dim * sizeof *to);
    }
    return FRE_OK;
}

static fre_status begin_first(contact *c, const float *x, uint32_t n, fre_err *err)
{
    fre_rng r;
    fre_status st = simulate_stream(c->s, &r, "client", c->index);

    if (st == FRE_OK)
        st = fre_client_new(&c->client, c->s->terms, x, n, &c->s->host, &r, err);
    fre_rng_wipe(&r);
    return st;
}

static fre_status begin_second(contact *c, const float *x, uint32_t n, fre_err *err)
{
    const fre_bytes list = fre_relay_list_view(c->s->relay); /* constant from here on */
    fre_buf state;
    fre_status st;

    fre_buf_init(&state, 1u << 20);
    st = simulate_states_move(&c->s->states, &state, c->index);
    if (st == FRE_OK)
        st = fre_client_load(&c->client, c->s->terms, x, n, &c->s->host,
                             (fre_bytes){state.p, state.n}, err);
    fre_buf_wipe(&state);
    c->leg[FRE_SIMULATE_LIST].clients = 1;
    c->leg[FRE_SIMULATE_LIST].down += list.n;
    return st == FRE_OK ? fre_client_read(c->client, list, c->now, err) : st;
}

/* Under the lock: the numbers, and the state of a client that will come again. */
static fre_status add_numbers(contact *c)
{
    simulate_run *s = c->s;
    fre_simulation *out = s->out;
    fre_buf state;
    fre_status st = FRE_OK;

    for (size_t i = 0; i < FRE_SIMULATE_LEGS; i++) {
        out->leg[i].clients += c->leg[i].clients;
        out->leg[i].up += c->leg[i].up;
        out->leg[i].down += c->leg[i].down;
    }
    out->lost += c->lost;
    out->repeated += c->repeated;
    if (fre_client_stage(c->client) == FRE_STAGE_COUNTING) {
        fre_buf_init(&state, 1u << 20);
        st = fre_client_save(c->client, &state);
        if (st == FRE_OK)
            st = simulate_states_put(&s->states, c->index, (fre_bytes){state.p, state.n});
        fre_buf_wipe(&state);
    } else if (fre_client_verdict(c->client) != FRE_OK ||
               fre_client_stage(c->client) != FRE_STAGE_DONE) {
        out->refused++;
    }
    return st;
}

static fre_status run_client(contact *c, bool second, fre_err *err)
{
    simulate_run *s = c->s;
    const float *x;
    uint32_t n;
    fre_status st = texts_of(c, &x, &n, err);

    if (st == FRE_OK)
        st = second ? begin_second(c, x, n, err) : begin_first(c, x, n, err);
    if (st == FRE_OK)
        st = talk(c);
    if (st == FRE_OK) {
        (void)pthread_mutex_lock(&s->lock);
        st = add_numbers(c);
        (void)pthread_mutex_unlock(&s->lock);
    }
    fre_client_free(c->client);
    if (c->spare)
        fre_wipe(c->spare, c->spare_n * sizeof *c->spare);
    free(c->spare);
    return st;
}

/* ---- all of them ------------------------------------------------------------------------------- */

typedef struct contacts {
    simulate_run *s;
    bool second;
    int64_t from, to; /* their times are spread evenly over this */
} contacts;

/* Drops out, or had no second contact to make. */
static bool skips(contact *c, bool second)
{
    simulate_run *s = c->s;
    fre_buf unused;
    bool silent;

    if (!second)
        return false;
    if (!s->states.state[c->index])
        return true;
    silent = simulate_chance(&c->network, s->opts->dropout_rate);
    if (!silent)
        return false;
    fre_buf_init(&unused, 1u << 20);
    if (simulate_states_move(&s->states, &unused, c->index) == FRE_OK) {
        (void)pthread_mutex_lock(&s->lock);
        s->out->silent++;
        (void)pthread_mutex_unlock(&s->lock);
    }
    fre_buf_wipe(&unused);
    return true;
}

static fre_status one(const contacts *w, uint64_t i, fre_err *err)
{
    simulate_run *s = w->s;
    contact c = {.s = s, .index = i};
    fre_status st;

    c.now = w->from +
            (int64_t)((double)(w->to - w->from - 1) * ((double)i / (double)s->population.clients));
    st = simulate_stream(s, &c.network, w->second ? "network-2" : "network-1", i);
    if (st == FRE_OK && !skips(&c, w->second))
        st = run_client(&c, w->second, err);
    fre_rng_wipe(&c.network);
    return st;
}

static fre_status job(void *ctx, uint64_t chunk)
{
    const contacts *w = ctx;
    simulate_run *s = w->s;
    const uint64_t first = chunk * CHUNK;
    fre_err err = {.text = ""};
    fre_status st = FRE_OK;
    uint64_t i = first;

    for (; st == FRE_OK && i < first + CHUNK && i < s->population.clients; i++)
        st = fre_interrupted() ? fre_fail(&err, FRE_E_INTERRUPTED, "interrupted") : one(w, i, &err);
    (void)pthread_mutex_lock(&s->lock);
    s->done += i - first;
    if (st != FRE_OK && !s->fault.text[0])
        (void)fre_fail(&s->fault, st, "%s", err.text[0] ? err.text : fre_status_text(st));
    fre_progress_update(s->opts->progress, w->second ? "shares" : "tags and reports", s->done,
                        s->population.clients);
    (void)pthread_mutex_unlock(&s->lock);
    return st;
}

static fre_status run_all(simulate_run *s, const contacts *w, fre_err *err)
{
    const uint64_t n = (s->population.clients + CHUNK - 1) / CHUNK;
    contacts mine = *w;
    fre_status st;

    s->done = 0;
    st = fre_parallel(s->opts->threads, n, job, &mine);
    s->now = w->to;
    return st == FRE_OK ? st : fre_fail(err, st, "%s", s->fault.text);
}

fre_status simulate_first_contact(simulate_run *s, fre_err *err)
{
    const contacts w = {.s = s, .from = s->collection.open, .to = s->collection.tags_close};
    fre_status st = simulate_states_init(&s->states, s->population.clients);

    return st == FRE_OK ? run_all(s, &w, err)
                        : fre_fail(err, st, "out of memory for the clients' states");
}

fre_status simulate_second_contact(simulate_run *s, fre_err *err)
{
    const contacts w = {
        .s = s, .second = true, .from = s->collection.tags_close, .to = s->collection.shares_close};

    return run_all(s, &w, err);
}
