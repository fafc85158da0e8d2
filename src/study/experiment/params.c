/* experiment/params.c - names, ranges and defaults; see fre/param.h. */
#include <fre/experiment.h>

const fre_param fre_experiment_param_jobs = {
    .name = "jobs", .unit = "runs", .lowest = 1, .highest = FRE_THREADS_MAX, .whole = true};
const fre_param fre_experiment_param_memory = {
    .name = "memory", .unit = "MiB", .lowest = 64, .highest = 1e9, .whole = true};
