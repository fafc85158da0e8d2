/* Clocks that are ten minutes apart, for as long as a collection lasts: whoever knows that it was taken is counted,
 * once, and whoever was not knows that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server_net.h"

#include <cmocka.h>

#define USERS 16u
#define MAX 8u
#define HOUR 3600
#define MINUTES 60

typedef struct outcome {
    uint32_t taken, refused, counted;
    int cells;
} outcome;

/* Windows of hours, in which ten minutes are not nothing. */
static outcome run(bool two, const int64_t ahead[NET_ROLES], uint64_t seed)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX] = {0};
    net n = {.users = 0};
    fre_collection c = two ? net_terms_two(&n.s) : net_terms(&n.s);
    outcome o = {.cells = 0};

    c.gamma = 1;
    c.dropout = two ? 0.4 : 0;
    c.open = 10 * HOUR;
    c.exchange_close = 11 * HOUR;
    c.tags_close = 12 * HOUR;
    c.shares_close = two ? 13 * HOUR : c.tags_close;
    c.end = 16 * HOUR;
    net_begin(&n, &c, USERS, seed);
    n.a->exact = true;
    memcpy(n.ahead, ahead, sizeof n.ahead);
    for (uint32_t i = 0; i < USERS; i++)
        net_text(&n, i, 0);
    net_clients(&n);
    n.stride = 20;
    net_run(&n);
    o.cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
    o.counted = o.cells == 1 ? count[0] : 0;
    for (uint32_t i = 0; i < USERS; i++) {
        const bool over = fre_server_phase(n.user[i].client) > FRE_PHASE_TAKING;

        o.taken += over && fre_server_client_verdict(n.user[i].client) == FRE_OK;
        o.refused += over && fre_server_client_verdict(n.user[i].client) != FRE_OK;
    }
    net_end(&n);
    return o;
}

/* Two contacts: who was listed and answered too late is in the count. */
static void must_hold(bool two, const int64_t ahead[NET_ROLES], uint64_t seed)
{
    const outcome o = run(two, ahead, seed);

    if (o.taken + o.refused != USERS || o.cells > 1 || o.counted < o.taken || o.counted > USERS ||
        (!two && o.cells == 1 && o.counted != o.taken) || (o.cells < 1 && o.taken >= 3))
        fail_msg("%d contacts, clocks %lld %lld %lld %lld %lld: %u taken, %u refused, %d cells, %u "
                 "counted",
                 two ? 2 : 1, (long long)ahead[0], (long long)ahead[1], (long long)ahead[2],
                 (long long)ahead[3], (long long)ahead[4], o.taken, o.refused, o.cells, o.counted);
}

/* Each alone, clients (0) too, ahead of all others and behind them. */
static void one_clock_is_wrong(void **state)
{
    (void)state;
    for (unsigned role = 0; role < NET_ROLES; role++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t ahead[NET_ROLES] = {0};

            ahead[role] = sign * 10 * MINUTES;
            must_hold(false, ahead, 1 + role);
            must_hold(true, ahead, 1 + role);
        }
    }
}

/* Clients' are right. */
static void two_clocks_are_ten_minutes_apart(void **state)
{
    (void)state;
    for (unsigned a = 1; a < NET_ROLES; a++) {
        for (unsigned b = 1; b < NET_ROLES; b++) {
            int64_t ahead[NET_ROLES] = {0};

            if (a == b)
                continue;
            ahead[a] = 5 * MINUTES;
            ahead[b] = -5 * MINUTES;
            must_hold(false, ahead, 100 + 5 * a + b);
            must_hold(true, ahead, 100 + 5 * a + b);
        }
    }
}

static void clocks_that_agree_lose_nobody(void **state)
{
    const int64_t ahead[NET_ROLES] = {0};

    (void)state;
    for (unsigned contacts = 1; contacts <= 2; contacts++) {
        const outcome o = run(contacts == 2, ahead, 7);

        assert_int_equal(o.taken, USERS);
        assert_int_equal(o.counted, USERS);
    }
}

/* A device that slept, or whose clock is far ahead: it never was taken, and does not say so. */
static void after_the_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const bool begun = i & 1, two = i & 2;
        net n = {.users = 0};
        fre_collection c = two ? net_terms_two(&n.s) : net_terms(&n.s);
        fre_letters letters;
        fre_delta rows;

        fre_letters_init(&letters);
        fre_delta_init(&rows);
        net_begin(&n, &c, USERS, 5);
        net_clients(&n);
        if (begun)
            assert_int_equal(
                fre_server_tick(n.user[0].client, &letters, &rows, c.exchange_close - 1), FRE_OK);
        assert_int_equal(fre_server_tick(n.user[0].client, &letters, &rows, c.end), FRE_OK);
        assert_int_equal(fre_server_phase(n.user[0].client), FRE_PHASE_VOID);
        assert_int_equal(fre_server_client_verdict(n.user[0].client), FRE_E_AGAIN);
        fre_letters_wipe(&letters);
        fre_delta_wipe(&rows);
        net_end(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_that_agree_lose_nobody),
        cmocka_unit_test(after_the_end),
        cmocka_unit_test(one_clock_is_wrong),
        cmocka_unit_test(two_clocks_are_ten_minutes_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
