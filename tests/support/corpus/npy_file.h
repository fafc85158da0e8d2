/* Arrays in files, for tests. */
#ifndef FRE_TESTS_NPY_FILE_H
#define FRE_TESTS_NPY_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* x: n x d, or one row that is repeated. */
void write_rows(const char *path, const float *x, size_t n, size_t d, bool repeated);

#endif /* FRE_TESTS_NPY_FILE_H */
