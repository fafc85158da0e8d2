/* Whole collections: exactly the sums that are expected, whoever is killed and
 * whatever is lost on the way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server_net.h"

#include <cmocka.h>

#define CELLS_MAX 64

/* 5 users in cluster 0, 4 in 1, 3 in 2, 2 in 3 (one below tau), 3 without a text. */
static const uint32_t sizes[] = {5, 4, 3, 2};
#define USERS 17u

static void begin(net *n, uint64_t seed, bool exact)
{
    fre_collection c;
    uint32_t user = 0;

    *n = (net){.users = 0};
    c = net_terms(&n->s);
    net_begin(n, &c, USERS, seed);
    n->a->exact = exact;
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < sizes[k]; i++)
            net_text(n, user++, k);
    net_clients(n);
}

/* The cell of a cluster, by where its centroid points; CELLS_MAX: none. */
static uint32_t cell_of(const float *centroid, int cells, uint32_t cluster)
{
    for (int i = 0; i < cells; i++)
        if (centroid[(size_t)i * NET_DIM + cluster] > 0.5f)
            return (uint32_t)i;
    return CELLS_MAX;
}

/* Means of what the users hold, within the lattice's rounding. */
static void check(const net *n, double slack)
{
    static float centroid[CELLS_MAX * NET_DIM];
    uint32_t count[CELLS_MAX], first = 0;
    const int cells = net_release(n, FRE_ROLE_RELAY, count, centroid, CELLS_MAX);

    assert_int_equal(cells, 3);
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t at = cell_of(centroid, cells, k);

        assert_true(at < CELLS_MAX);
        assert_int_equal(count[at], sizes[k]);
        for (uint32_t j = 0; j < NET_DIM; j++) {
            double mean = 0;

            for (uint32_t i = 0; i < sizes[k]; i++)
                mean += (double)n->user[first + i].x[j] / sizes[k];
            assert_true(fabs((double)centroid[at * NET_DIM + j] - mean) <= slack);
        }
        first += sizes[k];
    }
}

static void all_is_counted(void **state)
{
    net n;

    (void)state;
    begin(&n, 1, true);
    net_run(&n);
    for (uint32_t i = 0; i < n.users; i++)
        assert_int_equal(fre_server_client_verdict(n.user[i].client), FRE_OK);
    for (unsigned role = 1; role < NET_ROLES; role++)
        assert_int_equal(fre_server_phase(n.links.server[role]), FRE_PHASE_DONE);
    check(&n, 4 * n.a->cell.beta);
    net_end(&n);
}

/* Six deviations of two servers' draws over the least count. */
static void noise_is_there(void **state)
{
    net n;

    (void)state;
    begin(&n, 2, false);
    net_run(&n);
    check(&n, 6 * sqrt(2) * n.s.w.c.sigma / 3 + 4 * n.a->cell.beta);
    net_end(&n);
}

static void clients_noise(void **state)
{
    fre_collection c;
    uint32_t count[CELLS_MAX];
    static float centroid[CELLS_MAX * NET_DIM];
    net n = {.users = 0};

    (void)state;
    c = net_terms(&n.s);
    c.server_noise = false;
    net_begin(&n, &c, 4, 3);
    for (uint32_t i = 0; i < 4; i++)
        net_text(&n, i, 0);
    net_clients(&n);
    net_run(&n);
    assert_int_equal(net_release(&n, FRE_ROLE_SYN, count, centroid, CELLS_MAX), 1);
    assert_int_equal(count[0], 4);
    assert_true(fabs((double)centroid[0] - 0.9) < 6 * n.s.w.c.sigma);
    net_end(&n);
}

/* Several places a user: one text a cell, later texts of a cell are empty places. */
static void several_places(void **state)
{
    fre_collection c;
    uint32_t count[CELLS_MAX], at;
    static float centroid[CELLS_MAX * NET_DIM];
    net n = {.users = 0};
    int cells;

    (void)state;
    c = net_terms(&n.s);
    c.cells_per_user = 3;
    net_begin(&n, &c, 5, 4);
    n.a->exact = true;
    for (uint32_t i = 0; i < 5; i++) {
        net_text(&n, i, 0);
        net_text(&n, i, 0); /* the same cell again */
        net_text(&n, i, i < 4 ? 1 : 2);
    }
    net_clients(&n);
    net_run(&n);
    cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, CELLS_MAX);
    assert_int_equal(cells, 2);
    at = cell_of(centroid, cells, 0);
    assert_true(at < CELLS_MAX);
    assert_int_equal(count[at], 5);
    assert_int_equal(count[1 - at], 4);
    net_end(&n);
}

/* ---- loss and death ----------------------------------------------------------------------------- */

static void rough_links(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed < 20; seed++) {
        net n;

        begin(&n, seed, true);
        n.lose = n.lose_answer = 60;
        n.twice = 80;
        n.late = seed % 2 ? 60 : 0;
        n.stride = 4;
        net_run(&n);
        check(&n, 4 * n.a->cell.beta);
        net_end(&n);
    }
}

/* How many rows a run without deaths writes. */
static uint64_t rows_of_a_run(void)
{
    uint64_t rows;
    net n;

    begin(&n, 30, true);
    net_run(&n);
    check(&n, 4 * n.a->cell.beta);
    rows = n.rows;
    net_end(&n);
    return rows;
}

/* The writer of each row dies once before the rows of its call are committed. */
static void killed_at_every_row(void **state)
{
    const uint64_t rows = rows_of_a_run();

    (void)state;
    assert_true(rows > 100);
    for (uint64_t at = 1; at <= rows; at++) {
        net n;

        begin(&n, 30, true);
        n.kill_at = at;
        net_run(&n);
        assert_int_equal(n.kills, 1);
        check(&n, 4 * n.a->cell.beta);
        net_end(&n);
    }
}

/* Somebody dies all the time, and the links are bad. */
static void killed_again_and_again(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 60; seed++) {
        net n;

        begin(&n, seed, true);
        n.kill_every = 3 + seed % 11;
        n.lose = n.lose_answer = 30;
        n.twice = 60;
        n.stride = 4;
        net_run(&n);
        assert_true(n.kills > 5);
        check(&n, 4 * n.a->cell.beta);
        net_end(&n);
    }
}

/* Everything that was ever said is said again, to whom it was said, in every phase: nothing is counted
 * twice, and what was answered is not answered otherwise. */
typedef struct said {
    fre_role to[4096];
    fre_buf message[4096];
    size_t n;
} said;

static void listen(net *n, fre_role from, fre_role to, fre_bytes message)
{
    said *s = n->ctx;

    (void)from;
    if (s->n == sizeof s->message / sizeof *s->message)
        return;
    s->to[s->n] = to;
    fre_buf_init(&s->message[s->n], FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_buf_append(&s->message[s->n++], message.p, message.n), FRE_OK);
}

static void old_messages_again(void **state)
{
    static said s;
    fre_buf answer;
    uint32_t steps = 0;
    net n;

    (void)state;
    begin(&n, 70, true);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    n.ctx = &s;
    for (; fre_server_phase(n.links.server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE;
         n.now += n.now < n.s.w.c.tags_close ? n.stride : 1) {
        n.saw = listen;
        net_step(&n);
        n.saw = NULL;
        for (size_t i = 0; i < s.n; i++)
            (void)net_send(&n, (fre_role)0, s.to[i], sample_view(&s.message[i]), &answer);
        if (++steps % 3 == 0) /* and after a restart */
            for (unsigned role = 1; role < NET_ROLES; role++)
                net_restart(&n, (fre_role)role);
    }
    assert_true(s.n > 5 * USERS);
    check(&n, 4 * n.a->cell.beta);
    for (size_t i = 0; i < s.n; i++)
        fre_buf_wipe(&s.message[i]);
    fre_buf_wipe(&answer);
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_counted),
        cmocka_unit_test(noise_is_there),
        cmocka_unit_test(clients_noise),
        cmocka_unit_test(several_places),
        cmocka_unit_test(rough_links),
        cmocka_unit_test(killed_at_every_row),
        cmocka_unit_test(killed_again_and_again),
        cmocka_unit_test(old_messages_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
