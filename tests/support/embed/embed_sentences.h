/* Sentences under a bundled embedder. */
#ifndef FRE_TESTS_EMBED_SENTENCES_H
#define FRE_TESTS_EMBED_SENTENCES_H

#include <fre/embed.h>

/* Opens the embedder at `path` with two threads and embeds n <= 64 texts into rows of `to`; NULL, with
 * the reason on standard error, where it can't. */
fre_embedder *embed_sentences(float *to, const char *path, const char *const *text, size_t n);

#endif /* FRE_TESTS_EMBED_SENTENCES_H */
