/* Drawing texts from the decoder: sequences side by side after one prefix, each following its
 * plan.  Top-k sampling: Fan, Lewis, Dauphin, ACL 2018. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_K 64u /* model card */

fre_status inv_drawer_init(inv_drawer *d, const fre_model *m, const inv_projector *p,
                           uint32_t capacity, fre_err *err)
{
    const fre_model_info *info = fre_model_info_view(m);
    inv_drawer w = {
        .model = m, .capacity = capacity, .prefix_rows = p->rows, .max_rows = p->rows, .end = -1};
    fre_status st;

    for (uint32_t i = 0; i < info->vocab && w.end < 0; i++)
        if (fre_model_is_end(m, (int32_t)i))
            w.end = (int32_t)i;
    if (w.end < 0 || fre_model_bos(m) < 0)
        return fre_fail(err, FRE_E_MODEL,
                        "the inverter's decoder has no begin or end token; use a decoder made for "
                        "text inversion");

    w.logits = malloc((size_t)capacity * info->vocab * sizeof *w.logits);
    if (!w.logits)
        return FRE_E_NOMEM;
    if (p->corrector_rows > 0)
        w.max_rows += p->corrector_rows + INV_TOKENS;
    /* prefix, begin, tokens, end */
    st = fre_model_ctx_new_shared(&w.ctx, m, w.max_rows + INV_TOKENS + 2u, capacity, err);
    if (st != FRE_OK) {
        free(w.logits);
        return st;
    }
    *d = w;
    return FRE_OK;
}

void inv_drawer_wipe(inv_drawer *d)
{
    fre_model_ctx_free(d->ctx);
    free(d->logits);
    memset(d, 0, sizeof *d);
}

#define LANES 16u

static float largest(const float *x, uint32_t n)
{
    float lane[LANES];
    float top = x[0];
    uint32_t i = 0;

    for (uint32_t j = 0; j < LANES; j++)
        lane[j] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (uint32_t j = 0; j < LANES; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (uint32_t j = 0; j < LANES; j++)
        top = lane[j] > top ? lane[j] : top;
    return top;
}

/* log sum exp.  Terms below exp(-18) of the largest add less than 2e-4 in all to a sum >= 1. */
static double log_total(const float *logit, uint32_t n)
{
    const float top = largest(logit, n), least = top - 18.0F;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        if (logit[i] > least)
            sum += (double)expf(logit[i] - top);
    return (double)top + log(sum);
}

/* The likeliest tokens of one row, best first; ties to the lower id. */
typedef struct top_list {
    int32_t id[TOP_K + 1];
    uint32_t n;
} top_list;

/* Insertion: nearly all logits fail the first test. */
static void top_fill(top_list *t, const float *logit, uint32_t vocab)
{
    const uint32_t k = TOP_K + 1;
    float least = 0;

    t->n = 0;
    for (uint32_t i = 0; i < vocab; i++) {
        uint32_t at;

        if (t->n == k && !(logit[i] > least))
            continue;
        at = t->n < k ? t->n++ : k - 1;
        for (; at > 0 && logit[i] > logit[t->id[at - 1]]; at--)
            t->id[at] = t->id[at - 1];
        t->id[at] = (int32_t)i;
        least = logit[t->id[t->n - 1]];
    }
}

static int32_t pick(const top_list *t, const float *logit, const fre_model *m, bool no_end,
                    bool greedy, double temperature, fre_rng *rng)
{
    int32_t id[TOP_K + 1];
    double weight[TOP_K], total = 0, u;
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n && n < TOP_K; i++)
        if (!no_end || !fre_model_is_end(m, t->id[i]))
            id[n++] = t->id[i];
    if (greedy || n < 2)
        return n ? id[0] : -1;
    for (uint32_t i = 0; i < n; i++) {
        weight[i] = exp(((double)logit[id[i]] - (double)logit[id[0]]) / temperature);
        total += weight[i];
    }
    u = total * (double)(fre_rng_u64(rng) >> 11) * 0x1p-53;
    for (uint32_t i = 0; i + 1 < n; i++) {
        u -= weight[i];
        if (u < 0)
            return id[i];
    }
    return id[n - 1];
}

/* Next token of a sequence; -1: the end.  top: of this row, filled when first needed. */
static int32_t next_token(const inv_plan *p, const inv_draw *d, const float *logit, top_list *top,
                          const fre_model *m, double temperature, fre_rng *rng)
{
    const uint32_t tail_at = p->n_head + p->n_free;
    int32_t id;

    if (d->n < p->n_head)
        return p->head[d->n];
    if (d->n >= INV_TOKENS)
        return -1;
    if (!p->open && d->n >= tail_at)
        return d->n - tail_at < p->n_tail ? p->tail[d->n - tail_at] : -1;
    if (top->n == 0)
        top_fill(top, logit, fre_model_info_view(m)->vocab);
    id = pick(top, logit, m, !p->open, p->greedy, temperature, rng);
    return id < 0 || fre_model_is_end(m, id) ? -1 : id;
}

/* Sequences that have written the same so far share one row of the next step: they are
 * neighbours in seq, and n_seq has the size of each such group. */
typedef struct groups {
    int32_t ids[INV_BATCH];
    uint32_t seq[INV_BATCH], n_seq[INV_BATCH], n;
} groups;

/* Split one group (m sequences from `from` on, next tokens in next[]) by the token written;
 * finished ones fall out.  Appends to g, whose seq may be the same array further to the left. */
static void split(groups *g, uint32_t *used, const uint32_t *from, const int32_t *next, uint32_t m)
{
    bool done[INV_BATCH];
    uint32_t member[INV_BATCH];

    memcpy(member, from, m * sizeof *member);
    for (uint32_t i = 0; i < m; i++)
        done[i] = next[i] < 0;
    for (uint32_t i = 0; i < m; i++) {
        uint32_t size = 0;

        if (done[i])
            continue;
        for (uint32_t j = i; j < m; j++)
            if (!done[j] && next[j] == next[i]) {
                done[j] = true;
                g->seq[(*used)++] = member[j];
                size++;
            }
        g->ids[g->n] = next[i];
        g->n_seq[g->n++] = size;
    }
}

static void advance(groups *g, inv_drawer *d, inv_draw *out, const inv_plan *plan,
                    double temperature, fre_rng *rng)
{
    const groups old = *g;
    const uint32_t vocab = fre_model_info_view(d->model)->vocab;
    int32_t next[INV_BATCH];
    uint32_t used = 0, at = 0;

    g->n = 0;
    for (uint32_t i = 0; i < old.n; i++) {
        const float *logit = d->logits + (size_t)i * vocab;
        const double total = log_total(logit, vocab);
        top_list top = {.n = 0};

        for (uint32_t j = 0; j < old.n_seq[i]; j++) {
            uint32_t s = old.seq[at + j];
            inv_draw *w = &out[s];

            next[j] = next_token(&plan[s], w, logit, &top, d->model, temperature, rng);
            w->logp += (double)logit[next[j] < 0 ? d->end : next[j]] - total;
            if (next[j] >= 0)
                w->ids[w->n++] = next[j];
        }
        split(g, &used, old.seq + at, next, old.n_seq[i]);
        at += old.n_seq[i];
    }
}

fre_status inv_drawer_run_behind(inv_drawer *d, inv_draw *out, const inv_plan *plan, uint32_t n,
                                 const inv_prefix *prefix, double temperature, fre_rng *rng,
                                 fre_err *err)
{
    groups g = {.n = 1};
    fre_status st = fre_model_prefix_tokens(d->ctx, prefix->rows, prefix->n_rows, prefix->ids,
                                            prefix->n_ids, n, err);

    g.ids[0] = fre_model_bos(d->model);
    g.n_seq[0] = n;
    for (uint32_t i = 0; i < n; i++) {
        g.seq[i] = i;
        out[i].n = 0;
        out[i].kind = plan[i].kind;
        out[i].logp = 0;
    }
    for (uint32_t pos = prefix->n_rows + prefix->n_ids; st == FRE_OK && g.n > 0; pos++) {
        st = fre_model_step_shared(d->ctx, d->logits, g.ids, g.seq, g.n_seq, g.n, pos, err);
        if (st == FRE_OK)
            advance(&g, d, out, plan, temperature, rng);
    }
    return st;
}

fre_status inv_drawer_run(inv_drawer *d, inv_draw *out, const inv_plan *plan, uint32_t n,
                          const float *prefix, double temperature, fre_rng *rng, fre_err *err)
{
    const inv_prefix rows = {.rows = prefix, .n_rows = d->prefix_rows};

    return inv_drawer_run_behind(d, out, plan, n, &rows, temperature, rng, err);
}
