/* completion.c - completion scripts for bash, zsh and fish, made from the tables. */
#include "cli.h"

#include <string.h>

/* Was the first word of command i seen at an earlier command? */
static bool first_word_seen(const cli_program *p, size_t i)
{
    size_t n = strcspn(p->command[i]->name, " ");
    for (size_t j = 0; j < i; j++)
        if (strncmp(p->command[j]->name, p->command[i]->name, n) == 0 &&
            strcspn(p->command[j]->name, " ") == n)
            return true;
    return false;
}

static void first_words(FILE *f, const cli_program *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->command[i]->name;
        if (!first_word_seen(p, i))
            fprintf(f, "%s%.*s", i == 0 ? "" : " ", (int)strcspn(name, " "), name);
    }
}

static void list_choices(FILE *f, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++)
        fprintf(f, "%s%s", i == 0 ? "" : " ", choices[i]);
}

/* Second words of the group that command i opens ("list info"). */
static void second_words(FILE *f, const cli_program *p, size_t i)
{
    const char *name = p->command[i]->name;
    size_t n = strcspn(name, " ");
    bool first = true;

    for (size_t j = i; j < p->n; j++) {
        if (strncmp(p->command[j]->name, name, n + 1) != 0)
            continue;
        fprintf(f, "%s%s", first ? "" : " ", p->command[j]->name + n + 1);
        first = false;
    }
}

static const char *const *positional_choices(const cli_command *cmd)
{
    return cmd->n_positional > 0 ? cmd->positional[0].choices : NULL;
}

/* ---- bash -------------------------------------------------------------------------------------- */

static void bash_flags(FILE *f, const cli_command *cmd)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind != CLI_GROUP)
            fprintf(f, " --%s", a->name);
    }
}

/* What may follow a flag: its choices, its word, a file; nothing for other values. */
static void bash_values(FILE *f, const cli_command *cmd)
{
    for (size_t i = 0; i < cli_n_args(cmd); i++) {
        const cli_arg *a = cli_arg_at(cmd, i);
        if (a->kind == CLI_GROUP || a->kind == CLI_FLAG)
            continue;
        fprintf(f, "        '%s --%s'%s", cmd->name, a->name, a->letter ? "|" : ")");
        if (a->letter)
            fprintf(f, "'%s -%c')", cmd->name, a->letter);
        if (a->kind == CLI_ENUM) {
            fputs(" words='", f);
            list_choices(f, a->choices);
            fputs("' ;;\n", f);
        } else if (a->kind == CLI_PATH) {
            fputs(" files=1 ;;\n", f);
        } else {
            fprintf(f, " words='%s' ;;\n", a->word ? a->word : "");
        }
    }
}

static void print_bash(FILE *f, const cli_program *p)
{
    fputs("# bash completion for " CLI_PROGRAM "; made from its argument tables\n"
          "_fre_e2t()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words='' files='' known=1\n"
          "    COMPREPLY=()\n"
          "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
          "        COMPREPLY=($(compgen -W '",
          f);
    first_words(f, p);
    fputs("' -- \"$cur\"))\n        return\n    fi\n    case $command in\n", f);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->command[i]->name;
        size_t n = strcspn(name, " ");
        if (!name[n] || first_word_seen(p, i))
            continue;
        fprintf(f,
                "    %.*s)\n        if [[ $COMP_CWORD -eq 2 ]]; then\n"
                "            COMPREPLY=($(compgen -W '",
                (int)n, name);
        second_words(f, p, i);
        fputs("' -- \"$cur\"))\n            return\n        fi\n"
              "        command=\"$command ${COMP_WORDS[2]}\" ;;\n",
              f);
    }
    fputs("    esac\n    if [[ $cur == '=' ]]; then\n        cur=''\n"
          "    elif [[ $prev == '=' ]]; then\n        prev=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
          "    case \"$command $prev\" in\n",
          f);
    for (size_t i = 0; i < p->n; i++)
        bash_values(f, p->command[i]);
    fputs("        *) known='' ;;\n    esac\n"
          "    if [[ -z $known && $cur == -* ]]; then\n"
          "        case $command in\n",
          f);
    for (size_t i = 0; i < p->n; i++) {
        fprintf(f, "        '%s') words='", p->command[i]->name);
        bash_flags(f, p->command[i]);
        fputs("' ;;\n", f);
    }
    fputs("        esac\n    elif [[ -z $known ]]; then\n        case $command in\n", f);
    for (size_t i = 0; i < p->n; i++) {
        if (!positional_choices(p->command[i]))
            continue;
        fprintf(f, "        '%s') words='", p->command[i]->name);
        list_choices(f, positional_choices(p->command[i]));
        fputs("' ;;\n", f);
    }
    fputs("        help) words='", f);
    first_words(f, p);
    fputs("' ;;\n        *) files=1 ;;\n        esac\n    fi\n"
          "    if [[ -n $files ]]; then\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    else\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    fi\n}\n"
          "complete -o filenames -F _fre_e2t " CLI_PROGRAM "\n",
          f);
}

/* ---- zsh and fish ---------------------------------------------------------------------------------- */

/* Text inside single quotes; for zsh's _arguments also without brackets and colons. */
static void quoted(FILE *f, const char *text, bool zsh)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            fputs(zsh ? "'\\''" : "\\'", f);
        else if (*p == '\\')
            fputs("\\\\", f);
        else if (zsh && (*p == '[' || *p == ']' || *p == ':'))
            fprintf(f, "\\%c", *p);
        else
            fputc(*p, f);
    }
}

static void zsh_action(FILE *f, const cli_arg *a)
{
    fputs(a->metavar ? a->metavar : "value", f);
    fputc(':', f);
    if (a->kind == CLI_ENUM) {
        fputc('(', f);
        list_choices(f, a->choices);
        fputc(')', f);
    } else if (a->kind == CLI_PATH) {
        fputs("_files", f);
    } else {
        fprintf(f, "(%s)", a->word ? a->word : "");
    }
}

static void zsh_arg(FILE *f, const cli_arg *a)
{
    const char *value = a->kind == CLI_FLAG ? "" : "=";
    fprintf(f, "            '*--%s%s[", a->name, value);
    quoted(f, a->help, true);
    fputc(']', f);
    if (a->kind != CLI_FLAG) {
        fputc(':', f);
        zsh_action(f, a);
    }
    fputs("' \\\n", f);
    if (a->letter) {
        fprintf(f, "            '*-%c%s[", a->letter, a->kind == CLI_FLAG ? "" : "+");
        quoted(f, a->help, true);
        fputc(']', f);
        if (a->kind != CLI_FLAG) {
            fputc(':', f);
            zsh_action(f, a);
        }
        fputs("' \\\n", f);
    }
}

static void zsh_command(FILE *f, const cli_command *cmd)
{
    fprintf(f, "    '%s')\n        _arguments -s \\\n", cmd->name);
    for (size_t i = 0; i < cli_n_args(cmd); i++)
        if (cli_arg_at(cmd, i)->kind != CLI_GROUP)
            zsh_arg(f, cli_arg_at(cmd, i));
    for (size_t i = 0; i < cmd->n_positional; i++) {
        fprintf(f, "            '%zu:%s:", i + 1, cmd->positional[i].name);
        if (cmd->positional[i].choices) {
            fputc('(', f);
            list_choices(f, cmd->positional[i].choices);
            fputc(')', f);
        } else {
            fputs("_files", f);
        }
        fputs("' \\\n", f);
    }
    fputs("            && return 0 ;;\n", f);
}

static void print_zsh(FILE *f, const cli_program *p)
{
    fputs("#compdef " CLI_PROGRAM "\n# made from the argument tables of " CLI_PROGRAM "\n"
          "_fre_e2t() {\n    local command\n    if (( CURRENT == 2 )); then\n"
          "        compadd -- ",
          f);
    first_words(f, p);
    fputs("\n        return\n    fi\n    command=${words[2]}\n    case $command in\n", f);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->command[i]->name;
        size_t n = strcspn(name, " ");
        if (!name[n] || first_word_seen(p, i))
            continue;
        fprintf(f, "    %.*s)\n        if (( CURRENT == 3 )); then\n            compadd -- ",
                (int)n, name);
        second_words(f, p, i);
        fputs("\n            return\n        fi\n        command=\"$command ${words[3]}\"\n"
              "        shift words\n        (( CURRENT-- )) ;;\n",
              f);
    }
    fputs("    esac\n    shift words\n    (( CURRENT-- ))\n    case $command in\n", f);
    for (size_t i = 0; i < p->n; i++)
        zsh_command(f, p->command[i]);
    fputs("    esac\n}\n"
          "if [[ $funcstack[1] == _fre-e2t ]]; then\n    _fre_e2t \"$@\"\nelse\n"
          "    compdef _fre_e2t " CLI_PROGRAM "\nfi\n",
          f);
}

static void fish_condition(FILE *f, const cli_command *cmd)
{
    const char *gap = strchr(cmd->name, ' ');
    fputs("complete -c " CLI_PROGRAM " -n '__fish_seen_subcommand_from ", f);
    if (gap)
        fprintf(f, "%.*s; and __fish_seen_subcommand_from %s'", (int)(gap - cmd->name), cmd->name,
                gap + 1);
    else
        fprintf(f, "%s'", cmd->name);
}

static void fish_arg(FILE *f, const cli_command *cmd, const cli_arg *a)
{
    fish_condition(f, cmd);
    fprintf(f, " -l %s", a->name);
    if (a->letter)
        fprintf(f, " -%c %c", 's', a->letter);
    if (a->kind == CLI_ENUM) {
        fputs(" -x -a '", f);
        list_choices(f, a->choices);
        fputc('\'', f);
    } else if (a->kind == CLI_PATH) {
        fputs(" -r -F", f);
    } else if (a->kind != CLI_FLAG) {
        fprintf(f, " -x -a '%s'", a->word ? a->word : "");
    }
    fputs(" -d '", f);
    quoted(f, a->help, false);
    fputs("'\n", f);
}

static void print_fish(FILE *f, const cli_program *p)
{
    fputs("# fish completion for " CLI_PROGRAM "; made from its argument tables\n"
          "complete -c " CLI_PROGRAM " -n __fish_use_subcommand -f -a '",
          f);
    first_words(f, p);
    fputs("'\n", f);
    for (size_t i = 0; i < p->n; i++) {
        const cli_command *cmd = p->command[i];
        size_t n = strcspn(cmd->name, " ");
        if (cmd->name[n] && !first_word_seen(p, i)) {
            fprintf(f, "complete -c " CLI_PROGRAM " -n '__fish_seen_subcommand_from %.*s' -f -a '",
                    (int)n, cmd->name);
            second_words(f, p, i);
            fputs("'\n", f);
        }
        if (positional_choices(cmd)) {
            fish_condition(f, cmd);
            fputs(" -f -a '", f);
            list_choices(f, positional_choices(cmd));
            fputs("'\n", f);
        }
        for (size_t j = 0; j < cli_n_args(cmd); j++)
            if (cli_arg_at(cmd, j)->kind != CLI_GROUP)
                fish_arg(f, cmd, cli_arg_at(cmd, j));
    }
}

void cli_print_completion(FILE *f, const cli_program *p, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(f, p);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(f, p);
    else
        print_fish(f, p);
}
