/* baseline/params.c - names, ranges and defaults; see fre/param.h. */
#include <fre/baseline.h>

#include <string.h>

const fre_param fre_baseline_param_count_share = {
    .name = "count_share", .highest = 1, .above = true, .below = true, FRE_PARAM_AUTO};

const fre_param fre_baseline_param_samples = {.name = "samples",
                                              .unit = "texts",
                                              .lowest = 1,
                                              .highest = 100000,
                                              .whole = true,
                                              FRE_PARAM_PRESET(1000)};
const fre_param fre_baseline_param_rounds = {
    .name = "rounds", .lowest = 1, .highest = 1000, .whole = true, FRE_PARAM_PRESET(5)};
const fre_param fre_baseline_param_variations = {
    .name = "variations", .unit = "texts", .highest = 64, .whole = true, FRE_PARAM_PRESET(1)};
const fre_param fre_baseline_param_look_ahead = {
    .name = "look_ahead", .unit = "texts", .highest = 64, .whole = true, FRE_PARAM_PRESET(0)};
const fre_param fre_baseline_param_temperature = {
    .name = "temperature", .highest = 10, .above = true, FRE_PARAM_PRESET(0.9)};

const char *fre_baseline_name(fre_baseline_method m)
{
    static const char *const names[FRE_BASELINES] = {"ldp-embedding", "ldp-oue", "central-dp",
                                                     "aug-pe"};

    return (unsigned)m < FRE_BASELINES ? names[m] : NULL;
}

void fre_baseline_opts_init(fre_baseline_opts *o)
{
    memset(o, 0, sizeof *o);
    fre_plan_request_init(&o->plan);
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
    o->evolution = (fre_evolution_opts){
        .samples = (uint32_t)fre_baseline_param_samples.preset,
        .rounds = (uint32_t)fre_baseline_param_rounds.preset,
        .variations = (uint32_t)fre_baseline_param_variations.preset,
        .look_ahead = (uint32_t)fre_baseline_param_look_ahead.preset,
        .temperature = fre_baseline_param_temperature.preset,
    };
    o->threads = fre_cpu_count();
}
