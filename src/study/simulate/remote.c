/* simulate/remote.c - clients of this process, servers of others: the clock is the real one, and a client waits
 * for an answer while others go on. */
#include "simulate_private.h"

#define THREADS 32u /* most of them wait */
#define LOOK_MS 250u
#define RELEASE_SECONDS 1800 /* behind the last second of clients */

typedef struct crowd {
    simulate_run *s;
    fre_buf list;  /* two contacts; empty: not there yet */
    uint64_t left; /* of this look; under the run's lock */
} crowd;

typedef struct contact {
    crowd *w;
    uint64_t index;
    fre_simulate_traffic leg[FRE_SIMULATE_LEGS];
    uint64_t lost;
} contact;

/* ---- one client ------------------------------------------------------------------------------------ */

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    contact *c = ctx;
    const fre_simulate_transport *t = c->w->s->opts->transport;
    fre_simulate_traffic *leg;
    fre_carry m;
    fre_status st = fre_carry_decode(&m, &c->w->s->wire, message, NULL);

    (void)x;
    (void)to;
    if (st != FRE_OK)
        return FRE_E_INTERNAL;
    leg = &c->leg[simulate_leg_of(m.what)];
    leg->clients = !c->w->s->client[c->index].did[simulate_leg_of(m.what)];
    leg->up += message.n;
    st = t->carry(t->ctx, message, answer);
    leg->down += answer->n;
    c->lost += answer->n == 0;
    return st;
}

static bool is_over(const fre_server *x)
{
    const fre_phase p = fre_server_phase(x);

    return p >= FRE_PHASE_CLOSED && p != FRE_PHASE_ANSWERING;
}

static fre_status answer_list(contact *c, const fre_host *h, fre_server *x)
{
    const fre_buf *list = &c->w->list;
    fre_buf answer;
    fre_status st;

    if (list->n == 0 || fre_server_phase(x) != FRE_PHASE_TAKING)
        return FRE_OK;
    c->leg[FRE_SIMULATE_ANSWERS].down += list->n;
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    st = fre_server_take(x, h, &answer, (fre_bytes){list->p, list->n}, fre_clock_unix());
    fre_buf_wipe(&answer);
    return st;
}

/* Until it has nothing to say now, or is not answered. */
static fre_status talk(contact *c, fre_server *x)
{
    const fre_host h = {.ctx = c, .carry = carry};
    fre_status st = answer_list(c, &h, x);
    size_t letters = 1;

    while (st == FRE_OK && letters > 0 && c->lost == 0 && !is_over(x))
        st = fre_server_step(x, &h, &letters, fre_clock_unix());
    return st;
}

/* Under the lock. */
static void add_numbers(contact *c)
{
    simulate_run *s = c->w->s;
    simulate_client *k = &s->client[c->index];
    const bool over = is_over(k->machine);

    simulate_add_legs(s, k, c->leg);
    s->out->lost += c->lost;
    s->out->refused += over && fre_server_client_verdict(k->machine) != FRE_OK;
    c->w->left += !over;
    if (!over)
        return;
    fre_server_free(k->machine);
    k->machine = NULL;
}

static fre_status look(void *ctx, uint64_t i, fre_err *err)
{
    crowd *w = ctx;
    simulate_run *s = w->s;
    simulate_client *k = &s->client[i];
    contact c = {.w = w, .index = i};
    fre_status st = FRE_OK;

    if (!k->made)
        st = simulate_make_client(s, &k->machine, i, err);
    k->made = true;
    if (st != FRE_OK || !k->machine)
        return st;
    st = talk(&c, k->machine);
    if (st != FRE_OK)
        return st;
    (void)pthread_mutex_lock(&s->lock);
    add_numbers(&c);
    (void)pthread_mutex_unlock(&s->lock);
    return FRE_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------- */

static fre_status fetch(simulate_run *s, const char *what, fre_buf *out)
{
    const fre_simulate_transport *t = s->opts->transport;

    return t->fetch(t->ctx, what, out);
}

static fre_status fetch_list(crowd *w)
{
    simulate_run *s = w->s;
    const bool due = !s->collection.one_contact && w->list.n == 0 &&
                     fre_clock_unix() >= s->collection.tags_close;
    fre_list list;
    fre_status st = due ? fetch(s, "list", &w->list) : FRE_OK;

    if (st != FRE_OK || !due || w->list.n == 0)
        return st;
    st = fre_listed_decode(&list, &s->wire, (fre_bytes){w->list.p, w->list.n}, NULL);
    if (st == FRE_OK)
        st = fre_wire_derive_share_bits(&s->wire, &list, NULL);
    s->out->share_bits = s->wire.share_bits;
    return st;
}

fre_status simulate_remote_clients(simulate_run *s, fre_err *err)
{
    const uint64_t n = s->population.clients;
    crowd w = {.s = s, .left = 1};
    fre_status st = FRE_OK;

    s->client = calloc(n, sizeof *s->client);
    if (!s->client)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the clients");
    fre_buf_init(&w.list, FRE_WIRE_MESSAGE_MAX);
    while (st == FRE_OK && w.left > 0) {
        w.left = 0;
        st = fetch_list(&w);
        if (st == FRE_OK)
            st = simulate_each(s, THREADS, look, &w, err);
        fre_progress_update(s->opts->progress, "clients", n - w.left, n);
        fre_sleep_ms(LOOK_MS);
    }
    fre_buf_wipe(&w.list);
    return st;
}

/* ---- before and after --------------------------------------------------------------------------------- */

fre_status simulate_remote_open(simulate_run *s, fre_err *err)
{
    const fre_simulate_transport *t = s->opts->transport;
    uint8_t embedder[FRE_HASH_BYTES] = {0};
    fre_status st;

    if (!fre_unhex(embedder, sizeof embedder, s->population.embedder.sha256))
        memset(embedder, 0, sizeof embedder);
    st = t->open(t->ctx, &s->collection, &s->out->plan, embedder, s->opts->batch_min,
                 s->population.clients, err);
    s->remote = st == FRE_OK;
    return st;
}

fre_status simulate_remote_part(simulate_run *s, fre_buf *out, uint32_t part, fre_err *err)
{
    const int64_t end = s->collection.shares_close + RELEASE_SECONDS;
    char what[32];
    fre_status st;

    (void)snprintf(what, sizeof what, "release/%u", part);
    for (;;) {
        st = fetch(s, what, out);
        if (st != FRE_OK || out->n > 0 || part > 0)
            return st;
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        if (fre_clock_unix() >= end)
            return fre_fail(
                err, FRE_E_REFUSED,
                "the servers published nothing: fewer than %llu entries came, or one of "
                "them cancelled",
                (unsigned long long)s->opts->batch_min);
        fre_progress_update(s->opts->progress, "waiting for the release", 0, 0);
        fre_sleep_ms(LOOK_MS);
    }
}

void simulate_remote_close(simulate_run *s)
{
    if (s->remote)
        s->opts->transport->close(s->opts->transport->ctx, s->out->role_kib);
    s->remote = false;
}
