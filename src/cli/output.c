/* output.c - JSON results and warnings. */
#include "cli.h"

#include <errno.h>
#include <math.h>
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

fre_status cli_json_print(json_t *object, fre_err *err)
{
    int rc;

    if (!object)
        return fre_fail(err, FRE_E_NOMEM, "out of memory while writing the result");
    rc = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    fputc('\n', stdout);
    if (rc != 0 || fflush(stdout) != 0)
        return fre_fail(err, FRE_E_IO, "cannot write standard output: %s", strerror(errno));
    return FRE_OK;
}

void cli_warn(const cli *c, const char *fmt, ...)
{
    va_list ap;

    if (c->quiet)
        return;
    cli_progress_end();
    fprintf(stderr, CLI_PROGRAM " %s: warning: ", c->command->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

fre_status cli_refuse_input(const char *input, const char *output, fre_err *err)
{
    struct stat in, out;

    if (stat(input, &in) != 0 || stat(output, &out) != 0 || !S_ISREG(in.st_mode) ||
        in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return FRE_OK;
    return fre_fail(err, FRE_E_EXISTS,
                    "'%.200s' is the input itself, which would be lost: give another --output",
                    output);
}
