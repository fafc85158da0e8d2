/* curator/inputs.c - opens the input, here and nowhere again, and the embedder. */
#include "curator_private.h"

#include <inttypes.h>
#include <string.h>

static fre_status open_embedder(curator_run *r, fre_err *err)
{
    const fre_embedder_opts eo = {.path = r->opts->embedder, .threads = r->opts->threads};
    fre_status st = fre_embedder_new(&r->embedder, &eo, err);

    if (st == FRE_OK && r->dim == 0)
        r->dim = fre_embedder_info(r->embedder)->dim;
    return st;
}

/* Takes ownership of in. */
static fre_status open_rows(curator_run *r, fre_input *in, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_status st = fre_npy_open_users(&r->npy, in, &o->corpus, o->user_file, err);

    if (st != FRE_OK)
        return st;
    r->dim = (uint32_t)fre_npy_dim(r->npy);
    if (r->dim > FRE_SKETCH_DIM_MAX)
        return fre_fail(err, FRE_E_DATA, "%s has more than %u columns", o->input,
                        FRE_SKETCH_DIM_MAX);
    return fre_names_open_rows(&r->names, r->npy, o->user_file, &o->corpus, err);
}

/* Workers read; what is needed here is the embedder, unless rows of another are made into centroids alone. */
static fre_status open_parts(curator_run *r, fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    fre_status st;

    if (o->parts->dim > FRE_SKETCH_DIM_MAX || o->resume)
        return fre_fail(err, FRE_E_USAGE,
                        o->resume ? "{resume} is for an input that is read here"
                                  : "embeddings have more than %u numbers",
                        FRE_SKETCH_DIM_MAX);
    r->dim = o->parts->dim;
    if (r->dim > 0 && !fre_inverter_writes_text(o->inverter) && o->plan.n_levels == 0)
        return FRE_OK;
    st = open_embedder(r, err);
    if (st == FRE_OK && r->dim != fre_embedder_info(r->embedder)->dim)
        st = fre_fail(err, FRE_E_USAGE,
                      "the embeddings have %" PRIu32 " numbers and the embedder's %" PRIu32
                      ": name the one that made them, {embedder}, or pass {inverter} none",
                      r->dim, fre_embedder_info(r->embedder)->dim);
    return st;
}

fre_status curator_open_inputs(curator_run *r, fre_err *err)
{
    fre_input *in = NULL;
    fre_err why = {.text = ""};
    fre_status st;

    if (r->opts->parts)
        return open_parts(r, err);
    st = fre_input_open(&in, r->opts->input, false, err);
    if (st != FRE_OK)
        return st;
    st = fre_input_is_npy(in, &r->opts->corpus)
             ? open_rows(r, in, err)
             : fre_corpus_open_users(&r->corpus, in, &r->opts->corpus, r->opts->user_file, err);
    if (st != FRE_OK)
        return st;
    if (r->npy && !r->names && fre_npy_rows(r->npy) > r->opts->plan.population)
        return fre_contributors_too_many(r->opts->plan.population, err);
    if (!r->npy || fre_inverter_writes_text(r->opts->inverter) || r->opts->plan.n_levels > 0)
        st = open_embedder(r, err);
    if (st != FRE_OK || !r->npy || !r->embedder)
        return st;
    st = fre_embedder_check_rows(r->embedder, r->npy, r->opts->input, &why);
    return st == FRE_OK || !why.text[0]
               ? st
               : fre_fail(err, st, "%s, or pass {inverter} none", why.text);
}

void curator_embedder_meta(const curator_run *r, fre_npy_meta *out)
{
    memset(out, 0, sizeof *out);
    if (r->embedder) {
        fre_embedder_rows_meta(r->embedder, out);
    } else if (r->npy && fre_npy_has_meta(r->npy)) {
        *out = *fre_npy_meta_view(r->npy);
    }
    out->normalised = false; /* a centroid's norm is not 1 */
}
