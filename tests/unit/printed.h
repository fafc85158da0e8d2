/* printed.h - what the tests of the program's printers share.  Behind cmocka's headers and cli.h. */
#ifndef FRE_TESTS_PRINTED_H
#define FRE_TESTS_PRINTED_H

#include <stdio.h>
#include <string.h>

/* What a printer writes, as text; the caller frees. */
#define PRINTED(call)                                                                              \
    do {                                                                                           \
        size_t printed_n = 0;                                                                      \
        FILE *f = open_memstream(&printed, &printed_n);                                            \
        assert_non_null(f);                                                                        \
        call;                                                                                      \
        (void)fclose(f);                                                                           \
    } while (0)

static inline void assert_fits(const char *text, const char *name)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n >= CLI_WIDTH)
            fail_msg("%s: a line of %zu columns: %.*s", name, n, (int)n, line);
        if (n > 0 && line[n - 1] == ' ')
            fail_msg("%s: a line ends with a space: %.*s", name, (int)n, line);
        line += n + (line[n] == '\n');
    }
}

#endif /* FRE_TESTS_PRINTED_H */
