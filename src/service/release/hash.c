/* release/hash.c - a release's name: the hash of what is read of its folder. */
#include <fre/release.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The files one after the other, so that anyone can make the hash by common tools. */
typedef struct reader {
    int folder;
    const char *const *name; /* of the next file */
    int file;                /* -1: none is open */
} reader;

static const char *const names[] = {"release.json", "synthetic.jsonl", "centroids.npy", NULL};

static ssize_t read_next(void *ctx, uint8_t *out, size_t n)
{
    reader *r = ctx;

    for (;;) {
        ssize_t got;

        if (r->file < 0 && !*r->name)
            return 0;
        if (r->file < 0)
            r->file = openat(r->folder, *r->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (r->file < 0)
            return -1;
        got = read(r->file, out, n);
        if (got != 0)
            return got;
        (void)close(r->file);
        r->file = -1;
        r->name++;
    }
}

fre_status fre_release_sha256(uint8_t out[FRE_HASH_BYTES], const char *folder, fre_err *err)
{
    const fre_bytes none = {.p = NULL, .n = 0};
    reader r = {
        .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .name = names, .file = -1};
    fre_status st;

    if (r.folder < 0)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, "is it a folder that synthesize made?",
                               "cannot open '%.300s'", folder);
    st = fre_sha256_read(out, none, read_next, &r, folder, err);
    if (r.file >= 0)
        (void)close(r.file);
    (void)close(r.folder);
    return st;
}
