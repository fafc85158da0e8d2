/* index.h - a public corpus made ready for search: its distinct texts and its words with their
 * embeddings, in one mapped file of the user's cache folder. */
#ifndef FRE_INVERT_INDEX_H
#define FRE_INVERT_INDEX_H

#include <fre/embed.h>
#include <fre/lm.h>

#include "rows.h"

#define INV_INDEX_TEXT_MAX 400u /* bytes; longer lines are no start for one short sentence */
#define INV_INDEX_WORDS 20000u  /* the most frequent words */
#define INV_INDEX_WORD_MAX 32u  /* bytes */
#define INV_INDEX_MAX (UINT32_C(1) << 26)

typedef struct inv_index {
    inv_rows texts, words;
    void *map; /* both borrow from it */
    size_t map_len;
} inv_index;

/* Open the index of (content of the corpus, embedder), making it where it is missing or damaged.
 * path: of corpus, for its ending.  corpus NULL: of texts that the language model writes, always the
 * same ones.  FRE_E_DATA: the corpus has no usable line; nothing is kept. */
FRE_MUST_CHECK fre_status inv_index_open(inv_index **out, fre_corpus *corpus, const char *path,
                                         fre_lm *lm, fre_embedder *e, const fre_progress *progress,
                                         fre_err *err);
void inv_index_free(inv_index *x);

#endif /* FRE_INVERT_INDEX_H */
