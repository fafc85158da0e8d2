/* Small collections under any schedule: losses, repetitions, delays, deaths and the length of a step are
 * drawn.  A cell has as many as say that they were taken, neither fewer nor more.  Built twice: as it is,
 * and as schedules-numbers over numbers in the place of curves (tests/numbers), for very many of them.
 * FRE_SCHEDULES: how many of each kind; FRE_SCHEDULES_FIRST: the first one's number; FRE_SCHEDULES_HALF: 1 or 2,
 * of these the first or second half alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "long_tests.h"
#include "server_net.h"

#include <cmocka.h>

#define USERS 5u
#define TAU 3u /* of net_terms */
#define MAX 64

#if defined(FRE_NUMBERS)
#define SHORT 2000u
#define LONG 20000u
#elif defined(__SANITIZE_ADDRESS__)
#define SHORT 100u
#define LONG 1000u
#else
#define SHORT 3640u /* ten thousand of all kinds */
#define LONG 20000u
#endif

static uint64_t number_of(const char *name, uint64_t other)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : other;
}

/* Schedules of a kind, one of so many of all numbers. */
typedef struct numbers {
    uint64_t first, end;
} numbers;

static numbers numbers_of(uint64_t part)
{
    const uint64_t n = number_of("FRE_SCHEDULES", long_tests() ? LONG : SHORT) / part;
    const uint64_t half = number_of("FRE_SCHEDULES_HALF", 0);
    numbers k = {.first = number_of("FRE_SCHEDULES_FIRST", 1000)};

    k.end = k.first + (half == 1 ? n / 2 : n);
    k.first += half == 2 ? n / 2 : 0;
    return k;
}

/* All have a text of one cell. */
static void run(net *n, const fre_collection *c, uint32_t users, uint64_t seed)
{
    net_begin(n, c, users, seed);
    n->a->exact = true;
    for (uint32_t i = 0; i < users; i++)
        net_text(n, i, 0);
    net_clients(n);
    n->lose = (unsigned)fre_rng_below(&n->rng, 120);
    n->lose_answer = (unsigned)fre_rng_below(&n->rng, 120);
    n->twice = (unsigned)fre_rng_below(&n->rng, 120);
    n->late = (unsigned)fre_rng_below(&n->rng, c->one_contact ? 120 : 80);
    n->kill_every = fre_rng_below(&n->rng, 3) == 0 ? 0 : 2 + fre_rng_below(&n->rng, 20);
    n->stride = 4 + (int64_t)fre_rng_below(&n->rng, 80);
    net_run(n);
}

/* Users who know that they were taken; one who is not at its end knows nothing. */
static uint32_t taken_of(const net *n)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < n->users; i++)
        taken += fre_server_phase(n->user[i].client) > FRE_PHASE_TAKING &&
                 fre_server_client_verdict(n->user[i].client) == FRE_OK;
    return taken;
}

/* No release: not one entry arrived, fewer than a batch may have.  One whose last answer was lost may have
 * been taken without knowing it. */
static void one_contact(void **state)
{
    const numbers all = numbers_of(1);

    (void)state;
    for (uint64_t seed = all.first; seed < all.end; seed++) {
        static float centroid[MAX * NET_DIM];
        uint32_t count[MAX], taken;
        net n = {.users = 0};
        fre_collection c = net_terms(&n.s);
        int cells;

        c.gamma = 1;
        run(&n, &c, USERS, seed);
        cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
        taken = taken_of(&n);
        if (cells > 1 || (cells < 0 && taken > 0) || (cells == 0 && taken >= TAU) ||
            (cells == 1 && (count[0] < taken || count[0] < TAU || count[0] > USERS)))
            fail_msg("schedule %llu: %d cells, %u taken", (unsigned long long)seed, cells, taken);
        net_end(&n);
    }
}

/* A cell has as many as were listed, and the mean of those who answered, or, where too few did, is not
 * there. */
static void two_contacts(void **state)
{
    const numbers all = numbers_of(1);

    (void)state;
    for (uint64_t seed = all.first; seed < all.end; seed++) {
        static float centroid[MAX * NET_DIM];
        uint32_t count[MAX], taken;
        net n = {.users = 0};
        fre_collection c = net_terms_two(&n.s);
        bool near = true;
        int cells;

        c.gamma = 1;
        c.dropout = 0.4;
        run(&n, &c, USERS, seed);
        cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
        taken = taken_of(&n);
        for (uint32_t j = 0; cells == 1 && j < NET_DIM; j++)
            near = near && fabs((double)centroid[j] - (j == 0 ? 0.9 : 0)) < 0.1;
        if (cells > 1 || (cells <= 0 && taken > TAU) || !near ||
            (cells == 1 && (count[0] < TAU || count[0] > USERS)))
            fail_msg("schedule %llu: %d cells, %u taken", (unsigned long long)seed, cells, taken);
        net_end(&n);
    }
}

#define SPLIT_USERS 7u /* six are cut, at a tau of two */

/* Either number of contacts: whether there is one sum or three, it is that of who was counted. */
static void splits(void **state)
{
    const numbers all = numbers_of(4);

    (void)state;
    for (uint64_t seed = all.first; seed < all.end; seed++) {
        static float centroid[MAX * NET_DIM];
        uint32_t count[MAX], taken;
        net n = {.users = 0};
        fre_collection c = seed % 2 ? net_terms(&n.s) : net_terms_two(&n.s);
        bool near = true;
        int cells;

        c.gamma = 1;
        c.splits = true;
        c.threshold = c.tau = 2;
        run(&n, &c, SPLIT_USERS, seed);
        cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
        taken = taken_of(&n);
        for (uint32_t j = 0; cells == 1 && j < NET_DIM; j++)
            near = near && fabs((double)centroid[j] - (j == 0 ? 0.9 : 0)) < 0.1;
        if (cells > 1 || (cells <= 0 && c.one_contact && taken >= c.tau) ||
            (cells <= 0 && taken == SPLIT_USERS) || !near ||
            (cells == 1 && (count[0] < c.tau || count[0] > SPLIT_USERS ||
                            (c.one_contact && count[0] < taken))))
            fail_msg("schedule %llu: %d cells, %u taken", (unsigned long long)seed, cells, taken);
        net_end(&n);
    }
}

/* Who dies comes back with its keys from under their masks alone: where two do at once the collection may be
 * over, and otherwise it is as ever. */
static void masked(void **state)
{
    const numbers all = numbers_of(2);

    (void)state;
    for (uint64_t seed = all.first; seed < all.end; seed++) {
        static float centroid[MAX * NET_DIM];
        uint32_t count[MAX], taken;
        net n = {.users = 0};
        fre_collection c = seed % 2 ? net_terms(&n.s) : net_terms_two(&n.s);
        int cells;

        c.gamma = 1;
        n.masked = true;
        run(&n, &c, USERS, seed);
        cells = net_release(&n, FRE_ROLE_RELAY, count, centroid, MAX);
        taken = taken_of(&n);
        if (cells > 1 || (cells == 1 && (count[0] < TAU || count[0] > USERS)) ||
            (cells < 0 && taken == USERS && n.kills == 0))
            fail_msg("schedule %llu: %d cells, %u taken", (unsigned long long)seed, cells, taken);
        net_end(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_contact),
        cmocka_unit_test(two_contacts),
        cmocka_unit_test(splits),
        cmocka_unit_test(masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
