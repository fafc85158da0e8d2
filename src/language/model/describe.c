/* describe.c - what a file says of its model, checked before anything is loaded. */
#include "model_private.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Sanity limits of a header; above them ggml would overflow or ask for absurd memory. */
#define DIM_MAX 65536u
#define CONTEXT_MAX (1u << 24)
#define VOCAB_MAX (1u << 22)

fre_status fre_model_unusable(fre_err *err, const char *path, const char *why)
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
        return fre_model_unusable(err, path, "it has no vocabulary");
    if (tokens->bits != 0)
        return fre_model_unusable(err, path, "a token of its vocabulary appears twice");
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        const fre_gguf_pair *p = fre_gguf_find(g, beside[i]);
        uint32_t item = i == 0 ? FRE_GGUF_I32 : FRE_GGUF_F32;

        if (p && (p->type != FRE_GGUF_ARRAY || p->item_type != item || p->count != tokens->count))
            return fre_model_unusable(err, path, "the parts of its vocabulary differ in length");
    }
    if (!known_tokenizer(g))
        return fre_fail(err, FRE_E_MODEL,
                        "%s has a tokenizer of kind \"%.40s\"; bert, llama, gpt2 and t5 are "
                        "understood",
                        path, fre_gguf_text(g, "tokenizer.ggml.model"));
    if (!sound_token_kinds(g))
        return fre_model_unusable(err, path, "its vocabulary has tokens of an unknown kind");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char key[64];
        uint64_t id = 0;

        (void)snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ids[i]);
        if (fre_gguf_find(g, key) && (!fre_gguf_uint(g, &id, key) || id >= tokens->count))
            return fre_model_unusable(err, path, "a special token lies outside its vocabulary");
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
        return fre_model_unusable(err, path, "its token table does not fit its metadata");
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
uint32_t fre_model_text_tokens(const fre_model_info *info)
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

fre_status fre_model_describe(fre_model_info *info, const fre_gguf_file *g, const char *path,
                              fre_model_kind kind, fre_err *err)
{
    const char *arch = fre_gguf_text(g, "general.architecture");
    fre_status st;

    if (!arch[0] || strlen(arch) >= sizeof info->architecture)
        return fre_model_unusable(err, path, "its metadata name no architecture");
    if (strncmp(arch, "fre-e2t-", 8) == 0)
        return fre_fail(err, FRE_E_MODEL, "%s holds a companion file (%s), not a language model",
                        path, arch);
    (void)snprintf(info->architecture, sizeof info->architecture, "%s", arch);
    fre_model_label(info->name, sizeof info->name, fre_gguf_text(g, "general.name"));
    st = kind == FRE_MODEL_EMBEDDER ? check_embedder(g, info, path, err)
                                    : check_decoder(g, info, path, err);
    return st == FRE_OK ? check_shape(g, info, path, err) : st;
}
