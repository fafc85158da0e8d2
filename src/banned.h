/* Compiled in front of every file under src/: calls that this code base never makes become errors.
 * Unbounded or hidden-state string calls, predictable random numbers, clocks outside core (whose
 * hook tests replace), and printing or exiting outside the program.  A deliberate exception calls
 * the function in parentheses, which no function-like macro touches, and says why.
 *
 * And calls whose result depends on the locale, which belongs to the host program: they run in the
 * C locale, whatever the host has set, on whatever thread.  tools/check-locale proves on the
 * objects that no other such call is left. */
#ifndef FRE_BANNED_H
#define FRE_BANNED_H

#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <monetary.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf strtok asctime ctime
#pragma GCC poison atoi atol atoll atof
#pragma GCC poison srand rand_r srandom drand48 erand48 lrand48 nrand48 mrand48 jrand48 srand48
#pragma GCC poison mktemp tempnam tmpnam popen

/* Function-like, because these words have other uses (a field, an attribute's argument). */
#undef rand
#undef random
#undef gets
#undef system
#define rand(...) fre_banned_rand_use_fre_rng
#define random(...) fre_banned_random_use_fre_rng
#define gets(...) fre_banned_gets
#define system(...) fre_banned_system

#ifndef FRE_MODULE_IS_CORE
#define time(...) fre_banned_time_use_the_clock_of_core
#define gettimeofday(...) fre_banned_gettimeofday_use_the_clock_of_core
#define clock_gettime(...) fre_banned_clock_gettime_use_the_clock_of_core
#endif

#ifndef FRE_MODULE_MAY_PRINT
#undef puts
#undef putchar
#undef perror
#undef exit
#define puts(...) fre_banned_puts_in_the_library
#define putchar(...) fre_banned_putchar_in_the_library
#define perror(...) fre_banned_perror_in_the_library
#define exit(...) fre_banned_exit_in_the_library
#undef abort
#define abort(...) fre_banned_abort_in_the_library
#endif

/* ---- the locale -------------------------------------------------------------------------------- */

#pragma GCC poison setlocale strcoll strcoll_l strxfrm nl_langinfo strfmon strptime

/* Set the calling thread's locale to C; returns what leave takes.  Cheap, and never fails. */
void *fre_c_locale_enter(void);
void fre_c_locale_leave(void *before);

#define FRE_IN_C_LOCALE(call)                                                                      \
    __extension__({                                                                                \
        void *fre_before_ = fre_c_locale_enter();                                                  \
        __typeof__(call) fre_result_ = (call);                                                     \
        fre_c_locale_leave(fre_before_);                                                           \
        fre_result_;                                                                               \
    })

#undef printf
#undef vprintf
#undef fprintf
#undef vfprintf
#undef snprintf
#undef vsnprintf
#undef asprintf
#undef vasprintf
#ifdef FRE_MODULE_MAY_PRINT
#define printf(...) FRE_IN_C_LOCALE((printf)(__VA_ARGS__))
#define vprintf(...) FRE_IN_C_LOCALE((vprintf)(__VA_ARGS__))
#else
#define printf(...) fre_banned_printf_in_the_library
#define vprintf(...) fre_banned_printf_in_the_library
#endif
#define fprintf(...) FRE_IN_C_LOCALE((fprintf)(__VA_ARGS__))
#define vfprintf(...) FRE_IN_C_LOCALE((vfprintf)(__VA_ARGS__))
#define snprintf(...) FRE_IN_C_LOCALE((snprintf)(__VA_ARGS__))
#define vsnprintf(...) FRE_IN_C_LOCALE((vsnprintf)(__VA_ARGS__))
#define asprintf(...) FRE_IN_C_LOCALE((asprintf)(__VA_ARGS__))
#define vasprintf(...) FRE_IN_C_LOCALE((vasprintf)(__VA_ARGS__))
#define sscanf(...) FRE_IN_C_LOCALE((sscanf)(__VA_ARGS__))
#define strtod(...) FRE_IN_C_LOCALE((strtod)(__VA_ARGS__))
#define strtof(...) FRE_IN_C_LOCALE((strtof)(__VA_ARGS__))
#define strtold(...) FRE_IN_C_LOCALE((strtold)(__VA_ARGS__))
#define strtol(...) FRE_IN_C_LOCALE((strtol)(__VA_ARGS__))
#define strtoul(...) FRE_IN_C_LOCALE((strtoul)(__VA_ARGS__))
#define strtoll(...) FRE_IN_C_LOCALE((strtoll)(__VA_ARGS__))
#define strtoull(...) FRE_IN_C_LOCALE((strtoull)(__VA_ARGS__))
#define strftime(...) FRE_IN_C_LOCALE((strftime)(__VA_ARGS__))
#define strcasecmp(...) FRE_IN_C_LOCALE((strcasecmp)(__VA_ARGS__))
#define iconv_open(...) FRE_IN_C_LOCALE((iconv_open)(__VA_ARGS__))
#define strncasecmp(...) FRE_IN_C_LOCALE((strncasecmp)(__VA_ARGS__))

/* Never translated, never NULL, and no buffer that threads share. */
const char *fre_c_strerror(int e);
#define strerror(e) fre_c_strerror(e)

/* jansson prints and reads real numbers by these.  Its header comes first: it declares them. */
#if __has_include(<jansson.h>)
#include <jansson.h>
#define json_dumps(...) FRE_IN_C_LOCALE((json_dumps)(__VA_ARGS__))
#define json_dumpb(...) FRE_IN_C_LOCALE((json_dumpb)(__VA_ARGS__))
#define json_dumpf(...) FRE_IN_C_LOCALE((json_dumpf)(__VA_ARGS__))
#define json_dumpfd(...) FRE_IN_C_LOCALE((json_dumpfd)(__VA_ARGS__))
#define json_dump_file(...) FRE_IN_C_LOCALE((json_dump_file)(__VA_ARGS__))
#define json_dump_callback(...) FRE_IN_C_LOCALE((json_dump_callback)(__VA_ARGS__))
#define json_loads(...) FRE_IN_C_LOCALE((json_loads)(__VA_ARGS__))
#define json_loadb(...) FRE_IN_C_LOCALE((json_loadb)(__VA_ARGS__))
#define json_loadf(...) FRE_IN_C_LOCALE((json_loadf)(__VA_ARGS__))
#define json_loadfd(...) FRE_IN_C_LOCALE((json_loadfd)(__VA_ARGS__))
#define json_load_file(...) FRE_IN_C_LOCALE((json_load_file)(__VA_ARGS__))
#define json_load_callback(...) FRE_IN_C_LOCALE((json_load_callback)(__VA_ARGS__))
#endif

/* Classes of bytes as the C locale has them: ASCII.  In loops over texts, so without a switch. */
static inline int fre_c_islower(int c)
{
    return c >= 'a' && c <= 'z';
}
static inline int fre_c_isupper(int c)
{
    return c >= 'A' && c <= 'Z';
}
static inline int fre_c_isdigit(int c)
{
    return c >= '0' && c <= '9';
}
static inline int fre_c_isalpha(int c)
{
    return fre_c_islower(c) || fre_c_isupper(c);
}
static inline int fre_c_isalnum(int c)
{
    return fre_c_isalpha(c) || fre_c_isdigit(c);
}
static inline int fre_c_isgraph(int c)
{
    return c > ' ' && c < 0x7f;
}
static inline int fre_c_isspace(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline int fre_c_iscntrl(int c)
{
    return (c >= 0 && c < ' ') || c == 0x7f;
}
static inline int fre_c_tolower(int c)
{
    return fre_c_isupper(c) ? c - 'A' + 'a' : c;
}
static inline int fre_c_toupper(int c)
{
    return fre_c_islower(c) ? c - 'a' + 'A' : c;
}

#undef isalnum
#undef isalpha
#undef isblank
#undef iscntrl
#undef isdigit
#undef isgraph
#undef islower
#undef isprint
#undef ispunct
#undef isspace
#undef isupper
#undef isxdigit
#undef tolower
#undef toupper
#define isalnum(c) fre_c_isalnum(c)
#define isalpha(c) fre_c_isalpha(c)
#define iscntrl(c) fre_c_iscntrl(c)
#define isdigit(c) fre_c_isdigit(c)
#define isgraph(c) fre_c_isgraph(c)
#define islower(c) fre_c_islower(c)
#define isspace(c) fre_c_isspace(c)
#define isupper(c) fre_c_isupper(c)
#define tolower(c) fre_c_tolower(c)
#define toupper(c) fre_c_toupper(c)
#define isblank(c) fre_banned_write_it_out
#define isprint(c) fre_banned_write_it_out
#define ispunct(c) fre_banned_write_it_out
#define isxdigit(c) fre_banned_use_fre_unhex

#endif
