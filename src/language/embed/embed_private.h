/* embed_private.h - the embedder, and what its files share. */
#ifndef FRE_EMBED_PRIVATE_H
#define FRE_EMBED_PRIVATE_H

#include <fre/embed.h>

#include <pthread.h>

#define EMBED_BATCH_SEQS 64u /* sequences that a workspace encodes at once */

struct fre_embedder {
    fre_model *model;
    char *path;
    uint32_t threads, max_tokens;
    uint32_t specials;    /* tokens of the empty text */
    fre_model_ctx **idle; /* stack of free workspaces, guarded by lock */
    uint32_t n_idle, n_ctx;
    pthread_mutex_t lock;
    fre_embed_stats stats;
    bool has_languages; /* opened, when marks were first wanted; both may be NULL even so */
    fre_prior *prior;
    fre_languages *languages;
};

/* The tokens that are read of a text, *n <= max_tokens, for which ids has room, and the marks that they
 * show.  FRE_E_DATA: not valid UTF-8; FRE_E_NOMEM. */
FRE_MUST_CHECK fre_status embed_tokenise(const fre_embedder *e, int32_t *ids, size_t *n,
                                         uint8_t *mark, const char *text, size_t len);
/* n >= 1 texts into rows, which the caller has zeroed, and the marks of their tokens (NULL: unwanted).
 * After a failure rows may be partly written.  As fre_embed_texts otherwise. */
FRE_MUST_CHECK fre_status embed_run(fre_embedder *e, float *rows, uint8_t *mark,
                                    const char *const *text, const size_t *len, size_t n,
                                    fre_err *err);

#define EMBED_KNOWN_DIM 384u
/* The mean embedding of each language of languages.c but the first, those without a known word left
 * out, where they are known without embedding anything: with the bundled embedder.  mean: room for
 * all of them x m->dim.  Returns how many; 0: not known. */
size_t embed_known_languages(float *mean, const fre_model_info *m);

#endif /* FRE_EMBED_PRIVATE_H */
