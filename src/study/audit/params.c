/* audit/params.c - ranges and defaults; see fre/param.h. */
#include <fre/audit.h>

const fre_param fre_audit_param_runs = {.name = "runs",
                                        .lowest = (double)FRE_AUDIT_RUNS_MIN,
                                        .highest = (double)FRE_AUDIT_RUNS_MAX,
                                        .whole = true,
                                        FRE_PARAM_PRESET(100000)};
const fre_param fre_audit_param_confidence = {
    .name = "confidence", .highest = 1, .above = true, .below = true, FRE_PARAM_PRESET(0.999)};
const fre_param fre_audit_param_tau = {.name = "tau",
                                       .unit = "sampled texts",
                                       .lowest = 1,
                                       .highest = (double)FRE_AUDIT_MEMBERS_MAX,
                                       .whole = true};
/* What the sampler of dummy tags takes. */
const fre_param fre_audit_param_lambda = {.name = "lambda", .highest = 65536, .above = true};
const fre_param fre_audit_param_gamma = {
    .name = "gamma", .unit = "tags", .highest = FRE_TSDLAP_GAMMA_MAX, .whole = true};
/* By which a mechanism is made worse than its claim. */
const fre_param fre_audit_param_factor = {
    .name = "factor", .highest = 1000, .above = true, FRE_PARAM_PRESET(1)};
