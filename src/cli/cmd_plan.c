/* cmd_plan.c - which sampling rate, threshold and noise a budget leads to. */
#include "forecast.h"
#include "plan_args.h"
#include "plan_output.h"

#include <fre/wire.h>


static const char *const readings[] = {"cap", "group", "bespoke", NULL};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_NUMBER("epsilon", "E", fre_param_epsilon, .required = true,
               .help = "privacy budget epsilon"),
    CLI_BUDGET_ARGS,
    CLI_COUNT("max-cells-per-user", "C", fre_param_max_cells_per_user,
              .help = "cells a user may be in, all paid from the one budget"),
    CLI_COUNT("dimension", "D", fre_param_dimension, .help = "dimension of the embeddings"),
    CLI_HEADING("Distributed mode"),
    CLI_DISTRIBUTED_ARGS("one", "1", "0.1"),
    CLI_MAX_DUMMIES,
    CLI_HEADING("Levels tried out on public text"),
    CLI_FORECAST_ARGS,
    CLI_HEADING("Mechanism"),
    CLI_MECHANISM_ARGS,
    CLI_CHOICE("multi-record", "READING", readings, .preset = "cap",
               .help = "paper accountant: how several records of a user count"),
};

static const cli_rule rules[] = {
    CLI_DISTRIBUTED_RULES,
    CLI_FORECAST_RULES,
    CLI_OF_DISTRIBUTED("max-dummies"),
    {"multi-record", "accountant", "joint",
     "chooses a reading of the article: it needs --accountant paper"},
};

static fre_status request_of(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_status st = cli_plan_request(out, c, err);

    if (st == FRE_OK)
        st = cli_distributed_request(out, c, err);
    if (st != FRE_OK)
        return st;
    out->dim = (uint32_t)cli_whole(c, "dimension");
    out->max_dummies = cli_number(c, "max-dummies"); /* 0: not given */
    out->records = (fre_paper_records)cli_choice(c, "multi-record");
    return FRE_OK;
}

static void warn_of_shares(fre_plan *p)
{
    const char *warning = fre_collection_plan_warning(p);

    if (warning && p->n_warnings < FRE_PLAN_WARNINGS_MAX)
        p->warnings[p->n_warnings++] = warning;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_plan_request request;
    fre_plan plan;
    fre_status st = request_of(&request, c, err);

    if (st != FRE_OK)
        return st;
    if (cli_given(c, "public-corpus"))
        return cli_forecast(c, &request, err);
    st = fre_plan_make(&plan, &request, err);
    if (st != FRE_OK)
        return st;
    warn_of_shares(&plan);
    if (c->json)
        return cli_json_print(cli_plan_json(&plan), err);
    cli_plan_print(stdout, &plan);
    return FRE_OK;
}

const cli_command cli_cmd_plan = {
    .name = "plan",
    .summary = "show which sampling rate, threshold and noise a budget leads to",
    .about =
        "Computes the parameters of a run for a privacy budget, without any data: the "
        "sampling rate, the released counts' threshold, and the noise. The same computation "
        "runs inside synthesize. With --distributed it plans a collection without a curator: "
        "also each user's share of the noise, and the dummy reports that hide tags too rare "
        "to be released.\n\nWith --public-corpus it also tries levels out: the grid alone and "
        "several lists (or the one of --levels) are run on public texts as synthesize would "
        "run them, each record taken for a user, and one is chosen. The corpus must be public: "
        "its numbers are shown without any protection, and no ledger counts them.",
    .example = CLI_PROGRAM
    " plan --epsilon 4 --delta 1e-7 --threshold 100 --population 1000000\n" CLI_PROGRAM
    " plan --epsilon 4 --delta 1e-7 --population 1000000 --distributed\n" CLI_PROGRAM
    " plan --epsilon 4 --population 1000000 --public-corpus public.jsonl",
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
