/* experiment/rows.c - what a run found, kept as JSON, and all of them as CSV: a column each number. */
#include "experiment_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 64u /* a longer list of numbers is no metric of a row */

static char *row_path(const experiment *x, size_t i)
{
    return experiment_path(x, "rows", x->run[i].id, ".json");
}

bool experiment_is_done(const experiment *x, size_t i)
{
    char *path = row_path(x, i);
    const bool is = path && access(path, R_OK) == 0;

    free(path);
    return is;
}

fre_status experiment_keep(const experiment *x, size_t i, const experiment_row *row, fre_err *err)
{
    json_t *j = json_pack("{s:O, s:i, s:s?, s:f, s:I, s:O?, s:O?}", "run", x->run[i].axes, "code",
                          row->code, "message", row->message, "seconds", row->seconds, "peak_mib",
                          (json_int_t)row->peak_mib, "made", row->made, "scores", row->scores);
    char *path = row_path(x, i);
    fre_outfile *f = NULL;
    fre_status st = j && path ? fre_outfile_open(&f, path, true, err)
                              : fre_fail(err, FRE_E_NOMEM, "out of memory for a row");

    if (st == FRE_OK && json_dumpf(j, fre_outfile_stream(f), JSON_INDENT(1)) != 0)
        st = fre_fail(err, FRE_E_IO, "a row cannot be written (disk full?)");
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    free(path);
    json_decref(j);
    return st;
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

/* A row's cells, by their columns' names.  All of its functions: false is out of memory. */
static bool put(json_t *row, const char *name, const json_t *value)
{
    return json_object_set(row, name, (json_t *)(uintptr_t)value) == 0;
}

static bool flatten(json_t *row, const char *prefix, const json_t *value);

static bool flatten_member(json_t *row, const char *prefix, const char *key, const json_t *value)
{
    char *name = NULL;
    bool ok;

    if (asprintf(&name, "%s%s%s", prefix, prefix[0] ? "." : "", key) < 0)
        return false;
    ok = flatten(row, name, value);
    free(name);
    return ok;
}

static bool flatten_list(json_t *row, const char *prefix, const json_t *list)
{
    char index[24];
    const json_t *value;
    size_t i;

    if (json_array_size(list) > LIST_MAX)
        return true;
    json_array_foreach(list, i, value)
    {
        (void)snprintf(index, sizeof index, "%zu", i);
        if (!flatten_member(row, prefix, index, value))
            return false;
    }
    return true;
}

static bool flatten(json_t *row, const char *prefix, const json_t *value)
{
    const char *key;
    json_t *member;

    if (json_is_number(value) || json_is_boolean(value))
        return put(row, prefix, value);
    if (json_is_array(value))
        return flatten_list(row, prefix, value);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (!flatten_member(row, prefix, key, member))
            return false;
    }
    return true;
}

/* NULL: out of memory, or damaged. */
static json_t *flat_row(const experiment *x, size_t i)
{
    char *path = row_path(x, i);
    json_t *kept = path ? json_load_file(path, 0, NULL) : NULL;
    json_t *row =
        json_pack("{s:s, s:s}", "experiment", experiment_text(x, "name"), "id", x->run[i].id);
    bool ok = kept && row && json_object_update(row, x->run[i].axes) == 0;

    if (ok && json_object_get(kept, "made"))
        (void)json_object_del(json_object_get(kept, "made"),
                              "most_frequent"); /* texts' own numbers */
    ok = ok && put(row, "code", json_object_get(kept, "code")) &&
         put(row, "message", json_object_get(kept, "message")) &&
         put(row, "seconds", json_object_get(kept, "seconds")) &&
         put(row, "peak_mib", json_object_get(kept, "peak_mib")) &&
         flatten(row, "made", json_object_get(kept, "made")) &&
         flatten(row, "", json_object_get(kept, "scores")) &&
         json_object_update(row, x->run[i].axes) == 0; /* whatever else has their names */
    free(path);
    json_decref(kept);
    if (ok)
        return row;
    json_decref(row);
    return NULL;
}

static fre_status put_text(FILE *f, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0')
        return fputs(text, f) < 0 ? FRE_E_IO : FRE_OK;
    (void)fputc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', f);
        (void)fputc(*text, f);
    }
    return fputc('"', f) == EOF ? FRE_E_IO : FRE_OK;
}

static fre_status put_value(FILE *f, const json_t *value)
{
    char *text;
    fre_status st;

    if (!value || json_is_null(value))
        return FRE_OK;
    if (json_is_string(value))
        return put_text(f, json_string_value(value));
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    st = text ? put_text(f, text) : FRE_E_NOMEM;
    free(text);
    return st;
}

/* columns: an object whose keys are their names, in order. */
static fre_status put_table(FILE *f, const json_t *columns, const json_t *rows)
{
    const char *name, *gap = "";
    json_t *unused;
    const json_t *row;
    fre_status st = FRE_OK;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)columns, name, unused)
    {
        (void)fputs(gap, f);
        st = st == FRE_OK ? put_text(f, name) : st;
        gap = ",";
    }
    json_array_foreach(rows, i, row)
    {
        gap = "\n";
        json_object_foreach((json_t *)(uintptr_t)columns, name, unused)
        {
            (void)fputs(gap, f);
            st = st == FRE_OK ? put_value(f, json_object_get(row, name)) : st;
            gap = ",";
        }
    }
    return st == FRE_OK && fputc('\n', f) == EOF ? FRE_E_IO : st;
}

static fre_status collect(const experiment *x, json_t *columns, json_t *rows, fre_err *err)
{
    for (size_t i = 0; i < x->n; i++) {
        json_t *row;

        if (!experiment_is_done(x, i))
            continue;
        row = flat_row(x, i);
        if (!row || json_object_update_missing(columns, row) != 0 ||
            json_array_append_new(rows, row) != 0)
            return fre_fail(err, FRE_E_DATA, "the kept row %s is damaged: remove it", x->run[i].id);
    }
    return FRE_OK;
}

fre_status experiment_csv(const experiment *x, const char *path, fre_err *err)
{
    json_t *columns = json_object(), *rows = json_array();
    fre_outfile *f = NULL;
    fre_status st = columns && rows ? collect(x, columns, rows, err)
                                    : fre_fail(err, FRE_E_NOMEM, "out of memory for the rows");

    if (st == FRE_OK)
        st = fre_outfile_open(&f, path, true, err);
    if (st == FRE_OK && put_table(fre_outfile_stream(f), columns, rows) != FRE_OK)
        st = fre_fail(err, FRE_E_IO, "the rows cannot be written (disk full?)");
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    json_decref(columns);
    json_decref(rows);
    return st;
}
