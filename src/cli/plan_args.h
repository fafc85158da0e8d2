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
extern const char *const cli_counts[];
extern const char *const cli_switch[]; /* on, off */
extern const char *const cli_contacts[];
extern const char *const cli_noise_by[];

/* What a person has to know of a plan, behind the command's own --epsilon. */
#define CLI_BUDGET_ARGS                                                                            \
    CLI_COUNT("population", "N", fre_param_population,                                             \
              .help = "public upper bound on the number of users; more are refused"),              \
        CLI_COUNT("threshold", "T", fre_param_threshold,                                           \
                  .help = "how many similar texts make a frequent one"),                           \
        CLI_NUMBER("delta", "D", fre_param_delta, .word = "auto",                                  \
                   .help = "privacy budget delta; auto is 1/(10 N), N the population")
#define CLI_LEVELS_ARG                                                                             \
    {                                                                                              \
        .name = "levels", .metavar = "LIST", .kind = CLI_STRING, .preset = "grid",                 \
        .help = "where texts are looked for, from fine to coarse: grid (wordings), then numbers "  \
                "of public cells (themes) as in grid,4096x8,1024,256; auto: all there are, the "   \
                "grid where the budget allows it"                                                  \
    }
/* The rest of it, which has good defaults. */
#define CLI_MECHANISM_ARGS                                                                         \
    CLI_LEVELS_ARG,                                                                                \
        CLI_CHOICE("counts", "C", cli_counts, .preset = "noisy",                                   \
                   .help = "how levels of public cells count: noisy (every record) or sampled"),   \
        CLI_NUMBER("radius", "R", fre_param_radius,                                                \
                   .help = "distance of embeddings that counts as similar"),                       \
        CLI_COUNT("projection-dim", "K", fre_param_projection_dim, .word = "auto",                 \
                  .help = "dimensions of the random projection; auto tries 10 to 40"),             \
        CLI_NUMBER("cell-scale", "S", fre_param_cell_scale,                                        \
                   .help = "edge of a cell in units of 2 radius/sqrt(projection-dim)"),            \
        CLI_NUMBER("cell-edge", "L", fre_param_cell_edge,                                          \
                   .help = "edge of a cell itself, in place of --cell-scale"),                     \
        CLI_NUMBER("sampling-rate", "P", fre_param_sampling_rate, .word = "auto",                  \
                   .help = "chance that a user's record takes part; auto finds the best"),         \
        CLI_CHOICE("adjacency", "A", cli_adjacencies, .preset = "add-remove",                      \
                   .help = "what neighbouring data sets differ in"),                               \
        CLI_CHOICE("accountant", "A", cli_accountants, .preset = "joint",                          \
                   .help = "joint is rigorous and tighter; paper reproduces the article"),         \
        CLI_CHOICE("gaussian", "G", cli_gaussians, .preset = "analytic",                           \
                   .help = "paper accountant: how the noise is calibrated"),                       \
        CLI_NUMBER("budget-factor", "V", fre_param_budget_factor, .word = "auto",                  \
                   .help = "paper accountant: its v, the share of epsilon for the cells"),         \
        CLI_NUMBER("sensitivity-ratio", "U", fre_param_sensitivity_ratio,                          \
                   .help = "paper accountant: its u, sensitivity in units of the radius"),         \
        CLI_CHOICE("sensitivity", "S", cli_sensitivities, .preset = "probabilistic",               \
                   .help = "worst-case needs neither the population bound nor random texts"),      \
        CLI_NUMBER("norm-bound", "B", fre_param_norm_bound,                                        \
                   .help = "norm of the longest embedding: longer ones are cut to it")

/* Everything of CLI_BUDGET_ARGS, CLI_MECHANISM_ARGS and --epsilon into a request. */
FRE_MUST_CHECK fre_status cli_plan_request(fre_plan_request *out, const cli *c, fre_err *err);

/* What a collection has beside its plan; the defaults differ. */
#define CLI_COLLECTION_ARGS(contacts_preset, curious_preset, dropout_preset)                       \
    CLI_CHOICE("cover", "SWITCH", cli_switch, .preset = "on",                                      \
               .help = "cover messages: everybody sends one report, sampled or not"),              \
        CLI_COUNT("curious-users", "W", fre_param_curious_users, .preset = curious_preset,         \
                  .help = "users of a cell who pool what they know"),                              \
        CLI_NUMBER("dropout", "R", fre_param_dropout, .preset = dropout_preset,                    \
                   .help = "share of a cell's users who may not answer (0 with --contacts one)"),  \
        CLI_CHOICE("contacts", "HOW", cli_contacts, .preset = contacts_preset,                     \
                   .help = "one: everything travels at once; two: the paper's, shares of released" \
                           " cells alone, once the list is out"),                                  \
        CLI_CHOICE("noise-by", "WHO", cli_noise_by,                                                \
                   .help = "who adds it: servers (each one's alone pays for epsilon) or clients "  \
                           "(default: servers with one contact, clients with two)"),              \
    {                                                                                              \
        .name = "splits", .kind = CLI_FLAG,                                                        \
        .help = "sum large cells in thirds and release their median: bears one false embedding, "  \
                "with more noise"                                                                  \
    }
#define CLI_MAX_DUMMIES                                                                            \
    CLI_NUMBER("max-dummies", "M", fre_param_max_dummies,                                          \
               .help = "bound on the expected dummy reports (default: none)")

/* The arguments of the distributed mode where it is one of two. */
#define CLI_DISTRIBUTED_ARGS(contacts_preset, curious_preset, dropout_preset)                      \
    {.name = "distributed",                                                                        \
     .kind = CLI_FLAG,                                                                             \
     .help = "no curator: users, two servers and a relay"},                                        \
        CLI_COLLECTION_ARGS(contacts_preset, curious_preset, dropout_preset),                      \
        CLI_CHOICE("noise", "KIND", cli_noises,                                                    \
                   .help =                                                                         \
                       "law of the noise; users' shares need discrete (default: continuous for a " \
                       "curator, discrete with --distributed)")

#define CLI_OF_DISTRIBUTED(flag)                                                                   \
    {                                                                                              \
        flag, "distributed", CLI_LEFT_OUT, "belongs to --distributed"                              \
    }
#define CLI_DISTRIBUTED_RULES                                                                      \
    CLI_OF_DISTRIBUTED("cover"), CLI_OF_DISTRIBUTED("curious-users"),                              \
        CLI_OF_DISTRIBUTED("dropout"), CLI_OF_DISTRIBUTED("contacts"),                             \
        CLI_OF_DISTRIBUTED("noise-by"), CLI_OF_DISTRIBUTED("splits")

/* CLI_COLLECTION_ARGS into a distributed mode that is on.  FRE_E_USAGE where they contradict each
 * other. */
FRE_MUST_CHECK fre_status cli_collection(fre_distributed *out, const cli *c, fre_err *err);
/* The plan of a collection: CLI_BUDGET_ARGS, CLI_MECHANISM_ARGS, CLI_COLLECTION_ARGS, CLI_MAX_DUMMIES, --epsilon and
 * --max-cells-per-user. */
FRE_MUST_CHECK fre_status cli_collection_request(fre_plan_request *out, const cli *c, fre_err *err);
/* --noise and the distributed mode; FRE_E_USAGE where they contradict each other.  The padding is
 * the caller's. */
FRE_MUST_CHECK fre_status cli_distributed(fre_distributed *out, fre_noise *noise, const cli *c,
                                          fre_err *err);
/* The same into a request of cli_plan_request. */
FRE_MUST_CHECK fre_status cli_distributed_request(fre_plan_request *io, const cli *c, fre_err *err);

/* A list of one warning, of none for NULL.  NULL: out of memory. */
json_t *cli_warning_json(const char *warning);
#endif
