/* simulate/public_cells.c - a collection whose cells are a level of a codebook. */
#include "simulate_private.h"

/* The bundled one is found beside the embedder; of embeddings alone it has to be named. */
static fre_status open_file(simulate_run *s, fre_err *err)
{
    const fre_simulate_opts *o = s->opts;
    fre_status st;

    if (s->embedder)
        st = fre_codebook_open_for(&s->codebook, o->codebook, fre_embedder_path(s->embedder),
                                   fre_embedder_info(s->embedder), err);
    else
        st = o->codebook ? fre_codebook_open(&s->codebook, o->codebook, err) : FRE_OK;
    if (st == FRE_OK && !s->codebook)
        return fre_fail(err, FRE_E_NOINPUT,
                        "there is no codebook beside the embedder: name one, {codebook}");
    return st;
}

fre_status simulate_check_codebook(const simulate_run *s, fre_err *err)
{
    const fre_codebook_info *info;

    if (!s->codebook)
        return FRE_OK;
    info = fre_codebook_info_view(s->codebook);
    if (info->dim != s->population.dim)
        return fre_fail(err, FRE_E_DATA,
                        "the codebook is of dimension %u, and the embeddings of %u", info->dim,
                        s->population.dim);
    return fre_prior_card_check("the codebook of", info->source, &info->card,
                                fre_survey_texts(s->population.survey),
                                fre_survey_rows(s->population.survey), err);
}

fre_status simulate_open_codebook(simulate_run *s, fre_err *err)
{
    const fre_plan_request *q = &s->opts->plan;
    uint32_t at;
    fre_status st;

    if (q->n_levels == 0)
        return FRE_OK;
    st = open_file(s, err);
    if (st != FRE_OK)
        return st;
    at = fre_codebook_find(s->codebook, q->level[0].name);
    if (at == fre_codebook_info_view(s->codebook)->n_levels)
        return fre_fail(err, FRE_E_USAGE, "{levels}: the codebook has no level '%s'",
                        q->level[0].name);
    return fre_codebook_sketch_open(&s->cells, s->codebook, at);
}
