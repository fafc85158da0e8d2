/* Whole collections: some hundred users, the relay, both servers; what comes out, and what each of
 * them got to see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relay.h"
#include "parties_net.h"
#include "synthesis.h"

#define USERS 240u

/* Of 240 users a sixth without a text, the others in cells of unequal size. */
static void populate(net *n)
{
    for (uint32_t i = 0; i < n->users; i++) {
        float x[NET_SLOTS * SMALL_DIM];
        const uint32_t cluster = (i * i / 7) % 13 < 8 ? i % 5 : 5 + i % 8;

        for (uint32_t p = 0; p < n->s.w.c.cells_per_user; p++)
            net_text(n, x + p * SMALL_DIM, (cluster + 3 * p) % 16, i / 4);
        net_join(n, i, x, i % 6 == 0 ? 0 : n->s.w.c.cells_per_user);
    }
}

/* From the beginning to the end; `drop` 256ths of the users vanish after their reports. */
static void run(net *n, unsigned drop)
{
    const fre_collection *c = &n->s.w.c;
    const unsigned rounds = n->faults.lose > 0 ? 14 : 3;

    for (n->now = c->open; n->now < c->open + rounds; n->now++)
        net_step_all(n);
    n->now = c->tags_close;
    net_step_all(n);
    for (uint32_t i = 0; i < n->users; i++)
        n->user[i].gone = net_happens(n, drop);
    for (; n->now < c->tags_close + 5 * rounds; n->now++)
        (void)net_pump_all(n, 1);
    for (; n->now < c->tags_close + 6 * rounds; n->now++)
        net_step_all(n);
    for (n->now = c->shares_close; n->now < c->shares_close + 10 * rounds; n->now++)
        (void)net_pump_all(n, 1);
}

static uint32_t assert_exact(net *n)
{
    uint32_t cells;

    assert_int_equal(fre_relay_stage(n->relay), FRE_STAGE_DONE);
    assert_int_equal(fre_synthesis_stage(n->syn), FRE_STAGE_DONE);
    assert_int_equal(fre_relay_release_parts(n->relay), fre_synthesis_release_parts(n->syn));
    assert_true(net_is_exact(n, &cells));
    assert_null(n->broken);
    return cells;
}

static void open_as(net *n, fre_collection *c, sample *keys, uint64_t seed)
{
    if (c->one_contact) {
        c->dropout = 0;
        c->shares_close = c->tags_close;
    }
    net_open(n, keys, c, USERS, 20, seed);
    populate(n);
}

static void test_two_phase(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_tagging_counts tags;
    net n;

    (void)state;
    open_as(&n, &c, &keys, 1);
    run(&n, 0);
    assert_true(assert_exact(&n) >= 8);
    fre_tagging_count(&tags, n.tag);
    assert_int_equal(tags.evaluations, USERS);
    assert_true(tags.padding > 0 && tags.padded == tags.padding);
    assert_int_equal(n.syn_before_closed, 0);
    for (uint32_t i = 0; i < USERS; i++) {
        assert_int_equal(n.user[i].spends, 1);
        assert_int_equal(fre_client_verdict(n.user[i].client), FRE_OK);
        assert_true(n.user[i].shared[0]); /* everybody sends twice */
    }
    net_close(&n);
}

static void test_one_shot(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    c.one_contact = true;
    open_as(&n, &c, &keys, 2);
    run(&n, 0);
    assert_true(assert_exact(&n) >= 8);
    net_close(&n);
}

static void test_without_cover(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    c.cover = false;
    for (unsigned shot = 0; shot < 2; shot++) {
        c.one_contact = shot;
        open_as(&n, &c, &keys, 3 + shot);
        run(&n, 0);
        assert_true(assert_exact(&n) >= 8);
        for (uint32_t i = 0; i < USERS; i++)
            assert_true(n.user[i].reported[0] == n.user[i].real[0]);
        net_close(&n);
    }
}

static void test_several_cells_a_user(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    c.cells_per_user = 2;
    open_as(&n, &c, &keys, 5);
    run(&n, 0);
    assert_true(assert_exact(&n) >= 8);
    net_close(&n);
}

/* Cells that too few answer are lost, and only they. */
static void test_dropouts(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_synthesis_counts counts;
    net n;

    (void)state;
    open_as(&n, &c, &keys, 6);
    run(&n, 128);
    (void)assert_exact(&n);
    fre_synthesis_count(&counts, n.syn);
    assert_true(counts.tags_short > 0 && counts.tags_released > 0);
    assert_int_equal(counts.tags_short + counts.tags_released, counts.tags);
    net_close(&n);
}

/* Lost messages and answers, everything twice, restarts of everybody: the same sums all the same. */
static void test_faults(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    for (uint64_t seed = 7; seed < 11; seed++) {
        c = small_collection(&keys);
        c.one_contact = seed % 2;
        c.cover = seed < 9;
        open_as(&n, &c, &keys, seed);
        n.faults = (net_faults){.lose = 40, .lose_answer = 40, .twice = 60, .crash = 12};
        run(&n, 30);
        assert_true(assert_exact(&n) >= 6);
        net_close(&n);
    }
}

/* Every machine comes from its saved state before each call, and after each message. */
static void test_restart_at_every_message(void **state)
{
    sample keys;
    fre_collection c;
    net n;

    (void)state;
    for (unsigned shot = 0; shot < 2; shot++) {
        c = small_collection(&keys);
        c.one_contact = shot;
        open_as(&n, &c, &keys, 20 + shot);
        n.faults = (net_faults){.crash = 256, .in_time = true};
        run(&n, 0);
        assert_true(assert_exact(&n) >= 8);
        net_close(&n);
    }
}

/* ---- ends that are no release ------------------------------------------------------------------ */

static void test_too_few_clients(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    net_open(&n, &keys, &c, 10, 11, 12);
    populate(&n);
    run(&n, 0);
    assert_int_equal(fre_relay_stage(n.relay), FRE_STAGE_VOID);
    assert_int_equal(fre_tagging_stage(n.tag), FRE_STAGE_VOID);
    assert_int_equal(fre_synthesis_stage(n.syn), FRE_STAGE_VOID);
    assert_int_equal(fre_synthesis_release_parts(n.syn), 0);
    for (uint32_t i = 0; i < n.users; i++) {
        assert_int_equal(fre_client_stage(n.user[i].client), FRE_STAGE_VOID);
        assert_int_equal(n.user[i].spends, 1);
    }
    net_close(&n);
}

/* Enough reports, but no cell of tau: an empty release, and nobody sends a share. */
static void test_nothing_reaches_tau(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n;

    (void)state;
    net_open(&n, &keys, &c, 8, 5, 13);
    for (uint32_t i = 0; i < n.users; i++) {
        float x[SMALL_DIM];

        net_text(&n, x, i, 0);
        net_join(&n, i, x, 1);
    }
    run(&n, 0);
    assert_int_equal(assert_exact(&n), 0);
    assert_int_equal(fre_relay_release_parts(n.relay), 1);
    for (uint32_t i = 0; i < n.users; i++) {
        assert_int_equal(fre_client_stage(n.user[i].client), FRE_STAGE_DONE);
        assert_false(n.user[i].shared[0]);
    }
    net_close(&n);
}

/* ---- what each saw ----------------------------------------------------------------------------- */

#define VIEW_MAX (32u << 20)
#define OPENED_MAX 4096u /* reports with padding */

/* All that came in at one role, one after the other. */
typedef struct views {
    fre_buf of[4]; /* by role */
} views;

static void remember(net *n, fre_role who, fre_bytes what)
{
    views *v = n->seen;

    must(fre_buf_append(&v->of[who], what.p, what.n) == FRE_OK);
}

static bool holds(const fre_buf *view, const void *p, size_t n)
{
    return view->n >= n && memmem(view->p, view->n, p, n) != NULL;
}

/* How far bytes are from uniform; 255 degrees of freedom. */
static double misfit(const uint64_t bin[256])
{
    double mean = 0, chi2 = 0;

    for (unsigned j = 0; j < 256; j++)
        mean += (double)bin[j] / 256;
    for (unsigned j = 0; j < 256; j++)
        chi2 += ((double)bin[j] - mean) * ((double)bin[j] - mean) / mean;
    return chi2;
}

/* Two populations as different as can be: all in one cell, and nobody with a text.  What the relay
 * sees of each user is the same in number and size, and bytes of its sealed messages are uniform:
 * chi-square with 255 degrees of freedom, above 420 with probability 1e-10. */
static void test_view_of_the_relay(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    net n[2];
    views v[2];

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t bin[256] = {0};
        float x[SMALL_DIM];

        for (unsigned i = 0; i < 4; i++)
            fre_buf_init(&v[k].of[i], VIEW_MAX);
        net_open(&n[k], &keys, &c, USERS, 20, 14 + k);
        n[k].saw = remember;
        n[k].seen = &v[k];
        for (uint32_t i = 0; i < USERS; i++) {
            net_text(&n[k], x, 0, 0);
            net_join(&n[k], i, x, k == 0);
        }
        for (n[k].now = c.open; n[k].now < c.open + 3; n[k].now++)
            net_step_all(&n[k]);
        for (size_t i = 0; i < v[k].of[FRE_ROLE_RELAY].n; i++)
            bin[v[k].of[FRE_ROLE_RELAY].p[i]]++;
        /* Heads repeat: 34 bytes of each report, 7 of each exchange. */
        for (uint32_t i = 0; i < USERS; i++) {
            const uint8_t ohttp[7] = {FRE_COLLECTION_OHTTP_KEY_ID, 0, 0x20, 0, 1, 0, 1};

            for (unsigned j = 0; j < sizeof ohttp; j++)
                bin[ohttp[j]]--;
            bin[FRE_WIRE_VERSION]--;
            bin[FRE_WIRE_REPORT]--;
            for (unsigned j = 0; j < FRE_HASH_BYTES; j++)
                bin[n[k].s.w.id.b[j]]--;
        }
        /* A public key of X25519 is below 2^255: its last byte is not. */
        assert_true(misfit(bin) < 420);
        run(&n[k], 0);
    }
    for (uint32_t i = 0; i < USERS; i++) {
        assert_int_equal(n[0].user[i].asked, n[1].user[i].asked);
        assert_int_equal(n[0].user[i].report_bytes, n[1].user[i].report_bytes);
        assert_int_equal(n[0].user[i].asked, n[0].user[0].asked);
        assert_int_equal(n[0].user[i].report_bytes, n[0].user[0].report_bytes);
        assert_int_equal(n[0].user[i].share_bytes, n[0].user[0].share_bytes);
    }
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < 4; i++)
            fre_buf_wipe(&v[k].of[i]);
        net_close(&n[k]);
    }
}

/* Shares that say something and shares that don't: digests and all, of one size, and uniform but for
 * the head, which is everybody's. */
static void test_shares_look_alike(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    uint64_t bin[2][256] = {{0}};
    uint32_t users[2] = {0};
    fre_list list;
    net n;

    (void)state;
    open_as(&n, &c, &keys, 18);
    run(&n, 0);
    (void)assert_exact(&n);
    assert_int_equal(fre_list_decode(&list, &n.s.w, fre_synthesis_list_view(n.syn), NULL), FRE_OK);
    for (uint32_t i = 0; i < USERS; i++) {
        const net_user *u = &n.user[i];
        const bool says = u->texts > 0 && u->real[0] && fre_list_scan(&list, &u->tag[0]) > 0;
        const fre_buf *m = &u->first[2][0];

        assert_int_equal(m->n, n.user[0].first[2][0].n);
        assert_memory_equal(m->p, n.user[0].first[2][0].p, FRE_WIRE_HEAD_BYTES);
        for (size_t j = FRE_WIRE_HEAD_BYTES; j < m->n; j++)
            bin[says][m->p[j]]++;
        users[says]++;
    }
    assert_true(users[0] > 50 && users[1] > 50);
    assert_true(misfit(bin[0]) < 420 && misfit(bin[1]) < 420);
    net_close(&n);
}

/* What S_syn opened of the reports that it was handed: their tags. */
static uint32_t opened_tags(const net *n, fre_tag *tag, uint32_t max)
{
    must(n->syn->waiting.n <= max);
    for (size_t i = 0; i < n->syn->waiting.n; i++)
        tag[i] = n->syn->waiting.entry[i].tag;
    return (uint32_t)n->syn->waiting.n;
}

static int by_tag(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fre_tag));
}

/* How often each tag is there, in ascending order; the tags come back sorted. */
static uint32_t multiplicities(uint32_t *out, fre_tag *tag, uint32_t n)
{
    uint32_t groups = 0;

    qsort(tag, n, sizeof *tag, by_tag);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || by_tag(&tag[i - 1], &tag[i]) != 0)
            out[groups++] = 0;
        out[groups - 1]++;
    }
    for (uint32_t i = 1; i < groups; i++) /* few */
        for (uint32_t k = i; k > 0 && out[k - 1] > out[k]; k--) {
            const uint32_t t = out[k];

            out[k] = out[k - 1];
            out[k - 1] = t;
        }
    return groups;
}

/* S_syn's view, opened, tells which reports are of one cell and nothing of which: under another VOPRF
 * key the same people have other tags, no two alike, in groups of the same sizes.  Before that key is
 * destroyed it has no view at all. */
static void test_view_of_s_syn_without_the_key(void **state)
{
    static fre_tag tag[2][OPENED_MAX], own[2][USERS];
    static uint32_t size[2][OPENED_MAX];
    uint32_t seen[2], groups[2], people[2] = {0};

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        sample keys;
        fre_collection c = small_collection(&keys);
        uint8_t seed[32];
        net n;

        memset(seed, (int)(0x51 + k), sizeof seed);
        must(fre_oprf_key_derive(&keys.oprf, seed, (fre_bytes){NULL, 0}) == FRE_OK);
        c.oprf_pk = keys.oprf.pub;
        open_as(&n, &c, &keys, 19); /* the same people and coins */
        for (n.now = c.open; n.now < c.open + 3; n.now++)
            net_step_all(&n);
        assert_int_equal(n.syn->waiting.n, 0);
        n.now = c.tags_close;
        while (fre_relay_stage(n.relay) < FRE_STAGE_COUNTING)
            (void)(net_pump(&n, FRE_ROLE_TAG) + net_pump(&n, FRE_ROLE_RELAY));
        assert_int_equal(n.syn_before_closed, 0);
        while (n.syn->waiting.n < n.relay->reports)
            assert_true(net_pump(&n, FRE_ROLE_RELAY) > 0);
        seen[k] = opened_tags(&n, tag[k], OPENED_MAX);
        assert_true(seen[k] > USERS);
        for (uint32_t i = 0; i < USERS; i++)
            if (n.user[i].real[0] && n.user[i].texts > 0)
                own[k][people[k]++] = n.user[i].tag[0];
        groups[k] = multiplicities(size[k], tag[k], seen[k]);
        net_close(&n);
    }
    assert_int_equal(seen[0], seen[1]);
    assert_int_equal(groups[0], groups[1]);
    assert_memory_equal(size[0], size[1], groups[0] * sizeof size[0][0]);
    assert_int_equal(people[0], people[1]);
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < people[k]; i++) {
            assert_non_null(bsearch(&own[k][i], tag[k], seen[k], sizeof(fre_tag), by_tag));
            assert_null(bsearch(&own[k][i], tag[!k], seen[!k], sizeof(fre_tag), by_tag));
        }
}

/* Tags and ids of reports, tags of texts that nobody else shares, cells: who gets to see which. */
static void test_views_of_the_servers(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    views v;
    net n;
    uint32_t listed = 0, unlisted = 0;
    fre_cell cell;
    fre_list list;

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        fre_buf_init(&v.of[i], VIEW_MAX);
    open_as(&n, &c, &keys, 16);
    n.saw = remember;
    n.seen = &v;
    run(&n, 0);
    (void)assert_exact(&n);
    assert_int_equal(fre_list_decode(&list, &n.s.w, fre_synthesis_list_view(n.syn), NULL), FRE_OK);
    for (uint32_t i = 0; i < USERS; i++) {
        const net_user *u = &n.user[i];
        const bool is_listed = u->texts > 0 && fre_list_scan(&list, &u->tag[0]) > 0;

        if (u->texts == 0)
            continue;
        /* S_tag learns the tags of listed cells, S_syn's list; of the others nothing. */
        assert_int_equal(holds(&v.of[FRE_ROLE_TAG], u->tag[0].b, sizeof u->tag[0].b), is_listed);
        /* Seals hide the rest from S_syn's relay and from whoever listens. */
        assert_int_equal(holds(&v.of[FRE_ROLE_RELAY], u->tag[0].b, sizeof u->tag[0].b), is_listed);
        assert_false(holds(&v.of[FRE_ROLE_SYN], u->tag[0].b, sizeof u->tag[0].b));
        /* Cells and embeddings nobody gets. */
        assert_int_equal(fre_sketch_cell(n.terms->grid, &cell, u->x, SMALL_DIM), FRE_OK);
        for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_RELAY; role++) {
            assert_false(holds(&v.of[role], cell.bytes, sizeof cell.bytes));
            assert_false(holds(&v.of[role], u->x, sizeof u->x[0] * SMALL_DIM));
        }
        listed += is_listed;
        unlisted += !is_listed;
    }
    assert_true(listed > 0 && unlisted > 0);
    for (unsigned i = 0; i < 4; i++)
        fre_buf_wipe(&v.of[i]);
    net_close(&n);
}

/* S_tag sees one blinded element for each place, all different, whether cells are equal or not;
 * and when S_syn first hears of tags, nobody can evaluate any more. */
static void test_key_is_gone_before_tags_are_seen(void **state)
{
    sample keys;
    fre_collection c = small_collection(&keys);
    fre_oprf_element *seen;
    fre_rejection why;
    fre_buf reply, request, saved;
    fre_ohttp_exchange x;
    uint32_t elements = 0;
    net n;

    (void)state;
    fre_buf_init(&reply, SAMPLE_MAX);
    fre_buf_init(&request, SAMPLE_MAX);
    fre_buf_init(&saved, 64u * SAMPLE_MAX);
    net_open(&n, &keys, &c, USERS, 20, 17);
    seen = calloc(USERS, sizeof *seen);
    assert_non_null(seen);
    for (uint32_t i = 0; i < USERS; i++) {
        float text[SMALL_DIM];

        net_text(&n, text, 0, 0);
        net_join(&n, i, text, 1);
        seen[elements++] = n.user[i].client->slot[0].blinded;
        for (uint32_t j = 0; j + 1 < elements; j++)
            assert_memory_not_equal(seen[j].b, seen[i].b, sizeof seen[i].b);
    }
    for (n.now = c.open; n.now < c.open + 3; n.now++)
        net_step_all(&n);
    (void)net_pump_all(&n, 3);
    assert_true(fre_tagging_has_key(n.tag));
    assert_int_equal(n.syn_before_closed, 0);
    n.now = c.tags_close;
    (void)net_pump_all(&n, 5);
    assert_false(fre_tagging_has_key(n.tag));
    assert_true(fre_synthesis_list_view(n.syn).n > 0);
    assert_int_equal(n.syn_before_closed, 0);
    /* Whoever holds the list and asks for a guessed cell gets no answer, now or after a restart. */
    assert_int_equal(fre_tag_request_encode(&saved, &n.s.w, seen), FRE_OK);
    assert_int_equal(
        fre_exchange_ask(&x, &request, &n.s.w, FRE_WIRE_TAG_REQUEST, sample_view(&saved), &n.rng),
        FRE_OK);
    for (unsigned again = 0; again < 2; again++) {
        fre_buf_wipe(&reply);
        assert_int_equal(
            fre_tagging_exchange(n.tag, &reply, &why, sample_view(&request), c.open + 1), FRE_OK);
        assert_int_equal(why, FRE_REJECTED_EXPIRED);
        net_crash(&n, FRE_ROLE_TAG, true);
        assert_false(fre_tagging_has_key(n.tag));
    }
    fre_buf_wipe(&saved);
    assert_int_equal(fre_tagging_save(n.tag, &saved), FRE_OK);
    assert_false(holds(&saved, n.s.oprf.b, sizeof n.s.oprf.b));
    fre_ohttp_exchange_wipe(&x);
    fre_buf_wipe(&reply);
    fre_buf_wipe(&request);
    fre_buf_wipe(&saved);
    free(seen);
    net_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_phase),
        cmocka_unit_test(test_one_shot),
        cmocka_unit_test(test_without_cover),
        cmocka_unit_test(test_several_cells_a_user),
        cmocka_unit_test(test_dropouts),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_restart_at_every_message),
        cmocka_unit_test(test_too_few_clients),
        cmocka_unit_test(test_nothing_reaches_tau),
        cmocka_unit_test(test_view_of_the_relay),
        cmocka_unit_test(test_shares_look_alike),
        cmocka_unit_test(test_view_of_s_syn_without_the_key),
        cmocka_unit_test(test_views_of_the_servers),
        cmocka_unit_test(test_key_is_gone_before_tags_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
