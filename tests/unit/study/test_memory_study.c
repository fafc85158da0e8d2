/* Memory that runs out: a whole baseline, its allocations in turn: nothing is left of its folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/baseline.h>

#include "alloc_fail.h"
#include "must.h"
#include "npy_file.h"
#include "small_release.h"
#include "temp_dir.h"

#define ROWS 200u
#define DIM 4u

static char rows[512], folder[512];
static fre_baseline_opts options;

static int make_files(void **state)
{
    const float x[DIM] = {.5f};

    (void)test_dir_make(state);
    write_rows(temp_path(rows, &test_dir, "x.npy"), x, ROWS, DIM, true);
    fre_baseline_opts_init(&options);
    options.input = rows;
    options.output = temp_path(folder, &test_dir, "out");
    options.inverter = "none";
    options.plan.epsilon = 8;
    options.threads = 1;
    return 0;
}

static fre_status run(fre_baseline_result **to, fre_err *err)
{
    const fre_status st = fre_baseline_run(to, &options, err);

    must(st == FRE_OK || !path_exists(folder));
    return st;
}

static void drop(fre_baseline_result *r)
{
    fre_baseline_free(r);
    remove_release(folder);
}

static void is_there(void *r)
{
    (void)r;
    assert_true(path_exists(folder));
}

ALLOC_CASE(fre_baseline_run, fre_baseline_result, drop, run(&x, err));

static void baselines_are_made(void **state)
{
    (void)state;
    for (unsigned m = 0; m <= FRE_BASELINE_CENTRAL_DP; m++) {
        options.method = (fre_baseline_method)m;
        (void)alloc_torture_long(&fre_baseline_run_case, is_there, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(baselines_are_made)};

    return cmocka_run_group_tests(tests, make_files, test_dir_remove);
}
