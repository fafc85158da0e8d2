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
        CLI_COUNT("effort", "N", fre_search_param_effort,                                          \
                  .help = "of the search: rounds and candidates a text"),                          \
        CLI_FILE("language-model", "FILE",                                                         \
                 .help = "GGUF file whose log-probability joins the score of the best "            \
                         "candidates; default: the one obtained by " FRE_LM_SCRIPT "; none "       \
                         "(default: none)"),                                                       \
        CLI_NUMBER("language-weight", "L", fre_search_param_language_weight,                       \
                   .help = "of that log-probability (default: the value it was tuned with)"),      \
        CLI_STATISTICS_ARGS

/* Where one of them has nothing to work on. */
#define CLI_ABOUT_TEXTS                                                                            \
    "is about the texts, of which --inverter none makes none: leave out one of them"
#define CLI_SEARCH_RULES                                                                           \
    {"effort", "inverter", "none", CLI_ABOUT_TEXTS},                                               \
        {"public-corpus", "inverter", "none", CLI_ABOUT_TEXTS},                                    \
        {"public-text-field", "inverter", "none", CLI_ABOUT_TEXTS},                                \
        {"language-weight", "inverter", "none", CLI_ABOUT_TEXTS},                                  \
        {"language-model", "inverter", "none", CLI_ABOUT_TEXTS},                                   \
        {"prior", "inverter", "none", CLI_ABOUT_TEXTS},                                            \
        {"bridge", "inverter", "none", CLI_ABOUT_TEXTS},                                           \
        {"public-text-field", "public-corpus", CLI_LEFT_OUT,                                       \
         "is about --public-corpus FILE: add that"},                                               \
    {                                                                                              \
        "language-weight", "language-model", CLI_LEFT_OUT,                                         \
            "is about --language-model FILE: add that"                                             \
    }

fre_search_opts cli_search_opts(const cli *c);

#endif
