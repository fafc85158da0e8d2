/* cli.h - the program's own contract: one declarative table a command.
 *
 * The parser, --help, the man page and the shell completions are all made from the same
 * cli_command, so that they cannot disagree.  Strings of a table are static; values are borrowed
 * from argv.  A command's run() prints results on standard output only, everything else on
 * standard error, and reports failure by its status and one sentence in err.
 */
#ifndef FRE_CLI_H
#define FRE_CLI_H

#include <fre/core.h>
#include <fre/embed.h>
#include <fre/param.h>

#include <jansson.h>

#define CLI_PROGRAM "fre-e2t"
#define CLI_WIDTH 80u
#define CLI_ARGS_MAX 80u
#define CLI_POSITIONALS_MAX 4u
#define CLI_LIST_MAX 16u

#ifndef FRE_VERSION
#define FRE_VERSION "unversioned"
#endif

typedef enum cli_kind {
    CLI_GROUP, /* a heading inside the table; name is its title */
    CLI_FLAG,
    CLI_U64,
    CLI_DOUBLE,
    CLI_ENUM,
    CLI_STRING,
    CLI_PATH,
    CLI_HEX32 /* 1 to 64 hexadecimal digits; never echoed */
} cli_kind;

typedef struct cli_arg {
    const char *name; /* long name without the dashes */
    const char *metavar;
    const char *preset; /* default as text; NULL: none */
    const char *word;   /* accepted in place of a number, such as "auto" */
    const char *help;
    const char *const *choices; /* CLI_ENUM, NULL-terminated */
    const fre_param *param;     /* a number's range and default; NULL: CLI_U64 takes any */
    cli_kind kind;
    char letter; /* one-letter name, 0: none */
    bool required;
    bool no_preset; /* the library's default is not this command's */
    bool repeats;   /* CLI_PATH: may be given several times, cli.list; at most one in a table */
} cli_arg;

/* Entries of a table; more fields (.preset, .required, .word, .help) may follow. */
#define CLI_HEADING(title)                                                                         \
    {                                                                                              \
        .name = (title), .kind = CLI_GROUP                                                         \
    }
/* A number, or a whole one, of the range and with the default that the library says. */
#define CLI_NUMBER(flag, letters, entry, ...)                                                      \
    {                                                                                              \
        .name = (flag), .metavar = (letters), .kind = CLI_DOUBLE, .param = &(entry), __VA_ARGS__   \
    }
#define CLI_COUNT(flag, letters, entry, ...)                                                       \
    {                                                                                              \
        .name = (flag), .metavar = (letters), .kind = CLI_U64, .param = &(entry), __VA_ARGS__      \
    }
#define CLI_FILE(flag, letters, ...)                                                               \
    {                                                                                              \
        .name = (flag), .metavar = (letters), .kind = CLI_PATH, __VA_ARGS__                        \
    }
#define CLI_EMBEDDER                                                                               \
    CLI_FILE("embedder", "FILE", .help = "GGUF file (default: the bundled all-MiniLM-L6-v2)")
#define CLI_CHOICE(flag, letters, list, ...)                                                       \
    {                                                                                              \
        .name = (flag), .metavar = (letters), .kind = CLI_ENUM, .choices = (list), __VA_ARGS__     \
    }

/* A flag that would say nothing beside another argument, or without one, is refused. */
typedef struct cli_rule {
    const char *flag;     /* refused when it is given, and `other` ... */
    const char *other;    /* ... a flag or a positional's name, ... */
    const char *is;       /* ... has this value; CLI_GIVEN: any; CLI_LEFT_OUT: none */
    const char *sentence; /* follows "--FLAG " */
} cli_rule;
#define CLI_GIVEN ""
#define CLI_LEFT_OUT NULL

typedef struct cli_positional {
    const char *name;
    const char *help;
    const char *const *choices; /* NULL: any text */
    bool optional;
} cli_positional;

typedef struct cli cli;

typedef struct cli_command {
    const char *name; /* one or two words */
    const char *summary;
    const char *about;   /* paragraphs separated by an empty line */
    const char *example; /* lines, each a command and its arguments, or a "# note" */
    const cli_positional *positional;
    const cli_arg *args;
    const cli_rule *rules;
    size_t n_positional, n_args, n_rules;
    fre_status (*run)(cli *c, fre_err *err);
} cli_command;

typedef struct cli_value {
    const char *text; /* as given or as the default has it; NULL: neither */
    double number;
    uint64_t whole;
    size_t choice;
    uint8_t bytes[32];
    bool given; /* by the user */
    bool set;   /* given or has a default */
    bool is_word;
} cli_value;

/* All commands, in the order of the overview. */
typedef struct cli_program {
    const cli_command *const *command;
    size_t n;
} cli_program;

struct cli {
    const cli_program *program;
    const cli_command *command;
    cli_value value[CLI_ARGS_MAX];
    const char *positional[CLI_POSITIONALS_MAX]; /* NULL: left out */
    size_t n_positional;
    const char *list[CLI_LIST_MAX]; /* values of the argument that repeats */
    size_t n_list;
    bool json, quiet, help, version;
    bool refuted; /* audit: the claim does not hold; exit code 1 */
    uint32_t threads;
    fre_progress progress; /* hand &c->progress to the library */
};

/* ---- commands.c: the list, which only main.c and tests name; everything else is given one -------- */

extern const cli_program cli_all;
extern const cli_command cli_cmd_synthesize, cli_cmd_plan, cli_cmd_account, cli_cmd_audit,
    cli_cmd_ssp, cli_cmd_embed, cli_cmd_invert, cli_cmd_paraphrase, cli_cmd_score, cli_cmd_evaluate,
    cli_cmd_report, cli_cmd_contribute, cli_cmd_serve, cli_cmd_simulate, cli_cmd_baseline,
    cli_cmd_experiment,
    cli_cmd_collection_keygen, cli_cmd_collection_commit, cli_cmd_collection_new,
    cli_cmd_collection_show, cli_cmd_collection_check, cli_cmd_collection_cancel,
    cli_cmd_collection_release, cli_cmd_collection_close, cli_cmd_collection_log, cli_cmd_bench, cli_cmd_model_list,
    cli_cmd_model_info, cli_cmd_model_prior, cli_cmd_model_bridge, cli_cmd_model_codebook,
    cli_cmd_model_verify, cli_cmd_ledger_show, cli_cmd_completion, cli_cmd_help, cli_cmd_version;

/* ---- find.c --------------------------------------------------------------------------------- */

/* The command that argv[0..] names; *used: words consumed (1 or 2).  NULL: none; err says so. */
const cli_command *cli_find_command(const cli_program *p, int argc, char *const *argv, int *used,
                                    fre_err *err);

/* Is it the first word of commands of two, as "model" of "model list"? */
bool cli_is_group(const cli_program *p, const char *word);

/* ---- named.c -------------------------------------------------------------------------------- */

/* Whose flags cli_named knows; before it none.  p is kept. */
void cli_name_flags_of(const cli_program *p);

#define CLI_NAMED_BYTES 2400u
/* An error's or a warning's text with its parameters as flags: "--sampling-rate" for
 * "{sampling_rate}" where some command has that flag.  Returns out. */
const char *cli_named(char out[CLI_NAMED_BYTES], const char *text);

/* ---- args.c: tables, and values by name ------------------------------------------------------------- */

/* A command's own arguments, then the common ones. */
size_t cli_n_args(const cli_command *cmd);
const cli_arg *cli_arg_at(const cli_command *cmd, size_t i);

/* Parse what follows the command's name, and check its rules.  FRE_E_USAGE with one sentence.  When --help or
 * --version is among the arguments nothing else is checked. */
FRE_MUST_CHECK fre_status cli_parse(cli *c, const cli_program *program, const cli_command *cmd,
                                    int argc, char *const *argv, fre_err *err);
/* Values by name; a name that the command's table lacks is a bug and aborts. */
const cli_value *cli_get(const cli *c, const char *name);
bool cli_given(const cli *c, const char *name);
bool cli_flag(const cli *c, const char *name);
uint64_t cli_whole(const cli *c, const char *name);
double cli_number(const cli *c, const char *name);
size_t cli_choice(const cli *c, const char *name);
const char *cli_text(const cli *c, const char *name); /* NULL: not set */

/* ---- value.c ------------------------------------------------------------------------------- */

/* One value against its argument's kind and range. */
FRE_MUST_CHECK fre_status cli_parse_value(cli_value *out, const cli_arg *arg, const char *text,
                                          fre_err *err);
/* What it is where it isn't given, as text; NULL: nothing. */
const char *cli_preset(const cli_arg *arg);
/* "above 0 and at most 50", "add-remove or replace"; "" where anything goes. */
void cli_describe_range(char *out, size_t n, const cli_arg *arg);
/* "add-remove or replace". */
void cli_join_choices(char *out, size_t n, const char *const *choices);
#define CLI_ECHO_BYTES 48u
/* What the user typed, short and printable.  Returns out. */
const char *cli_echo(char out[CLI_ECHO_BYTES], const char *text);

/* ---- nearest.c ------------------------------------------------------------------------------ */

/* The candidate nearest to a mistyped word, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *candidates, size_t n);

/* ---- help.c, man.c, completion.c: made from the tables -------------------------------------- */

void cli_print_overview(FILE *f, const cli_program *p);
void cli_print_help(FILE *f, const cli_command *cmd);
/* The commands of a group, whose first word is given. */
void cli_print_group(FILE *f, const cli_program *p, const char *word);
void cli_print_man(FILE *f, const cli_program *program);
/* shell: "bash", "zsh" or "fish". */
void cli_print_completion(FILE *f, const cli_program *p, const char *shell);

/* ---- terminal.c: all that depends on the terminal, and all that keeps data from steering it --- */

/* Of what is printed: COLUMNS, else the terminal's own, else CLI_WIDTH. */
size_t cli_columns(FILE *f);
/* A terminal that moves its cursor when it is told to: neither a file nor TERM=dumb. */
bool cli_is_steerable(FILE *f);
typedef enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_YELLOW, CLI_RED, CLI_DIM } cli_style;
/* Text in a style where f has colour (NO_COLOR, CLICOLOR and CLICOLOR_FORCE are kept to), else
 * plain. */
void cli_styled(FILE *f, cli_style style, const char *text);
/* A line of its own, in bold; on a terminal that is too narrow, as many as it takes. */
void cli_heading(FILE *f, const char *text);
/* Text of unknown origin: "?" for what would steer the terminal, turn the text's direction or be
 * invisible; cut to `columns` with an ellipsis (0: whole).  Returns the columns it takes. */
size_t cli_print_safe(FILE *f, const char *text, size_t columns);
/* The columns that cli_print_safe takes for it. */
size_t cli_width(const char *text);
/* Lines for people: as they are where they fit, or f is no terminal; else folded between words, gaps of
 * more than two spaces shrunk to two, what follows indented by `indent`.  Untrusted parts come out as
 * in cli_print_safe. */
void cli_fold(FILE *f, size_t indent, const char *fmt, ...) FRE_PRINTF(3, 4);
/* "  name  value  note": the value beside a name of at most name_width, the note (may be "") beside a
 * value of usual length, or under both where there is no room. */
void cli_noted(FILE *f, int name_width, const char *name, const char *value, const char *note);
/* A table of n columns, two spaces before each.  Where a row doesn't fit, each is a block instead: the
 * cell of the column that takes the rest, else the first, and under it the others, behind the names
 * of their columns. */
typedef struct cli_column {
    const char *name;
    int width; /* of the printf kind: below 0, to the left, and a longer text is cut */
    bool rest; /* of the line, at least `width`; at most one */
} cli_column;
typedef struct cli_cell {
    const char *text; /* may be "" */
    cli_style style;
} cli_cell;
void cli_table_head(FILE *f, const cli_column *column, size_t n);
void cli_table_row(FILE *f, const cli_column *column, size_t n, const cli_cell *cell);
/* Words of text wrapped into columns indent..cli_columns, 120 at most; the cursor stands at
 * `column`.  Where an indent leaves hardly any room, on lines of its own below. */
void cli_wrap(FILE *f, const char *text, size_t indent, size_t column);
/* A line for people, after a prefix in a style: whole words on a terminal, else a line whatever its
 * length. */
void cli_message(FILE *f, cli_style style, const char *prefix, const char *text);
/* The same without a prefix. */
void cli_note(FILE *f, const char *text);
/* The ending of a noun of which there are n: "" or "s". */
const char *cli_plural(uint64_t n);
/* JSON text with the characters that cli_print_safe replaces as \uXXXX. */
void cli_print_json_text(FILE *f, const char *text, size_t n);
/* A line of JSON: as it is into a file, as cli_print_json_text does it on a terminal. */
void cli_print_line(FILE *f, const char *text, size_t n);

/* ---- progress.c ------------------------------------------------------------------------------ */

/* A sink on standard error: a bar with rate and time left on a terminal, at most ten a second,
 * else a line every ten seconds.  quiet: nothing. */
void cli_progress_start(fre_progress *out, bool quiet);
/* Clear the bar; call before anything else is printed on the terminal. */
void cli_progress_end(void);

/* ---- output.c --------------------------------------------------------------------------------- */

/* A real, or null where JSON has no number for it. */
json_t *cli_json_real(double x);
/* A budget, or null where none (0) is stated. */
json_t *cli_budget_json(double x);
/* A list of texts, cli_named.  NULL: out of memory. */
json_t *cli_texts_json(const char *const *text, size_t n);
/* What the library wrote as text, which is wiped; st: how that went.  NULL: it could not. */
json_t *cli_json_of(fre_status st, fre_buf *text);
/* Print one object on standard output and give up the reference.  NULL: out of memory. */
FRE_MUST_CHECK fre_status cli_json_print(json_t *object, fre_err *err);
/* One object as a line of f, which `path` names; gives up the reference.  FRE_E_IO, FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status cli_json_line(FILE *f, json_t *object, const char *path, fre_err *err);
/* FRE_E_EXISTS when what --FLAG names is the input itself or a file that another flag names, which
 * --force would destroy. */
FRE_MUST_CHECK fre_status cli_refuse_inputs(const cli *c, const char *input, const char *flag,
                                            fre_err *err);
/* Each as a paragraph behind "Warning:", for a result that people read. */
void cli_print_warnings(FILE *f, const char *const *text, size_t n);
/* "fre-e2t NAME: warning: ..." on standard error, unless --quiet. */
void cli_warn(const cli *c, const char *fmt, ...) FRE_PRINTF(2, 3);
/* What is to be said of texts that the embedder was not made for; NULL: nothing. */
const char *cli_foreign_warning(const fre_text_counts *c);
const char *cli_unknown_warning(const fre_text_counts *c);

#endif
