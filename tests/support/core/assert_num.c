#include "assert_num.h"

#include <math.h>
#include <stdio.h>

bool is_close(double actual, double expected, double abs_tol, double rel_tol, const char *what)
{
    const double slack = abs_tol + rel_tol * fabs(expected);
    const bool same = isinf(expected) ? isinf(actual) && signbit(actual) == signbit(expected)
                                      : fabs(actual - expected) <= slack;

    if (!same)
        (void)fprintf(stderr, "%s = %.17g, expected %.17g within %.3g\n", what, actual, expected,
                      slack);
    return same;
}
