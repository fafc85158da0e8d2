/* runtime.c - clock, progress, interruption, and what a process with secrets asks of the system. */
#include "core_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

static int64_t milliseconds(clockid_t clock)
{
    struct timespec t;

    if (clock_gettime(clock, &t) != 0)
        return 0; /* unreachable: Linux always has these clocks */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t monotonic_ms(void)
{
    return milliseconds(CLOCK_MONOTONIC);
}

static int64_t (*_Atomic clock_source)(void) = monotonic_ms;

int64_t fre_clock_ms(void)
{
    int64_t (*f)(void) = atomic_load(&clock_source);

    return f();
}

void fre_clock_set_source(int64_t (*f)(void))
{
    atomic_store(&clock_source, f ? f : monotonic_ms);
}

int64_t fre_clock_boot_ms(void)
{
    return milliseconds(CLOCK_BOOTTIME);
}

int64_t fre_clock_unix(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return 0; /* unreachable: Linux always has this clock */
    return (int64_t)t.tv_sec;
}

void fre_sleep_ms(unsigned ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&t, NULL);
}

unsigned fre_jitter_ms(unsigned ms)
{
    fre_rng r;
    unsigned more = ms / 2;

    if (fre_rng_init(&r) == FRE_OK) {
        more = (unsigned)fre_rng_below(&r, ms / 2 + 1);
        fre_rng_wipe(&r);
    }
    return ms / 2 + more;
}

void fre_progress_update(const fre_progress *p, const char *phase, uint64_t done, uint64_t total)
{
    if (p && p->update)
        p->update(p->ctx, phase, done, total);
}

static atomic_bool interrupted; /* lock-free on every Linux target, so usable in a handler */

void fre_interrupt_set(void)
{
    atomic_store(&interrupted, true);
}

bool fre_interrupted(void)
{
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}

void fre_interrupt_clear(void)
{
    atomic_store(&interrupted, false);
}

/* A file that is opened later must not get the number of a stream that the parent closed.  The two
 * that stand in for input and output refuse to read and to write, as the closed ones would have. */
static fre_status open_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};

    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) != -1 || errno != EBADF)
            continue;
        if (open("/dev/null", modes[i]) != i) /* the lowest free number; those below are taken */
            return FRE_E_INTERNAL;
    }
    return FRE_OK;
}

fre_status fre_core_harden(void)
{
    const struct rlimit none = {0, 0};

    if (open_streams() != FRE_OK)
        return FRE_E_INTERNAL;
    if (setrlimit(RLIMIT_CORE, &none) != 0)
        return FRE_E_IO;
#if !defined(__SANITIZE_ADDRESS__)
    /* The leak checker attaches to its own process, which this forbids. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return FRE_E_IO;
#endif
    return fre_core_ready();
}
