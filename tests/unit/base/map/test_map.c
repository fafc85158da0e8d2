/* The promises of fre/map.h: indices in order of insertion whatever the keys, walks that the keys decide,
 * and nothing changed by a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fre/map.h>

#define KEY 16u

/* ---- an allocator that fails when it is told to ------------------------------------------------ */

static size_t allocations = SIZE_MAX; /* that are left */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);

static bool is_granted(void)
{
    if (allocations == 0)
        return false;
    allocations -= allocations != SIZE_MAX;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return is_granted() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t each)
{
    return is_granted() ? __real_calloc(n, each) : NULL;
}

/* ---- keys ---------------------------------------------------------------------------------------- */

/* Spread over all slots. */
static void spread(uint8_t key[KEY], uint32_t i)
{
    const uint64_t h = (i + 1) * UINT64_C(0x9e3779b97f4a7c15), tail = i;

    memcpy(key, &h, sizeof h);
    memcpy(key + sizeof h, &tail, sizeof tail);
}

/* All of them want one slot, and differ in the last byte that is compared. */
static void colliding(uint8_t key[KEY], uint32_t i)
{
    memset(key, 0xff, KEY);
    memcpy(key + KEY - sizeof i, &i, sizeof i);
}

static void put_and_find(void (*make)(uint8_t key[KEY], uint32_t i), uint32_t n)
{
    fre_map m;
    uint8_t key[KEY];

    fre_map_init(&m, KEY);
    make(key, 0);
    assert_int_equal(fre_map_find(&m, key), FRE_MAP_NONE);
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t index;
            bool added;

            make(key, i);
            assert_int_equal(fre_map_put(&m, &index, &added, key), FRE_OK);
            assert_int_equal(index, i);
            assert_int_equal(added, !again);
        }
    assert_int_equal(m.n, n);
    for (uint32_t i = 0; i < n; i++) {
        make(key, i);
        assert_int_equal(fre_map_find(&m, key), i);
        assert_memory_equal(fre_map_key(&m, i), key, KEY);
    }
    make(key, n);
    assert_int_equal(fre_map_find(&m, key), FRE_MAP_NONE);
    fre_map_wipe(&m);
    assert_int_equal(m.n, 0);
    assert_int_equal(fre_map_find(&m, key), FRE_MAP_NONE);
    fre_map_wipe(&m);
}

static void keys_get_indices_in_order(void **state)
{
    (void)state;
    put_and_find(spread, 20000);
}

static void keys_of_one_slot_stay_apart(void **state)
{
    (void)state;
    put_and_find(colliding, 1500);
}

static void keys_of_eight_bytes_will_do(void **state)
{
    fre_map m;

    (void)state;
    fre_map_init(&m, 8);
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t h = i << 40; /* no low bit: one slot */
        uint32_t index;
        bool added;

        assert_int_equal(fre_map_put(&m, &index, &added, (const uint8_t *)&h), FRE_OK);
        assert_int_equal(index, i);
    }
    fre_map_wipe(&m);
}

/* Distinct indices of a walk, in its order. */
static size_t walk(uint32_t *out, const fre_map *m)
{
    size_t at = 0, n = 0;

    for (uint32_t i = fre_map_next(m, &at); i != FRE_MAP_NONE; i = fre_map_next(m, &at))
        out[n++] = i;
    return n;
}

static void walks_are_in_the_order_of_the_keys(void **state)
{
    enum { N = 1000 };
    static uint32_t up[N], down[N];
    fre_map a, b;
    uint8_t key[KEY];
    uint32_t index;
    bool added;

    (void)state;
    fre_map_init(&a, KEY);
    fre_map_init(&b, KEY);
    assert_int_equal(walk(up, &a), 0);
    for (uint32_t i = 0; i < N; i++) {
        spread(key, i);
        assert_int_equal(fre_map_put(&a, &index, &added, key), FRE_OK);
        spread(key, N - 1 - i);
        assert_int_equal(fre_map_put(&b, &index, &added, key), FRE_OK);
    }
    assert_int_equal(walk(up, &a), N);
    assert_int_equal(walk(down, &b), N);
    for (uint32_t i = 0, same = 0; i < N; i++) {
        const uint32_t other = N - 1 - down[i];

        same += up[i] == other;
        if (i == N - 1) /* but for neighbours that wanted one slot */
            assert_true(same > N / 2);
    }
    fre_map_wipe(&a);
    fre_map_wipe(&b);
}

static void room_that_is_reserved_is_there(void **state)
{
    fre_map m;
    uint8_t key[KEY];
    uint32_t index;
    bool added;

    (void)state;
    fre_map_init(&m, KEY);
    assert_int_equal(fre_map_reserve(&m, UINT32_MAX), FRE_E_LIMIT);
    assert_int_equal(fre_map_reserve(&m, SIZE_MAX), FRE_E_LIMIT);
    assert_int_equal(fre_map_reserve(&m, 777), FRE_OK);
    allocations = 0;
    for (uint32_t i = 0; i < 777; i++) {
        spread(key, i);
        assert_int_equal(fre_map_put(&m, &index, &added, key), FRE_OK);
    }
    fre_map_clear(&m);
    assert_int_equal(m.n, 0);
    assert_int_equal(fre_map_find(&m, key), FRE_MAP_NONE);
    for (uint32_t i = 777; i-- > 0;) {
        spread(key, i);
        assert_int_equal(fre_map_put(&m, &index, &added, key), FRE_OK);
        assert_int_equal(index, 776 - i);
    }
    allocations = SIZE_MAX;
    fre_map_wipe(&m);
}

static void failures_change_nothing(void **state)
{
    (void)state;
    for (size_t granted = 0; granted < 12; granted++) {
        fre_map m;
        uint8_t key[KEY];
        uint32_t index = 4711, n = 0;
        bool added;

        fre_map_init(&m, KEY);
        for (allocations = granted; n < 10000; n++) {
            spread(key, n);
            index = 4711;
            if (fre_map_put(&m, &index, &added, key) != FRE_OK)
                break;
        }
        allocations = SIZE_MAX;
        assert_true(n < 10000);
        assert_int_equal(index, 4711);
        assert_int_equal(m.n, n);
        assert_int_equal(fre_map_find(&m, key), FRE_MAP_NONE);
        for (uint32_t i = 0; i <= n; i++) { /* and it goes on */
            spread(key, i);
            assert_int_equal(fre_map_put(&m, &index, &added, key), FRE_OK);
            assert_int_equal(index, i);
            assert_int_equal(added, i == n);
        }
        fre_map_wipe(&m);
    }
}

static void texts_are_told_apart(void **state)
{
    static const struct {
        const char *p;
        size_t n;
    } text[] = {{"", 0}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"ab", 2}, {"A", 1}};
    fre_text_map m;
    uint32_t index;
    bool added;

    (void)state;
    assert_int_equal(fre_text_map_init(&m), FRE_OK);
    assert_int_equal(fre_text_map_find(&m, "", 0), FRE_MAP_NONE);
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < sizeof text / sizeof *text; i++) {
            assert_int_equal(fre_text_map_put(&m, &index, &added, text[i].p, text[i].n), FRE_OK);
            assert_int_equal(index, i);
            assert_int_equal(added, !again);
            assert_int_equal(fre_text_map_find(&m, text[i].p, text[i].n), i);
        }
    assert_int_equal(fre_text_map_find(&m, "b", 1), FRE_MAP_NONE);
    fre_text_map_wipe(&m);
}

/* Keys of one text under two tables: nobody can prepare texts that collide. */
static void tables_of_texts_have_keys_of_their_own(void **state)
{
    fre_text_map a, b;
    uint32_t index;
    bool added;

    (void)state;
    assert_int_equal(fre_text_map_init(&a), FRE_OK);
    assert_int_equal(fre_text_map_init(&b), FRE_OK);
    assert_int_equal(fre_text_map_put(&a, &index, &added, "text", 4), FRE_OK);
    assert_int_equal(fre_text_map_put(&b, &index, &added, "text", 4), FRE_OK);
    assert_memory_not_equal(fre_map_key(&a.map, 0), fre_map_key(&b.map, 0), FRE_TEXT_KEY_BYTES);
    fre_text_map_wipe(&a);
    fre_text_map_wipe(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_get_indices_in_order),
        cmocka_unit_test(keys_of_one_slot_stay_apart),
        cmocka_unit_test(keys_of_eight_bytes_will_do),
        cmocka_unit_test(walks_are_in_the_order_of_the_keys),
        cmocka_unit_test(room_that_is_reserved_is_there),
        cmocka_unit_test(failures_change_nothing),
        cmocka_unit_test(texts_are_told_apart),
        cmocka_unit_test(tables_of_texts_have_keys_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
