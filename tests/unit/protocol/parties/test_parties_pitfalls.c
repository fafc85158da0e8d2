/* Pitfalls of such protocols that concern all four roles, by their numbers in docs/threat-model.md;
 * the others are named in the tests of what they are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>

#include <fre/sampler.h>

#include "relay.h"
#include "parties_net.h"
#include "synthesis.h"
#include "tagging.h"

#define USERS 8u
#define STATE_SUM 16u
#define ROLES 4u

/* ---- a collection, and all that was said in it -------------------------------------------------- */

typedef struct record {
    fre_role to;
    bool exchange;
    uint32_t user; /* whose it is; USERS: a server's */
    fre_buf message;
} record;

typedef struct world {
    net n;
    record *said;
    size_t saids, room;
} world;

static void listen(net *n, fre_role who, fre_bytes what)
{
    world *w = n->seen;
    record *r;
    fre_wire_type type;
    fre_collection_id id;

    if (w->saids == w->room) {
        w->room = w->room ? 2 * w->room : 64;
        w->said = realloc(w->said, w->room * sizeof *w->said);
        assert_non_null(w->said);
    }
    r = &w->said[w->saids++];
    *r = (record){.to = who, .user = USERS};
    r->exchange =
        fre_wire_peek(&type, &id, what) != FRE_OK || memcmp(id.b, n->s.w.id.b, sizeof id.b) != 0;
    fre_buf_init(&r->message, SAMPLE_MAX);
    assert_int_equal(fre_buf_append(&r->message, what.p, what.n), FRE_OK);
}

static void begin(world *w)
{
    sample keys;
    fre_collection c = small_collection(&keys);

    memset(w, 0, sizeof *w);
    net_open(&w->n, &keys, &c, USERS, 2, 77);
    w->n.saw = listen;
    w->n.seen = w;
    for (uint32_t i = 0; i < USERS; i++) {
        float x[SMALL_DIM];

        small_text(x, 0, i);
        net_join(&w->n, i, x, 1);
    }
}

static void end(world *w)
{
    for (size_t i = 0; i < w->saids; i++)
        fre_buf_wipe(&w->said[i].message);
    free(w->said);
    net_close(&w->n);
}

/* Everything that is due at this time; whose a client's message is is noted. */
static void go(world *w, int64_t now)
{
    w->n.now = now;
    for (unsigned round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < USERS; i++) {
            const size_t before = w->saids;

            net_step(&w->n, i);
            for (size_t k = before; k < w->saids; k++)
                w->said[k].user = i;
        }
        (void)net_pump_all(&w->n, 4);
    }
}

static void whole(world *w)
{
    go(w, 1000);
    go(w, 2000);
    go(w, 3000);
    assert_int_equal(fre_synthesis_stage(w->n.syn), FRE_STAGE_DONE);
    assert_true(fre_synthesis_release_parts(w->n.syn) > 0);
    assert_true(w->saids > 4 * USERS);
}

static void crash_all(world *w, bool keep_key)
{
    net_crash(&w->n, FRE_ROLE_TAG, keep_key);
    net_crash(&w->n, FRE_ROLE_SYN, true);
    net_crash(&w->n, FRE_ROLE_RELAY, true);
    for (uint32_t i = 0; i < USERS; i++)
        net_crash_user(&w->n, i);
}

/* What the role says to it, outside of the net. */
static fre_rejection say(world *w, const record *r, fre_bytes what, int64_t now)
{
    const uint32_t i = r->user;
    fre_rejection why = FRE_NOT_REJECTED;
    fre_status st;
    fre_buf reply;

    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    if (r->to == FRE_ROLE_TAG)
        st = r->exchange ? fre_tagging_exchange(w->n.tag, &reply, &why, what, now)
                         : fre_tagging_handle(w->n.tag, &reply, &why, what, now);
    else if (r->to == FRE_ROLE_SYN)
        st = fre_synthesis_handle(w->n.syn, &reply, &why, what, now);
    else if (r->exchange)
        st = fre_relay_exchange(w->n.relay, &reply, &why, net_name(&i), what, now);
    else if (r->user < USERS)
        st = fre_relay_submit(w->n.relay, &reply, &why, net_name(&i), what, now);
    else
        st = fre_relay_handle(w->n.relay, &reply, &why, what, now);
    assert_int_equal(st, FRE_OK);
    fre_buf_wipe(&reply);
    return why;
}

static void save(const world *w, unsigned role, fre_buf *out)
{
    fre_status st;

    fre_buf_init(out, SAMPLE_MAX);
    st = role == 0   ? fre_tagging_save(w->n.tag, out)
         : role == 1 ? fre_synthesis_save(w->n.syn, out)
         : role == 2 ? fre_relay_save(w->n.relay, out)
                     : fre_client_save(w->n.user[0].client, out);
    assert_int_equal(st, FRE_OK);
}

/* Status of a load; the machine, if there is one, is freed. */
static fre_status load(const world *w, unsigned role, fre_bytes state)
{
    const fre_collection *c = &w->n.s.w.c;
    const net_user *u = &w->n.user[0];
    fre_oprf_key key = w->n.s.oprf;
    fre_tagging *tag = NULL;
    fre_synthesis *syn = NULL;
    fre_relay *relay = NULL;
    fre_client *client = NULL;
    fre_status st;

    if (role == 0)
        st = fre_tagging_load(&tag, c, &w->n.tag_keys, &key, state, NULL);
    else if (role == 1)
        st = fre_synthesis_load(&syn, c, &w->n.syn_keys, state, NULL);
    else if (role == 2)
        st = fre_relay_load(&relay, c, &w->n.s.relay_sk, state, NULL);
    else
        st = fre_client_load(&client, w->n.terms, u->x, u->texts, &u->host, state, NULL);
    assert_int_equal(st == FRE_OK, tag || syn || relay || client);
    fre_tagging_free(tag);
    fre_synthesis_free(syn);
    fre_relay_free(relay);
    fre_client_free(client);
    return st;
}

/* ---- 2: a restart -------------------------------------------------------------------------------- */

/* A restart, with the clock back at the beginning, is at the same place of the same schedule, with
 * the same key, and takes no other. */
static void pitfall_02_a_restart_keeps_schedule_and_key(void **state)
{
    static const int64_t when[] = {1999, 2000, 2999, 3000};
    fre_oprf_key other;
    fre_tagging *out = NULL;
    fre_buf saved;
    fre_err err;
    world w;

    (void)state;
    begin(&w);
    for (size_t k = 0; k < sizeof when / sizeof *when; k++) {
        fre_stage stage[ROLES], after[ROLES];

        go(&w, when[k]);
        for (unsigned again = 0; again < 2; again++) {
            fre_stage *at = again ? after : stage;

            at[0] = fre_tagging_stage(w.n.tag);
            at[1] = fre_synthesis_stage(w.n.syn);
            at[2] = fre_relay_stage(w.n.relay);
            at[3] = fre_client_stage(w.n.user[0].client);
            if (!again) {
                crash_all(&w, true);
                assert_true(w.n.tag->base.now == when[k] && w.n.syn->base.now == when[k] &&
                            w.n.relay->base.now == when[k]);
                go(&w, 1000);
            }
        }
        assert_memory_equal(stage, after, sizeof stage);
        assert_int_equal(fre_tagging_has_key(w.n.tag), k == 0);
        if (k > 0)
            continue;
        assert_memory_equal(&w.n.tag->oprf->pub, &w.n.s.w.c.oprf_pk, sizeof w.n.s.w.c.oprf_pk);
        save(&w, 0, &saved);
        assert_int_equal(fre_oprf_key_generate(&other, &w.n.rng), FRE_OK);
        assert_int_equal(
            fre_tagging_load(&out, &w.n.s.w.c, &w.n.tag_keys, &other, sample_view(&saved), &err),
            FRE_E_KEY);
        assert_null(out);
        fre_buf_wipe(&saved);
    }
    assert_int_equal(fre_synthesis_stage(w.n.syn), FRE_STAGE_DONE);
    end(&w);
}

/* ---- 5: replay after what was remembered is gone --------------------------------------------------- */

/* What is public stays with the relay, which shows it: known again at any time, with no effect. */
static bool is_kept(const record *r)
{
    const uint8_t type = r->message.p[1];

    return r->to == FRE_ROLE_RELAY && !r->exchange &&
           (type == FRE_WIRE_CLOSED || type == FRE_WIRE_LIST || type == FRE_WIRE_RELEASE);
}

/* Past the end every other message of the collection is expired, to machines that forgot it and to
 * ones that were told of the time by that very message; before, requests and reports from their close
 * on. */
static void pitfall_05_expiry_comes_before_look_up(void **state)
{
    (void)state;
    for (unsigned crash = 0; crash < 2; crash++) {
        world w;

        begin(&w);
        go(&w, 1000);
        for (size_t i = 0; i < w.saids; i++)
            assert_int_equal(say(&w, &w.said[i], sample_view(&w.said[i].message), 1500),
                             FRE_NOT_REJECTED); /* known to all */
        for (size_t i = 0; i < w.saids; i++)
            assert_int_equal(say(&w, &w.said[i], sample_view(&w.said[i].message), 2000),
                             FRE_REJECTED_EXPIRED);
        end(&w);
        begin(&w);
        whole(&w);
        if (crash)
            crash_all(&w, false);
        for (unsigned back = 0; back < 2; back++)
            for (size_t i = 0; i < w.saids; i++)
                assert_int_equal(
                    say(&w, &w.said[i], sample_view(&w.said[i].message), back ? 1500 : 4000),
                    is_kept(&w.said[i]) ? FRE_NOT_REJECTED : FRE_REJECTED_EXPIRED);
        end(&w);
    }
}

/* ---- 16: other versions ----------------------------------------------------------------------------- */

static void state_of_version(fre_buf *state, uint8_t version)
{
    static const uint8_t key[32] = "fre-e2t rounds: a saved state";

    state->p[0] = version;
    fre_hash128(state->p + state->n - STATE_SUM, key, state->p, state->n - STATE_SUM);
}

static void pitfall_16_states_of_another_version(void **state)
{
    world w;

    (void)state;
    begin(&w);
    go(&w, 1000);
    for (unsigned role = 0; role < ROLES; role++) {
        fre_buf saved;
        uint8_t ours;

        save(&w, role, &saved);
        ours = saved.p[0];
        for (unsigned version = 0; version < 256; version++) {
            state_of_version(&saved, (uint8_t)version);
            assert_int_equal(load(&w, role, sample_view(&saved)),
                             version == ours ? FRE_OK : FRE_E_DATA);
        }
        fre_buf_wipe(&saved);
    }
    end(&w);
}

/* Signatures and seals of another version may say something else: nothing of it is looked at. */
static void pitfall_16_messages_of_another_version(void **state)
{
    size_t messages = 0;
    world w;

    (void)state;
    begin(&w);
    for (int64_t now = 1000; now <= 3000; now += 1000) {
        go(&w, now);
        for (size_t i = 0; i < w.saids; i++) {
            fre_buf *m = &w.said[i].message;

            if (w.said[i].exchange)
                continue; /* HTTP's, which has its own; what is in it: test_parties_tagging.c */
            m->p[0]++;
            assert_int_equal(say(&w, &w.said[i], sample_view(m), now), FRE_REJECTED_MALFORMED);
            m->p[0]--;
            messages++;
        }
    }
    assert_true(messages > 3 * USERS);
    end(&w);
}

/* ---- 17: keys that were replaced ---------------------------------------------------------------------- */

/* A request under a key that S_tag doesn't have, be its id another or the same: told in the open,
 * evaluated never. */
static void pitfall_17_a_request_under_another_key(void **state)
{
    fre_tagging_counts counts;
    world w;

    (void)state;
    begin(&w);
    w.n.now = 1000;
    for (unsigned kind = 0; kind < 3; kind++) {
        fre_wire there = w.n.s.w;
        fre_oprf_element blinded;
        fre_oprf_blind blind;
        fre_ohttp_exchange x;
        fre_hpke_keypair old;
        fre_buf message, request;
        fre_rejection why;
        record r = {.to = FRE_ROLE_TAG, .exchange = true};

        fre_buf_init(&message, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        assert_int_equal(fre_hpke_keygen(&old, &w.n.rng), FRE_OK);
        if (kind == 2)
            there.c.tag_seal = old.pk;
        assert_int_equal(fre_oprf_blind_input(&blind, &blinded, parties_view("cell", 4), &w.n.rng),
                         FRE_OK);
        assert_int_equal(fre_tag_request_encode(&message, &w.n.s.w, &blinded), FRE_OK);
        assert_int_equal(fre_exchange_ask(&x, &request, &there, FRE_WIRE_TAG_REQUEST,
                                          sample_view(&message), &w.n.rng),
                         FRE_OK);
        if (kind == 1)
            request.p[0]++; /* the key's id */
        why = say(&w, &r, sample_view(&request), 1000);
        assert_int_equal(why, kind == 0 ? FRE_NOT_REJECTED : FRE_REJECTED_UNAUTHENTIC);
        fre_tagging_count(&counts, w.n.tag);
        assert_int_equal(counts.evaluations, 1);
        fre_ohttp_exchange_wipe(&x);
        fre_buf_wipe(&message);
        fre_buf_wipe(&request);
    }
    end(&w);
}

/* ---- 21: coins and noise ------------------------------------------------------------------------------ */

static volatile double third = 3;

/* Whatever a client, S_tag or the audit's sampler draws: not one operation of the processor's
 * floating point that had to round.  The flag of such a one is sticky. */
static void pitfall_21_no_draw_rounds(void **state)
{
    static const uint64_t variances[] = {1, 3000, 4 * FRE_VARIANCE_ONE, 225 * FRE_VARIANCE_ONE};
    int32_t drawn[257];
    volatile double control;
    fre_rng r;

    (void)state;
    small_rng(&r, 5);
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
        cmocka_unit_test(pitfall_02_a_restart_keeps_schedule_and_key),
        cmocka_unit_test(pitfall_05_expiry_comes_before_look_up),
        cmocka_unit_test(pitfall_16_states_of_another_version),
        cmocka_unit_test(pitfall_16_messages_of_another_version),
        cmocka_unit_test(pitfall_17_a_request_under_another_key),
        cmocka_unit_test(pitfall_21_no_draw_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
