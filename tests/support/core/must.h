/* For what cannot fail: support files and fuzz targets have no test to fail. */
#ifndef FRE_TEST_MUST_H
#define FRE_TEST_MUST_H

#include <stdbool.h>
#include <stddef.h>

/* Aborts unless ok, and says where. */
#define must(ok) must_at((ok), #ok, __FILE__, __LINE__)

void must_at(bool ok, const char *what, const char *file, int line);
/* Nothing has written over the n bytes, which the caller filled with 0xa5. */
void must_be_untouched(const void *p, size_t n);

#endif
