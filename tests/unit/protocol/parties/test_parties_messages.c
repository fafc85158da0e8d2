/* Every message in every phase, at the relay and at a client (the servers' own tests have the same):
 * whatever is malformed, cut, too long, of another collection or version, forged, or comes when
 * nobody waits for it gets a typed refusal and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relay.h"
#include "parties_net.h"

#define USERS 12u

static fre_collection terms_for_samples(sample *keys)
{
    fre_collection c = small_collection(keys);

    c.users = 100000; /* what samples of messages need */
    return c;
}

/* One genuine message of each type, though its content may fit nothing here. */
static void genuine(net *n, fre_wire_type type, fre_buf *out)
{
    uint8_t packed[256] = {0};
    fre_contribution m = {.packed = {packed, 0}};
    sample s = n->s;

    fre_buf_init(out, SAMPLE_MAX);
    if (s.w.share_bits == 0) /* nobody knows it yet, so any will do */
        must(fre_wire_set_share_bits(&s.w, SAMPLE_BITS) == FRE_OK);
    if (type == FRE_WIRE_REPORT || type == FRE_WIRE_SHARE) {
        m.packed.n = fre_wire_share_bytes(&s.w);
        must(m.packed.n <= sizeof packed);
        fre_rng_bytes(&n->rng, m.id.b, sizeof m.id.b);
        must(fre_contribution_seal(out, &s.w, type, &m, &n->rng) == FRE_OK);
    } else {
        sample_message(&s, type, out);
    }
}

/* ---- the relay ------------------------------------------------------------------------------------ */

typedef enum entrance { HANDLE, SUBMIT, EXCHANGE, ENTRANCES } entrance;

/* All that it holds but its counters. */
static void relay_state(net *n, fre_buf *out)
{
    fre_counters kept = n->relay->base.counters;

    fre_buf_init(out, 64u * SAMPLE_MAX);
    memset(&n->relay->base.counters, 0, sizeof kept);
    must(fre_relay_save(n->relay, out) == FRE_OK);
    n->relay->base.counters = kept;
}

static uint64_t refusals(const fre_counters *c)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < FRE_REJECTIONS; i++)
        sum += c->rejected[i];
    return sum;
}

static void relay_refuses(net *n, entrance way, fre_bytes m)
{
    const uint32_t somebody = 3;
    const uint64_t before = refusals(fre_relay_counters(n->relay));
    fre_rejection why = FRE_NOT_REJECTED, said;
    fre_buf one, two, reply;
    fre_status st;

    relay_state(n, &one);
    fre_buf_init(&reply, SAMPLE_MAX);
    if (way == HANDLE)
        st = fre_relay_handle(n->relay, &reply, &why, m, n->now);
    else if (way == SUBMIT)
        st = fre_relay_submit(n->relay, &reply, &why, net_name(&somebody), m, n->now);
    else
        st = fre_relay_exchange(n->relay, &reply, &why, net_name(&somebody), m, n->now);
    assert_int_equal(st, FRE_OK);
    assert_int_not_equal(why, FRE_NOT_REJECTED);
    assert_int_equal(fre_rejection_decode(&said, sample_view(&reply), NULL), FRE_OK);
    assert_int_equal(said, why);
    assert_int_equal(refusals(fre_relay_counters(n->relay)), before + 1);
    relay_state(n, &two);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.p, two.p, one.n);
    fre_buf_wipe(&one);
    fre_buf_wipe(&two);
    fre_buf_wipe(&reply);
}

/* Is this what it waits for? */
static bool relay_waits(entrance way, fre_wire_type type, fre_stage stage)
{
    if (type == FRE_WIRE_CANCEL)
        return way == HANDLE; /* at any time; tested elsewhere */
    if (way == SUBMIT)
        return (type == FRE_WIRE_REPORT && stage == FRE_STAGE_TAGS) ||
               (type == FRE_WIRE_SHARE && stage == FRE_STAGE_SHARES);
    return way == HANDLE && ((type == FRE_WIRE_REPORT && stage == FRE_STAGE_CLOSING) ||
                             (type == FRE_WIRE_CLOSED && stage == FRE_STAGE_CLOSING) ||
                             (type == FRE_WIRE_LIST && stage == FRE_STAGE_COUNTING) ||
                             (type == FRE_WIRE_RELEASE && stage == FRE_STAGE_SUMMING));
}

typedef void refuser(net *n, unsigned way, fre_bytes m);

/* The message, spoilt in every way that its receiver can see. */
static void spoilt(net *n, unsigned way, fre_wire_type type, fre_buf *m, refuser *refuses)
{
    const bool has_id = type < FRE_WIRE_REJECTION || type == FRE_WIRE_REGISTRY;
    const size_t whole = m->n;

    for (size_t cut = 0; cut < 3 && cut <= whole; cut++)
        refuses(n, way, (fre_bytes){m->p, cut});
    refuses(n, way, (fre_bytes){m->p, whole - 1});
    refuses(n, way, (fre_bytes){m->p, whole / 2});
    m->p[0]++; /* version */
    refuses(n, way, sample_view(m));
    m->p[0]--;
    m->p[1] = 200; /* no such type */
    refuses(n, way, sample_view(m));
    m->p[1] = (uint8_t)type;
    if (has_id) {
        m->p[20] ^= 1; /* another collection */
        refuses(n, way, sample_view(m));
        m->p[20] ^= 1;
    }
    if (sample_is_signed(type)) {
        m->p[whole - 1] ^= 1;
        refuses(n, way, sample_view(m));
        m->p[whole - 1] ^= 1;
        m->p[36] ^= 1;
        refuses(n, way, sample_view(m));
        m->p[36] ^= 1;
    }
    must(fre_buf_append(m, "", 1) == FRE_OK);
    refuses(n, way, sample_view(m));
    m->n = whole;
}

static void refuses_at_relay(net *n, unsigned way, fre_bytes m)
{
    relay_refuses(n, (entrance)way, m);
}

/* It learns the time by the first call, whatever that is. */
static void tell_time(net *n)
{
    fre_rejection why;
    fre_buf reply;

    fre_buf_init(&reply, SAMPLE_MAX);
    must(fre_relay_handle(n->relay, &reply, &why, (fre_bytes){NULL, 0}, n->now) == FRE_OK);
    fre_buf_wipe(&reply);
}

static void probe_relay(net *n, fre_stage stage)
{
    tell_time(n);
    for (unsigned type = FRE_WIRE_TAG_REQUEST; type <= FRE_WIRE_REGISTRY; type++) {
        fre_buf m;

        genuine(n, (fre_wire_type)type, &m);
        for (unsigned way = HANDLE; way < ENTRANCES; way++) {
            if (!relay_waits((entrance)way, (fre_wire_type)type, stage))
                relay_refuses(n, (entrance)way, sample_view(&m));
            spoilt(n, way, (fre_wire_type)type, &m, refuses_at_relay);
        }
        fre_buf_wipe(&m);
    }
    assert_int_equal(fre_relay_stage(n->relay), stage);
}

static void too_large_at_relay(net *n)
{
    uint8_t *m = calloc(FRE_WIRE_MESSAGE_MAX + 1, 1);

    assert_non_null(m);
    m[0] = FRE_WIRE_VERSION;
    m[1] = FRE_WIRE_LIST;
    memcpy(m + 2, n->s.w.id.b, sizeof n->s.w.id.b);
    for (unsigned way = HANDLE; way < ENTRANCES; way++)
        relay_refuses(n, (entrance)way, (fre_bytes){m, FRE_WIRE_MESSAGE_MAX + 1});
    free(m);
}

/* ---- a client -------------------------------------------------------------------------------------- */

static void client_state(const net *n, fre_buf *out)
{
    fre_buf_init(out, SAMPLE_MAX);
    must(fre_client_save(n->user[0].client, out) == FRE_OK);
}

/* What the client has to send stays what it was, too. */
static void client_refuses(net *n, unsigned cookie_kind, fre_bytes m)
{
    fre_client *c = n->user[0].client;
    fre_stage stage;
    fre_buf one, two;
    fre_outbox a, b;

    fre_outbox_init(&a);
    fre_outbox_init(&b);
    must(fre_client_tick(c, &a, n->now) == FRE_OK);
    stage = fre_client_stage(c);
    client_state(n, &one);
    if (cookie_kind == 0)
        assert_int_not_equal(fre_client_read(c, m, n->now, NULL), FRE_OK);
    else
        (void)!fre_client_answered(c, a.n > 0 ? a.item[0].cookie : PARTIES_COOKIE(cookie_kind, 0),
                                   m, n->now);
    client_state(n, &two);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.p, two.p, one.n);
    must(fre_client_tick(c, &b, n->now) == FRE_OK);
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(a.item[i].message.n, b.item[i].message.n);
        assert_memory_equal(a.item[i].message.p, b.item[i].message.p, a.item[i].message.n);
    }
    assert_int_equal(fre_client_stage(c), stage);
    fre_outbox_wipe(&a);
    fre_outbox_wipe(&b);
    fre_buf_wipe(&one);
    fre_buf_wipe(&two);
}

static void probe_client(net *n)
{
    for (unsigned type = FRE_WIRE_TAG_REQUEST; type <= FRE_WIRE_REGISTRY; type++) {
        fre_buf m;

        genuine(n, (fre_wire_type)type, &m);
        if (type != FRE_WIRE_LIST && type != FRE_WIRE_RELEASE && type != FRE_WIRE_CANCEL)
            client_refuses(n, 0, sample_view(&m));
        spoilt(n, 0, (fre_wire_type)type, &m, client_refuses);
        /* As an answer to whatever it has sent: only receipts and rejections are any. */
        if (type != FRE_WIRE_REJECTION && type != FRE_WIRE_RECEIPT) {
            client_refuses(n, 1, sample_view(&m));
            spoilt(n, 1, (fre_wire_type)type, &m, client_refuses);
        }
        fre_buf_wipe(&m);
    }
}

/* ---- through a whole collection -------------------------------------------------------------------- */

static void open_net(net *n, fre_collection *c)
{
    sample keys;

    *c = terms_for_samples(&keys);
    net_open(n, &keys, c, USERS, 2, 31);
    for (uint32_t i = 0; i < USERS; i++) {
        float x[SMALL_DIM];

        net_text(n, x, 0, 0);
        net_join(n, i, x, 1);
    }
}

static void probe(net *n, fre_stage relay)
{
    probe_relay(n, relay);
    probe_client(n);
}

/* Both answer as they would have if nobody had tried anything. */
static void test_every_message_in_every_phase(void **state)
{
    fre_collection c;
    fre_list list;
    uint32_t cells;
    net n;

    (void)state;
    open_net(&n, &c);
    n.now = c.open - 1;
    probe(&n, FRE_STAGE_WAITING);
    n.now = c.open;
    probe_client(&n); /* with its exchange on the way */
    net_step_all(&n);
    probe(&n, FRE_STAGE_TAGS); /* with its report on the way */
    too_large_at_relay(&n);
    net_step_all(&n);
    net_step_all(&n);
    probe(&n, FRE_STAGE_TAGS);
    n.now = c.tags_close;
    must(net_pump(&n, FRE_ROLE_RELAY) == 0);
    probe(&n, FRE_STAGE_CLOSING);
    while (n.relay->closed.n == 0)
        must(net_pump(&n, FRE_ROLE_TAG) > 0);
    (void)net_pump(&n, FRE_ROLE_RELAY);
    probe(&n, FRE_STAGE_COUNTING);
    while (fre_relay_list_view(n.relay).n == 0)
        (void)net_pump_all(&n, 1);
    must(fre_list_decode(&list, &n.s.w, fre_relay_list_view(n.relay), NULL) == FRE_OK);
    assert_int_equal(list.n, 1);
    must(fre_wire_derive_share_bits(&n.s.w, &list, NULL) == FRE_OK);
    probe_relay(&n, FRE_STAGE_SHARES);
    net_step_all(&n);
    net_step_all(&n);
    probe(&n, FRE_STAGE_SHARES);
    n.now = c.shares_close;
    (void)net_pump(&n, FRE_ROLE_RELAY);
    probe(&n, FRE_STAGE_SUMMING);
    (void)net_pump_all(&n, 8);
    probe(&n, FRE_STAGE_DONE);
    assert_true(net_is_exact(&n, &cells));
    assert_int_equal(cells, 1);
    net_close(&n);
}

static void test_after_a_cancel(void **state)
{
    fre_collection c;
    net n;

    (void)state;
    open_net(&n, &c);
    n.now = c.open;
    net_step_all(&n);
    must(fre_relay_cancel(n.relay, n.now) == FRE_OK);
    probe_relay(&n, FRE_STAGE_VOID);
    net_step_all(&n);
    assert_int_equal(fre_client_stage(n.user[0].client), FRE_STAGE_VOID);
    probe_client(&n);
    n.now = c.end;
    probe_relay(&n, FRE_STAGE_VOID);
    net_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_message_in_every_phase),
        cmocka_unit_test(test_after_a_cancel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
