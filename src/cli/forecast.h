/* forecast.h - plan --public-corpus: levels tried out on public text. */
#ifndef FRE_CLI_FORECAST_H
#define FRE_CLI_FORECAST_H

#include "corpus_args.h"
#include "plan_args.h"

#include <fre/forecast.h>

#define CLI_FORECAST_ARGS                                                                          \
    CLI_FILE("public-corpus", "FILE",                                                              \
             .help = "public texts like those to come, a user each: the grid and several lists "   \
                     "of levels are run on them, and one is chosen"),                              \
        CLI_TEXT_FIELD,                                                                            \
        {.name = "label-field",                                                                    \
         .metavar = "F",                                                                           \
         .kind = CLI_STRING,                                                                       \
         .help = "key or column with a record's label (its topic, say), to say how pure cells "    \
                 "are"},                                                                           \
        CLI_FORMAT_ARGS, CLI_EMBEDDER,                                                             \
        CLI_FILE("codebook", "FILE", .help = "public cells (default: the embedder's)")

#define CLI_OF_FORECAST(flag)                                                                      \
    {                                                                                              \
        flag, "public-corpus", CLI_LEFT_OUT, "is about --public-corpus FILE: add it"               \
    }
#define CLI_FORECAST_RULES                                                                         \
    CLI_OF_FORECAST("text-field"), CLI_OF_FORECAST("label-field"), CLI_OF_FORECAST("format"),      \
        CLI_OF_FORECAST("delimiter"), CLI_OF_FORECAST("encoding"), CLI_OF_FORECAST("na-values"),   \
        CLI_OF_FORECAST("invalid"), CLI_OF_FORECAST("strict"), CLI_OF_FORECAST("verbose"),         \
        CLI_OF_FORECAST("embedder"), CLI_OF_FORECAST("codebook"),                                  \
        {"public-corpus", "distributed", CLI_GIVEN,                                                \
         "tries what a curator would release: leave out --distributed"},                           \
        {"public-corpus", "dimension", CLI_GIVEN,                                                  \
         "takes the dimension from the embedder: leave out --dimension"},                          \
    {                                                                                              \
        "public-corpus", "max-cells-per-user", CLI_GIVEN,                                          \
            "takes each record for a user: leave out --max-cells-per-user"                         \
    }

/* Tries the lists of levels and shows them, the choice and its plan.  request: of the arguments. */
FRE_MUST_CHECK fre_status cli_forecast(cli *c, const fre_plan_request *request, fre_err *err);

#endif
