/* evaluate/failures.c - what the steps of an evaluation say when they cannot go on. */
#include "evaluate_private.h"

#include <stdarg.h>

fre_status evaluate_no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory: evaluate keeps every distinct original");
}

fre_status evaluate_with_text(fre_err *err, fre_status st)
{
    if (st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "interrupted");
    return st == FRE_E_NOMEM ? evaluate_no_memory(err)
                             : fre_fail(err, st, "%s", fre_status_text(st));
}

void evaluate_leave_out(fre_evaluation *e, const char *metric, const char *fmt, ...)
{
    fre_evaluate_missing *m;
    va_list ap;

    if (e->n_missing == FRE_EVALUATE_MISSING_MAX)
        return;
    m = &e->missing[e->n_missing++];
    m->metric = metric;
    va_start(ap, fmt);
    (void)vsnprintf(m->why.text, sizeof m->why.text, fmt, ap);
    va_end(ap);
}
