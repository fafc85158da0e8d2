/* evaluate/levels_run.c - a run's release level by level, and what that stands beside. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

/* Of each text of the release, whose it is; they stand in the order of the cells that have one. */
static void find_text_cells(uint32_t *cell, const fre_release *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        if (r->cell[i].text.text)
            cell[n++] = (uint32_t)i;
}

static fre_status set_labels(evaluate_run *r, fre_labels *labels)
{
    uint64_t *total;
    const fre_status st = evaluate_labels_view(&r->base->labels, labels, &r->base->originals);

    if (st != FRE_OK)
        return st;
    total = calloc(labels->n + 1, sizeof *total);
    if (!total)
        return FRE_E_NOMEM;
    for (size_t i = 0; i < labels->n_pairs; i++)
        total[labels->pair[i].label] += labels->pair[i].count;
    for (size_t i = 0; i < labels->n; i++)
        r->e->frequent_labels += total[i] >= r->e->threshold;
    r->e->labels = labels->n;
    free(total);
    return FRE_OK;
}

/* Nobody named a codebook, and beside the embedder there is none or another. */
static bool lacks_codebook(const evaluate_run *r)
{
    const fre_release *of = &r->release;

    return !r->base->opts->codebook && evaluate_has_public_cells(of) &&
           (!r->codebook ||
            memcmp(of->level[of->n_levels - 1].sketch.codebook.sha256,
                   fre_codebook_info_view(r->codebook)->sha256, FRE_HASH_BYTES) != 0);
}

fre_status evaluate_levels(evaluate_run *r, fre_err *err)
{
    const fre_evaluate_opts *o = r->base->opts;
    const size_t texts = r->of_release ? r->synthetic.n_texts : 0;
    uint32_t *member = malloc((r->base->originals.n + 1) * sizeof *member);
    uint32_t *text_cell = malloc((texts + 1) * sizeof *text_cell);
    fre_labels labels = {.n = 0};
    fre_by_level in = {.release = &r->release,
                       .originals = &r->base->originals,
                       .member = member,
                       .is_frequent = r->base->is_frequent,
                       .labels = r->e->has_labels ? &labels : NULL,
                       .text = r->synthetic_x,
                       .text_cell = text_cell,
                       .exact = r->exact,
                       .n_texts = texts,
                       .threshold = r->e->threshold,
                       .reach = r->e->alpha * r->e->radius,
                       .threads = o->threads};
    fre_status st = member && text_cell ? FRE_OK : evaluate_no_memory(err);

    if (st != FRE_OK || !evaluate_names_cells(&r->release))
        goto out;
    if (lacks_codebook(r) && !o->levels_only) {
        evaluate_leave_out(r->e, "levels",
                           "the codebook that the release was made with is not the one beside the "
                           "embedder: name it, {codebook}");
        goto out;
    }
    if (texts > 0)
        find_text_cells(text_cell, &r->release);
    st = fre_evaluate_members(member, &r->release, r->codebook, &r->base->originals, o->threads,
                              err);
    if (st != FRE_OK)
        goto out;
    if (r->e->has_labels)
        st = set_labels(r, &labels);
    if (st == FRE_OK)
        st = fre_evaluate_by_level(r->e->level, &in);
    if (st == FRE_OK)
        st = evaluate_levels_beside(r, &in);
    if (st == FRE_OK)
        r->e->n_levels = r->release.n_levels;
    else
        st = evaluate_with_text(err, st);
out:
    fre_wipe_free(member, (r->base->originals.n + 1) * sizeof *member);
    free(text_cell);
    return st;
}
