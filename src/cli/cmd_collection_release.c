/* cmd_collection_release.c - collection release: what a collection released, as a release folder. */
#include "collection_files.h"
#include "collection_parts.h"
#include "plan_output.h"
#include "release.h"
#include "search_args.h"

#include <fre/collected.h>

#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {CLI_TERMS_POSITIONAL};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("output", "DIR", .letter = 'o', .required = true,
             .help = "folder to make; it appears whole or not at all"),
    {.name = "from",
     .metavar = "DIR|URL",
     .kind = CLI_STRING,
     .help = "folder with the parts (release-0, release-1, ...), or a server's address (default: "
             "the relay of the terms)"},
    CLI_FILE("keep-parts", "DIR", .help = "folder to keep the signed parts in"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the folder of --output if it exists"},
    CLI_HEADING("Models"),
    CLI_EMBEDDER,
    CLI_FILE("codebook", "FILE", .help = "of public cells (default: the one beside the embedder)"),
    CLI_INVERTER(", or none for centroids without texts"),
    CLI_SEARCH_ARGS,
};

static const cli_rule rules[] = {
    CLI_SEARCH_RULES,
};

static void print(const cli *c, const fre_collected *x, const fre_released_cell *const *list,
                  size_t n)
{
    cli_print_cells(&x->release, list, n);
    cli_heading(stdout, "Privacy statement");
    cli_print_statement(x->release.statement);
    cli_print_files(cli_text(c, "output"), "a line a cell: text, count, users, confidence, group",
                    "parameters, the collection's terms, privacy statement");
    if (x->other_statement)
        cli_warn(c,
                 "the synthesis server's own statement of privacy differs from what follows from "
                 "the terms, which is the one here");
}

static fre_status show(const cli *c, const fre_collected *x, fre_err *err)
{
    char id[2 * sizeof x->id.b + 1], time[CLI_TIME_BYTES];
    size_t n = 0;
    const fre_released_cell **list = cli_most_frequent(&n, x->release.cell, x->release.n);
    fre_status st = FRE_OK;

    if (!list)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_hex(id, x->id.b, sizeof x->id.b);
    if (c->json)
        st = cli_json_print(json_pack("{s:s, s:s, s:s, s:I, s:b, s:o, s:o}", "id", id, "output",
                                      cli_text(c, "output"), "released_at",
                                      cli_time_text(time, x->time), "released_cells",
                                      (json_int_t)x->release.n, "statement_differs",
                                      (int)x->other_statement, "cells", cli_cells_json(list, n),
                                      "plan", cli_plan_json(&x->plan)),
                            err);
    else if (!c->quiet)
        print(c, x, list, n);
    free(list);
    return st;
}

static fre_status make(cli *c, const fre_collection *terms, const cli_parts *parts, fre_err *err)
{
    const fre_collected_opts o = {.terms = terms,
                                  .part = parts->view,
                                  .n_parts = parts->n,
                                  .output = cli_text(c, "output"),
                                  .force = cli_flag(c, "force"),
                                  .embedder = cli_text(c, "embedder"),
                                  .inverter = cli_text(c, "inverter"),
                                  .codebook = cli_text(c, "codebook"),
                                  .search = cli_search_opts(c),
                                  .threads = c->threads,
                                  .progress = &c->progress};
    fre_collected *x = NULL;
    fre_status st = fre_collected_release(&x, &o, err);

    cli_progress_end();
    if (st == FRE_OK)
        st = show(c, x, err);
    fre_collected_free(x);
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_collection terms;
    cli_parts parts = {.n = 0};
    fre_status st = fre_terms_read(&terms, c->positional[0], err);

    if (st == FRE_OK)
        st = cli_parts_read(&parts, &terms, cli_text(c, "from"), err);
    if (st == FRE_OK && cli_given(c, "keep-parts"))
        st = cli_parts_keep(&parts, cli_text(c, "keep-parts"), err);
    if (st == FRE_OK)
        st = make(c, &terms, &parts, err);
    cli_parts_wipe(&parts);
    return st;
}

const cli_command cli_cmd_collection_release = {
    .name = "collection release",
    .summary = "fetch what a collection released, and write it as a release folder",
    .about =
        "Fetches the parts that the synthesis server signed from the relay, or reads them from a "
        "folder, checks their signatures against the terms, finds texts for the centroids, and "
        "writes a release folder as synthesize does. Anybody with the terms can do this. The "
        "privacy statement is that of the terms.\n\nExit code 75: it is not published yet.",
    .example = CLI_PROGRAM " collection release terms.json -o release\n" CLI_PROGRAM
                           " collection release terms.json --from parts --inverter none -o release",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
