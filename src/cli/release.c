/* release.c - a release on the terminal and in JSON. */
#include "release.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_TEXTS 20u
#define TEXT_LEAST 24 /* columns; shorter would not be recognised */

static const cli_column without[] = {{.name = "count", .width = 6},
                                     {.name = "users", .width = 8},
                                     {.name = "text", .width = -15, .rest = true}};
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

static bool is_weak(const fre_released_cell *cell)
{
    return cell->text.text && cell->text.confidence.known &&
           cell->text.confidence.same < FRE_SHOWN_WEAK;
}

/* ---- without texts ----------------------------------------------------------------------------- */

static void print_bare(const fre_released_cell *cell)
{
    char count[24], users[32], instead[64];
    const cli_cell row[] = {{.text = count}, {.text = users}, {.text = instead, .style = CLI_DIM}};

    (void)snprintf(count, sizeof count, "%" PRIu64, cell->count);
    (void)snprintf(users, sizeof users, "%.0f", cell->users);
    without_text(instead, sizeof instead, cell, false);
    cli_table_row(stdout, without, WITHOUT, row);
}

/* ---- by groups or themes ------------------------------------------------------------------------- */

#define CONFIDENCE_BYTES 24

static void print_confidence(char out[CONFIDENCE_BYTES], const fre_released_cell *cell)
{
    if (cell->text.text && cell->text.confidence.known)
        (void)snprintf(out, CONFIDENCE_BYTES, "%.2f%c", cell->text.confidence.same,
                       is_weak(cell) ? '?' : ' ');
    else
        (void)snprintf(out, CONFIDENCE_BYTES, "- ");
}

/* A line of a group, its users before the first (else 0).  A text far from what it was written for gives way
 * to a public one that is near the cell's centre.  Returns whether it is marked. */
static bool print_line(const cli_column *columns, size_t n, const fre_released_cell *cell,
                       double users, bool any_text)
{
    const bool weak = is_weak(cell),
               has_text =
                   cell->text.text && !(cell->text.similarity < FRE_SHOWN_FAR && cell->around);
    char whole[32] = "", own[32], confidence[CONFIDENCE_BYTES], instead[400];
    const cli_cell row[] = {{.text = whole},
                            {.text = own},
                            {.text = confidence, .style = weak ? CLI_DIM : CLI_PLAIN},
                            {.text = has_text ? cell->text.text : instead,
                             .style = has_text && !weak ? CLI_PLAIN : CLI_DIM}};

    if (users > 0)
        (void)snprintf(whole, sizeof whole, "%.0f", users);
    (void)snprintf(own, sizeof own, "%.0f", cell->users);
    print_confidence(confidence, cell);
    if (cell->around)
        (void)snprintf(instead, sizeof instead, "around: %s", cell->around);
    else
        without_text(instead, sizeof instead, cell, any_text);
    cli_table_row(stdout, columns, n, row);
    return weak;
}

static bool has_texts(const fre_release *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->cell[i].text.text || r->cell[i].text.unreadable)
            return true;
    return false;
}

/* Returns how many of the lines are marked. */
static size_t print_groups(const fre_release *r, const fre_shown_line *line)
{
    const bool themes = fre_release_has_themes(r);
    const cli_column columns[] = {{.name = themes ? "theme" : "group", .width = 7},
                                  {.name = "users", .width = 7},
                                  {.name = "confidence ", .width = 11},
                                  {.name = "text", .width = -TEXT_LEAST, .rest = true}};
    const size_t n_columns = sizeof columns / sizeof columns[0];
    const bool any_text = has_texts(r);
    size_t marked = 0, groups = 0;

    cli_table_head(stdout, columns, n_columns);
    for (size_t i = 0; i < r->n; i += line[i].n, groups++) {
        if (groups >= FRE_SHOWN_GROUPS)
            continue;
        for (size_t k = 0; k < line[i].n && k < FRE_SHOWN_LINES; k++)
            marked += print_line(columns, n_columns, &r->cell[line[i + k].cell],
                                 k == 0 ? line[i].together : 0, any_text);
        if (line[i].n > FRE_SHOWN_LINES)
            printf("%*s  and %zu more\n", 31, "", line[i].n - FRE_SHOWN_LINES);
    }
    if (groups > FRE_SHOWN_GROUPS)
        printf("\nand %zu smaller %s\n", groups - FRE_SHOWN_GROUPS, themes ? "themes" : "groups");
    putchar('\n');
    return marked;
}

static void print_notes(const fre_release *r, size_t marked)
{
    const bool themes = fre_release_has_themes(r);

    if (marked > 0)
        cli_wrap(stdout, themes ? FRE_SHOWN_MARK_THEMES "." : FRE_SHOWN_MARK ".", 0, 0);
    cli_wrap(stdout,
             themes
                 ? "A line is what so many users write, as near to each other as the levels found "
                   "them; lines of one theme stand together."
                 : "A line is a wording or a few close ones; near wordings stand together, their "
                   "users added up in the first column.",
             0, 0);
    putchar('\n');
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

static void print_grouped(const fre_release *r)
{
    fre_shown_line *line = calloc(r->n + 1, sizeof *line);

    if (line && r->n > 0) {
        fre_release_show(line, r->cell, r->n, fre_release_has_themes(r));
        print_notes(r, print_groups(r, line));
    }
    free(line);
}

void cli_print_cells(const fre_release *r, const fre_released_cell *const *list, size_t shown)
{
    const size_t n = r->n;
    const bool any_text = has_texts(r);

    if (fre_release_has_themes(r)) {
        print_levels(r);
        print_grouped(r);
        return;
    }
    cli_fold(stdout, 0, "%zu %s released%s\n", n, n == 1 ? "cell" : "cells",
             any_text    ? "; groups of near wordings, the largest first:"
             : n > shown ? "; the most frequent:"
             : n > 0     ? ":"
                         : "");
    if (any_text) {
        print_grouped(r);
        return;
    }
    if (n == 0)
        return;
    cli_table_head(stdout, without, WITHOUT);
    for (size_t i = 0; i < shown; i++)
        print_bare(list[i]);
    putchar('\n');
}

static json_t *confidence_json(const fre_confidence *c, double value)
{
    return c->known ? cli_json_real(value) : json_null();
}

static json_t *cell_json(const fre_released_cell *cell)
{
    const fre_confidence *sure = &cell->text.confidence;

    return json_pack(
        "{s:s?, s:s*, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "text", cell->text.text, "unreadable",
        cell->text.unreadable, "count", (json_int_t)cell->count, "users",
        cli_json_real(cell->users), "noise_norm", cli_json_real(cell->noise_norm), "similarity",
        cell->text.text ? cli_json_real(cell->text.similarity) : json_null(), "confidence",
        confidence_json(sure, sure->same), "confidence_exact", confidence_json(sure, sure->exact),
        "group",
        cell->group == FRE_RELEASE_NONE ? json_null() : json_integer((json_int_t)cell->group));
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
