/* Log-probabilities of whole sequences: by causal.h, or by llama.cpp one sequence after the other,
 * each cut into the same runs of SCORE_ROWS rows wherever it stands. */
#include "model_private.h"

#include <math.h>

/* ln sum e^x over a row of logits; NaN if one is not finite. */
static double log_total(const float *x, uint32_t n)
{
    double top = (double)x[0], sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return NAN;
        top = (double)x[i] > top ? (double)x[i] : top;
    }
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)x[i] - top);
    return top + log(sum);
}

static double log_ends(const fre_model *m, const float *x)
{
    double top = (double)x[m->ends[0]], sum = 0;

    for (uint32_t i = 1; i < m->n_ends; i++)
        top = (double)x[m->ends[i]] > top ? (double)x[m->ends[i]] : top;
    for (uint32_t i = 0; i < m->n_ends; i++)
        sum += exp((double)x[m->ends[i]] - top);
    return top + log(sum);
}

/* Logits after ids[at .. at + rows) of a sequence of n tokens. */
static fre_status score_rows(fre_model_ctx *c, double *logp, double *end, const int32_t *ids,
                             uint32_t n, uint32_t at, uint32_t rows, fre_err *err)
{
    const fre_model *m = c->model;

    for (uint32_t i = 0; i < rows; i++) {
        const float *x = llama_get_logits_ith(c->llama, (int32_t)i);
        double all;

        if (!x)
            return fre_fail(err, FRE_E_INTERNAL, "llama.cpp gave no output for a row");
        all = log_total(x, m->info.vocab);
        if (!isfinite(all))
            return FRE_E_MODEL;
        if (at + i + 1 < n)
            logp[at + i + 1] = (double)x[ids[at + i + 1]] - all;
        else if (end)
            *end = log_ends(m, x) - all;
    }
    return FRE_OK;
}

static fre_status score_one(fre_model_ctx *c, double *logp, double *end, const int32_t *ids,
                            uint32_t n, fre_err *err)
{
    uint32_t rows = end ? n : n - 1;

    logp[0] = 0;
    llama_memory_clear(llama_get_memory(c->llama), false);
    for (uint32_t at = 0; at < rows; at += SCORE_ROWS) {
        uint32_t some = rows - at < SCORE_ROWS ? rows - at : SCORE_ROWS;
        fre_status st;

        c->batch.n_tokens = 0;
        for (uint32_t i = 0; i < some; i++)
            fre_model_batch_add(c, ids[at + i], at + i, 0, true);
        fre_runtime_clear_error();
        st = fre_model_result(llama_decode(c->llama, c->batch), err);
        if (st == FRE_OK)
            st = score_rows(c, logp, end, ids, n, at, some, err);
        if (st != FRE_OK)
            return st;
    }
    return FRE_OK;
}

static bool in_range(const fre_model_ctx *c, const int32_t *ids, const uint32_t *len,
                     uint32_t n_seqs)
{
    uint64_t all = 0;

    for (uint32_t s = 0; s < n_seqs; s++) {
        if (len[s] == 0 || len[s] > c->max_tokens)
            return false;
        all += len[s];
    }
    if (all > c->max_all)
        return false;
    for (uint64_t i = 0; i < all; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->info.vocab)
            return false;
    return true;
}

fre_status fre_model_score(fre_model_ctx *c, double *logp, double *end, const int32_t *ids,
                           const uint32_t *len, uint32_t n_seqs, fre_err *err)
{
    const fre_model *m;
    fre_status st = FRE_OK;

    if (!c || !c->score || !logp || !ids || !len || !in_range(c, ids, len, n_seqs))
        return fre_fail(err, FRE_E_ARG, "fre_model_score: sequences or tokens out of range");
    m = c->model;
    if (end && m->n_ends == 0)
        return fre_fail(err, FRE_E_MODEL,
                        "the model (%s) has no end token, so a text has no end to score",
                        m->info.architecture);
    if (m->causal) {
        const fre_causal_seqs seqs = {
            .ids = ids, .len = len, .n = n_seqs, .ends = m->ends, .n_ends = m->n_ends};

        st = fre_causal_score(m->causal, c->state, m->kernels, logp, end, &seqs);
    } else {
        for (uint32_t s = 0; s < n_seqs && st == FRE_OK; s++) {
            st = fre_interrupted() ? FRE_E_INTERRUPTED
                                   : score_one(c, logp, end ? end + s : NULL, ids, len[s], err);
            ids += len[s];
            logp += len[s];
        }
    }
    if (st == FRE_E_NOMEM)
        return fre_fail(err, st, "out of memory running the model");
    if (st == FRE_E_INTERRUPTED)
        return fre_fail(err, st, "interrupted");
    if (st == FRE_E_MODEL)
        return fre_fail(err, st,
                        "the model (%s) gave a logit that is not a finite number: its weights are "
                        "damaged",
                        m->info.architecture);
    return st;
}
