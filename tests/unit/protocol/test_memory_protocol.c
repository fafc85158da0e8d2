/* Memory that runs out: constructors of the floor protocol other than the machines'
 * (test_server_memory.c), each of their allocations in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/sharing.h>

#include "alloc_fail.h"

static const uint8_t signs[FRE_SIGN_SEED_BYTES] = {3};

static void turns(void *r)
{
    const float x[5] = {1};
    double y[8];

    assert_int_equal(fre_rotation_padded(r), 8);
    fre_rotation_apply(r, y, x);
    fre_rotation_undo(r, y);
    assert_true(y[0] > 0.999 && y[0] < 1.001);
}

static void expands(void *e)
{
    const fre_share_seed seed = {{7}};
    uint32_t sum[40] = {0};

    assert_int_equal(fre_share_expander_add(e, sum, &seed), FRE_OK);
    assert_true(sum[0] || sum[1]);
}

ALLOC_CASE(fre_rotation_new, fre_rotation, fre_rotation_free, fre_rotation_new(&x, 5, signs));
ALLOC_CASE(fre_share_expander_new, fre_share_expander, fre_share_expander_free,
           fre_share_expander_new(&x, 40, 20));

static void shares(void **state)
{
    (void)state;
    (void)alloc_torture(&fre_rotation_new_case, turns);
    (void)alloc_torture(&fre_share_expander_new_case, expands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
