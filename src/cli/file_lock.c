/* file_lock.c - see file_lock.h: an advisory lock (flock) on the file itself, which leaves nothing behind. */
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
        st = fre_lock_wait(*fd, path, path, err);
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
