/* outdir.c - the output directory that appears whole or not at all. */
#include "core_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 64u

typedef struct entry {
    FILE *stream;
    char *name;
} entry;

struct fre_outdir {
    fre_target target;
    fre_temporary temporary;
    char *path;               /* as the user wrote it, for messages */
    const char *const *names; /* borrowed */
    int fd;                   /* the partial sibling, locked */
    mode_t mode;              /* of the finished directory: 0755 less the umask */
    bool keeps_modes;         /* false: a file system (CIFS, vfat, some FUSE) that takes no chmod */
    bool force, committed;
    size_t n;
    entry files[FILES_MAX];
};

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* May --force replace this directory?  Only when it is empty, or has the mark of an earlier run and
 * nothing but files of the names that a run makes: a slip such as `-o ~ --force` must not cost
 * anybody's files, nor the notes, the input or the ledger that were put into an old release. */
static fre_status check_replaceable(const fre_outdir *o, fre_err *err)
{
    int fd =
        openat(o->target.dir_fd, o->target.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool empty = true, marked = false;
    char other[256] = "";

    if (!d) {
        int code = errno;

        if (fd >= 0)
            (void)close(fd);
        return fre_open_failed(err, code, FRE_E_EXISTS, NULL, "cannot replace '%.300s'", o->path);
    }
    while ((e = readdir(d)) != NULL) {
        struct stat s;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        empty = false;
        marked = marked || strcmp(e->d_name, FRE_OUTDIR_MARK) == 0;
        if (!is_one_of(o->names, e->d_name) ||
            fstatat(fd, e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(s.st_mode))
            (void)snprintf(other, sizeof other, "%s", e->d_name);
    }
    (void)closedir(d);
    if (other[0] != '\0')
        return fre_fail(err, FRE_E_EXISTS,
                        "'%.200s' holds '%.100s', which is no part of a release: move it away, or "
                        "give another {output}",
                        o->path, other);
    if (empty || marked)
        return FRE_OK;
    return fre_fail(err, FRE_E_EXISTS,
                    "'%.300s' is not the output of an earlier run (no %s); it is not replaced even "
                    "with {force}: give another name or remove it",
                    o->path, FRE_OUTDIR_MARK);
}

static fre_status check_target(const fre_outdir *o, fre_err *err)
{
    struct stat s;

    if (fstatat(o->target.dir_fd, o->target.name, &s, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return FRE_OK;
        return fre_fail(err, FRE_E_EXISTS, "cannot create '%.300s': %s", o->path, strerror(errno));
    }
    if (!S_ISDIR(s.st_mode))
        return fre_fail(err, FRE_E_EXISTS,
                        "'%.300s' exists and is not a directory; "
                        "give another name",
                        o->path);
    if (!o->force)
        return fre_fail(err, FRE_E_EXISTS,
                        "'%.300s' exists; give another name or add {force} "
                        "to replace it",
                        o->path);
    return check_replaceable(o, err);
}

static fre_status cannot_create(const fre_outdir *o, int e, fre_err *err)
{
    if (e == ENOSPC || e == EDQUOT)
        return fre_core_write_failed(err, e, "a new directory", o->path);
    return fre_open_failed(err, e, FRE_E_EXISTS, "choose a folder you can write to",
                           "cannot create '%.300s'", o->path);
}

/* Makes the locked sibling.  Another process may sweep it between mkdir and flock; then again. */
static fre_status make_sibling(fre_outdir *o, fre_err *err)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        char name[FRE_CORE_NAME_BYTES];
        struct stat s;

        fre_target_partial(&o->target, name);
        if (mkdirat(o->target.dir_fd, name, 0755) != 0) {
            if (errno == EEXIST)
                continue;
            return cannot_create(o, errno, err);
        }
        o->fd = openat(o->target.dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (o->fd < 0 && errno != ENOENT) {
            const int e = errno;

            (void)unlinkat(o->target.dir_fd, name, AT_REMOVEDIR);
            return cannot_create(o, e, err);
        }
        /* A file system without locks still gets its output; only the sweep is lost. */
        if (o->fd >= 0 && (flock(o->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
            fre_target_same(o->target.dir_fd, name, o->fd) && fstat(o->fd, &s) == 0) {
            fre_temporary_add(&o->temporary, o->target.dir_fd, name);
            /* The umask has shaped the mode; keep that for the end, be private until then. */
            o->mode = s.st_mode & 0777;
            o->keeps_modes = fchmod(o->fd, 0700) == 0;
            if (o->keeps_modes || fre_core_is_unsupported(errno))
                return FRE_OK;
            return cannot_create(o, errno, err);
        }
        if (o->fd >= 0)
            (void)close(o->fd);
        o->fd = -1;
    }
    return cannot_create(o, EAGAIN, err);
}

/* Room for all files at once and for a ledger's, so that what is booked is not lost for want of it. */
static fre_status check_room(const fre_outdir *o, fre_err *err)
{
    int fd[FILES_MAX];
    size_t n = 0, most = 3;
    fre_status st = FRE_OK;

    for (size_t i = 0; o->names[i] && most < FILES_MAX; i++)
        most++;
    while (st == FRE_OK && n < most) {
        fd[n] = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
        if (fd[n] < 0)
            st = cannot_create(o, errno, err);
        else
            n++;
    }
    while (n > 0)
        (void)close(fd[--n]);
    return st;
}

fre_status fre_outdir_open(fre_outdir **out, const char *path, const char *const *names, bool force,
                           fre_err *err)
{
    fre_outdir *o = NULL;
    fre_status st;

    if (!out || !path || !names)
        return fre_fail(err, FRE_E_ARG, "an output directory needs a path and its files' names");
    st = fre_core_ready();
    if (st != FRE_OK)
        return fre_fail(err, st, "the system offers no randomness");
    o = calloc(1, sizeof *o);
    if (!o)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    o->fd = -1;
    o->target.dir_fd = -1;
    o->force = force;
    o->names = names;
    o->path = strdup(path);
    if (!o->path) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
        goto out;
    }
    st = fre_target_open(&o->target, path, err);
    if (st != FRE_OK)
        goto out;
    st = check_target(o, err);
    if (st != FRE_OK)
        goto out;
    fre_target_sweep(&o->target);
    st = make_sibling(o, err);
    if (st == FRE_OK)
        st = check_room(o, err);
    if (st != FRE_OK)
        goto out;
    *out = o;
    o = NULL;
out:
    fre_outdir_free(o);
    return st;
}

fre_status fre_outdir_file(fre_outdir *o, FILE **out, const char *name, fre_err *err)
{
    fre_status st = FRE_OK;
    FILE *stream = NULL;
    char *copy = NULL;
    int fd = -1;

    if (!o || !out || !name || name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return fre_fail(err, FRE_E_ARG, "an output file needs a plain name");
    if (o->committed)
        return fre_fail(err, FRE_E_STATE, "the output directory is already in place");
    if (o->n == FILES_MAX)
        return fre_fail(err, FRE_E_LIMIT, "more than %u files in one output directory", FILES_MAX);
    copy = strdup(name);
    if (!copy)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fd = openat(o->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) {
        st = fre_fail(err, FRE_E_ARG, "the output file '%.100s' is made twice", name);
        goto out;
    }
    stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!stream) {
        st = fre_core_write_failed(err, errno, name, o->path);
        goto out;
    }
    fd = -1;
    o->files[o->n++] = (entry){.stream = stream, .name = copy};
    copy = NULL;
    *out = stream;
out:
    if (fd >= 0)
        (void)close(fd);
    free(copy);
    return st;
}

/* Flushes, checks and closes every file; the first failure is the one reported. */
static fre_status finish_files(fre_outdir *o, fre_err *err)
{
    for (size_t i = 0; i < o->n; i++) {
        entry *f = &o->files[i];
        bool failed = ferror(f->stream) != 0;
        int code = 0;

        if (fflush(f->stream) != 0)
            code = errno;
        if (code == 0)
            code = fre_core_sync(fileno(f->stream));
        if (fclose(f->stream) != 0 && code == 0)
            code = errno;
        f->stream = NULL;
        if (code != 0)
            return fre_core_write_failed(err, code, f->name, o->path);
        if (failed) /* an earlier write failed and its errno is gone */
            return fre_fail(err, FRE_E_IO,
                            "cannot write %s in '%.300s': a write failed (disk full?)", f->name,
                            o->path);
    }
    return FRE_OK;
}

/* Two renames for file systems without RENAME_EXCHANGE: the old directory steps aside first and
 * comes back when the second rename fails. */
static int swap_in_two(const fre_outdir *o, char aside[FRE_CORE_NAME_BYTES])
{
    const fre_target *p = &o->target;

    fre_target_partial(p, aside);
    if (renameat(p->dir_fd, p->name, p->dir_fd, aside) != 0)
        return errno;
    if (renameat(p->dir_fd, o->temporary.name, p->dir_fd, p->name) != 0) {
        int e = errno;

        (void)renameat(p->dir_fd, aside, p->dir_fd, p->name);
        return e;
    }
    return 0;
}

static fre_status put_in_place(fre_outdir *o, fre_err *err)
{
    const fre_target *p = &o->target;
    char aside[FRE_CORE_NAME_BYTES] = "";
    struct stat s;
    int e;

    if (o->temporary.name[0] == '\0')
        return fre_fail(err, FRE_E_INTERRUPTED, "'%.300s' was abandoned", o->path);
    if (o->force && fstatat(p->dir_fd, p->name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
        fre_status st = check_target(o, err);

        if (st != FRE_OK)
            return st;
        if (renameat2(p->dir_fd, o->temporary.name, p->dir_fd, p->name, RENAME_EXCHANGE) == 0) {
            (void)snprintf(aside, sizeof aside, "%s", o->temporary.name);
            e = 0;
        } else {
            e = fre_core_is_unsupported(errno) ? swap_in_two(o, aside) : errno;
        }
    } else {
        e = fre_target_rename_new(p->dir_fd, o->temporary.name, p->name);
    }
    if (e == EEXIST || e == ENOTEMPTY)
        return fre_fail(err, FRE_E_EXISTS, "'%.300s' appeared during the run; it is left as it is",
                        o->path);
    if (e != 0)
        return fre_core_write_failed(err, e, "the finished directory", o->path);
    fre_temporary_drop(&o->temporary, false);
    o->committed = true;
    (void)fsync(p->dir_fd); /* not every file system lets a directory be synced */
    if (aside[0] != '\0')
        (void)fre_target_remove(p->dir_fd, aside); /* a leftover is swept by the next run */
    return FRE_OK;
}

fre_status fre_outdir_commit(fre_outdir *o, fre_err *err)
{
    fre_status st;
    int e;

    if (!o)
        return fre_fail(err, FRE_E_ARG, "no output directory");
    if (o->committed || (o->n > 0 && !o->files[0].stream))
        return fre_fail(err, FRE_E_STATE, "the output directory was committed before");
    st = finish_files(o, err);
    if (st != FRE_OK)
        return st;
    e = o->keeps_modes && fchmod(o->fd, o->mode) != 0 ? errno : fre_core_sync(o->fd);
    if (e != 0)
        return fre_core_write_failed(err, e, "the directory", o->path);
    return put_in_place(o, err);
}

void fre_outdir_free(fre_outdir *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++) {
        if (o->files[i].stream)
            (void)fclose(o->files[i].stream);
        free(o->files[i].name);
    }
    fre_temporary_drop(&o->temporary, true);
    if (o->fd >= 0)
        (void)close(o->fd);
    fre_target_close(&o->target);
    free(o->path);
    free(o);
}
