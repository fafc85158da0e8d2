/* Pitfalls of such protocols, by their numbers in docs/threat-model.md; the others are named in the tests
 * of what they are about. */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fre/sampler.h>

#include "server_view.h"
#include "tagging.h"

#include <cmocka.h>

#define MAX 16u
#define USERS 4u

/* ---- a collection, and all that was said in it -------------------------------------------------- */

typedef struct said {
    fre_role to[512];
    fre_buf message[512];
    size_t n;
} said;

static void listen(net *n, fre_role from, fre_role to, fre_bytes message)
{
    said *s = n->ctx;

    (void)from;
    assert_true(s->n < sizeof s->message / sizeof *s->message);
    s->to[s->n] = to;
    fre_buf_init(&s->message[s->n], FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_buf_append(&s->message[s->n++], message.p, message.n), FRE_OK);
}

static void forget(said *s)
{
    for (size_t i = 0; i < s->n; i++)
        fre_buf_wipe(&s->message[i]);
    s->n = 0;
}

/* USERS of one text. */
static void begin(net *n, const fre_collection *c, uint64_t seed)
{
    net_begin(n, c, USERS, seed);
    n->a->exact = true;
    for (uint32_t i = 0; i < USERS; i++)
        net_text(n, i, 0);
    net_clients(n);
}

static void begin_usual(net *n, uint64_t seed)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = net_terms(&n->s);
    begin(n, &c, seed);
}

static void must_release(const net *n, uint32_t wanted)
{
    uint32_t count[MAX];
    static float x[MAX * NET_DIM];

    assert_int_equal(net_release(n, FRE_ROLE_RELAY, count, x, MAX), 1);
    assert_int_equal(count[0], wanted);
}

static fre_rejection say(net *n, fre_role to, fre_bytes message, int64_t now)
{
    n->now = now;
    return view_send(n, to, message, NULL);
}

/* ---- 1, 3: times --------------------------------------------------------------------------------- */

static void first_request(net *n, fre_role from, fre_role to, fre_bytes message)
{
    fre_buf *request = n->ctx;

    (void)from;
    if (to == FRE_ROLE_TAG && request->n == 0)
        assert_int_equal(fre_buf_append(request, message.p, message.n), FRE_OK);
}

/* S_tag evaluates from `open` on, and not from `exchange_close` on; its key is gone at `tags_close`,
 * wherever bytes end. */
static void pitfall_01_03_evaluations_at_the_edges(void **state)
{
    static const int64_t edges[] = {127,   128,       255,        256,        65535,
                                    65536, INT32_MAX, UINT32_MAX, 0x100000000};
    fre_buf request;

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        net n = {.users = 0};
        fre_collection c = net_terms(&n.s);
        const tagging *t;

        c.open = edges[i];
        c.exchange_close = c.open + 128;
        c.tags_close = c.shares_close = c.open + 256;
        c.end = c.open + 400;
        fre_buf_init(&request, FRE_WIRE_MESSAGE_MAX);
        begin(&n, &c, 1);
        n.saw = first_request;
        n.ctx = &request;
        n.now = c.open + 100;
        net_step(&n);
        net_step(&n);
        assert_true(request.n > 0);
        net_end(&n);
        n = (net){.users = 0};
        (void)net_terms(&n.s);
        begin(&n, &c, 1);
        t = (const tagging *)n.links.server[FRE_ROLE_TAG];
        assert_int_equal(say(&n, FRE_ROLE_TAG, sample_view(&request), c.open - 1),
                         FRE_REJECTED_PHASE);
        assert_int_equal(t->evaluations, 0);
        assert_int_equal(say(&n, FRE_ROLE_TAG, sample_view(&request), c.open), FRE_ACCEPTED);
        assert_int_equal(say(&n, FRE_ROLE_TAG, sample_view(&request), c.exchange_close - 1),
                         FRE_ACCEPTED);
        assert_int_equal(t->evaluations, 1);
        assert_int_equal(say(&n, FRE_ROLE_TAG, sample_view(&request), c.exchange_close),
                         FRE_REJECTED_EXPIRED);
        assert_true(server_key_here(&t->oprf));
        n.now = c.tags_close;
        net_step(&n);
        assert_false(server_key_here(&t->oprf));
        net_end(&n);
        fre_buf_wipe(&request);
    }
}

/* ---- 2: a restart -------------------------------------------------------------------------------- */

/* A restart, with the clock back at the beginning, is at the same place of the same schedule. */
static void pitfall_02_a_restart_keeps_schedule_and_key(void **state)
{
    net n;

    (void)state;
    begin_usual(&n, 2);
    while (fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE) {
        const int64_t now = n.now;
        fre_phase phase[NET_ROLES];

        net_step(&n);
        for (unsigned role = 1; role < NET_ROLES; role++) {
            phase[role] = fre_server_phase(n.links.server[role]);
            net_restart(&n, (fre_role)role);
            assert_int_equal(fre_server_phase(n.links.server[role]), phase[role]);
        }
        n.now = n.s.w.c.open - 1;
        net_step(&n);
        for (unsigned role = 1; role < NET_ROLES; role++)
            assert_true(fre_server_phase(n.links.server[role]) >= phase[role]);
        assert_int_equal(!server_key_here(&((tagging *)n.links.server[FRE_ROLE_TAG])->oprf),
                         fre_server_phase(n.links.server[FRE_ROLE_TAG]) >= FRE_PHASE_CLOSED);
        n.now = now + (now < n.s.w.c.tags_close ? n.stride : 1);
    }
    must_release(&n, USERS);
    net_end(&n);
}

/* ---- 4 to 7, 9: what counts ---------------------------------------------------------------------- */

static void pitfall_04_duplicates_count_once(void **state)
{
    net n;

    (void)state;
    begin_usual(&n, 4);
    n.twice = 256;
    net_run(&n);
    must_release(&n, USERS);
    net_end(&n);
}

/* Known or not: from its close on a message is expired, and changes no count. */
static void pitfall_05_06_expiry_comes_before_look_up(void **state)
{
    static said s;
    const fre_collection *c;
    size_t late = 0;
    net n;

    (void)state;
    begin_usual(&n, 5);
    c = &n.s.w.c;
    n.saw = listen;
    n.ctx = &s;
    while (n.now < c->tags_close - 1) {
        net_step(&n);
        n.now += n.stride;
    }
    n.saw = NULL;
    for (size_t i = 0; i < s.n; i++)
        if (s.to[i] == FRE_ROLE_RELAY && s.message[i].p[1] == FRE_WIRE_CARRY) {
            assert_int_equal(say(&n, FRE_ROLE_RELAY, sample_view(&s.message[i]), c->tags_close),
                             FRE_REJECTED_EXPIRED);
            late++;
        }
    assert_true(late >= 3 * USERS);
    net_run(&n);
    must_release(&n, USERS);
    for (size_t i = 0; i < s.n; i++) /* and past the end, to machines that forgot */
        assert_int_equal(say(&n, s.to[i], sample_view(&s.message[i]), c->end),
                         FRE_REJECTED_EXPIRED);
    forget(&s);
    net_end(&n);
}

static void pitfall_07_lost_answers_between_servers(void **state)
{
    (void)state;
    for (uint64_t seed = 70; seed < 75; seed++) {
        net n;

        begin_usual(&n, seed);
        while (n.now < n.s.w.c.tags_close) {
            net_step(&n);
            n.now += n.stride;
        }
        n.lose_answer = 150;
        net_run(&n);
        must_release(&n, USERS);
        net_end(&n);
    }
}

/* tau is 3: three are released, two are not. */
static void pitfall_09_tau_is_reached_by_equality(void **state)
{
    net n = {.users = 0};
    fre_collection c = net_terms(&n.s);

    (void)state;
    assert_int_equal(c.tau, 3);
    net_begin(&n, &c, 5, 9);
    n.a->exact = true;
    for (uint32_t i = 0; i < 5; i++)
        net_text(&n, i, i < 3 ? 0 : 1);
    net_clients(&n);
    net_run(&n);
    must_release(&n, 3);
    net_end(&n);
}

/* ---- 16: other versions ----------------------------------------------------------------------------- */

/* Signatures and seals of another version may say something else: nothing of it is looked at. */
static void pitfall_16_messages_of_another_version(void **state)
{
    static said s;
    size_t messages = 0;
    net n;

    (void)state;
    begin_usual(&n, 16);
    n.saw = listen;
    n.ctx = &s;
    while (fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE) {
        net_step(&n);
        for (size_t i = 0; i < s.n; i++) {
            if (s.message[i].p[0] != FRE_WIRE_VERSION)
                continue; /* Oblivious HTTP's, which has its own */
            s.message[i].p[0]++;
            assert_int_equal(say(&n, s.to[i], sample_view(&s.message[i]), n.now),
                             FRE_REJECTED_MALFORMED);
            messages++;
        }
        forget(&s);
        n.now += n.now < n.s.w.c.tags_close ? n.stride : 1;
    }
    assert_true(messages > 3 * USERS);
    must_release(&n, USERS);
    net_end(&n);
}

/* Rows of tables that a role has not, and rows cut short, are no state of it. */
static void pitfall_16_rows_of_another_version(void **state)
{
    net n;

    (void)state;
    begin_usual(&n, 17);
    for (unsigned i = 0; i < 5; i++, n.now += n.stride)
        net_step(&n);
    for (unsigned role = 1; role < NET_ROLES; role++) {
        const fre_row strange = {.table = 200, .key = {(const uint8_t *)"k", 1}};
        net_store *store = &n.store[role];

        net_restart(&n, (fre_role)role);
        assert_int_equal(fre_server_restore(n.links.server[role], &strange, NULL), FRE_E_DATA);
        for (size_t i = 0; i < store->n; i++) {
            fre_row row = {.table = store->row[i].key.p[0],
                           .key = {store->row[i].key.p + 1, store->row[i].key.n - 1},
                           .value = sample_view(&store->row[i].value)};

            if (row.value.n == 0)
                continue;
            row.value.n--;
            assert_int_equal(fre_server_restore(n.links.server[role], &row, NULL), FRE_E_DATA);
            net_restart(&n, (fre_role)role);
        }
    }
    net_end(&n);
}

/* ---- 17: keys that were replaced ---------------------------------------------------------------------- */

/* A request under a key that S_tag doesn't have, be its id another or the same, is told in the open and
 * evaluated never. */
static void pitfall_17_a_request_under_another_key(void **state)
{
    const tagging *t;
    net n;

    (void)state;
    begin_usual(&n, 18);
    t = (const tagging *)n.links.server[FRE_ROLE_TAG];
    for (unsigned kind = 0; kind < 3; kind++) {
        fre_wire there = n.s.w;
        fre_oprf_element blinded;
        fre_oprf_blind blind;
        fre_ohttp_exchange x;
        fre_hpke_keypair old;
        fre_buf message, request;
        fre_rejection why;

        fre_buf_init(&message, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        assert_int_equal(fre_hpke_keygen(&old, &n.rng), FRE_OK);
        if (kind == 2)
            there.c.tag_seal = old.pk;
        assert_int_equal(
            fre_oprf_blind_input(&blind, &blinded, (fre_bytes){(const uint8_t *)"cell", 4}, &n.rng),
            FRE_OK);
        assert_int_equal(fre_tag_request_encode(&message, &n.s.w, &blinded), FRE_OK);
        assert_int_equal(fre_exchange_ask(&x, &request, &there, FRE_WIRE_TAG_REQUEST,
                                          sample_view(&message), &n.rng),
                         FRE_OK);
        if (kind == 1)
            request.p[0] += 8; /* the key's id; neither is it a version of ours */
        why = say(&n, FRE_ROLE_TAG, sample_view(&request), n.s.w.c.open);
        assert_int_equal(why, kind == 0   ? FRE_ACCEPTED
                              : kind == 1 ? FRE_REJECTED_MALFORMED
                                          : FRE_REJECTED_UNAUTHENTIC);
        assert_int_equal(t->evaluations, 1);
        fre_ohttp_exchange_wipe(&x);
        fre_buf_wipe(&message);
        fre_buf_wipe(&request);
    }
    net_end(&n);
}

/* ---- 21: coins and noise ------------------------------------------------------------------------------ */

static volatile double third = 3;

/* Whatever a client, S_tag or the audit's sampler draws: not one operation of the processor's
 * floating point that had to round.  The flag of such a one is sticky. */
static void pitfall_21_no_draw_rounds(void **state)
{
    static const uint8_t seed[FRE_SEED_BYTES] = {5};
    static const uint64_t variances[] = {1, 3000, 4 * FRE_VARIANCE_ONE, 225 * FRE_VARIANCE_ONE};
    int32_t drawn[257];
    volatile double control;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "test/pitfalls"), FRE_OK);
    (void)feclearexcept(FE_ALL_EXCEPT);
    control = 1 / third;
    assert_true(control > 0 && fetestexcept(FE_INEXACT) != 0); /* it would be seen */
    for (size_t i = 0; i < sizeof variances / sizeof *variances; i++) {
        fre_gaussian_table *t = NULL;

        assert_int_equal(fre_gaussian_table_new(&t, variances[i]), FRE_OK);
        (void)feclearexcept(FE_ALL_EXCEPT);
        fre_gaussian_table_draw(t, &r, drawn, sizeof drawn / sizeof *drawn);
        for (unsigned k = 0; k < 200; k++) {
            (void)fre_sample_coin(&r, FRE_P_ONE / 3);
            (void)fre_sample_bernoulli(&r, 1, 3);
            (void)fre_sample_bernoulli_exp(&r, 1, 3);
            (void)fre_sample_tsdlap(&r, FRE_TSDLAP_ONE / 3, 14);
            (void)fre_sample_discrete_gaussian(&r, variances[i]);
            (void)fre_rng_below(&r, 1000003);
        }
        assert_int_equal(fetestexcept(FE_INEXACT | FE_OVERFLOW | FE_UNDERFLOW), 0);
        fre_gaussian_table_free(t);
    }
    fre_rng_wipe(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_01_03_evaluations_at_the_edges),
        cmocka_unit_test(pitfall_02_a_restart_keeps_schedule_and_key),
        cmocka_unit_test(pitfall_04_duplicates_count_once),
        cmocka_unit_test(pitfall_05_06_expiry_comes_before_look_up),
        cmocka_unit_test(pitfall_07_lost_answers_between_servers),
        cmocka_unit_test(pitfall_09_tau_is_reached_by_equality),
        cmocka_unit_test(pitfall_16_messages_of_another_version),
        cmocka_unit_test(pitfall_16_rows_of_another_version),
        cmocka_unit_test(pitfall_17_a_request_under_another_key),
        cmocka_unit_test(pitfall_21_no_draw_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
