/* corpus_args.h - the arguments of every command that reads texts, defined once. */
#ifndef FRE_CLI_CORPUS_ARGS_H
#define FRE_CLI_CORPUS_ARGS_H

#include "cli.h"

#include <fre/corpus.h>

extern const char *const cli_formats[], *const cli_invalids[], *const cli_folds[];

#define CLI_TEXT_FILES "texts: .txt, .jsonl, .csv or .tsv, also .gz or .zst; - for standard input"
/* The positional of a command that makes a release. */
#define CLI_RECORDS_INPUT                                                                          \
    {                                                                                              \
        .name = "INPUT", .help = CLI_TEXT_FILES "; or embeddings in a .npy file"                   \
    }
#define CLI_TEXT_FIELD                                                                             \
    {                                                                                              \
        .name = "text-field", .metavar = "F", .kind = CLI_STRING, .preset = "text",                \
        .help = "JSON key or CSV/TSV column that holds the text"                                   \
    }
#define CLI_CORPUS_ARGS CLI_TEXT_FIELD, CLI_FORMAT_ARGS
/* How it is to be read. */
#define CLI_FORMAT_ARGS                                                                            \
    CLI_CHOICE("format", "FORMAT", cli_formats, .preset = "auto",                                  \
               .help = "of the input; auto goes by its name, else by its content"),                \
        {.name = "delimiter",                                                                      \
         .metavar = "CHAR",                                                                        \
         .kind = CLI_STRING,                                                                       \
         .help = "between columns: one character, or comma, tab, semicolon, pipe (default: found " \
                 "in the header)"},                                                                \
        {.name = "encoding",                                                                       \
         .metavar = "NAME",                                                                        \
         .kind = CLI_STRING,                                                                       \
         .help = "of the input, such as latin-1, windows-1252 or utf-16 (default: utf-8, or what " \
                 "a byte order mark says)"},                                                       \
        {.name = "na-values",                                                                      \
         .metavar = "LIST",                                                                        \
         .kind = CLI_STRING,                                                                       \
         .help = "texts that count as missing, with commas between them (default: none; NA and "   \
                 "null are texts)"},                                                               \
        CLI_CHOICE("invalid", "HOW", cli_invalids, .preset = "skip",                               \
                   .help = "records that cannot be used are left out and counted (skip), or "      \
                           "repaired where that can be done (replace)"),                           \
        {.name = "strict",                                                                         \
         .kind = CLI_FLAG,                                                                         \
         .help = "end the run at the first record that cannot be used; a release then tells "      \
                 "that there was none"},                                                           \
    {                                                                                              \
        .name = "verbose", .kind = CLI_FLAG,                                                       \
        .help = "say what the input was taken for, and how many records it has"                    \
    }

/* Who wrote a record. */
#define CLI_USER_FIELD                                                                             \
    {                                                                                              \
        .name = "user-field", .metavar = "F", .kind = CLI_STRING,                                  \
        .help = "key or column that names the user; none, or left out: a record is a user"         \
    }
#define CLI_USER_ARGS                                                                              \
    CLI_FILE("user-file", "FILE",                                                                  \
             .help = "the users of a .npy file's rows, in their order: a name a line, or "         \
                     "the --user-field (default: user) of JSON lines, CSV or TSV"),                \
        CLI_CHOICE("user-fold", "HOW", cli_folds, .preset = "nfc",                                 \
                   .help = "what makes two names one user: the same bytes (none), Unicode's "      \
                           "canonical composition, or case as well")
#define CLI_RECORDS_ARE_USERS                                                                      \
    "each record counts as a user of its own, so the claim is about one record: if people have "   \
    "several, name them with --user-field F (of a .npy: --user-file FILE); if not, say "           \
    "--user-field "                                                                                \
    "none"

/* user_field and label_field stay NULL.  FRE_E_USAGE. */
FRE_MUST_CHECK fre_status cli_corpus_opts(fre_corpus_opts *out, const cli *c, fre_err *err);
/* Whether the arguments say who a user is, or that a record is one. */
bool cli_names_users(const cli *c);
/* Who wrote a record, by CLI_USER_FIELD and CLI_USER_ARGS; cells: what --max-cells-per-user says.
 * FRE_E_USAGE. */
FRE_MUST_CHECK fre_status cli_user_opts(fre_corpus_opts *o, const cli *c, uint64_t cells,
                                        fre_err *err);

/* On standard error when --verbose is given, or always; that records could not be used, unless --quiet. */
void cli_print_input(const cli *c, bool always, const fre_corpus_about *about, uint64_t records,
                     uint64_t empty, uint64_t invalid);
/* The same of an open corpus, which has been read; NULL: nothing. */
void cli_print_corpus(const cli *c, const fre_corpus *corpus);
json_t *cli_input_json(const fre_corpus_about *about);

#endif
