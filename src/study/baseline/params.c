/* baseline/params.c - names, ranges and defaults; see fre/param.h. */
#include <fre/baseline.h>

#include <string.h>

const fre_param fre_baseline_param_count_share = {
    .name = "count_share", .highest = 1, .above = true, .below = true, FRE_PARAM_AUTO};

const char *fre_baseline_name(fre_baseline_method m)
{
    static const char *const names[FRE_BASELINES] = {"ldp-embedding", "ldp-oue", "central-dp"};

    return (unsigned)m < FRE_BASELINES ? names[m] : NULL;
}

void fre_baseline_opts_init(fre_baseline_opts *o)
{
    memset(o, 0, sizeof *o);
    fre_plan_request_init(&o->plan);
    o->corpus.invalid = FRE_CORPUS_INVALID_SKIP;
    o->threads = fre_cpu_count();
}
