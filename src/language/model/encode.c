/* Token sequences to embeddings. */
#include "model_private.h"

#include <math.h>
#include <string.h>

/* Unit length in double, in index order: the same bits everywhere. */
static bool normalise(float *out, const float *x, uint32_t n)
{
    double sum = 0.0, scale;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    if (!isfinite(sum) || sum <= 0.0)
        return false;
    scale = 1.0 / sqrt(sum);
    for (uint32_t i = 0; i < n; i++)
        out[i] = (float)((double)x[i] * scale);
    return true;
}

static fre_status encode_one(fre_model_ctx *c, float *out, const int32_t *ids, uint32_t len,
                             fre_err *err)
{
    llama_memory_t memory = llama_get_memory(c->llama);
    const float *pooled;
    int32_t code;
    fre_status st;

    c->batch.n_tokens = 0;
    for (uint32_t i = 0; i < len; i++)
        fre_model_batch_add(c, ids[i], i, 0, true);
    fre_runtime_clear_error();
    if (memory) { /* an embedder made from a causal model */
        llama_memory_clear(memory, false);
        code = llama_decode(c->llama, c->batch);
    } else {
        code = llama_encode(c->llama, c->batch);
    }
    st = fre_model_result(code, err);
    if (st != FRE_OK)
        return st;
    pooled = llama_get_embeddings_seq(c->llama, 0);
    if (!pooled || !normalise(out, pooled, c->model->info.dim))
        return fre_fail(err, FRE_E_MODEL,
                        "the embedder gave no finite embedding: its weights are damaged");
    return FRE_OK;
}

/* The encoder of bert.h, in passes of a bounded number of tokens. */
static fre_status encode_bert(fre_model_ctx *c, float *out, const int32_t *ids, const uint32_t *len,
                              uint32_t n_seqs, fre_err *err)
{
    const fre_model *m = c->model;
    uint32_t most = c->max_tokens > BERT_TOKENS ? c->max_tokens : BERT_TOKENS;

    for (uint32_t s = 0; s < n_seqs;) {
        uint32_t tokens = len[s], n = 1;

        while (s + n < n_seqs && tokens + len[s + n] <= most)
            tokens += len[s + n++];
        if (fre_interrupted())
            return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
        fre_bert_encode(m->bert, c->scratch, m->kernels, out, ids, len + s, n);
        for (uint32_t i = 0; i < n; i++, out += m->info.dim)
            if (!normalise(out, out, m->info.dim))
                return fre_fail(err, FRE_E_MODEL,
                                "the embedder gave no finite embedding: its weights are damaged");
        ids += tokens;
        s += n;
    }
    return FRE_OK;
}

fre_status fre_model_encode(fre_model_ctx *c, float *out, const int32_t *ids, const uint32_t *len,
                            uint32_t n_seqs, fre_err *err)
{
    uint64_t all = 0;

    if (!c || c->model->kind != FRE_MODEL_EMBEDDER || !out || !ids || !len)
        return fre_fail(err, FRE_E_ARG, "fre_model_encode needs an embedder's workspace");
    for (uint32_t s = 0; s < n_seqs; s++) {
        if (len[s] == 0 || len[s] > c->max_tokens)
            return fre_fail(err, FRE_E_ARG, "a sequence must have 1..%u tokens", c->max_tokens);
        all += len[s];
    }
    for (uint64_t i = 0; i < all; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->info.vocab)
            return fre_fail(err, FRE_E_ARG, "a token lies outside the vocabulary");
    if (c->model->bert)
        return encode_bert(c, out, ids, len, n_seqs, err);
    for (uint32_t s = 0; s < n_seqs; s++) {
        fre_status st = encode_one(c, out, ids, len[s], err);

        if (st != FRE_OK)
            return st;
        out += c->model->info.dim;
        ids += len[s];
    }
    return FRE_OK;
}
