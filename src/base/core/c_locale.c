/* c_locale.c - one thread at a time in the C locale; see src/banned.h, which puts it around every
 * call whose result depends on the host program's locale. */
#include "core_private.h"

#include <locale.h>
#include <pthread.h>

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* built in: cannot be missing */
}

void *fre_c_locale_enter(void)
{
    (void)pthread_once(&once, make);
    return uselocale(c_locale);
}

void fre_c_locale_leave(void *before)
{
    (void)uselocale(before);
}

/* The texts of the C locale are constants; only a number without one is written, to a buffer of this thread. */
const char *fre_c_strerror(int e)
{
    (void)pthread_once(&once, make);
    return strerror_l(e, c_locale);
}
