/* args.c - argument tables: lookup and parsing. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const cli_arg common[] = {
    {.name = "Common", .kind = CLI_GROUP},
    CLI_COUNT("threads", "N", fre_param_threads,
              .help = "worker threads; results do not depend on it (default: all processors)"),
    {.name = "json",
     .kind = CLI_FLAG,
     .help = "print one JSON object on standard output and nothing else there"},
    {.name = "quiet", .kind = CLI_FLAG, .help = "no progress, no warnings, no summary"},
    {.name = "version", .kind = CLI_FLAG, .help = "print the version and exit"},
    {.name = "help", .kind = CLI_FLAG, .letter = 'h', .help = "print this help and exit"},
};

#define N_COMMON (sizeof common / sizeof common[0])

size_t cli_n_args(const cli_command *cmd)
{
    return cmd->n_args + N_COMMON;
}

const cli_arg *cli_arg_at(const cli_command *cmd, size_t i)
{
    return i < cmd->n_args ? &cmd->args[i] : &common[i - cmd->n_args];
}

/* ---- values by name ------------------------------------------------------------------------- */

const cli_value *cli_get(const cli *c, const char *name)
{
    for (size_t i = 0; i < cli_n_args(c->command); i++) {
        const cli_arg *a = cli_arg_at(c->command, i);
        if (a->kind != CLI_GROUP && strcmp(a->name, name) == 0)
            return &c->value[i];
    }
    fprintf(stderr, CLI_PROGRAM ": no argument '%s' in the table of %s\n", name, c->command->name);
    abort();
}

bool cli_given(const cli *c, const char *name)
{
    return cli_get(c, name)->given;
}

bool cli_flag(const cli *c, const char *name)
{
    return cli_get(c, name)->set;
}

uint64_t cli_whole(const cli *c, const char *name)
{
    return cli_get(c, name)->whole;
}

double cli_number(const cli *c, const char *name)
{
    return cli_get(c, name)->number;
}

size_t cli_choice(const cli *c, const char *name)
{
    return cli_get(c, name)->choice;
}

const char *cli_text(const cli *c, const char *name)
{
    return cli_get(c, name)->text;
}

/* ---- a whole command line ------------------------------------------------------------------------ */

#define NO_ARG SIZE_MAX

static size_t find_long(const cli_command *cmd, const char *name, size_t len)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind != CLI_GROUP && strlen(a->name) == len && memcmp(a->name, name, len) == 0)
            return i;
    }
    return NO_ARG;
}

static size_t find_letter(const cli_command *cmd, char letter)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind != CLI_GROUP && letter && a->letter == letter)
            return i;
    }
    return NO_ARG;
}

static fre_status unknown_flag(const cli_command *cmd, const char *flag, size_t len, fre_err *err)
{
    const char *names[CLI_ARGS_MAX];
    char shown[CLI_ECHO_BYTES], word[64];
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < cli_n_args(cmd); i++)
        if (cli_arg_at(cmd, i)->kind != CLI_GROUP)
            names[n++] = cli_arg_at(cmd, i)->name;
    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), flag);
    near = cli_nearest(word + strspn(word, "-"), names, n);
    if (near)
        return fre_fail(err, FRE_E_USAGE, "unknown flag %s; did you mean --%s?",
                        cli_echo(shown, word), near);
    return fre_fail(err, FRE_E_USAGE, "unknown flag %s; '" CLI_PROGRAM " %s --help' lists them",
                    cli_echo(shown, word), cmd->name);
}

static fre_status take_value(cli *c, size_t at, const char *value, fre_err *err)
{
    const cli_arg *arg = cli_arg_at(c->command, at);
    const fre_status st = cli_parse_value(&c->value[at], arg, value, err);

    if (st != FRE_OK)
        return st;
    c->value[at].given = true;
    if (arg->repeats && c->n_list == CLI_LIST_MAX)
        return fre_fail(err, FRE_E_USAGE, "--%s at most %u times", arg->name, CLI_LIST_MAX);
    if (arg->repeats)
        c->list[c->n_list++] = value;
    return FRE_OK;
}

/* A token that starts with '-' and is neither "-" nor "--". */
static fre_status parse_flag(cli *c, int argc, char *const *argv, int *i, fre_err *err)
{
    const char *token = argv[*i], *value = NULL;
    const char *equals = strchr(token, '=');
    size_t len = equals ? (size_t)(equals - token) : strlen(token);
    const cli_arg *arg;
    size_t at;

    if (token[1] == '-') {
        at = find_long(c->command, token + 2, len - 2);
    } else {
        at = find_letter(c->command, token[1]);
        if (at != NO_ARG && token[2] && !equals)
            value = token + 2; /* -oDIR */
    }
    if (at == NO_ARG || (token[1] != '-' && equals && equals != token + 2))
        return unknown_flag(c->command, token, len, err);
    arg = cli_arg_at(c->command, at);
    if (equals)
        value = equals + 1;
    if (arg->kind == CLI_FLAG) {
        if (value)
            return fre_fail(err, FRE_E_USAGE, "--%s takes no value", arg->name);
        c->value[at] = (cli_value){.given = true, .set = true};
        return FRE_OK;
    }
    if (!value) {
        bool textual = arg->kind == CLI_STRING || arg->kind == CLI_PATH;
        bool looks_like_flag = *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) == 0 && textual;
        if (*i + 1 >= argc || looks_like_flag)
            return fre_fail(err, FRE_E_USAGE, "--%s needs a value: --%s %s", arg->name, arg->name,
                            arg->metavar);
        value = argv[++*i];
    }
    return take_value(c, at, value, err);
}

static fre_status add_positional(cli *c, const char *text, fre_err *err)
{
    const cli_command *cmd = c->command;
    const cli_positional *p;
    char shown[CLI_ECHO_BYTES], choices[120];

    if (c->n_positional >= cmd->n_positional)
        return fre_fail(err, FRE_E_USAGE, "unexpected argument '%s'", cli_echo(shown, text));
    p = &cmd->positional[c->n_positional];
    if (p->choices) {
        size_t i = 0;
        while (p->choices[i] && strcmp(p->choices[i], text) != 0)
            i++;
        if (!p->choices[i]) {
            cli_join_choices(choices, sizeof choices, p->choices);
            return fre_fail(err, FRE_E_USAGE, "%s must be %s, not '%s'", p->name, choices,
                            cli_echo(shown, text));
        }
    }
    c->positional[c->n_positional++] = text;
    return FRE_OK;
}

static fre_status set_defaults(cli *c, fre_err *err)
{
    for (size_t i = 0; i < cli_n_args(c->command); i++) {
        const cli_arg *a = cli_arg_at(c->command, i);
        if (a->kind != CLI_GROUP && cli_preset(a)) {
            fre_status st = cli_parse_value(&c->value[i], a, cli_preset(a), err);
            if (st != FRE_OK)
                return FRE_E_INTERNAL;
        }
    }
    return FRE_OK;
}

static fre_status check_complete(const cli *c, fre_err *err)
{
    const cli_command *cmd = c->command;

    if (c->n_positional < cmd->n_positional && !cmd->positional[c->n_positional].optional)
        return fre_fail(err, FRE_E_USAGE, "%s is missing; see '" CLI_PROGRAM " %s --help'",
                        cmd->positional[c->n_positional].name, cmd->name);
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->required && !c->value[i].set)
            return fre_fail(err, FRE_E_USAGE,
                            "--%s %s is required; see '" CLI_PROGRAM " %s --help'", a->name,
                            a->metavar, cmd->name);
    }
    return FRE_OK;
}

static bool is_output(const cli_arg *a)
{
    return strcmp(a->name, "output") == 0 || strcmp(a->name, "trace") == 0 ||
           strcmp(a->name, "save-embeddings") == 0 || strcmp(a->name, "report") == 0;
}

/* ---- flags that would say nothing --------------------------------------------------------------- */

static const char *positional_text(const cli *c, const char *name)
{
    for (size_t i = 0; i < c->n_positional; i++)
        if (strcmp(c->command->positional[i].name, name) == 0)
            return c->positional[i];
    return NULL;
}

/* The value of a flag, a default too, or of a positional; `from` and `arg` NULL for a positional. */
static const char *text_of(const cli *c, const char *name, const cli_value **from,
                           const cli_arg **arg)
{
    const size_t at = find_long(c->command, name, strlen(name));

    *from = at == NO_ARG ? NULL : &c->value[at];
    *arg = at == NO_ARG ? NULL : cli_arg_at(c->command, at);
    return at == NO_ARG ? positional_text(c, name) : (*from)->text;
}

/* A file that is not to be used is not given. */
static bool is_none(const char *text)
{
    return text && strcmp(text, "none") == 0;
}

static bool applies(const cli *c, const cli_rule *rule)
{
    const cli_value *from;
    const cli_arg *arg;
    const char *text = text_of(c, rule->flag, &from, &arg);
    cli_value wanted;

    if (!from || !from->given || is_none(text))
        return false;
    text = text_of(c, rule->other, &from, &arg);
    if (rule->is == CLI_LEFT_OUT || !*rule->is) {
        const bool given = (from ? from->given : text != NULL) && !is_none(text);

        return given == (rule->is != CLI_LEFT_OUT);
    }
    if (arg && arg->kind == CLI_U64)
        return cli_parse_value(&wanted, arg, rule->is, NULL) == FRE_OK &&
               wanted.whole == from->whole;
    return text && strcmp(text, rule->is) == 0;
}

static fre_status check_rules(const cli *c, fre_err *err)
{
    for (size_t i = 0; i < c->command->n_rules; i++)
        if (applies(c, &c->command->rules[i]))
            return fre_fail(err, FRE_E_USAGE, "--%s %s", c->command->rules[i].flag,
                            c->command->rules[i].sentence);
    return FRE_OK;
}

/* --force where no file is made that could exist already. */
static fre_status check_force(const cli *c, fre_err *err)
{
    const cli_arg *output = NULL;
    bool given = false, files = false, streams = false;

    for (size_t i = 0; i < c->command->n_args; i++) {
        const cli_arg *arg = &c->command->args[i];

        if (arg->kind == CLI_FLAG && strcmp(arg->name, "force") == 0)
            given = c->value[i].given;
        if (arg->kind != CLI_PATH || !is_output(arg))
            continue;
        output = output ? output : arg;
        if (c->value[i].set)
            *(strcmp(c->value[i].text, "-") == 0 ? &streams : &files) = true;
    }
    if (!given || files || !output)
        return FRE_OK;
    if (streams)
        return fre_fail(err, FRE_E_USAGE,
                        "--force replaces a file, and standard output is none: leave it out");
    return fre_fail(err, FRE_E_USAGE, "--force is about --%s %s: add that", output->name,
                    output->metavar);
}

/* ---- what can be read only once ---------------------------------------------------------------- */

/* A pipe or a socket, also as standard input; *s: which one. */
static bool is_stream(const char *path, struct stat *s)
{
    if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, s) != 0 : stat(path, s) != 0)
        return false;
    return S_ISFIFO(s->st_mode) || S_ISSOCK(s->st_mode);
}

static bool is_same_stream(const char *a, const char *b)
{
    struct stat x, y;

    if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
        return true;
    return is_stream(a, &x) && is_stream(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Two inputs cannot come through one pipe. */
static fre_status check_streams(const cli *c, fre_err *err)
{
    enum { MOST = CLI_POSITIONALS_MAX + CLI_ARGS_MAX + CLI_LIST_MAX };
    const char *path[MOST], *name[MOST];
    size_t n = 0;

    for (size_t i = 0; i < c->n_positional; i++, n++) {
        path[n] = c->positional[i];
        name[n] = c->command->positional[i].name;
    }
    for (size_t i = 0; i < cli_n_args(c->command); i++) {
        const cli_arg *a = cli_arg_at(c->command, i);

        if (a->kind != CLI_PATH || !c->value[i].set || is_output(a))
            continue;
        for (size_t k = 0; k < (a->repeats ? c->n_list : 1); k++) {
            path[n] = a->repeats ? c->list[k] : c->value[i].text;
            name[n++] = a->name;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (is_same_stream(path[i], path[j]))
                return fre_fail(err, FRE_E_USAGE,
                                "%s and %s are one and the same pipe, which can be read only once: "
                                "give one of them as a file",
                                name[j], name[i]);
    return FRE_OK;
}

/* --help and --version win over every mistake beside them. */
static bool asks_for_text(cli *c, int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            c->help = true;
        if (strcmp(argv[i], "--version") == 0)
            c->version = true;
    }
    return c->help || c->version;
}

fre_status cli_parse(cli *c, const cli_program *program, const cli_command *cmd, int argc,
                     char *const *argv, fre_err *err)
{
    bool only_positionals = false;
    fre_status st;

    memset(c, 0, sizeof *c);
    c->program = program;
    c->command = cmd;
    if (cli_n_args(cmd) > CLI_ARGS_MAX || cmd->n_positional > CLI_POSITIONALS_MAX)
        return fre_fail(err, FRE_E_INTERNAL, "the table of %s is too long", cmd->name);
    st = set_defaults(c, err);
    if (st != FRE_OK || asks_for_text(c, argc, argv))
        return st;
    for (int i = 0; i < argc && st == FRE_OK; i++) {
        if (!only_positionals && strcmp(argv[i], "--") == 0)
            only_positionals = true;
        else if (!only_positionals && argv[i][0] == '-' && argv[i][1])
            st = parse_flag(c, argc, argv, &i, err);
        else
            st = add_positional(c, argv[i], err);
    }
    if (st != FRE_OK)
        return st;
    st = check_complete(c, err);
    if (st != FRE_OK)
        return st;
    st = check_rules(c, err);
    if (st != FRE_OK)
        return st;
    st = check_force(c, err);
    if (st != FRE_OK)
        return st;
    st = check_streams(c, err);
    if (st != FRE_OK)
        return st;
    c->json = cli_flag(c, "json");
    c->quiet = cli_flag(c, "quiet");
    c->threads = cli_given(c, "threads") ? (uint32_t)cli_whole(c, "threads") : fre_cpu_count();
    return FRE_OK;
}
