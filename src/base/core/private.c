/* private.c - files with secrets: their owner's alone, written whole, and gone when they are erased. */
#include "core_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static fre_status check_file(int fd, const char *path, fre_err *err)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fre_fail(err, FRE_E_IO, "cannot examine '%.300s': %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 077) != 0)
        return fre_fail(err, FRE_E_REFUSED,
                        "'%.300s' must be a file of yours that nobody else can read: set its mode "
                        "to 0600, or remove it; a file system that keeps no modes is no place for "
                        "it",
                        path);
    return FRE_OK;
}

fre_status fre_private_open(int *fd, bool *fresh, const char *path, fre_err *err)
{
    fre_status st;
    bool made = false;
    int f, e;

    if (!fd || !path)
        return FRE_E_ARG;
    f = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    e = errno;
    if (f < 0 && e == ENOENT && fresh) {
        f = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        e = errno;
        made = f >= 0;
    }
    if (f < 0 && e == ELOOP)
        return fre_fail(err, FRE_E_REFUSED,
                        "'%.300s' is a symbolic link: remove it, or give the file itself", path);
    if (f < 0)
        return fre_open_failed(err, e, fresh ? FRE_E_IO : FRE_E_NOINPUT, FRE_CHECK_PATH,
                               "cannot open '%.300s'", path);
    st = check_file(f, path, err);
    if (st != FRE_OK) {
        (void)close(f);
        return st;
    }
    if (fresh)
        *fresh = made;
    *fd = f;
    return FRE_OK;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* What is behind the end of the file is asked for too, so that a file that grows is noticed. */
static fre_status read_all(fre_buf *out, int fd, const char *path, fre_err *err)
{
    struct stat s;
    size_t got = 0;
    fre_status st;
    int e;

    if (fstat(fd, &s) != 0)
        return fre_fail(err, FRE_E_IO, "cannot examine '%.300s': %s", path, strerror(errno));
    if ((uint64_t)s.st_size > out->max - out->n)
        return fre_fail(err, FRE_E_LIMIT,
                        "'%.300s' has more than %zu bytes, which none of its kind has", path,
                        out->max - out->n);
    st = fre_buf_reserve(out, (size_t)s.st_size);
    if (st != FRE_OK)
        return fre_fail(err, st, "out of memory");
    e = fre_core_pread(fd, out->p + out->n, (size_t)s.st_size, 0, &got);
    if (e != 0)
        return fre_fail(err, FRE_E_IO, "cannot read '%.300s': %s", path, strerror(e));
    out->n += got;
    return FRE_OK;
}

fre_status fre_private_read(fre_buf *out, const char *path, fre_err *err)
{
    fre_status st;
    int fd = -1;

    if (!out)
        return FRE_E_ARG;
    st = fre_private_open(&fd, NULL, path, err);
    if (st != FRE_OK)
        return st;
    st = read_all(out, fd, path, err);
    (void)close(fd);
    return st;
}

fre_status fre_file_read(fre_buf *out, const char *path, fre_err *err)
{
    fre_status st;
    struct stat s;
    int fd;

    if (!out || !path)
        return FRE_E_ARG;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH, "cannot open '%.300s'",
                               path);
    st = fstat(fd, &s) == 0 && S_ISREG(s.st_mode)
             ? read_all(out, fd, path, err)
             : fre_fail(err, FRE_E_NOINPUT, "'%.300s' is no file: " FRE_CHECK_PATH, path);
    (void)close(fd);
    return st;
}

/* ---- writing ----------------------------------------------------------------------------------- */

/* A new sibling with the bytes in it, synced. */
static int write_sibling(fre_temporary *t, const fre_target *to, fre_bytes bytes)
{
    char name[FRE_CORE_NAME_BYTES];
    int fd, e;

    fre_target_partial(to, name);
    fd = openat(to->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    fre_temporary_add(t, to->dir_fd, name);
    (void)flock(fd, LOCK_EX | LOCK_NB); /* others sweep what nobody holds */
    e = fre_core_pwrite(fd, bytes.p, bytes.n, 0);
    if (e == 0)
        e = fre_core_sync(fd);
    return close(fd) != 0 && e == 0 ? errno : e;
}

static int take_place(const fre_target *to, const char *from, bool replace)
{
    if (!replace)
        return fre_target_rename_new(to->dir_fd, from, to->name);
    return renameat(to->dir_fd, from, to->dir_fd, to->name) == 0 ? 0 : errno;
}

static fre_status put(const char *path, fre_bytes bytes, bool replace, fre_err *err)
{
    fre_target to = {.dir_fd = -1};
    fre_temporary t = {.name = ""};
    fre_status st = fre_target_open(&to, path, err);
    int e;

    if (st != FRE_OK)
        return st;
    fre_target_sweep(&to);
    e = write_sibling(&t, &to, bytes);
    if (e == 0)
        e = take_place(&to, t.name, replace);
    fre_temporary_drop(&t, e != 0);
    if (e == 0)
        e = fre_core_sync(to.dir_fd);
    fre_target_close(&to);
    if (e == EEXIST)
        return fre_fail(err, FRE_E_EXISTS, "'%.300s' is there already: move it away", path);
    return e == 0 ? FRE_OK : fre_core_write_failed(err, e, "a new file", path);
}

/* What is to be replaced is as private as what replaces it. */
fre_status fre_private_write(const char *path, fre_bytes bytes, bool replace, fre_err *err)
{
    fre_status st = FRE_OK;
    int old = -1;

    if (!path || (bytes.n > 0 && !bytes.p))
        return FRE_E_ARG;
    if (replace)
        st = fre_private_open(&old, NULL, path, err);
    if (st == FRE_OK)
        st = put(path, bytes, replace, err);
    if (old >= 0)
        (void)close(old);
    return st;
}

/* ---- erasing ----------------------------------------------------------------------------------- */

static int overwrite(int fd)
{
    static const uint8_t zeros[4096];
    struct stat s;
    int e = fstat(fd, &s) == 0 ? 0 : errno;

    for (off_t at = 0; e == 0 && at < s.st_size; at += (off_t)sizeof zeros)
        e = fre_core_pwrite(
            fd, zeros,
            s.st_size - at < (off_t)sizeof zeros ? (size_t)(s.st_size - at) : sizeof zeros, at);
    return e == 0 ? fre_core_sync(fd) : e;
}

fre_status fre_private_renew(const char *path, fre_bytes bytes, fre_err *err)
{
    fre_status st;
    int old = -1, e;

    if (!path || (bytes.n > 0 && !bytes.p))
        return FRE_E_ARG;
    st = fre_private_open(&old, NULL, path, err);
    if (st != FRE_OK)
        return st;
    st = put(path, bytes, true, err);
    e = st == FRE_OK ? overwrite(old) : 0;
    (void)close(old);
    return e == 0 ? st
                  : fre_fail(err, FRE_E_IO, "cannot erase what '%.300s' was before: %s", path,
                             strerror(e));
}

fre_status fre_private_erase(const char *path, bool *was, fre_err *err)
{
    fre_target in = {.dir_fd = -1};
    fre_status st;
    int fd = -1, e;

    st = fre_target_open(&in, path, err);
    if (st != FRE_OK)
        return st;
    if (faccessat(in.dir_fd, in.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        fre_target_close(&in);
        if (was)
            *was = false;
        return FRE_OK;
    }
    st = fre_private_open(&fd, NULL, path, err);
    if (st != FRE_OK) {
        fre_target_close(&in);
        return st;
    }
    e = overwrite(fd);
    (void)close(fd);
    if (e == 0 && unlinkat(in.dir_fd, in.name, 0) != 0)
        e = errno;
    if (e == 0)
        e = fre_core_sync(in.dir_fd);
    fre_target_close(&in);
    if (e != 0)
        return fre_fail(err, FRE_E_IO, "cannot erase '%.300s': %s", path, strerror(e));
    if (was)
        *was = true;
    return FRE_OK;
}

/* ---- folders ----------------------------------------------------------------------------------- */

static fre_status check_folder(int fd, const char *path, fre_err *err)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fre_fail(err, FRE_E_IO, "cannot examine '%.300s': %s", path, strerror(errno));
    if (s.st_uid != geteuid() || (s.st_mode & 022) != 0)
        return fre_fail(err, FRE_E_REFUSED,
                        "'%.300s' must be a folder of yours that nobody else can write to: set its "
                        "mode to 0700, or give another",
                        path);
    return FRE_OK;
}

fre_status fre_private_folder(const char *path, bool make, fre_err *err)
{
    fre_status st;
    int e = 0, fd;

    if (!path)
        return FRE_E_ARG;
    if (make) {
        e = fre_make_parents(path);
        if (e == 0 && mkdir(path, 0700) != 0 && errno != EEXIST)
            e = errno;
    }
    if (e != 0)
        return fre_open_failed(err, e, FRE_E_EXISTS, FRE_CHECK_PATH,
                               "cannot make the folder '%.300s'", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fre_open_failed(err, errno, make ? FRE_E_EXISTS : FRE_E_NOINPUT, FRE_CHECK_PATH,
                               "cannot open the folder '%.300s'", path);
    st = check_folder(fd, path, err);
    (void)close(fd);
    return st;
}
