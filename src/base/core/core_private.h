/* core_private.h - shared by the files of the core module only. */
#ifndef FRE_CORE_PRIVATE_H
#define FRE_CORE_PRIVATE_H

#include <fre/core.h>

#include <sys/types.h>

/* libsodium's one-time set-up; FRE_E_INTERNAL when the system offers no randomness. */
FRE_MUST_CHECK fre_status fre_core_ready(void);

/* E_IO sentence for a failed write: names the folder and says "disk full" when it is. */
fre_status fre_core_write_failed(fre_err *err, int e, const char *what, const char *where);

/* Does this errno mean that the file system has no such operation (chmod on CIFS or vfat, flags of
 * renameat2, fsync of a folder, nameless files on some FUSE)? */
bool fre_core_is_unsupported(int e);
/* fsync; 0, or an errno that means lost bytes.  Where it isn't supported there is nothing to wait
 * for. */
int fre_core_sync(int fd);

/* Write all n bytes, repeating short writes and EINTR.  Returns 0 or errno. */
int fre_core_pwrite(int fd, const void *p, size_t n, off_t at);
/* Read up to n bytes, stopping at the end of the file.  *got is set always.  0 or errno. */
int fre_core_pread(int fd, void *p, size_t n, off_t at, size_t *got);

#define FRE_CORE_NAME_BYTES 256u

/* A path split into its folder (opened) and its last name. */
typedef struct fre_target {
    int dir_fd; /* -1: none */
    char name[FRE_CORE_NAME_BYTES];
} fre_target;

/* Splits path and opens the folder.  E_EXISTS with a sentence otherwise: an output's folder that
 * cannot be opened is an output that cannot be made. */
FRE_MUST_CHECK fre_status fre_target_open(fre_target *p, const char *path, fre_err *err);
void fre_target_close(fre_target *p);
/* ".NAME.partial-" and 12 random digits.  NAME is cut so that the result is a legal name. */
void fre_target_partial(const fre_target *p, char out[FRE_CORE_NAME_BYTES]);
/* Remove partial siblings of p that no live process holds locked. */
void fre_target_sweep(const fre_target *p);
/* True when fd, just locked, still is the thing called name in dir_fd (not swept meanwhile). */
bool fre_target_same(int dir_fd, const char *name, int fd);
/* Remove a file, or a flat directory with its files; 0 or errno. */
int fre_target_remove(int dir_fd, const char *name);
/* rename that refuses to replace; 0 or errno. */
int fre_target_rename_new(int dir_fd, const char *from, const char *to);

/* Registry behind fre_outputs_abandon: what has to be unlinked before a deliberate death. */
typedef struct fre_temporary {
    struct fre_temporary *next;
    pid_t owner;
    int dir_fd;                     /* borrowed from the output that registers */
    char name[FRE_CORE_NAME_BYTES]; /* "" once gone */
} fre_temporary;

void fre_temporary_add(fre_temporary *t, int dir_fd, const char *name);
/* Forget it, removing it first when it is still there. */
void fre_temporary_drop(fre_temporary *t, bool remove);

/* SHA-256's compression of the whole blocks at the start of n bytes, where the processor has
 * instructions for it and they are some.  Returns the bytes that it took; the rest is the caller's. */
size_t core_hash_blocks(uint32_t state[8], const uint8_t *p, size_t n);

#endif /* FRE_CORE_PRIVATE_H */
