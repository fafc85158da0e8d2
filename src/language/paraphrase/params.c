/* paraphrase/params.c - ranges and defaults; see fre/param.h. */
#include <fre/paraphrase.h>

const fre_param fre_paraphrase_param_paraphrases = {.name = "paraphrases",
                                                    .unit = "texts",
                                                    .lowest = 1,
                                                    .highest = FRE_PARAPHRASES_MAX,
                                                    .whole = true,
                                                    FRE_PARAM_PRESET(10)};
const fre_param fre_paraphrase_param_temperature = {
    .name = "temperature", .highest = 10, .above = true, FRE_PARAM_PRESET(1.0)};
/* Two points of the sphere are at most 2 apart; docs/inversion.md has the measurement. */
const fre_param fre_paraphrase_param_distance = {.name = "paraphrase_distance",
                                                 .unit = "embedding units",
                                                 .highest = 2,
                                                 .above = true,
                                                 FRE_PARAM_PRESET(0.6)};
