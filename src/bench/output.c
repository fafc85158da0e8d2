/* bench/output.c - lines for a person. */
#include "bench.h"

void bench_line(const fre_bench_output *out, size_t indent, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out->lines(indent, text);
}
