/* Which lists of levels a forecast tries, and which it chooses. */
#include <fre/forecast.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "lists.h"
#include "temp_dir.h"

static void is_list(const fre_forecast *f, size_t i, const char *levels)
{
    assert_true(i < f->n);
    assert_string_equal(f->list[i].levels, levels);
}

static void test_lists(void **state)
{
    static const char *const name[] = {"64x8", "64", "32", "16", "8", "4"};
    fre_forecast f = {.n = 0};

    (void)state;
    forecast_lists_of(&f, name, 6);
    assert_int_equal(f.n, 5);
    is_list(&f, 0, "grid");
    is_list(&f, 1, "grid,16,8,4");
    is_list(&f, 2, "grid,64,16,4");
    is_list(&f, 3, "grid,64x8,64,32,16,8,4");
    is_list(&f, 4, "64x8,64,32,16,8,4");
    f.n = 0;
    forecast_lists_of(&f, name + 5, 1); /* one level: the same list but once */
    assert_int_equal(f.n, 3);
    is_list(&f, 1, "grid,4");
    is_list(&f, 2, "4");
}

static fre_forecast_list list_of(size_t n_levels, double covered, double member_l2)
{
    fre_forecast_list l = {.planned = true, .n_levels = n_levels};
    const fre_level_evaluation whole = {
        .records = covered > 0 ? 10 : 0, .covered = covered, .member_l2 = member_l2};

    l.level[n_levels] = whole;
    l.expected = fre_forecast_expected(&whole, 1);
    return l;
}

static void test_expected(void **state)
{
    (void)state;
    assert_close(list_of(1, 0, (double)NAN).expected, sqrt(2), 1e-12, 0);
    assert_close(list_of(1, 0.75, 0.8).expected, 0.6 + sqrt(2) / 4, 1e-12, 0);
    assert_close(fre_forecast_expected(&(fre_level_evaluation){.covered = 0.5, .records = 1}, 3),
                 1.5 * sqrt(2), 1e-12, 0);
}

static void test_choice(void **state)
{
    fre_forecast_list l[] = {
        list_of(1, 0.1, 0.1),                         /* near ones and few */
        list_of(8, 0.9, 0.8),                         /* the least expected distance ... */
        list_of(4, 0.9, 0.804),                       /* ... hardly more, fewer levels */
        list_of(4, 0.9, 0.803), list_of(3, 0.9, 0.9), /* coarser */
    };

    (void)state;
    assert_int_equal(fre_forecast_choose(l, 5), 3);
    l[3].planned = false; /* the budget cannot be met */
    assert_int_equal(fre_forecast_choose(l, 5), 2);
    l[2].planned = l[1].planned = false;
    assert_int_equal(fre_forecast_choose(l, 5), 4);
    l[4].planned = false;
    assert_int_equal(fre_forecast_choose(l, 5), 0);
    l[0].planned = false;
    assert_int_equal(fre_forecast_choose(l, 5), 5);
    assert_int_equal(fre_forecast_choose(l, 0), 0);
}

/* What can't be read is said, and nothing stays behind. */
static void test_refusals(void **state)
{
    temp_dir t;
    char path[512];
    fre_forecast_opts o;
    fre_forecast f = {.n = 77};
    fre_err err;

    (void)state;
    temp_dir_make(&t);
    fre_forecast_opts_init(&o);
    o.corpus = temp_path(path, &t, "absent.txt");
    assert_int_equal(fre_forecast_make(&f, &o, &err), FRE_E_NOINPUT);
    write_file(path, " \n\n", 3);
    assert_int_equal(fre_forecast_make(&f, &o, &err), FRE_E_NOINPUT);
    assert_int_equal(f.n, 77);
    temp_dir_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
