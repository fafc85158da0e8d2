/* Memory that runs out: each allocation of the constructors fails in turn; and in whole collections any
 * allocation of any call.  Nothing leaks, and every member counts once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "server_net.h"

static net world;
static fre_collection terms;
static const float text[NET_DIM] = {1};

static fre_status nobody(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    (void)name;
    (void)credentials;
    return FRE_E_REFUSED;
}

static const fre_issuer_host host = {.person = nobody};
static fre_server_keys tag_keys, syn_keys, issuer_keys;
static fre_client_setup setup = {.x = text, .n = 1, .credentials = {(const uint8_t *)"abc", 3}, .fresh = true};

/* What a constructor takes is wiped by it. */
static fre_oprf_key *a_key(const fre_oprf_key *of)
{
    static fre_oprf_key key;

    key = *of;
    return &key;
}

ALLOC_CASE(fre_agreement_new, fre_agreement, fre_agreement_free,
           fre_agreement_new(&x, &terms, err));
ALLOC_CASE(fre_server_new_relay, fre_server, fre_server_free,
           fre_server_new_relay(&x, world.a, &world.s.relay_sk, err));
ALLOC_CASE(fre_server_new_issuer, fre_server, fre_server_free,
           fre_server_new_issuer(&x, world.a, &issuer_keys, a_key(&world.s.issuer_oprf), &host,
                                 err));
ALLOC_CASE(fre_server_new_tagging, fre_server, fre_server_free,
           fre_server_new_tagging(&x, world.a, &tag_keys, a_key(&world.s.oprf), err));
ALLOC_CASE(fre_keeper_new, fre_keeper, fre_keeper_free,
           fre_keeper_new(&x, fre_agreement_wire(world.a), FRE_ROLE_TAG, a_key(&world.s.oprf),
                          err));
ALLOC_CASE(fre_server_new_synthesis, fre_server, fre_server_free,
           fre_server_new_synthesis(&x, world.a, &syn_keys, (fre_bytes){(const uint8_t *)"s", 1},
                                    err));
ALLOC_CASE(fre_server_new_client, fre_server, fre_server_free,
           fre_server_new_client(&x, world.a, &setup, err));

static void constructors(void **state)
{
    (void)state;
    terms = net_terms(&world.s);
    net_begin(&world, &terms, 1, 5);
    net_clients(&world);
    tag_keys = (fre_server_keys){.seal = world.s.tag, .sign = world.s.tag_sk};
    syn_keys = (fre_server_keys){.seal = world.s.syn, .sign = world.s.syn_sk};
    issuer_keys = (fre_server_keys){.seal = world.s.issuer, .sign = world.s.issuer_sk};
    (void)alloc_torture(&fre_server_new_relay_case, NULL);
    (void)alloc_torture(&fre_server_new_issuer_case, NULL);
    (void)alloc_torture(&fre_server_new_tagging_case, NULL);
    (void)alloc_torture(&fre_keeper_new_case, NULL);
    (void)alloc_torture(&fre_server_new_synthesis_case, NULL);
    (void)alloc_torture(&fre_server_new_client_case, NULL);
    net_end(&world);
}

/* Terms that keep their claim. */
static void agreements(void **state)
{
    sample keys;

    (void)state;
    terms = sample_collection(&keys);
    terms.one_contact = terms.server_noise = true;
    terms.dropout = 0;
    terms.sigma = 2;
    terms.epsilon = 8;
    terms.shares_close = terms.tags_close;
    (void)alloc_torture(&fre_agreement_new_case, NULL);
}

/* ---- collections ------------------------------------------------------------------------------ */

#define USERS 6u

/* The machine that is called has memory for so many allocations more. */
typedef struct poor {
    net n;
    fre_rng rng;
    fre_host host;
    uint64_t failures;
} poor;

static void on_enter(void *ctx, fre_server *x)
{
    poor *p = ctx;

    (void)x;
    if (fre_rng_below(&p->rng, 3) == 0)
        alloc_fail_after(fre_rng_below(&p->rng, 24));
}

static void on_leave(void *ctx, fre_server *x)
{
    (void)ctx;
    (void)x;
    (void)alloc_heal();
}

/* The store has memory. */
static fre_status on_keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    poor *p = ctx;

    (void)alloc_heal();
    return p->host.keep(&p->n, x, rows);
}

static fre_status on_carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                           fre_buf *answer)
{
    poor *p = ctx;

    return net_carry(&p->n, fre_server_role(x), to, message, answer);
}

/* Whoever could not make an answer is thrown away, and its neighbours with it. */
static void step(poor *p, fre_server *x)
{
    const fre_role who = fre_server_role(x);
    const fre_status st = fre_server_step(x, &p->n.links.host, NULL, p->n.now);

    if (st != FRE_OK && st != FRE_E_NOMEM && st != FRE_E_INTERNAL)
        fail_msg("role %d: %s", (int)who, fre_status_text(st));
    if (st == FRE_OK)
        return;
    p->failures++;
    for (unsigned role = 1; role < NET_ROLES; role++)
        net_restart(&p->n, (fre_role)role);
    for (uint32_t i = 0; i < p->n.users; i++)
        net_restart_client(&p->n, i);
}

static void run(poor *p)
{
    net *n = &p->n;

    while (fre_server_phase(n->links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE) {
        for (uint32_t i = 0; i < n->users; i++) {
            n->sender = i;
            step(p, n->user[i].client);
        }
        n->sender = UINT32_MAX;
        for (unsigned role = 1; role < NET_ROLES; role++)
            step(p, n->links.server[role]);
        n->now += n->now < n->s.w.c.tags_close ? 2 : 1;
        assert_true(n->now < n->s.w.c.end - 1);
    }
}

static void pitfall_20_nothing_leaks_when_memory_runs_out(void **state)
{
    const int64_t begun = alloc_blocks();
    uint64_t failures = 0;

    (void)state;
    for (uint8_t seed = 1; seed <= 16; seed++) {
        const uint8_t bytes[FRE_SEED_BYTES] = {seed};
        float x[2 * NET_DIM];
        uint32_t count[2] = {0};
        fre_collection c;
        poor p;

        memset(&p, 0, sizeof p);
        c = net_terms(&p.n.s);
        c.gamma = 1;
        c.threshold = c.tau = 2;
        c.splits = seed % 2; /* six are cut */
        net_begin(&p.n, &c, USERS, seed);
        p.n.a->exact = true;
        for (uint32_t i = 0; i < USERS; i++)
            net_text(&p.n, i, 0);
        net_clients(&p.n);
        assert_int_equal(fre_rng_init_seeded(&p.rng, bytes, "test/poor"), FRE_OK);
        p.host = p.n.links.host;
        p.n.links.host = (fre_host){
            .ctx = &p, .enter = on_enter, .leave = on_leave, .keep = on_keep, .carry = on_carry};
        run(&p);
        assert_int_equal(net_release(&p.n, FRE_ROLE_RELAY, count, x, 2), 1);
        assert_int_equal(count[0], USERS);
        failures += p.failures;
        net_end(&p.n);
    }
    assert_true(failures > 100);
    assert_true(alloc_blocks() == begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructors), cmocka_unit_test(agreements),
        cmocka_unit_test(pitfall_20_nothing_leaks_when_memory_runs_out)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
