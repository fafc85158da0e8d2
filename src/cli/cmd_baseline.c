/* cmd_baseline.c - other methods on the same texts, for comparison. */
#include "corpus_args.h"
#include "plan_args.h"
#include "release.h"
#include "search_args.h"
#include "survey.h"

#include <fre/baseline.h>

#include <stdlib.h>
#include <string.h>

/* In the order of fre_baseline_method. */
static const char *const methods[] = {"ldp-embedding", "ldp-oue", "central-dp", "aug-pe", NULL};

static const cli_positional positional[] = {
    {.name = "METHOD", .help = "what to compare with", .choices = methods},
    CLI_RECORDS_INPUT,
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("output", "DIR", .letter = 'o', .required = true,
             .help = "folder to make; it appears whole or not at all"),
    CLI_TEXT_FIELD,
    CLI_USER_FIELD,
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .required = true,
               .help = "privacy budget epsilon"),
    CLI_BUDGET_ARGS,
    CLI_HEADING("Output"),
    {.name = "dry-run", .kind = CLI_FLAG, .help = "check and plan; write nothing"},
    {.name = "force", .kind = CLI_FLAG, .help = "replace the folder if it exists"},
    {.name = "resume",
     .kind = CLI_FLAG,
     .help = "aug-pe: keep what was kept of each round beside DIR, and go on from it"},
    CLI_HEADING("Input"),
    CLI_FORMAT_ARGS,
    CLI_USER_ARGS,
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_INVERTER(", or none for centroids without texts"),
    CLI_SEARCH_ARGS,
    CLI_HEADING("Private evolution (aug-pe, by --language-model)"),
    CLI_COUNT("samples", "N", fre_baseline_param_samples, .help = "texts that are kept"),
    CLI_COUNT("rounds", "T", fre_baseline_param_rounds, .help = "votes, which share the budget"),
    CLI_COUNT("variations", "N", fre_baseline_param_variations,
              .help = "that the language model writes of each kept text, each round"),
    CLI_COUNT("look-ahead", "K", fre_baseline_param_look_ahead,
              .help = "variations by whose mean a text is judged; 0: by itself"),
    CLI_NUMBER("temperature", "T", fre_baseline_param_temperature,
               .help = "of the language model's sampling"),
    {.name = "prompt",
     .metavar = "TEXT",
     .kind = CLI_STRING,
     .help = "what the first texts are to be, of what anyone may know (default: messages about "
             "everyday topics)"},
    CLI_HEADING("Mechanism"),
    CLI_NUMBER("count-share", "S", fre_baseline_param_count_share, .word = "auto",
               .help =
                   "of the budget for counts: of epsilon with ldp-oue, of the squared signal to "
                   "noise with central-dp; auto is 0.8 and 0.25"),
    CLI_FILE("domain", "FILE",
             .help = "ldp-oue: texts that anyone may see, whose cells are those that users report "
                     "(default: the cells of the input, as in the article, and NOT PRIVATE)"),
    CLI_NUMBER("radius", "R", fre_param_radius,
               .help = "distance of embeddings that counts as similar"),
    CLI_COUNT("projection-dim", "K", fre_param_projection_dim,
              .help = "dimensions of the random projection"),
    CLI_NUMBER("cell-scale", "S", fre_param_cell_scale,
               .help = "edge of a cell in units of 2 radius/sqrt(projection-dim)"),
    CLI_CHOICE("adjacency", "A", cli_adjacencies, .preset = "add-remove",
               .help = "what neighbouring data sets differ in; a local report is protected "
                       "whatever it is replaced by"),
    CLI_NUMBER("norm-bound", "B", fre_param_norm_bound,
               .help = "norm of the longest embedding: longer ones are cut to it"),
    {.name = "seed",
     .metavar = "HEX",
     .kind = CLI_HEX32,
     .help = "1 to 64 hexadecimal digits; makes the run repeatable and NOT PRIVATE"},
};

#define OF_AUG_PE(flag)                                                                            \
    {flag, "METHOD", "ldp-embedding", "is about aug-pe"},                                          \
        {flag, "METHOD", "ldp-oue", "is about aug-pe"},                                            \
    {                                                                                              \
        flag, "METHOD", "central-dp", "is about aug-pe"                                            \
    }

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
    OF_AUG_PE("resume"),
    OF_AUG_PE("samples"),
    OF_AUG_PE("rounds"),
    OF_AUG_PE("variations"),
    OF_AUG_PE("look-ahead"),
    OF_AUG_PE("temperature"),
    OF_AUG_PE("prompt"),
    {"domain", "METHOD", "ldp-embedding", "is about ldp-oue"},
    {"domain", "METHOD", "central-dp", "is about ldp-oue"},
    {"domain", "METHOD", "aug-pe", "is about ldp-oue"},
    {"count-share", "METHOD", "aug-pe", "divides a budget that aug-pe spends on votes alone"},
    {"inverter", "METHOD", "aug-pe", "has no meaning here: a language model writes the texts"},
    {"count-share", "METHOD", "ldp-embedding", "divides a budget that ldp-embedding spends once"},
    {"adjacency", "METHOD", "ldp-embedding",
     "has no meaning here: a local report is protected whatever it is replaced by"},
};

static fre_baseline_method method_of(const cli *c)
{
    size_t i = 0;

    while (methods[i + 1] && strcmp(methods[i], c->positional[0]) != 0)
        i++;
    return (fre_baseline_method)i;
}

static void plan_from(fre_plan_request *q, const cli *c)
{
    q->epsilon = cli_number(c, "epsilon");
    q->delta = cli_number(c, "delta"); /* 0: auto */
    q->threshold = cli_whole(c, "threshold");
    q->population = cli_whole(c, "population");
    q->radius = cli_number(c, "radius");
    q->proj = (uint32_t)cli_whole(c, "projection-dim");
    q->cell_scale = cli_number(c, "cell-scale");
    q->adjacency = cli_choice(c, "adjacency") ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
    q->norm_bound = cli_number(c, "norm-bound");
}

static fre_status options_from(fre_baseline_opts *o, cli *c, fre_err *err)
{
    fre_status st;

    fre_baseline_opts_init(o);
    o->method = method_of(c);
    o->input = c->positional[1];
    o->output = cli_text(c, "output");
    if (strcmp(o->output, "-") == 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--output is a folder, which standard output is not: name one (./- if it "
                        "is to be called so)");
    o->force = cli_flag(c, "force");
    o->dry_run = cli_flag(c, "dry-run");
    o->resume = cli_flag(c, "resume");
    o->evolution = (fre_evolution_opts){.samples = (uint32_t)cli_whole(c, "samples"),
                                        .rounds = (uint32_t)cli_whole(c, "rounds"),
                                        .variations = (uint32_t)cli_whole(c, "variations"),
                                        .look_ahead = (uint32_t)cli_whole(c, "look-ahead"),
                                        .temperature = cli_number(c, "temperature"),
                                        .prompt = cli_text(c, "prompt")};
    st = cli_corpus_opts(&o->corpus, c, err);
    if (st == FRE_OK)
        st = cli_user_opts(&o->corpus, c, 1, err);
    if (st != FRE_OK)
        return st;
    o->user_file = cli_text(c, "user-file");
    plan_from(&o->plan, c);
    o->count_share = cli_number(c, "count-share");
    o->domain = cli_text(c, "domain");
    o->embedder = cli_text(c, "embedder");
    o->inverter = cli_text(c, "inverter");
    o->search = cli_search_opts(c);
    o->threads = c->threads;
    o->seeded = cli_given(c, "seed");
    memcpy(o->seed, cli_get(c, "seed")->bytes, sizeof o->seed);
    o->progress = &c->progress;
    return FRE_OK;
}

/* ---- results ------------------------------------------------------------------------------------ */

static json_t *plan_json(const fre_baseline_plan *p)
{
    return json_pack("{s:f, s:f, s:o, s:o, s:f, s:f, s:f}", "epsilon", p->epsilon, "delta",
                     p->delta, "count_epsilon",
                     p->count_epsilon > 0 ? json_real(p->count_epsilon) : json_null(),
                     "count_sigma", p->count_sigma > 0 ? json_real(p->count_sigma) : json_null(),
                     "sigma", p->sigma, "shift", p->shift, "delta_empty", p->delta_empty);
}

/* What the claim does not cover. */
static json_t *private_json(const fre_baseline_result *r)
{
    const fre_survey_counts *n = &r->input;

    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:[f, f, f]}", "input",
                     cli_input_json(&r->about), "records", (json_int_t)n->records, "users",
                     (json_int_t)n->users, "distinct", (json_int_t)n->distinct, "counted",
                     (json_int_t)n->counted, "invalid", (json_int_t)n->invalid, "domain",
                     (json_int_t)r->domain, "seconds", r->seconds[0], r->seconds[1], r->seconds[2]);
}

static json_t *results_json(const cli *c, const fre_baseline_result *r,
                            const fre_released_cell *const *list, size_t n)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:o, s:s, s:I, s:s, s:o, s:o, s:o}", "output",
                     cli_text(c, "output"), "method", c->positional[0], "dry_run", (int)r->dry_run,
                     "is_private", (int)r->release.is_private, "released",
                     r->dry_run ? json_null() : json_integer((json_int_t)r->release.n), "embedder",
                     r->embedder_name, "dimension", (json_int_t)r->release.grid.dim, "statement",
                     r->release.statement, "most_frequent", cli_cells_json(list, n), "plan",
                     plan_json(&r->plan), "not_for_publication", private_json(r));
}

static void print_results(const cli *c, const fre_baseline_result *r,
                          const fre_released_cell *const *list, size_t n)
{
    if (!r->dry_run)
        cli_print_cells(&r->release, list, n);
    cli_heading(stdout, "Privacy statement");
    cli_print_statement(r->release.statement);
    if (r->dry_run)
        printf("\nDry run: nothing was written.\n");
    else
        cli_print_files(cli_text(c, "output"),
                        "a line a cell: text, count, users, noise_norm, similarity",
                        "method, parameters, privacy statement, model hashes");
}

static void warn(const cli *c, const fre_baseline_result *r)
{
    if (r->release.n == 0 && !r->dry_run)
        cli_warn(c, "no cell was released: nowhere did what is left of the texts come together "
                    "often enough");
    if (!cli_names_users(c))
        cli_warn(c, "%s", CLI_RECORDS_ARE_USERS);
    if (cli_unknown_warning(&r->text))
        cli_warn(c, "(not for publication) %s", cli_unknown_warning(&r->text));
    if (cli_foreign_warning(&r->text))
        cli_warn(c, "(not for publication) %s", cli_foreign_warning(&r->text));
}

static fre_status run(cli *c, fre_err *err)
{
    const fre_released_cell **list = NULL;
    fre_baseline_opts o;
    fre_baseline_result *r = NULL;
    size_t n = 0;
    fre_status st = options_from(&o, c, err);

    if (st == FRE_OK)
        st = fre_baseline_run(&r, &o, err);
    fre_wipe(o.seed, sizeof o.seed);
    if (st != FRE_OK)
        return st;
    cli_progress_end();
    list = cli_most_frequent(&n, r->release.cell, r->release.n);
    if (!list)
        st = fre_fail(err, FRE_E_NOMEM,
                      "out of memory while showing the result; the release is complete");
    else if (c->json)
        st = cli_json_print(results_json(c, r, list, n), err);
    else if (!c->quiet)
        print_results(c, r, list, n);
    if (!c->quiet)
        cli_print_input(c, r->dry_run, &r->about, r->input.records - r->input.no_word,
                        r->input.empty + r->input.no_word, r->input.invalid);
    warn(c, r);
    free(list);
    fre_baseline_free(r);
    return st;
}

const cli_command cli_cmd_baseline = {
    .name = "baseline",
    .summary = "other methods on the same texts, to compare a release with",
    .about =
        "Makes a folder like that of synthesize by another method, with the same embedder, grid, "
        "threshold and inverter, so that evaluate can put them side by side.\n\n"
        "ldp-embedding: every user adds noise to their own embedding, and nobody need be trusted. "
        "ldp-oue: every user reports a cell by optimised unary encoding, and cells that seem "
        "frequent get a noisy sum. central-dp: a trusted curator adds noise to the count and the "
        "sum of every cell. aug-pe: a language model writes texts, users vote for the nearest, and "
        "what gets most votes, with noise, is varied and voted on again.\n\n"
        "release.json has the method's name and its own privacy statement. A baseline is a study: "
        "nothing is recorded in a ledger.",
    .example = CLI_PROGRAM " baseline central-dp texts.jsonl -o central --epsilon 4 \\\n"
                           "    --population 1000000\n" CLI_PROGRAM " evaluate central texts.jsonl",
    .positional = positional,
    .n_positional = 2,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
