/* report_file.h - a release's report as a file, for the commands that write one. */
#ifndef FRE_CLI_REPORT_FILE_H
#define FRE_CLI_REPORT_FILE_H

#include "cli.h"

#include <fre/report.h>

#define CLI_REPORT CLI_FILE("report", "FILE.html", .help = "also write a report, one HTML file")

/* Open what --FLAG names, so that a name that is taken is refused before there is anything to report;
 * *out NULL where the flag isn't given. */
FRE_MUST_CHECK fre_status cli_report_open(fre_outfile **out, const cli *c, const char *flag,
                                          fre_err *err);
/* Render, write and commit.  *out is freed and NULL then; NULL before: nothing to do.  bytes (NULL allowed):
 * of the file. */
FRE_MUST_CHECK fre_status cli_report_write(fre_outfile **out, size_t *bytes, const cli *c,
                                           const fre_report_opts *o, const char *flag,
                                           fre_err *err);
/* A line that names it. */
void cli_report_print(const cli *c, const char *flag);

#endif
