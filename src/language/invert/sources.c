/* What texts are written with must not be made of the private texts: corpus, prior and bridge
 * compared with what goes in. */
#include "invert_private.h"

#include "public_corpus.h"

#include <stdlib.h>

fre_status fre_inverter_check_corpus(fre_inverter *v, fre_overlap_set *texts, fre_err *err)
{
    fre_overlap_set *corpus = NULL;
    fre_status st;

    if (!v || !v->corpus)
        return FRE_OK;
    if (fre_overlap_set_new(&corpus) != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory while comparing texts");
    st = inv_corpus_again(v->corpus, err);
    if (st == FRE_OK)
        st = fre_overlap_add_corpus(corpus, v->corpus, err);
    if (st == FRE_OK)
        st = fre_overlap_check("the public corpus", v->corpus_path, corpus, texts, err);
    fre_overlap_set_free(corpus);
    return st;
}

static fre_status check_index(const inv_rows *r, fre_overlap_set *rows, fre_err *err)
{
    fre_overlap_set *corpus = NULL;
    float *x = malloc(r->dim * sizeof *x + 1);
    fre_status st = x ? fre_overlap_set_new(&corpus) : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        inv_rows_get(r, x, i);
        st = fre_overlap_add_row(corpus, x, r->dim);
    }
    free(x);
    if (st == FRE_OK)
        st = fre_overlap_check("the public corpus,", "by its embeddings,", corpus, rows, err);
    else
        (void)fre_fail(err, st, "out of memory while comparing embeddings");
    fre_overlap_set_free(corpus);
    return st;
}

fre_status fre_inverter_check_sources(const fre_inverter *v, fre_overlap_set *texts,
                                      fre_overlap_set *rows, fre_err *err)
{
    const fre_prior_info *prior = v->prior ? fre_prior_info_view(v->prior) : NULL;
    const fre_bridge_info *bridge = v->bridge ? fre_bridge_info_view(v->bridge) : NULL;
    fre_status st = FRE_OK;

    if (prior)
        st = fre_prior_card_check("the prior of", prior->source, &prior->card, texts, rows, err);
    if (st == FRE_OK && bridge)
        st = fre_prior_card_check("the bridge of", bridge->source, &bridge->card, texts, rows, err);
    if (st == FRE_OK && v->has_corpus)
        st = check_index(&v->index->texts, rows, err);
    return st;
}
