/* help.c - overview and --help, made from the tables. */
#include "cli.h"

#include <string.h>

#define HELP_COLUMN 28u
#define USAGE_COLUMN 7u /* behind "Usage: " */

static void print_heading(FILE *f, const char *title)
{
    char line[200];

    (void)snprintf(line, sizeof line, "%s:", title);
    fputc('\n', f);
    if (strlen(line) <= cli_columns(f))
        cli_heading(f, line);
    else
        cli_wrap(f, line, 2, 0);
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
    const char *preset = cli_preset(a);

    cli_describe_range(range, sizeof range, a);
    if (a->kind == CLI_ENUM || a->kind == CLI_HEX32)
        range[0] = '\0'; /* shown already */
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", a->help, range[0] ? "; " : "", range,
             preset ? " (default: " : "", preset ? preset : "", preset ? ")" : "",
             a->required ? " (required)" : "");
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', f);
        column = 0;
    }
    cli_wrap(f, text, HELP_COLUMN, column);
}

/* What doesn't fit any more is left out. */
static FRE_PRINTF(4, 5) void add(char *line, size_t n, size_t *at, const char *fmt, ...)
{
    va_list ap;
    int more;

    va_start(ap, fmt);
    more = vsnprintf(line + *at, n - *at, fmt, ap);
    va_end(ap);
    if (more > 0 && (size_t)more < n - *at)
        *at += (size_t)more;
}

static void print_usage(FILE *f, const cli_command *cmd)
{
    char line[400] = "";
    size_t at = 0;

    cli_styled(f, CLI_BOLD, "Usage:");
    add(line, sizeof line, &at, CLI_PROGRAM " %s", cmd->name);
    for (size_t i = 0; i < cmd->n_positional; i++)
        add(line, sizeof line, &at, cmd->positional[i].optional ? " [%s]" : " %s",
            cmd->positional[i].name);
    for (size_t i = 0; i < cmd->n_args; i++) {
        const cli_arg *a = &cmd->args[i];
        if (a->required && a->letter)
            add(line, sizeof line, &at, " -%c %s", a->letter, a->metavar);
        else if (a->required)
            add(line, sizeof line, &at, " --%s %s", a->name, a->metavar);
    }
    add(line, sizeof line, &at, " [options]");
    cli_wrap(f, line, USAGE_COLUMN, USAGE_COLUMN - 1);
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
        cli_fold(f, 6, "  %.*s", (int)len, example);
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

    cli_wrap(f, cmd->summary, 22, column);
}

void cli_print_group(FILE *f, const cli_program *p, const char *word)
{
    const size_t n = strlen(word);

    cli_styled(f, CLI_BOLD, "Usage:");
    fprintf(f, " " CLI_PROGRAM " %s COMMAND [arguments]\n", word);
    print_heading(f, "Commands");
    for (size_t i = 0; i < p->n; i++)
        if (strncmp(p->command[i]->name, word, n) == 0 && p->command[i]->name[n] == ' ')
            print_command(f, p->command[i]);
    cli_fold(f, 0, "\n'" CLI_PROGRAM " help %s COMMAND' explains one of them, with an example.",
             word);
}

void cli_print_overview(FILE *f, const cli_program *p)
{
    cli_styled(f, CLI_BOLD, "Usage:");
    fputs(" " CLI_PROGRAM " COMMAND [arguments]\n\n", f);
    cli_wrap(f,
             "Private synthetic texts from a file of private texts, by releasing only what many "
             "of them have in common.",
             0, 0);
    print_heading(f, "Commands");
    for (size_t i = 0; i < p->n; i++)
        print_command(f, p->command[i]);
    cli_fold(f, 0, "\n'" CLI_PROGRAM " help COMMAND' explains one of them, with an example.");
}
