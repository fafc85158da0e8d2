/* cmd_evaluate.c - how near a synthetic set is to the originals.  Not a private output. */
#include "corpus_args.h"

#include <fre/evaluate.h>
#include <fre/privacy.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const cli_positional positional[] = {
    {.name = "SYNTHETIC", .help = "a release's folder, its synthetic.jsonl, or any file of texts"},
    {.name = "ORIGINAL", .help = "the private texts (as synthesize reads them), or a .npy"},
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_TEXT_FIELD,
    CLI_COUNT("threshold", "T", fre_param_threshold,
              .help = "how many similar texts make a frequent one"),
    CLI_NUMBER("radius", "R", fre_param_radius,
               .help = "distance of embeddings that counts as similar"),
    {.name = "public",
     .kind = CLI_FLAG,
     .help = "the originals are public: no warning that the result is not private"},
    CLI_HEADING("Evaluation"),
    CLI_FILE("release", "DIR",
             .help = "folder with release.json and centroids.npy, for the levels of centroids and "
                     "cells (default: SYNTHETIC, when that is a folder)"),
    CLI_NUMBER("alpha", "A", fre_evaluate_param_alpha,
               .help = "a text is found when one lies within A times R"),
    CLI_HEADING("Originals"),
    CLI_FORMAT_ARGS,
    {.name = "label-field",
     .metavar = "F",
     .kind = CLI_STRING,
     .help = "key or column with a record's label (its topic, say): how purely the released cells "
             "hold one, level by level"},
    CLI_FILE("embeddings", "X.npy",
             .help =
                 "a row for each record of ORIGINAL, as embed made them (default: embed again)"),
    CLI_HEADING("Model"),
    CLI_EMBEDDER,
    CLI_FILE("codebook", "FILE",
             .help = "public cells of a release by levels (default: the embedder's)"),
};

static const cli_column columns[] = {
    {.name = "level", .width = -11},   {.name = "against", .width = -8},
    {.name = "precision", .width = 9}, {.name = "recall", .width = 8},
    {.name = "F1", .width = 8},        {.name = "L2", .width = 8}};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void print_row(const char *level, const char *reference, const fre_scores *s)
{
    const double value[] = {s->precision, s->recall, s->f1, s->l2};
    char number[4][24];
    cli_cell cell[COLUMNS] = {{.text = level}, {.text = reference}};

    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(number[i], sizeof number[i], isfinite(value[i]) ? "%.3f" : "-", value[i]);
        cell[2 + i].text = number[i];
    }
    cli_table_row(stdout, columns, COLUMNS, cell);
}

static void print_level(const char *name, const fre_level_scores *l)
{
    print_row(name, "frequent", &l->frequent);
    print_row("", "all", &l->all);
}

static void print_share(const char *what, double share)
{
    if (isfinite(share))
        cli_fold(stdout, 4, "  %5.1f %% %s", 100.0 * share, what);
}

/* ---- level by level ---------------------------------------------------------------------------- */

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

static void print_levels(const fre_evaluation *e)
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

static void print_result(const fre_evaluation *e)
{
    char text[300];

    (void)snprintf(text, sizeof text,
                   "originals %" PRIu64 " (%" PRIu64 " distinct), frequent %" PRIu64 " (%" PRIu64
                   " distinct): at least %" PRIu64 " within %g",
                   e->originals, e->distinct, e->frequent, e->frequent_distinct, e->threshold,
                   e->radius);
    cli_wrap(stdout, text, 0, 0);
    printf("synthetic texts %" PRIu64, e->synthetic);
    if (e->paraphrases > 0)
        printf(", paraphrases %" PRIu64, e->paraphrases);
    printf(", centroids %" PRIu64 "\n\n", e->centroids);
    cli_table_head(stdout, columns, COLUMNS);
    if (e->has_text)
        print_level("text", &e->text);
    if (e->has_paraphrased)
        print_level("paraphrased", &e->paraphrased);
    if (e->has_centroid)
        print_level("centroid", &e->centroid);
    if (e->has_cell) {
        print_level("cell", &e->cell.scores);
        cli_fold(stdout, 4,
                 "\ncells: %" PRIu64 " of %" PRIu64 " frequent ones among %" PRIu64 " released",
                 e->cell.frequent_released, e->cell.frequent, e->cell.released);
    }
    if (e->n_levels > 0)
        print_levels(e);
    if (e->n_levels > 0 && e->has_labels)
        print_labels(e);
    if (!e->has_exact || e->synthetic == 0)
        return;
    printf("\nof the synthetic texts\n");
    print_share("are a frequent text, word for word", e->exact.frequent);
    print_share("are one but for upper and lower case", e->exact.frequent_folded);
    print_share("are some original, word for word", e->exact.any);
}

static void warn_about(const cli *c, const fre_evaluation *e)
{
    if (!cli_flag(c, "public"))
        cli_warn(c, "these numbers come from the originals without noise and are not private: "
                    "keep them where the originals are (--public: the originals are public)");
    if (cli_unknown_warning(&e->original_text))
        cli_warn(c, "%s", cli_unknown_warning(&e->original_text));
    if (cli_foreign_warning(&e->original_text))
        cli_warn(c, "%s", cli_foreign_warning(&e->original_text));
    if (e->frequent == 0)
        cli_warn(c, "no original is frequent: there is nothing to find, so those numbers are "
                    "undefined; lower --threshold or raise --radius");
    if (e->release_threshold > 0 &&
        (e->release_threshold != e->threshold || fabs(e->release_radius - e->radius) > 0.0))
        cli_warn(c,
                 "the release was made with --radius %g --threshold %" PRIu64
                 ", this evaluation uses %g and %" PRIu64,
                 e->release_radius, e->release_threshold, e->radius, e->threshold);
}

static fre_status print_json(const fre_evaluation *e, fre_err *err)
{
    fre_buf text;
    json_t *o = NULL;

    fre_buf_init(&text, (size_t)1 << 16);
    if (fre_evaluation_json(&text, e) == FRE_OK)
        o = json_loadb((const char *)text.p, text.n, 0, NULL);
    fre_buf_wipe(&text);
    return cli_json_print(o, err);
}

static fre_status run(cli *c, fre_err *err)
{
    fre_evaluate_opts o;
    fre_evaluation e;
    fre_status st;

    fre_evaluate_opts_init(&o);
    o.synthetic = c->positional[0];
    o.original = c->positional[1];
    o.release = cli_text(c, "release");
    o.embeddings = cli_text(c, "embeddings");
    st = cli_corpus_opts(&o.corpus, c, err);
    if (st != FRE_OK)
        return st;
    o.corpus.label_field = cli_text(c, "label-field");
    o.embedder = cli_text(c, "embedder");
    o.codebook = cli_text(c, "codebook");
    o.radius = cli_number(c, "radius");
    o.threshold = cli_whole(c, "threshold");
    o.alpha = cli_number(c, "alpha");
    o.threads = c->threads;
    o.progress = &c->progress;
    st = fre_evaluate_files(&e, &o, err);
    cli_progress_end();
    if (st != FRE_OK)
        return st;
    if (!c->quiet)
        cli_print_input(c, false, &e.input, e.originals, e.empty, e.invalid);
    warn_about(c, &e);
    if (c->json)
        return print_json(&e, err);
    print_result(&e);
    return FRE_OK;
}

const cli_command cli_cmd_evaluate = {
    .name = "evaluate",
    .summary = "compare synthetic texts with the originals",
    .about = "Precision: the share of synthetic texts near some original; recall: the share of "
             "originals near some synthetic text; L2: the mean distance from a synthetic text to "
             "the nearest original. Against the frequent originals (at least --threshold texts "
             "within --radius, itself included) and against all, for the texts, the noisy "
             "centroids and the cells of a release. A release is also scored level by level. Where "
             "texts have paraphrases, they count at a "
             "level of their own, \"paraphrased\": texts and paraphrases as one set.\n\n"
             "The result is computed on the originals and is NOT private.",
    .example = CLI_PROGRAM " evaluate release texts.csv --text-field message",
    .positional = positional,
    .n_positional = 2,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
