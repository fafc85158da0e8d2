/* experiment/names.c - what the file and the output folder call things. */
#include "experiment_private.h"

const char *experiment_text(const experiment *x, const char *key)
{
    return json_string_value(json_object_get(x->file, key));
}

char *experiment_path(const experiment *x, const char *folder, const char *name, const char *end)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s%s%s%s", x->opts->output, folder, folder[0] ? "/" : "", name,
                    end) < 0
               ? NULL
               : path;
}
