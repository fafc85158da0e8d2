/* cmd_help.c - help, version, completion: nothing but the tables, printed. */
#include "cli.h"

#include <string.h>

/* ---- help ------------------------------------------------------------------------------------ */

static const cli_positional help_positional[] = {
    {.name = "COMMAND", .optional = true, .help = "the command to explain; without it, the list"},
    {.name = "WORD", .optional = true, .help = "its second word, as in 'help model info'"},
};
static const cli_arg help_args[] = {
    {.name = "Options", .kind = CLI_GROUP},
    {.name = "man", .kind = CLI_FLAG, .help = "print the manual page (roff) instead"},
};

static fre_status run_help(cli *c, fre_err *err)
{
    const cli_command *cmd;
    int used = 0;
    char *words[2] = {NULL, NULL};
    char buffer[2][64];

    if (cli_flag(c, "man")) {
        cli_print_man(stdout, c->program);
        return FRE_OK;
    }
    if (c->n_positional == 0) {
        cli_print_overview(stdout, c->program);
        return FRE_OK;
    }
    if (c->n_positional == 1 && cli_is_group(c->program, c->positional[0])) {
        cli_print_group(stdout, c->program, c->positional[0]);
        return FRE_OK;
    }
    for (size_t i = 0; i < c->n_positional; i++) {
        snprintf(buffer[i], sizeof buffer[i], "%s", c->positional[i]);
        words[i] = buffer[i];
    }
    cmd = cli_find_command(c->program, (int)c->n_positional, words, &used, err);
    if (!cmd)
        return FRE_E_USAGE;
    cli_print_help(stdout, cmd);
    return FRE_OK;
}

const cli_command cli_cmd_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .about = "Lists the commands, or explains one of them as its --help does. With --man it "
             "prints the manual page of the whole program.",
    .example = CLI_PROGRAM " help synthesize\n" CLI_PROGRAM " help --man | man -l -",
    .positional = help_positional,
    .n_positional = sizeof help_positional / sizeof help_positional[0],
    .args = help_args,
    .n_args = sizeof help_args / sizeof help_args[0],
    .run = run_help,
};

/* ---- version ---------------------------------------------------------------------------------- */

static fre_status run_version(cli *c, fre_err *err)
{
    if (c->json)
        return cli_json_print(
            json_pack("{s:s, s:s}", "program", CLI_PROGRAM, "version", FRE_VERSION), err);
    printf(CLI_PROGRAM " %s\n", FRE_VERSION);
    return FRE_OK;
}

const cli_command cli_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .about = "Prints the program's name and version.",
    .example = CLI_PROGRAM " version",
    .run = run_version,
};

/* ---- completion --------------------------------------------------------------------------------- */

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const cli_positional completion_positional[] = {
    {.name = "SHELL", .choices = shells, .help = "bash, zsh or fish"},
};

static fre_status run_completion(cli *c, fre_err *err)
{
    (void)err;
    cli_print_completion(stdout, c->program, c->positional[0]);
    return FRE_OK;
}

const cli_command cli_cmd_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .about = "Prints a script that completes commands, flags, values and file names in the "
             "shell named.",
    .example =
        "# bash: for this session\n"
        "source <(" CLI_PROGRAM " completion bash)\n"
        "# zsh: into a folder of $fpath\n" CLI_PROGRAM " completion zsh > ~/.zfunc/_" CLI_PROGRAM
        "\n"
        "# fish\n" CLI_PROGRAM " completion fish > ~/.config/fish/completions/" CLI_PROGRAM ".fish",
    .positional = completion_positional,
    .n_positional = 1,
    .run = run_completion,
};
