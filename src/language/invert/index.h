/* index.h - a public corpus made ready for search: its distinct texts and its words with their
 * embeddings, in one mapped file of the user's cache folder. */
#ifndef FRE_INVERT_INDEX_H
#define FRE_INVERT_INDEX_H

#include <fre/embed.h>
#include <fre/lm.h>

#define INV_INDEX_TEXT_MAX 400u /* bytes; longer lines are no start for one short sentence */
#define INV_INDEX_WORDS 20000u  /* the most frequent words */
#define INV_INDEX_WORD_MAX 32u  /* bytes */
#define INV_INDEX_MAX (UINT32_C(1) << 26)

/* Texts and their embeddings, row i as q[i * dim ..] * scale[i].  One byte a coordinate: the error
 * (norm about .003) is far below any noise, and what is found is embedded again. */
typedef struct inv_rows {
    size_t n;
    uint32_t dim;
    const int8_t *q;
    const float *scale, *norm2;
    const uint32_t *count; /* occurrences in the corpus */
    const uint64_t *at;    /* n + 1 offsets into text */
    const char *text;
} inv_rows;

typedef struct inv_index {
    inv_rows texts, words;
    void *map; /* both borrow from it */
    size_t map_len;
} inv_index;

/* Open a public corpus and read its first record: it is opened once, so it may be a pipe. */
fre_status inv_corpus_open(fre_corpus **out, const char *path, const char *text_field,
                           fre_err *err);
/* From its first record again. */
fre_status inv_corpus_again(fre_corpus *corpus, fre_err *err);

/* Open the index of (content of the corpus, embedder), making it where it is missing or damaged.
 * path: of corpus, for its ending.  corpus NULL: of texts that the language model writes, always the
 * same ones.  FRE_E_DATA: the corpus has no usable line; nothing is kept. */
fre_status inv_index_open(inv_index **out, fre_corpus *corpus, const char *path, fre_lm *lm,
                          fre_embedder *e, const fre_progress *progress, fre_err *err);
void inv_index_free(inv_index *x);

/* Borrowed; not NUL-terminated. */
const char *inv_rows_text(const inv_rows *r, size_t i, size_t *len);
/* Row i as floats. */
void inv_rows_get(const inv_rows *r, float *out, size_t i);
/* Mean squared distance of the rows from their mean (of the first few thousand). */
fre_status inv_rows_spread(const inv_rows *r, double *out);
/* For each of nq queries (nq x dim) the k nearest rows (L2; k <= n), nearest first, ties to the
 * lower index; the same whatever the number of threads. */
fre_status inv_rows_nearest(const inv_rows *r, uint32_t *id, const float *query, size_t nq,
                            size_t k, uint32_t threads);

/* ---- index_file.c: the file ------------------------------------------------------------------- */

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
fre_status inv_index_key_make(inv_index_key *k, const fre_corpus *corpus, const char *path,
                              const uint8_t *model, const fre_embedder *e, fre_err *err);
/* False: no such file, or not a sound one of this key. */
bool inv_index_load(inv_index *x, const inv_index_key *k, uint32_t dim);
/* Embeds and writes both sections; x is mapped from the file.  Where the folder can't be written
 * the file is a temporary one without a name. */
fre_status inv_index_write(inv_index *x, const inv_index_key *k, fre_embedder *e,
                           const inv_texts *texts, const inv_texts *words,
                           const fre_progress *progress, fre_err *err);

#endif
