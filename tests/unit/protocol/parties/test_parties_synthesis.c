/* test_parties_synthesis.c - S_syn: counting, sets, sums, release. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parties_servers.h"

#include "synthesis.h"
#include "tagging.h"

#include <math.h>

/* ---- the whole course --------------------------------------------------------------------------- */

/* The mean of the people of a cell who answered, as the release has it: within a lattice step of
 * each coordinate, since nothing but rounding was added. */
static void expect_centroid(const world *w, const fre_release_cell *cell, uint32_t from,
                            uint32_t to)
{
    fre_mechanism m;
    fre_share_cell terms;

    fre_collection_mechanism(&m, &w->s.w.c);
    assert_int_equal(
        fre_share_cell_init(&terms, &m, w->s.w.c.split, cell->count, w->s.w.share_bits, NULL),
        FRE_OK);
    for (uint32_t j = 0; j < DIM; j++) {
        double mean = 0;

        for (uint32_t i = from; i < to; i++)
            mean += (double)w->who[i].x[j] / (to - from);
        /* D roundings below one step each, turned back. */
        assert_true(fabs((double)cell->centroid[j] - mean) < terms.beta * sqrt(DIM));
    }
}

static fre_release_part the_release(const world *w)
{
    fre_release_part r;

    assert_int_equal(fre_release_part_decode(&r, &w->s.w, parties_buf_view(&w->release), NULL),
                     FRE_OK);
    return r;
}

/* Groups of 9, 2 and 5; tau = 3. */
static void course(bool one_contact, bool restart, bool lose)
{
    const uint32_t groups[] = {9, 2, 5};
    world *w = world_new(one_contact);
    fre_synthesis_counts n;
    fre_release_part r;

    w->restart = restart;
    assert_int_equal(gather(w, groups, 3), 16);
    close_and_count(w);
    assert_int_equal(the_list(w).n, 2);
    if (!one_contact)
        share_all(w, 0, 16);
    sum_and_release(w, lose);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_DONE);
    r = the_release(w);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.statement.n, strlen("what it promises"));
    for (uint32_t i = 0; i < r.n; i++) {
        float x[DIM];
        fre_release_cell cell;

        fre_release_part_at(&cell, x, &r, i);
        assert_int_equal(cell.answers, cell.count);
        assert_true(cell.count == 9 || cell.count == 5);
        expect_centroid(w, &cell, cell.count == 9 ? 0 : 11, cell.count == 9 ? 9 : 16);
    }
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.tags, 2);
    assert_int_equal(n.tags_released, 2);
    assert_int_equal(n.duplicates, 0);
    assert_int_equal(n.nulls, one_contact ? 0 : 2);
    world_free(w);
}

static void test_two_phase(void **state)
{
    (void)state;
    course(false, false, false);
}

static void test_one_shot(void **state)
{
    (void)state;
    course(true, false, false);
}

static void test_restart_after_every_message(void **state)
{
    (void)state;
    course(false, true, false);
    course(true, true, false);
}

static void pitfall_07_lost_answers_between_servers(void **state)
{
    (void)state;
    course(false, false, true);
    course(false, true, true);
}

/* ---- counting --------------------------------------------------------------------------------- */

/* A world whose closed statement is there and whose padding is thrown away, for exact counts. */
static world *counting(bool one_contact)
{
    world *w = world_new(one_contact);

    pump_tag(w, 2000);
    queue_wipe(&w->reports);
    w->tag->evaluations = 90; /* whose reports are made here without asking */
    return w;
}

/* A report of a made-up tag and id. */
static void made_up(world *w, uint8_t tag, uint8_t id)
{
    person p = {.x = {0.5f}};

    memset(p.tag.b, tag, sizeof p.tag.b);
    memset(p.id.b, id, sizeof p.id.b);
    contribute(w, &p, FRE_WIRE_REPORT, (uint32_t)w->s.w.c.tau);
}

static void count_all(world *w, uint32_t parts)
{
    flush(w, FRE_WIRE_REPORT, parts, 2001);
    pump_syn(w, 2002, false);
}

static void expect_tag(const world *w, uint32_t i, uint8_t tag, uint32_t count)
{
    const fre_list l = the_list(w);
    const fre_list_entry e = fre_list_at(&l, i);

    assert_int_equal(e.tag.b[0], tag);
    assert_int_equal(e.count, count);
}

/* tau is 3: three are listed, two are not. */
static void pitfall_09_tau_is_reached_by_equality(void **state)
{
    world *w = counting(false);

    (void)state;
    for (uint8_t i = 0; i < 3; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    for (uint8_t i = 0; i < 2; i++)
        made_up(w, 2, (uint8_t)(20 + i));
    for (uint8_t i = 0; i < 4; i++)
        made_up(w, 3, (uint8_t)(30 + i));
    count_all(w, 1);
    assert_int_equal(the_list(w).n, 2);
    expect_tag(w, 0, 1, 3);
    expect_tag(w, 1, 3, 4);
    world_free(w);
}

/* The same report over and over, in several parts and under other tags, is one report. */
static void pitfall_04_each_report_id_counts_once(void **state)
{
    world *w = counting(false);
    fre_synthesis_counts n;

    (void)state;
    for (uint8_t k = 0; k < 5; k++)
        made_up(w, 1, 10); /* sealed anew each time */
    made_up(w, 1, 11);
    for (uint8_t i = 0; i < 3; i++)
        made_up(w, 2, (uint8_t)(20 + i));
    made_up(w, 3, 20); /* an id of tag 2: counts for 2 alone */
    made_up(w, 3, 31);
    made_up(w, 3, 32);
    made_up(w, 4, 20); /* and under a light tag: no harm to tag 2 */
    count_all(w, 4);
    assert_int_equal(the_list(w).n, 1);
    expect_tag(w, 0, 2, 3);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.reports, 13);
    assert_int_equal(n.duplicates, 5);
    world_free(w);
}

static void test_too_few_for_any_tag(void **state)
{
    (void)state;
    for (uint32_t reports = 0; reports <= 2; reports += 2) {
        world *w = counting(reports > 0);
        fre_release_part r;

        for (uint32_t i = 0; i < reports; i++)
            made_up(w, 1, (uint8_t)(10 + i));
        count_all(w, 1);
        assert_int_equal(the_list(w).n, 0);
        assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
        assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_DONE);
        assert_int_equal(fre_release_part_decode(&r, &w->s.w, parties_buf_view(&w->release), NULL),
                         FRE_OK);
        assert_int_equal(r.n, 0);
        world_free(w);
    }
}

/* What is counted against a count by brute force, for random tags and ids with many collisions. */
static void test_counts_against_brute_force(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        world *w = counting(false);
        uint8_t tag[60], id[60];
        uint32_t want = 0, at = 0;

        w->rng.key[0] ^= (uint8_t)round;
        for (uint32_t i = 0; i < 60; i++) {
            tag[i] = (uint8_t)(1 + fre_rng_below(&w->rng, 12));
            id[i] = (uint8_t)(1 + fre_rng_below(&w->rng, round % 2 ? 40 : 255));
        }
        for (uint32_t i = 0; i < 60; i++)
            made_up(w, tag[i], id[i]);
        count_all(w, 1 + round % 5);
        for (uint8_t t = 1; t <= 12; t++) {
            uint32_t heavy[13] = {0}, n = 0;

            /* Tags with three different ids; then each id counts for the least of them. */
            for (uint8_t u = 1; u <= 12; u++) {
                bool seen[256] = {false};

                for (uint32_t i = 0; i < 60; i++)
                    if (tag[i] == u && !seen[id[i]]) {
                        seen[id[i]] = true;
                        heavy[u]++;
                    }
            }
            for (uint32_t v = 1; v < 256; v++) {
                uint8_t first = 0;

                for (uint8_t u = 12; u >= 1; u--)
                    for (uint32_t i = 0; i < 60; i++)
                        if (tag[i] == u && id[i] == v && heavy[u] >= 3)
                            first = u;
                n += first == t;
            }
            if (n >= 3) {
                want++;
                expect_tag(w, at++, t, n);
            }
        }
        assert_int_equal(the_list(w).n, want);
        world_free(w);
    }
}

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, 48);
}

static int by_id(const void *a, const void *b)
{
    const int high = memcmp((const uint8_t *)a + 32, (const uint8_t *)b + 32, 16);

    return high != 0 ? high : memcmp(a, b, 32);
}

/* Against the library's sort, for uniform keys and for ones that share long prefixes. */
static void test_sort(void **state)
{
    static fre_report e[5000], f[5000];
    const uint8_t seed[FRE_SEED_BYTES] = {3};
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "sort"), FRE_OK);
    for (uint32_t kind = 0; kind < 4; kind++)
        for (uint32_t n = 0; n < 5000; n = n * 3 + 1)
            for (uint32_t order = 0; order < 2; order++) {
                for (uint32_t i = 0; i < n; i++) {
                    const uint32_t tail = kind == 1 ? 1 : kind == 2 ? 2 : 48;

                    memset(&e[i], 7, sizeof e[i]);
                    if (kind < 3)
                        fre_rng_bytes(&r, (uint8_t *)&e[i] + 48 - tail, tail);
                    f[i] = e[i];
                }
                synthesis_sort(e, n, order == 1);
                qsort(f, n, sizeof *f, order == 1 ? by_id : by_key);
                assert_memory_equal(e, f, n * sizeof *e);
            }
}

/* ---- flushes of reports ------------------------------------------------------------------------- */

static void encode_flush(const world *w, fre_buf *m, fre_wire_type type, uint32_t i, uint32_t parts)
{
    const queue *q = type == FRE_WIRE_REPORT ? &w->reports : &w->shares;

    fre_buf_init(m, SAMPLE_MAX);
    flush_encode(w, m, q, type, (fre_part){i, parts}, q->n * i / parts, q->n * (i + 1) / parts);
}

static void test_parts_in_any_order_and_twice(void **state)
{
    world *w = counting(false);
    fre_buf m[3];

    (void)state;
    for (uint8_t i = 0; i < 7; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    for (uint32_t i = 0; i < 3; i++)
        encode_flush(w, &m[i], FRE_WIRE_REPORT, i, 3);
    w->restart = true;
    assert_int_equal(to_syn(w, parties_buf_view(&m[2]), 1999), FRE_REJECTED_PHASE);
    assert_int_equal(to_syn(w, parties_buf_view(&m[2]), 2001), FRE_NOT_REJECTED);
    pump_syn(w, 2001, false);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_COUNTING);
    assert_int_equal(to_syn(w, parties_buf_view(&m[0]), 2001), FRE_NOT_REJECTED);
    assert_int_equal(to_syn(w, parties_buf_view(&m[2]), 2001), FRE_NOT_REJECTED);
    assert_int_equal(to_syn(w, parties_buf_view(&m[1]), 2001), FRE_NOT_REJECTED);
    assert_int_equal(fre_synthesis_counters(w->syn)->accepted, 3);
    assert_int_equal(fre_synthesis_counters(w->syn)->repeated, 1);
    pump_syn(w, 2001, false);
    expect_tag(w, 0, 1, 7);
    /* Also when it is counted: the receipt was lost. */
    assert_int_equal(to_syn(w, parties_buf_view(&m[1]), 2002), FRE_NOT_REJECTED);
    expect_tag(w, 0, 1, 7);
    for (uint32_t i = 0; i < 3; i++)
        fre_buf_wipe(&m[i]);
    world_free(w);
}

static void test_parts_that_disagree(void **state)
{
    world *w = counting(false);
    fre_buf m, early;
    const fre_closed wrong = {.time = 1999, .evaluations = 7},
                     other = {.time = 2001, .evaluations = 8};

    (void)state;
    for (uint8_t i = 0; i < 4; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    /* A statement from before the tags closed. */
    fre_buf_init(&early, SAMPLE_MAX);
    keep(&early, &w->closed);
    fre_buf_wipe(&w->closed);
    assert_int_equal(fre_closed_encode(&w->closed, &w->s.w, &wrong, &w->s.tag_sk), FRE_OK);
    encode_flush(w, &m, FRE_WIRE_REPORT, 0, 2);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_DISAGREES);
    fre_buf_wipe(&m);
    keep(&w->closed, &early);
    encode_flush(w, &m, FRE_WIRE_REPORT, 0, 2);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_NOT_REJECTED);
    fre_buf_wipe(&m);
    encode_flush(w, &m, FRE_WIRE_REPORT, 1, 3); /* another number of parts */
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_DISAGREES);
    fre_buf_wipe(&m);
    made_up(w, 1, 20);
    flush_encode(w, &m, &w->reports, FRE_WIRE_REPORT, (fre_part){0, 2}, 2, 5); /* other content */
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_REPLAYED);
    fre_buf_wipe(&m);
    fre_buf_wipe(&w->closed); /* two statements of S_tag */
    assert_int_equal(fre_closed_encode(&w->closed, &w->s.w, &other, &w->s.tag_sk), FRE_OK);
    encode_flush(w, &m, FRE_WIRE_REPORT, 1, 2);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_DISAGREES);
    assert_int_equal(fre_synthesis_counters(w->syn)->rejected[FRE_REJECTED_DISAGREES], 3);
    fre_buf_wipe(&m);
    fre_buf_wipe(&early);
    world_free(w);
}

/* A late report must not change what is counted. */
static void pitfall_06_a_late_report_changes_no_count(void **state)
{
    world *w = counting(false);
    fre_buf m;

    (void)state;
    for (uint8_t i = 0; i < 4; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    count_all(w, 1);
    made_up(w, 1, 20);
    encode_flush(w, &m, FRE_WIRE_REPORT, 0, 1);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2003), FRE_REJECTED_EXPIRED);
    pump_syn(w, 2004, false);
    expect_tag(w, 0, 1, 4);
    fre_buf_wipe(&m);
    world_free(w);
}

/* Sealed for another collection, under another phase, or noise: counted one by one, and skipped. */
static void test_sealed_messages_that_do_not_open(void **state)
{
    world *w = counting(false);
    fre_synthesis_counts n;

    (void)state;
    for (uint8_t i = 0; i < 5; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    w->reports.item[1].p[60] ^= 1;
    w->reports.item[2].p[w->reports.item[2].n - 1] ^= 1;
    count_all(w, 1);
    expect_tag(w, 0, 1, 3);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.reports, 3);
    assert_int_equal(fre_synthesis_counters(w->syn)->rejected[FRE_REJECTED_UNAUTHENTIC], 2);
    world_free(w);
}

static void test_more_reports_than_there_can_be(void **state)
{
    world *w = calloc(1, sizeof *w);
    fre_collection c;
    fre_buf m;

    (void)state;
    assert_non_null(w);
    c = small_terms(&w->s, false);
    c.users = 20;
    c.gamma = 0; /* padding: none */
    world_begin(w, &c);
    pump_tag(w, 2000);
    assert_int_equal(w->reports.n, 0);
    for (uint8_t i = 0; i < 21; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    encode_flush(w, &m, FRE_WIRE_REPORT, 0, 1);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_SIZE);
    fre_buf_wipe(&m);
    encode_flush(w, &m, FRE_WIRE_REPORT, 0, 2);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_NOT_REJECTED);
    fre_buf_wipe(&m);
    encode_flush(w, &m, FRE_WIRE_REPORT, 1, 2);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2001), FRE_REJECTED_SIZE);
    fre_buf_wipe(&m);
    world_free(w);
}

/* ---- shares ----------------------------------------------------------------------------------- */

/* One tag of `n` people, counted. */
static world *counted(uint32_t n)
{
    const uint32_t groups[] = {n, n};
    world *w = world_new(false);

    assert_int_equal(gather(w, groups, 2), 2 * n);
    close_and_count(w);
    return w;
}

static void share(world *w, const person *p)
{
    const fre_list l = the_list(w);
    uint32_t count = 0;

    assert_true(fre_list_find(&l, &w->who[0].tag, &count));
    contribute(w, p, FRE_WIRE_SHARE, count);
}

static void test_shares_without_a_report(void **state)
{
    world *w = counted(5);
    fre_synthesis_counts n;
    person p;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        share(w, &w->who[i]);
    share(w, &w->who[2]); /* a second one for the same report */
    p = w->who[4];
    p.id.b[3] ^= 1; /* no such report */
    share(w, &p);
    p = w->who[4];
    p.tag = w->who[5].tag; /* the report was of another tag */
    share(w, &p);
    memset(p.tag.b, 9, sizeof p.tag.b); /* no such tag */
    share(w, &p);
    null_share(w);
    sum_and_release(w, false);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.shares, 4);
    assert_int_equal(n.unmatched, 4);
    assert_int_equal(n.nulls, 1);
    assert_int_equal(n.tags_released, 1);
    assert_int_equal(n.tags_short, 1);
    world_free(w);
}

static void pitfall_06_a_late_share_changes_no_sum(void **state)
{
    world *w = counted(5), *one = counting(true);
    fre_buf m;

    (void)state;
    share_all(w, 0, 10);
    encode_flush(w, &m, FRE_WIRE_SHARE, 0, 1);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 2999), FRE_REJECTED_PHASE);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 3000), FRE_NOT_REJECTED);
    pump_syn(w, 3000, false);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
    fre_buf_wipe(&m);
    share_all(w, 0, 1);
    encode_flush(w, &m, FRE_WIRE_SHARE, 0, 1);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 3001), FRE_REJECTED_EXPIRED);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 4000), FRE_REJECTED_EXPIRED);
    fre_buf_wipe(&m);
    world_free(w);
    /* Before the list their size is not known. */
    w = counting(false);
    assert_int_equal(fre_wire_set_share_bits(&w->s.w, 20), FRE_OK);
    null_share(w);
    encode_flush(w, &m, FRE_WIRE_SHARE, 0, 1);
    assert_int_equal(to_syn(w, parties_buf_view(&m), 3001), FRE_REJECTED_PHASE);
    fre_buf_wipe(&m);
    world_free(w);
    world_free(one);
}

/* 9 were counted, dropout one half: 5 answers are needed. */
static void test_dropouts_up_to_what_was_planned(void **state)
{
    (void)state;
    for (uint32_t answers = 4; answers <= 9; answers++) {
        world *w = counted(9);
        fre_synthesis_counts n;
        fre_release_part r;

        share_all(w, 0, answers);
        share_all(w, 9, 18);
        sum_and_release(w, false);
        fre_synthesis_count(&n, w->syn);
        assert_int_equal(n.tags_released, answers >= 5 ? 2 : 1);
        assert_int_equal(n.tags_short, answers >= 5 ? 0 : 1);
        r = the_release(w);
        for (uint32_t i = 0; i < r.n; i++) {
            float x[DIM];
            fre_release_cell cell;

            fre_release_part_at(&cell, x, &r, i);
            assert_int_equal(cell.count, 9);
            if (cell.answers != 9)
                assert_int_equal(cell.answers, answers);
            if (cell.answers != 9)
                expect_centroid(w, &cell, 0, answers);
        }
        world_free(w);
    }
}

/* Enough came, but S_tag could open too few of the seeds: what counts is what is summed. */
static void pitfall_08_what_is_summed_counts(void **state)
{
    (void)state;
    for (uint32_t spoiled = 4; spoiled <= 5; spoiled++) {
        world *w = counted(9);
        fre_synthesis_counts n;

        share_all(w, 0, 18);
        flush(w, FRE_WIRE_SHARE, 1, 3000);
        for (uint32_t i = 0; i < 9; i++) {
            synthesis_member *m = &w->syn->cells.member[w->syn->cells.cell[0].first + i];

            if (i < spoiled)
                synthesis_record(&w->syn->records, m->record - 1)[40] ^= 1;
        }
        pump_syn(w, 3001, false);
        fre_synthesis_count(&n, w->syn);
        assert_int_equal(n.tags_released, spoiled == 4 ? 2 : 1);
        assert_int_equal(n.tags_short, spoiled == 4 ? 0 : 1);
        world_free(w);
    }
}

/* A share outside of what honest ones reach costs its cell, not the others. */
static void test_a_sum_outside_the_guard(void **state)
{
    world *w = counted(5);
    fre_contribution m = {.id = w->who[4].id, .tag = w->who[4].tag};
    const uint32_t bits = w->s.w.share_bits;
    uint8_t packed[4 * DIM];
    uint32_t z[DIM], mask[DIM] = {0};
    fre_share_expander *e = NULL;
    fre_synthesis_counts n;
    fre_share_seed seed;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        share(w, &w->who[i]);
    share_all(w, 5, 10);
    fre_rng_bytes(&w->rng, seed.b, sizeof seed.b);
    assert_int_equal(fre_share_expander_new(&e, DIM, bits), FRE_OK);
    assert_int_equal(fre_share_expander_add(e, mask, &seed), FRE_OK);
    for (uint32_t j = 0; j < DIM; j++)
        z[j] = (UINT32_C(1) << (bits - 1)) - mask[j];
    assert_int_equal(fre_share_pack(packed, fre_wire_share_bytes(&w->s.w), z, DIM, bits), FRE_OK);
    assert_int_equal(fre_seed_seal(&m.seed, &w->s.w, &m.tag, &m.id, &seed, &w->rng), FRE_OK);
    m.packed = parties_view(packed, fre_wire_share_bytes(&w->s.w));
    assert_int_equal(
        fre_contribution_seal(queue_add(&w->shares), &w->s.w, FRE_WIRE_SHARE, &m, &w->rng), FRE_OK);
    sum_and_release(w, false);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.tags_overflowed, 1);
    assert_int_equal(n.tags_released, 1);
    fre_share_expander_free(e);
    world_free(w);
}

/* ---- the other server disagrees ------------------------------------------------------------------ */

/* The one message that S_syn has for S_tag now, and its cookie. */
static uint64_t waiting(world *w, fre_buf *m)
{
    fre_outbox o;
    uint64_t cookie = 0;

    fre_outbox_init(&o);
    fre_buf_init(m, SAMPLE_MAX);
    assert_int_equal(fre_synthesis_tick(w->syn, &o, 3001), FRE_OK);
    for (size_t i = 0; i < o.n; i++)
        if (o.item[i].to == FRE_ROLE_TAG) {
            keep(m, &o.item[i].message);
            cookie = o.item[i].cookie;
        }
    fre_outbox_wipe(&o);
    assert_true(m->n > 0);
    return cookie;
}

static world *ready_for_sets(uint64_t *cookie, fre_sets *all, fre_buf *m)
{
    world *w = counted(5);

    share_all(w, 0, 10);
    flush(w, FRE_WIRE_SHARE, 1, 3000);
    tell_registry(w, 3000);
    *cookie = waiting(w, m);
    assert_int_equal(fre_sets_decode(all, &w->s.w, parties_buf_view(m), NULL), FRE_OK);
    return w;
}

static void answer_accepted(world *w, uint64_t cookie, fre_part part, const fre_id_set *set,
                            uint32_t n)
{
    fre_buf m;

    fre_buf_init(&m, SAMPLE_MAX);
    assert_int_equal(fre_id_sets_encode(&m, &w->s.w, FRE_WIRE_ACCEPTED, part, set, n, &w->s.tag_sk),
                     FRE_OK);
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_buf_view(&m), 3001), FRE_OK);
    fre_buf_wipe(&m);
}

/* Of a tag with too few answers S_tag hears nothing. */
static void test_sets_of_tags_that_can_be_opened(void **state)
{
    world *w = counted(9);
    fre_sets all;
    fre_set set;
    fre_buf m;

    (void)state;
    share_all(w, 0, 4);
    share_all(w, 9, 14);
    flush(w, FRE_WIRE_SHARE, 1, 3000);
    (void)waiting(w, &m);
    assert_int_equal(fre_sets_decode(&all, &w->s.w, parties_buf_view(&m), NULL), FRE_OK);
    assert_int_equal(all.n, 1);
    assert_true(fre_sets_next(&all, &set));
    assert_memory_equal(set.tag.b, w->who[9].tag.b, sizeof set.tag.b);
    assert_int_equal(set.n, 5);
    fre_buf_wipe(&m);
    world_free(w);
}

static void pitfall_07_accepted_ids_that_were_not_asked_for(void **state)
{
    fre_report_id id[2][5], alien[6];
    fre_id_set set[2];
    fre_synthesis_counts n;
    fre_sets all;
    fre_set s;
    uint64_t cookie;
    fre_buf m;
    world *w = ready_for_sets(&cookie, &all, &m);

    (void)state;
    for (uint32_t t = 0; t < 2; t++) {
        assert_true(fre_sets_next(&all, &s));
        for (uint32_t k = 0; k < 5; k++)
            id[t][k] = s.member[k].id;
        set[t] = (fre_id_set){.tag = s.tag, .n = 5, .id = id[t]};
    }
    memcpy(alien, id[0], sizeof id[0]);
    memset(alien[5].b, 0xff, sizeof alien[5].b);
    set[0].n = 6;
    set[0].id = alien;
    answer_accepted(w, cookie, (fre_part){1, 2}, set, 2); /* of no part that was asked */
    assert_int_equal(fre_synthesis_counters(w->syn)->rejected[FRE_REJECTED_REPLAYED], 1);
    answer_accepted(w, cookie, (fre_part){0, 1}, set, 2);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.tags_disagreed, 1);
    fre_buf_wipe(&m);
    /* S_tag was never asked about the other one: it says "wrong phase", which is asked again. */
    cookie = waiting(w, &m);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_SUMMING);
    fre_buf_wipe(&m);
    world_free(w);
}

static void test_answers_that_are_none(void **state)
{
    fre_sets all;
    uint64_t cookie;
    fre_buf m, before, after, reply;
    world *w = ready_for_sets(&cookie, &all, &m);
    static const uint8_t junk[] = {1, 9, 3, 4};

    (void)state;
    fre_buf_init(&before, SAMPLE_MAX);
    fre_buf_init(&after, SAMPLE_MAX);
    fre_buf_init(&reply, SAMPLE_MAX);
    assert_int_equal(to_tag(w, &reply, parties_buf_view(&m), 3001), FRE_NOT_REJECTED);
    assert_int_equal(fre_synthesis_save(w->syn, &before), FRE_OK);
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_view(junk, 4), 3001), FRE_OK);
    assert_int_equal(fre_synthesis_answered(w->syn, cookie + 1, parties_buf_view(&reply), 3001),
                     FRE_OK);
    assert_int_equal(fre_synthesis_answered(w->syn, 12345, parties_buf_view(&reply), 3001), FRE_OK);
    assert_int_equal(fre_synthesis_save(w->syn, &after), FRE_OK);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);
    reply.p[reply.n - 1] ^= 1; /* not signed by S_tag */
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_buf_view(&reply), 3001),
                     FRE_OK);
    assert_int_equal(fre_synthesis_counters(w->syn)->rejected[FRE_REJECTED_UNAUTHENTIC], 1);
    reply.p[reply.n - 1] ^= 1;
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_buf_view(&reply), 3001),
                     FRE_OK);
    pump_syn(w, 3002, false);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
    assert_int_equal(the_release(w).n, 2);
    fre_buf_wipe(&m);
    fre_buf_wipe(&before);
    fre_buf_wipe(&after);
    fre_buf_wipe(&reply);
    world_free(w);
}

/* kind 0: a tag is missing among the sums; 1: more answers than were asked for; 2: refused. */
static void sums_that_disagree(uint32_t kind)
{
    const uint32_t groups[] = {5, 6};
    fre_synthesis_counts n;
    fre_sum sum[2];
    fre_buf m, reply;
    fre_sums all;
    uint64_t cookie;
    world *w = world_new(false);

    assert_int_equal(gather(w, groups, 2), 11);
    close_and_count(w);
    share_all(w, 0, 11);
    flush(w, FRE_WIRE_SHARE, 1, 3000);
    tell_registry(w, 3000);
    cookie = waiting(w, &m);
    fre_buf_init(&reply, SAMPLE_MAX);
    assert_int_equal(to_tag(w, &reply, parties_buf_view(&m), 3001), FRE_NOT_REJECTED);
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_buf_view(&reply), 3001),
                     FRE_OK);
    fre_buf_wipe(&m);
    fre_buf_wipe(&reply);
    cookie = waiting(w, &m);
    assert_int_equal(to_tag(w, &reply, parties_buf_view(&m), 3001), FRE_NOT_REJECTED);
    assert_int_equal(fre_sums_decode(&all, &w->s.w, parties_buf_view(&reply), NULL), FRE_OK);
    assert_int_equal(all.n, 2);
    for (uint32_t i = 0; i < 2; i++)
        sum[i] = fre_sums_at(&all, i);
    sum[0].answers += kind == 1;
    fre_buf_wipe(&m);
    if (kind == 2)
        assert_int_equal(fre_rejection_encode(&m, FRE_REJECTED_DISAGREES), FRE_OK);
    else
        assert_int_equal(fre_sums_encode(&m, &w->s.w, all.part, kind == 0 ? sum + 1 : sum,
                                         kind == 0 ? 1 : 2, &w->s.tag_sk),
                         FRE_OK);
    assert_int_equal(fre_synthesis_answered(w->syn, cookie, parties_buf_view(&m), 3001), FRE_OK);
    pump_syn(w, 3002, false);
    fre_synthesis_count(&n, w->syn);
    assert_int_equal(n.tags_disagreed, kind == 2 ? 2 : 1);
    assert_int_equal(the_release(w).n, kind == 2 ? 0 : 1);
    fre_buf_wipe(&m);
    fre_buf_wipe(&reply);
    world_free(w);
}

static void pitfall_07_a_disagreement_costs_one_tag(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < 3; kind++)
        sums_that_disagree(kind);
}

/* S_tag takes no list: there will be no sums, so the collection is void. */
static void test_a_refused_list(void **state)
{
    world *w = counting(false);
    fre_buf refused, m;

    (void)state;
    w->tag->evaluations = 3; /* S_tag knows of fewer tags than are counted */
    for (uint8_t i = 0; i < 4; i++)
        made_up(w, 1, (uint8_t)(10 + i));
    fre_buf_init(&refused, 16);
    assert_int_equal(fre_rejection_encode(&refused, FRE_REJECTED_DISAGREES), FRE_OK);
    flush(w, FRE_WIRE_REPORT, 1, 2001);
    (void)waiting(w, &m);
    fre_buf_wipe(&m);
    pump_syn(w, 3002, false);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    assert_int_equal(w->cancels, 1);
    fre_buf_wipe(&refused);
    world_free(w);
}

/* ---- many parts --------------------------------------------------------------------------------- */

/* Sets and sums cut into pieces, a set over several of them, with restarts and lost answers. */
static void test_sets_in_many_parts(void **state)
{
    static const size_t bytes[] = {1, 120, 200, 333, 500};

    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const uint32_t groups[] = {9, 3, 5};
        world *w = world_new(false);

        w->syn->part_bytes = bytes[i];
        w->restart = i % 2 == 0;
        assert_int_equal(gather(w, groups, 3), 17);
        close_and_count(w);
        share_all(w, 0, 17);
        sum_and_release(w, i > 2);
        assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_DONE);
        assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_DONE);
        assert_int_equal(the_release(w).n, 3);
        for (uint32_t k = 0; k < 3; k++) {
            fre_release_part r = the_release(w);
            float x[DIM];
            fre_release_cell cell;
            uint32_t from;

            fre_release_part_at(&cell, x, &r, k);
            assert_int_equal(cell.answers, cell.count);
            from = cell.count == 9 ? 0 : cell.count == 3 ? 9 : 12;
            expect_centroid(w, &cell, from, from + cell.count);
        }
        world_free(w);
    }
}

/* ---- release ---------------------------------------------------------------------------------- */

static bool contains(const fre_buf *b, const uint8_t *what, size_t n)
{
    for (size_t i = 0; i + n <= b->n; i++)
        if (memcmp(b->p + i, what, n) == 0)
            return true;
    return false;
}

/* No tag, no share and no id is left in the machine or the release; the release does not change. */
static void test_what_is_left_after_the_release(void **state)
{
    world *w = counted(5);
    fre_buf saved, first;

    (void)state;
    share_all(w, 0, 10);
    sum_and_release(w, false);
    fre_buf_init(&saved, SAMPLE_MAX);
    fre_buf_init(&first, SAMPLE_MAX);
    assert_int_equal(fre_synthesis_save(w->syn, &saved), FRE_OK);
    for (uint32_t i = 0; i < 10; i++) {
        assert_false(contains(&w->release, w->who[i].tag.b, sizeof w->who[i].tag.b));
        assert_false(contains(&saved, w->who[i].id.b, sizeof w->who[i].id.b));
    }
    assert_null(w->syn->cells.member);
    assert_null(w->syn->records.chunk);
    keep(&first, &w->release);
    restart_syn(w);
    pump_syn(w, 3500, false);
    assert_int_equal(fre_synthesis_release_parts(w->syn), 1);
    assert_int_equal(fre_synthesis_release_view(w->syn, 0).n, first.n);
    assert_memory_equal(fre_synthesis_release_view(w->syn, 0).p, first.p, first.n);
    assert_int_equal(fre_synthesis_release_view(w->syn, 1).n, 0);
    fre_buf_wipe(&saved);
    fre_buf_wipe(&first);
    world_free(w);
}

/* Cells come in an order that says nothing of the list's: over 60 draws both orders of two. */
static void test_the_order_of_the_release(void **state)
{
    uint32_t first = 0;

    (void)state;
    for (uint8_t i = 0; i < 60; i++) {
        const uint32_t groups[] = {5, 6};
        world *w = world_new(false);
        fre_release_part r;
        fre_release_cell cell;
        float x[DIM];

        w->syn->base.streams[0] ^= i;
        assert_int_equal(gather(w, groups, 2), 11);
        close_and_count(w);
        share_all(w, 0, 11);
        sum_and_release(w, false);
        r = the_release(w);
        fre_release_part_at(&cell, x, &r, 0);
        first += cell.count == 5;
        world_free(w);
    }
    assert_in_range(first, 10, 50); /* outside with probability 4e-8 */
}

/* ---- cancel, end, keys ---------------------------------------------------------------------------- */

static void test_cancelled_at_any_time(void **state)
{
    (void)state;
    for (unsigned step = 0; step < 5; step++) {
        world *w = world_new(false);
        const uint32_t groups[] = {5, 6};
        const fre_cancel c = {.by = step % 2 ? FRE_ROLE_TAG : FRE_ROLE_RELAY,
                              .reason = FRE_CANCEL_TOO_FEW,
                              .time = 2001};
        const int64_t when[] = {900, 1500, 2001, 2500, 3001};
        const bool done = step == 4;
        fre_buf m, saved;

        if (step > 0)
            (void)gather(w, groups, 2);
        if (step == 2) {
            pump_tag(w, 2000);
            flush(w, FRE_WIRE_REPORT, 1, 2001);
        }
        if (step > 2)
            close_and_count(w);
        if (done) {
            share_all(w, 0, 11);
            sum_and_release(w, false);
        }
        fre_buf_init(&m, SAMPLE_MAX);
        fre_buf_init(&saved, SAMPLE_MAX);
        assert_int_equal(
            fre_cancel_encode(&m, &w->s.w, &c, step % 2 ? &w->s.tag_sk : &w->s.relay_sk), FRE_OK);
        assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]),
                         done ? FRE_REJECTED_EXPIRED : FRE_NOT_REJECTED);
        assert_int_equal(fre_synthesis_stage(w->syn), done ? FRE_STAGE_DONE : FRE_STAGE_VOID);
        restart_syn(w);
        if (!done) {
            assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]), FRE_NOT_REJECTED);
            m.p[m.n - 1] ^= 1;
            assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]), FRE_REJECTED_CANCELLED);
            assert_null(w->syn->waiting.entry);
            assert_null(w->syn->cells.member);
            assert_int_equal(fre_synthesis_cancel(w->syn, when[step]), FRE_E_STATE);
        }
        fre_buf_wipe(&m);
        fre_buf_wipe(&saved);
        world_free(w);
    }
}

static void test_cancelled_by_its_operator(void **state)
{
    world *w = counted(5);

    (void)state;
    assert_int_equal(fre_synthesis_cancel(w->syn, 2500), FRE_OK);
    w->restart = true;
    pump_syn(w, 2501, false);
    assert_int_equal(fre_tagging_stage(w->tag), FRE_STAGE_VOID);
    assert_int_equal(w->cancels, 1);
    world_free(w);
}

/* Nothing is kept past the end, whatever was missing. */
static void test_the_end_comes_first(void **state)
{
    world *w = counted(5);
    fre_outbox o;

    (void)state;
    share_all(w, 0, 10);
    flush(w, FRE_WIRE_SHARE, 1, 3000);
    fre_outbox_init(&o);
    assert_int_equal(fre_synthesis_tick(w->syn, &o, 4000), FRE_OK);
    assert_int_equal(o.n, 0);
    assert_int_equal(fre_synthesis_stage(w->syn), FRE_STAGE_VOID);
    assert_null(w->syn->cells.member);
    assert_null(w->syn->records.chunk);
    assert_int_equal(fre_synthesis_release_parts(w->syn), 0);
    fre_outbox_wipe(&o);
    world_free(w);
}

static void test_every_message_in_every_phase(void **state)
{
    (void)state;
    for (unsigned step = 0; step < 5; step++) {
        const int64_t when[] = {900, 1500, 2001, 2500, 3001};
        const uint32_t groups[] = {5, 6};
        world *w = world_new(false);

        if (step > 0)
            (void)gather(w, groups, 2);
        if (step > 2)
            close_and_count(w);
        if (step > 3) {
            share_all(w, 0, 11);
            sum_and_release(w, false);
        }
        if (step <= 2)
            assert_int_equal(fre_wire_set_share_bits(&w->s.w, 20), FRE_OK);
        for (unsigned type = 1; type <= FRE_WIRE_REGISTRY; type++) {
            fre_rejection want = FRE_REJECTED_MALFORMED;
            fre_buf m;

            if (type == FRE_WIRE_REPORT || type == FRE_WIRE_SHARE || type == FRE_WIRE_CANCEL)
                continue;
            if (type == FRE_WIRE_FLUSH) /* noise in it, but genuine: not its time */
                want = step < 2    ? FRE_REJECTED_PHASE
                       : step == 2 ? FRE_NOT_REJECTED
                                   : FRE_REJECTED_EXPIRED;
            fre_buf_init(&m, SAMPLE_MAX);
            sample_message(&w->s, (fre_wire_type)type, &m);
            assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]), want);
            if (type == FRE_WIRE_FLUSH) {
                m.p[m.n - 1] ^= 1;
                assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]),
                                 FRE_REJECTED_UNAUTHENTIC);
                m.p[20] ^= 1;
                assert_int_equal(to_syn(w, parties_buf_view(&m), when[step]),
                                 FRE_REJECTED_COLLECTION);
                assert_int_equal(to_syn(w, parties_view(m.p, 40), when[step]),
                                 FRE_REJECTED_COLLECTION);
                assert_int_equal(to_syn(w, parties_view(m.p, 1), when[step]),
                                 FRE_REJECTED_MALFORMED);
            }
            fre_buf_wipe(&m);
        }
        world_free(w);
    }
}

static void test_keys_of_other_people(void **state)
{
    world *w = world_new(false);
    fre_synthesis_keys keys = {.seal = w->s.tag, .sign = w->s.syn_sk};
    fre_synthesis *out = NULL;

    (void)state;
    assert_int_equal(fre_synthesis_new(&out, &w->s.w.c, &keys, parties_view("x", 1), &w->rng, NULL),
                     FRE_E_KEY);
    keys = (fre_synthesis_keys){.seal = w->s.syn, .sign = w->s.tag_sk};
    assert_int_equal(fre_synthesis_new(&out, &w->s.w.c, &keys, parties_view("x", 1), &w->rng, NULL),
                     FRE_E_KEY);
    assert_null(out);
    world_free(w);
}

/* No size of share holds the sum of a cell of all users: said before anything begins. */
static void test_a_collection_too_large_to_share(void **state)
{
    sample s;
    fre_collection c = small_terms(&s, false);
    fre_err err;

    (void)state;
    assert_int_equal(fre_parties_check(&c, &err), FRE_OK);
    c.users = UINT32_MAX;
    c.sigma = 1e-4;
    assert_int_equal(fre_parties_check(&c, &err), FRE_E_LIMIT);
    c.dim = 0;
    assert_int_equal(fre_parties_check(&c, &err), FRE_E_DATA);
}

static void damaged(const world *w, fre_buf *saved)
{
    fre_synthesis *out = NULL;

    assert_int_equal(fre_synthesis_save(w->syn, saved), FRE_OK);
    for (size_t i = 0; i < saved->n; i += 1 + saved->n / 200) {
        saved->p[i] ^= 1;
        assert_int_equal(
            fre_synthesis_load(&out, &w->s.w.c, &w->syn->keys, parties_buf_view(saved), NULL),
            FRE_E_DATA);
        saved->p[i] ^= 1;
        assert_int_equal(
            fre_synthesis_load(&out, &w->s.w.c, &w->syn->keys, parties_view(saved->p, i), NULL),
            FRE_E_DATA);
    }
    assert_null(out);
    fre_buf_wipe(saved);
}

static void test_states_that_are_none(void **state)
{
    world *w = counted(5);
    fre_buf saved, m;

    (void)state;
    fre_buf_init(&saved, SAMPLE_MAX);
    damaged(w, &saved);
    share_all(w, 0, 10);
    flush(w, FRE_WIRE_SHARE, 1, 3000);
    (void)waiting(w, &m);
    damaged(w, &saved);
    fre_buf_wipe(&m);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_phase),
        cmocka_unit_test(test_one_shot),
        cmocka_unit_test(test_restart_after_every_message),
        cmocka_unit_test(pitfall_07_lost_answers_between_servers),
        cmocka_unit_test(pitfall_09_tau_is_reached_by_equality),
        cmocka_unit_test(pitfall_04_each_report_id_counts_once),
        cmocka_unit_test(test_too_few_for_any_tag),
        cmocka_unit_test(test_counts_against_brute_force),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_parts_in_any_order_and_twice),
        cmocka_unit_test(test_parts_that_disagree),
        cmocka_unit_test(pitfall_06_a_late_report_changes_no_count),
        cmocka_unit_test(test_sealed_messages_that_do_not_open),
        cmocka_unit_test(test_more_reports_than_there_can_be),
        cmocka_unit_test(test_shares_without_a_report),
        cmocka_unit_test(pitfall_06_a_late_share_changes_no_sum),
        cmocka_unit_test(test_dropouts_up_to_what_was_planned),
        cmocka_unit_test(pitfall_08_what_is_summed_counts),
        cmocka_unit_test(test_a_sum_outside_the_guard),
        cmocka_unit_test(test_sets_of_tags_that_can_be_opened),
        cmocka_unit_test(pitfall_07_accepted_ids_that_were_not_asked_for),
        cmocka_unit_test(test_answers_that_are_none),
        cmocka_unit_test(pitfall_07_a_disagreement_costs_one_tag),
        cmocka_unit_test(test_a_refused_list),
        cmocka_unit_test(test_sets_in_many_parts),
        cmocka_unit_test(test_what_is_left_after_the_release),
        cmocka_unit_test(test_the_order_of_the_release),
        cmocka_unit_test(test_cancelled_at_any_time),
        cmocka_unit_test(test_cancelled_by_its_operator),
        cmocka_unit_test(test_the_end_comes_first),
        cmocka_unit_test(test_every_message_in_every_phase),
        cmocka_unit_test(test_keys_of_other_people),
        cmocka_unit_test(test_a_collection_too_large_to_share),
        cmocka_unit_test(test_states_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
