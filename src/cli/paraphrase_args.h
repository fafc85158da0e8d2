/* paraphrase_args.h - the arguments of every command that makes paraphrases, defined once. */
#ifndef FRE_CLI_PARAPHRASE_ARGS_H
#define FRE_CLI_PARAPHRASE_ARGS_H

#include "cli.h"

#include <fre/paraphrase.h>

#define CLI_PARAPHRASE_TEMPERATURE                                                                 \
    CLI_NUMBER("temperature", "T", fre_paraphrase_param_temperature,                               \
               .help = "of the paraphrases' sampling; higher varies more")
#define CLI_PARAPHRASE_DISTANCE                                                                    \
    CLI_NUMBER("paraphrase-distance", "R", fre_paraphrase_param_distance,                          \
               .help = "how far a paraphrase's embedding may lie from that of the text and from "  \
                       "the centroid, its noise allowed for")

/* Of --paraphrases, which each command has of its own, and of the two above; the rest is 0. */
fre_paraphraser_opts cli_paraphrase_opts(const cli *c);

#endif
