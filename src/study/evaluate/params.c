/* evaluate/params.c - ranges and defaults; see fre/param.h. */
#include <fre/evaluate.h>

const fre_param fre_evaluate_param_alpha = {
    .name = "alpha", .unit = "radii", .highest = 1000, .above = true, FRE_PARAM_PRESET(1.5)};
