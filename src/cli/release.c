/* release.c - a release on the terminal and in JSON. */
#include "release.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_TEXTS 20u
/* Of 144 texts that were read beside their originals, those below were wrong in 28 of 33 cases, those
 * above in 3 of 111. */
#define SIMILARITY_LOW 0.98

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

/* The text, or what stands in its place. */
static void print_text(const fre_released_cell *cell, bool any_text, size_t columns)
{
    const char *why = cell->text.unreadable ? cell->text.unreadable
                      : any_text            ? "no text was found"
                                            : "centroid only";
    char instead[64];

    (void)snprintf(instead, sizeof instead, "(%s)", why);
    if (cell->text.text)
        (void)cli_print_safe(stdout, cell->text.text, columns);
    else
        cli_styled(stdout, CLI_DIM, instead);
    putchar('\n');
}

/* Returns whether it is marked. */
static bool print_similarity(const fre_released_cell *cell)
{
    const bool is_low = cell->text.text && !(cell->text.similarity >= SIMILARITY_LOW);
    char number[16];

    (void)snprintf(number, sizeof number, "%10.3f", cell->text.similarity);
    if (!cell->text.text)
        printf("  %10s ", "-");
    else if (!is_low)
        printf("  %s ", number);
    else {
        fputs("  ", stdout);
        cli_styled(stdout, CLI_YELLOW, number);
        cli_styled(stdout, CLI_YELLOW, "?");
    }
    return is_low;
}

static void print_notes(size_t texts, size_t marked)
{
    char text[200];

    if (marked > 0) {
        (void)snprintf(text, sizeof text,
                       "? may be wrong: the text's embedding is not near the released mean, or the "
                       "noise on it is large (similarity below %g).",
                       SIMILARITY_LOW);
        cli_wrap(stdout, text, 0, 0);
    }
    if (texts > 1)
        cli_wrap(stdout,
                 "A line is a wording or a few close ones: what people want may be spread over "
                 "several lines, so that no single count is all of it.",
                 0, 0);
    if (marked > 0 || texts > 1)
        putchar('\n');
}

void cli_print_cells(const fre_released_cell *const *list, size_t shown, size_t n)
{
    size_t marked = 0, texts = 0, used;

    printf("%zu %s released%s\n\n", n, n == 1 ? "cell" : "cells",
           n > shown   ? "; the most frequent:"
           : shown > 0 ? ":"
                       : "");
    if (shown == 0)
        return;
    for (size_t i = 0; i < shown; i++)
        texts += list[i]->text.text != NULL;
    used = texts > 0 ? 33 : 20; /* columns before the text */
    cli_heading(stdout,
                texts > 0 ? "   count     users  similarity   text" : "   count     users  text");
    for (size_t i = 0; i < shown; i++) {
        printf("%8" PRIu64 " %9.0f", list[i]->count, list[i]->users);
        if (texts > 0)
            marked += print_similarity(list[i]);
        fputs("  ", stdout);
        print_text(list[i], texts > 0, cli_columns(stdout) - used - 1);
    }
    putchar('\n');
    print_notes(texts, marked);
}

static json_t *cell_json(const fre_released_cell *cell)
{
    return json_pack("{s:s?, s:s*, s:I, s:o, s:o, s:o}", "text", cell->text.text, "unreadable",
                     cell->text.unreadable, "count", (json_int_t)cell->count, "users",
                     cli_json_real(cell->users), "noise_norm", cli_json_real(cell->noise_norm),
                     "similarity",
                     cell->text.text ? cli_json_real(cell->text.similarity) : json_null());
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

void cli_print_files(const char *folder)
{
    fputs("\nFiles in ", stdout);
    (void)cli_print_safe(stdout, folder, 0);
    putchar('\n');
}
