/* Memory that runs out while a store is opened, used and closed: nothing leaks, and what was committed is
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/store.h>

#include <stdio.h>

#include "alloc_fail.h"
#include "must.h"
#include "temp_dir.h"

static const uint8_t key[FRE_STORE_KEY_BYTES] = "the key of a machine, for tests";
static const fre_collection_id collection = {.b = {1, 2, 3}};
static char where[300];
static fre_store_opts options = {
    .where = where, .collection = &collection, .role = FRE_ROLE_RELAY, .key = key};

ALLOC_CASE(fre_store_open, fre_store, fre_store_close, fre_store_open(&x, &options, err));

static fre_status count(void *ctx, const fre_row *row)
{
    (void)row;
    ++*(unsigned *)ctx;
    return FRE_OK;
}

static unsigned rows(void)
{
    unsigned n = 0;
    fre_store *s = NULL;

    must(fre_store_open(&s, &options, NULL) == FRE_OK);
    must(fre_store_load(s, count, &n, NULL) == FRE_OK);
    fre_store_close(s);
    return n;
}

static void opening(void **state)
{
    (void)state;
    assert_true(alloc_torture(&fre_store_open_case, NULL) > 1);
}

/* Each allocation of a commit and of a reading in turn. */
static void commits(void **state)
{
    const uint64_t number = 7, value = 5;
    uint64_t fails = 0;
    bool stored = false;

    (void)state;
    for (uint64_t n = 0;; n++) {
        const fre_row row = {
            .table = 1, .key = {(const uint8_t *)&number, 8}, .value = {(const uint8_t *)&value, 8}};
        const fre_delta *one;
        unsigned seen = 0;
        fre_store *s = NULL;
        fre_status st;
        fre_delta d;

        fre_delta_init(&d);
        must(fre_delta_add(&d, &row) == FRE_OK);
        one = &d;
        must(fre_store_open(&s, &options, NULL) == FRE_OK);
        alloc_fail_after(n);
        st = fre_store_commit(s, &one, 1, NULL);
        stored |= st == FRE_OK;
        if (st == FRE_OK)
            st = fre_store_load(s, count, &seen, NULL);
        (void)alloc_heal();
        fre_store_close(s);
        fre_delta_wipe(&d);
        assert_true(st == FRE_OK || st == FRE_E_NOMEM);
        assert_int_equal(rows(), stored);
        if (st == FRE_OK)
            break;
        fails++;
    }
    assert_true(fails > 2);
}

static int make(void **state)
{
    (void)test_dir_make(state);
    (void)snprintf(where, sizeof where, "sqlite:%s", test_dir.path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(opening), cmocka_unit_test(commits)};

    return cmocka_run_group_tests(tests, make, test_dir_remove);
}
