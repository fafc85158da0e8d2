/* file_lock.c - see file_lock.h: an advisory lock (flock) on the file itself, which leaves nothing behind. */
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_MS 20
#define TRIES 1500 /* half a minute */

/* Some file systems give the lock to a writer only; who may replace a file need not be allowed to write to it. */
static fre_status open_file(int *fd, const char *path, fre_err *err)
{
    *fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 && (errno == EACCES || errno == EISDIR || errno == EROFS))
        *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return *fd >= 0 ? FRE_OK
                    : fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH,
                                      "cannot open '%.300s'", path);
}

static fre_status wait_for(int fd, const char *path, fre_err *err)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return fre_fail(err, FRE_E_IO, "cannot lock '%.300s': %s", path, strerror(errno));
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted while waiting for '%.300s'", path);
        if (tries >= TRIES)
            return fre_fail(err, FRE_E_AGAIN, "another process holds '%.300s'; try again later",
                            path);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return FRE_OK;
}

/* Whoever had the lock may have put another file in its place. */
static bool is_at(int fd, const char *path)
{
    struct stat held, there;

    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

fre_status cli_file_lock(int *fd, const char *path, fre_err *err)
{
    fre_status st;

    do {
        st = open_file(fd, path, err);
        if (st != FRE_OK)
            return st;
        st = wait_for(*fd, path, err);
        if (st == FRE_OK && is_at(*fd, path))
            return st;
        cli_file_unlock(*fd);
        *fd = -1;
    } while (st == FRE_OK);
    return st;
}

void cli_file_unlock(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}
