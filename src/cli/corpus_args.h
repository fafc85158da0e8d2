/* corpus_args.h - the arguments of every command that reads texts, defined once. */
#ifndef FRE_CLI_CORPUS_ARGS_H
#define FRE_CLI_CORPUS_ARGS_H

#include "cli.h"

#include <fre/corpus.h>

extern const char *const cli_formats[], *const cli_invalids[];

#define CLI_CORPUS_ARGS                                                                            \
    {.name = "text-field",                                                                         \
     .metavar = "F",                                                                               \
     .kind = CLI_STRING,                                                                           \
     .preset = "text",                                                                             \
     .help = "JSONL key or CSV/TSV column that holds the text"},                                   \
        CLI_CHOICE("format", "FORMAT", cli_formats, .preset = "auto",                              \
                   .help = "of the input; auto goes by its name, else by its content"),            \
        CLI_CHOICE("invalid", "HOW", cli_invalids, .preset = "fail",                               \
                   .help = "what to do with invalid UTF-8 and NUL bytes")

/* user_field and label_field stay NULL. */
fre_corpus_opts cli_corpus_opts(const cli *c);

#endif
