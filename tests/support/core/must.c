#include "must.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void must_at(bool ok, const char *what, const char *file, int line)
{
    if (ok)
        return;
    (void)fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    abort();
}

void must_be_untouched(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        must(b[i] == 0xa5);
}
