/* rehearsal/paths.c - files of a rehearsal. */
#include "rehearsal_private.h"

#include <stdarg.h>

char *rehearsal_path(const fre_rehearsal *r, const char *fmt, ...)
{
    char name[256], *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    return asprintf(&path, "%s/%s", r->folder, name) < 0 ? NULL : path;
}
