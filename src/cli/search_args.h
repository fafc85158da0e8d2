/* search_args.h - the arguments of every command that turns embeddings into texts, defined once. */
#ifndef FRE_CLI_SEARCH_ARGS_H
#define FRE_CLI_SEARCH_ARGS_H

#include "cli.h"

#include <fre/invert.h>
#include <fre/lm.h>

/* or: what else --inverter takes. */
#define CLI_INVERTER(or)                                                                           \
    CLI_FILE("inverter", "FILE",                                                                   \
             .help = "GGUF file, its projector beside it" or                                       \
                     ", or search: none is needed, for any embedder, with --public-corpus "        \
                     "(default: the bundled one)")
/* What an inverter knows of embeddings in general. */
#define CLI_STATISTICS_ARGS                                                                        \
    CLI_FILE("prior", "FILE",                                                                      \
             .help = "statistics of public text by model prior, or none (default: what lies "      \
                     "beside the embedder)"),                                                      \
        CLI_FILE("bridge", "FILE",                                                                 \
                 .help = "made by model bridge: the inverter serves another embedder than its "    \
                         "own; or none (default: what lies beside the embedder)")
#define CLI_SEARCH_ARGS                                                                            \
    CLI_FILE("public-corpus", "FILE",                                                              \
             .help = "texts that anyone may see: starts and words of the search; what comes "      \
                     "out may be one of them, so none may be private"),                            \
        {.name = "public-text-field",                                                              \
         .metavar = "F",                                                                           \
         .kind = CLI_STRING,                                                                       \
         .help = "JSON key or column of its texts (default: text)"},                               \
        CLI_WHOLE("effort", "N", 1, 10, .preset = "5",                                             \
                  .help = "of the search: rounds and candidates a text"),                          \
        CLI_FILE("language-model", "FILE",                                                         \
                 .help = "GGUF file whose log-probability joins the score of the best "            \
                         "candidates; default: the one obtained by " FRE_LM_SCRIPT "; none "       \
                         "(default: none)"),                                                       \
        CLI_POSITIVE("language-weight", "L", 10,                                                   \
                     .help = "of that log-probability (default: the value it was tuned with)"),    \
        CLI_STATISTICS_ARGS

fre_search_opts cli_search_opts(const cli *c);
/* FRE_E_USAGE where one of them has nothing to work on. */
FRE_MUST_CHECK fre_status cli_search_check(const cli *c, fre_err *err);

#endif
