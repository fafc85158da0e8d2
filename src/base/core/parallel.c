/* parallel.c - a fork-join loop.  Indices are handed out in increasing order, so when job i fails
 * every job below i has been handed out too and will finish: the lowest failing index, and with it
 * the returned status, does not depend on the number of threads. */
#include "core_private.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>


typedef struct loop {
    atomic_uint_fast64_t next;
    atomic_bool failed;
    uint64_t n;
    fre_status (*job)(void *ctx, uint64_t i);
    void *ctx;
    pthread_mutex_t lock;
    uint64_t worst; /* lowest failing index; guarded by lock */
    fre_status status;
} loop;

static void *work(void *arg)
{
    loop *l = arg;

    while (!atomic_load(&l->failed)) {
        uint64_t i = atomic_fetch_add(&l->next, 1);
        fre_status st;

        if (i >= l->n)
            break;
        st = l->job(l->ctx, i);
        if (st == FRE_OK)
            continue;
        (void)pthread_mutex_lock(&l->lock);
        if (i < l->worst) {
            l->worst = i;
            l->status = st;
        }
        (void)pthread_mutex_unlock(&l->lock);
        atomic_store(&l->failed, true);
    }
    return NULL;
}

/* Starts up to `helpers` threads; fewer when the system refuses, which costs time only. */
static uint32_t start_helpers(pthread_t *ids, uint32_t helpers, loop *l)
{
    sigset_t all, before;
    uint32_t started = 0;

    /* Signals are for the thread that called: helpers inherit a full mask. */
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return 0;
    while (started < helpers && pthread_create(&ids[started], NULL, work, l) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

fre_status fre_parallel(uint32_t threads, uint64_t n, fre_status (*job)(void *ctx, uint64_t i),
                        void *ctx)
{
    loop l = {.n = n, .job = job, .ctx = ctx, .worst = UINT64_MAX, .status = FRE_OK};
    pthread_t *ids = NULL;
    uint32_t helpers, started = 0;

    if (threads == 0 || threads > FRE_THREADS_MAX || !job)
        return FRE_E_ARG;
    if (n == 0)
        return FRE_OK;
    helpers = (n < threads ? (uint32_t)n : threads) - 1;
    if (pthread_mutex_init(&l.lock, NULL) != 0)
        return FRE_E_NOMEM;
    if (helpers > 0)
        ids = calloc(helpers, sizeof *ids);
    if (ids)
        started = start_helpers(ids, helpers, &l);
    (void)work(&l);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(ids[i], NULL);
    (void)pthread_mutex_destroy(&l.lock);
    free(ids);
    return l.status;
}

/* Not __builtin_cpu_supports: zig's run-time library answers it with no, whatever is asked. */
bool fre_cpu_has(fre_cpu_set set)
{
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;

    if (fre_core_ready() != FRE_OK)
        return false;
    switch (set) {
    case FRE_CPU_AVX2:
        return sodium_runtime_has_avx2() != 0;
    case FRE_CPU_AVX2_FMA:
        return sodium_runtime_has_avx2() != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
               (c & bit_FMA) != 0;
    case FRE_CPU_AVX512F:
        return sodium_runtime_has_avx512f() != 0;
    }
#endif
    (void)set;
    return false;
}

uint32_t fre_cpu_count(void)
{
    cpu_set_t set;
    long online;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);

        if (n >= 1)
            return (uint32_t)n;
    }
    /* More processors than cpu_set_t holds. */
    online = sysconf(_SC_NPROCESSORS_ONLN);
    if (online < 1)
        return 1;
    return online > (long)FRE_THREADS_MAX ? FRE_THREADS_MAX : (uint32_t)online;
}
