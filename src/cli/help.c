/* help.c - overview and --help, made from the tables, within 80 columns. */
#include "cli.h"

#include <string.h>

#define HELP_COLUMN 28u

static void spaces(FILE *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc(' ', f);
}

/* One paragraph, up to a blank line or the end; returns what follows. */
static const char *wrap_paragraph(FILE *f, const char *text, size_t indent, size_t column)
{
    const char *p = text;
    bool first = true;

    while (*p && !(p[0] == '\n' && p[1] == '\n')) {
        size_t len = strcspn(p, " \n");
        if (len > 0) {
            if (!first && column + 1 + len > CLI_WIDTH - 1) {
                fputc('\n', f);
                column = 0;
                first = true;
            }
            if (column < indent) {
                spaces(f, indent - column);
                column = indent;
            } else if (!first) {
                fputc(' ', f);
                column++;
            }
            fwrite(p, 1, len, f);
            column += len;
            first = false;
        }
        p += len;
        if (*p == ' ' || (*p == '\n' && p[1] != '\n'))
            p++;
    }
    fputc('\n', f);
    return p;
}

void cli_wrap(FILE *f, const char *text, size_t indent, size_t column)
{
    text = wrap_paragraph(f, text, indent, column);
    while (*text) {
        text += strspn(text, "\n");
        if (!*text)
            return;
        fputc('\n', f);
        text = wrap_paragraph(f, text, indent, 0);
    }
}

static bool starts_character(unsigned char ch)
{
    return (ch & 0xc0u) != 0x80u; /* not a UTF-8 continuation byte */
}

void cli_print_safe(FILE *f, const char *text, size_t columns)
{
    size_t shown = 0, all = 0;

    for (const char *p = text; *p; p++)
        all += starts_character((unsigned char)*p);

    for (const char *p = text; *p; p++) {
        unsigned char ch = (unsigned char)*p;
        bool starts = starts_character(ch);
        if (columns && all > columns && starts && shown + 1 >= columns) {
            fputs("\xe2\x80\xa6", f);
            return;
        }
        /* C0 controls and DEL; C1 controls are 0xc2 0x80..0x9f. */
        if (ch < 0x20u || ch == 0x7fu)
            fputc('?', f);
        else if (ch == 0xc2u && (unsigned char)p[1] >= 0x80u && (unsigned char)p[1] < 0xa0u)
            fputc('?', f), p++;
        else
            fputc(ch, f);
        shown += starts;
    }
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
        if ((size_t)n + width + 2 < CLI_WIDTH) {
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
    size_t column = (size_t)fprintf(f, "Usage: " CLI_PROGRAM " %s", cmd->name);

    for (size_t i = 0; i < cmd->n_positional; i++) {
        const cli_positional *p = &cmd->positional[i];
        column += (size_t)fprintf(f, p->optional ? " [%s]" : " %s", p->name);
    }
    for (size_t i = 0; i < cmd->n_args; i++) {
        const cli_arg *a = &cmd->args[i];
        if (a->required && a->letter)
            fprintf(f, " -%c %s", a->letter, a->metavar);
        else if (a->required)
            fprintf(f, " --%s %s", a->name, a->metavar);
    }
    (void)column;
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
    fputs("\nExample:\n", f);
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
        fputs("\nArguments:\n", f);
        print_positionals(f, cmd);
    }
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind == CLI_GROUP)
            fprintf(f, "\n%s:\n", a->name);
        else
            print_arg(f, a);
    }
    print_example(f, cmd->example);
}

void cli_print_overview(FILE *f)
{
    fputs("Usage: " CLI_PROGRAM " COMMAND [arguments]\n\n", f);
    cli_wrap(f,
             "Private synthetic texts from a file of private texts, by releasing only what many "
             "of them have in common.",
             0, 0);
    fputs("\nCommands:\n", f);
    for (size_t i = 0; i < cli_n_commands; i++) {
        size_t column = (size_t)fprintf(f, "  %s", cli_commands[i]->name);
        cli_wrap(f, cli_commands[i]->summary, 18, column);
    }
    fputs("\n'" CLI_PROGRAM " help COMMAND' explains one of them, with an example.\n", f);
}
