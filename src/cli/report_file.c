/* report_file.c - a release's report as a file. */
#include "report_file.h"

#include <string.h>

fre_status cli_report_open(fre_outfile **out, const cli *c, const char *flag, fre_err *err)
{
    const char *path = cli_text(c, flag);
    fre_status st = FRE_OK;

    if (!path)
        return FRE_OK;
    if (strcmp(path, "-") == 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--%s is a file, which standard output is not: name one (./- if it is to "
                        "be called so)",
                        flag);
    for (size_t i = 0; st == FRE_OK && i < c->n_positional; i++)
        st = cli_refuse_inputs(c, c->positional[i], flag, err);
    return st == FRE_OK ? fre_outfile_open(out, path, cli_flag(c, "force"), err) : st;
}

fre_status cli_report_write(fre_outfile **out, size_t *bytes, const cli *c,
                            const fre_report_opts *o, const char *flag, fre_err *err)
{
    fre_buf page;
    fre_status st;

    if (!*out)
        return FRE_OK;
    fre_buf_init(&page, FRE_REPORT_MAX);
    st = fre_report_render(&page, o, err);
    if (st == FRE_OK && fwrite(page.p, 1, page.n, fre_outfile_stream(*out)) != page.n)
        st = fre_fail(err, FRE_E_IO, "cannot write '%.300s' (disk full?)", cli_text(c, flag));
    if (st == FRE_OK)
        st = fre_outfile_commit(*out, err);
    if (st == FRE_OK && bytes)
        *bytes = page.n;
    fre_buf_wipe(&page);
    fre_outfile_free(*out);
    *out = NULL;
    return st;
}

void cli_report_print(const cli *c, const char *flag)
{
    fputs("Report: ", stdout);
    (void)cli_print_safe(stdout, cli_text(c, flag), 0);
    putchar('\n');
}
