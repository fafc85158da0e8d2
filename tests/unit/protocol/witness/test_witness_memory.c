/* Memory that runs out while a log is made, read, written and grown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/witness.h>

#include "alloc_fail.h"
#include "must.h"

static fre_sign_sk sk, witness;
static fre_sign_pk pk, witness_pk;
static fre_buf file;

ALLOC_CASE(fre_log_new, fre_log, fre_log_free, fre_log_new(&x, &pk, err));
ALLOC_CASE(fre_log_read, fre_log, fre_log_free,
           fre_log_read(&x, (fre_bytes){file.p, file.n}, &pk, err));

static fre_status grow(fre_log *l)
{
    fre_log_entry e = {.kind = FRE_LOG_COLLECTION};
    fre_status st = FRE_OK;

    for (uint8_t i = 0; st == FRE_OK && i < 40; i++) {
        e.collection.b[0] = e.hash[0] = i;
        st = fre_log_append(l, &e, NULL);
    }
    if (st == FRE_OK)
        st = fre_log_sign(l, &sk, 5, NULL);
    return st == FRE_OK ? fre_log_witness(l, &witness, NULL, NULL) : st;
}

static int make(void **state)
{
    const uint8_t seed[32] = {1}, other[32] = {2};
    fre_log *l = NULL;

    (void)state;
    must(fre_sign_keygen_with(&sk, &pk, seed) == FRE_OK);
    must(fre_sign_keygen_with(&witness, &witness_pk, other) == FRE_OK);
    must(fre_log_new(&l, &pk, NULL) == FRE_OK && grow(l) == FRE_OK);
    fre_buf_init(&file, 1 << 20);
    must(fre_log_write(&file, l, NULL) == FRE_OK);
    fre_log_free(l);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    fre_buf_wipe(&file);
    return 0;
}

static void making_and_reading(void **state)
{
    (void)state;
    assert_true(alloc_torture(&fre_log_new_case, NULL) > 0);
    assert_true(alloc_torture(&fre_log_read_case, NULL) > 2);
}

static void growing(void **state)
{
    uint64_t fails = 0;
    fre_status st = FRE_E_NOMEM;

    (void)state;
    for (uint64_t n = 0; st != FRE_OK; n++) {
        fre_log *l = NULL;

        must(fre_log_new(&l, &pk, NULL) == FRE_OK);
        alloc_fail_after(n);
        st = grow(l);
        (void)alloc_heal();
        assert_true(st == FRE_OK || st == FRE_E_NOMEM);
        fails += st != FRE_OK;
        fre_log_free(l);
    }
    assert_true(fails > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_and_reading),
                                       cmocka_unit_test(growing)};

    return cmocka_run_group_tests(tests, make, drop);
}
