#include "must.h"

#include <stdint.h>
#include <stdlib.h>

void must(bool ok)
{
    if (!ok)
        abort();
}

void must_be_untouched(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        must(b[i] == 0xa5);
}
