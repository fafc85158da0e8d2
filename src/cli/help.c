/* help.c - overview and --help, made from the tables. */
#include "cli.h"

#include <string.h>

#define HELP_COLUMN 28u

static void print_heading(FILE *f, const char *title)
{
    fputc('\n', f);
    cli_styled(f, CLI_BOLD, title);
    fputs(":\n", f);
}

/* "  -o, --output DIR" or "  --cell-scale S"; returns its width. */
static size_t print_flag(FILE *f, const cli_arg *a)
{
    int n = 0;
    if (a->letter)
        n += fprintf(f, "  -%c, --%s", a->letter, a->name);
    else
        n += fprintf(f, "  --%s", a->name);
    if (a->kind == CLI_ENUM) {
        size_t width = 0;
        for (size_t i = 0; a->choices[i]; i++)
            width += strlen(a->choices[i]) + 1;
        if ((size_t)n + width + 2 < cli_columns(f)) {
            for (size_t i = 0; a->choices[i]; i++)
                n += fprintf(f, "%c%s", i == 0 ? ' ' : '|', a->choices[i]);
            return (size_t)n;
        }
    }
    if (a->metavar)
        n += fprintf(f, " %s", a->metavar);
    if (a->word)
        n += fprintf(f, "|%s", a->word);
    return (size_t)n;
}

static void print_arg(FILE *f, const cli_arg *a)
{
    char range[200], text[900];
    size_t column = print_flag(f, a);

    cli_describe_range(range, sizeof range, a);
    if (a->kind == CLI_ENUM || a->kind == CLI_HEX32)
        range[0] = '\0'; /* shown already */
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", a->help, range[0] ? "; " : "", range,
             a->preset ? " (default: " : "", a->preset ? a->preset : "", a->preset ? ")" : "",
             a->required ? " (required)" : "");
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', f);
        column = 0;
    }
    cli_wrap(f, text, HELP_COLUMN, column);
}

static void print_usage(FILE *f, const cli_command *cmd)
{
    cli_styled(f, CLI_BOLD, "Usage:");
    fprintf(f, " " CLI_PROGRAM " %s", cmd->name);
    for (size_t i = 0; i < cmd->n_positional; i++)
        fprintf(f, cmd->positional[i].optional ? " [%s]" : " %s", cmd->positional[i].name);
    for (size_t i = 0; i < cmd->n_args; i++) {
        const cli_arg *a = &cmd->args[i];
        if (a->required && a->letter)
            fprintf(f, " -%c %s", a->letter, a->metavar);
        else if (a->required)
            fprintf(f, " --%s %s", a->name, a->metavar);
    }
    fputs(" [options]\n", f);
}

static void print_positionals(FILE *f, const cli_command *cmd)
{
    for (size_t i = 0; i < cmd->n_positional; i++) {
        const cli_positional *p = &cmd->positional[i];
        size_t column = (size_t)fprintf(f, "  %s", p->name);
        if (column + 2 > HELP_COLUMN) {
            fputc('\n', f);
            column = 0;
        }
        cli_wrap(f, p->help, HELP_COLUMN, column);
    }
}

static void print_example(FILE *f, const char *example)
{
    print_heading(f, "Example");
    while (*example) {
        size_t len = strcspn(example, "\n");
        fprintf(f, "  %.*s\n", (int)len, example);
        example += len + (example[len] == '\n');
    }
}

void cli_print_help(FILE *f, const cli_command *cmd)
{
    print_usage(f, cmd);
    fputc('\n', f);
    cli_wrap(f, cmd->about, 0, 0);
    if (cmd->n_positional > 0) {
        print_heading(f, "Arguments");
        print_positionals(f, cmd);
    }
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind == CLI_GROUP)
            print_heading(f, a->name);
        else
            print_arg(f, a);
    }
    print_example(f, cmd->example);
}

static void print_command(FILE *f, const cli_command *cmd)
{
    const size_t column = (size_t)fprintf(f, "  %s", cmd->name);

    cli_wrap(f, cmd->summary, 18, column);
}

void cli_print_group(FILE *f, const char *word)
{
    const size_t n = strlen(word);

    cli_styled(f, CLI_BOLD, "Usage:");
    fprintf(f, " " CLI_PROGRAM " %s COMMAND [arguments]\n", word);
    print_heading(f, "Commands");
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strncmp(cli_commands[i]->name, word, n) == 0 && cli_commands[i]->name[n] == ' ')
            print_command(f, cli_commands[i]);
    fprintf(f, "\n'" CLI_PROGRAM " help %s COMMAND' explains one of them, with an example.\n",
            word);
}

void cli_print_overview(FILE *f)
{
    cli_styled(f, CLI_BOLD, "Usage:");
    fputs(" " CLI_PROGRAM " COMMAND [arguments]\n\n", f);
    cli_wrap(f,
             "Private synthetic texts from a file of private texts, by releasing only what many "
             "of them have in common.",
             0, 0);
    print_heading(f, "Commands");
    for (size_t i = 0; i < cli_n_commands; i++)
        print_command(f, cli_commands[i]);
    fputs("\n'" CLI_PROGRAM " help COMMAND' explains one of them, with an example.\n", f);
}
