/* The mechanism's parameters: see fre/param.h.  What stands here is the whole truth about a range or
 * a default: checks, the program's arguments and --help are made from it. */
#include <fre/privacy.h>

#define EMBEDDING .unit = "embedding units"

const fre_param fre_param_epsilon = {
    .name = "epsilon", .highest = FRE_PRIVACY_EPSILON_MAX, .above = true};
const fre_param fre_param_delta = {
    .name = "delta", .highest = 1, .above = true, .below = true, FRE_PARAM_AUTO};
const fre_param fre_param_threshold = {.name = "threshold",
                                       .unit = "texts",
                                       .lowest = 1,
                                       .highest = (double)FRE_PRIVACY_POPULATION_MAX,
                                       .whole = true,
                                       FRE_PARAM_PRESET(100)};
const fre_param fre_param_population = {.name = "population",
                                        .unit = "users",
                                        .lowest = 1,
                                        .highest = (double)FRE_PRIVACY_POPULATION_MAX,
                                        .whole = true,
                                        FRE_PARAM_PRESET(10000000)};
const fre_param fre_param_radius = {
    .name = "radius", EMBEDDING, .highest = 1e6, .above = true, FRE_PARAM_PRESET(0.5)};
/* docs/decisions/0004-projection-dimension.md */
const fre_param fre_param_projection_dim = {.name = "projection_dim",
                                            .lowest = 1,
                                            .highest = FRE_PRIVACY_K_MAX,
                                            .whole = true,
                                            FRE_PARAM_PRESET(40)};
const fre_param fre_param_cell_scale = {
    .name = "cell_scale", .highest = 1000, .above = true, FRE_PARAM_PRESET(1.0)};
/* Of every radius, scale and projection above. */
const fre_param fre_param_cell_edge = {
    .name = "cell_edge", EMBEDDING, .highest = 1e12, .above = true};
const fre_param fre_param_sampling_rate = {
    .name = "sampling_rate", .highest = 1, .above = true, FRE_PARAM_AUTO};
const fre_param fre_param_norm_bound = {
    .name = "norm_bound", EMBEDDING, .highest = 1e6, .above = true, FRE_PARAM_PRESET(1)};
const fre_param fre_param_dimension = {.name = "dimension",
                                       .lowest = 1,
                                       .highest = FRE_PRIVACY_DIM_MAX,
                                       .whole = true,
                                       FRE_PARAM_PRESET(384)};
const fre_param fre_param_max_cells_per_user = {.name = "max_cells_per_user",
                                                .unit = "cells",
                                                .lowest = 1,
                                                .highest = FRE_PRIVACY_CELLS_MAX,
                                                .whole = true,
                                                FRE_PARAM_PRESET(1)};
/* docs/decisions/0016-levels.md */
const fre_param fre_param_clip_radius = {
    .name = "clip_radius", EMBEDDING, .highest = 1e6, .above = true, FRE_PARAM_PRESET(0.6)};
const fre_param fre_param_budget_factor = {
    .name = "budget_factor", .lowest = 1, .highest = 256, FRE_PARAM_AUTO};
const fre_param fre_param_sensitivity_ratio = {.name = "sensitivity_ratio",
                                               .unit = "radii",
                                               .highest = 1000,
                                               .above = true,
                                               FRE_PARAM_PRESET(2.4)};

/* ---- the distributed mode ------------------------------------------------------------------- */

const fre_param fre_param_curious_users = {.name = "curious_users",
                                           .unit = "users",
                                           .highest = 1000000,
                                           .whole = true,
                                           FRE_PARAM_PRESET(1)};
const fre_param fre_param_dropout = {
    .name = "dropout", .highest = 1, .below = true, FRE_PARAM_PRESET(0.1)};
const fre_param fre_param_max_dummies = {
    .name = "max_dummies", .unit = "reports", .lowest = 1, .highest = 1e18};
const fre_param fre_param_lambda = {.name = "lambda", .highest = 1e6, .above = true};
const fre_param fre_param_gamma = {
    .name = "gamma", .unit = "tags", .highest = UINT32_MAX, .whole = true};
const fre_param fre_param_phi = {
    .name = "phi", .highest = 1, .below = true, FRE_PARAM_PRESET(1e-10)};

/* ---- of a mechanism that is there ----------------------------------------------------------- */

const fre_param fre_param_tau = {.name = "tau",
                                 .unit = "sampled texts",
                                 .lowest = 1,
                                 .highest = (double)FRE_PRIVACY_POPULATION_MAX,
                                 .whole = true};
const fre_param fre_param_sigma = {.name = "sigma", EMBEDDING, .highest = 1e12, .above = true};
const fre_param fre_param_split = {.name = "split", EMBEDDING, .highest = 1e12, .above = true};
const fre_param fre_param_lattice_step = {
    .name = "lattice_step", EMBEDDING, .highest = 1e12, FRE_PARAM_PRESET(0)};

const fre_param fre_param_level_sampling_rate = {
    .name = "level_sampling_rate", .highest = 1, .above = true, .below = true};
/* The highest is what an unreleased cell's bound is certified for: docs/decisions/0016-levels.md */
const fre_param fre_param_level_tau = {
    .name = "level_tau", .unit = "sampled texts", .lowest = 1, .highest = 16384, .whole = true};
const fre_param fre_param_level_count_sigma = {
    .name = "level_count_sigma", .unit = "records", .lowest = 0.01, .highest = 1e12};

/* ---- semantic support protection ------------------------------------------------------------ */

const fre_param fre_ssp_param_psi = {
    .name = "psi", .unit = "radii", .highest = 1, .above = true, FRE_PARAM_PRESET(0.5)};
const fre_param fre_ssp_param_neighbours = {.name = "neighbours",
                                            .unit = "records",
                                            .lowest = 1,
                                            .highest = (double)FRE_SSP_COUNT_MAX,
                                            .whole = true,
                                            FRE_PARAM_PRESET(1)};
const fre_param fre_ssp_param_threshold = {.name = "threshold",
                                           .unit = "texts",
                                           .lowest = 1,
                                           .highest = (double)FRE_SSP_COUNT_MAX,
                                           .whole = true,
                                           FRE_PARAM_PRESET(100)};
const fre_param fre_ssp_param_tau = {.name = "tau",
                                     .unit = "sampled texts",
                                     .lowest = 1,
                                     .highest = (double)FRE_SSP_COUNT_MAX,
                                     .whole = true};
const fre_param fre_ssp_param_count = {.name = "count",
                                       .unit = "sampled texts",
                                       .lowest = 1,
                                       .highest = (double)FRE_SSP_COUNT_MAX,
                                       .whole = true};
const fre_param fre_ssp_param_cells = {.name = "cells",
                                       .unit = "cells",
                                       .lowest = 1,
                                       .highest = (double)FRE_PRIVACY_POPULATION_MAX,
                                       .whole = true,
                                       FRE_PARAM_PRESET(1)};
