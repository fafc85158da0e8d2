/* release/shown.c - a release as people read it: which lines stand together.
 *
 * Equal numbers are common (a count is a whole number, divided by one rate), so ties have an order: lines
 * that of the release, which is random, and groups that of their first lines. */
#include <fre/release.h>

#include <stdlib.h>

static int by_users(const void *a, const void *b)
{
    const fre_shown_line *x = a, *y = b;

    return x->users < y->users   ? 1
           : x->users > y->users ? -1
                                 : (x->cell > y->cell) - (x->cell < y->cell);
}

static int by_group(const void *a, const void *b)
{
    const fre_shown_line *x = a, *y = b;

    return x->of != y->of ? (x->of < y->of ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

static int larger_group(const void *a, const void *b)
{
    const fre_shown_line *x = a, *y = b;

    if (x->together < y->together || x->together > y->together)
        return x->together < y->together ? 1 : -1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Of lines by groups: near wordings share the theme of the one with the most users. */
static void take_themes(fre_shown_line *line, size_t n, const fre_released_cell *cell)
{
    uint32_t before = FRE_RELEASE_NONE;

    for (size_t i = 0; i < n; i++) {
        const uint32_t group = line[i].of;

        line[i].of = group != FRE_RELEASE_NONE && group == before ? line[i - 1].of
                                                                  : cell[line[i].cell].theme;
        before = group;
    }
}

/* Of lines by groups or themes. */
static void add_up(fre_shown_line *line, size_t n)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        double together = 0;

        for (end = begin; end < n && (end == begin || (line[end].of == line[begin].of &&
                                                       line[end].of != FRE_RELEASE_NONE));
             end++)
            together += line[end].users;
        for (size_t i = begin; i < end; i++) {
            line[i].first = line[begin].rank;
            line[i].n = end - begin;
            line[i].together = together;
        }
    }
}

void fre_release_show(fre_shown_line *out, const fre_released_cell *cell, size_t n, bool by_themes)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (fre_shown_line){.cell = i, .users = cell[i].users, .of = cell[i].group};
    qsort(out, n, sizeof *out, by_users);
    for (size_t i = 0; i < n; i++)
        out[i].rank = i;
    qsort(out, n, sizeof *out, by_group);
    if (by_themes) {
        take_themes(out, n, cell);
        qsort(out, n, sizeof *out, by_group);
    }
    add_up(out, n);
    qsort(out, n, sizeof *out, larger_group);
}
