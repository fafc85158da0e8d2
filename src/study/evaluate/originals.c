/* evaluate/originals.c - reads the originals: texts, each distinct one once, or rows. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the record stands: the first of each distinct text, and, if embeddings are saved, of all. */
static fre_status note_record(evaluate_base *b, size_t index, bool is_new)
{
    const size_t record = (size_t)b->e.originals;
    fre_status st = FRE_OK;

    if (is_new) {
        st = fre_grow((void **)&b->first, &b->cap_first, index + 1, sizeof *b->first);
        if (st != FRE_OK)
            return st;
        b->first[index] = record;
    }
    if (b->opts->save_embeddings) {
        st = fre_grow((void **)&b->of_record, &b->cap_of_record, record + 1, sizeof *b->of_record);
        if (st != FRE_OK)
            return st;
        b->of_record[record] = (uint32_t)index;
    }
    return FRE_OK;
}

static fre_status add_text(evaluate_base *b, const fre_record *rec, fre_err *err)
{
    const size_t known = b->distinct.n;
    size_t index;
    fre_status st = evaluate_distinct_add(&b->distinct, &index, rec->text, rec->text_len);

    if (st == FRE_OK)
        st = note_record(b, index, index == known);
    if (st != FRE_OK)
        return evaluate_no_memory(err);
    return b->e.has_labels ? evaluate_labels_add(&b->labels, index, rec->label, rec->label_len, err)
                           : FRE_OK;
}

/* Takes in over. */
static fre_status read_texts(evaluate_base *b, bool labels, fre_input *in, fre_err *err)
{
    fre_corpus_opts opts = b->opts->corpus;
    fre_corpus *c = NULL;
    fre_corpus_stats stats;
    fre_record rec;
    bool more = true;
    fre_status st;

    opts.label_field = labels ? opts.label_field : NULL;
    st = fre_corpus_open_input(&c, in, &opts, err);
    if (st != FRE_OK)
        return st;
    while ((st = fre_corpus_next(c, &more, &rec, err)) == FRE_OK && more) {
        st = add_text(b, &rec, err);
        if (st != FRE_OK)
            break;
        if (++b->e.originals % 4096 != 0)
            continue;
        fre_corpus_get_stats(c, &stats);
        fre_progress_update(b->opts->progress, "reading", stats.records,
                            fre_corpus_expected(&stats));
        if (fre_interrupted()) {
            st = evaluate_with_text(err, FRE_E_INTERRUPTED);
            break;
        }
    }
    fre_corpus_get_stats(c, &stats);
    b->e.empty = stats.empty;
    b->e.invalid = stats.invalid;
    fre_corpus_get_about(c, &b->e.input);
    fre_corpus_free(c);
    return st;
}

/* Takes in over. */
static fre_status read_rows(evaluate_base *b, fre_input *in, fre_err *err)
{
    const bool strict = b->opts->corpus.invalid == FRE_CORPUS_INVALID_FAIL;
    fre_npy *npy = NULL;
    fre_err first = {.text = ""};
    float *row = NULL;
    size_t n, d, index;
    fre_status st = fre_npy_open_input(&npy, in, &b->opts->corpus, err);

    if (st != FRE_OK)
        return st;
    n = fre_npy_rows(npy);
    d = fre_npy_dim(npy);
    row = calloc(d, sizeof *row);
    if (!row)
        st = evaluate_no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        if (!strict && !fre_npy_row_is_usable(npy, i)) {
            if (b->e.invalid++ == 0)
                (void)fre_npy_refuse_row(npy, i, &first);
            continue;
        }
        st = fre_npy_row(npy, row, i, err);
        if (st == FRE_OK &&
            evaluate_distinct_add(&b->distinct, &index, row, d * sizeof *row) != FRE_OK)
            st = evaluate_no_memory(err);
        if (st == FRE_OK && i % 4096 == 0) {
            fre_npy_release_before(npy, i);
            fre_progress_update(b->opts->progress, "reading", i, n);
            if (fre_interrupted())
                st = evaluate_with_text(err, FRE_E_INTERRUPTED);
        }
    }
    if (fre_npy_has_meta(npy))
        memcpy(b->npy_sha256, fre_npy_meta_view(npy)->sha256, sizeof b->npy_sha256);
    fre_npy_get_about(npy, &b->e.input);
    b->e.originals = n - b->e.invalid;
    b->originals.d = d;
    free(row);
    fre_npy_free(npy);
    return st == FRE_OK ? fre_corpus_check_most(b->e.invalid, b->e.originals, 0, &first, err) : st;
}

static fre_status read_all(evaluate_base *b, bool labels, fre_err *err)
{
    const fre_evaluate_opts *o = b->opts;
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, o->original, false, err);

    if (st != FRE_OK)
        return st;
    b->from_npy = fre_input_is_npy(in, &o->corpus);
    if (b->from_npy && o->embeddings)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings already: leave out {embeddings}");
    else
        st = evaluate_distinct_init(&b->distinct, b->from_npy);
    if (st == FRE_OK && labels && !b->from_npy) {
        st = evaluate_labels_init(&b->labels);
        b->e.has_labels = st == FRE_OK;
    }
    if (st == FRE_OK)
        st = b->from_npy ? read_rows(b, in, err) : read_texts(b, labels, in, err);
    else
        fre_input_free(in);
    b->e.distinct = b->distinct.n;
    b->records = (size_t)b->e.originals;
    if (st == FRE_OK && b->distinct.n == 0)
        st = fre_fail(err, FRE_E_NOINPUT, "%s holds no text", o->original);
    return st;
}

static void forget(evaluate_base *b)
{
    evaluate_labels_wipe(&b->labels);
    evaluate_distinct_wipe(&b->distinct);
    b->e.originals = b->e.empty = b->e.invalid = 0;
    b->e.has_labels = false;
}

/* Where it is the labels that cannot be had, all else goes on without them: what can be read again is. */
fre_status evaluate_read_originals(evaluate_base *b, fre_err *err)
{
    const fre_evaluate_opts *o = b->opts;
    fre_err why = {.text = ""}, second;
    struct stat info;
    const bool again =
        o->corpus.label_field && stat(o->original, &info) == 0 && S_ISREG(info.st_mode);
    const fre_status st = read_all(b, o->corpus.label_field != NULL, &why);

    if (st == FRE_E_DATA && again && !b->from_npy) {
        forget(b);
        if (read_all(b, false, &second) == FRE_OK) {
            evaluate_leave_out(&b->e, "labels", "%s", why.text);
            return FRE_OK;
        }
    }
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}
