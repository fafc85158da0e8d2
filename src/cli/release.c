/* release.c - a release on the terminal and in JSON. */
#include "release.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_TEXTS 20u
/* Of 144 texts that were read beside their originals, those below were wrong in 28 of 33 cases, those
 * above in 3 of 111. */
#define SIMILARITY_LOW 0.98
#define THEME_SIMILARITY_LOW 0.6
#define TEXT_LEAST 24 /* columns; shorter would not be recognised */

static const cli_column with_texts[] = {{.name = "count", .width = 6},
                                        {.name = "users", .width = 8},
                                        {.name = "similarity ", .width = 11},
                                        {.name = "text", .width = -TEXT_LEAST, .rest = true}};
static const cli_column without[] = {{.name = "count", .width = 6},
                                     {.name = "users", .width = 8},
                                     {.name = "text", .width = -15, .rest = true}};
#define WITH_TEXTS (sizeof with_texts / sizeof with_texts[0])
#define WITHOUT (sizeof without / sizeof without[0])

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

/* What stands in the place of a text. */
static void without_text(char *out, size_t cap, const fre_released_cell *cell, bool any_text)
{
    (void)snprintf(out, cap, "(%s)",
                   cell->text.unreadable ? cell->text.unreadable
                   : any_text            ? "no text was found"
                                         : "centroid only");
}

/* The text of a public cell is one of many wordings: it is near their mean, and never the same. */
static bool is_doubtful(const fre_released_cell *cell)
{
    const double low = cell->texts ? THEME_SIMILARITY_LOW : SIMILARITY_LOW;

    return cell->text.text != NULL && !(cell->text.similarity >= low);
}

#define SIMILARITY_BYTES 24

static void print_similarity(char out[SIMILARITY_BYTES], const fre_released_cell *cell)
{
    if (cell->text.text)
        (void)snprintf(out, SIMILARITY_BYTES, "%.3f%c", cell->text.similarity,
                       is_doubtful(cell) ? '?' : ' ');
    else
        (void)snprintf(out, SIMILARITY_BYTES, "- ");
}

/* One of the list, its text or what stands in its place; returns whether it is marked. */
static bool print_cell(const fre_released_cell *cell, bool any_text)
{
    const bool has_text = cell->text.text != NULL, is_low = is_doubtful(cell);
    char count[24], users[32], similarity[SIMILARITY_BYTES], instead[64];
    const cli_cell row[] = {
        {.text = count},
        {.text = users},
        {.text = similarity, .style = is_low ? CLI_YELLOW : CLI_PLAIN},
        {.text = has_text ? cell->text.text : instead, .style = has_text ? CLI_PLAIN : CLI_DIM}};
    const cli_cell bare[] = {row[0], row[1], row[3]};

    (void)snprintf(count, sizeof count, "%" PRIu64, cell->count);
    (void)snprintf(users, sizeof users, "%.0f", cell->users);
    print_similarity(similarity, cell);
    without_text(instead, sizeof instead, cell, any_text);
    if (any_text)
        cli_table_row(stdout, with_texts, WITH_TEXTS, row);
    else
        cli_table_row(stdout, without, WITHOUT, bare);
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

/* ---- by themes --------------------------------------------------------------------------------- */

#define SHOWN_THEMES 12u
#define SHOWN_OF_THEME 3u

static const cli_column of_themes[] = {{.name = "theme", .width = 7},
                                       {.name = "users", .width = 7},
                                       {.name = "similarity ", .width = 11},
                                       {.name = "text", .width = -TEXT_LEAST, .rest = true}};
#define OF_THEMES (sizeof of_themes / sizeof of_themes[0])

typedef struct theme {
    double users;
    size_t first, n; /* in the list sorted by themes */
} theme;

/* Themes together, in each the most frequent first. */
static int by_theme(const void *a, const void *b)
{
    const fre_released_cell *x = *(const fre_released_cell *const *)a;
    const fre_released_cell *y = *(const fre_released_cell *const *)b;

    if (x->theme != y->theme)
        return x->theme < y->theme ? -1 : 1;
    return x->users < y->users ? 1 : x->users > y->users ? -1 : (x > y) - (x < y);
}

static int larger_theme(const void *a, const void *b)
{
    const theme *x = a, *y = b;

    return x->users < y->users   ? 1
           : x->users > y->users ? -1
                                 : (x->first > y->first) - (x->first < y->first);
}

/* A text that is not near its centroid gives way to a public one that is near the cell's centre. */
static void print_of_theme(const fre_released_cell *cell, double users, bool any_text)
{
    const bool is_low = is_doubtful(cell), has_text = cell->text.text && !(is_low && cell->around);
    char whole[32] = "", own[32], similarity[SIMILARITY_BYTES], instead[400];
    const cli_cell row[] = {
        {.text = whole},
        {.text = own},
        {.text = similarity, .style = is_low ? CLI_YELLOW : CLI_PLAIN},
        {.text = has_text ? cell->text.text : instead, .style = has_text ? CLI_PLAIN : CLI_DIM}};

    if (users > 0)
        (void)snprintf(whole, sizeof whole, "%.0f", users);
    (void)snprintf(own, sizeof own, "%.0f", cell->users);
    print_similarity(similarity, cell);
    if (cell->around)
        (void)snprintf(instead, sizeof instead, "around: %s", cell->around);
    else
        without_text(instead, sizeof instead, cell, any_text);
    cli_table_row(stdout, of_themes, OF_THEMES, row);
}

static void print_theme(const fre_released_cell *const *list, const theme *t, bool any_text)
{
    const size_t shown = t->n < SHOWN_OF_THEME ? t->n : SHOWN_OF_THEME;

    for (size_t i = 0; i < shown; i++)
        print_of_theme(list[t->first + i], i == 0 ? t->users : 0, any_text);
    if (t->n > shown)
        printf("%*s  and %zu more\n", 31, "", t->n - shown);
}

static size_t group(theme *out, const fre_released_cell *const *list, size_t n)
{
    size_t themes = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i]->theme != list[i - 1]->theme)
            out[themes++] = (theme){.first = i};
        out[themes - 1].users += list[i]->users;
        out[themes - 1].n++;
    }
    qsort(out, themes, sizeof *out, larger_theme);
    return themes;
}

static double users_of(const fre_release *r, size_t level)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += r->cell[i].level == level ? r->cell[i].users : 0;
    return sum;
}

static void print_levels(const fre_release *r)
{
    char line[1200];
    size_t used = (size_t)snprintf(line, sizeof line, "%zu cells released:", r->n);

    for (size_t i = 0; i < r->n_levels && used < sizeof line; i++) {
        const bool grid = strcmp(r->level[i].name, "grid") == 0;

        used +=
            (size_t)snprintf(line + used, sizeof line - used, "%s %zu of %s", i > 0 ? "," : "",
                             r->level[i].cells, grid ? "the grid (wordings)" : r->level[i].name);
        if (r->level[i].cells > 0 && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " with %.0f users",
                                     users_of(r, i));
    }
    cli_wrap(stdout, line, 0, 0);
    putchar('\n');
}

static void print_themes(const fre_release *r, const fre_released_cell *const *all)
{
    const fre_released_cell **list = malloc((r->n + 1) * sizeof *list);
    theme *themes = calloc(r->n + 1, sizeof *themes);
    bool any_text = false;
    size_t n = 0;

    print_levels(r);
    if (!list || !themes || r->n == 0)
        goto out;
    for (size_t i = 0; i < r->n; i++) {
        list[i] = all[i];
        any_text = any_text || all[i]->text.text;
    }
    qsort(list, r->n, sizeof(const fre_released_cell *), by_theme);
    n = group(themes, list, r->n);
    cli_table_head(stdout, of_themes, OF_THEMES);
    for (size_t i = 0; i < n && i < SHOWN_THEMES; i++)
        print_theme(list, &themes[i], any_text);
    if (n > SHOWN_THEMES)
        printf("\nand %zu smaller themes\n", n - SHOWN_THEMES);
    putchar('\n');
    cli_wrap(stdout,
             "A line is what so many users write, as near to each other as the levels found them; "
             "lines of one theme stand together.",
             0, 0);
    putchar('\n');
out:
    free(list);
    free(themes);
}

/* ---- by counts --------------------------------------------------------------------------------- */

void cli_print_cells(const fre_release *r, const fre_released_cell *const *list, size_t shown)
{
    const size_t n = r->n;
    size_t marked = 0, texts = 0;

    if (r->n_levels > 1 || fre_release_codebook(r)) {
        print_themes(r, list);
        return;
    }

    printf("%zu %s released%s\n\n", n, n == 1 ? "cell" : "cells",
           n > shown   ? "; the most frequent:"
           : shown > 0 ? ":"
                       : "");
    if (shown == 0)
        return;
    for (size_t i = 0; i < shown; i++)
        texts += list[i]->text.text != NULL;
    if (texts > 0)
        cli_table_head(stdout, with_texts, WITH_TEXTS);
    else
        cli_table_head(stdout, without, WITHOUT);
    for (size_t i = 0; i < shown; i++)
        marked += print_cell(list[i], texts > 0);
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

static void print_file(const char *name, const char *what)
{
    cli_wrap(stdout, what, 19, (size_t)printf("  %s", name));
}

void cli_print_files(const char *folder, const char *lines, const char *parameters)
{
    fputs("\nFiles in ", stdout);
    (void)cli_print_safe(stdout, folder, 0);
    putchar('\n');
    print_file("synthetic.jsonl", lines);
    print_file("release.json", parameters);
    puts("  centroids.npy, counts.npy");
}
