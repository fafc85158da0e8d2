/* What the fuzz targets of seal share. */
#ifndef FRE_FUZZ_SEAL_MUST_H
#define FRE_FUZZ_SEAL_MUST_H

#include <fre/seal.h>

#include <stdlib.h>
#include <string.h>

static inline void must(bool ok)
{
    if (!ok)
        abort();
}

/* p was filled with 0xa5 before. */
static inline void must_be_untouched(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        must(b[i] == 0xa5);
}

#endif /* FRE_FUZZ_SEAL_MUST_H */
