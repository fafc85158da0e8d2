/* experiment/experiment.c - from the file to the CSV; see fre/experiment.h. */
#include "experiment_private.h"

#include <stdlib.h>
#include <string.h>

static fre_status check(const fre_experiment_opts *o, fre_err *err)
{
    const fre_param_value given[] = {{&fre_experiment_param_jobs, o->jobs},
                                     {&fre_experiment_param_memory, (double)o->memory_mib}};
    fre_status st = fre_param_check_all(&(fre_param_value){&fre_param_threads, o->threads}, 1, err);

    return st == FRE_OK ? fre_param_check_given(given, sizeof given / sizeof *given, err) : st;
}

/* An interruption stays one. */
static fre_status write_csv(const experiment *x, const char *path, fre_status before, fre_err *err)
{
    const fre_status st = experiment_csv(x, path, before == FRE_OK ? err : NULL);

    return before == FRE_OK ? st : before;
}

fre_status fre_experiment_run(fre_experiment_result *out, const fre_experiment_opts *o,
                              fre_err *err)
{
    experiment x = {.opts = o, .folder = -1};
    fre_experiment_result r = {.runs = 0};
    fre_status st = check(o, err);

    if (st == FRE_OK)
        st = experiment_read(&x, err);
    if (st != FRE_OK)
        goto out;
    r.runs = x.n;
    st = experiment_run_all(&x, &r, err);
    if ((size_t)snprintf(r.csv, sizeof r.csv, "%s/rows.csv", o->output) >= sizeof r.csv)
        st = fre_fail(err, FRE_E_USAGE, "the output folder's name is too long");
    else if (st == FRE_OK || st == FRE_E_INTERRUPTED) /* of what is done */
        st = write_csv(&x, r.csv, st, err);
    if (st == FRE_OK)
        *out = r;
out:
    experiment_wipe(&x);
    return st;
}
