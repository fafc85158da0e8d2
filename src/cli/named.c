/* named.c - {parameters} of the library as the flags of the program. */
#include "cli.h"

#include <string.h>

static bool has_flag(const cli_command *cmd, const char *name)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *arg = cli_arg_at(cmd, i);
        if (arg->kind != CLI_GROUP && strcmp(arg->name, name) == 0)
            return true;
    }
    return false;
}

/* Whose flags: the same for the whole run, and errors come from anywhere. */
static const cli_program *program;

void cli_name_flags_of(const cli_program *p)
{
    program = p;
}

static bool flag_of(char *out, size_t n, const char *param)
{
    (void)snprintf(out, n, "--%s", param);
    for (char *p = out; (p = strchr(p, '_'));)
        *p = '-';
    for (size_t i = 0; program && i < program->n; i++)
        if (has_flag(program->command[i], out + 2))
            return true;
    return false;
}

const char *cli_named(char out[CLI_NAMED_BYTES], const char *text)
{
    return fre_param_render(out, CLI_NAMED_BYTES, text, flag_of);
}
