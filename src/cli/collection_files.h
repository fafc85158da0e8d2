/* collection_files.h - files and printing that the commands of a collection share. */
#ifndef FRE_CLI_COLLECTION_FILES_H
#define FRE_CLI_COLLECTION_FILES_H

#include "cli.h"

#include <fre/config.h>

/* Four positionals. */
#define CLI_HALVES                                                                                 \
    {.name = "HALF", .help = "ROLE-X.half.json of one role; the four may come in any order"},      \
        {.name = "HALF2", .help = "of another"}, {.name = "HALF3", .help = "of the third"},        \
    {                                                                                              \
        .name = "HALF4", .help = "of the fourth"                                                   \
    }
/* The positionals, read. */
FRE_MUST_CHECK fre_status cli_read_halves(fre_half half[FRE_CONTRIBUTORS], const cli *c,
                                          fre_err *err);
#define CLI_TERMS_POSITIONAL                                                                       \
    {                                                                                              \
        .name = "TERMS", .help = "the collection's terms, as collection new writes them"           \
    }
#define CLI_SECRET(...)                                                                            \
    CLI_FILE("secret", "FILE", .help = "the role's secret file, ROLE-X.secret.json", __VA_ARGS__)
#define CLI_ONCE                                                                                   \
    CLI_FILE("once", "DIR", .help = "folder of the role's once file (default: that of --secret)")

/* A line of its own, indented: a path, a hash. */
void cli_print_path(const char *path);
/* A new public file with these bytes; force: in place of an older one. */
FRE_MUST_CHECK fre_status cli_write_text(const char *path, fre_bytes text, bool force,
                                         fre_err *err);
/* The terms for people: id, what is asked, who, when; the plan's statement is printed behind them. */
void cli_print_terms(const fre_collection *c, const fre_collection_id *id, const fre_plan *plan);
/* {"id", "terms", "plan", "statement"}. */
json_t *cli_terms_json(const fre_collection *c, const fre_plan *plan);
/* "2026-11-30T04:00:00Z" */
#define CLI_TIME_BYTES 32u
const char *cli_time_text(char out[CLI_TIME_BYTES], int64_t t);
/* RFC 3339, or "+" and a duration after `since` ("+36h", "+7d"). */
FRE_MUST_CHECK fre_status cli_time(int64_t *out, const char *flag, const char *text, int64_t since,
                                   fre_err *err);

#endif
