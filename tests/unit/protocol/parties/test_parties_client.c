/* The client: coins, tags, covers, shares, byte-identical retries, restarts, budget, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/sharing.h>

#include <math.h>

#include "parties_small.h"

#define PLACES_MAX 4u

/* A collection with its terms, a host that counts, and one client with what it sent last. */
typedef struct world {
    sample s;
    fre_terms *terms;
    fre_rng rng;
    fre_client_host host;
    fre_share_noise noise;
    fre_buf kept; /* state that the host holds */
    unsigned keeps, spends;
    bool keep_fails, spend_refused;
    fre_outbox out;
    fre_client *client;
    float x[PLACES_MAX * SMALL_DIM];
    uint32_t texts;
} world;

static fre_status keep(void *ctx, fre_bytes state)
{
    world *w = ctx;

    if (w->keep_fails)
        return FRE_E_IO;
    w->keeps++;
    fre_buf_wipe(&w->kept);
    return fre_buf_append(&w->kept, state.p, state.n);
}

static fre_status spend(void *ctx, const fre_collection_id *id, double epsilon, double delta)
{
    world *w = ctx;

    assert_memory_equal(id->b, w->s.w.id.b, sizeof id->b);
    assert_true(epsilon >= w->s.w.c.epsilon && delta >= w->s.w.c.delta);
    if (w->spend_refused)
        return FRE_E_REFUSED;
    w->spends++;
    return FRE_OK;
}

static void open_world(world *w, const fre_collection *c, uint64_t seed)
{
    sample keys = w->s;
    fre_err err = {.text = ""};

    memset(w, 0, sizeof *w);
    w->s = keys;
    if (c->cells_per_user > 1)
        w->terms = small_unchecked_terms(c);
    else if (fre_terms_new(&w->terms, c, &err) != FRE_OK)
        fail_msg("%s", err.text);
    w->s.w = *fre_terms_view(w->terms);
    small_rng(&w->rng, seed);
    w->noise = (fre_share_noise){.draw = small_no_noise};
    w->host = (fre_client_host){.ctx = w, .keep = keep, .spend = spend, .noise = &w->noise};
    fre_buf_init(&w->kept, SAMPLE_MAX);
    fre_outbox_init(&w->out);
}

static void make_client(world *w, uint32_t texts)
{
    fre_client_free(w->client);
    w->client = NULL;
    w->texts = texts;
    assert_int_equal(fre_client_new(&w->client, w->terms, w->x, texts, &w->host, &w->rng, NULL),
                     FRE_OK);
}

static void set_up(world *w, uint64_t seed)
{
    fre_collection c = small_collection(&w->s);

    open_world(w, &c, seed);
    small_text(w->x, 1, 0);
    make_client(w, 1);
}

static void tear_down(world *w)
{
    fre_client_free(w->client);
    fre_terms_free(w->terms);
    fre_outbox_wipe(&w->out);
    fre_buf_wipe(&w->kept);
    fre_rng_wipe(&w->rng);
}

/* How many messages are due. */
static size_t tick(world *w, int64_t now)
{
    fre_outbox_wipe(&w->out);
    assert_int_equal(fre_client_tick(w->client, &w->out, now), FRE_OK);
    for (size_t i = 0; i < w->out.n; i++)
        assert_int_equal(w->out.item[i].to, FRE_ROLE_RELAY);
    return w->out.n;
}

static fre_bytes sent(const world *w, size_t i)
{
    return sample_view(&w->out.item[i].message);
}

static fre_status answer(world *w, size_t i, fre_bytes reply, int64_t now)
{
    return fre_client_answered(w->client, w->out.item[i].cookie, reply, now);
}

static fre_bytes receipt(void)
{
    static const uint8_t bytes[] = {FRE_WIRE_VERSION, FRE_WIRE_RECEIPT};

    return (fre_bytes){bytes, sizeof bytes};
}

static fre_bytes rejection(uint8_t out[3], fre_rejection r)
{
    out[0] = FRE_WIRE_VERSION;
    out[1] = FRE_WIRE_REJECTION;
    out[2] = (uint8_t)r;
    return (fre_bytes){out, 3};
}

/* The client's exchange, answered by S_tag. */
static void get_tags(world *w, int64_t now)
{
    fre_buf reply;

    fre_buf_init(&reply, SAMPLE_MAX);
    assert_int_equal(tick(w, now), 1);
    small_answer(&w->s, &w->s.oprf, sent(w, 0), &reply, &w->rng);
    assert_int_equal(answer(w, 0, sample_view(&reply), now), FRE_OK);
    fre_buf_wipe(&reply);
}

static fre_contribution opened(const world *w, const fre_wire *wire, fre_wire_type type,
                               fre_bytes message, fre_buf *plain)
{
    fre_contribution m;
    fre_bytes sealed;

    assert_int_equal(fre_contribution_split(&sealed, NULL, wire, type, message, NULL), FRE_OK);
    assert_int_equal(fre_contribution_open(&m, plain, wire, type, &w->s.syn, sealed, NULL), FRE_OK);
    return m;
}

/* A signed list with the one entry, or with none. */
static void make_list(const world *w, const fre_tag *tag, uint32_t count, fre_buf *out)
{
    fre_list_entry e = {.count = count};

    if (tag)
        e.tag = *tag;
    assert_int_equal(fre_list_encode(out, &w->s.w, &e, tag ? 1 : 0, &w->s.syn_sk), FRE_OK);
}

/* Through tags and report; true if the report holds the text's own tag. */
static bool report(world *w, fre_tag *tag, fre_report_id *id)
{
    fre_tag own = small_tag(&w->s, w->x);
    fre_buf plain;
    fre_contribution m;

    fre_buf_init(&plain, SAMPLE_MAX);
    get_tags(w, 1500);
    assert_int_equal(tick(w, 1500), 1);
    m = opened(w, &w->s.w, FRE_WIRE_REPORT, sent(w, 0), &plain);
    *tag = m.tag;
    *id = m.id;
    assert_int_equal(answer(w, 0, receipt(), 1500), FRE_OK);
    fre_buf_wipe(&plain);
    return small_same_tag(&own, tag);
}

/* ---- coins ------------------------------------------------------------------------------------- */

/* A coin of p: 600 clients' own tags are a binomial, whose 5.1 deviations are 54; everybody sends
 * one report of one size. */
static void test_coin_decides_the_tag(void **state)
{
    world w;
    size_t own = 0, bytes = 0;
    fre_tag tag;
    fre_report_id id;

    (void)state;
    set_up(&w, 1);
    for (unsigned i = 0; i < 600; i++) {
        make_client(&w, 1);
        own += report(&w, &tag, &id);
        assert_true(bytes == 0 || bytes == sent(&w, 0).n);
        bytes = sent(&w, 0).n;
    }
    assert_in_range(own, 450 - 54, 450 + 54);
    tear_down(&w);
}

static void test_without_text_all_is_alike(void **state)
{
    world w, v;
    fre_tag tag, own;
    fre_report_id id;

    (void)state;
    set_up(&w, 2);
    own = small_tag(&w.s, w.x);
    set_up(&v, 2);
    for (unsigned i = 0; i < 20; i++) {
        make_client(&w, 0);
        make_client(&v, 1);
        assert_int_equal(tick(&w, 1000), 1);
        assert_int_equal(tick(&v, 1000), 1);
        assert_int_equal(sent(&w, 0).n, sent(&v, 0).n);
        assert_false(report(&w, &tag, &id));
        assert_false(small_same_tag(&tag, &own));
    }
    tear_down(&w);
    tear_down(&v);
}

/* Two of three texts share a cell: one of them counts at most, and every place sends a report. */
static void test_one_record_a_cell(void **state)
{
    fre_collection c;
    world w;
    fre_buf plain;
    fre_tag own;
    size_t twice = 0, seen = 0;

    (void)state;
    c = small_collection(&w.s);
    c.cells_per_user = 4;
    open_world(&w, &c, 3);
    fre_buf_init(&plain, SAMPLE_MAX);
    for (unsigned run = 0; run < 40; run++) {
        size_t same = 0;

        small_text(w.x, 1, 0);
        small_text(w.x + SMALL_DIM, 2, 0);
        small_text(w.x + 2 * SMALL_DIM, 1, 0);
        own = small_tag(&w.s, w.x);
        make_client(&w, 3);
        get_tags(&w, 1200);
        assert_int_equal(tick(&w, 1200), 4);
        for (size_t i = 0; i < 4; i++) {
            fre_contribution m = opened(&w, &w.s.w, FRE_WIRE_REPORT, sent(&w, i), &plain);

            same += small_same_tag(&m.tag, &own);
            assert_int_equal(sent(&w, i).n, sent(&w, 0).n);
        }
        twice += same > 1;
        seen += same;
    }
    assert_int_equal(twice, 0);
    assert_in_range(seen, 12, 40); /* 40 coins of 3/4: below 12 with probability 1e-9 */
    fre_buf_wipe(&plain);
    tear_down(&w);
}

/* ---- retries and restarts ---------------------------------------------------------------------- */

static void reload(world *w)
{
    fre_buf state;
    fre_client *again;

    fre_buf_init(&state, SAMPLE_MAX);
    assert_int_equal(fre_client_save(w->client, &state), FRE_OK);
    assert_int_equal(
        fre_client_load(&again, w->terms, w->x, w->texts, &w->host, sample_view(&state), NULL),
        FRE_OK);
    fre_client_free(w->client);
    w->client = again;
    fre_buf_wipe(&state);
}

/* The same message on every tick, after a restart too. */
static void assert_repeats(world *w, int64_t now)
{
    fre_buf first;

    fre_buf_init(&first, SAMPLE_MAX);
    assert_int_equal(tick(w, now), 1);
    assert_int_equal(fre_buf_append(&first, sent(w, 0).p, sent(w, 0).n), FRE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(tick(w, now + i), 1);
        assert_int_equal(sent(w, 0).n, first.n);
        assert_memory_equal(sent(w, 0).p, first.p, first.n);
        reload(w);
    }
    fre_buf_wipe(&first);
}

static void test_retries_are_identical(void **state)
{
    world w;
    fre_tag tag;
    fre_report_id id;
    fre_buf reply, list, plain;
    fre_contribution m;

    (void)state;
    fre_buf_init(&reply, SAMPLE_MAX);
    fre_buf_init(&list, SAMPLE_MAX);
    fre_buf_init(&plain, SAMPLE_MAX);
    set_up(&w, 4);
    assert_repeats(&w, 1100);
    assert_int_equal(tick(&w, 1100), 1);
    small_answer(&w.s, &w.s.oprf, sent(&w, 0), &reply, &w.rng);
    reload(&w);
    assert_int_equal(answer(&w, 0, sample_view(&reply), 1100), FRE_OK);
    reload(&w);
    assert_repeats(&w, 1200);
    m = opened(&w, &w.s.w, FRE_WIRE_REPORT, sent(&w, 0), &plain);
    tag = m.tag;
    id = m.id;
    assert_int_equal(tick(&w, 1300), 1);
    assert_int_equal(answer(&w, 0, receipt(), 1300), FRE_OK);
    assert_int_equal(tick(&w, 1300), 0);
    reload(&w);
    make_list(&w, &tag, 5, &list);
    assert_int_equal(fre_client_read(w.client, sample_view(&list), 2000, NULL), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_SHARES);
    assert_repeats(&w, 2100);
    assert_int_equal(tick(&w, 2200), 1);
    assert_int_equal(answer(&w, 0, receipt(), 2200), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_DONE);
    assert_int_equal(fre_client_verdict(w.client), FRE_OK);
    assert_int_equal(tick(&w, 2201), 0);
    (void)id;
    fre_buf_wipe(&reply);
    fre_buf_wipe(&list);
    fre_buf_wipe(&plain);
    tear_down(&w);
}

/* Only what is on the host's disk survives; nothing may have left before it was there. */
static void test_state_before_first_send(void **state)
{
    world w;
    fre_client *again;
    fre_buf first;

    (void)state;
    fre_buf_init(&first, SAMPLE_MAX);
    set_up(&w, 5);
    w.keep_fails = true;
    assert_int_equal(fre_client_tick(w.client, &w.out, 1100), FRE_E_IO);
    assert_int_equal(w.out.n, 0);
    w.keep_fails = false;
    assert_int_equal(tick(&w, 1100), 1);
    assert_int_equal(w.keeps, 1);
    assert_int_equal(fre_buf_append(&first, sent(&w, 0).p, sent(&w, 0).n), FRE_OK);
    assert_int_equal(tick(&w, 1100), 1);
    assert_int_equal(w.keeps, 1); /* nothing new to keep */
    assert_int_equal(fre_client_load(&again, w.terms, w.x, 1, &w.host, sample_view(&w.kept), NULL),
                     FRE_OK);
    fre_client_free(w.client);
    w.client = again;
    get_tags(&w, 1100);
    assert_memory_equal(sent(&w, 0).p, first.p, first.n);
    w.keep_fails = true;
    fre_outbox_wipe(&w.out);
    assert_int_equal(fre_client_tick(w.client, &w.out, 1200), FRE_E_IO);
    assert_int_equal(w.out.n, 0);
    w.keep_fails = false;
    assert_int_equal(tick(&w, 1200), 1);
    assert_int_equal(w.keeps, 3); /* after the restart, and with the report */
    fre_buf_wipe(&first);
    tear_down(&w);
}

static void test_state_is_checked(void **state)
{
    world w;
    fre_client *again = NULL;
    fre_buf saved;

    (void)state;
    fre_buf_init(&saved, SAMPLE_MAX);
    set_up(&w, 6);
    assert_int_equal(fre_client_save(w.client, &saved), FRE_OK);
    for (size_t i = 0; i < saved.n; i++) {
        saved.p[i] ^= 1;
        assert_int_equal(
            fre_client_load(&again, w.terms, w.x, 1, &w.host, sample_view(&saved), NULL),
            FRE_E_DATA);
        saved.p[i] ^= 1;
        assert_int_equal(
            fre_client_load(&again, w.terms, w.x, 1, &w.host, (fre_bytes){saved.p, i}, NULL),
            FRE_E_DATA);
    }
    assert_int_equal(fre_client_load(&again, w.terms, w.x, 0, &w.host, sample_view(&saved), NULL),
                     FRE_E_DATA);
    assert_null(again);
    fre_buf_wipe(&saved);
    tear_down(&w);
}

/* ---- budget ------------------------------------------------------------------------------------ */

static void test_budget_whatever_the_coin(void **state)
{
    world w;
    fre_tag tag;
    fre_report_id id;

    (void)state;
    set_up(&w, 7);
    for (unsigned i = 0; i < 30; i++) {
        make_client(&w, i % 2);
        w.spends = 0;
        get_tags(&w, 1100);
        assert_int_equal(w.spends, 0);
        assert_false(fre_client_spent(w.client));
        assert_int_equal(tick(&w, 1100), 1);
        assert_int_equal(w.spends, 1);
        reload(&w);
        assert_true(fre_client_spent(w.client));
        assert_int_equal(tick(&w, 1100), 1);
        assert_int_equal(w.spends, 1);
    }
    make_client(&w, 1);
    get_tags(&w, 1100);
    w.spend_refused = true;
    assert_int_equal(tick(&w, 1100), 0);
    assert_int_equal(fre_client_verdict(w.client), FRE_E_REFUSED);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_DONE);
    w.spend_refused = false;
    assert_int_equal(tick(&w, 1100), 0);
    make_client(&w, 1);
    (void)report(&w, &tag, &id);
    tear_down(&w);
}

/* ---- proofs ------------------------------------------------------------------------------------ */

/* S_tag with a key of its own for this client: nothing is sent any more. */
static void pitfall_10_another_key_is_noticed(void **state)
{
    world w;
    fre_oprf_key other;
    fre_buf reply;

    (void)state;
    fre_buf_init(&reply, SAMPLE_MAX);
    set_up(&w, 8);
    assert_int_equal(fre_oprf_key_generate(&other, &w.rng), FRE_OK);
    assert_int_equal(tick(&w, 1100), 1);
    small_answer(&w.s, &other, sent(&w, 0), &reply, &w.rng);
    assert_int_equal(answer(&w, 0, sample_view(&reply), 1100), FRE_E_PROOF);
    assert_int_equal(fre_client_verdict(w.client), FRE_E_PROOF);
    assert_int_equal(tick(&w, 1101), 0);
    assert_int_equal(w.spends, 0);
    fre_buf_wipe(&reply);
    tear_down(&w);
}

/* What is no answer to its question changes nothing, whoever made it. */
static void test_false_answers_are_ignored(void **state)
{
    static const fre_rejection again[] = {FRE_REJECTED_UNAVAILABLE, FRE_REJECTED_FULL,
                                          FRE_REJECTED_PHASE};
    world w;
    fre_buf reply;
    uint8_t no[3];

    (void)state;
    fre_buf_init(&reply, SAMPLE_MAX);
    set_up(&w, 9);
    assert_int_equal(tick(&w, 1100), 1);
    small_answer(&w.s, &w.s.oprf, sent(&w, 0), &reply, &w.rng);
    for (size_t i = 0; i < reply.n; i += 5) {
        reply.p[i] ^= 4;
        assert_int_not_equal(answer(&w, 0, sample_view(&reply), 1100), FRE_OK);
        reply.p[i] ^= 4;
    }
    assert_int_not_equal(answer(&w, 0, (fre_bytes){reply.p, reply.n - 1}, 1100), FRE_OK);
    assert_int_not_equal(answer(&w, 0, receipt(), 1100), FRE_OK);
    assert_int_not_equal(answer(&w, 0, (fre_bytes){NULL, 0}, 1100), FRE_OK);
    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
        assert_int_equal(answer(&w, 0, rejection(no, again[i]), 1100), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_TAGS);
    assert_int_equal(answer(&w, 0, sample_view(&reply), 1100), FRE_OK);
    assert_int_equal(tick(&w, 1100), 1);
    /* An answer that comes twice is one of a step that is over. */
    assert_int_equal(fre_client_answered(w.client, UINT64_C(1) << 56, sample_view(&reply), 1100),
                     FRE_OK);
    assert_int_equal(answer(&w, 0, rejection(no, FRE_REJECTED_REPLAYED), 1100), FRE_OK);
    assert_int_equal(fre_client_verdict(w.client), FRE_E_REFUSED);
    fre_buf_wipe(&reply);
    tear_down(&w);
}

/* ---- time -------------------------------------------------------------------------------------- */

static void test_phases_by_the_clock(void **state)
{
    world w;

    (void)state;
    set_up(&w, 10);
    assert_int_equal(tick(&w, 999), 0);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_WAITING);
    assert_int_equal(tick(&w, 1000), 1);
    assert_int_equal(tick(&w, 1999), 1);
    assert_int_equal(tick(&w, 2000), 0);
    assert_int_equal(fre_client_verdict(w.client), FRE_E_AGAIN);
    assert_int_equal(tick(&w, 1500), 0); /* a clock set back opens nothing */

    make_client(&w, 1);
    get_tags(&w, 1990);
    assert_int_equal(tick(&w, 1999), 1);
    assert_int_equal(tick(&w, 2000), 0); /* no receipt came: it took no part */
    assert_int_equal(fre_client_verdict(w.client), FRE_E_AGAIN);
    tear_down(&w);
}

/* ---- lists and shares -------------------------------------------------------------------------- */

static void refuse(world *w, fre_buf *list, fre_status want)
{
    assert_int_equal(fre_client_read(w->client, sample_view(list), 2000, NULL), want);
    assert_int_equal(fre_client_stage(w->client), FRE_STAGE_COUNTING);
    fre_buf_wipe(list);
}

/* A list by the signer's hand that no encoder makes. */
static void forge(const world *w, const fre_list_entry *e, uint32_t n, fre_buf *out)
{
    fre_buf body;

    fre_buf_init(&body, SAMPLE_MAX);
    for (uint32_t i = 0; i < 4; i++)
        must(fre_buf_append(&body, &(uint8_t){(uint8_t)(n >> (24 - 8 * i))}, 1) == FRE_OK);
    for (uint32_t j = 0; j < n; j++) {
        must(fre_buf_append(&body, e[j].tag.b, sizeof e[j].tag.b) == FRE_OK);
        for (uint32_t i = 0; i < 4; i++)
            must(fre_buf_append(&body, &(uint8_t){(uint8_t)(e[j].count >> (24 - 8 * i))}, 1) ==
                 FRE_OK);
    }
    sample_sign(&w->s, FRE_WIRE_LIST, sample_view(&body), out);
    fre_buf_wipe(&body);
}

static void test_bad_lists_are_refused(void **state)
{
    fre_list_entry e[2] = {{.count = 5}, {.count = 5}};
    world w;
    fre_buf list;
    fre_report_id id;
    fre_tag tag;

    (void)state;
    fre_buf_init(&list, SAMPLE_MAX);
    set_up(&w, 11);
    while (!report(&w, &tag, &id))
        make_client(&w, 1);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_COUNTING);
    make_list(&w, &tag, 5, &list);
    list.p[list.n - 1] ^= 1;
    refuse(&w, &list, FRE_E_REFUSED); /* not signed */
    assert_int_equal(fre_list_encode(&list, &w.s.w, e, 1, &w.s.tag_sk), FRE_OK);
    refuse(&w, &list, FRE_E_REFUSED); /* by another */
    e[0] = (fre_list_entry){.tag = tag, .count = (uint32_t)w.s.w.c.tau - 1};
    forge(&w, e, 1, &list);
    refuse(&w, &list, FRE_E_DATA); /* below tau */
    e[0].count = 5;
    e[1] = e[0];
    forge(&w, e, 2, &list);
    refuse(&w, &list, FRE_E_DATA); /* a tag twice */
    e[0].count = (uint32_t)w.s.w.c.users + 1;
    forge(&w, e, 1, &list);
    refuse(&w, &list, FRE_E_DATA); /* a count above N, which would lower the noise unseen */
    e[0].count = 5;
    forge(&w, e, 1, &list);
    assert_int_equal(fre_client_read(w.client, sample_view(&list), 2000, NULL), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_SHARES);
    fre_buf_wipe(&list);
    tear_down(&w);
}

static void test_early_list_is_refused(void **state)
{
    world w;
    fre_buf list;

    (void)state;
    fre_buf_init(&list, SAMPLE_MAX);
    set_up(&w, 12);
    get_tags(&w, 1100);
    make_list(&w, NULL, 0, &list);
    assert_int_equal(fre_client_read(w.client, sample_view(&list), 1500, NULL), FRE_E_STATE);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_TAGS);
    fre_buf_wipe(&list);
    tear_down(&w);
}

/* A share of the client's own tag, of its report's id, whose two halves make the rotated embedding;
 * every other client of the collection sends as many bytes that say nothing. */
static void test_shares_and_nulls(void **state)
{
    world w;
    size_t bytes = 0, said = 0, nulls = 0;

    (void)state;
    set_up(&w, 13);
    for (unsigned run = 0; run < 60; run++) {
        const bool listed = run % 3 != 0, text = run % 5 != 0;
        fre_tag own = small_tag(&w.s, w.x), tag;
        fre_wire wire = w.s.w;
        fre_buf list, plain;
        fre_list decoded;
        fre_contribution m;
        fre_report_id id;
        fre_share_seed seed;
        bool real;

        fre_buf_init(&list, SAMPLE_MAX);
        fre_buf_init(&plain, SAMPLE_MAX);
        make_client(&w, text);
        real = report(&w, &tag, &id);
        memset(tag.b, 7, sizeof tag.b);
        make_list(&w, listed ? &own : &tag, 6, &list);
        reload(&w); /* the receipt is part of the state */
        assert_int_equal(fre_client_read(w.client, sample_view(&list), 2100, NULL), FRE_OK);
        assert_int_equal(tick(&w, 2100), 1);
        assert_int_equal(fre_list_decode(&decoded, &wire, sample_view(&list), NULL), FRE_OK);
        assert_int_equal(fre_wire_derive_share_bits(&wire, &decoded, NULL), FRE_OK);
        m = opened(&w, &wire, FRE_WIRE_SHARE, sent(&w, 0), &plain);
        assert_true(bytes == 0 || bytes == sent(&w, 0).n);
        bytes = sent(&w, 0).n;
        assert_int_equal(m.null, !(real && listed));
        if (m.null) {
            nulls++;
        } else {
            said++;
            assert_memory_equal(m.id.b, id.b, sizeof id.b);
            assert_true(small_same_tag(&m.tag, &own));
            assert_int_equal(fre_seed_open(&seed, &wire, &w.s.tag, &m.tag, &m.id, &m.seed), FRE_OK);
            assert_int_not_equal(fre_seed_open(&seed, &wire, &w.s.syn, &m.tag, &m.id, &m.seed),
                                 FRE_OK);
        }
        fre_buf_wipe(&list);
        fre_buf_wipe(&plain);
    }
    assert_true(said >= 5 && nulls >= 20);
    tear_down(&w);
}

/* No receipt for one of two reports: it isn't in the count, so its place says nothing. */
static void test_share_only_of_counted_reports(void **state)
{
    fre_collection c;
    world w;
    fre_buf list, plain;
    fre_tag tag[2] = {{{0}}, {{0}}};
    size_t shares = 0;

    (void)state;
    c = small_collection(&w.s);
    c.cells_per_user = 2;
    open_world(&w, &c, 14);
    fre_buf_init(&list, SAMPLE_MAX);
    fre_buf_init(&plain, SAMPLE_MAX);
    for (unsigned run = 0; run < 20; run++) {
        fre_list_entry e[2];
        fre_list decoded;
        fre_wire wire = w.s.w;

        small_text(w.x, 1, 0);
        small_text(w.x + SMALL_DIM, 3, 0);
        make_client(&w, 2);
        get_tags(&w, 1100);
        assert_int_equal(tick(&w, 1100), 2);
        for (unsigned i = 0; i < 2; i++)
            tag[i] = opened(&w, &w.s.w, FRE_WIRE_REPORT, sent(&w, i), &plain).tag;
        assert_int_equal(answer(&w, 1, receipt(), 1100), FRE_OK);
        assert_int_equal(tick(&w, 1100), 1);
        e[memcmp(tag[0].b, tag[1].b, 32) > 0] = (fre_list_entry){.tag = tag[0], .count = 4};
        e[memcmp(tag[0].b, tag[1].b, 32) < 0] = (fre_list_entry){.tag = tag[1], .count = 4};
        fre_buf_wipe(&list);
        assert_int_equal(fre_list_encode(&list, &w.s.w, e, 2, &w.s.syn_sk), FRE_OK);
        assert_int_equal(fre_client_read(w.client, sample_view(&list), 2000, NULL), FRE_OK);
        assert_int_equal(tick(&w, 2000), 2); /* as many as everybody sends */
        assert_int_equal(fre_list_decode(&decoded, &wire, sample_view(&list), NULL), FRE_OK);
        assert_int_equal(fre_wire_derive_share_bits(&wire, &decoded, NULL), FRE_OK);
        assert_true(opened(&w, &wire, FRE_WIRE_SHARE, sent(&w, 0), &plain).null);
        shares += !opened(&w, &wire, FRE_WIRE_SHARE, sent(&w, 1), &plain).null;
    }
    assert_in_range(shares, 1, 20);
    fre_buf_wipe(&list);
    fre_buf_wipe(&plain);
    tear_down(&w);
}

static void test_empty_list_ends(void **state)
{
    world w;
    fre_buf list;
    fre_tag tag;
    fre_report_id id;

    (void)state;
    fre_buf_init(&list, SAMPLE_MAX);
    set_up(&w, 15);
    (void)report(&w, &tag, &id);
    make_list(&w, NULL, 0, &list);
    assert_int_equal(fre_client_read(w.client, sample_view(&list), 2000, NULL), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_DONE);
    assert_int_equal(fre_client_verdict(w.client), FRE_OK);
    assert_int_equal(tick(&w, 2000), 0);
    fre_buf_wipe(&list);
    tear_down(&w);
}

static void test_cancel_ends(void **state)
{
    const fre_cancel m = {.by = FRE_ROLE_RELAY, .reason = FRE_CANCEL_TOO_FEW, .time = 1200};
    world w;
    fre_buf cancel;

    (void)state;
    fre_buf_init(&cancel, SAMPLE_MAX);
    set_up(&w, 16);
    get_tags(&w, 1100);
    assert_int_equal(fre_cancel_encode(&cancel, &w.s.w, &m, &w.s.tag_sk), FRE_OK);
    assert_int_equal(fre_client_read(w.client, sample_view(&cancel), 1200, NULL), FRE_E_REFUSED);
    assert_int_equal(tick(&w, 1200), 1);
    fre_buf_wipe(&cancel);
    assert_int_equal(fre_cancel_encode(&cancel, &w.s.w, &m, &w.s.relay_sk), FRE_OK);
    assert_int_equal(fre_client_read(w.client, sample_view(&cancel), 1200, NULL), FRE_OK);
    assert_int_equal(fre_client_stage(w.client), FRE_STAGE_VOID);
    assert_true(fre_client_spent(w.client)); /* what was sent is spent */
    assert_int_equal(tick(&w, 1200), 0);
    fre_buf_wipe(&cancel);
    tear_down(&w);
}

/* ---- other collections ------------------------------------------------------------------------- */

static void test_one_shot(void **state)
{
    fre_collection c;
    world w;
    fre_buf plain;
    fre_tag own;
    size_t real = 0, bytes = 0;

    (void)state;
    c = small_collection(&w.s);
    c.one_contact = true;
    c.dropout = 0;
    c.shares_close = c.tags_close;
    open_world(&w, &c, 17);
    fre_buf_init(&plain, SAMPLE_MAX);
    small_text(w.x, 1, 0);
    own = small_tag(&w.s, w.x);
    for (unsigned run = 0; run < 40; run++) {
        fre_contribution m;
        fre_share_seed seed;

        make_client(&w, run % 2);
        get_tags(&w, 1100);
        assert_int_equal(tick(&w, 1100), 1);
        assert_true(bytes == 0 || bytes == sent(&w, 0).n);
        bytes = sent(&w, 0).n;
        m = opened(&w, &w.s.w, FRE_WIRE_REPORT, sent(&w, 0), &plain);
        assert_int_equal(fre_seed_open(&seed, &w.s.w, &w.s.tag, &m.tag, &m.id, &m.seed), FRE_OK);
        assert_true(run % 2 == 1 || !small_same_tag(&m.tag, &own));
        real += small_same_tag(&m.tag, &own);
        assert_int_equal(answer(&w, 0, receipt(), 1100), FRE_OK);
        assert_int_equal(fre_client_stage(w.client), FRE_STAGE_DONE);
        assert_int_equal(fre_client_verdict(w.client), FRE_OK);
    }
    assert_in_range(real, 4, 20); /* 20 coins of 3/4: below 4 with probability 1e-7 */
    fre_buf_wipe(&plain);
    tear_down(&w);
}

/* Without cover only a coin of 1 is followed by a report; the budget tells nothing all the same. */
static void test_without_cover(void **state)
{
    fre_collection c;
    world w;
    size_t reports = 0;

    (void)state;
    c = small_collection(&w.s);
    c.cover = false;
    open_world(&w, &c, 18);
    small_text(w.x, 1, 0);
    for (unsigned run = 0; run < 60; run++) {
        size_t n;

        make_client(&w, run % 2);
        w.spends = 0;
        get_tags(&w, 1100);
        n = tick(&w, 1100);
        assert_true(n <= run % 2);
        reports += n;
        assert_int_equal(w.spends, 1);
        if (n == 0) {
            assert_int_equal(fre_client_stage(w.client), FRE_STAGE_DONE);
            assert_int_equal(fre_client_verdict(w.client), FRE_OK);
        }
    }
    assert_in_range(reports, 9, 29); /* 30 coins of 3/4; all of them 1 with probability 2e-4 */
    tear_down(&w);
}

static void test_terms_without_their_claim(void **state)
{
    sample s;
    fre_collection c = small_collection(&s);
    fre_terms *t = NULL;
    fre_err err = {.text = ""};

    (void)state;
    c.sigma /= 100;
    assert_int_equal(fre_terms_new(&t, &c, &err), FRE_E_REFUSED);
    assert_null(t);
    assert_true(strlen(err.text) > 0);
}

static void test_bad_texts(void **state)
{
    world w;
    fre_client *c = NULL;
    float x[SMALL_DIM];

    (void)state;
    set_up(&w, 19);
    small_text(x, 0, 0);
    x[3] = NAN;
    assert_int_equal(fre_client_new(&c, w.terms, x, 1, &w.host, &w.rng, NULL), FRE_E_DATA);
    assert_int_equal(fre_client_new(&c, w.terms, w.x, 2, &w.host, &w.rng, NULL), FRE_E_ARG);
    assert_int_equal(fre_client_new(&c, w.terms, NULL, 1, &w.host, &w.rng, NULL), FRE_E_ARG);
    assert_null(c);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coin_decides_the_tag),
        cmocka_unit_test(test_without_text_all_is_alike),
        cmocka_unit_test(test_one_record_a_cell),
        cmocka_unit_test(test_retries_are_identical),
        cmocka_unit_test(test_state_before_first_send),
        cmocka_unit_test(test_state_is_checked),
        cmocka_unit_test(test_budget_whatever_the_coin),
        cmocka_unit_test(pitfall_10_another_key_is_noticed),
        cmocka_unit_test(test_false_answers_are_ignored),
        cmocka_unit_test(test_phases_by_the_clock),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_early_list_is_refused),
        cmocka_unit_test(test_shares_and_nulls),
        cmocka_unit_test(test_share_only_of_counted_reports),
        cmocka_unit_test(test_empty_list_ends),
        cmocka_unit_test(test_cancel_ends),
        cmocka_unit_test(test_one_shot),
        cmocka_unit_test(test_without_cover),
        cmocka_unit_test(test_terms_without_their_claim),
        cmocka_unit_test(test_bad_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
