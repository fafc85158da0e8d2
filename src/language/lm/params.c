/* lm/params.c - ranges and defaults; see fre/param.h. */
#include <fre/lm.h>

/* A text of one token has nothing that is predicted from something before it. */
const fre_param fre_lm_param_max_tokens = {
    .name = "max_tokens", .unit = "tokens", .lowest = 2, .highest = 1u << 20, .whole = true};
