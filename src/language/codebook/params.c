/* codebook/params.c - ranges and defaults; see fre/param.h. */
#include <fre/codebook.h>

const fre_param fre_codebook_param_radius = {
    .name = "radius", FRE_PARAM_PRESET(0.6), .lowest = 1e-6, .highest = 1000};

const fre_param fre_codebook_param_rows = {.name = "rows",
                                           .unit = "texts",
                                           FRE_PARAM_PRESET(200000),
                                           .lowest = 64,
                                           .highest = 1u << 28,
                                           .whole = true};
