/* Ranges: what an entry lets through, and how it is said. */
#include <fre/param.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const fre_param rate = {.name = "rate", .highest = 1, .above = true, FRE_PARAM_AUTO};
static const fre_param share = {
    .name = "share", .highest = 1, .below = true, FRE_PARAM_PRESET(0.1)};
static const fre_param count = {
    .name = "count", .lowest = 1, .highest = 1000000000000, .whole = true, FRE_PARAM_PRESET(100)};
static const fre_param any = {.name = "any", .highest = HUGE_VAL};

static void test_ends(void **state)
{
    (void)state;
    assert_false(fre_param_holds(&rate, 0));
    assert_true(fre_param_holds(&rate, 0x1p-60));
    assert_true(fre_param_holds(&rate, 1));
    assert_false(fre_param_holds(&rate, nextafter(1, 2)));
    assert_true(fre_param_holds(&share, 0));
    assert_false(fre_param_holds(&share, 1));
    assert_false(fre_param_holds(&count, 0));
    assert_true(fre_param_holds(&count, 1e12));
    assert_false(fre_param_holds(&count, 1e12 + 1));
    assert_false(fre_param_holds(&any, -1));
    assert_true(fre_param_holds(&any, 1e300));
    assert_false(fre_param_holds(&any, (double)NAN));
}

static void test_presets(void **state)
{
    (void)state;
    assert_string_equal(share.preset_text, "0.1");
    assert_true(share.preset <= 0.1 && share.preset >= 0.1);
    assert_string_equal(count.preset_text, "100");
    assert_string_equal(rate.preset_text, "auto");
    assert_null(any.preset_text);
}

static void refused(const fre_param *p, double value, const char *text)
{
    fre_err err = {.text = ""};

    assert_int_equal(fre_param_check(p, value, &err), FRE_E_USAGE);
    assert_string_equal(err.text, text);
}

static void test_refusals(void **state)
{
    fre_err err = {.text = "as it was"};

    (void)state;
    refused(&rate, 0, "{rate} must be a number above 0 and at most 1");
    refused(&share, -1, "{share} must be a number of at least 0 and below 1");
    refused(&count, 0, "{count} must be a whole number from 1 to 1000000000000");
    refused(&any, -1, "{any} must be a number of at least 0");
    assert_int_equal(fre_param_check(&count, 5, &err), FRE_OK);
    assert_string_equal(err.text, "as it was");
    assert_int_equal(fre_param_check(&count, 0, NULL), FRE_E_USAGE);
}

static void test_first_of_several(void **state)
{
    const fre_param_value good[] = {{&rate, 0.5}, {&count, 3}};
    const fre_param_value bad[] = {{&rate, 0.5}, {&count, 0}, {&share, 7}};
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_param_check_all(good, 2, &err), FRE_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(fre_param_check_all(bad, 3, &err), FRE_E_USAGE);
    assert_string_equal(err.text, "{count} must be a whole number from 1 to 1000000000000");
}

static void test_zero_stands_for_a_default(void **state)
{
    const fre_param_value good[] = {{&rate, 0}, {&count, 0}, {&count, 5}};
    const fre_param_value bad[] = {{&rate, 0}, {&count, 101e12}}, nan[] = {{&rate, (double)NAN}};
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_param_check_given(good, 3, &err), FRE_OK);
    assert_string_equal(err.text, "");
    assert_int_equal(fre_param_check_given(bad, 2, &err), FRE_E_USAGE);
    assert_string_equal(err.text, "{count} must be a whole number from 1 to 1000000000000");
    assert_int_equal(fre_param_check_given(nan, 1, &err), FRE_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_first_of_several),
        cmocka_unit_test(test_zero_stands_for_a_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
