/* Memory that runs out: every message of a whole collection, every machine's start, save, load and
 * tick, with each of their allocations failing in turn.  The program is linked with its own malloc
 * and free in front of the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relay.h"
#include "parties_net.h"
#include "synthesis.h"
#include "tagging.h"

#define USERS 5u
#define CLIENT 0u /* beside fre_role */
#define NEVER UINT64_MAX
#define ALLOCATIONS_MAX 4000u

/* ---- an allocator that fails when it is told to ---------------------------------------------------- */

static volatile int64_t blocks; /* allocated and not freed; the compiler thinks malloc leaves it */
static volatile uint64_t left = NEVER; /* allocations until one fails, and all after it */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_aligned_alloc(size_t to, size_t n);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__real_sodium_malloc(size_t n);
void __real_sodium_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_aligned_alloc(size_t to, size_t n);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
void *__wrap_sodium_malloc(size_t n);
void __wrap_sodium_free(void *p);

static bool fails(void)
{
    if (left == NEVER)
        return false;
    if (left == 0)
        return true;
    left--;
    return false;
}

static void *counted(void *p)
{
    blocks += p != NULL;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t each)
{
    return fails() ? NULL : counted(__real_calloc(n, each));
}

void *__wrap_aligned_alloc(size_t to, size_t n)
{
    return fails() ? NULL : counted(__real_aligned_alloc(to, n));
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = fails() ? NULL : __real_realloc(p, n);

    if (!p)
        (void)counted(q);
    return q;
}

void __wrap_free(void *p)
{
    blocks -= p != NULL;
    __real_free(p);
}

void *__wrap_sodium_malloc(size_t n)
{
    return fails() ? NULL : counted(__real_sodium_malloc(n));
}

void __wrap_sodium_free(void *p)
{
    blocks -= p != NULL;
    __real_sodium_free(p);
}

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
    const int64_t before = blocks;
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
        left = again ? NEVER : k;
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
            failed = left == 0;
        left = NEVER;
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
    assert_true(blocks == before);
    return failed;
}

/* The message is answered in the end as if there had been memory all the time. */
static void in_turn(watcher *w, const call *c)
{
    fre_rejection first, why;
    uint64_t k = 0;

    w->user = 0;
    save(w, c->role);
    (void)once(w, c, NEVER - 1, &first);
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

static void collection(bool one_shot)
{
    const int64_t begun = blocks;
    fre_collection terms;
    sample keys;
    watcher w;

    memset(&w, 0, sizeof w);
    terms = small_collection(&keys);
    if (one_shot) {
        terms.one_shot = true;
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
    assert_true(blocks == begun);
}

static void pitfall_20_nothing_leaks_when_memory_runs_out(void **state)
{
    (void)state;
    collection(false);
    collection(true);
}

/* ---- machines that are not made ------------------------------------------------------------------------ */

static fre_status new_one(const net *n, machines *m, unsigned role)
{
    const fre_relay_opts opts = {.batch_min = 2};
    const fre_collection *c = &n->s.w.c;
    static const float x[SMALL_DIM] = {1};
    static const fre_client_host host = {.keep = keep_nothing, .spend = spend_nothing};
    fre_oprf_key key = n->s.oprf;
    fre_rng rng;

    *m = (machines){.tag = NULL};
    small_rng(&rng, 8);
    if (role == FRE_ROLE_TAG)
        return fre_tagging_new(&m->tag, c, &n->tag_keys, &key, &rng, NULL);
    if (role == FRE_ROLE_SYN)
        return fre_synthesis_new(&m->syn, c, &n->syn_keys, parties_view("said", 4), &rng, NULL);
    if (role == FRE_ROLE_RELAY)
        return fre_relay_new(&m->relay, c, &opts, &n->s.relay_sk, &rng, NULL);
    return fre_client_new(&m->client, n->terms, x, 1, &host, &rng, NULL);
}

static void pitfall_20_nothing_leaks_before_the_start(void **state)
{
    fre_collection terms;
    sample keys;
    net n;

    (void)state;
    terms = small_collection(&keys);
    net_open(&n, &keys, &terms, 1, 2, 92);
    for (unsigned role = CLIENT; role <= FRE_ROLE_RELAY; role++)
        for (uint64_t k = 0;; k++) {
            const int64_t before = blocks;
            machines m;
            fre_status st;

            left = k;
            st = new_one(&n, &m, role);
            left = NEVER;
            scrap(&m);
            assert_true(blocks == before);
            if (st == FRE_OK) {
                assert_true(k > 0);
                break;
            }
            assert_int_equal(st, FRE_E_NOMEM);
        }
    net_close(&n);
}

/* The count sees what is not freed. */
static void the_count_counts(void **state)
{
    const int64_t before = blocks;
    void *volatile p = malloc(3);

    (void)state;
    assert_true(p && blocks == before + 1);
    left = 0;
    assert_null(malloc(3));
    left = NEVER;
    free(p);
    assert_true(blocks == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_counts),
        cmocka_unit_test(pitfall_20_nothing_leaks_before_the_start),
        cmocka_unit_test(pitfall_20_nothing_leaks_when_memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
