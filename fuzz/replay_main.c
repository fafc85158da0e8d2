/* Runs a fuzz target over every file of the folders (or files) named on its command line, in the
 * builds that have no libFuzzer: a crash found once stays found. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    int rc = 1;

    if (!f) {
        perror(path);
        return 1;
    }
    for (;;) {
        size_t got;

        if (size == room) {
            uint8_t *grown = realloc(data, room = room ? 2 * room : 4096);

            if (!grown)
                goto out;
            data = grown;
        }
        got = fread(data + size, 1, room - size, f);
        if (got == 0)
            break;
        size += got;
    }
    if (!ferror(f)) {
        /* An exact-size copy, so that a sanitizer sees a read past the end. */
        uint8_t *exact = malloc(size ? size : 1);

        if (!exact)
            goto out;
        for (size_t i = 0; i < size; i++)
            exact[i] = data[i];
        (void)LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        rc = 0;
    }
out:
    free(data);
    (void)fclose(f);
    return rc;
}

static int replay_folder(const char *path, size_t *files)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    int rc = 0;

    if (!dir) {
        perror(path);
        return 1;
    }
    while ((entry = readdir(dir))) {
        char name[4096];

        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name) {
            rc = 1;
            continue;
        }
        rc |= replay_file(name);
        ++*files;
    }
    (void)closedir(dir);
    return rc;
}

int main(int argc, char **argv)
{
    size_t files = 0;
    int rc = 0;

    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (stat(argv[i], &st)) {
            perror(argv[i]);
            rc = 1;
        } else if (S_ISDIR(st.st_mode)) {
            rc |= replay_folder(argv[i], &files);
        } else {
            rc |= replay_file(argv[i]);
            files++;
        }
    }
    if (files == 0) {
        (void)fprintf(stderr, "no corpus file found\n");
        rc = 1;
    }
    (void)printf("%zu files replayed\n", files);
    return rc;
}
