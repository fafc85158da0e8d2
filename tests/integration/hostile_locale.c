/* hostile_locale.c - preloaded into the program by test_locale.py: a host whose locale has a decimal
 * comma and other letters, as setlocale(LC_ALL, "") makes it for many.  It stops the program when
 * that locale is not there, so that no test passes without it. */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Does this thread print and fold as the host has set it? */
static int is_hostile(void)
{
    char number[16];

    return snprintf(number, sizeof number, "%.1f", 0.5) == 3 && number[1] == ',' &&
           tolower('A') == 'b';
}

__attribute__((constructor)) static void begin(void)
{
    if (!setlocale(LC_ALL, "hostile") || !is_hostile()) {
        (void)fputs("hostile_locale: the locale is not there\n", stderr);
        abort();
    }
}

__attribute__((destructor)) static void end(void)
{
    if (!is_hostile()) {
        (void)fputs("hostile_locale: the host's locale was not given back\n", stderr);
        abort();
    }
}
