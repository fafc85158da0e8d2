/* test_parties_tagging.c - S_tag: evaluations, the end of its key, padding, its half of the sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parties_servers.h"

#include "tagging.h"

#include <stdio.h>
#include <unistd.h>

/* ---- tools ------------------------------------------------------------------------------------ */

/* The state without its counters. */
static void state_of(const world *w, fre_buf *out)
{
    const fre_counters kept = w->tag->base.counters;

    fre_buf_init(out, SAMPLE_MAX);
    w->tag->base.counters = (fre_counters){.accepted = 0};
    assert_int_equal(fre_tagging_save(w->tag, out), FRE_OK);
    w->tag->base.counters = kept;
}

static bool contains(const uint8_t *p, size_t n, const uint8_t *what, size_t bytes)
{
    for (size_t i = 0; i + bytes <= n; i++)
        if (memcmp(p + i, what, bytes) == 0)
            return true;
    return false;
}

static bool state_has(const world *w, const uint8_t *what, size_t bytes)
{
    fre_buf state;
    bool found;

    fre_buf_init(&state, SAMPLE_MAX);
    assert_int_equal(fre_tagging_save(w->tag, &state), FRE_OK);
    found = contains(state.p, state.n, what, bytes);
    fre_buf_wipe(&state);
    return found;
}

/* One exchange; appended to reply. */
static fre_rejection exchange(world *w, fre_buf *reply, fre_bytes request, int64_t now)
{
    fre_rejection why = FRE_NOT_REJECTED;

    assert_int_equal(fre_tagging_exchange(w->tag, reply, &why, request, now), FRE_OK);
    return why;
}

static fre_rejection in_the_open(const fre_buf *reply)
{
    fre_rejection r = FRE_NOT_REJECTED;

    return fre_rejection_decode(&r, parties_buf_view(reply), NULL) == FRE_OK ? r : FRE_NOT_REJECTED;
}

static fre_rejection asked_at(world *w, int64_t now)
{
    static const uint8_t cell[32] = {1};
    fre_rejection why;
    fre_buf reply;
    fre_tag tag;
    ask a;

    ask_begin(w, &a, parties_view(cell, sizeof cell));
    fre_buf_init(&reply, SAMPLE_MAX);
    why = exchange(w, &reply, parties_buf_view(&a.request), now);
    if (in_the_open(&reply) != FRE_NOT_REJECTED)
        assert_int_equal(in_the_open(&reply), why);
    else
        assert_int_equal(
            ask_end(w, &a, &tag, parties_view(cell, sizeof cell), parties_buf_view(&reply)), why);
    fre_buf_wipe(&a.request);
    fre_buf_wipe(&reply);
    return why;
}

/* ---- time ------------------------------------------------------------------------------------- */

static void pitfall_03_no_evaluation_outside_its_epoch(void **state)
{
    world *w = world_new(false);

    (void)state;
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_WAITING);
    assert_int_equal(asked_at(w, 999), FRE_REJECTED_PHASE); /* a future epoch */
    assert_int_equal(asked_at(w, 1000), FRE_NOT_REJECTED);
    assert_int_equal(asked_at(w, 0), FRE_NOT_REJECTED); /* a clock set back reopens nothing */
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_TAGS);
    assert_int_equal(asked_at(w, 1999), FRE_NOT_REJECTED);
    assert_true(fre_tagging_has_key(w->tag));
    assert_int_equal(asked_at(w, 2000), FRE_REJECTED_EXPIRED);
    assert_false(fre_tagging_has_key(w->tag));
    assert_int_equal(asked_at(w, 1500), FRE_REJECTED_EXPIRED);
    restart_tag(w); /* the key is offered again: it must not be taken */
    assert_false(fre_tagging_has_key(w->tag));
    assert_int_equal(asked_at(w, 1500), FRE_REJECTED_EXPIRED);
    assert_int_equal(asked_at(w, 4000), FRE_REJECTED_EXPIRED);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    world_free(w);
}

/* Times around which encodings of numbers go wrong. */
static void pitfall_01_epoch_numbers_at_the_edges(void **state)
{
    static const int64_t open[] = {127, 254, 65535, INT64_C(2147483646), INT64_C(4294967294)};

    (void)state;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        world *w = calloc(1, sizeof *w);
        fre_collection c;

        assert_non_null(w);
        c = small_terms(&w->s, false);
        c.open = open[i];
        c.exchange_close = open[i] + 1;
        c.tags_close = open[i] + 2;
        c.shares_close = open[i] + 3;
        c.end = open[i] + 4;
        world_begin(w, &c);
        w->restart = true;
        assert_int_equal(asked_at(w, open[i] - 1), FRE_REJECTED_PHASE);
        restart_tag(w);
        assert_int_equal(asked_at(w, open[i]), FRE_NOT_REJECTED);
        restart_tag(w);
        assert_int_equal(asked_at(w, open[i] + 2), FRE_REJECTED_EXPIRED);
        world_free(w);
    }
}

static void test_missed_everything(void **state)
{
    world *w = world_new(false);
    fre_outbox o;

    (void)state;
    fre_outbox_init(&o);
    assert_int_equal(fre_tagging_tick(w->tag, &o, 4000), FRE_OK);
    assert_int_equal(o.n, 0);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    assert_false(fre_tagging_has_key(w->tag));
    fre_outbox_wipe(&o);
    world_free(w);
}

/* ---- evaluations ------------------------------------------------------------------------------ */

static void test_a_retry_gets_the_same_bytes(void **state)
{
    world *w = world_new(false);
    static const uint8_t cell[32] = {1};
    fre_tagging_counts n;
    fre_buf one, two;
    ask a, b;

    (void)state;
    fre_buf_init(&one, SAMPLE_MAX);
    fre_buf_init(&two, SAMPLE_MAX);
    ask_begin(w, &a, parties_view(cell, sizeof cell));
    ask_begin(w, &b, parties_view(cell, sizeof cell));
    assert_int_equal(exchange(w, &one, parties_buf_view(&a.request), 1500), FRE_NOT_REJECTED);
    restart_tag(w); /* the first answer was lost, and so was the machine */
    assert_int_equal(exchange(w, &two, parties_buf_view(&a.request), 1501), FRE_NOT_REJECTED);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.p, two.p, one.n);
    fre_tagging_count(&n, w->tag);
    assert_int_equal(n.evaluations, 1);
    assert_int_equal(fre_tagging_counters(w->tag)->accepted, 1);
    assert_int_equal(fre_tagging_counters(w->tag)->repeated, 1);
    fre_buf_wipe(&two);
    assert_int_equal(exchange(w, &two, parties_buf_view(&b.request), 1501), FRE_NOT_REJECTED);
    assert_int_equal(one.n, two.n);
    assert_memory_not_equal(one.p, two.p, one.n);
    fre_tagging_count(&n, w->tag);
    assert_int_equal(n.evaluations, 2);
    fre_buf_wipe(&a.request);
    fre_buf_wipe(&b.request);
    fre_buf_wipe(&one);
    fre_buf_wipe(&two);
    world_free(w);
}

static void test_no_more_evaluations_than_users(void **state)
{
    world *w = calloc(1, sizeof *w);
    static const uint8_t cell[32] = {1};
    fre_collection c;
    fre_buf first, again, full;
    fre_tagging_counts n;
    fre_tag tag;
    ask a, b;

    (void)state;
    assert_non_null(w);
    c = small_terms(&w->s, false);
    c.users = 4;
    world_begin(w, &c);
    fre_buf_init(&first, SAMPLE_MAX);
    fre_buf_init(&again, SAMPLE_MAX);
    fre_buf_init(&full, SAMPLE_MAX);
    ask_begin(w, &a, parties_view(cell, sizeof cell));
    ask_begin(w, &b, parties_view(cell, sizeof cell));
    assert_int_equal(exchange(w, &first, parties_buf_view(&a.request), 1500), FRE_NOT_REJECTED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
    assert_int_equal(exchange(w, &full, parties_buf_view(&b.request), 1500), FRE_REJECTED_FULL);
    /* The relay, which carries it, can't tell it from an answer with a tag. */
    assert_int_equal(full.n, first.n);
    assert_int_equal(ask_end(w, &b, &tag, parties_view(cell, sizeof cell), parties_buf_view(&full)),
                     FRE_REJECTED_FULL);
    assert_int_equal(exchange(w, &again, parties_buf_view(&a.request), 1500), FRE_NOT_REJECTED);
    assert_memory_equal(first.p, again.p, first.n);
    fre_tagging_count(&n, w->tag);
    assert_int_equal(n.evaluations, 4);
    assert_int_equal(fre_tagging_counters(w->tag)->rejected[FRE_REJECTED_FULL], 1);
    fre_buf_wipe(&a.request);
    fre_buf_wipe(&first);
    fre_buf_wipe(&again);
    fre_buf_wipe(&full);
    world_free(w);
}

static void test_requests_that_are_none(void **state)
{
    world *w = world_new(false);
    static const uint8_t cell[32] = {1};
    fre_tagging_counts n;
    fre_buf reply;
    ask a;

    (void)state;
    fre_buf_init(&reply, SAMPLE_MAX);
    ask_begin(w, &a, parties_view(cell, sizeof cell));
    for (size_t i = 0; i < a.request.n; i += 5) { /* every field is reached: none is 5 bytes long */
        fre_rejection why;

        a.request.p[i] ^= 0x40;
        fre_buf_wipe(&reply);
        why = exchange(w, &reply, parties_buf_view(&a.request), 1500);
        assert_true(why == FRE_REJECTED_UNAUTHENTIC || why == FRE_REJECTED_MALFORMED);
        assert_int_equal(in_the_open(&reply), why);
        a.request.p[i] ^= 0x40;
    }
    for (size_t cut = 0; cut < a.request.n; cut += 7) {
        fre_buf_wipe(&reply);
        assert_int_equal(exchange(w, &reply, parties_view(a.request.p, cut), 1500),
                         FRE_REJECTED_MALFORMED);
    }
    fre_tagging_count(&n, w->tag);
    assert_int_equal(n.evaluations, 0);
    fre_buf_wipe(&a.request);
    fre_buf_wipe(&reply);
    world_free(w);
}

/* A well-sealed request whose message is wrong: rejected inside, and nothing is evaluated. */
static void test_wrong_messages_inside(void **state)
{
    world *w = world_new(false), *other = calloc(1, sizeof *other);
    fre_collection c;
    fre_buf message, reply, back;
    fre_tagging_counts n;
    static const struct {
        size_t at;
        uint8_t flip;
        fre_rejection want;
    } faults[] = {
        {0, 2, FRE_REJECTED_MALFORMED},     /* version */
        {1, 2, FRE_REJECTED_MALFORMED},     /* type */
        {5, 1, FRE_REJECTED_COLLECTION},    /* collection */
        {35, 3, FRE_REJECTED_MALFORMED},    /* number of elements */
        {67, 0x80, FRE_REJECTED_MALFORMED}, /* bit 255 of the element */
    };

    (void)state;
    assert_non_null(other);
    c = small_terms(&other->s, false);
    c.users++;
    world_begin(other, &c);
    for (size_t i = 0; i <= sizeof faults / sizeof *faults; i++) {
        const bool foreign = i == sizeof faults / sizeof *faults;
        const world *from = foreign ? other : w;
        fre_oprf_element blinded;
        fre_rejection told;
        fre_oprf_blind blind;
        fre_ohttp_exchange x;
        fre_buf request;

        fre_buf_init(&message, SAMPLE_MAX);
        fre_buf_init(&request, SAMPLE_MAX);
        fre_buf_init(&reply, SAMPLE_MAX);
        fre_buf_init(&back, SAMPLE_MAX);
        assert_int_equal(fre_oprf_blind_input(&blind, &blinded, parties_view("cell", 4), &w->rng),
                         FRE_OK);
        assert_int_equal(fre_tag_request_encode(&message, &from->s.w, &blinded), FRE_OK);
        if (!foreign)
            message.p[faults[i].at] ^= faults[i].flip;
        assert_int_equal(fre_exchange_ask(&x, &request, &w->s.w, FRE_WIRE_TAG_REQUEST,
                                          parties_buf_view(&message), &w->rng),
                         FRE_OK);
        assert_int_equal(exchange(w, &reply, parties_buf_view(&request), 1500),
                         foreign ? FRE_REJECTED_COLLECTION : faults[i].want);
        assert_int_equal(fre_exchange_read(&x, &back, &w->s.w, parties_buf_view(&reply), NULL),
                         FRE_OK);
        assert_int_equal(fre_rejection_decode(&told, parties_buf_view(&back), NULL), FRE_OK);
        assert_int_equal(told, foreign ? FRE_REJECTED_COLLECTION : faults[i].want);
        fre_buf_wipe(&message);
        fre_buf_wipe(&request);
        fre_buf_wipe(&reply);
        fre_buf_wipe(&back);
    }
    fre_tagging_count(&n, w->tag);
    assert_int_equal(n.evaluations, 0);
    world_free(w);
    world_free(other);
}

/* ---- the end of the key ----------------------------------------------------------------------- */

/* Does any writable page of this process hold the 32 bytes?  mask keeps the pattern itself out. */
static bool memory_holds(const uint8_t masked[32])
{
    FILE *maps = fopen("/proc/self/maps", "r"), *mem = fopen("/proc/self/mem", "r");
    char line[512], flags[8];
    unsigned long from, to;
    uint8_t *page = malloc(4096 + 32);
    bool found = false;

    assert_non_null(maps);
    assert_non_null(mem);
    assert_non_null(page);
    setvbuf(mem, NULL, _IONBF, 0);
    while (!found && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) != 3 || strncmp(flags, "rw", 2) != 0 ||
            to - from > (64ul << 20))
            continue;
        for (; !found && from < to; from += 4096) {
            size_t got = 0;

            if (fseek(mem, (long)from, SEEK_SET) == 0)
                got = fread(page, 1, from + 4096 + 32 < to ? 4096 + 32 : 4096, mem);
            for (size_t i = 0; !found && i + 32 <= got; i++) {
                size_t k = 0;

                while (k < 32 && (uint8_t)(page[i + k] ^ 0xa5) == masked[k])
                    k++;
                found = k == 32;
            }
        }
    }
    fre_wipe(page, 4096 + 32);
    free(page);
    fclose(maps);
    fclose(mem);
    return found;
}

static void test_the_key_is_destroyed(void **state)
{
    world *w = world_new(false);
    uint8_t masked[32];
    fre_buf reply;
    static const uint8_t cell[32] = {1};
    ask a;

    (void)state;
    for (size_t i = 0; i < sizeof masked; i++)
        masked[i] = w->oprf.b[i] ^ 0xa5;
    fre_buf_init(&reply, SAMPLE_MAX);
    ask_begin(w, &a, parties_view(cell, sizeof cell));
    assert_int_equal(exchange(w, &reply, parties_buf_view(&a.request), 1500), FRE_NOT_REJECTED);
    assert_false(state_has(w, w->oprf.b, sizeof w->oprf.b)); /* no state ever holds it */
    fre_oprf_key_wipe(&w->oprf);
    fre_oprf_key_wipe(&w->s.oprf);
    assert_true(memory_holds(masked)); /* the machine has it, and this search would find it */
    assert_int_equal(asked_at(w, 1999), FRE_NOT_REJECTED);
    assert_int_equal(asked_at(w, 2000), FRE_REJECTED_EXPIRED);
    assert_false(memory_holds(masked));
    assert_false(fre_tagging_has_key(w->tag));
    /* Neither a new request nor an old one that was answered. */
    fre_buf_wipe(&reply);
    assert_int_equal(exchange(w, &reply, parties_buf_view(&a.request), 1999), FRE_REJECTED_EXPIRED);
    fre_buf_wipe(&a.request);
    fre_buf_wipe(&reply);
    world_free(w);
}

static void test_a_lost_key_voids_the_collection(void **state)
{
    world *w = world_new(false);

    (void)state;
    assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
    w->key_kept = false;
    restart_tag(w);
    assert_int_equal(asked_at(w, 1501), FRE_REJECTED_CANCELLED);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    w->restart = true; /* the cancel survives restarts, and goes to both others */
    pump_tag(w, 1502);
    assert_int_equal(w->cancels, 1);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
    world_free(w);
}

/* When nobody needs it any more its loss is no loss. */
static void test_a_key_lost_at_the_end(void **state)
{
    world *w = world_new(false);

    (void)state;
    assert_int_equal(asked_at(w, 1999), FRE_NOT_REJECTED);
    w->key_kept = false;
    restart_tag(w);
    pump_tag(w, 2000);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_COUNTING);
    assert_int_equal(w->cancels, 0);
    assert_true(w->closed.n > 0);
    world_free(w);
}

static void test_keys_of_other_people(void **state)
{
    world *w = world_new(false);
    fre_tagging_keys keys = {.seal = w->s.syn, .sign = w->s.tag_sk};
    fre_tagging *out = NULL;
    fre_oprf_key key = w->oprf, other;
    fre_err err;

    (void)state;
    assert_int_equal(fre_tagging_new(&out, &w->s.w.c, &keys, &key, &w->rng, &err), FRE_E_KEY);
    keys = (fre_tagging_keys){.seal = w->s.tag, .sign = w->s.syn_sk};
    assert_int_equal(fre_tagging_new(&out, &w->s.w.c, &keys, &key, &w->rng, &err), FRE_E_KEY);
    keys.sign = w->s.tag_sk;
    assert_int_equal(fre_oprf_key_generate(&other, &w->rng), FRE_OK);
    assert_int_equal(fre_tagging_new(&out, &w->s.w.c, &keys, &other, &w->rng, &err), FRE_E_KEY);
    assert_null(out);
    assert_memory_equal(&key, &w->oprf, sizeof key); /* not moved by a failure */
    world_free(w);
}

/* ---- padding ---------------------------------------------------------------------------------- */

static int by_tag(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_tag));
}

/* Multiplicities of the tags of all reports in the queue: times[m]. */
static void multiplicities(const world *w, uint32_t *times, size_t max)
{
    fre_tag tag[512];
    fre_buf plain;

    fre_buf_init(&plain, SAMPLE_MAX);
    for (size_t i = 0; i < w->reports.n; i++) {
        fre_contribution m;
        fre_bytes sealed;

        assert_int_equal(fre_contribution_split(&sealed, NULL, &w->s.w, FRE_WIRE_REPORT,
                                                parties_buf_view(&w->reports.item[i]), NULL),
                         FRE_OK);
        assert_int_equal(
            fre_contribution_open(&m, &plain, &w->s.w, FRE_WIRE_REPORT, &w->s.syn, sealed, NULL),
            FRE_OK);
        tag[i] = m.tag;
    }
    fre_buf_wipe(&plain);
    qsort(tag, w->reports.n, sizeof *tag, by_tag);
    memset(times, 0, max * sizeof *times);
    for (size_t i = 0, k; i < w->reports.n; i = k) {
        for (k = i; k < w->reports.n && by_tag(&tag[k], &tag[i]) == 0; k++)
            ;
        assert_true(k - i < max);
        times[k - i]++;
    }
}

static void padding_of(bool one_contact, bool restart)
{
    world *w = world_new(one_contact);
    fre_tagging_counts n;
    uint32_t times[3];
    uint8_t streams[FRE_SEED_BYTES];

    w->restart = restart;
    memcpy(streams, w->tag->base.streams, sizeof streams);
    pump_tag(w, 2000);
    fre_tagging_count(&n, w->tag);
    assert_true(n.padding > 0);
    assert_int_equal(n.padded, n.padding);
    assert_int_equal(w->reports.n, n.padding);
    multiplicities(w, times, 3);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_COUNTING);
    /* Gone from the machine: what it was can be told from the beginning alone. */
    assert_null(w->tag->padding.dummies);
    assert_memory_not_equal(w->tag->base.streams, streams, sizeof streams);
    assert_false(state_has(w, streams, sizeof streams));
    memcpy(w->tag->base.streams, streams, sizeof streams);
    assert_int_equal(tagging_padding_draw(&w->tag->padding, &w->tag->base), FRE_OK);
    assert_int_equal(times[1], w->tag->padding.dummies[0]);
    assert_int_equal(times[2], w->tag->padding.dummies[1]);
    world_free(w);
}

static void test_padding_is_what_was_drawn(void **state)
{
    (void)state;
    padding_of(false, false);
    padding_of(false, true);
    padding_of(true, false);
}

static void test_padding_looks_like_reports(void **state)
{
    world *w = world_new(false);
    size_t n;

    (void)state;
    get_tag(w, 0, 1, 1500);
    contribute(w, &w->who[0], FRE_WIRE_REPORT, 3);
    n = w->reports.item[0].n;
    pump_tag(w, 2000);
    for (size_t i = 0; i < w->reports.n; i++)
        assert_int_equal(w->reports.item[i].n, n);
    world_free(w);
}

/* What is not answered comes again, byte for byte, whatever was answered before it; the closed
 * statement waits for all of it. */
static void test_padding_is_repeated_until_it_arrives(void **state)
{
    world *w = calloc(1, sizeof *w);
    fre_collection c;
    fre_outbox one, two;
    fre_buf taken, busy;
    uint64_t seen = 0;

    (void)state;
    assert_non_null(w);
    c = small_terms(&w->s, false);
    c.gamma = 150; /* more than a window of reports */
    world_begin(w, &c);
    receipt(&taken);
    fre_buf_init(&busy, 16);
    assert_int_equal(fre_rejection_encode(&busy, FRE_REJECTED_FULL), FRE_OK);
    fre_outbox_init(&one);
    fre_outbox_init(&two);
    /* A receipt for what was not sent yet. */
    assert_int_equal(
        fre_tagging_answered(w->tag, PARTIES_COOKIE(2, 0), parties_buf_view(&taken), 2000), FRE_OK);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_CLOSING);
    for (bool closed = false; !closed;) {
        fre_outbox_wipe(&one);
        fre_outbox_wipe(&two);
        assert_int_equal(fre_tagging_tick(w->tag, &one, 2000), FRE_OK);
        restart_tag(w);
        assert_int_equal(fre_tagging_tick(w->tag, &two, 2001), FRE_OK);
        assert_int_equal(one.n, two.n);
        for (size_t i = 0; i < one.n; i++) {
            const fre_buf *answer = i % 3 == 2 ? &busy : &taken;

            assert_int_equal(one.item[i].cookie, two.item[i].cookie);
            assert_int_equal(one.item[i].message.n, two.item[i].message.n);
            assert_memory_equal(one.item[i].message.p, two.item[i].message.p,
                                one.item[i].message.n);
            closed = one.item[i].message.p[1] == FRE_WIRE_CLOSED;
            seen += answer == &taken && !closed;
            assert_int_equal(
                fre_tagging_answered(w->tag, one.item[i].cookie, parties_buf_view(answer), 2001),
                FRE_OK);
        }
    }
    assert_true(w->tag->padding.reports > TAGGING_WINDOW);
    assert_int_equal(seen, w->tag->padding.reports);
    fre_outbox_wipe(&one);
    fre_outbox_wipe(&two);
    fre_buf_wipe(&taken);
    fre_buf_wipe(&busy);
    world_free(w);
}

/* Neither its size nor its content tells how much padding there is. */
static void test_closed_says_nothing_of_padding(void **state)
{
    fre_buf first;

    (void)state;
    fre_buf_init(&first, SAMPLE_MAX);
    for (uint8_t i = 0; i < 8; i++) {
        world *w = world_new(false);

        w->tag->base.streams[0] ^= i; /* another draw of everything */
        assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
        pump_tag(w, 2000);
        if (i == 0)
            keep(&first, &w->closed);
        assert_int_equal(first.n, w->closed.n);
        assert_memory_equal(first.p, w->closed.p, first.n);
        world_free(w);
    }
    fre_buf_wipe(&first);
}

/* ---- the list --------------------------------------------------------------------------------- */

static void encode_list(const world *w, fre_buf *out, uint32_t n, uint32_t count)
{
    fre_list_entry e[3];
    fre_tag tag[3];

    sample_tags(tag, 3);
    for (uint32_t i = 0; i < n; i++)
        e[i] = (fre_list_entry){.tag = tag[i], .count = count + i};
    fre_buf_init(out, SAMPLE_MAX);
    assert_int_equal(fre_list_encode(out, &w->s.w, e, n, &w->s.syn_sk), FRE_OK);
}

static void test_a_second_list_voids_the_collection(void **state)
{
    world *w = world_new(false);
    fre_buf one, two;

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
    encode_list(w, &one, 2, 5);
    encode_list(w, &two, 2, 6);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&one), 1999), FRE_REJECTED_PHASE);
    pump_tag(w, 2000);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&one), 2001), FRE_NOT_REJECTED);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&one), 2002), FRE_NOT_REJECTED);
    assert_int_equal(fre_tagging_counters(w->tag)->repeated, 1);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_SHARES);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&two), 2003), FRE_REJECTED_DISAGREES);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    pump_tag(w, 2004);
    assert_int_equal(w->cancels, 1);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
    fre_buf_wipe(&one);
    fre_buf_wipe(&two);
    world_free(w);
}

/* A larger count would lower the noise of everybody in the cell: S_tag knows how many tags it made. */
static void test_counts_above_the_evaluations(void **state)
{
    world *w = world_new(false);
    fre_buf m;

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
    pump_tag(w, 2000);
    encode_list(w, &m, 1, 11);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&m), 2001), FRE_REJECTED_DISAGREES);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_COUNTING);
    fre_buf_wipe(&m);
    encode_list(w, &m, 1, 10);
    assert_int_equal(to_tag(w, NULL, parties_buf_view(&m), 2001), FRE_NOT_REJECTED);
    fre_buf_wipe(&m);
    world_free(w);
}

/* ---- sets and sums ------------------------------------------------------------------------------ */

/* S_tag with a list of two tags of 5 and 6, and seeds of their members sealed to it. */
typedef struct summing {
    world *w;
    fre_tag tag[3]; /* the third one is not listed */
    fre_set_member member[3][8];
    fre_share_seed seed[3][8];
} summing;

static void summing_begin(summing *s)
{
    fre_buf m;

    s->w = world_new(false);
    for (int i = 0; i < 20; i++)
        assert_int_equal(asked_at(s->w, 1500), FRE_NOT_REJECTED);
    pump_tag(s->w, 2000);
    encode_list(s->w, &m, 2, 5);
    assert_int_equal(to_tag(s->w, NULL, parties_buf_view(&m), 2001), FRE_NOT_REJECTED);
    fre_buf_wipe(&m);
    s->w->s.w = s->w->tag->base.w; /* with bits and hash of the list */
    sample_tags(s->tag, 3);
    for (uint32_t t = 0; t < 3; t++)
        for (uint8_t k = 0; k < 8; k++) {
            fre_set_member *p = &s->member[t][k];

            memset(p->id.b, (uint8_t)(16 * (t + 1) + k), sizeof p->id.b);
            fre_rng_bytes(&s->w->rng, s->seed[t][k].b, sizeof s->seed[t][k].b);
            assert_int_equal(
                fre_seed_seal(&p->seed, &s->w->s.w, &s->tag[t], &p->id, &s->seed[t][k], &s->w->rng),
                FRE_OK);
        }
}

/* The relay's registry of the first `members` of each tag; part of as many. */
static fre_rejection send_registry(summing *s, fre_part part, uint32_t members, int64_t now)
{
    fre_seed_digest digest[24];
    size_t n = 0;
    fre_rejection why;
    fre_buf m;

    for (uint32_t t = 0; t < 3; t++)
        for (uint32_t k = 0; k < members; k++)
            fre_seed_digest_of(&digest[n++], &s->w->s.w, &s->member[t][k].seed);
    fre_buf_init(&m, SAMPLE_MAX);
    registry_encode(s->w, &m, digest, n, part);
    why = to_tag(s->w, NULL, parties_buf_view(&m), now);
    fre_buf_wipe(&m);
    return why;
}

static fre_rejection send_sets(summing *s, fre_buf *reply, fre_part part, const fre_set *set,
                               uint32_t n)
{
    fre_rejection why;
    fre_buf m;

    if (!s->w->registered)
        assert_int_equal(send_registry(s, (fre_part){0, 1}, 8, 3000), FRE_NOT_REJECTED);
    s->w->registered = true;
    fre_buf_init(&m, SAMPLE_MAX);
    fre_buf_init(reply, SAMPLE_MAX);
    assert_int_equal(fre_sets_encode(&m, &s->w->s.w, part, set, n, &s->w->s.syn_sk), FRE_OK);
    why = to_tag(s->w, reply, parties_buf_view(&m), 3000);
    fre_buf_wipe(&m);
    return why;
}

/* Opens `n` members of a listed tag from index `from` on. */
static fre_rejection send_open_at(summing *s, fre_buf *reply, fre_part part, uint32_t t,
                                  uint32_t from, uint32_t n, int64_t now)
{
    fre_report_id id[8];
    fre_id_set set = {.tag = s->tag[t], .n = n, .id = id};
    fre_rejection why;
    fre_buf m;

    for (uint32_t k = 0; k < n; k++)
        id[k] = s->member[t][from + k].id;
    fre_buf_init(&m, SAMPLE_MAX);
    fre_buf_init(reply, SAMPLE_MAX);
    assert_int_equal(
        fre_id_sets_encode(&m, &s->w->s.w, FRE_WIRE_OPEN, part, &set, 1, &s->w->s.syn_sk), FRE_OK);
    why = to_tag(s->w, reply, parties_buf_view(&m), now);
    fre_buf_wipe(&m);
    return why;
}

static fre_rejection send_open(summing *s, fre_buf *reply, fre_part part, uint32_t t, uint32_t from,
                               uint32_t n)
{
    return send_open_at(s, reply, part, t, from, n, 3000);
}

/* Ids that were accepted of the i-th set of an answer. */
static uint32_t accepted(const summing *s, const fre_buf *reply, uint32_t i)
{
    fre_id_set set = {.n = 0};
    fre_id_sets all;

    assert_int_equal(
        fre_id_sets_decode(&all, &s->w->s.w, FRE_WIRE_ACCEPTED, parties_buf_view(reply), NULL),
        FRE_OK);
    for (uint32_t k = 0; k <= i; k++)
        assert_true(fre_id_sets_next(&all, &set));
    return set.n;
}

/* The answer holds the sum of exactly these members' expanded seeds. */
static void expect_sum(const summing *s, const fre_buf *reply, uint32_t t, uint32_t from,
                       uint32_t n)
{
    const uint32_t bits = s->w->s.w.share_bits;
    fre_share_expander *e = NULL;
    uint32_t sum[DIM] = {0};
    uint8_t packed[4 * DIM];
    fre_sums all;

    assert_int_equal(fre_sums_decode(&all, &s->w->s.w, parties_buf_view(reply), NULL), FRE_OK);
    assert_int_equal(all.n, 1);
    assert_int_equal(fre_sums_at(&all, 0).answers, n);
    assert_memory_equal(fre_sums_at(&all, 0).tag.b, s->tag[t].b, sizeof s->tag[t].b);
    assert_int_equal(fre_share_expander_new(&e, DIM, bits), FRE_OK);
    for (uint32_t k = from; k < from + n; k++)
        assert_int_equal(fre_share_expander_add(e, sum, &s->seed[t][k]), FRE_OK);
    assert_int_equal(fre_share_pack(packed, fre_wire_share_bytes(&s->w->s.w), sum, DIM, bits),
                     FRE_OK);
    assert_memory_equal(fre_sums_at(&all, 0).packed.p, packed, fre_wire_share_bytes(&s->w->s.w));
    fre_share_expander_free(e);
}

static uint32_t sums_in(const summing *s, const fre_buf *reply)
{
    fre_sums all;

    assert_int_equal(fre_sums_decode(&all, &s->w->s.w, parties_buf_view(reply), NULL), FRE_OK);
    return all.n;
}

static void sums(bool restart)
{
    summing s;
    fre_set set[3];
    fre_buf reply, again;
    fre_tagging_counts n;

    summing_begin(&s);
    s.w->restart = restart;
    /* Four of tag 0; tag 1 with one seed of another report; a tag that is not listed. */
    s.member[1][2].seed = s.member[1][3].seed;
    set[0] = (fre_set){.tag = s.tag[0], .n = 4, .member = s.member[0]};
    set[1] = (fre_set){.tag = s.tag[1], .n = 4, .member = s.member[1]};
    set[2] = (fre_set){.tag = s.tag[2], .n = 3, .member = s.member[2]};
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 2}, 0, 0, 4), FRE_REJECTED_PHASE);
    fre_buf_wipe(&reply);
    assert_int_equal(send_sets(&s, &reply, (fre_part){0, 1}, set, 3), FRE_NOT_REJECTED);
    assert_int_equal(accepted(&s, &reply, 0), 4);
    assert_int_equal(accepted(&s, &reply, 1), 3);
    assert_int_equal(accepted(&s, &reply, 2), 0);
    fre_buf_wipe(&reply);
    assert_true(state_has(s.w, s.seed[0][0].b, sizeof s.seed[0][0].b));
    assert_int_equal(send_open(&s, &reply, (fre_part){1, 2}, 0, 0, 4), FRE_REJECTED_PHASE);
    fre_buf_wipe(&reply);
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 2}, 0, 0, 4), FRE_NOT_REJECTED);
    expect_sum(&s, &reply, 0, 0, 4);
    assert_false(state_has(s.w, s.seed[0][0].b, sizeof s.seed[0][0].b)); /* wiped right after */
    assert_true(state_has(s.w, s.seed[1][0].b, sizeof s.seed[1][0].b));
    /* The answer was lost: the same bytes again. */
    assert_int_equal(send_open(&s, &again, (fre_part){0, 2}, 0, 0, 4), FRE_NOT_REJECTED);
    assert_int_equal(reply.n, again.n);
    assert_memory_equal(reply.p, again.p, reply.n);
    fre_buf_wipe(&reply);
    fre_buf_wipe(&again);
    /* Another subset of it would show the difference of the two. */
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 2}, 0, 0, 3), FRE_REJECTED_REPLAYED);
    fre_buf_wipe(&reply);
    assert_int_equal(send_open(&s, &reply, (fre_part){1, 2}, 0, 0, 3), FRE_NOT_REJECTED);
    assert_int_equal(sums_in(&s, &reply), 0);
    fre_buf_wipe(&reply);
    assert_int_equal(fre_tagging_stage(s.w->tag), FRE_STAGE_DONE);
    fre_tagging_count(&n, s.w->tag);
    assert_int_equal(n.opened, 1);
    assert_int_equal(n.refused, 1);
    assert_int_equal(n.seeds_refused, 4);
    assert_false(state_has(s.w, s.seed[1][0].b, sizeof s.seed[1][0].b));
    assert_int_equal(send_sets(&s, &reply, (fre_part){0, 1}, set, 2), FRE_REJECTED_REPLAYED);
    fre_buf_wipe(&reply);
    world_free(s.w);
}

static void test_sums(void **state)
{
    (void)state;
    sums(false);
    sums(true);
}

/* What is asked to be summed has to reach both thresholds: of 5 counted, dropout one half and tau 3,
 * that is 3; of 6, 3.  More uploads do not help. */
static void pitfall_08_both_thresholds_of_what_is_summed(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 4; n++) {
        summing s;
        fre_set set;
        fre_buf reply;

        summing_begin(&s);
        set = (fre_set){.tag = s.tag[0], .n = 5, .member = s.member[0]};
        assert_int_equal(send_sets(&s, &reply, (fre_part){0, 1}, &set, 1), FRE_NOT_REJECTED);
        fre_buf_wipe(&reply);
        assert_int_equal(send_open(&s, &reply, (fre_part){0, 1}, 0, 1, n), FRE_NOT_REJECTED);
        assert_int_equal(sums_in(&s, &reply), n >= 3 ? 1 : 0);
        if (n >= 3)
            expect_sum(&s, &reply, 0, 1, n);
        fre_buf_wipe(&reply);
        world_free(s.w);
    }
}

/* tau - w and the share of answers, each where it is the larger. */
static void pitfall_09_answers_needed_at_the_edges(void **state)
{
    sample s;
    fre_collection c = small_terms(&s, false);

    (void)state;
    c.dropout = 0.5;
    c.tau = 10;
    c.curious = 2;
    assert_int_equal(fre_parties_answers_needed(&c, 10), 8);
    assert_int_equal(fre_parties_answers_needed(&c, 14), 8);
    assert_int_equal(fre_parties_answers_needed(&c, 16), 8);
    assert_int_equal(fre_parties_answers_needed(&c, 17), 9);
    assert_int_equal(fre_parties_answers_needed(&c, 1000), 500);
    c.dropout = 0;
    c.one_contact = true;
    assert_int_equal(fre_parties_answers_needed(&c, 1000), 10);
}

static void test_each_id_once_and_sets_in_order(void **state)
{
    summing s;
    fre_set set[2];
    fre_set_member mixed[8];
    fre_buf reply;

    (void)state;
    summing_begin(&s);
    /* In tag 1 an id that tag 0 has, sealed properly for tag 1. */
    memcpy(mixed, s.member[1], sizeof mixed);
    mixed[0].id = s.member[0][0].id;
    assert_int_equal(
        fre_seed_seal(&mixed[0].seed, &s.w->s.w, &s.tag[1], &mixed[0].id, &s.seed[1][0], &s.w->rng),
        FRE_OK);
    s.member[2][7].seed = mixed[0].seed; /* the relay carried it */
    set[0] = (fre_set){.tag = s.tag[0], .n = 3, .member = s.member[0]};
    assert_int_equal(send_sets(&s, &reply, (fre_part){0, 3}, set, 1), FRE_NOT_REJECTED);
    fre_buf_wipe(&reply);
    assert_int_equal(send_sets(&s, &reply, (fre_part){2, 3}, set, 1), FRE_REJECTED_PHASE);
    fre_buf_wipe(&reply);
    set[1] = (fre_set){.tag = s.tag[1], .n = 1, .member = s.member[1]};
    assert_int_equal(send_sets(&s, &reply, (fre_part){1, 2}, set + 1, 1), FRE_REJECTED_DISAGREES);
    fre_buf_wipe(&reply);
    /* Ids that do not go on ascending, though each message is fine by itself. */
    assert_int_equal(send_sets(&s, &reply, (fre_part){1, 3}, set, 1), FRE_REJECTED_DISAGREES);
    fre_buf_wipe(&reply);
    /* The set goes on: 3 more, of which the count of 5 leaves 2; and the id that was there. */
    set[0] = (fre_set){.tag = s.tag[0], .n = 3, .member = s.member[0] + 3};
    set[1] = (fre_set){.tag = s.tag[1], .n = 3, .member = mixed};
    assert_int_equal(send_sets(&s, &reply, (fre_part){1, 3}, set, 2), FRE_NOT_REJECTED);
    assert_int_equal(accepted(&s, &reply, 0), 2);
    assert_int_equal(accepted(&s, &reply, 1), 2);
    fre_buf_wipe(&reply);
    /* Back to an earlier tag. */
    assert_int_equal(send_sets(&s, &reply, (fre_part){2, 3}, set, 1), FRE_REJECTED_DISAGREES);
    fre_buf_wipe(&reply);
    set[1] = (fre_set){.tag = s.tag[1], .n = 1, .member = s.member[1] + 5};
    assert_int_equal(send_sets(&s, &reply, (fre_part){2, 3}, set + 1, 1), FRE_NOT_REJECTED);
    fre_buf_wipe(&reply);
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 1}, 0, 0, 5), FRE_NOT_REJECTED);
    expect_sum(&s, &reply, 0, 0, 5);
    fre_buf_wipe(&reply);
    world_free(s.w);
}

/* What the relay did not carry is not opened, though it was sealed properly; nor is anything twice. */
static void test_only_what_the_relay_carried(void **state)
{
    (void)state;
    for (uint32_t carried = 0; carried <= 5; carried++) {
        summing s;
        fre_set set;
        fre_buf reply;
        fre_tagging_counts n;

        summing_begin(&s);
        s.w->restart = carried % 2 == 1;
        s.w->registered = true;
        assert_int_equal(send_registry(&s, (fre_part){0, 1}, carried, 3000), FRE_NOT_REJECTED);
        set = (fre_set){.tag = s.tag[0], .n = 4, .member = s.member[0]};
        assert_int_equal(send_sets(&s, &reply, (fre_part){0, 2}, &set, 1), FRE_NOT_REJECTED);
        assert_int_equal(accepted(&s, &reply, 0), carried < 4 ? carried : 4);
        fre_buf_wipe(&reply);
        /* The first one's seed once more under another id, which it would not open under. */
        s.member[0][4].seed = s.member[0][0].seed;
        set = (fre_set){.tag = s.tag[0], .n = 1, .member = s.member[0] + 4};
        assert_int_equal(send_sets(&s, &reply, (fre_part){1, 2}, &set, 1), FRE_NOT_REJECTED);
        assert_int_equal(accepted(&s, &reply, 0), 0);
        fre_buf_wipe(&reply);
        fre_tagging_count(&n, s.w->tag);
        assert_int_equal(n.unregistered, (carried < 4 ? 4 - carried : 0) + 1);
        assert_int_equal(n.seeds_refused, n.unregistered);
        assert_int_equal(send_open(&s, &reply, (fre_part){0, 1}, 0, 0, 4), FRE_NOT_REJECTED);
        assert_int_equal(sums_in(&s, &reply), carried >= 4);
        fre_buf_wipe(&reply);
        assert_int_equal(s.w->tag->registry.n, 0); /* nothing is left of it */
        world_free(s.w);
    }
}

static void registry_is_refused(summing *s, fre_part part, const fre_seed_digest *digest,
                                uint32_t n, fre_rejection want)
{
    const fre_registry registry = {.part = part, .n = n, .digest = digest};
    fre_buf m;

    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_registry_encode(&m, &s->w->s.w, &registry, &s->w->s.relay_sk), FRE_OK);
    assert_int_equal(to_tag(s->w, NULL, parties_buf_view(&m), 3000), want);
    fre_buf_wipe(&m);
}

/* Parts in their order, digests ascending over all of them, no more than there can be. */
static void test_rolls_in_order(void **state)
{
    const fre_seed_digest digest[4] = {{{1}}, {{2}}, {{3}}, {{4}}};
    summing s;

    (void)state;
    summing_begin(&s);
    assert_int_equal(send_registry(&s, (fre_part){0, 3}, 2, 2999), FRE_REJECTED_PHASE);
    registry_is_refused(&s, (fre_part){1, 3}, digest, 1, FRE_REJECTED_PHASE);
    registry_is_refused(&s, (fre_part){0, 3}, digest + 1, 1, FRE_NOT_REJECTED);
    s.w->restart = true;
    registry_is_refused(&s, (fre_part){0, 3}, digest + 1, 1, FRE_NOT_REJECTED); /* the same again */
    registry_is_refused(&s, (fre_part){0, 3}, digest + 2, 1, FRE_REJECTED_REPLAYED);
    registry_is_refused(&s, (fre_part){1, 2}, digest + 2, 1, FRE_REJECTED_DISAGREES);
    registry_is_refused(&s, (fre_part){1, 3}, digest, 2, FRE_REJECTED_DISAGREES);
    registry_is_refused(&s, (fre_part){1, 3}, digest + 1, 1, FRE_REJECTED_DISAGREES);
    registry_is_refused(&s, (fre_part){1, 3}, NULL, 0, FRE_NOT_REJECTED);
    registry_is_refused(&s, (fre_part){2, 3}, digest + 1, 2, FRE_REJECTED_DISAGREES);
    registry_is_refused(&s, (fre_part){2, 3}, digest + 2, 2, FRE_NOT_REJECTED);
    assert_int_equal(s.w->tag->registry.n, 3);
    registry_is_refused(&s, (fre_part){2, 3}, digest + 3, 1, FRE_REJECTED_REPLAYED);
    world_free(s.w);
}

static void test_more_digests_than_there_can_be(void **state)
{
    summing s;
    fre_seed_digest *digest;
    uint32_t n;

    (void)state;
    summing_begin(&s);
    n = (uint32_t)parties_reports_max(&s.w->s.w.c) + 1;
    digest = calloc(n, sizeof *digest);
    assert_non_null(digest);
    for (uint32_t i = 0; i < n; i++)
        for (unsigned j = 0; j < 4; j++)
            digest[i].b[j] = (uint8_t)(i >> (24 - 8 * j));
    {
        const fre_registry registry = {.part = {0, 1}, .n = n, .digest = digest};
        fre_buf m;

        fre_buf_init(&m, FRE_WIRE_MESSAGE_MAX);
        assert_int_equal(fre_registry_encode(&m, &s.w->s.w, &registry, &s.w->s.relay_sk), FRE_OK);
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_SIZE);
        fre_buf_wipe(&m);
    }
    assert_int_equal(s.w->tag->registry.n, 0);
    free(digest);
    world_free(s.w);
}

static void test_sets_before_their_time(void **state)
{
    summing s;
    fre_set set;
    fre_buf m, reply;

    (void)state;
    summing_begin(&s);
    set = (fre_set){.tag = s.tag[0], .n = 4, .member = s.member[0]};
    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_sets_encode(&m, &s.w->s.w, (fre_part){0, 1}, &set, 1, &s.w->s.syn_sk),
                     FRE_OK);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 2999), FRE_REJECTED_PHASE);
    /* Not before the whole registry either. */
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_PHASE);
    assert_int_equal(send_registry(&s, (fre_part){0, 2}, 8, 3000), FRE_NOT_REJECTED);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_PHASE);
    assert_int_equal(send_registry(&s, (fre_part){1, 2}, 8, 3000), FRE_NOT_REJECTED);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_NOT_REJECTED);
    /* A clock set back does not take the sums back. */
    assert_int_equal(send_open_at(&s, &reply, (fre_part){0, 2}, 0, 0, 4, 1500), FRE_NOT_REJECTED);
    fre_buf_wipe(&reply);
    /* Past the end even what is known is not looked for. */
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 4000), FRE_REJECTED_EXPIRED);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_EXPIRED);
    assert_int_equal(fre_tagging_stage(s.w->tag), FRE_STAGE_VOID);
    assert_false(state_has(s.w, s.seed[0][0].b, sizeof s.seed[0][0].b));
    fre_buf_wipe(&m);
    world_free(s.w);
}

/* ---- every message in every phase ---------------------------------------------------------------- */

/* Brings S_tag to a stage; now: a moment in it. */
static void reach(summing *s, fre_stage stage, int64_t *now)
{
    static const int64_t when[] = {
        [FRE_STAGE_WAITING] = 900,   [FRE_STAGE_TAGS] = 1500,   [FRE_STAGE_CLOSING] = 2000,
        [FRE_STAGE_COUNTING] = 2001, [FRE_STAGE_SHARES] = 2001, [FRE_STAGE_SUMMING] = 3000,
        [FRE_STAGE_DONE] = 3000,     [FRE_STAGE_VOID] = 3000};
    fre_set set;
    fre_buf reply;

    *now = when[stage];
    if (stage >= FRE_STAGE_SHARES) {
        summing_begin(s);
    } else {
        s->w = world_new(false);
        if (stage == FRE_STAGE_COUNTING)
            pump_tag(s->w, 2000);
        (void)asked_at(s->w, *now);
    }
    assert_int_equal(fre_wire_set_share_bits(&s->w->s.w, 20), FRE_OK); /* enough to encode with */
    if (stage == FRE_STAGE_SUMMING || stage == FRE_STAGE_DONE) {
        assert_int_equal(fre_wire_set_share_bits(&s->w->s.w, s->w->tag->base.w.share_bits), FRE_OK);
        set = (fre_set){.tag = s->tag[0], .n = 4, .member = s->member[0]};
        assert_int_equal(send_sets(s, &reply, (fre_part){0, 1}, &set, 1), FRE_NOT_REJECTED);
        fre_buf_wipe(&reply);
    }
    if (stage == FRE_STAGE_DONE) {
        assert_int_equal(send_open(s, &reply, (fre_part){0, 1}, 0, 0, 4), FRE_NOT_REJECTED);
        fre_buf_wipe(&reply);
    }
    if (stage == FRE_STAGE_VOID)
        assert_int_equal(fre_tagging_cancel(s->w->tag, *now), FRE_OK);
    assert_int_equal(fre_tagging_stage(s->w->tag), stage);
}

/* What S_tag says to a well-made message that it has no use for; the four that it does have use
 * for at some time are samples that do not fit there. */
static fre_rejection expected(fre_wire_type type, fre_stage stage)
{
    if (stage == FRE_STAGE_VOID)
        return FRE_REJECTED_CANCELLED;
    if (type == FRE_WIRE_LIST && stage < FRE_STAGE_CLOSING)
        return FRE_REJECTED_PHASE;
    if (type == FRE_WIRE_LIST && stage < FRE_STAGE_DONE)
        return FRE_REJECTED_DISAGREES;
    if (type == FRE_WIRE_LIST)
        return FRE_REJECTED_REPLAYED;
    if (type == FRE_WIRE_REGISTRY && stage == FRE_STAGE_SUMMING)
        return FRE_REJECTED_DISAGREES; /* another number of parts */
    if (type == FRE_WIRE_REGISTRY)
        return stage == FRE_STAGE_DONE ? FRE_REJECTED_REPLAYED : FRE_REJECTED_PHASE;
    if (type == FRE_WIRE_SETS || type == FRE_WIRE_OPEN) {
        if (stage == FRE_STAGE_DONE || (stage == FRE_STAGE_SUMMING && type == FRE_WIRE_SETS))
            return FRE_REJECTED_REPLAYED;
        return FRE_REJECTED_PHASE;
    }
    return FRE_REJECTED_MALFORMED;
}

static void one_message(summing *s, fre_wire_type type, fre_stage stage, int64_t now)
{
    fre_buf m, before, after;
    fre_rejection want = expected(type, stage);

    if (type == FRE_WIRE_REPORT || type == FRE_WIRE_SHARE || type == FRE_WIRE_CANCEL ||
        (type == FRE_WIRE_OPEN && stage == FRE_STAGE_SUMMING))
        return; /* the first two need a sender; the others are taken, and tested elsewhere */
    fre_buf_init(&m, SAMPLE_MAX);
    sample_message(&s->w->s, type, &m);
    state_of(s->w, &before);
    assert_int_equal(to_tag(s->w, NULL, parties_buf_view(&m), now), want);
    /* Two lists that contradict each other are the one thing here with an effect. */
    if (!(type == FRE_WIRE_LIST && (stage == FRE_STAGE_SHARES || stage == FRE_STAGE_SUMMING))) {
        state_of(s->w, &after);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.p, after.p, before.n);
        fre_buf_wipe(&after);
    } else {
        assert_int_equal(fre_tagging_stage(s->w->tag), FRE_STAGE_VOID);
    }
    fre_buf_wipe(&before);
    fre_buf_wipe(&m);
}

static void test_every_message_in_every_phase(void **state)
{
    (void)state;
    for (unsigned stage = FRE_STAGE_WAITING; stage <= FRE_STAGE_VOID; stage++)
        for (unsigned type = 1; type <= FRE_WIRE_REGISTRY; type++) {
            summing s;
            int64_t now;

            if (type == FRE_WIRE_TAG_RESPONSE)
                continue; /* as the request */
            reach(&s, (fre_stage)stage, &now);
            one_message(&s, (fre_wire_type)type, (fre_stage)stage, now);
            world_free(s.w);
        }
}

static void test_not_genuine(void **state)
{
    static const fre_wire_type types[] = {FRE_WIRE_LIST, FRE_WIRE_SETS, FRE_WIRE_OPEN,
                                          FRE_WIRE_CANCEL, FRE_WIRE_REGISTRY};
    summing s;
    fre_buf m;

    (void)state;
    summing_begin(&s);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        fre_buf_init(&m, SAMPLE_MAX);
        sample_message(&s.w->s, types[i], &m);
        m.p[m.n - 1] ^= 1;
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_UNAUTHENTIC);
        m.p[m.n - 1] ^= 1;
        m.p[40] ^= 1; /* content */
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_UNAUTHENTIC);
        m.p[40] ^= 1;
        m.p[20] ^= 1;
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), 3000), FRE_REJECTED_COLLECTION);
        m.p[20] ^= 1;
        assert_int_equal(to_tag(s.w, NULL, parties_view(m.p, 33), 3000), FRE_REJECTED_MALFORMED);
        fre_buf_wipe(&m);
    }
    assert_int_equal(fre_tagging_counters(s.w->tag)->rejected[FRE_REJECTED_UNAUTHENTIC], 10);
    assert_int_equal(fre_tagging_counters(s.w->tag)->rejected[FRE_REJECTED_COLLECTION], 5);
    assert_int_equal(fre_tagging_stage(s.w->tag), FRE_STAGE_SHARES);
    world_free(s.w);
}

static void test_too_large(void **state)
{
    world *w = world_new(false);
    uint8_t *m = calloc(FRE_WIRE_MESSAGE_MAX + 1, 1);

    (void)state;
    assert_non_null(m);
    m[0] = FRE_WIRE_VERSION;
    m[1] = FRE_WIRE_LIST;
    assert_int_equal(to_tag(w, NULL, parties_view(m, FRE_WIRE_MESSAGE_MAX + 1), 1500),
                     FRE_REJECTED_SIZE);
    assert_int_equal(to_syn(w, parties_view(m, FRE_WIRE_MESSAGE_MAX + 1), 1500), FRE_REJECTED_SIZE);
    free(m);
    world_free(w);
}

/* ---- cancel ----------------------------------------------------------------------------------- */

static void test_cancelled_by_another_at_any_time(void **state)
{
    (void)state;
    for (unsigned stage = FRE_STAGE_WAITING; stage < FRE_STAGE_VOID; stage++) {
        summing s;
        fre_buf m;
        int64_t now;

        reach(&s, (fre_stage)stage, &now);
        fre_buf_init(&m, SAMPLE_MAX);
        sample_message(&s.w->s, FRE_WIRE_CANCEL, &m);
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), now), FRE_NOT_REJECTED);
        assert_int_equal(fre_tagging_stage(s.w->tag), FRE_STAGE_VOID);
        assert_false(fre_tagging_has_key(s.w->tag));
        assert_null(s.w->tag->seeds.member);
        restart_tag(s.w);
        assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), now), FRE_NOT_REJECTED);
        assert_int_equal(asked_at(s.w, now), FRE_REJECTED_CANCELLED);
        pump_tag(s.w, now);
        assert_int_equal(s.w->cancels, 0); /* not passed on: who cancels tells everybody */
        fre_buf_wipe(&m);
        world_free(s.w);
    }
}

/* Sums that were given are not given again to a collection that was cancelled meanwhile. */
static void test_no_sum_after_a_cancel(void **state)
{
    summing s;
    fre_buf reply, m;
    int64_t now;

    (void)state;
    reach(&s, FRE_STAGE_DONE, &now);
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 1}, 0, 0, 4), FRE_NOT_REJECTED);
    expect_sum(&s, &reply, 0, 0, 4);
    fre_buf_wipe(&reply);
    fre_buf_init(&m, SAMPLE_MAX);
    sample_message(&s.w->s, FRE_WIRE_CANCEL, &m);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), now), FRE_NOT_REJECTED);
    assert_int_equal(send_open(&s, &reply, (fre_part){0, 1}, 0, 0, 4), FRE_REJECTED_CANCELLED);
    assert_int_equal(to_tag(s.w, NULL, parties_buf_view(&m), now), FRE_NOT_REJECTED);
    fre_buf_wipe(&reply);
    fre_buf_wipe(&m);
    world_free(s.w);
}

/* Past the end a machine has no key, no secret and no answer left. */
static void test_nothing_is_left_after_the_end(void **state)
{
    static const uint8_t zero[sizeof(fre_tagging_keys)];
    summing s;
    int64_t now;

    (void)state;
    reach(&s, FRE_STAGE_DONE, &now);
    assert_int_equal(asked_at(s.w, 4000), FRE_REJECTED_EXPIRED);
    assert_int_equal(fre_tagging_stage(s.w->tag), FRE_STAGE_DONE);
    assert_memory_equal(&s.w->tag->keys, zero, sizeof s.w->tag->keys);
    assert_memory_equal(s.w->tag->base.secret, zero, sizeof s.w->tag->base.secret);
    assert_int_equal(s.w->tag->base.answers, 0);
    restart_tag(s.w);
    assert_int_equal(asked_at(s.w, 1500), FRE_REJECTED_EXPIRED);
    world_free(s.w);
}

static void test_cancelled_by_its_operator(void **state)
{
    world *w = world_new(false);

    (void)state;
    assert_int_equal(asked_at(w, 1500), FRE_NOT_REJECTED);
    assert_int_equal(fre_tagging_cancel(w->tag, 1501), FRE_OK);
    assert_int_equal(fre_tagging_cancel(w->tag, 1502), FRE_E_STATE);
    assert_false(fre_tagging_has_key(w->tag));
    assert_int_equal(asked_at(w, 1503), FRE_REJECTED_CANCELLED);
    w->restart = true;
    pump_tag(w, 1504);
    assert_int_equal(w->cancels, 1);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
    world_free(w);
}

/* ---- saved states ----------------------------------------------------------------------------- */

static void test_states_that_are_none(void **state)
{
    summing s;
    const fre_tagging_keys *keys;
    fre_set set;
    fre_tagging *out = NULL;
    fre_buf saved, reply;

    (void)state;
    summing_begin(&s);
    keys = &s.w->tag->keys;
    set = (fre_set){.tag = s.tag[0], .n = 4, .member = s.member[0]};
    assert_int_equal(send_sets(&s, &reply, (fre_part){0, 1}, &set, 1), FRE_NOT_REJECTED);
    fre_buf_init(&saved, SAMPLE_MAX);
    assert_int_equal(fre_tagging_save(s.w->tag, &saved), FRE_OK);
    for (size_t i = 0; i < saved.n; i += 11) {
        saved.p[i] ^= 1;
        assert_int_equal(
            fre_tagging_load(&out, &s.w->s.w.c, keys, NULL, parties_buf_view(&saved), NULL),
            FRE_E_DATA);
        saved.p[i] ^= 1;
        assert_int_equal(
            fre_tagging_load(&out, &s.w->s.w.c, keys, NULL, parties_view(saved.p, i), NULL),
            FRE_E_DATA);
    }
    assert_null(out);
    fre_buf_wipe(&saved);
    /* S_syn's state is none of S_tag. */
    assert_int_equal(fre_synthesis_save(s.w->syn, &saved), FRE_OK);
    assert_int_equal(
        fre_tagging_load(&out, &s.w->s.w.c, keys, NULL, parties_buf_view(&saved), NULL),
        FRE_E_DATA);
    fre_buf_wipe(&saved);
    fre_buf_wipe(&reply);
    world_free(s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pitfall_03_no_evaluation_outside_its_epoch),
        cmocka_unit_test(pitfall_01_epoch_numbers_at_the_edges),
        cmocka_unit_test(test_missed_everything),
        cmocka_unit_test(test_a_retry_gets_the_same_bytes),
        cmocka_unit_test(test_no_more_evaluations_than_users),
        cmocka_unit_test(test_requests_that_are_none),
        cmocka_unit_test(test_wrong_messages_inside),
        cmocka_unit_test(test_the_key_is_destroyed),
        cmocka_unit_test(test_a_lost_key_voids_the_collection),
        cmocka_unit_test(test_a_key_lost_at_the_end),
        cmocka_unit_test(test_keys_of_other_people),
        cmocka_unit_test(test_padding_is_what_was_drawn),
        cmocka_unit_test(test_padding_looks_like_reports),
        cmocka_unit_test(test_padding_is_repeated_until_it_arrives),
        cmocka_unit_test(test_closed_says_nothing_of_padding),
        cmocka_unit_test(test_a_second_list_voids_the_collection),
        cmocka_unit_test(test_counts_above_the_evaluations),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(pitfall_08_both_thresholds_of_what_is_summed),
        cmocka_unit_test(pitfall_09_answers_needed_at_the_edges),
        cmocka_unit_test(test_each_id_once_and_sets_in_order),
        cmocka_unit_test(test_only_what_the_relay_carried),
        cmocka_unit_test(test_rolls_in_order),
        cmocka_unit_test(test_more_digests_than_there_can_be),
        cmocka_unit_test(test_sets_before_their_time),
        cmocka_unit_test(test_every_message_in_every_phase),
        cmocka_unit_test(test_not_genuine),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_cancelled_by_another_at_any_time),
        cmocka_unit_test(test_no_sum_after_a_cancel),
        cmocka_unit_test(test_nothing_is_left_after_the_end),
        cmocka_unit_test(test_cancelled_by_its_operator),
        cmocka_unit_test(test_states_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
