/* Comparison of doubles for tests: both values are printed in full when they differ.  Behind cmocka's
 * headers. */
#ifndef FRE_TESTS_ASSERT_NUM_H
#define FRE_TESTS_ASSERT_NUM_H

#include <stdbool.h>

/* |actual - expected| <= abs_tol + rel_tol |expected|; each argument is evaluated once.  Equal
 * infinities pass, a NaN never does. */
#define assert_close(actual, expected, abs_tol, rel_tol)                                           \
    do {                                                                                           \
        if (!is_close((actual), (expected), (abs_tol), (rel_tol), #actual))                        \
            fail();                                                                                \
    } while (0)

/* Says so on standard error where they differ; what: the name of `actual`. */
bool is_close(double actual, double expected, double abs_tol, double rel_tol, const char *what);

#endif /* FRE_TESTS_ASSERT_NUM_H */
