/* cmd_simulate.c - a whole collection, clients and servers, in one process. */
#include "compare_levels.h"
#include "corpus_args.h"
#include "plan_args.h"
#include "plan_output.h"
#include "release.h"
#include "search_args.h"
#include "survey.h"

#include <fre/simulate.h>

#include <inttypes.h>
#include <string.h>

#ifdef FRE_HAVE_SERVE
#include <fre/rehearsal.h>
static const char *const transports[] = {"memory", "http", NULL};
#else
static const char *const transports[] = {"memory", NULL};
#endif

static const cli_positional positional[] = {
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
    {.name = "compare",
     .kind = CLI_FLAG,
     .help = "with a curator who has the same users on the same grid, and with the exact sums"},
    CLI_COMPARE_LEVELS_ARGS,
    {.name = "force", .kind = CLI_FLAG, .help = "replace the folder if it exists"},
    CLI_HEADING("Users and network"),
    CLI_COUNT("users", "N", fre_simulate_param_users,
              .help = "clients: a random subset of the input's users, or all of them and then "
                      "some drawn again (default: all of them)"),
    CLI_CHOICE("transport", "T", transports, .preset = "memory",
               .help =
                   "how messages travel: within this process, or (http) over TLS to four servers "
                   "that run as processes on this machine, in real time"),
    CLI_NUMBER("dropout-rate", "R", fre_simulate_param_dropout_rate,
               .help =
                   "of clients who get tags and never send their entries; --contacts two: who are "
                   "listed and never answer"),
    CLI_NUMBER("duplicate-rate", "R", fre_simulate_param_duplicate_rate,
               .help = "of messages that arrive twice"),
    CLI_NUMBER("loss-rate", "R", fre_simulate_param_loss_rate,
               .help = "of messages lost on the way there or back, and sent again"),
    CLI_HEADING("Input"),
    CLI_FORMAT_ARGS,
    CLI_USER_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_simulate_param_max_cells_per_user,
              .help = "cells a user may count in, one record in each"),
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_INVERTER(", or none for centroids without texts"),
    CLI_SEARCH_ARGS,
    CLI_HEADING("Distributed mode"),
    CLI_COLLECTION_ARGS("one", "1", "0.1"),
    CLI_MAX_DUMMIES,
    CLI_HEADING("Mechanism"),
    CLI_MECHANISM_ARGS,
    {.name = "seed",
     .metavar = "HEX",
     .kind = CLI_HEX32,
     .help = "1 to 64 hexadecimal digits; makes the release repeatable and NOT PRIVATE"},
};

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
    CLI_COMPARE_LEVELS_RULES,
};

static cli_survey survey_of(const fre_survey_counts *n, uint64_t threshold)
{
    return (cli_survey){.records = n->records,
                        .users = n->users,
                        .distinct = n->distinct,
                        .wordless = n->no_word + n->unknown,
                        .counted = n->counted,
                        .repeated_texts = n->repeated_texts,
                        .repeated_records = n->repeated_records,
                        .threshold = threshold};
}

static void show_survey(void *ctx, const fre_survey_counts *counts)
{
    const cli *c = ctx;
    const cli_survey s = survey_of(counts, cli_whole(c, "threshold"));

    cli_survey_print(c, &s);
}

static fre_status options_from(fre_simulate_opts *o, cli *c, fre_err *err)
{
    fre_status st;

    fre_simulate_opts_init(o);
    st = cli_collection_request(&o->plan, c, err);
    if (st != FRE_OK)
        return st;
    o->input = c->positional[0];
    o->output = cli_text(c, "output");
    o->force = cli_flag(c, "force");
    st = cli_corpus_opts(&o->corpus, c, err);
    if (st == FRE_OK)
        st = cli_user_opts(&o->corpus, c, cli_whole(c, "max-cells-per-user"), err);
    o->user_file = cli_text(c, "user-file");
    if (st != FRE_OK)
        return st;
    o->embedder = cli_text(c, "embedder");
    o->inverter = cli_text(c, "inverter");
    o->search = cli_search_opts(c);
    o->users = cli_whole(c, "users"); /* 0: not given */
    o->dropout_rate = cli_number(c, "dropout-rate");
    o->duplicate_rate = cli_number(c, "duplicate-rate");
    o->loss_rate = cli_number(c, "loss-rate");
    o->compare = cli_flag(c, "compare");
    if (cli_given(c, "codebook") && o->plan.n_levels == 0 && !cli_given(c, "compare-levels"))
        return fre_fail(err, FRE_E_USAGE,
                        "--codebook has the public cells of --levels or of --compare-levels: add "
                        "one of them");
    o->compare_levels = cli_text(c, "compare-levels");
    o->codebook = cli_text(c, "codebook");
    o->threads = c->threads;
    o->seeded = cli_given(c, "seed");
    memcpy(o->seed, cli_get(c, "seed")->bytes, sizeof o->seed);
    o->progress = &c->progress;
    o->looked = show_survey;
    o->looked_ctx = c;
    return FRE_OK;
}

static double mean_bytes(uint64_t bytes, uint64_t clients)
{
    return clients ? (double)bytes / (double)clients : 0;
}

/* ---- for people --------------------------------------------------------------------------------- */

/* One column of names in every table. */
#define NAME 34
#define WIDE 12

static const cli_column legs[] = {{.name = "", .width = -(NAME - 1)},
                                  {.name = "who sent", .width = WIDE},
                                  {.name = "up", .width = WIDE - 1},
                                  {.name = "down", .width = WIDE - 1}};
#define LEGS (sizeof legs / sizeof legs[0])

static FRE_PRINTF(2, 3) void row(const char *name, const char *fmt, ...)
{
    char value[200];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    cli_fold(stdout, 6, "  %-*s %s", NAME, name, value);
}

static void print_leg(const char *name, uint64_t clients, double up, double down)
{
    char number[3][32];
    const cli_cell cell[] = {
        {.text = name}, {.text = number[0]}, {.text = number[1]}, {.text = number[2]}};

    (void)snprintf(number[0], sizeof number[0], "%" PRIu64, clients);
    (void)snprintf(number[1], sizeof number[1], "%.0f", up);
    (void)snprintf(number[2], sizeof number[2], "%.0f", down);
    cli_table_row(stdout, legs, LEGS, cell);
}

/* With one contact nobody answers. */
static size_t legs_of(const fre_simulation *s)
{
    return s->plan.mechanism.dist.one_contact ? FRE_SIMULATE_ANSWERS : FRE_SIMULATE_LEGS;
}

static void print_traffic(const fre_simulation *s)
{
    uint64_t up = 0, down = 0;
    char what[120];

    (void)snprintf(what, sizeof what, "(%" PRIu64 " user%s; messages alone, without the transport)",
                   s->users, cli_plural(s->users));
    cli_message(stdout, CLI_BOLD, "Bytes a user", what);
    cli_table_head(stdout, legs, LEGS);
    for (size_t i = 0; i < legs_of(s); i++) {
        const fre_simulate_traffic *t = &s->leg[i];

        up += t->up;
        down += t->down;
        print_leg(fre_simulate_leg_text((fre_simulate_leg)i), t->clients,
                  mean_bytes(t->up, t->clients), mean_bytes(t->down, t->clients));
    }
    print_leg("all, a user", s->users, mean_bytes(up, s->users), mean_bytes(down, s->users));
    row("between the roles", "%*" PRIu64 " messages, %.1f MiB", WIDE, s->server_messages,
        (double)s->server_bytes / 1048576);
    putchar('\n');
}

static void print_rejections(const char *role, const fre_tally *k)
{
    for (size_t i = 1; i < FRE_REJECTIONS; i++)
        if (k->rejected[i])
            row(role, "%*" PRIu64 " rejected as %s", WIDE, k->rejected[i],
                fre_rejection_text((fre_rejection)i));
}

static void print_counts(const fre_simulation *s)
{
    cli_heading(stdout, "Messages");
    if (s->role_kib[FRE_ROLE_TAG] > 0) /* its process tells nobody how many it made */
        row("dummy reports", "%*.0f expected by the plan", WIDE, s->plan.expected_dummies);
    else
        row("dummy reports", "%*" PRIu64 " sent; the plan expects %.0f", WIDE, s->padding,
            s->plan.expected_dummies);
    row("silent users", "%*" PRIu64, WIDE, s->silent);
    row("lost messages", "%*" PRIu64, WIDE, s->lost);
    row("repeated messages", "%*" PRIu64, WIDE, s->repeated);
    if (s->refused)
        row("refused users", "%*" PRIu64, WIDE, s->refused);
    print_rejections("relay", &s->tally[FRE_ROLE_RELAY]);
    print_rejections("issuer", &s->tally[FRE_ROLE_ISSUER]);
    print_rejections("tagging server", &s->tally[FRE_ROLE_TAG]);
    print_rejections("synthesis server", &s->tally[FRE_ROLE_SYN]);
    putchar('\n');
}

static const char *const role_names[] = {[FRE_ROLE_TAG] = "tagging server's",
                                         [FRE_ROLE_SYN] = "synthesis server's",
                                         [FRE_ROLE_RELAY] = "relay's",
                                         [FRE_ROLE_ISSUER] = "issuer's"};

static void print_times(const fre_simulation *s)
{
    cli_heading(stdout, "Wall time");
    for (size_t i = 0; i < FRE_SIMULATE_STEPS; i++)
        if (s->seconds[i] > 0)
            row(fre_simulate_step_text((fre_simulate_step)i), "%*.1f s", WIDE, s->seconds[i]);
    row("peak memory", "%*.0f MiB", WIDE, (double)s->peak_kib / 1024);
    for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++)
        if (s->role_kib[role] > 0)
            row(role_names[role], "%*.0f MiB", WIDE, (double)s->role_kib[role] / 1024);
    putchar('\n');
}

static void print_mechanism(const char *name, const fre_mechanism *m)
{
    char rate[FRE_DIGITS_BYTES], sigma[FRE_DIGITS_BYTES];

    row(name, "%*s p = %s, tau = %" PRIu64 ", sigma = %s", 5, "",
        fre_digits_up(rate, 4, (double)m->p32 * 0x1p-32), m->tau,
        fre_digits_up(sigma, 4, m->sigma));
}

static void print_comparison(const fre_simulation *s)
{
    const fre_simulate_comparison *k = &s->comparison;

    if (!s->compared)
        return;
    cli_message(stdout, CLI_BOLD, "Compared", "(exact numbers: not for publication)");
    row("cells with the threshold's users", "%*" PRIu64, WIDE, k->cells);
    row("released here", "%*zu", WIDE, s->release.n);
    row("released by a curator", "%*zu", WIDE, k->curator_released);
    row("released by both", "%*zu", WIDE, k->both);
    print_mechanism("plan here", &s->plan.mechanism);
    print_mechanism("curator's plan", &k->curator.mechanism);
    row(s->plan.mechanism.dist.splits ? "squared noise, cells of one sum"
                                      : "squared noise, all matched cells",
        "%*.4f of the plan, z = %.2f", WIDE, k->freedom > 0 ? k->noise / k->freedom : 0,
        k->noise_z);
    row("cells matched with exact ones", "%*zu", WIDE, k->matched);
    row("largest noise on one of them", "%*.4f of the plan", WIDE, k->deviation_max);
    row("users differ, cells of both", "%*.4f of the exact number", WIDE, k->users_gap);
    row("centroids differ", "%*.4f", WIDE, k->distance);
    row("planned noise on them", "%*.4f", WIDE, k->noise_collection);
    row("a curator's", "%*.4f", WIDE, k->noise_curator);
    cli_compare_levels_print(stdout, s);
    putchar('\n');
}

static void print_results(const cli *c, const fre_simulation *s,
                          const fre_released_cell *const *list, size_t n)
{
    cli_print_cells(&s->release, list, n);
    print_traffic(s);
    print_counts(s);
    print_times(s);
    print_comparison(s);
    cli_heading(stdout, "Privacy statement");
    cli_print_statement(s->release.statement);
    cli_print_files(cli_text(c, "output"),
                    "a line a cell: text, count, users, confidence, group",
                    "parameters, the collection's terms, privacy statement");
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* Names of X-macros are for people; keys have no blanks. */
static void key_of(char *out, size_t n, const char *text)
{
    size_t i = 0;

    for (; text[i] && i + 1 < n; i++)
        out[i] = text[i];
    out[i] = '\0';
    for (i = 0; out[i]; i++)
        out[i] = out[i] == ' ' || out[i] == ',' ? '_' : out[i];
}

static json_t *traffic_json(const fre_simulation *s)
{
    json_t *o = json_object();
    int bad = o ? 0 : 1;

    for (size_t i = 0; !bad && i < legs_of(s); i++) {
        const fre_simulate_traffic *t = &s->leg[i];

        bad = json_object_set_new(o, fre_simulate_leg_text((fre_simulate_leg)i),
                                  json_pack("{s:I, s:I, s:I, s:f, s:f}", "users",
                                            (json_int_t)t->clients, "up", (json_int_t)t->up, "down",
                                            (json_int_t)t->down, "up_a_user",
                                            mean_bytes(t->up, t->clients), "down_a_user",
                                            mean_bytes(t->down, t->clients)));
    }
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *rejections_json(const fre_simulation *s, fre_role role)
{
    const fre_tally *k = &s->tally[role];
    json_t *o = json_object();
    int bad = o ? 0 : 1;

    for (size_t i = 1; !bad && i < FRE_REJECTIONS; i++)
        if (k->rejected[i])
            bad = json_object_set_new(o, fre_rejection_text((fre_rejection)i),
                                      json_integer((json_int_t)k->rejected[i]));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *seconds_json(const fre_simulation *s)
{
    json_t *o = json_object();
    int bad = o ? 0 : 1;
    char key[32];

    for (size_t i = 0; !bad && i < FRE_SIMULATE_STEPS; i++) {
        key_of(key, sizeof key, fre_simulate_step_text((fre_simulate_step)i));
        bad = json_object_set_new(o, key, json_real(s->seconds[i]));
    }
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *comparison_json(const fre_simulation *s)
{
    const fre_simulate_comparison *k = &s->comparison;

    if (!s->compared)
        return json_null();
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}",
        "frequent_cells", (json_int_t)k->cells, "collection_released", (json_int_t)s->release.n,
        "curator_released", (json_int_t)k->curator_released, "both_released", (json_int_t)k->both,
        "curator_plan", cli_plan_json(&k->curator), "matched", (json_int_t)k->matched,
        "noise_chi_square", k->noise, "noise_freedom", k->freedom, "noise_z", k->noise_z,
        "deviation_max", k->deviation_max, "users_gap", k->users_gap, "centroid_distance",
        k->distance, "noise_norm_collection", k->noise_collection, "noise_norm_curator",
        k->noise_curator, "by_levels", cli_compare_levels_json(s));
}

static json_t *private_json(const fre_simulation *s)
{
    return json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:f, s:f}, "
        "s:o, s:{s:I, s:I}, s:{s:o, s:o, s:o, s:o}, s:I, s:o, s:f, s:{s:f, s:f, s:f, s:f}, s:o}",
        "input", cli_input_json(&s->input), "empty", (json_int_t)(s->empty + s->survey.no_word),
        "invalid", (json_int_t)s->invalid, "users", (json_int_t)s->users, "input_users",
        (json_int_t)s->input_users, "records", (json_int_t)(s->records - s->survey.no_word),
        "distinct", (json_int_t)s->survey.distinct, "counted", (json_int_t)s->survey.counted,
        "repeated_texts", (json_int_t)s->survey.repeated_texts, "repeated_records",
        (json_int_t)s->survey.repeated_records, "refused", (json_int_t)s->refused, "silent",
        (json_int_t)s->silent, "lost", (json_int_t)s->lost, "repeated", (json_int_t)s->repeated,
        "dummies", "sent", (json_int_t)s->padding, "expected", s->plan.expected_dummies, "most",
        2 * s->plan.expected_dummies, "bytes", traffic_json(s), "servers", "messages",
        (json_int_t)s->server_messages, "bytes", (json_int_t)s->server_bytes, "rejected", "relay",
        rejections_json(s, FRE_ROLE_RELAY), "issuer", rejections_json(s, FRE_ROLE_ISSUER),
        "tagging", rejections_json(s, FRE_ROLE_TAG), "synthesis", rejections_json(s, FRE_ROLE_SYN),
        "share_bits", (json_int_t)s->share_bits, "seconds", seconds_json(s), "peak_memory_mib",
        (double)s->peak_kib / 1024, "peak_memory_mib_of_servers", "relay",
        (double)s->role_kib[FRE_ROLE_RELAY] / 1024, "issuer",
        (double)s->role_kib[FRE_ROLE_ISSUER] / 1024, "tagging",
        (double)s->role_kib[FRE_ROLE_TAG] / 1024, "synthesis",
        (double)s->role_kib[FRE_ROLE_SYN] / 1024, "comparison", comparison_json(s));
}

static json_t *warnings_json(const fre_simulation *s)
{
    const char *text[FRE_PLAN_WARNINGS_MAX + 1];
    size_t n = s->plan.n_warnings;

    memcpy(text, s->plan.warnings, n * sizeof *text);
    if (s->release.n == 0)
        text[n++] = FRE_RELEASE_NO_CELL;
    return cli_texts_json(text, n);
}

/* NULL: out of memory (json_pack fails on a NULL part, and frees the others). */
static json_t *results_json(const cli *c, const fre_simulation *s,
                            const fre_released_cell *const *list, size_t n)
{
    char id[2 * FRE_HASH_BYTES + 1];

    fre_hex(id, s->id.b, FRE_HASH_BYTES);
    return json_pack("{s:s, s:s, s:b, s:I, s:s, s:I, s:s, s:o, s:o, s:o, s:o}", "output",
                     cli_text(c, "output"), "collection", id, "is_private", 0, "released",
                     (json_int_t)s->release.n, "embedder", s->embedder_name, "dimension",
                     (json_int_t)s->release.grid.dim, "statement", s->release.statement,
                     "most_frequent", cli_cells_json(list, n), "plan", cli_plan_json(&s->plan),
                     "warnings", warnings_json(s), "not_for_publication", private_json(s));
}

/* ---- the command --------------------------------------------------------------------------------- */

static void warn(const cli *c, const fre_simulation *s)
{
    for (size_t i = 0; i < s->plan.n_warnings; i++)
        cli_warn(c, "%s", s->plan.warnings[i]);
    if (cli_given(c, "seed"))
        cli_warn(c, "NOT PRIVATE: with --seed whoever knows the seed can undo the noise");
    if (s->users > s->input_users)
        cli_warn(
            c,
            "users of the input were drawn more than once, so that one of them counts as several");
    if (!cli_names_users(c))
        cli_warn(c, "%s", CLI_RECORDS_ARE_USERS);
    if (s->release.n == 0)
        cli_warn(c, "%s", FRE_RELEASE_NO_CELL);
    if (cli_unknown_warning(&s->text))
        cli_warn(c, "(not for publication) %s", cli_unknown_warning(&s->text));
    if (cli_foreign_warning(&s->text))
        cli_warn(c, "(not for publication) %s", cli_foreign_warning(&s->text));
}

/* Within this process, or with four others that run the same program. */
static fre_status simulate(fre_simulation **out, fre_simulate_opts *o, const cli *c, fre_err *err)
{
#ifdef FRE_HAVE_SERVE
    static const char *const serve[] = {"/proc/self/exe", "serve", "--config"};
    fre_rehearsal_transport *t = NULL;
    fre_status st;

    if (cli_choice(c, "transport") == 0)
        return fre_simulate(out, o, err);
    if (o->plan.n_levels > 0 && !o->codebook)
        return fre_fail(err, FRE_E_USAGE,
                        "with --transport http the synthesis server opens the public cells of "
                        "--levels itself: name their file, --codebook");
    st = fre_rehearsal_transport_new(&t, serve, o->codebook, err);
    if (st != FRE_OK)
        return st;
    o->transport = fre_rehearsal_transport_calls(t);
    st = fre_simulate(out, o, err);
    fre_rehearsal_transport_free(t);
    return st;
#else
    (void)c;
    return fre_simulate(out, o, err);
#endif
}

static fre_status run(cli *c, fre_err *err)
{
    const fre_released_cell **list = NULL;
    fre_simulate_opts o;
    fre_simulation *s = NULL;
    size_t n = 0;
    fre_status st = options_from(&o, c, err);

    if (st == FRE_OK)
        st = simulate(&s, &o, c, err);
    fre_wipe(o.seed, sizeof o.seed);
    if (st != FRE_OK)
        return st;
    cli_progress_end();
    list = cli_most_frequent(&n, s->release.cell, s->release.n);
    if (!list)
        st = fre_fail(err, FRE_E_NOMEM,
                      "out of memory while showing the result; the release is complete");
    else if (c->json)
        st = cli_json_print(results_json(c, s, list, n), err);
    else if (!c->quiet)
        print_results(c, s, list, n);
    if (!c->quiet)
        cli_print_input(c, false, &s->input, s->records - s->survey.no_word,
                        s->empty + s->survey.no_word, s->invalid);
    warn(c, s);
    free(list);
    fre_simulation_free(s);
    return st;
}

const cli_command cli_cmd_simulate = {
    .name = "simulate",
    .summary = "run a whole collection, clients and servers, in one process",
    .about =
        "The distributed mode on this machine, for studies: every user of INPUT becomes a "
        "client of its own, and the issuer, the tagging server, the synthesis server and the relay "
        "run beside them. All messages are made, sealed, sent and opened as in a real collection; "
        "only the clock and the wires are simulated, or, with --transport http, neither: four "
        "processes serve over TLS, and times are real, a dozen seconds and 12 ms a user. The "
        "result is a folder like that of "
        "synthesize, with "
        "the statement of the distributed mode, and numbers that no party of a real collection "
        "has together.\n\n"
        "One process holds all texts, coins and keys, and nothing is recorded in a ledger: the "
        "result "
        "is not private, says so, and is not for publication.",
    .example = CLI_PROGRAM " simulate texts.jsonl -o release --epsilon 8 --population 100000 \\\n"
                           "    --dropout-rate 0.05 --loss-rate 0.01 --compare",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
