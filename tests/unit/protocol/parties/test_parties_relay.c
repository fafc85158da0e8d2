/* The relay: what it takes from whom and when, its mix, batches, receipts, restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relay.h"
#include "parties_small.h"

#define BATCH 4u
#define CLIENTS 40u
#define DIGESTS 128u

typedef struct world {
    sample s;
    fre_relay *relay;
    fre_rng rng;
    fre_outbox out;
    fre_buf reply, message, closed, list;
    fre_seed_digest digest[DIGESTS]; /* of the registry, as far as S_tag has it */
    uint32_t digests, registry_parts;
} world;

static fre_bytes name_of(const uint32_t *i)
{
    return (fre_bytes){(const uint8_t *)i, sizeof *i};
}

static void set_up_as(world *w, const fre_collection *c, const fre_relay_opts *opts, uint64_t seed)
{
    const fre_closed closed = {.time = 2000, .evaluations = 0};
    fre_err err = {.text = ""};

    w->relay = NULL;
    w->digests = w->registry_parts = 0;
    small_init_from(&w->s, c);
    small_rng(&w->rng, seed);
    fre_outbox_init(&w->out);
    fre_buf_init(&w->reply, SAMPLE_MAX);
    fre_buf_init(&w->message, SAMPLE_MAX);
    fre_buf_init(&w->closed, SAMPLE_MAX);
    fre_buf_init(&w->list, SAMPLE_MAX);
    if (fre_relay_new(&w->relay, c, opts, &w->s.relay_sk, &w->rng, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(fre_closed_encode(&w->closed, &w->s.w, &closed, &w->s.tag_sk), FRE_OK);
}

static void set_up(world *w, uint64_t seed)
{
    const fre_relay_opts opts = {.batch_min = BATCH, .part_max = 16};
    fre_collection c = small_collection(&w->s);

    set_up_as(w, &c, &opts, seed);
}

static void tear_down(world *w)
{
    fre_relay_free(w->relay);
    fre_outbox_wipe(&w->out);
    fre_buf_wipe(&w->reply);
    fre_buf_wipe(&w->message);
    fre_buf_wipe(&w->closed);
    fre_buf_wipe(&w->list);
    fre_rng_wipe(&w->rng);
}

static void reload(world *w)
{
    fre_buf state;

    fre_buf_init(&state, SAMPLE_MAX);
    assert_int_equal(fre_relay_save(w->relay, &state), FRE_OK);
    fre_relay_free(w->relay);
    assert_int_equal(
        fre_relay_load(&w->relay, &w->s.w.c, &w->s.relay_sk, sample_view(&state), NULL), FRE_OK);
    fre_buf_wipe(&state);
}

/* A report or share in w->message; its tag and id say which. */
static fre_bytes make(world *w, fre_wire_type type, uint32_t which)
{
    static uint8_t packed[4096];
    fre_contribution m = {.packed = {packed, fre_wire_share_bytes(&w->s.w)}};

    memcpy(m.id.b, &which, sizeof which);
    fre_rng_bytes(&w->rng, m.seed.b, sizeof m.seed.b);
    fre_buf_wipe(&w->message);
    assert_int_equal(fre_contribution_seal(&w->message, &w->s.w, type, &m, &w->rng), FRE_OK);
    return sample_view(&w->message);
}

/* The reply is a receipt or the very rejection; FRE_NOT_REJECTED: a receipt. */
static void assert_said(world *w, fre_status st, fre_rejection why, fre_rejection want)
{
    fre_rejection said = FRE_NOT_REJECTED;

    assert_int_equal(st, FRE_OK);
    assert_int_equal(why, want);
    if (want == FRE_NOT_REJECTED)
        assert_int_equal(fre_receipt_decode(sample_view(&w->reply), NULL), FRE_OK);
    else
        assert_int_equal(fre_rejection_decode(&said, sample_view(&w->reply), NULL), FRE_OK);
    assert_int_equal(said, want);
}

static void submit(world *w, uint32_t client, fre_bytes m, int64_t now, fre_rejection want)
{
    fre_rejection why = FRE_REJECTED_UNAVAILABLE;
    const uint64_t before = fre_relay_counters(w->relay)->rejected[want];
    fre_status st;

    fre_buf_wipe(&w->reply);
    st = fre_relay_submit(w->relay, &w->reply, &why, name_of(&client), m, now);
    assert_said(w, st, why, want);
    if (want != FRE_NOT_REJECTED)
        assert_int_equal(fre_relay_counters(w->relay)->rejected[want], before + 1);
}

static void handle(world *w, fre_bytes m, int64_t now, fre_rejection want)
{
    fre_rejection why = FRE_REJECTED_UNAVAILABLE;
    fre_status st;

    fre_buf_wipe(&w->reply);
    st = fre_relay_handle(w->relay, &w->reply, &why, m, now);
    assert_said(w, st, why, want);
}

static size_t tick(world *w, int64_t now)
{
    fre_outbox_wipe(&w->out);
    assert_int_equal(fre_relay_tick(w->relay, &w->out, now), FRE_OK);
    return w->out.n;
}

static fre_bytes receipt(void)
{
    static const uint8_t bytes[] = {FRE_WIRE_VERSION, FRE_WIRE_RECEIPT};

    return (fre_bytes){bytes, sizeof bytes};
}

static void fill(world *w, uint32_t clients)
{
    for (uint32_t i = 0; i < clients; i++)
        submit(w, i, make(w, FRE_WIRE_REPORT, i), 1500, FRE_NOT_REJECTED);
}

/* A part of the registry, which follows what was there; it is receipted. */
static void take_registry(world *w, const fre_outbox_item *item, int64_t now)
{
    fre_registry m;

    assert_int_equal(fre_registry_decode(&m, &w->s.w, sample_view(&item->message), NULL), FRE_OK);
    assert_int_equal(m.part.index, w->registry_parts++);
    for (uint32_t i = 0; i < m.n; i++) {
        assert_true(w->digests < DIGESTS);
        w->digest[w->digests++] = m.digest[i];
        if (w->digests > 1)
            assert_true(memcmp(&w->digest[w->digests - 2], &w->digest[w->digests - 1],
                               sizeof m.digest[i]) < 0);
    }
    assert_int_equal(fre_relay_answered(w->relay, item->cookie, receipt(), now), FRE_OK);
}

/* Ids inside the flushes that are due, in their order; everything is receipted. */
static uint32_t flushed(world *w, fre_wire_type type, int64_t now, uint32_t *which, uint32_t max)
{
    uint32_t n = 0;
    fre_buf plain;

    fre_buf_init(&plain, SAMPLE_MAX);
    while (tick(w, now) > 0)
        for (size_t i = 0; i < w->out.n; i++) {
            if (w->out.item[i].to == FRE_ROLE_TAG) {
                take_registry(w, &w->out.item[i], now);
                continue;
            }
            const size_t each = fre_wire_sealed_bytes(&w->s.w, type);
            fre_flush m;

            assert_int_equal(w->out.item[i].to, FRE_ROLE_SYN);
            assert_int_equal(
                fre_flush_decode(&m, &w->s.w, sample_view(&w->out.item[i].message), NULL), FRE_OK);
            assert_int_equal(m.type, type);
            for (uint32_t j = 0; j < m.n; j++) {
                fre_contribution c;

                assert_true(n < max);
                assert_int_equal(fre_contribution_open(&c, &plain, &w->s.w, type, &w->s.syn,
                                                       (fre_bytes){m.sealed.p + j * each, each},
                                                       NULL),
                                 FRE_OK);
                memcpy(&which[n++], c.id.b, sizeof *which);
            }
            assert_int_equal(fre_relay_answered(w->relay, w->out.item[i].cookie, receipt(), now),
                             FRE_OK);
        }
    fre_buf_wipe(&plain);
    return n;
}

/* A list of one tag of that count, by S_syn; fixes the share's bits in w->s.w. */
static void make_list(world *w, uint32_t count)
{
    const fre_list_entry e = {.tag = {{9}}, .count = count};
    fre_list list;

    fre_buf_wipe(&w->list);
    assert_int_equal(fre_list_encode(&w->list, &w->s.w, &e, count > 0, &w->s.syn_sk), FRE_OK);
    assert_int_equal(fre_list_decode(&list, &w->s.w, sample_view(&w->list), NULL), FRE_OK);
    assert_int_equal(fre_wire_derive_share_bits(&w->s.w, &list, NULL), FRE_OK);
}

/* ---- exchanges --------------------------------------------------------------------------------- */

static fre_bytes ask(world *w)
{
    fre_oprf_element blinded;
    fre_ohttp_exchange x;
    fre_buf request;

    fre_buf_init(&request, SAMPLE_MAX);
    fre_rng_bytes(&w->rng, blinded.b, sizeof blinded.b);
    assert_int_equal(fre_tag_request_encode(&request, &w->s.w, &blinded), FRE_OK);
    fre_buf_wipe(&w->message);
    assert_int_equal(fre_exchange_ask(&x, &w->message, &w->s.w, FRE_WIRE_TAG_REQUEST,
                                      sample_view(&request), &w->rng),
                     FRE_OK);
    fre_ohttp_exchange_wipe(&x);
    fre_buf_wipe(&request);
    return sample_view(&w->message);
}

static void exchange(world *w, uint32_t client, fre_bytes m, int64_t now, fre_rejection want)
{
    fre_rejection why = FRE_REJECTED_UNAVAILABLE;
    fre_status st;

    fre_buf_wipe(&w->reply);
    st = fre_relay_exchange(w->relay, &w->reply, &why, name_of(&client), m, now);
    if (want != FRE_NOT_REJECTED) {
        assert_said(w, st, why, want);
        return;
    }
    assert_int_equal(st, FRE_OK);
    assert_int_equal(why, FRE_NOT_REJECTED);
    assert_int_equal(w->reply.n, 0); /* S_tag's answer is the answer */
}

static void test_one_exchange_a_client(void **state)
{
    fre_relay_counts counts;
    fre_buf first;
    world w;
    fre_bytes m;

    (void)state;
    fre_buf_init(&first, SAMPLE_MAX);
    set_up(&w, 1);
    m = ask(&w);
    assert_int_equal(fre_buf_append(&first, m.p, m.n), FRE_OK);
    exchange(&w, 1, sample_view(&first), 999, FRE_REJECTED_PHASE);
    exchange(&w, 1, (fre_bytes){first.p, first.n - 1}, 1000, FRE_REJECTED_MALFORMED);
    exchange(&w, 1, sample_view(&first), 1000, FRE_NOT_REJECTED);
    reload(&w);
    exchange(&w, 1, sample_view(&first), 1001, FRE_NOT_REJECTED); /* again */
    exchange(&w, 1, ask(&w), 1001, FRE_REJECTED_REPLAYED);        /* another */
    exchange(&w, 2, ask(&w), 1999, FRE_NOT_REJECTED);
    exchange(&w, 3, ask(&w), 2000, FRE_REJECTED_EXPIRED);
    exchange(&w, 1, sample_view(&first), 1500, FRE_REJECTED_EXPIRED); /* time never runs back */
    assert_int_equal(fre_buf_append(&first, "", 1), FRE_OK);
    fre_relay_count(&counts, w.relay);
    assert_int_equal(counts.exchanges, 2);
    assert_int_equal(counts.clients, 2);
    fre_buf_wipe(&first);
    tear_down(&w);
}

static void test_no_more_clients_than_enrolled(void **state)
{
    const fre_relay_opts opts = {.batch_min = 1};
    fre_collection c;
    world w;

    (void)state;
    c = small_collection(&w.s);
    c.users = 3;
    set_up_as(&w, &c, &opts, 2);
    for (uint32_t i = 0; i < 3; i++)
        exchange(&w, i, ask(&w), 1200, FRE_NOT_REJECTED);
    exchange(&w, 3, ask(&w), 1200, FRE_REJECTED_FULL);
    submit(&w, 4, make(&w, FRE_WIRE_REPORT, 4), 1200, FRE_REJECTED_FULL);
    submit(&w, 2, make(&w, FRE_WIRE_REPORT, 2), 1200, FRE_NOT_REJECTED);
    tear_down(&w);
}

/* ---- reports ----------------------------------------------------------------------------------- */

static void test_reports_by_phase(void **state)
{
    const fre_relay_opts opts = {.batch_min = 1};
    fre_collection c;
    world w;
    uint8_t bytes[64] = {FRE_WIRE_VERSION, FRE_WIRE_REPORT};
    uint32_t nobody = 0;
    fre_rejection why;

    (void)state;
    set_up(&w, 3);
    submit(&w, 1, make(&w, FRE_WIRE_REPORT, 1), 999, FRE_REJECTED_PHASE);
    submit(&w, 1, (fre_bytes){NULL, 0}, 1000, FRE_REJECTED_MALFORMED);
    submit(&w, 1, (fre_bytes){bytes, 33}, 1000, FRE_REJECTED_MALFORMED);
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_COLLECTION);
    memcpy(bytes + 2, w.s.w.id.b, 32);
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_MALFORMED);
    bytes[1] = FRE_WIRE_SHARE;
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_PHASE);
    bytes[1] = FRE_WIRE_CLOSED;
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_MALFORMED);
    submit(&w, 1, sample_view(&w.closed), 1000, FRE_REJECTED_MALFORMED);
    assert_int_equal(fre_relay_submit(w.relay, &w.reply, &why, (fre_bytes){(uint8_t *)&nobody, 0},
                                      make(&w, FRE_WIRE_REPORT, 1), 1000),
                     FRE_E_ARG);
    submit(&w, 1, make(&w, FRE_WIRE_REPORT, 1), 1999, FRE_NOT_REJECTED);
    submit(&w, 1, sample_view(&w.message), 2000, FRE_REJECTED_EXPIRED); /* before any look-up */
    submit(&w, 2, make(&w, FRE_WIRE_REPORT, 2), 2000, FRE_REJECTED_EXPIRED);
    tear_down(&w);

    c = small_collection(&w.s);
    c.threshold = 5;
    c.tau = 4;
    set_up_as(&w, &c, &opts, 4);
    memcpy(bytes + 2, w.s.w.id.b, 32);
    tear_down(&w);
    set_up(&w, 4);
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_MALFORMED);
    bytes[1] = FRE_WIRE_REPORT;
    submit(&w, 1, (fre_bytes){bytes, sizeof bytes}, 1000, FRE_REJECTED_COLLECTION);
    tear_down(&w);
}

static void pitfall_04_duplicates_count_once(void **state)
{
    fre_relay_counts counts;
    uint32_t which[8];
    world w;

    (void)state;
    set_up(&w, 5);
    for (uint32_t i = 0; i < BATCH; i++) {
        make(&w, FRE_WIRE_REPORT, i);
        for (unsigned j = 0; j < 3; j++) {
            submit(&w, i, sample_view(&w.message), 1500, FRE_NOT_REJECTED);
            reload(&w);
        }
        submit(&w, i, make(&w, FRE_WIRE_REPORT, 100 + i), 1500, FRE_REJECTED_REPLAYED);
    }
    fre_relay_count(&counts, w.relay);
    assert_int_equal(counts.reports, BATCH);
    assert_int_equal(counts.reporting, BATCH);
    assert_int_equal(fre_relay_counters(w.relay)->repeated, 2 * BATCH);
    handle(&w, sample_view(&w.closed), 2000, FRE_NOT_REJECTED);
    assert_int_equal(flushed(&w, FRE_WIRE_REPORT, 2000, which, 8), BATCH);
    tear_down(&w);
}

/* ---- the flush --------------------------------------------------------------------------------- */

static void test_no_flush_before_closed(void **state)
{
    uint32_t which[CLIENTS] = {0};
    fre_closed m = {.time = 2001, .evaluations = 0};
    fre_buf other;
    world w;

    (void)state;
    fre_buf_init(&other, SAMPLE_MAX);
    set_up(&w, 6);
    fill(&w, BATCH);
    handle(&w, sample_view(&w.closed), 1999, FRE_REJECTED_UNAVAILABLE); /* a clock behind S_tag's */
    assert_int_equal(tick(&w, 1999), 0);
    assert_int_equal(tick(&w, 2100), 0);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_CLOSING);
    w.closed.p[w.closed.n - 1] ^= 1;
    handle(&w, sample_view(&w.closed), 2100, FRE_REJECTED_UNAUTHENTIC);
    w.closed.p[w.closed.n - 1] ^= 1;
    assert_int_equal(tick(&w, 2100), 0);
    handle(&w, sample_view(&w.closed), 2101, FRE_NOT_REJECTED);
    handle(&w, sample_view(&w.closed), 2101, FRE_NOT_REJECTED);
    assert_int_equal(fre_closed_encode(&other, &w.s.w, &m, &w.s.tag_sk), FRE_OK);
    handle(&w, sample_view(&other), 2101, FRE_REJECTED_DISAGREES);
    assert_int_equal(flushed(&w, FRE_WIRE_REPORT, 2102, which, CLIENTS), BATCH);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_COUNTING);
    fre_buf_wipe(&other);
    tear_down(&w);
}

static void test_padding_joins_the_mix(void **state)
{
    uint32_t which[CLIENTS], seen = 0;
    fre_relay_counts counts;
    world w;

    (void)state;
    set_up(&w, 7);
    fill(&w, BATCH);
    handle(&w, make(&w, FRE_WIRE_REPORT, 30), 1990, FRE_REJECTED_UNAVAILABLE);
    for (uint32_t i = 0; i < 10; i++) {
        handle(&w, make(&w, FRE_WIRE_REPORT, BATCH + i), 2000, FRE_NOT_REJECTED);
        handle(&w, sample_view(&w.message), 2000, FRE_NOT_REJECTED);
    }
    handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
    handle(&w, sample_view(&w.message), 2001, FRE_NOT_REJECTED); /* again */
    handle(&w, make(&w, FRE_WIRE_REPORT, 31), 2001, FRE_REJECTED_DISAGREES);
    assert_int_equal(flushed(&w, FRE_WIRE_REPORT, 2002, which, CLIENTS), BATCH + 10);
    for (uint32_t i = 0; i < BATCH + 10; i++)
        seen |= UINT32_C(1) << which[i];
    assert_int_equal(seen, (UINT32_C(1) << (BATCH + 10)) - 1);
    handle(&w, make(&w, FRE_WIRE_REPORT, 32), 2002, FRE_REJECTED_EXPIRED);
    fre_relay_count(&counts, w.relay);
    assert_int_equal(counts.reports, BATCH + 10);
    assert_int_equal(counts.reporting, BATCH);
    tear_down(&w);
}

/* However much padding there is: the smallest batch is of clients. */
static void test_padding_is_no_batch(void **state)
{
    fre_cancel m;
    world w;

    (void)state;
    set_up(&w, 8);
    fill(&w, BATCH - 1);
    for (uint32_t i = 0; i < 10; i++)
        handle(&w, make(&w, FRE_WIRE_REPORT, 10 + i), 2000, FRE_NOT_REJECTED);
    handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
    assert_int_equal(tick(&w, 2001), 2);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_VOID);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(w.out.item[i].to, i == 0 ? FRE_ROLE_TAG : FRE_ROLE_SYN);
        assert_int_equal(fre_cancel_decode(&m, &w.s.w, sample_view(&w.out.item[i].message), NULL),
                         FRE_OK);
        assert_int_equal(m.by, FRE_ROLE_RELAY);
        assert_int_equal(m.reason, FRE_CANCEL_TOO_FEW);
    }
    assert_int_equal(fre_relay_cancel_view(w.relay).n, w.out.item[0].message.n);
    reload(&w);
    assert_int_equal(tick(&w, 2002), 2);
    assert_int_equal(fre_relay_answered(w.relay, w.out.item[0].cookie, receipt(), 2002), FRE_OK);
    assert_int_equal(tick(&w, 2002), 1);
    assert_int_equal(w.out.item[0].to, FRE_ROLE_SYN);
    submit(&w, 9, make(&w, FRE_WIRE_REPORT, 9), 2003, FRE_REJECTED_CANCELLED);
    exchange(&w, 9, ask(&w), 2003, FRE_REJECTED_CANCELLED);
    tear_down(&w);
}

/* The place of the first to arrive, of 8, in 2400 flushes of as many relays: chi-square with 7 degrees
 * of freedom is above 46 with probability 1e-7. */
static void test_shuffle_is_uniform(void **state)
{
    fre_buf report[8];
    uint32_t place[8] = {0}, which[8];
    double chi2 = 0;
    world w;

    (void)state;
    set_up(&w, 9);
    for (uint32_t i = 0; i < 8; i++) {
        fre_bytes m = make(&w, FRE_WIRE_REPORT, i);

        fre_buf_init(&report[i], SAMPLE_MAX);
        assert_int_equal(fre_buf_append(&report[i], m.p, m.n), FRE_OK);
    }
    for (unsigned run = 0; run < 2400; run++) {
        const fre_relay_opts opts = {.batch_min = BATCH, .part_max = 16};

        fre_relay_free(w.relay);
        w.relay = NULL;
        assert_int_equal(fre_relay_new(&w.relay, &w.s.w.c, &opts, &w.s.relay_sk, &w.rng, NULL),
                         FRE_OK);
        for (uint32_t i = 0; i < 8; i++)
            submit(&w, i, sample_view(&report[i]), 1500, FRE_NOT_REJECTED);
        handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
        assert_int_equal(tick(&w, 2002), 1);
        /* Sealed messages are told apart by their bytes; no need to open them. */
        for (uint32_t i = 0; i < 8; i++) {
            const size_t each = fre_wire_sealed_bytes(&w.s.w, FRE_WIRE_REPORT);
            const fre_buf *flush = &w.out.item[0].message;
            const size_t first = flush->n - FRE_WIRE_SIGNATURE_BYTES - 8 * each;

            which[i] =
                memcmp(flush->p + first + i * each, report[0].p + FRE_WIRE_HEAD_BYTES, each) == 0;
            place[i] += which[i];
        }
    }
    for (uint32_t i = 0; i < 8; i++) {
        chi2 += ((double)place[i] - 300) * ((double)place[i] - 300) / 300;
        fre_buf_wipe(&report[i]);
    }
    assert_true(chi2 < 46);
    tear_down(&w);
}

/* Parts come again until they are answered, byte by byte the same, restarts or not. */
static void test_flush_is_repeated(void **state)
{
    static const uint8_t full[] = {FRE_WIRE_VERSION, FRE_WIRE_REJECTION, FRE_REJECTED_FULL};
    fre_buf first[3], before;
    fre_relay_counts counts;
    world w;

    (void)state;
    set_up(&w, 10);
    fill(&w, CLIENTS);
    handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
    fre_buf_init(&before, SAMPLE_MAX);
    assert_int_equal(fre_relay_save(w.relay, &before), FRE_OK);
    assert_int_equal(tick(&w, 2001), 3); /* 40 in parts of 16 */
    for (size_t i = 0; i < 3; i++) {
        fre_buf_init(&first[i], SAMPLE_MAX);
        assert_int_equal(
            fre_buf_append(&first[i], w.out.item[i].message.p, w.out.item[i].message.n), FRE_OK);
    }
    for (unsigned k = 0; k < 4; k++) {
        if (k == 3) { /* from before it was shuffled */
            fre_relay_free(w.relay);
            assert_int_equal(
                fre_relay_load(&w.relay, &w.s.w.c, &w.s.relay_sk, sample_view(&before), NULL),
                FRE_OK);
        }
        reload(&w);
        assert_int_equal(tick(&w, 2002), 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(w.out.item[i].message.n, first[i].n);
            assert_memory_equal(w.out.item[i].message.p, first[i].p, first[i].n);
            assert_int_equal(fre_relay_answered(w.relay, w.out.item[i].cookie,
                                                (fre_bytes){full, sizeof full}, 2002),
                             FRE_OK);
        }
    }
    assert_int_equal(fre_relay_answered(w.relay, w.out.item[1].cookie, receipt(), 2002), FRE_OK);
    reload(&w);
    assert_int_equal(tick(&w, 2003), 2);
    assert_memory_equal(w.out.item[1].message.p, first[2].p, first[2].n);
    fre_relay_count(&counts, w.relay);
    assert_int_equal(counts.parts, 3);
    assert_int_equal(counts.settled, 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fre_relay_answered(w.relay, w.out.item[i].cookie, receipt(), 2003),
                         FRE_OK);
    assert_int_equal(tick(&w, 2004), 0);
    for (size_t i = 0; i < 3; i++)
        fre_buf_wipe(&first[i]);
    fre_buf_wipe(&before);
    tear_down(&w);
}

/* ---- shares ------------------------------------------------------------------------------------ */

/* As far as the list of one tag, `clients` having reported. */
static void reach_shares(world *w, uint32_t clients)
{
    uint32_t which[CLIENTS];

    fill(w, clients);
    make_list(w, 5);
    handle(w, sample_view(&w->list), 1600, FRE_REJECTED_PHASE);
    handle(w, sample_view(&w->closed), 2001, FRE_NOT_REJECTED);
    handle(w, sample_view(&w->list), 2001, FRE_REJECTED_PHASE); /* nothing flushed: of what? */
    assert_int_equal(flushed(w, FRE_WIRE_REPORT, 2001, which, CLIENTS), clients);
    handle(w, sample_view(&w->list), 2001, FRE_NOT_REJECTED);
    handle(w, sample_view(&w->list), 2001, FRE_NOT_REJECTED);
    assert_int_equal(fre_relay_stage(w->relay), FRE_STAGE_SHARES);
    assert_int_equal(fre_relay_list_view(w->relay).n, w->list.n);
}

static void test_shares_by_phase(void **state)
{
    uint32_t which[CLIENTS];
    fre_wire other;
    world w;

    (void)state;
    set_up(&w, 11);
    reach_shares(&w, 6);
    for (uint32_t i = 0; i < 6; i++) {
        submit(&w, i, make(&w, FRE_WIRE_SHARE, i), 2500, FRE_NOT_REJECTED);
        submit(&w, i, sample_view(&w.message), 2500, FRE_NOT_REJECTED);
        submit(&w, i, make(&w, FRE_WIRE_SHARE, i), 2500, FRE_REJECTED_REPLAYED);
        submit(&w, i, make(&w, FRE_WIRE_REPORT, i), 2500, FRE_REJECTED_EXPIRED);
        reload(&w);
    }
    submit(&w, 6, make(&w, FRE_WIRE_SHARE, 6), 2500, FRE_REJECTED_KEY); /* it never reported */
    other = w.s.w;
    assert_int_equal(fre_wire_set_share_bits(&w.s.w, other.share_bits + 1), FRE_OK);
    submit(&w, 1, make(&w, FRE_WIRE_SHARE, 1), 2500, FRE_REJECTED_MALFORMED); /* another size */
    w.s.w = other;
    assert_int_equal(tick(&w, 2999), 0);
    submit(&w, 1, make(&w, FRE_WIRE_SHARE, 1), 3000, FRE_REJECTED_EXPIRED);
    assert_int_equal(flushed(&w, FRE_WIRE_SHARE, 3000, which, CLIENTS), 6);
    assert_int_equal(tick(&w, 3001), 0);
    tear_down(&w);
}

static bool registered(const world *w, const fre_seed_digest *digest)
{
    for (uint32_t i = 0; i < w->digests; i++)
        if (memcmp(w->digest[i].b, digest->b, sizeof digest->b) == 0)
            return true;
    return false;
}

/* S_tag gets the digests of exactly the shares that were taken, each once, in no order of theirs, and
 * over restarts the same. */
static void test_registry_of_what_was_taken(void **state)
{
    fre_relay_opts opts = {.batch_min = BATCH, .part_max = 1}; /* parts of 64 digests */
    uint32_t which[DIGESTS];
    fre_seed_digest taken[70], refused;
    fre_bytes sealed;
    fre_collection c;
    world w;

    (void)state;
    c = small_collection(&w.s);
    c.cells_per_user = 2;
    set_up_as(&w, &c, &opts, 14);
    reach_shares(&w, 35);
    for (uint32_t i = 0; i < 70; i++) {
        const fre_bytes m = make(&w, FRE_WIRE_SHARE, i);

        assert_int_equal(
            fre_contribution_split(&sealed, &taken[i], &w.s.w, FRE_WIRE_SHARE, m, NULL), FRE_OK);
        submit(&w, i / 2, m, 2500, FRE_NOT_REJECTED);
        submit(&w, i / 2, m, 2500, FRE_NOT_REJECTED);
        if (i % 20 == 0)
            reload(&w);
    }
    /* One digest of two messages is one. */
    sealed = make(&w, FRE_WIRE_SHARE, 70);
    assert_int_equal(
        fre_contribution_split(&sealed, &refused, &w.s.w, FRE_WIRE_SHARE, sealed, NULL), FRE_OK);
    submit(&w, 0, sample_view(&w.message), 2500, FRE_REJECTED_REPLAYED);
    assert_int_equal(flushed(&w, FRE_WIRE_SHARE, 3000, which, DIGESTS), 70);
    assert_int_equal(w.registry_parts, 2);
    assert_int_equal(w.digests, 70);
    for (uint32_t i = 0; i < 70; i++)
        assert_true(registered(&w, &taken[i]));
    assert_false(registered(&w, &refused));
    assert_null(w.relay->registry.digest); /* nor does the relay keep them */
    tear_down(&w);
}

/* A digest that somebody repeats is in the registry once. */
static void test_a_digest_twice(void **state)
{
    uint32_t which[CLIENTS];
    uint8_t other[4096];
    world w;

    (void)state;
    set_up(&w, 15);
    reach_shares(&w, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const fre_bytes m = make(&w, FRE_WIRE_SHARE, i);

        if (i == 0)
            memcpy(other, m.p, m.n);
        if (i == 1) /* its own content under the digest of the first one */
            memcpy(w.message.p + FRE_WIRE_HEAD_BYTES, other + FRE_WIRE_HEAD_BYTES,
                   sizeof(fre_seed_digest));
        submit(&w, i, m, 2500, FRE_NOT_REJECTED);
    }
    assert_int_equal(flushed(&w, FRE_WIRE_SHARE, 3000, which, CLIENTS), 6);
    assert_int_equal(w.digests, 5);
    tear_down(&w);
}

/* What S_syn has is given back, from the end of the mix; what it hasn't stays, over restarts too. */
static void test_memory_goes_with_the_flush(void **state)
{
    static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
    world w;

    (void)state;
    for (unsigned o = 0; o < 4; o++) {
        uint64_t cookie[3];
        bool gone[3] = {false};

        set_up(&w, 16);
        fill(&w, CLIENTS);
        handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
        assert_int_equal(tick(&w, 2001), 3);
        for (unsigned i = 0; i < 3; i++) /* from the last part to the first */
            cookie[2 - i] = w.out.item[i].cookie;
        for (unsigned k = 0; k < 3; k++) {
            const unsigned part = orders[o][k];
            size_t held = 0;

            assert_int_equal(fre_relay_answered(w.relay, cookie[part], receipt(), 2002), FRE_OK);
            gone[part] = true;
            for (size_t i = 0; i < 3; i++)
                held = gone[i] ? held : i == 2 ? CLIENTS : 16 * (i + 1);
            assert_int_equal(w.relay->mix_cap < CLIENTS ? w.relay->mix_cap : CLIENTS, held);
            reload(&w);
            assert_int_equal(tick(&w, 2003), 2 - k);
        }
        assert_null(w.relay->mix);
        tear_down(&w);
    }
}

static void test_too_few_shares(void **state)
{
    world w;

    (void)state;
    set_up(&w, 12);
    reach_shares(&w, 6);
    for (uint32_t i = 0; i < BATCH - 1; i++)
        submit(&w, i, make(&w, FRE_WIRE_SHARE, i), 2500, FRE_NOT_REJECTED);
    assert_int_equal(tick(&w, 3000), 2);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_VOID);
    assert_true(fre_relay_cancel_view(w.relay).n > 0);
    tear_down(&w);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void make_release(world *w, uint32_t index, uint32_t count, int64_t time)
{
    const fre_release_part m = {.part = {.index = index, .count = count}, .time = time};

    fre_buf_wipe(&w->message);
    assert_int_equal(fre_release_part_encode(&w->message, &w->s.w, &m, NULL, &w->s.syn_sk), FRE_OK);
}

static void test_release_is_shown_whole(void **state)
{
    world w;

    (void)state;
    set_up(&w, 13);
    reach_shares(&w, 6);
    make_release(&w, 0, 2, 3100);
    handle(&w, sample_view(&w.message), 2500, FRE_REJECTED_UNAVAILABLE); /* shares come first */
    for (uint32_t i = 0; i < 6; i++)
        submit(&w, i, make(&w, FRE_WIRE_SHARE, i), 2500, FRE_NOT_REJECTED);
    make_release(&w, 0, 2, 3100);
    handle(&w, sample_view(&w.message), 3100, FRE_NOT_REJECTED);
    handle(&w, sample_view(&w.message), 3100, FRE_NOT_REJECTED);
    assert_int_equal(fre_relay_release_parts(w.relay), 0);
    assert_int_equal(fre_relay_release_view(w.relay, 0).n, 0);
    reload(&w);
    make_release(&w, 0, 2, 3101);
    handle(&w, sample_view(&w.message), 3101, FRE_REJECTED_DISAGREES);
    make_release(&w, 1, 3, 3100);
    handle(&w, sample_view(&w.message), 3101, FRE_REJECTED_DISAGREES);
    make_release(&w, 1, 2, 3100);
    w.message.p[w.message.n - 1] ^= 1;
    handle(&w, sample_view(&w.message), 3101, FRE_REJECTED_UNAUTHENTIC);
    w.message.p[w.message.n - 1] ^= 1;
    handle(&w, sample_view(&w.message), 3101, FRE_NOT_REJECTED);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_DONE);
    reload(&w);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_DONE);
    assert_int_equal(fre_relay_release_parts(w.relay), 2);
    assert_int_equal(fre_relay_release_view(w.relay, 1).n, w.message.n);
    assert_int_equal(tick(&w, 5000), 0);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_DONE);
    assert_int_equal(fre_relay_cancel(w.relay, 5000), FRE_E_STATE);
    tear_down(&w);
}

static void test_empty_list_skips_shares(void **state)
{
    uint32_t which[CLIENTS];
    world w;

    (void)state;
    set_up(&w, 14);
    fill(&w, 6);
    handle(&w, sample_view(&w.closed), 2001, FRE_NOT_REJECTED);
    assert_int_equal(flushed(&w, FRE_WIRE_REPORT, 2001, which, CLIENTS), 6);
    make_list(&w, 0);
    handle(&w, sample_view(&w.list), 2002, FRE_NOT_REJECTED);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_SUMMING);
    submit(&w, 1, make(&w, FRE_WIRE_SHARE, 1), 2002, FRE_REJECTED_EXPIRED);
    make_release(&w, 0, 1, 2002);
    handle(&w, sample_view(&w.message), 2003, FRE_NOT_REJECTED);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_DONE);
    tear_down(&w);
}

static void test_nothing_outlives_the_end(void **state)
{
    world w;

    (void)state;
    set_up(&w, 15);
    fill(&w, 6);
    assert_int_equal(tick(&w, 4000), 0);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_VOID);
    assert_null(w.relay->mix);
    assert_null(w.relay->client);
    submit(&w, 1, make(&w, FRE_WIRE_REPORT, 1), 4000, FRE_REJECTED_EXPIRED);
    handle(&w, sample_view(&w.closed), 4000, FRE_REJECTED_EXPIRED);
    tear_down(&w);
}

static void test_cancels(void **state)
{
    const fre_cancel m = {.by = FRE_ROLE_TAG, .reason = FRE_CANCEL_KEY_LOST, .time = 1600};
    world w;

    (void)state;
    set_up(&w, 16);
    fill(&w, 6);
    fre_buf_wipe(&w.message);
    assert_int_equal(fre_cancel_encode(&w.message, &w.s.w, &m, &w.s.syn_sk), FRE_OK);
    handle(&w, sample_view(&w.message), 1600, FRE_REJECTED_UNAUTHENTIC);
    fre_buf_wipe(&w.message);
    assert_int_equal(fre_cancel_encode(&w.message, &w.s.w, &m, &w.s.tag_sk), FRE_OK);
    handle(&w, sample_view(&w.message), 1600, FRE_NOT_REJECTED);
    handle(&w, sample_view(&w.message), 1600, FRE_NOT_REJECTED);
    reload(&w);
    assert_int_equal(fre_relay_stage(w.relay), FRE_STAGE_VOID);
    assert_int_equal(tick(&w, 1600), 0); /* S_tag tells S_syn itself */
    assert_int_equal(fre_relay_cancel_view(w.relay).n, w.message.n);
    submit(&w, 1, make(&w, FRE_WIRE_REPORT, 1), 1600, FRE_REJECTED_CANCELLED);
    tear_down(&w);

    set_up(&w, 17);
    assert_int_equal(fre_relay_cancel(w.relay, 1200), FRE_OK);
    assert_int_equal(tick(&w, 1200), 2);
    assert_int_equal(fre_relay_cancel(w.relay, 1200), FRE_E_STATE);
    tear_down(&w);
}

static void test_state_is_checked(void **state)
{
    fre_relay *again = NULL;
    fre_buf saved;
    world w;

    (void)state;
    fre_buf_init(&saved, SAMPLE_MAX);
    set_up(&w, 18);
    fill(&w, 5);
    assert_int_equal(fre_relay_save(w.relay, &saved), FRE_OK);
    for (size_t i = 0; i < saved.n; i += 7) {
        saved.p[i] ^= 1;
        assert_int_equal(fre_relay_load(&again, &w.s.w.c, &w.s.relay_sk, sample_view(&saved), NULL),
                         FRE_E_DATA);
        saved.p[i] ^= 1;
        assert_int_equal(
            fre_relay_load(&again, &w.s.w.c, &w.s.relay_sk, (fre_bytes){saved.p, i}, NULL),
            FRE_E_DATA);
    }
    assert_int_equal(fre_relay_load(&again, &w.s.w.c, &w.s.syn_sk, sample_view(&saved), NULL),
                     FRE_E_KEY);
    assert_null(again);
    fre_buf_wipe(&saved);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_exchange_a_client),
        cmocka_unit_test(test_no_more_clients_than_enrolled),
        cmocka_unit_test(test_reports_by_phase),
        cmocka_unit_test(pitfall_04_duplicates_count_once),
        cmocka_unit_test(test_no_flush_before_closed),
        cmocka_unit_test(test_padding_joins_the_mix),
        cmocka_unit_test(test_padding_is_no_batch),
        cmocka_unit_test(test_shuffle_is_uniform),
        cmocka_unit_test(test_flush_is_repeated),
        cmocka_unit_test(test_shares_by_phase),
        cmocka_unit_test(test_registry_of_what_was_taken),
        cmocka_unit_test(test_a_digest_twice),
        cmocka_unit_test(test_memory_goes_with_the_flush),
        cmocka_unit_test(test_too_few_shares),
        cmocka_unit_test(test_release_is_shown_whole),
        cmocka_unit_test(test_empty_list_skips_shares),
        cmocka_unit_test(test_nothing_outlives_the_end),
        cmocka_unit_test(test_cancels),
        cmocka_unit_test(test_state_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
