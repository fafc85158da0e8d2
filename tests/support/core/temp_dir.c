#include "temp_dir.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

void temp_dir_make(temp_dir *t)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(t->path, sizeof t->path, "%s/fre-test-XXXXXX", base && *base ? base : "/tmp");
    must(mkdtemp(t->path) != NULL);
}

static int temp_dir_unlink_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s;
    (void)type;
    (void)at;
    return remove(path);
}

void temp_dir_remove(temp_dir *t)
{
    (void)nftw(t->path, temp_dir_unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

temp_dir test_dir;

int test_dir_make(void **state)
{
    (void)state;
    temp_dir_make(&test_dir);
    return 0;
}

int test_dir_remove(void **state)
{
    (void)state;
    temp_dir_remove(&test_dir);
    return 0;
}

const char *temp_path(char to[512], const temp_dir *t, const char *name)
{
    (void)snprintf(to, 512, "%s/%s", t->path, name);
    return to;
}

int count_entries(const char *path)
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

bool path_exists(const char *path)
{
    struct stat s;

    return lstat(path, &s) == 0;
}

void write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    must(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

long read_file(const char *path, void *to, size_t max)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        return -1;
    n = fread(to, 1, max, f);
    (void)fclose(f);
    return (long)n;
}
