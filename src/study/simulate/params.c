/* simulate/params.c - ranges and defaults (see fre/param.h), and names. */
#include <fre/simulate.h>

#define RATE .highest = FRE_SIMULATE_RATE_MAX, FRE_PARAM_PRESET(0)

const fre_param fre_simulate_param_dropout_rate = {.name = "dropout_rate", RATE};
const fre_param fre_simulate_param_duplicate_rate = {.name = "duplicate_rate", RATE};
const fre_param fre_simulate_param_loss_rate = {.name = "loss_rate", RATE};
const fre_param fre_simulate_param_users = {
    .name = "users", .lowest = 1, .highest = (double)FRE_SIMULATE_USERS_MAX, .whole = true};
const fre_param fre_simulate_param_max_cells_per_user = {.name = "max_cells_per_user",
                                                         .unit = "cells",
                                                         .lowest = 1,
                                                         .highest = FRE_COLLECTION_CELLS_MAX,
                                                         .whole = true,
                                                         FRE_PARAM_PRESET(1)};

const char *fre_simulate_leg_text(fre_simulate_leg leg)
{
    switch (leg) {
#define X(name, text)                                                                              \
    case FRE_SIMULATE_##name:                                                                      \
        return text;
        FRE_SIMULATE_LEG_MAP(X)
#undef X
    }
    return "?";
}

const char *fre_simulate_step_text(fre_simulate_step step)
{
    switch (step) {
#define X(name, text)                                                                              \
    case FRE_SIMULATE_STEP_##name:                                                                 \
        return text;
        FRE_SIMULATE_STEP_MAP(X)
#undef X
    }
    return "?";
}
