/* target.c - where an output goes: its folder, its hidden partial siblings, and their removal.
 *
 * A partial sibling is locked (flock) by the process that writes it for as long as it lives.  The
 * lock dies with the process, SIGKILL included, which is how the next run knows a leftover. */
#include "core_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_BYTES 6u
static const char partial_mark[] = ".partial-";
/* Longest NAME that leaves room for the dot, the mark and the digits in 255 bytes. */
#define STEM_MAX (255u - 1u - (sizeof partial_mark - 1u) - 2u * RANDOM_BYTES)

int fre_core_pwrite(int fd, const void *p, size_t n, off_t at)
{
    const uint8_t *from = p;

    while (n > 0) {
        ssize_t done = pwrite(fd, from, n, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        if (done == 0)
            return EIO; /* a file system that takes nothing and says nothing */
        from += done;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int fre_core_pread(int fd, void *p, size_t n, off_t at, size_t *got)
{
    uint8_t *to = p;

    *got = 0;
    while (*got < n) {
        ssize_t done = pread(fd, to + *got, n - *got, at + (off_t)*got);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        if (done == 0)
            break;
        *got += (size_t)done;
    }
    return 0;
}

bool fre_core_is_unsupported(int e)
{
    return e == EINVAL || e == ENOSYS || e == EOPNOTSUPP || e == ENOTSUP || e == EPERM ||
           e == ENOTTY || e == EBADF;
}

int fre_core_sync(int fd)
{
    return fsync(fd) == 0 || fre_core_is_unsupported(errno) ? 0 : errno;
}

fre_status fre_target_open(fre_target *p, const char *path, fre_err *err)
{
    size_t n = path ? strlen(path) : 0;
    const char *slash;
    char *dir = NULL;
    fre_status st = FRE_OK;
    size_t from;

    p->dir_fd = -1;
    p->name[0] = '\0';
    while (n > 1 && path[n - 1] == '/')
        n--;
    slash = n > 0 ? memrchr(path, '/', n) : NULL;
    from = slash ? (size_t)(slash - path) + 1 : 0;
    if (n == from || n - from >= sizeof p->name || (n - from == 1 && path[from] == '.') ||
        (n - from == 2 && path[from] == '.' && path[from + 1] == '.'))
        return fre_fail(err, FRE_E_EXISTS, "'%.300s' is not a name for a new output; give one",
                        path ? path : "");
    memcpy(p->name, path + from, n - from);
    p->name[n - from] = '\0';
    /* The folder with its slash: "/" for a name in the root, "./" for a bare name. */
    dir = from > 0 ? strndup(path, from) : strdup("./");
    if (!dir)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    p->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir_fd < 0)
        st = fre_open_failed(err, errno, FRE_E_EXISTS, NULL,
                             "cannot create '%.160s': the folder '%.160s'", path, dir);
    free(dir);
    return st;
}

void fre_target_close(fre_target *p)
{
    if (p->dir_fd >= 0)
        (void)close(p->dir_fd);
    p->dir_fd = -1;
}

void fre_target_partial(const fre_target *p, char out[FRE_CORE_NAME_BYTES])
{
    uint8_t b[RANDOM_BYTES];
    char digits[2 * RANDOM_BYTES + 1];

    randombytes_buf(b, sizeof b);
    fre_hex(digits, b, sizeof b);
    (void)snprintf(out, FRE_CORE_NAME_BYTES, ".%.*s%s%s", (int)STEM_MAX, p->name, partial_mark,
                   digits);
}

static bool is_partial_of(const fre_target *p, const char *name)
{
    size_t stem = strnlen(p->name, STEM_MAX);
    uint8_t b[RANDOM_BYTES];

    return name[0] == '.' && strncmp(name + 1, p->name, stem) == 0 &&
           strncmp(name + 1 + stem, partial_mark, sizeof partial_mark - 1) == 0 &&
           fre_unhex(b, sizeof b, name + 1 + stem + sizeof partial_mark - 1);
}

bool fre_target_same(int dir_fd, const char *name, int fd)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && fstatat(dir_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Unlinks the files of a directory, and closes it.  A directory inside it is not ours and stays. */
static void empty_directory(int fd)
{
    DIR *d = fdopendir(fd);
    const struct dirent *e;

    if (!d) {
        (void)close(fd);
        return;
    }
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(fd, e->d_name, 0);
    }
    (void)closedir(d);
}

int fre_target_remove(int dir_fd, const char *name)
{
    int fd;

    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0) /* needs no descriptor: there may be none left */
        return 0;
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    empty_directory(fd);
    return unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

static void sweep_one(const fre_target *p, const char *name)
{
    struct stat s;
    int fd = openat(p->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (fstat(fd, &s) == 0 && s.st_uid == geteuid() && (S_ISDIR(s.st_mode) || S_ISREG(s.st_mode)) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && fre_target_same(p->dir_fd, name, fd))
        (void)fre_target_remove(p->dir_fd, name);
    (void)close(fd);
}

void fre_target_sweep(const fre_target *p)
{
    int copy = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *e;

    if (!d) {
        if (copy >= 0)
            (void)close(copy);
        return;
    }
    while ((e = readdir(d)) != NULL) {
        if (is_partial_of(p, e->d_name))
            sweep_one(p, e->d_name);
    }
    (void)closedir(d);
}

int fre_target_rename_new(int dir_fd, const char *from, const char *to)
{
    struct stat s;

    if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (!fre_core_is_unsupported(errno))
        return errno;
    /* A file system without that flag (NFS, old FUSE): look, then rename.  The window between the
     * two can only cost a file that appeared in it. */
    if (fstatat(dir_fd, to, &s, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    return renameat(dir_fd, from, dir_fd, to) == 0 ? 0 : errno;
}

/* ---- registry ---------------------------------------------------------------------------- */

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static fre_temporary *registry; /* guarded by registry_lock */

void fre_temporary_add(fre_temporary *t, int dir_fd, const char *name)
{
    (void)pthread_mutex_lock(&registry_lock);
    t->owner = getpid();
    t->dir_fd = dir_fd;
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    t->next = registry;
    registry = t;
    (void)pthread_mutex_unlock(&registry_lock);
}

static void remove_temporary(fre_temporary *t)
{
    /* A forked child holds a copy of the list; the files are its parent's. */
    if (t->name[0] != '\0' && t->owner == getpid())
        (void)fre_target_remove(t->dir_fd, t->name);
    t->name[0] = '\0';
}

void fre_temporary_drop(fre_temporary *t, bool remove)
{
    (void)pthread_mutex_lock(&registry_lock);
    for (fre_temporary **at = &registry; *at; at = &(*at)->next) {
        if (*at == t) {
            *at = t->next;
            break;
        }
    }
    if (remove)
        remove_temporary(t);
    t->name[0] = '\0';
    (void)pthread_mutex_unlock(&registry_lock);
}

void fre_outputs_abandon(void)
{
    (void)pthread_mutex_lock(&registry_lock);
    for (fre_temporary *t = registry; t; t = t->next)
        remove_temporary(t);
    (void)pthread_mutex_unlock(&registry_lock);
}
