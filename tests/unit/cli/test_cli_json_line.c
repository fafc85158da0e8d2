/* test_cli_json_line.c - a member set in a line of JSON, the rest byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_line.h"

static void test_set(void **state)
{
    static const struct {
        const char *line, *made;
    } t[] = {
        {"{}", "{\"p\":[1]}"},
        {"{ }", "{ \"p\":[1]}"},
        {"{\"a\":1}", "{\"a\":1,\"p\":[1]}"},
        {"{\"p\":null}", "{\"p\":[1]}"},
        {"{\"p\" : [\"x]\", {\"p\": 2}] , \"b\":2}", "{\"p\" : [1] , \"b\":2}"},
        {"{\"a\":\"\\\"p\\\":1\",\"b\":{\"p\":3},\"p\":4}",
         "{\"a\":\"\\\"p\\\":1\",\"b\":{\"p\":3},\"p\":[1]}"},
        {"{\"a\":0.10000,\"n\":123456789012345678,\"u\":\"\\u00e9\xc3\xa9\"}\r\n",
         "{\"a\":0.10000,\"n\":123456789012345678,\"u\":\"\\u00e9\xc3\xa9\",\"p\":[1]}"},
        {"{\"p\":true,\"a\":\"\\\\\"}", "{\"p\":[1],\"a\":\"\\\\\"}"},
        {"{\"pp\":1,\"\":2}", "{\"pp\":1,\"\":2,\"p\":[1]}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        fre_buf b;

        fre_buf_init(&b, 4096);
        assert_int_equal(cli_json_line_set(&b, t[i].line, strlen(t[i].line), "p", "[1]"), FRE_OK);
        assert_int_equal(b.n, strlen(t[i].made));
        assert_memory_equal(b.p, t[i].made, b.n);
        fre_buf_wipe(&b);
    }
}

/* What is cut short never reads past its end. */
static void test_cut(void **state)
{
    static const char line[] = "{\"a\": \"x\\\"\", \"p\": [1, {\"b\": \"]\"}]}";

    (void)state;
    for (size_t n = 0; n + 1 < sizeof line; n++) {
        char *copy = malloc(n + 1);
        fre_buf b;

        assert_non_null(copy);
        memcpy(copy, line, n);
        copy[n] = '\0';
        fre_buf_init(&b, 4096);
        assert_int_equal(cli_json_line_set(&b, copy, n, "p", "0"), FRE_E_ARG);
        assert_int_equal(b.n, 0);
        fre_buf_wipe(&b);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
