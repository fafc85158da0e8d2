/* What liars try: a synthesis server that shows people different lists or asks for sums that differ
 * by one, a tagging server that pads too much, replays, clocks, old states.  What is prevented, and,
 * at the end, what is not: docs/threat-model.md says which, and is wrong if one of those fails. */
#include "parties_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parties_servers.h"

#include "relay.h"
#include "tagging.h"

#define MEMBERS 8u

/* S_syn as the attacker: messages made here, under its genuine key, about one tag. */
typedef struct attack {
    world *w;
    fre_tag tag;
    fre_set_member member[MEMBERS];
    fre_share_seed seed[MEMBERS];
} attack;

static void send_list(world *w, const fre_tag *tag, uint32_t count, fre_rejection want, int64_t now)
{
    const fre_list_entry e = {.tag = *tag, .count = count};
    fre_buf m;

    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(&m, &w->s.w, &e, 1, &w->s.syn_sk), FRE_OK);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&m), now), want);
    fre_buf_wipe(&m);
}

/* A tag of `count` reports is listed at S_tag, and the seeds of as many are sealed. */
static void attack_begin_as(attack *a, fre_collection *c, uint32_t count)
{
    for (uint32_t i = 0; i < 20; i++)
        get_tag(a->w, i, 1, c->open);
    a->tag = a->w->who[0].tag;
    pump_tag(a->w, c->tags_close);
    send_list(a->w, &a->tag, count, FRE_NOT_REJECTED, c->tags_close + 1);
    a->w->s.w = a->w->tag->base.w;
    for (uint32_t k = 0; k < count; k++) {
        fre_set_member *m = &a->member[k];

        memset(m->id.b, (int)(k + 1), sizeof m->id.b);
        fre_rng_bytes(&a->w->rng, a->seed[k].b, sizeof a->seed[k].b);
        assert_int_equal(
            fre_seed_seal(&m->seed, &a->w->s.w, &a->tag, &m->id, &a->seed[k], &a->w->rng), FRE_OK);
    }
}

static void attack_begin(attack *a, uint32_t count)
{
    a->w = world_new(false);
    attack_begin_as(a, &a->w->s.w.c, count);
}

/* The first `carried` of these shares came through the relay. */
static void carry(attack *a, uint32_t carried)
{
    fre_seed_digest digest[MEMBERS];
    fre_buf m;

    for (uint32_t k = 0; k < carried; k++)
        fre_seed_digest_of(&digest[k], &a->w->s.w, &a->member[k].seed);
    fre_buf_init(&m, SAMPLE_MAX);
    registry_encode(a->w, &m, digest, carried, (fre_part){0, 1});
    assert_int_equal(to_tag(a->w, NULL, parties_buf_view(&m), a->w->s.w.c.shares_close),
                     FRE_NOT_REJECTED);
    fre_buf_wipe(&m);
    a->w->registered = true;
}

static fre_rejection ask_sets(attack *a, uint32_t n)
{
    const fre_set set = {.tag = a->tag, .n = n, .member = a->member};
    fre_rejection why;
    fre_buf m;

    if (!a->w->registered)
        carry(a, n);
    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_sets_encode(&m, &a->w->s.w, (fre_part){0, 1}, &set, 1, &a->w->s.syn_sk),
                     FRE_OK);
    why = to_tag(a->w, NULL, parties_buf_view(&m), a->w->s.w.c.shares_close);
    fre_buf_wipe(&m);
    return why;
}

/* The sum of members from..to-1 into out; false: S_tag gives none. */
static bool ask_sum(attack *a, uint32_t *out, fre_part part, uint32_t from, uint32_t to)
{
    fre_report_id id[MEMBERS];
    const fre_id_set set = {.tag = a->tag, .n = to - from, .id = id};
    fre_buf m, reply;
    fre_sums sums;

    fre_buf_init(&m, SAMPLE_MAX);
    fre_buf_init(&reply, SAMPLE_MAX);
    for (uint32_t k = from; k < to; k++)
        id[k - from] = a->member[k].id;
    assert_int_equal(
        fre_id_sets_encode(&m, &a->w->s.w, FRE_WIRE_OPEN, part, &set, 1, &a->w->s.syn_sk), FRE_OK);
    sums.n = 0;
    if (to_tag(a->w, &reply, parties_buf_view(&m), a->w->s.w.c.shares_close) == FRE_NOT_REJECTED)
        assert_int_equal(fre_sums_decode(&sums, &a->w->s.w, parties_buf_view(&reply), NULL),
                         FRE_OK);
    memset(out, 0, DIM * sizeof *out);
    if (sums.n > 0)
        assert_int_equal(
            fre_share_add(out, DIM, a->w->s.w.share_bits, fre_sums_at(&sums, 0).packed), FRE_OK);
    fre_buf_wipe(&m);
    fre_buf_wipe(&reply);
    return sums.n > 0;
}

/* PRG of members from..to-1, summed. */
static void expand(const attack *a, uint32_t *out, uint32_t from, uint32_t to)
{
    fre_share_expander *e = NULL;

    memset(out, 0, DIM * sizeof *out);
    assert_int_equal(fre_share_expander_new(&e, DIM, a->w->s.w.share_bits), FRE_OK);
    for (uint32_t k = from; k < to; k++)
        assert_int_equal(fre_share_expander_add(e, out, &a->seed[k]), FRE_OK);
    fre_share_expander_free(e);
}

/* x - y = z modulo 2^bits? */
static bool is_difference(const attack *a, const uint32_t *x, const uint32_t *y, const uint32_t *z)
{
    const uint32_t mask = (UINT32_C(2) << (a->w->s.w.share_bits - 1)) - 1;

    for (uint32_t j = 0; j < DIM; j++)
        if (((x[j] - y[j] - z[j]) & mask) != 0)
            return false;
    return true;
}

static bool buf_holds(const fre_buf *b, const uint8_t *what, size_t n)
{
    return b->n >= n && memmem(b->p, b->n, what, n) != NULL;
}

/* ---- S_syn -------------------------------------------------------------------------------------- */

/* One list for S_tag, another, with a larger count and so with less noise, for clients: what they
 * make under that one S_tag can't open. */
static void two_lists(bool lies)
{
    world *w = world_new(false);
    const uint32_t people[] = {5}, shown = lies ? 7 : 5;
    fre_list_entry e;
    fre_synthesis_counts n;
    fre_tagging_counts t;
    fre_buf m;
    fre_list l;

    assert_int_equal(gather(w, people, 1), 5);
    close_and_count(w);
    l = the_list(w);
    assert_int_equal(l.n, 1);
    e = fre_list_at(&l, 0);
    e.count = shown;
    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(&m, &w->s.w, &e, 1, &w->s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&l, &w->s.w, parties_buf_view(&m), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&w->s.w, &l, NULL), FRE_OK);
    w->s.w.share_bits = w->tag->base.w.share_bits; /* it would see to that, too */
    for (uint32_t i = 0; i < 5; i++)
        contribute(w, &w->who[i], FRE_WIRE_SHARE, shown);
    sum_and_release(w, false);
    fre_synthesis_count(&n, w->syn);
    fre_tagging_count(&t, w->tag);
    assert_int_equal(n.shares, 5);
    assert_int_equal(t.seeds_refused, lies ? 5 : 0);
    assert_int_equal(n.tags_released, lies ? 0 : 1);
    fre_buf_wipe(&m);
    world_free(w);
}

static void test_different_lists_for_different_people(void **state)
{
    (void)state;
    two_lists(false);
    two_lists(true);
}

/* The list that S_tag has must be that of its seeds after a restart as well. */
static void test_lists_are_told_apart_after_a_restart(void **state)
{
    attack a;
    uint32_t sum[DIM];

    (void)state;
    attack_begin(&a, 5);
    restart_tag(a.w);
    assert_memory_equal(a.w->tag->base.w.list, a.w->s.w.list, sizeof a.w->s.w.list);
    assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
    assert_true(ask_sum(&a, sum, (fre_part){0, 1}, 0, 5));
    world_free(a.w);
}

/* The classic: a set, and the set without one of its members. */
static void test_sums_that_differ_by_one(void **state)
{
    attack a;
    uint32_t sum[DIM], want[DIM], zero[DIM] = {0};

    (void)state;
    attack_begin(&a, 5);
    assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
    assert_true(ask_sum(&a, sum, (fre_part){0, 3}, 0, 5));
    expand(&a, want, 0, 5);
    assert_true(is_difference(&a, sum, zero, want));
    assert_false(ask_sum(&a, sum, (fre_part){0, 3}, 0, 4)); /* the same part, another set */
    restart_tag(a.w);
    assert_false(ask_sum(&a, sum, (fre_part){1, 3}, 0, 4)); /* the next part */
    assert_false(ask_sum(&a, sum, (fre_part){2, 3}, 0, 5));
    world_free(a.w);
}

/* One member, or fewer than thresholds allow, costs the tag. */
static void test_sums_of_too_few(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        attack a;
        uint32_t sum[DIM];

        attack_begin(&a, 5);
        assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
        assert_int_equal(ask_sum(&a, sum, (fre_part){0, 2}, 0, n), n >= 3);
        assert_false(ask_sum(&a, sum, (fre_part){1, 2}, 0, 5));
        world_free(a.w);
    }
}

/* A request of sixteen megabytes whose answer no message holds: refused before anything is made of it,
 * and nothing is spent. */
static void test_more_sums_than_an_answer_holds(void **state)
{
    const uint32_t many = 300000;
    fre_id_set *set = calloc(many, sizeof *set);
    fre_tag *tag;
    attack a;
    fre_collection c;
    fre_buf m;

    (void)state;
    assert_non_null(set);
    a.w = calloc(1, sizeof *a.w);
    assert_non_null(a.w);
    c = small_terms(&a.w->s, false);
    c.dim = 256;
    world_begin(a.w, &c);
    attack_begin_as(&a, &c, 5);
    assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
    for (uint32_t i = 0; i < many; i++) {
        tag = &set[i].tag;
        for (unsigned j = 0; j < 4; j++)
            tag->b[j] = (uint8_t)(i >> (24 - 8 * j));
        set[i].n = 1;
        set[i].id = &a.member[0].id;
    }
    fre_buf_init(&m, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_id_sets_encode(&m, &a.w->s.w, FRE_WIRE_OPEN, (fre_part){0, 1}, set, many,
                                        &a.w->s.syn_sk),
                     FRE_OK);
    assert_int_equal(to_tag(a.w, NULL, parties_buf_view(&m), c.shares_close), FRE_REJECTED_SIZE);
    assert_false(a.w->tag->seeds.cell[0].spent);
    assert_int_equal(a.w->tag->open.count, 0);
    fre_buf_wipe(&m);
    free(set);
    world_free(a.w);
}

/* Before all of the padding is with the relay nobody can have counted. */
static void test_list_before_the_padding(void **state)
{
    world *w = world_new(false);
    fre_outbox o;

    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        get_tag(w, i, 1, 1500);
    fre_outbox_init(&o);
    assert_int_equal(fre_tagging_tick(w->tag, &o, 2000), FRE_OK);
    assert_true(o.n > 0);
    fre_outbox_wipe(&o);
    send_list(w, &w->who[0].tag, 5, FRE_REJECTED_PHASE, 2001);
    restart_tag(w);
    send_list(w, &w->who[0].tag, 5, FRE_REJECTED_PHASE, 2001);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_CLOSING);
    pump_tag(w, 2002);
    send_list(w, &w->who[0].tag, 5, FRE_NOT_REJECTED, 2003);
    world_free(w);
}

/* A list while S_tag's key still answers: no client must act on it, however far it has come. */
static void test_list_before_tags_close(void **state)
{
    const fre_list_entry e = {.tag = {{7}}, .count = 5};
    float x[SMALL_DIM];
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_buf list;
    net n;

    (void)state;
    net_open(&n, &keys, &c, 1, 1, 21);
    small_text(x, 1, 0);
    net_join(&n, 0, x, 1);
    for (n.now = c.open; n.now < c.open + 3; n.now++)
        net_step_all(&n);
    assert_int_equal(fre_client_stage(n.user[0].client), FRE_STAGE_COUNTING);
    fre_buf_init(&list, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(&list, &n.s.w, &e, 1, &n.s.syn_sk), FRE_OK);
    assert_int_equal(fre_client_read(n.user[0].client, sample_view(&list), c.tags_close - 1, NULL),
                     FRE_E_STATE);
    assert_int_equal(fre_client_stage(n.user[0].client), FRE_STAGE_COUNTING);
    assert_int_equal(fre_client_read(n.user[0].client, sample_view(&list), c.tags_close, NULL),
                     FRE_OK);
    assert_int_equal(fre_client_stage(n.user[0].client), FRE_STAGE_SHARES);
    fre_buf_wipe(&list);
    net_close(&n);
}

/* ---- S_tag, clients, the relay ------------------------------------------------------------------ */

static fre_rejection padding(net *n, uint32_t which)
{
    fre_contribution m = {.null = false};
    fre_rejection why;
    fre_buf message, reply;

    memcpy(m.id.b, &which, sizeof which);
    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&reply, SAMPLE_MAX);
    assert_int_equal(fre_contribution_seal(&message, &n->s.w, FRE_WIRE_REPORT, &m, &n->rng),
                     FRE_OK);
    assert_int_equal(fre_relay_handle(n->relay, &reply, &why, sample_view(&message), n->now),
                     FRE_OK);
    fre_buf_wipe(&message);
    fre_buf_wipe(&reply);
    return why;
}

/* Somebody got tags from S_tag without the relay: before any report leaves, the relay ends it. */
static void test_tags_for_somebody_else(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_ohttp_exchange x;
    fre_oprf_element blinded;
    fre_oprf_blind blind;
    fre_rejection why;
    fre_buf message, request, reply;
    net n;

    (void)state;
    for (unsigned spy = 0; spy < 2; spy++) {
        net_open(&n, &keys, &c, 6, 2, 25);
        for (uint32_t i = 0; i < n.users; i++) {
            float text[SMALL_DIM];

            small_text(text, 1, i);
            net_join(&n, i, text, 1);
        }
        for (n.now = c.open; n.now < c.open + 3; n.now++)
            net_step_all(&n);
        fre_buf_init(&message, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        fre_buf_init(&reply, SAMPLE_MAX);
        must(fre_oprf_blind_input(&blind, &blinded, parties_view("guess", 5), &n.rng) == FRE_OK);
        must(fre_tag_request_encode(&message, &n.s.w, &blinded) == FRE_OK);
        must(fre_exchange_ask(&x, &request, &n.s.w, FRE_WIRE_TAG_REQUEST, sample_view(&message),
                              &n.rng) == FRE_OK);
        if (spy)
            assert_int_equal(
                fre_tagging_exchange(n.tag, &reply, &why, sample_view(&request), n.now), FRE_OK);
        for (n.now = c.tags_close; n.now < c.tags_close + 8; n.now++)
            net_pump_all(&n, 1);
        assert_int_equal(fre_relay_stage(n.relay), spy ? FRE_STAGE_VOID : FRE_STAGE_SHARES);
        assert_int_equal(fre_synthesis_stage(n.syn), spy ? FRE_STAGE_VOID : FRE_STAGE_SHARES);
        assert_int_equal(fre_tagging_stage(n.tag), spy ? FRE_STAGE_VOID : FRE_STAGE_SHARES);
        assert_int_equal(fre_synthesis_list_view(n.syn).n > 0, !spy);
        fre_ohttp_exchange_wipe(&x);
        fre_buf_wipe(&message);
        fre_buf_wipe(&request);
        fre_buf_wipe(&reply);
        net_close(&n);
    }
}

/* Terms that nobody can make a share for are the sender's fault, not the caller's. */
static void test_terms_without_a_lattice(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);

    (void)state;
    c.sensitivity = FRE_SENSITIVITY_PROBABILISTIC;
    c.norm_bound = 1e12;
    assert_int_equal(fre_parties_check(&c, NULL), FRE_E_DATA);
}

/* No more than all users and the longest padding: 4 + (1 + 2) * 2 * gamma. */
static void test_padding_beyond_the_terms(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    const fre_relay_opts opts = {.batch_min = 1};
    fre_relay_counts counts;
    net n = {.now = 2000};

    (void)state;
    c.users = 4;
    c.gamma = 2;
    n.s = keys;
    small_rng(&n.rng, 22);
    small_init_from(&n.s, &c);
    assert_int_equal(fre_relay_new(&n.relay, &c, &opts, &n.s.relay_sk, &n.rng, NULL), FRE_OK);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(padding(&n, i), FRE_NOT_REJECTED);
    for (uint32_t i = 16; i < 20; i++)
        assert_int_equal(padding(&n, i), FRE_REJECTED_DISAGREES);
    fre_relay_count(&counts, n.relay);
    assert_int_equal(counts.reports, 16);
    fre_relay_free(n.relay);
    fre_rng_wipe(&n.rng);
}

/* Whoever takes the relay's state when the flush has begun finds no way back to who came when. */
static void test_the_mix_can_not_be_undone(void **state)
{
    uint8_t streams[FRE_SEED_BYTES];
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_buf saved;
    net n;

    (void)state;
    net_open(&n, &keys, &c, 12, 2, 23);
    for (uint32_t i = 0; i < n.users; i++) {
        float x[SMALL_DIM];

        small_text(x, i % 2, i);
        net_join(&n, i, x, 1);
    }
    fre_buf_init(&saved, 16 * SAMPLE_MAX);
    for (n.now = c.open; n.now < c.open + 3; n.now++)
        net_step_all(&n);
    memcpy(streams, n.relay->base.streams, sizeof streams);
    n.now = c.tags_close;
    while (fre_relay_stage(n.relay) < FRE_STAGE_COUNTING)
        net_pump_all(&n, 1);
    assert_memory_not_equal(n.relay->base.streams, streams, sizeof streams);
    assert_int_equal(fre_relay_save(n.relay, &saved), FRE_OK);
    assert_false(buf_holds(&saved, streams, sizeof streams));
    fre_buf_wipe(&saved);
    net_close(&n);
}

/* Somebody else's message, again: a receipt, which tells nothing, and no effect; the sender's own
 * is still taken. */
static void test_a_message_of_somebody_else(void **state)
{
    const uint32_t alice = 0, mallory = 1;
    float x[SMALL_DIM];
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_relay_counts counts;
    fre_rejection why;
    fre_outbox out;
    fre_buf reply;
    net n;

    (void)state;
    net_open(&n, &keys, &c, 2, 1, 24);
    small_text(x, 1, 0);
    net_join(&n, alice, x, 1);
    net_join(&n, mallory, x, 1);
    n.now = c.open;
    net_step(&n, alice); /* both have their tags, */
    net_step(&n, mallory);
    fre_outbox_init(&out);
    fre_buf_init(&reply, SAMPLE_MAX);
    assert_int_equal(fre_client_tick(n.user[alice].client, &out, n.now), FRE_OK);
    assert_int_equal(out.n, 1);
    net_step(&n, alice); /* and one has reported */
    assert_int_equal(fre_relay_submit(n.relay, &reply, &why, net_name(&mallory),
                                      sample_view(&out.item[0].message), n.now),
                     FRE_OK);
    assert_int_equal(why, FRE_NOT_REJECTED);
    fre_relay_count(&counts, n.relay);
    assert_int_equal(counts.reports, 1);
    assert_int_equal(counts.reporting, 1);
    net_step(&n, mallory);
    fre_relay_count(&counts, n.relay);
    assert_int_equal(counts.reports, 2);
    assert_int_equal(counts.reporting, 2);
    fre_outbox_wipe(&out);
    fre_buf_wipe(&reply);
    net_close(&n);
}

/* Clocks from one end of time to the other: what is over stays over. */
static void test_clocks(void **state)
{
    static const int64_t late[] = {4000, INT64_C(253402300800), INT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        world *w = world_new(false);
        fre_outbox o;

        fre_outbox_init(&o);
        assert_int_equal(fre_tagging_tick(w->tag, &o, INT64_MIN), FRE_OK);
        assert_int_equal(fre_synthesis_tick(w->syn, &o, INT64_MIN), FRE_OK);
        assert_int_equal(fre_tagging_tick(w->tag, &o, late[i]), FRE_OK);
        assert_int_equal(fre_synthesis_tick(w->syn, &o, late[i]), FRE_OK);
        assert_int_equal(o.n, 0);
        for (unsigned again = 0; again < 2; again++) {
            restart_tag(w);
            restart_syn(w);
            assert_int_equal(fre_tagging_tick(w->tag, &o, 1500), FRE_OK);
            assert_int_equal(fre_synthesis_tick(w->syn, &o, 1500), FRE_OK);
            assert_false(fre_tagging_has_key(w->tag));
            assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
            assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
        }
        fre_outbox_wipe(&o);
        world_free(w);
    }
}

/* An S_syn that does not follow the protocol makes up members: it knows the tag, and anybody can seal
 * seeds to S_tag.  To get what is left of the sum, one client's share, it would have to have them
 * carried by the relay: so many of its enrolled clients, and no more than w of them collude. */
static void test_made_up_members(void **state)
{
    (void)state;
    for (uint32_t honest = 1; honest <= 3; honest++) {
        attack a;
        fre_tagging_counts n;
        uint32_t sum[DIM];

        attack_begin(&a, 5);
        carry(&a, honest);
        assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
        assert_false(ask_sum(&a, sum, (fre_part){0, 2}, 0, 5));
        assert_false(
            ask_sum(&a, sum, (fre_part){1, 2}, 0, honest)); /* it was spent, if not before */
        fre_tagging_count(&n, a.w->tag);
        assert_int_equal(n.unregistered, 5 - honest);
        world_free(a.w);
    }
}

/* Nor does a registry of its own making help, or none. */
static void test_made_up_registries(void **state)
{
    attack a;
    fre_seed_digest digest[1] = {{{1}}};
    const fre_registry registry = {.part = {0, 1}, .n = 1, .digest = digest};
    uint32_t sum[DIM];
    fre_buf m;

    (void)state;
    attack_begin(&a, 5);
    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_registry_encode(&m, &a.w->s.w, &registry, &a.w->s.syn_sk), FRE_OK);
    assert_int_equal(to_tag(a.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_UNAUTHENTIC);
    a.w->registered = true;
    assert_int_equal(ask_sets(&a, 5), FRE_REJECTED_PHASE);
    assert_false(ask_sum(&a, sum, (fre_part){0, 1}, 0, 5));
    fre_buf_wipe(&m);
    world_free(a.w);
}

/* A count that is too high makes every client add less noise: the sum then needs as many answers. */
static void test_a_count_that_is_too_high(void **state)
{
    (void)state;
    for (uint32_t answers = 3; answers <= 4; answers++) {
        attack a;
        uint32_t sum[DIM];

        attack_begin(&a, 8); /* of which half must answer, whatever S_syn makes up */
        carry(&a, answers);
        assert_int_equal(ask_sets(&a, 8), FRE_NOT_REJECTED);
        assert_int_equal(ask_sum(&a, sum, (fre_part){0, 1}, 0, answers), answers >= 4);
        world_free(a.w);
    }
}

/* ---- what is not prevented ---------------------------------------------------------------------- */

/* An S_tag that is set back to an old state has forgotten what it opened. */
static void test_limit_an_old_state_of_s_tag(void **state)
{
    attack a;
    fre_tagging_keys keys;
    uint32_t all[DIM], fewer[DIM], one[DIM];
    fre_buf old;

    (void)state;
    attack_begin(&a, 5);
    keys = (fre_tagging_keys){.seal = a.w->s.tag, .sign = a.w->s.tag_sk};
    assert_int_equal(ask_sets(&a, 5), FRE_NOT_REJECTED);
    fre_buf_init(&old, SAMPLE_MAX);
    assert_int_equal(fre_tagging_save(a.w->tag, &old), FRE_OK);
    assert_true(ask_sum(&a, all, (fre_part){0, 1}, 0, 5));
    fre_tagging_free(a.w->tag);
    assert_int_equal(
        fre_tagging_load(&a.w->tag, &a.w->s.w.c, &keys, NULL, parties_buf_view(&old), NULL),
        FRE_OK);
    assert_true(ask_sum(&a, fewer, (fre_part){0, 1}, 0, 4));
    expand(&a, one, 4, 5);
    assert_true(is_difference(&a, all, fewer, one));
    fre_buf_wipe(&old);
    world_free(a.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_different_lists_for_different_people),
        cmocka_unit_test(test_lists_are_told_apart_after_a_restart),
        cmocka_unit_test(test_sums_that_differ_by_one),
        cmocka_unit_test(test_sums_of_too_few),
        cmocka_unit_test(test_more_sums_than_an_answer_holds),
        cmocka_unit_test(test_list_before_the_padding),
        cmocka_unit_test(test_list_before_tags_close),
        cmocka_unit_test(test_tags_for_somebody_else),
        cmocka_unit_test(test_terms_without_a_lattice),
        cmocka_unit_test(test_padding_beyond_the_terms),
        cmocka_unit_test(test_the_mix_can_not_be_undone),
        cmocka_unit_test(test_a_message_of_somebody_else),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_made_up_members),
        cmocka_unit_test(test_made_up_registries),
        cmocka_unit_test(test_a_count_that_is_too_high),
        cmocka_unit_test(test_limit_an_old_state_of_s_tag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
