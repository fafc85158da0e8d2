/* cmd_collection_commit.c - collection commit: four halves were seen, so the contribution may be shown. */
#include "collection_files.h"

#include <stdlib.h>
#include <string.h>

static const cli_positional positional[] = {CLI_HALVES};

static const cli_arg args[] = {
    CLI_SECRET(.required = true),
    CLI_FILE("output", "FILE", .letter = 'o',
             .help =
                 "file for the contribution (default: ROLE-X.contribution.json beside --secret)"),
    {.name = "force", .kind = CLI_FLAG, .help = "replace the file if it exists"},
};

/* relay-1a2b3c4d.secret.json -> relay-1a2b3c4d.contribution.json, whatever it is called. */
static char *beside(const char *secret)
{
    static const char end[] = ".secret.json";
    const size_t n = strlen(secret), tail = sizeof end - 1;
    const bool usual = n > tail && strcmp(secret + n - tail, end) == 0;
    char *path = NULL;

    return asprintf(&path, "%.*s.contribution.json", (int)(usual ? n - tail : n), secret) < 0
               ? NULL
               : path;
}

static fre_status done(const cli *c, const char *path, fre_err *err)
{
    if (strcmp(path, "-") == 0)
        return FRE_OK;
    if (c->json)
        return cli_json_print(json_pack("{s:s}", "contribution", path), err);
    if (c->quiet)
        return FRE_OK;
    cli_note(stdout, "The four commitments are noted; this role takes part with these halves and "
                     "no others. Show the contribution to whoever makes the terms:");
    cli_print_path(path);
    return FRE_OK;
}

static fre_status run(cli *c, fre_err *err)
{
    fre_half half[FRE_CONTRIBUTORS];
    char *own = NULL;
    const char *path = cli_text(c, "output");
    fre_buf text;
    fre_status st = cli_read_halves(half, c, err);

    if (st != FRE_OK)
        return st;
    if (!path)
        path = own = beside(cli_text(c, "secret"));
    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_keys_commit(&text, cli_text(c, "secret"), half, err);
    if (st == FRE_OK)
        st = cli_write_text(path, (fre_bytes){text.p, text.n}, cli_flag(c, "force"), err);
    if (st == FRE_OK)
        st = done(c, path, err);
    fre_buf_wipe(&text);
    free(own);
    return st;
}

const cli_command cli_cmd_collection_commit = {
    .name = "collection commit",
    .summary = "note the four commitments, and give out a role's contribution",
    .about =
        "The seeds of a collection are made of 32 random bytes of each of the four operators. So "
        "that none of them chooses its own to fit the others', each shows its commitment first, in "
        "its half. Once an operator has all four halves, this notes them in the role's secret file "
        "and writes the contribution. It refuses other halves from then on: if one of them is to "
        "change, all four operators make new keys.",
    .example = CLI_PROGRAM " collection commit --secret keys/relay-1a2b3c4d.secret.json \\\n"
                           "    r.half.json t.half.json s.half.json i.half.json",
    .positional = positional,
    .n_positional = sizeof positional / sizeof positional[0],
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
