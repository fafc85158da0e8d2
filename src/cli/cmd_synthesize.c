/* cmd_synthesize.c - private texts in, private synthetic texts out. */
#include "corpus_args.h"
#include "paraphrase_args.h"
#include "plan_args.h"
#include "plan_output.h"
#include "release.h"
#include "report_file.h"
#include "search_args.h"
#include "survey.h"

#include <fre/curator.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const cli_positional positional[] = {
    CLI_RECORDS_INPUT,
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("output", "DIR", .letter = 'o', .required = true,
             .help = "folder to make; it appears whole or not at all"),
    CLI_TEXT_FIELD,
    CLI_USER_FIELD,
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .word = "inf", .required = true,
               .help = "privacy budget epsilon; inf: no noise, NOT PRIVATE"),
    CLI_BUDGET_ARGS,
    CLI_HEADING("Output"),
    {.name = "dry-run", .kind = CLI_FLAG, .help = "check and plan; write nothing"},
    {.name = "force", .kind = CLI_FLAG, .help = "replace the folder, and the report, if they exist"},
    CLI_REPORT,
    {.name = "resume",
     .kind = CLI_FLAG,
     .help = "keep an encrypted spool and its key beside DIR and go on from it"},
    CLI_HEADING("Input"),
    CLI_FORMAT_ARGS,
    CLI_USER_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "cells a user may count in, one record in each"),
    CLI_HEADING("Bookkeeping"),
    CLI_FILE("ledger", "FILE",
             .help = "where the budget spent on this data is recorded, or none (default: "
                     "fre-e2t/ledger.json in the user's state folder)"),
    CLI_NUMBER("budget-epsilon", "E", fre_ledger_param_budget_epsilon,
               .help = "refuse to spend more on this data, now and later"),
    CLI_NUMBER("budget-delta", "D", fre_ledger_param_budget_delta,
               .help = "refuse to spend more on this data, now and later"),
    {.name = "data-name",
     .metavar = "NAME",
     .kind = CLI_STRING,
     .help = "the ledger's name for this data: the same whatever it holds, and other data than "
             "those that merely overlap"},
    CLI_HEADING("Paraphrases"),
    CLI_COUNT("texts-per-cell", "N", fre_curator_param_texts,
              .help = "with --levels: further texts typical of a public cell, at most"),
    CLI_NUMBER("min-confidence", "C", fre_curator_param_confidence,
               .help = "leave out the cells whose text is less sure to say what somebody said"),
    CLI_COUNT("paraphrases", "N", fre_curator_param_paraphrases,
              .help = "further texts for each cell, at most"),
    CLI_PARAPHRASE_TEMPERATURE,
    CLI_PARAPHRASE_DISTANCE,
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_INVERTER(", or none for centroids without texts"),
    CLI_FILE("codebook", "FILE",
             .help =
                 "GGUF file of public cells for --levels (default: the one beside the embedder)"),
    CLI_SEARCH_ARGS,
    CLI_HEADING("Mechanism"),
    CLI_MECHANISM_ARGS,
    {.name = "seed",
     .metavar = "HEX",
     .kind = CLI_HEX32,
     .help = "1 to 64 hexadecimal digits; makes the run repeatable byte for byte and NOT PRIVATE"},
};

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
    {"budget-epsilon", "ledger", "none", "needs a ledger: leave out --ledger none"},
    {"budget-delta", "ledger", "none", "needs a ledger: leave out --ledger none"},
    {"data-name", "ledger", "none", "needs a ledger: leave out --ledger none"},
    {"texts-per-cell", "levels", "grid", "is about public cells: add --levels auto"},
    {"codebook", "levels", "grid", "is for levels of public cells: add --levels auto"},
    {"temperature", "paraphrases", "0", "is about paraphrases: add --paraphrases N"},
    {"paraphrase-distance", "paraphrases", "0", "is about paraphrases: add --paraphrases N"},
};

/* On a terminal, whose data this is is asked.  An empty answer: the same, which costs no privacy. */
static bool ask_same_data(void *ctx, const fre_ledger_overlap *older)
{
    char line[16] = "", share[FRE_PERCENT_BYTES];

    (void)ctx;
    fre_percent(share, older->share);
    cli_progress_end();
    fprintf(stderr, "About %s of this data is also in ", share);
    if (older->name[0]) {
        fputc('\'', stderr);
        cli_print_safe(stderr, older->name, 0);
        fputs("', ", stderr);
    }
    fprintf(stderr, "data released on %.10s.\nDo both cost the same people's budget? [Y/n] ",
            older->date);
    (void)fflush(stderr);
    return !fgets(line, sizeof line, stdin) || (line[0] != 'n' && line[0] != 'N');
}

static bool can_ask(const cli *c)
{
    return !c->quiet && !c->json && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static bool without_ledger(const cli *c)
{
    return cli_given(c, "ledger") && strcmp(cli_text(c, "ledger"), "none") == 0;
}

static bool is_blank(const char *s)
{
    return s && s[strspn(s, " \t\r\n")] == '\0';
}

static fre_status check_together(const cli *c, fre_err *err)
{
    if (strcmp(cli_text(c, "output"), "-") == 0)
        return fre_fail(
            err, FRE_E_USAGE,
            "--output is a folder, which standard output is not: name one (./- if it is "
            "to be called so)");
    if (is_blank(cli_text(c, "data-name")))
        return fre_fail(err, FRE_E_USAGE, "--data-name is empty: give the data a name");
    if (cli_whole(c, "paraphrases") > 0 && !fre_inverter_writes_text(cli_text(c, "inverter")))
        return fre_fail(err, FRE_E_USAGE, "--paraphrases needs texts: leave out --inverter none");
    return FRE_OK;
}

static bool by_levels(const cli *c)
{
    return strcmp(cli_text(c, "levels"), "grid") != 0;
}

static cli_survey survey_of(const cli *c, const fre_curator_stats *s)
{
    return (cli_survey){.records = s->records,
                        .users = s->users,
                        .distinct = s->distinct,
                        .wordless = s->wordless,
                        .counted = s->counted,
                        .repeated_texts = s->repeated_texts,
                        .repeated_records = s->repeated_records,
                        .threshold = cli_whole(c, "threshold"),
                        .by_levels = by_levels(c)};
}

static void show_survey(void *ctx, const fre_curator_stats *stats)
{
    const cli *c = ctx;
    const cli_survey s = survey_of(c, stats);

    cli_survey_print(c, &s);
}

static fre_status options_from(fre_curator_opts *o, cli *c, fre_err *err)
{
    const fre_paraphraser_opts paraphrases = cli_paraphrase_opts(c);
    fre_status st = check_together(c, err);

    if (st != FRE_OK)
        return st;
    fre_curator_opts_init(o);
    st = cli_plan_request(&o->plan, c, err);
    if (st != FRE_OK)
        return st;
    o->input = c->positional[0];
    o->output = cli_text(c, "output");
    st = cli_corpus_opts(&o->corpus, c, err);
    if (st == FRE_OK)
        st = cli_user_opts(&o->corpus, c, cli_whole(c, "max-cells-per-user"), err);
    o->user_file = cli_text(c, "user-file");
    if (st != FRE_OK)
        return st;
    o->embedder = cli_text(c, "embedder");
    o->inverter = cli_text(c, "inverter");
    o->codebook = cli_text(c, "codebook");
    o->search = cli_search_opts(c);
    o->texts_per_cell = (uint32_t)cli_whole(c, "texts-per-cell");
    o->min_confidence = cli_given(c, "min-confidence") ? cli_number(c, "min-confidence") : 0;
    o->paraphrases = paraphrases.paraphrases;
    o->temperature = paraphrases.temperature;
    o->paraphrase_distance = paraphrases.distance;
    o->threads = c->threads;
    o->resume = cli_flag(c, "resume");
    o->dry_run = cli_flag(c, "dry-run");
    o->force = cli_flag(c, "force");
    o->ledger = without_ledger(c) ? NULL : cli_text(c, "ledger");
    o->ledger_default = !cli_given(c, "ledger");
    o->data_name = cli_text(c, "data-name");
    o->same_data = can_ask(c) ? ask_same_data : NULL;
    o->budget_epsilon = cli_number(c, "budget-epsilon");
    o->budget_delta = cli_number(c, "budget-delta");
    o->seeded = cli_given(c, "seed");
    memcpy(o->seed, cli_get(c, "seed")->bytes, sizeof o->seed);
    o->progress = &c->progress;
    o->looked = show_survey;
    o->looked_ctx = c;
    return FRE_OK;
}

/* ---- warnings ------------------------------------------------------------------------------- */

#define WARNINGS_MAX (FRE_PLAN_WARNINGS_MAX + 12u)
#define FEW 10u /* cells of a release by levels; so many are a thin one */

typedef struct warnings {
    const char *text[WARNINGS_MAX];
    size_t n, n_public, n_shown; /* those from n_public on tell something of the input; those from
                                    n_shown on were said before the budget was spent */
    char leftover[FRE_ERR_BYTES], left_out[FRE_ERR_BYTES];
} warnings;

static void add_warning(warnings *w, bool applies, const char *text)
{
    if (applies && w->n < WARNINGS_MAX)
        w->text[w->n++] = text;
}

static void collect_warnings(warnings *w, const cli *c, const fre_curator_result *r)
{
    const fre_curator_stats *s = &r->stats;
    const cli_survey looked = survey_of(c, s);
    const size_t released = r->release.n + r->release.left_out;
    const bool nothing = released == 0;
    bool no_noise = cli_get(c, "epsilon")->is_word;

    w->n = 0;
    for (size_t i = 0; i < r->plan.n_warnings; i++)
        add_warning(w, true, r->plan.warnings[i]);
    add_warning(w, isinf(fre_plan_certified_epsilon(&r->plan)) && !no_noise,
                "NOT PRIVATE: no accountant but the paper's stands behind this plan; raise "
                "--sensitivity-ratio, or leave out --accountant paper");
    add_warning(w, !r->release.is_private && cli_given(c, "seed"),
                "NOT PRIVATE: with --seed whoever knows the seed can undo the noise");
    add_warning(w, nothing && !r->dry_run, fre_release_no_cell(&r->release));
    add_warning(w, nothing && !r->dry_run && !by_levels(c), "--levels auto finds themes too");
    add_warning(w, released > 0 && released < FEW && by_levels(c),
                "few cells were released: a lower --threshold finds smaller groups, and a codebook "
                "made of public text near what your users write (model codebook) finds narrower "
                "ones");
    if (r->release.left_out > 0)
        (void)snprintf(w->left_out, sizeof w->left_out,
                       "%zu of %zu released cells are left out: their texts have a confidence "
                       "below --min-confidence",
                       r->release.left_out, released);
    add_warning(w, r->release.left_out > 0, w->left_out);
    add_warning(w, !cli_names_users(c), CLI_RECORDS_ARE_USERS);
    add_warning(w, r->ledger_warning[0] != '\0' && !r->dry_run, r->ledger_warning);
    if (r->resume_left)
        (void)snprintf(w->leftover, sizeof w->leftover,
                       "an interrupted run left '%.300s.*': add --resume to go on from there, or "
                       "delete these files",
                       r->resume_left);
    add_warning(w, r->resume_left != NULL, w->leftover);
    w->n_public = w->n;
    add_warning(w, r->ledger_note[0] != '\0', r->ledger_note);
    add_warning(w, cli_unknown_warning(&s->text) != NULL, cli_unknown_warning(&s->text));
    add_warning(w, cli_foreign_warning(&s->text) != NULL, cli_foreign_warning(&s->text));
    add_warning(w, s->text.truncated > 0,
                "some texts are longer than what the embedder reads and were truncated");
    w->n_shown = w->n;
    add_warning(w, cli_survey_warning(&looked) != NULL, cli_survey_warning(&looked));
}

/* What a dry run cannot know. */
#define LEDGER_LATER "The ledger compares embeddings only in the run: a budget may still refuse it."

/* ---- results ------------------------------------------------------------------------------------------ */

static void print_results(const cli *c, const fre_curator_result *r,
                          const fre_released_cell *const *list, size_t n)
{
    const char *dir = cli_text(c, "output");

    if (r->dry_run) {
        cli_plan_print(stdout, &r->plan);
        putchar('\n');
    } else {
        cli_print_cells(&r->release, list, n);
    }
    if (r->release.statement) {
        cli_heading(stdout, "Privacy statement");
        cli_print_statement(r->release.statement);
    }
    if (r->dry_run) {
        printf("\nDry run: nothing was written.\n");
        if (!without_ledger(c))
            puts(LEDGER_LATER);
        return;
    }
    cli_print_files(dir, "a line a cell: text, count, users, confidence, group",
                    "parameters, privacy statement, model hashes");
    if (cli_given(c, "report"))
        cli_report_print(c, "report");
}

/* The ledger is the curator's own business: where it lies and what else was released. */
static json_t *ledger_json(const fre_curator_result *r)
{
    const fre_ledger_sum *s = &r->receipt.sum;

    if (!r->recorded)
        return json_null();
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o}", "file", r->ledger, "entry",
                     r->receipt.id, "releases", (json_int_t)s->releases, "epsilon",
                     cli_json_real(s->epsilon), "delta", cli_json_real(s->delta), "budget_epsilon",
                     cli_budget_json(s->budget_epsilon), "budget_delta",
                     cli_budget_json(s->budget_delta));
}

/* A dry run did not measure it. */
static json_t *measured(const fre_curator_result *r, uint64_t count)
{
    return r->dry_run ? json_null() : json_integer((json_int_t)count);
}

static json_t *seconds_json(const fre_curator_result *r)
{
    const double *t = r->seconds;

    return json_pack("{s:o, s:o, s:o}", "embedding", r->dry_run ? json_null() : json_real(t[0]),
                     "counting", r->dry_run ? json_null() : json_real(t[1]), "inversion",
                     r->dry_run ? json_null() : json_real(t[2]));
}

/* What is not covered by the claim: exact counts, how long they took, warnings about texts. */
static json_t *private_json(const fre_curator_result *r, const warnings *w)
{
    const fre_curator_stats *s = &r->stats;

    return json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, "
        "s:o, s:o}",
        "input", cli_input_json(&r->input), "records", (json_int_t)(s->records - s->text.empty),
        "users", (json_int_t)s->users, "counted", (json_int_t)s->counted, "repeated_texts",
        (json_int_t)s->repeated_texts, "repeated_records", (json_int_t)s->repeated_records,
        "contributed", measured(r, s->contributed), "distinct", (json_int_t)s->distinct, "empty",
        (json_int_t)(s->empty + s->text.empty), "invalid", (json_int_t)s->invalid, "truncated",
        measured(r, s->text.truncated), "unknown", (json_int_t)s->text.unknown, "foreign",
        measured(r, s->text.foreign), "cells", measured(r, s->cells), "seconds", seconds_json(r),
        "ledger", ledger_json(r), "warnings",
        cli_texts_json(w->text + w->n_public, w->n - w->n_public));
}

/* NULL: out of memory (json_pack fails on a NULL part, and frees the others). */
static json_t *results_json(const cli *c, const fre_curator_result *r,
                            const fre_released_cell *const *list, size_t n, const warnings *w)
{
    const char *later = r->dry_run && !without_ledger(c) ? LEDGER_LATER : NULL;

    return json_pack("{s:s, s:s?, s:b, s:s?, s:b, s:o, s:s, s:I, s:s?, s:o, s:o, s:o, s:o}",
                     "output", cli_text(c, "output"), "report", cli_text(c, "report"), "dry_run", (int)r->dry_run, "dry_run_note", later,
                     "is_private", (int)r->release.is_private, "released",
                     r->dry_run ? json_null() : json_integer((json_int_t)r->release.n), "embedder",
                     r->embedder_name, "dimension", (json_int_t)r->release.grid.dim, "statement",
                     r->release.statement, "most_frequent", cli_cells_json(list, n), "plan",
                     cli_plan_json(&r->plan), "warnings", cli_texts_json(w->text, w->n_public),
                     "not_for_publication", private_json(r, w));
}

static void print_stats(const cli *c, const fre_curator_result *r)
{
    const fre_curator_stats *s = &r->stats;

    if (c->quiet || r->dry_run)
        return;
    cli_fold(stderr, 4,
             "Not for publication: %" PRIu64 " record%s read, %" PRIu64 " distinct, %" PRIu64
             " empty and %" PRIu64 " of unknown tokens skipped, %" PRIu64 " invalid, %" PRIu64
             " truncated; %" PRIu64
             " occupied cell%s.\nSeconds: %.1f embedding, %.1f counting, %.1f inversion.",
             s->records - s->text.empty, cli_plural(s->records - s->text.empty), s->distinct,
             s->empty + s->text.empty, s->text.unknown, s->invalid, s->text.truncated, s->cells,
             cli_plural(s->cells), r->seconds[0], r->seconds[1], r->seconds[2]);
}

/* Without a budget nothing is ever refused, so it is said what has come together. */
static void print_spent(const cli *c, const fre_curator_result *r)
{
    const fre_ledger_sum *s = &r->receipt.sum;
    char epsilon[FRE_DIGITS_BYTES], delta[FRE_DIGITS_BYTES];

    if (c->quiet || !r->recorded)
        return;
    cli_fold(stderr, 4,
             CLI_PROGRAM " %s: this data has now spent epsilon %s, delta %s in %zu release%s (%s)",
             c->command->name, fre_digits_up(epsilon, 6, s->epsilon),
             fre_digits_up(delta, 4, s->delta), s->releases, cli_plural(s->releases), r->ledger);
}

/* Of the folder that is complete by now, whatever becomes of its report. */
static fre_status write_report(fre_outfile **report, const cli *c, fre_err *err)
{
    const fre_report_opts o = {.release = cli_text(c, "output"), .threads = c->threads};
    const fre_status st = cli_report_write(report, NULL, c, &o, "report", err);

    if (st != FRE_OK)
        cli_warn(c, "'%s' is complete all the same", cli_text(c, "output"));
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    const fre_released_cell **list = NULL;
    fre_curator_opts opts;
    fre_curator_result *r = NULL;
    fre_outfile *report = NULL;
    warnings w;
    size_t n = 0;
    fre_status st = options_from(&opts, c, err);

    if (st == FRE_OK)
        st = cli_report_open(&report, c, "report", err);
    if (st == FRE_OK)
        st = fre_curator_synthesize(&r, &opts, err);
    fre_wipe(opts.seed, sizeof opts.seed);
    if (st != FRE_OK)
        goto out;
    cli_progress_end();
    if (!r->dry_run)
        st = write_report(&report, c, err);
    if (st != FRE_OK)
        goto out;
    list = cli_most_frequent(&n, r->release.cell, r->release.n);
    if (!list) {
        st = fre_fail(err, FRE_E_NOMEM,
                      "out of memory while showing the result; the release is "
                      "complete");
        goto out;
    }
    collect_warnings(&w, c, r);
    if (c->json)
        st = cli_json_print(results_json(c, r, list, n, &w), err);
    else if (!c->quiet)
        print_results(c, r, list, n);
    if (!c->json)
        print_stats(c, r);
    if (!c->quiet)
        cli_print_input(c, r->dry_run, &r->input, r->stats.records - r->stats.text.empty,
                        r->stats.empty + r->stats.text.empty, r->stats.invalid);
    print_spent(c, r);
    for (size_t i = 0; i < w.n_shown; i++)
        cli_warn(c, "%s%s", i < w.n_public ? "" : "(not for publication) ", w.text[i]);
out:
    free(list);
    fre_outfile_free(report);
    fre_curator_result_free(r);
    return st;
}

const cli_command cli_cmd_synthesize = {
    .name = "synthesize",
    .summary = "make private synthetic texts from a file of private texts",
    .about = "Reads texts, finds those that many users share, and writes synthetic texts for them "
             "under differential privacy: the privacy statement in release.json says exactly what "
             "is claimed. Nothing else of the input is kept.\n\n"
             "Choose --population as a public upper bound on the number of users and --threshold "
             "as the number of similar texts that makes one frequent; the rest follows from the "
             "budget.",
    .example = CLI_PROGRAM " synthesize texts.csv --text-field message -o release \\\n"
                           "    --epsilon 4 --threshold 100 --population 1000000",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
