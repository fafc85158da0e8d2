/* Memory that runs out: every message of a whole collection, every machine's start, save, load and
 * tick, with each of their allocations failing in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "relay.h"
#include "parties_net.h"
#include "synthesis.h"
#include "tagging.h"

#define USERS 5u
#define CLIENT 0u /* beside fre_role */
#define ALLOCATIONS_MAX 4000u

/* ---- copies of the four machines --------------------------------------------------------------------- */

static fre_status keep_nothing(void *ctx, fre_bytes state)
{
    (void)ctx;
    (void)state;
    return FRE_OK;
}

static fre_status spend_nothing(void *ctx, const fre_collection_id *id, double epsilon,
                                double delta)
{
    (void)ctx;
    (void)id;
    (void)epsilon;
    (void)delta;
    return FRE_OK;
}

typedef struct machines {
    fre_tagging *tag;
    fre_synthesis *syn;
    fre_relay *relay;
    fre_client *client;
} machines;

typedef struct watcher {
    net n;
    fre_client_host host;
    fre_buf state;               /* of the machine in question */
    uint64_t failures, refusals; /* seen */
    uint32_t user;               /* whose state it is, if a client's */
} watcher;

static void save(watcher *w, fre_role role)
{
    fre_status st;

    fre_buf_wipe(&w->state);
    st = role == FRE_ROLE_TAG     ? fre_tagging_save(w->n.tag, &w->state)
         : role == FRE_ROLE_SYN   ? fre_synthesis_save(w->n.syn, &w->state)
         : role == FRE_ROLE_RELAY ? fre_relay_save(w->n.relay, &w->state)
                                  : fre_client_save(w->n.user[w->user].client, &w->state);
    must(st == FRE_OK);
}

static fre_status load(watcher *w, machines *m, fre_role role)
{
    const fre_collection *c = &w->n.s.w.c;
    const fre_bytes state = sample_view(&w->state);
    const net_user *u = &w->n.user[w->user];
    fre_oprf_key key = w->n.s.oprf;

    *m = (machines){.tag = NULL};
    if (role == FRE_ROLE_TAG)
        return fre_tagging_load(&m->tag, c, &w->n.tag_keys, &key, state, NULL);
    if (role == FRE_ROLE_SYN)
        return fre_synthesis_load(&m->syn, c, &w->n.syn_keys, state, NULL);
    if (role == FRE_ROLE_RELAY)
        return fre_relay_load(&m->relay, c, &w->n.s.relay_sk, state, NULL);
    return fre_client_load(&m->client, w->n.terms, u->x, u->texts, &w->host, state, NULL);
}

static void scrap(machines *m)
{
    fre_tagging_free(m->tag);
    fre_synthesis_free(m->syn);
    fre_relay_free(m->relay);
    fre_client_free(m->client);
}

/* ---- one call, again and again ------------------------------------------------------------------------ */

typedef enum act { HANDLE, EXCHANGE, SUBMIT, TICK, SAVE, LOAD, READ } act;

typedef struct call {
    fre_role role;
    act what;
    fre_bytes in;
    int64_t now;
} call;

static fre_status handle(const call *c, machines *m, fre_buf *reply, fre_rejection *why)
{
    static const uint32_t name = 0;

    if (c->role == FRE_ROLE_TAG)
        return c->what == EXCHANGE ? fre_tagging_exchange(m->tag, reply, why, c->in, c->now)
                                   : fre_tagging_handle(m->tag, reply, why, c->in, c->now);
    if (c->role == FRE_ROLE_SYN)
        return fre_synthesis_handle(m->syn, reply, why, c->in, c->now);
    if (c->what == EXCHANGE)
        return fre_relay_exchange(m->relay, reply, why, net_name(&name), c->in, c->now);
    if (c->what == SUBMIT)
        return fre_relay_submit(m->relay, reply, why, net_name(&name), c->in, c->now);
    return fre_relay_handle(m->relay, reply, why, c->in, c->now);
}

static fre_status tick(const call *c, machines *m, fre_outbox *out)
{
    if (c->role == FRE_ROLE_TAG)
        return fre_tagging_tick(m->tag, out, c->now);
    if (c->role == FRE_ROLE_SYN)
        return fre_synthesis_tick(m->syn, out, c->now);
    if (c->role == FRE_ROLE_RELAY)
        return fre_relay_tick(m->relay, out, c->now);
    return fre_client_tick(m->client, out, c->now);
}

static fre_status save_again(const call *c, machines *m, fre_buf *out)
{
    return c->role == FRE_ROLE_TAG     ? fre_tagging_save(m->tag, out)
           : c->role == FRE_ROLE_SYN   ? fre_synthesis_save(m->syn, out)
           : c->role == FRE_ROLE_RELAY ? fre_relay_save(m->relay, out)
                                       : fre_client_save(m->client, out);
}

/* With the k-th allocation failing.  False: there were fewer.  *why: of the call, or, if that failed,
 * of the same call with memory again. */
static bool once(watcher *w, const call *c, uint64_t k, fre_rejection *why)
{
    const int64_t before = alloc_blocks();
    fre_status st = FRE_OK;
    fre_outbox out;
    fre_buf reply;
    machines m;
    bool failed;

    fre_outbox_init(&out);
    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    *why = FRE_NOT_REJECTED;
    if (c->what != LOAD)
        must(load(w, &m, c->role) == FRE_OK);
    for (unsigned again = 0; again < 2; again++) {
        if (!again)
            alloc_fail_after(k);
        if (c->what == LOAD)
            st = load(w, &m, c->role);
        else if (c->what == SAVE)
            st = save_again(c, &m, &reply);
        else if (c->what == TICK)
            st = tick(c, &m, &out);
        else if (c->what == READ)
            st = fre_client_read(m.client, c->in, c->now, NULL);
        else
            st = handle(c, &m, &reply, why);
        if (!again)
            failed = alloc_heal();
        if (again || st == FRE_OK || st == FRE_E_STATE || st == FRE_E_REFUSED || st == FRE_E_DATA)
            break;
        assert_int_equal(st, FRE_E_NOMEM);
        assert_int_equal(reply.n, 0);
        if (c->what == LOAD)
            assert_true(!m.tag && !m.syn && !m.relay && !m.client);
        w->failures++;
        fre_outbox_wipe(&out);
    }
    assert_true(st != FRE_E_NOMEM);
    w->refusals += *why != FRE_NOT_REJECTED;
    fre_outbox_wipe(&out);
    fre_buf_wipe(&reply);
    scrap(&m);
    assert_true(alloc_blocks() == before);
    return failed;
}

/* The message is answered in the end as if there had been memory all the time. */
static void in_turn(watcher *w, const call *c)
{
    fre_rejection first, why;
    uint64_t k = 0;

    w->user = 0;
    save(w, c->role);
    (void)once(w, c, ALLOC_NEVER - 1, &first);
    while (once(w, c, k, &why)) {
        assert_int_equal(why, first);
        assert_true(++k < ALLOCATIONS_MAX);
    }
    assert_int_equal(why, first);
}

/* ---- a collection ------------------------------------------------------------------------------------ */

static void each_message(net *n, fre_role who, fre_bytes what)
{
    watcher *w = n->seen;
    call c = {.role = who, .what = HANDLE, .in = what, .now = n->now};
    fre_collection_id id;
    fre_wire_type type;

    if (fre_wire_peek(&type, &id, what) != FRE_OK || memcmp(id.b, n->s.w.id.b, sizeof id.b) != 0)
        c.what = EXCHANGE;
    else if (who == FRE_ROLE_RELAY &&
             (type == FRE_WIRE_SHARE || (type == FRE_WIRE_REPORT && n->now < n->s.w.c.tags_close)))
        c.what = SUBMIT;
    in_turn(w, &c);
    if (what.n == 0)
        return;
    c.in.n--; /* and refused ones */
    in_turn(w, &c);
}

static void all_at_rest(watcher *w)
{
    static const act acts[] = {SAVE, LOAD, TICK};

    for (unsigned role = CLIENT; role <= FRE_ROLE_RELAY; role++)
        for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
            const call c = {.role = (fre_role)role, .what = acts[i], .now = w->n.now};

            in_turn(w, &c);
        }
    if (fre_relay_list_view(w->n.relay).n > 0) {
        const call c = {
            .role = CLIENT, .what = READ, .in = fre_relay_list_view(w->n.relay), .now = w->n.now};

        in_turn(w, &c);
    }
}

static void collection(bool one_contact)
{
    const int64_t begun = alloc_blocks();
    fre_collection terms;
    sample keys;
    watcher w;

    memset(&w, 0, sizeof w);
    terms = small_collection(&keys);
    if (one_contact) {
        terms.one_contact = true;
        terms.dropout = 0;
        terms.shares_close = terms.tags_close;
    }
    fre_buf_init(&w.state, SAMPLE_MAX);
    net_open(&w.n, &keys, &terms, USERS, 2, 91);
    w.n.saw = each_message;
    w.n.seen = &w;
    w.host = (fre_client_host){.keep = keep_nothing, .spend = spend_nothing, .noise = &w.n.noise};
    for (uint32_t i = 0; i < USERS; i++) {
        float x[SMALL_DIM];

        small_text(x, 0, i);
        net_join(&w.n, i, x, 1);
    }
    for (w.n.now = terms.open; w.n.now <= 3000; w.n.now += 1000)
        for (unsigned round = 0; round < 4; round++) {
            net_step_all(&w.n);
            (void)net_pump_all(&w.n, 2);
            all_at_rest(&w);
        }
    assert_int_equal(fre_synthesis_stage(w.n.syn), FRE_STAGE_DONE);
    assert_true(w.failures > 1000);
    assert_true(w.refusals > 100);
    fre_buf_wipe(&w.state);
    net_close(&w.n);
    assert_true(alloc_blocks() == begun);
}

static void pitfall_20_nothing_leaks_when_memory_runs_out(void **state)
{
    (void)state;
    collection(false);
    collection(true);
}

/* ---- machines that are not made ------------------------------------------------------------------------ */

static net started;
static fre_buf states[FRE_ROLE_RELAY + 1]; /* of a machine of each role */
static const fre_client_host idle = {.keep = keep_nothing, .spend = spend_nothing};
static const fre_relay_opts opened = {.batch_min = 2};
static const float text[SMALL_DIM] = {1};

/* What a constructor takes is wiped by it. */
static fre_oprf_key *a_key(void)
{
    static fre_oprf_key key;

    key = started.s.oprf;
    return &key;
}

static fre_rng *a_stream(void)
{
    static fre_rng rng;

    small_rng(&rng, 8);
    return &rng;
}

#define TERMS (&started.s.w.c)
#define SAVED(role) sample_view(&states[role])

ALLOC_CASE(fre_tagging_new, fre_tagging, fre_tagging_free,
           fre_tagging_new(&x, TERMS, &started.tag_keys, a_key(), a_stream(), err));
ALLOC_CASE(fre_tagging_load, fre_tagging, fre_tagging_free,
           fre_tagging_load(&x, TERMS, &started.tag_keys, a_key(), SAVED(FRE_ROLE_TAG), err));
ALLOC_CASE(fre_synthesis_new, fre_synthesis, fre_synthesis_free,
           fre_synthesis_new(&x, TERMS, &started.syn_keys, parties_view("said", 4), a_stream(),
                             err));
ALLOC_CASE(fre_synthesis_load, fre_synthesis, fre_synthesis_free,
           fre_synthesis_load(&x, TERMS, &started.syn_keys, SAVED(FRE_ROLE_SYN), err));
ALLOC_CASE(fre_relay_new, fre_relay, fre_relay_free,
           fre_relay_new(&x, TERMS, &opened, &started.s.relay_sk, a_stream(), err));
ALLOC_CASE(fre_relay_load, fre_relay, fre_relay_free,
           fre_relay_load(&x, TERMS, &started.s.relay_sk, SAVED(FRE_ROLE_RELAY), err));
ALLOC_CASE(fre_client_new, fre_client, fre_client_free,
           fre_client_new(&x, started.terms, text, 1, &idle, a_stream(), err));
ALLOC_CASE(fre_client_load, fre_client, fre_client_free,
           fre_client_load(&x, started.terms, text, 1, &idle, SAVED(CLIENT), err));

static void keep(fre_status st, unsigned role)
{
    assert_int_equal(st, FRE_OK);
    assert_true(states[role].n > 0);
}

static void save_all(void)
{
    fre_client *c = NULL;
    fre_err err;

    assert_int_equal(fre_client_new_make((void **)&c, &err), FRE_OK);
    keep(fre_client_save(c, &states[CLIENT]), CLIENT);
    fre_client_free(c);
    keep(fre_tagging_save(started.tag, &states[FRE_ROLE_TAG]), FRE_ROLE_TAG);
    keep(fre_synthesis_save(started.syn, &states[FRE_ROLE_SYN]), FRE_ROLE_SYN);
    keep(fre_relay_save(started.relay, &states[FRE_ROLE_RELAY]), FRE_ROLE_RELAY);
}

static void pitfall_20_nothing_leaks_before_the_start(void **state)
{
    fre_collection terms;
    sample keys;

    (void)state;
    terms = small_collection(&keys);
    net_open(&started, &keys, &terms, 1, 2, 92);
    for (unsigned role = CLIENT; role <= FRE_ROLE_RELAY; role++)
        fre_buf_init(&states[role], SAMPLE_MAX);
    save_all();
    (void)alloc_torture(&fre_tagging_new_case, NULL);
    (void)alloc_torture(&fre_tagging_load_case, NULL);
    (void)alloc_torture(&fre_synthesis_new_case, NULL);
    (void)alloc_torture(&fre_synthesis_load_case, NULL);
    (void)alloc_torture(&fre_relay_new_case, NULL);
    (void)alloc_torture(&fre_relay_load_case, NULL);
    (void)alloc_torture(&fre_client_new_case, NULL);
    (void)alloc_torture(&fre_client_load_case, NULL);
    for (unsigned role = CLIENT; role <= FRE_ROLE_RELAY; role++)
        fre_buf_wipe(&states[role]);
    net_close(&started);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_20_nothing_leaks_before_the_start),
        cmocka_unit_test(pitfall_20_nothing_leaks_when_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
