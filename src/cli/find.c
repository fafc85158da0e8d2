/* find.c - the command that a command line names. */
#include "cli.h"

#include <string.h>

/* The word itself, or "model" of "model list". */
static bool starts_with_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && (name[n] == '\0' || name[n] == ' ');
}

bool cli_is_group(const cli_program *p, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; n > 0 && i < p->n; i++)
        if (strncmp(p->command[i]->name, word, n) == 0 && p->command[i]->name[n] == ' ')
            return true;
    return false;
}

static fre_status refuse_group(const cli_program *p, const char *word, fre_err *err)
{
    char list[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->command[i]->name;
        if (starts_with_word(name, word) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'",
                                     used > 0 ? " or " : "", name);
    }
    return fre_fail(err, FRE_E_USAGE, "'%s' needs a second word: %s", word, list);
}

const cli_command *cli_find_command(const cli_program *p, int argc, char *const *argv, int *used,
                                    fre_err *err)
{
    const char *first[CLI_ARGS_MAX], *near;
    char word[32];
    size_t n = 0;
    bool group = false;

    snprintf(word, sizeof word, "%s", argv[0]);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = p->command[i]->name;
        const char *gap = strchr(name, ' ');
        first[n++] = name;
        if (!starts_with_word(name, argv[0]) || !argv[0][0])
            continue;
        if (!gap) {
            *used = 1;
            return p->command[i];
        }
        if (argc > 1 && strcmp(gap + 1, argv[1]) == 0) {
            *used = 2;
            return p->command[i];
        }
        group = true;
    }
    if (group && strchr(argv[0], ' ') == NULL) {
        (void)refuse_group(p, argv[0], err);
        return NULL;
    }
    near = cli_nearest(word, first, n);
    for (char *q = word; *q; q++)
        if ((unsigned char)*q < 0x20u || (unsigned char)*q >= 0x7fu)
            *q = '?';
    if (near)
        (void)fre_fail(err, FRE_E_USAGE,
                       "'%s' is not a command of this version; did you mean '%s'?", word, near);
    else
        (void)fre_fail(err, FRE_E_USAGE,
                       "'%s' is not a command of this version; '" CLI_PROGRAM " help' lists them",
                       word);
    return NULL;
}
