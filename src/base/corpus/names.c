/* Names of users beside the rows of something else: see fre/corpus.h. */
#include "corpus_private.h"

#include <stdlib.h>
#include <string.h>

struct fre_names {
    fre_buf store; /* NUL-terminated */
    size_t *at;    /* of each name in the store; SIZE_MAX: none */
    size_t n, cap;
};

static fre_status keep(fre_names *x, const fre_record *rec, fre_fold fold)
{
    char *folded = NULL;
    const char *name = rec->text;
    fre_status st;

    st = fre_grow((void **)&x->at, &x->cap, x->n + 1, sizeof *x->at);
    if (st != FRE_OK)
        return st;
    x->at[x->n++] = name ? x->store.n : SIZE_MAX;
    if (!name)
        return FRE_OK;
    if (fold != FRE_FOLD_NONE)
        st = fre_fold_text(&folded, rec->text, rec->text_len, fold);
    if (st == FRE_OK)
        name = folded ? folded : rec->text;
    if (st == FRE_OK)
        st = fre_buf_append(&x->store, name, strlen(name) + 1);
    if (folded)
        fre_wipe(folded, strlen(folded));
    free(folded);
    return st;
}

static fre_status no_name(const fre_corpus *c, uint64_t line, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "%s: line %llu: the name of a user is empty; fill it in",
                    c->src->name, (unsigned long long)line);
}

static fre_status read_all(fre_names *x, fre_corpus *c, const fre_corpus_opts *o, fre_err *err)
{
    fre_record rec;
    bool more = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        st = fre_corpus_next(c, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        if (!rec.text && o->invalid == FRE_CORPUS_INVALID_FAIL)
            return no_name(c, rec.line, err);
        st = keep(x, &rec, o->user_fold);
        if (st != FRE_OK)
            return fre_fail(err, st, "%s: line %llu: %s while reading users", c->src->name,
                            (unsigned long long)rec.line, fre_status_text(st));
    }
    return st;
}

fre_status fre_names_open(fre_names **out, const char *path, const fre_corpus_opts *opts,
                          fre_err *err)
{
    fre_corpus_opts o = *opts;
    fre_names *x = calloc(1, sizeof *x);
    fre_corpus *c = NULL;
    fre_status st;

    if (!x)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    fre_buf_init(&x->store, SIZE_MAX / 2);
    o.text_field = opts->user_field; /* NULL: "user" */
    o.user_field = o.label_field = NULL;
    o.every_record = true;
    st = fre_corpus_open(&c, path, &o, err);
    if (st == FRE_OK)
        st = read_all(x, c, opts, err);
    fre_corpus_free(c);
    if (st == FRE_OK)
        *out = x;
    else
        fre_names_free(x);
    return st;
}

size_t fre_names_count(const fre_names *x)
{
    return x->n;
}

const char *fre_names_view(const fre_names *x, size_t i, size_t *len)
{
    const char *name;

    if (i >= x->n || x->at[i] == SIZE_MAX)
        return NULL;
    name = (const char *)x->store.p + x->at[i];
    *len = strlen(name);
    return name;
}

fre_status fre_names_check(const fre_names *x, size_t rows, fre_err *err)
{
    return x->n == rows
               ? FRE_OK
               : fre_fail(
                     err, FRE_E_DATA,
                     "there are %zu embeddings and %zu names of users; both files must have the "
                     "same records in the same order",
                     rows, x->n);
}

void fre_names_free(fre_names *x)
{
    if (!x)
        return;
    fre_buf_wipe(&x->store);
    free(x->at);
    free(x);
}
