/* evaluate/rows.c - the embeddings of originals and synthetic texts. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMBED_CHUNK 8192u

/* The distinct texts' rows from a file of all records' rows. */
static fre_status read_embeddings(evaluate_base *b, fre_err *err)
{
    const char *path = b->opts->embeddings;
    size_t d = b->originals.d;
    fre_npy *npy = NULL;
    float *x = NULL;
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_npy_open(&npy, path, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(b->embedder)->sha256, FRE_HASH_BYTES);
    if (fre_npy_has_meta(npy))
        st = evaluate_check_sha(fre_npy_meta_view(npy)->sha256, path, sha, "this evaluation", err);
    if (st == FRE_OK && (fre_npy_rows(npy) != b->e.originals || fre_npy_dim(npy) != d))
        st = fre_fail(err, FRE_E_DATA,
                      "%s has %zu rows of %zu, the originals need %" PRIu64 " of %zu", path,
                      fre_npy_rows(npy), fre_npy_dim(npy), b->e.originals, d);
    for (size_t i = 0; st == FRE_OK && i < fre_npy_rows(npy); i++) /* also those not read below */
        if (!fre_npy_row_is_usable(npy, i))
            st = fre_npy_refuse_row(npy, i, err);
    if (st == FRE_OK) {
        x = calloc(b->distinct.n * d + 1, sizeof *x);
        st = x ? FRE_OK : evaluate_no_memory(err);
    }
    for (size_t i = 0; st == FRE_OK && i < b->distinct.n; i++)
        st = fre_npy_row(npy, x + i * d, b->first[i], err);
    b->x = x; /* freed with r whatever the status */
    fre_npy_free(npy);
    return st;
}

fre_status evaluate_embed_set(evaluate_base *b, float **out, const char *const *text,
                              const size_t *len, size_t n, fre_err *err)
{
    const size_t d = b->originals.d;
    float *x = malloc((n * d + 1) * sizeof *x);
    fre_status st = x ? FRE_OK : evaluate_no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i += EMBED_CHUNK) {
        const size_t m = n - i < EMBED_CHUNK ? n - i : EMBED_CHUNK;

        fre_progress_update(b->opts->progress, "embedding", i, n);
        st = fre_embed_texts(b->embedder, x + i * d, text + i, len + i, m, err);
    }
    if (st == FRE_OK)
        *out = x;
    else
        free(x);
    return st;
}

fre_status evaluate_embed_synthetic(evaluate_run *r, fre_err *err)
{
    const evaluate_places *p = &r->synthetic.place;
    const char **text = malloc((p->n + 1) * sizeof *text);
    fre_status st = text ? FRE_OK : evaluate_no_memory(err);

    for (size_t i = 0; text && i < p->n; i++)
        text[i] = evaluate_synthetic_text(&r->synthetic, i);
    if (st == FRE_OK && p->n > 0)
        st = evaluate_embed_set(r->base, &r->synthetic_x, text, p->len, p->n, err);
    free(text);
    return st;
}

static fre_status embed_originals(evaluate_base *b, fre_err *err)
{
    const size_t n = b->distinct.n, d = b->originals.d;
    uint8_t *mark = calloc(n + 1, 1);
    const char **text = malloc(EMBED_CHUNK * sizeof *text);
    size_t *len = malloc(EMBED_CHUNK * sizeof *len);
    fre_status st;

    b->x = malloc((n * d + 1) * sizeof *b->x);
    st = mark && text && len && b->x ? FRE_OK : evaluate_no_memory(err);
    for (size_t i = 0; st == FRE_OK && i < n; i += EMBED_CHUNK) {
        const size_t m = n - i < EMBED_CHUNK ? n - i : EMBED_CHUNK;

        for (size_t j = 0; j < m; j++) {
            text[j] = evaluate_distinct_text(&b->distinct, i + j);
            len[j] = b->distinct.entry[i + j].len;
        }
        fre_progress_update(b->opts->progress, "embedding", i, n);
        st = fre_embed_texts_marked(b->embedder, b->x + i * d, mark + i, text, len, m, err);
    }
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        fre_text_counts_add(&b->e.original_text, mark[i], b->distinct.weight[i]);
    free(mark);
    free(text);
    free(len);
    return st;
}

/* Originals without a token that the embedder knows are skipped as they are in a release: they weigh
 * nothing. */
static void leave_out_blank(evaluate_base *b)
{
    for (size_t i = 0; i < b->distinct.n; i++)
        if (fre_is_zero_row(b->originals.x + i * b->originals.d, b->originals.d)) {
            b->e.originals -= b->distinct.weight[i];
            b->e.distinct--;
            b->distinct.weight[i] = 0;
        }
}

/* ---- a file of them ---------------------------------------------------------------------------- */

typedef struct saved {
    char meta_path[4096];
    fre_outfile *data, *meta;
} saved;

/* Before anything is embedded. */
static fre_status open_saved(saved *s, const evaluate_base *b, fre_err *err)
{
    const char *path = b->opts->save_embeddings;
    fre_status st;

    if (b->from_npy || b->opts->embeddings)
        return fre_fail(err, FRE_E_USAGE,
                        "the embeddings of the originals are given: leave out {save_embeddings}");
    if (snprintf(s->meta_path, sizeof s->meta_path, "%s.json", path) >= (int)sizeof s->meta_path)
        return fre_fail(err, FRE_E_USAGE, "{save_embeddings} is too long a path");
    st = fre_outfile_open(&s->data, path, b->opts->force, err);
    return st == FRE_OK ? fre_outfile_open(&s->meta, s->meta_path, b->opts->force, err) : st;
}

/* The sidecar goes first: rows without it would be of unknown origin. */
static fre_status write_saved(saved *s, const evaluate_base *b, fre_err *err)
{
    const size_t d = b->originals.d, n = b->records;
    FILE *f = fre_outfile_stream(s->data);
    fre_npy_meta meta;
    fre_status st = fre_npy_write_header(f, FRE_NPY_F4, n, d, err);

    for (size_t i = 0; st == FRE_OK && i < n; i++)
        if (fwrite(b->x + b->of_record[i] * d, sizeof *b->x, d, f) != d)
            st = fre_fail(err, FRE_E_IO, "cannot write %.300s: %s", b->opts->save_embeddings,
                          strerror(errno));
    if (st != FRE_OK)
        return st;
    fre_embedder_rows_meta(b->embedder, &meta);
    st = fre_npy_write_meta(fre_outfile_stream(s->meta), &meta, n, d, err);
    if (st == FRE_OK)
        st = fre_outfile_commit(s->meta, err);
    if (st != FRE_OK)
        return st;
    st = fre_outfile_commit(s->data, err);
    if (st != FRE_OK)
        (void)unlink(s->meta_path);
    return st;
}

static fre_status embed_and_save(evaluate_base *b, fre_err *err)
{
    saved s = {.data = NULL};
    fre_status st = b->opts->save_embeddings ? open_saved(&s, b, err) : FRE_OK;

    if (st == FRE_OK && !b->from_npy)
        st = b->opts->embeddings ? read_embeddings(b, err) : embed_originals(b, err);
    if (st == FRE_OK && s.data)
        st = write_saved(&s, b, err);
    fre_outfile_free(s.meta);
    fre_outfile_free(s.data);
    return st;
}

fre_status evaluate_embed_originals(evaluate_base *b, fre_err *err)
{
    fre_status st = embed_and_save(b, err);

    /* malloc'ed and packed from its start on, so aligned */
    b->originals.x = b->from_npy ? (const float *)(const void *)b->distinct.arena : b->x;
    b->originals.weight = b->distinct.weight;
    b->originals.n = b->distinct.n;
    if (st == FRE_OK)
        leave_out_blank(b);
    return st;
}
