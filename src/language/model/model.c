/* Opening a model: the file is checked first, then llama.cpp loads it on the CPU alone, so that
 * the numbers do not depend on what else the machine has. */
#include "bert_text.h"
#include "model_private.h"
#include "reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* llama.cpp has ids of its own for special tokens that the metadata leave out, drops those that
 * lie outside the vocabulary, and asserts that the ones it adds to a text exist. */
static bool special_tokens_exist(const fre_model *m)
{
    const struct llama_vocab *v = m->vocab;
    const llama_token id[] = {llama_vocab_bos(v), llama_vocab_eos(v), llama_vocab_eot(v),
                              llama_vocab_sep(v), llama_vocab_pad(v), llama_vocab_mask(v)};
    bool wordpiece = llama_vocab_type(v) == LLAMA_VOCAB_TYPE_WPM;

    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        if (id[i] != LLAMA_TOKEN_NULL && (id[i] < 0 || (uint32_t)id[i] >= m->info.vocab))
            return false;
    if ((wordpiece || llama_vocab_get_add_bos(v)) && llama_vocab_bos(v) == LLAMA_TOKEN_NULL)
        return false;
    if (wordpiece && llama_vocab_sep(v) == LLAMA_TOKEN_NULL)
        return false;
    return !llama_vocab_get_add_eos(v) || llama_vocab_eos(v) != LLAMA_TOKEN_NULL;
}

/* llama.cpp throws where a vocabulary of SentencePiece's kind cannot spell a byte of a text. */
static bool spells_every_byte(const struct llama_vocab *v, uint32_t n)
{
    bool seen[256] = {false};
    unsigned byte;

    if (llama_vocab_type(v) != LLAMA_VOCAB_TYPE_SPM)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        const char *text = llama_vocab_get_text(v, (llama_token)i);

        if (strlen(text) == 6 && sscanf(text, "<0x%2X>", &byte) == 1)
            seen[byte] = true;
        else if (strlen(text) == 1)
            seen[(unsigned char)text[0]] = true;
    }
    for (size_t i = 0; i < sizeof seen; i++)
        if (!seen[i])
            return false;
    return true;
}

static fre_status find_ends(fre_model *m)
{
    for (uint32_t i = 0; i < m->info.vocab; i++)
        m->n_ends += fre_model_is_end(m, (int32_t)i);
    m->ends = calloc((size_t)m->n_ends + 1, sizeof *m->ends);
    if (!m->ends)
        return FRE_E_NOMEM;
    for (uint32_t i = 0, n = 0; n < m->n_ends; i++)
        if (fre_model_is_end(m, (int32_t)i))
            m->ends[n++] = (int32_t)i;
    return FRE_OK;
}

static const char *token_text(const void *vocab, int32_t id)
{
    return llama_vocab_get_text(vocab, id);
}

static bool token_is_special(const void *vocab, int32_t id)
{
    return llama_vocab_is_control(vocab, id);
}

static bool yes_or_no(const fre_gguf_file *g, const char *key, bool *has)
{
    const fre_gguf_pair *p = fre_gguf_find(g, key);

    *has = p && p->type == FRE_GGUF_BOOL;
    return *has && p->bits != 0;
}

/* WordPiece is our own; an odd vocabulary without an unknown token is left to llama.cpp. */
static fre_status open_wordpiece(fre_model *m, const fre_gguf_file *g)
{
    fre_wordpiece_opts o = {.n = m->info.vocab, .unknown = -1};
    uint64_t unknown = 0;
    fre_status st;

    if (fre_gguf_uint(g, &unknown, "tokenizer.ggml.unknown_token_id"))
        m->unknown = o.unknown = (int32_t)unknown; /* < vocab: checked */
    if (llama_vocab_type(m->vocab) != LLAMA_VOCAB_TYPE_WPM)
        return FRE_OK;
    o.begin = llama_vocab_bos(m->vocab);
    o.end = llama_vocab_sep(m->vocab);
    o.lower = yes_or_no(g, "tokenizer.ggml.normalizer.lowercase", &o.has_lower);
    o.strip = yes_or_no(g, "tokenizer.ggml.normalizer.strip_accents", &o.has_strip);
    st = fre_wordpiece_new(&m->wordpiece, &o, token_text, token_is_special, m->vocab);
    if (st == FRE_OK)
        m->unknown = fre_wordpiece_unknown(m->wordpiece);
    return st == FRE_E_MODEL ? FRE_OK : st;
}

/* What embedders' tokens say of a text's language. */
static fre_status tell_tokens(fre_model *m)
{
    if (m->kind != FRE_MODEL_EMBEDDER)
        return FRE_OK;
    m->token_kind = calloc(m->info.vocab, 1);
    if (!m->token_kind)
        return FRE_E_NOMEM;
    for (uint32_t i = 0; i < m->info.vocab; i++) {
        const char *t = llama_vocab_get_text(m->vocab, (llama_token)i);

        if (fre_model_is_control(m, (int32_t)i) || (int32_t)i == m->unknown)
            continue;
        if (fre_bert_is_sign(t, strlen(t)))
            m->token_kind[i] |= TOKEN_SIGN;
        if (m->wordpiece && fre_wordpiece_is_inside(t))
            m->token_kind[i] |= TOKEN_INSIDE;
    }
    return FRE_OK;
}

static bool goes_on(float progress, void *ctx)
{
    (void)progress;
    (void)ctx;
    return !fre_interrupted();
}

static fre_status load(fre_model *m, const fre_gguf_file *g, const char *path, fre_err *err)
{
    ggml_backend_dev_t cpu_only[] = {NULL};
    struct llama_model_params p = llama_model_default_params();
    fre_status st;

    p.devices = cpu_only;
    p.n_gpu_layers = 0;
    p.load_mode = LLAMA_LOAD_MODE_MMAP;
    p.check_tensors = !fre_model_is_own(m);
    p.vocab_only = fre_model_is_own(m);
    /* Repacked weights switch kernels with the number of rows (docs/decisions): a text's
     * embedding would depend on what it is computed beside. */
    p.use_extra_bufts = false;
    p.progress_callback = goes_on;
    fre_runtime_clear_error();
    m->llama = llama_model_load_from_file(path, p);
    if (!m->llama && fre_interrupted())
        return fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    if (!m->llama && fre_runtime_few_files_left())
        return fre_open_failed(err, EMFILE, FRE_E_IO, NULL, "cannot open the model %s", path);
    if (!m->llama)
        return fre_fail(err, FRE_E_MODEL, "%s is not a usable model: llama.cpp says: %s", path,
                        fre_runtime_last_error()[0] ? fre_runtime_last_error() : "load failed");
    m->vocab = llama_model_get_vocab(m->llama);
    if ((uint32_t)llama_vocab_n_tokens(m->vocab) != m->info.vocab ||
        (!fre_model_is_own(m) && (uint32_t)llama_model_n_ctx_train(m->llama) != m->info.context))
        return fre_model_unusable(err, path, "llama.cpp reads its metadata differently");
    if (!special_tokens_exist(m))
        return fre_model_unusable(err, path, "a special token is missing from its vocabulary");
    if (!spells_every_byte(m->vocab, m->info.vocab))
        return fre_model_unusable(err, path, "its vocabulary cannot spell every byte");
    st = open_wordpiece(m, g);
    if (st == FRE_OK)
        st = tell_tokens(m);
    if (st == FRE_OK)
        st = find_ends(m);
    if (st != FRE_OK)
        return fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
    if (m->kind == FRE_MODEL_DECODER && llama_model_has_encoder(m->llama))
        return fre_fail(err, FRE_E_MODEL,
                        "%s (%s) gives no logits of a next token without a second text: it is an "
                        "encoder with a decoder; give a causal language model",
                        path, m->info.architecture);
    if (fre_model_is_own(m))
        return FRE_OK;
    m->info.dim = (uint32_t)(m->kind == FRE_MODEL_EMBEDDER ? llama_model_n_embd_out(m->llama)
                                                           : llama_model_n_embd_inp(m->llama));
    return FRE_OK;
}

/* kernels NULL: llama.cpp runs the model whatever its shape. */
static fre_status open_with(fre_model **out, const char *path, fre_model_kind kind,
                            const fre_kernels *kernels, fre_err *err)
{
    fre_gguf_file g = {0};
    fre_model *m = NULL;
    fre_status st = FRE_OK;

    m = calloc(1, sizeof *m);
    if (!m) {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory opening %s", path);
        goto out;
    }
    m->kind = kind;
    m->unknown = -1;
    m->kernels = kernels;
    st = fre_gguf_read(&g, path, err);
    if (st != FRE_OK)
        goto out;
    st = fre_model_describe(&m->info, &g, path, kind, err);
    if (st != FRE_OK)
        goto out;
    st = fre_sha256_file(m->info.sha256, path, err);
    if (st != FRE_OK)
        goto out;
    m->info.text_tokens = fre_model_text_tokens(&m->info);
    st = fre_runtime_start(err);
    if (st == FRE_OK && kind == FRE_MODEL_EMBEDDER && kernels)
        st = fre_bert_load(&m->bert, &g, path, err);
    if (st == FRE_OK && kind == FRE_MODEL_DECODER && kernels)
        st = fre_causal_load(&m->causal, &g, path, err);
    if (st != FRE_OK)
        goto out;
    st = load(m, &g, path, err);
    if (st != FRE_OK)
        goto out;
    *out = m;
    m = NULL; /* handed over */
out:
    fre_gguf_wipe(&g);
    fre_model_free(m);
    return st;
}

fre_status fre_model_architecture(char *out, size_t n, const char *path, fre_err *err)
{
    fre_gguf_file g = {0};
    fre_status st = fre_gguf_read(&g, path, err);

    if (st == FRE_OK)
        fre_model_label(out, n, fre_gguf_text(&g, "general.architecture"));
    fre_gguf_wipe(&g);
    return st;
}

fre_status fre_model_open(fre_model **out, const char *path, fre_model_kind kind, fre_err *err)
{
    if (!out || !path || (kind != FRE_MODEL_EMBEDDER && kind != FRE_MODEL_DECODER))
        return fre_fail(err, FRE_E_ARG, "fre_model_open needs a path and a kind");
    return open_with(out, path, kind, fre_kernels_pick(), err);
}

fre_status fre_model_open_reference(fre_model **out, const char *path, fre_model_kind kind,
                                    const char *kernels, fre_err *err)
{
    const fre_kernels *k = kernels ? fre_kernels_named(kernels) : NULL;
    fre_model *m = NULL;
    fre_status st;

    if (kernels && !k)
        return FRE_E_STATE;
    st = open_with(&m, path, kind, k, err);
    if (st == FRE_OK && kernels && !fre_model_is_own(m)) {
        fre_model_free(m);
        return FRE_E_STATE;
    }
    if (st == FRE_OK)
        *out = m;
    return st;
}

bool fre_model_is_own(const fre_model *m)
{
    return m->bert || m->causal;
}

void fre_model_free(fre_model *m)
{
    if (!m)
        return;
    fre_wordpiece_free(m->wordpiece); /* borrows the vocabulary's spellings */
    if (m->llama)
        llama_model_free(m->llama);
    fre_bert_free(m->bert);
    fre_causal_free(m->causal);
    free(m->ends);
    free(m->token_kind);
    free(m);
}

const fre_model_info *fre_model_info_view(const fre_model *m)
{
    return &m->info;
}
