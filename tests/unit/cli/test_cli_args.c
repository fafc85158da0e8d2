/* test_cli_args.c - the argument parser over a table of its own. */
#include "cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"

static const char *const colours[] = {"red", "dark-blue", NULL};
static const char *const kinds[] = {"one", "two", NULL};

static const fre_param rate = {.name = "rate", .highest = 1, .above = true, FRE_PARAM_AUTO};
static const fre_param count = {
    .name = "count", .lowest = 1, .highest = 100, .whole = true, FRE_PARAM_PRESET(7)};

static const cli_arg args[] = {
    {.name = "Title", .kind = CLI_GROUP},
    {.name = "output",
     .letter = 'o',
     .metavar = "DIR",
     .kind = CLI_PATH,
     .required = true,
     .help = "where"},
    CLI_NUMBER("rate", "P", rate, .word = "auto", .help = "rate"),
    CLI_COUNT("count", "N", count, .help = "count"),
    {.name = "big", .metavar = "N", .kind = CLI_U64, .help = "big"},
    {.name = "colour",
     .metavar = "C",
     .kind = CLI_ENUM,
     .choices = colours,
     .preset = "red",
     .help = "colour"},
    {.name = "name", .metavar = "S", .kind = CLI_STRING, .help = "name"},
    {.name = "seed", .metavar = "HEX", .kind = CLI_HEX32, .help = "seed"},
    {.name = "force", .kind = CLI_FLAG, .help = "force"},
    {.name = "odd", .kind = CLI_FLAG, .help = "odd"},
};

static const cli_positional positional[] = {
    {.name = "INPUT", .help = "input"},
    {.name = "KIND", .help = "kind", .choices = kinds, .optional = true},
};

static const cli_rule rules[] = {
    {"name", "colour", "dark-blue", "is of red alone"},
    {"name", "count", "9", "is not of nine"},
    {"odd", "KIND", "two", "is not of two"},
    {"odd", "KIND", CLI_LEFT_OUT, "needs a kind"},
    {"seed", "name", CLI_GIVEN, "goes with no name"},
};

static const cli_command command = {
    .name = "try",
    .summary = "s",
    .about = "a",
    .example = "e",
    .positional = positional,
    .n_positional = 2,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
};

static const cli_command *const commands[] = {&command};
static const cli_program program = {.command = commands, .n = 1};

static cli c;
static fre_err err;

/* Parse a NULL-terminated list. */
static fre_status parse(const char *const *words)
{
    static char kept[16][128]; /* values are borrowed from argv */
    char *argv[16];
    int n = 0;

    for (; words[n]; n++) {
        (void)snprintf(kept[n], sizeof kept[n], "%s", words[n]);
        argv[n] = kept[n];
    }
    err.text[0] = '\0';
    return cli_parse(&c, &program, &command, n, argv, &err);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})
#define REFUSED(message, ...)                                                                      \
    do {                                                                                           \
        assert_int_equal(PARSE(__VA_ARGS__), FRE_E_USAGE);                                         \
        assert_string_equal(err.text, message);                                                    \
    } while (0)

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(PARSE("in", "-o", "x"), FRE_OK);
    assert_string_equal(c.positional[0], "in");
    assert_null(c.positional[1]);
    assert_string_equal(cli_text(&c, "output"), "x");
    assert_true(cli_get(&c, "rate")->is_word);
    assert_false(cli_given(&c, "rate"));
    assert_close(cli_number(&c, "rate"), 0.0, 0.0, 0.0);
    assert_int_equal(cli_whole(&c, "count"), 7);
    assert_int_equal(cli_choice(&c, "colour"), 0);
    assert_null(cli_text(&c, "name"));
    assert_false(cli_flag(&c, "force"));
    assert_false(c.json);
    assert_true(c.threads >= 1);
}

static void test_forms_of_a_flag(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--rate=0.25", "in", "--count", "9", "-oy", "--force"), FRE_OK);
    assert_close(cli_number(&c, "rate"), 0.25, 0.0, 0.0);
    assert_true(cli_given(&c, "rate"));
    assert_int_equal(cli_whole(&c, "count"), 9);
    assert_string_equal(cli_text(&c, "output"), "y");
    assert_true(cli_flag(&c, "force"));
    assert_int_equal(PARSE("in", "-o=z", "--colour=dark-blue", "two"), FRE_OK);
    assert_string_equal(cli_text(&c, "output"), "z");
    assert_int_equal(cli_choice(&c, "colour"), 1);
    assert_string_equal(c.positional[1], "two");
}

static void test_last_wins(void **state)
{
    (void)state;
    assert_int_equal(PARSE("in", "-o", "a", "--count", "1e2"), FRE_OK);
    assert_int_equal(cli_whole(&c, "count"), 100);
    assert_int_equal(PARSE("in", "-o", "a", "--count", "1.25E+1", "--count", "2.5e1"), FRE_E_USAGE);
    assert_int_equal(PARSE("in", "-o", "a", "--count", "2.50e1"), FRE_E_USAGE);
    assert_int_equal(PARSE("in", "-o", "a", "--count", "2.5e+1"), FRE_OK);
    assert_int_equal(cli_whole(&c, "count"), 25);
    assert_int_equal(PARSE("in", "-o", "a", "--count", "1", "--output", "b", "--count=2"), FRE_OK);
    assert_string_equal(cli_text(&c, "output"), "b");
    assert_int_equal(cli_whole(&c, "count"), 2);
    assert_int_equal(PARSE("in", "-o", "a", "--rate", "1", "--rate", "auto"), FRE_OK);
    assert_true(cli_get(&c, "rate")->is_word);
}

static void test_dashes(void **state)
{
    (void)state;
    assert_int_equal(PARSE("-o", "x", "-"), FRE_OK);
    assert_string_equal(c.positional[0], "-");
    assert_int_equal(PARSE("-o", "x", "--", "--force"), FRE_OK);
    assert_string_equal(c.positional[0], "--force");
    assert_false(cli_flag(&c, "force"));
    assert_int_equal(PARSE("in", "--output=--odd"), FRE_OK);
    assert_string_equal(cli_text(&c, "output"), "--odd");
    REFUSED("--output needs a value: --output DIR", "in", "--output", "--force");
}

static void test_unknown(void **state)
{
    (void)state;
    REFUSED("unknown flag --cuont; did you mean --count?", "in", "-o", "x", "--cuont", "3");
    REFUSED("unknown flag --zzzzzzzz; 'fre-e2t try --help' lists them", "in", "--zzzzzzzz");
    REFUSED("unknown flag --jsno; did you mean --json?", "in", "--jsno=1");
    REFUSED("unknown flag -x; 'fre-e2t try --help' lists them", "in", "-x");
    REFUSED("unexpected argument 'more'", "in", "one", "more");
    REFUSED("KIND must be one or two, not 'three'", "in", "three");
}

static void test_missing(void **state)
{
    (void)state;
    REFUSED("INPUT is missing; see 'fre-e2t try --help'", "-o", "x");
    REFUSED("--output DIR is required; see 'fre-e2t try --help'", "in");
    REFUSED("--count needs a value: --count N", "in", "-o", "x", "--count");
    REFUSED("--output must not be empty", "in", "--output=");
    REFUSED("--force takes no value", "in", "--force=yes");
}

static void test_numbers(void **state)
{
    (void)state;
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '0'", "--rate", "0");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '-1'", "--rate", "-1");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '1.01'", "--rate", "1.01");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '0.5x'", "--rate=0.5x");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not ' 0.5'", "--rate", " 0.5");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not 'nan'", "--rate", "nan");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not 'inf'", "--rate", "inf");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '0x1p-2'", "--rate=0x1p-2");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not ''", "--rate=");
    REFUSED("--rate must be auto or a number above 0 and at most 1, not '--force'", "--rate",
            "--force");
    REFUSED("--count must be a whole number from 1 to 100, not '0'", "--count", "0");
    REFUSED("--count must be a whole number from 1 to 100, not '101'", "--count", "101");
    REFUSED("--count must be a whole number from 1 to 100, not '-3'", "--count", "-3");
    REFUSED("--count must be a whole number from 1 to 100, not '5.0'", "--count", "5.0");
    REFUSED("--count must be a whole number from 1 to 100, not '1e3'", "--count", "1e3");
    REFUSED("--count must be a whole number from 1 to 100, not '1.25e1'", "--count", "1.25e1");
    REFUSED("--count must be a whole number from 1 to 100, not '1e-1'", "--count", "1e-1");
    REFUSED("--count must be a whole number from 1 to 100, not 'e1'", "--count", "e1");
    REFUSED("--count must be a whole number from 1 to 100, not '1e'", "--count", "1e");
    REFUSED("--count must be a whole number from 1 to 100, not '1e99'", "--count", "1e99");
    REFUSED("--count must be a whole number from 1 to 100, not '18446744073709551617'", "--count",
            "18446744073709551617");
    REFUSED("--colour must be red or dark-blue, not 'blue'", "--colour", "blue");
    assert_int_equal(PARSE("in", "-o", "x", "--big", "18446744073709551615"), FRE_OK);
    assert_true(cli_whole(&c, "big") == UINT64_MAX);
    REFUSED("--big must be a whole number of at least 0, not '18446744073709551616'", "--big",
            "18446744073709551616");
    assert_int_equal(PARSE("in", "-o", "x", "--rate", "1e-3", "--count", "100"), FRE_OK);
    assert_close(cli_number(&c, "rate"), 1e-3, 0.0, 1e-15);
}

static void test_seed_is_never_echoed(void **state)
{
    char digits[66];

    (void)state;
    memset(digits, 'a', 65);
    digits[64] = '\0';
    assert_int_equal(PARSE("in", "-o", "x", "--seed", digits), FRE_OK);
    assert_int_equal(cli_get(&c, "seed")->bytes[31], 0xaa);
    assert_int_equal(PARSE("in", "-o", "x", "--seed", "12f"), FRE_OK); /* a short one is a number */
    assert_int_equal(cli_get(&c, "seed")->bytes[0], 0);
    assert_int_equal(cli_get(&c, "seed")->bytes[30], 0x01);
    assert_int_equal(cli_get(&c, "seed")->bytes[31], 0x2f);
    digits[64] = 'a'; /* one too many */
    digits[65] = '\0';
    REFUSED("--seed must be 1 to 64 hexadecimal digits", "--seed", digits);
    digits[63] = 'g';
    digits[64] = '\0';
    REFUSED("--seed must be 1 to 64 hexadecimal digits", "--seed", digits);
}

static void test_odd_bytes_are_not_echoed(void **state)
{
    (void)state;
    REFUSED("unexpected argument '?[31mred?'", "in", "one", "\033[31mred\n");
    REFUSED("--colour must be red or dark-blue, not 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'",
            "--colour", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static void test_help_wins(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--nonsense", "--help"), FRE_OK);
    assert_true(c.help);
    assert_int_equal(PARSE("--rate", "x", "-h"), FRE_OK);
    assert_true(c.help);
    assert_int_equal(PARSE("--version", "--nonsense"), FRE_OK);
    assert_true(c.version);
    REFUSED("--output DIR is required; see 'fre-e2t try --help'", "--", "--help");
}

static void test_common(void **state)
{
    (void)state;
    assert_int_equal(PARSE("in", "-o", "x", "--json", "--quiet", "--threads", "3"), FRE_OK);
    assert_true(c.json);
    assert_true(c.quiet);
    assert_int_equal(c.threads, 3);
    REFUSED("--threads must be a whole number from 1 to 1024, not '0'", "--threads", "0");
}

static void test_nearest(void **state)
{
    static const char *const words[] = {"synthesize", "plan", "embed"};

    (void)state;
    assert_string_equal(cli_nearest("synthesise", words, 3), "synthesize");
    assert_string_equal(cli_nearest("paln", words, 3), "plan");
    assert_string_equal(cli_nearest("embedd", words, 3), "embed");
    assert_null(cli_nearest("contribute", words, 3));
    assert_null(
        cli_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", words, 3));
}

static void test_inf_word(void **state)
{
    static const fre_param entry = {.name = "epsilon", .highest = 50, .above = true};
    static const cli_arg arg = CLI_NUMBER("epsilon", "E", entry, .word = "inf", .help = "");
    cli_value v = {.number = 1.0};

    (void)state;
    assert_int_equal(cli_parse_value(&v, &arg, "inf", &err), FRE_OK);
    assert_true(isinf(v.number));
    v.number = 1.0;
    assert_int_equal(cli_parse_value(&v, &arg, "infinity", &err), FRE_E_USAGE);
    assert_close(v.number, 1.0, 0.0, 0.0); /* untouched on failure */
}

static void refuses(const char *const *words, const char *sentence)
{
    assert_int_equal(parse(words), FRE_E_USAGE);
    assert_string_equal(err.text, sentence);
}

static void test_flags_that_would_say_nothing(void **state)
{
    (void)state;
    refuses((const char *const[]){"in", "-o", "d", "--name", "x", "--colour", "dark-blue", NULL},
            "--name is of red alone");
    refuses((const char *const[]){"in", "-o", "d", "--name", "x", "--count", "0.9e1", NULL},
            "--name is not of nine");
    refuses((const char *const[]){"in", "two", "-o", "d", "--odd", NULL}, "--odd is not of two");
    refuses((const char *const[]){"in", "-o", "d", "--odd", NULL}, "--odd needs a kind");
    refuses((const char *const[]){"in", "-o", "d", "--seed", "1", "--name", "x", NULL},
            "--seed goes with no name");
    refuses((const char *const[]){"in", "-o", "-", "--force", NULL},
            "--force replaces a file, and standard output is none: leave it out");
    /* What is left to its default, names nothing, or has the other value, is fine. */
    assert_int_equal(parse((const char *const[]){"in", "-o", "d", "--name", "x", NULL}), FRE_OK);
    assert_int_equal(
        parse((const char *const[]){"in", "-o", "d", "--seed", "1", "--name", "none", NULL}),
        FRE_OK);
    assert_int_equal(parse((const char *const[]){"in", "one", "-o", "d", "--odd", NULL}), FRE_OK);
    assert_int_equal(parse((const char *const[]){"in", "-o", "d", "--force", NULL}), FRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_forms_of_a_flag),
        cmocka_unit_test(test_last_wins),
        cmocka_unit_test(test_dashes),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_seed_is_never_echoed),
        cmocka_unit_test(test_odd_bytes_are_not_echoed),
        cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_common),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_inf_word),
        cmocka_unit_test(test_flags_that_would_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
