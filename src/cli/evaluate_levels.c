/* evaluate_levels.c - an evaluation level by level, for people. */
#include "evaluate_output.h"

#include <inttypes.h>
#include <math.h>

#define COLUMNS_MAX 4u /* beside the level and a count */

/* A number of a level; NaN: it has none. */
typedef double number_fn(const fre_level_evaluation *l);

static double covered(const fre_level_evaluation *l)
{
    return l->covered;
}

static double centroid(const fre_level_evaluation *l)
{
    return l->centroid_l2;
}

static double text(const fre_level_evaluation *l)
{
    return l->text_l2;
}

static double exact(const fre_level_evaluation *l)
{
    return l->exact.any_folded;
}

static double precision(const fre_level_evaluation *l)
{
    return l->texts > 0 ? l->text.frequent.precision : (double)NAN;
}

static double recall(const fre_level_evaluation *l)
{
    return l->text.frequent.recall;
}

static double f1(const fre_level_evaluation *l)
{
    return l->text.frequent.f1;
}

static double label_precision(const fre_level_evaluation *l)
{
    return l->labels.precision;
}

static double label_recall(const fre_level_evaluation *l)
{
    return l->labels.recall;
}

static double purity(const fre_level_evaluation *l)
{
    return l->labels.purity;
}

static double nearest_text(const fre_level_evaluation *l)
{
    return l->labels.nearest_text;
}

static double nearest_centroid(const fre_level_evaluation *l)
{
    return l->labels.nearest_centroid;
}

static double nearest_mean(const fre_level_evaluation *l)
{
    return l->labels.nearest_mean;
}

static uint64_t cells_of(const fre_level_evaluation *l)
{
    return l->cells;
}

static uint64_t hits_of(const fre_level_evaluation *l)
{
    return l->labels.hit;
}

/* Columns: a count, where there is room for one, and numbers beside their references. */
typedef struct table {
    const char *counted; /* NULL: no count */
    uint64_t (*count)(const fre_level_evaluation *l);
    struct {
        const char *name;
        number_fn *number;
        bool unrelated; /* says nothing of unrelated texts where false */
    } column[COLUMNS_MAX];
    size_t n;
} table;

static void print_row(const fre_evaluation *e, const table *t, const cli_column *heads, size_t at)
{
    const size_t first = t->counted ? 2 : 1;
    char count[24], number[COLUMNS_MAX][CLI_BESIDE_BYTES];
    cli_cell row[COLUMNS_MAX + 2] = {{.text = e->level[at].name}, {.text = count}};

    if (t->counted)
        (void)snprintf(count, sizeof count, "%" PRIu64, t->count(&e->level[at]));
    for (size_t i = 0; i < t->n; i++) {
        double of[FRE_EVALUATE_REFERENCES];
        const double *beside[FRE_EVALUATE_REFERENCES] = {NULL};

        for (size_t k = 0; k < FRE_EVALUATE_REFERENCES; k++) {
            const bool is_unrelated = k == FRE_EVALUATE_REFERENCE(FRE_SET_UNRELATED);

            if (!e->has_level_reference[k] || (is_unrelated && !t->column[i].unrelated))
                continue;
            of[k] = t->column[i].number(&e->level_reference[k][at]);
            beside[k] = &of[k];
        }
        row[i + first].text = cli_put_beside(number[i], t->column[i].number(&e->level[at]), beside);
    }
    cli_table_row(stdout, heads, t->n + first, row);
}

static void print_table(const fre_evaluation *e, const table *t, const char *about)
{
    const size_t first = t->counted ? 2 : 1;
    cli_column heads[COLUMNS_MAX + 2] = {{.name = "level", .width = -8},
                                         {.name = t->counted, .width = 6}};

    for (size_t i = 0; i < t->n; i++)
        heads[i + first] = (cli_column){.name = t->column[i].name, .width = -15};
    fputc('\n', stdout);
    cli_wrap(stdout, about, 0, 0);
    cli_table_head(stdout, heads, t->n + first);
    for (size_t at = 0; at <= e->n_levels; at++)
        print_row(e, t, heads, at);
}

static const table of_cells = {
    "cells",
    cells_of,
    {{"covered", covered, false}, {"centroid", centroid, true}, {"text", text, true}},
    3};
static const table of_texts = {NULL,
                               NULL,
                               {{"exact", exact, true},
                                {"precision", precision, true},
                                {"recall", recall, true},
                                {"F1", f1, true}},
                               4};
static const table of_labels = {"labels",
                                hits_of,
                                {{"precision", label_precision, true},
                                 {"recall", label_recall, true},
                                 {"purity", purity, true}},
                                3};
static const table of_nearest = {"labels",
                                 hits_of,
                                 {{"text", nearest_text, true},
                                  {"centroid", nearest_centroid, true},
                                  {"mean", nearest_mean, true}},
                                 3};

static void print_labels(const fre_evaluation *e)
{
    char about[400];

    (void)snprintf(about, sizeof about,
                   "Labels: %" PRIu64 ", of them %" PRIu64 " with at least %" PRIu64
                   " originals. How many are more than half of a cell; share of cells that have "
                   "one such, and of labels that are; share of originals with their cell's most "
                   "frequent label.",
                   e->labels, e->frequent_labels, e->threshold);
    print_table(e, &of_labels, about);
    print_table(e, &of_nearest,
                "Share of cells whose text, centroid and mean of originals lie nearest to the mean "
                "of their most frequent label.");
}

void cli_print_evaluation_levels(const fre_evaluation *e)
{
    print_table(e, &of_cells,
                "By level: share of the originals in its cells; mean distance of centroid and text "
                "to the mean of their cell's originals. In brackets: of each cell the mean of its "
                "originals in one half, and one of these, beside those of the other half; and "
                "unrelated texts in their place.");
    if (e->level[e->n_levels].texts > 0)
        print_table(e, &of_texts,
                    "By level: share of its texts that are an original but for upper and lower "
                    "case; they against the frequent originals.");
    if (e->has_labels)
        print_labels(e);
}
