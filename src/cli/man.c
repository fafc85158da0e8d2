/* man.c - the manual page, made from the tables. */
#include "cli.h"

#include <ctype.h>
#include <string.h>

/* Text as roff: hyphens that are to be copied, backslashes, and lines that would be requests. */
static void roff(FILE *f, const char *text)
{
    bool line_start = true;
    for (const char *p = text; *p; p++) {
        if (line_start && (*p == '.' || *p == '\''))
            fputs("\\&", f);
        if (*p == '\\')
            fputs("\\e", f);
        else if (*p == '-')
            fputs("\\-", f);
        else if (*p == '\'')
            fputs("\\(aq", f);
        else if (*p == '^')
            fputs("\\(ha", f);
        else if (*p == '~')
            fputs("\\(ti", f);
        else
            fputc(*p, f);
        line_start = *p == '\n';
    }
}

/* Paragraphs apart by .PP; the text itself has single spaces and no line breaks of its own. */
static void paragraphs(FILE *f, const char *text)
{
    while (*text) {
        const char *gap = strstr(text, "\n\n");
        size_t len = gap ? (size_t)(gap - text) : strlen(text);
        char part[2000];
        snprintf(part, sizeof part, "%.*s", (int)len, text);
        roff(f, part);
        fputs(gap ? "\n.PP\n" : "\n", f);
        text += len + (gap ? 2 : 0);
    }
}

static void print_arg(FILE *f, const cli_arg *a)
{
    char range[200];

    fputs(".TP\n", f);
    if (a->letter)
        fprintf(f, "\\fB\\-%c\\fR, ", a->letter);
    fputs("\\fB\\-\\-", f);
    roff(f, a->name);
    fputs("\\fR", f);
    if (a->kind == CLI_ENUM) {
        for (size_t i = 0; a->choices[i]; i++) {
            fputs(i == 0 ? " " : "|", f);
            roff(f, a->choices[i]);
        }
    } else if (a->metavar) {
        fputs(" \\fI", f);
        roff(f, a->metavar);
        fputs("\\fR", f);
        if (a->word)
            fprintf(f, "|%s", a->word);
    }
    fputc('\n', f);
    roff(f, a->help);
    cli_describe_range(range, sizeof range, a);
    if (range[0] && a->kind != CLI_ENUM && a->kind != CLI_HEX32) {
        fputs("; ", f);
        roff(f, range);
    }
    if (cli_preset(a)) {
        fputs(" (default: ", f);
        roff(f, cli_preset(a));
        fputc(')', f);
    }
    fputs(a->required ? " (required).\n" : ".\n", f);
}

static void print_heading(FILE *f, const char *title)
{
    fputs(".PP\n\\fI", f);
    roff(f, title);
    fputs(":\\fR\n", f);
}

static void print_example(FILE *f, const char *example)
{
    fputs(".PP\nExample:\n.PP\n.RS 4\n.nf\n", f);
    roff(f, example);
    fputs("\n.fi\n.RE\n", f);
}

static void print_command(FILE *f, const cli_command *cmd)
{
    fputs(".SS ", f);
    roff(f, cmd->name);
    fputs("\n\\fB" CLI_PROGRAM " ", f);
    roff(f, cmd->name);
    fputs("\\fR", f);
    for (size_t i = 0; i < cmd->n_positional; i++)
        fprintf(f, cmd->positional[i].optional ? " [\\fI%s\\fR]" : " \\fI%s\\fR",
                cmd->positional[i].name);
    fputs(cmd->n_args > 0 ? " [options]\n.PP\n" : "\n.PP\n", f);
    paragraphs(f, cmd->about);
    for (size_t i = 0; i < cmd->n_positional; i++) {
        fprintf(f, ".TP\n\\fI%s\\fR\n", cmd->positional[i].name);
        roff(f, cmd->positional[i].help);
        fputs(".\n", f);
    }
    for (size_t i = 0; i < cmd->n_args; i++)
        if (cmd->args[i].kind == CLI_GROUP)
            print_heading(f, cmd->args[i].name);
        else
            print_arg(f, &cmd->args[i]);
    print_example(f, cmd->example);
}

static void print_statuses(FILE *f)
{
    static const struct {
        int code;
        const char *text;
    } codes[] = {
        {0, "success; also when no cell was released, with a warning"},
        {1, "audit: the claim is refuted"},
        {64, "usage: an unknown flag, a value out of range, a budget that cannot be met"},
        {65, "bad data: malformed input, an unusable model"},
        {66, "the input is missing, empty or unreadable"},
        {70, "internal error"},
        {73, "the output exists or cannot be created"},
        {74, "input/output error, such as a full disk; a result that is complete in its file stays "
             "a success when standard output fails"},
        {75, "try again later"},
        {77, "refused, for instance by the ledger"},
        {130, "interrupted: the program ends by the signal itself"},
        {141, "whoever reads standard output has gone: the program ends by SIGPIPE, unless its "
              "result is a file"},
    };
    fputs(".SH EXIT STATUS\n", f);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        fprintf(f, ".TP\n.B %d\n", codes[i].code);
        roff(f, codes[i].text);
        fputs(".\n", f);
    }
}

static void print_surroundings(FILE *f)
{
    fputs(".SH ENVIRONMENT\n.TP\n.B FRE_MODEL_DIR\n"
          "Folder with the model files, looked at before the bundled ones.\n"
          ".TP\n.B TMPDIR\n"
          "Folder for the encrypted spool of a run (default: /tmp); it needs about four bytes a "
          "dimension for each text.\n"
          ".TP\n.B XDG_STATE_HOME\n"
          "State folder, where the ledger lies (default: ~/.local/state).\n"
          ".TP\n.B COLUMNS\n"
          "Width of what is printed for people (default: the terminal's, else 80).\n"
          ".TP\n.B NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM\n"
          "A terminal gets colour unless NO_COLOR is set, CLICOLOR is 0 or TERM is dumb; with "
          "CLICOLOR_FORCE a file gets it too.\n"
          ".SH FILES\n"
          "A run of \\fBsynthesize\\fR makes a folder with \\fIsynthetic.jsonl\\fR, "
          "\\fIrelease.json\\fR, \\fIcentroids.npy\\fR and \\fIcounts.npy\\fR. "
          "It appears whole or not at all.\n"
          ".PP\nThe ledger of what has been released is \\fIfre-e2t/ledger.json\\fR in the state "
          "folder, or what \\fB\\-\\-ledger\\fR says.\n"
          ".SH SEE ALSO\n"
          "The guide, the privacy statement and the file formats lie in the documentation "
          "folder.\n",
          f);
}

void cli_print_man(FILE *f, const cli_program *program)
{
    char title[] = CLI_PROGRAM;
    for (char *p = title; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    fprintf(f, ".TH \"%s\" 1 \"\" \"" CLI_PROGRAM " %s\" \"User commands\"\n", title, FRE_VERSION);
    fputs(".nh\n.ad l\n.SH NAME\n", f);
    roff(f, CLI_PROGRAM);
    fputs(" \\- private synthetic texts from private texts\n.SH SYNOPSIS\n", f);
    for (size_t i = 0; i < program->n; i++) {
        fputs(i == 0 ? "" : ".br\n", f);
        fputs("\\fB" CLI_PROGRAM " ", f);
        roff(f, program->command[i]->name);
        fputs("\\fR", f);
        for (size_t j = 0; j < program->command[i]->n_positional; j++)
            fprintf(f,
                    program->command[i]->positional[j].optional ? " [\\fI%s\\fR]" : " \\fI%s\\fR",
                    program->command[i]->positional[j].name);
        fputs(" [options]\n", f);
    }
    fputs(".SH DESCRIPTION\n", f);
    paragraphs(f, "Finds what many texts of a private collection have in common and releases "
                  "synthetic texts for it under differential privacy: texts become embeddings, "
                  "embeddings fall into cells, cells that enough sampled texts share are "
                  "released as noisy means, and a model writes a text for each mean.\n\n"
                  "A flag that is repeated counts the last time; --flag=value and --flag value "
                  "are the same; -- ends the flags; - as an input is standard input. Results go "
                  "to standard output, everything else to standard error.");
    fputs(".SH COMMANDS\n", f);
    for (size_t i = 0; i < program->n; i++)
        print_command(f, program->command[i]);
    fputs(".SH COMMON OPTIONS\n", f);
    for (size_t i = program->command[0]->n_args; i < cli_n_args(program->command[0]); i++)
        if (cli_arg_at(program->command[0], i)->kind != CLI_GROUP)
            print_arg(f, cli_arg_at(program->command[0], i));
    print_statuses(f);
    print_surroundings(f);
}
