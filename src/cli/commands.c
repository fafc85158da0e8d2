/* commands.c - which commands there are, in the order of the overview. */
#include "cli.h"

static const cli_command *const commands[] = {
    &cli_cmd_synthesize,
    &cli_cmd_plan,
    &cli_cmd_account,
    &cli_cmd_audit,
    &cli_cmd_ssp,
    &cli_cmd_embed,
    &cli_cmd_invert,
    &cli_cmd_paraphrase,
    &cli_cmd_score,
    &cli_cmd_evaluate,
    &cli_cmd_report,
    &cli_cmd_simulate,
    &cli_cmd_collection_keygen,
    &cli_cmd_collection_commit,
    &cli_cmd_collection_new,
    &cli_cmd_collection_show,
    &cli_cmd_collection_check,
    &cli_cmd_collection_cancel,
    &cli_cmd_collection_release,
    &cli_cmd_collection_close,
    &cli_cmd_collection_log,
#ifdef FRE_HAVE_SERVE
    &cli_cmd_serve,
    &cli_cmd_contribute,
#endif
    &cli_cmd_baseline,
    &cli_cmd_experiment,
    &cli_cmd_bench,
    &cli_cmd_model_list,
    &cli_cmd_model_info,
    &cli_cmd_model_prior,
    &cli_cmd_model_bridge,
    &cli_cmd_model_codebook,
    &cli_cmd_model_verify,
    &cli_cmd_ledger_show,
    &cli_cmd_completion,
    &cli_cmd_help,
    &cli_cmd_version,
};
const cli_program cli_all = {.command = commands, .n = sizeof commands / sizeof commands[0]};
