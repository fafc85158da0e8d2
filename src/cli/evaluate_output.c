/* evaluate_output.c - evaluations for people: numbers with their references in brackets. */
#include "evaluate_output.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CELL_BYTES CLI_BESIDE_BYTES

/* Which number of a set is shown; NaN: it has none. */
typedef double number_fn(const fre_evaluation *e, fre_evaluate_set at);

/* ---- a number and its references ------------------------------------------------------------------- */

/* Of as many real texts, of as many unrelated ones. */
static const char *put_beside(char out[CELL_BYTES], const fre_evaluation *e, fre_evaluate_set at,
                              number_fn *number)
{
    const double v = e->has[at] ? number(e, at) : (double)NAN;
    double of[FRE_EVALUATE_REFERENCES];
    const double *beside[FRE_EVALUATE_REFERENCES] = {NULL};

    for (fre_evaluate_set set = FRE_SET_HALVES; set <= FRE_SET_UNRELATED; set++) {
        const size_t i = FRE_EVALUATE_REFERENCE(set);

        if (!e->has[set])
            continue;
        of[i] = number(e, set);
        beside[i] = &of[i];
    }
    return cli_put_beside(out, v, beside);
}

/* ---- scores -------------------------------------------------------------------------------------------- */

static double precision_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.frequent.precision;
}

static double recall_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.frequent.recall;
}

static double f1_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.frequent.f1;
}

static double l2_of(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.frequent.l2;
}

static double precision_all(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.all.precision;
}

static double recall_all(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.all.recall;
}

static double f1_all(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.all.f1;
}

static double l2_all(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].scores.all.l2;
}

static const cli_column score_columns[] = {{.name = "", .width = -9},
                                           {.name = "precision", .width = -15},
                                           {.name = "recall", .width = -15},
                                           {.name = "F1", .width = -15},
                                           {.name = "L2", .width = -15}};
enum { SCORE_COLUMNS = sizeof score_columns / sizeof *score_columns };

static const char *const level_names[] = {"text", "rephrased", "centroid"};
enum { LEVELS = sizeof level_names / sizeof *level_names };

static const fre_scores *cell_scores(const fre_cell_scores *c, bool frequent)
{
    return frequent ? &c->scores.frequent : &c->scores.all;
}

/* i: precision, recall, F1, L2. */
static const double *score_at(const fre_scores *s, size_t i)
{
    const double *const at[] = {&s->precision, &s->recall, &s->f1, &s->l2};

    return at[i];
}

static void print_cell_row(const fre_evaluation *e, bool frequent)
{
    char number[4][CELL_BYTES];
    cli_cell cell[SCORE_COLUMNS] = {{.text = "cell"}};

    for (size_t i = 0; i < 4; i++) {
        const double *beside[FRE_EVALUATE_REFERENCES] = {NULL};

        for (size_t k = 0; k < FRE_EVALUATE_REFERENCES; k++)
            if (e->has[FRE_SET_HALVES + (int)k])
                beside[k] = score_at(cell_scores(&e->cell_reference[k], frequent), i);
        cell[i + 1].text =
            cli_put_beside(number[i], *score_at(cell_scores(&e->cell, frequent), i), beside);
    }
    cli_table_row(stdout, score_columns, SCORE_COLUMNS, cell);
}

/* number: of its four columns. */
static void print_scores(const fre_evaluation *e, const char *title, number_fn *const number[4],
                         bool frequent)
{
    fputc('\n', stdout);
    cli_heading(stdout, title);
    cli_table_head(stdout, score_columns, SCORE_COLUMNS);
    for (int at = 0; at < LEVELS; at++) {
        char text[4][CELL_BYTES];
        cli_cell row[SCORE_COLUMNS] = {{.text = level_names[at]}};

        if (!e->has[at])
            continue;
        for (size_t i = 0; i < 4; i++)
            row[i + 1].text = put_beside(text[i], e, (fre_evaluate_set)at, number[i]);
        cli_table_row(stdout, score_columns, SCORE_COLUMNS, row);
    }
    if (e->has_cell)
        print_cell_row(e, frequent);
}

/* ---- the rest ------------------------------------------------------------------------------------------- */

static double near_frequent(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].frequent.mean;
}

static double near_infrequent(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].infrequent.mean;
}

static double ssp_10(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].ssp[0][9]; /* psi = 1 */
}

static double ssp_100(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->place[at].ssp[1][9];
}

static double self_bleu(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].diversity.self_bleu : (double)NAN;
}

static double distinct_1(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].diversity.distinct[0] : (double)NAN;
}

static double distinct_2(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].diversity.distinct[1] : (double)NAN;
}

static double distinct_3(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].diversity.distinct[2] : (double)NAN;
}

static double duplicates(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].diversity.duplicates_folded : (double)NAN;
}

static double words_mean(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].words.mean : (double)NAN;
}

static double words_sd(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_texts[at] ? e->texts[at].words.sd : (double)NAN;
}

static double mauve_mean(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->mauve[at].size > 0 ? e->mauve[at].mean : (double)NAN;
}

static double mauve_sd(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->mauve[at].size > 0 ? e->mauve[at].sd : (double)NAN;
}

static double median_nll(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_language && e->has_texts[at] ? e->texts[at].language.median_nll : (double)NAN;
}

static double natural(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_language && e->has_texts[at] ? e->texts[at].language.natural : (double)NAN;
}

static double mean_perplexity(const fre_evaluation *e, fre_evaluate_set at)
{
    return e->has_language && e->has_texts[at] ? e->texts[at].language.mean_perplexity
                                               : (double)NAN;
}

static const struct {
    const char *what;
    number_fn *number;
} rows[] = {
    {"distance of a frequent original to it", near_frequent},
    {"distance of an infrequent one to it", near_infrequent},
    {"rare originals (t = 10) within r of it", ssp_10},
    {"rare originals (t = 100) within r of it", ssp_100},
    {"MAUVE", mauve_mean},
    {"MAUVE, deviation over seeds", mauve_sd},
    {"Self-BLEU", self_bleu},
    {"distinct words", distinct_1},
    {"distinct pairs of words", distinct_2},
    {"distinct triples of words", distinct_3},
    {"duplicates but for case", duplicates},
    {"words a text", words_mean},
    {"words a text, deviation", words_sd},
    {"median NLL a token", median_nll},
    {"texts of NLL at most 6", natural},
    {"mean perplexity", mean_perplexity},
};

/* Two sets side by side: the texts, and their paraphrases with them or else the centroids. */
static void print_rest(const fre_evaluation *e)
{
    const fre_evaluate_set second =
        e->has[FRE_SET_PARAPHRASED] ? FRE_SET_PARAPHRASED : FRE_SET_CENTROID;
    const cli_column columns[] = {{.name = "", .width = -40},
                                  {.name = "text", .width = -16},
                                  {.name = level_names[second], .width = -16}};
    enum { N = sizeof columns / sizeof *columns };

    if (!e->has[FRE_SET_TEXT] && !e->has[FRE_SET_CENTROID])
        return;
    fputc('\n', stdout);
    cli_table_head(stdout, columns, N);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2][CELL_BYTES];
        const cli_cell row[N] = {{.text = rows[i].what},
                                 {.text = put_beside(text[0], e, FRE_SET_TEXT, rows[i].number)},
                                 {.text = put_beside(text[1], e, second, rows[i].number)}};

        if (strcmp(text[0], "-") != 0 || strcmp(text[1], "-") != 0)
            cli_table_row(stdout, columns, N, row);
    }
}

static void print_accuracy(const char *what, uint64_t n, const fre_mean_sd *m)
{
    char name[64];

    if (!isfinite(m->mean))
        return;
    (void)snprintf(name, sizeof name, "%s%" PRIu64, what, n);
    cli_fold(stdout, 4, "  %-40s%.3f +- %.3f", n > 0 ? name : what, m->mean, m->sd);
}

static void print_classification(const fre_evaluation *e)
{
    static const char *const trained[] = {
        "linear, trained on synthetic texts: ", "linear, on as many real texts: ",
        "linear, on real texts: "};
    const fre_classification *c = &e->classification;
    char title[120];

    if (!e->has_classification)
        return;
    fputc('\n', stdout);
    (void)snprintf(title, sizeof title, "Accuracy on %" PRIu64 " labels, over %u halves", c->labels,
                   FRE_EVALUATE_TRIALS);
    cli_heading(stdout, title);
    print_accuracy("the most frequent label, always", 0, &c->majority);
    for (size_t i = 0; i < FRE_EVALUATE_KS; i++)
        if (c->has_nearest[i])
            print_accuracy("vote of the nearest centroids: ", c->k[i], &c->nearest[i]);
    for (size_t i = 0; i < 3; i++)
        if (c->has_linear && c->trained[i] > 0)
            print_accuracy(trained[i], c->trained[i], &c->linear[i]);
}

static void print_share(const char *what, double share)
{
    if (isfinite(share))
        cli_fold(stdout, 4, "  %5.1f %% %s", 100.0 * share, what);
}

static void print_exact(const fre_evaluation *e)
{
    if (!e->has_exact || e->synthetic == 0)
        return;
    printf("\nof the synthetic texts\n");
    print_share("are a frequent text, word for word", e->exact.frequent);
    print_share("are one but for upper and lower case", e->exact.frequent_folded);
    print_share("are some original, word for word", e->exact.any);
}

static void print_missing(const fre_evaluation *e)
{
    char named[CLI_NAMED_BYTES];

    if (e->n_missing == 0)
        return;
    fputc('\n', stdout);
    cli_heading(stdout, "Not computed");
    for (size_t i = 0; i < e->n_missing; i++) {
        const int width = (int)strlen(e->missing[i].metric);

        printf("  %s: ", e->missing[i].metric);
        cli_wrap(stdout, cli_named(named, e->missing[i].why.text), 4, (size_t)width + 4);
    }
}

/* ---- releases side by side -------------------------------------------------------------------------- */

static const cli_column against_columns[] = {
    {.name = "release", .width = -24}, {.name = "", .width = -9},
    {.name = "number", .width = 6},    {.name = "precision", .width = 9},
    {.name = "recall", .width = 6},    {.name = "F1", .width = 6},
    {.name = "L2", .width = 6}};
enum { AGAINST_COLUMNS = sizeof against_columns / sizeof *against_columns };

static void print_against_row(const char *name, const char *level, const fre_set_place *p)
{
    const double value[] = {p->scores.frequent.precision, p->scores.frequent.recall,
                            p->scores.frequent.f1, p->scores.frequent.l2};
    char number[AGAINST_COLUMNS][CELL_BYTES];
    cli_cell row[AGAINST_COLUMNS] = {{.text = name}, {.text = level}, {.text = number[2]}};

    (void)snprintf(number[2], CELL_BYTES, "%zu", p->members);
    for (size_t i = 0; i < 4; i++)
        row[3 + i].text = cli_put_plain(number[3 + i], value[i]);
    cli_table_row(stdout, against_columns, AGAINST_COLUMNS, row);
}

static void print_against(const fre_evaluation *e, size_t n)
{
    if (n == 1)
        return;
    fputc('\n', stdout);
    cli_heading(stdout, "Side by side, against the frequent originals");
    cli_table_head(stdout, against_columns, AGAINST_COLUMNS);
    for (size_t i = 0; i < n; i++)
        for (int at = 0; at < LEVELS; at++)
            if (e[i].has[at])
                print_against_row(e[i].name, level_names[at], &e[i].place[at]);
    if (e[0].has[FRE_SET_HALVES])
        print_against_row("real texts", "", &e[0].place[FRE_SET_HALVES]);
    if (e[0].has[FRE_SET_UNRELATED])
        print_against_row("unrelated texts", "", &e[0].place[FRE_SET_UNRELATED]);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static void print_counts(const fre_evaluation *e)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   "originals %" PRIu64 " (%" PRIu64 " distinct), frequent %" PRIu64 " (%" PRIu64
                   " distinct): at least %" PRIu64 " within %g",
                   e->originals, e->distinct, e->frequent, e->frequent_distinct, e->threshold,
                   e->radius);
    cli_wrap(stdout, text, 0, 0);
    printf("synthetic texts %" PRIu64, e->synthetic);
    if (e->paraphrases > 0)
        printf(", paraphrases %" PRIu64, e->paraphrases);
    printf(", centroids %" PRIu64 "\n", e->centroids);
    (void)snprintf(text, sizeof text,
                   "In brackets: what up to %" PRIu64
                   " real texts of one half have beside the other "
                   "half, and as many that have nothing to do with them%s%s.",
                   e->reference_size, e->reference_source[0] ? ", from " : "", e->reference_source);
    cli_wrap(stdout, text, 0, 0);
}

void cli_print_evaluation(const fre_evaluation *e, size_t n)
{
    static number_fn *const frequent[] = {precision_of, recall_of, f1_of, l2_of};
    static number_fn *const all[] = {precision_all, recall_all, f1_all, l2_all};

    print_counts(e);
    print_scores(e, "Against the frequent originals", frequent, true);
    print_scores(e, "Against all originals", all, false);
    if (e->has_cell)
        cli_fold(stdout, 4,
                 "\ncells: %" PRIu64 " of %" PRIu64 " frequent ones among %" PRIu64 " released",
                 e->cell.frequent_released, e->cell.frequent, e->cell.released);
    print_rest(e);
    print_classification(e);
    if (e->n_levels > 0)
        cli_print_evaluation_levels(e);
    print_exact(e);
    print_against(e, n);
    print_missing(e);
}
