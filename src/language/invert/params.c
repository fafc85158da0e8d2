/* invert/params.c - ranges and defaults; see fre/param.h. */
#include <fre/invert.h>

const fre_param fre_inverter_param_samples = {
    .name = "samples", .lowest = 1, .highest = 512, .whole = true};
const fre_param fre_inverter_param_temperature = {
    .name = "temperature", .highest = 10, .above = true};
const fre_param fre_inverter_param_noise_std = {
    .name = "noise_std", .unit = "embedding units", .highest = 1e6, FRE_PARAM_PRESET(0)};
/* docs/decisions/0007-search.md */
const fre_param fre_search_param_effort = {
    .name = "effort", .lowest = 1, .highest = 10, .whole = true, FRE_PARAM_PRESET(5)};
const fre_param fre_search_param_language_weight = {
    .name = "language_weight", .highest = 10, .above = true};
