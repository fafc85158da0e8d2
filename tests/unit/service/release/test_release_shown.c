/* How a release's lines stand together where people read them. */
#include <fre/release.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NONE FRE_RELEASE_NONE

static fre_released_cell cell(double users, uint32_t group, uint32_t theme)
{
    return (fre_released_cell){.users = users, .group = group, .theme = theme};
}

#define MAX 8u

/* Groups as "users: lines", one behind the other: "160: 2 0, 90: 1". */
static void assert_shown(const fre_released_cell *cells, size_t n, bool by_themes, const char *want)
{
    fre_shown_line line[MAX + 1] = {{.n = 77}};
    char said[400] = "";
    size_t used = 0;

    assert_true(n <= MAX);
    line[n].n = 77;
    fre_release_show(line, cells, n, by_themes);
    assert_int_equal(line[n].n, 77);
    for (size_t i = 0; i < n; i += line[i].n) {
        assert_in_range(line[i].n, 1, n - i);
        used += (size_t)snprintf(said + used, sizeof said - used, "%s%.0f:", i > 0 ? ", " : "",
                                 line[i].together);
        for (size_t k = i; k < i + line[i].n; k++) {
            assert_int_equal(line[k].first, line[i].rank);
            used += (size_t)snprintf(said + used, sizeof said - used, " %zu", line[k].cell);
        }
    }
    assert_string_equal(said, want);
}

static void nothing_is_shown_of_no_lines(void **state)
{
    (void)state;
    assert_shown(NULL, 0, false, "");
    assert_shown(NULL, 0, true, "");
}

static void lines_of_a_group_stand_together(void **state)
{
    const fre_released_cell cells[] = {cell(40, 1, 9), cell(95, 0, 9), cell(60, 1, 8),
                                       cell(10, 1, 9)};

    (void)state;
    assert_shown(cells, 4, false, "110: 2 0 3, 95: 1");
}

/* Of part of a release, whose numbers go on beyond its lines. */
static void numbers_need_not_be_small(void **state)
{
    const fre_released_cell cells[] = {cell(40, 4000000000, NONE), cell(50, 7, NONE),
                                       cell(30, 4000000000, NONE)};

    (void)state;
    assert_shown(cells, 3, false, "70: 0 2, 50: 1");
    assert_shown(cells, 3, true, "50: 1, 40: 0, 30: 2");
}

static void lines_of_no_group_stand_alone(void **state)
{
    const fre_released_cell cells[] = {cell(60, NONE, 1), cell(90, NONE, 1), cell(60, NONE, NONE)};
    const fre_released_cell themes[] = {cell(60, NONE, NONE), cell(90, NONE, NONE),
                                        cell(70, 0, NONE), cell(80, 0, NONE)};

    (void)state;
    assert_shown(cells, 3, false, "90: 1, 60: 0, 60: 2");
    assert_shown(cells, 3, true, "150: 1 0, 60: 2");
    assert_shown(themes, 4, true, "90: 1, 80: 3, 70: 2, 60: 0");
}

/* The theme of the line with the most users, or none if that has none. */
static void near_wordings_share_a_theme(void **state)
{
    const fre_released_cell cells[] = {cell(60, 2, 3), cell(90, 2, 7), cell(80, 0, 7),
                                       cell(70, 1, 3)};
    const fre_released_cell alone[] = {cell(60, 2, 3), cell(90, 2, NONE), cell(50, 1, 3)};
    const fre_released_cell equal[] = {cell(60, 2, 3), cell(60, 2, 7), cell(50, 1, 7)};

    (void)state;
    assert_shown(cells, 4, true, "230: 1 2 0, 70: 3");
    assert_shown(cells, 4, false, "150: 1 0, 80: 2, 70: 3");
    assert_shown(alone, 3, true, "90: 1, 60: 0, 50: 2");
    assert_shown(equal, 3, true, "120: 0 1, 50: 2");
}

/* Equal lines in the order of the release; of equal groups the one with the larger line first. */
static void ties_have_an_order(void **state)
{
    const fre_released_cell lines[] = {cell(50, 1, 5), cell(50, 0, 5), cell(50, 1, 5),
                                       cell(50, 0, 5)};
    const fre_released_cell groups[] = {cell(50, 0, 1), cell(50, 0, 1), cell(70, 1, 2),
                                        cell(30, 1, 2), cell(100, NONE, NONE)};

    (void)state;
    assert_shown(lines, 4, false, "100: 0 2, 100: 1 3");
    assert_shown(lines, 4, true, "200: 0 1 2 3");
    assert_shown(groups, 5, false, "100: 4, 100: 2 3, 100: 0 1");
    assert_shown(groups, 5, true, "100: 4, 100: 2 3, 100: 0 1");
}

static void themes_are_those_of_levels(void **state)
{
    fre_release r = {.n_levels = 1, .level = {{.name = "grid"}}};

    (void)state;
    assert_false(fre_release_has_themes(&r));
    r.n_levels = 2;
    assert_true(fre_release_has_themes(&r));
    r.n_levels = 1;
    r.level[0].sketch = (fre_sketch_spec){FRE_SKETCH_CODEBOOK, .codebook = {.sha256 = {1}}};
    assert_true(fre_release_has_themes(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_of_no_lines),
        cmocka_unit_test(lines_of_a_group_stand_together),
        cmocka_unit_test(numbers_need_not_be_small),
        cmocka_unit_test(lines_of_no_group_stand_alone),
        cmocka_unit_test(near_wordings_share_a_theme),
        cmocka_unit_test(ties_have_an_order),
        cmocka_unit_test(themes_are_those_of_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
