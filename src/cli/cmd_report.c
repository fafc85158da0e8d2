/* cmd_report.c - a release, and what is known of its quality, as a page that people read. */
#include "report_file.h"

#include <sys/stat.h>

static const cli_positional positional[] = {
    {.name = "RELEASE", .help = "a release's folder, as synthesize makes it"},
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_FILE("output", "FILE.html", .letter = 'o', .required = true, .help = "where it goes"),
    CLI_FILE("evaluation", "FILE.json",
             .help = "what evaluate --json printed for this release: its quality, which is NOT "
                     "private"),
    {.name = "public",
     .kind = CLI_FLAG,
     .help = "only what may be published: no evaluation, no name of a file, nothing of the ledger; "
             "a release that is not private is refused"},
    {.name = "force", .kind = CLI_FLAG, .help = "replace FILE.html if it exists"},
};

static const cli_rule rules[] = {
    {"evaluation", "public", CLI_GIVEN,
     "is what --public leaves out, since it comes from the originals without noise: give one of "
     "the two"},
};

static json_t *written_json(const cli *c, size_t bytes)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:I}", "output", cli_text(c, "output"), "release",
                     c->positional[0], "public", (int)cli_flag(c, "public"), "evaluation",
                     (int)cli_given(c, "evaluation"), "bytes", (json_int_t)bytes);
}

static fre_status run(cli *c, fre_err *err)
{
    const fre_report_opts o = {.release = c->positional[0],
                               .evaluation = cli_text(c, "evaluation"),
                               .is_public = cli_flag(c, "public"),
                               .threads = c->threads};
    fre_outfile *out = NULL;
    size_t bytes = 0;
    fre_status st;

    if (o.evaluation)
        (void)umask(077); /* as private as the originals */
    st = cli_report_open(&out, c, "output", err);
    if (st == FRE_OK)
        st = cli_report_write(&out, &bytes, c, &o, "output", err);
    if (st != FRE_OK)
        return st;
    if (o.evaluation)
        cli_warn(c, "the report holds figures from the originals without noise, which are not "
                    "private: keep it where the originals are");
    if (c->json)
        return cli_json_print(written_json(c, bytes), err);
    if (!c->quiet)
        cli_report_print(c, "output");
    return FRE_OK;
}

const cli_command cli_cmd_report = {
    .name = "report",
    .summary = "make one HTML file that shows a release",
    .about =
        "One file that loads nothing and needs no network: what was released and what it protects, "
        "in plain words; themes and texts as a searchable tree beside a map; the privacy "
        "statement; and, with --evaluation, how good it is, as tables and charts.\n\n"
        "Without --evaluation a report shows what is in the release. With it, the report is as "
        "private as the originals; --public makes one that may be published.",
    .example = CLI_PROGRAM " evaluate release texts.csv --json > quality.json\n" CLI_PROGRAM
                           " report release --evaluation quality.json -o quality.html\n" CLI_PROGRAM
                           " report release --public -o release.html",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
