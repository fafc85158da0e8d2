/** fre/embed.h - text -> embedding, in parallel contexts, the same bits whatever the batch.
 *
 * The embedding of a text depends on the text and the model alone: neither on the texts beside
 * it, nor on their order, nor on the number of threads (1e-5 promised; measured by `bench
 * embed`).  Threads: a fre_embedder is used by one thread at a time and runs its own workers.
 */
#ifndef FRE_EMBED_H
#define FRE_EMBED_H

#include <fre/core.h>
#include <fre/corpus.h>
#include <fre/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_EMBEDDER_DEFAULT "all-minilm-l6-v2.q8_0.gguf"

typedef struct fre_embedder fre_embedder;

typedef struct fre_embedder_opts {
    const char *path; /**< GGUF; NULL: the bundled default */
    uint32_t threads; /**< >= 1 */
} fre_embedder_opts;

typedef struct fre_embed_stats {
    uint64_t texts;
    uint64_t truncated; /**< longer than the tokens that the model is used with, or than
                              64 KiB */
    uint64_t foreign;   /**< at least half of the tokens unknown: a language it was not made for */
    uint64_t tokens;
} fre_embed_stats;

FRE_API FRE_MUST_CHECK fre_status fre_embedder_new(fre_embedder **out,
                                                   const fre_embedder_opts *opts, fre_err *err);
FRE_API void fre_embedder_free(fre_embedder *e);
FRE_API const fre_model_info *fre_embedder_info(const fre_embedder *e);
/** The file it was opened from. */
FRE_API const char *fre_embedder_path(const fre_embedder *e);

/** Was this .npy made by this embedder, as its sidecar says?  Inverting with another gives
 * nonsense.  path: for the message.  FRE_E_DATA: no sidecar, or another's. */
FRE_API FRE_MUST_CHECK fre_status fre_embedder_check_rows(const fre_embedder *e,
                                                          const fre_npy *rows, const char *path,
                                                          fre_err *err);

/** n texts (UTF-8, lengths given) -> n x dim floats, row i for text i.  Sorts by length inside.
 * Call with thousands at a time.  FRE_E_DATA: a text is not valid UTF-8; FRE_E_INTERRUPTED is
 * polled between batches. */
FRE_API FRE_MUST_CHECK fre_status fre_embed_texts(fre_embedder *e, float *out,
                                                  const char *const *text, const size_t *len,
                                                  size_t n, fre_err *err);
FRE_API void fre_embed_get_stats(const fre_embedder *e, fre_embed_stats *out);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EMBED_H */
