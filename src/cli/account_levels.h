/* account_levels.h - account for a release by levels: what its levels of public cells have. */
#ifndef FRE_CLI_ACCOUNT_LEVELS_H
#define FRE_CLI_ACCOUNT_LEVELS_H

#include "plan_args.h"

#include <fre/codebook.h>

#define CLI_LIST(flag, letter, ...)                                                                \
    {                                                                                              \
        .name = (flag), .metavar = (letter ",..."), .kind = CLI_STRING, __VA_ARGS__                \
    }
#define CLI_ACCOUNT_LEVELS_ARGS                                                                    \
    CLI_HEADING("Release by levels: lists have a number for each level but the grid"),             \
        CLI_LEVELS_ARG,                                                                            \
        CLI_CHOICE("counts", "C", cli_counts, .preset = "noisy",                                   \
                   .help = "how levels of public cells count: noisy (every record) or sampled"),   \
        CLI_LIST("level-sigma", "S",                                                               \
                 .help = "standard deviations of the noise on a cell's sum, a coordinate"),        \
        CLI_LIST("level-count-sigma", "S",                                                         \
                 .help = "noisy counts: standard deviations of a count's noise"),                  \
        CLI_LIST("level-sampling-rate", "P",                                                       \
                 .help = "sampled counts: chances that a record takes part"),                      \
        CLI_LIST("level-tau", "T", .help = "sampled counts: least ones of a released cell"),       \
        CLI_NUMBER("radius", "R", fre_codebook_param_radius,                                       \
                   .help = "of all public cells: what a record lies farther from the centre is "   \
                           "cut off")
#define CLI_ACCOUNT_LEVELS_RULES                                                                   \
    {"level-count-sigma", "counts", "sampled", "belongs to --counts noisy"},                       \
        {"level-sampling-rate", "counts", "noisy", "belongs to --counts sampled"},                 \
    {                                                                                              \
        "level-tau", "counts", "noisy", "belongs to --counts sampled"                              \
    }

/* Levels as the arguments have them; request: the names, their sizes and the counts alone. */
typedef struct cli_levels {
    fre_plan_request request;
    fre_level level[FRE_LEVELS_MAX];
} cli_levels;

/* FRE_E_USAGE: a flag that is missing, out of range, or says nothing beside the others; the grid's
 * flags too. */
FRE_MUST_CHECK fre_status cli_levels_from(cli_levels *out, const cli *c, fre_err *err);
/* Is it the grid alone? */
bool cli_levels_none(const cli_levels *l);
/* Distributed: the one level of public cells, if any, in place of the grid. */
void cli_levels_mechanism(fre_mechanism *io, const cli_levels *l);
/* delta at *epsilon, or where that is NULL the least epsilon at delta; printed.  grid: of the flags. */
FRE_MUST_CHECK fre_status cli_levels_account(const cli *c, const cli_levels *l,
                                             const fre_mechanism *grid, const double *epsilon,
                                             double delta, fre_err *err);
#endif
