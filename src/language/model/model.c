/* Opening a model: the file is checked first, then llama.cpp loads it on the CPU alone, so that
 * the numbers do not depend on what else the machine has. */
#include "bert_text.h"
#include "model_private.h"
#include "reference.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sanity limits of a header; above them ggml would overflow or ask for absurd memory. */
#define DIM_MAX 65536u
#define CONTEXT_MAX (1u << 24)
#define VOCAB_MAX (1u << 22)

static fre_status unusable(fre_err *err, const char *path, const char *why)
{
    return fre_fail(err, FRE_E_MODEL, "%s is not a usable model: %s", path, why);
}

/* "<architecture>.<name>" */
static bool arch_uint(const fre_gguf_file *g, uint64_t *out, const char *name)
{
    char key[FRE_GGUF_TEXT_BYTES + 64];

    (void)snprintf(key, sizeof key, "%s.%s", fre_gguf_text(g, "general.architecture"), name);
    return fre_gguf_uint(g, out, key);
}

static fre_status need(const fre_gguf_file *g, uint64_t *out, const char *name, uint64_t max,
                       const char *path, fre_err *err)
{
    *out = 0;
    if (!arch_uint(g, out, name) || *out == 0 || *out > max)
        return fre_fail(err, FRE_E_MODEL,
                        "%s is not a usable model: its metadata have no sound value for %s.%s",
                        path, fre_gguf_text(g, "general.architecture"), name);
    return FRE_OK;
}

static bool known_tokenizer(const fre_gguf_file *g)
{
    static const char *const known[] = {"bert", "llama", "gpt2", "t5"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(fre_gguf_text(g, "tokenizer.ggml.model"), known[i]) == 0)
            return true;
    return false;
}

/* Kinds of tokens.  llama.cpp asserts that a token of kind "byte" stands in a vocabulary that
 * spells bytes as <0xXX>: those of SentencePiece. */
static bool sound_token_kinds(const fre_gguf_file *g)
{
    const fre_gguf_pair *p = fre_gguf_find(g, "tokenizer.ggml.token_type");
    const char *model = fre_gguf_text(g, "tokenizer.ggml.model");
    uint64_t known = (UINT64_C(1) << (LLAMA_TOKEN_TYPE_BYTE + 1)) - 1;
    bool bytes = p && (p->bits & UINT64_C(1) << LLAMA_TOKEN_TYPE_BYTE) != 0;

    if (p && (p->bits & ~known) != 0)
        return false;
    return !bytes || strcmp(model, "llama") == 0 || strcmp(model, "t5") == 0;
}

/* Vocabulary arrays that llama.cpp indexes by token id without looking at their lengths. */
static fre_status check_vocabulary(const fre_gguf_file *g, fre_model_info *info, const char *path,
                                   fre_err *err)
{
    static const char *const beside[] = {"tokenizer.ggml.token_type", "tokenizer.ggml.scores"};
    static const char *const ids[] = {"bos",       "eos",     "eot",  "unknown",
                                      "seperator", "padding", "mask", "cls"};
    const fre_gguf_pair *tokens = fre_gguf_find(g, "tokenizer.ggml.tokens");

    if (!tokens || tokens->type != FRE_GGUF_ARRAY || tokens->item_type != FRE_GGUF_STRING ||
        tokens->count == 0 || tokens->count > VOCAB_MAX)
        return unusable(err, path, "it has no vocabulary");
    if (tokens->bits != 0)
        return unusable(err, path, "a token of its vocabulary appears twice");
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        const fre_gguf_pair *p = fre_gguf_find(g, beside[i]);
        uint32_t item = i == 0 ? FRE_GGUF_I32 : FRE_GGUF_F32;

        if (p && (p->type != FRE_GGUF_ARRAY || p->item_type != item || p->count != tokens->count))
            return unusable(err, path, "the parts of its vocabulary differ in length");
    }
    if (!known_tokenizer(g))
        return fre_fail(err, FRE_E_MODEL,
                        "%s has a tokenizer of kind \"%.40s\"; bert, llama, gpt2 and t5 are "
                        "understood",
                        path, fre_gguf_text(g, "tokenizer.ggml.model"));
    if (!sound_token_kinds(g))
        return unusable(err, path, "its vocabulary has tokens of an unknown kind");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char key[64];
        uint64_t id = 0;

        (void)snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ids[i]);
        if (fre_gguf_find(g, key) && (!fre_gguf_uint(g, &id, key) || id >= tokens->count))
            return unusable(err, path, "a special token lies outside its vocabulary");
    }
    info->vocab = (uint32_t)tokens->count;
    return FRE_OK;
}

/* Floats of the architecture: finite, and an epsilon within [0, 1); ggml asserts the latter. */
static fre_status check_floats(const fre_gguf_file *g, const char *path, fre_err *err)
{
    for (size_t i = 0; i < g->n_pairs; i++) {
        const fre_gguf_pair *p = &g->pair[i];
        uint32_t bits = (uint32_t)p->bits;
        float x;

        if (p->type != FRE_GGUF_F32)
            continue;
        memcpy(&x, &bits, sizeof x);
        if (!__builtin_isfinite(x) || (strstr(p->key, "epsilon") && !(x >= 0.0f && x < 1.0f)))
            return fre_fail(err, FRE_E_MODEL,
                            "%s is not a usable model: its metadata have no sound value for %s",
                            path, p->key);
    }
    return FRE_OK;
}

/* Every model that the adapter runs has its token table as token_embd.weight; its shape ties
 * the metadata to the tensors. */
static fre_status check_shape(const fre_gguf_file *g, fre_model_info *info, const char *path,
                              fre_err *err)
{
    const fre_gguf_tensor *table = fre_gguf_find_tensor(g, "token_embd.weight");
    uint64_t dim = 0, context = 0, blocks = 0, heads = 0;
    fre_status st = need(g, &dim, "embedding_length", DIM_MAX, path, err);

    if (st != FRE_OK)
        return st;
    st = need(g, &context, "context_length", CONTEXT_MAX, path, err);
    if (st != FRE_OK)
        return st;
    st = need(g, &blocks, "block_count", 512, path, err);
    if (st != FRE_OK)
        return st;
    st = need(g, &heads, "attention.head_count", 4096, path, err);
    if (st != FRE_OK)
        return st;
    st = check_floats(g, path, err);
    if (st != FRE_OK)
        return st;
    st = check_vocabulary(g, info, path, err);
    if (st != FRE_OK)
        return st;
    if (!table || table->dim[0] != dim || table->dim[1] != info->vocab)
        return unusable(err, path, "its token table does not fit its metadata");
    info->dim = (uint32_t)dim;
    info->context = (uint32_t)context;
    return FRE_OK;
}

static fre_status check_embedder(const fre_gguf_file *g, fre_model_info *info, const char *path,
                                 fre_err *err)
{
    static const char *const name[] = {"none", "mean", "cls", "last", "rank"};
    uint64_t pooling = 0;

    if (!arch_uint(g, &pooling, "pooling_type") || pooling == LLAMA_POOLING_TYPE_NONE)
        return fre_fail(err, FRE_E_MODEL,
                        "%s (%s) is not a sentence embedder: its metadata name no pooling; give "
                        "an embedding model such as all-MiniLM-L6-v2",
                        path, info->architecture);
    if (pooling == LLAMA_POOLING_TYPE_RANK)
        return fre_fail(err, FRE_E_MODEL,
                        "%s is a reranker (pooling \"rank\"), not a sentence embedder", path);
    if (pooling > LLAMA_POOLING_TYPE_RANK)
        return fre_fail(err, FRE_E_MODEL,
                        "%s asks for pooling %" PRIu64 ", which is unknown: mean, cls and last "
                        "are understood",
                        path, pooling);
    (void)snprintf(info->pooling, sizeof info->pooling, "%s", name[pooling]);
    info->normalised = true;
    return FRE_OK;
}

static fre_status check_decoder(const fre_gguf_file *g, fre_model_info *info, const char *path,
                                fre_err *err)
{
    const fre_gguf_pair *causal;
    char key[FRE_GGUF_TEXT_BYTES + 64];
    uint64_t pooling = 0;

    (void)snprintf(key, sizeof key, "%s.attention.causal", info->architecture);
    causal = fre_gguf_find(g, key);
    if ((causal && causal->bits == 0) ||
        (arch_uint(g, &pooling, "pooling_type") && pooling != LLAMA_POOLING_TYPE_NONE))
        return fre_fail(err, FRE_E_MODEL,
                        "%s (%s) is an embedder: it gives no logits of a next token; give it as "
                        "{embedder}, and here a causal language model",
                        path, info->architecture);
    (void)snprintf(info->pooling, sizeof info->pooling, "none");
    return FRE_OK;
}

/* Letters and digits, case-blind: names of one model differ in their hyphens. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a))
            a++;
        while (*b && !isalnum((unsigned char)*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

/* Some sentence models are used with less than they can take: max_seq_length in the
 * sentence_bert_config.json that their authors publish, which GGUF has no key for.  The bundled file
 * carries the name of the model that it was trained from, so its hash tells it. */
static uint32_t text_tokens(const fre_model_info *info)
{
    static const struct {
        const char *name, *sha256;
        uint32_t tokens;
    } known[] = {
        {"all-MiniLM-L6-v2", "bf1d74689ea4b1d2db7bc1ee52ed8f4618984437d05ba47d7513d24a8c5f18ed",
         256},
        {"all-MiniLM-L12-v2", "", 128},
    };
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (same_name(info->name, known[i].name) || strcmp(hash, known[i].sha256) == 0)
            return known[i].tokens < info->context ? known[i].tokens : info->context;
    return info->context;
}

static fre_status describe(fre_model_info *info, const fre_gguf_file *g, const char *path,
                           fre_model_kind kind, fre_err *err)
{
    const char *arch = fre_gguf_text(g, "general.architecture");
    fre_status st;

    if (!arch[0] || strlen(arch) >= sizeof info->architecture)
        return unusable(err, path, "its metadata name no architecture");
    if (strncmp(arch, "fre-e2t-", 8) == 0)
        return fre_fail(err, FRE_E_MODEL, "%s holds a companion file (%s), not a language model",
                        path, arch);
    (void)snprintf(info->architecture, sizeof info->architecture, "%s", arch);
    fre_model_label(info->name, sizeof info->name, fre_gguf_text(g, "general.name"));
    st = kind == FRE_MODEL_EMBEDDER ? check_embedder(g, info, path, err)
                                    : check_decoder(g, info, path, err);
    return st == FRE_OK ? check_shape(g, info, path, err) : st;
}

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
    fre_runtime_clear_error();
    m->llama = llama_model_load_from_file(path, p);
    if (!m->llama && fre_runtime_few_files_left())
        return fre_open_failed(err, EMFILE, FRE_E_IO, NULL, "cannot open the model %s", path);
    if (!m->llama)
        return fre_fail(err, FRE_E_MODEL, "%s is not a usable model: llama.cpp says: %s", path,
                        fre_runtime_last_error()[0] ? fre_runtime_last_error() : "load failed");
    m->vocab = llama_model_get_vocab(m->llama);
    if ((uint32_t)llama_vocab_n_tokens(m->vocab) != m->info.vocab ||
        (!fre_model_is_own(m) && (uint32_t)llama_model_n_ctx_train(m->llama) != m->info.context))
        return unusable(err, path, "llama.cpp reads its metadata differently");
    if (!special_tokens_exist(m))
        return unusable(err, path, "a special token is missing from its vocabulary");
    if (!spells_every_byte(m->vocab, m->info.vocab))
        return unusable(err, path, "its vocabulary cannot spell every byte");
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
    st = describe(&m->info, &g, path, kind, err);
    if (st != FRE_OK)
        goto out;
    st = fre_sha256_file(m->info.sha256, path, err);
    if (st != FRE_OK)
        goto out;
    m->info.text_tokens = text_tokens(&m->info);
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
