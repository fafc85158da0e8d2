/* Which text a prior or a bridge was made of: keys and one tensor of its file. */
#include "prior_private.h"

#include <stdlib.h>
#include <string.h>

#define KEY_FILE "fre-e2t.source.file"
#define KEY_HASH "fre-e2t.source.sha256"
#define KEY_KIND "fre-e2t.source.kind"
#define KEY_MARKS "fre-e2t.source.marks"
#define KEY_AUTHOR "general.author"
#define TENSOR "source.marks"

static const char kind_texts[] = "texts", kind_rows[] = "rows";

fre_status fre_prior_card_copy(fre_prior_card *out, const fre_prior_card *from)
{
    const size_t bytes = 2 * from->n_marks * sizeof *from->mark;
    float *mark = malloc(bytes + 1);

    if (!mark)
        return FRE_E_NOMEM;
    if (bytes)
        memcpy(mark, from->mark, bytes);
    fre_prior_card_wipe(out);
    *out = *from;
    out->mark = mark;
    return FRE_OK;
}

void fre_prior_card_wipe(fre_prior_card *c)
{
    free(c->mark);
    memset(c, 0, sizeof *c);
}

void fre_prior_card_append(const fre_prior_card *c, fre_tensors_pair *pair, size_t *n_pairs,
                           fre_tensors_entry *entry, size_t *n_entries)
{
    const fre_tensors_pair all[FRE_PRIOR_CARD_PAIRS] = {
        {.key = KEY_KIND, .text = c->rows ? kind_rows : kind_texts},
        {.key = KEY_FILE, .text = c->file},
        {.key = KEY_HASH, .text = c->sha256},
        {.key = KEY_AUTHOR, .text = c->author},
        {.key = KEY_MARKS, .number = (uint32_t)c->n_marks},
    };

    if (c->n_marks == 0)
        return;
    for (size_t i = 0; i < FRE_PRIOR_CARD_PAIRS; i++)
        pair[(*n_pairs)++] = all[i];
    entry[(*n_entries)++] =
        (fre_tensors_entry){.name = TENSOR, .value = c->mark, .rows = c->n_marks, .cols = 2};
}

static fre_status damaged(const char *path, fre_err *err)
{
    return fre_fail(err, FRE_E_MODEL,
                    "%s: what it says of the text it was made of cannot be so; the file is "
                    "damaged, make it again",
                    path);
}

static fre_status read_marks(fre_prior_card *c, const fre_tensors *t, const char *path,
                             fre_err *err)
{
    fre_overlap_set *set = NULL;
    const float *mark;
    uint32_t n = 0;
    fre_status st = fre_tensors_u32(t, &n, KEY_MARKS, err);

    if (st == FRE_OK && (n == 0 || n > FRE_OVERLAP_SKETCH_MAX))
        return damaged(path, err);
    if (st == FRE_OK)
        st = fre_tensors_get(t, &mark, TENSOR, n, 2, err);
    if (st != FRE_OK)
        return st;
    st = fre_overlap_set_of_sketch(&set, mark, n);
    fre_overlap_set_free(set);
    if (st == FRE_E_DATA)
        return damaged(path, err);
    c->mark = st == FRE_OK ? malloc(2 * (size_t)n * sizeof *mark) : NULL;
    if (!c->mark)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    memcpy(c->mark, mark, 2 * (size_t)n * sizeof *mark);
    c->n_marks = n;
    return FRE_OK;
}

fre_status fre_prior_card_read(fre_prior_card *out, const fre_tensors *t, const char *path,
                               fre_err *err)
{
    const char *kind = fre_tensors_text(t, KEY_KIND);
    fre_prior_card c = {.rows = strcmp(kind, kind_rows) == 0};
    fre_status st;

    if (!*kind) {
        memset(out, 0, sizeof *out);
        return FRE_OK;
    }
    if (!c.rows && strcmp(kind, kind_texts) != 0)
        return damaged(path, err);
    st = read_marks(&c, t, path, err);
    if (st != FRE_OK)
        return st;
    fre_model_label(c.file, sizeof c.file, fre_tensors_text(t, KEY_FILE));
    fre_model_label(c.sha256, sizeof c.sha256, fre_tensors_text(t, KEY_HASH));
    fre_model_label(c.author, sizeof c.author, fre_tensors_text(t, KEY_AUTHOR));
    *out = c;
    return FRE_OK;
}

fre_status fre_prior_card_check(const char *what, const char *source, const fre_prior_card *card,
                             fre_overlap_set *texts, fre_overlap_set *rows, fre_err *err)
{
    fre_overlap_set *made_of = NULL;
    fre_status st;

    if (card->n_marks == 0)
        return FRE_OK;
    st = fre_overlap_set_of_sketch(&made_of, card->mark, card->n_marks);
    if (st != FRE_OK)
        return fre_fail(err, st, "the input cannot be compared with %s %.300s", what, source);
    st = fre_overlap_check(what, source, made_of, card->rows ? rows : texts, err);
    fre_overlap_set_free(made_of);
    return st;
}
