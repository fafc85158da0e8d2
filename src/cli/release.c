/* release.c - a release on the terminal and in JSON. */
#include "release.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_TEXTS 20u

static int larger_count(const void *a, const void *b)
{
    const fre_released_cell *x = *(const fre_released_cell *const *)a;
    const fre_released_cell *y = *(const fre_released_cell *const *)b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    /* Equal counts in the order of the release, which is random. */
    return x < y ? -1 : x > y;
}

const fre_released_cell **cli_most_frequent(size_t *shown, const fre_released_cell *cell, size_t n)
{
    const fre_released_cell **list = calloc(n + 1, sizeof *list);

    if (!list)
        return NULL;
    for (size_t i = 0; i < n; i++)
        list[i] = &cell[i];
    qsort(list, n, sizeof(const fre_released_cell *), larger_count);
    *shown = n < SHOWN_TEXTS ? n : SHOWN_TEXTS;
    return list;
}

void cli_print_cells(const fre_released_cell *const *list, size_t shown, size_t n)
{
    printf("%zu %s released%s\n\n", n, n == 1 ? "cell" : "cells",
           n > shown    ? "; the most frequent:"
           : shown > 0 ? ":"
                       : "");
    if (shown == 0)
        return;
    printf("%8s %9s  %s\n", "count", "users", "text");
    for (size_t i = 0; i < shown; i++) {
        printf("%8" PRIu64 " %9.0f  ", list[i]->count, list[i]->users);
        cli_print_safe(stdout, list[i]->text.text ? list[i]->text.text : "(centroid only)",
                       CLI_WIDTH - 21);
        putchar('\n');
    }
    putchar('\n');
}

static json_t *cell_json(const fre_released_cell *cell)
{
    return json_pack("{s:s?, s:I, s:o, s:o}", "text", cell->text.text, "count",
                     (json_int_t)cell->count, "users", cli_json_real(cell->users), "noise_norm",
                     cli_json_real(cell->noise_norm));
}

json_t *cli_cells_json(const fre_released_cell *const *list, size_t shown)
{
    json_t *o = json_array();
    int bad = 0;

    for (size_t i = 0; o && i < shown; i++)
        bad |= json_array_append_new(o, cell_json(list[i]));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

void cli_print_statement(const char *statement)
{
    while (*statement) {
        const size_t n = strcspn(statement, "\n");
        char *line = strndup(statement, n);

        if (line)
            cli_wrap(stdout, line, 2, 0);
        free(line);
        statement += n + (statement[n] == '\n');
    }
}
