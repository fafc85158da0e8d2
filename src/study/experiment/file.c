/* experiment/file.c - the file of an experiment, and the runs that its grid has. */
#include "experiment_private.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "fre-e2t-experiment/1"
#define RUNS_MAX 100000u

void experiment_wipe(experiment *x)
{
    for (size_t i = 0; i < x->n; i++)
        json_decref(x->run[i].axes);
    free(x->run);
    free(x->input);
    json_decref(x->file);
    if (x->folder >= 0)
        (void)close(x->folder);
    *x = (experiment){.folder = -1};
}

/* ---- the collection ------------------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Named by the file, beside it or in another folder, or another collection. */
static char *input_path(const experiment *x)
{
    const char *data = x->opts->data, *name = experiment_text(x, "input");
    const char *last = name ? strrchr(name, '/') : NULL;
    char *path = NULL, *copy;

    if (data && !is_folder(data))
        return strdup(data);
    if (data)
        return asprintf(&path, "%s/%s", data, last ? last + 1 : name) < 0 ? NULL : path;
    if (name[0] == '/')
        return strdup(name);
    copy = strdup(x->opts->file);
    if (!copy || asprintf(&path, "%s/%s", dirname(copy), name) < 0)
        path = NULL;
    free(copy);
    return path;
}

static fre_status find_input(experiment *x, fre_err *err)
{
    uint8_t sha[FRE_HASH_BYTES];
    fre_status st;

    if (!experiment_text(x, "input"))
        return fre_fail(err, FRE_E_DATA, "%.300s: \"input\" names no file", x->opts->file);
    x->input = input_path(x);
    if (!x->input)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = fre_sha256_file(sha, x->input, err);
    if (st == FRE_OK)
        fre_hex(x->input_sha256, sha, sizeof sha);
    return st;
}

/* ---- the grid ------------------------------------------------------------------------------------ */

static fre_status wrong_grid(const experiment *x, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%.300s: \"grid\" must be an object of lists, or a list of such objects, each "
                    "with a \"seed\"",
                    x->opts->file);
}

/* Takes axes over.  A run that the grids have twice is one. */
static fre_status add_run(experiment *x, json_t *axes, fre_err *err)
{
    experiment_words w = {.n = 0};
    char id[EXPERIMENT_ID + 1];
    bool failed = !axes;

    experiment_identity(x, &w, axes);
    experiment_name(x, id, &w);
    failed = failed || w.failed;
    experiment_words_wipe(&w);
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->run[i].id, id) == 0) {
            json_decref(axes);
            return FRE_OK;
        }
    if (failed || x->n >= RUNS_MAX ||
        fre_grow((void **)&x->run, &x->cap, x->n + 1, sizeof *x->run) != FRE_OK) {
        json_decref(axes);
        return fre_fail(err, FRE_E_NOMEM, "more runs than fit into memory");
    }
    x->run[x->n].axes = axes;
    memcpy(x->run[x->n++].id, id, sizeof id);
    return FRE_OK;
}

/* The point whose number is `at`, the last axis moving fastest.  NULL: out of memory. */
static json_t *point(const json_t *grid, size_t at)
{
    const size_t n = json_object_size(grid);
    json_t *axes = json_object(), *list;
    size_t rest = 1;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)grid, key, list) rest *= json_array_size(list);
    json_object_foreach((json_t *)(uintptr_t)grid, key, list)
    {
        rest /= json_array_size(list);
        if (json_object_set(axes, key, json_array_get(list, at / rest % json_array_size(list))) !=
            0) {
            json_decref(axes);
            return NULL;
        }
    }
    return json_object_size(axes) == n ? axes : (json_decref(axes), NULL);
}

static fre_status add_grid(experiment *x, const json_t *grid, fre_err *err)
{
    const char *key;
    json_t *list;
    size_t points = 1;
    fre_status st = FRE_OK;

    if (!json_is_object(grid) || !json_object_get(grid, "seed"))
        return wrong_grid(x, err);
    json_object_foreach((json_t *)(uintptr_t)grid, key, list)
    {
        if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > RUNS_MAX)
            return wrong_grid(x, err);
        points *= json_array_size(list);
        if (points > RUNS_MAX)
            return fre_fail(err, FRE_E_DATA, "%.300s: the grid has more than %u runs",
                            x->opts->file, RUNS_MAX);
    }
    for (size_t i = 0; st == FRE_OK && i < points; i++)
        st = add_run(x, point(grid, i), err);
    return st;
}

static fre_status read_grids(experiment *x, fre_err *err)
{
    const json_t *grid = json_object_get(x->file, "grid"), *one;
    fre_status st = FRE_OK;
    size_t i;

    if (!json_is_array(grid))
        return add_grid(x, grid, err);
    json_array_foreach(grid, i, one)
    {
        if (st == FRE_OK)
            st = add_grid(x, one, err);
    }
    return st == FRE_OK && x->n == 0 ? wrong_grid(x, err) : st;
}

fre_status experiment_read(experiment *x, fre_err *err)
{
    const char *path = x->opts->file, *format;
    json_error_t where;
    fre_status st;

    x->file = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!x->file)
        return where.line <= 0
                   ? fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH,
                                     "cannot read %.300s", path)
                   : fre_fail(err, FRE_E_DATA, "%.300s, line %d: not JSON", path, where.line);
    format = experiment_text(x, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        return fre_fail(err, FRE_E_DATA, "%.300s: \"format\" is not \"" FORMAT "\"", path);
    st = find_input(x, err);
    return st == FRE_OK ? read_grids(x, err) : st;
}
