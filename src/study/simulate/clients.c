/* simulate/clients.c - every client from its first message to its last, on all threads.
 *
 * Time goes in steps.  Clients come up one after the other in the first quarter of the time in which
 * entries are taken, as devices do; each asks and sends when its machine says so, tries what was lost
 * again within the step, and is gone once it has no more to send. */
#include "simulate_private.h"

#define STEPS 48u
#define COMING (STEPS / 4)
#define TRIES 40u /* of one step */

/* One client's step; added to the run's numbers when it is over. */
typedef struct contact {
    simulate_run *s;
    uint64_t index;
    fre_links links;
    fre_rng network;
    fre_simulate_traffic leg[FRE_SIMULATE_LEGS];
    uint64_t server_messages, server_bytes;
    fre_simulate_leg now;
    uint64_t before; /* entries and answers that the relay had */
    bool fresh;      /* it took this one, which was not there */
    bool gone;       /* silent, and its time came */
} contact;

/* ---- the network ------------------------------------------------------------------------------ */

static void enter(void *ctx, fre_server *x)
{
    contact *c = ctx;
    const fre_role role = fre_server_role(x);

    if (role == 0)
        return;
    (void)pthread_mutex_lock(&c->s->role_lock[role]);
    c->before = fre_server_tally(x)->accepted;
}

static void leave(void *ctx, fre_server *x)
{
    contact *c = ctx;
    const fre_role role = fre_server_role(x);

    if (role == 0)
        return;
    if (role == FRE_ROLE_RELAY && c->now >= FRE_SIMULATE_REPORTS)
        c->fresh |= fre_server_tally(x)->accepted > c->before;
    (void)pthread_mutex_unlock(&c->s->role_lock[role]);
}

static fre_simulate_leg last_leg(const simulate_run *s)
{
    return s->collection.one_contact ? FRE_SIMULATE_REPORTS : FRE_SIMULATE_ANSWERS;
}

static fre_status carry_of_client(contact *c, const fre_carry *m, fre_bytes message,
                                  fre_buf *answer)
{
    fre_simulate_traffic *leg;
    fre_status st;

    c->now = simulate_leg_of(m->what);
    c->gone |= c->now == last_leg(c->s) && c->s->client[c->index].silent;
    if (c->gone)
        return FRE_OK;
    leg = &c->leg[c->now];
    leg->clients = !c->s->client[c->index].did[c->now];
    leg->up += message.n;
    c->fresh = false;
    st = fre_links_carry(&c->links, FRE_ROLE_RELAY, message, answer);
    leg->down += answer->n;
    return st == FRE_OK && c->fresh && c->s->opts->compare
               ? simulate_exact_add(c->s, c->index, m->what, m->bytes)
               : st;
}

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    contact *c = ctx;
    fre_carry m;
    fre_status st;

    if (fre_server_role(x) == 0) {
        st = fre_carry_decode(&m, &c->s->wire, message, NULL);
        return st == FRE_OK ? carry_of_client(c, &m, message, answer) : FRE_E_INTERNAL;
    }
    st = fre_links_carry(&c->links, to, message, answer);
    c->server_messages++;
    c->server_bytes += message.n + answer->n;
    return st;
}

/* ---- one client -------------------------------------------------------------------------------- */

/* Its texts, as rows. */
static fre_status copy_texts(const simulate_run *s, float *x, const uint32_t *list, uint32_t n,
                             fre_err *err)
{
    const uint32_t dim = s->population.dim;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < n; i++) {
        float *to = x + (size_t)i * dim;
        const float *row;

        st = simulate_row(&s->population, &row, to, list[i], err);
        if (st == FRE_OK && row != to)
            memcpy(to, row, dim * sizeof *to);
    }
    return st;
}

static fre_status choose_silence(simulate_run *s, uint64_t i)
{
    fre_rng r;
    fre_status st;

    if (s->opts->dropout_rate <= 0)
        return FRE_OK;
    st = simulate_stream(s, &r, "dropout", i);
    if (st == FRE_OK)
        s->client[i].silent = fre_aggregate_coin(&r, fre_p32(s->opts->dropout_rate));
    fre_rng_wipe(&r);
    return st;
}

/* Everybody who is simulated has an account: by number, or as the transport says. */
static fre_status credentials_of(simulate_run *s, uint8_t out[FRE_WIRE_CREDENTIALS_MAX], size_t *n,
                                 uint64_t i)
{
    const fre_simulate_transport *t = s->opts->transport;

    if (t)
        return t->credentials(t->ctx, out, n, &s->wire.id, i);
    memcpy(out, &i, sizeof i);
    *n = sizeof i;
    return FRE_OK;
}

fre_status simulate_make_client(simulate_run *s, fre_server **out, uint64_t i, fre_err *err)
{
    const uint32_t *list, n = simulate_client_rows(&s->population, i, &list);
    const size_t bytes = (size_t)n * s->population.dim * sizeof(float);
    uint8_t credentials[FRE_WIRE_CREDENTIALS_MAX];
    float *x = malloc(bytes + 1);
    fre_client_setup setup = {.x = x, .n = n, .fresh = true, .number = i};
    fre_status st = x ? copy_texts(s, x, list, n, err) : FRE_E_NOMEM;

    setup.credentials.p = credentials;
    if (st == FRE_OK)
        st = credentials_of(s, credentials, &setup.credentials.n, i);
    if (st == FRE_OK)
        st = fre_server_new_client(out, s->agreement, &setup, err);
    fre_wipe_free(x, bytes);
    return st;
}

/* Until it has nothing more to send now. */
static fre_status talk(contact *c)
{
    fre_server *x = c->s->client[c->index].machine;
    size_t letters = 1;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && letters > 0 && !c->gone && i < TRIES; i++)
        st = fre_server_step(x, &c->links.host, &letters, c->links.now);
    return st;
}

/* Two contacts: the list, once. */
static fre_status fetch_list(contact *c)
{
    fre_server *x = c->s->client[c->index].machine;
    const fre_bytes list = fre_server_list_view(c->s->server[FRE_ROLE_RELAY]);
    fre_buf answer;
    fre_status st;

    if (list.n == 0 || fre_server_phase(x) != FRE_PHASE_TAKING)
        return FRE_OK;
    c->leg[FRE_SIMULATE_ANSWERS].down += list.n;
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    st = fre_server_take(x, &c->links.host, &answer, list, c->links.now);
    fre_buf_wipe(&answer);
    return st;
}

/* Under the lock: what it did, and whether it is over. */
static void add_numbers(contact *c)
{
    simulate_run *s = c->s;
    fre_simulation *out = s->out;
    simulate_client *k = &s->client[c->index];
    const fre_phase phase = fre_server_phase(k->machine);
    const bool over = phase >= FRE_PHASE_CLOSED && phase != FRE_PHASE_ANSWERING;

    simulate_add_legs(s, k, c->leg);
    out->server_messages += c->server_messages;
    out->server_bytes += c->server_bytes;
    out->lost += c->links.lost;
    out->repeated += c->links.repeated;
    out->silent += c->gone;
    out->refused += over && fre_server_client_verdict(k->machine) != FRE_OK;
    if (!over && !c->gone)
        return;
    fre_server_free(k->machine);
    k->machine = NULL;
}

/* Steps of the answers go on behind those of the entries. */
static fre_status come_up(simulate_run *s, uint64_t i, uint32_t step, fre_err *err)
{
    fre_status st;

    if (i * COMING / s->population.clients != step)
        return FRE_OK;
    st = choose_silence(s, i);
    return st == FRE_OK ? simulate_make_client(s, &s->client[i].machine, i, err) : st;
}

static fre_status step_client(simulate_run *s, uint64_t i, uint32_t step, fre_err *err)
{
    contact c = {.s = s, .index = i};
    fre_status st = come_up(s, i, step, err);

    if (st != FRE_OK || s->client[i].machine == NULL)
        return st;
    simulate_link(s, &c.links);
    c.links.host = (fre_host){.ctx = &c, .enter = enter, .leave = leave, .carry = carry};
    c.links.rng = simulate_has_faults(s) ? &c.network : NULL;
    if (c.links.rng)
        st = simulate_stream(s, &c.network, "network", i * 2 * (STEPS + 1) + step);
    if (st == FRE_OK)
        st = fetch_list(&c);
    if (st == FRE_OK)
        st = talk(&c);
    if (st == FRE_OK) {
        (void)pthread_mutex_lock(&s->lock);
        add_numbers(&c);
        (void)pthread_mutex_unlock(&s->lock);
    }
    fre_links_wipe(&c.links);
    fre_rng_wipe(&c.network);
    return st;
}

/* ---- all of them ------------------------------------------------------------------------------- */

typedef struct steps {
    simulate_run *s;
    uint32_t step;
} steps;

static fre_status step_one(void *ctx, uint64_t i, fre_err *err)
{
    const steps *w = ctx;

    return step_client(w->s, i, w->step, err);
}

/* The last step is behind the last second: who is late has to end then. */
static fre_status take_steps(simulate_run *s, uint32_t first, int64_t from, int64_t to,
                             fre_err *err)
{
    fre_status st = FRE_OK;

    for (uint32_t step = 0; st == FRE_OK && step <= STEPS; step++) {
        steps w = {.s = s, .step = first + step};

        s->now = from + (to - from) * step / STEPS;
        fre_progress_update(s->opts->progress, first == 0 ? "clients" : "answers", step, STEPS);
        st = simulate_each(s, s->opts->threads, step_one, &w, err);
    }
    return st;
}

fre_status simulate_clients(simulate_run *s, fre_err *err)
{
    s->client = calloc(s->population.clients, sizeof *s->client);
    if (!s->client)
        return fre_fail(err, FRE_E_NOMEM, "out of memory for the clients");
    return take_steps(s, 0, s->collection.open, s->collection.tags_close, err);
}

fre_status simulate_answers(simulate_run *s, fre_err *err)
{
    const fre_bytes published = fre_server_list_view(s->server[FRE_ROLE_RELAY]);
    fre_list list;
    fre_status st;

    if (published.n == 0)
        return FRE_OK; /* the collection is void */
    st = fre_listed_decode(&list, &s->wire, published, err);
    if (st == FRE_OK)
        st = fre_wire_derive_share_bits(&s->wire, &list, err);
    s->out->share_bits = s->wire.share_bits;
    return st == FRE_OK
               ? take_steps(s, STEPS + 1, s->collection.tags_close, s->collection.shares_close, err)
               : st;
}

void simulate_clients_wipe(simulate_run *s)
{
    for (uint64_t i = 0; s->client && i < s->population.clients; i++)
        fre_server_free(s->client[i].machine);
    free(s->client);
    s->client = NULL;
}
