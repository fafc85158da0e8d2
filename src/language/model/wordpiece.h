/* The tokenizer of BERT: bert_text.h, then greedy longest match against the vocabulary, a word
 * without one or of more than 100 characters being the unknown token.  llama.cpp's own normalises
 * most of the world's scripts away. */
#ifndef FRE_WORDPIECE_H
#define FRE_WORDPIECE_H

#include <fre/core.h>

typedef struct fre_wordpiece fre_wordpiece;

typedef struct fre_wordpiece_opts {
    uint32_t n;         /* tokens */
    int32_t unknown;    /* id; -1: the one that is spelt [UNK] */
    int32_t begin, end; /* ids of [CLS] and [SEP] */
    /* What the model file says of its normaliser; absent: lower case unless the vocabulary has
     * capitals, accents removed where case is. */
    bool has_lower, lower, has_strip, strip;
} fre_wordpiece_opts;

/* Spelling and kind of token id, borrowed for the life of the wordpiece: words as GGUF writes them,
 * U+2581 in front of those that begin one, nothing in front of those that go on. */
typedef const char *(*fre_wordpiece_text)(const void *ctx, int32_t id);
typedef bool (*fre_wordpiece_special)(const void *ctx, int32_t id); /* never part of a text */

/* FRE_E_NOMEM; FRE_E_MODEL: no unknown token. */
FRE_MUST_CHECK fre_status fre_wordpiece_new(fre_wordpiece **out, const fre_wordpiece_opts *opts,
                                            fre_wordpiece_text text, fre_wordpiece_special special,
                                            const void *ctx);
void fre_wordpiece_free(fre_wordpiece *w);
int32_t fre_wordpiece_unknown(const fre_wordpiece *w);
/* The spelling of a token that goes on with a word. */
bool fre_wordpiece_is_inside(const char *spelling);

/* As fre_model_tokenize; text is well-formed UTF-8. */
FRE_MUST_CHECK fre_status fre_wordpiece_run(const fre_wordpiece *w, int32_t *ids, size_t *n,
                                            const char *text, size_t len, bool special);

#endif
