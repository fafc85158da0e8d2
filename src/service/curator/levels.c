/* curator/levels.c - the codebook of a run by levels. */
#include "curator_private.h"

#include <stdlib.h>
#include <string.h>

const fre_sketch_spec *curator_sketch(const curator_run *r, uint32_t level)
{
    return level == 0 ? &r->plan.mechanism.sketch : &r->plan.request.level[level - 1].sketch;
}

fre_plan_level curator_plan_level(const curator_run *r, uint32_t level)
{
    return level == 0 ? fre_plan_grid_level(&r->plan) : r->plan.level[level - 1];
}

const fre_codebook_level *curator_level_of_codebook(const curator_run *r, uint32_t level)
{
    return fre_codebook_level_view(r->codebook, curator_sketch(r, level)->codebook.level);
}

static fre_status no_such_level(const curator_run *r, const char *name, fre_err *err)
{
    const fre_codebook_info *info = fre_codebook_info_view(r->codebook);
    char list[400] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < info->n_levels && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 fre_codebook_level_view(r->codebook, i)->name);
    return fre_fail(err, FRE_E_USAGE, "{levels}: the codebook has no level '%s'; it has %s", name,
                    list);
}

/* The request names levels; how many cells they have and how far offsets go is the codebook's. */
static fre_status resolve(curator_run *r, fre_plan_request *q, fre_err *err)
{
    const fre_codebook_info *info = fre_codebook_info_view(r->codebook);

    for (size_t i = 0; i < q->n_levels; i++) {
        const uint32_t at = fre_codebook_find(r->codebook, q->level[i].name);

        if (at == info->n_levels)
            return no_such_level(r, q->level[i].name, err);
        q->level[i].sketch = fre_codebook_sketch(r->codebook, at);
    }
    return FRE_OK;
}

fre_status curator_open_codebook(curator_run *r, fre_plan_request *q, fre_err *err)
{
    const char *name = r->opts->codebook;
    fre_status st;

    if (q->n_levels == 0)
        return name ? fre_fail(err, FRE_E_USAGE, "{codebook} is for {levels} of public cells")
                    : FRE_OK;
    st = fre_codebook_open_for(&r->codebook, name, fre_embedder_path(r->embedder),
                               fre_embedder_info(r->embedder), err);
    if (st == FRE_OK && !r->codebook)
        st = fre_fail(err, FRE_E_NOINPUT,
                      "there is no codebook beside the embedder: {levels} grid needs none, or name "
                      "one, {codebook}");
    return st == FRE_OK ? resolve(r, q, err) : st;
}

fre_status curator_check_codebook(curator_run *r, fre_err *err)
{
    const fre_codebook_info *info = r->codebook ? fre_codebook_info_view(r->codebook) : NULL;

    return info ? fre_prior_card_check("the codebook of", info->source, &info->card,
                                       curator_text_marks(r), curator_row_marks(r), err)
                : FRE_OK;
}

fre_status curator_public_cells(const curator_run *r, uint32_t *out, const float *x, size_t n,
                                fre_err *err)
{
    const size_t wanted = r->plan.request.n_levels;
    uint32_t level[FRE_LEVELS_MAX];
    fre_status st;

    if (wanted == 0 || n == 0)
        return FRE_OK;
    for (size_t k = 0; k < wanted; k++)
        level[k] = r->plan.request.level[k].sketch.codebook.level;
    st = fre_codebook_cells_at(r->codebook, out, level, wanted, (fre_rows){x, n}, r->opts->threads);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "the public cells of embeddings cannot be found: %s",
                                   fre_status_text(st));
}
