/* output.c - JSON results and warnings. */
#include "cli.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

json_t *cli_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *cli_budget_json(double x)
{
    return x > 0 ? cli_json_real(x) : json_null();
}

json_t *cli_texts_json(const char *const *text, size_t n)
{
    char named[CLI_NAMED_BYTES];
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++) {
        if (json_array_append_new(list, json_string(cli_named(named, text[i]))) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

json_t *cli_json_of(fre_status st, fre_buf *text)
{
    json_t *o = st == FRE_OK ? json_loadb((const char *)text->p, text->n, 0, NULL) : NULL;

    fre_buf_wipe(text);
    return o;
}

/* A failed write shows at the end of the run, where all that was printed is looked after. */
fre_status cli_json_print(json_t *object, fre_err *err)
{
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;

    json_decref(object);
    if (!text)
        return fre_fail(err, FRE_E_NOMEM, "out of memory while writing the result");
    cli_print_json_text(stdout, text, strlen(text));
    fputc('\n', stdout);
    free(text);
    return FRE_OK;
}

fre_status cli_json_line(FILE *f, json_t *object, const char *path, fre_err *err)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    fre_status st = FRE_OK;

    json_decref(object);
    if (!text)
        return fre_fail(err, FRE_E_NOMEM, "out of memory while writing the result");
    cli_print_line(f, text, strlen(text));
    if (ferror(f))
        st = fre_fail(err, FRE_E_IO, "cannot write %.300s: %s", path, strerror(errno));
    free(text);
    return st;
}

const char *cli_foreign_warning(const fre_text_counts *c)
{
    return !fre_text_counts_foreign(c) ? NULL
                                       : "many texts are not what the embedder was made for (in "
                                         "another language, or hardly any "
                                         "words), so similar ones may not be recognised; choose "
                                         "another with --embedder FILE";
}

const char *cli_unknown_warning(const fre_text_counts *c)
{
    return c->unknown == 0 ? NULL
                           : "some texts hold no word that the embedder knows (another script, "
                             "emoji) and were left "
                             "out; choose another with --embedder FILE";
}

void cli_warn(const cli *c, const char *fmt, ...)
{
    char prefix[80], text[1200], named[CLI_NAMED_BYTES];
    va_list ap;

    if (c->quiet)
        return;
    cli_progress_end();
    (void)snprintf(prefix, sizeof prefix, CLI_PROGRAM " %s: warning:", c->command->name);
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cli_message(stderr, CLI_YELLOW, prefix, cli_named(named, text));
}

void cli_print_warnings(FILE *f, const char *const *text, size_t n)
{
    char named[CLI_NAMED_BYTES];

    for (size_t i = 0; i < n; i++) {
        fputc('\n', f);
        cli_styled(f, CLI_YELLOW, "Warning:");
        fputc(' ', f);
        cli_wrap(f, cli_named(named, text[i]), 9, 9);
    }
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    char *p = strdup(a), *q = strdup(b);
    const bool same = p && q && stat(dirname(p), &x) == 0 && stat(dirname(q), &y) == 0 &&
                      x.st_dev == y.st_dev && x.st_ino == y.st_ino;

    free(p);
    free(q);
    return same;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Do both paths mean one file, or would they once it is there? */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    const bool is_a = stat(a, &x) == 0, is_b = stat(b, &y) == 0;

    if (is_a != is_b)
        return false;
    if (!is_a)
        return strcmp(name_of(a), name_of(b)) == 0 && same_folder(a, b);
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

fre_status cli_refuse_inputs(const cli *c, const char *input, const char *flag, fre_err *err)
{
    const char *output = cli_text(c, flag);

    if (strcmp(output, "-") == 0)
        return FRE_OK;
    if (same_file(input, output))
        return fre_fail(err, FRE_E_EXISTS,
                        "'%.200s' is the input itself, which would be lost: give another --%s",
                        output, flag);
    for (size_t i = 0; i < c->command->n_args; i++) {
        const cli_arg *arg = &c->command->args[i];

        if (arg->kind == CLI_PATH && strcmp(arg->name, flag) != 0 && cli_given(c, arg->name) &&
            same_file(cli_text(c, arg->name), output))
            return fre_fail(err, FRE_E_EXISTS,
                            "'%.200s' is also what --%s names, which would be lost: give another "
                            "--%s",
                            output, arg->name, flag);
    }
    return FRE_OK;
}
