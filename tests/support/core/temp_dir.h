/* A private folder for one test, and the things tests ask about files. */
#ifndef FRE_TESTS_TEMP_DIR_H
#define FRE_TESTS_TEMP_DIR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct temp_dir {
    char path[256];
} temp_dir;

void temp_dir_make(temp_dir *t);
void temp_dir_remove(temp_dir *t);
/* One folder for all tests of a program: a setup and a teardown of cmocka. */
extern temp_dir test_dir;
int test_dir_make(void **state);
int test_dir_remove(void **state);

/* Path of a name in the folder, in a buffer of its own: `char p[512]; temp_path(p, &t, "x")`. */
const char *temp_path(char to[512], const temp_dir *t, const char *name);
/* Entries of a folder other than . and .. (-1: cannot be read). */
int count_entries(const char *path);
bool path_exists(const char *path);
void write_file(const char *path, const void *p, size_t n);
/* Up to max bytes of a file; the number read, or -1. */
long read_file(const char *path, void *to, size_t max);

#endif /* FRE_TESTS_TEMP_DIR_H */
