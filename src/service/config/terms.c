/* terms.c - files of terms, one or a folder of them. */
#include "config_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

fre_status fre_terms_read(fre_collection *out, const char *path, fre_err *err)
{
    fre_err why = {.text = ""};
    fre_buf text;
    fre_status st;

    if (!out || !path)
        return FRE_E_ARG;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_file_read(&text, path, err);
    if (st == FRE_OK) {
        st = fre_collection_from_json(out, (fre_bytes){text.p, text.n}, &why);
        if (st != FRE_OK)
            (void)fre_fail(err, st, "'%.200s': %.280s", path,
                           why.text[0] ? why.text : fre_status_text(st));
    }
    fre_buf_wipe(&text);
    return st;
}

void fre_terms_list_free(fre_terms_list *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].path);
    for (size_t i = 0; i < l->n_refused; i++)
        free(l->refused[i].path);
    free(l->at);
    free(l->refused);
    free(l);
}

static bool is_terms(const char *name)
{
    const char *dot = strrchr(name, '.');

    return name[0] != '.' && dot && strcmp(dot, ".json") == 0;
}

/* Room for one more on each side, so that whatever a file turns out to be has a place. */
static fre_status make_room(fre_terms_list *l, size_t cap[2], fre_err *err)
{
    fre_status st = fre_grow((void **)&l->at, &cap[0], l->n + 1, sizeof *l->at);

    if (st == FRE_OK)
        st = fre_grow((void **)&l->refused, &cap[1], l->n + l->n_refused + 1, sizeof *l->refused);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory");
}

/* Moves the path. */
static void refuse(fre_terms_list *l, char **path, fre_status st, const fre_err *why)
{
    l->refused[l->n_refused++] = (fre_terms_refused){.path = *path, .st = st, .why = *why};
    *path = NULL;
}

static fre_status add(fre_terms_list *l, size_t cap[2], const char *folder, const char *name,
                      fre_err *err)
{
    fre_err why = {.text = ""};
    fre_terms *t;
    fre_status st = make_room(l, cap, err);

    if (st != FRE_OK)
        return st;
    t = &l->at[l->n];
    if (asprintf(&t->path, "%s/%s", folder, name) < 0) {
        t->path = NULL;
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    st = fre_terms_read(&t->c, t->path, &why);
    if (st == FRE_OK)
        st = fre_collection_identify(&t->id, &t->c, &why);
    if (st != FRE_OK)
        refuse(l, &t->path, st, &why);
    else
        l->n++;
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory") : FRE_OK;
}

static fre_status add_all(fre_terms_list *l, const char *folder, DIR *d, fre_err *err)
{
    const struct dirent *e;
    fre_status st = FRE_OK;
    size_t cap[2] = {0, 0};

    while (st == FRE_OK && (errno = 0, e = readdir(d)) != NULL)
        if (is_terms(e->d_name))
            st = add(l, cap, folder, e->d_name, err);
    return st == FRE_OK && errno != 0 ? fre_open_failed(err, errno, FRE_E_IO, NULL,
                                                        "cannot read the folder '%.300s'", folder)
                                      : st;
}

static int by_id(const void *a, const void *b)
{
    const fre_terms *x = a, *y = b;
    const int order = memcmp(x->id.b, y->id.b, sizeof x->id.b);

    return order != 0 ? order : strcmp(x->path, y->path);
}

/* Of those that are the same the first by name stays. */
static void sort(fre_terms_list *l)
{
    size_t kept = 0;
    fre_err why;

    if (l->n > 1)
        qsort(l->at, l->n, sizeof *l->at, by_id);
    for (size_t i = 0; i < l->n; i++) {
        fre_terms *t = &l->at[i], *last = kept > 0 ? &l->at[kept - 1] : NULL;

        if (!last || memcmp(last->id.b, t->id.b, sizeof t->id.b) != 0) {
            l->at[kept++] = *t;
            continue;
        }
        (void)fre_fail(&why, FRE_E_DATA,
                       "'%.200s' and '%.200s' are the same collection: remove one", last->path,
                       t->path);
        refuse(l, &t->path, FRE_E_DATA, &why);
    }
    l->n = kept;
}

fre_status fre_terms_list_read(fre_terms_list **out, const char *folder, fre_err *err)
{
    fre_terms_list *l;
    fre_status st;
    DIR *d;

    if (!out || !folder)
        return FRE_E_ARG;
    l = calloc(1, sizeof *l);
    if (!l)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    d = opendir(folder);
    if (!d) {
        st = fre_open_failed(err, errno, FRE_E_NOINPUT, FRE_CHECK_PATH,
                             "cannot open the folder '%.300s'", folder);
    } else {
        st = add_all(l, folder, d, err);
        (void)closedir(d);
    }
    if (st != FRE_OK) {
        fre_terms_list_free(l);
        return st;
    }
    sort(l);
    *out = l;
    return st;
}
