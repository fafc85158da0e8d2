/* report/data.c - the JSON that the page is drawn from. */
#include "report_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters beyond ASCII are escaped, so that no control of direction and no line separator stands in the
 * file; and so are the three signs that markup is made of, which JSON has in strings alone. */
fre_status report_script_json(fre_buf *out, const json_t *value, size_t digits)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
                                               JSON_REAL_PRECISION(digits))
                       : NULL;
    const char *p = text;
    fre_status st = text ? FRE_OK : FRE_E_NOMEM;

    while (st == FRE_OK && *p) {
        const size_t plain = strcspn(p, "<>&");

        st = fre_buf_append(out, p, plain);
        p += plain;
        if (st == FRE_OK && *p)
            st = fre_buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*p++);
    }
    free(text);
    return st;
}

/* ---- of the release ------------------------------------------------------------------------------- */

/* A deep copy of what stands under these keys; those that are not there are left out. */
static json_t *copy_of(const json_t *from, const char *const *key, size_t n)
{
    json_t *to = json_object();
    int bad = 0;

    for (size_t i = 0; to && i < n; i++) {
        const json_t *value = json_object_get(from, key[i]);

        if (value)
            bad |= json_object_set_new(to, key[i], json_deep_copy(value));
    }
    if (!bad)
        return to;
    json_decref(to);
    return NULL;
}
#define COPY_OF(from, keys) copy_of((from), (keys), sizeof(keys) / sizeof *(keys))

/* Of each model its name and hash.  Where a prior or bridge came from may be a file's name, and an author's. */
static json_t *models_of(const json_t *about)
{
    static const char *const keys[] = {"name", "sha256"};
    const char *name;
    json_t *models = json_object(), *model;
    int bad = 0;

    json_object_foreach(json_object_get(about, "models"), name, model)
    {
        if (models && json_is_object(model))
            bad |= json_object_set_new(models, name, COPY_OF(model, keys));
    }
    if (!bad)
        return models;
    json_decref(models);
    return NULL;
}

/* What is publishable of release.json, by name: a key that is not here is not shown. */
static json_t *release_of(const json_t *about)
{
    static const char *const keys[] = {"format",       "version",        "private",    "certified",
                                       "statement",    "released_cells", "parameters", "warnings",
                                       "privacy_unit", "strict_intake",  "left_out"};
    json_t *o = COPY_OF(about, keys);

    if (o && json_object_set_new(o, "models", models_of(about)) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

/* The last part of a path, "may" of "out/may/". */
static json_t *last_part(const char *path)
{
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/';)
        begin--;
    return json_stringn(path + begin, end - begin);
}

/* A folder's name may be no UTF-8. */
static json_t *name_of(const fre_report_opts *o)
{
    json_t *name = o->is_public ? NULL : last_part(o->release);

    return name ? name : json_null();
}

static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

fre_status report_about(fre_buf *out, const report_input *in, const fre_report_opts *o)
{
    json_t *about = json_pack(
        "{s:b, s:b, s:o, s:o, s:o, s:o, s:b, s:f}", "public", (int)o->is_public, "originals_public",
        (int)o->originals_public, "name", name_of(o), "release", release_of(in->about), "claim",
        or_null(report_claim(in)), "evaluation", or_null(json_incref(in->evaluation)),
        "evaluation_named", (int)in->is_named, "weak_below", FRE_SHOWN_WEAK);
    fre_status st = report_script_json(out, about, 17);

    json_decref(about);
    return st;
}

/* ---- of its cells ---------------------------------------------------------------------------------- */

typedef struct layout {
    uint32_t *group, *parent;
    int32_t *place;
} layout;

static json_t *cell_or_null(uint32_t cell)
{
    return cell == FRE_RELEASE_NONE ? json_null() : json_integer(cell);
}

/* A line of synthetic.jsonl as it was written, and where it stands. */
static json_t *cell_json(const report_input *in, const layout *l, size_t i)
{
    static const char *const keys[] = {"text",       "count",       "users",           "noise_norm",
                                       "similarity", "paraphrases", "unreadable",      "around",
                                       "texts",      "confidence",  "confidence_exact"};
    const fre_released_cell *c = &in->release.cell[i];
    json_t *o = COPY_OF(in->line[i], keys);
    json_t *more = json_pack("{s:i, s:o, s:o, s:I, s:[i, i]}", "level", (int)c->level, "theme",
                             cell_or_null(in->release.cell[l->group[i]].theme), "parent",
                             cell_or_null(l->parent[i]), "group", (json_int_t)l->group[i], "at",
                             (int)l->place[2 * i], (int)l->place[2 * i + 1]);

    if (o && more && json_object_update(o, more) == 0) {
        json_decref(more);
        return o;
    }
    json_decref(o);
    json_decref(more);
    return NULL;
}

static fre_status lay_out(layout *l, const report_input *in, uint32_t threads)
{
    const fre_release *r = &in->release;
    report_near near = {.n = 0};
    fre_status st = FRE_OK;

    l->group = calloc(r->n + 1, sizeof *l->group);
    l->parent = calloc(r->n + 1, sizeof *l->parent);
    l->place = calloc(2 * r->n + 1, sizeof *l->place);
    if (!l->group || !l->parent || !l->place)
        return FRE_E_NOMEM;
    st = report_near_find(&near, r, threads);
    if (st == FRE_OK)
        st = report_groups(l->group, r, &near);
    if (st == FRE_OK)
        st = report_parents(l->parent, r);
    if (st == FRE_OK)
        st = report_map(l->place, r, &near);
    report_near_wipe(&near);
    return st;
}

fre_status report_cells(fre_buf *out, const report_input *in, uint32_t threads)
{
    layout l = {.group = NULL};
    json_t *list = json_array();
    fre_status st = list ? lay_out(&l, in, threads) : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < in->release.n; i++)
        if (json_array_append_new(list, cell_json(in, &l, i)) != 0)
            st = FRE_E_NOMEM;
    if (st == FRE_OK)
        st = report_script_json(out, list, 9);
    json_decref(list);
    free(l.group);
    free(l.parent);
    free(l.place);
    return st;
}
