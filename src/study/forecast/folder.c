/* forecast/folder.c - a folder for one forecast; what is in it is public. */
#include "folder.h"

#include <fre/release.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fre_status forecast_folder_make(forecast_folder *f, fre_err *err)
{
    const char *dir = getenv("TMPDIR");
    const int n = snprintf(f->path, sizeof f->path, "%s/fre-e2t-forecast.XXXXXX",
                           dir && dir[0] ? dir : "/tmp");

    if (n < 0 || (size_t)n >= sizeof f->path || !mkdtemp(f->path)) {
        f->path[0] = 0;
        return fre_open_failed(err, errno, FRE_E_IO, "set TMPDIR to another folder",
                               "cannot make a folder in TMPDIR");
    }
    (void)snprintf(f->rows, sizeof f->rows, "%s/corpus.npy", f->path);
    (void)snprintf(f->release, sizeof f->release, "%s/release", f->path);
    return FRE_OK;
}

void forecast_folder_remove(forecast_folder *f)
{
    char path[3300];

    if (!f->path[0])
        return;
    for (const char *const *name = fre_release_files(); *name; name++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->release, *name);
        (void)unlink(path);
    }
    (void)rmdir(f->release);
    (void)snprintf(path, sizeof path, "%s.json", f->rows);
    (void)unlink(path);
    (void)unlink(f->rows);
    (void)rmdir(f->path);
    f->path[0] = 0;
}
