/** fre/model.h - adapter over llama.cpp, the only place that includes llama.h, ggml.h, gguf.h.
 *
 * BERT-shaped embedders and small Llama-shaped decoders run in float32 kernels of our own
 * (docs/decisions/0002): a row's numbers are the same to the bit whatever is computed beside it
 * and on every processor with fused multiply-add.  Everything else runs in llama.cpp.
 * A fre_model is the weights of one GGUF file, immutable, shared between threads; a
 * fre_model_ctx is one thread's workspace (one thread at a time, one ggml thread).  Parallelism is
 * many contexts, never many threads in one (docs/decisions).  Loading checks the file before
 * llama.cpp sees it (magic, version, sizes, architecture) so that a damaged one is one sentence.
 */
#ifndef FRE_MODEL_H
#define FRE_MODEL_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fre_model_kind {
    FRE_MODEL_EMBEDDER, /**< encoder with mean/cls/last pooling: embeddings */
    FRE_MODEL_DECODER   /**< causal language model */
} fre_model_kind;

typedef struct fre_model fre_model;
typedef struct fre_model_ctx fre_model_ctx;

typedef struct fre_model_info {
    char name[128], architecture[64];
    uint8_t sha256[FRE_HASH_BYTES];
    uint32_t dim;         /**< width of an embedding (embedder) or of the input rows (decoder) */
    uint32_t context;     /**< tokens the model can take */
    uint32_t text_tokens; /**< embedder: tokens of a text that it is used with, special ones
                                 included; the rest of a text is cut off.  <= context */
    uint32_t vocab;
    char pooling[16]; /**< "mean", "cls", "last"; "none" for a decoder */
    bool normalised;  /**< embedder: output is L2-normalised here (all sentence models) */
} fre_model_info;

/** FRE_E_NOINPUT: missing or unreadable; FRE_E_MODEL: not GGUF, truncated, another architecture
 * or kind, pooling that the adapter does not have. */
FRE_API FRE_MUST_CHECK fre_status fre_model_open(fre_model **out, const char *path,
                                                 fre_model_kind kind, fre_err *err);
FRE_API void fre_model_free(fre_model *m);
/** What a GGUF file says that it is, as a label; "": nothing.  FRE_E_NOINPUT, FRE_E_MODEL. */
FRE_API FRE_MUST_CHECK fre_status fre_model_architecture(char *out, size_t n, const char *path,
                                                         fre_err *err);
FRE_API const fre_model_info *fre_model_info_view(const fre_model *m);

/** Workspace.  max_tokens: the longest sequence; max_seqs: sequences decoded side by side
 * (decoder: samples a prefix is copied to; embedder: texts a batch). */
FRE_API FRE_MUST_CHECK fre_status fre_model_ctx_new(fre_model_ctx **out, const fre_model *m,
                                                    uint32_t max_tokens, uint32_t max_seqs,
                                                    fre_err *err);
FRE_API void fre_model_ctx_free(fre_model_ctx *c);

/** Token ids of a text (with `special`, the special tokens that the model wants are added; text
 * that looks like one is never read as one).  *n in: capacity, out: how many there are in all;
 * if that exceeds the capacity the first `capacity` are written, the last of them replaced by
 * the closing special token ([SEP]) where the model has one.  FRE_E_DATA: not valid UTF-8. */
FRE_API FRE_MUST_CHECK fre_status fre_model_tokenize(const fre_model *m, int32_t *ids, size_t *n,
                                                     const char *text, size_t len, bool special);
/** Text of ids joined from their pieces, without special tokens, appended to out. */
FRE_API FRE_MUST_CHECK fre_status fre_model_detokenize(const fre_model *m, fre_buf *out,
                                                       const int32_t *ids, size_t n);
/** Bytes in front of the first that is not part of well-formed UTF-8; n: all are. */
FRE_API size_t fre_model_utf8(const char *text, size_t n);
/** Largest cut <= max of n bytes of UTF-8 that splits no character; n where n <= max. */
FRE_API size_t fre_model_cut(const char *text, size_t n, size_t max);
/** A name out of a file, for people: text into out, cut to fit n bytes, with '?' for each byte of a
 * control character and each that is not UTF-8. */
FRE_API void fre_model_label(char *out, size_t n, const char *text);
FRE_API int32_t fre_model_bos(const fre_model *m);
FRE_API bool fre_model_is_end(const fre_model *m, int32_t id);
/** A control token: begin, end, a role of a dialogue; never part of a text. */
FRE_API bool fre_model_is_control(const fre_model *m, int32_t id);
FRE_API bool fre_model_is_unknown(const fre_model *m, int32_t id);
/** Spelt without a letter, a digit or a mark (an embedder's token; false for others). */
FRE_API bool fre_model_is_sign(const fre_model *m, int32_t id);
/** A piece in the midst of a word, in a vocabulary whose words are whole where they are common
 * (WordPiece; false in others). */
FRE_API bool fre_model_is_inside(const fre_model *m, int32_t id);

/** Id of the control token that is spelt so, e.g. "<|endoftext|>"; -1: there is none. */
FRE_API int32_t fre_model_control(const fre_model *m, const char *spelling);

/** Embedder: n_seqs token sequences (ids concatenated, lengths in len) -> n_seqs x dim floats,
 * pooled by the model's own pooling and normalised. */
FRE_API FRE_MUST_CHECK fre_status fre_model_encode(fre_model_ctx *c, float *out, const int32_t *ids,
                                                   const uint32_t *len, uint32_t n_seqs,
                                                   fre_err *err);

/** Decoder: forget everything; run n_rows input rows (n_rows x dim floats) at positions 0..
 * as sequence 0; then copy sequence 0 to 1..n_seqs-1. */
FRE_API FRE_MUST_CHECK fre_status fre_model_prefix(fre_model_ctx *c, const float *rows,
                                                   uint32_t n_rows, uint32_t n_seqs, fre_err *err);
/** The same with n_ids tokens at the positions after the rows, of which there may then be none (rows
 * NULL, n_rows 0). */
FRE_API FRE_MUST_CHECK fre_status fre_model_prefix_tokens(fre_model_ctx *c, const float *rows,
                                                          uint32_t n_rows, const int32_t *ids,
                                                          uint32_t n_ids, uint32_t n_seqs,
                                                          fre_err *err);
/** One step: token ids[i] at position pos in sequence seq[i] (all different), i < n; logits: n x
 * vocab floats, row i for ids[i].  Every sequence has stepped through every position before
 * pos; one that is left out of a step is finished until the next prefix.  FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_model_step(fre_model_ctx *c, float *logits,
                                                 const int32_t *ids, const uint32_t *seq,
                                                 uint32_t n, uint32_t pos, fre_err *err);

/** Decoder workspace for sequences that have much in common: a row that several share is run once
 * (fre_model_prefix, then fre_model_step_shared; fre_model_step refuses it).  A sample's numbers
 * depend in the last bits on the sequences beside it. */
FRE_API FRE_MUST_CHECK fre_status fre_model_ctx_new_shared(fre_model_ctx **out, const fre_model *m,
                                                           uint32_t max_tokens, uint32_t max_seqs,
                                                           fre_err *err);
/** One step: token ids[i] at position pos in n_seq[i] sequences whose texts so far are equal; seq
 * lists those of row 0, then those of row 1, ...; logits: n x vocab floats. */
FRE_API FRE_MUST_CHECK fre_status fre_model_step_shared(fre_model_ctx *c, float *logits,
                                                        const int32_t *ids, const uint32_t *seq,
                                                        const uint32_t *n_seq, uint32_t n,
                                                        uint32_t pos, fre_err *err);

/** Decoder workspace for fre_model_score alone: sequences of at most max_tokens tokens, together
 * at most max_all (>= max_tokens) in a call.  FRE_E_MODEL: an encoder, which predicts no text. */
FRE_API FRE_MUST_CHECK fre_status fre_model_ctx_new_score(fre_model_ctx **out, const fre_model *m,
                                                          uint32_t max_tokens, uint32_t max_all,
                                                          fre_err *err);
/** n_seqs token sequences (ids concatenated, lengths >= 1 in len) -> logp: one number a token, ln p(token | those before it), and 0 for the first of each
 * sequence; end (NULL: not wanted): n_seqs, ln of the probability of all end tokens together after
 * the sequence.  A sequence's numbers are the same to the bit whatever is beside it; leading tokens
 * that it shares with the sequence before it are run once.  FRE_E_MODEL: a logit is not finite, or
 * end is wanted and the vocabulary has no end token.  FRE_E_INTERRUPTED is polled. */
FRE_API FRE_MUST_CHECK fre_status fre_model_score(fre_model_ctx *c, double *logp, double *end,
                                                  const int32_t *ids, const uint32_t *len,
                                                  uint32_t n_seqs, fre_err *err);

/* ---- plain tensors from a GGUF file (projector, priors, codebooks) -------------------------- */

typedef struct fre_tensors fre_tensors;
FRE_API FRE_MUST_CHECK fre_status fre_tensors_open(fre_tensors **out, const char *path,
                                                   const char *architecture, fre_err *err);
/** Tensor as floats (f16, f32 are converted), rows x cols row-major; borrowed until free.
 * FRE_E_MODEL: absent or of another shape (rows 1 for a vector). */
FRE_API FRE_MUST_CHECK fre_status fre_tensors_get(const fre_tensors *t, const float **out,
                                                  const char *name, size_t rows, size_t cols,
                                                  fre_err *err);
/** The same for a tensor of whole numbers, of that type and no other. */
FRE_API FRE_MUST_CHECK fre_status fre_tensors_get_i8(const fre_tensors *t, const int8_t **out,
                                                     const char *name, size_t rows, size_t cols,
                                                     fre_err *err);
FRE_API FRE_MUST_CHECK fre_status fre_tensors_get_i32(const fre_tensors *t, const int32_t **out,
                                                      const char *name, size_t rows, size_t cols,
                                                      fre_err *err);
FRE_API bool fre_tensors_has(const fre_tensors *t, const char *name);
/** Unsigned metadata value; FRE_E_MODEL if absent. */
FRE_API FRE_MUST_CHECK fre_status fre_tensors_u32(const fre_tensors *t, uint32_t *out,
                                                  const char *key, fre_err *err);
/** Float metadata value; FRE_E_MODEL if absent. */
FRE_API FRE_MUST_CHECK fre_status fre_tensors_f32(const fre_tensors *t, float *out, const char *key,
                                                  fre_err *err);
/** String metadata value (first 127 bytes), "" if absent. */
FRE_API const char *fre_tensors_text(const fre_tensors *t, const char *key);
FRE_API const uint8_t *fre_tensors_sha256(const fre_tensors *t);
FRE_API void fre_tensors_free(fre_tensors *t);

/** A metadata value to write: text, or where text is NULL the number. */
typedef struct fre_tensors_pair {
    const char *key, *text;
    uint32_t number;
} fre_tensors_pair;
typedef enum fre_tensors_type { FRE_TENSORS_F32, FRE_TENSORS_I8, FRE_TENSORS_I32 } fre_tensors_type;
/** A matrix to write, row-major; rows 1: a vector. */
typedef struct fre_tensors_entry {
    const char *name;
    const void *value; /**< of its type */
    size_t rows, cols;
    fre_tensors_type type; /**< as zeroed: float */
} fre_tensors_entry;
/** Such a file on f, at its start.  Keys and names must differ from each other (names of at
 * most 63 bytes, keys of 127).  FRE_E_IO. */
FRE_API FRE_MUST_CHECK fre_status fre_tensors_write(FILE *f, const char *architecture,
                                                    const fre_tensors_pair *pair, size_t n_pairs,
                                                    const fre_tensors_entry *entry,
                                                    size_t n_entries, fre_err *err);

/** Where bundled models are looked for: $FRE_MODEL_DIR, beside the program, and beside the
 * shared object that holds this code (each: models, ../share/fre-e2t/models, ../models and up), the install prefix, and for models that are not bundled $XDG_CACHE_HOME/fre-e2t or
 * ~/.cache/fre-e2t.  Fills path; FRE_E_NOINPUT says where it looked. */
FRE_API FRE_MUST_CHECK fre_status fre_model_find(char *path, size_t n, const char *name,
                                                 fre_err *err);
/** The same for bundled data, which lies beside the models, in data. */
FRE_API FRE_MUST_CHECK fre_status fre_data_find(char *path, size_t n, const char *name,
                                                fre_err *err);

/** Which file of some kind ("prior") serves a model: path itself; path NULL: what lies beside the model
 * (model_path NULL: unknown), "dir/name.prior.gguf" for "dir/name.q8_0.gguf", written to beside (n
 * bytes).  NULL: path is "none", or nothing lies there. */
FRE_API const char *fre_model_companion(char *beside, size_t n, const char *path,
                                        const char *model_path, const char *kind);
/** Was such a file (path) made for this embedder?  It says so by the embedder's name, for people, its
 * hash (hex) and its dimension.  FRE_E_MODEL, with what to do: no. */
FRE_API FRE_MUST_CHECK fre_status fre_model_companion_fits(const char *kind, const char *path,
                                                           const char *name, const char *hash,
                                                           uint32_t dim,
                                                           const fre_model_info *embedder,
                                                           fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_MODEL_H */
