/* Correcting a hypothesis: the decoder sees the target, the hypothesis, how far apart their
 * embeddings lie, and writes another text (Morris, Kuleshov, Shmatikov, Rush, EMNLP 2023).
 *
 * What it writes becomes a plan of given tokens, so that its likelihood is that of every other
 * candidate: after the first projector's rows alone. */
#include "invert_private.h"

#include <stdlib.h>
#include <string.h>

/* Given from beginning to end. */
static void plan_text(inv_plan *plan, const inv_draw *d)
{
    memset(plan, 0, sizeof *plan);
    plan->kind = INV_CORRECT;
    plan->n_head = d->n;
    memcpy(plan->head, d->ids, d->n * sizeof *d->ids);
}

static bool is_planned(const inv_plan *plan, uint32_t n, const inv_draw *d)
{
    for (uint32_t i = 0; i < n; i++)
        if (plan[i].n_head == d->n && memcmp(plan[i].head, d->ids, d->n * sizeof *d->ids) == 0)
            return true;
    return false;
}

/* n texts that follow candidate c of the pool, of which those that are new become plans. */
static fre_status correct_one(fre_inverter *v, inv_drawer *d, inv_state *s, size_t c, uint32_t n,
                              float *rows, inv_plan *open, fre_err *err)
{
    const inv_projector *p = &v->projector;
    const inv_cand *from = &s->pool.cand[c];
    const inv_prefix prefix = {
        .rows = rows, .n_rows = p->rows + p->corrector_rows, .ids = from->ids, .n_ids = from->n};
    inv_draw draw[INV_BATCH];
    fre_status st = inv_corrector_run(p, rows + (size_t)p->rows * p->width, s->mu, s->noise_std,
                                      s->pool.embedding + c * s->pool.dim);

    if (st == FRE_OK)
        st = inv_drawer_run_behind(d, draw, open, n, &prefix, v->tuning.temperature, &s->rng, err);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        if (draw[i].n > 0 && !is_planned(s->plan, s->n_plan, &draw[i]))
            plan_text(&s->plan[s->n_plan++], &draw[i]);
    return st;
}

fre_status inv_correct(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err)
{
    const inv_projector *p = &v->projector;
    const size_t width = p->width, all = p->rows + p->corrector_rows;
    const size_t parents =
        s->pool.scored < v->tuning.correct_parents ? s->pool.scored : v->tuning.correct_parents;
    uint32_t each, given = 0;
    float *rows;
    inv_plan *open;
    fre_status st = FRE_OK;

    s->n_plan = 0;
    for (size_t c = 0; c < parents; c++)
        given += s->pool.cand[c].n > 0;
    if (given == 0 || p->corrector_rows == 0)
        return FRE_OK;
    each = v->tuning.edits / given;
    each = each < 1 ? 1 : each > INV_BATCH ? INV_BATCH : each;
    rows = malloc(all * width * sizeof *rows);
    open = calloc(each, sizeof *open);
    if (!rows || !open) {
        st = FRE_E_NOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < each; i++)
        open[i].open = true;
    open[0].greedy = true;
    memcpy(rows, s->prefix, (size_t)p->rows * width * sizeof *rows);
    for (size_t c = 0; c < parents && st == FRE_OK; c++)
        if (s->pool.cand[c].n > 0 && s->n_plan + each <= v->tuning.edits)
            st = correct_one(v, d, s, c, each, rows, open, err);
out:
    free(rows);
    free(open);
    return st;
}
