/* commands.c - which commands there are, in the order of the overview. */
#include "cli.h"

#include <string.h>

const cli_command *const cli_commands[] = {
    &cli_cmd_synthesize,   &cli_cmd_plan,        &cli_cmd_account,     &cli_cmd_audit,
    &cli_cmd_ssp,          &cli_cmd_embed,       &cli_cmd_invert,      &cli_cmd_paraphrase,
    &cli_cmd_score,        &cli_cmd_evaluate,    &cli_cmd_simulate,    &cli_cmd_bench,
    &cli_cmd_model_list,   &cli_cmd_model_info,  &cli_cmd_model_prior, &cli_cmd_model_bridge,
    &cli_cmd_model_verify, &cli_cmd_ledger_show, &cli_cmd_completion,  &cli_cmd_help,
    &cli_cmd_version,
};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];

/* The word itself, or "model" of "model list". */
static bool starts_with_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && (name[n] == '\0' || name[n] == ' ');
}

bool cli_is_group(const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; n > 0 && i < cli_n_commands; i++)
        if (strncmp(cli_commands[i]->name, word, n) == 0 && cli_commands[i]->name[n] == ' ')
            return true;
    return false;
}

static fre_status refuse_group(const char *word, fre_err *err)
{
    char list[120] = "";
    size_t used = 0;

    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        if (starts_with_word(name, word) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'",
                                     used > 0 ? " or " : "", name);
    }
    return fre_fail(err, FRE_E_USAGE, "'%s' needs a second word: %s", word, list);
}

const cli_command *cli_find_command(int argc, char *const *argv, int *used, fre_err *err)
{
    const char *first[CLI_ARGS_MAX], *near;
    char word[32];
    size_t n = 0;
    bool group = false;

    snprintf(word, sizeof word, "%s", argv[0]);
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        const char *gap = strchr(name, ' ');
        first[n++] = name;
        if (!starts_with_word(name, argv[0]) || !argv[0][0])
            continue;
        if (!gap) {
            *used = 1;
            return cli_commands[i];
        }
        if (argc > 1 && strcmp(gap + 1, argv[1]) == 0) {
            *used = 2;
            return cli_commands[i];
        }
        group = true;
    }
    if (group && strchr(argv[0], ' ') == NULL) {
        (void)refuse_group(argv[0], err);
        return NULL;
    }
    near = cli_nearest(word, first, n);
    for (char *p = word; *p; p++)
        if ((unsigned char)*p < 0x20u || (unsigned char)*p >= 0x7fu)
            *p = '?';
    if (near)
        (void)fre_fail(err, FRE_E_USAGE,
                       "'%s' is not a command of this version; did you mean '%s'?", word, near);
    else
        (void)fre_fail(err, FRE_E_USAGE,
                       "'%s' is not a command of this version; '" CLI_PROGRAM " help' lists them",
                       word);
    return NULL;
}

static bool has_flag(const cli_command *cmd, const char *name)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *arg = cli_arg_at(cmd, i);
        if (arg->kind != CLI_GROUP && strcmp(arg->name, name) == 0)
            return true;
    }
    return false;
}

static bool flag_of(char *out, size_t n, const char *param)
{
    (void)snprintf(out, n, "--%s", param);
    for (char *p = out; (p = strchr(p, '_'));)
        *p = '-';
    for (size_t i = 0; i < cli_n_commands; i++)
        if (has_flag(cli_commands[i], out + 2))
            return true;
    return false;
}

const char *cli_named(char out[CLI_NAMED_BYTES], const char *text)
{
    return fre_param_render(out, CLI_NAMED_BYTES, text, flag_of);
}
