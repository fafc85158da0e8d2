/* evaluate/rows.c - models, and the embeddings of originals and synthetic texts. */
#include "evaluate_private.h"

#include <fre/linalg.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EMBED_CHUNK 8192u

static fre_status check_sha(const char *a, const char *what_a, const char *b, const char *what_b,
                            fre_err *err)
{
    if (a[0] && b[0] && strcmp(a, b) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s and %s come from different embedders (sha256 %.12s... and %.12s...): "
                        "embed both with the same model, named by {embedder}",
                        what_a, what_b, a, b);
    return FRE_OK;
}

/* The embedder, which is the one that everything else was made with. */
static fre_status load_embedder(evaluate_run *r, const char *release_sha, fre_err *err)
{
    const fre_embedder_opts eo = {r->opts->embedder, r->opts->threads};
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(r->embedder)->sha256, FRE_HASH_BYTES);
    st = check_sha(release_sha, "the release", sha, "this evaluation", err);
    if (st == FRE_OK)
        st = check_sha(r->npy_sha256, "the originals", sha, "this evaluation", err);
    if (!r->from_npy)
        r->originals.d = fre_embedder_info(r->embedder)->dim;
    else if (st == FRE_OK && fre_embedder_info(r->embedder)->dim != r->originals.d)
        st = fre_fail(err, FRE_E_DATA,
                      "the originals have %zu columns, the embedder makes %u: name the model "
                      "that made them by {embedder}",
                      r->originals.d, fre_embedder_info(r->embedder)->dim);
    return st;
}

static fre_status open_embedder(evaluate_run *r, fre_err *err)
{
    const char *release_sha = r->has_release ? r->release.embedder.sha256 : "";
    fre_status st = check_sha(release_sha, "the release", r->npy_sha256, "the originals", err);

    if (st == FRE_OK && (!r->from_npy || r->synthetic.place.n > 0 ||
                         (r->has_release && evaluate_has_public_cells(&r->release))))
        st = load_embedder(r, release_sha, err);
    else if (st == FRE_OK && r->opts->embedder)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings and there is no synthetic text, so nothing is "
                      "embedded: leave out {embedder}");
    if (st == FRE_OK && r->has_release && r->release.grid.dim != r->originals.d)
        st = fre_fail(err, FRE_E_DATA, "the release has dimension %u, the originals have %zu",
                      r->release.grid.dim, r->originals.d);
    return st;
}

static fre_status open_codebook(evaluate_run *r, fre_err *err)
{
    fre_status st = FRE_OK;

    if (r->has_release && evaluate_has_public_cells(&r->release)) {
        st = fre_codebook_open_for(&r->codebook, r->opts->codebook, fre_embedder_path(r->embedder),
                                   fre_embedder_info(r->embedder), err);
        if (st == FRE_OK && !r->codebook)
            st = fre_fail(err, FRE_E_NOINPUT,
                          "the release is by levels of public cells and there is no codebook "
                          "beside the embedder: name the one that it was made with, {codebook}");
    } else if (r->opts->codebook) {
        st = fre_fail(err, FRE_E_USAGE,
                      "{codebook} is for a release by levels of public cells: leave it out");
    }
    return st;
}

fre_status evaluate_open_models(evaluate_run *r, fre_err *err)
{
    const fre_status st = open_embedder(r, err);

    return st == FRE_OK ? open_codebook(r, err) : st;
}

/* The distinct texts' rows from a file of all records' rows. */
static fre_status read_embeddings(evaluate_run *r, fre_err *err)
{
    const char *path = r->opts->embeddings;
    size_t d = r->originals.d;
    fre_npy *npy = NULL;
    float *x = NULL;
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_npy_open(&npy, path, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(r->embedder)->sha256, FRE_HASH_BYTES);
    if (fre_npy_has_meta(npy))
        st = check_sha(fre_npy_meta_view(npy)->sha256, path, sha, "this evaluation", err);
    if (st == FRE_OK && (fre_npy_rows(npy) != r->e.originals || fre_npy_dim(npy) != d))
        st = fre_fail(err, FRE_E_DATA,
                      "%s has %zu rows of %zu, the originals need %" PRIu64 " of %zu", path,
                      fre_npy_rows(npy), fre_npy_dim(npy), r->e.originals, d);
    for (size_t i = 0; st == FRE_OK && i < fre_npy_rows(npy); i++) /* also those not read below */
        if (!fre_npy_row_is_usable(npy, i))
            st = fre_npy_refuse_row(npy, i, err);
    if (st == FRE_OK) {
        x = calloc(r->distinct.n * d + 1, sizeof *x);
        st = x ? FRE_OK : evaluate_no_memory(err);
    }
    for (size_t i = 0; st == FRE_OK && i < r->distinct.n; i++)
        st = fre_npy_row(npy, x + i * d, r->first[i], err);
    r->x = x; /* freed with r whatever the status */
    fre_npy_free(npy);
    return st;
}

typedef const char *(*text_at)(const void *set, size_t i, size_t *len);

static const char *distinct_at(const void *set, size_t i, size_t *len)
{
    const evaluate_distinct *t = set;

    *len = t->entry[i].len;
    return evaluate_distinct_text(t, i);
}

static const char *synthetic_at(const void *set, size_t i, size_t *len)
{
    const evaluate_synthetic *s = set;

    *len = s->place.len[i];
    return evaluate_synthetic_text(s, i);
}

/* mark: n of fre_text_mark; NULL: not wanted. */
static fre_status embed_all(evaluate_run *r, float **out, uint8_t *mark, const void *set,
                            text_at at, size_t n, fre_err *err)
{
    size_t d = r->originals.d, *len = calloc(EMBED_CHUNK, sizeof *len);
    const char **text = calloc(EMBED_CHUNK, sizeof *text);
    float *x = calloc(n * d + 1, sizeof *x);
    fre_status st = len && text && x ? FRE_OK : evaluate_no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < n; i += EMBED_CHUNK) {
        size_t m = n - i < EMBED_CHUNK ? n - i : EMBED_CHUNK;
        for (size_t j = 0; j < m; j++)
            text[j] = at(set, i + j, &len[j]);
        fre_progress_update(r->opts->progress, "embedding", i, n);
        st = fre_embed_texts_marked(r->embedder, x + i * d, mark ? mark + i : NULL, text, len, m,
                                    err);
    }
    free(len);
    free(text);
    if (st == FRE_OK)
        *out = x;
    else
        free(x);
    return st;
}

static fre_status embed_originals(evaluate_run *r, fre_err *err)
{
    uint8_t *mark = calloc(r->distinct.n + 1, 1);
    fre_status st = mark ? embed_all(r, &r->x, mark, &r->distinct, distinct_at, r->distinct.n, err)
                         : evaluate_no_memory(err);

    for (size_t i = 0; st == FRE_OK && i < r->distinct.n; i++)
        fre_text_counts_add(&r->e.original_text, mark[i], r->distinct.weight[i]);
    free(mark);
    return st;
}

/* Originals without a token that the embedder knows are skipped as they are in a release: they weigh
 * nothing. */
static void leave_out_blank(evaluate_run *r)
{
    for (size_t i = 0; i < r->distinct.n; i++)
        if (fre_is_zero_row(r->originals.x + i * r->originals.d, r->originals.d)) {
            r->e.originals -= r->distinct.weight[i];
            r->e.distinct--;
            r->distinct.weight[i] = 0;
        }
}

fre_status evaluate_embed(evaluate_run *r, fre_err *err)
{
    fre_status st = FRE_OK;

    if (r->from_npy) {
        /* malloc'ed and packed from its start on, so aligned */
        r->originals.x = (const float *)(const void *)r->distinct.arena;
    } else {
        st = r->opts->embeddings ? read_embeddings(r, err) : embed_originals(r, err);
        r->originals.x = r->x;
    }
    r->originals.weight = r->distinct.weight;
    r->originals.n = r->distinct.n;
    if (st == FRE_OK)
        leave_out_blank(r);
    if (st == FRE_OK && r->synthetic.place.n > 0)
        st = embed_all(r, &r->synthetic_x, NULL, &r->synthetic, synthetic_at, r->synthetic.place.n,
                       err);
    return st;
}
