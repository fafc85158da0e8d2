/* serve/clock.c - the time of day, as long as it goes with the time since the system started, sleeps among it. */
#include "serve_private.h"

#include <time.h>

int serve_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    int e = pthread_condattr_init(&a);

    if (e != 0)
        return e;
    e = pthread_condattr_setclock(&a, CLOCK_MONOTONIC); /* fre_clock_ms */
    e = e ? e : pthread_cond_init(c, &a);
    (void)pthread_condattr_destroy(&a);
    return e;
}

bool serve_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, int64_t end_ms)
{
    const struct timespec end = {.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};

    return pthread_cond_timedwait(c, lock, &end) == 0;
}

bool serve_clock_now(serve_clock *c, int64_t *now)
{
    const int64_t day = fre_clock_unix();
    int64_t offset, jump;
    bool sure;

    (void)pthread_mutex_lock(&c->lock);
    offset = day - fre_clock_boot_ms() / 1000;
    if (!c->known)
        c->offset = offset;
    c->known = true;
    jump = offset - c->offset;
    sure = jump < SERVE_CLOCK_JUMP && jump > -SERVE_CLOCK_JUMP;
    if (sure) /* a clock that is set right slowly stays sure */
        c->offset = offset;
    (void)pthread_mutex_unlock(&c->lock);
    *now = day;
    return sure;
}
