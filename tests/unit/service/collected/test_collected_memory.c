/* Memory that runs out while a release is made of its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/collected.h>

#include "alloc_fail.h"
#include "must.h"
#include "wire_sample.h"

static sample s;
static fre_buf part;
static fre_bytes view;
static fre_collected_opts options;

static int make(void **state)
{
    float x[384] = {1};
    fre_release_cell cell = {.centroid = x};
    const fre_release_part m = {
        .part = {0, 1}, .time = 1, .statement = {(const uint8_t *)"says", 4}, .n = 1};

    (void)state;
    sample_init(&s);
    must(s.w.c.dim == 384);
    cell.count = (uint32_t)s.w.c.tau;
    fre_buf_init(&part, SAMPLE_MAX);
    must(fre_release_part_encode(&part, &s.w, &m, &cell, &s.syn_sk) == FRE_OK);
    view = sample_view(&part);
    options = (fre_collected_opts){
        .terms = &s.w.c, .part = &view, .n_parts = 1, .inverter = "none", .threads = 1};
    return 0;
}

static int drop(void **state)
{
    (void)state;
    fre_buf_wipe(&part);
    return 0;
}

ALLOC_CASE(fre_collected_release, fre_collected, fre_collected_free,
           fre_collected_release(&x, &options, err));

static void is_one_cell(void *x)
{
    assert_int_equal(((fre_collected *)x)->release.n, 1);
}

static void releases(void **state)
{
    (void)state;
    (void)alloc_torture_long(&fre_collected_release_case, is_one_cell, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(releases)};

    return cmocka_run_group_tests(tests, make, drop);
}
