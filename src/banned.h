/* Compiled in front of every file under src/: calls that this code base never makes become errors.
 * Unbounded or hidden-state string calls, predictable random numbers, clocks outside core (whose
 * hook tests replace), and printing or exiting outside the program.  A deliberate exception calls
 * the function in parentheses, which no function-like macro touches, and says why. */
#ifndef FRE_BANNED_H
#define FRE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#define printf(...) fre_banned_printf_in_the_library
#define puts(...) fre_banned_puts_in_the_library
#define putchar(...) fre_banned_putchar_in_the_library
#define perror(...) fre_banned_perror_in_the_library
#define exit(...) fre_banned_exit_in_the_library
#undef abort
#define abort(...) fre_banned_abort_in_the_library
#endif

#endif
