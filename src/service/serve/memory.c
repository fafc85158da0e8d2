/* serve/memory.c - what keys are in is not written to a disk. */
#include "serve_private.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

static bool has_swap(void)
{
    FILE *f = fopen("/proc/swaps", "re");
    char line[256];
    int lines = 0;

    while (f && fgets(line, sizeof line, f))
        lines++;
    if (f)
        (void)fclose(f);
    return lines > 1;
}

/* Keys are in locked memory anyhow; copies of messages that hold masks are wherever libraries put them. */
fre_status serve_keep_from_swap(fre_err *err)
{
    struct rlimit limit;

    if (!has_swap())
        return FRE_OK;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY &&
        mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
        return FRE_OK;
    return fre_fail(
        err, FRE_E_REFUSED,
        "memory of this process may be written to swap space: turn swap off, or allow it "
        "to lock all of its memory (LimitMEMLOCK=infinity)");
}
