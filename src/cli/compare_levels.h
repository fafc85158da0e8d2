/* compare_levels.h - simulate --compare-levels: a collection beside a curator by levels. */
#ifndef FRE_CLI_COMPARE_LEVELS_H
#define FRE_CLI_COMPARE_LEVELS_H

#include "cli.h"

#include <fre/simulate.h>

#define CLI_COMPARE_LEVELS_ARGS                                                                    \
    {.name = "compare-levels",                                                                     \
     .metavar = "LIST",                                                                            \
     .kind = CLI_STRING,                                                                           \
     .help = "with --compare: also with a curator who releases by these levels (as synthesize "    \
             "--levels has them): cells and users of each"},                                       \
        CLI_FILE("codebook", "FILE", .help = "public cells of levels (default: the embedder's)")
#define CLI_COMPARE_LEVELS_RULES                                                                   \
    {                                                                                              \
        "compare-levels", "compare", CLI_LEFT_OUT, "belongs to --compare: add it"                  \
    }

/* Nothing where they were not asked for. */
void cli_compare_levels_print(FILE *f, const fre_simulation *s);
/* null where they were not asked for.  NULL: out of memory. */
json_t *cli_compare_levels_json(const fre_simulation *s);

#endif
