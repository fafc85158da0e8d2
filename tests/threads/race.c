/* race.c - two threads write to one buffer of the library without a lock, which ThreadSanitizer must report: else
 * `make tsan` would see nothing. */
#include <fre/core.h>

#include <pthread.h>

static fre_buf both;

static void *append(void *arg)
{
    (void)arg;
    return fre_buf_append(&both, "x", 1) == FRE_OK ? &both : NULL;
}

int main(void)
{
    pthread_t a, b;

    fre_buf_init(&both, 64);
    if (fre_buf_reserve(&both, 64) != FRE_OK || pthread_create(&a, NULL, append, NULL) != 0 ||
        pthread_create(&b, NULL, append, NULL) != 0)
        return 2;
    (void)pthread_join(a, NULL);
    (void)pthread_join(b, NULL);
    fre_buf_wipe(&both);
    return 0;
}
