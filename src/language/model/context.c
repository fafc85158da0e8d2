/* A workspace: one llama_context with one ggml thread.  More threads in one context cost more
 * at ggml's barriers than they win on models of this size, and spin where cores are shared;
 * callers run one workspace a thread instead. */
#include "model_private.h"

#include <stdlib.h>

/* Embedder: one sequence a call, so that nothing of a batch reaches a text (see encode.c). */
static void embedder_params(struct llama_context_params *p, uint32_t max_tokens)
{
    p->n_ctx = max_tokens;
    p->n_batch = max_tokens;
    p->n_ubatch = max_tokens;
    p->n_seq_max = 1;
    p->embeddings = true;
    p->pooling_type = LLAMA_POOLING_TYPE_UNSPECIFIED; /* the model's own */
}

/* Decoder: each sequence has a cache of its own (not unified), so that a sample's numbers do not
 * depend on the samples beside it and attention never visits their rows.  Shared: one cache, in
 * which a row can belong to many sequences. */
static void decoder_params(struct llama_context_params *p, uint32_t max_tokens, uint32_t max_seqs,
                           bool shared)
{
    p->n_ctx = max_tokens * max_seqs;
    p->n_batch = max_tokens > max_seqs ? max_tokens : max_seqs;
    p->n_ubatch = p->n_batch;
    p->n_seq_max = max_seqs;
    p->kv_unified = shared;
    p->embeddings = false;
}

/* One sequence a call, as for an embedder; the logits of SCORE_ROWS rows are in memory at once. */
static void score_params(struct llama_context_params *p, uint32_t max_tokens)
{
    p->n_ctx = max_tokens;
    p->n_batch = max_tokens < SCORE_ROWS ? max_tokens : SCORE_ROWS;
    p->n_ubatch = p->n_batch;
    p->n_seq_max = 1;
    p->embeddings = false;
}

static bool stop_requested(void *ctx)
{
    (void)ctx;
    return fre_interrupted();
}

/* Workspace of llama.cpp. */
static fre_status open_llama(fre_model_ctx *c, fre_err *err)
{
    struct llama_context_params p = llama_context_default_params();

    p.n_threads = 1;
    p.n_threads_batch = 1;
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    p.offload_kqv = false;
    p.op_offload = false;
    p.no_perf = true;
    p.abort_callback = stop_requested;
    if (c->model->kind == FRE_MODEL_EMBEDDER)
        embedder_params(&p, c->max_tokens);
    else if (c->score)
        score_params(&p, c->max_tokens);
    else
        decoder_params(&p, c->max_tokens, c->max_seqs, c->shared);
    fre_runtime_clear_error();
    c->llama = llama_init_from_model(c->model->llama, p);
    if (!c->llama)
        return fre_fail(err, FRE_E_MODEL, "llama.cpp cannot run this model: %s",
                        fre_runtime_last_error()[0] ? fre_runtime_last_error()
                                                    : "no workspace could be made");
    if (c->model->kind == FRE_MODEL_DECODER && !llama_get_memory(c->llama))
        return fre_fail(err, FRE_E_MODEL,
                        "the model (%s) gives no logits of a next token: it is an encoder; give a "
                        "causal language model",
                        c->model->info.architecture);
    c->batch = llama_batch_init((int32_t)p.n_batch, 0, c->shared ? (int32_t)c->max_seqs : 1);
    if (!c->batch.token || !c->batch.pos || !c->batch.seq_id || !c->batch.logits)
        return fre_fail(err, FRE_E_NOMEM, "out of memory making a model workspace");
    return FRE_OK;
}

/* Arguments of `new` are in range. */
static fre_status make(fre_model_ctx **out, const fre_model_ctx *new, fre_err *err)
{
    const fre_model *m = new->model;
    fre_model_ctx *c = calloc(1, sizeof *c);
    fre_status st;

    if (!c)
        return fre_fail(err, FRE_E_NOMEM, "out of memory making a model workspace");
    *c = *new;
    if (m->bert)
        st = fre_bert_scratch_new(&c->scratch, m->bert, c->max_tokens);
    else if (m->causal && c->score)
        st = fre_causal_state_new_score(&c->state, m->causal, c->max_tokens, c->max_all);
    else if (m->causal)
        st = fre_causal_state_new(&c->state, m->causal, c->max_tokens, c->max_seqs);
    else
        st = open_llama(c, err);
    if (st != FRE_OK && fre_model_is_own(m))
        st = fre_fail(err, st, "out of memory making a model workspace");
    if (st == FRE_OK)
        *out = c;
    else
        fre_model_ctx_free(c);
    return st;
}

static fre_status make_steps(fre_model_ctx **out, const fre_model *m, uint32_t max_tokens,
                             uint32_t max_seqs, bool shared, fre_err *err)
{
    const fre_model_ctx c = {
        .model = m, .max_tokens = max_tokens, .max_seqs = max_seqs, .shared = shared};

    if (!out || !m || max_tokens == 0 || max_seqs == 0 || max_seqs > MODEL_SEQS_MAX ||
        max_tokens > m->info.context)
        return fre_fail(err, FRE_E_ARG, "a model workspace needs 1..%u tokens and 1..%u sequences",
                        m ? m->info.context : 0, MODEL_SEQS_MAX);
    return make(out, &c, err);
}

fre_status fre_model_ctx_new(fre_model_ctx **out, const fre_model *m, uint32_t max_tokens,
                             uint32_t max_seqs, fre_err *err)
{
    return make_steps(out, m, max_tokens, max_seqs, false, err);
}

fre_status fre_model_ctx_new_shared(fre_model_ctx **out, const fre_model *m, uint32_t max_tokens,
                                    uint32_t max_seqs, fre_err *err)
{
    if (m && m->kind != FRE_MODEL_DECODER)
        return fre_fail(err, FRE_E_ARG, "a shared workspace is for decoders");
    return make_steps(out, m, max_tokens, max_seqs, true, err);
}

fre_status fre_model_ctx_new_score(fre_model_ctx **out, const fre_model *m, uint32_t max_tokens,
                                   uint32_t max_all, fre_err *err)
{
    const fre_model_ctx c = {
        .model = m, .max_tokens = max_tokens, .max_seqs = 1, .max_all = max_all, .score = true};

    if (!out || !m || m->kind != FRE_MODEL_DECODER || max_tokens == 0 ||
        max_tokens > m->info.context || max_all < max_tokens || max_all > MODEL_ALL_MAX)
        return fre_fail(err, FRE_E_ARG,
                        "a workspace for scores needs a decoder, 1..%u tokens a sequence and at "
                        "least as many in all",
                        m ? m->info.context : 0);
    return make(out, &c, err);
}

void fre_model_ctx_free(fre_model_ctx *c)
{
    if (!c)
        return;
    if (c->batch.token)
        llama_batch_free(c->batch);
    if (c->llama)
        llama_free(c->llama);
    fre_bert_scratch_free(c->scratch);
    fre_causal_state_free(c->state);
    free(c);
}

void fre_model_batch_add(fre_model_ctx *c, int32_t id, uint32_t pos, uint32_t seq, bool output)
{
    struct llama_batch *b = &c->batch;
    int32_t i = b->n_tokens++;

    b->token[i] = id;
    b->pos[i] = (llama_pos)pos;
    b->n_seq_id[i] = 1;
    b->seq_id[i][0] = (llama_seq_id)seq;
    b->logits[i] = output;
}

/* What llama_encode and llama_decode return. */
fre_status fre_model_result(int32_t code, fre_err *err)
{
    if (code == 0)
        return FRE_OK;
    if (code == 2)
        return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    if (code == -2)
        return fre_fail(err, FRE_E_NOMEM, "out of memory running the model");
    return fre_fail(err, FRE_E_INTERNAL, "llama.cpp failed (%d): %s", code,
                    fre_runtime_last_error());
}
