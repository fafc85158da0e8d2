/* Waiting for an advisory lock; see fre/core.h. */
#include "core_private.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>

#define PAUSE_MS 20
#define TRIES 1500 /* half a minute */

fre_status fre_lock_wait(int fd, const char *name, const char *awaited, fre_err *err)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        const int e = errno;

        if (e != EINTR && e != EWOULDBLOCK)
            return fre_fail(err, FRE_E_IO, "cannot lock '%.300s': %s", name, strerror(e));
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted while waiting for %.300s",
                            awaited);
        if (tries >= TRIES)
            return fre_fail(err, FRE_E_AGAIN, "another process holds '%.300s'; try again later",
                            name);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return FRE_OK;
}
