/* test_cli_release.c - the table of a release, as people see it. */
#include "release.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

/* What is printed on standard output for a release. */
static void shown_of(char *out, size_t size, const fre_release *r)
{
    const int saved = dup(STDOUT_FILENO);
    const fre_released_cell **list;
    FILE *f = tmpfile();
    size_t count = 0, got;

    assert_non_null(f);
    (void)fflush(stdout);
    assert_true(saved >= 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
    list = cli_most_frequent(&count, r->cell, r->n);
    if (list)
        cli_print_cells(r, list, count);
    free(list);
    (void)fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    rewind(f);
    got = fread(out, 1, size - 1, f);
    out[got] = '\0';
    (void)fclose(f);
}

/* The same for these cells of a grid. */
static void shown(char *out, size_t size, const fre_released_cell *cell, size_t n)
{
    const fre_release r = {.cell = (fre_released_cell *)(uintptr_t)cell,
                           .n = n,
                           .level = {{.name = "grid", .cells = n}},
                           .n_levels = 1};

    shown_of(out, size, &r);
}

static fre_released_cell cell(double users, const char *words, double confidence, uint32_t group)
{
    fre_released_cell c = {.count = (uint64_t)users / 2, .users = users, .group = group};

    c.text.text = (char *)(uintptr_t)words;
    c.text.confidence = (fre_confidence){words != NULL, confidence, 0};
    return c;
}

/* Groups by size, three lines of each; what is likelier wrong than right is marked. */
static void near_wordings_stand_together(void **state)
{
    fre_released_cell cells[] = {
        cell(40, "a third", 0.51, 1),   cell(90, "alone", 0.5, 0),
        cell(60, "the first", 0.93, 1), cell(50, "a wrong one", 0.49, 1),
        cell(10, "a fourth", 1, 1),     cell(5, NULL, 0, 2),
    };
    char out[4000];

    (void)state;
    cells[5].text.unreadable = FRE_UNREADABLE_FAR;
    shown(out, sizeof out, cells, 6);
    assert_non_null(strstr(out, "6 cells released; groups of near wordings, the largest first:\n\n"
                                "    group    users  confidence   text\n"
                                "      160       60        0.93   the first\n"
                                "                50        0.49?  a wrong one\n"
                                "                40        0.51   a third\n"
                                "                                 and 1 more\n"
                                "       90       90        0.50   alone\n"
                                "        5        5           -   (no text near it was found)\n\n"
                                "? more likely wrong than right"));
    assert_non_null(strstr(out, "\nA line is a wording or a few close ones"));
}

/* Of an inverter that nothing is known of: no mark. */
static void unknown_confidence_is_no_mark(void **state)
{
    fre_released_cell one = cell(40, "a text", 0, 0);
    char out[4000];

    (void)state;
    one.text.confidence.known = false;
    shown(out, sizeof out, &one, 1);
    assert_non_null(strstr(out, "       40       40           -   a text\n"));
    assert_null(strstr(out, "?"));
}

/* Lines of which nobody said what they are near to stand by themselves. */
static void lines_without_groups_are_not_joined(void **state)
{
    const fre_released_cell cells[] = {cell(60, "one", 1, FRE_RELEASE_NONE),
                                       cell(90, "two", 1, FRE_RELEASE_NONE)};
    char out[4000];

    (void)state;
    shown(out, sizeof out, cells, 2);
    assert_non_null(strstr(out, "       90       90        1.00   two\n"
                                "       60       60        1.00   one\n"));
}

/* Where there is colour, weak lines are dim. */
static void weak_lines_are_dimmed(void **state)
{
    const fre_released_cell cells[] = {cell(90, "a true one", 0.9, 0),
                                       cell(60, "a wrong one", 0.1, 1)};
    char out[4000];

    (void)state;
    assert_int_equal(setenv("CLICOLOR_FORCE", "1", 1), 0);
    shown(out, sizeof out, cells, 2);
    assert_int_equal(unsetenv("CLICOLOR_FORCE"), 0);
    assert_non_null(strstr(out, "\033[2ma wrong one\033[0m"));
    assert_non_null(strstr(out, "  a true one\n"));
}

static fre_released_cell of_theme(double users, const char *words, double confidence,
                                  uint32_t level, uint32_t theme)
{
    fre_released_cell c = cell(users, words, confidence, FRE_RELEASE_NONE);

    c.level = level;
    c.theme = theme;
    return c;
}

/* Themes by size, three lines of each; a text far from its cell gives way to the public one, a
 * doubtful one does not. */
static void levels_are_shown_by_themes(void **state)
{
    fre_released_cell cells[] = {
        of_theme(60, "one of seven", 0.99, 1, 7),  of_theme(90, "alone", 0.99, 0, 3),
        of_theme(80, "first of seven", 0.2, 0, 7), of_theme(50, "a third", 0.99, 1, 7),
        of_theme(40, "a fourth", 0.99, 1, 7),
    };
    const fre_release r = {.cell = cells,
                           .n = 5,
                           .level = {{.name = "grid", .cells = 2}, {.name = "256", .cells = 3}},
                           .n_levels = 2};
    char out[4000];

    (void)state;
    cells[2].around = cells[1].around = (char *)(uintptr_t) "a public text";
    cells[2].text.similarity = 0.5;
    cells[1].text.similarity = 0.7;
    cells[1].text.confidence.same = 0.1;
    shown_of(out, sizeof out, &r);
    assert_non_null(strstr(
        out,
        "5 cells released: 2 of the grid (wordings) with 170 users, 3 of 256 with 150\nusers\n\n"
        "    theme    users  confidence   text\n"
        "      230       80        0.20?  around: a public text\n"
        "                60        0.99   one of seven\n"
        "                50        0.99   a third\n"
        "                                 and 1 more\n"
        "       90       90        0.10?  alone\n\n"));
}

/* What says nearly the same stands in one theme, that of the one with the most users. */
static void near_wordings_share_a_theme(void **state)
{
    fre_released_cell cells[] = {
        of_theme(60, "the same again", 0.99, 0, 3), of_theme(90, "the same", 0.99, 1, 7),
        of_theme(80, "of seven", 0.99, 0, 7), of_theme(70, "of three", 0.99, 1, 3)};
    const fre_release r = {.cell = cells,
                           .n = 4,
                           .level = {{.name = "grid", .cells = 2}, {.name = "256", .cells = 2}},
                           .n_levels = 2};
    char out[4000];

    (void)state;
    cells[0].group = cells[1].group = 2;
    cells[2].group = 0;
    cells[3].group = 1;
    shown_of(out, sizeof out, &r);
    assert_non_null(strstr(out, "      230       90        0.99   the same\n"
                                "                80        0.99   of seven\n"
                                "                60        0.99   the same again\n"
                                "       70       70        0.99   of three\n"));
}

/* A line without a theme stands by itself. */
static void lines_without_themes_are_not_joined(void **state)
{
    fre_released_cell cells[] = {
        of_theme(60, "one", 0.99, 1, FRE_RELEASE_NONE),
        of_theme(90, "two", 0.99, 0, FRE_RELEASE_NONE),
    };
    const fre_release r = {.cell = cells,
                           .n = 2,
                           .level = {{.name = "grid", .cells = 1}, {.name = "256", .cells = 1}},
                           .n_levels = 2};
    char out[4000];

    (void)state;
    shown_of(out, sizeof out, &r);
    assert_non_null(strstr(out, "       90       90        0.99   two\n"
                                "       60       60        0.99   one\n"));
}

static void without_texts_there_are_counts(void **state)
{
    const fre_released_cell bare = cell(80, NULL, 0, 0);
    char out[4000];

    (void)state;
    shown(out, sizeof out, &bare, 1);
    assert_string_equal(out, "1 cell released:\n\n   count     users  text\n"
                             "      40        80  (centroid only)\n\n");
    shown(out, sizeof out, NULL, 0);
    assert_string_equal(out, "0 cells released\n\n");
}

/* Cut where the line ends, by columns; a control character cannot leave the table. */
static void texts_fit_the_width(void **state)
{
    char words[301], out[4000];
    fre_released_cell one;

    (void)state;
    memset(words, 'x', sizeof words - 1);
    words[0] = '\n';
    words[sizeof words - 1] = '\0';
    one = cell(40, words, 1, 0);
    for (size_t width = 60; width <= 140; width += 40) {
        char number[16];
        const char *line;

        (void)snprintf(number, sizeof number, "%zu", width);
        assert_int_equal(setenv("COLUMNS", number, 1), 0);
        shown(out, sizeof out, &one, 1);
        line = strstr(out, "?x");
        assert_non_null(line);
        assert_int_equal(strcspn(line, "\n"), width - 34 + 2); /* the ellipsis has three bytes */
    }
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_wordings_stand_together),
        cmocka_unit_test(unknown_confidence_is_no_mark),
        cmocka_unit_test(lines_without_groups_are_not_joined),
        cmocka_unit_test(weak_lines_are_dimmed),
        cmocka_unit_test(levels_are_shown_by_themes),
        cmocka_unit_test(near_wordings_share_a_theme),
        cmocka_unit_test(lines_without_themes_are_not_joined),
        cmocka_unit_test(without_texts_there_are_counts),
        cmocka_unit_test(texts_fit_the_width),
    };

    (void)unsetenv("COLUMNS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
