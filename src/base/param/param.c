/* Ranges: see fre/param.h. */
#include <fre/param.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

const fre_param fre_param_threads = {
    .name = "threads", .lowest = 1, .highest = FRE_THREADS_MAX, .whole = true};

bool fre_param_holds(const fre_param *p, double value)
{
    const bool low = p->above ? value > p->lowest : value >= p->lowest;
    const bool high = p->below ? value < p->highest : value <= p->highest;

    return low && high;
}

char *fre_param_range(char out[FRE_PARAM_RANGE_BYTES], const fre_param *p)
{
    const char *low = p->above ? "above" : "at least", *high = p->below ? "below" : "at most";

    const int digits = p->whole ? 16 : 10; /* whole numbers to the last one */

    if (isinf(p->highest))
        (void)snprintf(out, FRE_PARAM_RANGE_BYTES, "%s %.*g", low, digits, p->lowest);
    else if (!p->above && !p->below)
        (void)snprintf(out, FRE_PARAM_RANGE_BYTES, "from %.*g to %.*g", digits, p->lowest, digits,
                       p->highest);
    else
        (void)snprintf(out, FRE_PARAM_RANGE_BYTES, "%s %.*g and %s %.*g", low, digits, p->lowest,
                       high, digits, p->highest);
    return out;
}

fre_status fre_param_check(const fre_param *p, double value, fre_err *err)
{
    char range[FRE_PARAM_RANGE_BYTES];

    if (fre_param_holds(p, value))
        return FRE_OK;
    fre_param_range(range, p);
    return fre_fail(err, FRE_E_USAGE, "{%s} must be a %snumber %s%s", p->name,
                    p->whole ? "whole " : "", strncmp(range, "at least", 8) == 0 ? "of " : "",
                    range);
}

fre_status fre_param_check_all(const fre_param_value *v, size_t n, fre_err *err)
{
    for (size_t i = 0; i < n; i++) {
        fre_status st = fre_param_check(v[i].param, v[i].value, err);

        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

fre_status fre_param_check_given(const fre_param_value *v, size_t n, fre_err *err)
{
    for (size_t i = 0; i < n; i++) {
        fre_status st = FRE_OK;

        if (fpclassify(v[i].value) != FP_ZERO)
            st = fre_param_check(v[i].param, v[i].value, err);
        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}
