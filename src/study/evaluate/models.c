/* evaluate/models.c - the embedder that everything was made with, and a release's codebook. */
#include "evaluate_private.h"

#include <string.h>

fre_status evaluate_check_sha(const char *a, const char *what_a, const char *b, const char *what_b,
                              fre_err *err)
{
    if (a[0] && b[0] && strcmp(a, b) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "%s and %s come from different embedders (sha256 %.12s... and %.12s...): "
                        "embed both with the same model, named by {embedder}",
                        what_a, what_b, a, b);
    return FRE_OK;
}

static fre_status load_embedder(evaluate_base *b, fre_err *err)
{
    const fre_embedder_opts eo = {b->opts->embedder, b->opts->threads};
    char sha[2 * FRE_HASH_BYTES + 1];
    fre_status st = fre_embedder_new(&b->embedder, &eo, err);

    if (st != FRE_OK)
        return st;
    fre_hex(sha, fre_embedder_info(b->embedder)->sha256, FRE_HASH_BYTES);
    st = evaluate_check_sha(b->npy_sha256, "the originals", sha, "this evaluation", err);
    if (!b->from_npy)
        b->originals.d = fre_embedder_info(b->embedder)->dim;
    else if (st == FRE_OK && fre_embedder_info(b->embedder)->dim != b->originals.d)
        st = fre_fail(err, FRE_E_DATA,
                      "the originals have %zu columns, the embedder makes %u: name the model "
                      "that made them by {embedder}",
                      b->originals.d, fre_embedder_info(b->embedder)->dim);
    return st;
}

/* A release and the rest come from one embedder. */
static fre_status check_release(const evaluate_base *b, const evaluate_run *r, fre_err *err)
{
    const char *of_release = r->release.embedder.sha256;
    char sha[2 * FRE_HASH_BYTES + 1] = "";
    fre_status st;

    if (!r->has_release)
        return FRE_OK;
    if (b->embedder)
        fre_hex(sha, fre_embedder_info(b->embedder)->sha256, FRE_HASH_BYTES);
    st = evaluate_check_sha(of_release, "the release", b->npy_sha256, "the originals", err);
    if (st == FRE_OK)
        st = evaluate_check_sha(of_release, "the release", sha, "this evaluation", err);
    if (st == FRE_OK && r->release.grid.dim != b->originals.d)
        st = fre_fail(err, FRE_E_DATA, "the release has dimension %u, the originals have %zu",
                      r->release.grid.dim, b->originals.d);
    return st;
}

static bool needs_embedder(const evaluate_base *b, const evaluate_run *run, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (run[i].synthetic.place.n > 0 ||
            (run[i].has_release && evaluate_has_public_cells(&run[i].release)))
            return true;
    return !b->from_npy;
}

fre_status evaluate_open_embedder(evaluate_base *b, const evaluate_run *run, size_t n, fre_err *err)
{
    fre_status st = FRE_OK;

    if (needs_embedder(b, run, n))
        st = load_embedder(b, err);
    else if (b->opts->embedder)
        st = fre_fail(err, FRE_E_USAGE,
                      "the originals are embeddings and there is no synthetic text, so nothing is "
                      "embedded: leave out {embedder}");
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = check_release(b, &run[i], err);
    return st;
}

fre_status evaluate_open_codebook(evaluate_run *r, fre_err *err)
{
    const evaluate_base *b = r->base;
    fre_status st;

    if (!r->has_release || !evaluate_has_public_cells(&r->release))
        return FRE_OK;
    st = fre_codebook_open_for(&r->codebook, b->opts->codebook, fre_embedder_path(b->embedder),
                               fre_embedder_info(b->embedder), err);
    if (st == FRE_OK && !r->codebook && b->opts->levels_only)
        st = fre_fail(err, FRE_E_NOINPUT,
                      "the release is by levels of public cells and there is no codebook "
                      "beside the embedder: name the one that it was made with, {codebook}");
    return st;
}
