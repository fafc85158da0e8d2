/* outfile.c - one output file, by the same promise as the directory. */
#include "core_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct fre_outfile {
    fre_target target;
    fre_temporary temporary;
    FILE *stream;
    char *path;
    bool borrowed; /* stdout: flushed, never closed */
    bool direct;   /* a device or pipe: nothing to rename */
    bool force, done;
};

static fre_status cannot_create(const fre_outfile *o, int e, fre_err *err)
{
    if (e == ENOSPC || e == EDQUOT)
        return fre_core_write_failed(err, e, "a new file", o->path);
    return fre_open_failed(err, e, FRE_E_EXISTS, NULL, "cannot create '%.300s'", o->path);
}

static fre_status make_sibling(fre_outfile *o, fre_err *err)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        char name[FRE_CORE_NAME_BYTES];
        int fd;

        fre_target_partial(&o->target, name);
        fd = openat(o->target.dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0644);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return cannot_create(o, errno, err);
        if ((flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
            !fre_target_same(o->target.dir_fd, name, fd)) {
            (void)close(fd); /* swept by another run between the two calls */
            continue;
        }
        fre_temporary_add(&o->temporary, o->target.dir_fd, name);
        o->stream = fdopen(fd, "w");
        if (!o->stream) {
            int e = errno;

            (void)close(fd);
            return cannot_create(o, e, err);
        }
        return FRE_OK;
    }
    return cannot_create(o, EAGAIN, err);
}

/* A symlink is followed so that the thing it names is replaced, not the link (/dev/stdout). */
static fre_status follow_link(char **path, fre_err *err)
{
    struct stat s;
    char *real;

    if (lstat(*path, &s) != 0 || !S_ISLNK(s.st_mode) || stat(*path, &s) != 0 || !S_ISREG(s.st_mode))
        return FRE_OK;
    real = realpath(*path, NULL);
    if (!real)
        return fre_fail(err, FRE_E_EXISTS, "cannot follow '%.300s': %s", *path, strerror(errno));
    free(*path);
    *path = real;
    return FRE_OK;
}

static fre_status open_path(fre_outfile *o, fre_err *err)
{
    struct stat s;
    fre_status st = follow_link(&o->path, err);

    if (st != FRE_OK)
        return st;
    if (stat(o->path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            return fre_fail(err, FRE_E_EXISTS, "'%.300s' is a directory; give a file name",
                            o->path);
        if (!S_ISREG(s.st_mode)) {
            o->direct = true;
            o->stream = fopen(o->path, "we");
            return o->stream ? FRE_OK : cannot_create(o, errno, err);
        }
        if (!o->force)
            return fre_fail(err, FRE_E_EXISTS,
                            "'%.300s' exists; give another name or add {force} "
                            "to replace it",
                            o->path);
    }
    st = fre_target_open(&o->target, o->path, err);
    if (st != FRE_OK)
        return st;
    fre_target_sweep(&o->target);
    return make_sibling(o, err);
}

fre_status fre_outfile_open(fre_outfile **out, const char *path, bool force, fre_err *err)
{
    fre_outfile *o = NULL;
    fre_status st;

    if (!out || !path)
        return fre_fail(err, FRE_E_ARG, "an output file needs a path");
    st = fre_core_ready();
    if (st != FRE_OK)
        return fre_fail(err, st, "the system offers no randomness");
    o = calloc(1, sizeof *o);
    if (!o)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    o->target.dir_fd = -1;
    o->force = force;
    o->path = strdup(path);
    if (!o->path) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    if (strcmp(path, "-") == 0) {
        o->stream = stdout;
        o->borrowed = true;
    } else {
        st = open_path(o, err);
        if (st != FRE_OK)
            goto out;
    }
    *out = o;
    o = NULL;
out:
    fre_outfile_free(o);
    return st;
}

FILE *fre_outfile_stream(fre_outfile *o)
{
    return o ? o->stream : NULL;
}

static fre_status close_stream(fre_outfile *o, fre_err *err)
{
    const char *what = o->borrowed ? "the result" : "a file";
    const char *where = o->borrowed ? "standard output" : o->path;
    bool failed = ferror(o->stream) != 0;
    int code = 0;

    if (fflush(o->stream) != 0)
        code = errno;
    if (!o->borrowed && !o->direct && code == 0)
        code = fre_core_sync(fileno(o->stream));
    if (!o->borrowed) {
        if (fclose(o->stream) != 0 && code == 0)
            code = errno;
        o->stream = NULL;
    }
    if (code != 0)
        return fre_core_write_failed(err, code, what, where);
    if (failed)
        return fre_fail(err, FRE_E_IO, "cannot write '%.300s': a write failed (disk full?)", where);
    return FRE_OK;
}

fre_status fre_outfile_commit(fre_outfile *o, fre_err *err)
{
    fre_status st;
    int e = 0;

    if (!o)
        return fre_fail(err, FRE_E_ARG, "no output file");
    if (o->done || !o->stream)
        return fre_fail(err, FRE_E_STATE, "the output file was committed before");
    o->done = true;
    st = close_stream(o, err);
    if (st != FRE_OK || o->borrowed || o->direct)
        return st;
    if (o->temporary.name[0] == '\0')
        return fre_fail(err, FRE_E_INTERRUPTED, "'%.300s' was abandoned", o->path);
    if (!o->force)
        e = fre_target_rename_new(o->target.dir_fd, o->temporary.name, o->target.name);
    else if (renameat(o->target.dir_fd, o->temporary.name, o->target.dir_fd, o->target.name) != 0)
        e = errno;
    if (e == EEXIST)
        return fre_fail(err, FRE_E_EXISTS, "'%.300s' appeared during the run; it is left as it is",
                        o->path);
    if (e != 0)
        return fre_core_write_failed(err, e, "the finished file", o->path);
    fre_temporary_drop(&o->temporary, false);
    (void)fsync(o->target.dir_fd); /* not every file system lets a directory be synced */
    return FRE_OK;
}

void fre_outfile_free(fre_outfile *o)
{
    if (!o)
        return;
    if (o->stream && !o->borrowed)
        (void)fclose(o->stream);
    fre_temporary_drop(&o->temporary, true);
    fre_target_close(&o->target);
    free(o->path);
    free(o);
}
