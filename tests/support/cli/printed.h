/* printed.h - what the tests of the program's printers share.  Behind cmocka's headers. */
#ifndef FRE_TESTS_PRINTED_H
#define FRE_TESTS_PRINTED_H

#include <stdbool.h>
#include <stdio.h>

/* What a printer writes, as text; the caller frees. */
#define PRINTED(call)                                                                              \
    do {                                                                                           \
        size_t printed_n = 0;                                                                      \
        FILE *f = open_memstream(&printed, &printed_n);                                            \
        assert_non_null(f);                                                                        \
        call;                                                                                      \
        (void)fclose(f);                                                                           \
    } while (0)

#define assert_fits(text, name)                                                                    \
    do {                                                                                           \
        if (!fits_terminal((text), (name)))                                                        \
            fail();                                                                                \
    } while (0)

/* No line is wider than the narrowest terminal, or ends with a space; says so on standard error. */
bool fits_terminal(const char *text, const char *name);

#endif /* FRE_TESTS_PRINTED_H */
