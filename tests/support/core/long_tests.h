/* The exhaustive part of a test of numbers, which `make check-long` asks for. */
#ifndef FRE_TESTS_LONG_TESTS_H
#define FRE_TESTS_LONG_TESTS_H

#include <stdbool.h>

/* FRE_LONG_TESTS is in the environment. */
bool long_tests(void);

#endif /* FRE_TESTS_LONG_TESTS_H */
