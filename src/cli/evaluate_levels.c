/* evaluate_levels.c - an evaluation level by level, for people. */
#include "evaluate_output.h"

#include <inttypes.h>
#include <math.h>

#define CELL_BYTES 16u

static const char *put_number(char out[CELL_BYTES], double v)
{
    (void)snprintf(out, CELL_BYTES, isfinite(v) ? "%.3f" : "-", v);
    return out;
}

static const char *put_count(char out[CELL_BYTES], uint64_t n)
{
    (void)snprintf(out, CELL_BYTES, "%" PRIu64, n);
    return out;
}

static void print_labels(const fre_evaluation *e)
{
    static const cli_column heads[] = {
        {.name = "level", .width = -8},    {.name = "labels", .width = 6},
        {.name = "precision", .width = 9}, {.name = "recall", .width = 6},
        {.name = "purity", .width = 6},    {.name = "text", .width = 6},
        {.name = "centroid", .width = 8},  {.name = "mean", .width = 6}};
    enum { N = sizeof heads / sizeof *heads };
    char text[500];

    (void)snprintf(text, sizeof text,
                   "Labels: %" PRIu64 ", of them %" PRIu64 " with at least %" PRIu64
                   " originals. How many are more than half of a cell; share of cells that "
                   "have one such, and of labels that are; share of originals with their cell's "
                   "most frequent label; share of cells whose text, centroid and mean of originals "
                   "lie nearest to that label's mean.",
                   e->labels, e->frequent_labels, e->threshold);
    fputc('\n', stdout);
    cli_wrap(stdout, text, 0, 0);
    cli_table_head(stdout, heads, N);
    for (size_t i = 0; i <= e->n_levels; i++) {
        const fre_label_scores *l = &e->level[i].labels;
        char of[N][CELL_BYTES];
        const cli_cell row[N] = {{.text = e->level[i].name},
                                 {.text = put_count(of[1], l->hit)},
                                 {.text = put_number(of[2], l->precision)},
                                 {.text = put_number(of[3], l->recall)},
                                 {.text = put_number(of[4], l->purity)},
                                 {.text = put_number(of[5], l->nearest_text)},
                                 {.text = put_number(of[6], l->nearest_centroid)},
                                 {.text = put_number(of[7], l->nearest_mean)}};

        cli_table_row(stdout, heads, N, row);
    }
}

void cli_print_evaluation_levels(const fre_evaluation *e)
{
    static const cli_column heads[] = {
        {.name = "level", .width = -8},  {.name = "cells", .width = 6},
        {.name = "covered", .width = 8}, {.name = "centroid", .width = 8},
        {.name = "text", .width = 6},    {.name = "exact", .width = 6},
        {.name = "P", .width = 6},       {.name = "R", .width = 6},
        {.name = "F1", .width = 6}};
    enum { N = sizeof heads / sizeof *heads };

    fputc('\n', stdout);
    cli_wrap(stdout,
             "By level: share of the originals in its cells; mean distance of centroid and text "
             "to the mean of their cell's originals; share of texts that are an original but for "
             "upper and lower case; its texts against the frequent originals.",
             0, 0);
    cli_table_head(stdout, heads, N);
    for (size_t i = 0; i <= e->n_levels; i++) {
        const fre_level_evaluation *l = &e->level[i];
        const fre_scores none = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
        const fre_scores *s = e->level[e->n_levels].texts > 0 ? &l->text.frequent : &none;
        char of[N][CELL_BYTES];
        const cli_cell row[N] = {{.text = l->name},
                                 {.text = put_count(of[1], l->cells)},
                                 {.text = put_number(of[2], l->covered)},
                                 {.text = put_number(of[3], l->centroid_l2)},
                                 {.text = put_number(of[4], l->text_l2)},
                                 {.text = put_number(of[5], l->exact.any_folded)},
                                 {.text = put_number(of[6], s->precision)},
                                 {.text = put_number(of[7], s->recall)},
                                 {.text = put_number(of[8], s->f1)}};

        cli_table_row(stdout, heads, N, row);
    }
    if (e->has_labels)
        print_labels(e);
}
