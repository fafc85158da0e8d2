/* other_clock.c - preloaded into servers: a host whose time of day is wrong by as many seconds as are in the file that
 * FRE_TEST_CLOCK names, and that slept for as many as are in that of FRE_TEST_SLEPT. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t seconds_in(const char *variable)
{
    const char *path = getenv(variable);
    FILE *f = path ? fopen(path, "re") : NULL;
    char line[32] = "0";

    if (f && !fgets(line, sizeof line, f))
        line[0] = 0;
    if (f)
        (void)fclose(f);
    return (time_t)strtol(line, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    const long e = syscall(SYS_clock_gettime, id, t);

    if (e == 0 && id == CLOCK_REALTIME)
        t->tv_sec += seconds_in("FRE_TEST_CLOCK");
    if (e == 0 && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME))
        t->tv_sec += seconds_in("FRE_TEST_SLEPT");
    return (int)e;
}

time_t time(time_t *out)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
