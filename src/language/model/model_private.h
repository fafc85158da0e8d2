/* model_private.h - what the files of module model share.  Nothing outside src/language/model sees llama.cpp's types. */
#ifndef FRE_MODEL_PRIVATE_H
#define FRE_MODEL_PRIVATE_H

#include <fre/model.h>

#include <llama.h>

#include "bert.h"
#include "causal.h"
#include "gguf_file.h"
#include "wordpiece.h"

/* LLAMA_MAX_SEQ: llama.cpp holds the sequences of a batch in a bit set of this width. */
#define MODEL_SEQS_MAX 256u
#define MODEL_ALL_MAX (1u << 24) /* tokens of one call of fre_model_score */
#define SCORE_ROWS 64u           /* whose logits llama.cpp keeps at once */

enum { TOKEN_SIGN = 1, TOKEN_INSIDE = 2 };

struct fre_model {
    struct llama_model *llama;
    const struct llama_vocab *vocab;
    fre_model_kind kind;
    fre_model_info info;
    int32_t *ends; /* the n_ends tokens that end a text */
    uint32_t n_ends;
    fre_wordpiece *wordpiece; /* NULL: llama.cpp makes the tokens */
    uint8_t *token_kind;      /* of an embedder: TOKEN_ bits of each */
    int32_t unknown;          /* id of the unknown token, -1: the vocabulary has none */
    fre_bert *bert;           /* embedder or decoder of our own: llama.cpp only has the */
    fre_causal *causal;       /* vocabulary then; both NULL: it runs the model */
    const fre_kernels *kernels;
};

struct fre_model_ctx {
    const fre_model *model;    /* borrowed */
    fre_bert_scratch *scratch; /* where the model has bert; no llama then, nor batch */
    fre_causal_state *state;   /* where it has causal; likewise */
    struct llama_context *llama;
    struct llama_batch batch; /* room for max_tokens and for max_seqs tokens */
    uint32_t max_tokens, max_seqs;
    uint32_t max_all; /* of a workspace for scores */
    bool shared;      /* one cache for all sequences: fre_model_step_shared */
    bool score;       /* fre_model_score alone */
};

/* ---- describe.c ---------------------------------------------------------------------------- */

/* FRE_E_MODEL: "PATH is not a usable model: WHY". */
fre_status fre_model_unusable(fre_err *err, const char *path, const char *why);
/* All of info but hash and text_tokens.  FRE_E_MODEL: not a model of this kind that can be run. */
FRE_MUST_CHECK fre_status fre_model_describe(fre_model_info *info, const fre_gguf_file *g,
                                             const char *path, fre_model_kind kind, fre_err *err);
/* The tokens that a text is cut to; needs the hash. */
uint32_t fre_model_text_tokens(const fre_model_info *info);

/* Load ggml's CPU backend and silence its log, once a process; cheap afterwards. */
FRE_MUST_CHECK fre_status fre_runtime_start(fre_err *err);
/* Fewer descriptors are free than loading a library or a model takes. */
bool fre_runtime_few_files_left(void);
/* What the loader calls the shared object, or the program, that a function is in; NULL: unknown. */
const char *fre_runtime_object_of(void (*fn)(void));
/* Folder of such an object, links resolved, into dir; false: unknown. */
bool fre_runtime_folder(char *dir, size_t n, const char *object);
/* Last error line of llama.cpp in this thread, without its newline; "" if there was none. */
const char *fre_runtime_last_error(void);
void fre_runtime_clear_error(void);

/* Run by bert.h or causal.h. */
bool fre_model_is_own(const fre_model *m);

/* Status of a return code of llama_encode or llama_decode. */
FRE_MUST_CHECK fre_status fre_model_result(int32_t code, fre_err *err);
/* Add a token to the batch of c; the caller keeps within its capacity. */
void fre_model_batch_add(fre_model_ctx *c, int32_t id, uint32_t pos, uint32_t seq, bool output);

#endif
