/* cmd_model_verify.c - do embedder and inverter belong together? */
#include "search_args.h"

#include <fre/embed.h>
#include <fre/invert.h>

#include <inttypes.h>

static const cli_arg args[] = {
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_INVERTER(""),
    CLI_SEARCH_ARGS,
};

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
};

static json_t *rows_json(const fre_verification *v)
{
    json_t *rows = json_array();
    int bad = 0;

    for (size_t i = 0; rows && i < FRE_VERIFY_SENTENCES; i++)
        bad |= json_array_append_new(
            rows, json_pack("{s:s, s:o, s:o, s:b}", "sentence", fre_verify_sentence(i), "distance",
                            cli_json_real(v->distance[i]), "similarity",
                            cli_json_real(v->similarity[i]), "own", (int)v->own[i]));
    if (!bad)
        return rows;
    json_decref(rows);
    return NULL;
}

static void print_table(const fre_verification *v)
{
    static const cli_column columns[] = {{.name = "sentence", .width = 8},
                                         {.name = "distance", .width = 8},
                                         {.name = "similarity", .width = 10},
                                         {.name = "nearest to itself", .width = -17}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    char text[3][32];

    cli_table_head(stdout, columns, COLUMNS);
    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++) {
        const cli_cell cell[] = {{.text = text[0]},
                                 {.text = text[1]},
                                 {.text = text[2]},
                                 {.text = v->own[i] ? "yes" : "NO"}};

        (void)snprintf(text[0], sizeof text[0], "%zu", i + 1);
        (void)snprintf(text[1], sizeof text[1], "%.3f", v->distance[i]);
        (void)snprintf(text[2], sizeof text[2], "%.3f", v->similarity[i]);
        cli_table_row(stdout, columns, COLUMNS, cell);
    }
    cli_fold(stdout, 4,
             "\nmean distance %.3f, median %.3f, mean similarity %.3f (at least %.2f)\n"
             "%" PRIu32 " of %u sentences come back nearest to themselves (at least %u)\n%s",
             v->mean_distance, v->median_distance, v->mean_similarity, FRE_VERIFY_SIMILARITY_MIN,
             v->returned, FRE_VERIFY_SENTENCES, FRE_VERIFY_RETURNED_MIN,
             v->passed ? "passed" : "FAILED");
}

static fre_status report(const cli *c, const fre_verification *v, fre_err *err)
{
    fre_status st = FRE_OK;

    cli_progress_end();
    if (c->json)
        st =
            cli_json_print(json_pack("{s:o, s:o, s:o, s:o, s:I, s:b}", "sentences", rows_json(v),
                                     "mean_distance", cli_json_real(v->mean_distance),
                                     "median_distance", cli_json_real(v->median_distance),
                                     "mean_similarity", cli_json_real(v->mean_similarity),
                                     "returned", (json_int_t)v->returned, "passed", (int)v->passed),
                           err);
    else if (!c->quiet)
        print_table(v);
    if (st != FRE_OK || v->passed)
        return st;
    return fre_fail(err, FRE_E_MODEL,
                    "the inverter does not bring enough back from this embedder: %" PRIu32
                    " of %u sentences, mean similarity %.3f; use an inverter made for it",
                    v->returned, FRE_VERIFY_SENTENCES, v->mean_similarity);
}

static fre_status run(cli *c, fre_err *err)
{
    fre_embedder_opts embedder = {.path = cli_text(c, "embedder"), .threads = c->threads};
    fre_inverter_opts inverter = {.path = cli_text(c, "inverter"),
                                  .threads = c->threads,
                                  .search = cli_search_opts(c),
                                  .progress = &c->progress};
    fre_embedder *e = NULL;
    fre_inverter *v = NULL;
    fre_verification seen;
    fre_status st = fre_embedder_new(&e, &embedder, err);

    if (st == FRE_OK)
        st = fre_inverter_new(&v, e, &inverter, err);
    if (st == FRE_OK)
        st = fre_inverter_verify(v, &seen, err);
    if (st == FRE_OK)
        st = report(c, &seen, err);
    fre_inverter_free(v);
    fre_embedder_free(e);
    return st;
}

const cli_command cli_cmd_model_verify = {
    .name = "model verify",
    .summary = "check that an embedder and an inverter belong together",
    .about = "Embeds twenty sentences, turns the embeddings back into texts and embeds those: how "
             "far each comes back from where it started. Below a floor the pair is refused (exit "
             "code 65); the same check with less effort is made whenever an inverter is opened.",
    .example = CLI_PROGRAM " model verify",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
