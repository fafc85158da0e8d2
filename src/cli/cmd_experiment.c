/* cmd_experiment.c - a grid of runs from one file, into one CSV. */
#include "cli.h"

#include <fre/experiment.h>

#include <inttypes.h>

static const cli_positional positional[] = {
    {.name = "FILE", .help = "the grid, a JSON file (in a checkout: docs/formats.md)"},
};

static const cli_arg args[] = {
    CLI_FILE("output", "DIR", .letter = 'o', .required = true,
             .help = "folder of what is done; the same again goes on where it was left"),
    CLI_FILE("data", "PATH",
             .help = "the collection in place of the file's, or the folder that it is in"),
    CLI_COUNT("jobs", "N", fre_experiment_param_jobs,
              .help = "runs at once; fewer where memory is short (default: one a thread)"),
    CLI_COUNT("memory", "MIB", fre_experiment_param_memory,
              .help = "what runs may take together (default: half of what is free)"),
};

static void print_result(const fre_experiment_result *r)
{
    cli_fold(stdout, 0,
             "%" PRIu64 " run%s: %" PRIu64 " done before, %" PRIu64
             " refused (their message in the rows says why), "
             "%" PRIu64 " failed.",
             r->runs, cli_plural(r->runs), r->kept, r->refused, r->failed);
    (void)fputs("Rows: ", stdout);
    cli_print_safe(stdout, r->csv, 0);
    putchar('\n');
}

static fre_status run(cli *c, fre_err *err)
{
    const fre_experiment_opts o = {.file = c->positional[0],
                                   .output = cli_text(c, "output"),
                                   .data = cli_text(c, "data"),
                                   .program = "/proc/self/exe",
                                   .threads = c->threads,
                                   .jobs = (uint32_t)cli_whole(c, "jobs"),
                                   .memory_mib = cli_whole(c, "memory"),
                                   .progress = &c->progress};
    fre_experiment_result r;
    fre_status st = fre_experiment_run(&r, &o, err);

    if (st != FRE_OK)
        return st;
    cli_progress_end();
    if (c->json)
        st = cli_json_print(json_pack("{s:I, s:I, s:I, s:I, s:s}", "runs", (json_int_t)r.runs,
                                      "kept", (json_int_t)r.kept, "refused", (json_int_t)r.refused,
                                      "failed", (json_int_t)r.failed, "csv", r.csv),
                            err);
    else if (!c->quiet)
        print_result(&r);
    return st == FRE_OK && r.failed > 0
               ? fre_fail(err, FRE_E_AGAIN, "%" PRIu64 " of %" PRIu64 " runs are not done: %.300s",
                          r.failed, r.runs, r.why.text)
               : st;
}

const cli_command cli_cmd_experiment = {
    .name = "experiment",
    .summary = "many runs from one file: releases and baselines, each evaluated",
    .about =
        "Makes a release, or a baseline, for every point of a grid of arguments, evaluates each, "
        "and "
        "writes one CSV: a row a run, a column each argument and each number that evaluate has.\n\n"
        "The collection is embedded once. Runs go side by side as far as memory allows. What is "
        "done "
        "stays in DIR, so that a run that was stopped goes on where it was, and points that are "
        "added "
        "to the file later are all that is run.\n\n"
        "Seeds make every run repeatable and NOT PRIVATE, and the numbers are computed on the "
        "texts "
        "themselves: this is for collections that are public, or whose owner alone sees the "
        "result.",
    .example = CLI_PROGRAM " experiment experiments/clusters.json -o clusters",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
