/* Memory that runs out while a simulation's servers are prepared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/rehearsal.h>

#include "alloc_fail.h"

static const char *const command[] = {"nobody", "serve", "file"};
ALLOC_CASE(fre_rehearsal_transport_new, fre_rehearsal_transport, fre_rehearsal_transport_free,
           fre_rehearsal_transport_new(&x, command, NULL, err));

static void has_calls(void *made)
{
    const fre_simulate_transport *t = fre_rehearsal_transport_calls(made);

    assert_true(t->open && t->credentials && t->carry && t->fetch && t->close);
}

static void the_transport(void **state)
{
    (void)state;
    assert_true(alloc_torture(&fre_rehearsal_transport_new_case, has_calls) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_transport)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
