/* index_file.h - the file of an index in the user's cache folder. */
#ifndef FRE_INVERT_INDEX_FILE_H
#define FRE_INVERT_INDEX_FILE_H

#include "index.h"

/* What one section is made of, in memory. */
typedef struct inv_texts {
    fre_buf text;
    uint64_t *at; /* n + 1 */
    uint32_t *count;
    size_t n, cap;
} inv_texts;

/* Which index a file must be: hashes of corpus (with the ending of its name) and embedder. */
typedef struct inv_index_key {
    uint8_t corpus[FRE_HASH_BYTES], embedder[FRE_HASH_BYTES];
    char path[4096]; /* in the cache folder; "": no such folder */
} inv_index_key;

/* path: of corpus, for its ending.  corpus NULL: of what the model of this hash writes. */
FRE_MUST_CHECK fre_status inv_index_key_make(inv_index_key *k, const fre_corpus *corpus,
                                             const char *path, const uint8_t *model,
                                             const fre_embedder *e, fre_err *err);
/* False: no such file, or not a sound one of this key. */
bool inv_index_load(inv_index *x, const inv_index_key *k, uint32_t dim);
/* Embeds and writes both sections; x is mapped from the file.  Where the folder can't be written
 * the file is a temporary one without a name. */
FRE_MUST_CHECK fre_status inv_index_write(inv_index *x, const inv_index_key *k, fre_embedder *e,
                                          const inv_texts *texts, const inv_texts *words,
                                          const fre_progress *progress, fre_err *err);

#endif /* FRE_INVERT_INDEX_FILE_H */
