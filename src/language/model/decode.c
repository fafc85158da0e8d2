/* A causal model: a prefix of input rows, then token by token for many samples side by side. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

/* Input rows at positions 0.. of sequence 0, in llama.cpp. */
static fre_status run_rows(fre_model_ctx *c, const float *rows, uint32_t n_rows, fre_err *err)
{
    struct llama_batch b;
    int32_t code;

    if (n_rows == 0)
        return FRE_OK;
    b = llama_batch_init((int32_t)n_rows, (int32_t)c->model->info.dim, 1);
    if (!b.embd || !b.pos || !b.seq_id || !b.logits) {
        llama_batch_free(b);
        return fre_fail(err, FRE_E_NOMEM, "out of memory running the model");
    }
    b.n_tokens = (int32_t)n_rows;
    memcpy(b.embd, rows, (size_t)n_rows * c->model->info.dim * sizeof *rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        b.pos[i] = (llama_pos)i;
        b.n_seq_id[i] = 1;
        b.seq_id[i][0] = 0;
        b.logits[i] = false;
    }
    fre_runtime_clear_error();
    code = llama_decode(c->llama, b);
    llama_batch_free(b);
    return fre_model_result(code, err);
}

/* Tokens at positions from.. of sequence 0. */
static fre_status run_tokens(fre_model_ctx *c, const int32_t *ids, uint32_t n, uint32_t from,
                             fre_err *err)
{
    if (n == 0)
        return FRE_OK;
    c->batch.n_tokens = 0;
    for (uint32_t i = 0; i < n; i++)
        fre_model_batch_add(c, ids[i], from + i, 0, false);
    fre_runtime_clear_error();
    return fre_model_result(llama_decode(c->llama, c->batch), err);
}

fre_status fre_model_prefix_tokens(fre_model_ctx *c, const float *rows, uint32_t n_rows,
                                   const int32_t *ids, uint32_t n_ids, uint32_t n_seqs,
                                   fre_err *err)
{
    llama_memory_t memory;
    fre_status st;

    if (!c || c->model->kind != FRE_MODEL_DECODER || c->score || (!rows && n_rows > 0) ||
        n_rows + n_ids == 0 || n_rows > c->max_tokens || n_ids > c->max_tokens - n_rows ||
        (n_ids > 0 && !ids) || n_seqs == 0 || n_seqs > c->max_seqs)
        return fre_fail(err, FRE_E_ARG, "fre_model_prefix: rows or sequences out of range");
    for (uint32_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->info.vocab)
            return fre_fail(err, FRE_E_ARG, "fre_model_prefix: token out of range");
    if (c->model->causal) {
        fre_causal_prefix(c->model->causal, c->state, c->model->kernels, rows, n_rows, ids, n_ids,
                          n_seqs);
        return FRE_OK;
    }
    memory = llama_get_memory(c->llama);
    llama_memory_clear(memory, false);
    st = run_rows(c, rows, n_rows, err);
    if (st == FRE_OK)
        st = run_tokens(c, ids, n_ids, n_rows, err);
    for (uint32_t s = 1; st == FRE_OK && s < n_seqs; s++)
        llama_memory_seq_cp(memory, 0, (llama_seq_id)s, -1, -1);
    return st;
}

fre_status fre_model_prefix(fre_model_ctx *c, const float *rows, uint32_t n_rows, uint32_t n_seqs,
                            fre_err *err)
{
    return fre_model_prefix_tokens(c, rows, n_rows, NULL, 0, n_seqs, err);
}

/* llama.cpp runs sequences with consecutive numbers as one product and starts another one at
 * every gap, so sequences that the caller has finished are run along (their output is dropped)
 * unless most are finished.  seen[s]: index in ids plus one. */
static void fill(fre_model_ctx *c, const uint32_t *seen, const int32_t *ids, uint32_t n,
                 uint32_t first, uint32_t last, uint32_t pos)
{
    bool along = last - first + 1 <= 2 * n;

    c->batch.n_tokens = 0;
    for (uint32_t s = first; s <= last; s++) {
        if (seen[s])
            fre_model_batch_add(c, ids[seen[s] - 1], pos, s, true);
        else if (along && llama_memory_seq_pos_max(llama_get_memory(c->llama), (llama_seq_id)s) ==
                              (llama_pos)pos - 1)
            fre_model_batch_add(c, 0, pos, s, false);
    }
}

/* seen[s]: index of sequence s in ids plus one; false: something is out of range. */
static bool index_sequences(const fre_model_ctx *c, uint32_t *seen, const int32_t *ids,
                            const uint32_t *seq, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (seq[i] >= c->max_seqs || seen[seq[i]] || ids[i] < 0 ||
            (uint32_t)ids[i] >= c->model->info.vocab)
            return false;
        seen[seq[i]] = i + 1;
    }
    return true;
}

static fre_status read_logits(const fre_model_ctx *c, float *logits, const uint32_t *seen,
                              fre_err *err)
{
    size_t vocab = c->model->info.vocab;

    for (int32_t i = 0; i < c->batch.n_tokens; i++) {
        uint32_t at = seen[c->batch.seq_id[i][0]];
        const float *row = at ? llama_get_logits_ith(c->llama, i) : NULL;

        if (at && !row)
            return fre_fail(err, FRE_E_INTERNAL, "llama.cpp gave no output for a sequence");
        if (row)
            memcpy(logits + (size_t)(at - 1) * vocab, row, vocab * sizeof *row);
    }
    return FRE_OK;
}

static fre_status step_causal(fre_model_ctx *c, float *logits, const int32_t *ids,
                              const uint32_t *seq, const uint32_t *n_seq, uint32_t n, uint32_t pos,
                              fre_err *err)
{
    const fre_causal_rows rows = {.ids = ids, .seq = seq, .n_seq = n_seq, .n = n, .pos = pos};
    fre_status st;

    if (fre_interrupted())
        return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    st = fre_causal_step(c->model->causal, c->state, c->model->kernels, logits, &rows);
    return st == FRE_OK ? st : fre_fail(err, st, "a sequence stepped before its earlier rows");
}

fre_status fre_model_step(fre_model_ctx *c, float *logits, const int32_t *ids, const uint32_t *seq,
                          uint32_t n, uint32_t pos, fre_err *err)
{
    uint32_t seen[MODEL_SEQS_MAX] = {0};
    uint32_t first = 0, last = MODEL_SEQS_MAX - 1;
    fre_status st;

    if (!c || c->model->kind != FRE_MODEL_DECODER || c->shared || c->score || !logits || !ids ||
        !seq || n == 0 || n > c->max_seqs || pos >= c->max_tokens)
        return fre_fail(err, FRE_E_ARG, "fre_model_step: sequences or position out of range");
    if (!index_sequences(c, seen, ids, seq, n))
        return fre_fail(err, FRE_E_ARG, "fre_model_step: token or sequence out of range");
    if (c->model->causal)
        return step_causal(c, logits, ids, seq, NULL, n, pos, err);
    while (!seen[first])
        first++;
    while (!seen[last])
        last--;
    fill(c, seen, ids, n, first, last, pos);
    fre_runtime_clear_error();
    st = fre_model_result(llama_decode(c->llama, c->batch), err);
    return st == FRE_OK ? read_logits(c, logits, seen, err) : st;
}

static bool sound_rows(const fre_model_ctx *c, const int32_t *ids, const uint32_t *seq,
                       const uint32_t *n_seq, uint32_t n)
{
    bool seen[MODEL_SEQS_MAX] = {false};

    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->model->info.vocab || n_seq[i] == 0 ||
            n_seq[i] > c->max_seqs)
            return false;
        for (uint32_t j = 0; j < n_seq[i]; j++, seq++) {
            if (*seq >= c->max_seqs || seen[*seq])
                return false;
            seen[*seq] = true;
        }
    }
    return true;
}

static void fill_shared(fre_model_ctx *c, const int32_t *ids, const uint32_t *seq,
                        const uint32_t *n_seq, uint32_t n, uint32_t pos)
{
    c->batch.n_tokens = 0;
    for (uint32_t i = 0; i < n; i++) {
        fre_model_batch_add(c, ids[i], pos, 0, true);
        c->batch.n_seq_id[i] = (int32_t)n_seq[i];
        for (uint32_t j = 0; j < n_seq[i]; j++)
            c->batch.seq_id[i][j] = (llama_seq_id)*seq++;
    }
}

fre_status fre_model_step_shared(fre_model_ctx *c, float *logits, const int32_t *ids,
                                 const uint32_t *seq, const uint32_t *n_seq, uint32_t n,
                                 uint32_t pos, fre_err *err)
{
    size_t vocab;
    fre_status st;

    if (!c || !c->shared || !logits || !ids || !seq || !n_seq || n == 0 || n > c->max_seqs ||
        pos >= c->max_tokens || !sound_rows(c, ids, seq, n_seq, n))
        return fre_fail(err, FRE_E_ARG,
                        "fre_model_step_shared: token, sequence or position out of range");
    if (c->model->causal)
        return step_causal(c, logits, ids, seq, n_seq, n, pos, err);
    fill_shared(c, ids, seq, n_seq, n, pos);
    vocab = c->model->info.vocab;
    fre_runtime_clear_error();
    st = fre_model_result(llama_decode(c->llama, c->batch), err);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++) {
        const float *row = llama_get_logits_ith(c->llama, (int32_t)i);

        if (!row)
            return fre_fail(err, FRE_E_INTERNAL, "llama.cpp gave no output for a sequence");
        memcpy(logits + i * vocab, row, vocab * sizeof *row);
    }
    return st;
}
