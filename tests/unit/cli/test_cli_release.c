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

static char text[3][400]; /* of a cell */

static fre_released_cell cell(uint64_t count, const char *words, double similarity)
{
    static size_t at;
    fre_released_cell c = {.count = count, .users = 2.0 * (double)count};

    if (words) {
        (void)snprintf(text[at % 3], sizeof text[0], "%s", words);
        c.text.text = text[at++ % 3];
        c.text.similarity = similarity;
    }
    return c;
}

static void low_similarity_is_marked(void **state)
{
    const fre_released_cell cells[] = {cell(40, "a true one", 0.98),
                                       cell(60, "a wrong one", 0.9799), cell(50, NULL, 0)};
    char out[4000];

    (void)state;
    shown(out, sizeof out, cells, 3);
    assert_non_null(strstr(out, "3 cells released:\n\n"
                                "   count     users  similarity   text\n"
                                "      60       120       0.980?  a wrong one\n"
                                "      50       100           -   (no text was found)\n"
                                "      40        80       0.980   a true one\n"));
    assert_non_null(strstr(out, "\n? may be wrong: "));
    assert_non_null(strstr(out, "\nA line is a wording or a few close ones"));
}

static fre_released_cell of_theme(double users, const char *words, double similarity,
                                  uint32_t level, uint32_t theme)
{
    fre_released_cell c = {
        .count = (uint64_t)users, .users = users, .level = level, .theme = theme};

    c.text.text = (char *)(uintptr_t)words;
    c.text.similarity = similarity;
    return c;
}

/* Themes by size, three lines of each; a doubtful text gives way to the public one. */
static void levels_are_shown_by_themes(void **state)
{
    fre_released_cell cells[] = {
        of_theme(60, "one of seven", 0.99, 1, 7),  of_theme(90, "alone", 0.99, 0, 3),
        of_theme(80, "first of seven", 0.5, 0, 7), of_theme(50, "a third", 0.99, 1, 7),
        of_theme(40, "a fourth", 0.99, 1, 7),
    };
    const fre_release r = {.cell = cells,
                           .n = 5,
                           .level = {{.name = "grid", .cells = 2}, {.name = "256", .cells = 3}},
                           .n_levels = 2};
    char out[4000];

    (void)state;
    cells[2].around = (char *)(uintptr_t) "a public text";
    shown_of(out, sizeof out, &r);
    assert_non_null(strstr(
        out,
        "5 cells released: 2 of the grid (wordings) with 170 users, 3 of 256 with 150\nusers\n\n"
        "    theme    users  similarity   text\n"
        "      230       80       0.500?  around: a public text\n"
        "                60       0.990   one of seven\n"
        "                50       0.990   a third\n"
        "                                 and 1 more\n"
        "       90       90       0.990   alone\n\n"));
}

static void nothing_is_noted_where_nothing_is_to_be(void **state)
{
    const fre_released_cell good = cell(40, "a true one", 0.99), bare = cell(40, NULL, 0);
    char out[4000];

    (void)state;
    shown(out, sizeof out, &good, 1);
    assert_string_equal(out, "1 cell released:\n\n   count     users  similarity   text\n"
                             "      40        80       0.990   a true one\n\n");
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
    one = cell(40, words, 1);
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
        cmocka_unit_test(low_similarity_is_marked),
        cmocka_unit_test(levels_are_shown_by_themes),
        cmocka_unit_test(nothing_is_noted_where_nothing_is_to_be),
        cmocka_unit_test(texts_fit_the_width),
    };

    (void)unsetenv("COLUMNS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
