/* Memory that runs out while a keeper starts, on either side of the fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/serve.h>

#include "alloc_fail.h"

ALLOC_CASE(fre_serve_keeper_start, fre_serve_keeper, fre_serve_keeper_stop,
           fre_serve_keeper_start(&x, err));

static void a_keeper(void **state)
{
    (void)state;
    assert_true(alloc_torture(&fre_serve_keeper_start_case, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_keeper)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
