/* test_cli_terminal.c - width, colour, and text that cannot steer a terminal. */
#include "cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "printed.h"

#define END_MS 60000 /* only what never comes takes as long */
#define ELLIPSIS "\xe2\x80\xa6"

static int set_up(void **state)
{
    static const char *const names[] = {"COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
    return setenv("TERM", "xterm", 1);
}

static void unsafe_characters(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain \xc3\xbc \xe4\xbd\xa0", "plain \xc3\xbc \xe4\xbd\xa0"},
        {"a\033[2Jb\nc\xc2\x9b\x7f\t", "a?[2Jb?c???"}, /* C0, C1, DEL */
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c\xe2\x80\x8f",
         "a?b?c?"}, /* RLO, LRI, RLM */
        {"a\xe2\x80\x8b"
         "b\xef\xbb\xbf"
         "c\xc2\xad",
         "a?b?c?"}, /* ZWSP, BOM, soft hyphen */
        {"a\xe2\x80\xa8"
         "b\xe2\x80\xa9",
         "a?b?"},                    /* line separators */
        {"a\xf3\xa0\x81\x81", "a?"}, /* a tag */
        {"a\xe3\x85\xa4", "a?"},     /* an invisible letter */
        {"a\xff\xc3"
         "b\xed\xa0\x80",
         "a??b???"},                                  /* not UTF-8 */
        {"\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4"}, /* variation selector */
        {"e\xcc\x81", "e\xcc\x81"},                   /* a combining accent */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *printed = NULL;

        PRINTED((void)cli_print_safe(f, cases[i].text, 0));
        assert_string_equal(printed, cases[i].shown);
        free(printed);
        PRINTED(cli_wrap(f, cases[i].text, 0, 0)); /* prose is no way around it */
        assert_null(strpbrk(printed, "\033\x7f"));
        assert_null(strstr(printed, "\xe2\x80\xae"));
        free(printed);
    }
}

static void cut_by_columns(void **state)
{
    static const struct {
        const char *text, *shown;
        size_t columns, taken;
    } cases[] = {
        {"gr\xc3\xbc\xc3\x9f gott", "gr\xc3\xbc\xc3\x9f " ELLIPSIS, 6, 6},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", 4, 4},
        {"\xe4\xbd\xa0\xe5\xa5\xbd", "\xe4\xbd\xa0\xe5\xa5\xbd", 4, 4}, /* two columns each */
        {"\xe4\xbd\xa0\xe5\xa5\xbd\xe5\xa5\xbd", "\xe4\xbd\xa0" ELLIPSIS, 4, 3},
        {"e\xcc\x81"
         "e\xcc\x81"
         "e",
         "e\xcc\x81"
         "e\xcc\x81"
         "e",
         3, 3},
        {"e\xcc\x81"
         "e\xcc\x81"
         "ee",
         "e\xcc\x81"
         "e\xcc\x81" ELLIPSIS,
         3, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *printed = NULL;
        size_t taken = 0;

        PRINTED(taken = cli_print_safe(f, cases[i].text, cases[i].columns));
        assert_string_equal(printed, cases[i].shown);
        assert_int_equal(taken, cases[i].taken);
        free(printed);
    }
}

static void wrapping(void **state)
{
    char *printed = NULL;

    (void)state;
    PRINTED(cli_wrap(f, "one two\n\nthree", 4, 2));
    assert_string_equal(printed, "  one two\n\n    three\n");
    free(printed);
    PRINTED(cli_wrap(f, "aaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbb c ddddddddddddddddddd ee", 60, 0));
    assert_fits(printed, "wrap");
    free(printed);
    PRINTED(cli_wrap(f, "", 4, 4));
    assert_string_equal(printed, "\n");
    free(printed);
}

static void wide_words_wrap_by_columns(void **state)
{
    char *printed = NULL, text[45 * 4 + 1] = "";

    (void)state;
    for (size_t i = 0; i < 45; i++) /* 45 words of two columns and a space: 135 columns */
        memcpy(text + 4 * i, "\xe4\xbd\xa0 ", 5);
    PRINTED(cli_wrap(f, text, 0, 0));
    assert_int_equal(strcspn(printed, "\n"), 26 * 4 - 1); /* 26 of them take 77 columns, 27 80 */
    free(printed);
}

static void widths(void **state)
{
    char *printed = NULL;
    size_t columns = 0;

    (void)state;
    PRINTED(columns = cli_columns(f));
    assert_int_equal(columns, CLI_WIDTH);
    free(printed);
    assert_int_equal(setenv("COLUMNS", "100", 1), 0);
    PRINTED(columns = cli_columns(f));
    assert_int_equal(columns, 100);
    free(printed);
    assert_int_equal(setenv("COLUMNS", "wide", 1), 0);
    PRINTED(columns = cli_columns(f));
    assert_int_equal(columns, CLI_WIDTH);
    free(printed);
    assert_int_equal(setenv("COLUMNS", "3", 1), 0);
    PRINTED(columns = cli_columns(f));
    assert_int_equal(columns, 40); /* narrower, tables would make no sense */
    free(printed);
}

/* What is written to a terminal may arrive in parts, each some time later: all up to an end. */
static void read_until(int fd, char *text, size_t size, const char *end)
{
    size_t n = 0;

    text[0] = '\0';
    while (!strstr(text, end)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        assert_true(n + 1 < size);
        if (poll(&ready, 1, END_MS) != 1)
            fail_msg("no '%s' in '%s'", end, text);
        got = read(fd, text + n, size - 1 - n);
        assert_true(got > 0);
        n += (size_t)got;
        text[n] = '\0';
    }
}

static void terminals(void **state)
{
    struct winsize window = {.ws_col = 120, .ws_row = 30};
    char text[128] = "";
    int own, to;
    FILE *f;

    (void)state;
    assert_int_equal(openpty(&own, &to, NULL, NULL, &window), 0);
    f = fdopen(to, "w");
    assert_non_null(f);
    assert_int_equal(cli_columns(f), 120);
    assert_true(cli_is_steerable(f));
    cli_styled(f, CLI_RED, "x\033");
    (void)fflush(f);
    read_until(own, text, sizeof text, "\033[0m");
    assert_string_equal(text, "\033[31mx?\033[0m");

    assert_int_equal(setenv("COLUMNS", "40", 1), 0); /* whole words, the rest indented */
    cli_message(f, CLI_YELLOW, "warning:", "what is said takes more than a line of it");
    (void)fflush(f);
    read_until(own, text, sizeof text, "line of it");
    assert_non_null(strstr(text, "warning:\033[0m what is said takes more than a"));
    assert_non_null(strstr(text, "\n    line of it"));

    assert_int_equal(setenv("TERM", "dumb", 1), 0);
    assert_false(cli_is_steerable(f));
    assert_int_equal(unsetenv("TERM"), 0);
    assert_false(cli_is_steerable(f));
    (void)fclose(f);
    (void)close(own);
}

typedef void (*printer)(FILE *f);

static void print_rows(FILE *f)
{
    static const cli_column column[] = {{.name = "count", .width = 6},
                                        {.name = "similarity ", .width = 11},
                                        {.name = "text", .width = -20, .rest = true}};
    static const cli_cell cell[] = {{.text = "12"},
                                    {.text = "0.967?", .style = CLI_PLAIN},
                                    {.text = "one two three four five six seven"}};

    cli_table_head(f, column, 3);
    cli_table_row(f, column, 3, cell);
}

static void print_lines(FILE *f)
{
    cli_fold(f, 6, "%s", "  name          value, and what is to be said of it\n  short    one");
    cli_noted(f, 10, "name", "12", "a note of some words");
    cli_noted(f, 10, "name", "12.3456789012345", "long");
}

/* What a terminal of so many columns gets. */
static void assert_shown(printer print, const char *columns, const char *expected)
{
    char text[1024] = "", plain[1024] = "";
    size_t n = 0, at = 0;
    int own, to;
    FILE *f;

    assert_int_equal(setenv("COLUMNS", columns, 1), 0);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    assert_int_equal(openpty(&own, &to, NULL, NULL, NULL), 0);
    f = fdopen(to, "w");
    assert_non_null(f);
    print(f);
    (void)fclose(f); /* what was written can still be read, up to an error */
    for (ssize_t got = 1; got > 0 && at<sizeof text - 1; at += got> 0 ? (size_t)got : 0)
        got = read(own, text + at, sizeof text - 1 - at);
    for (const char *c = text; *c; c++)
        if (*c != '\r')
            plain[n++] = *c;
    assert_string_equal(plain, expected);
    (void)close(own);
}

static void a_row_that_does_not_fit_is_a_block(void **state)
{
    (void)state;
    assert_shown(print_rows, "60",
                 "   count  similarity   text\n"
                 "      12       0.967?  one two three four five six seven\n");
    assert_shown(print_rows, "50",
                 "   count  similarity   text\n"
                 "      12       0.967?  one two three four five s" ELLIPSIS "\n");
    assert_shown(print_rows, "40",
                 "  text\n"
                 "  one two three four five six seven\n"
                 "    count 12, similarity 0.967?\n");
}

static void lines_fold(void **state)
{
    (void)state;
    assert_shown(print_lines, "60",
                 "  name          value, and what is to be said of it\n"
                 "  short    one\n"
                 "  name       12           a note of some words\n"
                 "  name       12.3456789012345  long\n");
    assert_shown(print_lines, "40",
                 "  name  value, and what is to be said\n"
                 "      of it\n"
                 "  short    one\n"
                 "  name       12\n    a note of some words\n"
                 "  name       12.3456789012345\n    long\n");
}

/* Is a style written to a terminal (else a file), with these variables? */
static void assert_coloured(bool terminal, const char *name, const char *value, bool coloured)
{
    const char *expected = coloured ? "\033[1mx\033[0m" : "x";
    char text[64] = "";
    int ends[2];
    FILE *f;

    if (terminal)
        assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    else
        assert_int_equal(pipe(ends), 0);
    f = fdopen(ends[1], "w");
    assert_non_null(f);
    if (name)
        assert_int_equal(setenv(name, value, 1), 0);
    cli_styled(f, CLI_BOLD, "x");
    (void)fflush(f);
    read_until(ends[0], text, sizeof text, expected);
    if (name)
        assert_int_equal(unsetenv(name), 0);
    assert_string_equal(text, expected);
    (void)fclose(f);
    (void)close(ends[0]);
}

static void colour_where_it_is_wanted(void **state)
{
    (void)state;
    assert_coloured(true, NULL, NULL, true);
    assert_coloured(true, "NO_COLOR", "1", false);
    assert_coloured(true, "NO_COLOR", "", true);
    assert_coloured(true, "CLICOLOR", "0", false);
    assert_coloured(true, "CLICOLOR", "1", true);
    assert_coloured(true, "CLICOLOR_FORCE", "1", true);
    assert_coloured(false, NULL, NULL, false);
    assert_coloured(false, "CLICOLOR", "1", false);
    assert_coloured(false, "CLICOLOR_FORCE", "0", false);
    assert_coloured(false, "CLICOLOR_FORCE", "1", true);
    assert_coloured(true, "TERM", "dumb", false);
}

static void json_keeps_its_meaning(void **state)
{
    static const char text[] =
        "{\n  \"t\": \"a\xe2\x80\xae\xc2\x9b\x7f\xf3\xa0\x81\x81 \xc3\xbc\"\n}";
    char *printed = NULL;
    json_t *before = json_loads(text, 0, NULL), *after;

    (void)state;
    assert_non_null(before);
    PRINTED(cli_print_json_text(f, text, strlen(text)));
    assert_string_equal(printed,
                        "{\n  \"t\": \"a\\u202e\\u009b\\u007f\\udb40\\udc41 \xc3\xbc\"\n}");
    after = json_loads(printed, 0, NULL);
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    free(printed);
    PRINTED(cli_print_line(f, text, strlen(text))); /* a file has it as it is */
    assert_memory_equal(printed, text, strlen(text));
    assert_string_equal(printed + strlen(text), "\n");
    free(printed);
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unsafe_characters),
        TEST(cut_by_columns),
        TEST(wrapping),
        TEST(wide_words_wrap_by_columns),
        TEST(widths),
        TEST(terminals),
        TEST(a_row_that_does_not_fit_is_a_block),
        TEST(lines_fold),
        TEST(colour_where_it_is_wanted),
        TEST(json_keeps_its_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
