/* Comparison of doubles for tests: both values are printed in full when they differ. */
#ifndef FRE_TESTS_ASSERT_NUM_H
#define FRE_TESTS_ASSERT_NUM_H

#include <math.h>

/* |actual - expected| <= abs_tol + rel_tol |expected|; each argument is evaluated once.  Equal
 * infinities pass, a NaN never does. */
#define assert_close(actual, expected, abs_tol, rel_tol)                                           \
    assert_close_at((actual), (expected), (abs_tol), (rel_tol), #actual, __FILE__, __LINE__)

static inline void assert_close_at(double actual, double expected, double abs_tol, double rel_tol,
                                   const char *what, const char *file, int line)
{
    double slack = abs_tol + rel_tol * fabs(expected);
    int same = isinf(expected) ? isinf(actual) && signbit(actual) == signbit(expected)
                               : fabs(actual - expected) <= slack;

    if (!same) {
        print_error("%s = %.17g, expected %.17g within %.3g\n", what, actual, expected, slack);
        _fail(file, line);
    }
}

#endif /* FRE_TESTS_ASSERT_NUM_H */
