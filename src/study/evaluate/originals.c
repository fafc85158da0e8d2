/* evaluate/originals.c - reads the originals: texts, each distinct one once, or rows. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

static fre_status add_text(evaluate_run *r, const fre_record *rec, fre_err *err)
{
    size_t index, known = r->distinct.n;
    fre_status st = evaluate_distinct_add(&r->distinct, &index, rec->text, rec->text_len);

    if (st == FRE_OK && index == known) {
        st = fre_grow((void **)&r->first, &r->cap_first, known + 1, sizeof *r->first);
        if (st == FRE_OK)
            r->first[index] = (size_t)r->e.originals;
    }
    if (st != FRE_OK)
        return evaluate_no_memory(err);
    return r->e.has_labels ? evaluate_labels_add(&r->labels, index, rec->label, rec->label_len, err)
                           : FRE_OK;
}

/* Takes in over. */
static fre_status read_texts(evaluate_run *r, fre_input *in, fre_err *err)
{
    fre_corpus *c = NULL;
    fre_corpus_stats stats;
    fre_record rec;
    bool more = true;
    fre_status st = fre_corpus_open_input(&c, in, &r->opts->corpus, err);

    if (st != FRE_OK)
        return st;
    while ((st = fre_corpus_next(c, &more, &rec, err)) == FRE_OK && more) {
        st = add_text(r, &rec, err);
        if (st != FRE_OK)
            break;
        if (++r->e.originals % 4096 != 0)
            continue;
        fre_corpus_get_stats(c, &stats);
        fre_progress_update(r->opts->progress, "reading", stats.records,
                            fre_corpus_expected(&stats));
        if (fre_interrupted()) {
            st = evaluate_with_text(err, FRE_E_INTERRUPTED);
            break;
        }
    }
    fre_corpus_get_stats(c, &stats);
    r->e.empty = stats.empty;
    r->e.invalid = stats.invalid;
    fre_corpus_get_about(c, &r->e.input);
    fre_corpus_free(c);
    return st;
}

/* Takes in over. */
static fre_status read_rows(evaluate_run *r, fre_input *in, fre_err *err)
{
    const bool strict = r->opts->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
    fre_npy *npy = NULL;
    fre_err first = {.text = ""};
    float *row = NULL;
    size_t n, d, index;
    fre_status st = fre_npy_open_input(&npy, in, &r->opts->corpus, err);

    if (st != FRE_OK)
        return st;
    n = fre_npy_rows(npy);
    d = fre_npy_dim(npy);
    row = calloc(d, sizeof *row);
    if (!row)
        st = evaluate_no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (!strict && !fre_npy_row_is_usable(npy, i)) {
            if (r->e.invalid++ == 0)
                (void)fre_npy_refuse_row(npy, i, &first);
            continue;
        }
        st = fre_npy_row(npy, row, i, err);
        if (st == FRE_OK &&
            evaluate_distinct_add(&r->distinct, &index, row, d * sizeof *row) != FRE_OK)
            st = evaluate_no_memory(err);
        if (st == FRE_OK && i % 4096 == 0) {
            fre_npy_release_before(npy, i);
            fre_progress_update(r->opts->progress, "reading", i, n);
            if (fre_interrupted())
                st = evaluate_with_text(err, FRE_E_INTERRUPTED);
        }
    }
    if (fre_npy_has_meta(npy))
        memcpy(r->npy_sha256, fre_npy_meta_view(npy)->sha256, sizeof r->npy_sha256);
    fre_npy_get_about(npy, &r->e.input);
    r->e.originals = n - r->e.invalid;
    r->originals.d = d;
    free(row);
    fre_npy_free(npy);
    return st == FRE_OK ? fre_corpus_check_most(r->e.invalid, r->e.originals, 0, &first, err) : st;
}

fre_status evaluate_read_originals(evaluate_run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->opts;
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, o->original, false, err);

    if (st != FRE_OK)
        return st;
    r->from_npy = fre_input_is_npy(in, &o->corpus);
    if (r->from_npy && o->embeddings)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings already: leave out {embeddings}");
    else
        st = evaluate_distinct_init(&r->distinct, r->from_npy);
    if (st == FRE_OK && o->corpus.label_field && !r->from_npy) {
        st = evaluate_labels_init(&r->labels);
        r->e.has_labels = st == FRE_OK;
    }
    if (st == FRE_OK)
        st = r->from_npy ? read_rows(r, in, err) : read_texts(r, in, err);
    else
        fre_input_free(in);
    r->e.distinct = r->distinct.n;
    if (st == FRE_OK && r->distinct.n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "%s holds no text", o->original);
    return st;
}
