/* For what cannot fail: support files and fuzz targets have no test to fail. */
#ifndef FRE_TEST_MUST_H
#define FRE_TEST_MUST_H

#include <stdbool.h>
#include <stddef.h>

/* Aborts unless ok. */
void must(bool ok);
/* Nothing has written over the n bytes, which the caller filled with 0xa5. */
void must_be_untouched(const void *p, size_t n);

#endif
