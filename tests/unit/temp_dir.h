/* A private folder for one test, and the things tests ask about files. */
#ifndef FRE_TESTS_TEMP_DIR_H
#define FRE_TESTS_TEMP_DIR_H

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct temp_dir {
    char path[256];
} temp_dir;

static inline void temp_dir_make(temp_dir *t)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(t->path, sizeof t->path, "%s/fre-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(t->path))
        abort();
}

static inline int temp_dir_unlink_one(const char *path, const struct stat *s, int type,
                                      struct FTW *at)
{
    (void)s;
    (void)type;
    (void)at;
    return remove(path);
}

static inline void temp_dir_remove(temp_dir *t)
{
    (void)nftw(t->path, temp_dir_unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Path of a name in the folder, in a buffer of its own: `char p[512]; temp_path(p, &t, "x")`. */
static inline const char *temp_path(char to[512], const temp_dir *t, const char *name)
{
    (void)snprintf(to, 512, "%s/%s", t->path, name);
    return to;
}

/* Entries of a folder other than . and .. (-1: cannot be read). */
static inline int count_entries(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    int n = 0;

    if (!d)
        return -1;
    while ((e = readdir(d)) != NULL)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return n;
}

static inline bool path_exists(const char *path)
{
    struct stat s;

    return lstat(path, &s) == 0;
}

static inline void write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        abort();
}

/* Up to max bytes of a file; the number read, or -1. */
static inline long read_file(const char *path, void *to, size_t max)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        return -1;
    n = fread(to, 1, max, f);
    (void)fclose(f);
    return (long)n;
}

#endif /* FRE_TESTS_TEMP_DIR_H */
