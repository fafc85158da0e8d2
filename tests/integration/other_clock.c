/* other_clock.c - preloaded into servers and devices: a host whose time of day is wrong by as many seconds as are in the
 * file that FRE_TEST_CLOCK names, and that slept for as many as are in that of FRE_TEST_SLEPT.  With two more numbers in
 * the former, RATE and SINCE, its time of day and the time since it started go RATE times as fast since then; what waits
 * goes by the system's. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ll

/* Three at most; what is not there is 0. */
static void numbers_in(long long out[3], const char *variable)
{
    const char *path = getenv(variable);
    FILE *f = path ? fopen(path, "re") : NULL;
    char line[96] = "", *at = line;

    if (f && !fgets(line, sizeof line, f))
        line[0] = 0;
    if (f)
        (void)fclose(f);
    for (int i = 0; i < 3; i++)
        out[i] = strtoll(at, &at, 10);
}

/* How much more has passed since SINCE. */
static long long gained_ns(const long long clock[3])
{
    struct timespec t = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return clock[1] > 1 ? ((t.tv_sec - clock[2]) * NS + t.tv_nsec) * (clock[1] - 1) : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    const long e = syscall(SYS_clock_gettime, id, t);
    long long clock[3], slept[3], ns;

    if (e != 0 || (id != CLOCK_REALTIME && id != CLOCK_BOOTTIME))
        return (int)e;
    numbers_in(clock, "FRE_TEST_CLOCK");
    numbers_in(slept, "FRE_TEST_SLEPT");
    ns = t->tv_nsec + gained_ns(clock);
    t->tv_sec += ns / NS + slept[0] + (id == CLOCK_REALTIME ? clock[0] : 0);
    t->tv_nsec = ns % NS;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
