/* plan_args.h - the privacy arguments that synthesize and plan share, defined once. */
#ifndef FRE_CLI_PLAN_ARGS_H
#define FRE_CLI_PLAN_ARGS_H

#include "cli.h"

#include <fre/privacy.h>

#include <math.h>

extern const char *const cli_adjacencies[];
extern const char *const cli_accountants[];
extern const char *const cli_gaussians[];
extern const char *const cli_sensitivities[];
extern const char *const cli_noises[];
extern const char *const cli_switch[]; /* on, off */

/* The command's own --epsilon comes first: its range differs. */
#define CLI_PLAN_ARGS                                                                              \
    {.name = "delta",                                                                              \
     .metavar = "D",                                                                               \
     .kind = CLI_DOUBLE,                                                                           \
     .min = 0,                                                                                     \
     .max = 1,                                                                                     \
     .min_open = true,                                                                             \
     .max_open = true,                                                                             \
     .preset = "1e-6",                                                                             \
     .help = "privacy budget delta; keep it below 1/population"},                                  \
        {.name = "threshold",                                                                      \
         .metavar = "T",                                                                           \
         .kind = CLI_U64,                                                                          \
         .umin = 1,                                                                                \
         .umax = FRE_PRIVACY_POPULATION_MAX,                                                       \
         .preset = "100",                                                                          \
         .help = "how many similar texts make a frequent one"},                                    \
        {.name = "radius",                                                                         \
         .metavar = "R",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1e6,                                                                               \
         .min_open = true,                                                                         \
         .preset = "0.5",                                                                          \
         .help = "distance of embeddings that counts as similar"},                                 \
        {.name = "population",                                                                     \
         .metavar = "N",                                                                           \
         .kind = CLI_U64,                                                                          \
         .umin = 1,                                                                                \
         .umax = FRE_PRIVACY_POPULATION_MAX,                                                       \
         .preset = "10000000",                                                                     \
         .help = "public upper bound on the number of users; more are refused"},                   \
        {.name = "projection-dim",                                                                 \
         .metavar = "K",                                                                           \
         .kind = CLI_U64,                                                                          \
         .umin = 1,                                                                                \
         .umax = FRE_PRIVACY_K_MAX,                                                                \
         .word = "auto",                                                                           \
         .preset = "40",                                                                           \
         .help = "dimensions of the random projection; auto tries 10 to 40"},                      \
        {.name = "cell-scale",                                                                     \
         .metavar = "S",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1000,                                                                              \
         .min_open = true,                                                                         \
         .preset = "1.0",                                                                          \
         .help = "edge of a cell in units of 2 radius/sqrt(projection-dim)"},                      \
        {.name = "cell-edge",                                                                      \
         .metavar = "L",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1e6,                                                                               \
         .min_open = true,                                                                         \
         .help = "edge of a cell itself, in place of --cell-scale"},                               \
        {.name = "sampling-rate",                                                                  \
         .metavar = "P",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1,                                                                                 \
         .min_open = true,                                                                         \
         .word = "auto",                                                                           \
         .preset = "auto",                                                                         \
         .help = "chance that a user's record takes part; auto finds the best"},                   \
        {.name = "adjacency",                                                                      \
         .metavar = "A",                                                                           \
         .kind = CLI_ENUM,                                                                         \
         .choices = cli_adjacencies,                                                               \
         .preset = "add-remove",                                                                   \
         .help = "what neighbouring data sets differ in"},                                         \
        {.name = "accountant",                                                                     \
         .metavar = "A",                                                                           \
         .kind = CLI_ENUM,                                                                         \
         .choices = cli_accountants,                                                               \
         .preset = "joint",                                                                        \
         .help = "joint is rigorous and tighter; paper reproduces the article"},                   \
        {.name = "gaussian",                                                                       \
         .metavar = "G",                                                                           \
         .kind = CLI_ENUM,                                                                         \
         .choices = cli_gaussians,                                                                 \
         .preset = "analytic",                                                                     \
         .help = "paper accountant: how the noise is calibrated"},                                 \
        {.name = "budget-factor",                                                                  \
         .metavar = "V",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 1,                                                                                 \
         .max = 1000,                                                                              \
         .word = "auto",                                                                           \
         .preset = "auto",                                                                         \
         .help = "paper accountant: its v, the share of epsilon for the cells"},                   \
        {.name = "sensitivity-ratio",                                                              \
         .metavar = "U",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1000,                                                                              \
         .min_open = true,                                                                         \
         .preset = "2.4",                                                                          \
         .help = "paper accountant: its u, sensitivity in units of the radius"},                   \
        {.name = "sensitivity",                                                                    \
         .metavar = "S",                                                                           \
         .kind = CLI_ENUM,                                                                         \
         .choices = cli_sensitivities,                                                             \
         .preset = "probabilistic",                                                                \
         .help = "worst-case needs neither the population bound nor random texts"},                \
    {                                                                                              \
        .name = "norm-bound", .metavar = "B", .kind = CLI_DOUBLE, .min = 0, .max = 1e6,            \
        .min_open = true, .preset = "1",                                                           \
        .help = "largest norm of an embedding, for worst-case sensitivity"                         \
    }

/* Everything of CLI_PLAN_ARGS and --epsilon into a request. */
FRE_MUST_CHECK fre_status cli_plan_request(fre_plan_request *out, const cli *c, fre_err *err);

/* The arguments of the distributed mode that plan and account share; the defaults differ. */
#define CLI_DISTRIBUTED_ARGS(curious_preset, dropout_preset)                                       \
    {.name = "distributed",                                                                        \
     .kind = CLI_FLAG,                                                                             \
     .help = "no curator: users, two servers and a relay"},                                        \
        {.name = "cover",                                                                          \
         .metavar = "SWITCH",                                                                      \
         .kind = CLI_ENUM,                                                                         \
         .choices = cli_switch,                                                                    \
         .preset = "on",                                                                           \
         .help = "cover messages: everybody sends one report, sampled or not"},                    \
        {.name = "curious-users",                                                                  \
         .metavar = "W",                                                                           \
         .kind = CLI_U64,                                                                          \
         .umin = 0,                                                                                \
         .umax = 1000000,                                                                          \
         .preset = curious_preset,                                                                 \
         .help = "users of a cell who pool what they know"},                                       \
        {.name = "dropout",                                                                        \
         .metavar = "R",                                                                           \
         .kind = CLI_DOUBLE,                                                                       \
         .min = 0,                                                                                 \
         .max = 1,                                                                                 \
         .max_open = true,                                                                         \
         .preset = dropout_preset,                                                                 \
         .help = "share of a cell's users who may not answer (0 with --one-shot)"},                \
        {.name = "one-shot",                                                                       \
         .kind = CLI_FLAG,                                                                         \
         .help = "shares travel with the tags; more noise, no second answer"},                     \
    {                                                                                              \
        .name = "noise", .metavar = "KIND", .kind = CLI_ENUM, .choices = cli_noises,               \
        .help = "continuous or discrete (default: continuous for a curator, discrete with "        \
                "--distributed)"                                                                   \
    }

/* --noise and the distributed mode; FRE_E_USAGE where they contradict each other.  The padding is
 * the caller's. */
FRE_MUST_CHECK fre_status cli_distributed(fre_distributed *out, fre_noise *noise, const cli *c,
                                          fre_err *err);

/* `plan --json`; synthesize shows it too.  NULL: out of memory. */
json_t *cli_plan_json(const fre_plan *plan);
/* The table for people, 80 columns. */
void cli_plan_print(FILE *f, const fre_plan *plan);

#endif
